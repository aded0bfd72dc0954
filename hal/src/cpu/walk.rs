//! Iteration over layouts: an elementwise operation goes block by block through the logical row-major order, and sees plain slices.
//!
//! Operands that lie contiguous are seen where they are; others are gathered into a block on the stack, and results scattered from one. So an operation has one
//! inner loop, over slices, whatever the layouts; a loop for each combination of strides took several times as long to compile.

use super::CpuStorage;
use super::element::Element;
use super::vector::{Kernel, vectorised};
use crate::{Dims, Layout, Src, collapse};
use rayon::prelude::*;
use std::marker::PhantomData;
use std::ops::Range;

/// Elements in a block: a few of them fit the first-level cache at 8 bytes each.
pub(super) const BLOCK: usize = 1024;

/// Blocks that a thread takes at a time.
const GROUP: usize = 16;

/// Calls `run` with the offset and the length of every stretch of the innermost dimension in `range` of the logical order.
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

/// Reads elements of a strided view, in logical order, into `out`.
///
/// # Safety
/// Every element of the view that `range` names must lie in a live buffer of `T` that `base` points into, and none may be written meanwhile.
pub(super) unsafe fn gather<T: Copy>(
    base: *const T,
    dims: &[usize],
    strides: &[usize],
    range: Range<usize>,
    out: &mut [T],
) {
    debug_assert_eq!(range.len(), out.len());
    let stride = strides.last().copied().unwrap_or(1);
    let mut done = 0;
    for_runs(dims, strides, range, |offset, n| {
        let run = &mut out[done..done + n];
        done += n;
        if stride == 1 {
            // SAFETY: the caller's promise; the run lies in the buffer, and `out` is borrowed by us alone.
            unsafe { std::ptr::copy_nonoverlapping(base.add(offset), run.as_mut_ptr(), n) };
        } else {
            // SAFETY: the caller's promise; each is an element of the view.
            run.iter_mut().enumerate().for_each(|(i, o)| *o = unsafe { *base.add(offset + i * stride) });
        }
    });
}

/// Where an operand's elements are: a typed pointer is made of it where the type is known.
struct View {
    base: *mut u8,
    strides: Dims,
    contiguous: bool,
    /// The destination as a source: it is written while it is read, so it is never lent as a slice.
    in_place: bool,
}

// SAFETY: a view is a pointer into a buffer that the walk borrows for longer than it lives, and threads touch disjoint elements of what is written.
unsafe impl Sync for View {}

impl View {
    fn new(base: *mut u8, layout: &Layout, size: usize, dims: &[usize], strides: Dims, in_place: bool) -> Self {
        let mut step = 1;
        let mut contiguous = true;
        for (&d, &s) in dims.iter().zip(&strides).rev() {
            contiguous &= s == step;
            step *= d;
        }
        // A layout without elements may have any offset, and none of its elements is touched.
        let base = if step == 0 { base } else { base.wrapping_add(layout.start_offset() * size) };
        Self { base, strides, contiguous, in_place }
    }
}

/// An elementwise pass over a destination and `N` sources of one shape, all validated.
pub(super) struct Walk<'a, const N: usize> {
    dims: Dims,
    len: usize,
    dst: View,
    srcs: [View; N],
    borrows: PhantomData<(&'a CpuStorage, &'a mut CpuStorage)>,
}

