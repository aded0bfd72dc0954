//! Shapes and parameters of attention.

use super::{invalid, mismatch, rank};
use crate::op::{Attention, Op};
use crate::{Result, Shape};

/// The most queries of heads that share keys, and the most keys: kernels count both in 32 bits.
const MOST_ROWS: usize = 1 << 30;

pub(super) fn attention(op: &Op, p: &Attention, inputs: &[&Shape]) -> Result<Shape> {
    let [query, key, value, rest @ ..] = inputs else { unreachable!("the number of inputs was checked") };
    for (what, shape) in [("a query", query), ("keys", key), ("values", value)] {
        rank(op, what, shape, 4)?;
    }
    let ([batch, heads, m, d], [kv_batch, kv_heads, n, kv_d]) = (dims(query), dims(key));
    if key != value || batch != kv_batch || d != kv_d {
        return Err(mismatch(format!(
            "{op}: a query {query} takes keys and values of one shape [{batch}, kv_heads, n, {d}]; they are {key} and {value}"
        )));
    }
    if heads != 0 && (kv_heads == 0 || !heads.is_multiple_of(kv_heads)) {
        return Err(mismatch(format!(
            "{op}: {heads} heads of the query {query} are no multiple of the {kv_heads} heads of the keys {key}"
        )));
    }
    let most = Attention::MAX_HEAD_SIZE;
    if d > most {
        return Err(invalid(format!("{op}: heads have {d} elements; {most} is the most")));
    }
    let masks = usize::from(p.has_mask);
    if let Some(mask) = rest[..masks].iter().find(|mask| mask.dims() != [batch, heads, m, n]) {
        return Err(mismatch(format!(
            "{op} takes a mask [{batch}, {heads}, {m}, {n}], not {mask}; broadcast its layout first"
        )));
    }
    if let Some(lengths) = rest[masks..].iter().find(|lengths| lengths.dims() != [batch]) {
        return Err(mismatch(format!("{op} takes lengths [{batch}], one for each batch entry, not {lengths}")));
    }
    let rows = m.saturating_mul(heads.checked_div(kv_heads).unwrap_or(1));
    if rows.max(n) > MOST_ROWS {
        return Err(invalid(format!(
            "{op}: {rows} queries of heads that share keys, and {n} keys; 2^30 is the most of either"
        )));
    }
    parameters(op, p, d)?;
    Ok((*query).clone())
}

fn dims(shape: &Shape) -> [usize; 4] {
    shape.dims().try_into().expect("the rank was checked")
}

fn parameters(op: &Op, p: &Attention, d: usize) -> Result<()> {
    const MOST: f32 = (1u64 << 59) as f32;
    if let Some(cap) = p.softcap.filter(|&cap| cap.is_nan() || cap <= 0.0 || cap > MOST) {
        return Err(invalid(format!("{op}: the soft-cap is {cap}; it must be positive and finite, and at most 2^59")));
    }
    let scale = p.scale_of(d.max(1));
    let beyond = |factor: f32| factor.is_nan() || factor.abs() > MOST;
    if p.scale.is_some() && beyond(scale) {
        return Err(invalid(format!("{op}: the scale is {scale}; it must be finite and at most 2^59 in magnitude")));
    }
    match p.softcap.filter(|cap| beyond(scale / cap)) {
        Some(cap) => Err(invalid(format!("{op}: the scale {scale} is more than 2^59 times the soft-cap {cap}"))),
        None => Ok(()),
    }
}
