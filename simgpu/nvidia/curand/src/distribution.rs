//! Converts words to numbers as cuRAND does:
//! <https://docs.nvidia.com/cuda/curand/device-api-overview.html#distributions>. Uniform numbers
//! exclude 0 and include 1. Every operation on them is an IEEE-754 operation, so they match the
//! device bit for bit.

use crate::ordering::Kind;
use isobit_simgpu_math::random::Distribution;
use isobit_simgpu_math::random::mrg32k3a::M1;
use std::f32::consts::TAU;
use std::f64::consts::PI;

/// `MRG32K3A_NORM`.
const MRG_NORM: f64 = 1.0 / M1 as f64;
/// `MRG32K3A_BITS_NORM`: (2^32 - 1) / (2^32 - 209), to 12 decimal places.
const MRG_BITS_NORM: f64 = 1.000_000_048_662;

/// All 32 bits, uniformly distributed: `curandGenerate`.
pub fn bits(kind: Kind) -> Distribution<u32> {
    match kind {
        Kind::Mrg32k3a => Distribution::new(1, 1, |w, out| out[0] = (f64::from(w[0]) * MRG_BITS_NORM) as u32),
        _ => Distribution::new(1, 1, |w, out| out[0] = w[0]),
    }
}

/// `curandGenerateUniform`.
pub fn uniform(kind: Kind) -> Distribution<f32> {
    let unit = unit(kind);
    Distribution::new(1, 1, move |w, out| out[0] = unit(w[0]))
}

/// `curandGenerateUniformDouble`: 53 bits from two words, or one word of MRG32k3a.
pub fn uniform_double(kind: Kind) -> Distribution<f64> {
    match kind {
        Kind::Mrg32k3a => Distribution::new(1, 1, |w, out| out[0] = mrg_unit(w[0])),
        _ => Distribution::new(2, 1, |w, out| out[0] = unit53(w[0], w[1])),
    }
}

/// `curandGenerateNormal`: pairs by the Box-Muller transform, sine first.
pub fn normal(kind: Kind, mean: f32, deviation: f32) -> Distribution<f32> {
    let (unit, angle) = (unit(kind), angle(kind));
    Distribution::new(2, 2, move |w, out| {
        let radius = (-2.0 * unit(w[0]).ln()).sqrt();
        let (sin, cos) = angle(w[1]).sin_cos();
        (out[0], out[1]) = (mean + deviation * (sin * radius), mean + deviation * (cos * radius));
    })
}

/// `curandGenerateNormalDouble`: like [`normal`], from uniform numbers in double precision.
pub fn normal_double(kind: Kind, mean: f64, deviation: f64) -> Distribution<f64> {
    let pair = move |u: f64, turn: f64, out: &mut [f64]| {
        let radius = (-2.0 * u.ln()).sqrt();
        let (sin, cos) = (2.0 * turn * PI).sin_cos();
        (out[0], out[1]) = (mean + deviation * (sin * radius), mean + deviation * (cos * radius));
    };
    match kind {
        Kind::Mrg32k3a => Distribution::new(2, 2, move |w, out| pair(mrg_unit(w[0]), mrg_unit(w[1]), out)),
        _ => Distribution::new(4, 2, move |w, out| pair(unit53(w[0], w[1]), unit53(w[2], w[3]), out)),
    }
}

/// `curandGenerateLogNormal`: the exponential of [`normal`].
pub fn log_normal(kind: Kind, mean: f32, deviation: f32) -> Distribution<f32> {
    exponential(normal(kind, mean, deviation), f32::exp)
}

/// `curandGenerateLogNormalDouble`: the exponential of [`normal_double`].
pub fn log_normal_double(kind: Kind, mean: f64, deviation: f64) -> Distribution<f64> {
    exponential(normal_double(kind, mean, deviation), f64::exp)
}

fn exponential<T: Copy + 'static>(normal: Distribution<T>, exp: fn(T) -> T) -> Distribution<T> {
    Distribution::new(normal.inputs, normal.outputs, move |w, out| {
        normal.map(w, out);
        out.iter_mut().for_each(|x| *x = exp(*x));
    })
}

