//! Element values: a distribution and a seed or, after shrinking, the bits themselves.

use super::blocks::{block_byte, edge_block_byte};
use super::level_ties::level_ties;
use super::numbers::{Format, format_of};
use isobit_hal::{DType, GgmlDType};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use serde::{Deserialize, Serialize};

/// How the elements of an operand are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dist {
    /// Uniform between -2^scale and 2^scale; for integers, `scale` bits.
    Uniform {
        /// The binary logarithm of the range.
        scale: i32,
    },
    /// All exponents equally likely, including subnormals; for integers, all lengths.
    LogUniform,
    /// All exponents of a range equally likely.
    Exponents {
        /// The smallest exponent.
        low: i32,
        /// The largest exponent.
        high: i32,
    },
    /// Integers with a given number of bits.
    Integers {
        /// The number of bits of the magnitude.
        bits: u32,
    },
    /// NaNs with payloads, infinities, zeros of both signs, subnormals, extremes and boundaries of
    /// integer types, mixed with ordinary values.
    Specials,
    /// Halfway between two values of a narrower format or between two integers, or one bit away
    /// from that.
    Halfway,
    /// Halfway between two values of any narrower format, or one bit away from that, which may lie
    /// anywhere below the tie.
    Ties,
    /// Multiples of 1/2 below 8: few magnitudes, and ties of rounding to a scale.
    Levels,
    /// Zeros, all negative in a float.
    NegativeZeros,
    /// Equal blocks of 32 values, of which one in 16 differs from the others in one element.
    Alike,
    /// Four values that repeat, to produce ties.
    Few,
    /// Conditions: zeros, ones, and values in which only one byte is not zero.
    Mask,
    /// Ordinary values; one in 64 is an infinity or a NaN.
    Sparse,
    /// Uniform between -2^scale and 2^scale, except that one value in `of` is an infinity, a NaN or
    /// huge.
    Rare {
        /// The binary logarithm of the range.
        scale: i32,
        /// How many values have one exception.
        of: u32,
    },
    /// A power of two, the number below it or the number above it, of both signs.
    Around {
        /// The exponent of the power.
        exponent: i32,
    },
    /// Summands of scores: minus infinity for some, and zeros, moderate numbers and the least
    /// finite number for others.
    Hiding {
        /// How many of 256 values are minus infinity.
        share: u32,
        /// Whether one in 1024 is a NaN or plus infinity.
        wild: bool,
    },
    /// Summands of scores as models have them: minus infinity for some, and zeros and moderate
    /// numbers for others.
    Masking {
        /// How many of 256 values are minus infinity.
        share: u32,
    },
    /// Zeros, of both signs in a float, except that one value in `of` is not 0: a NaN, a subnormal,
    /// or any other.
    Unset {
        /// How many values have one exception.
        of: u32,
    },
    /// Values that are not 0, except that one value in `of` is.
    Set {
        /// How many values have one exception.
        of: u32,
    },
    /// All ones.
    Ones,
    /// 0, 1, 2 ... 63, repeated.
    Ramp,
    /// Ids below a limit, with some padding markers (the largest u32, i32 and i64; u8 has none).
    Ids {
        /// The limit; 0 gives only padding markers.
        below: u32,
        /// Whether one in 16 is out of range.
        wild: bool,
    },
    /// The same, with ids of signed dtypes that also count from the end: down to minus the limit.
    IdsFromEnd {
        /// The limit; 0 gives only padding markers.
        below: u32,
        /// Whether one in 16 is out of range.
        wild: bool,
    },
    /// Bytes of quantized blocks: random integers, with scales of moderate size and occasionally
    /// one that is tiny, infinite or NaN.
    Blocks {
        /// The index of the format in [`isobit_hal::GgmlDType::ALL`].
        format: u8,
    },
    /// The same, but most scales are infinite, zero, the largest or the smallest numbers.
    EdgeBlocks {
        /// The index of the format in [`isobit_hal::GgmlDType::ALL`].
        format: u8,
    },
    /// Halfway between two levels of a format's quantizer, or a few places beside, and blocks whose
    /// scale is halfway between two values of f16.
    LevelTies {
        /// The index of the format in [`isobit_hal::GgmlDType::ALL`].
        format: u8,
    },
}

