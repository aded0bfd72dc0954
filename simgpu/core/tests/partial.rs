//! Accesses of which only a part lies in memory: what may be accessed, and what is found.

mod common;

use common::{HERE, Names, access, arena, kinds};
use isobit_simgpu_core::check::part::Part;
use isobit_simgpu_core::check::{Access, Checked, LANES, Launch, Place};
use isobit_simgpu_core::finding::FindingKind::{Misaligned, OutOfBounds, OverRead, Race, UninitialisedRead};
use isobit_simgpu_core::finding::{Finding, Findings};
use isobit_simgpu_core::local::Local;
use isobit_simgpu_core::memory::{Kind, Memory};

/// Returns the part of an access to global memory in a launch of its own.
fn part(memory: &Memory, what: Access, address: u64, bytes: u32) -> Option<Part> {
    Launch::new("kernel", memory, &Findings::new(), 1, false).part(what, address, bytes)
}

#[test]
fn a_load_within_the_rounding_is_an_over_read() {
    let memory = arena();
    let buffer = memory.alloc(28, Kind::Pinned, "s").unwrap();
    let _next = memory.alloc(28, Kind::Pinned, "").unwrap();
    let (checked, findings) = access(&memory, Access::Load, &[buffer, buffer + 16, buffer + 32], 16);
    assert_eq!((checked.lanes, checked.clipped), (0b001, 0b110));
    // The third lane starts past the end, and so is out of bounds in spite of the rounding.
    assert_eq!(kinds(&findings), [OutOfBounds, OverRead]);
    assert_eq!((findings[0].offset, findings[0].thread.as_str()), (32, "g0 w0 l2"));
    let found = &findings[1];
    assert_eq!((found.buffer.as_str(), found.offset), ("allocation #1 of 28 bytes (s)", 16));
    assert!(found.message.contains("a load of 16 bytes is at byte 16 of allocation #1"), "{}", found.message);
    assert!(found.message.contains("4 bytes beyond its end"), "{}", found.message);
    assert!(found.to_string().contains("over-read within the allocation's rounding"), "{found}");
    let inside = Part { address: buffer + 16, skipped: 0, bytes: 12 };
    assert_eq!(part(&memory, Access::Load, buffer + 16, 16), Some(inside));
    assert_eq!(part(&memory, Access::Load, buffer + 32, 16), None);

    // What ends after the rounding is out of bounds.
    let exact = memory.alloc(256, Kind::Device, "").unwrap();
    memory.set_initialised(exact, 256, true);
    assert_eq!(kinds(&access(&memory, Access::Load, &[exact + 252], 8).1), [OutOfBounds]);
    let long = memory.alloc(250, Kind::Pinned, "").unwrap();
    for (offset, kind) in [(240, OverRead), (244, OutOfBounds)] {
        assert_eq!(kinds(&access(&memory, Access::Load, &[long + offset], 16).1), [kind], "{offset}");
    }
    // Constants and modules are read as other memory is.
    let constant = memory.alloc(12, Kind::Constant, "").unwrap();
    assert_eq!(kinds(&access(&memory, Access::Load, &[constant], 16).1), [OverRead]);
}

#[test]
fn an_access_may_start_before_the_first_byte() {
    let memory = arena();
    let _before = memory.alloc(64, Kind::Pinned, "").unwrap();
    let buffer = memory.alloc(4, Kind::Pinned, "").unwrap();
    for what in [Access::Load, Access::AtomicLoad, Access::Store, Access::AtomicStore] {
        let (checked, findings) = access(&memory, what, &[buffer - 4], 12);
        assert_eq!((checked.lanes, checked.clipped, kinds(&findings)), (0, 1, vec![OutOfBounds]), "{what:?}");
        assert_eq!((findings[0].buffer.as_str(), findings[0].offset), ("allocation #2 of 4 bytes", -4));
        assert_eq!(part(&memory, what, buffer - 4, 12), Some(Part { address: buffer, skipped: 4, bytes: 4 }));
    }
    assert_eq!(part(&memory, Access::Load, buffer - 4, 4), None);
    assert_eq!(part(&memory, Access::Load, u64::MAX - 3, 16), None);
}

#[test]
fn a_store_is_made_inside_and_an_atomic_is_not() {
    let memory = arena();
    let buffer = memory.alloc(28, Kind::Device, "").unwrap();
    let (checked, findings) = access(&memory, Access::Atomic, &[buffer + 24], 8);
    assert_eq!((checked.lanes, checked.clipped, kinds(&findings)), (0, 0, vec![OutOfBounds]));
    assert!(!memory.is_initialised(buffer + 24, 1));
    let (checked, findings) = access(&memory, Access::Store, &[buffer + 16, buffer + 32], 16);
    // A lane of a store that has nothing inside has nothing to do.
    assert_eq!((checked.lanes, checked.clipped, kinds(&findings)), (0, 1, vec![OutOfBounds]));
    assert!(memory.is_initialised(buffer + 16, 12) && !memory.is_initialised(buffer + 15, 1));
    // Two lanes meet in the bytes inside.
    let (checked, _) = access(&memory, Access::Store, &[buffer + 16, buffer + 24], 16);
    assert_eq!((checked.clipped, checked.overlap), (0b11, 0b10));

    let constant = memory.alloc(28, Kind::Constant, "").unwrap();
    let (checked, findings) = access(&memory, Access::Store, &[constant + 16], 16);
    assert_eq!((checked.lanes, checked.clipped, kinds(&findings)), (0, 0, vec![OutOfBounds]));
    assert_eq!(part(&memory, Access::Store, constant + 16, 16), None);
}

