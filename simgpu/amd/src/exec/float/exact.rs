//! A fused multiply-add in integers, for results that are scaled before they are rounded.

/// Decomposes a finite number into `integer 2^exponent`.
fn take_apart(x: f64) -> (u128, i32) {
    let (exponent, fraction) = ((x.to_bits() >> 52 & 0x7ff) as i32, x.to_bits() & 0xf_ffff_ffff_ffff);
    if exponent == 0 { (fraction.into(), -1074) } else { ((fraction | 1 << 52).into(), exponent - 1075) }
}

/// Shifts right; if nonzero bits are shifted out, the last bit of the result is set.
fn jam(x: u128, by: u32) -> u128 {
    match by {
        0 => x,
        1..=127 => x >> by | u128::from(x & ((1 << by) - 1) != 0),
        _ => u128::from(x != 0),
    }
}

/// Rounds `integer 2^exponent`, whose last bit may be sticky, to nearest even.
fn round(integer: u128, exponent: i32) -> f64 {
    let length = 128 - integer.leading_zeros() as i32;
    // Reduces to 53 bits, or to fewer if the position of the smallest subnormal is reached first.
    let drop = (length - 53).max(-1074 - exponent).max(0);
    let kept = if drop > 127 { 0 } else { integer >> drop };
    let rest = integer - if drop > 127 { 0 } else { kept << drop };
    let half = if drop == 0 || drop > 127 { u128::MAX } else { 1 << (drop - 1) };
    let up = drop > 0 && (rest > half || rest == half && kept & 1 == 1);
    // This is exact: the integer has 53 bits, and binary64 can represent its last position.
    super::exponent::scale_f64((kept + u128::from(up)) as f64, exponent + drop)
}

/// Computes `(a b + c) 2^scale`, rounded once to nearest even.
pub fn fma_scaled(a: f64, b: f64, c: f64, scale: i32) -> f64 {
    let plain = a.mul_add(b, c);
    if !(a.is_finite() && b.is_finite() && c.is_finite()) {
        return plain;
    }
    let ((fa, ea), (fb, eb), (fc, ec)) = (take_apart(a), take_apart(b), take_apart(c));
    // Shift to the left, so that a term is shifted out completely only next to a term that it
    // cannot cancel.
    let (product, sum, ep, ec) = ((fa * fb) << 18, fc << 71, ea + eb - 18, ec - 71);
    let exponent = if product == 0 {
        ec
    } else if sum == 0 {
        ep
    } else {
        ep.max(ec)
    };
    let product = jam(product, (exponent - ep).max(0) as u32) as i128;
    let sum = jam(sum, (exponent - ec).max(0) as u32) as i128;
    let product = if a.is_sign_negative() == b.is_sign_negative() { product } else { -product };
    let total = product + if c.is_sign_negative() { -sum } else { sum };
    if total == 0 {
        // An exact zero has the sign of the unscaled result.
        return 0f64.copysign(plain);
    }
    round(total.unsigned_abs(), exponent + scale).copysign(if total < 0 { -1.0 } else { 1.0 })
}