impl<'a, const N: usize> Walk<'a, N> {
    /// A pass over operands that [`crate::validate`] has accepted.
    pub fn new(srcs: [Src<'a, CpuStorage>; N], dst: &'a mut CpuStorage, dst_layout: &Layout) -> Self {
        let mut layouts = [dst_layout; N];
        for (layout, src) in layouts.iter_mut().zip(&srcs) {
            if let Src::Storage(_, l) = src {
                *layout = l;
            }
        }
        let all: smallvec::SmallVec<[&Layout; 4]> = std::iter::once(dst_layout).chain(layouts).collect();
        let collapsed = collapse(&all);
        let mut strides = collapsed.strides.into_iter();
        let mut next = || strides.next().expect("one set of strides a layout");
        let dims = collapsed.dims;
        let size = dst.dtype().size_in_bytes();
        let base = dst.as_bytes_mut().as_mut_ptr();
        let dst = View::new(base, dst_layout, size, &dims, next(), false);
        let srcs = std::array::from_fn(|i| match srcs[i] {
            Src::Storage(s, l) => {
                View::new(s.as_bytes().as_ptr().cast_mut(), l, s.dtype().size_in_bytes(), &dims, next(), false)
            }
            Src::Dst => View::new(base, dst_layout, size, &dims, next(), true),
        });
        Self { len: dst_layout.elem_count(), dims, dst, srcs, borrows: PhantomData }
    }

    /// Calls `body` with blocks that together are the whole, in groups, on several threads where there are many.
    ///
    /// `body` is a trait object to keep the threading out of what is compiled for every operation and dtype; with a generic one the crate took three times as long to build.
    pub fn run(&self, body: &(dyn Fn(&mut dyn Iterator<Item = Block<'_, N>>) + Sync)) {
        let block = |i: usize| Block { walk: self, range: i * BLOCK..self.len.min((i + 1) * BLOCK) };
        parallel(self.len.div_ceil(BLOCK), GROUP, &|blocks| body(&mut blocks.map(block)));
    }
}

/// Calls `body` with ranges of at most `group` that together are `0..n`, on several threads where there are more than two.
pub(super) fn parallel(n: usize, group: usize, body: &(dyn Fn(Range<usize>) + Sync)) {
    let groups = n.div_ceil(group);
    let range = |g: usize| g * group..n.min((g + 1) * group);
    if groups <= 2 {
        (0..groups).for_each(|g| body(range(g)));
    } else {
        (0..groups).into_par_iter().for_each(|g| body(range(g)));
    }
}

/// A stretch of the logical order. Blocks of one walk do not overlap.
pub(super) struct Block<'w, const N: usize> {
    walk: &'w Walk<'w, N>,
    range: Range<usize>,
}

impl<const N: usize> Block<'_, N> {
    /// How many elements it has.
    pub fn len(&self) -> usize {
        self.range.len()
    }

    /// The place of its first element in the logical order.
    pub fn start(&self) -> usize {
        self.range.start
    }

    /// The elements of a source; `T` has the size of its elements.
    pub fn source<'s, T: bytemuck::Pod>(&'s self, i: usize, buf: &'s mut [T; BLOCK]) -> &'s [T] {
        let view = &self.walk.srcs[i];
        let base = view.base.cast::<T>().cast_const();
        if view.contiguous && !view.in_place {
            // SAFETY: the layout was validated to lie in the buffer, which is borrowed for the walk and not written: only the destination is, through its own
            // storage, which no other source can be.
            return unsafe { std::slice::from_raw_parts(base.add(self.range.start), self.len()) };
        }
        let buf = &mut buf[..self.len()];
        // SAFETY: the layout was validated to lie in the buffer. Where it is the destination's own, other threads write other blocks, whose elements are
        // others, as the destination was validated not to overlap itself.
        unsafe { gather(base, &self.walk.dims, &view.strides, self.range.clone(), buf) };
        buf
    }

    /// Writes the elements of the destination: `fill` gets a slice of them in logical order and must write all; `T` has the size of its elements.
    pub fn target<T: bytemuck::Pod>(&self, buf: &mut [T; BLOCK], fill: impl FnOnce(&mut [T])) {
        let view = &self.walk.dst;
        let base = view.base.cast::<T>();
        if view.contiguous {
            // SAFETY: the layout was validated to lie in the buffer, which the walk borrows alone; no other block names these elements, and sources in place were
            // copied out before.
            return fill(unsafe { std::slice::from_raw_parts_mut(base.add(self.range.start), self.len()) });
        }
        let buf = &mut buf[..self.len()];
        fill(buf);
        // SAFETY: as above, element by element.
        unsafe { scatter(buf, base, &self.walk.dims, &view.strides, self.range.clone()) };
    }
}

/// Writes `src` to the elements of a strided view, in logical order.
///
/// # Safety
/// Every element of the view that `range` names must lie in a live buffer of `T` that `base` points into, and nothing else may touch it meanwhile.
pub(super) unsafe fn scatter<T: Copy>(src: &[T], base: *mut T, dims: &[usize], strides: &[usize], range: Range<usize>) {
    debug_assert_eq!(range.len(), src.len());
    let stride = strides.last().copied().unwrap_or(1);
    let mut done = 0;
    for_runs(dims, strides, range, |offset, n| {
        let run = &src[done..done + n];
        done += n;
        // SAFETY: the caller's promise; each is an element of the view.
        run.iter().enumerate().for_each(|(i, &v)| unsafe { *base.add(offset + i * stride) = v });
    });
}

/// A function of `N` values of one compute type. `call` must be `#[inline(always)]`, and so must all that it calls.
pub(super) trait Function<const N: usize, C, O>: Copy + Send + Sync {
    fn call(self, x: [C; N]) -> O;
}

struct Apply<'a, const N: usize, C, O, F>(F, [&'a [C]; N], &'a mut [O]);

