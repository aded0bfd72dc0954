//! A snapshot of the allocations, for the checks of a launch and for naming addresses.

use super::{ALIGN, Allocation, Kind};
use std::sync::Arc;

/// An address within this many bytes of an allocation is described relative to it.
const NEAR: u64 = 1 << 20;

/// The allocations at one moment, by address.
#[derive(Debug, Default)]
pub struct Table {
    bounds: Vec<(u64, u64)>,
    live: Vec<Arc<Allocation>>,
}

/// The description of an address in a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// The allocation that contains it, or else the nearest one.
    pub buffer: String,
    /// Bytes from the start of that allocation, negative before it; the address itself if no
    /// allocation is near.
    pub offset: i64,
    /// The place of the address, as the end of a sentence: `4 bytes past the end of allocation #2
    /// of 4096 bytes`.
    pub place: String,
}

impl Table {
    /// Creates a table of allocations, which must be in the order of their addresses.
    pub(super) fn new(live: Vec<Arc<Allocation>>) -> Self {
        Self { bounds: live.iter().map(|a| (a.base, a.base + a.bytes)).collect(), live }
    }

    /// Returns the allocation that contains `address`.
    #[inline]
    pub fn find(&self, address: u64) -> Option<&Arc<Allocation>> {
        let after = self.bounds.partition_point(|(base, _)| *base <= address);
        let at = after.checked_sub(1)?;
        (address < self.bounds[at].1).then(|| &self.live[at])
    }

    /// Whether the `bytes` bytes at `address` lie in an allocation whose size is rounded up as on a
    /// GPU, which does not notice an access to the bytes between.
    pub(crate) fn rounded(&self, address: u64, bytes: u64) -> bool {
        let after = self.bounds.partition_point(|(base, _)| *base <= address);
        let Some((_, end)) = after.checked_sub(1).map(|at| self.bounds[at]) else { return false };
        address.checked_add(bytes).is_some_and(|last| last <= end.next_multiple_of(ALIGN))
    }

    /// Returns the allocation that contains at least one of the `bytes` bytes at `address`. There
    /// is only one, because the gaps between allocations are wider than any access.
    pub fn reached(&self, address: u64, bytes: u64) -> Option<&Arc<Allocation>> {
        let after = self.bounds.partition_point(|(base, _)| *base < address.saturating_add(bytes));
        let at = after.checked_sub(1)?;
        (address < self.bounds[at].1).then(|| &self.live[at])
    }

    /// Returns the description of the `bytes` bytes at `address`, by the live allocations.
    pub(super) fn name(&self, address: u64, bytes: u64) -> Named {
        let after = self.bounds.partition_point(|(base, _)| *base <= address);
        let before = after.checked_sub(1).map(|i| &self.live[i]);
        let next = self.live.get(after);
        let past = |a: &Allocation| address.saturating_sub(a.base + a.bytes);
        let nearest = match (before, next) {
            (Some(b), Some(n)) if past(b) <= n.base - address => Some(b),
            (Some(b), None) => Some(b),
            (_, n) => n,
        };
        let distance = |a: &Allocation| if a.base > address { a.base - address } else { past(a) };
        let Some(a) = nearest.filter(|a| distance(a) < NEAR) else {
            let place = "in no allocation and not near one".to_owned();
            return Named { buffer: format!("address {address:#x}"), offset: address as i64, place };
        };
        let offset = address.wrapping_sub(a.base) as i64;
        let place = if address < a.base {
            format!("{} before {a}", counted(a.base - address))
        } else if address >= a.base + a.bytes {
            let far = if past(a) == 0 { "directly".to_owned() } else { counted(past(a)) };
            format!("{far} past the end of {a}")
        } else if address + bytes > a.base + a.bytes {
            format!("at byte {offset} of {a}, {} beyond its end", counted(address + bytes - a.base - a.bytes))
        } else {
            format!("at byte {offset} of {a}")
        };
        Named { buffer: a.to_string(), offset, place }
    }
}

fn counted(bytes: u64) -> String {
    format!("{bytes} byte{}", if bytes == 1 { "" } else { "s" })
}

impl Kind {
    /// Whether kernels may write.
    pub fn writable(self) -> bool {
        matches!(self, Self::Device | Self::Pinned | Self::Runtime)
    }

    /// Whether accesses are recorded, for the checks of initialisation and of races.
    pub fn tracked(self) -> bool {
        matches!(self, Self::Device | Self::Pinned)
    }

    /// Whether every byte counts as written from the start, because the host writes such memory
    /// without checks.
    pub fn initialised(self) -> bool {
        self != Self::Device
    }
}
