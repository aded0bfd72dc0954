//! Shapes: views, joins, and tensors that a shape determines.

use super::{Rule, Table};
use crate::graph::{Call, Outputs};
use crate::stop::{Lowered, Stop};
use crate::tensor::{Tensor, axis_of, broadcast_shape};
use isobit::{DType, Op, Repeat, Triangle};

pub(super) const TABLE: Table = &[
    ("Identity", Rule::Code(|call| Ok(vec![call.input(0)?.clone()]))),
    ("Constant", Rule::Code(constant)),
    ("ConstantOfShape", Rule::Code(constant_of_shape)),
    ("Shape", Rule::Code(shape)),
    ("Size", Rule::Code(|call| Ok(vec![call.ops().ints(&[], &[call.input(0)?.len() as i64])?]))),
    ("Reshape", Rule::Code(reshape)),
    ("Flatten", Rule::Code(flatten)),
    ("Squeeze", Rule::Code(squeeze)),
    ("Unsqueeze", Rule::Code(unsqueeze)),
    ("Transpose", Rule::Code(transpose)),
    ("Expand", Rule::Code(expand)),
    ("Concat", Rule::Code(concat)),
    ("Split", Rule::Code(split)),
    ("Slice", Rule::Code(slice)),
    ("Tile", Rule::Code(tile)),
    ("Range", Rule::Code(range)),
    ("EyeLike", Rule::Code(eye_like)),
    ("Trilu", Rule::Code(trilu)),
    ("DepthToSpace", Rule::Code(depth_to_space)),
    ("SpaceToDepth", Rule::Code(space_to_depth)),
];

/// Converts a size that was read from a tensor.
pub(super) fn size_of(value: i64) -> Lowered<usize> {
    usize::try_from(value).map_err(|_| Stop::Failed(format!("a size is {value}")))
}

fn constant(call: &Call<'_>) -> Outputs {
    let ops = call.ops();
    if let Some(value) = call.tensor("value")? {
        return Ok(vec![value]);
    }
    if let Some(value) = call.float("value_float") {
        return Ok(vec![ops.scalar(DType::F32, value)?]);
    }
    if let Some(value) = call.int("value_int") {
        return Ok(vec![ops.ints(&[], &[value])?]);
    }
    if let Some(values) = call.ints("value_ints") {
        return Ok(vec![ops.ints(&[values.len()], values)?]);
    }
    if let Some(crate::case::Attribute::Floats(values)) = call.attribute("value_floats") {
        let values: Vec<f64> = values.iter().map(|value| value.0).collect();
        return Ok(vec![ops.values(DType::F32, &[values.len()], &values)?]);
    }
    Err(call.form("this kind of value"))
}

fn constant_of_shape(call: &Call<'_>) -> Outputs {
    let ops = call.ops();
    let dims: Vec<usize> = ops.to_ints(call.input(0)?)?.into_iter().map(size_of).collect::<Lowered<_>>()?;
    let value = match call.tensor("value")? {
        Some(value) => ops.reshape(&value, &[])?,
        None => ops.scalar(DType::F32, 0.0)?,
    };
    Ok(vec![value.broadcast(&dims)?])
}

fn shape(call: &Call<'_>) -> Outputs {
    let x = call.input(0)?;
    let rank = x.rank() as i64;
    let end_of = |at: i64| (if at < 0 { at + rank } else { at }).clamp(0, rank) as usize;
    let (start, end) = (end_of(call.int("start").unwrap_or(0)), end_of(call.int("end").unwrap_or(rank)));
    let sizes: Vec<i64> = x.dims()[start..end.max(start)].iter().map(|&size| size as i64).collect();
    Ok(vec![call.ops().ints(&[sizes.len()], &sizes)?])
}

