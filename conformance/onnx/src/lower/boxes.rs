//! Rectangles in images: which of those that overlap stay, and what is within one.

use super::grid_sample::{Tap, folded, weighted};
use super::index::take;
use super::shape::size_of;
use super::{Rule, Table};
use crate::graph::{Call, Outputs};
use crate::ops::Ops;
use crate::stop::{Lowered, Stop};
use crate::tensor::Tensor;
use isobit::{BinaryOp, Clamp, CmpOp, Op, ReduceOp, Sort, UnaryOp};

pub(super) const TABLE: Table =
    &[("NonMaxSuppression", Rule::Code(non_max_suppression)), ("RoiAlign", Rule::Code(roi_align))];

/// Returns `[batch, n, n]`: whether two boxes of `[batch, n, 4]` share more than a part of what
/// both cover.
fn overlap(ops: &Ops, boxes: &Tensor, by_centre: bool, threshold: f64) -> Lowered<Tensor> {
    let column = |at| boxes.narrow(2, at, 1);
    // What two boxes share of a side, and the length of each.
    let side = |a: usize, b: usize| -> Lowered<[Tensor; 2]> {
        let (a, b) = (column(a)?, column(b)?);
        let [low, high] = if by_centre {
            let half = ops.affine(&b, 0.5, 0.0)?;
            [ops.sub(&a, &half)?, ops.add(&a, &half)?]
        } else {
            [ops.binary(BinaryOp::Minimum, &a, &b)?, ops.binary(BinaryOp::Maximum, &a, &b)?]
        };
        let start = ops.binary(BinaryOp::Maximum, &low, &low.transpose(1, 2)?)?;
        let end = ops.binary(BinaryOp::Minimum, &high, &high.transpose(1, 2)?)?;
        Ok([ops.unary(UnaryOp::Relu, &ops.sub(&end, &start)?)?, ops.sub(&high, &low)?])
    };
    let (x, y) = if by_centre { (side(0, 2)?, side(1, 3)?) } else { (side(1, 3)?, side(0, 2)?) };
    let [shared, area] = [ops.mul(&x[0], &y[0])?, ops.mul(&x[1], &y[1])?];
    let all = ops.sub(&ops.add(&area, &area.transpose(1, 2)?)?, &shared)?;
    // Boxes without an area divide 0 by 0, and NaN is not above the limit.
    ops.compare_with(CmpOp::Gt, &ops.div(&shared, &all)?, threshold)
}

/// The device compares the boxes and sorts them by score. Which of them stay depends on those
/// before, and so does the size of the result: that is found from what it answers.
fn non_max_suppression(call: &Call<'_>) -> Outputs {
    let (ops, boxes, scores) = (call.ops(), call.input(0)?, call.input(1)?);
    let &[batch, classes, n] = scores.dims() else {
        return Err(Stop::Failed(format!("scores of three dimensions were expected, not {:?}", scores.dims())));
    };
    if boxes.dims() != [batch, n, 4] {
        return Err(Stop::Failed(format!("the boxes {:?} do not fit the scores {:?}", boxes.dims(), scores.dims())));
    }
    let most = call.optional(2)?.map_or(Ok(0), |most| ops.to_int(most))?.max(0) as usize;
    let limit = |at| call.optional(at)?.map(|x| ops.to_float(x)).transpose();
    let overlaps = ops.to_ints(&overlap(ops, boxes, call.flag("center_point_box"), limit(3)?.unwrap_or(0.0))?)?;
    let order = ops.to_ints(&ops.apply(&Op::ArgSort(Sort::descending()), &[scores])?)?;
    let is_candidate = match limit(4)? {
        Some(least) => ops.to_ints(&ops.compare_with(CmpOp::Gt, scores, least)?)?,
        None => vec![1; scores.len()],
    };
    let mut selected = Vec::new();
    for (row, order) in order.chunks_exact(n.max(1)).enumerate() {
        let first = row / classes * n;
        let mut kept: Vec<usize> = Vec::new();
        for at in order.iter().map(|&at| at as usize).filter(|at| is_candidate[row * n + at] != 0) {
            if kept.len() < most && kept.iter().all(|&other| overlaps[(first + at) * n + other] == 0) {
                kept.push(at);
                selected.extend([row / classes, row % classes, at].map(|i| i as i64));
            }
        }
    }
    Ok(vec![ops.ints(&[selected.len() / 3, 3], &selected)?])
}

/// What a region is divided into along one dimension.
struct Division {
    /// Elements of the image.
    size: usize,
    /// Elements of the result.
    outputs: usize,
    /// Points within each.
    points: usize,
}

