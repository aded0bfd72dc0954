//! Collectives as values, and the calls of one rank.

use crate::{Layout, ReduceOp, Src};
use std::fmt;

/// A collective, with the parameters that all ranks give alike. Displayed as `all_reduce(sum)` or
/// `broadcast(root 1)`.
///
/// In the shapes below, `n` is the number of ranks and `[..]` any shape; only the numbers of
/// elements have to agree. Elements are those of a layout, in row-major order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Collective {
    /// Combines the elements of all ranks, and gives the result to every rank. `[..]` to `[..]`.
    AllReduce(ReduceOp),
    /// Combines the elements of all ranks, and gives the result to one. `[..]` to `[..]`.
    Reduce {
        /// How elements are combined.
        op: ReduceOp,
        /// The rank that gets the result.
        root: usize,
    },
    /// Gives every rank the elements of all, in the order of the ranks. `[..]` to `[n, ..]`.
    AllGather,
    /// Combines the elements of all ranks, and gives part r of the result to rank r.
    /// `[n, ..]` to `[..]`.
    ReduceScatter(ReduceOp),
    /// Gives every rank the elements of one. `[..]` to `[..]`.
    Broadcast {
        /// The rank whose elements they are.
        root: usize,
    },
    /// Gives part r of every rank's elements to rank r, in the order of the ranks they come from: a
    /// transposition of ranks and parts. `[n, ..]` to `[n, ..]`.
    AllToAll,
    /// Sends elements to one rank, which receives them.
    Send {
        /// The rank that receives.
        to: usize,
    },
    /// Receives the elements that one rank sends.
    Recv {
        /// The rank that sends.
        from: usize,
    },
    /// Waits until all work of the current stream is done, on every rank.
    Barrier,
}

impl Collective {
    /// Returns the name, that of the method of [`Communicator`](crate::Communicator).
    pub const fn name(self) -> &'static str {
        match self {
            Collective::AllReduce(_) => "all_reduce",
            Collective::Reduce { .. } => "reduce",
            Collective::AllGather => "all_gather",
            Collective::ReduceScatter(_) => "reduce_scatter",
            Collective::Broadcast { .. } => "broadcast",
            Collective::AllToAll => "all_to_all",
            Collective::Send { .. } => "send",
            Collective::Recv { .. } => "recv",
            Collective::Barrier => "barrier",
        }
    }

    /// Returns how elements are combined, if they are.
    pub const fn reduce_op(self) -> Option<ReduceOp> {
        match self {
            Collective::AllReduce(op) | Collective::Reduce { op, .. } | Collective::ReduceScatter(op) => Some(op),
            _ => None,
        }
    }

    /// Returns the rank that the call names, if it names one.
    pub(super) const fn other_rank(self) -> Option<usize> {
        match self {
            Collective::Reduce { root: rank, .. }
            | Collective::Broadcast { root: rank }
            | Collective::Send { to: rank }
            | Collective::Recv { from: rank } => Some(rank),
            _ => None,
        }
    }
}

impl fmt::Display for Collective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match *self {
            Collective::AllReduce(op) | Collective::ReduceScatter(op) => write!(f, "({op})"),
            Collective::Reduce { op, root } => write!(f, "({op}, root {root})"),
            Collective::Broadcast { root } => write!(f, "(root {root})"),
            Collective::Send { to } => write!(f, "(to rank {to})"),
            Collective::Recv { from } => write!(f, "(from rank {from})"),
            _ => Ok(()),
        }
    }
}

/// A call of one rank with its operands, for a [group](crate::Communicator::group) of calls.
#[derive(Debug)]
pub struct Call<'a, S> {
    pub(super) collective: Collective,
    pub(super) src: Option<Src<'a, S>>,
    pub(super) dst: Option<(&'a mut S, &'a Layout)>,
}

impl<'a, S> Call<'a, S> {
    /// Returns a call of [`Communicator::all_reduce`](crate::Communicator::all_reduce).
    pub fn all_reduce(src: Src<'a, S>, dst: &'a mut S, dst_layout: &'a Layout, op: ReduceOp) -> Self {
        Self { collective: Collective::AllReduce(op), src: Some(src), dst: Some((dst, dst_layout)) }
    }

    /// Returns a call of [`Communicator::reduce`](crate::Communicator::reduce).
    pub fn reduce(src: Src<'a, S>, dst: Option<(&'a mut S, &'a Layout)>, op: ReduceOp, root: usize) -> Self {
        Self { collective: Collective::Reduce { op, root }, src: Some(src), dst }
    }

    /// Returns a call of [`Communicator::all_gather`](crate::Communicator::all_gather).
    pub fn all_gather(src: Src<'a, S>, dst: &'a mut S, dst_layout: &'a Layout) -> Self {
        Self { collective: Collective::AllGather, src: Some(src), dst: Some((dst, dst_layout)) }
    }

    /// Returns a call of [`Communicator::reduce_scatter`](crate::Communicator::reduce_scatter).
    pub fn reduce_scatter(src: Src<'a, S>, dst: &'a mut S, dst_layout: &'a Layout, op: ReduceOp) -> Self {
        Self { collective: Collective::ReduceScatter(op), src: Some(src), dst: Some((dst, dst_layout)) }
    }

    /// Returns a call of [`Communicator::broadcast`](crate::Communicator::broadcast).
    pub fn broadcast(dst: &'a mut S, dst_layout: &'a Layout, root: usize) -> Self {
        let collective = Collective::Broadcast { root };
        Self { collective, src: Some(Src::InPlace), dst: Some((dst, dst_layout)) }
    }

    /// Returns a call of [`Communicator::all_to_all`](crate::Communicator::all_to_all).
    pub fn all_to_all(src: Src<'a, S>, dst: &'a mut S, dst_layout: &'a Layout) -> Self {
        Self { collective: Collective::AllToAll, src: Some(src), dst: Some((dst, dst_layout)) }
    }

    /// Returns a call of [`Communicator::send`](crate::Communicator::send).
    pub fn send(src: &'a S, layout: &'a Layout, to: usize) -> Self {
        Self { collective: Collective::Send { to }, src: Some(Src::Storage(src, layout)), dst: None }
    }

    /// Returns a call of [`Communicator::recv`](crate::Communicator::recv).
    pub fn recv(dst: &'a mut S, dst_layout: &'a Layout, from: usize) -> Self {
        Self { collective: Collective::Recv { from }, src: None, dst: Some((dst, dst_layout)) }
    }

    /// Returns a call of [`Communicator::barrier`](crate::Communicator::barrier).
    pub fn barrier() -> Self {
        Self { collective: Collective::Barrier, src: None, dst: None }
    }

    /// Returns the collective with its parameters.
    pub fn collective(&self) -> Collective {
        self.collective
    }
}
