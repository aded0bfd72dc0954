//! Peer access between devices. The vendor is asked once per pair, because the query costs more
//! than a copy.

use isobit_hal::Result;
use parking_lot::Mutex;
use std::collections::HashSet;

/// The ordinals of the other devices that one device was given access to.
///
/// ```
/// use isobit_kernels::PeerAccess;
///
/// let access = PeerAccess::default();
/// let mut calls = 0;
/// for _ in 0..2 {
///     access.allow_once(1, || {
///         calls += 1;
///         Ok(())
///     })?;
/// }
/// assert_eq!(calls, 1);
/// # Ok::<(), isobit_hal::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct PeerAccess(Mutex<HashSet<i32>>);

impl PeerAccess {
    /// Calls `allow` for a device unless an earlier call succeeded.
    ///
    /// # Errors
    /// Returns the error of `allow`.
    pub fn allow_once(&self, device: i32, allow: impl FnOnce() -> Result<()>) -> Result<()> {
        let mut allowed = self.0.lock();
        if !allowed.contains(&device) {
            allow()?;
            allowed.insert(device);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobit_hal::{Error, ErrorKind};

    #[test]
    fn leave_is_asked_for_until_it_is_given() {
        let peers = PeerAccess::default();
        let refused = peers.allow_once(1, || Err(Error::new(ErrorKind::UnsupportedOp, "no")));
        assert!(refused.is_err());
        let mut asked = Vec::new();
        for device in [1, 1, 0] {
            let given = peers.allow_once(device, || {
                asked.push(device);
                Ok(())
            });
            given.unwrap();
        }
        assert_eq!(asked, [1, 0], "once for each device");
    }
}
