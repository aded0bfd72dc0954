//! Launching elementwise kernels: from operands and layouts to the kernel that suits them. Shared by every family whose kernels are made by
//! `dialect/elementwise.cuh`.
//!
//! The order in which elements are visited is free, so dimensions are sorted by the destination's strides and merged as far as all
//! operands allow. What is dense then takes the contiguous kernel, what runs along the innermost dimension the one for rows, and
//! everything else the strided one.

use crate::device::GpuDevice;
use crate::key::Key;
use crate::launch::Launch;
use crate::runtime::GpuRuntime;
use crate::storage::GpuStorage;
use isobit_hal::{BackendStorage, DType, Dims, Layout, Op, Result, Src, collapse, validate};
use smallvec::SmallVec;
use std::ffi::c_void;

/// As in elementwise.cuh.
const BLOCK: u32 = 256;
const MAX_RANK: usize = 8;
/// The destination and up to three inputs.
const MAX_OPERANDS: usize = 4;
/// Units of work in one launch of a walk stay below, which keeps index arithmetic in 32 bits.
const MAX_UNITS: u64 = 1 << 31;
/// Bytes that one access moves at most.
const ACCESS: usize = 16;
/// Units that a thread of a strided kernel takes at a time. A hint: the kernels loop.
const STRIDED_UNROLL: u32 = 4;
const ROWS_UNROLL: u32 = 2;

/// The kernels of one operation for one set of dtypes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kernels {
    /// The contiguous one; the others are its variants.
    pub key: Key,
    /// Packs that a thread of it takes at a time. A hint: the kernel loops.
    pub unroll: u32,
    /// Whether there is one for rows.
    pub rows: bool,
}

impl Kernels {
    /// Contiguous and strided.
    pub(crate) const fn new(key: Key, unroll: u32) -> Self {
        Self { key, unroll, rows: false }
    }

    /// Contiguous, rows and strided.
    pub(crate) const fn with_rows(key: Key, unroll: u32) -> Self {
        Self { key, unroll, rows: true }
    }

    /// Every key.
    pub(crate) fn keys(self) -> Vec<Key> {
        let mut keys = vec![self.key, self.key.with_variant(Key::STRIDED)];
        if self.rows {
            keys.push(self.key.with_variant(Key::ROWS));
        }
        keys
    }
}

/// Validates an operation and runs it. `params` are addresses of the kernel's parameters behind the operands.
pub(crate) fn run<R: GpuRuntime>(
    op: &Op,
    kernels: impl FnOnce() -> Kernels,
    srcs: &[Src<'_, GpuStorage<R>>],
    dst: &GpuStorage<R>,
    dst_layout: &Layout,
    params: &[*mut c_void],
) -> Result<()> {
    validate::elementwise(op, srcs, dst, dst_layout)?;
    let mut operands: Operands<'_> = smallvec::smallvec![Operand::new(dst, dst_layout)];
    for src in srcs {
        operands.push(match *src {
            Src::Storage(storage, layout) => Operand::new(storage, layout),
            Src::Dst => operands[0],
        });
    }
    // SAFETY: every layout was validated against its buffer, and the caller's parameters are those of the kernels.
    unsafe { launch(dst.device(), kernels(), &operands, params) }.map_err(|e| e.with_op(op))
}

/// Runs a fill of validated layout.
pub(crate) fn run_fill<R: GpuRuntime>(
    kernels: Kernels,
    dst: &GpuStorage<R>,
    layout: &Layout,
    params: &[*mut c_void],
) -> Result<()> {
    // SAFETY: the layout was validated against the buffer.
    unsafe { launch(dst.device(), kernels, &[Operand::new(dst, layout)], params) }
}

/// A dtype of the same size, which stands for it in kernels that move bits, whatever they mean.
pub(crate) const fn carrier(dtype: DType) -> DType {
    match dtype.size_in_bytes() {
        1 => DType::U8,
        2 => DType::I16,
        4 => DType::U32,
        _ => DType::I64,
    }
}

/// The dtype of an input that may be the destination.
pub(crate) fn dtype_of<R: GpuRuntime>(src: Src<'_, GpuStorage<R>>, dst: &GpuStorage<R>) -> DType {
    match src {
        Src::Storage(storage, _) => storage.dtype(),
        Src::Dst => dst.dtype(),
    }
}

type Operands<'a> = SmallVec<[Operand<'a>; MAX_OPERANDS]>;
type Args = SmallVec<[*mut c_void; 8]>;

/// A buffer from its first element on, and the way through it.
#[derive(Debug, Clone, Copy)]
struct Operand<'a> {
    ptr: u64,
    size: usize,
    layout: &'a Layout,
}

impl<'a> Operand<'a> {
    fn new<R: GpuRuntime>(storage: &GpuStorage<R>, layout: &'a Layout) -> Self {
        let dtype = storage.dtype();
        Self { ptr: storage.ptr().at(dtype, layout.start_offset()).0, size: dtype.size_in_bytes(), layout }
    }
}

