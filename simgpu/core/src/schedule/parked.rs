//! Groups that wait for other groups.
//!
//! A group whose turn ends before the group does may be waiting, or only be long. A few short
//! watched turns tell which: a group that returns to an earlier state, without having changed a
//! byte of global memory or read a clock, repeats itself until another one changes memory. It is
//! parked, and the threads run others: new ones and parked ones in turn. Any other group gets a
//! long turn, then the others have theirs.
//!
//! If all groups that have started repeat themselves, nothing that runs can release them: a
//! deadlock. This is a proof and not a guess by time. A count of changes ([`Parked::changes`])
//! ensures that no group did anything else, and no other work ended, while the others were found to
//! repeat themselves. Groups that read memory of the host, or wait while other work runs, are never
//! in a deadlock.

use super::{Groups, Progress, States, Turn};
use crate::queue::OwnWork;
use crate::watch::{self, Poll, Seen};
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// Steps of the first turn of a group. Only loops that go round some ten thousand times are longer.
const FIRST: u64 = 1 << 16;
/// The same, and the most backward jumps of a wave, once a group of the launch has waited.
const FIRST_OF_WAITING: (u64, u32) = (1 << 10, 1 << 5);
/// Steps of the first and of the longest turn of a group that does not wait. The turns double,
/// because a switch between long groups is of use only if one of them waits in a way that is not
/// recognised, such as by counting.
const LONG: (u64, u64) = (1 << 20, 1 << 24);
/// The same, once a group of the launch has waited.
const LONG_OF_WAITING: (u64, u64) = (1 << 16, 1 << 18);
/// The least number of watched turns in a row, and the steps of the last long turn for each. Longer
/// turns allow more, so that cycles of many turns are found too.
const LOOKS: (u64, u64) = (4, 1 << 15);
/// The number of backward jumps of a watched turn, which varies: groups that change something and
/// change it back must not be seen at the same moment each time.
const PATIENCE: u32 = 13;
const PATIENCES: u32 = 7;
/// The number of polled places of a group that the message of a deadlock names.
const POLLS: usize = 2;
/// Host memory for the states of groups that wait, in bytes.
const MEMORY: usize = 1 << 30;
/// The pause before groups are visited again that all wait for the host or for other work.
const PAUSE: Duration = Duration::from_micros(50);

/// A state that a group was in.
struct Saved {
    digest: u64,
    /// The number of changes when the group was in it.
    changes: u64,
}

/// A group that has started and not ended.
pub(super) struct Slot<S> {
    pub(super) state: S,
    saved: Option<Saved>,
    /// Watched turns, and the number of them after which another state is saved. It doubles, so
    /// that a cycle of any length is found.
    looks: u32,
    save_at: u32,
    /// What the group did since the saved state.
    seen: Seen,
    /// The number of changes at which the group was found to repeat itself, with a cycle that began
    /// after the last of them; and the number at which it was counted as such.
    repeats: Option<u64>,
    counted: Option<u64>,
    /// Steps of its last long turn, since it waited last.
    long: u64,
}

/// The groups of a launch that wait for ever.
pub struct Stuck<'a, S> {
    /// The number of them.
    pub(crate) count: u64,
    /// Their states, and the places that they read.
    pub(crate) groups: Vec<(&'a S, &'a [Poll])>,
    /// If others have not started, why.
    pub(crate) full: Option<Full>,
}

/// Why groups cannot start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Full {
    /// The card holds this number of them.
    Card(u64),
    /// The simulator has host memory for this number of them.
    Host(u64),
}

/// Groups that repeat themselves.
#[derive(Default)]
struct Calm {
    /// The number of changes at which they do.
    changes: u64,
    groups: u64,
    /// One of them reads memory of the host.
    host: bool,
}

struct Queue<S> {
    slots: VecDeque<Slot<S>>,
    calm: Calm,
    /// The number of groups that wait for ever, once that is proven, and whether others have not
    /// started.
    deadlock: Option<(u64, bool)>,
}

/// All groups of a launch that have been parked.
pub(super) struct Parked<S> {
    queue: Mutex<Queue<S>>,
    more: Condvar,
    /// Groups in the queue, and those of them that a thread visits.
    held: AtomicU64,
    /// Threads that run, or may start, groups that are not held.
    working: AtomicUsize,
    /// How often this launch changed memory or its groups.
    changes: AtomicU64,
    /// Whether a group of the launch has waited.
    waiting: AtomicBool,
    /// Number of groups that may have started and not ended: on the card, and with the host's
    /// memory.
    resident: u64,
    most: AtomicU64,
    own: OwnWork,
}

