//! Attention (`docs/numerics/attention.md`). Only the order of blocks of 128 keys shows in the
//! bits, so there are two ways: a launch computes the sums of each block and another adds them
//! (`split`), or tiles of queries go through all blocks (`flash`).

mod flash;
mod split;
mod vendor;

use crate::device::GpuDevice;
use crate::key::{Family, Key};
use crate::launch::index::Divisor;
use crate::launch::sizes;
use crate::manifest::instances::attention::{COMBINE, FLASH, FLASH_MASKED, PACK, SPLIT, SPLIT_FEW, lengths_key};
use crate::ops::matmul::block::SEGMENT as KEYS;
use crate::ops::stored;
use crate::runtime::{DevicePtr, GpuRuntime};
use crate::storage::GpuStorage;
use flash::Flash;
use isobit_hal::{Attention, BackendDevice, BackendStorage, DType, Layout, Matmul, Numerics, Op, Result, Scalar, Src};
use split::Split;
use std::f32::consts::LOG2_E;
use std::mem::offset_of;
use std::ops::Range;

/// Threads per block of every kernel.
const THREADS: u32 = 256;

fn key(dtype: DType, variant: u8) -> Key {
    Key::new(Family::Attention, 0, &[dtype], variant)
}

/// Returns the kernels that an operation of the family may launch for these dtypes.
pub(crate) fn keys(_op: &Op, dtypes: &[DType]) -> Vec<Key> {
    let flash = [PACK, FLASH, FLASH_MASKED];
    let own = [SPLIT, SPLIT_FEW, COMBINE].iter().chain(flash.as_flattened()).map(|&variant| key(dtypes[0], variant));
    own.chain((dtypes[0] != DType::F32).then(lengths_key)).collect()
}

/// The layout of the kernels' `Attention`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Parameters {
    m: u32,
    n: u32,
    d: u32,
    row0: u32,
    rows: u32,
    blocks: u32,
    left: i32,
    right: i32,
    factor: f32,
    cap: f32,
    inputs: u32,
    vectors: u32,
    group: u32,
    unused: u32,
    m_of: Divisor,
    rows_of: Divisor,
    kv_heads: Divisor,
    row_tiles: Divisor,
    blocks_of: Divisor,
    d_of: Divisor,
    query: [u64; 4],
    key: [u64; 4],
    value: [u64; 4],
    mask: [u64; 4],
    to: [u64; 4],
    length: u64,
}

const _: () = assert!(size_of::<Parameters>() == 296);
const _: () = assert!(offset_of!(Parameters, m_of) == 56 && offset_of!(Parameters, query) == 128);

/// A tensor of rank 4, or what stands for a missing one.
#[derive(Debug, Clone, Copy)]
struct Tensor {
    ptr: DevicePtr,
    stride: [usize; 4],
}

impl Tensor {
    const NONE: Self = Self { ptr: DevicePtr(0), stride: [0; 4] };

    fn new<R: GpuRuntime>((storage, layout): (&GpuStorage<R>, &Layout)) -> Self {
        let stride = layout.stride().try_into().expect("validated to be of rank 4");
        Self { ptr: storage.ptr().at(storage.dtype(), layout.start_offset()), stride }
    }

    /// Returns the tensor from a batch entry and a head on.
    fn from(self, dtype: DType, batch: usize, head: usize) -> Self {
        if self.ptr.0 == 0 {
            return self;
        }
        Self { ptr: self.ptr.at(dtype, batch * self.stride[0] + head * self.stride[1]), ..self }
    }

    /// Whether 16 bytes along the last dimension can be loaded at once.
    fn has_vectors(&self, dtype: DType) -> bool {
        let strides = self.stride[..3].iter().fold(0, |all, stride| all | stride);
        self.stride[3] == 1 && (strides * dtype.size_in_bytes()).is_multiple_of(16) && self.ptr.0.is_multiple_of(16)
    }

    fn strides(&self) -> [u64; 4] {
        self.stride.map(|stride| stride as u64)
    }
}

