//! Convolutions and transposed convolutions: the vendor's library, and with its time as their floor
//! the portable kernel and block products.

use super::Rows;
use crate::row::Row;
use isobit_hal::{
    BackendStorage, Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d, DType, Layout, Matmul,
    Numerics, Op, Result, Src,
};
use isobit_kernels::{GpuRuntime, GpuStorage};

/// An operation, the dimensions of input, kernel and result, and the name of the work in reports.
struct Work {
    op: Op,
    name: &'static str,
    src: Vec<usize>,
    kernel: Vec<usize>,
    dst: Vec<usize>,
}

/// A convolution of square images: channels and sides of input and result.
fn square(op: Conv2d, name: &'static str, [from, to]: [[usize; 2]; 2], taps: usize) -> Work {
    let image = |[channels, side]: [usize; 2]| vec![32, channels, side, side];
    let kernel = vec![to[0], from[0] / op.groups, taps, taps];
    Work { op: Op::Conv2d(op), name, src: image(from), kernel, dst: image(to) }
}

fn works() -> Vec<Work> {
    let plain = Conv2d::default();
    let padded = plain.with_padding([1, 1]);
    let strided = plain.with_padding([3, 3]).with_stride([2, 2]);
    vec![
        square(padded, "32x128x56x56 k3 p1", [[128, 56]; 2], 3),
        square(padded.with_bias(true), "32x128x56x56 k3 p1", [[128, 56]; 2], 3),
        square(padded.with_groups(128), "32x128x56x56 k3 p1 g128", [[128, 56]; 2], 3),
        square(padded, "32x64x56x56 k3 p1", [[64, 56]; 2], 3),
        square(padded, "32x256x28x28 k3 p1", [[256, 28]; 2], 3),
        square(padded, "32x512x7x7 k3 p1", [[512, 7]; 2], 3),
        square(padded.with_stride([2, 2]), "32x128x56x56 k3 p1 s2", [[128, 56], [128, 28]], 3),
        square(plain, "32x256x56x56 k1", [[256, 56]; 2], 1),
        square(plain.with_bias(true), "32x256x56x56 k1", [[256, 56]; 2], 1),
        square(strided, "32x3x224x224 k7 p3 s2", [[3, 224], [64, 112]], 7),
        Work {
            op: Op::ConvTranspose2d(ConvTranspose2d::default().with_stride([2, 2])),
            name: "32x128x56x56 k3 s2",
            src: vec![32, 128, 56, 56],
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
        Work {
            op: Op::Conv3d(Conv3d::default().with_padding([1; 3])),
            name: "8x64x16x28x28 k3 p1",
            src: vec![8, 64, 16, 28, 28],
            kernel: vec![64, 64, 3, 3, 3],
            dst: vec![8, 64, 16, 28, 28],
        },
        Work {
            op: Op::Conv3d(Conv3d::default().with_padding([1; 3]).with_groups(64)),
            name: "8x64x16x28x28 k3 p1 g64",
            src: vec![8, 64, 16, 28, 28],
            kernel: vec![64, 1, 3, 3, 3],
            dst: vec![8, 64, 16, 28, 28],
        },
        Work {
            op: Op::ConvTranspose3d(ConvTranspose3d::default().with_stride([2; 3])),
            name: "8x64x8x14x14 k2 s2",
            src: vec![8, 64, 8, 14, 14],
            kernel: vec![64, 64, 2, 2, 2],
            dst: vec![8, 64, 16, 28, 28],
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
    let (channels_out, mut out) = (dst[1], rows.bench.output(dl.elem_count(), dtype)?);
    let (b, bl) = (rows.bench.random(channels_out, dtype)?, Layout::contiguous(channels_out));
    let inputs = [Src::Storage(&x, &xl), Src::Storage(&k, &kl), Src::Storage(&b, &bl)];
    let inputs = &inputs[..op.inputs()];
    let layouts = [&xl, &kl, &bl].into_iter().take(inputs.len()).chain([&dl]);
    let bytes = layouts.map(|l| l.elem_count() * dtype.size_in_bytes()).sum::<usize>();
    // A transposed convolution multiplies each weight with each input, a plain one with each
    // output.
    let transposed = matches!(op, Op::ConvTranspose1d(_) | Op::ConvTranspose2d(_) | Op::ConvTranspose3d(_));
    let (along, channels) = if transposed { (src, src[1]) } else { (dst, dst[1]) };
    let flops = 2.0 * (along[0] * along[2..].iter().product::<usize>() * kl.elem_count() / kernel[0] * channels) as f64;
    let mut vendor = None;
    let block = Matmul::block_digits(dtype).map(|_| ("_block", Numerics::Block));
    for (suffix, numerics) in [("_vendor", Numerics::Vendor), ("", Numerics::Portable)].into_iter().chain(block) {
        let op = op.clone().with_numerics(Some(numerics));
        let us = rows.bench.time(|| GpuStorage::apply_into(&op, inputs, &mut out, &dl))?;
        let row = Row::new(format!("{}{suffix}", op.name()), dtype, *name, us).with_floor(vendor);
        rows.push(Row { bytes: Some(bytes as f64), flops: Some(flops), ..row });
        vendor = vendor.or(Some(us));
    }
    Ok(())
}