/// # Safety
/// The layouts have one shape and lie inside their buffers, and `params` are the kernels'.
unsafe fn launch<R: GpuRuntime>(
    device: &GpuDevice<R>,
    kernels: Kernels,
    operands: &[Operand<'_>],
    params: &[*mut c_void],
) -> Result<()> {
    let n = operands[0].layout.elem_count() as u64;
    if n == 0 {
        return Ok(());
    }
    let width = ACCESS / operands.iter().map(|o| o.size).max().expect("there is a destination");
    let aligned = |o: &Operand<'_>| o.ptr.is_multiple_of((width * o.size) as u64);
    let launcher = Launcher { device, params };
    if operands.iter().all(|o| o.layout.is_contiguous() && aligned(o)) {
        // SAFETY: as the caller's.
        return unsafe { launcher.contiguous(kernels, operands, n, width) };
    }
    let (axes, ptrs) = axes(operands);
    let dense = |axis: &Axis| operands.iter().zip(&axis.stride).all(|(o, &s)| s == o.size as u64);
    if axes.iter().all(dense) && axes.len() <= 1 && operands.iter().all(aligned) {
        // SAFETY: as the caller's.
        return unsafe { launcher.contiguous(kernels, operands, n, width) };
    }
    let strided = kernels.key.with_variant(Key::STRIDED);
    if kernels.rows
        && let Some((axes, splat, left)) = rows(&axes, operands, width)
    {
        let key = kernels.key.with_variant(Key::ROWS);
        // SAFETY: as the caller's: whole packs of the same elements.
        unsafe { launcher.walk(key, &axes, ptrs, operands.len(), splat, ROWS_UNROLL)? };
        let Some((left, offset)) = left else { return Ok(()) };
        // SAFETY: the elements behind the last whole pack.
        return unsafe { launcher.walk(strided, &[left], offset.from(ptrs), operands.len(), 0, STRIDED_UNROLL) };
    }
    // SAFETY: as the caller's.
    unsafe { launcher.walk(strided, &axes, ptrs, operands.len(), 0, STRIDED_UNROLL) }
}

/// One dimension of a walk: units, and each operand's bytes from one to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Axis {
    size: u64,
    stride: [u64; MAX_OPERANDS],
}

type Axes = SmallVec<[Axis; MAX_RANK]>;

/// Each operand's bytes to skip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Skip([u64; MAX_OPERANDS]);

impl Skip {
    fn along(axis: &Axis, units: u64) -> Self {
        Self(axis.stride.map(|s| s * units))
    }

    fn from(self, mut ptrs: [u64; MAX_OPERANDS]) -> [u64; MAX_OPERANDS] {
        ptrs.iter_mut().zip(self.0).for_each(|(p, s)| *p += s);
        ptrs
    }
}

