//! Runs work groups on host threads.

use parking_lot::Mutex;
use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A launch that the calling thread finishes within this time is not shared with other threads,
/// because waking them would cost more.
const ALONE: Duration = Duration::from_micros(40);
/// A thread takes `1 / SHARES` of its share of the remaining groups at once.
const SHARES: u64 = 8;

/// A pool of threads for the launches of a device.
pub struct Schedule {
    /// The threads besides the calling one; `None` for one thread.
    helpers: Option<ThreadPool>,
    threads: usize,
}

impl Schedule {
    /// Creates a schedule for `threads` threads, including the launching thread.
    ///
    /// # Errors
    ///
    /// Fails if the system cannot start the threads.
    pub fn new(threads: usize) -> Result<Self, ThreadPoolBuildError> {
        let builder = || ThreadPoolBuilder::new().num_threads(threads - 1).thread_name(|i| format!("simgpu-{}", i + 1));
        let helpers = (threads > 1).then(|| builder().build()).transpose()?;
        Ok(Self { helpers, threads: threads.max(1) })
    }

    /// Returns the number of threads that run groups.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Runs `body` once for each group below `groups`, on the calling thread and, for longer
    /// launches, also on the others. Each thread takes the next groups in ascending order, so a
    /// group may wait for an earlier one. A thread uses a state from `states` or a new one, and
    /// puts it back afterwards.
    ///
    /// # Errors
    ///
    /// Returns the first error of a group; groups that have not started by then are skipped.
    pub fn run<S: Send, E: Send>(
        &self,
        groups: u64,
        states: &States<S>,
        make: impl Fn() -> S + Sync,
        body: impl Fn(&mut S, u64) -> Result<(), E> + Sync,
    ) -> Result<(), E> {
        let work = Work {
            next: AtomicU64::new(0),
            groups,
            threads: self.threads as u64,
            failed: AtomicBool::new(false),
            error: Mutex::new(None),
        };
        let share = |mut beat: Option<&mut dyn FnMut()>| {
            let mut state = states.take().unwrap_or_else(&make);
            while let Some(range) = work.claim() {
                for group in range {
                    if work.failed.load(Ordering::Relaxed) {
                        break;
                    }
                    if let Err(error) = body(&mut state, group) {
                        work.fail(error);
                    }
                    if let Some(beat) = &mut beat {
                        beat();
                    }
                }
            }
            states.put(state);
        };
        match &self.helpers {
            Some(helpers) if groups > 1 => helpers.in_place_scope(|scope| {
                let started = Instant::now();
                let mut alone = true;
                let mut beat = || {
                    if alone && started.elapsed() > ALONE {
                        alone = false;
                        (1..self.threads).for_each(|_| scope.spawn(|_| share(None)));
                    }
                };
                share(Some(&mut beat));
            }),
            _ => share(None),
        }
        work.error.into_inner().map_or(Ok(()), Err)
    }
}

/// Thread states between launches: data that is expensive to create and usable for any launch.
pub struct States<S>(Mutex<Vec<S>>);

impl<S> Default for States<S> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<S> States<S> {
    /// Creates an empty collection.
    pub fn new() -> Self {
        Self::default()
    }

    fn take(&self) -> Option<S> {
        self.0.lock().pop()
    }

    fn put(&self, state: S) {
        self.0.lock().push(state);
    }
}

struct Work<E> {
    next: AtomicU64,
    groups: u64,
    threads: u64,
    failed: AtomicBool,
    error: Mutex<Option<E>>,
}

impl<E> Work<E> {
    /// Claims the next groups for one thread: many while many remain, one at a time at the end.
    fn claim(&self) -> Option<Range<u64>> {
        let mut from = self.next.load(Ordering::Relaxed);
        loop {
            if from >= self.groups || self.failed.load(Ordering::Relaxed) {
                return None;
            }
            let to = from + ((self.groups - from) / (self.threads * SHARES)).max(1);
            match self.next.compare_exchange_weak(from, to, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Some(from..to),
                Err(now) => from = now,
            }
        }
    }

    fn fail(&self, error: E) {
        self.error.lock().get_or_insert(error);
        self.failed.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visits(threads: usize, groups: u64, pause: Duration) -> Vec<u32> {
        let schedule = Schedule::new(threads).unwrap();
        let counts: Vec<AtomicU64> = (0..groups).map(|_| AtomicU64::new(0)).collect();
        let states = States::new();
        let body = |state: &mut u64, group: u64| {
            std::thread::sleep(pause);
            *state += 1;
            counts[group as usize].fetch_add(1, Ordering::Relaxed);
            Ok::<(), ()>(())
        };
        schedule.run(groups, &states, || 0, body).unwrap();
        assert_eq!(states.0.into_inner().into_iter().sum::<u64>(), groups, "states come back");
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
    fn long_launches_use_the_threads_and_short_ones_do_not() {
        let schedule = Schedule::new(3).unwrap();
        let on = |groups: u64, pause: Duration| {
            let threads = Mutex::new(std::collections::HashSet::new());
            let body = |(): &mut (), _| {
                std::thread::sleep(pause);
                threads.lock().insert(std::thread::current().id());
                Ok::<(), ()>(())
            };
            schedule.run(groups, &States::new(), || (), body).unwrap();
            threads.into_inner()
        };
        assert_eq!(on(30, Duration::from_millis(1)).len(), 3);
        let me = std::thread::current().id();
        assert_eq!(on(1, Duration::from_millis(1)).into_iter().collect::<Vec<_>>(), [me]);
    }

    #[test]
    fn a_failure_stops_what_has_not_started() {
        let schedule = Schedule::new(2).unwrap();
        let ran = AtomicU64::new(0);
        let body = |(): &mut (), group: u64| {
            ran.fetch_add(1, Ordering::Relaxed);
            if group == 3 { Err(group) } else { Ok(()) }
        };
        assert_eq!(schedule.run(1_000_000, &States::new(), || (), body), Err(3));
        assert!(ran.into_inner() < 1_000_000);
    }
}
