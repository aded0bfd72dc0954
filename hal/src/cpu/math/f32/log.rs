//! log, log2 and log1p.

use super::base::*;

/// The bits of 2/3: mantissas are taken from [2/3, 4/3).
const TWO_THIRDS: u32 = 0x3f2a_aaab;

/// Splits a positive finite x into (e, m) with x = 2^e m and m in [2/3, 4/3).
#[inline(always)]
pub(super) fn parts(x: f32) -> (f32, f32) {
    let small = x < f32::MIN_POSITIVE;
    let bits = (if small { x * const { hex("0x1p23") } } else { x }).to_bits();
    let e = (bits.wrapping_sub(TWO_THIRDS) as i32 >> 23) as u32;
    let bias = if small { ROUNDER + 23.0 } else { ROUNDER };
    (f32::from_bits(e.wrapping_add(0x4b40_0000)) - bias, f32::from_bits(bits.wrapping_sub(e << 23)))
}

/// (log(1 + f) - f) / f^2, f in [-1/3, 1/3].
#[inline(always)]
fn tail(f: f32) -> f32 {
    const Q: [f32; 10] = coefficients([
        "0x1.dfe484p-4",
        "-0x1.036beap-3",
        "0x1.bb799ep-4",
        "-0x1.f534ccp-4",
        "0x1.24d4dcp-3",
        "-0x1.5589dap-3",
        "0x1.999874p-3",
        "-0x1.ffff62p-3",
        "0x1.555556p-2",
        "-0x1p-1",
    ]);
    poly(f, &Q)
}

/// Returns e ln 2 + log(1 + f + f_low).
#[inline(always)]
fn join(e: f32, f: f32, f_low: f32) -> f32 {
    let u = e.mul_add(LN2_HI, f);
    let error = e.mul_add(LN2_HI, -u) + f;
    let low = e.mul_add(LN2_LO, 1.4140625f32.mul_add(f_low, error));
    u + (f * f).mul_add(tail(f), low)
}

/// Returns e ln 2 + log(1 + f + f_low) as a leading sum and its correction, for any f.
#[inline(always)]
pub(super) fn join_pair(e: f32, f: f32, f_low: f32) -> (f32, f32) {
    let u = e.mul_add(LN2_HI, f);
    let error = e.mul_add(LN2_HI, -u) + f;
    // f_low / (1 + f)
    let weighted = (-f).mul_add((-f).mul_add(f_low, f_low), f_low);
    (u, (f * f).mul_add(tail(f), e.mul_add(LN2_LO, weighted + error)))
}

/// 1 + x as 2^e (1 + f + f_low).
pub(super) struct OnePlus {
    pub e: f32,
    pub f: f32,
    pub f_low: f32,
    /// 2^-e, by which a lower part of x is multiplied before it is added to `f_low`.
    pub down: f32,
}

/// Splits 1 + x, of which only the exponent is computed by a sum.
#[inline(always)]
pub(super) fn split_one_plus(x: f32) -> OnePlus {
    let e = (1.0 + x).to_bits().wrapping_sub(TWO_THIRDS) & 0xff80_0000;
    let scaled = f32::from_bits(x.to_bits().wrapping_sub(e));
    let unit = 0x3f80_0000u32.wrapping_sub(e) as i32;
    let down = f32::from_bits(if unit < 0 { 0 } else { unit as u32 });
    let offset = down - 1.0;
    let f = scaled + offset;
    let f_low = scaled - (f - offset);
    let n = f32::from_bits(((e as i32 >> 23) as u32).wrapping_add(0x4b40_0000)) - ROUNDER;
    OnePlus { e: n, f, f_low, down }
}

/// Returns log(1 + x + x_low) as a leading sum and its correction.
#[inline(always)]
pub(super) fn log1p_pair(x: f32, x_low: f32) -> (f32, f32) {
    let split = split_one_plus(x);
    join_pair(split.e, split.f, x_low.mul_add(split.down, split.f_low))
}

/// Returns the edge values of a logarithm with its pole at `pole`, otherwise y.
#[inline(always)]
fn edges(x: f32, pole: f32, y: f32) -> f32 {
    let y = if x < f32::INFINITY { y } else { x };
    let y = if x < pole { f32::NAN } else { y };
    if x == pole { f32::NEG_INFINITY } else { y }
}

/// The natural logarithm, within 1 ulp.
#[inline(always)]
pub fn log(x: f32) -> f32 {
    let (e, m) = parts(x);
    edges(x, 0.0, join(e, m - 1.0, 0.0))
}

/// The logarithm to base 2, within 1 ulp; exact for powers of two.
#[inline(always)]
pub fn log2(x: f32) -> f32 {
    const Q: [f32; 9] = coefficients([
        "-0x1.6f788ap-3",
        "0x1.967854p-3",
        "-0x1.6b219p-3",
        "0x1.9f406cp-3",
        "-0x1.ec9db4p-3",
        "0x1.27927p-2",
        "-0x1.71546cp-2",
        "0x1.ec7062p-2",
        "-0x1.715476p-1",
    ]);
    let (e, m) = parts(x);
    let f = m - 1.0;
    let high = f * LOG2_E;
    let low = f.mul_add(const { hex("0x1.4ae0cp-26") }, f.mul_add(LOG2_E, -high));
    let u = e + high;
    let error = (e - u) + high;
    edges(x, 0.0, u + (error + (f * f).mul_add(poly(f, &Q), low)))
}

/// log(1 + x) without cancellation near zero, within 1 ulp.
#[inline(always)]
pub fn log1p(x: f32) -> f32 {
    let split = split_one_plus(x);
    edges(x, -1.0, join(split.e, split.f, split.f_low)).copysign(x)
}
