//! The oracle against verdicts by hand.

use isobit_simgpu_core::finding::FindingKind;
use isobit_simgpu_planted::oracle::{Card, Verdict, judge};
use isobit_simgpu_planted::program::{Access, Arguments, Element, Guard, Index, Kind, Map, Program, Space, Step};

/// An access by every thread.
fn access(kind: Kind, space: Space, map: Map) -> Access {
    Access { kind, space, index: Index::of(map), guard: Guard::Always, width: 1 }
}

/// Judges a program of two waves of 32 threads, whose buffers have 64 elements each.
fn verdict(steps: Vec<Step>) -> Verdict {
    let program = Program { element: Element::U32, threads: 64, blocks: 1, shared: 64, lengths: [64; 4], steps };
    let at = [0x1000, 0x2000, 0x3000, 0x4000];
    // Another allocation begins a page behind the output.
    let card = Card { wave: 32, shared_unit: 128, aligned: true, at, is_live: &|at| at >= 0x5000 };
    judge(&program, &Arguments { count: 64, shift: 0, chosen: -1 }, &card)
}

fn must(steps: Vec<Step>) -> Vec<FindingKind> {
    verdict(steps).must.into_iter().collect()
}

#[test]
fn a_barrier_orders_waves_and_a_wave_runs_in_step() {
    let exchange = |map, barrier| {
        let mut steps = vec![Step::Access(access(Kind::Store, Space::Shared, Map::Same))];
        steps.extend(std::iter::repeat_n(Step::Barrier, barrier));
        steps.push(Step::Access(access(Kind::Load, Space::Shared, map)));
        steps
    };
    assert_eq!(must(exchange(Map::Reversed, 1)), []);
    assert_eq!(must(exchange(Map::Reversed, 0)), [FindingKind::Race]);
    // Only threads of one wave exchange.
    assert_eq!(must(exchange(Map::Swapped(16), 0)), []);
    assert_eq!(must(exchange(Map::Swapped(32), 0)), [FindingKind::Race]);
}

#[test]
fn lanes_of_one_store_disagree_unless_they_store_the_same() {
    let mut store = access(Kind::Store, Space::Scratch, Map::Same);
    store.index.scale = 0;
    assert_eq!(must(vec![Step::Access(store)]), [FindingKind::Race]);
    store.guard = Guard::Below(1);
    assert_eq!(must(vec![Step::Access(store)]), []);
    store = Access { kind: Kind::AtomicAdd, space: Space::Counters, guard: Guard::Always, ..store };
    assert_eq!(must(vec![Step::Access(store)]), []);
}

#[test]
fn what_no_store_precedes_is_uninitialised() {
    let load = Step::Access(access(Kind::Load, Space::Scratch, Map::Same));
    let mut store = access(Kind::Store, Space::Scratch, Map::Same);
    assert_eq!(must(vec![load.clone()]), [FindingKind::UninitialisedRead]);
    assert_eq!(must(vec![Step::Access(store), load.clone()]), []);
    store.guard = Guard::Below(63);
    assert_eq!(must(vec![Step::Access(store), load.clone()]), [FindingKind::UninitialisedRead]);
    // The store of another wave may come first: that is a race.
    store = Access { index: Index::of(Map::Rotated(32)), guard: Guard::Always, ..store };
    let unordered = verdict(vec![Step::Access(store), load]);
    assert_eq!(unordered.must.into_iter().collect::<Vec<_>>(), [FindingKind::Race]);
    assert_eq!(unordered.may.into_iter().collect::<Vec<_>>(), [FindingKind::UninitialisedRead]);
}

#[test]
fn the_places_outside_a_buffer() {
    let load = |base: i64, width: u32| {
        let mut load = access(Kind::Load, Space::Input, Map::Same);
        (load.index.base, load.width, load.guard) = (base, width, Guard::Below(1));
        vec![Step::Access(load)]
    };
    assert_eq!(must(load(63, 1)), []);
    assert_eq!(must(load(64, 1)), [FindingKind::OutOfBounds]);
    assert_eq!(must(load(-1, 1)), [FindingKind::OutOfBounds]);
    assert_eq!(must(load(62, 2)), []);
    // 64 words are a multiple of 256 bytes: nothing is rounded.
    assert_eq!(must(load(64, 2)), [FindingKind::OutOfBounds]);
    assert_eq!(must(load(63, 2)), [FindingKind::Misaligned]);
    let far = verdict(load(0x1000, 1));
    assert!(far.elsewhere && far.must.is_empty(), "{far:?}");
}
