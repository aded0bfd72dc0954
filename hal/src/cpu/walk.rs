//! Iteration over layouts: an elementwise operation goes block by block through the logical
//! row-major order and works on plain slices.
//!
//! Contiguous operands are used in place; others are gathered into a block on the stack, and their
//! results are scattered from one. So an operation has one inner loop over slices, whatever the
//! layouts. A separate loop for each combination of strides took several times as long to compile.

use super::CpuStorage;
use super::element::Codec;
use super::vector::{Kernel, vectorised};
use crate::{Dims, Layout, Scalar, Src, collapse};
use rayon::prelude::*;
use std::marker::PhantomData;
use std::ops::Range;

/// Elements per block: at 8 bytes each, a few blocks fit the L1 cache.
pub(super) const BLOCK: usize = 1024;

/// Number of blocks that a thread takes at a time.
const GROUP: usize = 16;

/// Calls `run` with the offset and the length of every run along the innermost dimension in `range`
/// of the logical order.
#[inline]
pub(super) fn for_runs(dims: &[usize], strides: &[usize], range: Range<usize>, mut run: impl FnMut(usize, usize)) {
    let Some((&inner, outer)) = dims.split_last() else {
        return if !range.is_empty() {
            run(0, 1)
        };
    };
    if range.is_empty() {
        return;
    }
    let inner_stride = strides[outer.len()];
    let mut index = Dims::from_elem(0, outer.len());
    let mut rest = range.start / inner;
    let mut offset = 0;
    for d in (0..outer.len()).rev() {
        index[d] = rest % outer[d];
        rest /= outer[d];
        offset += index[d] * strides[d];
    }
    let (mut column, mut left) = (range.start % inner, range.len());
    loop {
        let n = left.min(inner - column);
        run(offset + column * inner_stride, n);
        left -= n;
        if left == 0 {
            return;
        }
        column = 0;
        for d in (0..outer.len()).rev() {
            index[d] += 1;
            offset += strides[d];
            if index[d] < outer[d] {
                break;
            }
            offset -= strides[d] * outer[d];
            index[d] = 0;
        }
    }
}

/// Runs an expression with a type name bound to the unsigned integer of a size.
macro_rules! by_size {
    ($size:expr, $T:ident => $body:expr) => {
        match $size {
            1 => {
                type $T = u8;
                $body
            }
            2 => {
                type $T = u16;
                $body
            }
            4 => {
                type $T = u32;
                $body
            }
            _ => {
                type $T = u64;
                $body
            }
        }
    };
}
pub(super) use by_size;

/// Reads elements of a strided view, in logical order, into `out`.
///
/// # Safety
/// Every element of the view in `range` must lie in a live buffer of `T` that `base` points into,
/// and none may be written meanwhile.
pub(super) unsafe fn gather<T: bytemuck::Pod>(
    base: *const T,
    dims: &[usize],
    strides: &[usize],
    range: Range<usize>,
    out: &mut [T],
) {
    debug_assert_eq!(range.len(), out.len());
    // SAFETY: the caller promises the same; `out` is borrowed exclusively and has room for the
    // range.
    unsafe { gather_bits(size_of::<T>(), base.cast(), dims, strides, range, out.as_mut_ptr().cast()) };
}

/// Like [`gather`], for elements of `size` bytes, so that it is compiled once per size.
///
/// # Safety
/// As [`gather`]; in addition `out` must have room for the range, and nothing else may access it.
pub(super) unsafe fn gather_bits(
    size: usize,
    base: *const u8,
    dims: &[usize],
    strides: &[usize],
    range: Range<usize>,
    out: *mut u8,
) {
    by_size!(size, B => {
        let (base, mut out) = (base.cast::<B>(), out.cast::<B>());
        let stride = strides.last().copied().unwrap_or(1);
        for_runs(dims, strides, range, |offset, n| {
            // SAFETY: the caller promises that each element of the view is valid and that `out` has
            // room for every run.
            unsafe {
                if stride == 1 {
                    std::ptr::copy_nonoverlapping(base.add(offset), out, n);
                } else {
                    (0..n).for_each(|i| *out.add(i) = *base.add(offset + i * stride));
                }
                out = out.add(n);
            }
        });
    });
}

