//! Result shapes of flips, rolls, padding, repetition and concatenation.

use super::{dimension, invalid, mismatch, with_dim};
use crate::op::{Concat, Flip, Op, Pad, PadMode, Repeat, Roll};
use crate::{Dims, Result, Shape};

pub(super) fn flip(op: &Op, p: &Flip, src: &Shape) -> Result<Shape> {
    for (i, &d) in p.dims.iter().enumerate() {
        dimension(op, src, d)?;
        if p.dims[..i].contains(&d) {
            return Err(invalid(format!("{op}: dimension {d} is named twice; name each dimension once")));
        }
    }
    Ok(src.clone())
}

pub(super) fn roll(op: &Op, p: &Roll, src: &Shape) -> Result<Shape> {
    if p.shifts.len() != p.dims.len() {
        return Err(invalid(format!(
            "{op} takes one shift for each dimension that it names; {} shifts were given for {} dimensions",
            p.shifts.len(),
            p.dims.len()
        )));
    }
    p.dims.iter().try_for_each(|&d| dimension(op, src, d).map(|_| ()))?;
    Ok(src.clone())
}

pub(super) fn pad(op: &Op, p: &Pad, src: &Shape) -> Result<Shape> {
    if p.before.len() != src.rank() || p.after.len() != src.rank() {
        return Err(invalid(format!(
            "{op} of {src} takes one amount before and one after each dimension, not {} and {}; give 0 for a dimension that keeps its size",
            p.before.len(),
            p.after.len()
        )));
    }
    let mut dims = Dims::new();
    for (d, &size) in src.dims().iter().enumerate() {
        let amounts = [p.before[d], p.after[d]];
        let kept = p.kept(d, size).ok_or_else(|| {
            invalid(format!("{op}: dimension {d} has {size} elements; the amounts {amounts:?} would crop more"))
        })?;
        let added = amounts.map(|amount| usize::try_from(amount).unwrap_or(0));
        conditions(op, p.mode, d, kept.len(), added)?;
        let padded = kept.len().checked_add(added[0]).and_then(|n| n.checked_add(added[1]));
        dims.push(padded.ok_or_else(|| {
            invalid(format!("{op}: dimension {d} of {src} with {amounts:?} more elements exceeds a usize"))
        })?);
    }
    Ok(dims.into())
}

/// Checks that a mode has elements to add to dimension `d`, of which `size` are kept.
fn conditions(op: &Op, mode: PadMode, d: usize, size: usize, added: [usize; 2]) -> Result<()> {
    let most = added[0].max(added[1]);
    let (holds, condition) = match mode {
        PadMode::Constant(_) => (true, ""),
        PadMode::Reflect => (most < size, "a reflection must be shorter than the dimension"),
        PadMode::Replicate => (size > 0, "an empty dimension has no element to repeat"),
        PadMode::Circular => (most <= size, "circular padding must be at most as long as the dimension"),
    };
    if holds || most == 0 {
        return Ok(());
    }
    Err(invalid(format!("{op}: {added:?} elements around dimension {d}, which has {size}: {condition}")))
}

pub(super) fn repeat(op: &Op, p: &Repeat, src: &Shape) -> Result<Shape> {
    let Some(new) = p.repeats.len().checked_sub(src.rank()) else {
        return Err(invalid(format!(
            "{op} of {src} takes at least {} numbers, one for each dimension, not {}; give 1 for a dimension that is not repeated",
            src.rank(),
            p.repeats.len()
        )));
    };
    let sizes = std::iter::repeat_n(1, new).chain(src.dims().iter().copied());
    let dims = sizes.zip(&p.repeats).map(|(size, &times)| {
        size.checked_mul(times)
            .ok_or_else(|| invalid(format!("{op}: {times} times {size} elements of a dimension exceed a usize")))
    });
    Ok(dims.collect::<Result<Dims>>()?.into())
}

pub(super) fn concat(op: &Op, p: &Concat, inputs: &[&Shape]) -> Result<Shape> {
    let Some((first, rest)) = inputs.split_first() else {
        return Err(invalid(format!("{op} takes at least one input, and has none")));
    };
    let mut size = dimension(op, first, p.dim)?;
    for other in rest {
        let fits = other.rank() == first.rank() && with_dim(other, p.dim, 0) == with_dim(first, p.dim, 0);
        if !fits {
            return Err(mismatch(format!(
                "{op}: the shapes {first} and {other} may differ only in dimension {}",
                p.dim
            )));
        }
        size = size
            .checked_add(other.dims()[p.dim])
            .ok_or_else(|| invalid(format!("{op}: the sizes of dimension {} add up to more than a usize", p.dim)))?;
    }
    Ok(with_dim(first, p.dim, size))
}
