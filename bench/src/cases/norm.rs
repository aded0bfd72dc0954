//! softmax and norms over rows that a block holds in registers, over short rows, and over rows of
//! the size of a vocabulary.

use super::{MATRIX, Rows};
use isobit_hal::{BackendStorage, DType, Layout, Op, Result, Src};
use isobit_kernels::{GpuRuntime, GpuStorage};

/// Number of rows and elements per row. The peer measures the first.
const WORK: [[usize; 2]; 5] = [[MATRIX, MATRIX], [65_536, 1024], [524_288, 128], [16_384, 4099], [512, 131_072]];

pub(super) fn rows<R: GpuRuntime>(rows: &mut Rows<'_, R>) -> Result<()> {
    for dtype in [DType::F32, DType::F16, DType::BF16, DType::F64, DType::F8E4M3] {
        for [m, n] in WORK {
            norms(rows, dtype, [m, n])?;
        }
    }
    Ok(())
}

fn norms<R: GpuRuntime>(rows: &mut Rows<'_, R>, dtype: DType, [m, n]: [usize; 2]) -> Result<()> {
    let eps = 1e-5;
    let ops = [
        ("softmax_last", Op::Softmax),
        ("log_softmax_last", Op::LogSoftmax),
        ("rms_norm_last", Op::RmsNorm { eps }),
        ("layer_norm_last", Op::LayerNorm { eps }),
    ];
    if !ops.iter().any(|(name, _)| rows.wants(name, dtype)) {
        return Ok(());
    }
    let (l, row, work) = (&Layout::contiguous([m, n]), &Layout::contiguous(n), &format!("{m}x{n}"));
    let (x, w, b) = (&rows.bench.random(m * n, dtype)?, &rows.bench.random(n, dtype)?, &rows.bench.random(n, dtype)?);
    let dst = &mut rows.bench.output(m * n, dtype)?;
    let all = [Src::Storage(x, l), Src::Storage(w, row), Src::Storage(b, row)];
    for (name, op) in &ops {
        let inputs = match op {
            Op::RmsNorm { .. } => 2,
            Op::LayerNorm { .. } => 3,
            _ => 1,
        };
        let bytes = (2 * m * n + (inputs - 1) * n) * dtype.size_in_bytes();
        rows.add(name, dtype, work, bytes, Box::new(|| GpuStorage::apply_into(op, &all[..inputs], dst, l)))?;
    }
    Ok(())
}
