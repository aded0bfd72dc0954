//! Flips, rolls, padding, repetition and concatenation.

use super::Rows;
use isobit_hal::{BackendStorage, Concat, DType, Flip, Layout, Op, Pad, PadMode, Repeat, Result, Roll, Scalar, Src};
use isobit_kernels::{GpuRuntime, GpuStorage};

/// Measures the rows.
pub(super) fn rows<R: GpuRuntime>(rows: &mut Rows<'_, R>) -> Result<()> {
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        let (matrix, images) = ([8192, 8192], [32, 64, 112, 112]);
        let pad = |mode| Op::Pad(Pad::new(&[0, 0, 3, 3], &[0, 0, 3, 3], mode));
        for (name, op, dims, work) in [
            ("flip_last", Op::Flip(Flip::new(&[1])), &matrix[..], "8192x8192"),
            ("flip_first", Op::Flip(Flip::new(&[0])), &matrix[..], "8192x8192"),
            ("roll_last", Op::Roll(Roll::new(&[1000], &[1])), &matrix[..], "8192x8192"),
            ("roll_first", Op::Roll(Roll::new(&[1000], &[0])), &matrix[..], "8192x8192"),
            ("pad_reflect", pad(PadMode::Reflect), &images[..], "32x64x112x112 p3"),
            ("pad_constant", pad(PadMode::Constant(Scalar::zero(dtype))), &images[..], "32x64x112x112 p3"),
            ("repeat", Op::Repeat(Repeat::new(&[2, 2])), &[4096, 4096][..], "4096x4096 x2x2"),
        ] {
            one(rows, name, &op, dtype, dims, 1, work)?;
        }
        one(rows, "concat_last", &Op::Concat(Concat::new(1, 4)), dtype, &[8192, 2048], 4, "4 of 8192x2048")?;
        one(rows, "concat_first", &Op::Concat(Concat::new(0, 4)), dtype, &[2048, 8192], 4, "4 of 2048x8192")?;
        one(rows, "concat_last", &Op::Concat(Concat::new(1, 16)), dtype, &[8192, 512], 16, "16 of 8192x512")?;
        // Rows that are no whole vectors.
        one(rows, "concat_last", &Op::Concat(Concat::new(1, 16)), dtype, &[8192, 511], 16, "16 of 8192x511")?;
    }
    Ok(())
}

/// Measures an operation of inputs of one shape.
fn one<R: GpuRuntime>(
    rows: &mut Rows<'_, R>,
    name: &str,
    op: &Op,
    dtype: DType,
    dims: &[usize],
    inputs: usize,
    work: &str,
) -> Result<()> {
    if !rows.wants(name, dtype) {
        return Ok(());
    }
    let from = &Layout::contiguous(dims);
    let shape = op.result_shape(&vec![from.shape(); inputs])?.expect("the inputs determine the shape");
    let to = &Layout::contiguous(shape);
    let sources = (0..inputs).map(|_| rows.bench.random(from.elem_count(), dtype)).collect::<Result<Vec<_>>>()?;
    let srcs: Vec<_> = sources.iter().map(|src| Src::Storage(src, from)).collect();
    let dst = &mut rows.bench.output(to.elem_count(), dtype)?;
    let bytes = (inputs * from.elem_count() + to.elem_count()) * dtype.size_in_bytes();
    rows.add(name, dtype, work, bytes, Box::new(|| GpuStorage::apply_into(op, &srcs, dst, to)))
}