/// Memory that a thread reuses from block to block. It never shrinks.
#[derive(Default)]
pub(super) struct Buffer(Vec<u64>);

impl Buffer {
    /// Returns `n` bytes with arbitrary content, aligned for every element type.
    pub fn bytes(&mut self, n: usize) -> &mut [u8] {
        if self.0.len() * 8 < n {
            self.0.resize(n.div_ceil(8), 0);
        }
        &mut bytemuck::cast_slice_mut(&mut self.0)[..n]
    }
}

/// The location of an operand's elements. The pointer is cast once the type is known.
struct View {
    base: *mut u8,
    strides: Dims,
    contiguous: bool,
    /// Whether the source is the destination itself. It is written while it is read, so it is never
    /// borrowed as a slice.
    in_place: bool,
    /// The element of a scalar, which has no buffer, in the first bytes.
    scalar: Option<u64>,
}

// SAFETY: a view points into a buffer that the walk borrows for longer than the view lives, and
// threads access disjoint elements of a buffer that is written.
unsafe impl Sync for View {}

impl View {
    fn new(base: *mut u8, layout: &Layout, size: usize, dims: &[usize], strides: Dims, in_place: bool) -> Self {
        let mut step = 1;
        let mut contiguous = true;
        for (&d, &s) in dims.iter().zip(&strides).rev() {
            contiguous &= s == step;
            step *= d;
        }
        // An empty layout may have any offset; none of its elements is accessed.
        let base = if step == 0 { base } else { base.wrapping_add(layout.start_offset() * size) };
        Self { base, strides, contiguous, in_place, scalar: None }
    }

    /// Creates a view of one value that is the same everywhere.
    fn scalar(value: Scalar, dims: &[usize]) -> Self {
        let strides = Dims::from_elem(0, dims.len());
        let size = value.dtype().size_in_bytes();
        let mut bytes = value.to_bits().to_le_bytes();
        if cfg!(target_endian = "big") {
            bytes[..size].reverse();
        }
        let element = u64::from_ne_bytes(bytes);
        Self { base: std::ptr::null_mut(), strides, contiguous: false, in_place: false, scalar: Some(element) }
    }
}

/// An elementwise pass over a destination and `N` sources of the same shape, all validated.
pub(super) struct Walk<'a, const N: usize> {
    dims: Dims,
    len: usize,
    dst: View,
    srcs: [View; N],
    borrows: PhantomData<(&'a CpuStorage, &'a mut CpuStorage)>,
}

