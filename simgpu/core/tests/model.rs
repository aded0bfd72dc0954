//! Random allocations and accesses, compared with a model that has one flag per byte.

mod common;

use common::{access, arena};
use isobit_simgpu_core::check::Access;
use isobit_simgpu_core::finding::{FindingKind, Findings};
use isobit_simgpu_core::memory::Kind;
use proptest::prelude::*;
use proptest::sample::Index;
use std::collections::HashMap;

#[derive(Debug, Clone)]
enum Step {
    Alloc(usize),
    Free(Index),
    /// The kind of access, the allocation, the first byte relative to its start, the additional
    /// offset of each lane in units of the access, and the size.
    Access(u8, Index, i64, Vec<i64>, u32),
    /// A whole wave in a row.
    Row(bool, Index, i64, u32),
    Host(bool, Index, usize, usize),
    Copy(Index, Index, usize),
}

fn step() -> impl Strategy<Value = Step> {
    let bytes = prop::sample::select(vec![1u32, 2, 4, 8, 12, 16]);
    let spread = prop::collection::vec(-3i64..6, 1..64);
    prop_oneof![
        2 => (1usize..1500).prop_map(Step::Alloc),
        1 => any::<Index>().prop_map(Step::Free),
        4 => (0u8..5, any::<Index>(), -8i64..1500, spread, bytes.clone()).prop_map(|(a, i, o, s, b)| Step::Access(a, i, o, s, b)),
        3 => (any::<bool>(), any::<Index>(), -8i64..600, bytes).prop_map(|(s, i, o, b)| Step::Row(s, i, o, b)),
        1 => (any::<bool>(), any::<Index>(), 0usize..1500, 1usize..1500).prop_map(|(w, i, o, b)| Step::Host(w, i, o, b)),
        1 => (any::<Index>(), any::<Index>(), 1usize..1500).prop_map(|(a, b, n)| Step::Copy(a, b, n)),
    ]
}

