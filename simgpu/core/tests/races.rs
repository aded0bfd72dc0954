//! Random small programs: compares the races that the checks report with vector clocks over the
//! full history of accesses.

mod common;

use common::{Names, arena};
use isobit_simgpu_core::check::{Access, LANES, Launch, Place, SiteCache};
use isobit_simgpu_core::finding::{FindingKind, Findings};
use isobit_simgpu_core::local::Local;
use isobit_simgpu_core::memory::Kind;
use proptest::prelude::*;
use std::collections::{BTreeSet, HashMap};

/// Words that programs access: two blocks and a half.
const WORDS: u64 = 40;

#[derive(Debug, Clone, Copy)]
struct Op {
    access: Access,
    /// The first word.
    first: u64,
    /// How many lanes access a word each, one after the other.
    lanes: u64,
    /// The last lane accesses the first word.
    backwards: bool,
}

/// Operations by group, epoch and wave.
type Program = Vec<Vec<Vec<Vec<Op>>>>;

fn op(atomics: bool) -> impl Strategy<Value = Op> {
    let access = prop::sample::select(if atomics {
        let strong = [Access::Atomic, Access::AtomicLoad, Access::AtomicStore, Access::ComparedLoad];
        [&[Access::Load, Access::Load, Access::Store, Access::Atomic][..], &strong].concat()
    } else {
        vec![Access::Load, Access::Store]
    });
    // Single words, the words of whole blocks (the arena aligns to 256 bytes), and any row.
    let words = prop_oneof![
        (0..WORDS).prop_map(|first| (first, 1)),
        prop::sample::select(vec![(0, 16), (16, 16), (0, 32)]),
        (0..WORDS, 1..WORDS).prop_map(|(first, lanes)| (first, lanes.min(WORDS - first))),
    ];
    (access, words, any::<bool>()).prop_map(|(access, (first, lanes), backwards)| {
        // Atomics of few words, so that they meet.
        let (first, lanes) = if access.is_atomic() { (first % 5, 1) } else { (first, lanes) };
        Op { access, first, lanes, backwards }
    })
}

fn program(groups: usize, atomics: bool) -> impl Strategy<Value = (Program, Vec<usize>)> {
    let wave = prop::collection::vec(op(atomics), 0..3);
    let group = prop::collection::vec(prop::collection::vec(wave, 1..=3), 1..=3);
    (prop::collection::vec(group, 1..=groups), prop::collection::vec(0..groups, 0..60))
}

/// Returns a program in its order of execution. The groups take turns as in `turns`; each runs its
/// waves one after the other between barriers.
fn executed((program, turns): &(Program, Vec<usize>)) -> Vec<(Place, Op)> {
    let mut queues: Vec<Vec<(Place, Op)>> = Vec::new();
    for (group, epochs) in program.iter().enumerate() {
        let mut queue = Vec::new();
        for (epoch, waves) in epochs.iter().enumerate() {
            for (wave, ops) in waves.iter().enumerate() {
                let place = Place { group: group as u32, wave: wave as u32, epoch: epoch as u32 };
                queue.extend(ops.iter().map(|op| (place, *op)));
            }
        }
        queue.reverse();
        queues.push(queue);
    }
    let mut order = Vec::new();
    for turn in turns {
        let group = turn % queues.len();
        order.extend(queues[group].pop());
    }
    queues.into_iter().for_each(|queue| order.extend(queue.into_iter().rev()));
    order
}

type Thread = (u32, u32);
type Clock = HashMap<Thread, u32>;

fn join(clock: &mut Clock, other: &Clock) {
    for (thread, time) in other {
        let own = clock.entry(*thread).or_default();
        *own = (*own).max(*time);
    }
}