impl<'a, const N: usize> Walk<'a, N> {
    /// Creates a pass over operands that [`crate::validate`] has accepted.
    pub fn new(srcs: [Src<'a, CpuStorage>; N], dst: &'a mut CpuStorage, dst_layout: &Layout) -> Self {
        let mut layouts = [dst_layout; N];
        for (layout, src) in layouts.iter_mut().zip(&srcs) {
            if let Some((_, l)) = src.storage() {
                *layout = l;
            }
        }
        let all: smallvec::SmallVec<[&Layout; 4]> = std::iter::once(dst_layout).chain(layouts).collect();
        let collapsed = collapse(&all);
        let mut strides = collapsed.strides.into_iter();
        let mut next = || strides.next().expect("one set of strides per layout");
        let dims = collapsed.dims;
        let size = dst.dtype().size_in_bytes();
        let base = dst.as_bytes_mut().as_mut_ptr();
        let dst = View::new(base, dst_layout, size, &dims, next(), false);
        let srcs = std::array::from_fn(|i| match (srcs[i], srcs[i].storage(), next()) {
            (Src::Scalar(value), ..) => View::scalar(value, &dims),
            (_, Some((s, l)), strides) => {
                View::new(s.as_bytes().as_ptr().cast_mut(), l, s.dtype().size_in_bytes(), &dims, strides, false)
            }
            (_, None, strides) => View::new(base, dst_layout, size, &dims, strides, true),
        });
        Self { len: dst_layout.elem_count(), dims, dst, srcs, borrows: PhantomData }
    }

    /// Calls `body` with blocks that together cover all elements, in groups, on several threads if
    /// there are many.
    ///
    /// `body` is a trait object, so that the threading code is not compiled for every operation and
    /// dtype. With a generic parameter the crate took three times as long to build.
    pub fn run(&self, body: &(dyn Fn(&mut dyn Iterator<Item = Block<'_, N>>) + Sync)) {
        let block = |i: usize| Block { walk: self, range: i * BLOCK..self.len.min((i + 1) * BLOCK) };
        parallel(self.len.div_ceil(BLOCK), GROUP, &|blocks| body(&mut blocks.map(block)));
    }
}

/// Calls `body` with ranges of at most `group` elements that together cover `0..n`, on several
/// threads if there are more than two ranges.
pub(super) fn parallel(n: usize, group: usize, body: &(dyn Fn(Range<usize>) + Sync)) {
    let groups = n.div_ceil(group);
    let range = |g: usize| g * group..n.min((g + 1) * group);
    if groups <= 2 {
        (0..groups).for_each(|g| body(range(g)));
    } else {
        (0..groups).into_par_iter().for_each(|g| body(range(g)));
    }
}

/// A range of the logical order. Blocks of one walk do not overlap.
pub(super) struct Block<'w, const N: usize> {
    walk: &'w Walk<'w, N>,
    range: Range<usize>,
}

impl<const N: usize> Block<'_, N> {
    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.range.len()
    }

    /// Returns the index of its first element in the logical order.
    pub fn start(&self) -> usize {
        self.range.start
    }

    /// Returns a pointer to a source's elements if they are contiguous and not written meanwhile.
    fn direct(&self, i: usize, size: usize) -> Option<*const u8> {
        let view = &self.walk.srcs[i];
        // A block starts inside the buffer, because the layout was validated to lie in it.
        (view.contiguous && !view.in_place).then(|| view.base.cast_const().wrapping_add(self.range.start * size))
    }

    /// Reads a source's elements of the block into `out`.
    ///
    /// # Safety
    /// `out` must have room for these elements, and nothing else may access it.
    unsafe fn gather(&self, i: usize, size: usize, out: *mut u8) {
        let view = &self.walk.srcs[i];
        let base = view.scalar.as_ref().map_or(view.base.cast_const(), |element| std::ptr::from_ref(element).cast());
        // SAFETY: the layout was validated to lie in the buffer. If it is the destination's own
        // layout, other threads write other blocks, whose elements are different, because the
        // destination was validated not to overlap itself. A scalar's strides are 0, and its bytes
        // hold one element.
        unsafe { gather_bits(size, base, &self.walk.dims, &view.strides, self.range.clone(), out) };
    }

    /// Returns the elements of a source; `T` must have the size of its elements.
    pub fn source<'s, T: bytemuck::Pod>(&'s self, i: usize, buf: &'s mut [T; BLOCK]) -> &'s [T] {
        if let Some(base) = self.direct(i, size_of::<T>()) {
            // SAFETY: the layout was validated to lie in the buffer, which is borrowed for the walk
            // and not written: only the destination is written, through its own storage, and no
            // source can be the same storage.
            return unsafe { std::slice::from_raw_parts(base.cast(), self.len()) };
        }
        let buf = &mut buf[..self.len()];
        // SAFETY: `buf` has room for the block.
        unsafe { self.gather(i, size_of::<T>(), buf.as_mut_ptr().cast()) };
        buf
    }

    /// Returns the bytes of a source's elements, which have `size` bytes each.
    pub fn source_bytes<'s>(&'s self, i: usize, size: usize, buf: &'s mut Buffer) -> &'s [u8] {
        if let Some(base) = self.direct(i, size) {
            // SAFETY: as in `source`.
            return unsafe { std::slice::from_raw_parts(base, self.len() * size) };
        }
        let buf = buf.bytes(self.len() * size);
        // SAFETY: `buf` has room for the block.
        unsafe { self.gather(i, size, buf.as_mut_ptr()) };
        buf
    }

