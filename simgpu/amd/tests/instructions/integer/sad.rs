//! Tests of sums of absolute differences, averages and packing, byte by byte.

use super::{Case, I32, Pair, U16, U32, U64, check};

fn bytes(x: i128) -> Vec<i128> {
    (0..8).map(|i| x / (1 << (8 * i)) % 256).collect()
}

/// Returns the sum over four bytes of `a` starting at `from`; if masked, only for bytes of `b` that
/// are not zero.
fn sad(a: i128, b: i128, from: usize, masked: bool) -> i128 {
    let pairs = bytes(a)[from..from + 4].to_vec().into_iter().zip(bytes(b));
    pairs.filter(|&(_, y)| !masked || y != 0).map(|(x, y)| (x - y).abs()).sum()
}

fn halves(x: i128) -> [i128; 2] {
    [x % 65536, x / 65536]
}

fn quad(x: &[i128], masked: bool, clamped: bool) -> i128 {
    (0..4)
        .map(|i| {
            let sum = sad(x[0], x[1], i, masked) + x[2] / (1 << (16 * i)) % 65536;
            (if clamped { sum.min(65535) } else { sum % 65536 }) << (16 * i)
        })
        .sum()
}

fn clamp(x: i128, from: i128, to: i128) -> i128 {
    if x < from {
        from
    } else if x > to {
        to
    } else {
        x
    }
}

const THREE: &[super::Type] = &[U32, U32, U32];
const QUAD: &[super::Type] = &[U64, U32, U64];

const CASES: &[Case] = &[
    Case::new("v_sad_u8", THREE, U32, |x| sad(x[0], x[1], 0, false) + x[2]),
    Case::new("v_sad_u8", THREE, U32, |x| sad(x[0], x[1], 0, false) + x[2]).clamped(),
    Case::new("v_sad_hi_u8", THREE, U32, |x| sad(x[0], x[1], 0, false) * 65536 + x[2]),
    Case::new("v_sad_hi_u8", THREE, U32, |x| sad(x[0], x[1], 0, false) * 65536 + x[2]).clamped(),
    Case::new("v_msad_u8", THREE, U32, |x| sad(x[0], x[1], 0, true) + x[2]),
    Case::new("v_msad_u8", THREE, U32, |x| sad(x[0], x[1], 0, true) + x[2]).clamped(),
    Case::new("v_sad_u16", THREE, U32, |x| {
        let [a, b] = [halves(x[0]), halves(x[1])];
        (a[0] - b[0]).abs() + (a[1] - b[1]).abs() + x[2]
    }),
    Case::new("v_sad_u32", THREE, U32, |x| (x[0] - x[1]).abs() + x[2]),
    Case::new("v_sad_u32", THREE, U32, |x| (x[0] - x[1]).abs() + x[2]).clamped(),
    Case::new("v_qsad_pk_u16_u8", QUAD, U64, |x| quad(x, false, false)),
    Case::new("v_qsad_pk_u16_u8", QUAD, U64, |x| quad(x, false, true)).clamped(),
    Case::new("v_mqsad_pk_u16_u8", QUAD, U64, |x| quad(x, true, false)),
    Case::new("v_mqsad_pk_u16_u8", QUAD, U64, |x| quad(x, true, true)).clamped(),
    Case::new("v_lerp_u8", THREE, U32, |x| {
        let [a, b, c] = [x[0], x[1], x[2]].map(bytes);
        (0..4).map(|i| ((a[i] + b[i] + c[i] % 2) / 2) << (8 * i)).sum()
    }),
    Case::new("v_sat_pk_u8_i16", &[Pair], U16, |x| {
        let signed = |x: i128| if x >= 32768 { x - 65536 } else { x };
        let [low, high] = halves(x[0]).map(|x| clamp(signed(x), 0, 255));
        low + 256 * high
    }),
    Case::new("v_cvt_pk_u16_u32", &[U32, U32], U32, |x| clamp(x[0], 0, 65535) + 65536 * clamp(x[1], 0, 65535)),
    Case::new("v_cvt_pk_i16_i32", &[I32, I32], U32, |x| {
        let [low, high] = [x[0], x[1]].map(|x| clamp(x, -32768, 32767));
        low.rem_euclid(65536) + 65536 * high
    }),
];

#[test]
fn differences_are_summed_byte_by_byte() {
    check(CASES);
}
