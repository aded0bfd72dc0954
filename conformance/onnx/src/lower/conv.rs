//! Convolutions, and their transpose.

use super::grid_sample::{around, folded, weighted};
use super::matmul::centred;
use super::quantize::requantize;
use super::shape::size_of;
use super::windows::{AutoPad, Windows, coordinates, kernel_of, spatial};
use super::{Rule, Table};
use crate::graph::{Call, Outputs};
use crate::ops::Ops;
use crate::stop::{Lowered, Stop};
use crate::tensor::Tensor;
use isobit::{
    Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d, DType, Op, Pool1d, Pool2d, Pool3d,
};

pub(super) const TABLE: Table = &[
    ("Conv", Rule::Code(conv_node)),
    ("ConvInteger", Rule::Code(conv_integer)),
    ("QLinearConv", Rule::Code(qlinear_conv)),
    ("ConvTranspose", Rule::Code(conv_transpose)),
    ("CausalConvWithState", Rule::Code(causal_conv)),
    ("Col2Im", Rule::Code(col2im)),
    ("DeformConv", Rule::Code(deform_conv)),
];

/// Adds one value for each channel of `[n, c, ..]`.
fn add_channels(ops: &Ops, x: &Tensor, bias: &Tensor) -> Lowered<Tensor> {
    let mut shape = vec![1; x.rank()];
    shape[1] = bias.len();
    ops.add(x, &ops.reshape(bias, &shape)?)
}

/// Returns one size for each dimension.
fn sizes<const RANK: usize>(sizes: &[usize]) -> Lowered<[usize; RANK]> {
    sizes.try_into().map_err(|_| Stop::Failed(format!("{RANK} sizes were expected, not {sizes:?}")))
}

/// Returns the inputs of a convolution.
fn inputs<'t>(x: &'t Tensor, weights: &'t Tensor, bias: Option<&'t Tensor>) -> Vec<&'t Tensor> {
    [x, weights].into_iter().chain(bias).collect()
}

fn convolve(call: &Call<'_>, x: &Tensor, weights: &Tensor, bias: Option<&Tensor>) -> Lowered<Tensor> {
    let ops = call.ops();
    let groups = size_of(call.int("group").unwrap_or(1))?;
    let (input, kernel) = (spatial(x)?, kernel_of(call, spatial(weights)?)?);
    let windows = Windows::of(call, input, kernel)?;
    let (before, after) = (&windows.before, &windows.after);
    macro_rules! with {
        ($op:expr) => {
            $op.with_stride(sizes(&windows.stride)?)
                .with_padding_by_side(sizes(before)?, sizes(after)?)
                .with_dilation(sizes(&windows.dilation)?)
                .with_groups(groups)
                .with_bias(bias.is_some())
        };
    }
    let op = match before.len() {
        1 => Op::Conv1d(with!(Conv1d::default())),
        2 => Op::Conv2d(with!(Conv2d::default())),
        3 => Op::Conv3d(with!(Conv3d::default())),
        other => return Err(call.form(format!("{other} spatial dimensions"))),
    };
    ops.apply(&op, &inputs(x, weights, bias))
}

fn conv_node(call: &Call<'_>) -> Outputs {
    Ok(vec![convolve(call, call.input(0)?, call.input(1)?, call.optional(2)?)?])
}

/// In f64, where products of bytes and their sums are exact.
fn conv_integer(call: &Call<'_>) -> Outputs {
    let ops = call.ops();
    let x = centred(ops, call.input(0)?, call.optional(2)?, 1)?;
    let weights = centred(ops, call.input(1)?, call.optional(3)?, 0)?;
    Ok(vec![ops.cast(&convolve(call, &x, &weights, None)?, DType::I32)?])
}

fn qlinear_conv(call: &Call<'_>) -> Outputs {
    let ops = call.ops();
    let x = centred(ops, call.input(0)?, call.optional(2)?, 1)?;
    let weights = centred(ops, call.input(3)?, call.optional(5)?, 0)?;
    let bias = call.optional(8)?.map(|bias| ops.cast(bias, DType::F64)).transpose()?;
    let sums = convolve(call, &x, &weights, bias.as_ref())?;
    let scales = [call.input(1)?, call.input(4)?, call.input(6)?];
    Ok(vec![requantize(ops, &sums, scales, call.input(7)?, 1)?])
}