/// Returns the format with an index, as distributions save it.
pub(super) fn format_at(index: u8) -> GgmlDType {
    GgmlDType::ALL[usize::from(index) % GgmlDType::ALL.len()]
}

/// The values of an operand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Values {
    /// Drawn values.
    Drawn {
        /// The distribution.
        dist: Dist,
        /// The seed.
        seed: u64,
    },
    /// Explicit bits in memory order; the last value repeats.
    Bits(Vec<u64>),
}

impl Values {
    /// Returns the bits of `count` elements in memory order.
    pub fn bits(&self, dtype: DType, count: usize) -> Vec<u64> {
        match self {
            Values::Drawn { dist, seed } => {
                let mut rng = Xoshiro256PlusPlus::seed_from_u64(*seed);
                match (format_of(dtype), *dist) {
                    (Some(f), Dist::LevelTies { format }) => level_ties(f, format_at(format), count, &mut rng),
                    (Some(format), _) => (0..count).map(|i| float(*dist, format, i, &mut rng)).collect(),
                    (None, _) => (0..count).map(|i| integer(*dist, dtype, i, &mut rng)).collect(),
                }
            }
            Values::Bits(bits) => {
                let last = bits.last().copied().unwrap_or(0);
                (0..count).map(|i| bits.get(i).copied().unwrap_or(last)).collect()
            }
        }
    }
}

/// Returns a number from 0 to n - 1. The bias of the multiplication, 2^-64, does not matter here;
/// that the result never changes does.
pub(super) fn below(rng: &mut impl RngCore, n: u64) -> u64 {
    ((u128::from(rng.next_u64()) * u128::from(n)) >> 64) as u64
}

fn between(rng: &mut impl RngCore, low: i32, high: i32) -> i32 {
    low + below(rng, (i64::from(high) - i64::from(low) + 1) as u64) as i32
}

/// Uniform in (-2^scale, 2^scale): each binade is half as likely as the one above it.
fn uniform(f: Format, scale: i32, rng: &mut impl RngCore) -> u64 {
    let r = rng.next_u64();
    let below_top = (r >> 12).trailing_zeros().min(51) as i32;
    f.compose(r & 1 != 0, scale - 1 - below_top, rng.next_u64())
}

/// Converts an integer to a float, rounded toward zero.
fn whole(f: Format, negative: bool, n: u64) -> u64 {
    if n == 0 {
        return if negative { f.sign() } else { 0 };
    }
    let exponent = 63 - n.leading_zeros();
    let fraction = n ^ 1 << exponent;
    let significand = match exponent <= f.significand {
        true => fraction << (f.significand - exponent),
        false => fraction >> (exponent - f.significand),
    };
    f.compose(negative, exponent as i32, significand)
}

