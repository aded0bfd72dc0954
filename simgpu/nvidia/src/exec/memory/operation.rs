//! The memory operation of an instruction, independent of which memory it accesses.

use crate::exec::{LANES, Place, Program, Warp};
pub use isobit_simgpu_core::check::part::MOST_BYTES;
use isobit_simgpu_core::check::{Access, lanes_of};

/// Maximum registers that one lane moves.
pub const MOST: usize = 8;

/// The memory operation of an instruction.
#[derive(Debug, Clone)]
pub struct Form {
    /// The kind of access, for the checks.
    pub access: Access,
    /// Bytes per lane.
    pub bytes: u32,
    /// The required alignment: PTX requires that of the whole access, also for a vector.
    pub align: u32,
    /// Added to the address, or the complete address.
    pub offset: u64,
    /// Whether the base register has 32 bits.
    pub narrow: bool,
    /// Number of registers.
    pub count: usize,
    /// The registers: loads write them ([`Place::NONE`] for a skipped one), stores and atomics read
    /// them.
    pub registers: [Place; MOST],
    /// The destination of an atomic's old value, if any.
    pub old: Place,
    /// Runs the operation for all lanes of a warp, whose bytes are consecutive. `None` if the order
    /// of lanes matters.
    pub row: Option<Whole>,
    /// Runs the operation for the lanes of a mask, all at the same address. Loads only.
    pub same: Option<Masked>,
    /// Runs the operation for the lanes of a mask.
    pub lanes: Lanes,
    /// Like `lanes`, in shared memory.
    pub shared: Lanes,
}

impl Form {
    /// Runs the operation for consecutive lanes whose bytes are consecutive too, starting at `at`;
    /// uses `lanes` if not all lanes take part.
    ///
    /// # Safety
    /// The requirements of `Whole`, for the lanes of the mask.
    #[inline(always)]
    pub unsafe fn in_row(&self, warp: &mut Warp, program: &Program, lanes: Lanes, mask: u32, at: *mut u8) {
        if let Some(row) = self.row
            && mask == u32::MAX
        {
            // SAFETY: the caller meets the requirements of `Whole` for the lanes of the mask.
            return unsafe { row(warp, program, self, at) };
        }
        let bytes = self.bytes as usize;
        let start = at.wrapping_sub(mask.trailing_zeros() as usize * bytes);
        let places = std::array::from_fn(|lane| start.wrapping_add(lane * bytes));
        // SAFETY: the caller meets the requirements of `Whole` for the lanes of the mask.
        unsafe { lanes(warp, program, self, mask, &places) };
    }
}

/// A function for all lanes, with the address of the first lane's bytes.
///
/// # Safety
/// The bytes of all lanes may be accessed, and the form is one of the program's, whose registers
/// the warp has.
pub type Whole = unsafe fn(&mut Warp, &Program, &Form, *mut u8);

/// A function for the lanes of a mask, with the common address of their bytes.
///
/// # Safety
/// The requirements of [`Whole`].
pub type Masked = unsafe fn(&mut Warp, &Program, &Form, u32, *mut u8);

/// A function for the lanes of a mask, with the address of each lane's bytes.
///
/// # Safety
/// The requirements of `Whole`, for the lanes of the mask.
pub type Lanes = unsafe fn(&mut Warp, &Program, &Form, u32, &Places);

/// The addresses of all lanes' bytes; those of lanes outside the mask are arbitrary.
pub type Places = [*mut u8; LANES];

/// Returns the lanes of a mask in ascending order.
#[inline(always)]
pub fn lanes_in(mask: u32) -> impl Iterator<Item = usize> {
    lanes_of(mask.into()).map(|lane| lane as usize)
}

/// The bytes that each lane stores.
pub type Stored = [[u8; MOST_BYTES]; LANES];

/// Returns what the lanes of a mask store with a form.
pub fn stored(warp: &mut Warp, program: &Program, form: &Form, lanes: u32) -> Stored {
    let mut stored = [[0; MOST_BYTES]; LANES];
    let places: Places = stored.each_mut().map(|bytes| bytes.as_mut_ptr());
    // SAFETY: no form stores more than `MOST_BYTES` bytes, and every lane has room for them.
    unsafe { (form.lanes)(warp, program, form, lanes, &places) };
    stored
}

/// Returns the first lane of `overlap` whose `bytes` bytes differ from what an earlier lane of
/// `lanes` stores at the same address. Only bytes that are `inside` of memory count.
#[cold]
pub fn disagreeing(
    stored: &Stored,
    bytes: u32,
    lanes: u32,
    overlap: u64,
    address: &[u64; LANES],
    inside: impl Fn(u64) -> bool,
) -> Option<usize> {
    let byte = |lane: usize, at: u64| stored[lane][(at - address[lane]) as usize];
    let clashes = |lane: usize, other: usize| {
        let start = address[lane].max(address[other]);
        let end = address[lane].min(address[other]) + u64::from(bytes);
        (start..end).any(|at| byte(lane, at) != byte(other, at) && inside(at))
    };
    lanes_in(overlap as u32).find(|&lane| lanes_in(lanes & ((1 << lane) - 1)).any(|other| clashes(lane, other)))
}
