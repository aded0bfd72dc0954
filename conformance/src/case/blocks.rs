//! Bytes of quantized blocks whose scales have a moderate size. With random bytes, one scale in 32
//! would be infinite or NaN, and no sum would be a number.

use super::values::{below, format_at};
use isobit_hal::GgmlDType;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};

/// Returns the positions of the upper bytes of a format's scales, which contain sign and exponent.
fn scale_bytes(format: GgmlDType) -> &'static [usize] {
    match format {
        GgmlDType::Q2K => &[81, 83],
        GgmlDType::Q3K => &[109],
        GgmlDType::Q6K => &[209],
        GgmlDType::TQ1_0 => &[53],
        GgmlDType::TQ2_0 => &[65],
        GgmlDType::Q8K => &[3],
        GgmlDType::MXFP4 => &[0],
        GgmlDType::IQ1M => &[53, 55],
        GgmlDType::NVFP4 => &[0, 1, 2, 3],
        GgmlDType::Q4_1 | GgmlDType::Q5_1 | GgmlDType::Q8_1 | GgmlDType::Q4K | GgmlDType::Q5K => &[1, 3],
        _ => &[1],
    }
}

/// Returns one byte of a sequence of blocks.
pub(super) fn block_byte(format: u8, i: usize, rng: &mut impl RngCore) -> u64 {
    let r = rng.next_u64();
    let format = format_at(format);
    let place = i % format.block_bytes();
    if format == GgmlDType::Q8K && place == 2 {
        // Sets the last bit of an f32's exponent: together with the largest byte above it, the
        // value is never a finite number.
        return r | 0x80;
    }
    if !scale_bytes(format).contains(&place) {
        return r;
    }
    if format == GgmlDType::MXFP4 {
        return match r >> 8 & 1023 {
            // 2^-128 or 2^-127, and a NaN.
            n @ 0..4 => n & 1,
            4 => 0xff,
            _ => 117 + below(rng, 8),
        };
    }
    if format == GgmlDType::NVFP4 {
        return match r >> 8 & 1023 {
            // Zero, subnormals and a NaN.
            n @ 0..4 => r & 0x80 | n,
            4 => 0x7f,
            _ => r & 0x87 | (3 + below(rng, 8)) << 3,
        };
    }
    if format == GgmlDType::IQ1M {
        // The upper nibbles are sign and three exponent bits, and two more with two of the
        // significand.
        return match (place, r >> 8 & 1023) {
            _ if chosen_of(i / format.block_bytes(), 55) == 0 => r | 0x70 | if place == 53 { 0x80 } else { 0 },
            (53, _) => r,
            (_, 0..8) => r & 0x8f,
            (_, n) => r & 0x8f | (1 + n % 2) << 4,
        };
    }
    let sign = r & 0x80;
    let exponent = match (format, r >> 8 & 1023) {
        // Subnormals, and an infinity or a NaN, rare enough that most sums are finite numbers.
        (_, 0..8) => 0,
        (_, 8) => 0x7f,
        (GgmlDType::Q8K, _) => 0x3a + below(rng, 4),
        // Five exponent bits and two significand bits: 2^-11 to 2^-3.
        _ => (4 + below(rng, 8)) << 2 | r >> 16 & 3,
    };
    sign | exponent
}

/// Returns eight bits that choose a scale of a block.
fn chosen_of(block: usize, top: usize) -> u64 {
    Xoshiro256PlusPlus::seed_from_u64((block * 256 + top) as u64).next_u64() >> 56
}

/// A byte of iq1_m, whose scale is in the upper nibbles of the last four odd bytes.
fn edge_of_nibbles(block: usize, place: usize, ordinary: u64) -> u64 {
    let chosen = chosen_of(block, 55);
    let scale = match chosen & 7 {
        0 | 1 => 0x7c00,
        2 | 3 => 0,
        4 => 0x7bff,
        5 => 1,
        _ => return ordinary,
    };
    if place < 48 || place.is_multiple_of(2) {
        return ordinary;
    }
    let signed = scale | (chosen & 8) << 12;
    ordinary & 0x0f | (signed >> ((place - 49) / 2 * 4) & 15) << 4
}

