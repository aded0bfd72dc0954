//! Result shapes of operations with windows over the last dimensions: convolutions, pooling,
//! upsampling.

use super::{invalid, mismatch, rank};
use crate::op::{Op, Pool2d};
use crate::{Dims, Result, Shape};

/// The spatial parameters of a convolution of any rank.
pub(super) struct Windows<'a> {
    pub stride: &'a [usize],
    pub padding: &'a [usize],
    pub dilation: &'a [usize],
    /// `Some` for a transposed convolution.
    pub output_padding: Option<&'a [usize]>,
    pub groups: usize,
}

/// Builds the [`Windows`] of a convolution's parameters.
macro_rules! windows {
    ($params:ident, $output_padding:expr) => {
        windows::Windows {
            stride: &$params.stride,
            padding: &$params.padding,
            dilation: &$params.dilation,
            output_padding: $output_padding,
            groups: $params.groups,
        }
    };
}

pub(super) use windows;

pub(super) fn conv(op: &Op, src: &Shape, kernel: &Shape, w: &Windows<'_>) -> Result<Shape> {
    let spatial = w.stride.len();
    rank(op, "an input", src, spatial + 2)?;
    rank(op, "a kernel", kernel, spatial + 2)?;
    if w.stride.contains(&0) || w.dilation.contains(&0) || w.groups == 0 {
        return Err(invalid(format!(
            "{op}: stride {:?}, dilation {:?} and groups {} must be at least 1",
            w.stride, w.dilation, w.groups
        )));
    }
    let (channels, k) = (src.dims()[1], kernel.dims());
    // A transposed kernel has c_in first, and its second dimension is c_out / groups.
    let (wanted, out) = match w.output_padding {
        None => (k[1].saturating_mul(w.groups), k[0]),
        Some(_) => (k[0], k[1].saturating_mul(w.groups)),
    };
    if channels != wanted || !channels.is_multiple_of(w.groups) || !out.is_multiple_of(w.groups) {
        return Err(mismatch(format!(
            "{op}: the input {src} has {channels} channels, but the kernel {kernel} with {} groups takes {wanted} and gives {out}; both must be multiples of the groups",
            w.groups
        )));
    }
    let mut dims: Dims = [src.dims()[0], out].as_slice().into();
    for d in 0..spatial {
        let (size, taps) = (src.dims()[d + 2], k[d + 2]);
        let too_large = || invalid(format!("{op}: no window of {kernel} fits into {src} with this padding"));
        let extent = taps.checked_sub(1).and_then(|t| t.checked_mul(w.dilation[d])).ok_or_else(too_large)?;
        let padding = w.padding[d].checked_mul(2).ok_or_else(too_large)?;
        let out = match w.output_padding {
            None => {
                let padded = size.checked_add(padding).ok_or_else(too_large)?;
                padded.checked_sub(extent).and_then(|p| p.checked_sub(1)).ok_or_else(too_large)? / w.stride[d] + 1
            }
            Some(output_padding) => {
                if output_padding[d] >= w.stride[d].max(w.dilation[d]) {
                    return Err(invalid(format!(
                        "{op}: the output padding {output_padding:?} must be below the stride {:?} or the dilation {:?}",
                        w.stride, w.dilation
                    )));
                }
                let reached = size.checked_sub(1).and_then(|s| s.checked_mul(w.stride[d])).ok_or_else(too_large)?;
                let reached = reached.checked_add(extent).and_then(|r| r.checked_add(output_padding[d] + 1));
                reached.and_then(|r| r.checked_sub(padding)).ok_or_else(too_large)?
            }
        };
        dims.push(out);
    }
    Ok(dims.into())
}

pub(super) fn pool(op: &Op, src: &Shape, p: &Pool2d) -> Result<Shape> {
    rank(op, "an input", src, 4)?;
    if p.kernel.contains(&0) || p.stride.contains(&0) {
        return Err(invalid(format!("{op}: window {:?} and stride {:?} must be at least 1", p.kernel, p.stride)));
    }
    let mut dims: Dims = src.dims()[..2].into();
    for d in 0..2 {
        if src.dims()[d + 2] == 0 {
            return Err(invalid(format!("{op} of {src}: the last two dimensions must not be empty")));
        }
        if p.padding[d] > p.kernel[d] / 2 {
            return Err(invalid(format!(
                "{op}: a padding of {:?} is more than half of the window {:?}",
                p.padding, p.kernel
            )));
        }
        let around = p.padding[d].checked_mul(2);
        let padded = around.and_then(|around| around.checked_add(src.dims()[d + 2]));
        let room = padded.and_then(|size| size.checked_sub(p.kernel[d])).ok_or_else(|| {
            invalid(format!("{op}: the window {:?} is larger than {src} with padding {:?}", p.kernel, p.padding))
        })?;
        dims.push(room / p.stride[d] + 1);
    }
    Ok(dims.into())
}

pub(super) fn upsample(op: &Op, src: &Shape, size: &[usize], scale: &[Option<f64>]) -> Result<Shape> {
    rank(op, "an input", src, size.len() + 2)?;
    let mut dims: Dims = src.dims()[..2].into();
    for (d, &to) in size.iter().enumerate() {
        if src.dims()[d + 2] == 0 && to > 0 {
            return Err(invalid(format!("{op} of {src} to {size:?}: the input has no elements to enlarge")));
        }
        if scale[d].is_some_and(|s| s.is_nan() || s <= 0.0 || s.is_infinite()) {
            return Err(invalid(format!("{op}: the scale factors {scale:?} must be positive numbers")));
        }
        dims.push(to);
    }
    Ok(dims.into())
}
