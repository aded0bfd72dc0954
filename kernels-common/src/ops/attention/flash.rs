//! Attention of many queries: integers of keys and values are made once, and then tiles of queries
//! go through all blocks of keys, on cards with matrix units and enough shared memory.

use super::{KEYS, Part, Problem, THREADS, key};
use crate::args;
use crate::launch::{Launch, sizes};
use crate::manifest::instances::attention::{FLASH, FLASH_MASKED, FLASH_SIZES, PACK};
use crate::ops::matmul::block::has_unit_room;
use crate::runtime::GpuRuntime;
use isobit_hal::{DType, Result};

/// The kernels for heads of up to so many elements, and integers of so many digits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Flash {
    /// Which of [`FLASH_SIZES`].
    size: usize,
    digits: usize,
    variant: u8,
}

impl Flash {
    /// Returns the kernels for a part; `None` if the device does not have them, or the part is too
    /// small for them.
    pub(super) fn of<R: GpuRuntime>(problem: &Problem<'_, R>, part: &Part) -> Option<Self> {
        let size = FLASH_SIZES.iter().position(|&size| problem.d <= size)?;
        let is_plain = !problem.op.has_mask && problem.op.softcap.is_none();
        let variant = if is_plain { FLASH[size] } else { FLASH_MASKED[size] };
        let flash = Self { size, digits: problem.digits(), variant };
        let enough = problem.device.runtime().limits().multiprocessors as usize / 2;
        let suits = sizes::ATTENTION_FLASH_ROWS.is_reached(part.rows.len())
            && sizes::ATTENTION_ENOUGH.is_reached_or(flash.tiles(part), enough.max(1));
        (suits && has_unit_room(problem.device, key(problem.dtype, variant))).then_some(flash)
    }

    /// Rows of a tile. Must match `FlashShape` of flash.cu, also below.
    fn rows(self) -> usize {
        if self.digits == 2 { 128 } else { 64 }
    }

    fn d(self) -> usize {
        FLASH_SIZES[self.size]
    }

    fn tiles(self, part: &Part) -> usize {
        part.heads().saturating_mul(part.rows.len().div_ceil(self.rows()))
    }

    /// Bytes of a block of keys and values. Must match `PackedKeys` of packed.cuh.
    fn block(self) -> usize {
        2 * KEYS * self.digits * self.d() + (KEYS + self.d()) * size_of::<f32>() + 32
    }

    /// Returns the bytes of dynamic shared memory: of the integers of queries, weights, keys and
    /// values, twice what blocks have beside these, and what rows tell and know.
    fn shared(self) -> u32 {
        let (rows, d) = (self.rows(), self.d());
        let integers = rows * self.digits * (d + KEYS) + 2 * KEYS * self.digits * d;
        let beside = self.block() - 2 * KEYS * self.digits * d;
        let marks = (rows * (1 + d / 32) * 4).next_multiple_of(16);
        (integers + 2 * beside + 2 * rows * 8 * 4 + marks + rows * 16) as u32
    }

    /// Returns the blocks of threads of a part, of the larger launch.
    pub(super) fn blocks<R: GpuRuntime>(self, problem: &Problem<'_, R>, part: &Part) -> usize {
        self.tiles(part).max(part.heads().saturating_mul(problem.blocks()))
    }

    /// Returns the bytes of integers of a part.
    pub(super) fn bytes<R: GpuRuntime>(self, problem: &Problem<'_, R>, part: &Part) -> usize {
        part.heads().saturating_mul(problem.blocks()).saturating_mul(self.block())
    }

    /// # Safety
    /// Same as [`Problem::run`].
    pub(super) unsafe fn launch<R: GpuRuntime>(self, problem: &Problem<'_, R>, part: &Part) -> Result<()> {
        let &Problem { device, dtype, lengths, .. } = problem;
        let scratch = device.alloc(self.bytes(problem, part), DType::U8)?;
        let packed = scratch.ptr();
        let parameters = problem.parameters(part, self.rows());
        let blocks = (part.heads() * problem.blocks()) as u32;
        let pack = Launch::linear(key(dtype, PACK[self.size]), blocks, THREADS);
        let mut launch = Launch::linear(key(dtype, self.variant), self.tiles(part) as u32, THREADS);
        launch.config.shared_bytes = self.shared();
        let [query, keys, value, mask] = [problem.query, problem.key, problem.value, problem.mask].map(|t| t.ptr);
        // SAFETY: the caller promises valid tensors, of which these are parts; `scratch` has space
        // for the integers of all blocks, which the first launch writes before the second reads
        // them.
        unsafe {
            pack.on(device, args![keys, value, lengths, packed, parameters])?;
            launch.on(device, args![query, value, mask, lengths, packed, problem.to.ptr, parameters])
        }
    }
}