fn float(dist: Dist, f: Format, i: usize, rng: &mut impl RngCore) -> u64 {
    match dist {
        Dist::Uniform { scale } => uniform(f, scale, rng),
        Dist::LogUniform => {
            let r = rng.next_u64();
            let field = below(rng, 1 << f.exponent) as i32;
            f.compose(r & 1 != 0, field - f.bias() - i32::from(field == 0) * (r >> 8 & 7) as i32, rng.next_u64())
        }
        Dist::Exponents { low, high } => {
            let r = rng.next_u64();
            f.compose(r & 1 != 0, between(rng, low, high), r >> 1)
        }
        Dist::Integers { bits } => {
            let r = rng.next_u64();
            whole(f, r & 1 != 0, r >> 1 & ((1 << bits.min(62)) - 1))
        }
        Dist::Specials if below(rng, 4) == 0 => uniform(f, 3, rng),
        Dist::Specials => special(f, rng),
        Dist::Halfway => halfway(f, rng),
        Dist::Ties => tie(f, rng),
        Dist::Levels => {
            let r = rng.next_u64();
            let n = whole(f, false, r >> 1 & 15);
            let halved = n.saturating_sub(1 << f.significand);
            if r & 1 == 0 { halved } else { halved | f.sign() }
        }
        Dist::NegativeZeros => f.sign(),
        Dist::Alike => {
            let n = alike(i, rng);
            whole(f, n & 1 != 0, n >> 1)
        }
        Dist::Few => {
            let r = rng.next_u64();
            whole(f, r & 4 != 0, r & 1)
        }
        Dist::Mask => {
            let r = rng.next_u64();
            if r & 1 == 0 { 0 } else { whole(f, r & 2 != 0, 1) }
        }
        Dist::Sparse if below(rng, 64) == 0 => {
            let r = rng.next_u64();
            let bits = if r & 2 == 0 { f.infinity() } else { f.canonical_nan() };
            if r & 1 == 0 { bits } else { bits | f.sign() }
        }
        Dist::Sparse => uniform(f, 0, rng),
        Dist::Rare { of, .. } if below(rng, of.max(1).into()) == 0 => huge(f, rng),
        Dist::Rare { scale, .. } => uniform(f, scale, rng),
        Dist::Unset { of } if below(rng, of.max(1).into()) == 0 => nonzero(f, rng),
        Dist::Set { of } if below(rng, of.max(1).into()) != 0 => nonzero(f, rng),
        Dist::Unset { .. } | Dist::Set { .. } => (rng.next_u64() & 1) * f.sign(),
        Dist::Around { exponent } => {
            let r = rng.next_u64();
            let near = f.compose(false, exponent, 0) + (r >> 1) % 3 - 1;
            if r & 1 == 0 { near } else { near | f.sign() }
        }
        Dist::Hiding { share, wild } => summand(f, share, wild, rng),
        Dist::Masking { share } if below(rng, 256) < share.into() => f.infinity() | f.sign(),
        Dist::Masking { .. } => match below(rng, 4) {
            0 | 1 => 0,
            2 => uniform(f, 1, rng),
            _ => uniform(f, 7, rng),
        },
        Dist::Ones => whole(f, false, 1),
        Dist::Ramp
        | Dist::Ids { .. }
        | Dist::IdsFromEnd { .. }
        | Dist::Blocks { .. }
        | Dist::EdgeBlocks { .. }
        | Dist::LevelTies { .. } => whole(f, false, i as u64 % 64),
    }
}

/// A special value that is not 0.
fn nonzero(f: Format, rng: &mut impl RngCore) -> u64 {
    let bits = special(f, rng);
    if bits & f.magnitude() == 0 { bits | 1 } else { bits }
}

fn special(f: Format, rng: &mut impl RngCore) -> u64 {
    let r = rng.next_u64();
    let payload = rng.next_u64() & f.significand_mask();
    let one = whole(f, false, 1);
    let smallest_normal = 1 << f.significand;
    let magnitude = match below(rng, 16) {
        0 => 0,
        1 => f.infinity(),
        // A quiet and a signalling NaN with payloads; f8e4m3 has only one NaN.
        2 if f.infinities => f.canonical_nan() | payload,
        3 if f.infinities => f.infinity() | (payload & !(1 << (f.significand - 1))).max(1),
        2 | 3 => f.canonical_nan(),
        4 => 1 + below(rng, 2),
        5 => smallest_normal - 1 + below(rng, 3),
        6 => payload.min(smallest_normal - 1),
        7 => f.max_finite() - below(rng, 3),
        8 => one - 1 + below(rng, 3),
        9 => whole(f, false, 1 + below(rng, 16)),
        10 => f.compose(false, -1 - below(rng, 4) as i32, 0),
        // Half integers: ties of `round`, and neighbours of the steps of `floor`.
        11 => f.compose(false, 1 + below(rng, 4) as i32, payload & !(f.significand_mask() >> 4)),
        // At and next to the boundaries of integer types, for casts.
        12 | 13 => {
            let power = [7, 8, 15, 16, 24, 31, 32, 53, 63, 64][below(rng, 10) as usize];
            f.compose(false, power, 0).saturating_sub(1) + below(rng, 3)
        }
        // 2^3 to 2^10, where exp, sinh and similar functions overflow or vanish in every format.
        14 => f.compose(false, 3 + below(rng, 8) as i32, payload),
        _ => f.compose(false, (f.max_exponent() + f.min_exponent()) / 2 + between(rng, -2, 2), payload),
    };
    let magnitude = if f.is_nan(magnitude) && f.infinities { magnitude } else { magnitude.min(f.infinity()) };
    if r & 1 == 0 { magnitude } else { magnitude | f.sign() }
}

