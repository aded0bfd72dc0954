//! The roundings to integers of `docs/numerics/quantized.md` section 3, and the extremes of a
//! block.

/// Toward zero, clamped; NaN gives 0.
#[inline(always)]
pub(super) fn trunc(v: f32, lo: i32, hi: i32) -> i32 {
    (v as i32).clamp(lo, hi)
}

/// To nearest, ties away from zero, clamped; NaN gives 0.
#[inline(always)]
pub(super) fn away(v: f32, lo: i32, hi: i32) -> i32 {
    (v.round() as i32).clamp(lo, hi)
}

/// To nearest, ties to even, clamped; NaN gives 0.
#[inline(always)]
pub(super) fn even(v: f32, lo: i32, hi: i32) -> i32 {
    (v.round_ties_even() as i32).clamp(lo, hi)
}

/// The first element of the greatest magnitude; +0 where all are zeros.
#[inline(always)]
pub(super) fn top(x: &[f32]) -> f32 {
    x.iter().fold(0.0, |top: f32, &v| if v.abs() > top.abs() { v } else { top })
}

/// The least and the greatest element. Which zero they are where both are there is left open.
#[inline(always)]
pub(super) fn extremes(x: &[f32]) -> (f32, f32) {
    x.iter().fold((x[0], x[0]), |(lo, hi), &v| (if v < lo { v } else { lo }, if v > hi { v } else { hi }))
}

/// The reciprocal of a step, 0 for none.
#[inline(always)]
pub(super) fn inverse(step: f32) -> f32 {
    if step == 0.0 { 0.0 } else { 1.0 / step }
}