/// A part of a call that one launch computes: batch entries, heads of keys, and rows of each of
/// them.
#[derive(Debug, Clone)]
struct Part {
    batches: Range<usize>,
    heads: Range<usize>,
    rows: Range<usize>,
}

impl Part {
    fn rows(&self) -> usize {
        self.heads().saturating_mul(self.rows.len())
    }

    fn heads(&self) -> usize {
        self.batches.len().saturating_mul(self.heads.len())
    }

    /// Returns two halves: of the batch, else of the heads, else of the rows if `divides_rows`, but
    /// not of few; `None` if nothing is left to divide.
    fn halves(&self, divides_rows: bool) -> Option<[Self; 2]> {
        let cut = |range: &Range<usize>, at: usize| [range.start..at, at..range.end];
        let middle = |range: &Range<usize>| range.start + range.len() / 2;
        if self.batches.len() > 1 {
            return Some(cut(&self.batches, middle(&self.batches)).map(|batches| Self { batches, ..self.clone() }));
        }
        if self.heads.len() > 1 {
            return Some(cut(&self.heads, middle(&self.heads)).map(|heads| Self { heads, ..self.clone() }));
        }
        let at = self.rows.start + (self.rows.len() / 2).next_multiple_of(split::FEW_ROWS);
        (divides_rows && at < self.rows.end).then(|| cut(&self.rows, at).map(|rows| Self { rows, ..self.clone() }))
    }
}

/// How a part is computed.
#[derive(Debug, Clone, Copy)]
enum Way {
    Split(Split),
    Flash(Flash),
}

impl Way {
    fn of<R: GpuRuntime>(problem: &Problem<'_, R>, part: &Part) -> Self {
        Flash::of(problem, part).map_or_else(|| Self::Split(Split::of(part)), Self::Flash)
    }
}

/// A call with at least one key and one element of the result.
struct Problem<'a, R: GpuRuntime> {
    device: &'a GpuDevice<R>,
    op: &'a Attention,
    dtype: DType,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor,
    to: Tensor,
    lengths: DevicePtr,
    length_stride: usize,
    /// Queries, keys and the size of a head.
    m: usize,
    n: usize,
    d: usize,
    /// Heads that share keys.
    group: usize,
}

impl<R: GpuRuntime> Problem<'_, R> {
    fn blocks(&self) -> usize {
        self.n.div_ceil(KEYS)
    }

    /// Returns the bytes of an integer: those of block products.
    fn digits(&self) -> usize {
        Matmul::block_digits(self.dtype).expect("attention is of dtypes that have block products")
    }

    /// # Safety
    /// The tensors must be allocated, and the result must overlap neither itself nor an input.
    unsafe fn run(&self, part: Part, way: Way) -> Result<()> {
        let [blocks, bytes, elements] = match way {
            Way::Flash(flash) => [flash.blocks(self, &part), flash.bytes(self, &part), 0],
            Way::Split(split) => [split.blocks(self, &part), split.bytes(self, &part), part.rows() * self.d],
        };
        let is_too_large = sizes::ATTENTION_BLOCKS.is_exceeded(blocks)
            | sizes::ATTENTION_SCRATCH.is_exceeded(bytes)
            | sizes::ATTENTION_ELEMENTS.is_exceeded(elements);
        // Tiles of rows share the integers of a head.
        let divides_rows = matches!(way, Way::Split(_));
        if is_too_large && let Some(halves) = part.halves(divides_rows) {
            for half in halves {
                // SAFETY: the caller promises what is required, of all parts.
                unsafe { self.run(half, way)? };
            }
            return Ok(());
        }
        let here = self.at(&part);
        // SAFETY: as above.
        unsafe {
            match way {
                Way::Flash(flash) => flash.launch(&here, &part),
                Way::Split(split) => split.launch(&here, &part),
            }
        }
    }

    /// Returns the problem whose first batch entry and heads are those of a part.
    fn at(&self, part: &Part) -> Self {
        let (batch, head) = (part.batches.start, part.heads.start);
        let [query, mask, to] = [self.query, self.mask, self.to].map(|t| t.from(self.dtype, batch, head * self.group));
        let [key, value] = [self.key, self.value].map(|t| t.from(self.dtype, batch, head));
        let lengths = match self.lengths {
            DevicePtr(0) => self.lengths,
            ptr => ptr.at(DType::U32, batch * self.length_stride),
        };
        Self { query, key, value, mask, to, lengths, ..*self }
    }

    /// Returns the parameters of a launch with tiles of so many rows.
    fn parameters(&self, part: &Part, tile: usize) -> Parameters {
        let side = |size: Option<usize>| size.map_or(i32::MAX, |size| size.min(i32::MAX as usize) as i32);
        let scale = self.op.scale_of(self.d);
        let vectors = [self.query, self.key, self.value].map(|tensor| u32::from(tensor.has_vectors(self.dtype)));
        Parameters {
            m: self.m as u32,
            n: self.n as u32,
            d: self.d as u32,
            row0: part.rows.start as u32,
            rows: part.rows.end as u32,
            blocks: self.blocks() as u32,
            left: side(self.op.window_size_left),
            right: side(self.op.window_size_right),
            factor: self.op.softcap.map_or(scale * LOG2_E, |cap| scale / cap),
            cap: self.op.softcap.map_or(0.0, |cap| cap * LOG2_E),
            inputs: u32::from(self.op.has_mask) | u32::from(self.op.has_lengths) << 1,
            vectors: vectors[0] | vectors[1] << 1 | vectors[2] << 2,
            group: self.group as u32,
            unused: 0,
            m_of: Divisor::new(self.m),
            rows_of: Divisor::new(part.rows.len()),
            kv_heads: Divisor::new(part.heads.len()),
            row_tiles: Divisor::new(part.rows.len().div_ceil(tile)),
            blocks_of: Divisor::new(self.blocks()),
            d_of: Divisor::new(self.d),
            query: self.query.strides(),
            key: self.key.strides(),
            value: self.value.strides(),
            mask: self.mask.strides(),
            to: self.to.strides(),
            length: self.length_stride as u64,
        }
    }
}

