//! Functions of one argument with scalar parameters.

use crate::key::{Family, Key};
use crate::launch::Arg;
use crate::launch::elementwise::{Kernels, run};
use crate::manifest::instances::affine::{
    AFFINE, CELU, CLAMP, CUBE, ELU, INVERSE_ROOT, INVERSE_SQUARE, LEAKY_RELU, POWF, ROOT, carrier,
};
use crate::ops::{copy, unary};
use crate::runtime::GpuRuntime;
use crate::storage::GpuStorage;
use isobit_hal::{BackendStorage, DType, Layout, Op, PowfRecipe, Result, Src, UnaryOp};

/// Returns the operation that does the same, if it has the kernels of another family.
fn elsewhere(op: &Op, dtype: DType) -> Option<Op> {
    let Op::Powf(op) = op else { return None };
    match op.recipe(dtype) {
        PowfRecipe::Itself => Some(Op::Copy),
        PowfRecipe::Square => Some(Op::Unary(UnaryOp::Sqr)),
        PowfRecipe::Reciprocal => Some(Op::Unary(UnaryOp::Recip)),
        _ => None,
    }
}

/// Returns the operation's number in keys.
fn number(op: &Op, dtype: DType) -> usize {
    match op {
        // pow gives 8-bit floats the bits of every recipe.
        Op::Powf(_) if dtype.is_f8() => POWF,
        Op::Powf(op) => match op.recipe(dtype) {
            PowfRecipe::Cube => CUBE,
            PowfRecipe::InverseSquare => INVERSE_SQUARE,
            PowfRecipe::Root => ROOT,
            PowfRecipe::InverseRoot => INVERSE_ROOT,
            _ => POWF,
        },
        Op::Elu(_) => ELU,
        Op::Celu(_) => CELU,
        Op::LeakyRelu(_) => LEAKY_RELU,
        Op::Clamp(_) => CLAMP,
        _ => AFFINE,
    }
}

fn kernels(number: usize, dtype: DType) -> Kernels {
    let key = Key::new(Family::Affine, number, &[carrier(number, dtype)], Key::CONTIGUOUS);
    Kernels::of_function(key, dtype, matches!(number, POWF | ELU | CELU))
}

/// Returns the kernels that the operation may launch for these dtypes.
pub(crate) fn keys(op: &Op, dtypes: &[DType]) -> Vec<Key> {
    match elsewhere(op, dtypes[0]) {
        Some(Op::Copy) => copy::keys(&Op::Copy, dtypes),
        Some(op) => unary::keys(&op, dtypes),
        None => kernels(number(op, dtypes[0]), dtypes[0]).keys(),
    }
}

/// Returns a parameter in the form that the kernels take: rounded to the compute type of a float,
/// or cast to an integer (truncated, saturated, NaN to 0). The value is in the low bytes, because
/// the device is little-endian.
fn parameter(value: f64, dtype: DType) -> u64 {
    match dtype {
        DType::U8 => (value as u8).into(),
        DType::I8 => (value as i8 as u8).into(),
        DType::U32 => (value as u32).into(),
        DType::I16 => (value as i16 as u16).into(),
        DType::I32 => (value as i32 as u32).into(),
        DType::I64 => value as i64 as u64,
        DType::U16 => (value as u16).into(),
        DType::U64 => value as u64,
        DType::F64 => value.to_bits(),
        _ => (value as f32).to_bits().into(),
    }
}

pub(crate) fn apply_into<R: GpuRuntime>(
    op: &Op,
    srcs: &[Src<'_, GpuStorage<R>>],
    dst: &mut GpuStorage<R>,
    dst_layout: &Layout,
) -> Result<()> {
    let dtype = dst.dtype();
    if let Some(op) = elsewhere(op, dtype) {
        return super::apply_into(&op, srcs, dst, dst_layout);
    }
    let [first, second] = match op {
        Op::Affine(op) => [op.mul, op.add],
        Op::Clamp(op) => [op.min, op.max],
        Op::Powf(op) => [op.exponent, 0.0],
        Op::Elu(op) => [op.alpha, 0.0],
        Op::LeakyRelu(op) => [op.negative_slope, 0.0],
        Op::Celu(op) => [op.alpha, 0.0],
        _ => unreachable!("not an operation of the family"),
    }
    .map(|value| parameter(value, dtype));
    let both = [Arg::new(&first), Arg::new(&second)];
    let number = number(op, dtype);
    let count = match number {
        AFFINE | CLAMP => 2,
        CUBE | INVERSE_SQUARE | ROOT | INVERSE_ROOT => 0,
        _ => 1,
    };
    run(|| kernels(number, dtype), srcs, dst, dst_layout, &both[..count])
}
