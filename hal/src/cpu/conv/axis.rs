//! One spatial dimension of a convolution: which input each output reads through which tap of the
//! kernel.
//!
//! The outputs of a transposed convolution fall into `stride` phases. The outputs of one phase use
//! the same taps; over them the operation is a plain convolution with a stride of 1 whose taps run
//! backwards. A plain convolution has one phase.

use std::ops::Range;

/// The outputs of one phase. Positions use wrapping arithmetic: a position before the input wraps
/// to a number larger than any input size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Axis {
    /// Size of the input.
    pub size: usize,
    /// Outputs of the phase: their number, the first one, and the step from one to the next.
    pub outputs: usize,
    pub first_output: usize,
    pub output_step: usize,
    /// Taps of the kernel that the phase uses: their number, the first one, and the step.
    pub taps: usize,
    pub first_tap: usize,
    pub tap_step: usize,
    /// Input position of the first output and the first tap, and the steps to the next output and
    /// to the next tap.
    pub position: usize,
    pub per_output: usize,
    pub per_tap: usize,
}

/// Stride, padding and dilation along a dimension.
#[derive(Debug, Clone, Copy)]
pub(super) struct Window {
    pub stride: usize,
    pub padding: usize,
    pub dilation: usize,
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

impl Axis {
    /// Returns the single phase of a plain convolution.
    pub fn plain(size: usize, taps: usize, outputs: usize, w: Window) -> Self {
        Self {
            size,
            outputs,
            first_output: 0,
            output_step: 1,
            taps,
            first_tap: 0,
            tap_step: 1,
            position: w.padding.wrapping_neg(),
            per_output: w.stride,
            per_tap: w.dilation,
        }
    }

    /// Returns the phases of a transposed convolution with `outputs` outputs in total. Output `o`
    /// reads input `i` through tap `t` if `o + padding = i * stride + t * dilation`.
    pub fn phases(size: usize, taps: usize, outputs: usize, w: Window) -> Vec<Self> {
        let common = gcd(w.stride, w.dilation);
        let tap_step = w.stride / common;
        let phase = |first_output: usize| {
            let from = first_output + w.padding;
            let meets = |&t: &usize| from % w.stride == t * w.dilation % w.stride;
            let first_tap = (0..taps.min(tap_step)).find(meets);
            // A multiple of the stride, positive or negative.
            let away = first_tap.map_or(0, |t| t * w.dilation);
            let position =
                if from >= away { (from - away) / w.stride } else { ((away - from) / w.stride).wrapping_neg() };
            Self {
                size,
                outputs: (outputs - first_output).div_ceil(w.stride),
                first_output,
                output_step: w.stride,
                taps: first_tap.map_or(0, |t| (taps - t).div_ceil(tap_step)),
                first_tap: first_tap.unwrap_or(0),
                tap_step,
                position,
                per_output: 1,
                per_tap: (w.dilation / common).wrapping_neg(),
            }
        };
        (0..w.stride.min(outputs)).map(phase).collect()
    }

    /// Returns the input position that an output reads through a tap, both counted within the
    /// phase. A position of at least `size` lies outside the input.
    pub fn at(&self, output: usize, tap: usize) -> usize {
        let to_output = self.position.wrapping_add(output.wrapping_mul(self.per_output));
        to_output.wrapping_add(tap.wrapping_mul(self.per_tap))
    }

    /// Returns which of `count` outputs, starting at `output`, read an element of the input through
    /// a tap. They are consecutive.
    pub fn inside(&self, output: usize, count: usize, tap: usize) -> Range<usize> {
        let first = self.at(output, tap);
        // The position lies before the input: skip the outputs up to its start.
        let start = match first {
            _ if first < self.size => 0,
            _ if (first as isize) < 0 => first.wrapping_neg().div_ceil(self.per_output),
            _ => count,
        };
        let from = first.wrapping_add(start.wrapping_mul(self.per_output));
        if start >= count || from >= self.size {
            return 0..0;
        }
        start..count.min(start + (self.size - from).div_ceil(self.per_output))
    }

    /// Returns the index, in the whole result, of an output of the phase.
    pub fn output(&self, output: usize) -> usize {
        self.first_output + output * self.output_step
    }
}
