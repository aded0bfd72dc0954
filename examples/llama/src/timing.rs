//! How long the phases take, of one prompt or of several.

use serde::Serialize;
use std::fmt;

/// How long the phases take.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Timing {
    /// Number of tokens of the prompts.
    pub prompt: usize,
    /// Number of steps after them.
    pub tokens: usize,
    /// Milliseconds of the steps that read the prompts.
    pub prefill_ms: f64,
    /// Milliseconds of all steps after them, with operations submitted one by one.
    pub decode_ms: f64,
    /// Milliseconds of the same steps replayed as a graph, if that was measured.
    pub graph_ms: Option<f64>,
}

impl Timing {
    /// Returns the timing of this work and then more.
    #[must_use]
    pub fn then(&self, next: &Self) -> Self {
        self.with(next, |a, b| a + b)
    }

    /// Returns the timing of this work and more at the same time: the slower one decides.
    #[must_use]
    pub fn beside(&self, other: &Self) -> Self {
        self.with(other, f64::max)
    }

    fn with(&self, other: &Self, ms: fn(f64, f64) -> f64) -> Self {
        Self {
            prompt: self.prompt + other.prompt,
            tokens: self.tokens + other.tokens,
            prefill_ms: ms(self.prefill_ms, other.prefill_ms),
            decode_ms: ms(self.decode_ms, other.decode_ms),
            graph_ms: self.graph_ms.zip(other.graph_ms).map(|(a, b)| ms(a, b)),
        }
    }
}

impl fmt::Display for Timing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = |tokens: usize, ms: f64| format!("{ms:.3} ms, {:.1} tokens/s", tokens as f64 / ms * 1e3);
        writeln!(f, "prefill of {} tokens: {}", self.prompt, rate(self.prompt, self.prefill_ms))?;
        write!(f, "decode of {} tokens: {}", self.tokens, rate(self.tokens, self.decode_ms))?;
        self.graph_ms.map_or(Ok(()), |ms| write!(f, "; as a graph {}", rate(self.tokens, ms)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_adds_up_and_of_simultaneous_work_the_slower_one_decides() {
        let of = |prompt, tokens, prefill_ms, decode_ms, graph_ms| Timing {
            prompt,
            tokens,
            prefill_ms,
            decode_ms,
            graph_ms,
        };
        let (a, b) = (of(8, 4, 1.0, 16.0, Some(2.0)), of(8, 2, 4.0, 8.0, Some(1.0)));
        assert_eq!(a.then(&b), of(16, 6, 5.0, 24.0, Some(3.0)));
        assert_eq!(a.beside(&b), of(16, 6, 4.0, 16.0, Some(2.0)));
        assert_eq!(a.beside(&of(8, 2, 4.0, 8.0, None)).graph_ms, None);
        let told = a.beside(&b).to_string();
        assert!(told.contains("prefill of 16 tokens: 4.000 ms, 4000.0 tokens/s"), "{told}");
        assert!(told.contains("decode of 6 tokens: 16.000 ms, 375.0 tokens/s; as a graph 2.000 ms"), "{told}");
    }
}
