//! The record of accesses to global memory, in the shadows of the arena.
//!
//! Most accesses of most kernels are to whole blocks by one wave; the block's word can represent
//! these. The first access that it cannot represent switches the block to its granules for the rest
//! of the launch.

use super::tag::{self, ATOMIC, FINE, MANY_GROUPS, MANY_WAVES, READ, WRITTEN};
use crate::check::Access;
use crate::memory::{BLOCK, Shadow};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// The record of one launch.
pub(crate) struct Track<'a> {
    pub(crate) shadow: &'a Shadow,
    /// The number of the launch, shifted to its position in words.
    pub(crate) dispatch: u64,
    /// The binary logarithm of the size of a granule.
    pub(crate) granule: u32,
}

/// An access that clashes with an earlier one, unless atomics order the two.
pub(crate) struct Clash {
    /// The offset of the first byte of the granule.
    pub(crate) offset: u64,
    /// The word of the earlier access.
    pub(crate) other: u64,
    /// The kind of the earlier access.
    pub(crate) was: Access,
}

impl Track<'_> {
    /// Records an access by `me` to the bytes from offset `start` to `end`, up to the first clash.
    ///
    /// # Safety
    /// The bytes must be in committed memory of the arena.
    #[inline(always)]
    pub(crate) unsafe fn note(&self, me: u64, access: Access, start: u64, end: u64) -> Option<Clash> {
        let mut at = start;
        while at < end {
            let stop = end.min((at / BLOCK + 1) * BLOCK);
            // SAFETY: the block is in committed memory, as the caller promises.
            let block = unsafe { self.shadow.block(at / BLOCK) };
            let word = block.load(Relaxed);
            match if stop - at == BLOCK { whole(word, me, access) } else { None } {
                Some(next) if next == word => {}
                Some(next) => block.store(next, Relaxed),
                None => {
                    // SAFETY: as above.
                    let clash = unsafe { self.note_granules(me, access, at, stop) };
                    if clash.is_some() {
                        return clash;
                    }
                }
            }
            at = stop;
        }
        None
    }

    /// Returns the word of the last write to the granule at `offset`, if it was a plain store that
    /// is not ordered before `me` by barriers.
    ///
    /// # Safety
    ///
    /// As for [`note`](Self::note).
    pub(crate) unsafe fn plain_store(&self, me: u64, offset: u64) -> Option<u64> {
        // SAFETY: the block is in committed memory, as the caller promises.
        let block = unsafe { self.shadow.block(offset / BLOCK) }.load(Acquire);
        let wrote = match block & FINE {
            _ if tag::stale(block, me) => return None,
            // SAFETY: as above.
            FINE => (unsafe { self.shadow.granule(offset >> self.granule) })[0].load(Relaxed),
            WRITTEN => block & !FINE,
            _ => return None,
        };
        (!tag::stale(wrote, me) && wrote & ATOMIC == 0 && !tag::before(wrote, me)).then_some(wrote)
    }

    /// Like [`note`](Self::note), for bytes of one block.
    ///
    /// # Safety
    ///
    /// As for [`note`](Self::note).
    unsafe fn note_granules(&self, me: u64, access: Access, start: u64, end: u64) -> Option<Clash> {
        // SAFETY: the caller promises what `note` asks.
        let block = unsafe { self.shadow.block(start / BLOCK) };
        let word = block.load(Relaxed);
        if tag::stale(word, me) {
            block.store(self.dispatch | FINE, Relaxed);
        } else if word & FINE != FINE {
            let first = start / BLOCK * BLOCK;
            for granule in first >> self.granule..(first + BLOCK) >> self.granule {
                // SAFETY: the granule is in the same block.
                let words = unsafe { self.shadow.granule(granule) };
                words[usize::from(word & WRITTEN == 0)].store(word & !FINE, Relaxed);
            }
            block.store(self.dispatch | FINE, Release);
        }
        let mut alike = Alike::new();
        for granule in start >> self.granule..=(end - 1) >> self.granule {
            // SAFETY: the granule is in committed memory, as the caller promises.
            let words = unsafe { self.shadow.granule(granule) };
            if let Some((other, was)) = alike.note(words, me, access) {
                return Some(Clash { offset: granule << self.granule, other, was });
            }
        }
        None
    }

    /// Takes the last write of the granule at `offset` for an atomic one. Its block must have been
    /// switched to granules.
    ///
    /// # Safety
    ///
    /// As for [`note`](Self::note).
    pub(crate) unsafe fn admit(&self, offset: u64) {
        // SAFETY: the caller promises what `note` asks.
        let [writer, _] = unsafe { self.shadow.granule(offset >> self.granule) };
        writer.fetch_or(ATOMIC, Relaxed);
    }

    /// Records an access to the granule at `offset`, independent of earlier accesses. Its block
    /// must have been switched to granules. Returns the offset of the next granule.
    ///
    /// # Safety
    ///
    /// As for [`note`](Self::note).
    pub(crate) unsafe fn overrule(&self, me: u64, access: Access, offset: u64) -> u64 {
        // SAFETY: the caller promises what `note` asks.
        let words = unsafe { self.shadow.granule(offset >> self.granule) };
        overrule(words, me, access);
        ((offset >> self.granule) + 1) << self.granule
    }
}

