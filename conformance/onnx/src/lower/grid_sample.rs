//! Sampling an image at positions that a tensor has: each sample is a weighted sum of the elements
//! around its position, in as many dimensions as the image has.

use super::windows::{coordinates, spatial};
use super::{Rule, Table};
use crate::graph::{Call, Outputs};
use crate::ops::Ops;
use crate::stop::{Lowered, Stop};
use crate::tensor::Tensor;
use isobit::{BinaryOp, Clamp, CmpOp, DType, Indexing, Op, UnaryOp};

pub(super) const TABLE: Table = &[("GridSample", Rule::Code(grid_sample))];

/// What a position outside the image is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outside {
    Zeros,
    Border,
    Reflection,
}

/// A dimension of the image, with the limits at which positions are reflected.
#[derive(Debug, Clone, Copy)]
struct Extent {
    size: usize,
    low: f64,
    high: f64,
    outside: Outside,
}

/// An element of the neighbourhood in one dimension: its positions, and its weights if they are not
/// 1. A weight of 0 stands for an element outside the image.
struct Tap {
    at: Tensor,
    weight: Option<Tensor>,
}

impl Extent {
    fn of(size: usize, align_corners: bool, outside: Outside) -> Self {
        let rest = if align_corners { 0.0 } else { 0.5 };
        Self { size, low: -rest, high: size as f64 - 1.0 + rest, outside }
    }

    /// Scales positions from -1 to 1 to those of the elements.
    fn denormalised(&self, ops: &Ops, x: &Tensor) -> Lowered<Tensor> {
        let half = (self.high - self.low) / 2.0;
        ops.affine(x, half, half + self.low)
    }

    /// Moves positions outside into the image, if that is what they stand for.
    fn moved(&self, ops: &Ops, x: &Tensor) -> Lowered<Tensor> {
        match self.outside {
            Outside::Zeros => Ok(x.clone()),
            Outside::Border => self.clamped(ops, x),
            Outside::Reflection if self.high == self.low => ops.affine(x, 0.0, self.low),
            Outside::Reflection => {
                let range = self.high - self.low;
                // There and back is one period.
                let distance = ops.unary(UnaryOp::Abs, &ops.affine(x, 1.0, -self.low)?)?;
                let phase = ops.binary(BinaryOp::Rem, &distance, &ops.scalar(x.dtype(), 2.0 * range)?)?;
                let back = ops.affine(&phase, -1.0, 2.0 * range)?;
                ops.affine(&ops.binary(BinaryOp::Minimum, &phase, &back)?, 1.0, self.low)
            }
        }
    }

    fn clamped(&self, ops: &Ops, x: &Tensor) -> Lowered<Tensor> {
        ops.apply(&Op::Clamp(Clamp::new(0.0, self.size as f64 - 1.0)), &[x])
    }

    /// Returns an element at integral positions, which may be outside.
    fn tap(&self, ops: &Ops, at: &Tensor, weight: Option<Tensor>) -> Lowered<Tap> {
        let inside = self.clamped(ops, &self.moved(ops, at)?)?;
        if self.outside != Outside::Zeros {
            return Ok(Tap { at: inside, weight });
        }
        let is_inside = ops.cast(&ops.compare(CmpOp::Eq, at, &inside)?, at.dtype())?;
        let weight = match weight {
            Some(weight) => ops.mul(&weight, &is_inside)?,
            None => is_inside,
        };
        Ok(Tap { at: inside, weight: Some(weight) })
    }

    /// Returns the elements around positions in `[-1, 1]`.
    fn taps(&self, ops: &Ops, x: &Tensor, mode: &str) -> Lowered<Vec<Tap>> {
        let x = self.denormalised(ops, x)?;
        if mode == "nearest" {
            let at = self.moved(ops, &ops.unary(UnaryOp::RoundEven, &x)?)?;
            return Ok(vec![self.tap(ops, &at, None)?]);
        }
        let x = self.moved(ops, &x)?;
        let floor = ops.unary(UnaryOp::Floor, &x)?;
        let rest = ops.sub(&x, &floor)?;
        let weights = match mode {
            "linear" => vec![(0.0, ops.affine(&rest, -1.0, 1.0)?), (1.0, rest)],
            "cubic" => cubic_weights(ops, &rest)?,
            other => return Err(Stop::Failed(format!("the mode `{other}` is unknown"))),
        };
        weights.into_iter().map(|(step, weight)| self.tap(ops, &ops.affine(&floor, 1.0, step)?, Some(weight))).collect()
    }
}

