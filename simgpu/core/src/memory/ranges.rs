//! The allocator of ranges of the arena. It leaves red zones between allocations and quarantines
//! freed ranges for a while.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The alignment of every allocation, in bytes.
pub(crate) const ALIGN: u64 = 256;
/// The minimum number of bytes between two allocations that belong to neither.
pub(super) const RED_ZONE: u64 = 1024;
/// Freed bytes in quarantine, as a fraction of the capacity, and at most. The shadow of a byte
/// takes up to 20 bytes of host memory, which are not released: with two gibibytes in quarantine a
/// process grew to 14 GiB, and a machine with several such processes ran out of memory; with 64
/// mebibytes it grew to 2.3 GiB.
const QUARANTINE_PART: u64 = 8;
const QUARANTINE_MOST: u64 = 32 << 20;

/// Free and quarantined ranges. All values are offsets, not addresses.
pub(super) struct Ranges {
    capacity: u64,
    /// Everything from this offset on is free.
    top: u64,
    /// Free ranges below `top`, by start. No two are adjacent.
    free: BTreeMap<u64, u64>,
    by_length: BTreeSet<(u64, u64)>,
    quarantine: VecDeque<(u64, u64)>,
    quarantined: u64,
}

/// Returns the number of bytes that an allocation of `bytes` bytes occupies, including its padding
/// and the red zone after it.
fn footprint(bytes: u64) -> u64 {
    bytes.next_multiple_of(ALIGN) + RED_ZONE
}

impl Ranges {
    pub(super) fn new(capacity: u64) -> Self {
        let (free, by_length) = Default::default();
        Self { capacity, top: RED_ZONE, free, by_length, quarantine: VecDeque::new(), quarantined: 0 }
    }

    /// Returns the end of all ranges that are allocated or in quarantine.
    pub(super) fn top(&self) -> u64 {
        self.top
    }

    /// Takes a range for `bytes` bytes and adds the ranges that leave the quarantine to
    /// `forgotten`. Returns `None` if no range is large enough.
    pub(super) fn take(&mut self, bytes: u64, forgotten: &mut Vec<u64>) -> Option<u64> {
        if bytes > self.capacity {
            return None;
        }
        let want = footprint(bytes);
        loop {
            if let Some(&(length, start)) = self.by_length.range((want, 0)..).next() {
                self.remove(start, length);
                if length > want {
                    self.insert(start + want, length - want);
                }
                return Some(start);
            }
            if self.capacity - self.top >= want {
                self.top += want;
                return Some(self.top - want);
            }
            forgotten.push(self.release_oldest()?);
        }
    }

    /// Takes back the range at `start`, which was taken for `bytes` bytes.
    pub(super) fn give_back(&mut self, start: u64, bytes: u64, forgotten: &mut Vec<u64>) {
        self.quarantine.push_back((start, footprint(bytes)));
        self.quarantined += footprint(bytes);
        while self.quarantined > QUARANTINE_MOST.min(self.capacity / QUARANTINE_PART) {
            forgotten.extend(self.release_oldest());
        }
    }

    fn release_oldest(&mut self) -> Option<u64> {
        let (start, length) = self.quarantine.pop_front()?;
        self.quarantined -= length;
        let (mut from, mut to) = (start, start + length);
        if let Some((&before, &len)) =
            self.free.range(..start).next_back().filter(|(before, len)| **before + **len == start)
        {
            self.remove(before, len);
            from = before;
        }
        if let Some(&len) = self.free.get(&to) {
            self.remove(to, len);
            to += len;
        }
        if to == self.top {
            self.top = from;
        } else {
            self.insert(from, to - from);
        }
        Some(start)
    }

    fn insert(&mut self, start: u64, length: u64) {
        self.free.insert(start, length);
        self.by_length.insert((length, start));
    }

    fn remove(&mut self, start: u64, length: u64) {
        self.free.remove(&start);
        self.by_length.remove(&(length, start));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn memory_that_comes_and_goes_stays_in_a_part_of_the_arena() {
        let mut ranges = Ranges::new(16 << 30);
        for i in 0..10_000u64 {
            let bytes = 1 << (10 + i % 14);
            let start = ranges.take(bytes, &mut Vec::new()).unwrap();
            ranges.give_back(start, bytes, &mut Vec::new());
        }
        assert!(ranges.top() < 3 * QUARANTINE_MOST, "{}", ranges.top());
    }

    proptest! {
        #[test]
        fn ranges_stay_apart_and_come_back(steps in prop::collection::vec((any::<bool>(), 1u64..9000, any::<prop::sample::Index>()), 1..300)) {
            let mut ranges = Ranges::new(1 << 20);
            let mut live: Vec<(u64, u64)> = Vec::new();
            let mut quarantined: Vec<u64> = Vec::new();
            let mut forgotten = Vec::new();
            for (take, bytes, which) in steps {
                if take || live.is_empty() {
                    let Some(start) = ranges.take(bytes, &mut forgotten) else { continue };
                    prop_assert_eq!(start % ALIGN, 0);
                    prop_assert!(start >= RED_ZONE && start + bytes + RED_ZONE <= 1 << 20);
                    for (other, len) in &live {
                        prop_assert!(start + bytes + RED_ZONE <= *other || other + len + RED_ZONE <= start);
                    }
                    quarantined.retain(|q| !forgotten.contains(q));
                    prop_assert!(!quarantined.contains(&start), "a quarantined range was reused");
                    forgotten.clear();
                    live.push((start, bytes));
                } else {
                    let (start, bytes) = live.swap_remove(which.index(live.len()));
                    ranges.give_back(start, bytes, &mut forgotten);
                    quarantined.push(start);
                    quarantined.retain(|q| !forgotten.contains(q));
                    forgotten.clear();
                }
            }
            for (start, bytes) in live {
                ranges.give_back(start, bytes, &mut forgotten);
            }
            // When everything is given back, the whole arena is one range again.
            let all = (1 << 20) - 2 * RED_ZONE;
            prop_assert_eq!(ranges.take(all, &mut forgotten), Some(RED_ZONE));
            prop_assert_eq!(ranges.take(1, &mut forgotten), None);
        }
    }
}
