//! Loads that begin a compare-and-swap loop, and flags on targets whose atomic stores look like
//! plain ones.

mod common;

use common::{Names, arena};
use isobit_simgpu_core::check::{Access, LANES, Launch, Place, SiteCache, UnmarkedStores};
use isobit_simgpu_core::finding::{FindingKind, Findings};
use isobit_simgpu_core::local::Local;
use isobit_simgpu_core::memory::Kind;

const DATA: u64 = 8;
const FLAG: u64 = 64;

/// An access by wave `wave` of group `group` in epoch `epoch` to a word.
type Op = (Place, Access, u64);

fn at(group: u32, wave: u32, epoch: u32) -> Place {
    Place { group, wave, epoch }
}

/// No element.
const NONE: [usize; 0] = [];

/// Makes accesses one after the other, and returns which of them race with an earlier one, in
/// global and, if there is only one group, in local memory.
fn racing(ops: &[Op], unmarked: bool, granule: u32) -> Vec<usize> {
    let memory = arena();
    let base = memory.alloc(4096, Kind::Pinned, "").unwrap();
    let findings = Findings::new();
    let everywhere = UnmarkedStores { global: unmarked, local: unmarked };
    let start = || Launch::new("kernel", &memory, &findings, granule, true).with_unmarked_stores(everywhere);
    let launch = start();
    let races = || -> Vec<usize> {
        let found = findings.take().into_iter();
        let sites = found.map(|f| {
            assert_eq!(f.kind, FindingKind::Race, "{f}");
            f.instruction[1..].parse().unwrap()
        });
        sites.collect()
    };
    for (site, (place, access, word)) in ops.iter().enumerate() {
        let (mut cache, addresses) = (SiteCache::default(), [base + 4 * word; LANES]);
        let checked = launch.check(place, *access, site as u32, 1, &addresses, 4, 4, &mut cache, &Names);
        assert_eq!(checked.lanes, 1);
        launch.performed(place, *access, &addresses, &checked);
    }
    let global = races();
    if ops.iter().all(|(place, ..)| place.group == 0) {
        let (launch, mut local) = (start(), Local::new());
        local.reset(512, 8);
        let all = std::array::from_fn(|lane| 8 * lane as u32);
        local.check(&Place::default(), Access::Store, 0, u64::MAX, &all, 8, 4, &launch, &Names);
        for (site, (place, access, word)) in ops.iter().enumerate() {
            let place = Place { epoch: place.epoch + 1, ..*place };
            let addresses = [4 * *word as u32; LANES];
            local.check(&place, *access, site as u32, 1, &addresses, 4, 4, &launch, &Names);
        }
        assert_eq!(races(), global, "local memory");
    }
    global
}

#[test]
fn a_load_that_is_compared_races_with_stores_but_not_with_atomics() {
    for other in [at(1, 0, 0), at(0, 1, 0)] {
        let me = at(0, 0, 0);
        for (first, second, race) in [
            (Access::Atomic, Access::ComparedLoad, false),
            (Access::ComparedLoad, Access::Atomic, false),
            (Access::AtomicStore, Access::ComparedLoad, false),
            (Access::ComparedLoad, Access::Load, false),
            (Access::Store, Access::ComparedLoad, true),
            (Access::ComparedLoad, Access::Store, true),
            (Access::Atomic, Access::Load, true),
            (Access::Load, Access::Atomic, true),
        ] {
            let found = racing(&[(me, first, FLAG), (other, second, FLAG)], false, 4);
            assert_eq!(found, if race { vec![1] } else { vec![] }, "{first:?}, {second:?}");
        }
    }
}

#[test]
fn a_load_that_is_compared_does_not_hide_a_plain_one() {
    // Each wave adds by a loop; the first also reads the sum.
    let add = |place| [(place, Access::ComparedLoad, FLAG), (place, Access::Atomic, FLAG)];
    let read = (at(0, 0, 0), Access::Load, FLAG);
    let ops = [&add(at(0, 0, 0))[..], &[read], &add(at(0, 1, 0)), &add(at(0, 2, 0))].concat();
    assert_eq!(racing(&ops, false, 4), [4]);
    let late = [&add(at(0, 0, 0))[..], &add(at(0, 1, 0)), &[read]].concat();
    assert_eq!(racing(&late, false, 4), [4]);
    let correct = [&add(at(0, 0, 0))[..], &add(at(0, 1, 0)), &[(at(0, 0, 1), Access::Load, FLAG)]].concat();
    assert_eq!(racing(&correct, false, 4), NONE);
}

#[test]
fn a_load_that_is_compared_orders_nothing() {
    let (writer, reader) = (at(0, 0, 0), at(1, 0, 0));
    let ops = |load| {
        [
            (writer, Access::Store, DATA),
            (writer, Access::Atomic, FLAG),
            (reader, load, FLAG),
            (reader, Access::Load, DATA),
        ]
    };
    assert_eq!(racing(&ops(Access::AtomicLoad), false, 4), NONE);
    assert_eq!(racing(&ops(Access::ComparedLoad), false, 4), [3]);
}

/// A wave writes data and sets a flag; another polls the flag `before` and after, and reads the
/// data.
fn flag(writer: Place, reader: Place, before: bool) -> Vec<Op> {
    let mut ops = vec![
        (writer, Access::Store, DATA),
        (writer, Access::Store, FLAG),
        (reader, Access::AtomicLoad, FLAG),
        (reader, Access::AtomicLoad, FLAG),
        (reader, Access::Load, DATA),
        (reader, Access::Store, DATA),
    ];
    if before {
        ops.insert(0, (reader, Access::AtomicLoad, FLAG));
    }
    ops
}

