//! What an instruction does with the memory it reaches, whichever memory that is.

use crate::exec::{LANES, Place, Program, Warp};
use isobit_simgpu_core::check::{Access, lanes_of};

/// The most registers that one lane moves.
pub const MOST: usize = 8;
/// The most bytes that one lane moves.
pub const MOST_BYTES: usize = 32;

/// What an instruction does with memory.
#[derive(Debug, Clone)]
pub struct Form {
    /// For the checks.
    pub access: Access,
    /// Bytes of a lane.
    pub bytes: u32,
    /// What the address must be a multiple of: PTX asks for the whole of an access, also of a
    /// vector.
    pub align: u32,
    /// Added to the address, or all of it.
    pub offset: u64,
    /// The register that the address starts from has 32 bits.
    pub narrow: bool,
    /// How many registers it moves.
    pub count: usize,
    /// The registers: what loads write ([`Place::NONE`] for none), what stores and atomics read.
    pub registers: [Place; MOST],
    /// Where an atomic puts the old value, if anywhere.
    pub old: Place,
    /// Does it for all lanes of a warp, whose bytes follow each other. Not where the order of lanes
    /// matters.
    pub row: Option<Whole>,
    /// Does it for the lanes of a mask, all of them at one place. Loads only.
    pub same: Option<Masked>,
    /// Does it for the lanes of a mask.
    pub lanes: Lanes,
    /// As `lanes`, in shared memory.
    pub shared: Lanes,
}

impl Form {
    /// Does it for lanes that follow each other, whose bytes do too from `at` on; by `lanes` where
    /// they are not all.
    ///
    /// # Safety
    /// As for `Whole`, for the lanes of the mask.
    #[inline(always)]
    pub unsafe fn in_row(&self, warp: &mut Warp, program: &Program, lanes: Lanes, mask: u32, at: *mut u8) {
        if let Some(row) = self.row
            && mask == u32::MAX
        {
            // SAFETY: the caller promises what `Whole` asks, for the lanes of the mask.
            return unsafe { row(warp, program, self, at) };
        }
        let bytes = self.bytes as usize;
        let start = at.wrapping_sub(mask.trailing_zeros() as usize * bytes);
        let places = std::array::from_fn(|lane| start.wrapping_add(lane * bytes));
        // SAFETY: the caller promises what `Whole` asks, for the lanes of the mask.
        unsafe { lanes(warp, program, self, mask, &places) };
    }
}

/// Of all lanes, with the place of the first one's bytes.
///
/// # Safety
/// The bytes of all lanes may be accessed, and the form is one of the program's, whose registers
/// the warp has.
pub type Whole = unsafe fn(&mut Warp, &Program, &Form, *mut u8);

/// Of the lanes of a mask, with the place of the bytes of all of them.
///
/// # Safety
/// As for [`Whole`].
pub type Masked = unsafe fn(&mut Warp, &Program, &Form, u32, *mut u8);

/// Of the lanes of a mask, with the place of each lane's bytes.
///
/// # Safety
/// As for `Whole`, for the lanes of the mask.
pub type Lanes = unsafe fn(&mut Warp, &Program, &Form, u32, &Places);

/// The places of all lanes' bytes; of lanes that are not in the mask any.
pub type Places = [*mut u8; LANES];

/// The lanes of a mask, ascending.
#[inline(always)]
pub fn lanes_in(mask: u32) -> impl Iterator<Item = usize> {
    lanes_of(mask.into()).map(|lane| lane as usize)
}

/// What each lane stores.
pub type Stored = [[u8; MOST_BYTES]; LANES];

/// What the lanes of a mask store by a form.
pub fn stored(warp: &mut Warp, program: &Program, form: &Form, lanes: u32) -> Stored {
    let mut stored = [[0; MOST_BYTES]; LANES];
    let places: Places = stored.each_mut().map(|bytes| bytes.as_mut_ptr());
    // SAFETY: no form stores more than so many bytes, and every lane has room for them.
    unsafe { (form.lanes)(warp, program, form, lanes, &places) };
    stored
}

/// The first lane of `overlap` whose `bytes` bytes are not what an earlier lane of `lanes` stores
/// in the same place.
#[cold]
pub fn disagreeing(stored: &Stored, bytes: u32, lanes: u32, overlap: u64, address: &[u64; LANES]) -> Option<usize> {
    let byte = |lane: usize, at: u64| stored[lane][(at - address[lane]) as usize];
    let clashes = |lane: usize, other: usize| {
        let start = address[lane].max(address[other]);
        let end = address[lane].min(address[other]) + u64::from(bytes);
        (start..end).any(|at| byte(lane, at) != byte(other, at))
    };
    lanes_in(overlap as u32).find(|&lane| lanes_in(lanes & ((1 << lane) - 1)).any(|other| clashes(lane, other)))
}
