//! Tests special cases that random sampling would miss, from IEEE 754-2019 section 9.2 and C Annex
//! F. The conformance suite tests the accuracy.

use isobit_hal::cpu::internals::f32::*;

const INF: f32 = f32::INFINITY;

fn same(got: f32, want: f32) -> bool {
    got.to_bits() == want.to_bits() || (got.is_nan() && want.is_nan())
}

#[test]
fn odd_functions_keep_the_sign_of_zero() {
    for f in [expm1, log1p, sin, tan, tanh, sinh, asin, atan, erf, gelu, gelu_erf, silu] {
        assert!(same(f(0.0), 0.0));
        assert!(same(f(-0.0), -0.0));
    }
}

#[test]
fn poles_and_limits() {
    type Case = (fn(f32) -> f32, f32, f32);
    let table: [Case; 26] = [
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
