//! Upsampling along the last one or two dimensions.

use crate::args;
use crate::key::{Family, Key};
use crate::launch::element_walk::{dims, parts};
use crate::launch::elementwise::carrier;
use crate::launch::index::{Dim, Divisor, Index, count, push, split};
use crate::launch::{Launch, sizes};
use crate::manifest::instances::upsample::{ANY, BANDS, BILINEAR, NEAREST, width};
use crate::ops::stored;
use crate::runtime::{DevicePtr, GpuRuntime};
use crate::storage::GpuStorage;
use isobit_hal::{BackendStorage, DType, Dims, Layout, Op, Result, Src};
use std::mem::offset_of;

/// Rows of the result per thread: enough to read most rows of the source only once, and few enough
/// to have many threads.
const HEIGHT: usize = 8;
/// Must match elementwise.cuh.
const BLOCK: u32 = 256;

fn key(op: &Op, dtype: DType, variant: u8) -> Key {
    match op {
        Op::UpsampleBilinear2d(_) => Key::new(Family::Upsample, BILINEAR, &[dtype], variant),
        _ => Key::new(Family::Upsample, NEAREST, &[carrier(dtype)], variant),
    }
}

/// Returns the kernels that an operation of the family may launch for these dtypes.
pub(crate) fn keys(op: &Op, dtypes: &[DType]) -> Vec<Key> {
    [ANY, BANDS].map(|variant| key(op, dtypes[0], variant)).into()
}

/// The layout of the kernels' `Scale`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Scale {
    from: u64,
    to: u64,
    step: f64,
    align_corners: u32,
}

const _: () = assert!(size_of::<Scale>() == 32);
const _: () = assert!(offset_of!(Scale, step) == 16 && offset_of!(Scale, align_corners) == 24);

impl Scale {
    /// Makes the scale of a dimension. The step is rounded to f32 unless positions are computed in
    /// f64.
    fn new(from: usize, to: usize, factor: Option<f64>, align_corners: bool, double: bool) -> Self {
        let ratio = |from: usize, to: usize| match double {
            true => from as f64 / to as f64,
            false => f64::from(from as f32 / to as f32),
        };
        let step = match factor {
            _ if align_corners && to > 1 => ratio(from - 1, to - 1),
            _ if align_corners => 0.0,
            Some(factor) if double => 1.0 / factor,
            Some(factor) => f64::from((1.0 / factor) as f32),
            None => ratio(from, to),
        };
        Self { from: from as u64, to: to as u64, step, align_corners: align_corners.into() }
    }
}

/// The layout of the kernels' `Upsample`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Upsample {
    rows: Scale,
    columns: Scale,
    row_step: u64,
    column_step: u64,
}

const _: () = assert!(size_of::<Upsample>() == 80);
const _: () = assert!(offset_of!(Upsample, row_step) == 64);

/// The layout of the kernels' `Bands`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Bands {
    rows: Scale,
    columns: Scale,
    src_row: u64,
    dst_row: u64,
    planes: Index<2>,
    packs: Divisor,
    bands: Divisor,
    height: u32,
    units: u32,
}

const _: () = assert!(size_of::<Bands>() == 344);
const _: () = assert!(offset_of!(Bands, src_row) == 64 && offset_of!(Bands, planes) == 80);
const _: () = assert!(offset_of!(Bands, packs) == 312 && offset_of!(Bands, height) == 336);

