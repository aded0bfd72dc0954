//! The ranks that hold a model together, and how what each of them computes becomes whole.

use isobit::{BackendDevice, Communicator, Layout, Result, Src};

/// One rank of a model. A model that one rank holds makes no calls.
#[derive(Debug)]
pub struct Ranks<D: BackendDevice> {
    communicator: Option<Communicator<D>>,
}

impl<D: BackendDevice> Ranks<D> {
    /// Returns the only rank of a model.
    pub fn alone() -> Self {
        Self { communicator: None }
    }

    /// Returns the rank of a communicator.
    pub fn new(communicator: Communicator<D>) -> Self {
        Self { communicator: Some(communicator).filter(|communicator| communicator.size() > 1) }
    }

    /// Returns the number of this rank.
    pub fn rank(&self) -> usize {
        self.communicator.as_ref().map_or(0, Communicator::rank)
    }

    /// Returns the number of ranks.
    pub fn size(&self) -> usize {
        self.communicator.as_ref().map_or(1, Communicator::size)
    }

    /// Waits until all ranks have come, and all their work is done.
    pub(crate) fn meet(&self) -> Result<()> {
        self.communicator.as_ref().map_or(Ok(()), Communicator::barrier)
    }

    /// Makes a result `[ranks, ..]` whole, of which each rank has computed its part where it
    /// belongs: no rank needs a buffer of its own for the part, and one rank alone has nothing to
    /// do.
    pub(crate) fn join(&self, result: &mut D::Storage, layout: &Layout) -> Result<()> {
        match &self.communicator {
            Some(communicator) => communicator.all_gather(Src::InPlace, result, layout),
            None => Ok(()),
        }
    }

    /// Makes a result `[rows, columns]` whole, of which each rank has computed its columns. The
    /// parts lie side by side, so that a result of several ranks is read like that of one.
    pub(crate) fn join_columns(&self, result: &mut D::Storage, [rows, columns]: [usize; 2]) -> Result<()> {
        let ranks = self.size();
        self.join(result, &Layout::contiguous([rows, ranks, columns / ranks]).transpose(0, 1)?)
    }
}
