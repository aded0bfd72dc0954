//! softmax and norms over rows that a block holds in registers, over short rows, and over rows of
//! the size of a vocabulary; and the norms of channels, of images.

use super::{MATRIX, Rows};
use isobit_hal::{
    BackendStorage, BatchNorm, DType, GroupNorm, LayerNorm, Layout, LocalResponseNorm, Op, Result, Shape, Src,
};
use isobit_kernels::{GpuRuntime, GpuStorage};

/// Number of rows and elements per row. The peer measures the first.
const WORK: [[usize; 2]; 5] = [[MATRIX, MATRIX], [65_536, 1024], [524_288, 128], [16_384, 4099], [512, 131_072]];

pub(super) fn rows<R: GpuRuntime>(rows: &mut Rows<'_, R>) -> Result<()> {
    for dtype in [DType::F32, DType::F16, DType::BF16, DType::F64, DType::F8E4M3] {
        for [m, n] in WORK {
            norms(rows, dtype, [m, n])?;
        }
        channels(rows, dtype)?;
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

fn channels<R: GpuRuntime>(rows: &mut Rows<'_, R>, dtype: DType) -> Result<()> {
    let eps = 1e-5;
    let (images, small): (Shape, Shape) = ([32, 128, 112, 112].into(), [32, 512, 7, 7].into());
    let diffusion: Shape = [8, 320, 64, 64].into();
    for (name, op, shape, work) in [
        ("group_norm", Op::GroupNorm(GroupNorm::new(32, eps)), &images, "32x128x112x112 32"),
        ("group_norm", Op::GroupNorm(GroupNorm::new(32, eps)), &diffusion, "8x320x64x64 32"),
        ("group_norm", Op::GroupNorm(GroupNorm::new(32, eps)), &small, "32x512x7x7 32"),
        ("instance_norm", Op::GroupNorm(GroupNorm::new(128, eps)), &images, "32x128x112x112"),
        ("batch_norm", Op::BatchNorm(BatchNorm::new(eps)), &images, "32x128x112x112"),
        ("batch_norm", Op::BatchNorm(BatchNorm::new(eps)), &small, "32x512x7x7"),
        (
            "local_response_norm",
            Op::LocalResponseNorm(LocalResponseNorm::new(5, 1e-4, 0.75, 2.0)),
            &images,
            "32x128x112x112 5",
        ),
    ] {
        if !rows.wants(name, dtype) {
            continue;
        }
        let (l, of_channels) = (&Layout::contiguous(shape.clone()), &Layout::contiguous(shape.dims()[1]));
        let (n, c) = (l.elem_count(), of_channels.elem_count());
        let x = &rows.bench.random(n, dtype)?;
        let [w, b] = [rows.bench.random(c, dtype)?, rows.bench.random(c, dtype)?];
        let [mean, variance] = [rows.bench.random(c, dtype.compute())?, rows.bench.random(c, dtype.compute())?];
        let dst = &mut rows.bench.output(n, dtype)?;
        let [w, b, mean, variance] = [&w, &b, &mean, &variance].map(|s| Src::Storage(s, of_channels));
        let inputs = match op {
            Op::GroupNorm(_) => vec![Src::Storage(x, l), w, b],
            Op::BatchNorm(_) => vec![Src::Storage(x, l), mean, variance, w, b],
            _ => vec![Src::Storage(x, l)],
        };
        let bytes = 2 * n * dtype.size_in_bytes();
        rows.add(name, dtype, work, bytes, Box::new(|| GpuStorage::apply_into(&op, &inputs, dst, l)))?;
    }
    batch_norm_train(rows, dtype)
}

/// Training is a composition, so its results are allocated.
fn batch_norm_train<R: GpuRuntime>(rows: &mut Rows<'_, R>, dtype: DType) -> Result<()> {
    let (name, l) = ("batch_norm_train", &Layout::contiguous([32, 128, 112, 112]));
    if !rows.wants(name, dtype) {
        return Ok(());
    }
    let c = &Layout::contiguous(128);
    let (x, w, b) =
        (&rows.bench.random(l.elem_count(), dtype)?, rows.bench.random(128, dtype)?, rows.bench.random(128, dtype)?);
    let [mut mean, mut variance] = [rows.bench.random(128, dtype.compute())?, rows.bench.random(128, dtype.compute())?];
    let bytes = 2 * l.elem_count() * dtype.size_in_bytes();
    let call = Box::new(|| {
        let running = Some([&mut mean, &mut variance]);
        x.batch_norm_train(l, [Some((&w, c)), Some((&b, c))], running, 0.1, 1e-5).map(|_| ())
    });
    rows.add(name, dtype, "32x128x112x112", bytes, call)
}