/// Without padding, and then cut or extended to the size that padding or the attributes determine.
fn conv_transpose(call: &Call<'_>) -> Outputs {
    let (ops, x, weights, bias) = (call.ops(), call.input(0)?, call.input(1)?, call.optional(2)?);
    let spatial = spatial(x)?.len();
    let groups = size_of(call.int("group").unwrap_or(1))?;
    let (stride, dilation) = (call.sizes("strides", spatial, 1)?, call.sizes("dilations", spatial, 1)?);
    let more = call.sizes("output_padding", spatial, 0)?;
    macro_rules! with {
        ($op:expr) => {
            $op.with_stride(sizes(&stride)?)
                .with_dilation(sizes(&dilation)?)
                .with_output_padding(sizes(&more)?)
                .with_groups(groups)
                .with_bias(bias.is_some())
        };
    }
    let op = match spatial {
        1 => Op::ConvTranspose1d(with!(ConvTranspose1d::default())),
        2 => Op::ConvTranspose2d(with!(ConvTranspose2d::default())),
        3 => Op::ConvTranspose3d(with!(ConvTranspose3d::default())),
        other => return Err(call.form(format!("{other} spatial dimensions"))),
    };
    let mut y = ops.apply(&op, &inputs(x, weights, bias))?;
    let auto = AutoPad::of(call)?;
    let pads = call.sizes("pads", 2 * spatial, 0)?;
    for d in 0..spatial {
        let whole = y.dims()[d + 2];
        let (start, size) = match (call.ints("output_shape"), auto) {
            (Some(shape), _) => {
                // Some models name the batch and the channels too.
                let wanted = (shape.len() + d).checked_sub(spatial).and_then(|at| shape.get(at).copied());
                let wanted = size_of(wanted.ok_or_else(|| Stop::Failed(format!("{shape:?} is no output shape")))?)?;
                (auto.split(whole.saturating_sub(wanted)).0, wanted)
            }
            (None, AutoPad::SameUpper | AutoPad::SameLower) => {
                let wanted = x.dims()[d + 2] * stride[d];
                (auto.split(whole.saturating_sub(wanted)).0, wanted)
            }
            (None, _) => (pads[d], whole.saturating_sub(pads[d] + pads[d + spatial])),
        };
        if size <= whole {
            y = y.narrow(d + 2, start, size)?;
            continue;
        }
        // What is added has no products either, and so is the bias alone.
        let added = {
            let mut dims = y.dims().to_vec();
            dims[d + 2] = size - whole;
            let zeros = ops.fill(y.dtype(), &dims, 0.0)?;
            bias.map_or(Ok(zeros.clone()), |bias| add_channels(ops, &zeros, bias))?
        };
        y = ops.concat(&[&y, &added], d + 2)?;
    }
    Ok(vec![y])
}

/// A convolution of each channel with itself and its past; the end is the past of the next call.
fn causal_conv(call: &Call<'_>) -> Outputs {
    let (ops, x, weights) = (call.ops(), call.input(0)?, call.input(1)?);
    let [batch, channels, _] = x.dims() else {
        return Err(Stop::Failed(format!("an input of three dimensions was expected, not {:?}", x.dims())));
    };
    let past = weights.dims().last().copied().unwrap_or(1).saturating_sub(1);
    let state = match call.optional(3)? {
        Some(state) => state.clone(),
        None => ops.fill(x.dtype(), &[*batch, *channels, past], 0.0)?,
    };
    let padded = ops.concat(&[&state, x], 2)?;
    let bias = call.optional(2)?;
    let op = Op::Conv1d(Conv1d::default().with_groups(*channels).with_bias(bias.is_some()));
    let y = ops.apply(&op, &inputs(&padded, weights, bias))?;
    let y = match call.text("activation", "none") {
        "none" => y,
        "silu" | "swish" => ops.unary(isobit::UnaryOp::Silu, &y)?,
        other => return Err(call.unknown("activation", other)),
    };
    Ok(vec![y, padded.narrow(2, padded.dims()[2].saturating_sub(past), past)?])
}

