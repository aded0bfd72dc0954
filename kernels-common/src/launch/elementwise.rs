//! Launches elementwise kernels: selects the kernel that suits the operands and their layouts.
//! Shared by every family whose kernels come from `device_lib/elementwise.cuh`.
//!
//! The order in which elements are visited is free, so dimensions are sorted by the destination's
//! strides and merged as far as all operands allow. Dense operands then take the contiguous kernel,
//! operands that are contiguous or broadcast along the innermost dimension take the rows kernel,
//! and everything else takes the strided one. A scalar is an operand that is broadcast along every
//! dimension; its value travels with the launch. A large input whose neighbours lie along another
//! dimension than the destination's is first copied through tiles.

use crate::device::GpuDevice;
use crate::key::Key;
use crate::launch::index::{Dim, Divisor, IndexDims, MAX_RANK, count, split};
use crate::launch::{Arg, Launch, sizes};
use crate::ops::copy::copy_walk;
use crate::runtime::{DevicePtr, GpuRuntime};
use crate::storage::GpuStorage;
use isobit_hal::{BackendStorage, DType, Dims, Layout, Limits, Result, Scalar, Src, collapse};
use smallvec::SmallVec;
use std::mem::offset_of;

/// The same value as in elementwise.cuh.
const BLOCK: u32 = 256;
/// The destination and up to three inputs.
const MAX_OPERANDS: usize = 4;
/// The maximum number of bytes per access.
const ACCESS: usize = 16;
/// The number of units that a thread of a strided kernel takes at a time. This is a hint: the
/// kernels loop.
const STRIDED_UNROLL: u32 = 4;
const ROWS_UNROLL: u32 = 2;
/// The number of packs that each thread of a large launch takes one after the other, if it loads
/// ahead.
const AHEAD_PACKS: u32 = 4;

/// The kernels of one operation for one set of dtypes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kernels {
    /// The contiguous kernel; the others are its variants.
    pub key: Key,
    /// The number of packs that a thread of it takes at a time. This is a hint: the kernel loops.
    pub unroll: u32,
    /// Whether there is a rows kernel.
    pub rows: bool,
    /// Whether the contiguous kernel loads a thread's next pack before it computes one, so that its
    /// blocks are to loop.
    pub ahead: bool,
}

impl Kernels {
    /// A contiguous and a strided kernel.
    pub(crate) const fn new(key: Key, unroll: u32) -> Self {
        Self { key, unroll, rows: false, ahead: false }
    }

    /// A contiguous and a strided kernel of a function of one argument, with a recipe or without.
    pub(crate) fn of_function(key: Key, dtype: DType, has_recipe: bool) -> Self {
        // `has_table` and `loads_ahead` in function.cuh.
        let ahead = dtype.is_f8() || (has_recipe && dtype == DType::F32);
        let unroll = if ahead || has_recipe { recipe_unroll(dtype) } else { 2 };
        Self { ahead, ..Self::new(key, unroll) }
    }

    /// A contiguous, a rows and a strided kernel.
    pub(crate) const fn with_rows(key: Key, unroll: u32) -> Self {
        Self { key, unroll, rows: true, ahead: false }
    }

    /// Returns the keys of all kernels.
    pub(crate) fn keys(self) -> Vec<Key> {
        let mut keys = vec![self.key, self.key.with_variant(Key::STRIDED)];
        if self.rows {
            keys.push(self.key.with_variant(Key::ROWS));
        }
        keys
    }
}

