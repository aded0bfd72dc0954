//! The check lane by lane, for scattered accesses and for accesses with an error.

use super::part::{Part, global_error};
use super::report::{Subject, other};
use super::{Access, Checked, Describe, LANES, Launch, Place, SiteCache, Violation};
use crate::finding::FindingKind;
use crate::memory::{Allocation, Named};
use crate::race::atomic_order::Order;
use crate::race::{Earlier, excused, tag};
use crate::watch;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

/// One instruction of one wave.
pub(super) struct Wave<'a> {
    pub(super) who: &'a Place,
    pub(super) access: Access,
    pub(super) site: u32,
    pub(super) mask: u64,
    pub(super) addresses: &'a [u64; LANES],
    pub(super) bytes: u32,
    pub(super) align: u32,
    /// Whether the address need not be a multiple of `align`.
    pub(super) unaligned: bool,
    pub(super) describe: &'a dyn Describe,
}

/// The lanes with an error, and the first of them.
#[derive(Default)]
pub(crate) struct Wrong {
    first: Option<(u32, Named, String)>,
    lanes: u32,
}

impl Wrong {
    pub(crate) fn add(&mut self, lane: u32, say: impl FnOnce() -> (Named, String)) {
        self.lanes += 1;
        self.first.get_or_insert_with(|| {
            let (named, what) = say();
            (lane, named, what)
        });
    }

    /// Notes that a card fails on the error. Sets the lane of `subject`.
    pub(crate) fn note(&self, violation: Violation, launch: &Launch<'_>, subject: &Subject<'_>) {
        if let Some((lane, _, what)) = &self.first {
            let subject = Subject { lane: *lane, more: self.lanes - 1, ..*subject };
            launch.note(violation, || subject.message(what));
        }
    }

    /// Reports the error. Sets the lane of `subject`.
    pub(crate) fn tell(self, kind: FindingKind, launch: &Launch<'_>, subject: &Subject<'_>) {
        if let Some((lane, named, what)) = self.first {
            launch.tell(kind, &Subject { lane, more: self.lanes - 1, ..*subject }, named, &what);
        }
    }
}

/// The lanes with bytes outside of memory.
#[derive(Default)]
pub(crate) struct Outside {
    beyond: Wrong,
    over: Wrong,
    /// Those after which a card reports an error.
    violating: Wrong,
}

impl Outside {
    pub(crate) fn add(
        &mut self,
        kind: FindingKind,
        violates: bool,
        lane: u32,
        say: impl Fn() -> (Named, String) + Copy,
    ) {
        let wrong = if kind == FindingKind::OverRead { &mut self.over } else { &mut self.beyond };
        wrong.add(lane, say);
        if violates {
            self.violating.add(lane, say);
        }
    }

    /// See [`Wrong::note`].
    pub(crate) fn note(&self, violation: Violation, launch: &Launch<'_>, subject: &Subject<'_>) {
        self.violating.note(violation, launch, subject);
    }

    /// See [`Wrong::tell`].
    pub(crate) fn tell(self, launch: &Launch<'_>, subject: &Subject<'_>) {
        self.beyond.tell(FindingKind::OutOfBounds, launch, subject);
        self.over.tell(FindingKind::OverRead, launch, subject);
    }
}

/// Iterates over the lanes of a mask, in ascending order.
#[inline(always)]
pub fn lanes_of(mut mask: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let lane = mask.trailing_zeros();
        mask &= mask.wrapping_sub(1);
        (lane < u64::BITS).then_some(lane)
    })
}

