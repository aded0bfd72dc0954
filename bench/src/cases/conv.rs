//! Convolutions and transposed convolutions: the vendor's library, and the portable kernel with the
//! vendor's time as its floor.

use super::Rows;
use crate::row::Row;
use isobit_hal::{
    BackendStorage, Conv1d, Conv2d, ConvTranspose1d, ConvTranspose2d, DType, Layout, Numerics, Op, Result, Src,
};
use isobit_kernels::{GpuRuntime, GpuStorage};

/// An operation, the dimensions of its operands and result, and the name of the work in reports.
struct Work {
    op: Op,
    name: &'static str,
    src: Vec<usize>,
    kernel: Vec<usize>,
    dst: Vec<usize>,
}

fn works() -> [Work; 5] {
    let images = || vec![32, 128, 56, 56];
    let square = Conv2d::default().with_padding([1, 1]);
    [
        Work {
            op: Op::Conv2d(square),
            name: "32x128x56x56 k3 p1",
            src: images(),
            kernel: vec![128, 128, 3, 3],
            dst: images(),
        },
        Work {
            op: Op::Conv2d(square.with_groups(128)),
            name: "32x128x56x56 k3 p1 g128",
            src: images(),
            kernel: vec![128, 1, 3, 3],
            dst: images(),
        },
        Work {
            op: Op::ConvTranspose2d(ConvTranspose2d::default().with_stride([2, 2])),
            name: "32x128x56x56 k3 s2",
            src: images(),
            kernel: vec![128, 128, 3, 3],
            dst: vec![32, 128, 113, 113],
        },
        Work {
            op: Op::Conv1d(Conv1d::default()),
            name: "32x256x1024 k5",
            src: vec![32, 256, 1024],
            kernel: vec![256, 256, 5],
            dst: vec![32, 256, 1020],
        },
        Work {
            op: Op::ConvTranspose1d(ConvTranspose1d::default().with_stride([2])),
            name: "32x256x1024 k5 s2",
            src: vec![32, 256, 1024],
            kernel: vec![256, 256, 5],
            dst: vec![32, 256, 2051],
        },
    ]
}

pub(super) fn rows<R: GpuRuntime>(rows: &mut Rows<'_, R>) -> Result<()> {
    for dtype in [DType::F32, DType::F16, DType::BF16, DType::F64] {
        for work in works() {
            if rows.wants(work.op.name(), dtype) {
                both(rows, dtype, &work)?;
            }
        }
    }
    Ok(())
}

fn both<R: GpuRuntime>(rows: &mut Rows<'_, R>, dtype: DType, work: &Work) -> Result<()> {
    let Work { op, name, src, kernel, dst } = work;
    let [xl, kl, dl] = [src, kernel, dst].map(|dims| Layout::contiguous(dims.as_slice()));
    let (x, k) = (rows.bench.random(xl.elem_count(), dtype)?, rows.bench.random(kl.elem_count(), dtype)?);
    let mut out = rows.bench.output(dl.elem_count(), dtype)?;
    // A transposed convolution multiplies each weight with each input, a plain one with each
    // output.
    let transposed = matches!(op, Op::ConvTranspose1d(_) | Op::ConvTranspose2d(_));
    let (along, channels) = if transposed { (src, src[1]) } else { (dst, dst[1]) };
    let flops = 2.0 * (along[0] * along[2..].iter().product::<usize>() * kl.elem_count() / kernel[0] * channels) as f64;
    let mut vendor = None;
    for (suffix, numerics) in [("_vendor", Numerics::Vendor), ("", Numerics::Portable)] {
        let op = op.clone().with_numerics(Some(numerics));
        let us = rows
            .bench
            .time(|| GpuStorage::apply_into(&op, &[Src::Storage(&x, &xl), Src::Storage(&k, &kl)], &mut out, &dl))?;
        let row = Row::new(format!("{}{suffix}", op.name()), dtype, *name, us).with_floor(vendor);
        rows.push(Row { flops: Some(flops), ..row });
        vendor = Some(us);
    }
    Ok(())
}
