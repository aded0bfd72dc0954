//! Accesses to global memory, each with one known error.

mod common;

use common::{HERE, Names, access, arena, kinds, lanes};
use isobit_simgpu_core::check::{Access, Launch, Place, SiteCache};
use isobit_simgpu_core::finding::{FindingKind, Findings};
use isobit_simgpu_core::memory::Kind;

#[test]
fn one_element_outside_on_either_side_is_found_and_named() {
    let memory = arena();
    let _before = memory.alloc(1024, Kind::Device, "").unwrap();
    let buffer = memory.alloc(400, Kind::Device, "out").unwrap();
    let _after = memory.alloc(1024, Kind::Device, "").unwrap();

    // A hundred floats, one per lane: the last two lanes of the wave that extends past the end are
    // outside.
    let addresses: Vec<u64> = (0..64).map(|lane| buffer + 4 * (38 + lane)).collect();
    let (checked, findings) = access(&memory, Access::Store, &addresses, 4);
    assert_eq!(checked.lanes, u64::MAX >> 2);
    assert_eq!(kinds(&findings), [FindingKind::OutOfBounds]);
    let finding = &findings[0];
    assert_eq!((finding.buffer.as_str(), finding.offset), ("allocation #2 of 400 bytes (out)", 400));
    assert_eq!((finding.instruction.as_str(), finding.thread.as_str()), ("i7", "g0 w0 l62"));
    assert!(finding.message.contains("directly past the end of allocation #2"), "{}", finding.message);
    assert!(finding.message.contains("another lane"), "{}", finding.message);

    let (checked, findings) = access(&memory, Access::Load, &[buffer - 4], 4);
    assert_eq!((checked.lanes, findings[0].offset), (0, -4));
    assert!(findings[0].message.contains("4 bytes before allocation #2"), "{}", findings[0].message);

    // Four bytes of which the last two are outside.
    let (checked, findings) = access(&memory, Access::Store, &[buffer + 398], 4);
    assert_eq!((checked.lanes, findings[0].kind, findings[0].offset), (0, FindingKind::OutOfBounds, 398));
    assert_eq!(checked.clipped, 1);
    assert!(findings[0].message.contains("2 bytes beyond its end"), "{}", findings[0].message);

    let (checked, findings) = access(&memory, Access::Load, &[u64::MAX - 3, 0, 0x7fff_0000_0000], 4);
    assert_eq!((checked.lanes, kinds(&findings)), (0, vec![FindingKind::OutOfBounds]));
}

#[test]
fn use_after_free_shows_also_when_the_allocator_was_busy() {
    let memory = arena();
    let buffer = memory.alloc(4096, Kind::Device, "").unwrap();
    memory.free(buffer).unwrap();
    let again: Vec<u64> = (0..100).map(|_| memory.alloc(4096, Kind::Device, "").unwrap()).collect();
    assert!(!again.contains(&buffer), "freed memory stays out of use for a while");
    let (checked, findings) = access(&memory, Access::Load, &[buffer + 8], 4);
    assert_eq!((checked.lanes, findings[0].offset), (0, 8));
    assert!(findings[0].buffer.contains("freed allocation #1"), "{}", findings[0].buffer);
    assert_eq!(memory.free(buffer).unwrap_err().address, buffer);
    assert!(memory.free(again[0] + 256).unwrap_err().to_string().contains("at byte 256 of allocation #2"));
}

#[test]
fn what_nothing_wrote_is_known_to_the_byte() {
    let memory = arena();
    let buffer = memory.alloc(256, Kind::Device, "").unwrap();
    assert!(access(&memory, Access::Store, &[buffer, buffer + 2, buffer + 3], 1).1.is_empty());
    let (checked, findings) = access(&memory, Access::Load, &[buffer], 4);
    assert_eq!((checked.lanes, kinds(&findings)), (1, vec![FindingKind::UninitialisedRead]));
    assert_eq!(findings[0].offset, 1);
    assert!(access(&memory, Access::Load, &[buffer + 2], 2).1.is_empty());
    assert_eq!(kinds(&access(&memory, Access::Atomic, &[buffer + 4], 4).1), [FindingKind::UninitialisedRead]);
    assert!(access(&memory, Access::Load, &[buffer + 4], 4).1.is_empty(), "an atomic has written it");

    memory.set_initialised(buffer, 256, false);
    assert!(!memory.is_initialised(buffer + 4, 1));
    let pinned = memory.alloc(256, Kind::Pinned, "").unwrap();
    assert!(access(&memory, Access::Load, &[pinned, pinned + 128], 16).1.is_empty());
    assert!(access(&memory, Access::Store, &[pinned], 16).1.is_empty());
}