#[test]
fn the_bytes_inside_are_checked_like_others() {
    let memory = arena();
    let buffer = memory.alloc(28, Kind::Device, "").unwrap();
    memory.set_initialised(buffer, 24, true);
    let (_, findings) = access(&memory, Access::Load, &[buffer + 16], 16);
    assert_eq!((kinds(&findings), findings[1].offset), (vec![OverRead, UninitialisedRead], 24));
    memory.set_initialised(buffer + 24, 4, true);
    assert_eq!(kinds(&access(&memory, Access::Load, &[buffer + 16], 16).1), [OverRead]);
    assert_eq!(kinds(&access(&memory, Access::Load, &[buffer + 18], 16).1), [OverRead, Misaligned]);
    // A strong access at a wrong address is not made.
    let (checked, findings) = access(&memory, Access::AtomicLoad, &[buffer + 18], 16);
    assert_eq!((checked.lanes, checked.clipped, kinds(&findings)), (0, 0, vec![OverRead, Misaligned]));

    let findings = Findings::new();
    let launch = Launch::new("kernel", &memory, &findings, 4, false);
    let check = |group: u32, what: Access, offset: u64, bytes: u32| {
        let place = Place { group, ..HERE };
        launch.check(&place, what, 0, 1, &[buffer + offset; LANES], bytes, 4, &mut Default::default(), &Names);
        findings.take()
    };
    assert_eq!(kinds(&check(0, Access::Store, 24, 4)), []);
    let found = check(1, Access::Load, 16, 16);
    assert_eq!((kinds(&found), found[1].offset), (vec![OverRead, Race], 24));
    assert_eq!(kinds(&check(2, Access::Load, 8, 4)), []);
    assert_eq!(kinds(&check(3, Access::Store, 0, 16)), [Race]);
}

/// Local memory of 28 bytes, of which the first 24 are written, on a card with units of 128 bytes.
struct Shared {
    memory: Memory,
    findings: Findings,
    local: Local,
}

impl Shared {
    fn new() -> Self {
        let mut local = Local::new();
        local.reset(28, 4);
        let mut shared = Self { memory: arena(), findings: Findings::new(), local };
        shared.check(HERE, Access::Store, &[0, 8, 16], 8);
        shared
    }

    fn check(&mut self, who: Place, what: Access, addresses: &[i32], bytes: u32) -> (Checked, Vec<Finding>) {
        let launch = Launch::new("kernel", &self.memory, &self.findings, 1, false).with_local_unit(128);
        let all = std::array::from_fn(|lane| addresses.get(lane).map_or(0, |at| *at as u32));
        let mask = (1 << addresses.len()) - 1;
        let checked = self.local.check(&who, what, 0, mask, &all, bytes, 4, &launch, &Names);
        (checked, self.findings.take())
    }
}

#[test]
fn local_memory_is_rounded_up_too() {
    let mut shared = Shared::new();
    let later = |epoch| Place { epoch, ..HERE };
    let (checked, findings) = shared.check(later(1), Access::Load, &[0, 16, 28, -8, -16], 16);
    assert_eq!((checked.lanes, checked.clipped), (0b00001, 0b11110));
    assert_eq!(kinds(&findings), [OutOfBounds, OverRead, UninitialisedRead]);
    assert_eq!(findings.iter().map(|found| found.offset).collect::<Vec<_>>(), [28, 16, 24]);
    assert!(findings[1].message.contains("at byte 16 of the local memory of 28 bytes"), "{}", findings[1].message);
    assert_eq!(shared.local.part(16, 16), Some(Part { address: 16, skipped: 0, bytes: 12 }));
    assert_eq!(shared.local.part(-8i32 as u32, 16), Some(Part { address: 0, skipped: 8, bytes: 8 }));
    assert_eq!(shared.local.part(-16i32 as u32, 16), None);
    let (_, findings) = shared.check(later(1), Access::Load, &[-8], 16);
    assert_eq!((kinds(&findings), findings[0].offset), (vec![OutOfBounds], -8));
    assert!(findings[0].message.contains("before its first byte"), "{}", findings[0].message);

    let (checked, findings) = shared.check(later(2), Access::Store, &[24, 28], 8);
    assert_eq!((checked.lanes, checked.clipped, kinds(&findings)), (0, 0b01, vec![OutOfBounds]));
    let (checked, findings) = shared.check(later(2), Access::Atomic, &[24], 8);
    assert_eq!((checked.lanes, checked.clipped, kinds(&findings)), (0, 0, vec![OutOfBounds]));
    // The store has initialised the last bytes. Another wave races with it there.
    assert_eq!(kinds(&shared.check(later(2), Access::Load, &[16], 16).1), [OverRead]);
    let other = Place { wave: 1, ..later(2) };
    let (_, findings) = shared.check(other, Access::Load, &[16], 16);
    assert_eq!((kinds(&findings), findings[1].offset), (vec![OverRead, Race], 24));
    assert_eq!(kinds(&shared.check(later(3), Access::Load, &[18], 16).1), [OverRead, Misaligned]);

    let mut rounded = Shared::new();
    rounded.local.reset(128, 4);
    assert_eq!(kinds(&rounded.check(HERE, Access::Load, &[120], 16).1)[0], OutOfBounds);
}