/// Returns the operations that race with an earlier one, by vector clocks of waves. `order` lists
/// the operations with their places.
fn racing(order: &[(Place, Op)]) -> BTreeSet<usize> {
    let mut clocks: HashMap<Thread, Clock> = HashMap::new();
    let mut epochs: HashMap<u32, u32> = HashMap::new();
    let mut released: HashMap<u64, Clock> = HashMap::new();
    let mut history: HashMap<u64, Vec<(Thread, u32, Access)>> = HashMap::new();
    let mut races = BTreeSet::new();
    let threads: BTreeSet<Thread> = order.iter().map(|(p, _)| (p.group, p.wave)).collect();
    for (index, (place, op)) in order.iter().enumerate() {
        let me = (place.group, place.wave);
        if epochs.insert(place.group, place.epoch).is_some_and(|before| before != place.epoch) {
            // A barrier: all waves of the group know what each of them knows.
            let group: Vec<Thread> = threads.iter().copied().filter(|t| t.0 == place.group).collect();
            let mut all = Clock::new();
            for thread in &group {
                join(&mut all, clocks.entry(*thread).or_default());
            }
            for thread in group {
                clocks.insert(thread, all.clone());
            }
        }
        let clock = clocks.entry(me).or_default();
        if op.access.orders() && op.access.reads() {
            join(clock, released.entry(op.first).or_default());
        }
        let time = *clock.entry(me).and_modify(|t| *t += 1).or_insert(1);
        for word in op.first..op.first + op.lanes {
            let before = history.entry(word).or_default();
            let clashes = |(thread, at, access): &(Thread, u32, Access)| {
                let atomic = access.is_atomic() && op.access.is_atomic();
                let writes = access.writes() || op.access.writes();
                let ordered = *thread == me || clock.get(thread).is_some_and(|known| known >= at);
                !ordered && writes && !atomic
            };
            if before.iter().any(clashes) {
                races.insert(index);
            }
            before.push((me, time, op.access));
        }
        if op.access.orders() && op.access.writes() {
            released.insert(op.first, clock.clone());
        }
    }
    races
}

fn addresses(op: &Op, base: u64) -> (u64, [u64; LANES]) {
    let word = |lane: u64| op.first + if op.backwards && lane < op.lanes { op.lanes - 1 - lane } else { lane };
    (u64::MAX >> (64 - op.lanes), std::array::from_fn(|lane| base + 4 * word(lane as u64)))
}

fn found(findings: &Findings) -> BTreeSet<usize> {
    let sites = findings.take().into_iter().map(|f| {
        assert_eq!(f.kind, FindingKind::Race, "{f}");
        f.instruction[1..].parse().unwrap()
    });
    sites.collect()
}

/// Returns the findings of the checks of global memory. The granules may be finer than the
/// accesses.
fn globally(order: &[(Place, Op)], granule: u32, atomics: bool) -> BTreeSet<usize> {
    let memory = arena();
    let base = memory.alloc(4 * WORDS as usize, Kind::Pinned, "").unwrap();
    let findings = Findings::new();
    let launch = Launch::new("kernel", &memory, &findings, granule, atomics);
    for (site, (place, op)) in order.iter().enumerate() {
        let (mask, at) = addresses(op, base);
        let mut cache = SiteCache::default();
        let checked = launch.check(place, op.access, site as u32, mask, &at, 4, 4, &mut cache, &Names);
        assert_eq!(checked.lanes, mask);
        launch.performed(place, op.access, &at, &checked);
    }
    found(&findings)
}

