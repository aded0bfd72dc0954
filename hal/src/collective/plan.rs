//! Who takes which elements from whom: the data flow of each collective, as numbers.
//!
//! A collective has one or two stages. In each, ranks offer elements, and every rank takes ranges
//! of them. Between the stages of a reduction, each rank combines what it took.

use super::call::Collective;
use std::ops::Range;

/// A range of another rank's offer that a rank takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Take {
    pub(super) from: usize,
    /// The elements of the offer.
    pub(super) range: Range<usize>,
    /// The place of the first one among what is taken.
    pub(super) at: usize,
}

/// A rank of a collective over `size` ranks and `count` elements: those of a rank's source, or, for
/// a reduce-scatter, those of its result.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan {
    pub(super) collective: Collective,
    pub(super) rank: usize,
    pub(super) size: usize,
    pub(super) count: usize,
}

impl Plan {
    /// Whether the rank offers its source.
    pub(super) fn offers(self) -> bool {
        match self.collective {
            Collective::Broadcast { root } => root == self.rank,
            Collective::Barrier | Collective::Recv { .. } => false,
            _ => true,
        }
    }

    /// Whether there is a second stage, in which the combined parts are taken.
    pub(super) fn has_second_stage(self) -> bool {
        matches!(self.collective, Collective::AllReduce(_) | Collective::Reduce { .. })
    }

    /// Returns the elements that a rank combines: equal parts, of which the last may be shorter or
    /// empty.
    pub(super) fn part(self, rank: usize) -> Range<usize> {
        let len = self.count.div_ceil(self.size);
        let at = |rank: usize| (rank * len).min(self.count);
        at(rank)..at(rank + 1)
    }

    /// Returns what the rank takes from the sources.
    pub(super) fn first(self) -> Vec<Take> {
        let Self { rank, size, count, .. } = self;
        let from_each = |range: Range<usize>| {
            (0..size).map(|from| Take { from, range: range.clone(), at: from * range.len() }).collect()
        };
        match self.collective {
            Collective::AllReduce(_) | Collective::Reduce { .. } => from_each(self.part(rank)),
            Collective::ReduceScatter(_) => from_each(rank * count..(rank + 1) * count),
            Collective::AllGather => from_each(0..count),
            Collective::AllToAll => {
                let len = count / size;
                from_each(rank * len..(rank + 1) * len)
            }
            Collective::Broadcast { root } if root != rank => vec![Take { from: root, range: 0..count, at: 0 }],
            _ => Vec::new(),
        }
    }

    /// Returns what the rank takes from the combined parts.
    pub(super) fn second(self) -> Vec<Take> {
        match self.collective {
            Collective::Reduce { root, .. } if root != self.rank => Vec::new(),
            _ => (0..self.size)
                .map(|from| Take { from, range: 0..self.part(from).len(), at: self.part(from).start })
                .collect(),
        }
    }
}
