//! Functions of one argument with scalar parameters.

use crate::key::{Family, Key};
use crate::launch::Arg;
use crate::launch::elementwise::{Kernels, run};
use crate::manifest::instances::affine::{AFFINE, CELU, CLAMP, ELU, LEAKY_RELU, POWF, carrier};
use crate::runtime::GpuRuntime;
use crate::storage::GpuStorage;
use isobit_hal::{BackendStorage, DType, Layout, Op, Result, Src};

/// Returns the kernels, with the operation's number in keys.
fn kernels(op: &Op, dtype: DType) -> Kernels {
    let (number, has_recipe) = match op {
        Op::Powf(_) => (POWF, true),
        Op::Elu(_) => (ELU, true),
        Op::Celu(_) => (CELU, true),
        Op::LeakyRelu(_) => (LEAKY_RELU, false),
        Op::Clamp(_) => (CLAMP, false),
        _ => (AFFINE, false),
    };
    let key = Key::new(Family::Affine, number, &[carrier(number, dtype)], Key::CONTIGUOUS);
    Kernels::of_function(key, dtype, has_recipe)
}

/// Returns the kernels that the operation may launch for these dtypes.
pub(crate) fn keys(op: &Op, dtypes: &[DType]) -> Vec<Key> {
    kernels(op, dtypes[0]).keys()
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
    let count = if matches!(op, Op::Affine(_) | Op::Clamp(_)) { 2 } else { 1 };
    run(|| kernels(op, dtype), srcs, dst, dst_layout, &both[..count])
}
