//! Attention by the vendor's library: prepares what libraries take, which are operands whose heads
//! lie in one piece and whose rows have a key.

use crate::ops::stored;
use crate::runtime::{FusedAttention, GpuRuntime, Tensor4, Vendor};
use crate::storage::GpuStorage;
use isobit_hal::{Attention, BackendStorage, DType, Layout, Op, Result, Scalar, Src};

/// An operand: the caller's, or a copy in one piece.
enum Operand<'a, R: GpuRuntime> {
    Given(&'a GpuStorage<R>, Layout),
    Copied(GpuStorage<R>, Layout),
}

impl<'a, R: GpuRuntime> Operand<'a, R> {
    /// Returns an operand whose rows are contiguous and begin at multiples of 16 bytes where their
    /// size allows it.
    fn new(storage: &'a GpuStorage<R>, layout: Layout) -> Result<Self> {
        let at = tensor(storage, &layout);
        let strides = at.strides[..3].iter().zip(at.dims).filter(|(_, size)| *size > 1);
        let aligned =
            strides.fold(at.ptr.0, |all, (stride, _)| all | (stride * storage.dtype().size_in_bytes()) as u64);
        if at.strides[3] == 1 && aligned.is_multiple_of(16) && !repeats(&at) || layout.is_contiguous() {
            return Ok(Self::Given(storage, layout));
        }
        let copy = storage.try_clone(&layout)?;
        Ok(Self::Copied(copy, Layout::contiguous(layout.shape())))
    }

    fn tensor(&self) -> Tensor4 {
        match self {
            Self::Given(storage, layout) => tensor(storage, layout),
            Self::Copied(storage, layout) => tensor(storage, layout),
        }
    }
}

fn tensor<R: GpuRuntime>(storage: &GpuStorage<R>, layout: &Layout) -> Tensor4 {
    let [dims, strides] =
        [layout.dims(), layout.stride()].map(|all| all.try_into().expect("validated to be of rank 4"));
    Tensor4 { ptr: storage.ptr().at(storage.dtype(), layout.start_offset()), dims, strides }
}

fn repeats(tensor: &Tensor4) -> bool {
    tensor.dims.iter().zip(tensor.strides).any(|(&size, stride)| size > 1 && stride == 0)
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
    let ([.., m, d], [.., n, _]) = (query.1.dims(), key.1.dims()) else { unreachable!("validated to be of rank 4") };
    let (m, n, d) = (*m, *n, *d);
    let [window_size_left, window_size_right] = windows(op, m, n);
    // Without lengths, it is known which queries come before all keys.
    let before = match (window_size_right, lengths) {
        (Some(right), None) => m.saturating_sub(n.saturating_add(right)),
        _ => 0,
    };
    let rest = |layout: &Layout| layout.narrow(2, before, m - before);
    let to = tensor(dst, &rest(dst_layout)?);
    let problem = FusedAttention {
        dtype: dst.dtype(),
        query: tensor(query.0, &rest(query.1)?),
        key: tensor(key.0, key.1),
        value: tensor(value.0, value.1),
        mask: mask.map(|(storage, layout)| Ok(tensor(storage, &once(rest(layout)?)?))).transpose()?,
        dst: to,
        lengths: lengths.map(|(storage, _)| [storage.ptr(); 2]),
        scale: op.scale_of(d),
        softcap: op.softcap,
        window_size_left,
        window_size_right: window_size_right.filter(|&right| right < m - before - 1),
    };
    let whole = Op::ScaledDotProductAttention(*op);
    if let Some(why) = device.runtime().attention_refusal(&problem) {
        return Ok(device.vendor_took(&whole, Vendor::Declined(why)));
    }
    let query = Operand::new(query.0, rest(query.1)?)?;
    let [key, value] = [Operand::new(key.0, key.1.clone())?, Operand::new(value.0, value.1.clone())?];
    let mask = mask.map(|(storage, layout)| Operand::new(storage, once(rest(layout)?)?)).transpose()?;
    let lengths = lengths.map(|(storage, layout)| both_lengths(storage, layout, m - before, n)).transpose()?;
    let prepared = FusedAttention {
        query: query.tensor(),
        key: key.tensor(),
        value: value.tensor(),
        mask: mask.as_ref().map(Operand::tensor),
        lengths: lengths.as_ref().map(|both| both.each_ref().map(GpuStorage::ptr)),
        ..problem
    };
    if op.has_lengths {
        // Libraries leave what belongs to batch entries without keys as it is.
        dst.const_set(Scalar::zero(dst.dtype()), dst_layout)?;
    }
    // Copies and lengths return to the pool afterwards, in stream order.
    let outcome = device.call_vendor(|runtime, stream, scratch| {
        // SAFETY: the caller promises valid operands; copies have the same sizes.
        unsafe { runtime.attention(stream, &prepared, scratch) }
    })?;
    let done = device.vendor_took(&whole, outcome);
    if done && before > 0 {
        dst.const_set(Scalar::zero(dst.dtype()), &dst_layout.narrow(2, 0, before)?)?;
    }
    Ok(done)
}

/// Returns m and the number of keys, at most n, of each batch entry.
fn both_lengths<R: GpuRuntime>(
    lengths: &GpuStorage<R>,
    layout: &Layout,
    m: usize,
    n: usize,
) -> Result<[GpuStorage<R>; 2]> {
    let contiguous = Layout::contiguous(layout.shape());
    let mut queries = lengths.device().alloc(layout.elem_count(), DType::U32)?;
    queries.const_set(Scalar::from(m as u32), &contiguous)?;
    let keys = lengths.clamp(layout, 0.0, n as f64)?;
    Ok([queries, keys])
}
