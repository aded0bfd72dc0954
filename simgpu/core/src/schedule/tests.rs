//! Groups that wait for each other, as small programs over a shared memory.

use super::*;
use crate::finding::Fault;
use crate::queue::{Mode, Queues, Work};
use crate::watch;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::mpsc::channel;
use std::thread;

/// What a group does, step by step; a step that waits is repeated.
#[derive(Clone, Copy)]
enum Step {
    /// Waits until a word has this value.
    Wait(usize, u32),
    /// The same, but gives up after a number of tries.
    Try(usize, u32, u32),
    /// The same, and looks at a clock.
    WaitWithClock(usize, u32),
    Set(usize, u32),
    Add(usize, u32),
    /// Reads a word that is not changed, for this number of steps.
    Busy(u32),
    Fail,
}

use Step::{Add, Busy, Fail, Set, Try, Wait, WaitWithClock};

struct Programs<'a> {
    words: &'a [AtomicU32],
    program: &'a (dyn Fn(u64) -> Vec<Step> + Sync),
    bytes: usize,
}

#[derive(Default, Clone)]
struct Group {
    group: u64,
    program: Vec<Step>,
    at: usize,
    tries: u32,
}

#[derive(Debug, PartialEq, Eq)]
enum Error {
    Failed(u64),
    Deadlock { groups: u64, full: Option<Full> },
}

impl Groups for Programs<'_> {
    type State = Group;
    type Error = Error;

    fn state(&self) -> Group {
        Group::default()
    }

    fn start(&self, state: &mut Group, group: u64) {
        *state = Group { group, program: (self.program)(group), at: 0, tries: 0 };
    }

    fn run(&self, state: &mut Group, turn: &Turn) -> Result<Progress, Error> {
        let (mut steps, mut jumps) = (0, 0);
        while let Some(step) = state.program.get(state.at) {
            if steps >= turn.steps && jumps >= turn.patience.min(1000) {
                return Ok(Progress::Paused);
            }
            steps += 1;
            let is = |at: usize, value: u32| self.words[at].load(Ordering::SeqCst) == value;
            let done = match *step {
                Wait(at, value) => is(at, value),
                Try(at, value, tries) => {
                    state.tries += 1;
                    is(at, value) || state.tries == tries
                }
                WaitWithClock(at, value) => {
                    watch::clock_was_read();
                    is(at, value)
                }
                Set(at, value) => {
                    if self.words[at].swap(value, Ordering::SeqCst) != value {
                        watch::has_effect();
                    }
                    true
                }
                Add(at, value) => {
                    self.words[at].fetch_add(value, Ordering::SeqCst);
                    watch::has_effect();
                    true
                }
                Busy(count) => {
                    state.tries += 1;
                    state.tries >= count
                }
                Fail => return Err(Error::Failed(state.group)),
            };
            if done {
                (state.at, state.tries) = (state.at + 1, 0);
            } else {
                jumps += 1;
            }
        }
        Ok(Progress::Ended)
    }

    fn digest(&self, state: &Group) -> u64 {
        (state.at as u64) << 32 | u64::from(state.tries)
    }

    fn bytes(&self, _: &Group) -> usize {
        self.bytes
    }

    fn deadlock(&self, stuck: &Stuck<'_, Group>) -> Error {
        Error::Deadlock { groups: stuck.count, full: stuck.full }
    }
}

/// Runs `groups` programs over eight words that are zero, with one, two and five threads.
fn run(groups: u64, resident: u64, program: impl Fn(u64) -> Vec<Step> + Sync) -> Result<Vec<u32>, Error> {
    let outcomes = [1, 2, 5].map(|threads| {
        let words: Vec<AtomicU32> = (0..8).map(|_| AtomicU32::new(0)).collect();
        let programs = Programs { words: &words, program: &program, bytes: 100 };
        let states = States::new();
        let outcome = Schedule::new(threads).unwrap().run(groups, resident, &states, &programs);
        assert!(states.0.into_inner().len() <= threads, "only a state for each thread is kept");
        outcome.map(|()| words.into_iter().map(AtomicU32::into_inner).collect::<Vec<_>>())
    });
    let [one, two, five] = outcomes;
    assert_eq!((&one, &one), (&two, &five));
    one
}

#[test]
fn the_first_waits_for_the_last() {
    for groups in [2, 3, 40, 500] {
        let last = groups - 1;
        let program = |group| if group == last { vec![Set(0, 1)] } else { vec![Wait(0, 1), Add(1, 1)] };
        assert_eq!(run(groups, 500, program).unwrap()[..2], [1, last as u32]);
    }
}

#[test]
fn rings_in_both_directions() {
    const GROUPS: u64 = 100;
    // The token starts at one end and is handed on to the other.
    let up = |group: u64| vec![Wait(0, group as u32), Set(0, group as u32 + 1)];
    assert_eq!(run(GROUPS, GROUPS, up).unwrap()[0], GROUPS as u32);
    let down = |group: u64| {
        let mine = (GROUPS - 1 - group) as u32;
        vec![Wait(0, mine), Set(0, mine + 1)]
    };
    assert_eq!(run(GROUPS, GROUPS, down).unwrap()[0], GROUPS as u32);
}