impl<const N: usize, C: Copy, O, F: Function<N, C, O>> Kernel for Apply<'_, N, C, O, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Apply(f, srcs, out) = self;
        let srcs = srcs.map(|s| &s[..out.len()]);
        for (i, o) in out.iter_mut().enumerate() {
            *o = f.call(srcs.map(|s| s[i]));
        }
    }
}

/// What a thread gathers a block into.
pub(super) fn zeroed<T: bytemuck::Pod>() -> [T; BLOCK] {
    [T::zeroed(); BLOCK]
}

/// `dst = f(srcs)`, element by element: widened to the compute type before, rounded to the destination's dtype after.
pub(super) fn map<const N: usize, T: Element, O: Element>(
    f: impl Function<N, T::Compute, O::Compute>,
    srcs: [Src<'_, CpuStorage>; N],
    dst: &mut CpuStorage,
    dst_layout: &Layout,
) {
    map_blocks::<N, T, O>(&|srcs, out| vectorised(Apply(f, srcs, out)), srcs, dst, dst_layout);
}

/// `f` of a block of widened sources, for the results before they are rounded.
type BlockFunction<'a, const N: usize, T, O> =
    dyn Fn([&[<T as Element>::Compute]; N], &mut [<O as Element>::Compute]) + Sync + 'a;

fn map_blocks<const N: usize, T: Element, O: Element>(
    f: &BlockFunction<'_, N, T, O>,
    srcs: [Src<'_, CpuStorage>; N],
    dst: &mut CpuStorage,
    dst_layout: &Layout,
) {
    Walk::new(srcs, dst, dst_layout).run(&|blocks| {
        let (mut elements, mut widened) = ([zeroed::<T>(); N], [zeroed::<T::Compute>(); N]);
        let (mut results, mut rounded) = (zeroed::<O::Compute>(), zeroed::<O>());
        for block in blocks {
            let mut buffers = elements.iter_mut().zip(&mut widened);
            let srcs = std::array::from_fn(|i| {
                let (elements, widened) = buffers.next().expect("a pair of buffers a source");
                T::load(block.source(i, elements), widened)
            });
            block.target(&mut rounded, |out| O::store(out, &mut results, |out| f(srcs, out)));
        }
    });
}

/// Runs an expression with a type name bound to the unsigned integer of an element's size, for operations that carry bits.
macro_rules! dispatch_size {
    ($dtype:expr, $T:ident => $body:expr) => {
        match $dtype.size_in_bytes() {
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
pub(super) use dispatch_size;

/// Runs an expression with a type name bound to the Rust type of a dtype of floats. Others were refused by [`crate::validate`].
macro_rules! dispatch_float {
    ($dtype:expr, $T:ident => $body:expr) => {
        $crate::dispatch_dtype!(@arms $dtype, $T, $body, F8E4M3 F8E4M3, F16 f16, BF16 bf16, F32 f32, F64 f64)
    };
}
pub(super) use dispatch_float;