/// Returns the findings of the checks of local memory.
fn locally(order: &[(Place, Op)], granule: u32, atomics: bool) -> BTreeSet<usize> {
    let memory = arena();
    let findings = Findings::new();
    let launch = Launch::new("kernel", &memory, &findings, granule, atomics);
    let mut local = Local::new();
    local.reset(4 * WORDS as usize, 3);
    let all = std::array::from_fn(|lane| 4 * lane as u32);
    local.check(&Place::default(), Access::Store, 0, (1 << WORDS) - 1, &all, 4, 4, &launch, &Names);
    for (site, (place, op)) in order.iter().enumerate() {
        let (mask, at) = addresses(op, 0);
        // The epoch after the initialisation.
        let place = Place { epoch: place.epoch + 1, ..*place };
        let checked = local.check(&place, op.access, site as u32, mask, &at.map(|a| a as u32), 4, 4, &launch, &Names);
        assert_eq!(checked.lanes, mask);
    }
    found(&findings)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    /// With only barriers, the first race is found, and there are no false races.
    #[test]
    fn barriers(program in program(3, false), granule in prop::sample::select(vec![1u32, 2, 4])) {
        let order = executed(&program);
        let truth = racing(&order);
        let found = globally(&order, granule, false);
        prop_assert_eq!(found.first(), truth.first());
        prop_assert!(found.is_subset(&truth), "{:?} of {:?}", found, truth);
    }

    #[test]
    fn barriers_in_local_memory(program in program(1, false), granule in prop::sample::select(vec![1u32, 2, 4])) {
        let order = executed(&program);
        let truth = racing(&order);
        let found = locally(&order, granule, false);
        prop_assert_eq!(found.first(), truth.first());
        prop_assert!(found.is_subset(&truth), "{:?} of {:?}", found, truth);
    }

    /// Atomics that order accesses prevent reports, and there are no false races.
    #[test]
    fn atomics(program in program(3, true)) {
        let order = executed(&program);
        let truth = racing(&order);
        let found = globally(&order, 4, true);
        prop_assert!(found.is_subset(&truth), "{:?} of {:?}", found, truth);
    }

    #[test]
    fn atomics_in_local_memory(program in program(1, true)) {
        let order = executed(&program);
        let truth = racing(&order);
        let found = locally(&order, 4, true);
        prop_assert!(found.is_subset(&truth), "{:?} of {:?}", found, truth);
    }

    /// Also if the same place stored there before, and for groups of one wave.
    #[test]
    fn lanes_of_one_store_to_local_memory_that_meet_are_given_back(
        words in prop::collection::vec(0..24u32, LANES),
        mask in prop_oneof![Just(u64::MAX), Just(u64::from(u32::MAX)), any::<u64>()],
        bytes in prop::sample::select(vec![1u32, 2, 4, 8]),
        waves in 1..3u32,
    ) {
        let (memory, findings) = (arena(), Findings::new());
        let launch = Launch::new("kernel", &memory, &findings, bytes, false);
        let mut local = Local::new();
        local.reset(24 * 8, waves);
        let at: [u32; LANES] = std::array::from_fn(|lane| words[lane] * bytes);
        let active = |lane: usize| mask >> lane & 1 == 1;
        let meets = |lane: usize| active(lane) && (0..lane).any(|earlier| active(earlier) && words[earlier] == words[lane]);
        let meeting = (0..LANES).filter(|&lane| meets(lane)).fold(0, |lanes, lane| lanes | 1u64 << lane);
        for _ in 0..2 {
            let checked = local.check(&Place::default(), Access::Store, 0, mask, &at, bytes, bytes, &launch, &Names);
            prop_assert_eq!((checked.lanes, checked.overlap), (mask, meeting));
        }
        prop_assert!(found(&findings).is_empty());
    }

    /// Atomics also count as accesses if they order nothing, because no wave makes two.
    #[test]
    fn one_atomic_each_is_found_to_race(ops in prop::collection::vec((0..3u32, 0..6usize, 0..4u64), 2..6)) {
        const KINDS: [Access; 6] = [
            Access::Load, Access::Store, Access::Atomic, Access::AtomicLoad, Access::AtomicStore, Access::ComparedLoad,
        ];
        let order: Vec<(Place, Op)> = ops.into_iter().enumerate().map(|(wave, (group, kind, word))| {
            let access = KINDS[kind];
            (Place { group, wave: wave as u32, epoch: 0 }, Op { access, first: word, lanes: 1, backwards: false })
        }).collect();
        let truth = racing(&order);
        let found = globally(&order, 4, true);
        prop_assert!(found.is_subset(&truth));
        prop_assert_eq!(found.first(), truth.first());
    }
}

/// The "last group finishes" pattern: each group stores its part (words 2 and 3), then adds to a
/// counter (word 0); the last reads all parts.
fn last_finishes(release: Access, epoch: u32, counter: u64) -> Vec<(Place, Op)> {
    let place = |group, epoch| Place { group, wave: 0, epoch };
    let op = |access, first| Op { access, first, lanes: 1, backwards: false };
    vec![
        (place(0, 0), op(Access::Store, 2)),
        (place(0, epoch), op(release, 0)),
        (place(1, 0), op(Access::Store, 3)),
        (place(1, epoch), op(Access::Atomic, counter)),
        (place(1, epoch + 1), op(Access::Load, 2)),
    ]
}

#[test]
fn the_last_group_may_read_what_the_others_released() {
    assert!(globally(&last_finishes(Access::Atomic, 1, 0), 4, true).is_empty());
    assert!(globally(&last_finishes(Access::Atomic, 0, 0), 4, true).is_empty());
    let other_counter = globally(&last_finishes(Access::Atomic, 1, 1), 4, true);
    assert_eq!(other_counter, BTreeSet::from([4]), "an atomic of another address orders nothing");
    let no_atomic = globally(&last_finishes(Access::Load, 1, 0), 4, true);
    assert_eq!(no_atomic.last(), Some(&4), "a load releases nothing");

    // A part stored by another wave, with no barrier before the atomic.
    let mut unfenced = last_finishes(Access::Atomic, 0, 0);
    unfenced[0].0.wave = 1;
    assert_eq!(globally(&unfenced, 4, true), BTreeSet::from([4]));
    // A part stored after the atomic.
    let mut late = last_finishes(Access::Atomic, 1, 0);
    late[0].0.epoch = 2;
    late.swap(0, 1);
    assert_eq!(globally(&late, 4, true), BTreeSet::from([4]));
}

