//! Conversions into f16 and bf16 that round once, to nearest even, from the exact value of an f64
//! or an integer.
//!
//! [`half`]'s own `from_f64` does not round once: `f16::from_f64` rounds to f32 first if the
//! processor has F16C, and otherwise drops the lower 32 bits before it checks for ties, as
//! `bf16::from_f64` always does. Its `from_f32` does round once, and the callers apply it to the
//! results of these functions. (For the floats of 8 bits see
//! `F8E4M3::from_f64`.)
//!
//! [`half`]: https://docs.rs/half

/// Returns the f32 that rounds to every narrow float as `x` itself would: `x` truncated to f32's
/// precision, with the last bit set if any nonzero bit was cut.
///
/// This is rounding to odd (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums:
/// proved algorithms using rounding to odd", 2008): a later rounding to at least two bits fewer
/// gives the same result as a single rounding of `x`.
#[inline(always)]
pub fn odd_f32_from_f64(x: f64) -> f32 {
    let nearest = x as f32;
    let back = f64::from(nearest);
    let cut = nearest.to_bits() - u32::from(back.abs() > x.abs());
    f32::from_bits(cut | u32::from(back != x))
}

/// Returns the f32 that rounds to every narrow float as `x` itself would.
#[inline(always)]
pub fn odd_f32_from_i64(x: i64) -> f32 {
    let value = odd_f32_from_u64(x.unsigned_abs());
    if x < 0 { -value } else { value }
}

/// Returns the f32 that rounds to every narrow float as the magnitude itself would: at least its 10
/// leading bits, with the last bit set if any nonzero bit was cut.
#[inline(always)]
pub fn odd_f32_from_u64(magnitude: u64) -> f32 {
    let shift = if magnitude >> 52 != 0 {
        42
    } else if magnitude >> 38 != 0 {
        28
    } else if magnitude >> 24 != 0 {
        14
    } else {
        0
    };
    let cut = magnitude >> shift;
    let odd = cut as u32 | u32::from(cut << shift != magnitude);
    // Both factors and the product are exact: `odd` has at most 24 bits.
    odd as f32 * f32::from_bits((127 + shift) << 23)
}
