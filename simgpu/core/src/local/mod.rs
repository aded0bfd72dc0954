//! The local (shared) memory of a work group, with the same checks as global memory.

mod record;
mod rows;

use crate::check::lanes::{Outside, Wrong, lanes_of, overlapping};
use crate::check::part::{Part, error};
use crate::check::report::{Subject, other};
use crate::check::{Access, Checked, Describe, LANES, Launch, Place, Violation};
use crate::finding::FindingKind;
use crate::memory::{Named, written};
use crate::race::atomic_order::Order;
use crate::race::{Earlier, excused};
use crate::undefined;
use crate::vector::has_vector_unit;
use record::{Record, Step};
use std::ops::Range;

/// Local memory, which is reused by one group after the other.
pub struct Local {
    words: Vec<u64>,
    bytes: usize,
    init: Vec<u8>,
    record: Record,
    /// The group has only one wave, so all accesses are ordered.
    solo: bool,
    /// The processor supports the vector version of the checks of scattered accesses.
    fast: bool,
}

impl Default for Local {
    fn default() -> Self {
        Self::new()
    }
}

impl Local {
    /// Creates empty local memory, to be [`reset`](Self::reset).
    pub fn new() -> Self {
        let fast = has_vector_unit();
        Self { words: Vec::new(), bytes: 0, init: Vec::new(), record: Record::new(), solo: true, fast }
    }

    /// Resets it to `bytes` bytes of uninitialised memory for a group of `waves` waves.
    pub fn reset(&mut self, bytes: usize, waves: u32) {
        self.bytes = bytes;
        self.solo = waves == 1;
        let words = bytes.div_ceil(8);
        // What an earlier group left there is as undefined, but not the same in every run.
        self.words.clear();
        self.words.resize(words, undefined::DOUBLE);
        // A granule may be as small as a byte.
        self.record.reset(words * 8);
        self.init.clear();
        self.init.resize(bytes, 0);
    }

