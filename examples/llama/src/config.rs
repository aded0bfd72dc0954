//! The sizes and constants of a model.

use anyhow::{Result, ensure};
use isobit::Attention;

/// Sizes and constants.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Number of tokens in the vocabulary.
    pub vocabulary: usize,
    /// Size of a token's vector between layers.
    pub hidden: usize,
    /// Number of layers.
    pub layers: usize,
    /// Number of attention heads per layer.
    pub heads: usize,
    /// Number of heads of keys and values; each serves `heads / kv_heads` heads.
    pub kv_heads: usize,
    /// Size of a token's vector in one head.
    pub head_size: usize,
    /// Size of a token's vector inside a feed-forward network.
    pub wide: usize,
    /// The base of the frequencies of rotary position embedding.
    pub theta: f64,
    /// The epsilon of norms.
    pub eps: f64,
    /// Maximum number of tokens of a sequence.
    pub most_tokens: usize,
}

impl Config {
    /// Llama 3.2 1B, without its scaled frequencies for long sequences.
    pub const LLAMA_1B: Self = Self {
        vocabulary: 128_256,
        hidden: 2048,
        layers: 16,
        heads: 32,
        kv_heads: 8,
        head_size: 64,
        wide: 8192,
        theta: 500_000.0,
        eps: 1e-5,
        most_tokens: 131_072,
    };

    /// A model that every device runs in no time, for tests.
    pub const TINY: Self = Self {
        vocabulary: 256,
        hidden: 64,
        layers: 2,
        heads: 4,
        kv_heads: 2,
        head_size: 16,
        wide: 128,
        ..Self::LLAMA_1B
    };

    /// Checks that there is such a model.
    ///
    /// # Errors
    /// Fails if a size is 0, or if heads cannot share keys or be rotated.
    pub fn check(&self) -> Result<()> {
        for (what, size) in [
            ("tokens in the vocabulary", self.vocabulary),
            ("elements between layers", self.hidden),
            ("layers", self.layers),
            ("heads", self.heads),
            ("heads of keys", self.kv_heads),
            ("elements of a head", self.head_size),
            ("elements inside a feed-forward network", self.wide),
        ] {
            ensure!(size > 0, "a model with 0 {what}");
        }
        let Self { heads, kv_heads, head_size, .. } = self;
        ensure!(heads.is_multiple_of(*kv_heads), "{heads} heads cannot share {kv_heads} heads of keys evenly");
        ensure!(
            head_size.is_multiple_of(2) && *head_size <= Attention::MAX_HEAD_SIZE,
            "a head has {head_size} elements; it must be even, and at most {}",
            Attention::MAX_HEAD_SIZE
        );
        Ok(())
    }

    /// Checks that the model continues a prompt of `prompt` tokens by `most` steps.
    ///
    /// # Errors
    /// Fails if the prompt is empty, there are no steps, or both are longer than its sequences.
    pub fn check_lengths(&self, prompt: usize, most: usize) -> Result<()> {
        ensure!(prompt > 0, "a prompt of 0 tokens: the model continues at least one");
        ensure!(most > 0, "0 tokens after the prompt: at least one is made");
        ensure!(
            prompt.saturating_add(most) <= self.most_tokens,
            "a prompt of {prompt} tokens and {most} after it: the model's sequences have at most {}",
            self.most_tokens
        );
        Ok(())
    }

    /// Returns the number of weights.
    pub fn weights(&self) -> usize {
        let attention = (2 * self.heads + 2 * self.kv_heads) * self.head_size;
        let layer = self.hidden * (attention + 3 * self.wide + 2);
        self.vocabulary * self.hidden + self.layers * layer + self.hidden
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_has_the_published_number_of_weights() {
        assert_eq!(Config::LLAMA_1B.weights(), 1_235_814_400);
        Config::LLAMA_1B.check().unwrap();
    }

    #[test]
    fn what_is_no_model_is_refused() {
        let base = Config::LLAMA_1B;
        for (config, says) in [
            (Config { layers: 0, ..base.clone() }, "0 layers"),
            (Config { kv_heads: 5, ..base.clone() }, "32 heads cannot share 5"),
            (Config { head_size: 63, ..base.clone() }, "63 elements"),
            (Config { head_size: 512, ..base.clone() }, "at most 256"),
        ] {
            let e = config.check().unwrap_err().to_string();
            assert!(e.contains(says), "{e}");
        }
        for (prompt, most, says) in [
            (0, 1, "a prompt of 0 tokens"),
            (1, 0, "0 tokens after the prompt"),
            (131_072, 1, "at most 131072"),
            (usize::MAX, 1, "at most 131072"),
        ] {
            let e = base.check_lengths(prompt, most).unwrap_err().to_string();
            assert!(e.contains(says), "{e}");
        }
    }
}
