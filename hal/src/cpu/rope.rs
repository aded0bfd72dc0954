//! Rotary position embedding: rotates pairs of elements of each head by the angle of their position
//! in time.

use super::CpuStorage;
use super::compute::FloatCompute;
use super::element::Element;
use super::vector::{Kernel, vectorised};
use super::walk::{dispatch_float, gather, parallel, scatter};
use crate::{Layout, RopeForm};

type Input<'a> = (&'a CpuStorage, &'a Layout);

/// Below this number of elements, splitting over threads costs more than it saves.
const SERIAL: usize = 16_384;

/// A loop that rotates the pairs of a head. A pair starts at a multiple of `step`, and its second
/// element is `partner` after the first.
struct Turn<'a, C> {
    x: &'a [C],
    cos: &'a [C],
    sin: &'a [C],
    /// Distance from one pair to the next, and from a pair's first element to its second.
    step: usize,
    partner: usize,
    out: &'a mut [C],
}

impl<C: FloatCompute> Kernel for Turn<'_, C> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (i, (&c, &s)) in self.cos.iter().zip(self.sin).enumerate() {
            let (first, second) = (i * self.step, i * self.step + self.partner);
            let (x, y) = (self.x[first], self.x[second]);
            self.out[first] = x.fma(c, y.mul(s).neg());
            self.out[second] = x.fma(s, y.mul(c));
        }
    }
}

/// The rows of a view along its last dimension, addressed by the indices of the other dimensions.
#[derive(Clone, Copy)]
struct Rows<'a, P> {
    base: P,
    stride: &'a [usize],
}

impl<P> Rows<'_, P> {
    fn offset(&self, index: &[usize]) -> usize {
        index.iter().zip(self.stride).map(|(i, s)| i * s).sum()
    }

    fn step(&self) -> usize {
        self.stride[self.stride.len() - 1]
    }
}

// SAFETY: the pointers point to buffers that are borrowed for the whole operation; the inputs are
// not written, and each row of the destination is written by one thread.
unsafe impl<P> Sync for Rows<'_, P> {}

impl<T: bytemuck::Pod> Rows<'_, *const T> {
    /// # Safety
    /// The row must lie in the buffer.
    unsafe fn read(&self, index: &[usize], out: &mut [T]) {
        let n = out.len();
        // SAFETY: the caller promises that the row lies in the buffer, and nothing writes the
        // buffer.
        unsafe { gather(self.base.wrapping_add(self.offset(index)), &[n], &[self.step()], 0..n, out) };
    }
}

pub(super) fn rope(form: RopeForm, x: Input<'_>, cos_sin: [Input<'_>; 2], dst: &mut CpuStorage, dst_layout: &Layout) {
    dispatch_float!(dst.dtype(), T => turn::<T>(form, x, cos_sin, dst, dst_layout));
}

fn turn<T: Element<Compute: FloatCompute>>(
    form: RopeForm,
    x: Input<'_>,
    cos_sin: [Input<'_>; 2],
    dst: &mut CpuStorage,
    dst_layout: &Layout,
) {
    fn rows<'a, T: Element>((storage, layout): Input<'a>) -> Rows<'a, *const T> {
        let elements = storage.as_slice::<T>().expect("the dtype was dispatched on");
        // An empty layout may have any offset; none of its elements is accessed.
        Rows { base: elements.as_ptr().wrapping_add(layout.start_offset()), stride: layout.stride() }
    }
    let [a, b, c, d] = *dst_layout.dims() else { unreachable!("validated to be of rank 4") };
    let half = d / 2;
    if half == 0 {
        return;
    }
    let (step, partner) = if form == RopeForm::Interleaved { (2, 1) } else { (1, half) };
    let elements = dst.as_mut_slice::<T>().expect("the dtype was dispatched on");
    let to = Rows { base: elements.as_mut_ptr().wrapping_add(dst_layout.start_offset()), stride: dst_layout.stride() };
    let (x, cos, sin) = (rows::<T>(x), rows::<T>(cos_sin[0]), rows::<T>(cos_sin[1]));
    parallel(a * b * c, SERIAL.div_ceil(d), &|heads| {
        let to = &to;
        let zeros = |n: usize| (vec![T::zeroed(); n], vec![<T::Compute as bytemuck::Zeroable>::zeroed(); n]);
        let ((mut xs, mut wide_x), (mut results, mut wide_results)) = (zeros(d), zeros(d));
        let ((mut cs, mut wide_cos), (mut ss, mut wide_sin)) = (zeros(half), zeros(half));
        for head in heads {
            let index = [head / (b * c), head / c % b, head % c];
            let time = if form == RopeForm::Thd { index[1] } else { index[2] };
            // SAFETY: the layouts were validated to lie in their buffers.
            unsafe {
                x.read(&index, &mut xs);
                for (table, out) in [(&cos, &mut cs), (&sin, &mut ss)] {
                    // The table may have a leading batch dimension.
                    table.read(&[index[0], time][3 - table.stride.len()..], out);
                }
            }
            let turn = |out: &mut [T::Compute]| {
                let x = T::load(&xs, &mut wide_x);
                let (cos, sin) = (T::load(&cs, &mut wide_cos), T::load(&ss, &mut wide_sin));
                vectorised(Turn { x, cos, sin, step, partner, out });
            };
            T::store(&mut results, &mut wide_results, turn);
            let base = to.base.wrapping_add(to.offset(&index));
            // SAFETY: the layout was validated to lie in the buffer and not to overlap itself, and
            // one thread has this head.
            unsafe { scatter(&results, base, &[d], &[to.step()], 0..d) };
        }
    });
}
