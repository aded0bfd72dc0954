//! Who accessed something last, in a word: dispatch, group, wave, epoch (barriers passed) and
//! flags.

use crate::check::Place;

const EPOCH_AT: u32 = 4;
const WAVE_AT: u32 = 17;
const GROUP_AT: u32 = 22;
/// Where the dispatch number starts; it goes to the top.
pub(crate) const DISPATCH_AT: u32 = 48;

/// The last epoch that a word can say: it stands for all later ones too, about which nothing is
/// told.
const LAST_EPOCH: u64 = (1 << (WAVE_AT - EPOCH_AT)) - 1;
/// The last group that a word can say, likewise.
const LAST_GROUP: u64 = (1 << (DISPATCH_AT - GROUP_AT)) - 1;
const WAVES: u64 = 1 << (GROUP_AT - WAVE_AT);

/// Block word: all of the block was read, and nothing else was done with it.
pub(crate) const READ: u64 = 1;
/// Block word: all of the block was written by the place that the word names, which may have read
/// it too.
pub(crate) const WRITTEN: u64 = 2;
/// Block word: the granules say.
pub(crate) const FINE: u64 = READ | WRITTEN;
/// Readers: several waves of the group, in the epoch.
pub(crate) const MANY_WAVES: u64 = 4;
/// Readers: several groups.
pub(crate) const MANY_GROUPS: u64 = 8;
/// Writer of a granule: it was an atomic. Readers: all of them were.
pub(crate) const ATOMIC: u64 = 1;
const FLAGS: u64 = (1 << EPOCH_AT) - 1;

/// The word of an access by `who`, without flags; `dispatch` is shifted already.
#[inline(always)]
pub(crate) fn of(dispatch: u64, who: &Place) -> u64 {
    let epoch = u64::from(who.epoch).min(LAST_EPOCH);
    let group = u64::from(who.group).min(LAST_GROUP);
    dispatch | group << GROUP_AT | (u64::from(who.wave) & (WAVES - 1)) << WAVE_AT | epoch << EPOCH_AT
}

/// The place that a word names.
pub(crate) fn place(word: u64) -> Place {
    Place {
        group: (word >> GROUP_AT & LAST_GROUP) as u32,
        wave: (word >> WAVE_AT & (WAVES - 1)) as u32,
        epoch: (word >> EPOCH_AT & LAST_EPOCH) as u32,
    }
}

/// True where `word` is of an earlier launch (or of none): nothing is known.
#[inline(always)]
pub(crate) fn stale(word: u64, me: u64) -> bool {
    (word ^ me) >> DISPATCH_AT != 0
}

/// Of words of one launch: the same group.
#[inline(always)]
pub(crate) fn same_group(word: u64, me: u64) -> bool {
    (word ^ me) >> GROUP_AT == 0
}

/// Of words of one group: the same epoch.
#[inline(always)]
pub(crate) fn same_epoch(word: u64, me: u64) -> bool {
    (word ^ me) >> EPOCH_AT & LAST_EPOCH == 0
}

/// Of words of one group: the same wave.
#[inline(always)]
pub(crate) fn same_wave(word: u64, me: u64) -> bool {
    (word ^ me) >> WAVE_AT & (WAVES - 1) == 0
}

/// Group, wave, and epoch are the same.
#[inline(always)]
pub(crate) fn same_place(word: u64, me: u64) -> bool {
    (word ^ me) & !FLAGS == 0
}

/// True where program order or a barrier puts all accesses that `word` stands for before one by
/// `me`. `word` may be a reader's or a writer's that is [`ATOMIC`]; of the same launch.
#[inline(always)]
pub(crate) fn before(word: u64, me: u64) -> bool {
    same_group(word, me)
        && word & MANY_GROUPS == 0
        && (!same_epoch(word, me) || same_wave(word, me) && word & MANY_WAVES == 0)
}

/// True where the word names its place exactly enough for a race to be told.
pub(crate) fn exact(word: u64) -> bool {
    word >> GROUP_AT & LAST_GROUP != LAST_GROUP && word >> EPOCH_AT & LAST_EPOCH != LAST_EPOCH
}