#[test]
fn a_barrier_of_all_groups() {
    const GROUPS: u64 = 60;
    // Each round has a word of its own: the next one must not change what others still wait for.
    let rounds = |_| (1..=5).flat_map(|round| [Add(round, 1), Wait(round, GROUPS as u32)]).collect();
    assert_eq!(run(GROUPS, GROUPS, rounds).unwrap()[1..6], [GROUPS as u32; 5]);
    // One group is missing.
    assert_eq!(run(GROUPS - 1, GROUPS, rounds), Err(Error::Deadlock { groups: GROUPS - 1, full: None }));
}

#[test]
fn what_can_never_go_on_is_a_deadlock() {
    let never = |group| if group == 3 { vec![Wait(0, 1)] } else { vec![Busy(10)] };
    assert_eq!(run(20, 20, never), Err(Error::Deadlock { groups: 1, full: None }));
    let each_other = |group| if group == 0 { vec![Wait(0, 1), Set(1, 1)] } else { vec![Wait(1, 1), Set(0, 1)] };
    assert_eq!(run(2, 2, each_other), Err(Error::Deadlock { groups: 2, full: None }));
    // Setting what is set already changes nothing.
    let idle = |_| std::iter::repeat_n([Set(0, 1), Wait(1, 1)], 2).flatten().collect();
    assert_eq!(run(3, 3, idle), Err(Error::Deadlock { groups: 3, full: None }));
}

#[test]
fn a_wait_that_ends_by_itself_is_none() {
    let tries = |_| vec![Try(0, 1, 3_000_000), Add(1, 1)];
    assert_eq!(run(3, 3, tries).unwrap()[1], 3);
    // The group with the clock may go on at any time, so the others are not in a deadlock either.
    // Here it is released by a group that counts for long.
    let clock = |group| match group {
        0 => vec![WaitWithClock(0, 1), Set(1, 1)],
        1 => vec![Try(7, 1, 20_000_000), Set(0, 1)],
        _ => vec![Wait(1, 1)],
    };
    assert_eq!(run(4, 4, clock).unwrap()[..2], [1, 1]);
}

#[test]
fn work_that_ends_has_released_those_that_wait() {
    // The first group waits for other work, and the second for the first. The work may end at any
    // moment between turns of either.
    for _ in 0..100 {
        let words: Arc<[AtomicU32; 2]> = Arc::default();
        let (begin, begun) = channel();
        let releases = words.clone();
        let other = thread::spawn(move || {
            let work = Work::new(move || {
                begin.send(()).map_err(|e| Fault::new(e.to_string()))?;
                thread::sleep(Duration::from_micros(300));
                releases[0].store(1, Ordering::SeqCst);
                Ok(())
            });
            let queues = Queues::new(1, Mode::Eager);
            queues.enqueue(queues.legacy(0)?, work)
        });
        begun.recv().unwrap();
        let program = |group| if group == 0 { vec![Wait(0, 1), Set(1, 1)] } else { vec![Wait(1, 1)] };
        let programs = Programs { words: &words[..], program: &program, bytes: 100 };
        assert_eq!(Schedule::new(1).unwrap().run(2, 2, &States::new(), &programs), Ok(()));
        assert_eq!(other.join().unwrap(), Ok(()));
    }
}

#[test]
fn groups_that_have_no_place_do_not_start() {
    let last = |group| if group == 29 { vec![Set(0, 1)] } else { vec![Wait(0, 1)] };
    assert_eq!(run(30, 30, last).unwrap()[0], 1);
    let words = [AtomicU32::new(0)];
    let alone = Schedule::new(1).unwrap();
    let programs = Programs { words: &words, program: &last, bytes: 100 };
    let outcome = alone.run(30, 20, &States::new(), &programs);
    assert_eq!(outcome, Err(Error::Deadlock { groups: 20, full: Some(Full::Card(20)) }));
    // With more threads, a few more may start than have a place.
    for threads in [2, 5] {
        let outcome = Schedule::new(threads).unwrap().run(30, 10, &States::new(), &programs);
        assert!(matches!(outcome, Err(Error::Deadlock { groups: 10..=15, full: Some(_) })), "{outcome:?}");
    }
    // Nor do groups for which there is no host memory.
    let programs = Programs { words: &words, program: &last, bytes: 100 << 20 };
    let outcome = alone.run(30, 20, &States::new(), &programs);
    assert_eq!(outcome, Err(Error::Deadlock { groups: 10, full: Some(Full::Host(10)) }));
}

#[test]
fn a_failure_ends_a_launch_whose_groups_wait() {
    let program = |group| if group == 30 { vec![Busy(5000), Fail] } else { vec![Wait(0, 1)] };
    assert_eq!(run(40, 40, program), Err(Error::Failed(30)));
}
