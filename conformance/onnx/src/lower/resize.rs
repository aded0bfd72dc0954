//! Resizing. Along each axis, an output element is a weighted sum of input elements, whose weights
//! the sizes determine; so an axis is a selection or a product with a matrix.

use super::shape::size_of;
use super::{Rule, Table};
use crate::graph::{Call, Outputs};
use crate::ops::Ops;
use crate::stop::{Lowered, Stop};
use crate::tensor::{Tensor, axis_of};
use isobit::{DType, Op, UpsampleBilinear2d, UpsampleNearest2d};

pub(super) const TABLE: Table = &[("Resize", Rule::Code(resize)), ("Upsample", Rule::Code(upsample))];

/// How an axis is resized.
#[derive(Debug, Clone, Copy)]
struct Axis<'a> {
    input: usize,
    output: usize,
    scale: f64,
    /// Start and end of the region, for `tf_crop_and_resize`.
    region: (f64, f64),
    transformation: &'a str,
    mode: &'a str,
    nearest: &'a str,
    cubic: f64,
    antialias: bool,
    exclude_outside: bool,
}

impl Axis<'_> {
    /// Returns the position in the input that an output element has.
    fn source(&self, at: usize) -> Lowered<f64> {
        let (x, input) = (at as f64, self.input as f64);
        let output = self.scale * input;
        Ok(match self.transformation {
            "align_corners" if output == 1.0 => 0.0,
            "align_corners" => x * (input - 1.0) / (output - 1.0),
            "asymmetric" => x / self.scale,
            "half_pixel" => (x + 0.5) / self.scale - 0.5,
            "pytorch_half_pixel" if output == 1.0 => -0.5,
            "pytorch_half_pixel" => (x + 0.5) / self.scale - 0.5,
            "half_pixel_symmetric" => {
                let rest = input / 2.0 * (1.0 - self.output as f64 / output);
                rest + (x + 0.5) / self.scale - 0.5
            }
            "tf_crop_and_resize" => {
                let (start, end) = self.region;
                let within = if output == 1.0 { 0.5 } else { x / (output - 1.0) };
                within * (end - start) * (input - 1.0) + start * (input - 1.0)
            }
            other => return Err(Stop::Failed(format!("the coordinate transformation `{other}` is unknown"))),
        })
    }

    /// Whether the position is outside the input, where `tf_crop_and_resize` has one value.
    fn is_outside(&self, at: usize) -> Lowered<bool> {
        let source = self.source(at)?;
        Ok(self.transformation == "tf_crop_and_resize" && (source < 0.0 || source > self.input as f64 - 1.0))
    }

    /// Returns the input elements of an output element with their weights.
    fn weights(&self, at: usize) -> Lowered<Vec<(i64, f64)>> {
        let source = self.source(at)?;
        // A position that is an element counts as the end of the interval before it.
        let first = source.ceil() as i64 - 1;
        let ratio = source - first as f64;
        let mut weights: Vec<(i64, f64)> = match self.mode {
            "nearest" => {
                let up = match self.nearest {
                    "round_prefer_floor" => ratio > 0.5,
                    "round_prefer_ceil" => ratio >= 0.5,
                    "floor" => ratio == 1.0,
                    "ceil" => true,
                    other => return Err(Stop::Failed(format!("the nearest mode `{other}` is unknown"))),
                };
                vec![(first + i64::from(up), 1.0)]
            }
            "linear" => self.kernel(first, ratio, 1, |x| (1.0 - x.abs()).max(0.0)),
            "cubic" => self.kernel(first, ratio, 2, |x| cubic(x.abs(), self.cubic)),
            other => return Err(Stop::Failed(format!("the mode `{other}` is unknown"))),
        };
        if self.exclude_outside {
            weights.retain(|&(at, _)| (0..self.input as i64).contains(&at));
            normalise(&mut weights);
        }
        Ok(weights)
    }

    /// Weighs the elements within `reach` of the position by a function of the distance; when an
    /// antialiased axis shrinks, the function is as wide as the elements are close.
    fn kernel(&self, first: i64, ratio: f64, reach: i64, weight: impl Fn(f64) -> f64) -> Vec<(i64, f64)> {
        let scale = if self.antialias { self.scale.min(1.0) } else { 1.0 };
        let start = (-(reach as f64) / scale).floor() as i64 + 1;
        let positions = start..=1 - start;
        let mut weights: Vec<_> = positions.map(|i| (first + i, weight(scale * (i as f64 - ratio)))).collect();
        if self.antialias {
            normalise(&mut weights);
        }
        weights
    }

    /// Returns the matrix of the weights, one row for each output element. Elements outside the
    /// input are those at its ends.
    fn matrix(&self) -> Lowered<Vec<f64>> {
        let mut matrix = vec![0.0; self.output * self.input];
        for at in 0..self.output {
            for (from, weight) in self.weights(at)? {
                matrix[at * self.input + self.inside(from)] += weight;
            }
        }
        Ok(matrix)
    }

    fn inside(&self, at: i64) -> usize {
        at.clamp(0, self.input as i64 - 1) as usize
    }

    fn apply(&self, ops: &Ops, x: &Tensor, axis: usize) -> Lowered<Tensor> {
        if self.input == 0 {
            return Err(Stop::Failed(format!("nothing to resize in the shape {:?}", x.dims())));
        }
        if self.mode == "nearest" {
            let sources = (0..self.output).map(|at| Ok(self.inside(self.weights(at)?[0].0)));
            return ops.pick(x, axis, &sources.collect::<Lowered<Vec<_>>>()?);
        }
        let last = x.rank() - 1;
        let matrix = ops.values(x.dtype(), &[self.output, self.input], &self.matrix()?)?;
        let columns = x.transpose(axis, last)?.unsqueeze(last + 1)?;
        ops.matmul(&matrix, &columns)?.squeeze(last + 1)?.transpose(axis, last)
    }
}