    /// Returns a pointer to the destination's elements if they are contiguous.
    fn direct_target(&self, size: usize) -> Option<*mut u8> {
        let view = &self.walk.dst;
        view.contiguous.then(|| view.base.wrapping_add(self.range.start * size))
    }

    /// Writes the destination's elements of the block.
    ///
    /// # Safety
    /// `src` must have as many elements as the block.
    unsafe fn scatter(&self, size: usize, src: *const u8) {
        let view = &self.walk.dst;
        // SAFETY: the layout was validated to lie in the buffer, which the walk borrows
        // exclusively; no other block has these elements, and in-place sources were copied out
        // before.
        unsafe { scatter_bits(size, src, view.base, &self.walk.dims, &view.strides, self.range.clone()) };
    }

    /// Writes the elements of the destination: `fill` receives a slice of them in logical order and
    /// must write all of it. `T` must have the size of the elements.
    pub fn target<T: bytemuck::Pod>(&self, buf: &mut [T; BLOCK], fill: impl FnOnce(&mut [T])) {
        let direct = self.direct_target(size_of::<T>());
        let out = match direct {
            // SAFETY: the layout was validated to lie in the buffer, which the walk borrows
            // exclusively; no other block has these elements, and in-place sources were copied out
            // before.
            Some(base) => unsafe { std::slice::from_raw_parts_mut(base.cast(), self.len()) },
            None => &mut buf[..self.len()],
        };
        fill(out);
        if direct.is_none() {
            // SAFETY: `out` has the block's elements.
            unsafe { self.scatter(size_of::<T>(), out.as_ptr().cast()) };
        }
    }

    /// Like [`target`](Self::target), for the bytes of elements of `size` bytes each.
    pub fn target_bytes(&self, size: usize, buf: &mut Buffer, fill: impl FnOnce(&mut [u8])) {
        let (direct, n) = (self.direct_target(size), self.len() * size);
        let out = match direct {
            // SAFETY: as in `target`.
            Some(base) => unsafe { std::slice::from_raw_parts_mut(base, n) },
            None => buf.bytes(n),
        };
        fill(out);
        if direct.is_none() {
            // SAFETY: `out` has the block's elements.
            unsafe { self.scatter(size, out.as_ptr()) };
        }
    }
}

/// Writes `src` to the elements of a strided view, in logical order.
///
/// # Safety
/// Every element of the view in `range` must lie in a live buffer of `T` that `base` points into,
/// and nothing else may access it meanwhile.
pub(super) unsafe fn scatter<T: bytemuck::Pod>(
    src: &[T],
    base: *mut T,
    dims: &[usize],
    strides: &[usize],
    range: Range<usize>,
) {
    debug_assert_eq!(range.len(), src.len());
    // SAFETY: the caller promises the same; `src` has as many elements as the range.
    unsafe { scatter_bits(size_of::<T>(), src.as_ptr().cast(), base.cast(), dims, strides, range) };
}

/// Like [`scatter`], for elements of `size` bytes, so that it is compiled once per size.
///
/// # Safety
/// As [`scatter`]; in addition `src` must have as many elements as the range.
pub(super) unsafe fn scatter_bits(
    size: usize,
    src: *const u8,
    base: *mut u8,
    dims: &[usize],
    strides: &[usize],
    range: Range<usize>,
) {
    by_size!(size, B => {
        let (mut src, base) = (src.cast::<B>(), base.cast::<B>());
        let stride = strides.last().copied().unwrap_or(1);
        for_runs(dims, strides, range, |offset, n| {
            // SAFETY: the caller promises that each element of the view is valid and that `src` has
            // the elements of every run.
            unsafe {
                if stride == 1 {
                    std::ptr::copy_nonoverlapping(src, base.add(offset), n);
                } else {
                    (0..n).for_each(|i| *base.add(offset + i * stride) = *src.add(i));
                }
                src = src.add(n);
            }
        });
    });
}

