//! Which devices a device may reach the memory of: asked of the vendor once a pair, for the
//! question costs more than a copy.

use isobit_hal::Result;
use parking_lot::Mutex;
use std::collections::HashSet;

/// The other devices, by ordinal, that one device was let reach.
#[derive(Debug, Default)]
pub struct PeerAccess(Mutex<HashSet<i32>>);

impl PeerAccess {
    /// Calls `allow` for a device until it has worked once.
    ///
    /// # Errors
    /// That of `allow`.
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
