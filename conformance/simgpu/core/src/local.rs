//! The local (shared) memory of a work group, with the same checks as global memory has.

use crate::check::lanes::{Wrong, lanes_of, overlapping};
use crate::check::report::{Subject, other};
use crate::check::{Access, Checked, Describe, LANES, Launch, Place, run_local};
use crate::finding::FindingKind;
use crate::memory::{Named, written};
use crate::race::tag;
use crate::race::track::{Alike, note_granule, overrule};
use std::sync::atomic::AtomicU64;

/// Generations are below this: a word has as many bits for them as for dispatch numbers.
const GENERATIONS: u64 = 1 << (u64::BITS - tag::DISPATCH_AT);

/// Granules that are looked at together.
const ALIKE: usize = 16;

/// Records an access to granules. False at a clash.
#[inline(always)]
fn note_granules(tags: &mut [[AtomicU64; 2]], me: u64, access: Access, alike: &mut Alike) -> bool {
    if alike.note_all(tags) {
        return true;
    }
    let Some((first, rest)) = tags.split_first_mut() else { return true };
    alike.note(first, me, access).is_none()
        && (alike.note_all(rest) || rest.iter().all(|words| alike.note(words, me, access).is_none()))
}

/// Local memory that serves one group after the other.
pub struct Local {
    words: Vec<u64>,
    bytes: usize,
    init: Vec<u8>,
    /// Writer and reader of each granule.
    tags: Vec<[AtomicU64; 2]>,
    /// Distinguishes the groups that were served, so that no tag need be cleared between them.
    generation: u64,
    /// The group has one wave only, whose accesses are all ordered.
    solo: bool,
}

impl Default for Local {
    fn default() -> Self {
        Self::new()
    }
}

impl Local {
    /// Local memory of no bytes, to be [`reset`](Self::reset).
    pub fn new() -> Self {
        Self { words: Vec::new(), bytes: 0, init: Vec::new(), tags: Vec::new(), generation: 0, solo: true }
    }

    /// Makes it the uninitialised memory, `bytes` bytes large, of a group of `waves` waves.
    pub fn reset(&mut self, bytes: usize, waves: u32) {
        self.bytes = bytes;
        self.solo = waves == 1;
        self.generation += 1;
        let words = bytes.div_ceil(8);
        if self.words.len() < words {
            self.words.resize(words, 0);
            // Of whole words, so that what fits the words of a smaller memory fits its tags.
            self.tags.resize_with(words * 8, Default::default);
        }
        if self.generation == GENERATIONS {
            self.tags.fill_with(Default::default);
            self.generation = 1;
        }
        self.init.clear();
        self.init.resize(bytes, 0);
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the words hold at least so many bytes, each of which is a valid u8.
        unsafe { std::slice::from_raw_parts(self.words.as_ptr().cast(), self.bytes) }
    }