/// Returns one byte of a sequence of blocks whose scales are at the edges: each scale of a block is
/// infinite, zero, the largest or the smallest number of either sign in 6 of 8 blocks.
pub(super) fn edge_block_byte(index: u8, i: usize, rng: &mut impl RngCore) -> u64 {
    let ordinary = block_byte(index, i, rng);
    let format = format_at(index);
    let (block, place) = (i / format.block_bytes(), i % format.block_bytes());
    if format == GgmlDType::IQ1M {
        return edge_of_nibbles(block, place, ordinary);
    }
    let size = match format {
        GgmlDType::MXFP4 | GgmlDType::NVFP4 => 1,
        GgmlDType::Q8K => 4,
        _ => 2,
    };
    let scales = scale_bytes(format);
    let Some(&top) = scales.iter().find(|&&top| (top + 1 - size..=top).contains(&place)) else { return ordinary };
    let chosen = chosen_of(block, top);
    let scale: u32 = match (chosen & 7, size) {
        (0 | 1, 4) => 0x7f80_0000,
        (0 | 1, 1) if format == GgmlDType::NVFP4 => 0x7f,
        (4, 1) if format == GgmlDType::NVFP4 => 0x7e,
        (0 | 1, 1) => 0xff,
        (0 | 1, _) => 0x7c00,
        (2 | 3, _) => 0,
        (4, 1) => 0xfe,
        (4, 4) => 0x7f7f_ffff,
        (4, _) => 0x7bff,
        (5, _) => 1,
        _ => return ordinary,
    };
    // Numbers of one byte have no sign.
    let signed = scale | u32::from(chosen & 8 != 0 && size > 1) << (8 * size - 1);
    u64::from(signed >> (8 * (place + size - 1 - top)) & 0xff)
}

#[cfg(test)]
mod tests {
    use crate::case::{Dist, Values};
    use isobit_hal::{BackendStorage, CpuStorage, DType, GgmlDType, Layout};

    #[test]
    fn most_blocks_are_numbers_and_some_are_not() {
        for (i, &format) in GgmlDType::ALL.iter().enumerate() {
            let n = 4096 * format.block_bytes();
            let bits = Values::Drawn { dist: Dist::Blocks { format: i as u8 }, seed: 5 }.bits(DType::U8, n);
            let bytes: Vec<u8> = bits.into_iter().map(|b| b as u8).collect();
            let elements = CpuStorage::from(bytes).dequantize(&Layout::contiguous(n), format, DType::F32).unwrap();
            let elements = elements.to_vec::<f32>().unwrap();
            let numbers: Vec<f32> = elements.iter().copied().filter(|v| v.is_finite()).collect();
            assert!(numbers.len() < elements.len() && numbers.len() > elements.len() * 98 / 100, "{format}");
            assert!(numbers.iter().all(|v| v.abs() < 2e3), "{format}");
            assert!(numbers.iter().filter(|v| v.abs() > 1e-3).count() > numbers.len() / 2, "{format}");
        }
    }

    #[test]
    fn edge_blocks_have_infinite_and_ordinary_scales() {
        for (i, &format) in GgmlDType::ALL.iter().enumerate() {
            let n = 256 * format.block_bytes();
            let bits = Values::Drawn { dist: Dist::EdgeBlocks { format: i as u8 }, seed: 5 }.bits(DType::U8, n);
            let bytes: Vec<u8> = bits.into_iter().map(|b| b as u8).collect();
            let elements = CpuStorage::from(bytes).dequantize(&Layout::contiguous(n), format, DType::F32).unwrap();
            let elements = elements.to_vec::<f32>().unwrap();
            let share = |test: fn(&f32) -> bool| 100 * elements.iter().filter(|&v| test(v)).count() / elements.len();
            let (infinite, zero) = (share(|v| v.is_infinite()), share(|v| *v == 0.0));
            let ordinary = share(|v| v.is_normal() && v.abs() < 1e3);
            // Scales of nvfp4 are NaN or finite.
            let infinite = if format == GgmlDType::NVFP4 { share(|v| v.is_nan()) } else { infinite };
            assert!(infinite > 3 && zero > 3 && ordinary > 3, "{format}: {infinite} {zero} {ordinary}");
        }
    }
}
