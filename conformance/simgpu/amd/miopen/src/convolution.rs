//! The arithmetic of convolutions and of their gradients by the input, over tensors without gaps.

use crate::descriptors::{Convolution, Tensor};
use crate::number::Element;
use isobit_simgpu_standin::Access;

/// One call with its shapes checked, and where its operands lie. For the gradient, the result is the convolution's input and the source its result.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call {
    pub(crate) conv: Convolution,
    pub(crate) is_gradient: bool,
    /// The convolution's input, filter and result.
    pub(crate) tensors: [Tensor; 3],
    /// Their addresses.
    pub(crate) addresses: [usize; 3],
}

/// What the operands are called in findings.
const NAMES: [&str; 2] = ["miopenConvolutionForwardImmediate", "miopenConvolutionBackwardDataImmediate"];

impl Call {
    /// Computes it where the simulator allows every access.
    ///
    /// # Safety
    /// Where `access` allows it, the operands' memory may be read and the result's written.
    pub(crate) unsafe fn run<T: Element>(&self, access: &Access<'_>) {
        let name = NAMES[usize::from(self.is_gradient)];
        let written = if self.is_gradient { 0 } else { 2 };
        let operands = ["x", "w", "y"];
        let allowed = (0..3).all(|i| {
            let at = std::ptr::with_exposed_provenance::<u8>(self.addresses[i]);
            let what = format!("{name}: {}{}", if self.is_gradient && i != 1 { "d" } else { "" }, operands[i]);
            access(at, self.tensors[i].elements() * size_of::<T>(), i == written, &what)
        });
        if !allowed {
            return;
        }
        let read = |i: usize| {
            let from = std::ptr::with_exposed_provenance::<T>(self.addresses[i]);
            // SAFETY: the simulator allowed it. It need not be aligned.
            (0..self.tensors[i].elements()).map(|e| unsafe { from.add(e).read_unaligned() }.widen()).collect::<Vec<_>>()
        };
        let result =
            if self.is_gradient { self.gradient(&read(2), &read(1)) } else { self.forward(&read(0), &read(1)) };
        let to = std::ptr::with_exposed_provenance_mut::<T>(self.addresses[written]);
        for (i, value) in result.into_iter().enumerate() {
            // SAFETY: the simulator allowed it; the result has as many elements.
            unsafe { to.add(i).write_unaligned(T::round(value)) };
        }
    }

    /// Calls `f` with the places in input, filter and result of every product.
    fn products(&self, mut f: impl FnMut(usize, usize, usize)) {
        let [x, w, y] = self.tensors.map(|t| t.dims);
        let at = |d: [usize; 4], i: [usize; 4]| ((i[0] * d[1] + i[1]) * d[2] + i[2]) * d[3] + i[3];
        let (c_group, k_group) = (w[1], w[0] / self.conv.groups);
        let along = |d: usize, out: usize, tap: usize, size: usize| {
            (out * self.conv.stride[d] + tap * self.conv.dilation[d])
                .checked_sub(self.conv.padding[d])
                .filter(|&i| i < size)
        };
        for n in 0..y[0] {
            for k in 0..y[1] {
                for (oh, ow) in (0..y[2]).flat_map(|oh| (0..y[3]).map(move |ow| (oh, ow))) {
                    for c in 0..c_group {
                        for (r, s) in (0..w[2]).flat_map(|r| (0..w[3]).map(move |s| (r, s))) {
                            let (Some(ih), Some(iw)) = (along(0, oh, r, x[2]), along(1, ow, s, x[3])) else { continue };
                            let channel = k / k_group * c_group + c;
                            f(at(x, [n, channel, ih, iw]), at(w, [k, c, r, s]), at(y, [n, k, oh, ow]));
                        }
                    }
                }
            }
        }
    }

    fn forward(&self, x: &[f32], w: &[f32]) -> Vec<f32> {
        let mut y = vec![0f32; self.tensors[2].elements()];
        self.products(|i, j, o| y[o] = x[i].mul_add(w[j], y[o]));
        y
    }

    fn gradient(&self, dy: &[f32], w: &[f32]) -> Vec<f32> {
        let mut dx = vec![0f32; self.tensors[0].elements()];
        self.products(|i, j, o| dx[i] = dy[o].mul_add(w[j], dx[i]));
        dx
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(conv: Convolution, x: [usize; 4], w: [usize; 4]) -> Call {
        let tensor = |dims: [usize; 4]| {
            let strides = [dims[1] * dims[2] * dims[3], dims[2] * dims[3], dims[3], 1];
            Tensor { data_type: crate::FLOAT, dims, strides }
        };
        let y = conv.result(&tensor(x), &tensor(w)).unwrap();
        Call { conv, is_gradient: false, tensors: [x, w, y].map(tensor), addresses: [0; 3] }
    }

    #[test]
    fn a_convolution_by_hand() {
        let call =
            call(Convolution { padding: [0, 1], stride: [1, 2], ..Default::default() }, [1, 1, 1, 5], [1, 1, 1, 3]);
        // 0 1 2 3 4 5 0 against 1 10 100, every second.
        assert_eq!(call.forward(&[1.0, 2.0, 3.0, 4.0, 5.0], &[1.0, 10.0, 100.0]), [210.0, 432.0, 54.0]);
        // Each element of the result spreads the filter to where it was taken.
        assert_eq!(call.gradient(&[1.0, 0.0, 2.0], &[1.0, 10.0, 100.0]), [10.0, 100.0, 0.0, 2.0, 20.0]);
    }

    #[test]
    fn groups_do_not_see_each_other() {
        let call = call(Convolution { groups: 2, ..Default::default() }, [1, 4, 1, 1], [2, 2, 1, 1]);
        assert_eq!(call.forward(&[1.0, 2.0, 3.0, 4.0], &[1.0, 10.0, 100.0, 1000.0]), [21.0, 4300.0]);
    }

    /// The gradient is the transpose: <y, conv(x)> is <gradient(y), x>.
    #[test]
    fn the_gradient_is_the_transpose() {
        let conv = Convolution { padding: [1, 2], stride: [2, 1], dilation: [1, 2], groups: 2 };
        let call = call(conv, [2, 4, 6, 7], [6, 2, 3, 2]);
        let numbers = |n: usize, step: usize| (0..n).map(|i| (i * step % 11) as f32 - 5.0).collect::<Vec<_>>();
        let [x, w, y] = [(0, 3), (1, 7), (2, 5)].map(|(i, step)| numbers(call.tensors[i].elements(), step));
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
        assert_eq!(dot(&y, &call.forward(&x, &w)), dot(&call.gradient(&y, &w), &x));
    }
}