/// 0 keeps a size, and -1 is the size that is left over.
fn reshape(call: &Call<'_>) -> Outputs {
    let (ops, x) = (call.ops(), call.input(0)?);
    let wanted = ops.to_ints(call.input(1)?)?;
    let mut dims = Vec::with_capacity(wanted.len());
    for (at, &size) in wanted.iter().enumerate() {
        dims.push(match size {
            0 if !call.flag("allowzero") => {
                *x.dims().get(at).ok_or_else(|| Stop::Failed(format!("{:?} has no size {at} to keep", x.dims())))?
            }
            -1 => 1,
            size => size_of(size)?,
        });
    }
    if let Some(at) = wanted.iter().position(|&size| size == -1) {
        dims[at] = x.len() / dims.iter().product::<usize>().max(1);
    }
    Ok(vec![ops.reshape(x, &dims)?])
}

fn flatten(call: &Call<'_>) -> Outputs {
    let x = call.input(0)?;
    let axis = call.int("axis").unwrap_or(1);
    let at = if axis == x.rank() as i64 { x.rank() } else { axis_of(axis, x.rank())? };
    let (before, after) = x.dims().split_at(at);
    Ok(vec![call.ops().reshape(x, &[before.iter().product(), after.iter().product()])?])
}

/// Returns the axes that the second input or an attribute names, in ascending order.
fn axes(call: &Call<'_>, rank: usize) -> Lowered<Option<Vec<usize>>> {
    let axes = match call.optional(1)? {
        Some(axes) => call.ops().to_ints(axes)?,
        None => match call.ints("axes") {
            Some(axes) => axes.to_vec(),
            None => return Ok(None),
        },
    };
    let mut axes = axes.into_iter().map(|axis| axis_of(axis, rank)).collect::<Lowered<Vec<_>>>()?;
    axes.sort_unstable();
    Ok(Some(axes))
}

fn squeeze(call: &Call<'_>) -> Outputs {
    let x = call.input(0)?;
    let ones = || (0..x.rank()).filter(|&d| x.dims()[d] == 1).collect();
    let axes = axes(call, x.rank())?.unwrap_or_else(ones);
    let squeezed = axes.iter().rev().try_fold(x.clone(), |x, &at| x.squeeze(at))?;
    Ok(vec![squeezed])
}

fn unsqueeze(call: &Call<'_>) -> Outputs {
    let x = call.input(0)?;
    let count = match call.optional(1)? {
        Some(axes) => axes.len(),
        None => call.ints("axes").map_or(0, <[i64]>::len),
    };
    let axes = axes(call, x.rank() + count)?.unwrap_or_default();
    Ok(vec![axes.iter().try_fold(x.clone(), |x, &at| x.unsqueeze(at))?])
}

fn transpose(call: &Call<'_>) -> Outputs {
    let x = call.input(0)?;
    let order: Vec<usize> = match call.ints("perm") {
        Some(order) => order.iter().map(|&d| axis_of(d, x.rank())).collect::<Lowered<_>>()?,
        None => (0..x.rank()).rev().collect(),
    };
    Ok(vec![x.permute(&order)?])
}

fn expand(call: &Call<'_>) -> Outputs {
    let x = call.input(0)?;
    let wanted = call.ops().to_ints(call.input(1)?)?;
    let wanted: Vec<usize> = wanted.into_iter().map(size_of).collect::<Lowered<_>>()?;
    Ok(vec![x.broadcast(&broadcast_shape(&[x.dims(), &wanted])?)?])
}

fn concat(call: &Call<'_>) -> Outputs {
    let parts = call.all()?;
    let axis = call.axis(1, parts.first().map_or(0, |part| part.rank()))?;
    Ok(vec![call.ops().concat(&parts, axis)?])
}

/// Sizes come from an input or an attribute, or are as equal as possible with a smaller last one.
fn split(call: &Call<'_>) -> Outputs {
    let x = call.input(0)?;
    let axis = call.axis(0, x.rank())?;
    let size = x.dims()[axis];
    let sizes: Vec<usize> = match (call.optional(1)?, call.ints("split")) {
        (Some(sizes), _) => call.ops().to_ints(sizes)?.into_iter().map(size_of).collect::<Lowered<_>>()?,
        (None, Some(sizes)) => sizes.iter().map(|&size| size_of(size)).collect::<Lowered<_>>()?,
        (None, None) => {
            let count = call.int("num_outputs").map_or(Ok(call.outputs()), size_of)?.max(1);
            let each = size.div_ceil(count);
            (0..count).map(|i| each.min(size.saturating_sub(i * each))).collect()
        }
    };
    let mut start = 0;
    let parts = sizes.into_iter().map(|len| {
        start += len;
        x.narrow(axis, start - len, len)
    });
    parts.collect()
}

