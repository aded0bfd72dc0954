//! Linear quantization.

use super::cast::{convert, saturates};
use super::matmul::products;
use super::shape::size_of;
use super::{Rule, Table};
use crate::element::Element;
use crate::graph::{Call, Outputs};
use crate::ops::Ops;
use crate::stop::Lowered;
use crate::tensor::Tensor;
use isobit::{BinaryOp, CmpOp, DType, ReduceOp, UnaryOp};

pub(super) const TABLE: Table = &[
    ("QuantizeLinear", Rule::Code(quantize_linear)),
    ("DequantizeLinear", Rule::Code(dequantize_linear)),
    ("DynamicQuantizeLinear", Rule::Code(dynamic_quantize_linear)),
    ("QLinearMatMul", Rule::Code(qlinear_matmul)),
];

/// Rounds quotients to even, adds the zero point, and casts, which saturates. To a float they are
/// only cast.
fn rounded(ops: &Ops, quotients: &Tensor, zero: Option<&Tensor>, to: Element, saturates: bool) -> Lowered<Tensor> {
    if to.dtype.is_float() {
        return convert(ops, quotients, to, saturates);
    }
    let mut levels = ops.unary(UnaryOp::RoundEven, quotients)?;
    if let Some(zero) = zero {
        levels = ops.add(&levels, &ops.cast(zero, levels.dtype())?)?;
    }
    convert(ops, &levels, to, true)
}

/// Brings a scale or a zero point to the shape of the elements: one for all, one for each position
/// of an axis, or one for each block along the axis.
fn spread(call: &Call<'_>, parameter: &Tensor, x: &Tensor) -> Lowered<Tensor> {
    let ops = call.ops();
    if parameter.len() == 1 {
        return ops.reshape(parameter, &vec![1; x.rank()]);
    }
    let axis = call.axis(1, x.rank())?;
    match size_of(call.int("block_size").unwrap_or(0))? {
        0 => {
            let mut shape = vec![1; x.rank()];
            shape[axis] = parameter.len();
            ops.reshape(parameter, &shape)
        }
        block => ops.repeat_each(parameter, axis, block)?.narrow(axis, 0, x.dims()[axis]),
    }
}

fn quantize_linear(call: &Call<'_>) -> Outputs {
    let (ops, x) = (call.ops(), call.input(0)?);
    let scale = spread(call, call.input(1)?, x)?;
    let zero = call.optional(2)?.map(|zero| spread(call, zero, x)).transpose()?;
    let to = match (&zero, call.element("output_dtype")?) {
        (Some(zero), _) => zero.element(),
        (None, Some(element)) => element,
        (None, None) => DType::U8.into(),
    };
    let quotients = ops.div(x, &ops.cast(&scale, x.dtype())?)?;
    Ok(vec![rounded(ops, &quotients, zero.as_ref(), to, saturates(call))?])
}

/// Integers and zero points are subtracted in i32, which holds both exactly.
fn dequantize_linear(call: &Call<'_>) -> Outputs {
    let (ops, x) = (call.ops(), call.input(0)?);
    let scale = spread(call, call.input(1)?, x)?;
    let to = call.dtype("output_dtype")?.unwrap_or(scale.dtype());
    let exact = if x.dtype().is_float() { scale.dtype() } else { DType::I32 };
    let mut centred = ops.cast(x, exact)?;
    if let Some(zero) = call.optional(2)? {
        centred = ops.sub(&centred, &ops.cast(&spread(call, zero, x)?, exact)?)?;
    }
    let scaled = ops.mul(&ops.cast(&centred, scale.dtype())?, &scale)?;
    Ok(vec![ops.cast(&scaled, to)?])
}

/// To u8, by the range of the elements with 0.
fn dynamic_quantize_linear(call: &Call<'_>) -> Outputs {
    let (ops, x) = (call.ops(), call.input(0)?);
    let dims: Vec<usize> = (0..x.rank()).collect();
    let zero = ops.scalar(x.dtype(), 0.0)?;
    let end = |reduce, bound| {
        let end = ops.reshape(&ops.reduce(reduce, x, &dims)?, &[])?;
        ops.binary(bound, &end, &zero)
    };
    let (least, most) = (end(ReduceOp::Min, BinaryOp::Minimum)?, end(ReduceOp::Max, BinaryOp::Maximum)?);
    let levels = ops.scalar(x.dtype(), 255.0)?;
    let scale = ops.div(&ops.sub(&most, &least)?, &levels)?;
    // Without a range every element is 0, and so is its quotient by any divisor.
    let is_flat = ops.compare_with(CmpOp::Eq, &scale, 0.0)?;
    let divisor = ops.select(&is_flat, &ops.scalar(x.dtype(), 1.0)?, &scale)?;
    let start = ops.sub(&zero, &ops.div(&least, &divisor)?)?;
    let zero_point = rounded(ops, &start, None, DType::U8.into(), true)?;
    let y = rounded(ops, &ops.div(x, &divisor)?, Some(&zero_point), DType::U8.into(), true)?;
    Ok(vec![y, scale, zero_point])
}

/// Quantizes exact sums of products of two quantized operands, which have the scales of both. A
/// scale of the second operand may be one for each position of the dimension `axis`.
pub(super) fn requantize(
    ops: &Ops,
    sums: &Tensor,
    [a, b, y]: [&Tensor; 3],
    zero: &Tensor,
    axis: usize,
) -> Lowered<Tensor> {
    let wide = |scale: &Tensor| {
        let scale = ops.cast(scale, DType::F64)?;
        if scale.len() == 1 {
            return ops.reshape(&scale, &[]);
        }
        let mut shape = vec![1; sums.rank()];
        shape[axis] = scale.len();
        ops.reshape(&scale, &shape)
    };
    let factor = ops.div(&ops.mul(&wide(a)?, &wide(b)?)?, &wide(y)?)?;
    rounded(ops, &ops.mul(sums, &factor)?, Some(&ops.reshape(zero, &[])?), zero.element(), true)
}

fn qlinear_matmul(call: &Call<'_>) -> Outputs {
    let ops = call.ops();
    let (operands, zeros) = ([call.input(0)?, call.input(3)?], [call.optional(2)?, call.optional(5)?]);
    let sums = ops.cast(&products(ops, operands, zeros)?, DType::F64)?;
    let last = sums.rank().saturating_sub(1);
    let scales = [call.input(1)?, call.input(4)?, call.input(6)?];
    Ok(vec![requantize(ops, &sums, scales, call.input(7)?, last)?])
}