/// The fewest axes that visit every element, at least one, outermost in the destination first.
fn axes(operands: &[Operand<'_>]) -> (Axes, [u64; MAX_OPERANDS]) {
    let dst = operands[0].layout;
    let mut order: Dims = (0..dst.shape().rank()).collect();
    // Dimensions of size 1 have strides that mean nothing; they vanish wherever they stand.
    order.sort_by_key(|&d| std::cmp::Reverse(if dst.dims()[d] == 1 { 0 } else { dst.stride()[d] }));
    let sorted: SmallVec<[Layout; MAX_OPERANDS]> =
        operands.iter().map(|o| o.layout.permute(&order).expect("the order is a permutation")).collect();
    let merged = collapse(&sorted.iter().collect::<SmallVec<[&Layout; MAX_OPERANDS]>>());
    let axis = |d: usize| {
        let mut stride = [0; MAX_OPERANDS];
        for (s, (o, strides)) in stride.iter_mut().zip(operands.iter().zip(&merged.strides)) {
            *s = (strides[d] * o.size) as u64;
        }
        Axis { size: merged.dims[d] as u64, stride }
    };
    let mut axes: Axes = (0..merged.dims.len()).map(axis).collect();
    if axes.is_empty() {
        axes.push(Axis { size: 1, stride: [0; MAX_OPERANDS] });
    }
    let mut ptrs = [0; MAX_OPERANDS];
    ptrs.iter_mut().zip(operands).for_each(|(p, o)| *p = o.ptr);
    (axes, ptrs)
}

/// The axes in packs of `width` elements, and which operands repeat within one; none where the operands do not allow that. A
/// single axis may end in elements that fill no pack: they are left, with where they begin.
#[allow(clippy::type_complexity)]
fn rows(axes: &Axes, operands: &[Operand<'_>], width: usize) -> Option<(Axes, u32, Option<(Axis, Skip)>)> {
    let pack = width as u64;
    let (&inner, outer) = axes.split_last().expect("there is an axis");
    let (packs, left) = (inner.size / pack, inner.size % pack);
    if packs == 0 || (left != 0 && !outer.is_empty()) {
        return None;
    }
    let mut splat = 0;
    for (i, o) in operands.iter().enumerate() {
        let bytes = pack * o.size as u64;
        if inner.stride[i] == 0 && i > 0 {
            splat |= 1 << i;
        } else if inner.stride[i] != o.size as u64
            || !o.ptr.is_multiple_of(bytes)
            || outer.iter().any(|a| !a.stride[i].is_multiple_of(bytes))
        {
            return None;
        }
    }
    let mut whole = axes.clone();
    *whole.last_mut().expect("there is an axis") = Axis { size: packs, stride: inner.stride.map(|s| s * pack) };
    let rest = (left != 0).then(|| (Axis { size: left, ..inner }, Skip::along(&inner, packs * pack)));
    Some((whole, splat, rest))
}

/// The kernels' `Walk`, with room for every operand: a kernel of fewer reads the front part.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
#[allow(dead_code, reason = "the kernels read it")]
struct Walk {
    units: u32,
    rank: u32,
    splat: u32,
    unused: u32,
    size: [u32; MAX_RANK],
    magic: [u32; MAX_RANK],
    shift: [u32; MAX_RANK],
    stride: [[u64; MAX_RANK]; MAX_OPERANDS],
}

impl Walk {
    /// Of at most [`MAX_RANK`] axes with less than [`MAX_UNITS`] units.
    fn new(axes: &[Axis], units: u64, splat: u32) -> Self {
        let mut walk = Self {
            units: units as u32,
            rank: axes.len() as u32,
            splat,
            unused: 0,
            size: [1; MAX_RANK],
            magic: [1; MAX_RANK],
            shift: [0; MAX_RANK],
            stride: [[0; MAX_RANK]; MAX_OPERANDS],
        };
        for (d, axis) in axes.iter().enumerate() {
            let size = axis.size as u32;
            walk.size[d] = size;
            (walk.magic[d], walk.shift[d]) = magic(size);
            for (all, &one) in walk.stride.iter_mut().zip(&axis.stride) {
                all[d] = one;
            }
        }
        walk
    }
}

/// Factor and shift with which a kernel divides a number below 2^31 by `divisor`, itself from 1 to below 2^31.
fn magic(divisor: u32) -> (u32, u32) {
    let shift = divisor.next_power_of_two().trailing_zeros();
    let excess = (1u64 << shift) - u64::from(divisor);
    (((excess << 32) / u64::from(divisor) + 1) as u32, shift)
}

fn address<T>(value: &T) -> *mut c_void {
    std::ptr::from_ref(value).cast_mut().cast()
}

struct Launcher<'a, R: GpuRuntime> {
    device: &'a GpuDevice<R>,
    params: &'a [*mut c_void],
}

impl<R: GpuRuntime> Launcher<'_, R> {
    fn blocks(&self, units: u64, unroll: u32) -> u32 {
        let limits = self.device.runtime().limits();
        let most = u64::from(limits.max_grid_x).min((limits.max_threads_per_dim - 1) / u64::from(BLOCK));
        units.div_ceil(u64::from(BLOCK * unroll)).clamp(1, most) as u32
    }

    unsafe fn contiguous(&self, kernels: Kernels, operands: &[Operand<'_>], n: u64, width: usize) -> Result<()> {
        let mut args: Args = operands.iter().map(|o| address(&o.ptr)).collect();
        args.push(address(&n));
        args.extend_from_slice(self.params);
        let launch = Launch::linear(kernels.key, self.blocks(n / width as u64, kernels.unroll), BLOCK);
        // SAFETY: the caller vouches for operands and parameters.
        unsafe { launch.on(self.device, &mut args) }
    }

    /// Splits what one launch cannot hold.
    unsafe fn walk(
        &self,
        key: Key,
        axes: &[Axis],
        ptrs: [u64; MAX_OPERANDS],
        operands: usize,
        splat: u32,
        unroll: u32,
    ) -> Result<()> {
        let units = axes.iter().fold(1u64, |n, a| n.saturating_mul(a.size));
        let outermost = 0..axes.len();
        if axes.len() > MAX_RANK {
            // The innermost one stays, which the kernel runs along.
            let d = outermost.take(axes.len() - 1).min_by_key(|&d| axes[d].size).expect("there are more than MAX_RANK");
            let mut rest: Axes = axes.into();
            let axis = rest.remove(d);
            for i in 0..axis.size {
                // SAFETY: the elements at one place of the axis.
                unsafe { self.walk(key, &rest, Skip::along(&axis, i).from(ptrs), operands, splat, unroll)? };
            }
            return Ok(());
        }
        if units >= MAX_UNITS {
            let d = outermost.max_by_key(|&d| axes[d].size).expect("there is an axis");
            let mut half: Axes = axes.into();
            let first = axes[d].size / 2;
            half[d].size = first;
            // SAFETY: the elements in the first part of the axis, then those in the second.
            unsafe { self.walk(key, &half, ptrs, operands, splat, unroll)? };
            half[d].size = axes[d].size - first;
            return unsafe { self.walk(key, &half, Skip::along(&axes[d], first).from(ptrs), operands, splat, unroll) };
        }
        let walk = Walk::new(axes, units, splat);
        let mut args: Args = ptrs[..operands].iter().map(address).collect();
        args.push(address(&walk));
        args.extend_from_slice(self.params);
        let launch = Launch::linear(key, self.blocks(units, unroll), BLOCK);
        // SAFETY: the caller vouches for operands and parameters.
        unsafe { launch.on(self.device, &mut args) }
    }
}
