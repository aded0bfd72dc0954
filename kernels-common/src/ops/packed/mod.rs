//! Elements of eight bits or fewer, packed in bytes. The kernels take contiguous elements and rows
//! of bytes; operands in any other layout are copied.

use crate::args;
use crate::device::GpuDevice;
use crate::key::Key;
use crate::launch::index::Divisor;
use crate::launch::{Launch, sizes};
use crate::ops::dense::{ANYWHERE, Dense, filled};
use crate::ops::stored;
use crate::runtime::{DevicePtr, GpuRuntime};
use crate::storage::GpuStorage;
use isobit_hal::{BackendStorage, DType, Layout, Op, Pack, PackedDType, Result, Src, Unpack};

use crate::manifest::instances::packed::{PACK, UNPACK, key};
use std::mem::offset_of;

/// Threads per block; must match packed.cu.
const THREADS: usize = 256;
/// The bytes that a thread loads or stores at once.
const VECTOR: usize = 16;

/// Returns the number of elements of the part of a row that a thread takes; must match packed.cu.
const fn part(dtype: DType) -> usize {
    let size = dtype.size_in_bytes();
    if size < 4 { VECTOR / size } else { 4 }
}

/// Returns the direction and the dtype of the values.
fn kernel(op: &Op, dtypes: &[DType]) -> (u8, DType) {
    match op {
        Op::Pack(_) => (PACK, dtypes[0]),
        _ => (UNPACK, dtypes[1]),
    }
}

/// Returns the kernels that an operation of the family may launch for these dtypes.
pub(crate) fn keys(op: &Op, dtypes: &[DType]) -> Vec<Key> {
    let (variant, dtype) = kernel(op, dtypes);
    vec![key(variant, dtype)]
}

/// Returns the number of what the bits mean; must match packed.cu.
fn kind(dtype: PackedDType) -> u32 {
    match dtype {
        PackedDType::F4E2M1 => 2,
        PackedDType::F8E8M0 => 3,
        PackedDType::F8E4M3FNUZ => 4,
        PackedDType::F8E5M2FNUZ => 5,
        _ => u32::from(dtype.is_signed_int()),
    }
}

/// The layout of the kernels' `Packed`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Packed {
    parts: u32,
    bits: u32,
    row_parts: Divisor,
    kind: u32,
    elements: u64,
    element_stride: u64,
    byte_stride: u64,
    vectors: u32,
    saturates: u32,
}

const _: () = assert!(size_of::<Packed>() == 56);
const _: () = assert!(offset_of!(Packed, row_parts) == 8 && offset_of!(Packed, kind) == 20);
const _: () = assert!(offset_of!(Packed, elements) == 24 && offset_of!(Packed, vectors) == 48);

/// Rows of elements, and of the bytes that they are packed in.
struct Rows<'a, R: GpuRuntime> {
    device: &'a GpuDevice<R>,
    packed: PackedDType,
    saturates: bool,
    /// The dtype of the values.
    dtype: DType,
    rows: usize,
    elements: usize,
}

impl<R: GpuRuntime> Rows<'_, R> {
    /// Converts all rows. Each launch takes several rows, or a part of one row.
    ///
    /// # Safety
    /// All rows of both must be allocated.
    unsafe fn convert(&self, variant: u8, values: DevicePtr, bytes: DevicePtr) -> Result<()> {
        let (each, row) = (part(self.dtype), self.packed.row_bytes(self.elements));
        let each_bytes = each / self.packed.per_byte();
        let parts = self.elements.div_ceil(each);
        let steps = if self.rows > 1 { (self.elements * self.dtype.size_in_bytes(), row) } else { (0, 0) };
        let is_aligned =
            |address: DevicePtr, step: usize, to: usize| (address.0 | step as u64).is_multiple_of(to as u64);
        let vectors = is_aligned(values, steps.0, VECTOR) && is_aligned(bytes, steps.1, each_bytes);
        let most = sizes::PACKED_PARTS.limit(parts.saturating_mul(self.rows));
        let (rows, length) = ((most / parts).max(1), parts.min(most));
        for first in (0..self.rows).step_by(rows) {
            for start in (0..parts).step_by(length) {
                let (rows, length) = ((self.rows - first).min(rows), (parts - start).min(length));
                let all = rows * length;
                let packed = Packed {
                    parts: all as u32,
                    bits: self.packed.bits() as u32,
                    row_parts: Divisor::new(length),
                    kind: kind(self.packed),
                    elements: (self.elements - start * each) as u64,
                    element_stride: self.elements as u64,
                    byte_stride: row as u64,
                    vectors: u32::from(vectors),
                    saturates: u32::from(self.saturates),
                };
                let values = values.at(self.dtype, first * self.elements + start * each);
                let bytes = bytes.at(DType::U8, first * row + start * each_bytes);
                let (from, to) = if variant == PACK { (values, bytes) } else { (bytes, values) };
                let blocks = all.div_ceil(THREADS) as u32;
                let launch = Launch::linear(key(variant, self.dtype), blocks, THREADS as u32);
                // SAFETY: this is a part of the rows, which the caller promises to be allocated.
                unsafe { launch.on(self.device, args![packed, from, to])? };
            }
        }
        Ok(())
    }
}

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
    let (variant, dtype) = kernel(op, &[src.dtype(), dst.dtype()]);
    let (packed, saturates, values) = match op {
        Op::Pack(Pack { dtype, saturate, .. }) => (*dtype, *saturate, src_layout),
        Op::Unpack(Unpack { dtype, .. }) => (*dtype, true, dst_layout),
        _ => unreachable!("not an operation of the family"),
    };
    let elements = *values.dims().last().expect("validated to have one dimension");
    let rows = Rows { device: src.device(), packed, saturates, dtype, rows: values.elem_count() / elements, elements };
    let dense = Dense::new(src, src_layout, ANYWHERE)?;
    filled(dst, dst_layout, ANYWHERE, |to| {
        // SAFETY: the layouts were validated against their buffers; dense operands have all of
        // their elements.
        unsafe {
            match variant {
                PACK => rows.convert(variant, dense.ptr, to),
                _ => rows.convert(variant, to, dense.ptr),
            }
        }
    })
}
