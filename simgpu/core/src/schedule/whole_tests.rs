//! Groups that run to their ends.

use super::*;

/// Groups that are functions, which run to their ends.
struct Whole<B>(B);

impl<E: Send, B: Fn(&mut (u64, u64), u64) -> Result<(), E> + Sync> Groups for Whole<B> {
    /// The group, and the number of groups that ran with this state.
    type State = (u64, u64);
    type Error = E;

    fn state(&self) -> (u64, u64) {
        (0, 0)
    }

    fn start(&self, state: &mut (u64, u64), group: u64) {
        *state = (group, state.1 + 1);
    }

    fn run(&self, state: &mut (u64, u64), _: &Turn) -> Result<Progress, E> {
        let group = state.0;
        (self.0)(state, group).map(|()| Progress::Ended)
    }

    fn digest(&self, _: &(u64, u64)) -> u64 {
        unreachable!("no group waits")
    }

    fn bytes(&self, _: &(u64, u64)) -> usize {
        unreachable!("no group waits")
    }

    fn deadlock(&self, _: &Stuck<'_, (u64, u64)>) -> E {
        unreachable!("no group waits")
    }
}

fn visits(threads: usize, groups: u64, pause: Duration) -> Vec<u32> {
    let schedule = Schedule::new(threads).unwrap();
    let counts: Vec<AtomicU64> = (0..groups).map(|_| AtomicU64::new(0)).collect();
    let states = States::new();
    let body = |_: &mut (u64, u64), group: u64| {
        std::thread::sleep(pause);
        counts[group as usize].fetch_add(1, Ordering::Relaxed);
        Ok::<(), ()>(())
    };
    schedule.run(groups, groups, &states, &Whole(body)).unwrap();
    let ran: u64 = states.0.into_inner().into_iter().map(|(_, ran)| ran).sum();
    assert_eq!(ran, groups, "states come back");
    counts.into_iter().map(|c| c.into_inner() as u32).collect()
}

#[test]
fn every_group_runs_once() {
    for (threads, groups) in [(1, 0), (1, 1), (1, 100), (3, 0), (3, 1), (3, 2), (3, 1000), (8, 5)] {
        assert!(visits(threads, groups, Duration::ZERO).iter().all(|n| *n == 1));
    }
    assert!(visits(4, 40, Duration::from_micros(200)).iter().all(|n| *n == 1));
}

#[test]
fn long_launches_use_the_threads() {
    let schedule = Schedule::new(3).unwrap();
    let threads = Mutex::new(std::collections::HashSet::new());
    let body = |_: &mut (u64, u64), _| {
        std::thread::sleep(Duration::from_millis(1));
        threads.lock().insert(std::thread::current().id());
        Ok::<(), ()>(())
    };
    schedule.run(30, 30, &States::new(), &Whole(body)).unwrap();
    assert_eq!(threads.into_inner().len(), 3);
}

#[test]
fn a_failure_stops_what_has_not_started() {
    let schedule = Schedule::new(2).unwrap();
    let ran = AtomicU64::new(0);
    let body = |_: &mut (u64, u64), group: u64| {
        ran.fetch_add(1, Ordering::Relaxed);
        if group == 3 { Err(group) } else { Ok(()) }
    };
    assert_eq!(schedule.run(1_000_000, 1, &States::new(), &Whole(body)), Err(3));
    assert!(ran.into_inner() < 1_000_000);
}
