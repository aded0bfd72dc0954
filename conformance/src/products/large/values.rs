//! The elements of large operands. An element is a function of its line and its place in it, so
//! that any layout can be filled in the order of memory, by many threads.

use isobit_hal::{DType, F8E4M3, WithDType, bf16, f16};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::RngCore;

/// A float dtype of products.
pub(super) trait Value: WithDType {
    fn of(v: f64) -> Self;
    fn bits(self) -> u64;
    fn is_nan(self) -> bool;

    /// Whether two results are the same: the bits, or any two NaNs.
    fn same(self, other: Self) -> bool {
        self.bits() == other.bits() || self.is_nan() && other.is_nan()
    }
}

macro_rules! values {
    ($($ty:ty: |$v:ident| $of:expr;)*) => {$(
        impl Value for $ty {
            fn of($v: f64) -> Self {
                $of
            }

            fn bits(self) -> u64 {
                self.to_bits().into()
            }

            fn is_nan(self) -> bool {
                <$ty>::is_nan(self)
            }
        }
    )*};
}
values! {
    F8E4M3: |v| F8E4M3::from_f32(v as f32);
    bf16: |v| bf16::from_f32(v as f32);
    f16: |v| f16::from_f32(v as f32);
    f32: |v| v as f32;
    f64: |v| v;
}

/// The least exponents of subnormal and of normal numbers, and the largest of all.
fn exponents(dtype: DType) -> [i32; 3] {
    match dtype {
        DType::F8E4M3 => [-9, -6, 8],
        DType::F16 => [-24, -14, 15],
        DType::BF16 => [-133, -126, 127],
        DType::F32 => [-149, -126, 127],
        _ => [-1074, -1022, 1023],
    }
}

/// What the lines of an operand are like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// As activations and weights are: a sum of uniform numbers.
    Bell,
    /// Exponents that differ by a few.
    Alike,
    /// Exponents that differ by more than a quantized segment holds.
    Wide,
    /// Lines of every kind.
    Mixed,
    /// Subnormal numbers, some with normal ones.
    Subnormal,
    /// The largest numbers, or the smallest normal ones.
    Extreme,
    /// Zeros, whole segments and whole lines of them.
    Sparse,
    /// Integers, of which sums are exact.
    Integers,
    /// Bells; a few lines have an infinity or a NaN.
    Special,
}

impl Kind {
    pub const ALL: [Kind; 9] = [
        Kind::Bell,
        Kind::Alike,
        Kind::Wide,
        Kind::Mixed,
        Kind::Subnormal,
        Kind::Extreme,
        Kind::Sparse,
        Kind::Integers,
        Kind::Special,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Kind::Bell => "bell",
            Kind::Alike => "alike",
            Kind::Wide => "wide",
            Kind::Mixed => "mixed",
            Kind::Subnormal => "subnormal",
            Kind::Extreme => "extreme",
            Kind::Sparse => "sparse",
            Kind::Integers => "integers",
            Kind::Special => "special",
        }
    }

    /// Draws a line of the operand.
    pub fn line(self, rng: &mut Xoshiro256PlusPlus, dtype: DType, k: usize) -> Line {
        let [least, normal, most] = exponents(dtype);
        let mut below = |n: u32| (rng.next_u64() % u64::from(n)) as u32;
        let shape = match self {
            Kind::Bell | Kind::Special => Shape::Bell,
            Kind::Alike => Shape::Exponents { low: -2, span: 1 + below(3) },
            Kind::Wide => {
                Shape::Exponents { low: least / 4, span: [6, 14, 30, (most - least) as u32 / 3][below(4) as usize] }
            }
            Kind::Mixed => match below(4) {
                0 => Shape::Bell,
                1 => Shape::Exponents { low: -3, span: 4 },
                2 => Shape::Exponents { low: least / 4, span: 16 },
                _ => Shape::Sparse,
            },
            Kind::Subnormal => Shape::Exponents { low: least, span: [(normal - least) as u32, 40][below(2) as usize] },
            Kind::Extreme if below(2) == 0 => Shape::Exponents { low: most - 3, span: 4 },
            Kind::Extreme => Shape::Exponents { low: normal, span: 4 },
            Kind::Sparse if below(8) == 0 => Shape::Zero,
            Kind::Sparse => Shape::Sparse,
            Kind::Integers => Shape::Integers,
        };
        let value = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN][below(3) as usize];
        let special = (self == Kind::Special && k > 0 && below(64) == 0).then(|| (below(k as u32) as usize, value));
        let shape = match shape {
            // No exponent is above the largest.
            Shape::Exponents { low, span } => Shape::Exponents { low, span: span.min((most - low) as u32 + 1) },
            other => other,
        };
        Line { seed: rng.next_u64(), shape, special }
    }
}