/// Returns the block's word after an access to the whole block, if the word can represent it.
#[inline(always)]
fn whole(word: u64, me: u64, access: Access) -> Option<u64> {
    if tag::stale(word, me) {
        return match access {
            Access::Load => Some(me | READ),
            Access::Store => Some(me | WRITTEN),
            _ => None,
        };
    }
    match (access, word & FINE) {
        (Access::Load, READ) => Some(readers(word & !READ, me) | READ),
        (Access::Load, WRITTEN) if tag::same_place(word, me) => Some(word),
        // The earlier access is ordered before this one and is by the same group, so whatever
        // clashes with it also clashes with this one.
        (Access::Store, READ | WRITTEN) if tag::before(word, me) => Some(me | WRITTEN),
        _ => None,
    }
}

/// Returns the readers' word after one more reader. Later epochs of a group replace earlier ones: a
/// writer that is ordered after the later readers is also ordered after the earlier ones.
#[inline(always)]
fn readers(word: u64, me: u64) -> u64 {
    if tag::stale(word, me) {
        me
    } else if (word ^ me) & ATOMIC != 0 {
        // If there are atomic and plain readers, the word keeps the plain ones, which clash with
        // more accesses.
        if me & ATOMIC != 0 { word } else { me }
    } else if word & MANY_GROUPS != 0 || tag::same_place(word, me) {
        word
    } else if !tag::same_group(word, me) {
        me | MANY_GROUPS
    } else if tag::same_epoch(word, me) {
        // The word names any one of the waves, so a word for several waves need not change.
        if word & MANY_WAVES != 0 { word } else { me | MANY_WAVES }
    } else {
        me
    }
}

/// Records accesses of one kind by one place to successive granules. Most of them were accessed
/// together before and have the same words, so the result for these words is reused. A run of norms
/// and sorts on simulated GPUs spent half of its time on recomputing it.
struct Alike {
    before: [u64; 2],
    after: [u64; 2],
}

impl Alike {
    /// The state before the first granule. A writer's word has no flag except [`ATOMIC`], so no
    /// granule has these words.
    #[inline(always)]
    fn new() -> Self {
        Self { before: [u64::MAX; 2], after: [u64::MAX; 2] }
    }

    /// Like [`note_granule`].
    #[inline(always)]
    fn note(&mut self, words: &[AtomicU64; 2], me: u64, access: Access) -> Option<(u64, Access)> {
        let load = || words.each_ref().map(|word| word.load(Relaxed));
        let now = load();
        if now != self.before {
            let clash = note_granule(words, me, access);
            if clash.is_none() {
                *self = Self { before: now, after: load() };
            }
            return clash;
        }
        if self.after != now {
            words.iter().zip(self.after).for_each(|(word, after)| word.store(after, Relaxed));
        }
        None
    }
}

/// Records an access to a granule, or returns the access with which it clashes.
#[inline]
fn note_granule(words: &[AtomicU64; 2], me: u64, access: Access) -> Option<(u64, Access)> {
    let [writer, reader] = words;
    let wrote = writer.load(Relaxed);
    let excused = access.is_atomic() && wrote & ATOMIC != 0;
    if !tag::stale(wrote, me) && !excused && !tag::before(wrote, me) {
        return Some((wrote, if wrote & ATOMIC != 0 { Access::Atomic } else { Access::Store }));
    }
    let read = reader.load(Relaxed);
    if !access.writes() {
        let next = readers(read, me | flag(access));
        if next != read {
            reader.store(next, Relaxed);
        }
        return None;
    }
    let excused = access.is_atomic() && read & ATOMIC != 0;
    if !tag::stale(read, me) && !excused && !tag::before(read, me) {
        return Some((read, Access::Load));
    }
    overrule(words, me, access);
    None
}

/// Records an access to a granule, independent of earlier accesses.
#[inline(always)]
fn overrule([writer, reader]: &[AtomicU64; 2], me: u64, access: Access) {
    if access.writes() {
        writer.store(me | flag(access), Relaxed);
        // Earlier readers are ordered before this access or were reported. Later accesses are
        // compared with this one.
        reader.store(0, Relaxed);
    } else {
        reader.store(me | flag(access), Relaxed);
    }
}

#[inline(always)]
fn flag(access: Access) -> u64 {
    if access.is_atomic() { ATOMIC } else { 0 }
}