impl Launch<'_> {
    pub(super) fn check_lanes(&self, wave: &Wave<'_>, cache: &mut SiteCache) -> Checked {
        let Wave { who, access, bytes, .. } = *wave;
        if watch::on() {
            watch::access(&self.table, who, wave.site, access, wave.mask, wave.addresses, bytes);
        }
        let doubtful = if access.is_atomic() { wave.mask } else { self.check_rows(wave, cache) };
        let length = u64::from(bytes);
        if doubtful == 0 && !access.is_atomic() {
            // The rows are in order, so that there is nothing to report.
            let overlap = if access == Access::Store { overlapping(wave.mask, wave.addresses, length) } else { 0 };
            return Checked { lanes: wave.mask, overlap, ..Checked::default() };
        }
        let writes = access.writes();
        let me = tag::of(self.track.dispatch, who);
        let shadow = self.track.shadow;
        let (mut lanes, mut parts, mut clipped) = (wave.mask, 0, 0);
        // Atomics of the vendor's library order nothing that the program may rely on.
        let mut silent = 0;
        let (mut outside, mut forbidden) = <(Outside, Outside)>::default();
        let (mut crooked, mut unwritten, mut raced) = <(Wrong, Wrong, Wrong)>::default();
        for lane in lanes_of(doubtful) {
            let address = wave.addresses[lane as usize];
            if !cache.holds(self.id, address)
                && let Some(found) = self.table.find(address)
            {
                *cache = self.site_cache(found.base, found.bytes, found.kind);
            }
            // The bytes that are accessed.
            let (mut start, mut count) = (address, length);
            let inside = cache.holds(self.id, address) && length <= cache.end - address;
            if !inside {
                lanes &= !(1 << lane);
                let part = self.check_outside(wave, lane, cache, &mut outside);
                clipped |= u64::from(part.is_some() || !writes) << lane;
                let Some(part) = part else { continue };
                parts |= 1 << lane;
                (start, count) = (part.address, part.bytes as u64);
            }
            if writes && !cache.writable {
                lanes &= !(1 << lane);
                forbidden.add(FindingKind::OutOfBounds, true, lane, || {
                    self.said(address, length, |place| format!("is {place}, which kernels may only read"))
                });
                continue;
            }
            let aligned = address & u64::from(wave.align - 1) == 0;
            if !aligned && !wave.unaligned {
                let align = wave.align;
                let say = || {
                    self.said(address, length, |place| format!("is at {address:#x}, not aligned to {align}: {place}"))
                };
                crooked.add(lane, say);
                if access.orders() {
                    lanes &= !(1 << lane);
                    (parts, clipped) = (parts & !(1 << lane), clipped & !(1 << lane));
                    continue;
                }
            }
            if cache.untracked {
                silent |= 1 << lane;
                continue;
            }
            let offset = start - self.memory.start();
            // SAFETY: one live allocation contains the bytes, so their shadow is committed.
            unsafe {
                if access.reads() && !cache.initialised && !shadow.initialised(offset, count) {
                    unwritten.add(lane, || {
                        let at = shadow.first_unwritten(offset, count).unwrap_or(offset);
                        self.said(self.memory.start() + at, 1, |place| format!("reads uninitialised memory, {place}"))
                    });
                }
                if writes {
                    shadow.set_initialised(offset, count, true);
                }
                if aligned {
                    self.check_race(me, wave, lane, offset..offset + count, &mut raced);
                }
            }
        }
        let subject = Subject { who, access, site: wave.site, bytes, lane: 0, describe: wave.describe, more: 0 };
        outside.note(Violation::Outside, self, &subject);
        forbidden.note(Violation::ReadOnly, self, &subject);
        crooked.note(Violation::Misaligned, self, &subject);
        outside.tell(self, &subject);
        forbidden.tell(self, &subject);
        crooked.tell(FindingKind::Misaligned, self, &subject);
        unwritten.tell(FindingKind::UninitialisedRead, self, &subject);
        raced.tell(FindingKind::Race, self, &subject);
        let made = lanes | parts;
        let overlap = if access == Access::Store { overlapping(made, wave.addresses, length) } else { 0 };
        let ticket = match &self.order {
            Some(order) if access.orders() && made & !silent != 0 => {
                order.begin(who, lanes_of(made & !silent).map(|lane| wave.addresses[lane as usize]))
            }
            _ => Default::default(),
        };
        Checked { lanes, clipped, overlap, ticket }
    }

    /// Notes the error of a lane whose bytes no allocation contains as a whole. Returns the part
    /// that may be accessed all the same, whose allocation `cache` holds then.
    #[cold]
    fn check_outside(&self, wave: &Wave<'_>, lane: u32, cache: &mut SiteCache, outside: &mut Outside) -> Option<Part> {
        let (address, bytes) = (wave.addresses[lane as usize], u64::from(wave.bytes));
        let reached = self.table.reached(address, bytes);
        let error = |found: &Arc<Allocation>| global_error(wave.access, &found.range(), address, bytes);
        let kind = reached.map_or(FindingKind::OutOfBounds, error);
        outside.add(kind, !self.table.rounded(address, bytes), lane, || {
            let named = self.memory.name(address, bytes);
            let what = format!("is {}", named.place);
            (named, what)
        });
        if wave.access == Access::Atomic {
            return None;
        }
        let found = reached?;
        *cache = self.site_cache(found.base, found.bytes, found.kind);
        self.part(wave.access, address, wave.bytes)
    }

    /// Checks rows of lanes whose accesses are contiguous or identical. Returns the lanes of rows
    /// that may have an error.
    fn check_rows(&self, wave: &Wave<'_>, cache: &mut SiteCache) -> u64 {
        let bytes = u64::from(wave.bytes);
        let mut doubtful = 0;
        let mut lanes = lanes_of(wave.mask).map(|lane| (lane, wave.addresses[lane as usize]));
        let mut next = lanes.next();
        while let Some((lane, start)) = next {
            let mut row = 1 << lane;
            let (mut last, mut end) = (start, start.saturating_add(bytes));
            next = lanes.next();
            while let Some((lane, address)) = next
                && (address == end || address == last && wave.access == Access::Load)
            {
                row |= 1 << lane;
                (last, end) = (address, address.saturating_add(bytes));
                next = lanes.next();
            }
            if !self.check_run(wave.who, wave.access, start, end - start, wave.align, cache) {
                doubtful |= row;
            }
        }
        doubtful
    }

    /// # Safety
    /// One live allocation must contain the bytes.
    #[inline(always)]
    unsafe fn check_race(&self, me: u64, wave: &Wave<'_>, lane: u32, offsets: Range<u64>, raced: &mut Wrong) {
        let (offset, end) = (offsets.start, offsets.end);
        let mut at = offset;
        // SAFETY: the caller promises that one live allocation contains the bytes.
        while let Some(clash) = unsafe { self.track.note(me, wave.access, at, end) } {
            let place = tag::place(clash.other);
            let any_wave = clash.was == Access::Load && clash.other & tag::MANY_WAVES != 0;
            let any_group = clash.was == Access::Load && clash.other & tag::MANY_GROUPS != 0;
            let ordered = |order: &Order| order.ordered(&place, any_wave, any_group, wave.who);
            let races = tag::exact(clash.other) && tag::exact(me) && !self.order().is_some_and(ordered);
            let earlier = Earlier {
                place: &place,
                was: clash.was,
                atomic: clash.other & tag::ATOMIC != 0,
                address: wave.addresses[lane as usize],
            };
            if races && self.unmarked().global && excused(self.order(), wave.who, wave.access, &earlier) {
                if !wave.access.writes() {
                    // SAFETY: guaranteed by the caller; the block was switched to granules.
                    unsafe { self.track.admit(clash.offset) };
                }
            } else if races {
                raced.add(lane, || {
                    let first = (self.memory.start() + clash.offset).max(self.memory.start() + offset);
                    let other = other(clash.was, &place, any_wave, any_group, wave.who);
                    self.said(first, 1, |place| format!("races with {other}, {place}"))
                });
            }
            // SAFETY: guaranteed by the caller; the block was switched to granules when the clash
            // was found.
            at = unsafe { self.track.overrule(me, wave.access, clash.offset) };
        }
    }

    /// Acquires what unmarked stores released that other host threads recorded after the check of
    /// these atomics. A store is recorded before it is made, so the atomics may have read its
    /// value.
    #[inline(never)]
    pub(super) fn acquire_late(&self, order: &Order, who: &Place, access: Access, addresses: &[u64], lanes: u64) {
        fence(Ordering::SeqCst);
        let me = tag::of(self.track.dispatch, who);
        for address in lanes_of(lanes).map(|lane| addresses[lane as usize]) {
            // SAFETY: the check found the bytes of the lane in a live allocation.
            let stored = unsafe { self.track.plain_store(me, address - self.memory.start()) };
            let Some(stored) = stored.filter(|word| tag::exact(*word)) else { continue };
            let place = tag::place(stored);
            if !order.ordered(&place, false, false, who) {
                let earlier = Earlier { place: &place, was: Access::Store, atomic: false, address };
                excused(Some(order), who, access, &earlier);
            }
        }
    }

    fn said(&self, address: u64, bytes: u64, what: impl FnOnce(&str) -> String) -> (Named, String) {
        let named = self.memory.name(address, bytes);
        let what = what(&named.place);
        (named, what)
    }

    /// Reports that `lane` and an earlier lane of the same store wrote different values to one
    /// byte.
    pub fn overlapping(&self, who: &Place, site: u32, lane: u32, address: u64, bytes: u32, describe: &dyn Describe) {
        let subject = Subject { who, access: Access::Store, site, bytes, lane, describe, more: 0 };
        let what = |place: &str| {
            format!("races with the same store of another lane, which writes a different value there: {place}")
        };
        let (named, what) = self.said(address, u64::from(bytes), what);
        self.tell(FindingKind::Race, &subject, named, &what);
    }
}