#[derive(Debug, Clone, Copy)]
enum Shape {
    Bell,
    /// Exponents from `low`, below `low + span`.
    Exponents {
        low: i32,
        span: u32,
    },
    Integers,
    Sparse,
    Zero,
}

/// A line of an operand along k.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line {
    seed: u64,
    shape: Shape,
    special: Option<(usize, f64)>,
}

/// Mixes bits (the finalizer of SplitMix64).
fn mixed(mut x: u64) -> u64 {
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

impl Line {
    /// Returns the element at a place.
    pub fn at(&self, k: usize) -> f64 {
        if let Some((at, value)) = self.special
            && at == k
        {
            return value;
        }
        let bits = mixed(self.seed.wrapping_add((k as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        let sign = if bits >> 63 == 0 { 1.0 } else { -1.0 };
        // All bits of a significand; those of an exponent are others.
        let significand = 1.0 + (mixed(bits) >> 12) as f64 / (1u64 << 52) as f64;
        match self.shape {
            Shape::Bell => {
                let sum: u64 = (0..4).map(|i| bits >> (15 * i) & 0x7fff).sum();
                // The factor gives it all the bits of a significand.
                (sum as f64 / 32_768.0 - 2.0) * (1.0 + (significand - 1.0) / 1024.0)
            }
            Shape::Exponents { low, span } => {
                sign * libm::scalbn(significand, low + (bits % u64::from(span.max(1))) as i32)
            }
            Shape::Integers => sign * (bits % 9) as f64,
            // Zeros come in runs, too.
            Shape::Sparse if bits & 7 != 0 || k / 128 % 3 == 1 => 0.0_f64.copysign(sign),
            Shape::Sparse => sign * significand,
            Shape::Zero => 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_xoshiro::rand_core::SeedableRng;

    fn line(kind: Kind, dtype: DType, seed: u64) -> Vec<f64> {
        let line = kind.line(&mut Xoshiro256PlusPlus::seed_from_u64(seed), dtype, 3000);
        (0..3000).map(|k| line.at(k)).collect()
    }

    /// The magnitudes of a kind's nonzero elements, over many lines.
    fn sizes(kind: Kind, dtype: DType) -> Vec<f64> {
        (0..20).flat_map(|seed| line(kind, dtype, seed)).map(f64::abs).filter(|&v| v != 0.0).collect()
    }

    #[test]
    fn kinds_have_the_numbers_that_they_name() {
        for dtype in [DType::F8E4M3, DType::BF16, DType::F16, DType::F32, DType::F64] {
            let [least, normal, most] = exponents(dtype).map(|e| libm::scalbn(1.0, e));
            let share = |kind, of: &dyn Fn(f64) -> bool| {
                let sizes = sizes(kind, dtype);
                sizes.iter().filter(|&&v| of(v)).count() as f64 / sizes.len() as f64
            };
            assert!(share(Kind::Subnormal, &|v| v >= least && v < normal) > 0.1, "{dtype}");
            assert!(share(Kind::Extreme, &|v| v >= most / 8.0 && v < 2.0 * most) > 0.3, "{dtype}");
            assert!(share(Kind::Alike, &|v| (0.25..2.0).contains(&v)) == 1.0, "{dtype}");
            assert!(share(Kind::Integers, &|v| v.fract() == 0.0 && v < 9.0) == 1.0, "{dtype}");
        }
        let (sum, all) = line(Kind::Bell, DType::F32, 1).iter().fold((0.0, 0.0), |(s, n), v| (s + v * v, n + 1.0));
        // Four uniform numbers have a variance of 4/12.
        assert!((sum / all - 1.0 / 3.0).abs() < 0.03, "{}", sum / all);
        assert!(sizes(Kind::Sparse, DType::F32).len() < 20 * 3000 / 8);
    }

    #[test]
    fn a_few_lines_are_special() {
        let special = (0..2000).filter(|&seed| line(Kind::Special, DType::F32, seed).iter().any(|v| !v.is_finite()));
        assert!((10..70).contains(&special.count()));
    }

    #[test]
    fn two_nans_are_the_same_and_two_zeros_are_not() {
        assert!(f32::NAN.same(f32::from_bits(0xffc0_0001)) && 1.0f32.same(1.0));
        assert!(!0.0f32.same(-0.0) && !f16::NAN.same(f16::ONE) && !f16::ONE.same(f16::NAN));
    }
}
