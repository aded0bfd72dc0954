//! One message between two ranks.

use crate::number::DataType;
use std::fmt;

/// Whether a rank sends or receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Send,
    Receive,
}

/// A rank's part of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Transfer {
    pub(crate) direction: Direction,
    pub(crate) peer: usize,
    pub(crate) count: usize,
    pub(crate) ty: DataType,
}

impl Transfer {
    pub(crate) fn name(&self) -> &'static str {
        match self.direction {
            Direction::Send => "ncclSend",
            Direction::Receive => "ncclRecv",
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.count * self.ty.bytes()
    }
}

impl fmt::Display for Transfer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} {}", self.name(), self.count, self.ty.name())
    }
}
