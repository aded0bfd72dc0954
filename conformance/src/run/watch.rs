//! An external observer of a device's memory accesses: a simulated device, or a checker that a
//! driver provides.

use super::fault::Fault;
use crate::schema::Finding;
use std::fmt;

/// An observer of each access to a device's memory.
///
/// The second run of a case on a watched device has no guard bands: each operand is an allocation
/// that ends with its last element, so the watch sees accesses that a band would hide. For that the
/// device must give each storage an allocation of exactly its size.
pub trait Watch: fmt::Debug + Send + Sync {
    /// Returns the forbidden accesses since the last call. Only one case runs at a time on a
    /// watched device, so they belong to that case.
    ///
    /// # Errors
    /// Returns a message if the watch does not answer.
    fn look(&self) -> Result<Vec<Sighting>, String>;
}

/// A forbidden access.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sighting {
    /// What the watch knows about it; the caller fills in device and operation.
    pub finding: Finding,
    /// The watch's own message.
    pub message: String,
}

impl Sighting {
    /// Returns the fault of a case with `count` sightings, of which this is the first.
    pub(super) fn fault(&self, count: usize) -> Fault {
        let place = self.finding.place();
        let message = match (place.is_empty(), self.message.is_empty()) {
            (true, _) => self.message.clone(),
            (false, true) => place,
            (false, false) => format!("{place}: {}", self.message),
        };
        Fault::Access { check: self.finding.kind.clone(), count, message }
    }
}