/// The positions that a slice selects from `size` elements: the first, their number, the step.
fn selected(size: usize, start: i64, end: i64, step: i64) -> (usize, usize, i64) {
    let size = size as i64;
    let from_end = |at: i64| if at < 0 { at.saturating_add(size) } else { at };
    let (start, end) = (from_end(start), from_end(end));
    if step > 0 {
        let (start, end) = (start.clamp(0, size), end.clamp(0, size));
        let count = if end > start { (end - start - 1) / step + 1 } else { 0 };
        (start as usize, count as usize, step)
    } else {
        let (start, end) = (start.clamp(-1, size - 1), end.clamp(-1, size - 1));
        let count = if start > end { (start - end - 1) / step.saturating_neg() + 1 } else { 0 };
        (start.max(0) as usize, count as usize, step)
    }
}

fn slice(call: &Call<'_>) -> Outputs {
    let (ops, x) = (call.ops(), call.input(0)?);
    let list = |at, name| match call.optional(at)? {
        Some(values) => ops.to_ints(values).map(Some),
        None => Ok(call.ints(name).map(<[i64]>::to_vec)),
    };
    let starts = list(1, "starts")?.unwrap_or_default();
    let ends = list(2, "ends")?.unwrap_or_default();
    let axes = list(3, "axes")?.unwrap_or_else(|| (0..starts.len() as i64).collect());
    let steps = list(4, "steps")?.unwrap_or_else(|| vec![1; starts.len()]);
    if ends.len() != starts.len() || axes.len() != starts.len() || steps.len() != starts.len() || steps.contains(&0) {
        return Err(Stop::Failed(format!("a slice from {starts:?} to {ends:?} of axes {axes:?} by {steps:?}")));
    }
    let mut part = x.clone();
    for (at, &axis) in axes.iter().enumerate() {
        let axis = axis_of(axis, x.rank())?;
        let (start, count, step) = selected(part.dims()[axis], starts[at], ends[at], steps[at]);
        part = if count == 0 {
            part.narrow(axis, 0, 0)?
        } else if step > 0 {
            let step = step as usize;
            // Beyond the last element there may be no whole step.
            part.narrow(axis, start, (count - 1) * step + 1)?.step(axis, step)?
        } else {
            let positions = (0..count).map(|i| start - i * step.unsigned_abs() as usize).collect::<Vec<_>>();
            ops.pick(&part, axis, &positions)?
        };
    }
    Ok(vec![part])
}

fn tile(call: &Call<'_>) -> Outputs {
    let (ops, x) = (call.ops(), call.input(0)?);
    let times = ops.to_ints(call.input(1)?)?;
    if times.len() != x.rank() {
        return Err(Stop::Failed(format!("{times:?} repeats of the shape {:?}", x.dims())));
    }
    let times = times.into_iter().map(size_of).collect::<Result<Vec<_>, _>>()?;
    Ok(vec![ops.apply(&Op::Repeat(Repeat::new(&times)), &[x])?.of(x.element().kind)])
}

/// start + i delta, computed in f32 for narrow floats.
fn range(call: &Call<'_>) -> Outputs {
    let (ops, first) = (call.ops(), call.input(0)?);
    let [start, limit, delta] = [0, 1, 2].map(|at| call.input(at).and_then(|x| ops.to_float(x)));
    let (start, limit, delta) = (start?, limit?, delta?);
    if delta == 0.0 {
        return Err(Stop::Failed("a range with steps of 0".into()));
    }
    let count = ((limit - start) / delta).ceil().max(0.0) as usize;
    let values = ops.affine(&ops.iota(first.dtype().compute(), count)?, delta, start)?;
    Ok(vec![ops.cast(&values, first.dtype())?])
}