/// A function of `N` values of one compute type. `call` and everything it calls must be
/// `#[inline(always)]`.
pub(super) trait Function<const N: usize, C, O>: Copy + Send + Sync {
    fn call(self, x: [C; N]) -> O;
}

/// A function of blocks of values of one compute type. It hides its types, so that the code that
/// goes through layouts is compiled only once.
pub(super) trait BlockFunction<const N: usize>: Sync {
    /// Writes `out`, a block of values of the result's compute type.
    fn apply(&self, srcs: [&[u8]; N], out: &mut [u8]);
}

/// Applies a function of values to each value of a block.
pub(super) struct Each<F, C, O>(F, PhantomData<fn(C) -> O>);

impl<F, C, O> Each<F, C, O> {
    pub const fn value(f: F) -> Self {
        Self(f, PhantomData)
    }
}

struct Apply<'a, const N: usize, C, O, F>(F, [&'a [C]; N], &'a mut [O]);

impl<C: Copy, O, F: Function<1, C, O>> Kernel for Apply<'_, 1, C, O, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Apply(f, [x], out) = self;
        for (o, &x) in out.iter_mut().zip(x) {
            *o = f.call([x]);
        }
    }
}

impl<C: Copy, O, F: Function<2, C, O>> Kernel for Apply<'_, 2, C, O, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Apply(f, [x, y], out) = self;
        for (o, (&x, &y)) in out.iter_mut().zip(x.iter().zip(y)) {
            *o = f.call([x, y]);
        }
    }
}

impl<C: bytemuck::Pod, O: bytemuck::Pod, F: Function<1, C, O>> BlockFunction<1> for Each<F, C, O> {
    fn apply(&self, [x]: [&[u8]; 1], out: &mut [u8]) {
        vectorised(Apply(self.0, [values(x)], values_mut(out)));
    }
}

impl<C: bytemuck::Pod, O: bytemuck::Pod, F: Function<2, C, O>> BlockFunction<2> for Each<F, C, O> {
    fn apply(&self, [x, y]: [&[u8]; 2], out: &mut [u8]) {
        vectorised(Apply(self.0, [values(x), values(y)], values_mut(out)));
    }
}

/// Casts the bytes of a block to values.
pub(super) fn values<C: bytemuck::Pod>(bytes: &[u8]) -> &[C] {
    bytemuck::cast_slice(bytes)
}

/// Casts the bytes of a block to mutable values.
pub(super) fn values_mut<C: bytemuck::Pod>(bytes: &mut [u8]) -> &mut [C] {
    bytemuck::cast_slice_mut(bytes)
}

/// Returns a zeroed buffer for one block.
pub(super) fn zeroed<T: bytemuck::Pod>() -> [T; BLOCK] {
    [T::zeroed(); BLOCK]
}

