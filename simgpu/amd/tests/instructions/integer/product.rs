//! Tests of products.

use super::{Case, I16, I32, I64, U16, U32, U64, check};

/// Returns the low 24 bits.
fn low(x: i128) -> i128 {
    x.rem_euclid(1 << 24)
}

/// Returns the low 24 bits, sign-extended.
fn signed(x: i128) -> i128 {
    (x + (1 << 23)).rem_euclid(1 << 24) - (1 << 23)
}

/// Returns the bits above the low 32.
fn high(x: i128) -> i128 {
    x.div_euclid(1 << 32)
}

const CASES: &[Case] = &[
    Case::new("v_mul_lo_u32", &[U32, U32], U32, |x| x[0] * x[1]),
    Case::new("v_mul_hi_u32", &[U32, U32], U32, |x| high(x[0] * x[1])),
    Case::new("v_mul_hi_i32", &[I32, I32], I32, |x| high(x[0] * x[1])),
    Case::new("v_mul_u32_u24", &[U32, U32], U32, |x| low(x[0]) * low(x[1])),
    Case::new("v_mul_u32_u24", &[U32, U32], U32, |x| low(x[0]) * low(x[1])).clamped(),
    Case::new("v_mul_i32_i24", &[I32, I32], I32, |x| signed(x[0]) * signed(x[1])),
    Case::new("v_mul_i32_i24", &[I32, I32], I32, |x| signed(x[0]) * signed(x[1])).clamped(),
    Case::new("v_mul_hi_u32_u24", &[U32, U32], U32, |x| high(low(x[0]) * low(x[1]))),
    Case::new("v_mul_hi_i32_i24", &[I32, I32], I32, |x| high(signed(x[0]) * signed(x[1]))),
    Case::new("v_mad_u32_u24", &[U32, U32, U32], U32, |x| low(x[0]) * low(x[1]) + x[2]),
    Case::new("v_mad_u32_u24", &[U32, U32, U32], U32, |x| low(x[0]) * low(x[1]) + x[2]).clamped(),
    Case::new("v_mad_i32_i24", &[I32, I32, I32], I32, |x| signed(x[0]) * signed(x[1]) + x[2]),
    Case::new("v_mad_i32_i24", &[I32, I32, I32], I32, |x| signed(x[0]) * signed(x[1]) + x[2]).clamped(),
    Case::new("v_mad_u32_u16", &[U16, U16, U32], U32, |x| x[0] * x[1] + x[2]),
    Case::new("v_mad_u32_u16", &[U16, U16, U32], U32, |x| x[0] * x[1] + x[2]).clamped(),
    Case::new("v_mad_i32_i16", &[I16, I16, I32], I32, |x| x[0] * x[1] + x[2]),
    Case::new("v_mad_i32_i16", &[I16, I16, I32], I32, |x| x[0] * x[1] + x[2]).clamped(),
    Case::new("v_mad_u64_u32", &[U32, U32, U64], U64, |x| x[0] * x[1] + x[2]).flag(|x| x[0] * x[1] + x[2] >= 1 << 64),
    Case::new("v_mad_u64_u32", &[U32, U32, U64], U64, |x| x[0] * x[1] + x[2])
        .flag(|x| x[0] * x[1] + x[2] >= 1 << 64)
        .clamped(),
    Case::new("v_mad_i64_i32", &[I32, I32, I64], I64, |x| x[0] * x[1] + x[2]).flag(|x| x[0] * x[1] + x[2] < 0),
    Case::new("v_mad_i64_i32", &[I32, I32, I64], I64, |x| x[0] * x[1] + x[2])
        .flag(|x| x[0] * x[1] + x[2] < 0)
        .clamped(),
];

#[test]
fn products_are_exact_modulo_their_width_or_clamped() {
    check(CASES);
}
