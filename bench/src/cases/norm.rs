//! softmax and norms over rows that a block holds in registers, over short rows, and over rows of
//! the size of a vocabulary.

use super::{MATRIX, Rows};
use isobit_hal::{BackendStorage, DType, LayerNorm, Layout, Op, Result, Src};
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
        ("safe_softmax_last", Op::SafeSoftmax),
        ("log_softmax_last", Op::LogSoftmax),
        ("rms_norm_last", Op::RmsNorm { eps }),
        ("layer_norm_last", Op::LayerNorm(LayerNorm::new(eps))),
        ("layer_norm_plain_last", Op::LayerNorm(LayerNorm::new(eps).with_inputs(false, false))),
        ("layer_norm_stats_last", Op::LayerNormStats { eps }),
        ("skip_layer_norm_last", Op::SkipLayerNorm { eps }),
    ];
    if !ops.iter().any(|(name, _)| rows.wants(name, dtype)) {
        return Ok(());
    }
    let (l, row, work) = (&Layout::contiguous([m, n]), &Layout::contiguous(n), &format!("{m}x{n}"));
    let (x, skip) = (&rows.bench.random(m * n, dtype)?, &rows.bench.random(m * n, dtype)?);
    let (w, b, x_bias) = (&rows.bench.random(n, dtype)?, &rows.bench.random(n, dtype)?, &rows.bench.random(n, dtype)?);
    let (dst, of_rows) = (&mut rows.bench.output(m * n, dtype)?, &Layout::contiguous([m, 2]));
    let stats = &mut rows.bench.output(m * 2, dtype.compute())?;
    let [x, skip] = [x, skip].map(|s| Src::Storage(s, l));
    let [w, b, x_bias] = [w, b, x_bias].map(|s| Src::Storage(s, row));
    for (name, op) in &ops {
        // How many inputs are as large as the result, and all of them.
        let (large, inputs): (usize, &[_]) = match op {
            Op::RmsNorm { .. } => (1, &[x, w]),
            Op::LayerNorm(p) if p.has_weight => (1, &[x, w, b]),
            Op::SkipLayerNorm { .. } => (2, &[x, skip, w, b, x_bias]),
            _ => (1, &[x]),
        };
        if let Op::LayerNormStats { .. } = op {
            let bytes = m * n * dtype.size_in_bytes() + 2 * m * dtype.compute().size_in_bytes();
            rows.add(name, dtype, work, bytes, Box::new(|| GpuStorage::apply_into(op, inputs, stats, of_rows)))?;
            continue;
        }
        let bytes = ((large + 1) * m * n + (inputs.len() - large) * n) * dtype.size_in_bytes();
        rows.add(name, dtype, work, bytes, Box::new(|| GpuStorage::apply_into(op, inputs, dst, l)))?;
    }
    Ok(())
}
