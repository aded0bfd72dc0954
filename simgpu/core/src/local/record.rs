//! The last accesses to each granule of local memory, in a 64-bit word: the writer in the high
//! half, the readers in the low half.
//!
//! A barrier orders everything before it before everything after it, so only accesses of the same
//! era can race. Eras count barriers. They keep counting from group to group, so nothing must be
//! cleared between groups.

use crate::check::{Access, LANES, Place, lanes_of};

const WAVE_AT: u32 = 2;
const WAVES: u32 = 32;
const ERA_AT: u32 = 7;
/// The last era that a word can represent. It also stands for all later ones, in which no races are
/// reported.
const LAST_ERA: u32 = (1 << (u32::BITS - ERA_AT)) - 1;
/// If a group would begin after this era, everything is cleared first, so each group has at least
/// this many eras.
const LAST_BEGIN: u32 = LAST_ERA / 2;

/// For the writer: it was an atomic. For readers: all of them were atomics.
const ATOMIC: u32 = 1;
/// For readers: several waves.
const MANY_WAVES: u32 = 2;

/// A value that no granule's word has, because its writer would be several waves.
const NONE: u64 = u64::MAX;
/// Number of granules compared at once. Rows are often this short; the rest of a row is checked one
/// by one.
const CHUNK: usize = 4;

/// An access that clashes with this one.
pub(super) struct Clash {
    pub(super) place: Place,
    pub(super) was: Access,
    /// It was atomic; of several readers, all.
    pub(super) atomic: bool,
    /// It was made by several waves, and `place` names one of them.
    pub(super) any_wave: bool,
    /// Both places are known exactly, not only that they are late.
    pub(super) exact: bool,
}

/// The last accesses to the granules of local memory, for one group after the other.
pub(super) struct Record {
    granules: Vec<u64>,
    /// The era of the group's first accesses; memory that was never accessed has era 0.
    begin: u32,
    /// The last era with an access.
    end: u32,
}

/// The change that an instruction makes to a word. It is computed once for granules with the same
/// word, which is the usual case.
#[derive(Clone, Copy)]
pub(super) struct Step {
    me: u32,
    access: Access,
    before: u64,
    after: u64,
}

impl Step {
    /// Computes the change for `word`. Returns false if there is a clash.
    #[inline(always)]
    fn learn(&mut self, word: u64) -> bool {
        if word == self.before {
            return true;
        }
        match next(word, self.me, self.access) {
            Ok(after) => {
                (self.before, self.after) = (word, after);
                true
            }
            Err(_) => false,
        }
    }
}

impl Record {
    pub(super) fn new() -> Self {
        Self { granules: Vec::new(), begin: 1, end: 0 }
    }

    /// Resets the record to no accesses, for at most `granules` granules.
    pub(super) fn reset(&mut self, granules: usize) {
        self.begin = self.end + 1;
        if self.begin > LAST_BEGIN {
            self.granules.fill(0);
            (self.begin, self.end) = (1, 0);
        }
        if self.granules.len() < granules {
            self.granules.resize(granules, 0);
        }
    }

    /// Returns the host memory that it takes, in bytes.
    pub(super) fn host_bytes(&self) -> usize {
        size_of_val(&self.granules[..])
    }

    /// Returns the step of an instruction of a wave.
    #[inline(always)]
    pub(super) fn step(&mut self, who: &Place, access: Access) -> Step {
        let era = self.begin.saturating_add(who.epoch).min(LAST_ERA);
        self.end = self.end.max(era);
        let me = era << ERA_AT | (who.wave & (WAVES - 1)) << WAVE_AT;
        Step { me, access, before: NONE, after: NONE }
    }

    /// Records an access to the granules from `first` to `last`. Returns false if there is a clash.
    #[inline(always)]
    pub(super) fn row(&mut self, step: &mut Step, first: usize, last: usize) -> bool {
        let granules = &mut self.granules[first..=last];
        if !step.learn(granules[0]) {
            return false;
        }
        let (chunks, rest) = granules.as_chunks_mut::<CHUNK>();
        for chunk in chunks {
            if !note(step, chunk) {
                return false;
            }
        }
        note_each(step, rest)
    }