#[test]
fn memory_comes_back_uninitialised() {
    for (bytes, rounds) in [(64usize, 9000), (3 << 20, 10)] {
        let memory = arena();
        let first = memory.alloc(bytes, Kind::Device, "").unwrap();
        memory.set_initialised(first, bytes, true);
        memory.free(first).unwrap();
        // Enough to push everything out of quarantine.
        let mut found = false;
        for _ in 0..rounds {
            let again = memory.alloc(bytes, Kind::Device, "").unwrap();
            found |= again == first;
            let last = again + bytes as u64 - 4;
            assert_eq!(kinds(&access(&memory, Access::Load, &[again, last], 4).1), [FindingKind::UninitialisedRead]);
            memory.set_initialised(again, bytes, true);
            memory.free(again).unwrap();
        }
        assert!(found, "ranges are reused in the end");
    }
}

#[test]
fn modules_and_arguments_are_read_only() {
    let memory = arena();
    for kind in [Kind::Code, Kind::Constant] {
        let base = memory.alloc(64, kind, "arguments").unwrap();
        assert!(access(&memory, Access::Load, &[base, base + 32], 32).1.is_empty());
        for what in [Access::Store, Access::Atomic] {
            let (checked, findings) = access(&memory, what, &[base], 4);
            assert_eq!((checked.lanes, kinds(&findings)), (0, vec![FindingKind::OutOfBounds]));
            assert!(findings[0].message.contains("only read"), "{}", findings[0].message);
        }
    }
}

#[test]
fn misalignment_is_told_and_stops_atomics_only() {
    let memory = arena();
    let buffer = memory.alloc(64, Kind::Pinned, "").unwrap();
    for (what, made) in [(Access::Load, 0b11), (Access::Store, 0b11), (Access::Atomic, 0b01)] {
        let (checked, findings) = access(&memory, what, &[buffer + 4, buffer + 10], 4);
        assert_eq!((checked.lanes, kinds(&findings)), (made, vec![FindingKind::Misaligned]));
        assert_eq!((findings[0].offset, findings[0].thread.as_str()), (10, "g0 w0 l1"));
    }
}

#[test]
fn lanes_of_one_store_that_overlap_are_given_back() {
    let memory = arena();
    let buffer = memory.alloc(1024, Kind::Pinned, "").unwrap();
    let overlap = |offsets: &[u64], bytes| {
        let addresses: Vec<u64> = offsets.iter().map(|offset| buffer + offset).collect();
        let (checked, findings) = access(&memory, Access::Store, &addresses, bytes);
        assert!(findings.is_empty(), "{findings:?}");
        checked.overlap
    };
    assert_eq!(overlap(&[0, 4, 8, 12], 4), 0);
    assert_eq!(overlap(&[12, 4, 0, 8], 4), 0);
    assert_eq!(overlap(&[0, 8, 16], 4), 0);
    assert_eq!(overlap(&[4, 4, 4], 4), 0b110);
    assert_eq!(overlap(&[8, 0, 16, 0, 8], 4), 0b11000);
    assert_eq!(overlap(&[16, 8, 0], 16), 0b110);

    let findings = Findings::new();
    Launch::new("kernel", &memory, &findings, 4, false).overlapping(&HERE, 3, 2, buffer + 4, 4, &Names);
    let found = findings.take();
    assert_eq!((found[0].kind, found[0].offset, found[0].thread.as_str()), (FindingKind::Race, 4, "g0 w0 l2"));
}

#[test]
fn scalar_loads_are_checked_too() {
    let memory = arena();
    let buffer = memory.alloc(64, Kind::Device, "").unwrap();
    memory.set_initialised(buffer, 32, true);
    let findings = Findings::new();
    let launch = Launch::new("kernel", &memory, &findings, 4, false);
    let mut cache = SiteCache::default();
    assert!(launch.check_uniform(&HERE, Access::Load, 1, buffer, 32, 4, &mut cache, &Names));
    assert!(findings.is_empty());
    assert!(launch.check_uniform(&HERE, Access::Load, 2, buffer + 32, 4, 4, &mut cache, &Names));
    assert!(!launch.check_uniform(&HERE, Access::Load, 3, buffer + 48, 32, 4, &mut cache, &Names));
    assert_eq!(launch.part(Access::Load, buffer + 48, 32).map(|part| part.bytes), Some(16));
    assert!(!launch.check_uniform(&HERE, Access::Load, 4, buffer + 64, 4, 4, &mut cache, &Names));
    let (unwritten, over) = (FindingKind::UninitialisedRead, FindingKind::OverRead);
    assert_eq!(kinds(&findings.take()), [unwritten, over, unwritten, FindingKind::OutOfBounds]);
}

#[test]
fn caches_do_not_outlive_their_launch() {
    let memory = arena();
    let findings = Findings::new();
    let mut cache = SiteCache::default();
    let buffer = memory.alloc(64, Kind::Pinned, "").unwrap();
    let (mask, addresses) = lanes(&[buffer]);
    let mut check = || {
        let launch = Launch::new("kernel", &memory, &findings, 4, false);
        launch.check(&HERE, Access::Load, 0, mask, &addresses, 4, 4, &mut cache, &Names).lanes
    };
    assert_eq!(check(), 1);
    memory.free(buffer).unwrap();
    assert_eq!(check(), 0);
}

