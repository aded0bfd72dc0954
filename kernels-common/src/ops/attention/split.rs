//! Attention of few queries, and on devices without the tiles of `flash`: a launch computes the
//! sums of each block of keys, and another adds them in order.

use super::{Part, Problem, THREADS, key};
use crate::args;
use crate::launch::{Launch, sizes};
use crate::manifest::instances::attention::{COMBINE, SPLIT, SPLIT_FEW};
use crate::runtime::GpuRuntime;
use isobit_hal::{DType, Result};

/// Rows of the smallest tile.
pub(super) const FEW_ROWS: usize = 16;

/// The kernel for tiles of so many rows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Split {
    variant: u8,
    rows: usize,
}

impl Split {
    pub(super) fn of(part: &Part) -> Self {
        if sizes::ATTENTION_FEW_ROWS.is_exceeded(part.rows.len()) {
            Self { variant: SPLIT, rows: 64 }
        } else {
            Self { variant: SPLIT_FEW, rows: FEW_ROWS }
        }
    }

    /// Returns the blocks of threads of a part.
    pub(super) fn blocks<R: GpuRuntime>(self, problem: &Problem<'_, R>, part: &Part) -> usize {
        part.heads().saturating_mul(part.rows.len().div_ceil(self.rows)).saturating_mul(problem.blocks())
    }

    /// Returns the bytes of the sums of all blocks of keys.
    pub(super) fn bytes<R: GpuRuntime>(self, problem: &Problem<'_, R>, part: &Part) -> usize {
        part.rows().saturating_mul(problem.blocks() * (problem.d + 2) * size_of::<f32>())
    }

    /// Returns the bytes of dynamic shared memory: of the integers of queries, and of a strip or
    /// the scores. Must match `SplitShape` of split.cu.
    fn shared<R: GpuRuntime>(self, problem: &Problem<'_, R>) -> u32 {
        let part = problem.digits() * 1024;
        let staged = problem.dtype.size_in_bytes() * (1024 + 8 * 8);
        let strip = 8 * part.max(staged);
        (self.rows / 8 * part + strip.max(self.rows * 132 * 4)) as u32
    }

    /// # Safety
    /// Same as [`Problem::run`].
    pub(super) unsafe fn launch<R: GpuRuntime>(self, problem: &Problem<'_, R>, part: &Part) -> Result<()> {
        let &Problem { device, dtype, d, .. } = problem;
        let (rows, blocks) = (part.rows(), problem.blocks());
        let scratch = device.alloc(rows * blocks * (d + 2), DType::F32)?;
        // Pairs of a top and a sum of weights first, because they are loaded together.
        let tops = scratch.ptr();
        let sums = tops.at(DType::F32, rows * blocks * 2);
        let parameters = problem.parameters(part, self.rows);
        let mut launch = Launch::linear(key(dtype, self.variant), self.blocks(problem, part) as u32, THREADS);
        launch.config.shared_bytes = self.shared(problem);
        let elements = (rows * d) as u32;
        let combine = Launch::linear(key(dtype, COMBINE), elements.div_ceil(THREADS), THREADS);
        let [query, keys, value, mask] = [problem.query, problem.key, problem.value, problem.mask].map(|t| t.ptr);
        // SAFETY: the caller promises valid tensors, of which these are parts; `scratch` has space
        // for the sums and the tops of all rows and blocks, which the first launch writes before
        // the second reads them.
        unsafe {
            launch.on(device, args![query, keys, value, mask, problem.lengths, sums, tops, parameters])?;
            combine.on(device, args![sums, tops, problem.to.ptr, parameters, elements])
        }
    }
}
