//! Convolutions and transposed convolutions.

mod axis;
mod block;
mod launch;

use super::{binary, matmul};
use crate::device::GpuDevice;
use crate::key::Key;
use crate::launch::index::{Dim, IndexDims, push};
use crate::manifest::instances::conv::{
    CHAINS, FOLD, PACK, SEGMENTS, SLIDING_3, SLIDING_5, SLIDING_7, SPREAD, THIN, THIN_4, THIN_4_PLANES, THIN_PLANES,
    TILE, TILE_UNIT, UNFOLD_KERNEL, UNIT, WARPGROUP,
};
use crate::ops::stored;
use crate::runtime::{Conv, DevicePtr, GpuRuntime, Strided, Vendor};
use crate::storage::GpuStorage;
use axis::Window;
use isobit_hal::{BackendDevice, BackendStorage, BinaryOp, DType, Layout, Numerics, Op, Result, Scalar, Src};
use launch::{Problem, Tensor, key};

const ADD: Op = Op::Binary(BinaryOp::Add);

/// Returns the kernels that an operation of the family may launch for these dtypes.
pub(crate) fn keys(_op: &Op, dtypes: &[DType]) -> Vec<Key> {
    let blocks: &[u8] = &[PACK, SPREAD, UNFOLD_KERNEL, FOLD, CHAINS, WARPGROUP];
    let units = if dtypes[0] == DType::F64 { &[UNIT] } else { blocks };
    let strips = [THIN, THIN_4, THIN_PLANES, THIN_4_PLANES, SLIDING_3, SLIDING_5, SLIDING_7];
    let own = [TILE, TILE_UNIT, SEGMENTS].iter().chain(&strips).chain(units).map(|&variant| key(dtypes[0], variant));
    let bias = if dtypes.len() > 3 { binary::keys(&ADD, dtypes) } else { Vec::new() };
    own.chain(matmul::keys(&Op::Matmul(Default::default()), dtypes)).chain(bias).collect()
}