#[test]
fn chains_of_atomics_over_several_groups_order_too() {
    let place = |group| Place { group, wave: 0, epoch: 0 };
    let op = |access, first| Op { access, first, lanes: 1, backwards: false };
    let order = [
        (place(0), op(Access::Store, 5)),
        (place(0), op(Access::Atomic, 0)),
        (place(1), op(Access::Atomic, 0)),
        (place(1), op(Access::Atomic, 1)),
        (place(2), op(Access::Atomic, 1)),
        (place(2), op(Access::Load, 5)),
    ];
    assert!(globally(&order, 4, true).is_empty());
    let broken: Vec<_> = order.iter().enumerate().filter(|(i, _)| *i != 3).map(|(_, step)| *step).collect();
    assert_eq!(globally(&broken, 4, true), BTreeSet::from([4]));
}

#[test]
fn a_race_says_with_whom() {
    let memory = arena();
    let base = memory.alloc(256, Kind::Pinned, "").unwrap();
    let findings = Findings::new();
    let launch = Launch::new("reduce", &memory, &findings, 4, false);
    let access = |place: Place, access, first| {
        let (mask, at) = addresses(&Op { access, first, lanes: 2, backwards: false }, base);
        launch.check(&place, access, 0, mask, &at, 4, 4, &mut SiteCache::default(), &Names);
        findings.take().pop().map(|f| f.message)
    };
    let place = |group, wave, epoch| Place { group, wave, epoch };
    assert_eq!(access(place(0, 0, 0), Access::Store, 0), None);
    let message = access(place(0, 1, 0), Access::Load, 1).unwrap();
    assert!(
        message.contains("races with a store by wave 0 of the group with no barrier between, at byte 4 of"),
        "{message}"
    );
    assert!(message.starts_with("i0, g0 w1 l0: a load of 4 bytes"), "{message}");
    assert_eq!(access(place(0, 2, 1), Access::Load, 0), None, "a barrier orders");
    let message = access(place(3, 0, 0), Access::Store, 0).unwrap();
    assert!(message.contains("a store by wave 0 of group 0, and no atomics order the two groups"), "{message}");
    assert_eq!(access(place(4, 0, 0), Access::Load, 30), None);
    assert_eq!(access(place(5, 0, 0), Access::Load, 30), None);
    let message = access(place(4, 0, 0), Access::Store, 31).unwrap();
    assert!(message.contains("a load by other groups"), "{message}");
}

#[test]
fn a_missing_barrier_in_a_reduction_is_found() {
    let findings = Findings::new();
    let memory = arena();
    let launch = Launch::new("reduce", &memory, &findings, 4, false);
    for barrier in [true, false] {
        let mut local = Local::new();
        local.reset(16, 4);
        for wave in 0..4 {
            let place = Place { group: 0, wave, epoch: 0 };
            local.check(&place, Access::Store, 0, 1, &[4 * wave; LANES], 4, 4, &launch, &Names);
        }
        let place = Place { group: 0, wave: 0, epoch: u32::from(barrier) };
        local.check(
            &place,
            Access::Load,
            1,
            0b1111,
            &std::array::from_fn(|lane| 4 * lane as u32),
            4,
            4,
            &launch,
            &Names,
        );
        assert_eq!(found(&findings).into_iter().collect::<Vec<_>>(), if barrier { vec![] } else { vec![1] });
    }
}

#[test]
fn a_group_whose_memory_fits_the_words_of_a_smaller_one_is_checked_to_its_end() {
    let findings = Findings::new();
    let memory = arena();
    let launch = Launch::new("kernel", &memory, &findings, 1, false);
    let mut local = Local::new();
    for bytes in [12, 16] {
        local.reset(bytes, 2);
        let at = std::array::from_fn(|lane| lane as u32);
        let checked = local.check(&Place::default(), Access::Store, 0, (1 << bytes) - 1, &at, 1, 1, &launch, &Names);
        assert_eq!(checked.lanes, (1 << bytes) - 1);
    }
    assert!(found(&findings).is_empty());
}
