//! Launch code that can be told to split small tensors like huge ones.

use std::fmt;

/// A device's launch code, which divides large tensors among several launches and chooses other
/// kernels for them. The suite's tensors are small; *small launches* lower those limits, so that
/// the same code runs with them. A result must not depend on it.
///
/// A call's launches happen on the calling thread, so both methods are about this thread alone.
pub trait Launches: fmt::Debug + Send + Sync {
    /// Switches small launches on or off; returns whether they were on.
    fn set_small(&self, small: bool) -> bool;

    /// Whether small launches made, or would have made, any other decision than normal ones since
    /// the last call. If not, there is nothing to compare.
    fn take_differs(&self) -> bool;
}

/// While this value lives, the launches of this thread are small.
pub(super) struct Small<'a> {
    launches: &'a dyn Launches,
    were: bool,
}

impl<'a> Small<'a> {
    pub(super) fn new(launches: &'a dyn Launches) -> Self {
        Self { launches, were: launches.set_small(true) }
    }
}

impl Drop for Small<'_> {
    fn drop(&mut self) {
        self.launches.set_small(self.were);
    }
}
