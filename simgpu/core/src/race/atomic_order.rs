//! Determines which accesses of a launch are ordered by a chain of atomics, as in "every group
//! increments a counter, and the last group reads what the others wrote".
//!
//! Every atomic releases what its wave did before, and acquires what earlier atomics on the same
//! address released. The order of atomics on one address is known only within bounds, from a
//! counter read before and after each; the same applies to the place of an access between two
//! barriers. If both orders are possible, the accesses count as ordered: a race may be missed, but
//! no false race is reported.

use crate::check::Place;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// Maximum number of recorded atomics. In a launch with more (where they count things and do not
/// order groups), no later clashes between groups are reported.
const REMEMBERED: usize = 1 << 20;

/// One atomic by a wave on one address.
#[derive(Debug, Clone, Copy)]
struct Event {
    address: u64,
    who: Place,
    /// The counter before the atomic.
    begun: u64,
    /// The counter after the atomic; all ones while it is in progress.
    done: u64,
}

/// Identifies the recorded atomics of one instruction.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Ticket {
    from: u32,
    to: u32,
}

#[derive(Default)]
struct Log {
    events: Vec<Event>,
    full: bool,
    known: Option<Known>,
}

/// The atomics of a launch.
#[derive(Default)]
pub(crate) struct Order {
    clock: AtomicU64,
    log: Mutex<Log>,
}

/// The accesses that a place has acquired.
#[derive(Default)]
struct Known {
    of: Option<(Place, usize)>,
    /// By group: accesses of its waves in epochs below this value.
    epochs: HashMap<u32, u32>,
    /// By group and wave: accesses in epochs up to this value.
    waves: HashMap<(u32, u32), u32>,
}

impl Order {
    /// Records atomics on `addresses` that `who` is about to make.
    pub(crate) fn begin(&self, who: &Place, addresses: impl Iterator<Item = u64>) -> Ticket {
        let begun = self.clock.fetch_add(1, Ordering::SeqCst);
        let mut log = self.log.lock();
        let mut from = log.events.len();
        let mut last = None;
        for address in addresses {
            if last == Some(address) {
                continue;
            }
            // A waiting wave repeats one atomic. As long as no other comes in between, the
            // repetitions count as one longer atomic.
            if last.is_none()
                && let Some(again) = log.events.last_mut().filter(|event| event.address == address && event.who == *who)
            {
                again.done = u64::MAX;
                from -= 1;
                last = Some(address);
                continue;
            }
            if log.events.len() == REMEMBERED {
                log.full = true;
                break;
            }
            last = Some(address);
            log.events.push(Event { address, who: *who, begun, done: u64::MAX });
        }
        Ticket { from: from as u32, to: log.events.len() as u32 }
    }

    /// Records that the atomics of a ticket were made.
    pub(crate) fn done(&self, ticket: Ticket) {
        let done = self.clock.fetch_add(1, Ordering::SeqCst);
        let mut log = self.log.lock();
        for event in &mut log.events[ticket.from as usize..ticket.to as usize] {
            event.done = done;
        }
    }

    /// Whether the wave of `who` made an atomic on `address`, as far as is recorded.
    pub(crate) fn made(&self, who: &Place, address: u64) -> bool {
        let log = self.log.lock();
        let own = |event: &Event| (event.who.group, event.who.wave) == (who.group, who.wave);
        log.full || log.events.iter().rev().any(|event| event.address == address && own(event))
    }

    /// Records that an atomic of another wave is about to read what `who` stored at `address`,
    /// by a store that turns out to be atomic. What `who` does later in the same epoch counts as
    /// released too, so a race may be missed.
    pub(crate) fn released(&self, who: &Place, address: u64) {
        self.done(self.begin(who, std::iter::once(address)));
    }

    /// Whether a chain of atomics may order an access at `earlier` before the current access of
    /// `who`. With `any_wave`, the access was by any wave of its group; with `any_group`, by
    /// several groups.
    pub(crate) fn ordered(&self, earlier: &Place, any_wave: bool, any_group: bool, who: &Place) -> bool {
        let mut log = self.log.lock();
        if log.full {
            return true;
        }
        let of = Some((*who, log.events.len()));
        if log.known.as_ref().is_none_or(|known| known.of != of) {
            log.known = Some(Known { of, ..Known::acquired(&log.events, who) });
        }
        let Some(known) = &log.known else { return false };
        if any_group {
            // It is not known which groups they were; an acquired group may be all of them.
            return known.epochs.keys().any(|group| *group != who.group);
        }
        let after_barrier = known.epochs.get(&earlier.group).is_some_and(|below| earlier.epoch < *below);
        let by_wave = known.waves.get(&(earlier.group, earlier.wave)).is_some_and(|upto| earlier.epoch <= *upto);
        after_barrier || by_wave && !any_wave
    }
}

/// Atomics of one address, group or wave, in the order in which they become known; the first `next`
/// are known.
#[derive(Default)]
struct Chain {
    events: Vec<usize>,
    next: usize,
}

impl Chain {
    /// Makes the next events known while `holds` is true for them.
    fn advance(&mut self, holds: impl Fn(usize) -> bool, mut known: impl FnMut(usize)) {
        while let Some(&event) = self.events.get(self.next).filter(|event| holds(**event)) {
            self.next += 1;
            known(event);
        }
    }
}

impl Known {
    /// Returns what `who` has acquired through the atomics so far: from earlier atomics of its own
    /// group, what these acquired, and so on.
    fn acquired(events: &[Event], who: &Place) -> Self {
        let mut known = Self::default();
        let mut by_address: HashMap<u64, Chain> = HashMap::new();
        let mut by_group: HashMap<u32, Chain> = HashMap::new();
        let mut by_wave: HashMap<(u32, u32), Chain> = HashMap::new();
        for (i, event) in events.iter().enumerate() {
            by_address.entry(event.address).or_default().events.push(i);
            by_group.entry(event.who.group).or_default().events.push(i);
            by_wave.entry((event.who.group, event.who.wave)).or_default().events.push(i);
        }
        by_address.values_mut().for_each(|chain| chain.events.sort_by_key(|i| events[*i].begun));
        by_group.values_mut().for_each(|chain| chain.events.sort_by_key(|i| events[*i].who.epoch));

        // Atomics whose past must still be processed. The first represents the present: everything
        // that its wave has done is before it.
        let mut reached: Vec<Event> = vec![Event { address: 0, who: *who, begun: u64::MAX, done: u64::MAX }];
        let mut first = true;
        while let Some(event) = reached.pop() {
            let Place { group, wave, epoch } = event.who;
            if let Some(chain) = by_group.get_mut(&group) {
                chain.advance(|i| events[i].who.epoch < epoch, |i| reached.push(events[i]));
            }
            if let Some(chain) = by_wave.get_mut(&(group, wave)) {
                chain.advance(|i| events[i].begun < event.done, |i| reached.push(events[i]));
            }
            if std::mem::take(&mut first) {
                continue;
            }
            if let Some(chain) = by_address.get_mut(&event.address) {
                let acquired = |i: usize| {
                    let Place { group, wave, epoch } = events[i].who;
                    let below = known.epochs.entry(group).or_default();
                    *below = (*below).max(epoch);
                    let upto = known.waves.entry((group, wave)).or_default();
                    *upto = (*upto).max(epoch);
                    reached.push(events[i]);
                };
                chain.advance(|i| events[i].begun < event.done, acquired);
            }
        }
        known
    }
}