    /// Returns its bytes.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the words have at least `self.bytes` bytes, and any byte is a valid u8.
        unsafe { std::slice::from_raw_parts(self.words.as_ptr().cast(), self.bytes) }
    }

    /// Returns the host memory that it takes, in bytes.
    pub fn host_bytes(&self) -> usize {
        size_of_val(&self.words[..]) + self.init.len() + self.record.host_bytes()
    }

    /// Returns its bytes. Their address is a multiple of eight.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`; any byte values are valid words.
        unsafe { std::slice::from_raw_parts_mut(self.words.as_mut_ptr().cast(), self.bytes) }
    }

    /// Checks an access of `bytes` bytes by each lane of `mask` to its address in `addresses`, like
    /// [`Launch::check`] for global memory.
    #[inline]
    #[expect(clippy::too_many_arguments, reason = "an access has that many properties, and this is the hot path")]
    pub fn check(
        &mut self,
        who: &Place,
        access: Access,
        site: u32,
        mask: u64,
        addresses: &[u32; LANES],
        bytes: u32,
        align: u32,
        launch: &Launch<'_>,
        describe: &dyn Describe,
    ) -> Checked {
        if !access.is_atomic() {
            let well = if self.fast {
                // SAFETY: the processor has the features.
                unsafe { self.check_well_fast(who, access, mask, addresses, bytes, align, launch.local_granule()) }
            } else {
                let starts = rows::starts(mask, addresses, bytes);
                self.check_well(who, access, mask, addresses, starts, bytes, align, launch.local_granule())
            };
            if let Some(overlap) = well {
                return Checked { lanes: mask, overlap, ..Checked::default() };
            }
        }
        let subject = Subject { who, access, site, bytes, lane: 0, describe, more: 0 };
        self.check_lanes(&subject, mask, addresses, align, launch)
    }

    /// Checks an access of a whole wave to all `bytes` bytes at `address`, like
    /// [`Launch::check_run`] for global memory. Returns false if there may be an error; the caller
    /// must then call [`check`](Self::check). Not for atomics.
    #[inline(always)]
    pub fn check_run(
        &mut self,
        who: &Place,
        access: Access,
        address: u64,
        bytes: u32,
        align: u32,
        launch: &Launch<'_>,
    ) -> bool {
        let bytes = bytes as usize;
        if access.is_atomic() || address > self.bytes.saturating_sub(bytes) as u64 || bytes > self.bytes {
            return false;
        }
        let mut step = self.record.step(who, access);
        address & u64::from(align - 1) == 0
            && self.note(&mut step, access, address as usize, bytes, launch.local_granule())
    }

    /// Returns the part of an access that lies inside. An address in the upper half of the 32 bits
    /// is a negative one.
    pub fn part(&self, address: u32, bytes: u32) -> Option<Part> {
        Part::of(0..self.bytes as u64, i64::from(address as i32) as u64, bytes.into())
    }

    /// Marks `bytes` bytes at `address` as uninitialised. They must be inside the memory.
    pub fn forget(&mut self, address: u32, bytes: u32) {
        self.init[address as usize..][..bytes as usize].fill(0);
    }

    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    #[expect(clippy::too_many_arguments, reason = "as for `check`")]
    fn check_well_fast(
        &mut self,
        who: &Place,
        access: Access,
        mask: u64,
        addresses: &[u32; LANES],
        bytes: u32,
        align: u32,
        granule: u32,
    ) -> Option<u64> {
        let starts = rows::starts_fast(mask, addresses, bytes);
        self.check_well(who, access, mask, addresses, starts, bytes, align, granule)
    }

    /// Returns the lanes that write a byte that an earlier lane also writes, if no lane has an
    /// error. If there may be an error, everything must be checked again. `starts` are the lanes at
    /// which rows start.
    #[inline(always)]
    #[expect(clippy::too_many_arguments, reason = "as for `check`")]
    fn check_well(
        &mut self,
        who: &Place,
        access: Access,
        mask: u64,
        addresses: &[u32; LANES],
        starts: u64,
        bytes: u32,
        align: u32,
        granule: u32,
    ) -> Option<u64> {
        let (mut highest, mut low_bits) = (0, 0);
        let mut see = |address: u32| {
            highest = highest.max(address);
            low_bits |= address;
        };
        // For full waves, the compiler knows the length.
        if mask == u64::MAX {
            addresses.iter().for_each(|address| see(*address));
        } else if mask == u64::from(u32::MAX) {
            addresses[..LANES / 2].iter().for_each(|address| see(*address));
        } else {
            lanes_of(mask).for_each(|lane| see(addresses[lane as usize]));
        }
        if highest as usize + bytes as usize > self.bytes || low_bits & (align - 1) != 0 {
            return None;
        }
        let overlap = || if access == Access::Store { overlapping(mask, addresses, u64::from(bytes)) } else { 0 };
        let step = &mut self.record.step(who, access);
        // For short rows, checking each lane is faster.
        if starts.count_ones() > mask.count_ones() / 4 && bytes == 1 << granule && low_bits & (bytes - 1) == 0 {
            if !self.written_each(access, mask, addresses, bytes) {
                return None;
            }
            return if self.solo { Some(overlap()) } else { self.record.each(step, mask, addresses, granule) };
        }
        let mut before = (0, 0);
        let mut lanes = lanes_of(starts);
        let mut next = lanes.next();
        while let Some(first) = next {
            next = lanes.next();
            let last = rows::last_before(mask, next.unwrap_or(u64::BITS));
            let (start, end) = (addresses[first as usize & 63], addresses[last as usize & 63] + bytes);
            // A repeated row (as in a tile) is already recorded.
            if before != (start, end) && !self.note(step, access, start as usize, (end - start) as usize, granule) {
                return None;
            }
            before = (start, end);
        }
        Some(overlap())
    }

    /// For a store, marks the bytes of each lane as written. For a load, returns whether all of
    /// them were written. The bytes must exist.
    #[inline(always)]
    fn written_each(&mut self, access: Access, mask: u64, addresses: &[u32; LANES], bytes: u32) -> bool {
        let init = &mut self.init[..];
        let mut all = true;
        for lane in lanes_of(mask) {
            let at = addresses[lane as usize] as usize;
            let init = &mut init[at..at + bytes as usize];
            if access == Access::Store {
                set_written(init);
            } else {
                all &= all_written(init);
            }
        }
        all
    }

    /// Records an access to existing bytes. Returns false if one was uninitialised or there is a
    /// clash.
    #[inline(always)]
    fn note(&mut self, step: &mut Step, access: Access, start: usize, bytes: usize, granule: u32) -> bool {
        let init = &mut self.init[start..start + bytes];
        if access == Access::Store {
            set_written(init);
        } else if !all_written(init) {
            return false;
        }
        if self.solo {
            return true;
        }
        self.record.row(step, start >> granule, (start + bytes - 1) >> granule)
    }

    #[inline(never)]
    fn check_lanes(
        &mut self,
        subject: &Subject<'_>,
        mask: u64,
        addresses: &[u32; LANES],
        align: u32,
        launch: &Launch<'_>,
    ) -> Checked {
        let (access, bytes) = (subject.access, subject.bytes as usize);
        let step = self.record.step(subject.who, access);
        let buffer = format!("local memory of {} bytes", self.bytes);
        let named =
            |at: i64| Named { buffer: buffer.clone(), offset: at, place: format!("at byte {at} of the {buffer}") };
        let said = |at: i64, what: String| (named(at), what);
        let (mut lanes, mut parts, mut clipped) = (mask, 0, 0);
        let mut outside = Outside::default();
        let (mut crooked, mut unwritten, mut raced) = <(Wrong, Wrong, Wrong)>::default();
        for lane in lanes_of(mask) {
            let address = addresses[lane as usize];
            let signed = i64::from(address as i32);
            // The bytes that are accessed.
            let (mut at, mut count) = (address as usize, bytes);
            if at + bytes > self.bytes {
                lanes &= !(1 << lane);
                let kind =
                    error(access, &(0..self.bytes as u64), launch.local_unit().into(), signed as u64, bytes as u64);
                let violates = at + bytes > self.bytes.next_multiple_of(launch.local_unit() as usize);
                outside.add(kind, violates, lane, || {
                    let reaches = if signed < 0 { "starts before its first byte" } else { "reaches beyond its end" };
                    said(signed, format!("is {}, and {reaches}", named(signed).place))
                });
                let part = self.part(address, subject.bytes).filter(|_| access != Access::Atomic);
                clipped |= u64::from(part.is_some() || !access.writes()) << lane;
                let Some(part) = part else { continue };
                parts |= 1 << lane;
                (at, count) = (part.address as usize, part.bytes);
            }
            let aligned = address & (align - 1) == 0;
            if !aligned {
                crooked.add(lane, || said(signed, format!("is {}, not aligned to {align}", named(signed).place)));
                if access.orders() {
                    lanes &= !(1 << lane);
                    (parts, clipped) = (parts & !(1 << lane), clipped & !(1 << lane));
                    continue;
                }
            }
            let init = &mut self.init[at..at + count];
            if access.reads()
                && let Some(byte) = init.iter().position(|b| *b == 0)
            {
                let byte = (at + byte) as i64;
                unwritten.add(lane, || said(byte, format!("reads uninitialised memory, {}", named(byte).place)));
            }
            if access.writes() {
                init.fill(1);
            }
            if aligned && !self.solo {
                self.check_race(&step, subject, at..at + count, launch, |at, what| {
                    let at = at as i64;
                    raced.add(lane, || said(at, format!("races with {what}, {}", named(at).place)))
                });
            }
        }
        outside.note(Violation::OutsideOwn, launch, subject);
        crooked.note(Violation::Misaligned, launch, subject);
        outside.tell(launch, subject);
        crooked.tell(FindingKind::Misaligned, launch, subject);
        unwritten.tell(FindingKind::UninitialisedRead, launch, subject);
        raced.tell(FindingKind::Race, launch, subject);
        let made = lanes | parts;
        let overlap = if access == Access::Store { overlapping(made, addresses, bytes as u64) } else { 0 };
        if access.orders()
            && let Some(order) = launch.order()
        {
            // All waves of the group run on this thread, so the atomic can be treated as already
            // performed.
            let key = |lane: u32| order_key(subject.who, addresses[lane as usize].into());
            order.done(order.begin(subject.who, lanes_of(made).map(key)));
        }
        Checked { lanes, clipped, overlap, ..Checked::default() }
    }

    fn check_race(
        &mut self,
        step: &Step,
        subject: &Subject<'_>,
        bytes: Range<usize>,
        launch: &Launch<'_>,
        mut tell: impl FnMut(usize, String),
    ) {
        let granule = launch.local_granule();
        for at in bytes.start >> granule..=(bytes.end - 1) >> granule {
            let Some(clash) = self.record.clash(step, at, subject.who) else { continue };
            let ordered = |order: &Order| order.ordered(&clash.place, clash.any_wave, false, subject.who);
            let races = clash.exact && !launch.order().is_some_and(ordered);
            let earlier = Earlier {
                place: &clash.place,
                was: clash.was,
                atomic: clash.atomic,
                address: order_key(subject.who, bytes.start as u64),
            };
            if races && launch.unmarked().local && excused(launch.order(), subject.who, subject.access, &earlier) {
                if !subject.access.writes() {
                    self.record.admit(at);
                }
            } else if races {
                let other = other(clash.was, &clash.place, clash.any_wave, false, subject.who);
                tell((at << granule).max(bytes.start), other);
            }
        }
    }

    /// Reports that lanes of one store wrote different values to one byte, like
    /// [`Launch::overlapping`] for global memory.
    #[expect(clippy::too_many_arguments, reason = "as for `check`")]
    pub fn overlapping(
        &self,
        who: &Place,
        site: u32,
        lane: u32,
        address: u32,
        bytes: u32,
        launch: &Launch<'_>,
        describe: &dyn Describe,
    ) {
        let subject = Subject { who, access: Access::Store, site, bytes, lane, describe, more: 0 };
        let buffer = format!("local memory of {} bytes", self.bytes);
        let what = format!(
            "races with the same store of another lane, which writes a different value there: at byte {address} of the {buffer}"
        );
        launch.tell(
            FindingKind::Race,
            &subject,
            Named { buffer, offset: i64::from(address), place: String::new() },
            &what,
        );
    }
}

/// Returns what stands for an address in local memory in the order of atomics.
fn order_key(who: &Place, address: u64) -> u64 {
    address | u64::from(who.group) << 24 | 1 << 63
}

// Words and the widest accesses of a lane are by far the most frequent and need no loop.

#[inline(always)]
fn all_written(init: &[u8]) -> bool {
    if let Ok(init) = <[u8; 4]>::try_from(init) {
        init == [1; 4]
    } else if let Ok(init) = <[u8; 16]>::try_from(init) {
        init == [1; 16]
    } else {
        written(init)
    }
}

#[inline(always)]
fn set_written(init: &mut [u8]) {
    if let Ok(init) = <&mut [u8; 4]>::try_from(&mut *init) {
        *init = [1; 4];
    } else if let Ok(init) = <&mut [u8; 16]>::try_from(&mut *init) {
        *init = [1; 16];
    } else {
        init.fill(1);
    }
}