#[test]
fn many_alike_are_counted() {
    let memory = arena();
    let buffer = memory.alloc(64, Kind::Device, "").unwrap();
    let findings = Findings::new();
    let launch = Launch::new("kernel", &memory, &findings, 4, false);
    let (mask, addresses) = lanes(&[buffer + 64]);
    for site in [0, 1] {
        for _ in 0..20 {
            launch.check(&HERE, Access::Load, site, mask, &addresses, 4, 4, &mut SiteCache::default(), &Names);
        }
    }
    let found = findings.take();
    assert_eq!(found.len(), 16);
    assert!(found[7].message.ends_with("(12 more of this kind at this instruction)"), "{}", found[7].message);
    assert!(!found[6].message.contains("12 more"));
    assert!(findings.is_empty() && findings.take().is_empty());
}

#[test]
fn the_host_is_checked_and_copies_carry_what_is_known() {
    let memory = arena();
    let findings = Findings::new();
    let (a, b) = (memory.alloc(64, Kind::Device, "").unwrap(), memory.alloc(64, Kind::Device, "").unwrap());
    assert!(memory.host_access(a, 16, true, "copy from the host", &findings));
    assert!(memory.host_access(a, 16, false, "gemm", &findings) && findings.is_empty());
    assert!(memory.host_access(a, 17, false, "gemm", &findings));
    let found = findings.take();
    assert_eq!(
        (found[0].kind, found[0].offset, found[0].kernel.as_str()),
        (FindingKind::UninitialisedRead, 16, "gemm")
    );
    assert!(
        memory.host_bounds(a, 64, false, "copy", &findings) && memory.host_bounds(a + 64, 0, false, "copy", &findings)
    );
    assert!(findings.is_empty());
    assert!(!memory.host_access(a + 1, 64, true, "gemm", &findings));
    assert_eq!(kinds(&findings.take()), [FindingKind::OutOfBounds]);
    memory.copy_initialised(a + 8, b, 16);
    assert!(memory.is_initialised(b, 8) && !memory.is_initialised(b + 8, 1));
}

#[test]
fn usage_and_exhaustion() {
    let memory = arena();
    let big = memory.alloc(40 << 20, Kind::Device, "").unwrap();
    let error = memory.alloc(40 << 20, Kind::Device, "").unwrap_err();
    assert_eq!((error.bytes, error.usage.in_use, error.usage.capacity), (40 << 20, 40 << 20, 64 << 20));
    memory.free(big).unwrap();
    assert_eq!(memory.alloc(40 << 20, Kind::Device, "").unwrap(), big, "quarantine gives way before memory runs out");
    assert_eq!((memory.usage().in_use, memory.usage().peak), (40 << 20, 40 << 20));
    assert!(memory.holds(big) && !memory.holds(&memory as *const _ as u64));
    let empty = memory.alloc(0, Kind::Device, "").unwrap();
    assert_eq!(access(&memory, Access::Load, &[empty], 1).0.lanes, 0);
    memory.free(empty).unwrap();
}

#[test]
fn dispatch_numbers_come_round() {
    let memory = arena();
    let buffer = memory.alloc(64, Kind::Pinned, "").unwrap();
    let findings = Findings::new();
    let (mask, addresses) = lanes(&[buffer]);
    for n in 0..150_000u32 {
        let launch = Launch::new("kernel", &memory, &findings, 4, false);
        let place = Place { group: n, ..HERE };
        launch.check(&place, Access::Store, 0, mask, &addresses, 4, 4, &mut SiteCache::default(), &Names);
    }
    assert!(findings.is_empty(), "{:?}", findings.take());
}

#[test]
fn threads_check_at_the_same_time() {
    let memory = arena();
    let buffer = memory.alloc(1 << 20, Kind::Device, "").unwrap();
    let findings = Findings::new();
    for (stride, races) in [(64 * 16, false), (64 * 16 - 16, true)] {
        let launch = Launch::new("kernel", &memory, &findings, 4, false);
        std::thread::scope(|scope| {
            for thread in 0..4u32 {
                let launch = &launch;
                scope.spawn(move || {
                    let mut cache = SiteCache::default();
                    for group in (thread..1000).step_by(4) {
                        let addresses =
                            std::array::from_fn(|lane| buffer + u64::from(group) * stride + lane as u64 * 16);
                        let place = Place { group, ..HERE };
                        for what in [Access::Store, Access::Load] {
                            let checked =
                                launch.check(&place, what, 0, u64::MAX, &addresses, 16, 4, &mut cache, &Names);
                            assert_eq!(checked.lanes, u64::MAX);
                        }
                    }
                });
            }
        });
        assert_eq!(findings.take().iter().any(|f| f.kind == FindingKind::Race), races);
    }
}