fn normalise(weights: &mut [(i64, f64)]) {
    let sum: f64 = weights.iter().map(|(_, weight)| weight).sum();
    if sum != 0.0 {
        weights.iter_mut().for_each(|(_, weight)| *weight /= sum);
    }
}

/// The kernel of Keys (1981), "Cubic convolution interpolation for digital image processing".
fn cubic(x: f64, a: f64) -> f64 {
    if x <= 1.0 {
        ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0
    } else if x < 2.0 {
        ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a
    } else {
        0.0
    }
}

/// The sizes and the scales of the result.
fn target(call: &Call<'_>, x: &Tensor, axes: &[usize]) -> Lowered<(Vec<usize>, Vec<f64>)> {
    let ops = call.ops();
    let (mut sizes, mut scales) = (x.dims().to_vec(), vec![1.0; x.rank()]);
    if let Some(given) = call.optional(2)?.filter(|given| !given.is_empty()) {
        for (&axis, scale) in axes.iter().zip(ops.to_floats(given)?) {
            scales[axis] = scale;
            sizes[axis] = (scale * x.dims()[axis] as f64).floor() as usize;
        }
        return Ok((sizes, scales));
    }
    for (&axis, size) in axes.iter().zip(ops.to_ints(call.input(3)?)?) {
        sizes[axis] = size_of(size)?;
        scales[axis] = sizes[axis] as f64 / x.dims()[axis] as f64;
    }
    let of_axes = axes.iter().map(|&axis| scales[axis]);
    let scale = match call.text("keep_aspect_ratio_policy", "stretch") {
        "stretch" => return Ok((sizes, scales)),
        "not_larger" => of_axes.fold(f64::INFINITY, f64::min),
        "not_smaller" => of_axes.fold(0.0, f64::max),
        other => return Err(call.unknown("keep_aspect_ratio_policy", other)),
    };
    for &axis in axes {
        scales[axis] = scale;
        sizes[axis] = (scale * x.dims()[axis] as f64 + 0.5).floor() as usize;
    }
    Ok((sizes, scales))
}

/// Returns the HAL's own operation, if it has this one: images, resized in both dimensions.
fn own(call: &Call<'_>, x: &Tensor, sizes: &[usize], scales: &[f64]) -> Option<Op> {
    let ([n, c, h, w], [n2, c2, size @ ..]) = (x.dims(), sizes) else { return None };
    let &[height, width] = size else { return None };
    let grows = [n, c] == [n2, c2] && height >= *h && width >= *w;
    if !grows || call.flag("antialias") || call.flag("exclude_outside") {
        return None;
    }
    let transformation = call.text("coordinate_transformation_mode", "half_pixel");
    match (call.text("mode", "nearest"), transformation, call.text("nearest_mode", "round_prefer_floor")) {
        ("nearest", "asymmetric", "floor") => {
            Some(Op::UpsampleNearest2d(UpsampleNearest2d::new([height, width]).with_scale([scales[2], scales[3]])))
        }
        ("linear", "half_pixel", _) => {
            Some(Op::UpsampleBilinear2d(UpsampleBilinear2d::new([height, width]).with_scale([scales[2], scales[3]])))
        }
        ("linear", "align_corners", _)
            if scales[2] * *h as f64 == height as f64 && scales[3] * *w as f64 == width as f64 =>
        {
            Some(Op::UpsampleBilinear2d(UpsampleBilinear2d::new([height, width]).with_align_corners(true)))
        }
        _ => None,
    }
}