    /// Records an access of each lane to the granule of its address. Returns `None` if there is a
    /// clash, else the lanes of a store that access the granule of an earlier lane.
    #[inline(always)]
    pub(super) fn each(&mut self, step: &mut Step, mask: u64, addresses: &[u32; LANES], granule: u32) -> Option<u64> {
        let granules = &mut self.granules[..];
        let at = |lane: u32| (addresses[lane as usize] >> granule) as usize;
        if !step.learn(granules[at(mask.trailing_zeros() & 63)]) {
            return None;
        }
        let mut differ = 0;
        for lane in lanes_of(mask) {
            differ |= granules[at(lane)] ^ step.before;
        }
        if step.access != Access::Store {
            if differ == 0 && step.after == step.before {
                return Some(0);
            }
            for lane in lanes_of(mask) {
                let word = &mut granules[at(lane)];
                // Equal words mean that an earlier lane accessed the same granule.
                if *word != step.after {
                    if !step.learn(*word) {
                        return None;
                    }
                    *word = step.after;
                }
            }
            return Some(0);
        }
        if differ != 0 {
            for lane in lanes_of(mask) {
                if !step.learn(granules[at(lane)]) {
                    return None;
                }
            }
        }
        // A store leaves the same word whatever was there before. The granules are marked first, to
        // detect a second lane at a granule.
        let mut overlap = 0;
        for lane in lanes_of(mask) {
            let word = &mut granules[at(lane)];
            overlap |= u64::from(*word == NONE) << lane;
            *word = NONE;
        }
        for lane in lanes_of(mask) {
            granules[at(lane)] = step.after;
        }
        Some(overlap)
    }

    /// Returns the access with which an access by `step` to a granule clashes. Records the access
    /// in any case.
    pub(super) fn clash(&mut self, step: &Step, granule: usize, who: &Place) -> Option<Clash> {
        let word = &mut self.granules[granule];
        match next(*word, step.me, step.access) {
            Ok(after) => {
                *word = after;
                None
            }
            Err((earlier, was)) => {
                *word = overruled(*word, step.me, step.access);
                let (era, wave) = (earlier >> ERA_AT, earlier >> WAVE_AT & (WAVES - 1));
                Some(Clash {
                    place: Place { group: who.group, wave, epoch: era - self.begin },
                    was,
                    atomic: earlier & ATOMIC != 0,
                    any_wave: was == Access::Load && earlier & MANY_WAVES != 0,
                    exact: era != LAST_ERA,
                })
            }
        }
    }

    /// Takes the last write of a granule for an atomic one.
    pub(super) fn admit(&mut self, granule: usize) {
        self.granules[granule] |= u64::from(ATOMIC) << 32;
    }
}

/// Like [`note_each`], for granules that may all have the word of the last one.
#[inline(always)]
fn note(step: &mut Step, granules: &mut [u64; CHUNK]) -> bool {
    let mut differ = 0;
    for word in &*granules {
        differ |= word ^ step.before;
    }
    if differ != 0 {
        return note_each(step, granules);
    }
    if step.after != step.before {
        granules.fill(step.after);
    }
    true
}

/// Records an access to all of `granules`. Returns false if there is a clash.
#[inline(always)]
fn note_each(step: &mut Step, granules: &mut [u64]) -> bool {
    for word in granules {
        if !step.learn(*word) {
            return false;
        }
        *word = step.after;
    }
    true
}

/// Returns a granule's word after an access, or the access with which it clashes.
#[inline]
fn next(word: u64, me: u32, access: Access) -> Result<u64, (u32, Access)> {
    let (writer, reader) = ((word >> 32) as u32, word as u32);
    let same_era = |word: u32| (word ^ me) >> ERA_AT == 0;
    let same_wave = |word: u32| (word ^ me) >> WAVE_AT & (WAVES - 1) == 0;
    let excused = |word: u32| access.is_atomic() && word & ATOMIC != 0;
    if same_era(writer) && !same_wave(writer) && !excused(writer) {
        return Err((writer, if writer & ATOMIC != 0 { Access::Atomic } else { Access::Store }));
    }
    let alone = same_wave(reader) && reader & MANY_WAVES == 0;
    if access.writes() && same_era(reader) && !alone && !excused(reader) {
        return Err((reader, Access::Load));
    }
    if access.writes() || !same_era(reader) {
        return Ok(overruled(word, me, access));
    }
    // One more reader. If there are atomic and plain readers, the word keeps the plain ones, which
    // clash with more accesses. If there are several waves, it names one.
    let me = me | flag(access);
    let reader = match (reader ^ me) & ATOMIC {
        0 if alone || reader & MANY_WAVES != 0 => reader,
        0 => me | MANY_WAVES,
        _ if access.is_atomic() => reader,
        _ => me,
    };
    Ok(u64::from(writer) << 32 | u64::from(reader))
}

/// Returns a granule's word after an access, independent of earlier accesses.
#[inline(always)]
fn overruled(word: u64, me: u32, access: Access) -> u64 {
    let me = u64::from(me | flag(access));
    if access.writes() {
        // Earlier readers are ordered before this access or were reported. Later accesses are
        // compared with this one.
        return me << 32;
    }
    word >> 32 << 32 | me
}

#[inline(always)]
fn flag(access: Access) -> u32 {
    if access.is_atomic() { ATOMIC } else { 0 }
}