/// Adds the elements of windows to their places in an image.
fn col2im(call: &Call<'_>) -> Outputs {
    let (ops, x) = (call.ops(), call.input(0)?);
    let ints = |at| ops.to_ints(call.input(at)?)?.into_iter().map(size_of).collect::<Lowered<Vec<_>>>();
    let (image, kernel) = (ints(1)?, ints(2)?);
    let windows = Windows::of(call, &image, kernel)?;
    macro_rules! of {
        ($Pool:ident) => {
            $Pool::new(sizes(&windows.kernel)?)
                .with_stride(sizes(&windows.stride)?)
                .with_dilation(sizes(&windows.dilation)?)
                .with_padding_by_side(sizes(&windows.before)?, sizes(&windows.after)?)
                .backward(sizes(&image)?)
        };
    }
    let op = match image.len() {
        1 => of!(Pool1d),
        2 => of!(Pool2d),
        3 => of!(Pool3d),
        other => return Err(call.form(format!("{other} spatial dimensions"))),
    };
    Ok(vec![ops.apply(&Op::Col2im(op), &[x])?])
}

/// A convolution whose windows take each element from a position of its own, which a tensor moves,
/// between the elements of the image.
fn deform_conv(call: &Call<'_>) -> Outputs {
    let (ops, x, weights, offsets) = (call.ops(), call.input(0)?, call.input(1)?, call.input(2)?);
    let image = spatial(x)?;
    let [groups, offset_groups] = ["group", "offset_group"].map(|name| size_of(call.int(name).unwrap_or(1)));
    let (groups, offset_groups, rank) = (groups?, offset_groups?, image.len());
    let (batch, channels, outputs) = (x.dims()[0], x.dims()[1], weights.dims()[0]);
    let windows = Windows::of(call, image, kernel_of(call, spatial(weights)?)?)?;
    let (taps, count) = (windows.taps(), windows.output.iter().product::<usize>());
    let moved = ops.reshape(offsets, &[batch * offset_groups, taps, rank, count])?;
    let mut near = Vec::with_capacity(rank);
    for (d, &size) in image.iter().enumerate() {
        let (inner, outer) = (coordinates(&windows.output), coordinates(&windows.kernel));
        let place = |tap: &[usize], at: &[usize]| {
            (at[d] * windows.stride[d] + tap[d] * windows.dilation[d]) as f64 - windows.before[d] as f64
        };
        let places: Vec<f64> = outer.iter().flat_map(|tap| inner.iter().map(|at| place(tap, at))).collect();
        let places = ops.values(x.dtype(), &[1, taps, count], &places)?;
        let places = ops.add(&moved.narrow(2, d, 1)?.squeeze(2)?, &places)?;
        let places = ops.reshape(&places, &[batch * offset_groups, 1, taps * count])?;
        near.push(around(ops, &places, size)?);
    }
    let split = [&[batch * offset_groups, channels / offset_groups][..], image].concat();
    let mut elements = folded(weighted(ops, &ops.reshape(x, &split)?, &near)?, |a, b| ops.add(&a, &b))?;
    if let Some(mask) = call.optional(4)? {
        elements = ops.mul(&elements, &ops.reshape(mask, &[batch * offset_groups, 1, taps * count])?)?;
    }
    let columns = ops.reshape(&elements, &[batch, groups, channels / groups * taps, count])?;
    let weights = ops.reshape(weights, &[groups, outputs / groups, channels / groups * taps])?;
    let y = ops.matmul(&weights, &columns)?;
    let y = ops.reshape(&y, &[&[batch, outputs][..], &windows.output].concat())?;
    Ok(vec![match call.optional(3)? {
        Some(bias) => add_channels(ops, &y, bias)?,
        None => y,
    }])
}
