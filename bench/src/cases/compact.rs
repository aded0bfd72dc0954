//! Results whose size depends on values, with half of the elements kept and a bound of all of them.
//! The bytes count each element, flag and result once.

use super::{MATRIX, Rows};
use isobit_hal::{BackendStorage, BinaryOp, CmpOp, DType, Layout, Op, Result, Scalar, Shape, Src, UnaryOp};
use isobit_kernels::{GpuRuntime, GpuStorage};

/// Elements of which `unique` finds few thousand distinct ones.
const DISTINCT: usize = 1 << 20;

pub(super) fn rows<R: GpuRuntime>(rows: &mut Rows<'_, R>) -> Result<()> {
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        selections(rows, dtype)?;
        distinct(rows, dtype)?;
    }
    Ok(())
}

fn selections<R: GpuRuntime>(rows: &mut Rows<'_, R>, dtype: DType) -> Result<()> {
    let (m, n) = (MATRIX, MATRIX * MATRIX);
    let (matrix, column) = (&Layout::contiguous([m, m]), &Layout::contiguous(m));
    let calls = [
        ("count_nonzero", Op::CountNonzero),
        ("nonzero", Op::Nonzero { bound: n }),
        ("masked_select", Op::MaskedSelect { bound: n }),
        ("compress_first", Op::Compress { dim: 0, bound: m }),
    ];
    for (name, op) in calls {
        if !rows.wants(name, dtype) {
            continue;
        }
        let x = rows.bench.random(n, dtype)?;
        // Half of the elements are 0.
        let x = x.unary(matrix, UnaryOp::Relu)?;
        let (mask, mask_layout) = match op {
            Op::MaskedSelect { .. } => (Some(x.cmp_scalar(matrix, Scalar::zero(dtype), CmpOp::Gt)?), matrix),
            Op::Compress { .. } => {
                let first = Layout::contiguous([m, m]).narrow(1, 0, 1)?.flatten(0, 1)?;
                (Some(x.cmp_scalar(&first, Scalar::zero(dtype), CmpOp::Gt)?), column)
            }
            _ => (None, matrix),
        };
        let mask = mask.as_ref().map(|mask| Src::Storage(mask, mask_layout));
        let inputs: Vec<_> = std::iter::once(Src::Storage(&x, matrix)).chain(mask).collect();
        let flags = inputs.get(1).map_or(0, |_| mask_layout.elem_count());
        call(rows, name, dtype, "8192x8192", op, &inputs, flags)?;
    }
    Ok(())
}

fn distinct<R: GpuRuntime>(rows: &mut Rows<'_, R>, dtype: DType) -> Result<()> {
    let n = DISTINCT;
    let layout = &Layout::contiguous(n);
    for (name, op) in [("unique", Op::Unique { bound: n }), ("unique_inverse", Op::UniqueInverse)] {
        if rows.wants(name, dtype) {
            let x = rows.bench.random(n, dtype)?;
            // Integers below 2048, of both signs.
            let scaled = x.binary_scalar(layout, Scalar::from_f64(dtype, 1024.0), BinaryOp::Mul)?;
            let x = scaled.unary(layout, UnaryOp::Floor)?;
            call(rows, name, dtype, "1Mi", op, &[Src::Storage(&x, layout)], 0)?;
        }
    }
    Ok(())
}

fn call<R: GpuRuntime>(
    rows: &mut Rows<'_, R>,
    name: &str,
    dtype: DType,
    work: &str,
    op: Op,
    inputs: &[Src<'_, GpuStorage<R>>],
    flags: usize,
) -> Result<()> {
    let layouts: Vec<&Layout> = inputs.iter().filter_map(|src| src.storage()).map(|(_, layout)| layout).collect();
    let shapes: Vec<&Shape> = layouts.iter().map(|layout| layout.shape()).collect();
    let to = Layout::contiguous(op.result_shape(&shapes)?.expect("the shape follows from the inputs'"));
    let result = op.result_dtype(&[dtype]).expect("the dtype follows from the source's");
    let mut dst = rows.bench.output(to.elem_count(), result)?;
    let bytes = shapes[0].elem_count() * dtype.size_in_bytes() + flags + to.elem_count() * result.size_in_bytes();
    rows.add(name, dtype, work, bytes, Box::new(|| GpuStorage::apply_into(&op, inputs, &mut dst, &to)))
}