fn halfway(f: Format, rng: &mut impl RngCore) -> u64 {
    let r = rng.next_u64();
    if r & 2 == 0 {
        // n + 1/2.
        let n = whole(f, false, (r >> 8 & 0x1ff) * 2 + 1);
        let halved = n.saturating_sub(1 << f.significand);
        return if r & 1 == 0 { halved } else { halved | f.sign() };
    }
    // The significands of the narrower formats, and one bit after them.
    let kept = [3, 7, 10, 23][below(rng, 4) as usize];
    let significand = if kept < f.significand {
        let top = rng.next_u64() & f.significand_mask() & !(f.significand_mask() >> kept);
        (top | 1 << (f.significand - kept - 1)).wrapping_add(below(rng, 3)).wrapping_sub(1)
    } else {
        rng.next_u64()
    };
    f.compose(r & 1 != 0, between(rng, -20, 20), significand)
}

/// Returns a tie of a narrower format, or a value that differs from one in a single bit, however
/// far down it is. Formats with subnormals have ties at every bit.
fn tie(f: Format, rng: &mut impl RngCore) -> u64 {
    let r = rng.next_u64();
    let kept = below(rng, u64::from(f.significand.min(24))) as u32;
    let (half, under) = (f.significand - kept - 1, rng.next_u64());
    let top = under & f.significand_mask() & !(f.significand_mask() >> kept);
    let at = if half == 0 { 0 } else { 1u64 << below(rng, half.into()) };
    let significand = match r >> 1 & 3 {
        0 => top | 1 << half,
        1 | 2 => top | 1 << half | if half == 0 { 0 } else { at },
        _ => (top | 1 << half).saturating_sub(at),
    };
    f.compose(r & 1 != 0, between(rng, -26, 18), significand)
}

/// Returns an infinity, a NaN, the largest number, or one with an exponent in the upper third.
fn huge(f: Format, rng: &mut impl RngCore) -> u64 {
    let r = rng.next_u64();
    let magnitude = match r >> 1 & 3 {
        0 => f.infinity(),
        1 => f.canonical_nan(),
        2 => f.max_finite(),
        _ => f.compose(false, between(rng, f.max_exponent() / 3, f.max_exponent()), rng.next_u64()),
    };
    if r & 1 == 0 { magnitude } else { magnitude | f.sign() }
}

/// Returns what a mask adds to a score.
fn summand(f: Format, share: u32, wild: bool, rng: &mut impl RngCore) -> u64 {
    if wild && below(rng, 1024) == 0 {
        return if rng.next_u64() & 1 == 0 { f.infinity() } else { f.canonical_nan() };
    }
    if below(rng, 256) < u64::from(share) {
        return f.infinity() | f.sign();
    }
    match below(rng, 16) {
        0..9 => 0,
        9..12 => uniform(f, 1, rng),
        12..15 => uniform(f, 7, rng),
        _ => f.max_finite() | f.sign(),
    }
}

/// Returns a small number that repeats every 32 elements, except in one of 512.
fn alike(i: usize, rng: &mut impl RngCore) -> u64 {
    let n = (i as u64 % 32).wrapping_mul(0x9e37_79b9) >> 4 & 63;
    if below(rng, 512) == 0 { n ^ 1 << below(rng, 6) } else { n }
}

