//! Attention by the vendor's library: prepares what libraries take, which are operands whose heads
//! lie in one piece and whose rows have a key.

use super::{THREADS, Tensor};
use crate::args;
use crate::launch::Launch;
use crate::manifest::instances::attention::lengths_key;
use crate::ops::stored;
use crate::runtime::{FusedAttention, GpuRuntime, Tensor4, Vendor};
use crate::storage::GpuStorage;
use isobit_hal::{Attention, BackendStorage, DType, Layout, Op, Result, Scalar, Src};
use std::mem::offset_of;

/// Returns an operand whose rows are contiguous and begin at multiples of 16 bytes where their size
/// allows it: the caller's, or that of a copy.
fn in_one_piece<R: GpuRuntime>(storage: &GpuStorage<R>, layout: &Layout) -> Result<(Tensor4, Option<GpuStorage<R>>)> {
    let repeats = layout.dims().iter().zip(layout.stride()).any(|(&size, &stride)| size > 1 && stride == 0);
    if Tensor::new((storage, layout)).has_vectors(storage.dtype()) && !repeats || layout.is_contiguous() {
        return Ok((tensor(storage, layout), None));
    }
    let copy = storage.try_clone(layout)?;
    Ok((tensor(&copy, &Layout::contiguous(layout.shape())), Some(copy)))
}

fn tensor<R: GpuRuntime>(storage: &GpuStorage<R>, layout: &Layout) -> Tensor4 {
    let Tensor { ptr, stride } = Tensor::new((storage, layout));
    Tensor4 { ptr, dims: layout.dims().try_into().expect("validated to be of rank 4"), strides: stride }
}

/// Returns a mask's layout with the size 1 where it is the same for all batch entries or heads.
fn once(mut layout: Layout) -> Result<Layout> {
    for dim in 0..2 {
        if layout.stride()[dim] == 0 {
            layout = layout.narrow(dim, 0, 1)?;
        }
    }
    Ok(layout)
}

/// Returns the windows as numbers of keys that hide some key: `[left, right]`.
fn windows(op: &Attention, m: usize, n: usize) -> [Option<usize>; 2] {
    // The last query is at the last key, and the first one m - 1 keys before.
    [op.window_size_left.filter(|&left| left < n - 1), op.window_size_right.filter(|&right| right < m - 1)]
}

