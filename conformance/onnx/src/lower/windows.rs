//! The windows of convolutions and pooling: sizes and padding, as ONNX's specification has them.

use super::shape::size_of;
use crate::graph::Call;
use crate::stop::{Lowered, Stop};
use crate::tensor::Tensor;

/// Windows over the spatial dimensions of an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Windows {
    pub kernel: Vec<usize>,
    pub stride: Vec<usize>,
    pub dilation: Vec<usize>,
    /// Padding before and after each dimension.
    pub before: Vec<usize>,
    pub after: Vec<usize>,
    /// Positions of the windows.
    pub output: Vec<usize>,
    /// Whether their number is rounded up.
    pub ceil: bool,
}

/// How an output's size is found from padding, or padding from an output's size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AutoPad {
    Explicit,
    Valid,
    SameUpper,
    SameLower,
}

impl AutoPad {
    pub(super) fn of(call: &Call<'_>) -> Lowered<Self> {
        Ok(match call.text("auto_pad", "NOTSET") {
            "NOTSET" | "" => Self::Explicit,
            "VALID" => Self::Valid,
            "SAME_UPPER" => Self::SameUpper,
            "SAME_LOWER" => Self::SameLower,
            other => return Err(call.unknown("auto_pad", other)),
        })
    }

    /// Splits padding between both sides. An odd rest is after the input, or before it.
    pub(super) fn split(self, total: usize) -> (usize, usize) {
        let less = total / 2;
        if self == Self::SameUpper { (less, total - less) } else { (total - less, less) }
    }
}

impl Windows {
    /// Reads the windows over an input of the sizes `input` from a node's attributes.
    pub(super) fn of(call: &Call<'_>, input: &[usize], kernel: Vec<usize>) -> Lowered<Self> {
        let rank = input.len();
        let (stride, dilation) = (call.sizes("strides", rank, 1)?, call.sizes("dilations", rank, 1)?);
        if [&kernel, &stride, &dilation].iter().any(|sizes| sizes.len() != rank || sizes.contains(&0)) {
            return Err(Stop::Failed(format!("windows of {kernel:?} do not fit an input of {input:?}")));
        }
        let auto = AutoPad::of(call)?;
        let is_explicit = auto == AutoPad::Explicit;
        let pads = if is_explicit { call.sizes("pads", 2 * rank, 0)? } else { vec![0; 2 * rank] };
        let is_same = matches!(auto, AutoPad::SameUpper | AutoPad::SameLower);
        Self::fitted(auto, input, [kernel, stride, dilation], &pads, call.flag("ceil_mode") && !is_same)
    }

    fn fitted(
        auto: AutoPad,
        input: &[usize],
        [kernel, stride, dilation]: [Vec<usize>; 3],
        pads: &[usize],
        ceil: bool,
    ) -> Lowered<Self> {
        let rank = input.len();
        let (mut before, mut after) = (pads[..rank].to_vec(), pads[rank..].to_vec());
        let mut output = Vec::with_capacity(rank);
        for d in 0..rank {
            let extent = (kernel[d] - 1) * dilation[d] + 1;
            if matches!(auto, AutoPad::SameUpper | AutoPad::SameLower) {
                let count = input[d].div_ceil(stride[d]);
                let needed = (count.max(1) - 1) * stride[d] + extent;
                (before[d], after[d]) = auto.split(needed.saturating_sub(input[d]));
                output.push(count);
                continue;
            }
            let rounding = if ceil { stride[d] - 1 } else { 0 };
            let room = (input[d] + before[d] + after[d] + rounding).checked_sub(extent);
            let room = room.ok_or_else(|| Stop::Failed(format!("no window of {kernel:?} fits into {input:?}")))?;
            let mut count = room / stride[d] + 1;
            // The last window has to start in the input or in the padding before it.
            if ceil && (count - 1) * stride[d] >= input[d] + before[d] {
                count -= 1;
            }
            output.push(count);
        }
        Ok(Self { kernel, stride, dilation, before, after, output, ceil })
    }

    /// Elements of a window.
    pub(super) fn taps(&self) -> usize {
        self.kernel.iter().product()
    }
}

/// Returns the dimensions after batch and channels.
pub(super) fn spatial(x: &Tensor) -> Lowered<&[usize]> {
    let missing = || Stop::Failed(format!("{:?} has no batch and channels", x.dims()));
    x.dims().get(2..).ok_or_else(missing)
}

/// Returns all positions of a shape in row-major order.
pub(super) fn coordinates(sizes: &[usize]) -> Vec<Vec<usize>> {
    sizes.iter().fold(vec![Vec::new()], |outer, &size| {
        outer.iter().flat_map(|at| (0..size).map(move |i| [&at[..], &[i]].concat())).collect()
    })
}

/// Returns the sizes of the windows: an attribute, or those of the kernel's last dimensions.
pub(super) fn kernel_of(call: &Call<'_>, weights: &[usize]) -> Lowered<Vec<usize>> {
    match call.ints("kernel_shape") {
        Some(kernel) => kernel.iter().map(|&size| size_of(size)).collect(),
        None => Ok(weights.to_vec()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn windows(auto: AutoPad, input: usize, kernel: usize, stride: usize, pads: [usize; 2], ceil: bool) -> Windows {
        Windows::fitted(auto, &[input], [vec![kernel], vec![stride], vec![1]], &pads, ceil).unwrap()
    }

    #[test]
    fn padding_and_sizes_are_those_of_the_specification() {
        // onnx's test_averagepool_2d_same_upper and _same_lower: 32 by windows of 2, padding 1.
        let upper = windows(AutoPad::SameUpper, 32, 2, 1, [0, 0], false);
        assert_eq!((&upper.before[..], &upper.after[..], &upper.output[..]), (&[0][..], &[1][..], &[32][..]));
        let lower = windows(AutoPad::SameLower, 32, 2, 1, [0, 0], false);
        assert_eq!((lower.before[0], lower.after[0]), (1, 0));
        // Explicit: floor((5 + 2 - 3) / 2) + 1, and (4 - 3) / 2 rounded up, plus 1.
        assert_eq!(windows(AutoPad::Explicit, 5, 3, 2, [1, 1], false).output, [3]);
        assert_eq!(windows(AutoPad::Explicit, 4, 3, 2, [0, 0], true).output, [2]);
        assert_eq!(windows(AutoPad::Explicit, 4, 3, 2, [0, 0], false).output, [1]);
        // A window that would start after the input does not count: torch.nn.MaxPool1d(1, 2, ceil).
        assert_eq!(windows(AutoPad::Explicit, 2, 1, 2, [0, 0], true).output, [1]);
        assert!(Windows::fitted(AutoPad::Valid, &[2], [vec![3], vec![1], vec![1]], &[0, 0], false).is_err());
    }

    #[test]
    fn coordinates_are_in_row_major_order() {
        assert_eq!(coordinates(&[2, 2]), [[0, 0], [0, 1], [1, 0], [1, 1]]);
        assert_eq!(coordinates(&[]).len(), 1);
        assert!(coordinates(&[0, 3]).is_empty());
    }
}