proptest! {
    #[test]
    fn checks_agree_with_a_flag_for_each_byte(steps in prop::collection::vec(step(), 1..120)) {
        let memory = arena();
        // For every allocated byte: whether it was written.
        let mut model: HashMap<u64, bool> = HashMap::new();
        let mut live: Vec<(u64, usize)> = Vec::new();
        for step in steps {
            let (what, addresses, bytes) = match step {
                Step::Alloc(bytes) => {
                    let base = memory.alloc(bytes, Kind::Device, "").unwrap();
                    for byte in base..base + bytes as u64 {
                        prop_assert!(model.insert(byte, false).is_none());
                    }
                    live.push((base, bytes));
                    continue;
                }
                _ if live.is_empty() => continue,
                Step::Free(which) => {
                    let (base, bytes) = live.swap_remove(which.index(live.len()));
                    memory.free(base).unwrap();
                    model.retain(|byte, _| !(base..base + bytes as u64).contains(byte));
                    continue;
                }
                Step::Host(write, which, offset, bytes) => {
                    let (base, size) = live[which.index(live.len())];
                    let findings = Findings::new();
                    let start = base + (offset % size) as u64;
                    let range = start..start + bytes as u64;
                    let inside = range.clone().all(|byte| model.contains_key(&byte));
                    prop_assert_eq!(memory.host_access(start, bytes, write, "host", &findings), inside);
                    let read_unwritten = inside && !write && range.clone().any(|byte| !model[&byte]);
                    prop_assert_eq!(findings.is_empty(), inside && !read_unwritten);
                    if inside && write {
                        model.extend(range.map(|byte| (byte, true)));
                    }
                    continue;
                }
                Step::Copy(from, to, bytes) => {
                    let ((from, a), (to, b)) = (live[from.index(live.len())], live[to.index(live.len())]);
                    let bytes = bytes.min(a).min(b);
                    memory.copy_initialised(from, to, bytes);
                    for i in 0..bytes as u64 {
                        model.insert(to + i, model[&(from + i)]);
                    }
                    continue;
                }
                Step::Access(what, which, start, spread, bytes) => {
                    let (base, size) = live[which.index(live.len())];
                    let start = base.wrapping_add_signed(start % (size as i64 + 8));
                    let addresses = spread.iter().map(|n| start.wrapping_add_signed(n * i64::from(bytes))).collect();
                    let kinds =
                        [Access::Load, Access::Store, Access::Atomic, Access::AtomicLoad, Access::AtomicStore];
                    (kinds[usize::from(what)], addresses, bytes)
                }
                Step::Row(store, which, start, bytes) => {
                    let base = live[which.index(live.len())].0.wrapping_add_signed(start);
                    let addresses = (0..64).map(|lane| base + lane * u64::from(bytes)).collect::<Vec<_>>();
                    (if store { Access::Store } else { Access::Load }, addresses, bytes)
                }
            };
            let align = u64::from(bytes.next_power_of_two().min(4));
            let (checked, findings) = access(&memory, what, &addresses, bytes);
            let has = |kind| findings.iter().any(|f| f.kind == kind);
            let range = |address: u64| address..address + u64::from(bytes);
            let inside = |address: u64| range(address).all(|byte| model.contains_key(&byte));
            let aligned = |address: u64| address.is_multiple_of(align);
            let made = |address: u64| inside(address) && (!what.is_atomic() || aligned(address));
            let lanes = addresses.iter().enumerate().fold(0u64, |mask, (lane, a)| mask | u64::from(made(*a)) << lane);
            prop_assert_eq!(checked.lanes, lanes);
            let reached = |address: u64| range(address).any(|byte| model.contains_key(&byte));
            let in_part = |address: u64| what != Access::Atomic && !inside(address) && reached(address);
            let clipped = |address: u64| match in_part(address) {
                true => !what.is_atomic() || aligned(address),
                false => !inside(address) && !what.writes(),
            };
            let lanes = addresses.iter().enumerate().fold(0u64, |mask, (lane, a)| mask | u64::from(clipped(*a)) << lane);
            prop_assert_eq!(checked.clipped, lanes);
            // A load that starts in an allocation and ends before its next multiple of 256 bytes.
            let over = |address: u64| {
                let rounded = |(base, size): &(u64, usize)| *base + size.div_ceil(256) as u64 * 256;
                let starts = |(base, size): &&(u64, usize)| (*base..*base + *size as u64).contains(&address);
                let end = live.iter().find(starts).map(rounded);
                !what.writes() && !inside(address) && end.is_some_and(|end| address + u64::from(bytes) <= end)
            };
            prop_assert_eq!(has(FindingKind::OverRead), addresses.iter().any(|a| over(*a)));
            prop_assert_eq!(has(FindingKind::OutOfBounds), addresses.iter().any(|a| !inside(*a) && !over(*a)));
            let crooked = |address: u64| (inside(address) || in_part(address)) && !aligned(address);
            prop_assert_eq!(has(FindingKind::Misaligned), addresses.iter().any(|a| crooked(*a)));
            let made_at: Vec<u64> = addresses.iter().copied().filter(|a| made(*a) || clipped(*a)).collect();
            // Lanes run one after the other: an atomic initialises what a later lane reads.
            let mut unwritten = false;
            for address in made_at {
                let bytes = || range(address).filter(|byte| model.contains_key(byte)).collect::<Vec<_>>();
                unwritten |= what.reads() && bytes().iter().any(|byte| !model[byte]);
                if what.writes() {
                    let written = bytes();
                    model.extend(written.into_iter().map(|byte| (byte, true)));
                }
            }
            prop_assert_eq!(has(FindingKind::UninitialisedRead), unwritten);
            prop_assert!(!has(FindingKind::Race));
        }
        for (base, bytes) in live {
            for byte in base..base + bytes as u64 {
                prop_assert_eq!(memory.is_initialised(byte, 1), model[&byte]);
            }
        }
    }
}