/// Counts a thread as one that runs or starts groups that are not held, or as none, while it
/// exists.
pub(super) struct Counted<'a> {
    working: &'a AtomicUsize,
    works: bool,
}

impl<'a> Counted<'a> {
    fn new(working: &'a AtomicUsize, works: bool) -> Self {
        count(working, works);
        Self { working, works }
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        count(self.working, !self.works);
    }
}

fn count(working: &AtomicUsize, one_more: bool) {
    let _ = if one_more { working.fetch_add(1, Ordering::SeqCst) } else { working.fetch_sub(1, Ordering::SeqCst) };
}

impl<S> Slot<S> {
    pub(super) fn new(state: S) -> Self {
        Self { state, saved: None, looks: 0, save_at: 1, seen: Seen::default(), repeats: None, counted: None, long: 0 }
    }

    /// Runs the group: watched turns that tell whether it waits and, if not, a long turn.
    pub(super) fn turn<W: Groups<State = S>>(&mut self, work: &W, parked: &Parked<S>) -> Result<Progress, W::Error> {
        for _ in 0..(self.long / LOOKS.1).max(LOOKS.0) {
            let changes = parked.changes();
            let turn = Turn { steps: 0, patience: PATIENCE + self.looks % PATIENCES, watched: true };
            let (progress, seen) = watch::during(|| work.run(&mut self.state, &turn));
            if seen.changed {
                parked.changed();
            }
            if progress? == Progress::Ended {
                parked.changed();
                return Ok(Progress::Ended);
            }
            if self.repeats(work.digest(&self.state), changes, seen) {
                parked.waiting.store(true, Ordering::Relaxed);
                self.long = 0;
                return Ok(Progress::Paused);
            }
        }
        (self.saved, self.repeats) = (None, None);
        let (first, last) = if parked.waiting.load(Ordering::Relaxed) { LONG_OF_WAITING } else { LONG };
        self.long = (2 * self.long).clamp(first, last);
        let progress = work.run(&mut self.state, &Turn { steps: self.long, patience: u32::MAX, watched: false });
        parked.changed();
        progress
    }

    /// Notes the state after a watched turn, which began at the number `changes`. Returns whether
    /// the group repeats itself.
    fn repeats(&mut self, digest: u64, changes: u64, seen: Seen) -> bool {
        self.looks += 1;
        let unsteady = seen.changed || seen.clock;
        self.seen.host |= seen.host;
        for poll in seen.polls {
            if self.seen.polls.len() < POLLS && !self.seen.polls.contains(&poll) {
                self.seen.polls.push(poll);
            }
        }
        match &mut self.saved {
            Some(saved) if !unsteady && saved.digest == digest => {
                // The proof holds only if nothing changed since the saved state.
                self.repeats = (saved.changes == changes).then_some(changes);
                saved.changes = changes;
                true
            }
            Some(_) if !unsteady && self.looks < self.save_at => false,
            _ => {
                self.saved = Some(Saved { digest, changes });
                self.save_at = if unsteady { self.looks + 1 } else { self.looks + self.looks.clamp(1, 1 << 20) };
                self.seen = Seen::default();
                self.repeats = None;
                false
            }
        }
    }
}

impl<S> Parked<S> {
    pub(super) fn new(resident: u64, own: OwnWork) -> Self {
        Self {
            queue: Mutex::new(Queue { slots: VecDeque::new(), calm: Calm::default(), deadlock: None }),
            more: Condvar::new(),
            held: AtomicU64::new(0),
            working: AtomicUsize::new(0),
            changes: AtomicU64::new(0),
            waiting: AtomicBool::new(false),
            resident: resident.max(1),
            most: AtomicU64::new(resident.max(1)),
            own,
        }
    }

    /// Whether any group has started and waits or is visited.
    #[inline]
    pub(super) fn any(&self) -> bool {
        self.held.load(Ordering::SeqCst) > 0
    }

    /// Whether no group may start because too many have.
    pub(super) fn is_full(&self) -> bool {
        self.held.load(Ordering::SeqCst) >= self.most.load(Ordering::Relaxed)
    }

