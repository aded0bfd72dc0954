//! Conversions into f16 and bf16 that round once, to nearest even, from the exact value of an f64
//! or an integer.
//!
//! [`half`]'s own `from_f64` does not: `f16::from_f64` rounds to f32 first where the processor has
//! F16C and elsewhere drops the lower 32 bits before it looks for ties, as `bf16::from_f64` does
//! everywhere. Its `from_f32` rounds once, and is what these functions end in. (For f8e4m3 see
//! `F8E4M3::from_f64`.)
//!
//! [`half`]: https://docs.rs/half

/// The f32 that rounds to f16, bf16 and f8e4m3 as `x` itself would: `x` cut to f32's precision,
/// with the last bit set if anything was cut.
///
/// This is rounding to odd (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums:
/// proved algorithms using rounding to odd", 2008): a later rounding to at least two bits fewer
/// gives what one rounding of `x` gives.
#[inline(always)]
pub fn odd_f32_from_f64(x: f64) -> f32 {
    let nearest = x as f32;
    let back = f64::from(nearest);
    let cut = nearest.to_bits() - u32::from(back.abs() > x.abs());
    f32::from_bits(cut | u32::from(back != x))
}

/// The f32 that rounds to f16, bf16 and f8e4m3 as `x` itself would: at least the 10 leading bits of
/// `x`, with the last bit set if anything was cut.
#[inline(always)]
pub fn odd_f32_from_i64(x: i64) -> f32 {
    let magnitude = x.unsigned_abs();
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
    // Both factors and the product are exact: `odd` has 24 bits at most.
    let value = odd as f32 * f32::from_bits((127 + shift) << 23);
    if x < 0 { -value } else { value }
}