pub(crate) fn apply_into<R: GpuRuntime>(
    op: &Op,
    srcs: &[Src<'_, GpuStorage<R>>],
    dst: &mut GpuStorage<R>,
    dst_layout: &Layout,
) -> Result<()> {
    let Op::ScaledDotProductAttention(op) = op else { unreachable!("not an operation of the family") };
    let [query, key, value] = [0, 1, 2].map(|i| stored(srcs, i));
    let (dims, kv) = (query.1.dims(), key.1.dims());
    if dst_layout.elem_count() == 0 {
        return Ok(());
    }
    if kv[2] == 0 {
        return dst.const_set(Scalar::zero(dst.dtype()), dst_layout);
    }
    let numerics = op.numerics.unwrap_or_else(|| dst.device().default_numerics());
    if numerics == Numerics::Vendor && dst.dtype() != DType::F32 {
        // SAFETY: the layouts were validated against their buffers. The destination is borrowed
        // mutably, so it is not one of the inputs, and its layout names no element twice.
        if unsafe { vendor::attend(op, srcs, dst, dst_layout)? } {
            return Ok(());
        }
    }
    let lengths = op.has_lengths.then(|| stored(srcs, srcs.len() - 1));
    let problem = Problem {
        device: dst.device(),
        op,
        dtype: dst.dtype(),
        query: Tensor::new(query),
        key: Tensor::new(key),
        value: Tensor::new(value),
        mask: if op.has_mask { Tensor::new(stored(srcs, 3)) } else { Tensor::NONE },
        to: Tensor::new((&*dst, dst_layout)),
        lengths: lengths.map_or(DevicePtr(0), |(s, layout)| s.ptr().at(DType::U32, layout.start_offset())),
        length_stride: lengths.map_or(0, |(_, layout)| layout.stride()[0]),
        m: dims[2],
        n: kv[2],
        d: dims[3],
        group: dims[1] / kv[1],
    };
    let part = Part { batches: 0..dims[0], heads: 0..kv[1], rows: 0..problem.group * problem.m };
    let way = Way::of(&problem, &part);
    // SAFETY: as above.
    unsafe { problem.run(part, way) }
}