#[test]
fn an_unmarked_store_that_an_atomic_load_reads_releases() {
    for granule in [1, 4] {
        for reader in [at(1, 0, 0), at(0, 1, 0)] {
            for before in [false, true] {
                let ops = flag(at(0, 0, 0), reader, before);
                assert_eq!(racing(&ops, true, granule), NONE, "{before}");
                assert!(!racing(&ops, false, granule).is_empty(), "{before}");
            }
        }
    }
}

#[test]
fn an_unmarked_store_orders_only_what_is_before_it() {
    let (writer, later, reader) = (at(0, 0, 0), at(0, 0, 1), at(1, 0, 0));
    let poll = (reader, Access::AtomicLoad, FLAG);
    let read = (reader, Access::Load, DATA);
    let (set, data) = ((writer, Access::Store, FLAG), (later, Access::Store, DATA));
    // After the flag and a barrier.
    assert_eq!(racing(&[set, data, poll, read], true, 4), [3]);
    // By another wave, with a barrier before the flag and without one.
    let by_other = |epoch| [(at(0, 1, 0), Access::Store, DATA), (at(0, 0, epoch), Access::Store, FLAG), poll, read];
    assert_eq!(racing(&by_other(1), true, 4), NONE);
    assert_eq!(racing(&by_other(0), true, 4), [3]);
    // Without waiting for the flag.
    assert_eq!(racing(&[(writer, Access::Store, DATA), set, read], true, 4), [2]);
}

#[test]
fn an_unmarked_store_still_races_with_all_but_atomic_loads() {
    for (first, second) in [
        (Access::Store, Access::Load),
        (Access::Load, Access::Store),
        (Access::Store, Access::Store),
        (Access::Store, Access::Atomic),
        (Access::Atomic, Access::Store),
        (Access::Store, Access::ComparedLoad),
    ] {
        for other in [at(1, 0, 0), at(0, 1, 0)] {
            let found = racing(&[(at(0, 0, 0), first, FLAG), (other, second, FLAG)], true, 4);
            assert_eq!(found, [1], "{first:?}, {second:?}");
        }
    }
}

#[test]
fn a_lock_that_a_store_releases() {
    // Each wave takes the lock, changes the data, and releases the lock. The second tries to take
    // it in between.
    let (first, second) = (at(0, 0, 0), at(0, 1, 0));
    let held = |place| [(place, Access::Load, DATA), (place, Access::Store, DATA), (place, Access::Store, FLAG)];
    let take = |place| (place, Access::Atomic, FLAG);
    for second in [second, at(1, 0, 0)] {
        let free = [&[take(first)][..], &held(first), &[take(second)], &held(second), &[take(first)]].concat();
        assert_eq!(racing(&free, true, 4), NONE);
        assert!(!racing(&free, false, 4).is_empty());
        let tried = [&[take(first), take(second)][..], &held(first), &[take(second)], &held(second)].concat();
        assert_eq!(racing(&tried, true, 4), NONE);
        // Without taking the lock.
        assert_eq!(racing(&[&[take(first)][..], &held(first), &held(second)].concat(), true, 4), [4, 5, 6]);
    }
}

#[test]
fn a_flag_that_one_group_after_the_other_sets() {
    // Each group waits for the one before, changes the data, and sets the same flag.
    let turn = |group| {
        let place = at(group, 0, 0);
        [
            (place, Access::AtomicLoad, FLAG),
            (place, Access::Load, DATA),
            (place, Access::Store, DATA),
            (place, Access::Store, FLAG),
        ]
    };
    let ops: Vec<Op> = (0..4).flat_map(turn).collect();
    assert_eq!(racing(&ops, true, 4), NONE);
    // The last one does not wait.
    let skipped: Vec<Op> = ops.iter().enumerate().filter(|(i, _)| *i != 12).map(|(_, op)| *op).collect();
    assert_eq!(racing(&skipped, true, 4).first(), Some(&12));
}

/// Another host thread may run the storing group between the check of a load and the load.
#[test]
fn a_store_after_the_check_of_a_load_that_reads_its_value_is_acquired() {
    let memory = arena();
    let base = memory.alloc(4096, Kind::Pinned, "").unwrap();
    let findings = Findings::new();
    let everywhere = UnmarkedStores { global: true, local: true };
    let launch = Launch::new("kernel", &memory, &findings, 4, true).with_unmarked_stores(everywhere);
    let (writer, reader) = (Place { group: 1, wave: 0, epoch: 0 }, Place { group: 0, wave: 0, epoch: 0 });
    let (data, flag) = ([base; LANES], [base + 4; LANES]);
    let check = |place: &Place, access, addresses| {
        launch.check(place, access, 0, 1, addresses, 4, 4, &mut SiteCache::default(), &Names)
    };
    check(&writer, Access::Store, &data);
    let poll = check(&reader, Access::AtomicLoad, &flag);
    check(&writer, Access::Store, &flag);
    launch.performed(&reader, Access::AtomicLoad, &flag, &poll);
    check(&reader, Access::Load, &data);
    assert!(findings.is_empty(), "{:?}", findings.take());
    // A word that nobody stored orders nothing.
    let (data, flag) = ([base + 8; LANES], [base + 12; LANES]);
    check(&Place { group: 2, ..writer }, Access::Store, &data);
    let poll = check(&reader, Access::AtomicLoad, &flag);
    launch.performed(&reader, Access::AtomicLoad, &flag, &poll);
    check(&reader, Access::Load, &data);
    assert_eq!(findings.take().len(), 1);
}
