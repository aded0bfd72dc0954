//! Keeps errors of calls that cannot return one (frees, destructors) for the next synchronising
//! call.

use crate::sync::Mutex;
use isobit_hal::{Error, Result};
use std::collections::VecDeque;

/// A queue of errors. No error overwrites another, and each is returned once, in order.
///
/// ```
/// use isobit_hal::{Error, ErrorKind};
/// use isobit_kernels::Deferred;
///
/// let deferred = Deferred::default();
/// deferred.keep(Err(Error::new(ErrorKind::Other, "free")));
/// assert_eq!(deferred.take().unwrap_err().message(), "free");
/// assert!(deferred.take().is_ok());
/// ```
#[derive(Debug, Default)]
pub struct Deferred(Mutex<VecDeque<Error>>);

impl Deferred {
    /// Keeps the error if `result` is one.
    pub fn keep(&self, result: Result<()>) {
        if let Err(e) = result {
            self.0.lock().push_back(e);
        }
    }

    /// Removes and returns the oldest error.
    ///
    /// # Errors
    /// Returns the oldest kept error, if there is one.
    pub fn take(&self) -> Result<()> {
        self.0.lock().pop_front().map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobit_hal::ErrorKind;

    #[test]
    fn errors_come_out_once_and_in_order() {
        let deferred = Deferred::default();
        deferred.keep(Ok(()));
        assert!(deferred.take().is_ok());
        for message in ["first", "second"] {
            deferred.keep(Err(Error::new(ErrorKind::Other, message)));
        }
        assert_eq!(deferred.take().unwrap_err().message(), "first");
        assert_eq!(deferred.take().unwrap_err().message(), "second");
        assert!(deferred.take().is_ok());
    }
}
