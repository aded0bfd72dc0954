//! What one of several ranks holds of a model. Matrices are split by their outputs: no rank adds up
//! a part of a sum, so that several ranks give the bits of one.

use crate::Config;
use anyhow::{Result, ensure};
use std::ops::Range;

/// The outputs of a rank.
#[derive(Debug, Clone, PartialEq)]
pub struct Shard {
    /// Number of ranks.
    pub ranks: usize,
    /// The tokens of the vocabulary whose vectors the rank holds, and whose logits it computes.
    pub vocabulary: Range<usize>,
    /// The elements between layers that the rank computes.
    pub hidden: Range<usize>,
    /// The heads of queries.
    pub heads: Range<usize>,
    /// The heads of keys and values that serve them. If there are more ranks than such heads,
    /// several ranks hold the same one.
    pub kv_heads: Range<usize>,
    /// The elements inside a feed-forward network that the rank computes.
    pub wide: Range<usize>,
}

impl Shard {
    /// Returns the outputs of rank `rank` of `ranks`.
    ///
    /// # Errors
    /// Fails if the ranks cannot share a size evenly.
    pub fn new(config: &Config, rank: usize, ranks: usize) -> Result<Self> {
        for (what, size) in [
            ("heads", config.heads),
            ("elements between layers", config.hidden),
            ("elements inside a feed-forward network", config.wide),
            ("tokens in the vocabulary", config.vocabulary),
        ] {
            ensure!(size.is_multiple_of(ranks), "{ranks} ranks cannot share {size} {what} evenly");
        }
        let kv = config.kv_heads;
        ensure!(
            kv.is_multiple_of(ranks) || ranks.is_multiple_of(kv),
            "{ranks} ranks cannot share {kv} heads of keys evenly"
        );
        let part = |size: usize| rank * size / ranks..(rank + 1) * size / ranks;
        let first = rank * kv / ranks;
        Ok(Self {
            ranks,
            vocabulary: part(config.vocabulary),
            hidden: part(config.hidden),
            heads: part(config.heads),
            kv_heads: first..first + (kv / ranks).max(1),
            wide: part(config.wide),
        })
    }

    /// Returns the rows of the stacked matrix of queries, keys and values.
    pub(crate) fn qkv(&self, config: &Config) -> [Range<usize>; 3] {
        let rows = |stacked: usize, heads: &Range<usize>| {
            (stacked + heads.start) * config.head_size..(stacked + heads.end) * config.head_size
        };
        [rows(0, &self.heads), rows(config.heads, &self.kv_heads), rows(config.heads + config.kv_heads, &self.kv_heads)]
    }

    /// Returns the rows of the stacked matrix of the gate and of what it lets through.
    pub(crate) fn widen(&self, config: &Config) -> [Range<usize>; 2] {
        [0, config.wide].map(|stacked| stacked + self.wide.start..stacked + self.wide.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_heads_of_a_rank_have_their_keys() {
        for config in [Config::LLAMA_1B, Config::TINY] {
            let served = config.heads / config.kv_heads;
            for ranks in [1, 2, 4, 8, 16, 32].into_iter().filter(|&ranks| ranks <= config.heads) {
                let shards: Vec<_> = (0..ranks).map(|rank| Shard::new(&config, rank, ranks).unwrap()).collect();
                assert!(shards.iter().flat_map(|shard| shard.heads.clone()).eq(0..config.heads));
                for shard in &shards {
                    let each = shard.heads.len() / shard.kv_heads.len();
                    for (i, head) in shard.heads.clone().enumerate() {
                        assert_eq!(shard.kv_heads.start + i / each, head / served, "{shard:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_rows_of_all_ranks_are_those_of_the_stacked_matrices() {
        let (config, mut qkv, mut widen) = (Config::LLAMA_1B, Vec::new(), Vec::new());
        for rank in 0..4 {
            let shard = Shard::new(&config, rank, 4).unwrap();
            qkv.extend(shard.qkv(&config).into_iter().flatten());
            widen.extend(shard.widen(&config).into_iter().flatten());
        }
        for (mut rows, all) in [(qkv, 48 * 64), (widen, 2 * 8192)] {
            rows.sort_unstable();
            assert!(rows.into_iter().eq(0..all));
        }
    }

    #[test]
    fn what_cannot_be_shared_says_its_size() {
        let base = Config::TINY;
        for (config, ranks, says) in [
            (base.clone(), 3, "3 ranks cannot share 4 heads evenly"),
            (Config { heads: 6, kv_heads: 3, ..base.clone() }, 2, "2 ranks cannot share 3 heads of keys"),
            (Config { hidden: 66, ..base.clone() }, 4, "4 ranks cannot share 66 elements between layers"),
            (Config { wide: 130, ..base.clone() }, 4, "4 ranks cannot share 130 elements inside"),
            (Config { vocabulary: 255, ..base }, 2, "2 ranks cannot share 255 tokens"),
        ] {
            let e = Shard::new(&config, 0, ranks).unwrap_err().to_string();
            assert!(e.contains(says), "{e}");
        }
    }
}