    /// Its bytes, of which the first lies at a multiple of eight.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as for `bytes`; any value of the bytes makes valid words.
        unsafe { std::slice::from_raw_parts_mut(self.words.as_mut_ptr().cast(), self.bytes) }
    }

    /// Checks an access of `bytes` bytes by each lane of `mask` to its own of `addresses`, as [`Launch::check`] does for global memory.
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
        if !access.is_atomic() && self.check_well(who, access, mask, addresses, bytes, align, launch.granule()) {
            return Checked {
                lanes: mask,
                overlap: if access == Access::Store { overlapping(mask, addresses, u64::from(bytes)) } else { 0 },
                ..Checked::default()
            };
        }
        let subject = Subject { who, access, site, bytes, lane: 0, describe, more: 0 };
        self.check_lanes(&subject, mask, addresses, align, launch)
    }

    /// Checks an access to all `bytes` bytes at `address` by a wave as a whole, as [`Launch::check_run`] does for global memory. False where
    /// something may be wrong: then [`check`](Self::check) is to be called. Not for atomics.
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
        let me = tag::of(self.generation << tag::DISPATCH_AT, who);
        address & u64::from(align - 1) == 0
            && self.note(me, access, address as usize, bytes, launch.granule(), &mut Alike::new())
    }

    /// What is in `bytes` bytes at `address`, inside of the memory, counts as not written from now on.
    pub fn forget(&mut self, address: u32, bytes: u32) {
        self.init[address as usize..][..bytes as usize].fill(0);
    }

    /// True where nothing is wrong with any lane. Where it is false, everything is to be checked again.
    #[inline]
    #[expect(clippy::too_many_arguments, reason = "as for `check`")]
    fn check_well(
        &mut self,
        who: &Place,
        access: Access,
        mask: u64,
        addresses: &[u32; LANES],
        bytes: u32,
        align: u32,
        granule: u32,
    ) -> bool {
        let (mut highest, mut low_bits) = (0, 0);
        let mut see = |address: u32| {
            highest = highest.max(address);
            low_bits |= address;
        };
        // Of full waves the compiler knows the length.
        if mask == u64::MAX {
            addresses.iter().for_each(|address| see(*address));
        } else if mask == u64::from(u32::MAX) {
            addresses[..LANES / 2].iter().for_each(|address| see(*address));
        } else {
            lanes_of(mask).for_each(|lane| see(addresses[lane as usize]));
        }
        if highest as usize + bytes as usize > self.bytes || low_bits & (align - 1) != 0 {
            return false;
        }
        let (me, alike) = (tag::of(self.generation << tag::DISPATCH_AT, who), &mut Alike::new());
        if let Some((start, lanes)) = run_local(mask, addresses, bytes) {
            return self.note(me, access, start as usize, lanes as usize * bytes as usize, granule, alike);
        }
        // Rows of lanes that follow each other, or are the same; a row that comes again (the rows of a tile do) is recorded already.
        let mut lanes = lanes_of(mask).map(|lane| addresses[lane as usize]);
        let mut next = lanes.next();
        let mut before = (0, 0);
        while let Some(start) = next {
            let (mut last, mut end) = (start, start + bytes);
            next = lanes.next();
            while let Some(address) = next
                && (address == end || address == last)
            {
                (last, end) = (address, address + bytes);
                next = lanes.next();
            }
            if before != (start, end) && !self.note(me, access, start as usize, (end - start) as usize, granule, alike)
            {
                return false;
            }
            before = (start, end);
        }
        true
    }

    /// Records an access to bytes that exist. False where one was not initialised, or at a clash.
    #[inline(always)]
    fn note(&mut self, me: u64, access: Access, start: usize, bytes: usize, granule: u32, alike: &mut Alike) -> bool {
        let init = &mut self.init[start..start + bytes];
        // Words are the most frequent by far, and need no loop.
        if let Ok(word) = <&mut [u8; 4]>::try_from(&mut *init) {
            match access {
                Access::Store => *word = [1; 4],
                _ if *word == [1; 4] => {}
                _ => return false,
            }
        } else {
            match access {
                Access::Store => init.fill(1),
                _ if written(init) => {}
                _ => return false,
            }
        }
        if self.solo {
            return true;
        }
        let (first, last) = (start >> granule, (start + bytes - 1) >> granule);
        if first == last {
            return alike.note(&self.tags[first], me, access).is_none();
        }
        self.tags[first..=last].chunks_mut(ALIKE).all(|tags| note_granules(tags, me, access, alike))
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
        let me = tag::of(self.generation << tag::DISPATCH_AT, subject.who);
        let buffer = format!("local memory of {} bytes", self.bytes);
        let named = |at: usize| Named {
            buffer: buffer.clone(),
            offset: at as i64,
            place: format!("at byte {at} of the {buffer}"),
        };
        let said = |at: usize, what: String| (named(at), what);
        let mut lanes = mask;
        let (mut outside, mut crooked, mut unwritten, mut raced) = <(Wrong, Wrong, Wrong, Wrong)>::default();
        for lane in lanes_of(mask) {
            let at = addresses[lane as usize] as usize;
            if at + bytes > self.bytes {
                lanes &= !(1 << lane);
                outside.add(lane, || said(at, format!("is {}, which ends before", named(at).place)));
                continue;
            }
            let aligned = at & (align as usize - 1) == 0;
            if !aligned {
                crooked.add(lane, || said(at, format!("is {}, no multiple of {align}", named(at).place)));
                if access.is_atomic() {
                    lanes &= !(1 << lane);
                    continue;
                }
            }
            let init = &mut self.init[at..at + bytes];
            if access.reads()
                && let Some(byte) = init.iter().position(|b| *b == 0)
            {
                unwritten
                    .add(lane, || said(at + byte, format!("reads what was never written, {}", named(at + byte).place)));
            }
            if access.writes() {
                init.fill(1);
            }
            if aligned && !self.solo {
                self.check_race(me, subject, at, launch, |at, what| {
                    raced.add(lane, || said(at, format!("races with {what}, {}", named(at).place)))
                });
            }
        }
        outside.tell(FindingKind::OutOfBounds, launch, subject);
        crooked.tell(FindingKind::Misaligned, launch, subject);
        unwritten.tell(FindingKind::UninitialisedRead, launch, subject);
        raced.tell(FindingKind::Race, launch, subject);
        let overlap = if access == Access::Store { overlapping(lanes, addresses, bytes as u64) } else { 0 };
        if access.is_atomic()
            && let Some(order) = launch.order()
        {
            // All waves of the group run on this thread, so that the atomic may as well have been made already.
            let key = |lane: u32| u64::from(addresses[lane as usize]) | u64::from(subject.who.group) << 24 | 1 << 63;
            order.done(order.begin(subject.who, lanes_of(lanes).map(key)));
        }
        Checked { lanes, overlap, ..Checked::default() }
    }

    fn check_race(
        &self,
        me: u64,
        subject: &Subject<'_>,
        start: usize,
        launch: &Launch<'_>,
        mut clash: impl FnMut(usize, String),
    ) {
        let granule = launch.granule();
        for at in start >> granule..=(start + subject.bytes as usize - 1) >> granule {
            let Some((earlier, was)) = note_granule(&self.tags[at], me, subject.access) else { continue };
            let place = tag::place(earlier);
            let any_wave = was == Access::Load && earlier & tag::MANY_WAVES != 0;
            let ordered = launch.order().is_some_and(|order| order.ordered(&place, any_wave, false, subject.who));
            if tag::exact(earlier) && tag::exact(me) && !ordered {
                clash((at << granule).max(start), other(was, &place, any_wave, false, subject.who));
            }
            overrule(&self.tags[at], me, subject.access);
        }
    }

    /// Tells that lanes of one store wrote different values to one byte of it, as [`Launch::overlapping`] does for global memory.
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
            "races with the same store of another lane, which writes another value there: at byte {address} of the {buffer}"
        );
        launch.tell(
            FindingKind::Race,
            &subject,
            Named { buffer, offset: i64::from(address), place: String::new() },
            &what,
        );
    }
}
