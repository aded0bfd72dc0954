//! Bytes of quantized blocks whose scales have a moderate size. With random bytes, one scale in 32
//! would be infinite or NaN, and no sum would be a number.

use super::values::below;
use isobit_hal::GgmlDType;
use rand_xoshiro::rand_core::RngCore;

/// Returns the positions of the upper bytes of a format's scales, which contain sign and exponent.
fn scale_bytes(format: GgmlDType) -> &'static [usize] {
    match format {
        GgmlDType::Q2K => &[81, 83],
        GgmlDType::Q3K => &[109],
        GgmlDType::Q6K => &[209],
        GgmlDType::Q8K => &[3],
        GgmlDType::Q4_1 | GgmlDType::Q5_1 | GgmlDType::Q8_1 | GgmlDType::Q4K | GgmlDType::Q5K => &[1, 3],
        _ => &[1],
    }
}

/// Returns one byte of a sequence of blocks.
pub(super) fn block_byte(format: u8, i: usize, rng: &mut impl RngCore) -> u64 {
    let r = rng.next_u64();
    let format = GgmlDType::ALL[usize::from(format) % GgmlDType::ALL.len()];
    let place = i % format.block_bytes();
    if format == GgmlDType::Q8K && place == 2 {
        // Sets the last bit of an f32's exponent: together with the largest byte above it, the
        // value is never a finite number.
        return r | 0x80;
    }
    if !scale_bytes(format).contains(&place) {
        return r;
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
}
