//! Values that decide how a quantizer rounds: halfway between two of a format's levels, or a few
//! places beside, and blocks whose scale lies halfway between two values of f16.

use super::numbers::Format;
use super::values::below;
use isobit_hal::GgmlDType;
use rand_xoshiro::rand_core::RngCore;

/// Elements of the smallest blocks, of the smallest sub-blocks, and of the largest blocks.
const BLOCK: usize = 32;
const SUB_BLOCK: usize = 16;
const SEGMENT: usize = 256;

/// Returns a format's lowest and highest level.
fn levels(format: GgmlDType) -> [i32; 2] {
    match format {
        GgmlDType::Q4_0 => [-8, 7],
        GgmlDType::Q5_0 => [-16, 15],
        GgmlDType::Q2K => [0, 3],
        GgmlDType::Q3K => [-4, 3],
        GgmlDType::Q4_1 | GgmlDType::Q4K => [0, 15],
        GgmlDType::Q5_1 | GgmlDType::Q5K => [0, 31],
        GgmlDType::Q6K => [-32, 31],
        GgmlDType::IQ4NL | GgmlDType::IQ4XS => [-127, 113],
        GgmlDType::TQ1_0 | GgmlDType::TQ2_0 => [-1, 1],
        GgmlDType::MXFP4 | GgmlDType::NVFP4 => [-12, 12],
        _ => [-127, 127],
    }
}

/// The numbers halfway between two levels of iq4_nl and iq4_xs.
const IQ4_MIDDLES: [f64; 15] =
    [-115.5, -93.5, -74.0, -57.0, -42.0, -28.5, -16.0, -4.5, 7.0, 19.0, 31.5, 45.5, 61.0, 79.0, 101.0];

/// The same of mxfp4 and nvfp4.
const FP4_MIDDLES: [f64; 14] = [-10.0, -7.0, -5.0, -3.5, -2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 3.5, 5.0, 7.0, 10.0];

/// Returns a number halfway between two levels, for any integer above the lowest level.
fn middle(format: GgmlDType, level: i32) -> f64 {
    match format {
        GgmlDType::MXFP4 | GgmlDType::NVFP4 => FP4_MIDDLES[level.rem_euclid(14) as usize],
        GgmlDType::IQ4NL | GgmlDType::IQ4XS => IQ4_MIDDLES[level.rem_euclid(15) as usize],
        _ => f64::from(level) + 0.5,
    }
}

/// Returns the bits of `count` elements.
pub(super) fn level_ties(f: Format, format: GgmlDType, count: usize, rng: &mut impl RngCore) -> Vec<u64> {
    let mut bits = Vec::with_capacity(count.next_multiple_of(SEGMENT));
    while bits.len() < count {
        if below(rng, 2) == 0 {
            (0..SEGMENT / BLOCK).for_each(|_| ties(f, format, &mut bits, rng));
        } else {
            scale_ties(f, format, &mut bits, rng);
        }
    }
    bits.truncate(count);
    bits
}

/// Returns the step between two levels: halfway between two values of f16, or any value of f32; a
/// power of two in formats that have no others.
fn step(format: GgmlDType, is_tie: bool, rng: &mut impl RngCore) -> f64 {
    let (r, exponent) = (rng.next_u64(), below(rng, 8) as i32 - 6);
    let significand = match format {
        GgmlDType::MXFP4 => 0x80_0000,
        // Three bits behind the point, or halfway between two of those.
        GgmlDType::NVFP4 => (r & 7 | 8) << 20 | u64::from(is_tie) << 19,
        _ if is_tie => (r & 0x7ff | 0x800) << 12 | 0x1000,
        _ => r & 0x7f_ffff | 0x80_0000,
    };
    significand as f64 * super::power_of_two(exponent - 23)
}

