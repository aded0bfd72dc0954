//! Errors of calls that cannot return one (frees, destructors), kept for the next synchronising
//! call.

use isobit_hal::{Error, Result};
use parking_lot::Mutex;
use std::collections::VecDeque;

/// A queue of errors: none overwrites another, and each is given out once, in order.
#[derive(Debug, Default)]
pub struct Deferred(Mutex<VecDeque<Error>>);

impl Deferred {
    /// Keeps the error of a result, if it is one.
    pub fn keep(&self, result: Result<()>) {
        if let Err(e) = result {
            self.0.lock().push_back(e);
        }
    }

    /// The first error that was kept and not yet given out.
    ///
    /// # Errors
    /// That error.
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
