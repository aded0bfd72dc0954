//! Functions of one argument with scalar parameters.

use crate::elementwise::{Kernels, address, recipe_unroll, run};
use crate::key::{Family, Key};
use crate::runtime::GpuRuntime;
use crate::storage::GpuStorage;
use isobit_hal::{Affine, BackendStorage, DType, Elu, Layout, Op, Powf, Result, Src};

/// The number of the operation in keys, and the kernels.
fn kernels(op: &Op, dtype: DType) -> Kernels {
    let (number, unroll) = match op {
        Op::Powf(_) => (1, recipe_unroll(dtype)),
        Op::Elu(_) => (2, recipe_unroll(dtype)),
        _ => (0, 2),
    };
    Kernels::new(Key::new(Family::Affine, number, &[dtype], Key::CONTIGUOUS), unroll)
}

/// The kernels that the operation may launch for these dtypes.
pub(crate) fn keys(op: &Op, dtypes: &[DType]) -> Vec<Key> {
    kernels(op, dtypes[0]).keys()
}

/// A parameter as the kernels take it: rounded to the compute type of a float, cast to an integer (truncated, saturated, NaN to 0).
/// In the low bytes, as the machine is little-endian.
fn parameter(value: f64, dtype: DType) -> u64 {
    match dtype {
        DType::U8 => (value as u8).into(),
        DType::I8 => (value as i8 as u8).into(),
        DType::U32 => (value as u32).into(),
        DType::I16 => (value as i16 as u16).into(),
        DType::I32 => (value as i32 as u32).into(),
        DType::I64 => value as i64 as u64,
        DType::F64 => value.to_bits(),
        _ => (value as f32).to_bits().into(),
    }
}

pub(crate) fn affine_into<R: GpuRuntime>(
    op: Affine,
    src: Src<'_, GpuStorage<R>>,
    dst: &mut GpuStorage<R>,
    dst_layout: &Layout,
) -> Result<()> {
    let dtype = dst.dtype();
    let (factor, summand) = (parameter(op.mul, dtype), parameter(op.add, dtype));
    let op = Op::Affine(op);
    run(&op, || kernels(&op, dtype), &[src], dst, dst_layout, &[address(&factor), address(&summand)])
}

pub(crate) fn powf_into<R: GpuRuntime>(
    op: Powf,
    src: Src<'_, GpuStorage<R>>,
    dst: &mut GpuStorage<R>,
    dst_layout: &Layout,
) -> Result<()> {
    with_parameter(Op::Powf(op), op.exponent, src, dst, dst_layout)
}

pub(crate) fn elu_into<R: GpuRuntime>(
    op: Elu,
    src: Src<'_, GpuStorage<R>>,
    dst: &mut GpuStorage<R>,
    dst_layout: &Layout,
) -> Result<()> {
    with_parameter(Op::Elu(op), op.alpha, src, dst, dst_layout)
}

fn with_parameter<R: GpuRuntime>(
    op: Op,
    value: f64,
    src: Src<'_, GpuStorage<R>>,
    dst: &GpuStorage<R>,
    dst_layout: &Layout,
) -> Result<()> {
    let dtype = dst.dtype();
    let value = parameter(value, dtype);
    run(&op, || kernels(&op, dtype), &[src], dst, dst_layout, &[address(&value)])
}
