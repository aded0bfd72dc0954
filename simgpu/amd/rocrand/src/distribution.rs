//! Conversion of words to numbers in the same way as rocRAND:
//! <https://rocm.docs.amd.com/projects/rocRAND/en/latest/api-reference/cpp-api.html>. Uniform
//! numbers exclude 0 and include 1. Each operation here is an IEEE-754 operation, so the numbers
//! are bitwise equal to the device's.

use crate::ordering::Kind;
use isobit_simgpu_math::random::Distribution;
use isobit_simgpu_math::random::mrg32k3a::M1;
use std::f32::consts::TAU;
use std::f64::consts::PI;

/// Returns the distribution of `rocrand_generate`: all 32 bits, uniformly.
pub fn bits(kind: Kind) -> Distribution<u32> {
    match kind {
        // rocRAND's factor that maps 1..=M1 to the full range: (2^32 - 1) / (M1 - 1) to 16 digits.
        Kind::Mrg32k3a => {
            Distribution::new(1, 1, |w, out| out[0] = (f64::from(w[0].wrapping_sub(1)) * 1.000000048661607) as u32)
        }
        _ => Distribution::new(1, 1, |w, out| out[0] = w[0]),
    }
}

/// Returns the distribution of `rocrand_generate_uniform`.
pub fn uniform(kind: Kind) -> Distribution<f32> {
    let unit = unit(kind);
    Distribution::new(1, 1, move |w, out| out[0] = unit(w[0]))
}

/// Returns the distribution of `rocrand_generate_uniform_double`: 53 bits of two words, or one word
/// of MRG32k3a.
pub fn uniform_double(kind: Kind) -> Distribution<f64> {
    match kind {
        Kind::Mrg32k3a => Distribution::new(1, 1, |w, out| out[0] = mrg_unit(w[0])),
        _ => Distribution::new(2, 1, |w, out| out[0] = unit53(u64::from(w[1] >> 11) << 32 | u64::from(w[0]))),
    }
}

/// Returns the distribution of `rocrand_generate_normal`: pairs by the Box-Muller transform, sine
/// first.
pub fn normal(kind: Kind, mean: f32, deviation: f32) -> Distribution<f32> {
    let unit = unit(kind);
    Distribution::new(2, 2, move |w, out| {
        let radius = (-2.0 * unit(w[0]).ln()).sqrt();
        let (sin, cos) = (TAU * unit(w[1])).sin_cos();
        (out[0], out[1]) = (mean + deviation * (radius * sin), mean + deviation * (radius * cos));
    })
}

/// Returns the distribution of `rocrand_generate_normal_double`: as [`normal`], from two 53-bit
/// numbers. For MRG32k3a, from its single-precision numbers.
pub fn normal_double(kind: Kind, mean: f64, deviation: f64) -> Distribution<f64> {
    let pair = move |u: f64, turn: f64, out: &mut [f64]| {
        let radius = (-2.0 * u.ln()).sqrt();
        let (sin, cos) = (2.0 * PI * turn).sin_cos();
        (out[0], out[1]) = (mean + deviation * (radius * sin), mean + deviation * (radius * cos));
    };
    match kind {
        Kind::Mrg32k3a => {
            let unit = |w| f64::from(mrg_unit(w) as f32);
            Distribution::new(2, 2, move |w, out| pair(unit(w[0]), unit(w[1]), out))
        }
        _ => {
            let unit = |low: u32, high: u32| unit53(u64::from(low) ^ u64::from(high) << 21);
            Distribution::new(4, 2, move |w, out| pair(unit(w[0], w[1]), unit(w[2], w[3]), out))
        }
    }
}

fn unit(kind: Kind) -> fn(u32) -> f32 {
    const STEP: f32 = 1.0 / (1u64 << 32) as f32;
    match kind {
        Kind::Mrg32k3a => |w| mrg_unit(w) as f32,
        _ => |w| STEP + w as f32 * STEP,
    }
}

fn unit53(bits: u64) -> f64 {
    const STEP: f64 = 1.0 / (1u64 << 53) as f64;
    STEP + bits as f64 * STEP
}

fn mrg_unit(word: u32) -> f64 {
    f64::from(word) * (1.0 / M1 as f64)
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
        assert_eq!((one(&float, &[0]), one(&float, &[u32::MAX])), (2f32.powi(-32), 1.0));
        let double = uniform_double(Kind::Xorwow);
        assert_eq!((one(&double, &[0, 0]), one(&double, &[u32::MAX, u32::MAX])), (2f64.powi(-53), 1.0));
        // The lowest bit of the low word is the lowest bit of the number; the lowest eleven bits of
        // the high word are dropped.
        assert_eq!(one(&double, &[1, 0x7ff]), 2f64.powi(-52));
        assert_eq!(one(&double, &[0, 1 << 11]), 2f64.powi(-53) + 2f64.powi(-21));
        let m1 = M1 as u32;
        assert_eq!((one(&bits(Kind::Mrg32k3a), &[1]), one(&bits(Kind::Mrg32k3a), &[m1])), (0, u32::MAX));
        assert_eq!(one(&uniform(Kind::Mrg32k3a), &[m1]), 1.0);
        assert!(one(&uniform(Kind::Mrg32k3a), &[1]) > 0.0 && one(&uniform_double(Kind::Mrg32k3a), &[1]) > 0.0);
        // The factor in rocRAND's header is the shortest decimal that rounds to this number.
        assert_eq!(1.0 / M1 as f64, 2.328306549837829e-10);
    }

    /// Checks the Box-Muller transform at angles with known sine and cosine.
    #[test]
    fn normals_at_known_angles() {
        let e = (-0.5f64).exp();
        // A uniform number of exp(-1/2) gives radius 1; a quarter turn gives sine 1 and cosine 0.
        let mut out = [0.0; 2];
        normal(Kind::Philox, 10.0, 2.0).map(&[(e * 4294967296.0) as u32, 1 << 30], &mut out);
        assert!((out[0] - 12.0).abs() < 1e-5 && (out[1] - 10.0).abs() < 1e-5, "{out:?}");
        let mut out = [0.0; 2];
        normal_double(Kind::Xorwow, 10.0, 2.0).map(&[0, (e * 4294967296.0) as u32, 0, 1 << 30], &mut out);
        assert!((out[0] - 12.0).abs() < 1e-8 && (out[1] - 10.0).abs() < 1e-8, "{out:?}");
        let mut out = [0.0; 2];
        normal_double(Kind::Mrg32k3a, 0.0, 1.0).map(&[(e * M1 as f64) as u32, (M1 / 4) as u32], &mut out);
        assert!((out[0] - 1.0).abs() < 1e-6 && out[1].abs() < 1e-6, "{out:?}");
    }
}