/// Returns an id of a dtype, of which the low bits are used.
fn id(limit: u32, wild: bool, dtype: DType, rng: &mut impl RngCore) -> u64 {
    let mark = match dtype {
        DType::I64 => i64::MAX as u64,
        DType::I32 => i32::MAX as u64,
        _ => u64::from(u32::MAX),
    };
    let signed = matches!(dtype, DType::I32 | DType::I64);
    let narrow = dtype == DType::U8;
    let inside = if narrow { limit.min(256) } else { limit };
    match below(rng, 16) {
        0 if !narrow => mark,
        1 if wild => {
            let beyond = u64::from(limit) + below(rng, 3);
            // A u8 wraps into its range, or beyond the limit, depending on this draw.
            match below(rng, 3) {
                0 if signed => below(rng, 3).wrapping_neg().wrapping_sub(1),
                // In range if only the low half is read.
                1 if dtype == DType::I64 => below(rng, u64::from(limit.max(1))) | (1 + below(rng, 3)) << 32,
                _ => beyond,
            }
        }
        _ if inside == 0 => mark,
        _ => below(rng, inside.into()),
    }
}

/// Returns an id of a dtype, half of them counted from the end if the dtype is signed.
fn id_from_end(limit: u32, wild: bool, dtype: DType, rng: &mut impl RngCore) -> u64 {
    let (id, draw) = (id(limit, wild, dtype, rng), below(rng, 32));
    if !matches!(dtype, DType::I32 | DType::I64) || id >= u64::from(limit) || draw % 2 == 0 {
        return id;
    }
    // Directly before the first one, if it may be.
    if wild && draw == 1 { u64::from(limit).wrapping_neg().wrapping_sub(1) } else { id.wrapping_sub(limit.into()) }
}

