//! The number of blocks of a kernel that a multiprocessor holds. Registers, warp slots and shared
//! memory limit it, by the rules of NVIDIA's `cuda_occupancy.h`.

use crate::Code;
use crate::card::{Card, REGISTERS, WARP};
use crate::error::{Result, bail, call, put};
use crate::library::any_function;
use crate::module::Function;
use crate::process::process;
use isobit_simgpu_nvidia::dispatch::MAX_THREADS;
use isobit_simgpu_runtime_common::handles::Handle;
use std::ffi::{c_int, c_uint};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A caller's function that returns the bytes of shared memory for a given number of threads per
/// block.
pub type BlockToShared = unsafe extern "C" fn(c_int) -> usize;

/// Registers are allocated to each warp in units of this size, which is 8 registers per thread.
/// `PARTS` is the number of partitions of a multiprocessor over which its warps are spread.
const REGISTERS_STEP: u32 = 256;
const PARTS: u32 = 4;

/// A kernel on its card.
struct On {
    card: &'static Card,
    function: Arc<Function>,
}

impl On {
    fn new(handle: Handle) -> Result<Self> {
        let process = process()?;
        let function = any_function(process, handle)?;
        Ok(Self { card: process.cards[function.context.device].card, function })
    }

    /// Returns the number of blocks of `size` threads that a multiprocessor holds, limited by
    /// registers and warp slots.
    fn blocks_by_threads(&self, size: u32) -> u32 {
        let warps = size.div_ceil(WARP);
        let each = (self.function.kernel.registers.max(1) * WARP).next_multiple_of(REGISTERS_STEP);
        let by_registers = REGISTERS / each / PARTS * PARTS;
        let slots = self.card.multiprocessors.threads / WARP;
        (by_registers.min(slots) / warps).min(self.card.multiprocessors.blocks)
    }

    /// Returns the number of blocks that a multiprocessor holds, limited by shared memory.
    fn blocks_by_shared(&self, dynamic: usize) -> u32 {
        self.card.multiprocessors.blocks_by_shared(&self.function.kernel, dynamic)
    }

    fn blocks(&self, size: u32, dynamic: usize) -> u32 {
        self.blocks_by_threads(size).min(self.blocks_by_shared(dynamic))
    }

    /// Returns the grid and block size that fill the card. Considers block sizes that are multiples
    /// of the warp size, up to the limit, and picks the largest of those with the most resident
    /// threads.
    fn best(&self, shared: impl Fn(u32) -> usize, limit: c_int) -> (c_int, c_int) {
        let most = self.function.kernel.max_threads;
        let limit = u32::try_from(limit).ok().filter(|&limit| limit > 0).unwrap_or(most).min(most);
        let sizes = (1..=limit.div_ceil(WARP)).map(|warps| (warps * WARP).min(limit));
        let held = |size| self.blocks(size, shared(size)) * size;
        let size = sizes.max_by_key(|&size| held(size)).unwrap_or(0);
        let grid = (self.card.multiprocessors.count * self.blocks(size.max(1), shared(size))) as c_int;
        (grid, size as c_int)
    }
}

fn check_flags(flags: c_uint) -> Result {
    // `CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE` has no effect on these cards.
    if flags > 1 {
        bail!(INVALID_VALUE, "unknown flags {flags:#x}");
    }
    Ok(())
}

fn put_active(to: *mut c_int, handle: Handle, size: c_int, dynamic: usize, flags: c_uint) -> Result {
    check_flags(flags)?;
    let on = On::new(handle)?;
    let Some(size) = u32::try_from(size).ok().filter(|&size| size > 0) else {
        bail!(INVALID_VALUE, "blocks of {size} threads");
    };
    let allowed = on.function.attributes.dynamic_shared.load(Ordering::Relaxed) as usize;
    let blocks = if size > MAX_THREADS || dynamic > allowed { 0 } else { on.blocks(size, dynamic) };
    // SAFETY: the caller of CUDA promises room for the number.
    unsafe { put(to, blocks as c_int, "the number of blocks") }
}

/// Returns the number of blocks of a kernel that a multiprocessor holds at the same time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
    to: *mut c_int,
    function: Handle,
    size: c_int,
    dynamic: usize,
) -> Code {
    call("cuOccupancyMaxActiveBlocksPerMultiprocessor", || put_active(to, function, size, dynamic, 0))
}

/// Like [`cuOccupancyMaxActiveBlocksPerMultiprocessor`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    to: *mut c_int,
    function: Handle,
    size: c_int,
    dynamic: usize,
    flags: c_uint,
) -> Code {
    call("cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", || put_active(to, function, size, dynamic, flags))
}

fn put_best(
    to: (*mut c_int, *mut c_int),
    handle: Handle,
    shared: Option<BlockToShared>,
    dynamic: usize,
    limit: c_int,
    flags: c_uint,
) -> Result {
    check_flags(flags)?;
    // SAFETY: the caller that passed the function to CUDA guarantees that it can be called.
    let shared = |size: u32| shared.map_or(dynamic, |shared| unsafe { shared(size as c_int) });
    let (grid, block) = On::new(handle)?.best(shared, limit);
    // SAFETY: the caller of CUDA promises room for the numbers.
    unsafe {
        put(to.0, grid, "the grid")?;
        put(to.1, block, "the block")
    }
}

/// Returns the grid and block size with which a kernel fills the card.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuOccupancyMaxPotentialBlockSize(
    grid: *mut c_int,
    block: *mut c_int,
    function: Handle,
    shared: Option<BlockToShared>,
    dynamic: usize,
    limit: c_int,
) -> Code {
    call("cuOccupancyMaxPotentialBlockSize", || put_best((grid, block), function, shared, dynamic, limit, 0))
}

/// Like [`cuOccupancyMaxPotentialBlockSize`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuOccupancyMaxPotentialBlockSizeWithFlags(
    grid: *mut c_int,
    block: *mut c_int,
    function: Handle,
    shared: Option<BlockToShared>,
    dynamic: usize,
    limit: c_int,
    flags: c_uint,
) -> Code {
    call("cuOccupancyMaxPotentialBlockSizeWithFlags", || {
        put_best((grid, block), function, shared, dynamic, limit, flags)
    })
}

/// Returns the bytes of dynamic shared memory that each block can have while a multiprocessor holds
/// the given number of blocks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuOccupancyAvailableDynamicSMemPerBlock(
    to: *mut usize,
    function: Handle,
    blocks: c_int,
    size: c_int,
) -> Code {
    call("cuOccupancyAvailableDynamicSMemPerBlock", || {
        let on = On::new(function)?;
        let (Ok(blocks), Ok(size)) = (u32::try_from(blocks), u32::try_from(size)) else {
            bail!(INVALID_VALUE, "invalid numbers: {blocks} blocks of {size} threads");
        };
        if blocks == 0 || size == 0 || size > MAX_THREADS || blocks > on.blocks_by_threads(size) {
            bail!(INVALID_VALUE, "{blocks} blocks of {size} threads do not fit on a multiprocessor");
        }
        let each = on.card.multiprocessors.shared / blocks;
        let free = each.min(on.card.arch.shared_bytes()).saturating_sub(on.function.kernel.shared_bytes);
        // SAFETY: a program's pointers are null, or valid as the API's documentation asks.
        unsafe { put(to, free as usize, "the size") }
    })
}
