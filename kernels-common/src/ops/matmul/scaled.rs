//! Products of f8 with scales: what their kernels take besides operands and sizes.

use super::{Problem, strides_of};
use crate::launch::index::Index;
use crate::ops::stored;
use crate::runtime::{DevicePtr, GpuRuntime};
use crate::storage::GpuStorage;
use isobit_hal::{BackendStorage, DType, Layout, Result, ScaledMatmul, Src};
use std::mem::offset_of;

/// The scales of an operand.
#[derive(Debug, Clone, Copy)]
pub(in crate::ops) struct Scales {
    pub(super) ptr: DevicePtr,
    /// From the scale of a line, and of a segment of k, to the next; 0 if there is one.
    line: usize,
    k: usize,
    /// The lines of the operand before those of the problem.
    first: usize,
    /// Whether lines have their scales by blocks.
    is_by_blocks: bool,
    is_e5m2: bool,
}

/// The scales of both operands of a call, and their layouts over the batch.
pub(super) struct Called {
    pub sides: [Scales; 2],
    layouts: [Layout; 2],
}

impl Called {
    /// Returns the strides along a dimension of the batch.
    pub fn batch_strides(&self, dim: usize) -> [usize; 2] {
        self.layouts.each_ref().map(|layout| layout.stride()[dim])
    }
}

impl Scales {
    /// Returns those of a validated call.
    pub(super) fn of<R: GpuRuntime>(srcs: &[Src<'_, GpuStorage<R>>], dst: &Layout) -> Result<Called> {
        let [batch @ .., m, n] = dst.dims() else { unreachable!("validated to have two dimensions at least") };
        let over = |side: usize| ScaledMatmul::broadcast(stored(srcs, 2 + side).1, batch);
        let layouts = [over(0)?, over(1)?];
        let sides = [0, 1].map(|side| {
            let (storage, layout) = (stored(srcs, 2 + side).0, &layouts[side]);
            let (along_lines, along_k) = (batch.len() + side, batch.len() + 1 - side);
            let step = |d: usize| if layout.dims()[d] == 1 { 0 } else { layout.stride()[d] };
            let lines = [*m, *n][side];
            Self {
                ptr: storage.ptr().at(DType::F32, layout.start_offset()),
                line: step(along_lines),
                k: step(along_k),
                first: 0,
                is_by_blocks: ![1, lines].contains(&layout.dims()[along_lines]),
                is_e5m2: stored(srcs, side).0.dtype() == DType::F8E5M2,
            }
        });
        Ok(Called { sides, layouts })
    }

    /// Returns those of what follows so many lines, in the matrix that begins after so many scales.
    pub(super) fn after(self, lines: usize, scales: usize) -> Self {
        Self { first: self.first + lines, ptr: self.ptr.at(DType::F32, scales), ..self }
    }
}

/// The layout of the kernels' `Scaled`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct Scaled {
    line: [u64; 2],
    k: [u64; 2],
    first: [u64; 2],
    shift: [u32; 2],
    is_e5m2: [u32; 2],
    batch: Index<2>,
}

const _: () = assert!(size_of::<Scaled>() == 296);
const _: () = assert!(offset_of!(Scaled, first) == 32 && offset_of!(Scaled, shift) == 48);
const _: () = assert!(offset_of!(Scaled, batch) == 64);

impl<R: GpuRuntime> Problem<'_, R> {
    pub(super) fn scaled(&self, scales: &[Scales; 2]) -> Scaled {
        Scaled {
            line: scales.map(|side| side.line as u64),
            k: scales.map(|side| side.k as u64),
            first: scales.map(|side| side.first as u64),
            shift: scales.map(|side| if side.is_by_blocks { ScaledMatmul::BLOCK.ilog2() } else { 0 }),
            is_e5m2: scales.map(|side| u32::from(side.is_e5m2)),
            batch: Index::new(&strides_of(&self.batch, [3, 4])),
        }
    }
}
