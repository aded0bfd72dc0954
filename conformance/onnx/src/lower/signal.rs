//! Fourier transforms and their windows, and the grids of affine maps.

use super::shape::size_of;
use super::windows::coordinates;
use super::{Rule, Table};
use crate::graph::{Call, Outputs};
use crate::ops::Ops;
use crate::stop::{Lowered, Stop};
use crate::tensor::{Tensor, axis_of};
use isobit::{DType, UnaryOp};
use std::f64::consts::PI;

pub(super) const TABLE: Table = &[
    ("DFT", Rule::Code(dft)),
    ("STFT", Rule::Code(stft)),
    ("HannWindow", Rule::Code(|call| window(call, [0.5, 0.5, 0.0]))),
    ("HammingWindow", Rule::Code(|call| window(call, [25.0 / 46.0, 1.0 - 25.0 / 46.0, 0.0]))),
    ("BlackmanWindow", Rule::Code(|call| window(call, [0.42, 0.5, 0.08]))),
    ("AffineGrid", Rule::Code(affine_grid)),
    ("MelWeightMatrix", Rule::Code(mel_weights)),
];

/// A transform of `length` elements.
#[derive(Debug, Clone, Copy)]
struct Transform {
    length: usize,
    is_inverse: bool,
    is_onesided: bool,
}

impl Transform {
    /// Transforms the last but one dimension of `[.., n, parts]`: a real part, and an imaginary one
    /// unless it is 0. Products with matrices of cosines and sines, in f64.
    fn apply(self, ops: &Ops, x: &Tensor) -> Lowered<Tensor> {
        let (dtype, rank) = (x.dtype(), x.rank());
        if rank < 2 {
            return Err(Stop::Failed(format!("{:?} is no signal with a real and an imaginary part", x.dims())));
        }
        let x = ops.cast(x, DType::F64)?;
        let parts = x.dims()[rank - 1];
        let part = |at| x.narrow(rank - 1, at, 1);
        let (real, imaginary) = (part(0)?, if parts == 2 { Some(part(1)?) } else { None });
        if self.is_inverse && self.is_onesided {
            return ops.cast(&self.to_real(ops, &real, imaginary.as_ref())?, dtype);
        }
        let input = x.dims()[rank - 2].min(self.length);
        let outputs = if self.is_onesided { self.length / 2 + 1 } else { self.length };
        let turn = if self.is_inverse { 1.0 } else { -1.0 };
        let scale = if self.is_inverse { 1.0 / self.length as f64 } else { 1.0 };
        let matrix = |f: fn(f64) -> f64, sign: f64| {
            let values: Vec<f64> = coordinates(&[outputs, input])
                .iter()
                .map(|at| sign * scale * f(2.0 * PI * (at[0] * at[1] % self.length) as f64 / self.length as f64))
                .collect();
            ops.values(DType::F64, &[outputs, input], &values)
        };
        let (cos, sin) = (matrix(f64::cos, 1.0)?, matrix(f64::sin, turn)?);
        let times = |matrix: &Tensor, x: &Tensor| ops.matmul(matrix, &x.narrow(rank - 2, 0, input)?);
        let (mut re, mut im) = (times(&cos, &real)?, times(&sin, &real)?);
        if let Some(imaginary) = &imaginary {
            re = ops.sub(&re, &times(&sin, imaginary)?)?;
            im = ops.add(&im, &times(&cos, imaginary)?)?;
        }
        ops.cast(&ops.concat(&[&re, &im], rank - 1)?, dtype)
    }

    /// Returns the real signal of which `x` is the first half of the spectrum: the other half are
    /// the conjugates.
    fn to_real(self, ops: &Ops, real: &Tensor, imaginary: Option<&Tensor>) -> Lowered<Tensor> {
        let axis = real.rank() - 2;
        let input = real.dims()[axis].min(self.length / 2 + 1);
        let matrix = |f: fn(f64) -> f64, sign: f64| {
            let values: Vec<f64> = coordinates(&[self.length, input])
                .iter()
                .map(|at| {
                    let alone = at[1] == 0 || 2 * at[1] == self.length;
                    let angle = 2.0 * PI * (at[0] * at[1] % self.length) as f64 / self.length as f64;
                    sign * if alone { 1.0 } else { 2.0 } * f(angle) / self.length as f64
                })
                .collect();
            ops.values(DType::F64, &[self.length, input], &values)
        };
        let signal = ops.matmul(&matrix(f64::cos, 1.0)?, &real.narrow(axis, 0, input)?)?;
        match imaginary {
            Some(x) => ops.add(&signal, &ops.matmul(&matrix(f64::sin, -1.0)?, &x.narrow(axis, 0, input)?)?),
            None => Ok(signal),
        }
    }
}

fn dft(call: &Call<'_>) -> Outputs {
    let (ops, x) = (call.ops(), call.input(0)?);
    // Version 20 of the operators made the axis an input, with another default.
    let axis = match call.optional(2)? {
        Some(axis) => ops.to_int(axis)?,
        None => call.int("axis").unwrap_or(if call.opset() >= 20 { -2 } else { 1 }),
    };
    let (axis, before_last) = (axis_of(axis, x.rank())?, x.rank().saturating_sub(2));
    let (is_inverse, is_onesided) = (call.flag("inverse"), call.flag("onesided"));
    let length = match call.optional(1)? {
        Some(length) => size_of(ops.to_int(length)?)?,
        None if is_inverse && is_onesided => 2 * x.dims()[axis].saturating_sub(1),
        None => x.dims()[axis],
    };
    let moved = x.transpose(axis, before_last)?;
    let y = Transform { length, is_inverse, is_onesided }.apply(ops, &moved)?;
    Ok(vec![y.transpose(axis, before_last)?])
}

