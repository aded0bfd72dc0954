//! Normal numbers from the generator's words, by the transform of Box and Muller (1958), with short
//! polynomials made for it.

use super::philox::Words;
use super::{Distribution, Real};
use crate::cpu::math::f64::log;

/// The normal distribution with a mean and a standard deviation.
#[derive(Clone, Copy)]
pub(super) struct Normal<C> {
    mean: C,
    std: C,
}

impl<C: Real> Normal<C> {
    pub(super) fn new(mean: f64, std: f64) -> Self {
        Self { mean: C::from_parameter(mean), std: C::from_parameter(std) }
    }
}

impl<C: Real> Distribution for Normal<C> {
    type Number = C;
    const PER_BLOCK: u64 = C::PER_BLOCK;
    const STREAM: u32 = C::STREAM;

    #[inline(always)]
    fn numbers(self, words: &Words, lane: usize, out: &mut [C]) {
        for (i, pair) in out.chunks_exact_mut(2).enumerate() {
            let standard = C::normal_pair(words, i, lane);
            pair.copy_from_slice(&standard.map(|x| x.affine(self.std, self.mean)));
        }
    }
}

/// Polynomial for -2 log(1 + f) / f, f from -1/3 to 1/3.
const LOG: [f32; 9] = [
    f32::from_bits(0xbe8f_a0fa),
    f32::from_bits(0x3e9d_9242),
    f32::from_bits(0xbe8f_50de),
    f32::from_bits(0x3ea8_1996),
    f32::from_bits(0xbecc_ea1a),
    f32::from_bits(0x3f00_0a40),
    f32::from_bits(0xbf2a_aa7d),
    f32::from_bits(0x3f7f_ffeb),
    -2.0,
];
/// -2 log 2, scaled for an exponent that stands in the exponent bits of an f32.
const LOG2: f32 = f32::from_bits(0xb431_7218);
/// Polynomials for sin(t pi/2) / t and cos(t pi/2) in powers of t^2, t from -1/2 to 1/2.
const SIN: [f32; 4] = [
    f32::from_bits(0xbb96_c99b),
    f32::from_bits(0x3da3_2f49),
    f32::from_bits(0xbf25_5ddd),
    f32::from_bits(0x3fc9_0fdb),
];
const COS: [f32; 4] = [f32::from_bits(0xbca7_53c4), f32::from_bits(0x3e81_d8aa), f32::from_bits(0xbf9d_e9d0), 1.0];

const SIN_F64: [f64; 8] = [
    f64::from_bits(0xbe06_c58c_da3c_a75b),
    f64::from_bits(0x3e6e_8eec_79e1_94a7),
    f64::from_bits(0xbece_3074_b42c_49ca),
    f64::from_bits(0x3f25_0783_485c_2d54),
    f64::from_bits(0xbf73_2d2c_ce62_abbd),
    f64::from_bits(0x3fb4_66bc_6775_aad9),
    f64::from_bits(0xbfe4_abbc_e625_be53),
    f64::from_bits(0x3ff9_21fb_5444_2d18),
];
const COS_F64: [f64; 8] = [
    f64::from_bits(0xbe3b_2702_26ee_a04c),
    f64::from_bits(0x3e9f_9cc6_ba6b_abd9),
    f64::from_bits(0xbefa_6d1e_cb87_ca82),
    f64::from_bits(0x3f4e_1f50_683b_5feb),
    f64::from_bits(0xbf95_5d3c_7e3c_95d2),
    f64::from_bits(0x3fd0_3c1f_081b_5ab0),
    f64::from_bits(0xbff3_bd3c_c9be_45de),
    1.0,
];

/// Evaluates a polynomial whose coefficients start with the highest power.
#[inline(always)]
fn horner<C: Real>(x: C, coefficients: &[C]) -> C {
    let mut value = coefficients[0];
    for &c in &coefficients[1..] {
        value = value.affine(x, c);
    }
    value
}

/// Returns -2 log(v / 2^32) with v = `a | 1`.
#[inline(always)]
fn square_of_radius(a: u32) -> f32 {
    let v = ((a | 1) as f32).to_bits();
    // The exponent of v / 2^32 for a significand from 2/3 to 4/3.
    let exponent = v.wrapping_sub(0x4f2a_aaab) & 0xff80_0000;
    let f = f32::from_bits(v.wrapping_sub(exponent).wrapping_sub(0x1000_0000)) - 1.0;
    (exponent as i32 as f32).mul_add(LOG2, f * horner(f, &LOG))
}

/// Returns the coordinates of a point at the given radius. `swap` and the sign of the radius choose
/// one of the four half-axes; `t` is the angle from it in quarter turns.
#[inline(always)]
fn on_circle<C: Real>(radius: C, swap: bool, t: C, sin: &[C], cos: &[C]) -> [C; 2] {
    let z = t.mul(t);
    let (sin, cos) = (t.mul(horner(z, sin)), horner(z, cos));
    let (x, y) = if swap { (sin, cos) } else { (cos, sin) };
    [x.mul(radius), y.mul(radius)]
}

impl Real for f32 {
    const PER_BLOCK: u64 = 4;
    const STREAM: u32 = 0;
    const LOWEST: f64 = f32::MIN as f64;
    const LARGEST: f64 = f32::MAX as f64;

    #[inline(always)]
    fn unit(words: &Words, number: usize, lane: usize) -> f32 {
        (words[number][lane] >> 8) as f32 * f32::from_bits(0x3380_0000)
    }

    #[inline(always)]
    fn normal_pair(words: &Words, pair: usize, lane: usize) -> [f32; 2] {
        let (a, b) = (words[2 * pair][lane], words[2 * pair + 1][lane]);
        let radius = f32::from_bits(square_of_radius(a).sqrt().to_bits() ^ (b & 0x8000_0000));
        let t = f32::from_bits(b & 0x007f_ffff | 0x3f80_0000) - 1.5;
        on_circle(radius, b & 0x4000_0000 != 0, t, &SIN, &COS)
    }
}

/// Joins two words into one of 64 bits; the first is the low one.
#[inline(always)]
fn wide(words: &Words, number: usize, lane: usize) -> u64 {
    u64::from(words[2 * number + 1][lane]) << 32 | u64::from(words[2 * number][lane])
}

impl Real for f64 {
    const PER_BLOCK: u64 = 2;
    const STREAM: u32 = 1;
    const LOWEST: f64 = f64::MIN;
    const LARGEST: f64 = f64::MAX;

    #[inline(always)]
    fn unit(words: &Words, number: usize, lane: usize) -> f64 {
        (wide(words, number, lane) >> 11) as f64 * f64::from_bits(0x3ca0_0000_0000_0000)
    }

    #[inline(always)]
    fn normal_pair(words: &Words, _: usize, lane: usize) -> [f64; 2] {
        let (a, b) = (wide(words, 0, lane), wide(words, 1, lane));
        let u = ((a >> 11) + 1) as f64 * f64::from_bits(0x3ca0_0000_0000_0000);
        let radius = f64::from_bits((-2.0 * log(u)).sqrt().to_bits() ^ (b & 1 << 63));
        let t = f64::from_bits(b & 0x000f_ffff_ffff_ffff | 0x3ff0_0000_0000_0000) - 1.5;
        on_circle(radius, b & 1 << 62 != 0, t, &SIN_F64, &COS_F64)
    }
}
