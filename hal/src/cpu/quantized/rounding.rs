//! The roundings to integers that `docs/numerics/quantized.md` section 3 defines, and the extremes
//! of a block.

/// Rounds toward zero and clamps; NaN gives 0.
#[inline(always)]
pub(super) fn trunc(v: f32, lo: i32, hi: i32) -> i32 {
    (v as i32).clamp(lo, hi)
}

/// Rounds to nearest, ties away from zero, and clamps; NaN gives 0.
#[inline(always)]
pub(super) fn away(v: f32, lo: i32, hi: i32) -> i32 {
    (v.round() as i32).clamp(lo, hi)
}

/// Rounds to nearest, ties to even, and clamps; NaN gives 0.
#[inline(always)]
pub(super) fn even(v: f32, lo: i32, hi: i32) -> i32 {
    (v.round_ties_even() as i32).clamp(lo, hi)
}

/// Returns the first element of the greatest magnitude, or +0 if all are zeros.
#[inline(always)]
pub(super) fn top(x: &[f32]) -> f32 {
    x.iter().fold(0.0, |top: f32, &v| if v.abs() > top.abs() { v } else { top })
}

/// Returns the least and the greatest element. If both +0 and -0 occur, either may be returned.
#[inline(always)]
pub(super) fn extremes(x: &[f32]) -> (f32, f32) {
    x.iter().fold((x[0], x[0]), |(lo, hi), &v| (if v < lo { v } else { lo }, if v > hi { v } else { hi }))
}

/// Returns the reciprocal of a step, or 0 if the step is 0.
#[inline(always)]
pub(super) fn inverse(step: f32) -> f32 {
    if step == 0.0 { 0.0 } else { 1.0 / step }
}
