//! A convolution as a batch of products: each group of each image separately, with the input
//! unfolded.

use super::Setup;
use crate::compare::Product;
use crate::family::VendorCall;
use isobit_hal::Shape;

/// A spatial dimension.
struct Line {
    size: usize,
    taps: usize,
    outputs: usize,
    stride: usize,
    padding: usize,
    dilation: usize,
}

impl Line {
    /// Returns the input element that an output reads through a tap.
    fn met(&self, transposed: bool, output: usize, tap: usize) -> Option<usize> {
        let tap = tap * self.dilation;
        let met = if transposed {
            let reached = (output + self.padding).checked_sub(tap)?;
            reached.is_multiple_of(self.stride).then_some(reached / self.stride)?
        } else {
            (output * self.stride + tap).checked_sub(self.padding)?
        };
        (met < self.size).then_some(met)
    }
}

/// Returns the product whose elements are the results in logical order. A tap that reads outside
/// the input contributes 0. A bias is a product with 1, the last one.
pub(super) fn product(setup: &Setup, call: &VendorCall<'_>) -> Product {
    let ([src, kernel], [x, weights]) =
        ([&call.input_dims[0], &call.input_dims[1]], [&call.inputs[0], &call.inputs[1]]);
    let shapes: Vec<Shape> = call.input_dims.iter().map(|dims| dims.as_slice().into()).collect();
    let result = call.op.result_shape(&shapes.iter().collect::<Vec<_>>());
    let result = result.expect("hal took the shapes").expect("the inputs' shapes make the result's");
    // With fewer than three dimensions, the first ones have size 1.
    let rank = setup.rank();
    let line = |d: usize| match d.checked_sub(3 - rank) {
        None => Line { size: 1, taps: 1, outputs: 1, stride: 1, padding: 0, dilation: 1 },
        Some(d) => Line {
            size: src[d + 2],
            taps: kernel[d + 2],
            outputs: result.dims()[d + 2],
            stride: setup.stride[d],
            padding: setup.padding[d],
            dilation: setup.dilation[d],
        },
    };
    let [d, h, w] = [0, 1, 2].map(line);
    let (batch, groups, channels_in) = (src[0], setup.groups, src[1] / setup.groups);
    let (taps, pixels) = (d.taps * h.taps * w.taps, d.outputs * h.outputs * w.outputs);
    let channels_out = result.dims()[1] / setup.groups;
    let (k, bias) = (channels_in * taps, call.inputs.get(super::BIAS));

    let all = k + usize::from(bias.is_some());
    let mut lhs = Vec::with_capacity(batch * groups * channels_out * all);
    let mut rhs = Vec::with_capacity(batch * groups * all * pixels);
    for (image, group) in (0..batch).flat_map(|n| (0..groups).map(move |g| (n, g))) {
        for out in 0..channels_out {
            for at in 0..k {
                let (channel, tap) = (group * channels_in + at / taps, at % taps);
                let row = match setup.transposed {
                    false => (group * channels_out + out) * channels_in + at / taps,
                    true => channel * channels_out + out,
                };
                lhs.push(weights[row * taps + tap]);
            }
            lhs.extend(bias.map(|bias| bias[group * channels_out + out]));
        }
        for (at, pixel) in (0..k).flat_map(|k| (0..pixels).map(move |p| (k, p))) {
            let (mut tap, mut output, mut place, mut step) = (at % taps, pixel, Some(0), 1);
            for line in [&w, &h, &d] {
                let met = line.met(setup.transposed, output % line.outputs, tap % line.taps);
                place = place.zip(met).map(|(place, met)| place + met * step);
                (output, tap, step) = (output / line.outputs, tap / line.taps, step * line.size);
            }
            let channel = image * groups * channels_in + group * channels_in + at / taps;
            rhs.push(place.map_or(0.0, |place| x[channel * step + place]));
        }
        rhs.resize(rhs.len() + (all - k) * pixels, 1.0);
    }
    let added_last = bias.is_some();
    Product { batch: batch * groups, m: channels_out, k: all, n: pixels, lhs, rhs, added_last }
}