/// A block of 32 from its lowest level to its highest one.
fn ties(f: Format, format: GgmlDType, bits: &mut Vec<u64>, rng: &mut impl RngCore) {
    let [lowest, highest] = levels(format);
    let is_tie = below(rng, 2) == 0;
    let step = step(format, is_tie, rng) * if lowest < 0 && below(rng, 2) == 0 { -1.0 } else { 1.0 };
    // Formats without negative levels store where they begin.
    let zero = if lowest == 0 { below(rng, highest as u64 + 1) as i32 } else { 0 };
    let at = |level: f64| f.near((level - f64::from(zero)) * step);
    let start = bits.len();
    for _ in 0..BLOCK {
        let level = match below(rng, 4) {
            0 => zero - below(rng, 2) as i32,
            _ => lowest + below(rng, (highest - lowest) as u64) as i32,
        };
        let tie = at(middle(format, level));
        bits.push(match below(rng, 8) {
            0..3 => tie,
            n => (tie + n - 3).saturating_sub(2),
        });
    }
    let (first, second) = (below(rng, BLOCK as u64) as usize, below(rng, BLOCK as u64) as usize);
    bits[start + second] = at(f64::from(highest));
    bits[start + first] = at(f64::from(lowest));
}

/// A segment in which one element of each sub-block is not zero. Its scale is the largest one, or a
/// power of two below.
fn scale_ties(f: Format, format: GgmlDType, bits: &mut Vec<u64>, rng: &mut impl RngCore) {
    let [lowest, highest] = levels(format);
    let mut scale = step(format, true, rng);
    // The reciprocal of the reciprocal is another number: a detour shows.
    for _ in 0..16 {
        let narrow = scale as f32;
        if 1.0 / (1.0 / narrow) != narrow {
            break;
        }
        scale = step(format, true, rng);
    }
    let most = f64::from(highest.max(-lowest)) * scale * if below(rng, 2) == 0 { -1.0 } else { 1.0 };
    let largest = below(rng, (SEGMENT / SUB_BLOCK) as u64) as usize;
    for sub_block in 0..SEGMENT / SUB_BLOCK {
        let place = below(rng, SUB_BLOCK as u64) as usize;
        let smaller = super::power_of_two(if sub_block == largest { 0 } else { -1 - below(rng, 4) as i32 });
        bits.extend((0..SUB_BLOCK).map(|i| if i == place { f.near(most * smaller) } else { 0 }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::{Dist, Values, format_of};
    use isobit_hal::DType;

    #[test]
    fn levels_are_halfway_and_scales_are_ties_of_f16() {
        let index = GgmlDType::Q8_0.index() as u8;
        let bits = Values::Drawn { dist: Dist::LevelTies { format: index }, seed: 3 }.bits(DType::F32, 16 * SEGMENT);
        let x: Vec<f32> = bits.iter().map(|&b| f32::from_bits(b as u32)).collect();
        let (mut halves, mut before_half, mut ties) = (0, 0, 0);
        for block in x.chunks(BLOCK) {
            let scale = block.iter().fold(0.0f32, |most, v| most.max(v.abs())) / 127.0;
            let levels = block.iter().map(|v| (v * (1.0 / scale)).abs());
            halves += levels.clone().filter(|l| l.fract() == 0.5).count();
            before_half += levels.filter(|l| *l == 0.5f32.next_down()).count();
            let rounded = half::f16::from_f32(scale).to_f32();
            let ulp = format_of(DType::F16).unwrap().ulp_at(scale.into());
            ties += usize::from(f64::from((rounded - scale).abs()) == ulp / 2.0);
        }
        assert!(halves > 200 && before_half > 10 && ties > 20, "{halves} {before_half} {ties}");
    }

    #[test]
    fn every_format_has_its_levels_in_each_block() {
        for (index, &format) in GgmlDType::ALL.iter().enumerate() {
            let values = Values::Drawn { dist: Dist::LevelTies { format: index as u8 }, seed: 1 };
            let bits = values.bits(DType::F32, 8 * SEGMENT);
            let x: Vec<f32> = bits.iter().map(|&b| f32::from_bits(b as u32)).collect();
            assert!(x.iter().all(|v| v.is_finite()), "{format}");
            assert!(x.chunks(SEGMENT).all(|s| s.iter().any(|v| *v != 0.0)), "{format}");
        }
    }
}