pub(crate) fn apply_into<R: GpuRuntime>(
    op: &Op,
    srcs: &[Src<'_, GpuStorage<R>>],
    dst: &mut GpuStorage<R>,
    dst_layout: &Layout,
) -> Result<()> {
    let (src, src_layout) = stored(srcs, 0);
    if dst_layout.elem_count() == 0 {
        return Ok(());
    }
    let dtype = dst.dtype();
    let (spatial, factors, align) = match op {
        Op::UpsampleNearest1d(op) => (1, [None, op.scale[0]], false),
        Op::UpsampleNearest2d(op) => (2, op.scale, false),
        Op::UpsampleBilinear2d(op) => (2, op.scale, op.align_corners),
        _ => unreachable!("not an operation of the family"),
    };
    let double = dtype == DType::F64 && matches!(op, Op::UpsampleBilinear2d(_));
    let column = dst_layout.shape().rank() - 1;
    // With one spatial dimension, a plane has one row.
    let row = |values: &[usize], one: usize| if spatial == 2 { values[column - 1] } else { one };
    let rows = Scale::new(row(src_layout.dims(), 1), row(dst_layout.dims(), 1), factors[0], align, double);
    let columns = Scale::new(src_layout.dims()[column], dst_layout.dims()[column], factors[1], align, double);
    let (src_row, dst_row) = (row(src_layout.stride(), 0), row(dst_layout.stride(), 0));
    let call = Call {
        op,
        from: src.ptr().at(dtype, src_layout.start_offset()),
        to: dst.ptr().at(dtype, dst_layout.start_offset()),
        dst,
        src_layout,
        dst_layout,
        spatial,
    };
    let steps = dst_layout.stride()[..column].iter().fold(0, |all, s| all | s);
    let pack = width(dtype.size_in_bytes());
    let bands = src_layout.stride()[column] == 1
        && dst_layout.stride()[column] == 1
        && dst_layout.dims()[column].is_multiple_of(pack)
        && steps.is_multiple_of(pack)
        && call.to.0.is_multiple_of((pack * dtype.size_in_bytes()) as u64)
        && !sizes::UPSAMPLE_SIDE
            .is_reached([rows, columns].map(|s| s.from.max(s.to)).into_iter().fold(0, u64::max) as usize)
        && !sizes::UPSAMPLE.is_exceeded((rows.to.div_ceil(HEIGHT as u64)).saturating_mul(columns.to) as usize);
    if bands {
        return call.bands(rows, columns, src_row, dst_row);
    }
    let upsample =
        Upsample { rows, columns, row_step: src_row as u64, column_step: src_layout.stride()[column] as u64 };
    call.any(upsample)
}

/// An operation on given tensors.
struct Call<'a, R: GpuRuntime> {
    op: &'a Op,
    from: DevicePtr,
    to: DevicePtr,
    dst: &'a GpuStorage<R>,
    src_layout: &'a Layout,
    dst_layout: &'a Layout,
    spatial: usize,
}

impl<R: GpuRuntime> Call<'_, R> {
    /// Returns the number of dimensions before the spatial ones.
    fn outer(&self) -> usize {
        self.dst_layout.shape().rank() - self.spatial
    }

    fn any(&self, upsample: Upsample) -> Result<()> {
        let (dtype, outer) = (self.dst.dtype(), self.outer());
        let mut planes: Dims = self.src_layout.stride().into();
        planes[outer..].fill(0);
        let dims = dims(&planes, self.dst_layout, self.spatial, 1);
        parts(self.dst.device(), key(self.op, dtype, ANY), &dims, |part| {
            let (from, to) = (self.from.at(dtype, part.src), self.to.at(dtype, part.dst));
            // SAFETY: both layouts were validated against their buffers; positions are clipped to
            // the source.
            unsafe { part.launch.on(self.dst.device(), args![from, to, part.walk, upsample]) }
        })
    }

    fn bands(&self, rows: Scale, columns: Scale, src_row: usize, dst_row: usize) -> Result<()> {
        let (dtype, dims) = (self.dst.dtype(), self.dst_layout.dims());
        let mut planes = crate::launch::index::IndexDims::<2>::new();
        for (d, &size) in dims.iter().enumerate().take(self.outer()) {
            let stride = [self.src_layout.stride()[d], self.dst_layout.stride()[d]];
            push(&mut planes, Dim { size, stride });
        }
        let packs = columns.to as usize / width(dtype.size_in_bytes());
        let bands = (rows.to as usize).div_ceil(HEIGHT);
        let units = packs * bands;
        let most = sizes::UPSAMPLE.limit(units.saturating_mul(count(&planes)));
        split(&planes, (most / units).max(1), [0, 0], &mut |planes, [src, dst]| {
            let (from, to) = (self.from.at(dtype, src), self.to.at(dtype, dst));
            let units = (count(planes) * bands * packs) as u32;
            let bands = Bands {
                rows,
                columns,
                src_row: src_row as u64,
                dst_row: dst_row as u64,
                planes: Index::new(planes),
                packs: Divisor::new(packs),
                bands: Divisor::new(bands),
                height: HEIGHT as u32,
                units,
            };
            let launch = Launch::linear(key(self.op, dtype, BANDS), units.div_ceil(BLOCK), BLOCK);
            // SAFETY: same as in `any`; a thread's columns and rows are within the destination.
            unsafe { launch.on(self.dst.device(), args![from, to, bands]) }
        })
    }
}
