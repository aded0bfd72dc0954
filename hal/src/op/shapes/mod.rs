//! The shape of each operation's result and the checks of its operands' shapes. Every driver runs
//! them before it executes anything.

mod attention;
mod compact;
mod index_map;
mod indexing;
mod product;
mod quantized;
mod windows;

use super::{Op, Reduce};
use crate::{DType, Dims, Error, ErrorKind, Result, Shape};
use attention::attention;
use index_map::{concat, flip, pad, repeat, roll};
use indexing::{gather, gather_nd, index_add, index_select, scatter, scatter_nd};
pub(super) use product::batch_shape;
use product::{matmul, matmul_integer, scaled_matmul};
use quantized::{qmatmul, qmatmul_id};
use windows::{adaptive_pool, col2im, conv, grid_sample, pool, positions_fit, resize, upsample, windows};

fn mismatch(message: String) -> Error {
    Error::new(ErrorKind::ShapeMismatch, message)
}

fn invalid(message: String) -> Error {
    Error::new(ErrorKind::InvalidArgument, message)
}

/// Returns the size of a dimension, or an error if the shape does not have it.
fn dimension(op: &Op, shape: &Shape, dim: usize) -> Result<usize> {
    let size = shape.dims().get(dim).copied();
    size.ok_or_else(|| invalid(format!("{op}: dimension {dim} is out of range for a tensor of rank {}", shape.rank())))
}

/// Returns the size of the last dimension, for operations that work along it.
fn last(op: &Op, shape: &Shape) -> Result<usize> {
    let size = shape.dims().last().copied();
    size.ok_or_else(|| invalid(format!("{op} works along the last dimension, but a tensor of rank 0 has none")))
}

/// Returns the result's shape of a norm, whose parameters are as long as a row.
fn norm(op: &Op, src: &Shape, parameters: &[&Shape]) -> Result<Shape> {
    let n = last(op, src)?;
    if let Some(other) = parameters.iter().find(|p| p.dims() != [n]) {
        return Err(mismatch(format!("{op} of {src} takes parameters of shape [{n}], not {other}")));
    }
    Ok(src.clone())
}

/// Returns the number of channels of `[n, c, ..]`, whose parameters have one element for each.
fn channels(op: &Op, src: &Shape, parameters: &[&Shape]) -> Result<usize> {
    let Some(&c) = src.dims().get(1) else {
        return Err(mismatch(format!("{op} takes an input of shape [n, c, ..], not {src}")));
    };
    if let Some(other) = parameters.iter().find(|p| p.dims() != [c]) {
        return Err(mismatch(format!("{op} of {src} takes parameters of shape [{c}], not {other}")));
    }
    Ok(c)
}

fn rank(op: &Op, what: &str, shape: &Shape, rank: usize) -> Result<()> {
    if shape.rank() == rank {
        return Ok(());
    }
    Err(mismatch(format!("{op} takes {what} of rank {rank}, not {shape}")))
}

/// Returns the shape with one dimension resized.
fn with_dim(shape: &Shape, dim: usize, size: usize) -> Shape {
    let mut dims: Dims = shape.dims().into();
    dims[dim] = size;
    dims.into()
}

fn all_equal(op: &Op, shapes: &[&Shape]) -> Result<Shape> {
    let Some((&first, rest)) = shapes.split_first() else { return Ok(Shape::default()) };
    match rest.iter().find(|&&s| s != first) {
        Some(other) => Err(mismatch(format!(
            "{op}: the shapes {first} and {other} differ; broadcast the layouts to one shape first"
        ))),
        None => Ok(first.clone()),
    }
}

fn reduce(reduce: &Reduce, src: &Shape) -> Result<Shape> {
    let op = reduce.op;
    for (i, &d) in reduce.dims.iter().enumerate() {
        if d >= src.rank() {
            return Err(invalid(format!("{op}: dimension {d} is out of range for a tensor of rank {}", src.rank())));
        }
        if reduce.dims[..i].contains(&d) {
            return Err(invalid(format!("{op}: dimension {d} is named twice")));
        }
    }
    let result = src.reduced(&reduce.dims);
    let count: usize = reduce.dims.iter().map(|&d| src.dims()[d]).product();
    if count == 0 && reduce.needs_elements() && result.elem_count() > 0 {
        let dims = reduce.dims.as_slice();
        let instead = if op.is_arg() { "" } else { "; Reduce::with_empty_extremes gives it an extreme of the dtype" };
        return Err(invalid(format!(
            "{op} over zero elements has no value: the shape is {src}, the reduced dimensions are {dims:?}{instead}"
        )));
    }
    if op.is_arg() && count > u32::MAX as usize {
        return Err(invalid(format!("{op} over {count} elements: a u32 index is at most {}", u32::MAX)));
    }
    Ok(result)
}