fn resize(call: &Call<'_>) -> Outputs {
    let (ops, x) = (call.ops(), call.input(0)?);
    let axes: Vec<usize> = match call.ints("axes") {
        Some(axes) => axes.iter().map(|&axis| axis_of(axis, x.rank())).collect::<Lowered<_>>()?,
        None => (0..x.rank()).collect(),
    };
    let (sizes, scales) = target(call, x, &axes)?;
    if let Some(op) = own(call, x, &sizes, &scales) {
        return Ok(vec![ops.apply(&op, &[x])?]);
    }
    let region = match call.optional(1)?.filter(|region| !region.is_empty()) {
        Some(region) => ops.to_floats(region)?,
        None => [vec![0.0; axes.len()], vec![1.0; axes.len()]].concat(),
    };
    if region.len() != 2 * axes.len() {
        return Err(Stop::Failed(format!("{region:?} is no region of {} axes", axes.len())));
    }
    let mut y = x.clone();
    let value = ops.scalar(x.dtype(), call.float("extrapolation_value").unwrap_or(0.0))?;
    for (i, &at) in axes.iter().enumerate() {
        let axis = Axis {
            input: x.dims()[at],
            output: sizes[at],
            scale: scales[at],
            region: (region[i], region[i + axes.len()]),
            transformation: call.text("coordinate_transformation_mode", "half_pixel"),
            mode: call.text("mode", "nearest"),
            nearest: call.text("nearest_mode", "round_prefer_floor"),
            cubic: call.float("cubic_coeff_a").unwrap_or(-0.75),
            antialias: call.flag("antialias"),
            exclude_outside: call.flag("exclude_outside"),
        };
        if axis.scale == 1.0 && axis.output == axis.input && axis.region == (0.0, 1.0) {
            continue;
        }
        y = axis.apply(ops, &y, at)?;
        let outside = (0..axis.output).map(|at| axis.is_outside(at).map(f64::from)).collect::<Lowered<Vec<_>>>()?;
        if outside.contains(&1.0) {
            let mut shape = vec![1; y.rank()];
            shape[at] = axis.output;
            y = ops.select(&ops.values(DType::U8, &shape, &outside)?, &value, &y)?;
        }
    }
    Ok(vec![y])
}

fn upsample(call: &Call<'_>) -> Outputs {
    let (ops, x) = (call.ops(), call.input(0)?);
    let scales = ops.to_floats(call.input(1)?)?;
    if scales.len() != x.rank() {
        return Err(Stop::Failed(format!("{scales:?} are no scales of {:?}", x.dims())));
    }
    let mut y = x.clone();
    for (at, &scale) in scales.iter().enumerate() {
        let axis = Axis {
            input: x.dims()[at],
            output: (scale * x.dims()[at] as f64).floor() as usize,
            scale,
            region: (0.0, 1.0),
            transformation: "asymmetric",
            mode: call.text("mode", "nearest"),
            nearest: "floor",
            cubic: -0.75,
            antialias: false,
            exclude_outside: false,
        };
        if scale != 1.0 {
            y = axis.apply(ops, &y, at)?;
        }
    }
    Ok(vec![y])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(mode: &'static str, transformation: &'static str, input: usize, output: usize) -> Axis<'static> {
        Axis {
            input,
            output,
            scale: output as f64 / input as f64,
            region: (0.0, 1.0),
            transformation,
            mode,
            nearest: "round_prefer_floor",
            cubic: -0.75,
            antialias: false,
            exclude_outside: false,
        }
    }

    #[test]
    fn weights_are_those_of_interpolation() {
        // torch.nn.functional.interpolate of the unit vectors of 2 elements to 4, half_pixel.
        let linear = axis("linear", "half_pixel", 2, 4).matrix().unwrap();
        assert_eq!(linear, [1.0, 0.0, 0.75, 0.25, 0.25, 0.75, 0.0, 1.0]);
        let corners = axis("linear", "align_corners", 2, 3).matrix().unwrap();
        assert_eq!(corners, [1.0, 0.0, 0.5, 0.5, 0.0, 1.0]);
        let nearest = axis("nearest", "asymmetric", 2, 4);
        assert_eq!(nearest.matrix().unwrap(), [1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0]);
    }

    #[test]
    fn cubic_weights_sum_to_one_and_meet_at_the_elements() {
        // Keys' kernel is 1 at 0 and 0 at the other integers.
        assert_eq!([0.0, 1.0, 2.0, 3.0].map(|x| cubic(x, -0.75)), [1.0, 0.0, 0.0, 0.0]);
        let weights = axis("cubic", "half_pixel", 4, 8).weights(3).unwrap();
        assert_eq!(weights.len(), 4);
        assert!((weights.iter().map(|(_, weight)| weight).sum::<f64>() - 1.0).abs() < 1e-15);
    }
}