/// Computes `dst = f(srcs)` element by element. Elements are widened to the compute type before `f`
/// and rounded to the destination's dtype after it. All sources have the same dtype.
pub(super) fn map<const N: usize>(
    f: &dyn BlockFunction<N>,
    srcs: [Src<'_, CpuStorage>; N],
    dst: &mut CpuStorage,
    dst_layout: &Layout,
) {
    let to = Codec::of(dst.dtype());
    let from = srcs.iter().find_map(|src| src.storage()).map_or(to, |(storage, _)| Codec::of(storage.dtype()));
    Walk::new(srcs, dst, dst_layout).run(&|blocks| {
        let mut buffers: [[Buffer; 2]; N] = std::array::from_fn(|_| Default::default());
        let [mut results, mut rounded] = [Buffer::default(), Buffer::default()];
        for block in blocks {
            let mut srcs: [&[u8]; N] = [&[]; N];
            for (i, (src, [elements, widened])) in srcs.iter_mut().zip(&mut buffers).enumerate() {
                *src = from.widened(block.source_bytes(i, from.size, elements), widened);
            }
            block.target_bytes(to.size, &mut rounded, |out| to.rounded(out, &mut results, |out| f.apply(srcs, out)));
        }
    });
}

/// Runs an expression with a type name bound to the unsigned integer of an element's size, for
/// operations that copy bits.
macro_rules! dispatch_size {
    ($dtype:expr, $T:ident => $body:expr) => {
        $crate::cpu::walk::by_size!($dtype.size_in_bytes(), $T => $body)
    };
}
pub(super) use dispatch_size;

/// Runs an expression with a type name bound to the Rust type of a float dtype.
macro_rules! dispatch_any_float {
    ($dtype:expr, $T:ident => $body:expr) => {
        $crate::dispatch_dtype!(@arms $dtype, $T, $body,
            F8E4M3 F8E4M3, F8E5M2 F8E5M2, F16 f16, BF16 bf16, F32 f32, F64 f64)
    };
}
pub(super) use dispatch_any_float;

/// The same for operations that combine elements, which do not take f8e5m2. [`crate::validate`] has
/// rejected other dtypes.
macro_rules! dispatch_float {
    ($dtype:expr, $T:ident => $body:expr) => {
        $crate::dispatch_dtype!(@arms $dtype, $T, $body, F8E4M3 F8E4M3, F16 f16, BF16 bf16, F32 f32, F64 f64)
    };
}
pub(super) use dispatch_float;

/// The same for the dtypes that products have: floats and the wide integers.
macro_rules! dispatch_product {
    ($dtype:expr, $T:ident => $body:expr) => {
        $crate::dispatch_dtype!(@arms $dtype, $T, $body, F8E4M3 F8E4M3, F16 f16, BF16 bf16, F32 f32, F64 f64, U32 u32, I32 i32, I64 i64)
    };
}
pub(super) use dispatch_product;

/// The same for floats whose compute type is f32.
macro_rules! dispatch_float_f32 {
    ($dtype:expr, $T:ident => $body:expr) => {
        $crate::dispatch_dtype!(@arms $dtype, $T, $body, F8E4M3 F8E4M3, F16 f16, BF16 bf16, F32 f32)
    };
}
pub(super) use dispatch_float_f32;

/// Runs an expression with a type name bound to the compute type of a dtype.
macro_rules! dispatch_compute {
    ($dtype:expr, $C:ident => $body:expr) => {
        $crate::dispatch_dtype!(@arms $dtype.compute(), $C, $body,
            U8 u8, I8 i8, U16 u16, I16 i16, U32 u32, I32 i32, U64 u64, I64 i64, F32 f32, F64 f64)
    };
}
pub(super) use dispatch_compute;

/// Runs an expression with a type name bound to the Rust type of an integer dtype.
/// [`crate::validate`] has rejected other dtypes.
macro_rules! dispatch_int {
    ($dtype:expr, $C:ident => $body:expr) => {
        $crate::dispatch_dtype!(@arms $dtype, $C, $body,
            U8 u8, I8 i8, U16 u16, I16 i16, U32 u32, I32 i32, U64 u64, I64 i64)
    };
}
pub(super) use dispatch_int;

/// Runs an expression with a type name bound to the compute type of a float dtype.
/// [`crate::validate`] has rejected other dtypes.
macro_rules! dispatch_float_compute {
    ($dtype:expr, $C:ident => $body:expr) => {
        $crate::dispatch_dtype!(@arms $dtype.compute(), $C, $body, F32 f32, F64 f64)
    };
}
pub(super) use dispatch_float_compute;

/// Runs an expression with a type name bound to a type that has a dtype's recipes.
macro_rules! dispatch_recipes {
    ($dtype:expr, $R:ident => $body:expr) => {{
        let dtype = match $dtype {
            $crate::DType::F8E4M3 => $crate::DType::F16,
            $crate::DType::F8E5M2 => $crate::DType::F32,
            other => other,
        };
        $crate::dispatch_dtype!(@arms dtype, $R, $body, F16 f16, BF16 bf16, F32 f32, F64 f64)
    }};
}
pub(super) use dispatch_recipes;