pub(crate) fn apply_into<R: GpuRuntime>(
    op: &Op,
    srcs: &[Src<'_, GpuStorage<R>>],
    dst: &mut GpuStorage<R>,
    dst_layout: &Layout,
) -> Result<()> {
    let ((src, src_layout), (kernel, kernel_layout)) = (stored(srcs, 0), stored(srcs, 1));
    let bias = (srcs.len() > 2).then(|| stored(srcs, 2));
    if dst_layout.elem_count() == 0 {
        return Ok(());
    }
    if kernel_layout.elem_count() == 0 {
        dst.const_set(Scalar::zero(dst.dtype()), dst_layout)?;
        return add_bias(bias, dst, dst_layout);
    }
    let problem = |kernel: &GpuStorage<R>, layout: &Layout| {
        vendor_problem(op, (src, src_layout), (kernel, layout), (dst, dst_layout))
    };
    let device = dst.device();
    let numerics = op.numerics().unwrap_or_else(|| device.default_numerics());
    // SAFETY: the layouts were validated against their buffers. The destination is borrowed
    // mutably, so it is not one of the inputs, and its layout names no element twice.
    unsafe {
        if numerics == Numerics::Vendor {
            // cuDNN reads a strided kernel as if it were contiguous, and MIOpen rejects strided
            // kernels. The copy returns to the pool afterwards, in stream order.
            let packed = if kernel_layout.is_contiguous() { None } else { Some(kernel.try_clone(kernel_layout)?) };
            let plain = Layout::contiguous(kernel_layout.shape());
            let asked = match &packed {
                Some(copy) => problem(copy, &plain),
                None => problem(kernel, kernel_layout),
            };
            let outcome = match src_layout.elem_count() {
                0 => Vendor::Declined("the input has no elements".into()),
                _ => device.call_vendor(|runtime, stream, scratch| runtime.conv(stream, &asked, scratch))?,
            };
            if device.vendor_took(op, outcome) {
                return add_bias(bias, dst, dst_layout);
            }
        }
        let problem = problem(kernel, kernel_layout);
        // The kernels read a bias whose elements are neighbours.
        let packed = match bias {
            Some((bias, layout)) if !layout.is_contiguous() => Some(bias.try_clone(layout)?),
            _ => None,
        };
        let bias = bias.map(|(bias, layout)| match &packed {
            Some(copy) => copy.ptr(),
            None => bias.ptr().at(bias.dtype(), layout.start_offset()),
        });
        let digits = Op::conv_block_digits(dst.dtype(), of_group(&problem).1).filter(|_| numerics == Numerics::Block);
        // Of the matrix product's kernels, those of block products have a bias, for each matrix of
        // weights: groups that share theirs have more.
        let own_weights = problem.groups == 1 || kernel_layout.stride()[0] != 0;
        let takes_bias =
            |product: &matmul::Problem<'_, R>| digits.is_some_and(|digits| own_weights && product.takes_bias(digits));
        let product = product(device, &problem).filter(|product| bias.is_none() || takes_bias(product));
        match (product, digits) {
            (Some(product), Some(digits)) => product.block(digits, [None; 2], bias.unwrap_or(DevicePtr(0))),
            (Some(product), None) => product.portable(),
            (None, Some(digits)) => portable(device, &problem, bias).block(digits),
            (None, None) => portable(device, &problem, bias).portable(),
        }
    }
}

/// Adds a bias, if there is one, to the results of its channels.
fn add_bias<R: GpuRuntime>(
    bias: Option<(&GpuStorage<R>, &Layout)>,
    dst: &mut GpuStorage<R>,
    dst_layout: &Layout,
) -> Result<()> {
    let Some((bias, layout)) = bias else { return Ok(()) };
    let mut strides = vec![0; dst_layout.dims().len()];
    strides[1] = layout.stride()[0];
    let repeated = Layout::new(dst_layout.shape(), strides.as_slice(), layout.start_offset())?;
    binary::apply_into(&ADD, &[Src::InPlace, (bias, &repeated).into()], dst, dst_layout)
}

/// The parameters in three dimensions.
struct Parameters {
    transposed: bool,
    stride: [usize; 3],
    padding_before: [usize; 3],
    padding_after: [usize; 3],
    dilation: [usize; 3],
    groups: usize,
}

/// Returns the values of up to three dimensions, after others as of dimensions of size 1.
fn three(values: &[usize], of_one: usize) -> [usize; 3] {
    let mut three = [of_one; 3];
    three[3 - values.len()..].copy_from_slice(values);
    three
}

fn parameters(op: &Op) -> Parameters {
    macro_rules! over {
        ($p:ident, $transposed:literal) => {
            Parameters {
                transposed: $transposed,
                stride: three(&$p.stride, 1),
                padding_before: three(&$p.padding_before, 0),
                padding_after: three(&$p.padding_after, 0),
                dilation: three(&$p.dilation, 1),
                groups: $p.groups,
            }
        };
    }
    match op {
        Op::Conv1d(p) => over!(p, false),
        Op::Conv2d(p) => over!(p, false),
        Op::Conv3d(p) => over!(p, false),
        Op::ConvTranspose1d(p) => over!(p, true),
        Op::ConvTranspose2d(p) => over!(p, true),
        Op::ConvTranspose3d(p) => over!(p, true),
        _ => unreachable!("not an operation of the family"),
    }
}

fn vendor_problem<R: GpuRuntime>(
    op: &Op,
    src: (&GpuStorage<R>, &Layout),
    kernel: (&GpuStorage<R>, &Layout),
    dst: (&GpuStorage<R>, &Layout),
) -> Conv {
    let tensor = |(storage, layout): (&GpuStorage<R>, &Layout)| {
        let all = |values: &[usize], of_one| {
            let [d, h, w] = three(&values[2..], of_one);
            [values[0], values[1], d, h, w]
        };
        Strided {
            ptr: storage.ptr().at(storage.dtype(), layout.start_offset()),
            dims: all(layout.dims(), 1),
            // The stride that a contiguous added dimension would have.
            strides: all(layout.stride(), layout.dims()[2] * layout.stride()[2]),
        }
    };
    let Parameters { transposed, stride, padding_before, padding_after, dilation, groups } = parameters(op);
    Conv {
        dtype: dst.0.dtype(),
        transposed,
        src: tensor(src),
        kernel: tensor(kernel),
        dst: tensor(dst),
        stride,
        padding_before,
        padding_after,
        dilation,
        groups,
    }
}

/// Returns the input and output channels of a group, and the kernel as a tensor whose channels are
/// those of the result and whose images are those of the input.
fn of_group(conv: &Conv) -> (usize, usize, Tensor) {
    let Strided { ptr, dims: [first, second, ..], strides: [a, b, d, h, w] } = conv.kernel;
    let (each, space) = (first / conv.groups, [d, h, w]);
    match conv.transposed {
        false => (second, each, Tensor { ptr, image: b, group: each * a, channel: a, space }),
        true => (each, second, Tensor { ptr, image: a, group: each * a, channel: b, space }),
    }
}

/// Returns the matrix product that is equal to a convolution whose kernel has one tap, through
/// which every output sees its own input: the sums and their order are the same. Returns `None` for
/// other convolutions, or if the outputs are not laid out as columns.
fn product<'a, R: GpuRuntime>(device: &'a GpuDevice<R>, conv: &Conv) -> Option<matmul::Problem<'a, R>> {
    let one_tap = conv.kernel.dims[2..] == [1; 3] && conv.stride == [1; 3] && conv.padding_before == [0; 3];
    if !one_tap || conv.src.dims[2..] != conv.dst.dims[2..] {
        return None;
    }
    let (channels_in, channels_out, kernel) = of_group(conv);
    let (src, dst) = (conv.src.strides, conv.dst.strides);
    let merged = |from: usize| {
        let mut dims = IndexDims::<2>::new();
        for d in [0, 2, 3, 4].into_iter().filter(|&d| d >= from) {
            push(&mut dims, Dim { size: conv.dst.dims[d], stride: [src[d], dst[d]] });
        }
        match dims[..] {
            [] => Some(Dim { size: 1, stride: [1, 1] }),
            [dim] => Some(dim),
            _ => None,
        }
    };
    // The outputs of all images form one set of columns if their layout allows it, else one set per
    // image.
    let together = merged(0);
    let columns = together.or_else(|| merged(2))?;
    let mut batch = matmul::Batch::new();
    if together.is_none() {
        push(&mut batch, Dim { size: conv.dst.dims[0], stride: [0, src[0], dst[0], 0, 0] });
    }
    let stride = [kernel.group, channels_in * src[1], channels_out * dst[1], 0, 0];
    push(&mut batch, Dim { size: conv.groups, stride });
    Some(matmul::Problem {
        device,
        dtype: conv.dtype,
        m: channels_out,
        n: columns.size,
        k: channels_in,
        a: matmul::Operand { ptr: kernel.ptr, row: kernel.channel, col: kernel.image },
        b: matmul::Operand { ptr: conv.src.ptr, row: src[1], col: columns.stride[0] },
        c: matmul::Operand { ptr: conv.dst.ptr, row: dst[1], col: columns.stride[1] },
        batch,
        zeros: None,
        scales: None,
    })
}

fn portable<'a, R: GpuRuntime>(device: &'a GpuDevice<R>, conv: &Conv, bias: Option<DevicePtr>) -> Problem<'a, R> {
    let (channels_in, channels_out, kernel) = of_group(conv);
    let tensor = |t: &Strided<5>, channels: usize| {
        let [image, channel, d, h, w] = t.strides;
        Tensor { ptr: t.ptr, image, group: channels * channel, channel, space: [d, h, w] }
    };
    let window = |d: usize| Window {
        transposed: conv.transposed,
        size: conv.src.dims[d + 2],
        taps: conv.kernel.dims[d + 2],
        outputs: conv.dst.dims[d + 2],
        stride: conv.stride[d],
        padding: conv.padding_before[d],
        dilation: conv.dilation[d],
    };
    Problem {
        device,
        dtype: conv.dtype,
        transposed: conv.transposed,
        images: conv.dst.dims[0],
        groups: conv.groups,
        channels_in,
        channels_out,
        windows: [window(0), window(1), window(2)],
        src: tensor(&conv.src, channels_in),
        kernel,
        dst: tensor(&conv.dst, channels_out),
        bias,
    }
}