/// Runs a validated operation. `params` are the kernel parameters that follow the operands.
pub(crate) fn run<R: GpuRuntime>(
    kernels: impl FnOnce() -> Kernels,
    srcs: &[Src<'_, GpuStorage<R>>],
    dst: &GpuStorage<R>,
    dst_layout: &Layout,
    params: &[Arg<'_>],
) -> Result<()> {
    let has_scalar = srcs.iter().any(|src| matches!(src, Src::Scalar(_)));
    let repeated = has_scalar.then(|| Layout::contiguous(()).broadcast_as(dst_layout.shape().clone())).transpose()?;
    let mut operands: Operands<'_> = smallvec::smallvec![Operand::new(dst, dst_layout)];
    for src in srcs {
        operands.push(match (src, &repeated, src.storage()) {
            (Src::Scalar(value), Some(repeated), _) => Operand::scalar(*value, repeated),
            (_, _, Some((storage, layout))) => Operand::new(storage, layout),
            _ => operands[0],
        });
    }
    // SAFETY: every layout was validated against its buffer, and the caller's parameters are those
    // of the kernels.
    unsafe { launch(dst.device(), kernels(), &operands, params) }
}

/// Runs a fill with a validated layout.
pub(crate) fn run_fill<R: GpuRuntime>(
    kernels: Kernels,
    dst: &GpuStorage<R>,
    layout: &Layout,
    params: &[Arg<'_>],
) -> Result<()> {
    // SAFETY: the layout was validated against the buffer.
    unsafe { launch(dst.device(), kernels, &[Operand::new(dst, layout)], params) }
}

/// Returns the dtype that represents all dtypes of this size in kernels that only move bits.
pub(crate) const fn carrier(dtype: DType) -> DType {
    match dtype.size_in_bytes() {
        1 => DType::U8,
        2 => DType::I16,
        4 => DType::U32,
        _ => DType::I64,
    }
}

/// Returns the dtype of an input, which may be the destination or a scalar.
pub(crate) fn dtype_of<R: GpuRuntime>(src: Src<'_, GpuStorage<R>>, dst: &GpuStorage<R>) -> DType {
    match src {
        Src::Scalar(value) => value.dtype(),
        _ => src.storage().map_or(dst.dtype(), |(storage, _)| storage.dtype()),
    }
}

type Operands<'a> = SmallVec<[Operand<'a>; MAX_OPERANDS]>;
type Args<'a> = SmallVec<[Arg<'a>; 8]>;

/// An operand: the address of its first element and its layout.
#[derive(Debug, Clone, Copy)]
struct Operand<'a> {
    ptr: u64,
    size: usize,
    layout: &'a Layout,
    /// The bits of a scalar, which has no address.
    scalar: Option<u64>,
}

impl<'a> Operand<'a> {
    fn new<R: GpuRuntime>(storage: &GpuStorage<R>, layout: &'a Layout) -> Self {
        let dtype = storage.dtype();
        let ptr = storage.ptr().at(dtype, layout.start_offset()).0;
        Self { ptr, size: dtype.size_in_bytes(), layout, scalar: None }
    }

    /// Creates an operand that is one value everywhere; `repeated` has strides of 0.
    fn scalar(value: Scalar, repeated: &'a Layout) -> Self {
        let size = value.dtype().size_in_bytes();
        Self { ptr: 0, size, layout: repeated, scalar: Some(value.to_bits()) }
    }
}

