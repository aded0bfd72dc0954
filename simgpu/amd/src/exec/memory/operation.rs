//! The operations of memory instructions, independent of the kind of memory: loads, stores, and (in
//! [`atomic`](super::atomic)) atomics.

use super::width::{MOST, Unit};
use crate::exec::program::Source;
use crate::exec::{Step, Wave};
use isobit_simgpu_core::check::{Access, LANES, lanes_of};
use std::marker::PhantomData;

/// The step's destination if an atomic returns nothing.
pub const NO_ROW: u16 = u16::MAX;
/// Indices of a step's rows: the address, the stored data, and the second data operand.
pub const ADDRESS: usize = 0;
/// See [`ADDRESS`].
pub const DATA: usize = 1;
/// See [`ADDRESS`].
pub const SECOND: usize = 2;

/// An operation as the code for checks and addresses sees it. Only the code that moves the bytes
/// differs between operations.
pub struct Form {
    /// The kind of access, for the checks.
    pub access: Access,
    /// Bytes per lane.
    pub bytes: u32,
    /// The alignment that atomics and group memory require. The hardware accepts other accesses to
    /// global and private memory at any address.
    pub align: u32,
    /// The number of registers that it stores (for an atomic: of each operand).
    pub stored: usize,
    /// Whether it has a second operand.
    pub second: bool,
    /// Does the operation for consecutive lanes with consecutive bytes. Atomics do not have it.
    pub row: Option<Row>,
    /// Does the operation for the lanes of a mask.
    pub lanes: Lanes,
}

/// A function for a number of lanes from a first one, with the address of the first lane's bytes.
///
/// # Safety
/// The bytes of each lane may be accessed.
pub type Row = unsafe fn(&mut Wave, &Step, usize, usize, *mut u8);

/// A function for the lanes of a mask, with the address of each lane's bytes.
///
/// # Safety
/// The bytes of each lane in the mask may be accessed.
pub type Lanes = unsafe fn(&mut Wave, &Step, u64, &Places);

/// The addresses of all lanes' bytes; for lanes that are not in the mask the address is arbitrary.
pub type Places = [*mut u8; LANES];

/// The operation of one lane on its bytes.
pub trait Operation: Sized {
    /// The kind of access, for the checks.
    const ACCESS: Access;
    /// Bytes per lane.
    const BYTES: u32;
    /// The number of registers that it stores (for an atomic: of each operand).
    const STORED: usize;
    /// Whether it has a second operand.
    const SECOND: bool = false;
    /// The operation's form, and that of a load or a store with a mark.
    const FORM: Form = form::<Self>(Self::ACCESS);
    /// See [`FORM`](Self::FORM).
    const ATOMIC: Form = form::<Self>(match Self::ACCESS {
        Access::Load => Access::AtomicLoad,
        Access::Store => Access::AtomicStore,
        other => other,
    });
    /// See [`FORM`](Self::FORM).
    const COMPARED: Form = form::<Self>(match Self::ACCESS {
        Access::Load => Access::ComparedLoad,
        other => other,
    });

    /// Does the operation for one lane.
    ///
    /// # Safety
    /// The bytes at `at` may be accessed.
    unsafe fn perform(wave: &mut Wave, step: &Step, lane: usize, at: *mut u8);
}

const fn form<O: Operation>(access: Access) -> Form {
    let atomic = matches!(O::ACCESS, Access::Atomic);
    let plain = matches!(access, Access::Load | Access::Store);
    Form {
        access,
        bytes: O::BYTES,
        align: if atomic || O::BYTES < 4 { O::BYTES } else { 4 },
        stored: O::STORED,
        second: O::SECOND,
        row: if plain { Some(in_row::<O>) } else { None },
        lanes: in_lanes::<O>,
    }
}

unsafe fn in_row<O: Operation>(wave: &mut Wave, step: &Step, first: usize, count: usize, start: *mut u8) {
    // SAFETY: the bytes of the lanes are consecutive, and the caller promises access to all of
    // them.
    let mut perform = |lane: usize, i: usize| unsafe { O::perform(wave, step, lane, start.add(i * O::BYTES as usize)) };
    // For whole waves the loops have a known length.
    match (first, count) {
        (0, 64) => (0..64).for_each(|lane| perform(lane, lane)),
        (0, 32) => (0..32).for_each(|lane| perform(lane, lane)),
        _ => (0..count).for_each(|i| perform(first + i, i)),
    }
}