/// Computes attention by the vendor's library. Returns whether that did it.
///
/// # Safety
/// The layouts are validated against their buffers. The destination is none of the inputs, and its
/// layout names no element twice.
pub(super) unsafe fn attend<R: GpuRuntime>(
    op: &Attention,
    srcs: &[Src<'_, GpuStorage<R>>],
    dst: &mut GpuStorage<R>,
    dst_layout: &Layout,
) -> Result<bool> {
    let device = dst.device().clone();
    let [query, key, value] = [0, 1, 2].map(|i| stored(srcs, i));
    let mask = op.has_mask.then(|| stored(srcs, 3));
    let lengths = op.has_lengths.then(|| stored(srcs, srcs.len() - 1));
    let (queries, n, d) = (query.1.dims()[2], key.1.dims()[2], query.1.dims()[3]);
    // Without lengths, it is known which queries come before all keys.
    let before = match (op.window_size_right, lengths) {
        (Some(right), None) => queries.saturating_sub(n.saturating_add(right)),
        _ => 0,
    };
    let m = queries - before;
    let rest = |layout: &Layout| layout.narrow(2, before, m);
    let [window_size_left, window_size_right] = windows(op, m, n);
    let problem = FusedAttention {
        dtype: dst.dtype(),
        query: tensor(query.0, &rest(query.1)?),
        key: tensor(key.0, key.1),
        value: tensor(value.0, value.1),
        mask: mask.map(|(storage, layout)| Ok(tensor(storage, &once(rest(layout)?)?))).transpose()?,
        dst: tensor(dst, &rest(dst_layout)?),
        lengths: lengths.map(|(storage, _)| [storage.ptr(); 2]),
        scale: op.scale_of(d),
        softcap: op.softcap,
        window_size_left,
        window_size_right,
    };
    let whole = Op::ScaledDotProductAttention(*op);
    if let Some(why) = device.runtime().attention_refusal(&problem) {
        return Ok(device.vendor_took(&whole, Vendor::Declined(why)));
    }
    // Copies and lengths return to the pool at the end, in stream order.
    let (query, _query) = in_one_piece(query.0, &rest(query.1)?)?;
    let (key, _key) = in_one_piece(key.0, key.1)?;
    let (value, _value) = in_one_piece(value.0, value.1)?;
    let mask = mask.map(|(storage, layout)| in_one_piece(storage, &once(rest(layout)?)?)).transpose()?;
    let right = op.window_size_right.map_or(u32::MAX, |right| right.min(u32::MAX as usize) as u32);
    let lengths = lengths.map(|lengths| both_lengths(lengths, n, right, (&*dst, dst_layout))).transpose()?;
    let prepared = FusedAttention {
        query,
        key,
        value,
        mask: mask.as_ref().map(|(tensor, _)| *tensor),
        lengths: lengths.as_ref().map(|both| both.each_ref().map(GpuStorage::ptr)),
        ..problem
    };
    // Libraries leave rows as they are that come before all keys.
    if before > 0 {
        dst.const_set(Scalar::zero(dst.dtype()), &dst_layout.narrow(2, 0, before)?)?;
    }
    let outcome = device.call_vendor(|runtime, stream, scratch| {
        // SAFETY: the caller promises valid operands; copies have the same sizes.
        unsafe { runtime.attention(stream, &prepared, scratch) }
    })?;
    Ok(device.vendor_took(&whole, outcome))
}

/// The layout of the kernel's `Lengths`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Lengths {
    m: u32,
    n: u32,
    d: u32,
    heads: u32,
    right: u32,
    parts: u32,
    entries: u64,
    length: u64,
    to: [u64; 4],
}

const _: () = assert!(size_of::<Lengths>() == 72);
const _: () = assert!(offset_of!(Lengths, entries) == 24 && offset_of!(Lengths, to) == 40);

/// Elements of a batch entry's result for each of its blocks, of which most find nothing to clear;
/// and the most blocks, which go on to other batch entries.
const ELEMENTS: usize = 1 << 16;
const BLOCKS: usize = 1 << 16;

/// Returns the number of queries and the number of keys, at most n, of each batch entry, and sets
/// the rows of the result that have no key to 0. One launch: as a clamp and two fills, it took 8 us
/// beside the 18 of attention of 32 x 12 heads of 128 queries and keys.
fn both_lengths<R: GpuRuntime>(
    (lengths, layout): (&GpuStorage<R>, &Layout),
    n: usize,
    right: u32,
    to: (&GpuStorage<R>, &Layout),
) -> Result<[GpuStorage<R>; 2]> {
    let device = lengths.device();
    let &[entries, heads, m, d] = to.1.dims() else { unreachable!("validated to be of rank 4") };
    let alloc = || device.alloc(entries, DType::U32);
    let [queries, keys] = [alloc()?, alloc()?];
    let parts = (heads * m * d).div_ceil(ELEMENTS);
    let to = Tensor::new(to);
    let parameters = Lengths {
        m: m as u32,
        n: n as u32,
        d: d as u32,
        heads: heads as u32,
        right,
        parts: parts as u32,
        entries: entries as u64,
        length: layout.stride()[0] as u64,
        to: to.strides(),
    };
    let launch = Launch::linear(lengths_key(), entries.saturating_mul(parts).min(BLOCKS) as u32, THREADS);
    let from = lengths.ptr().at(DType::U32, layout.start_offset());
    // SAFETY: the layouts were validated against their buffers, and so was their number of batch
    // entries, for each of which there is space in both results.
    unsafe { launch.on(device, args![from, queries.ptr(), keys.ptr(), to.ptr, parameters])? };
    Ok([queries, keys])
}