/// # Safety
/// The layouts have the same shape and lie inside their buffers, and `params` match the kernels.
unsafe fn launch<R: GpuRuntime>(
    device: &GpuDevice<R>,
    kernels: Kernels,
    operands: &[Operand<'_>],
    params: &[Arg<'_>],
) -> Result<()> {
    for (i, operand) in operands.iter().enumerate().skip(1) {
        let Some(layout) = transposed(operands[0].layout, operand.layout) else { continue };
        // Without memory for the copy, the strided kernel reads the input directly, which is
        // slower.
        let Ok(copy) = device.alloc(layout.elem_count() * operand.size, DType::U8) else { continue };
        let strides = operand.layout.stride().iter().zip(layout.stride());
        let dims = layout.dims().iter().zip(strides).map(|(&size, (&s, &d))| Dim { size, stride: [s, d] }).collect();
        // SAFETY: the caller promises a valid input; the copy is new and has room for each
        // element.
        unsafe { copy_walk(device, operand.size, DevicePtr(operand.ptr), copy.ptr(), dims)? };
        let mut straight: Operands<'_> = operands.into();
        straight[i] = Operand { ptr: copy.ptr().0, layout: &layout, ..*operand };
        // SAFETY: the caller promises valid operands. The copy then returns to the pool, which
        // reuses it in stream order.
        return unsafe { launch(device, kernels, &straight, params) };
    }
    let n = operands[0].layout.elem_count() as u64;
    let width = pack_width(operands);
    let walks = match plan(operands, kernels.rows) {
        Plan::Nothing => return Ok(()),
        Plan::Contiguous => {
            let span = if kernels.ahead { sizes::AHEAD_SPAN.limit(n as usize) as u64 } else { n };
            for from in (0..n).step_by(span as usize) {
                let count = span.min(n - from);
                let ptrs: SmallVec<[u64; MAX_OPERANDS]> =
                    operands.iter().map(|o| o.ptr + from * o.size as u64).collect();
                let mut args: Args<'_> = ptrs.iter().map(Arg::new).collect();
                args.push(Arg::new(&count));
                args.extend_from_slice(params);
                let blocks = blocks(device, count / width as u64, kernels.unroll);
                let blocks = if kernels.ahead { ahead_blocks(blocks) } else { blocks };
                let launch = Launch::linear(kernels.key, blocks, BLOCK);
                // SAFETY: the caller promises valid operands and parameters; the layouts are
                // contiguous, and so are parts of them.
                unsafe { launch.on(device, &args)? };
            }
            return Ok(());
        }
        Plan::Walks(walks) => walks,
    };
    let mut scalars = [None; MAX_OPERANDS];
    scalars.iter_mut().zip(operands).for_each(|(scalar, o)| *scalar = o.scalar);
    for Span { variant, axes, ptrs, broadcast } in walks {
        let unroll = if variant == Key::ROWS { ROWS_UNROLL } else { STRIDED_UNROLL };
        split(&axes, sizes::ELEMENTWISE.limit(count(&axes)), ptrs, &mut |axes, ptrs| {
            let (walk, ptrs) = (Walk::new(axes, broadcast, scalars), ptrs.map(|ptr| ptr as u64));
            let units = walk.units.into();
            let mut args: Args<'_> = ptrs[..operands.len()].iter().map(Arg::new).collect();
            args.push(Arg::new(&walk));
            args.extend_from_slice(params);
            let launch = Launch::linear(kernels.key.with_variant(variant), blocks(device, units, unroll), BLOCK);
            // SAFETY: the caller promises valid operands and parameters; the walk only visits
            // elements of the layouts.
            unsafe { launch.on(device, &args) }
        })?;
    }
    Ok(())
}

/// Returns the layout of a copy in the destination's order, if an input is transposed. With the
/// strided kernel, `exp` of such an input took 3.8 (f32) and 7.0 (f16) times as long as moving its
/// bytes on an H200; the copy takes as long as moving them once.
fn transposed(dst: &Layout, src: &Layout) -> Option<Layout> {
    if !sizes::TURN_FROM.is_reached(dst.elem_count()) {
        return None;
    }
    let (dims, stride) = (dst.dims(), src.stride());
    let mut order: Dims = (0..dims.len()).filter(|&d| dims[d] > 1).collect();
    order.sort_by_key(|&d| std::cmp::Reverse(dst.stride()[d]));
    let &inner = order.last()?;
    let near = *order.iter().min_by_key(|&&d| stride[d])?;
    if stride[near] != 1 || stride[inner] == 1 || !sizes::TURN_SIDE.is_reached(dims[near].min(dims[inner])) {
        return None;
    }
    let mut dense: Dims = dims.iter().map(|_| 0).collect();
    let mut step = 1;
    for &d in order.iter().rev() {
        dense[d] = step;
        step *= dims[d];
    }
    Layout::new(dst.shape().clone(), dense, 0).ok()
}

/// Returns the number of packs that a thread of a transcendental function takes at a time:
/// `recipe_unroll_of` in elementwise.cuh.
pub(crate) fn recipe_unroll(dtype: DType) -> u32 {
    if dtype.size_in_bytes() == 2 { 2 } else { 1 }
}

/// Returns the number of blocks for which each thread takes `unroll` units, capped at the driver's
/// limit.
fn blocks<R: GpuRuntime>(device: &GpuDevice<R>, units: u64, unroll: u32) -> u32 {
    let limits = device.runtime().limits();
    let blocks = units.div_ceil(u64::from(BLOCK * unroll));
    loop_blocks(limits, blocks, BLOCK) as u32
}

/// Returns the number of blocks of a kernel that loads ahead: a block starts with a load that
/// nothing hides, and maybe with a table, but a small launch needs its blocks to fill the device.
fn ahead_blocks(blocks: u32) -> u32 {
    let least = sizes::AHEAD_BLOCKS.limit(blocks as usize) as u32;
    blocks.min(blocks.div_ceil(AHEAD_PACKS).max(least))
}

/// Returns the number of blocks of a kernel that loops over its units: as many as there are units
/// for, capped at the driver's limit.
pub(crate) fn loop_blocks(limits: &Limits, blocks: u64, threads: u32) -> u64 {
    let most = u64::from(limits.max_grid_x).min((limits.max_threads_per_dim - 1) / u64::from(threads));
    blocks.clamp(1, sizes::LOOP_BLOCKS.limit_or(blocks as usize, most as usize) as u64)
}

/// Returns the number of elements of the largest operand in one access.
fn pack_width(operands: &[Operand<'_>]) -> usize {
    ACCESS / operands.iter().map(|o| o.size).max().expect("there is a destination")
}

/// The kernels that visit the elements.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "it lives on the stack for one launch, which allocates nothing")]
enum Plan {
    Nothing,
    Contiguous,
    Walks(SmallVec<[Span; 2]>),
}

/// The elements for one kernel: units along axes, from the address of each operand.
#[derive(Debug)]
struct Span {
    variant: u8,
    axes: Axes,
    ptrs: Ptrs,
    broadcast: u32,
}

fn plan(operands: &[Operand<'_>], has_rows: bool) -> Plan {
    if operands[0].layout.elem_count() == 0 {
        return Plan::Nothing;
    }
    let width = pack_width(operands);
    let aligned = operands.iter().all(|o| o.scalar.is_none() && o.ptr.is_multiple_of((width * o.size) as u64));
    if aligned && operands.iter().all(|o| o.layout.is_contiguous()) {
        return Plan::Contiguous;
    }
    let (axes, ptrs) = axes(operands);
    let is_dense = |axis: &Axis| operands.iter().zip(&axis.stride).all(|(o, &s)| s == o.size);
    if aligned && axes.len() == 1 && is_dense(&axes[0]) {
        return Plan::Contiguous;
    }
    let mut walks = SmallVec::new();
    match rows(&axes, ptrs, operands, width).filter(|_| has_rows) {
        Some((whole, rest)) => {
            walks.push(whole);
            walks.extend(rest);
        }
        None => walks.push(Span { variant: Key::STRIDED, axes, ptrs, broadcast: 0 }),
    }
    Plan::Walks(walks)
}

/// One dimension of a walk: the number of units, and each operand's stride in bytes.
type Axis = Dim<MAX_OPERANDS>;
type Axes = IndexDims<MAX_OPERANDS>;
/// The address of each operand.
type Ptrs = [usize; MAX_OPERANDS];

/// Returns the fewest axes that visit every element (at least one), sorted by the destination's
/// strides with the outermost first.
fn axes(operands: &[Operand<'_>]) -> (Axes, Ptrs) {
    let dst = operands[0].layout;
    let mut order: Dims = (0..dst.shape().rank()).collect();
    // The strides of dimensions of size 1 mean nothing; such dimensions are dropped wherever they
    // are.
    order.sort_by_key(|&d| std::cmp::Reverse(if dst.dims()[d] == 1 { 0 } else { dst.stride()[d] }));
    let sorted: SmallVec<[Layout; MAX_OPERANDS]> =
        operands.iter().map(|o| o.layout.permute(&order).expect("the order is a permutation")).collect();
    let merged = collapse(&sorted.iter().collect::<SmallVec<[&Layout; MAX_OPERANDS]>>());
    let axis = |d: usize| {
        let mut stride = [0; MAX_OPERANDS];
        for (s, (o, strides)) in stride.iter_mut().zip(operands.iter().zip(&merged.strides)) {
            *s = strides[d] * o.size;
        }
        Axis { size: merged.dims[d], stride }
    };
    let mut axes: Axes = (0..merged.dims.len()).map(axis).collect();
    if axes.is_empty() {
        axes.push(Axis { size: 1, stride: [0; MAX_OPERANDS] });
    }
    let mut ptrs = [0; MAX_OPERANDS];
    ptrs.iter_mut().zip(operands).for_each(|(p, o)| *p = o.ptr as usize);
    (axes, ptrs)
}

/// Splits the elements into packs of `width` and, if there is a single axis, the elements after its
/// last whole pack. Returns `None` if the operands do not allow packs.
fn rows(axes: &Axes, ptrs: Ptrs, operands: &[Operand<'_>], width: usize) -> Option<(Span, Option<Span>)> {
    let (&inner, outer) = axes.split_last().expect("there is an axis");
    let (packs, left) = (inner.size / width, inner.size % width);
    if packs == 0 || (left != 0 && !outer.is_empty()) {
        return None;
    }
    let mut broadcast = 0;
    for (i, o) in operands.iter().enumerate() {
        let bytes = width * o.size;
        if inner.stride[i] == 0 && i > 0 {
            broadcast |= 1 << i;
        } else if inner.stride[i] != o.size
            || !o.ptr.is_multiple_of(bytes as u64)
            || outer.iter().any(|a| !a.stride[i].is_multiple_of(bytes))
        {
            return None;
        }
    }
    let mut whole = axes.clone();
    *whole.last_mut().expect("there is an axis") = Axis { size: packs, stride: inner.stride.map(|s| s * width) };
    let rest = (left != 0).then(|| Span {
        variant: Key::STRIDED,
        axes: smallvec::smallvec![Axis { size: left, ..inner }],
        ptrs: inner.along(ptrs, packs * width),
        broadcast: 0,
    });
    Some((Span { variant: Key::ROWS, axes: whole, ptrs, broadcast }, rest))
}

/// The kernels' `Walk`, with room for every operand. A kernel with fewer operands reads only the
/// first ones.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
#[allow(dead_code, reason = "the kernels read it")]
struct Walk {
    units: u32,
    rank: u32,
    broadcast: u32,
    scalars: u32,
    size: [u32; MAX_RANK],
    magic: [u32; MAX_RANK],
    shift: [u32; MAX_RANK],
    stride: [[u64; MAX_RANK]; MAX_OPERANDS],
}

const _: () = assert!(size_of::<Walk>() == 368);
const _: () = assert!(offset_of!(Walk, size) == 16 && offset_of!(Walk, stride) == 112);

impl Walk {
    /// Creates a walk of at most [`MAX_RANK`] axes with fewer than 2^31 units. `scalars` has the
    /// bits of the operands that are scalars.
    fn new(axes: &[Axis], broadcast: u32, scalars: [Option<u64>; MAX_OPERANDS]) -> Self {
        let mut walk = Self {
            units: count(axes) as u32,
            rank: axes.len() as u32,
            broadcast,
            scalars: 0,
            size: [1; MAX_RANK],
            magic: [1; MAX_RANK],
            shift: [0; MAX_RANK],
            stride: [[0; MAX_RANK]; MAX_OPERANDS],
        };
        for (d, axis) in axes.iter().enumerate() {
            walk.size[d] = axis.size as u32;
            let divisor = Divisor::new(axis.size);
            (walk.magic[d], walk.shift[d]) = (divisor.magic, divisor.shift);
            for (all, &one) in walk.stride.iter_mut().zip(&axis.stride) {
                all[d] = one as u64;
            }
        }
        for (o, bits) in scalars.into_iter().enumerate() {
            if let Some(bits) = bits {
                walk.scalars |= 1 << o;
                walk.stride[o][0] = bits;
            }
        }
        walk
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Does what a kernel does with a `Walk` in elementwise.cuh: returns every unit's byte offset
    /// in each operand.
    fn offsets(walk: &Walk, operands: usize) -> Vec<Vec<u64>> {
        let unit = |index: u32| {
            let mut left = index;
            let mut at = vec![0; operands];
            for d in (0..walk.rank as usize).rev() {
                let high = ((u64::from(left) * u64::from(walk.magic[d])) >> 32) as u32;
                let q = (high + left) >> walk.shift[d];
                let place = if d == 0 { left } else { left - q * walk.size[d] };
                left = q;
                at.iter_mut().zip(&walk.stride).for_each(|(a, s)| *a += u64::from(place) * s[d]);
            }
            at
        };
        (0..walk.units).map(unit).collect()
    }

    /// Returns the addresses that the planned kernels combine, sorted.
    fn visited(operands: &[Operand<'_>], has_rows: bool, most: usize) -> Vec<Vec<u64>> {
        let width = pack_width(operands) as u64;
        let element = |i: u64| operands.iter().map(|o| o.ptr + i * o.size as u64).collect();
        let mut found = Vec::new();
        match plan(operands, has_rows) {
            Plan::Nothing => {}
            Plan::Contiguous => {
                assert!(operands.iter().all(|o| o.ptr.is_multiple_of(width * o.size as u64)));
                found.extend((0..operands[0].layout.elem_count() as u64).map(element));
            }
            Plan::Walks(walks) => {
                for Span { variant, axes, ptrs, broadcast } in walks {
                    let pack = if variant == Key::ROWS { width } else { 1 };
                    split(&axes, most, ptrs, &mut |axes, ptrs| -> Result<()> {
                        assert!(count(axes) <= most && axes.len() <= MAX_RANK);
                        for at in offsets(&Walk::new(axes, broadcast, [None; MAX_OPERANDS]), operands.len()) {
                            for i in 0..pack {
                                let one = |(o, operand): (usize, &Operand<'_>)| {
                                    let start = ptrs[o] as u64 + at[o];
                                    if (broadcast >> o) & 1 == 1 {
                                        return start;
                                    }
                                    assert!(start.is_multiple_of(pack * operand.size as u64), "a pack is not aligned");
                                    start + i * operand.size as u64
                                };
                                found.push(operands.iter().enumerate().map(one).collect());
                            }
                        }
                        Ok(())
                    })
                    .unwrap();
                }
            }
        }
        found.sort_unstable();
        found
    }

    fn expected(operands: &[Operand<'_>]) -> Vec<Vec<u64>> {
        let mut indices: Vec<_> = operands
            .iter()
            .map(|o| Layout::new(o.layout.shape(), o.layout.stride(), 0).unwrap().strided_index().collect::<Vec<_>>())
            .collect();
        let mut all: Vec<Vec<u64>> = (0..indices[0].len())
            .map(|i| operands.iter().zip(&mut indices).map(|(o, at)| o.ptr + (at[i] * o.size) as u64).collect())
            .collect();
        all.sort_unstable();
        all
    }

    struct Random(u64);

    impl Random {
        fn below(&mut self, end: usize) -> usize {
            self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((self.0 >> 33) as usize) % end
        }
    }

    /// Returns a layout as produced by slicing, stepping, permuting and (for inputs) broadcasting.
    fn layout(random: &mut Random, dims: &[usize], is_input: bool) -> Layout {
        let mut order: Vec<usize> = (0..dims.len()).collect();
        if random.below(2) == 0 {
            (1..dims.len()).for_each(|i| order.swap(i, random.below(i + 1)));
        }
        let gap = [1, 1, 1, 2, 3][random.below(5)];
        let mut stride: Dims = smallvec::smallvec![0; dims.len()];
        let mut step = if random.below(3) == 0 { gap } else { 1 };
        for &d in order.iter().rev() {
            if is_input && random.below(4) == 0 {
                continue;
            }
            stride[d] = step;
            step *= dims[d] * if random.below(4) == 0 { gap } else { 1 };
        }
        Layout::new(Dims::from_slice(dims), stride, 0).unwrap()
    }

    #[test]
    fn every_element_is_visited_once_whatever_the_layouts() {
        let mut random = Random(1);
        let (mut contiguous, mut rows) = (0, 0);
        for round in 0..3000 {
            let rank = random.below(if round % 10 == 0 { 12 } else { 5 });
            let dims: Vec<usize> =
                (0..rank).map(|_| [1, 2, 3, 4, 8, 16][random.below(if rank > 5 { 3 } else { 6 })]).collect();
            let layouts: Vec<Layout> = (0..1 + random.below(4)).map(|i| layout(&mut random, &dims, i > 0)).collect();
            let operands: Vec<Operand<'_>> = layouts
                .iter()
                .enumerate()
                .map(|(i, layout)| {
                    let size = [1, 2, 4, 8][random.below(4)];
                    let offset = if random.below(4) == 0 { random.below(16) * size } else { 0 };
                    Operand { ptr: ((i as u64 + 1) << 32) + offset as u64, size, layout, scalar: None }
                })
                .collect();
            let has_rows = random.below(2) == 0;
            match plan(&operands, has_rows) {
                Plan::Contiguous => contiguous += 1,
                Plan::Walks(walks) if walks[0].variant == Key::ROWS => rows += 1,
                _ => {}
            }
            let limit = if random.below(4) == 0 { 7 } else { (1 << 31) - 1 };
            assert_eq!(visited(&operands, has_rows, limit), expected(&operands), "{operands:?}");
        }
        assert!(contiguous > 100 && rows > 100, "{contiguous} contiguous, {rows} rows");
    }

    #[test]
    fn a_large_transposed_input_gets_a_copy_in_the_destinations_order() {
        let layout = |dims: &[usize], stride: &[usize]| {
            Layout::new(Dims::from_slice(dims), Dims::from_slice(stride), 0).unwrap()
        };
        let dst = Layout::contiguous([1024, 512]);
        let across = layout(&[1024, 512], &[1, 1024]);
        assert_eq!(transposed(&dst, &across), Some(dst.clone()));
        // If the destination is transposed, an input in the same order is not copied, and a
        // row-major one is.
        assert_eq!(transposed(&across, &across), None);
        assert_eq!(transposed(&across, &dst), Some(across.clone()));
        assert_eq!(transposed(&dst, &layout(&[1024, 512], &[513, 1])), None, "rows with gaps are no transposition");
        assert_eq!(
            transposed(&dst, &layout(&[1024, 512], &[1, 0])),
            None,
            "a repeated column is less to read than its copy"
        );
        assert_eq!(transposed(&Layout::contiguous([64, 64]), &layout(&[64, 64], &[1, 64])), None, "it is small");
        let dst = Layout::contiguous([4, 1, 300, 257]);
        let heads = layout(&[4, 1, 300, 257], &[300 * 257, 7, 1, 300]);
        let Some(copy) = transposed(&dst, &heads) else { panic!("the last two are exchanged") };
        assert!(copy.is_contiguous());
    }

    #[test]
    fn a_row_or_a_scalar_broadcast_takes_packs() {
        let dense = Layout::contiguous([64, 64]);
        for (stride, odd) in [([0, 1], 64), ([1, 0], 64), ([0, 0], 63)] {
            let dims = [64, odd];
            let (dst, src) = (Layout::contiguous(dims), Layout::new(dims, Dims::from_slice(&stride), 0).unwrap());
            let operands = [(1u64 << 32, &dst), (2 << 32, &dst), (3 << 32, &src)].map(|(ptr, layout)| Operand {
                ptr,
                size: 4,
                layout,
                scalar: None,
            });
            let Plan::Walks(walks) = plan(&operands, true) else { panic!("no walk for {stride:?}") };
            assert_eq!(walks[0].variant, Key::ROWS, "{stride:?}");
        }
        let operand = Operand { ptr: 1 << 32, size: 2, layout: &dense, scalar: None };
        assert!(matches!(plan(&[operand, operand], false), Plan::Contiguous));
        let transposed = dense.transpose(0, 1).unwrap();
        let operand = Operand { layout: &transposed, ..operand };
        assert!(matches!(plan(&[operand, operand], false), Plan::Contiguous), "dense in both, in one order");
    }

    #[test]
    fn a_scalar_travels_in_the_walk() {
        let (dense, one) = (Layout::contiguous([64, 64]), Layout::contiguous([1, 1]));
        let repeated = |dst: &Layout| Layout::contiguous(()).broadcast_as(dst.shape().clone()).unwrap();
        for (dst, variant) in [(&dense, Key::ROWS), (&one, Key::STRIDED)] {
            let repeated = repeated(dst);
            let operand = Operand { ptr: 1 << 32, size: 8, layout: dst, scalar: None };
            let value = Operand::scalar(Scalar::F64(-2.5), &repeated);
            let operands = [operand, operand, value];
            assert_eq!(transposed(dst, value.layout), None);
            let Plan::Walks(walks) = plan(&operands, true) else { panic!("a scalar has no address") };
            assert_eq!(walks[0].variant, variant);
            let walk = Walk::new(&walks[0].axes, walks[0].broadcast, [None, None, value.scalar, None]);
            assert_eq!((walk.scalars, walk.stride[2][0]), (0b100, (-2.5f64).to_bits()));
        }
    }

    #[test]
    fn blocks_that_load_ahead_loop_once_the_device_is_full() {
        for (packs, blocks) in [(1, 1), (2048, 2048), (2049, 2048), (8193, 2049), (65_536, 16_384)] {
            assert_eq!(ahead_blocks(packs), blocks);
        }
    }

    #[test]
    fn division_by_multiplication_is_exact() {
        let interesting = (0..31).flat_map(|b| [(1u32 << b).saturating_sub(1), 1 << b, (1 << b) + 1]);
        let numbers: Vec<u32> =
            interesting.chain([7, 641, 10_007, 1_000_003, i32::MAX as u32]).filter(|&n| n <= i32::MAX as u32).collect();
        for &d in numbers.iter().filter(|&&d| d > 0) {
            let Divisor { magic, shift, .. } = Divisor::new(d as usize);
            let multiples = (1..4u64).flat_map(|k| [u64::from(d) * k - 1, u64::from(d) * k]).map(|n| n as u32);
            for n in numbers.iter().copied().chain(multiples).filter(|&n| n <= i32::MAX as u32) {
                let high = ((u64::from(n) * u64::from(magic)) >> 32) as u32;
                assert_eq!((high + n) >> shift, n / d, "{n} / {d}");
            }
        }
    }
}