impl Division {
    /// Returns the elements around the points of each region, which are `[regions, points]`.
    fn taps(&self, ops: &Ops, start: &Tensor, length: &Tensor) -> Lowered<[Tap; 2]> {
        let count = self.outputs * self.points;
        let places: Vec<f64> = (0..count).map(|i| (i as f64 + 0.5) / count as f64).collect();
        let places = ops.values(start.dtype(), &[1, count], &places)?;
        let at = ops.add(start, &ops.mul(length, &places)?)?;
        let last = self.size as f64 - 1.0;
        let clamp = |x: &Tensor, low, high| ops.apply(&Op::Clamp(Clamp::new(low, high)), &[x]);
        let is_near = ops.compare(CmpOp::Eq, &at, &clamp(&at, -1.0, self.size as f64)?)?;
        let inside = clamp(&at, 0.0, last)?;
        let low = ops.unary(UnaryOp::Floor, &inside)?;
        let rest = ops.sub(&inside, &low)?;
        let weight = |x: &Tensor| ops.mul(x, &ops.cast(&is_near, x.dtype())?);
        let high = clamp(&ops.affine(&low, 1.0, 1.0)?, 0.0, last)?;
        let near = weight(&ops.affine(&rest, -1.0, 1.0)?)?;
        Ok([Tap { at: low, weight: near }, Tap { at: high, weight: weight(&rest)? }])
    }
}

/// Samples regions of images. Without a number of samples, each region has as many as its size
/// asks for, and is computed by itself.
fn roi_align(call: &Call<'_>) -> Outputs {
    let (ops, x, regions, images) = (call.ops(), call.input(0)?, call.input(1)?, call.input(2)?);
    let count = images.len();
    if x.rank() != 4 || regions.dims() != [count, 4] {
        let message = format!("the regions {:?} of {count} images do not fit {:?}", regions.dims(), x.dims());
        return Err(Stop::Failed(message));
    }
    let samples = size_of(call.int("sampling_ratio").unwrap_or(0))?;
    let each = if samples > 0 { count } else { 1 };
    let mut parts = Vec::new();
    for first in (0..count).step_by(each.max(1)) {
        let image = take(ops, x, &images.narrow(0, first, each)?, 0)?;
        parts.push(aligned(call, &image, &regions.narrow(0, first, each)?, samples)?);
    }
    if parts.is_empty() {
        return Err(call.form("no regions"));
    }
    Ok(vec![ops.concat(&parts.iter().collect::<Vec<_>>(), 0)?])
}

/// Samples one region of each image.
fn aligned(call: &Call<'_>, x: &Tensor, regions: &Tensor, samples: usize) -> Lowered<Tensor> {
    let ops = call.ops();
    let (count, channels, image) = (x.dims()[0], x.dims()[1], [x.dims()[2], x.dims()[3]]);
    let half_pixel = match call.text("coordinate_transformation_mode", "half_pixel") {
        "half_pixel" => true,
        "output_half_pixel" => false,
        other => return Err(call.unknown("coordinate_transformation_mode", other)),
    };
    let scale = call.float("spatial_scale").unwrap_or(1.0);
    let placed = ops.affine(regions, scale, if half_pixel { -0.5 } else { 0.0 })?;
    let outputs = ["output_height", "output_width"].map(|name| size_of(call.int(name).unwrap_or(1)));
    let (mut taps, mut points) = (Vec::with_capacity(2), [0; 2]);
    for (d, outputs) in outputs.into_iter().enumerate() {
        // Corners have the width first.
        let (start, end) = (placed.narrow(1, 1 - d, 1)?, placed.narrow(1, 3 - d, 1)?);
        let mut length = ops.sub(&end, &start)?;
        if !half_pixel {
            length = ops.binary(BinaryOp::Maximum, &length, &ops.scalar(x.dtype(), 1.0)?)?;
        }
        let outputs = outputs?;
        points[d] = match samples {
            0 => (ops.to_float(&length)? / outputs as f64).ceil().max(1.0) as usize,
            samples => samples,
        };
        let division = Division { size: image[d], outputs, points: points[d] };
        taps.push((division.taps(ops, &start, &length)?, outputs));
    }
    let [(rows, height), (columns, width)] = &taps[..] else { unreachable!("an image has two dimensions") };
    let (height, width) = (*height, *width);
    let grid = [count, height * points[0], width * points[1]];
    let spread = |taps: &[Tap; 2], dim: usize| {
        let spread = |x: &Tensor| ops.reshape(&x.unsqueeze(dim)?.broadcast(&grid)?, &[count, 1, grid[1] * grid[2]]);
        let tap = |tap: &Tap| Ok(Tap { at: spread(&tap.at)?, weight: spread(&tap.weight)? });
        taps.iter().map(tap).collect::<Lowered<Vec<_>>>()
    };
    let values = weighted(ops, x, &[spread(rows, 2)?, spread(columns, 1)?])?;
    let (fold, reduce) = match call.text("mode", "avg") {
        "avg" => (BinaryOp::Add, ReduceOp::Mean),
        "max" => (BinaryOp::Maximum, ReduceOp::Max),
        other => return Err(call.unknown("mode", other)),
    };
    let sampled = folded(values, |a, b| ops.binary(fold, &a, &b))?;
    let shape = [count, channels, height, points[0], width, points[1]];
    let reduced = ops.reduce(reduce, &ops.reshape(&sampled, &shape)?, &[3, 5])?;
    ops.reshape(&reduced, &[count, channels, height, width])
}
