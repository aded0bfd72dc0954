//! The last access, encoded in a word: dispatch, group, wave, epoch (barriers passed) and flags.

use crate::check::Place;

const EPOCH_AT: u32 = 4;
const WAVE_AT: u32 = 17;
const GROUP_AT: u32 = 22;
/// The bit at which the dispatch number starts; it extends to the top.
pub(crate) const DISPATCH_AT: u32 = 48;

/// The last epoch that a word can represent. It also stands for all later ones, in which no races
/// are reported.
const LAST_EPOCH: u64 = (1 << (WAVE_AT - EPOCH_AT)) - 1;
/// The last group that a word can represent, with the same meaning.
const LAST_GROUP: u64 = (1 << (DISPATCH_AT - GROUP_AT)) - 1;
const WAVES: u64 = 1 << (GROUP_AT - WAVE_AT);

/// Block word: the whole block was read, and there was no other access.
pub(crate) const READ: u64 = 1;
/// Block word: the place in the word wrote the whole block, and may also have read it.
pub(crate) const WRITTEN: u64 = 2;
/// Block word: the granules have the records.
pub(crate) const FINE: u64 = READ | WRITTEN;
/// Readers: several waves of the group, in this epoch.
pub(crate) const MANY_WAVES: u64 = 4;
/// Readers: several groups.
pub(crate) const MANY_GROUPS: u64 = 8;
/// Writer of a granule: it was an atomic. Readers: all of them were atomics.
pub(crate) const ATOMIC: u64 = 1;
const FLAGS: u64 = (1 << EPOCH_AT) - 1;

/// Returns the word of an access by `who`, without flags; `dispatch` is already shifted.
#[inline(always)]
pub(crate) fn of(dispatch: u64, who: &Place) -> u64 {
    let epoch = u64::from(who.epoch).min(LAST_EPOCH);
    let group = u64::from(who.group).min(LAST_GROUP);
    dispatch | group << GROUP_AT | (u64::from(who.wave) & (WAVES - 1)) << WAVE_AT | epoch << EPOCH_AT
}

/// Returns the place in a word.
pub(crate) fn place(word: u64) -> Place {
    Place {
        group: (word >> GROUP_AT & LAST_GROUP) as u32,
        wave: (word >> WAVE_AT & (WAVES - 1)) as u32,
        epoch: (word >> EPOCH_AT & LAST_EPOCH) as u32,
    }
}

/// Whether `word` is from an earlier launch or from none, so that nothing is known.
#[inline(always)]
pub(crate) fn stale(word: u64, me: u64) -> bool {
    (word ^ me) >> DISPATCH_AT != 0
}

/// Whether two words of the same launch have the same group.
#[inline(always)]
pub(crate) fn same_group(word: u64, me: u64) -> bool {
    (word ^ me) >> GROUP_AT == 0
}

/// Whether two words of the same group have the same epoch.
#[inline(always)]
pub(crate) fn same_epoch(word: u64, me: u64) -> bool {
    (word ^ me) >> EPOCH_AT & LAST_EPOCH == 0
}

/// Whether two words of the same group have the same wave.
#[inline(always)]
pub(crate) fn same_wave(word: u64, me: u64) -> bool {
    (word ^ me) >> WAVE_AT & (WAVES - 1) == 0
}

/// Whether group, wave and epoch are the same.
#[inline(always)]
pub(crate) fn same_place(word: u64, me: u64) -> bool {
    (word ^ me) & !FLAGS == 0
}

/// Whether program order or a barrier orders all accesses that `word` represents before an access
/// by `me`. `word` must be of the same launch; it may be a reader's word, or a writer's word with
/// [`ATOMIC`].
#[inline(always)]
pub(crate) fn before(word: u64, me: u64) -> bool {
    same_group(word, me)
        && word & MANY_GROUPS == 0
        && (!same_epoch(word, me) || same_wave(word, me) && word & MANY_WAVES == 0)
}

/// Whether the word identifies its place exactly enough to report a race.
pub(crate) fn exact(word: u64) -> bool {
    word >> GROUP_AT & LAST_GROUP != LAST_GROUP && word >> EPOCH_AT & LAST_EPOCH != LAST_EPOCH
}
