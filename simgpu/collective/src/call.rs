//! One collective as a rank asks for it: what must be the same in all ranks, and how many bytes a
//! rank sends and receives.

use crate::combine::fold;
use crate::number::{DataType, Op};
use std::fmt;
use std::ops::Range;

/// Which collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Every rank gets the combined elements.
    AllReduce,
    /// The root gets them.
    Reduce,
    /// Every rank gets the elements of the root.
    Broadcast,
    /// Every rank gets its part of the combined elements.
    ReduceScatter,
    /// Every rank gets the elements of all.
    AllGather,
}

impl Kind {
    const ALL: [(Self, &str); 5] = [
        (Self::AllReduce, "ncclAllReduce"),
        (Self::Reduce, "ncclReduce"),
        (Self::Broadcast, "ncclBroadcast"),
        (Self::ReduceScatter, "ncclReduceScatter"),
        (Self::AllGather, "ncclAllGather"),
    ];

    pub(crate) fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    pub(crate) fn of(number: u64) -> Option<Self> {
        Self::ALL.get(usize::try_from(number).ok()?).map(|(kind, _)| *kind)
    }
}

/// A collective.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) kind: Kind,
    /// The elements of one rank: of what it sends or, in `ReduceScatter`, receives.
    pub(crate) count: usize,
    pub(crate) ty: DataType,
    /// How elements are combined; the sum if they are not.
    pub(crate) op: Op,
    /// The rank that has the result or the source; 0 if there is none.
    pub(crate) root: usize,
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, count, ty, op, root } = self;
        write!(f, "{} of {count} {}", kind.name(), ty.name())?;
        if matches!(kind, Kind::AllReduce | Kind::Reduce | Kind::ReduceScatter) {
            write!(f, " by {}", op.name())?;
        }
        if matches!(kind, Kind::Reduce | Kind::Broadcast) {
            write!(f, " with root {root}")?;
        }
        Ok(())
    }
}

impl Call {
    /// The bytes of `count` elements. Calls are only made if those of all ranks have a number.
    fn bytes(&self) -> usize {
        self.count * self.ty.bytes()
    }

    /// Whether the bytes of all ranks have a number.
    pub(crate) fn fits(&self, ranks: usize) -> bool {
        let bytes = self.count.checked_mul(self.ty.bytes()).and_then(|bytes| bytes.checked_mul(ranks));
        bytes.is_some_and(|bytes| isize::try_from(bytes).is_ok())
    }

    /// Returns the bytes that a rank sends.
    pub(crate) fn sent(&self, rank: usize, ranks: usize) -> usize {
        match self.kind {
            Kind::Broadcast if rank != self.root => 0,
            Kind::ReduceScatter => self.bytes() * ranks,
            _ => self.bytes(),
        }
    }

    /// Returns the bytes that a rank receives.
    pub(crate) fn received(&self, rank: usize, ranks: usize) -> usize {
        match self.kind {
            Kind::Reduce if rank != self.root => 0,
            Kind::AllGather => self.bytes() * ranks,
            _ => self.bytes(),
        }
    }

    /// Returns the result of all ranks from what each of them sent.
    pub(crate) fn combine(&self, mut inputs: Vec<Vec<u8>>) -> Vec<u8> {
        let ranks = inputs.len();
        match self.kind {
            Kind::Broadcast => inputs.swap_remove(self.root),
            Kind::AllGather => inputs.concat(),
            Kind::Reduce => fold(self.ty, self.op, &inputs, |_| self.root + 1),
            Kind::ReduceScatter => fold(self.ty, self.op, &inputs, |at| at / self.count + 1),
            Kind::AllReduce => {
                let chunk = self.count.div_ceil(ranks);
                fold(self.ty, self.op, &inputs, |at| at / chunk + 1)
            }
        }
    }

    /// Returns the part of the result that a rank receives.
    pub(crate) fn part(&self, rank: usize, ranks: usize) -> Range<usize> {
        let bytes = self.received(rank, ranks);
        let start = if self.kind == Kind::ReduceScatter { rank * bytes } else { 0 };
        start..start + bytes
    }
}