/// Returns the steps to the four elements around a position with their weights, by the kernel of
/// Keys (1981) with the parameter -3/4.
fn cubic_weights(ops: &Ops, rest: &Tensor) -> Lowered<Vec<(f64, Tensor)>> {
    const A: f64 = -0.75;
    let polynomial = |x: &Tensor, coefficients: [f64; 4]| -> Lowered<Tensor> {
        let [first, others @ ..] = coefficients;
        let mut value = ops.affine(x, 0.0, first)?;
        for coefficient in others {
            value = ops.affine(&ops.mul(&value, x)?, 1.0, coefficient)?;
        }
        Ok(value)
    };
    let near = [A + 2.0, -(A + 3.0), 0.0, 1.0];
    let far = [A, -5.0 * A, 8.0 * A, -4.0 * A];
    let distance = |mul, add| ops.affine(rest, mul, add);
    Ok(vec![
        (-1.0, polynomial(&distance(1.0, 1.0)?, far)?),
        (0.0, polynomial(rest, near)?),
        (1.0, polynomial(&distance(-1.0, 1.0)?, near)?),
        (2.0, polynomial(&distance(-1.0, 2.0)?, far)?),
    ])
}

fn grid_sample(call: &Call<'_>) -> Outputs {
    let (ops, x, grid) = (call.ops(), call.input(0)?, call.input(1)?);
    let image = spatial(x)?;
    let (batch, channels, rank) = (x.dims()[0], x.dims()[1], image.len());
    let [first, output @ .., coordinates_of] = grid.dims() else {
        return Err(Stop::Failed(format!("{:?} is no grid", grid.dims())));
    };
    if (*first, *coordinates_of) != (batch, rank) {
        return Err(Stop::Failed(format!("the grid {:?} does not fit the image {:?}", grid.dims(), x.dims())));
    }
    let outside = match call.text("padding_mode", "zeros") {
        "zeros" => Outside::Zeros,
        "border" => Outside::Border,
        "reflection" => Outside::Reflection,
        other => return Err(call.unknown("padding_mode", other)),
    };
    let mode = match call.text("mode", "linear") {
        // The names of version 16 of the operators.
        "bilinear" => "linear",
        "bicubic" => "cubic",
        mode => mode,
    };
    let points: usize = output.iter().product();
    let mut taps = Vec::with_capacity(rank);
    for (d, &size) in image.iter().enumerate() {
        // A grid has the last dimension first.
        let column = ops.reshape(&grid.narrow(grid.rank() - 1, rank - 1 - d, 1)?, &[batch, 1, points])?;
        taps.push(Extent::of(size, call.flag("align_corners"), outside).taps(ops, &column, mode)?);
    }
    let flat = ops.reshape(x, &[batch, channels, image.iter().product()])?;
    let mut sum: Option<Tensor> = None;
    for chosen in coordinates(&taps.iter().map(Vec::len).collect::<Vec<_>>()) {
        let (mut at, mut weight) = (ops.fill(DType::I64, &[batch, 1, points], 0.0)?, None::<Tensor>);
        for ((taps, &size), tap) in taps.iter().zip(image).zip(chosen) {
            let tap = &taps[tap];
            at = ops.add(&ops.affine(&at, size as f64, 0.0)?, &ops.cast(&tap.at, DType::I64)?)?;
            weight = match (weight, &tap.weight) {
                (Some(weight), Some(more)) => Some(ops.mul(&weight, more)?),
                (weight, more) => weight.or(more.clone()),
            };
        }
        let ids = at.broadcast(&[batch, channels, points])?;
        let mut value = ops.apply(&Op::Gather(Indexing::new(2)), &[&flat, &ids])?;
        if let Some(weight) = weight {
            value = ops.mul(&value, &weight)?;
        }
        sum = Some(match sum {
            Some(sum) => ops.add(&sum, &value)?,
            None => value,
        });
    }
    let sum = sum.ok_or_else(|| Stop::Failed("an image without dimensions has no samples".into()))?;
    Ok(vec![ops.reshape(&sum, &[&[batch, channels][..], output].concat())?])
}