fn rope(op: &Op, form: super::RopeForm, x: &Shape, cos: &Shape, sin: &Shape) -> Result<Shape> {
    rank(op, "an input", x, 4)?;
    let (batch, d) = (x.dims()[0], x.dims()[3]);
    let time = x.dims()[if form == super::RopeForm::Thd { 1 } else { 2 }];
    let half = [time, d / 2];
    let fits = |s: &Shape| s.dims() == half || s.dims() == [batch, half[0], half[1]];
    if !d.is_multiple_of(2) || !fits(cos) || cos != sin {
        return Err(mismatch(format!(
            "{op} of {x} takes an even last dimension, and cos and sin of shape {half:?}, with or without a leading batch dimension; they are {cos} and {sin}"
        )));
    }
    Ok(x.clone())
}

fn probability(op: &Op, p: f64) -> Result<()> {
    if (0.0..=1.0).contains(&p) {
        return Ok(());
    }
    Err(invalid(format!("{op} with a probability of {p}: it must be from 0 to 1")))
}

impl Op {
    /// Returns the shape of the result for inputs of the given shapes; `None` if the call itself
    /// determines the shape (fills, random numbers).
    ///
    /// # Errors
    /// `ShapeMismatch` if the shapes do not fit together; `InvalidArgument` if the parameters do
    /// not fit the shapes.
    pub fn result_shape(&self, inputs: &[&Shape]) -> Result<Option<Shape>> {
        let shape = match (self, inputs) {
            (Op::Fill(_), _) => return Ok(None),
            (Op::RandUniform(op), _) => {
                if !(op.lo.is_finite() && op.up.is_finite() && op.lo <= op.up) {
                    let (lo, up) = (op.lo, op.up);
                    return Err(invalid(format!(
                        "{self} in [{lo}, {up}): the limits must be finite and lo must not exceed up"
                    )));
                }
                return Ok(None);
            }
            (Op::RandNormal(op), _) => {
                if !(op.mean.is_finite() && op.std.is_finite() && op.std >= 0.0) {
                    let (mean, std) = (op.mean, op.std);
                    return Err(invalid(format!(
                        "{self} of mean {mean} and standard deviation {std}: both must be finite and the deviation not negative"
                    )));
                }
                return Ok(None);
            }
            (Op::Bernoulli(op), _) => return probability(self, op.p).map(|()| None),
            (Op::Dropout(op), [src]) => probability(self, op.p).map(|()| (*src).clone())?,
            (Op::Reduce(op), [src]) => reduce(op, src)?,
            (Op::Matmul(_), [lhs, rhs]) => matmul(self, lhs, rhs)?,
            (Op::MatmulInteger(p), [lhs, rhs, zeros @ ..]) => matmul_integer(self, p, lhs, rhs, zeros)?,
            (Op::ScaledMatmul(_), [lhs, rhs, of_lhs, of_rhs]) => scaled_matmul(self, lhs, rhs, [of_lhs, of_rhs])?,
            (Op::Triangle(_), [src]) if src.rank() < 2 => {
                return Err(mismatch(format!("{self} takes matrices, but {src} has fewer than two dimensions")));
            }
            (Op::Scan(op), [src]) => dimension(self, src, op.dim).map(|_| (*src).clone())?,
            (Op::Softmax | Op::SafeSoftmax | Op::LogSoftmax | Op::Sort(_), [src]) => {
                last(self, src).map(|_| (*src).clone())?
            }
            (Op::ArgSort(_), [src]) => {
                let n = last(self, src)?;
                if n > u32::MAX as usize {
                    return Err(invalid(format!("{self} of {n} elements: a u32 index is at most {}", u32::MAX)));
                }
                (*src).clone()
            }
            (Op::TopK(op) | Op::ArgTopK(op), [src]) => {
                let n = last(self, src)?;
                if op.k > n || n > u32::MAX as usize {
                    return Err(invalid(format!(
                        "{self}: k is {}, but the row has {n} elements; k is at most the size of the row, which must fit a u32",
                        op.k
                    )));
                }
                with_dim(src, src.rank() - 1, op.k)
            }
            (Op::RmsNorm { .. } | Op::LayerNorm(_), [src, parameters @ ..]) => norm(self, src, parameters)?,
            (Op::LayerNormStats { .. }, [src]) => {
                if last(self, src)? == 0 {
                    return Err(invalid(format!("{self} of {src}: rows without elements have no mean")));
                }
                with_dim(src, src.rank() - 1, 2)
            }
            (Op::SkipLayerNorm { .. }, [src, skip, parameters @ ..]) => {
                if skip != src {
                    return Err(mismatch(format!("{self} of {src} takes a skip of the same shape, not {skip}")));
                }
                norm(self, src, parameters)?
            }
            (Op::GroupNorm(p), [src, parameters @ ..]) => {
                let c = channels(self, src, parameters)?;
                if p.groups == 0 || !c.is_multiple_of(p.groups) {
                    return Err(invalid(format!("{self}: {c} channels cannot be divided into {} groups", p.groups)));
                }
                (*src).clone()
            }
            (Op::BatchNorm(_) | Op::LocalResponseNorm(_), [src, parameters @ ..]) => {
                channels(self, src, parameters).map(|_| (*src).clone())?
            }
            (Op::Rope(form), [x, cos, sin]) => rope(self, *form, x, cos, sin)?,
            (Op::ScaledDotProductAttention(p), inputs) => attention(self, p, inputs)?,
            (Op::Gather(p), [src, ids]) => gather(self, src, ids, p.dim)?,
            (Op::IndexSelect(p), [src, ids]) => index_select(self, src, ids, p.dim)?,
            (Op::ScatterSet(p) | Op::ScatterAdd(p), [to, ids, src]) => scatter(self, to, ids, src, p.dim)?,
            (Op::ScatterReduce(p), [to, ids, src]) => scatter(self, to, ids, src, p.dim)?,
            (Op::IndexAdd(p), [to, ids, src]) => index_add(self, to, ids, src, p.dim)?,
            (Op::GatherNd(p), [src, ids]) => gather_nd(self, src, ids, p.batch_dims)?,
            (Op::ScatterNd(_), [to, ids, src]) => scatter_nd(self, to, ids, src)?,
            (Op::CountNonzero, _) => Shape::default(),
            (Op::Nonzero { bound }, [src]) => [*bound, src.rank()].into(),
            (Op::MaskedSelect { bound }, _) => all_equal(self, inputs).map(|_| (*bound).into())?,
            (Op::Compress { dim, bound }, [src, mask]) => compact::compress(self, *dim, *bound, src, mask)?,
            (Op::CountUnique, [src]) => compact::sortable(self, src).map(|()| Shape::default())?,
            (Op::UniqueInverse, [src]) => compact::sortable(self, src).map(|()| (*src).clone())?,
            (Op::Unique { bound } | Op::UniqueCounts { bound } | Op::UniqueFirst { bound }, [src]) => {
                compact::sortable(self, src).map(|()| (*bound).into())?
            }
            (Op::Conv1d(p), [src, kernel, bias @ ..]) => conv(self, [src, kernel], bias, &windows!(p, None))?,
            (Op::Conv2d(p), [src, kernel, bias @ ..]) => conv(self, [src, kernel], bias, &windows!(p, None))?,
            (Op::ConvTranspose1d(p), [src, kernel, bias @ ..]) => {
                conv(self, [src, kernel], bias, &windows!(p, Some(&p.output_padding)))?
            }
            (Op::ConvTranspose2d(p), [src, kernel, bias @ ..]) => {
                conv(self, [src, kernel], bias, &windows!(p, Some(&p.output_padding)))?
            }
            (Op::Conv3d(p), [src, kernel, bias @ ..]) => conv(self, [src, kernel], bias, &windows!(p, None))?,
            (Op::ConvTranspose3d(p), [src, kernel, bias @ ..]) => {
                conv(self, [src, kernel], bias, &windows!(p, Some(&p.output_padding)))?
            }
            (Op::AvgPool1d(_) | Op::AvgPool2d(_) | Op::AvgPool3d(_), [src]) => pool(self, src)?,
            (Op::MaxPool1d(_) | Op::MaxPool2d(_) | Op::MaxPool3d(_), [src]) => pool(self, src)?,
            (Op::ArgMaxPool1d(_) | Op::ArgMaxPool2d(_) | Op::ArgMaxPool3d(_), [src]) => {
                positions_fit(self, src)?;
                pool(self, src)?
            }
            (Op::LpPool(p), [src]) => {
                // Also as f32, so that an order is one for every dtype.
                let order = p.p() as f32;
                if !(order > 0.0 && order.is_finite()) {
                    return Err(invalid(format!("{self} of order {}: it must be a positive f32", p.p())));
                }
                pool(self, src)?
            }
            (Op::AdaptiveAvgPool(p) | Op::AdaptiveMaxPool(p), [src]) => adaptive_pool(self, p, src)?,
            (Op::AdaptiveArgMaxPool(p), [src]) => {
                positions_fit(self, src)?;
                adaptive_pool(self, p, src)?
            }
            (Op::AvgPoolBackward(p) | Op::MaxPoolBackward(p), [gradient, positions @ ..]) => {
                windows::backward(self, p.size(), gradient, positions)?
            }
            (Op::AdaptiveAvgPoolBackward(p) | Op::AdaptiveMaxPoolBackward(p), [gradient, positions @ ..]) => {
                windows::backward(self, p.size(), gradient, positions)?
            }
            (Op::Col2im(p), [columns]) => col2im(self, p, columns)?,
            (Op::UpsampleNearest1d(p), [src]) => upsample(self, src, &p.size, &p.scale)?,
            (Op::UpsampleNearest2d(p), [src]) => upsample(self, src, &p.size, &p.scale)?,
            (Op::UpsampleBilinear2d(p), [src]) => upsample(self, src, &p.size, &p.scale)?,
            (Op::Resize(p), [image]) => resize(self, p, image)?,
            (Op::GridSample(p), [image, grid]) => grid_sample(self, *p, image, grid)?,
            (Op::Flip(p), [src]) => flip(self, p, src)?,
            (Op::Roll(p), [src]) => roll(self, p, src)?,
            (Op::Pad(p), [src]) => pad(self, p, src)?,
            (Op::Repeat(p), [src]) => repeat(self, p, src)?,
            (Op::Concat(p), inputs) => concat(self, p, inputs)?,
            (Op::Pack(op), [src]) => {
                let elements = last(self, src)?;
                with_dim(src, src.rank() - 1, op.dtype.row_bytes(elements))
            }
            (Op::Unpack(op), [src]) => {
                op.check(last(self, src)?)?;
                with_dim(src, src.rank() - 1, op.elements)
            }
            (Op::Quantize(format), [src]) => {
                with_dim(src, src.rank().saturating_sub(1), format.row_bytes(last(self, src)?)?)
            }
            (Op::Dequantize(format), [src]) => {
                with_dim(src, src.rank().saturating_sub(1), format.row_elements(last(self, src)?)?)
            }
            (Op::QMatmul(q), [weight, x]) => qmatmul(self, q, weight, x)?,
            (Op::QMatmulId(q), [weight, x, ids]) => qmatmul_id(self, q, weight, x, ids)?,
            _ => all_equal(self, inputs)?,
        };
        Ok(Some(shape))
    }