fn integer(dist: Dist, dtype: DType, i: usize, rng: &mut impl RngCore) -> u64 {
    let width = 8 * dtype.size_in_bytes() as u32;
    let all = u64::MAX >> (64 - width);
    let signed = !dtype.is_unsigned();
    let r = rng.next_u64();
    // A magnitude with a sign, if the type is signed.
    let sized = |bits: u32, r: u64| {
        let magnitude = (r >> 1) & ((1u64 << bits.clamp(1, width - u32::from(signed)).min(63)) - 1);
        if signed && r & 1 != 0 { magnitude.wrapping_neg() } else { magnitude }
    };
    let bits = match dist {
        Dist::Uniform { scale } if scale > 4 => r,
        Dist::Uniform { .. } => sized(6, r),
        Dist::LogUniform => sized(1 + below(rng, width.into()) as u32, r),
        Dist::Exponents { high, .. } => sized(high.clamp(1, 62) as u32, r),
        Dist::Integers { bits } => sized(bits, r),
        Dist::Specials | Dist::Halfway | Dist::Ties => {
            let top = 1u64 << (width - 1);
            match below(rng, 12) {
                0 => 0,
                1 => 1,
                2 => u64::MAX,
                3 => top,
                4 => top - 1,
                5 => top + 1,
                6 => 2,
                7 => u64::MAX - 1,
                // Ties of the conversions to narrow floats.
                8 => (1 << below(rng, width.into())) | (1 << below(rng, width.into())),
                9 => (1u64 << below(rng, width.into())).wrapping_sub(1),
                10 => sized(3, r),
                _ => r,
            }
        }
        Dist::Few
        | Dist::Sparse
        | Dist::Rare { .. }
        | Dist::Around { .. }
        | Dist::Hiding { .. }
        | Dist::Masking { .. } => r & 3,
        // One bit that is set.
        Dist::Unset { of } if below(rng, of.max(1).into()) == 0 => 1 << below(rng, width.into()),
        Dist::Set { of } if below(rng, of.max(1).into()) != 0 => 1 << below(rng, width.into()),
        Dist::NegativeZeros | Dist::Unset { .. } | Dist::Set { .. } => 0,
        Dist::Levels => sized(4, r),
        Dist::Alike => alike(i, rng),
        Dist::Mask => match r & 7 {
            0..=3 => 0,
            4 | 5 => 1,
            6 => 0xff << (8 * below(rng, (width / 8).into())),
            _ => 1 << (width - 1),
        },
        Dist::Ones => 1,
        Dist::Ramp => i as u64 % 64,
        Dist::Ids { below: limit, wild } => id(limit, wild, dtype, rng),
        Dist::IdsFromEnd { below: limit, wild } => id_from_end(limit, wild, dtype, rng),
        Dist::Blocks { format } => block_byte(format, i, rng),
        Dist::EdgeBlocks { format } => edge_block_byte(format, i, rng),
        Dist::LevelTies { .. } => r,
    };
    bits & all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specials_hold_every_kind_of_value_in_every_format() {
        for &dtype in DType::ALL {
            let bits = Values::Drawn { dist: Dist::Specials, seed: 1 }.bits(dtype, 4096);
            let Some(f) = format_of(dtype) else {
                assert!(bits.contains(&0) && bits.contains(&(1 << (8 * dtype.size_in_bytes() - 1))));
                continue;
            };
            let has = |test: &dyn Fn(u64) -> bool| assert!(bits.iter().any(|&b| test(b)), "{dtype}");
            has(&|b| b == 0);
            has(&|b| b == f.sign());
            has(&|b| f.is_nan(b) && b & f.sign() != 0);
            has(&|b| b == f.max_finite());
            has(&|b| b == 1);
            has(&|b| f.to_f64(b) == 1.0);
            if f.infinities {
                has(&|b| b == f.infinity());
                has(&|b| b == f.infinity() | f.sign());
                has(&|b| f.is_nan(b) && b & 1 << (f.significand - 1) == 0);
                has(&|b| f.is_nan(b) && b & f.magnitude() > f.canonical_nan());
            }
            assert!(bits.iter().all(|&b| b <= f.sign() | f.magnitude()));
        }
    }

    #[test]
    fn ordinary_values_are_finite_and_in_range() {
        for dtype in [DType::F8E4M3, DType::F8E5M2, DType::F16, DType::BF16, DType::F32, DType::F64] {
            let f = format_of(dtype).unwrap();
            for (dist, bound) in [(Dist::Uniform { scale: 3 }, 8.0), (Dist::Integers { bits: 4 }, 16.0)] {
                let bits = Values::Drawn { dist, seed: 9 }.bits(dtype, 1000);
                assert!(bits.iter().all(|&b| f.to_f64(b).abs() < bound), "{dtype} {dist:?}");
                assert!(bits.iter().any(|&b| f.to_f64(b).abs() > bound / 4.0), "{dtype} {dist:?}");
            }
        }
    }

    #[test]
    fn ties_are_decided_by_bits_anywhere() {
        let (f, h) = (format_of(DType::F64).unwrap(), format_of(DType::F16).unwrap());
        let bits = Values::Drawn { dist: Dist::Ties, seed: 3 }.bits(DType::F64, 4096);
        let of_tie = |b: &u64| {
            let value = f.to_f64(*b);
            let error = (half::f16::from_f64(value).to_f64() - value).abs() / h.ulp_at(value);
            (h.min_exponent()..h.max_exponent()).contains(&(value.abs().log2() as i32)).then_some(0.5 - error)
        };
        let offsets: Vec<f64> = bits.iter().filter_map(of_tie).collect();
        assert!(offsets.iter().filter(|&&o| o == 0.0).count() > 10);
        assert!(offsets.iter().filter(|&&o| 0.0 < o && o < 1e-6).count() > 10, "the last bits decide");
    }

    #[test]
    fn some_blocks_differ_in_one_element_and_zeros_are_negative() {
        let bits = Values::Drawn { dist: Dist::Alike, seed: 3 }.bits(DType::F32, 32 * 256);
        let unlike = |block: &[u64]| block.iter().zip(&bits[..32]).filter(|(a, b)| a != b).count();
        let counts: Vec<usize> = bits.chunks(32).map(unlike).collect();
        assert!(counts.iter().filter(|&&n| n == 0).count() > 200 && counts.contains(&1), "{counts:?}");
        let zeros = Values::Drawn { dist: Dist::NegativeZeros, seed: 3 }.bits(DType::F32, 2);
        assert_eq!(zeros.iter().map(|&b| f32::from_bits(b as u32)).sum::<f32>().to_bits(), (-0.0f32).to_bits());
    }

    #[test]
    fn few_values_are_zero_or_few_are_not() {
        for &dtype in DType::ALL {
            let zero = |b: &u64| format_of(dtype).map_or(*b, |f| b & f.magnitude()) == 0;
            let zeros = |dist| Values::Drawn { dist, seed: 3 }.bits(dtype, 4096).iter().filter(|b| zero(b)).count();
            assert!((3900..4096).contains(&zeros(Dist::Unset { of: 64 })), "{dtype}");
            assert!((1..200).contains(&zeros(Dist::Set { of: 64 })), "{dtype}");
        }
    }

    #[test]
    fn some_ids_are_in_range_in_their_low_half_alone() {
        let ids = Values::Drawn { dist: Dist::Ids { below: 9, wild: true }, seed: 3 }.bits(DType::I64, 1024);
        let low = |&&id: &&u64| id >> 32 != 0 && id >> 63 == 0 && (id as u32) < 9;
        assert!(ids.iter().filter(low).count() > 5);
    }

    #[test]
    fn some_ids_count_from_the_end_and_some_from_before_it() {
        let ids = Values::Drawn { dist: Dist::IdsFromEnd { below: 9, wild: true }, seed: 3 }.bits(DType::I64, 1024);
        let count = |range: std::ops::Range<i64>| ids.iter().filter(|&&id| range.contains(&(id as i64))).count();
        assert!(count(-9..0) > 300 && count(0..9) > 300 && count(-10..-9) > 10);
        let unsigned =
            Values::Drawn { dist: Dist::IdsFromEnd { below: 9, wild: false }, seed: 3 }.bits(DType::U32, 1024);
        assert!(unsigned.iter().all(|&id| id < 9 || id == u64::from(u32::MAX)));
    }

    #[test]
    fn masks_hide_and_few_values_are_exceptions() {
        for dtype in [DType::F16, DType::BF16, DType::F32] {
            let f = format_of(dtype).unwrap();
            let values = |dist| -> Vec<f64> {
                Values::Drawn { dist, seed: 3 }.bits(dtype, 4096).into_iter().map(|bits| f.to_f64(bits)).collect()
            };
            let count = |values: &[f64], has: &dyn Fn(f64) -> bool| values.iter().filter(|&&x| has(x)).count();
            let mask = values(Dist::Hiding { share: 128, wild: false });
            assert!((1900..2200).contains(&count(&mask, &|x| x == f64::NEG_INFINITY)), "{dtype}");
            assert_eq!(count(&mask, &|x| x.is_nan() || x == f64::INFINITY), 0, "{dtype}");
            assert!(count(&mask, &|x| x == 0.0) > 500 && count(&mask, &|x| x.is_finite() && x != 0.0) > 500);
            let wild = values(Dist::Hiding { share: 256, wild: true });
            assert!((1..20).contains(&count(&wild, &|x| x != f64::NEG_INFINITY)), "{dtype}");
            let tame = values(Dist::Masking { share: 128 });
            assert!((1900..2200).contains(&count(&tame, &|x| x == f64::NEG_INFINITY)), "{dtype}");
            assert_eq!(count(&tame, &|x| !(x == f64::NEG_INFINITY || x.abs() < 128.0)), 0, "{dtype}");
            let rare = values(Dist::Rare { scale: 1, of: 64 });
            assert!((20..200).contains(&count(&rare, &|x| x.is_nan() || x.abs() >= 2.0)), "{dtype}");
            let around = values(Dist::Around { exponent: 9 });
            assert_eq!(count(&around, &|x| (x.abs() - 512.0).abs() > f.ulp_at(512.0)), 0, "{dtype}");
            assert!(count(&around, &|x| x == 512.0) > 500 && count(&around, &|x| x > 512.0) > 500, "{dtype}");
            assert!(count(&around, &|x| x > -512.0 && x < 0.0) > 500, "{dtype}");
        }
    }

    #[test]
    fn halfway_values_lie_between_two_of_a_narrower_format() {
        let f = format_of(DType::F32).unwrap();
        let bits = Values::Drawn { dist: Dist::Halfway, seed: 3 }.bits(DType::F32, 4096);
        let tie = |b: &u64| {
            let h = half::f16::from_f64(f.to_f64(*b)).to_f64();
            (h - f.to_f64(*b)).abs() == 0.5 * format_of(DType::F16).unwrap().ulp_at(f.to_f64(*b))
        };
        assert!(bits.iter().filter(|b| tie(b)).count() > 50);
    }
}
