//! Result shapes of operations with windows over the last dimensions: convolutions, pooling,
//! upsampling, samples of images.

use super::{invalid, mismatch, rank};
use crate::op::{AdaptivePool, Coordinates, GridSample, Op, PoolBackward, Resize};
use crate::{Dims, Result, Shape};

/// The spatial parameters of a convolution of any rank.
pub(super) struct Windows<'a> {
    pub stride: &'a [usize],
    /// Before and after the input.
    pub padding: [&'a [usize]; 2],
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
            padding: [&$params.padding_before, &$params.padding_after],
            dilation: &$params.dilation,
            output_padding: $output_padding,
            groups: $params.groups,
        }
    };
}

pub(super) use windows;

/// `bias` has one shape or none.
pub(super) fn conv(op: &Op, [src, kernel]: [&Shape; 2], bias: &[&Shape], w: &Windows<'_>) -> Result<Shape> {
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
    if let Some(bias) = bias.iter().find(|bias| bias.dims() != [out]) {
        return Err(mismatch(format!(
            "{op}: the bias has shape {bias}, but the kernel {kernel} with {} groups gives {out} channels; the bias must have shape [{out}]",
            w.groups
        )));
    }
    let mut dims: Dims = [src.dims()[0], out].as_slice().into();
    for d in 0..spatial {
        let (size, taps) = (src.dims()[d + 2], k[d + 2]);
        let too_large = || invalid(format!("{op}: no window of {kernel} fits into {src} with this padding"));
        let extent = taps.checked_sub(1).and_then(|t| t.checked_mul(w.dilation[d])).ok_or_else(too_large)?;
        let [before, after] = w.padding.map(|padding| padding[d]);
        let padding = before.checked_add(after).ok_or_else(too_large)?;
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

pub(super) fn pool(op: &Op, src: &Shape) -> Result<Shape> {
    let (p, spatial) = op.pool_windows().expect("the operation is a pool");
    rank(op, "an input", src, spatial + 2)?;
    let all = [&p.kernel, &p.stride, &p.dilation, &p.padding_before, &p.padding_after];
    let [kernel, stride, dilation, before, after] = all.map(|sizes| &sizes[3 - spatial..]);
    if [kernel, stride, dilation].iter().any(|sizes| sizes.contains(&0)) {
        return Err(invalid(format!(
            "{op}: window {kernel:?}, stride {stride:?} and dilation {dilation:?} must be at least 1"
        )));
    }
    let too_large = || {
        let padding = if before == after { format!("{before:?}") } else { format!("{before:?} and {after:?}") };
        invalid(format!(
            "{op}: the window {kernel:?} with dilation {dilation:?} is larger than {src} with padding {padding}"
        ))
    };
    kernel.iter().try_fold(1usize, |all, &k| all.checked_mul(k)).ok_or_else(too_large)?;
    for d in 0..spatial {
        let size = src.dims()[d + 2];
        if size == 0 {
            return Err(invalid(format!("{op} of {src}: the dimensions after the first two must not be empty")));
        }
        // Elements that are taken apart may all be of the padding.
        if matches!(op, Op::Col2im(_)) {
            continue;
        }
        let reach = (kernel[d] - 1).checked_mul(dilation[d]).and_then(|reach| reach.checked_add(1));
        let extent = reach.ok_or_else(too_large)?;
        if before[d].max(after[d]) >= extent {
            return Err(invalid(format!(
                "{op}: the padding {before:?} before and {after:?} after the input must be less than what a window covers, which is {extent} in dimension {}",
                d + 2
            )));
        }
        if before[d] > 0 && dilation[d] > size {
            return Err(invalid(format!(
                "{op} of {src}: with padding and a dilation of {}, windows may have no element in dimension {}; the dilation is at most the size",
                dilation[d],
                d + 2
            )));
        }
    }
    let mut size = [1; 3];
    size[3 - spatial..].copy_from_slice(&src.dims()[2..]);
    let counts = p.counts(size).ok_or_else(too_large)?;
    Ok([&src.dims()[..2], &counts[3 - spatial..]].concat().into())
}

/// Checks that a u32 holds the position of every element in its plane.
pub(super) fn positions_fit(op: &Op, src: &Shape) -> Result<()> {
    let size = src.dims().iter().skip(2).fold(1, |all: usize, &size| all.saturating_mul(size));
    if size > u32::MAX as usize {
        return Err(invalid(format!("{op} of {src}: a u32 index is at most {}", u32::MAX)));
    }
    Ok(())
}

pub(super) fn adaptive_pool(op: &Op, p: &AdaptivePool, src: &Shape) -> Result<Shape> {
    rank(op, "an input", src, p.rank() + 2)?;
    adaptive_windows(op, p.size(), src)
}

/// Returns the shape of a pool with so many windows along the spatial dimensions of an input.
fn adaptive_windows(op: &Op, size: &[usize], src: &Shape) -> Result<Shape> {
    let mut dims: Dims = src.dims()[..2].into();
    for (&from, &size) in src.dims()[2..].iter().zip(size) {
        if from == 0 {
            return Err(invalid(format!("{op} of {src}: the dimensions after the first two must not be empty")));
        }
        if from.checked_mul(size).is_none() {
            return Err(invalid(format!("{op} of {src}: {size} windows of {from} elements are too many to count")));
        }
        dims.push(size);
    }
    Ok(dims.into())
}

/// Returns the shape of a pool's input, of these sizes, from that of its gradient.
pub(super) fn backward(op: &Op, size: &[usize], gradient: &Shape, positions: &[&Shape]) -> Result<Shape> {
    rank(op, "a gradient", gradient, size.len() + 2)?;
    let (planes, windows) = gradient.dims().split_at(2);
    let input: Shape = [planes, size].concat().into();
    if windows.contains(&0) {
        return Err(invalid(format!("{op} of a gradient {gradient}: a pool has windows")));
    }
    let pooled = if op.pool_windows().is_some() { pool(op, &input)? } else { adaptive_windows(op, windows, &input)? };
    if pooled != *gradient || positions.iter().any(|&positions| positions != gradient) {
        let given: Vec<String> = [&[gradient], positions].concat().iter().map(|shape| shape.to_string()).collect();
        return Err(mismatch(format!(
            "{op} to {input} takes operands of the shape {pooled}, not {}",
            given.join(" and ")
        )));
    }
    if !positions.is_empty() {
        positions_fit(op, &input)?;
    }
    Ok(input)
}

/// Returns the shape of the image to whose elements those of windows are added.
pub(super) fn col2im(op: &Op, p: &PoolBackward, columns: &Shape) -> Result<Shape> {
    rank(op, "columns", columns, 3)?;
    let (windows, [images, rows, count]) = (p.over_three(), [0, 1, 2].map(|d| columns.dims()[d]));
    let taps = windows.kernel.iter().try_fold(1usize, |all, &taps| all.checked_mul(taps)).unwrap_or(usize::MAX);
    if taps == 0 || !rows.is_multiple_of(taps) {
        return Err(mismatch(format!(
            "{op} of {columns}: windows have {taps} elements, which do not divide {rows} rows"
        )));
    }
    let image: Shape = [&[images, rows / taps], p.size()].concat().into();
    let pooled = pool(op, &image)?;
    let wanted = pooled.dims()[2..].iter().fold(1usize, |all, &count| all.saturating_mul(count));
    if wanted != count {
        return Err(mismatch(format!("{op} to {image} takes {wanted} columns, not {count}")));
    }
    Ok(image)
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

pub(super) fn grid_sample(op: &Op, p: GridSample, image: &Shape, grid: &Shape) -> Result<Shape> {
    let (dims, spatial) = (image.dims(), image.rank().saturating_sub(2));
    if !matches!(spatial, 2 | 3) {
        return Err(mismatch(format!("{op}: an image has the shape [n, c, h, w] or [n, c, d, h, w], not {image}")));
    }
    if !p.takes_dims(spatial) {
        return Err(invalid(format!(
            "{op} of {image}: cubic interpolation samples images of two dimensions; those of three have linear and nearest"
        )));
    }
    let [batch, positions @ .., numbers] = grid.dims() else {
        return Err(mismatch(format!("{op}: a grid of the rank of the image {image} was expected, not {grid}")));
    };
    if positions.len() != spatial || *numbers != spatial || *batch != dims[0] {
        return Err(mismatch(format!(
            "{op}: the grid {grid} does not fit the image {image}: it has the image's batch of {}, {spatial} dimensions of positions, and {spatial} numbers in its last dimension",
            dims[0]
        )));
    }
    let count = positions.iter().chain(&dims[..2]).fold(1, |count: usize, &size| count.saturating_mul(size));
    if dims[2..].contains(&0) && count > 0 {
        return Err(invalid(format!("{op} of {image}: the image has no elements to sample")));
    }
    Ok([&dims[..2], positions].concat().into())
}

pub(super) fn resize(op: &Op, p: &Resize, image: &Shape) -> Result<Shape> {
    let spatial = p.size.len();
    if !(1..=3).contains(&spatial) {
        return Err(invalid(format!("{op}: an image is resized in one, two or three dimensions, not {spatial}")));
    }
    rank(op, "an image", image, spatial + 2)?;
    let (sizes, size) = (&image.dims()[2..], &p.size);
    if sizes.contains(&0) && !size.contains(&0) {
        return Err(invalid(format!("{op} of {image} to {size:?}: the image has no elements")));
    }
    if let Some(scale) = &p.scale {
        let is_scale = |s: &f64| *s > 0.0 && s.is_finite();
        if scale.len() != spatial || !scale.iter().all(is_scale) {
            return Err(invalid(format!("{op}: the scales {scale:?} must be {spatial} positive numbers")));
        }
        // The kernel would reach far more than the whole image.
        let shrinks = |(&s, &from): (&f64, &usize)| p.antialias && s * (from as f64) < 0.5;
        if scale.iter().zip(sizes).any(shrinks) {
            return Err(invalid(format!(
                "{op} of {image}: with antialiasing the scales {scale:?} must leave half an element at least"
            )));
        }
    }
    if let Coordinates::CropAndResize(region) = &p.coordinates
        && (region.len() != spatial || region.iter().flatten().any(|end| !end.is_finite()))
    {
        return Err(invalid(format!(
            "{op}: the region {region:?} must have two finite numbers in {spatial} dimensions"
        )));
    }
    if !p.cubic_coeff.is_finite() {
        return Err(invalid(format!("{op}: the coefficient {} of the cubic kernel must be finite", p.cubic_coeff)));
    }
    Ok([&image.dims()[..2], size].concat().into())
}