const STEP: f32 = 1.0 / (1u64 << 32) as f32;

fn unit(kind: Kind) -> fn(u32) -> f32 {
    match kind {
        Kind::Mrg32k3a => |w| mrg_unit(w) as f32,
        _ => |w| w as f32 * STEP + STEP / 2.0,
    }
}

/// Converts a word to an angle. All kinds except MRG32k3a multiply by a full turn before they add
/// the half step.
fn angle(kind: Kind) -> fn(u32) -> f32 {
    const ANGLE_STEP: f32 = STEP * TAU;
    match kind {
        Kind::Mrg32k3a => |w| mrg_unit(w) as f32 * TAU,
        _ => |w| w as f32 * ANGLE_STEP + ANGLE_STEP / 2.0,
    }
}

fn unit53(low: u32, high: u32) -> f64 {
    const STEP: f64 = 1.0 / (1u64 << 53) as f64;
    (u64::from(low) ^ u64::from(high) << 21) as f64 * STEP + STEP / 2.0
}

fn mrg_unit(word: u32) -> f64 {
    f64::from(word) * MRG_NORM
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one<T: Default + Copy>(d: &Distribution<T>, words: &[u32]) -> T {
        let mut out = [T::default(); 1];
        d.map(words, &mut out);
        out[0]
    }

    #[test]
    fn the_ends_of_the_ranges() {
        let float = uniform(Kind::Philox);
        assert_eq!((one(&float, &[0]), one(&float, &[u32::MAX])), (2f32.powi(-33), 1.0));
        let double = uniform_double(Kind::Xorwow);
        assert_eq!((one(&double, &[0, 0]), one(&double, &[u32::MAX, 0xffff_f800])), (2f64.powi(-54), 1.0));
        assert_eq!(one(&double, &[1 << 21, 0]), 2f64.powi(-32) + 2f64.powi(-54));
        // Overlapping bits of the two words are combined with xor.
        assert_eq!(one(&double, &[1 << 21, 1]), 2f64.powi(-54));
        let m1 = M1 as u32;
        assert_eq!(one(&bits(Kind::Mrg32k3a), &[m1]), u32::MAX);
        assert_eq!(one(&uniform(Kind::Mrg32k3a), &[m1]), 1.0);
        // The factor in NVIDIA's header, in the shortest form that gives the same number.
        assert_eq!(MRG_NORM, 2.328306549837829e-10);
        assert!(one(&uniform(Kind::Mrg32k3a), &[1]) > 0.0 && one(&uniform_double(Kind::Mrg32k3a), &[1]) > 0.0);
    }

    /// Box-Muller at angles with a known sine and cosine.
    #[test]
    fn normals_at_known_angles() {
        let e = (-0.5f64).exp();
        // A uniform number of exp(-1/2) gives the radius 1; a quarter turn gives sine 1 and cosine
        // 0.
        let mut out = [0.0; 2];
        normal(Kind::Philox, 10.0, 2.0).map(&[(e * 4_294_967_296.0) as u32, 1 << 30], &mut out);
        assert!((out[0] - 12.0).abs() < 1e-5 && (out[1] - 10.0).abs() < 1e-5, "{out:?}");
        log_normal(Kind::Philox, 1.0, 2.0).map(&[(e * 4_294_967_296.0) as u32, 1 << 30], &mut out);
        assert!((out[0].ln() - 3.0).abs() < 1e-5 && (out[1].ln() - 1.0).abs() < 1e-5, "{out:?}");
        let mut out = [0.0; 2];
        normal_double(Kind::Xorwow, 10.0, 2.0).map(&[0, (e * 4_294_967_296.0) as u32, 0, 1 << 30], &mut out);
        assert!((out[0] - 12.0).abs() < 1e-8 && (out[1] - 10.0).abs() < 1e-8, "{out:?}");
        log_normal_double(Kind::Mrg32k3a, 0.0, 1.0).map(&[(e * M1 as f64) as u32, (M1 / 4) as u32], &mut out);
        assert!((out[0].ln() - 1.0).abs() < 1e-6 && out[1].ln().abs() < 1e-6, "{out:?}");
    }
}
