//! Sorting: many rows that fit into a block, and one long row.

use super::Rows;
use isobit_hal::{BackendStorage, DType, Layout, Op, Result, Shape, Sort, Src, TopK};
use isobit_kernels::{GpuRuntime, GpuStorage};

/// Number of rows and elements per row.
const SHAPES: [([usize; 2], &str); 3] =
    [([8192, 1024], "8192x1024"), ([65_536, 128], "65536x128"), ([1, 1 << 20], "1x1Mi")];

/// The k of top-k.
const K: usize = 16;

pub(super) fn rows<R: GpuRuntime>(rows: &mut Rows<'_, R>) -> Result<()> {
    for dtype in [DType::F32, DType::F16, DType::BF16, DType::F64] {
        for (shape, work) in SHAPES {
            sorts(rows, dtype, shape, work)?;
        }
    }
    Ok(())
}

fn sorts<R: GpuRuntime>(rows: &mut Rows<'_, R>, dtype: DType, [count, n]: [usize; 2], work: &str) -> Result<()> {
    let (sort, top) = (Sort::ascending(), TopK::largest(K));
    let top_work = &format!("{work} k={K}");
    let src = rows.bench.random(count * n, dtype)?;
    let layout = Layout::contiguous([count, n]);
    let calls = [
        ("argsort_last", work, Op::ArgSort(sort)),
        ("sort_last", work, Op::Sort(sort)),
        ("argtopk_last", top_work, Op::ArgTopK(top)),
        ("topk_last", top_work, Op::TopK(top)),
    ];
    for (name, work, op) in calls {
        let result: Shape = op.result_shape(&[layout.shape()])?.expect("the shape follows from the source's");
        let result_dtype = op.result_dtype(&[dtype]).expect("the dtype follows from the source's");
        let mut dst = rows.bench.output(result.elem_count(), result_dtype)?;
        let to = Layout::contiguous(result);
        let bytes = count * n * dtype.size_in_bytes() + to.elem_count() * result_dtype.size_in_bytes();
        let srcs = [Src::Storage(&src, &layout)];
        rows.add(name, dtype, work, bytes, Box::new(|| GpuStorage::apply_into(&op, &srcs, &mut dst, &to)))?;
    }
    Ok(())
}
