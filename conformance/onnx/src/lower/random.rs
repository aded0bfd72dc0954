//! Random numbers, which are those of the HAL's own generator.

use super::{Rule, Table};
use crate::graph::{Call, Outputs};
use crate::ops::Ops;
use crate::stop::Lowered;
use crate::tensor::Tensor;
use isobit::{BernoulliProbs, DType, Dropout, Op, RandNormal, RandUniform};

pub(super) const TABLE: Table = &[
    ("Bernoulli", Rule::Code(bernoulli)),
    ("Dropout", Rule::Code(dropout)),
    ("RandomUniformLike", Rule::Code(uniform_like)),
    ("RandomNormalLike", Rule::Code(normal_like)),
];

/// The seed is a float attribute.
fn seed(call: &Call<'_>) -> u64 {
    call.float("seed").or_else(|| call.int("seed").map(|seed| seed as f64)).unwrap_or(0.0).to_bits()
}

fn uniform(ops: &Ops, seed: u64, dtype: DType, shape: &[usize], ends: (f64, f64)) -> Lowered<Tensor> {
    ops.draw(&Op::RandUniform(RandUniform::new(ends.0, ends.1).at(seed, 0)), dtype, shape)
}

fn bernoulli(call: &Call<'_>) -> Outputs {
    let (ops, p) = (call.ops(), call.input(0)?);
    let drawn = ops.apply(&Op::BernoulliProbs(BernoulliProbs::new().at(seed(call), 0)), &[p])?;
    Ok(vec![ops.cast(&drawn, call.dtype("dtype")?.unwrap_or(p.dtype()))?])
}

/// Without training, and with a ratio of 0, every element is kept.
fn dropout(call: &Call<'_>) -> Outputs {
    let (ops, x) = (call.ops(), call.input(0)?);
    let ratio = call.optional(1)?.map_or(Ok(call.float("ratio").unwrap_or(0.5)), |ratio| ops.to_float(ratio))?;
    let is_training = call.optional(2)?.map_or(Ok(0), |flag| ops.to_int(flag))? != 0;
    if !is_training || ratio == 0.0 {
        return Ok(vec![x.clone(), ops.fill(DType::U8, x.dims(), 1.0)?.as_bool(true)]);
    }
    let op = Dropout::new(ratio).at(seed(call), 0);
    let mut outputs = vec![ops.apply(&Op::Dropout(op), &[x])?];
    if call.wants(1) {
        outputs.push(ops.draw(&Op::Bernoulli(op.mask()), DType::U8, x.dims())?.as_bool(true));
    }
    Ok(outputs)
}

fn uniform_like(call: &Call<'_>) -> Outputs {
    let x = call.input(0)?;
    let ends = (call.float("low").unwrap_or(0.0), call.float("high").unwrap_or(1.0));
    let dtype = call.dtype("dtype")?.unwrap_or(x.dtype());
    Ok(vec![uniform(call.ops(), seed(call), dtype, x.dims(), ends)?])
}

fn normal_like(call: &Call<'_>) -> Outputs {
    let x = call.input(0)?;
    let op = RandNormal::new(call.float("mean").unwrap_or(0.0), call.float("scale").unwrap_or(1.0));
    let dtype = call.dtype("dtype")?.unwrap_or(x.dtype());
    Ok(vec![call.ops().draw(&Op::RandNormal(op.at(seed(call), 0)), dtype, x.dims())?])
}