unsafe fn in_lanes<O: Operation>(wave: &mut Wave, step: &Step, lanes: u64, at: &Places) {
    // SAFETY: the caller promises that the element may be accessed.
    lanes_of(lanes).for_each(|lane| unsafe { O::perform(wave, step, lane as usize, at[lane as usize & 63]) });
}

/// Returns the number of a row.
#[inline(always)]
pub fn row(source: Source) -> usize {
    match source {
        Source::Row(row) => usize::from(row),
        _ => 0,
    }
}

/// Returns the words of a lane from consecutive rows.
#[inline(always)]
pub fn words(wave: &Wave, first: usize, count: usize, lane: usize) -> [u32; MOST] {
    std::array::from_fn(|i| if i < count { wave.v[(first + i) & 511].0[lane & 63] } else { 0 })
}

/// Writes the words of a lane to consecutive rows.
#[inline(always)]
pub fn set_words(wave: &mut Wave, first: usize, count: usize, lane: usize, words: [u32; MOST]) {
    for (i, word) in words.into_iter().enumerate().take(count) {
        wave.v[(first + i) & 511].0[lane & 63] = word;
    }
}

/// Moves data from memory to registers.
pub struct Load<U>(PhantomData<U>);

impl<U: Unit> Operation for Load<U> {
    const ACCESS: Access = Access::Load;
    const BYTES: u32 = U::BYTES;
    const STORED: usize = 0;

    #[inline(always)]
    unsafe fn perform(wave: &mut Wave, step: &Step, lane: usize, at: *mut u8) {
        let to = usize::from(step.dst);
        // SAFETY: the caller promises that the element may be accessed.
        let words = unsafe { U::load(at, wave.v[to & 511].0[lane & 63]) };
        set_words(wave, to, U::WORDS, lane, words);
    }
}

/// Moves data from registers to memory.
pub struct Store<U>(PhantomData<U>);

impl<U: Unit> Operation for Store<U> {
    const ACCESS: Access = Access::Store;
    const BYTES: u32 = U::BYTES;
    const STORED: usize = U::WORDS;

    #[inline(always)]
    unsafe fn perform(wave: &mut Wave, step: &Step, lane: usize, at: *mut u8) {
        let from = row(step.rows[DATA]);
        // SAFETY: the caller promises that the element may be accessed.
        unsafe { U::store(at, words(wave, from, U::WORDS, lane)) };
    }
}

/// Returns the first lane of `overlap` whose bytes differ from those that an earlier lane of
/// `lanes` stores in the same place. `stored` says whether a lane stores the byte at an address.
#[cold]
pub fn disagreeing(
    wave: &mut Wave,
    step: &Step,
    form: &Form,
    lanes: u64,
    overlap: u64,
    address: impl Fn(usize) -> u64,
    stored: impl Fn(usize, u64) -> bool,
) -> Option<usize> {
    let mut values = [[0u8; 4 * MOST]; LANES];
    let places: Places = values.each_mut().map(|bytes| bytes.as_mut_ptr());
    // SAFETY: a store writes at most its registers, and every lane has room for the maximum number
    // of them.
    unsafe { (form.lanes)(wave, step, lanes, &places) };
    let end = |lane: usize| address(lane) + u64::from(form.bytes);
    let byte = |lane: usize, at: u64| values[lane][(at - address(lane)) as usize];
    let clashes = |lane: usize, other: usize| {
        let both = address(lane).max(address(other))..end(lane).min(end(other));
        let differs = |at: u64| byte(lane, at) != byte(other, at);
        both.into_iter().any(|at| differs(at) && stored(lane, at) && stored(other, at))
    };
    let before = |lane: u32| lanes_of(lanes & ((1 << lane) - 1));
    let found = lanes_of(overlap).find(|lane| before(*lane).any(|other| clashes(*lane as usize, other as usize)));
    found.map(|lane| lane as usize)
}