/// Transforms of frames, each weighted by a window.
fn stft(call: &Call<'_>) -> Outputs {
    let (ops, x) = (call.ops(), call.input(0)?);
    let step = size_of(ops.to_int(call.input(1)?)?)?.max(1);
    let [batch, size, parts] = *x.dims() else {
        return Err(Stop::Failed(format!("{:?} is no [batch, time, parts]", x.dims())));
    };
    let window = call.optional(2)?;
    let length = match (call.optional(3)?, window) {
        (Some(length), _) => size_of(ops.to_int(length)?)?,
        (None, Some(window)) => window.len(),
        (None, None) => size,
    };
    let frames =
        1 + size.checked_sub(length).ok_or_else(|| Stop::Failed("no frame fits into the signal".into()))? / step;
    let positions: Vec<usize> = (0..frames).flat_map(|frame| (0..length).map(move |i| frame * step + i)).collect();
    let mut framed = ops.reshape(&ops.pick(x, 1, &positions)?, &[batch, frames, length, parts])?;
    if let Some(window) = window {
        framed = ops.mul(&framed, &window.unsqueeze(1)?)?;
    }
    let is_onesided = call.int("onesided").unwrap_or(1) != 0;
    Ok(vec![Transform { length, is_inverse: false, is_onesided }.apply(ops, &framed)?])
}

/// a0 - a1 cos(2 pi i / n) + a2 cos(4 pi i / n), where n is one less if the window is not periodic.
fn window(call: &Call<'_>, [a0, a1, a2]: [f64; 3]) -> Outputs {
    let ops = call.ops();
    let size = size_of(ops.to_int(call.input(0)?)?)?;
    let dtype = call.dtype("output_datatype")?.unwrap_or(DType::F32);
    let period = if call.int("periodic").unwrap_or(1) != 0 { size } else { size.saturating_sub(1) }.max(1);
    let index = ops.iota(DType::F64, size)?;
    let wave = |turns: f64| ops.unary(UnaryOp::Cos, &ops.affine(&index, turns * 2.0 * PI / period as f64, 0.0)?);
    let base = ops.affine(&wave(1.0)?, -a1, a0)?;
    Ok(vec![ops.cast(&ops.add(&base, &ops.affine(&wave(2.0)?, a2, 0.0)?)?, dtype)?])
}

/// Triangles over the bins of a spectrum, whose corners are equally far from each other on the mel
/// scale of the specification.
fn mel_weights(call: &Call<'_>) -> Outputs {
    let ops = call.ops();
    let size = |at| size_of(ops.to_int(call.input(at)?)?);
    let number = |at| ops.to_float(call.input(at)?);
    let (triangles, length, rate) = (size(0)?, size(1)?, number(2)?);
    let mel = |hertz: f64| 2595.0 * (hertz / 700.0).ln_1p() / 10f64.ln();
    let (low, high) = (mel(number(3)?), mel(number(4)?));
    let corner = |i: usize| {
        let at = low + i as f64 * (high - low) / (triangles + 2) as f64;
        let hertz = 700.0 * (at / 2595.0 * 10f64.ln()).exp_m1();
        ((length + 1) as f64 * hertz / rate).floor()
    };
    let weight = |bin: usize, triangle: usize| {
        let ([left, centre, right], bin) = ([0, 1, 2].map(|i| corner(triangle + i)), bin as f64);
        match () {
            _ if bin == centre => 1.0,
            _ if (left..centre).contains(&bin) => (bin - left) / (centre - left),
            _ if (centre..right).contains(&bin) => (right - bin) / (right - centre),
            _ => 0.0,
        }
    };
    let shape = [length / 2 + 1, triangles];
    let values: Vec<f64> = coordinates(&shape).iter().map(|at| weight(at[0], at[1])).collect();
    Ok(vec![ops.values(call.dtype("output_datatype")?.unwrap_or(DType::F32), &shape, &values)?])
}

/// Maps the positions of an image, from -1 to 1, the last dimension first.
fn affine_grid(call: &Call<'_>) -> Outputs {
    let (ops, theta) = (call.ops(), call.input(0)?);
    let sizes: Vec<usize> = ops.to_ints(call.input(1)?)?.into_iter().map(size_of).collect::<Lowered<_>>()?;
    let [batch, _, image @ ..] = &sizes[..] else {
        return Err(Stop::Failed(format!("{sizes:?} are no sizes of images")));
    };
    let corners = call.flag("align_corners");
    let place = |at: usize, size: usize| match corners {
        true if size == 1 => -1.0,
        true => 2.0 * at as f64 / (size - 1) as f64 - 1.0,
        false => (2 * at + 1) as f64 / size as f64 - 1.0,
    };
    let points = coordinates(image);
    let homogeneous: Vec<f64> = points
        .iter()
        .flat_map(|at| at.iter().zip(image).rev().map(|(&at, &size)| place(at, size)).chain([1.0]))
        .collect();
    let points = ops.values(DType::F64, &[points.len(), image.len() + 1], &homogeneous)?;
    let grid = ops.matmul(&points, &ops.cast(theta, DType::F64)?.transpose(1, 2)?)?;
    let shape = [&[*batch][..], image, &[image.len()]].concat();
    Ok(vec![ops.cast(&ops.reshape(&grid, &shape)?, theta.dtype())?])
}
