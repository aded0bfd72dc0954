//! Rounds exact values with integer arithmetic, as the specifications of the formats define it.

use isobit_hal::{DType, Scalar};

/// Precision, exponent of the subnormals' unit, largest finite value, and whether overflow
/// saturates.
fn format(dtype: DType) -> (u32, i32, f64, bool) {
    match dtype {
        DType::F8E4M3 => (4, -9, 448.0, true),
        DType::F8E5M2 => (3, -16, 57344.0, false),
        DType::F16 => (11, -24, 65504.0, false),
        DType::BF16 => (8, -133, f32::from_bits(0x7f7f_0000).into(), false),
        DType::F32 => (24, -149, f32::MAX.into(), false),
        DType::F64 => (53, -1074, f64::MAX, false),
        _ => panic!("{dtype} is not a float"),
    }
}

/// `±m * 2^e` with `m` below 2^100.
#[derive(Clone, Copy, Debug)]
pub struct Exact {
    pub negative: bool,
    pub m: u128,
    pub e: i32,
}

impl From<i128> for Exact {
    fn from(v: i128) -> Self {
        Self { negative: v < 0, m: v.unsigned_abs(), e: 0 }
    }
}

impl Exact {
    /// Returns the value of a finite float.
    pub fn of(v: f64) -> Self {
        let bits = v.to_bits();
        let (exponent, fraction) = ((bits >> 52 & 0x7ff) as i32, u128::from(bits & ((1 << 52) - 1)));
        let (m, e) = if exponent == 0 { (fraction, -1074) } else { (fraction | 1 << 52, exponent - 1075) };
        Self { negative: v.is_sign_negative(), m, e }
    }

    /// Returns the nearest value of a format, ties to even.
    pub fn round(self, dtype: DType) -> f64 {
        let (precision, unit, max, saturates) = format(dtype);
        let digits = 128 - self.m.leading_zeros() as i32;
        // The exponent of the last place of the result.
        let last = (self.e + digits - precision as i32).max(unit);
        let drop = last - self.e;
        let kept = if drop <= 0 {
            self.m << -drop
        } else if drop > 127 {
            0
        } else {
            let (kept, rest, half) = (self.m >> drop, self.m & ((1 << drop) - 1), 1u128 << (drop - 1));
            kept + u128::from(rest > half || (rest == half && kept & 1 == 1))
        };
        let magnitude = scale(kept, last);
        let overflow = if saturates { max } else { f64::INFINITY };
        let magnitude = if magnitude > max { overflow } else { magnitude };
        if self.negative { -magnitude } else { magnitude }
    }
}

/// Returns `m * 2^e`, which must be a float or overflow, in exact steps.
fn scale(m: u128, e: i32) -> f64 {
    let mut v = m as f64;
    let mut e = e;
    while e > 0 {
        let step = e.min(512);
        v *= 2f64.powi(step);
        e -= step;
    }
    while e < 0 {
        let step = e.max(-512);
        v *= 2f64.powi(step);
        e -= step;
    }
    v
}

/// Rounds any f64, including infinities and NaN, to a format.
pub fn round(v: f64, dtype: DType) -> f64 {
    if v.is_nan() {
        v
    } else if v.is_infinite() {
        if format(dtype).3 { 448f64.copysign(v) } else { v }
    } else {
        Exact::of(v).round(dtype)
    }
}

/// Returns the exact value of a float scalar.
pub fn value(scalar: Scalar) -> f64 {
    match scalar {
        Scalar::F8E4M3(v) => v.to_f32().into(),
        Scalar::F8E5M2(v) => v.to_f32().into(),
        Scalar::F16(v) => v.to_f64(),
        Scalar::BF16(v) => v.to_f64(),
        Scalar::F32(v) => v.into(),
        Scalar::F64(v) => v,
        _ => panic!("not a float"),
    }
}

#[track_caller]
pub fn assert_value(got: f64, want: f64, what: impl std::fmt::Debug) {
    let same = got.to_bits() == want.to_bits() || (got.is_nan() && want.is_nan());
    assert!(same, "{what:?} gives {got:e}, not {want:e}");
}
