//! Helpers for the tests of the checks.
#![allow(dead_code, reason = "each test file uses its part")]

use isobit_simgpu_core::check::{Access, Checked, Describe, LANES, Launch, Place, SiteCache};
use isobit_simgpu_core::finding::{Finding, FindingKind, Findings};
use isobit_simgpu_core::memory::Memory;

/// Names that tests can distinguish.
pub struct Names;

impl Describe for Names {
    fn instruction(&self, site: u32) -> String {
        format!("i{site}")
    }
    fn thread(&self, place: &Place, lane: u32) -> String {
        format!("g{} w{} l{lane}", place.group, place.wave)
    }
}

pub const HERE: Place = Place { group: 0, wave: 0, epoch: 0 };

/// Creates an arena for a test.
pub fn arena() -> Memory {
    Memory::new(64 << 20).unwrap()
}

/// Returns a mask and the addresses of the first lanes; the other addresses are far from
/// everything.
pub fn lanes(addresses: &[u64]) -> (u64, [u64; LANES]) {
    let all = std::array::from_fn(|lane| addresses.get(lane).copied().unwrap_or(0xdead_0000_0000));
    (u64::MAX.checked_shr(64 - addresses.len() as u32).unwrap_or(0), all)
}

/// Checks one instruction in its own launch.
pub fn access(memory: &Memory, access: Access, addresses: &[u64], bytes: u32) -> (Checked, Vec<Finding>) {
    let findings = Findings::new();
    let launch = Launch::new("kernel", memory, &findings, 1, false);
    let (mask, addresses) = lanes(addresses);
    let mut cache = SiteCache::default();
    let checked =
        launch.check(&HERE, access, 7, mask, &addresses, bytes, bytes.next_power_of_two().min(4), &mut cache, &Names);
    (checked, findings.take())
}

/// Returns the kinds of the findings, in order.
pub fn kinds(findings: &[Finding]) -> Vec<FindingKind> {
    findings.iter().map(|f| f.kind).collect()
}