fn triangle(call: &Call<'_>, x: &Tensor, which: Triangle) -> Lowered<Tensor> {
    Ok(call.ops().apply(&Op::Triangle(which), &[x])?.of(x.element().kind))
}

fn eye_like(call: &Call<'_>) -> Outputs {
    let x = call.input(0)?;
    let (dtype, diagonal) = (call.dtype("dtype")?.unwrap_or(x.dtype()), call.int("k").unwrap_or(0));
    let ones = call.ops().fill(dtype, x.dims(), 1.0)?;
    let upper = triangle(call, &ones, Triangle::upper(diagonal))?;
    Ok(vec![triangle(call, &upper, Triangle::lower(diagonal))?])
}

fn trilu(call: &Call<'_>) -> Outputs {
    let x = call.input(0)?;
    let diagonal = call.optional(1)?.map_or(Ok(0), |k| call.ops().to_int(k))?;
    let is_upper = call.int("upper").unwrap_or(1) != 0;
    Ok(vec![triangle(call, x, if is_upper { Triangle::upper(diagonal) } else { Triangle::lower(diagonal) })?])
}

/// Returns the sizes of an image and the block size, which must divide them.
fn blocks(call: &Call<'_>, divides: fn([usize; 4], usize) -> bool) -> Lowered<([usize; 4], usize)> {
    let x = call.input(0)?;
    let block = size_of(call.int("blocksize").unwrap_or(0))?;
    let dims: Result<[usize; 4], _> = x.dims().try_into();
    match dims {
        Ok(dims) if block > 0 && divides(dims, block) => Ok((dims, block)),
        _ => Err(Stop::Failed(format!("blocks of {block} do not fit into {:?}", x.dims()))),
    }
}

fn depth_to_space(call: &Call<'_>) -> Outputs {
    let (ops, x) = (call.ops(), call.input(0)?);
    let ([n, c, h, w], b) = blocks(call, |[_, c, ..], b| c.is_multiple_of(b * b))?;
    let depth = c / (b * b);
    let (parts, order) = match call.text("mode", "DCR") {
        "DCR" => ([n, b, b, depth, h, w], [0, 3, 4, 1, 5, 2]),
        "CRD" => ([n, depth, b, b, h, w], [0, 1, 4, 2, 5, 3]),
        other => return Err(call.unknown("mode", other)),
    };
    Ok(vec![ops.reshape(&ops.reshape(x, &parts)?.permute(&order)?, &[n, depth, h * b, w * b])?])
}

fn space_to_depth(call: &Call<'_>) -> Outputs {
    let (ops, x) = (call.ops(), call.input(0)?);
    let ([n, c, h, w], b) = blocks(call, |[_, _, h, w], b| h.is_multiple_of(b) && w.is_multiple_of(b))?;
    let order = match call.text("mode", "DCR") {
        "DCR" => [0, 3, 5, 1, 2, 4],
        "CRD" => [0, 1, 3, 5, 2, 4],
        other => return Err(call.unknown("mode", other)),
    };
    let parts = ops.reshape(x, &[n, c, h / b, b, w / b, b])?.permute(&order)?;
    Ok(vec![ops.reshape(&parts, &[n, c * b * b, h / b, w / b])?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_select_as_in_python() {
        // range(7)[start:end:step]
        assert_eq!(selected(7, 1, 6, 2), (1, 3, 2)); // 1 3 5
        assert_eq!(selected(7, -3, i64::MAX, 1), (4, 3, 1)); // 4 5 6
        assert_eq!(selected(7, 5, 1, -2), (5, 2, -2)); // 5 3
        assert_eq!(selected(7, -1, i64::MIN, -3), (6, 3, -3)); // 6 3 0
        assert_eq!(selected(7, 20, -8, -1), (6, 7, -1)); // all, reversed
        assert_eq!(selected(7, 4, 4, 1).1, 0);
        assert_eq!(selected(0, 0, 5, -1).1, 0);
    }
}
