//! asinh, acosh and atanh.

use super::Narrow;
use super::common::{f, horner, reciprocal};

/// A finite bf16 above this is so far from 1 that asinh and acosh are ln 2x.
const FAR: f32 = 1_048_576.0;

/// Estimates 1/√z from the bits; exact for z = 1.
#[inline(always)]
fn root_estimate(z: f32) -> f32 {
    f32::from_bits(0x5f40_0000_u32.wrapping_sub(z.to_bits() >> 1))
}

/// Returns ((1 - e)^-½ - 1) / e for the errors e that the estimate has.
#[inline(always)]
fn root_tail(e: f32) -> f32 {
    horner(e, [f(0x3e3f_b287), f(0x3e99_b73d), f(0x3ebf_a619), f(0x3eff_fe9b)])
}

/// Returns ln(1 + a + b) to the digits of a + b. A `far` a of bf16 gives ln 2a: of a quarter of a,
/// because its double could be infinite.
#[inline(always)]
fn log_of_sum<T: Narrow>(a: f32, b: f32, far: bool) -> f32 {
    let (sum, left_out) = match T::WIDE && far {
        true => (0.25 * a, 3 << 23),
        false => (a + b, 0),
    };
    let exponent = (1.0 + sum).to_bits().wrapping_sub(0x3f35_04f3) & 0xff80_0000;
    let scale = f32::from_bits(0x3f80_0000_u32.wrapping_sub(exponent));
    let rest = sum.mul_add(scale, scale - 1.0);
    let tail = match T::WIDE {
        true => horner(
            rest,
            [f(0x3dfb_6505), -f(0x3e3f_9cab), f(0x3e51_0066), -f(0x3e7f_086f), f(0x3eaa_99a0), -f(0x3f00_00bc)],
        ),
        false => horner(
            rest,
            [
                -f(0x3dce_7dab),
                f(0x3e25_a94d),
                -f(0x3e30_8ef6),
                f(0x3e4b_d6ca),
                -f(0x3e7f_b5c7),
                f(0x3eaa_ac70),
                -f(0x3f00_0032),
            ],
        ),
    };
    let value = (rest * rest).mul_add(tail, rest);
    // ln 2 · 2⁻²³, for an exponent in its field
    (exponent.wrapping_add(left_out) as i32 as f32).mul_add(f(0x33b1_7217), value)
}

/// The inverse hyperbolic sine.
#[inline(always)]
pub fn asinh<T: Narrow>(x: f32) -> f32 {
    let a = x.abs();
    let square = a * a;
    let estimate = root_estimate(1.0 + square);
    let gap = 1.0 - estimate;
    // √(1 + a²) - 1, before and after the correction of the estimate
    let rough = square.mul_add(estimate, -gap);
    let error = (-rough).mul_add(estimate, gap);
    let root = rough.mul_add(error, error).mul_add(root_tail(error), rough);
    let value = log_of_sum::<T>(a, root, a > FAR);
    (if a == f32::INFINITY { a } else { value }).copysign(x)
}

/// The inverse hyperbolic cosine; NaN below 1.
#[inline(always)]
pub fn acosh<T: Narrow>(x: f32) -> f32 {
    let z = x.mul_add(x, -1.0);
    let estimate = root_estimate(z);
    let rough = z * estimate;
    let error = (-rough).mul_add(estimate, 1.0);
    let root = (rough * error).mul_add(root_tail(error), rough);
    let value = log_of_sum::<T>(x - 1.0, root, x > FAR);
    match x {
        ..1.0 => f32::NAN,
        f32::INFINITY => x,
        _ => value,
    }
}

/// The inverse hyperbolic tangent; NaN outside [-1, 1].
#[inline(always)]
pub fn atanh<T: Narrow>(x: f32) -> f32 {
    let a = x.abs();
    let quotient = (1.0 + a).to_bits().wrapping_sub((1.0 - a).to_bits());
    let exponent = quotient.wrapping_add(0x40_0000) & 0xff80_0000;
    let power = f32::from_bits(exponent.wrapping_add(0x3f80_0000));
    let (more, less) = (1.0 + power, 1.0 - power);
    let s = a.mul_add(more, less) * reciprocal(a.mul_add(less, more));
    let z = s * s;
    let near = (s * z).mul_add(horner(z, [f(0x3e1b_ed58), f(0x3e4c_8fa8), f(0x3eaa_aae1)]), s);
    // ln 2 · 2⁻²⁴
    let value = (exponent as i32 as f32).mul_add(f(0x3331_7218), near);
    let value = match a {
        ..1.0 => value,
        1.0 => f32::INFINITY,
        _ => f32::NAN,
    };
    value.copysign(x)
}
