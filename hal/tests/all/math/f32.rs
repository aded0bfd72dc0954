//! Tests special cases that random sampling would miss, from IEEE 754-2019 section 9.2 and C Annex
//! F. The conformance suite tests the accuracy.

use isobit_hal::cpu::internals::f32::*;

const INF: f32 = f32::INFINITY;

fn same(got: f32, want: f32) -> bool {
    got.to_bits() == want.to_bits() || (got.is_nan() && want.is_nan())
}

#[test]
fn odd_functions_keep_the_sign_of_zero() {
    let odd = [expm1, log1p, sin, tan, tanh, sinh, asin, atan, erf, gelu, gelu_erf, silu];
    for f in odd.into_iter().chain([asinh, atanh, mish, hard_swish, selu]) {
        assert!(same(f(0.0), 0.0));
        assert!(same(f(-0.0), -0.0));
    }
}

#[test]
fn poles_and_limits() {
    type Case = (fn(f32) -> f32, f32, f32);
    let table: [Case; 46] = [
        (exp, -INF, 0.0),
        (exp, INF, INF),
        (exp2, -INF, 0.0),
        (exp2, 128.0, INF),
        (exp2, -149.0, f32::from_bits(1)),
        (expm1, -INF, -1.0),
        (log, 0.0, -INF),
        (log, -0.0, -INF),
        (log, -1.0, f32::NAN),
        (log, 1.0, 0.0),
        (log2, f32::from_bits(1), -149.0),
        (log1p, -1.0, -INF),
        (sin, INF, f32::NAN),
        (cos, -INF, f32::NAN),
        (tan, INF, f32::NAN),
        (tanh, -INF, -1.0),
        (sinh, -INF, -INF),
        (cosh, -INF, INF),
        (acos, 1.0, 0.0),
        (asin, 1.5, f32::NAN),
        (silu, -INF, -0.0),
        (gelu, -INF, -0.0),
        (gelu_erf, -INF, -0.0),
        (sigmoid, -INF, 0.0),
        (rsqrt, -0.0, -INF),
        (rsqrt, INF, 0.0),
        (asinh, INF, INF),
        (asinh, -INF, -INF),
        (acosh, 1.0, 0.0),
        (acosh, INF, INF),
        (acosh, 1.0f32.next_down(), f32::NAN),
        (acosh, -INF, f32::NAN),
        (atanh, 1.0, INF),
        (atanh, -1.0, -INF),
        (atanh, -1.0f32.next_up(), f32::NAN),
        (softplus, INF, INF),
        (softplus, -INF, 0.0),
        (mish, INF, INF),
        (mish, -INF, -0.0),
        (hard_sigmoid, -INF, 0.0),
        (hard_sigmoid, INF, 1.0),
        (hard_sigmoid, -0.0, 0.5),
        (hard_swish, -INF, -0.0),
        (hard_swish, INF, INF),
        (selu, INF, INF),
        (selu, -INF, -1.758_099_3),
    ];
    for (i, (f, x, want)) in table.into_iter().enumerate() {
        assert!(same(f(x), want), "row {i}: f({x}) = {}, not {want}", f(x));
    }
}

#[test]
fn pow_follows_ieee_754() {
    let table = [
        (f32::NAN, 0.0, 1.0),
        (1.0, f32::NAN, 1.0),
        (-1.0, INF, 1.0),
        (-1.0, -INF, 1.0),
        (-8.0, 1.0 / 3.0, f32::NAN),
        (-2.0, 3.0, -8.0),
        (-2.0, 2.0, 4.0),
        (0.0, -1.0, INF),
        (-0.0, -1.0, -INF),
        (-0.0, -2.0, INF),
        (-0.0, 3.0, -0.0),
        (-0.0, 2.5, 0.0),
        (0.5, INF, 0.0),
        (0.5, -INF, INF),
        (2.0, -INF, 0.0),
        (-INF, 3.0, -INF),
        (-INF, -3.0, -0.0),
        (-INF, 2.5, INF),
        (INF, -0.5, 0.0),
        (f32::NAN, 1.0, f32::NAN),
        (2.0, -149.0, f32::from_bits(1)),
        (f32::from_bits(1), 1.0, f32::from_bits(1)),
    ];
    for (x, y, want) in table {
        assert!(same(pow(x, y), want), "pow({x}, {y}) = {}, not {want}", pow(x, y));
    }
}

/// C Annex F, F.10.1.4, and values of pi from its definition.
#[test]
fn atan2_follows_annex_f() {
    use std::f32::consts::{FRAC_PI_2, FRAC_PI_4, PI};
    let far = 2.356_194_5; // 3 pi / 4
    let table = [
        (0.0, -0.0, PI),
        (0.0, 0.0, 0.0),
        (0.0, -1.0, PI),
        (0.0, 1.0, 0.0),
        (1.0, 0.0, FRAC_PI_2),
        (1.0, -0.0, FRAC_PI_2),
        (1.0, -INF, PI),
        (1.0, INF, 0.0),
        (INF, 1.0, FRAC_PI_2),
        (INF, -1.0, FRAC_PI_2),
        (INF, -INF, far),
        (INF, INF, FRAC_PI_4),
        (1.0, 1.0, FRAC_PI_4),
        (f32::MAX, -f32::MAX, far),
        (f32::from_bits(1), f32::from_bits(1), FRAC_PI_4),
        (f32::from_bits(1), f32::MAX, 0.0),
        (f32::from_bits(1), -f32::MAX, PI),
        (f32::from_bits(3), 1.0, f32::from_bits(3)),
    ];
    for (y, x, want) in table {
        assert!(same(atan2(y, x), want), "atan2({y}, {x}) = {}, not {want}", atan2(y, x));
        assert!(same(atan2(-y, x), -want), "atan2({}, {x}) = {}, not {}", -y, atan2(-y, x), -want);
    }
    for other in [0.0, 1.0, INF, -INF, f32::NAN] {
        assert!(atan2(f32::NAN, other).is_nan() && atan2(other, f32::NAN).is_nan(), "{other}");
    }
}

/// C Annex F, F.10.4.3, Pythagorean triples at every scale, and the ends of the range.
#[test]
fn hypot_follows_annex_f() {
    for (x, y) in [(INF, 1.0), (-INF, f32::NAN), (f32::NAN, INF), (1.0, -INF)] {
        assert_eq!(hypot(x, y), INF);
    }
    assert!(hypot(f32::NAN, 1.0).is_nan() && hypot(0.0, f32::NAN).is_nan());
    assert!(same(hypot(-0.0, -0.0), 0.0) && same(hypot(0.0, -3.5), 3.5));
    assert_eq!(hypot(f32::MAX, f32::MAX), INF);
    assert_eq!(hypot(f32::from_bits(1), 0.0), f32::from_bits(1));
    for power in -146..124 {
        let unit = 2f64.powi(power);
        for (a, b, c) in [(3.0, 4.0, 5.0), (5.0, 12.0, 13.0), (-8.0, 15.0, 17.0), (20.0, -21.0, 29.0)] {
            let scaled = |v: f64| (v * unit) as f32;
            if scaled(c).is_finite() {
                assert_eq!(hypot(scaled(a), scaled(b)), scaled(c), "{a} {b} at 2^{power}");
            }
        }
    }
}
