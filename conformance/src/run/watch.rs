//! What watches a device's accesses to memory from outside, where something does: a simulated
//! device, or a checker that a driver brings.

use super::fault::Fault;
use crate::schema::Finding;
use std::fmt;

/// Something that sees each access to a device's memory.
///
/// A case on a watched device runs the second time without guard bands, each operand an allocation
/// that ends with its last element: there the watch sees what a band would have hidden. For that
/// the device must give each storage an allocation of exactly its size.
pub trait Watch: fmt::Debug + Send + Sync {
    /// The accesses that must not be since the last call. Only one case runs at a time on a watched
    /// device, so that they are of that case.
    ///
    /// # Errors
    /// The watch does not answer, in words.
    fn look(&self) -> Result<Vec<Sighting>, String>;
}

/// An access that must not be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sighting {
    /// What of it the watch knows; device and operation are filled in by who asked.
    pub finding: Finding,
    /// The watch's own words.
    pub message: String,
}

impl Sighting {
    /// A case's fault, of so many sightings of which this is the first.
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