/// Returns the lanes of `mask` that access a byte that an earlier lane also accesses.
pub(crate) fn overlapping<A: Copy + Into<u64>>(mask: u64, addresses: &[A; LANES], bytes: u64) -> u64 {
    let address = |lane: u32| -> u64 { addresses[lane as usize].into() };
    let mut apart = true;
    let mut last: Option<u64> = None;
    for lane in lanes_of(mask) {
        let next = address(lane);
        apart &= last.is_none_or(|last| next.wrapping_sub(last) >= bytes && next > last);
        last = Some(next);
    }
    if apart {
        return 0;
    }
    let mut order = [(0u64, 0u32); LANES];
    let mut count = 0;
    for lane in lanes_of(mask) {
        order[count] = (address(lane), lane);
        count += 1;
    }
    let order = &mut order[..count];
    order.sort_unstable();
    let mut overlap = 0;
    // In a row of touching accesses, all lanes that share bytes with the first access count as
    // overlapping, except the first lane.
    let mut start = 0;
    for i in 1..=count {
        if i < count && order[i].0 - order[i - 1].0 < bytes {
            continue;
        }
        let row = &order[start..i];
        let first = row.iter().map(|(_, lane)| *lane).min();
        overlap |= row.iter().filter(|(_, lane)| Some(*lane) != first).fold(0, |mask, (_, lane)| mask | 1 << lane);
        start = i;
    }
    overlap
}