    /// Returns the dtype of the result for inputs of the given dtypes; `None` if the call itself
    /// determines the dtype (fills, random numbers, casts, unpacking, dequantization, products with
    /// scales).
    pub fn result_dtype(&self, inputs: &[DType]) -> Option<DType> {
        match self {
            Op::Fill(_) | Op::RandUniform(_) | Op::RandNormal(_) | Op::Bernoulli(_) => None,
            Op::Cast(_) | Op::Unpack(_) | Op::Dequantize(_) | Op::ScaledMatmul(_) => None,
            Op::Cmp(_) | Op::Predicate(_) | Op::Pack(_) | Op::Quantize(_) => Some(DType::U8),
            Op::ArgSort(_) | Op::ArgTopK(_) => Some(DType::U32),
            Op::ArgMaxPool1d(_) | Op::ArgMaxPool2d(_) | Op::ArgMaxPool3d(_) => Some(DType::U32),
            Op::AdaptiveArgMaxPool(_) => Some(DType::U32),
            Op::CountNonzero | Op::Nonzero { .. } => Some(DType::U32),
            Op::CountUnique | Op::UniqueInverse | Op::UniqueCounts { .. } | Op::UniqueFirst { .. } => Some(DType::U32),
            Op::MatmulInteger(_) => Some(DType::I32),
            Op::LayerNormStats { .. } => inputs.first().map(|dtype| dtype.compute()),
            Op::Reduce(r) => inputs.first().map(|&dtype| r.op.result_dtype(dtype)),
            Op::WhereCond | Op::QMatmul(_) | Op::QMatmulId(_) => inputs.get(1).copied(),
            _ => inputs.first().copied(),
        }
    }
}
