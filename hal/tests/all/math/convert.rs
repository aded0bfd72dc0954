//! Tests conversions that round once.

use isobit_hal::cpu::internals::convert::*;

/// Rounds `x` once to `digits` binary digits in integer arithmetic: to nearest, ties to even,
/// within the normal range.
fn once(x: i128, digits: u32) -> i128 {
    let magnitude = x.unsigned_abs();
    let shift = (128 - magnitude.leading_zeros()).saturating_sub(digits);
    let (kept, rest) = (magnitude >> shift, magnitude & ((1 << shift) - 1));
    let half = if shift == 0 { 1 } else { 1u128 << (shift - 1) };
    let up = shift != 0 && (rest > half || rest == half && kept & 1 == 1);
    x.signum() * ((kept + u128::from(up)) << shift) as i128
}

/// Integers at every tie of an 8-bit and an 11-bit significand, and their two neighbours, for every
/// exponent.
fn around_ties() -> impl Iterator<Item = i64> {
    [8u32, 11].into_iter().flat_map(|digits| {
        (digits + 1..63).flat_map(move |exponent| {
            (0..1i64 << (digits - 1)).flat_map(move |step| {
                let unit = 1i64 << (exponent - digits);
                let tie = (1i64 << (exponent - 1)) + step * unit + unit / 2;
                [-tie - 1, -tie, -tie + 1, tie - 1, tie, tie + 1]
            })
        })
    })
}

/// Rounds an f32 to the eight digits of bf16 by an addition that carries; valid for finite values.
fn to_bf16(x: f32) -> f32 {
    let bits = x.to_bits();
    f32::from_bits((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff_0000)
}

#[test]
fn integers_round_once() {
    for x in around_ties().chain([0, 1, -1, i64::MAX, i64::MIN]) {
        assert_eq!(f64::from(to_bf16(odd_f32_from_i64(x))), once(x.into(), 8) as f64, "{x}");
    }
}

#[test]
fn f64_rounds_once() {
    for x in around_ties().filter(|x| x.unsigned_abs() < 1 << 53) {
        for scale in [2f64.powi(-160), 1.0, 2f64.powi(60)] {
            // Values that are also subnormal in bf16, whose unit is 2^-133.
            let exact = x as f64 * scale;
            let odd = odd_f32_from_f64(exact);
            let unit = 2f64.powi(-133);
            let want = if exact.abs() < 2f64.powi(-126) {
                (exact / unit).round_ties_even() * unit
            } else {
                once(x.into(), 8) as f64 * scale
            };
            assert_eq!(f64::from(to_bf16(odd)), want, "{x} * {scale}");
        }
    }
    assert_eq!(odd_f32_from_f64(1e300), f32::MAX);
    assert_eq!(odd_f32_from_f64(f64::NEG_INFINITY), f32::NEG_INFINITY);
    assert_eq!(odd_f32_from_f64(-5e-324).to_bits(), 0x8000_0001);
    assert_eq!(odd_f32_from_f64(-0.0).to_bits(), 0x8000_0000);
    assert!(odd_f32_from_f64(f64::NAN).is_nan());
}