    /// Counts the calling thread as one that runs groups.
    pub(super) fn works(&self) -> Counted<'_> {
        Counted::new(&self.working, true)
    }

    /// Counts the calling thread, which does, as one that only visits parked groups.
    pub(super) fn visits(&self) -> Counted<'_> {
        Counted::new(&self.working, false)
    }

    /// Returns the limits of a group's first turn.
    pub(super) fn first_turn(&self) -> Turn {
        if self.waiting.load(Ordering::Relaxed) {
            return Turn { steps: FIRST_OF_WAITING.0, patience: FIRST_OF_WAITING.1, watched: false };
        }
        Turn { steps: FIRST, patience: u32::MAX, watched: false }
    }

    /// Returns how often memory or the groups changed, or may have: by this launch, and by other
    /// work. Neither count falls, so that if their sum is the same, both are.
    fn changes(&self) -> u64 {
        self.changes.load(Ordering::SeqCst) + OwnWork::ended()
    }

    /// Records that a group may have changed memory, or has ended.
    #[inline]
    pub(super) fn changed(&self) {
        self.changes.fetch_add(1, Ordering::SeqCst);
    }

    /// Counts a group whose state takes this number of bytes as held.
    pub(super) fn add(&self, bytes: usize) {
        self.held.fetch_add(1, Ordering::SeqCst);
        self.most.fetch_min((MEMORY / bytes.max(1)).max(1) as u64, Ordering::Relaxed);
    }

    /// Records that a held group has ended.
    pub(super) fn ended(&self) {
        let _queue = self.queue.lock();
        self.held.fetch_sub(1, Ordering::SeqCst);
        self.more.notify_all();
    }

    /// Wakes threads that wait for parked groups.
    pub(super) fn wake(&self) {
        let _queue = self.queue.lock();
        self.more.notify_all();
    }

    /// Takes the group that has been parked longest. If other threads visit all of them, waits,
    /// unless the thread can start a group.
    pub(super) fn take(&self, startable: bool, failed: &AtomicBool) -> Option<Slot<S>> {
        let mut queue = self.queue.lock();
        loop {
            if let Some(slot) = queue.slots.pop_front() {
                return Some(slot);
            }
            if !self.any() || startable && !self.is_full() || failed.load(Ordering::Relaxed) {
                return None;
            }
            self.more.wait(&mut queue);
        }
    }

    /// Parks a group. `unstarted` says whether groups have not started. Returns whether this proves
    /// that all groups wait for ever.
    #[must_use]
    pub(super) fn park(&self, mut slot: Slot<S>, unstarted: bool) -> bool {
        let mut queue = self.queue.lock();
        let Queue { slots, calm, deadlock } = &mut *queue;
        // Asked before the number of changes, which includes work that ends after the question.
        let others = self.own.others_run();
        let changes = self.changes();
        if calm.changes != changes {
            *calm = Calm { changes, ..Calm::default() };
        }
        if slot.repeats == Some(changes) && slot.counted != slot.repeats {
            slot.counted = slot.repeats;
            calm.groups += 1;
            calm.host |= slot.seen.host;
        }
        let count = self.held.load(Ordering::SeqCst);
        let all_wait = calm.groups == count
            && self.working.load(Ordering::SeqCst) == 0
            && (!unstarted || self.is_full())
            && deadlock.is_none();
        let may_be_released = calm.host || others;
        slots.push_back(slot);
        self.more.notify_one();
        if !all_wait {
            return false;
        }
        if may_be_released {
            drop(queue);
            std::thread::sleep(PAUSE);
            return false;
        }
        *deadlock = Some((count, unstarted));
        true
    }

    /// Returns the error of a deadlock, if there is one. Called when no thread visits a group any
    /// more, so that the error can name all of them.
    pub(super) fn deadlock<W: Groups<State = S>>(&self, work: &W) -> Option<W::Error> {
        let queue = self.queue.lock();
        let (count, unstarted) = queue.deadlock?;
        let groups = queue.slots.iter().map(|slot| (&slot.state, &slot.seen.polls[..])).collect();
        let most = self.most.load(Ordering::Relaxed);
        let full = if most < self.resident { Full::Host(most) } else { Full::Card(most) };
        Some(work.deadlock(&Stuck { count, groups, full: unstarted.then_some(full) }))
    }

    /// Puts the states of all parked groups back, at the end of a launch.
    pub(super) fn clear(&self, states: &States<S>) {
        self.queue.lock().slots.drain(..).for_each(|slot| states.put(slot.state));
    }
}
