//! Products of f8 with scales: what their kernels take besides operands and sizes.

use super::{Problem, strides_of};
use crate::launch::index::Index;
use crate::ops::stored;
use crate::runtime::{DevicePtr, GemmScale, GpuRuntime, ScaledGemm};
use crate::storage::GpuStorage;
use isobit_hal::{BackendDevice, BackendStorage, DType, Layout, Op, Result, ScaledMatmul, Src};
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
    /// Whether a library takes such scales.
    pub fn are_of_vendor(&self, dst: &Layout) -> bool {
        let [.., m, n] = *dst.dims() else { unreachable!("validated to have two dimensions at least") };
        of_vendor(self.sides, [0; 2], [m, n], DType::F32).is_ok()
    }

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

/// Bytes at whose multiples the lines of a library's f8 begin, and of which k is a multiple.
const ALIGNMENT: usize = 16;

/// What a library is asked for one matrix of the batch, whose scales begin after so many.
///
/// # Errors
/// The reason why it is not asked.
pub(super) fn of_vendor(
    sides: [Scales; 2],
    after: [usize; 2],
    lines: [usize; 2],
    dst: DType,
) -> Result<ScaledGemm, &'static str> {
    let both = |fits: &dyn Fn(&Scales, usize) -> bool| sides.iter().zip(lines).all(|(side, lines)| fits(side, lines));
    let by_line = if both(&|side, _| side.line == 0 && side.k == 0) {
        false
    } else if both(&|side, lines| (side.line == 1 || lines == 1) && side.k == 0 && !side.is_by_blocks) {
        true
    } else {
        return Err("libraries take one scale of each operand, or scales of rows and columns, one after the other");
    };
    let f8 = |side: &Scales| if side.is_e5m2 { DType::F8E5M2 } else { DType::F8E4M3 };
    let at = |side: usize| sides[side].ptr.at(DType::F32, after[side]);
    if by_line && !(0..2).all(|side| at(side).0.is_multiple_of(ALIGNMENT as u64)) {
        return Err("libraries take scales of rows and columns that begin at multiples of 16 bytes");
    }
    let scale = |side: usize| GemmScale { ptr: at(side), by_line };
    Ok(ScaledGemm { dtypes: [f8(&sides[0]), f8(&sides[1]), dst], scales: [scale(0), scale(1)] })
}

/// Returns a copy of operand `side` whose lines lie along k, as libraries read them; `None` if they
/// do so already, or if k has a size that no library takes.
pub(super) fn along_k<R: GpuRuntime>(
    (storage, layout): (&GpuStorage<R>, &Layout),
    side: usize,
) -> Result<Option<(GpuStorage<R>, Layout)>> {
    let rank = layout.dims().len();
    let lines_first = if side == 0 { layout.clone() } else { layout.transpose(rank - 2, rank - 1)? };
    let [outer @ .., step, along_k] = lines_first.stride() else { unreachable!("validated to be of matrices") };
    let (k, is_aligned) = (lines_first.dims()[rank - 1], |step: &usize| step.is_multiple_of(ALIGNMENT));
    let begins = storage.ptr().at(storage.dtype(), layout.start_offset()).0.is_multiple_of(ALIGNMENT as u64);
    let lies = *along_k == 1 && *step >= k && is_aligned(step) && outer.iter().all(is_aligned) && begins;
    if lies || !is_aligned(&k) || lines_first.elem_count() == 0 {
        return Ok(None);
    }
    let dense = Layout::contiguous(lines_first.shape());
    // SAFETY: the copy writes every element.
    let mut copy = unsafe { storage.device().alloc_uninit(dense.shape(), storage.dtype())? };
    GpuStorage::apply_into(&Op::Copy, &[Src::Storage(storage, &lines_first)], &mut copy, &dense)?;
    let dense = if side == 0 { dense } else { dense.transpose(rank - 2, rank - 1)? };
    Ok(Some((copy, dense)))
}
