//! Compares quantized matrices with a literal implementation of `docs/numerics/quantized.md`,
//! element by element.

mod blocks;
mod products;
mod vectors;

use super::*;
use half::f16;
use isobit_hal::GgmlDType::{self, *};
use isobit_hal::grids;

/// The bytes of a block, addressed as on the page.
struct Block<'a>(&'a [u8]);

impl Block<'_> {
    fn byte(&self, at: usize) -> i32 {
        self.0[at].into()
    }

    fn nibble(&self, at: usize, high: usize) -> i32 {
        self.byte(at) >> (4 * high) & 15
    }

    fn bit(&self, at: usize, n: usize) -> i32 {
        self.byte(at + n / 8) >> (n % 8) & 1
    }

    /// A number of the bits from `first` on of the field at `at`.
    fn bits(&self, at: usize, first: usize, count: usize) -> i32 {
        (0..count).map(|n| self.bit(at, first + n) << n).sum()
    }

    fn half(&self, at: usize) -> f64 {
        f16::from_le_bytes([self.0[at], self.0[at + 1]]).to_f64()
    }
}

/// Returns the integer of an element (section 1, first table).
fn integer(format: GgmlDType, block: &[u8], i: usize) -> i32 {
    let b = Block(block);
    let (p, l) = (i / 16, i % 16);
    let (h, quarter, g, half, m) = (i / 128, i / 32 % 4, i / 64, i / 32 % 2, i % 32);
    let pair = |at: usize| b.byte(at + 32 * h + m) >> (2 * quarter) & 3;
    match format {
        Q4_0 => b.nibble(2 + l, p) - 8,
        Q4_1 => b.nibble(4 + l, p),
        Q5_0 => b.nibble(6 + l, p) + 16 * b.bit(2, i) - 16,
        Q5_1 => b.nibble(8 + l, p) + 16 * b.bit(4, i),
        Q8_0 => (b.0[2 + i] as i8).into(),
        Q8_1 | Q8K => (b.0[4 + i] as i8).into(),
        Q2K => pair(16),
        Q3K => pair(32) + 4 * (b.byte(m) >> (4 * h + quarter) & 1) - 4,
        Q4K => b.nibble(16 + 32 * g + m, half),
        Q5K => b.nibble(48 + 32 * g + m, half) + 16 * (b.byte(16 + m) >> (2 * g + half) & 1),
        Q6K => b.nibble(64 * h + 32 * (quarter % 2) + m, quarter / 2) + 16 * pair(128) - 32,
        IQ4NL => IQ4[b.nibble(2 + l, p) as usize],
        IQ4XS => IQ4[b.nibble(8 + 16 * (i / 32) + l, p % 2) as usize],
        TQ1_0 => {
            let (byte, digit) = match i {
                0..160 => (m, i / 32),
                160..240 => (32 + l, (i - 160) / 16),
                _ => (48 + i % 4, (i - 240) / 4),
            };
            (b.byte(byte) * 3i32.pow(digit as u32) % 256 * 3 / 256) - 1
        }
        TQ2_0 => pair(0) - 1,
        MXFP4 => FP4[b.nibble(1 + l, p) as usize],
        NVFP4 => FP4[b.nibble(4 + 8 * (i / 16) + i % 8, i / 8 % 2) as usize],
        IQ2XXS | IQ2XS | IQ2S | IQ3XXS | IQ3S | IQ1S | IQ1M => of_code_book(format, &b, i),
        other => panic!("no expected value for {other}"),
    }
}

/// Returns the integer of an element of a format with a code book.
fn of_code_book(format: GgmlDType, b: &Block, i: usize) -> i32 {
    let (e, f, g, n, l) = (i / 8, i / 4, i / 32, i / 8 % 4, i % 8);
    let digit = |grid: &[u16], number: i32, bits: usize, place: usize| {
        usize::from(grid[number as usize] >> (bits * place)) & ((1 << bits) - 1)
    };
    let signed = |negative: i32, level: i32| if negative == 1 { -level } else { level };
    // The eighth of seven signs makes their number even.
    let of_seven = |at: usize, first: usize| match l {
        7 => b.bits(at, first, 7).count_ones() as i32 % 2,
        _ => b.bit(at, first + l),
    };
    match format {
        IQ2XXS => {
            let level = [8, 25, 43][digit(&grids::IQ2_XXS, b.byte(2 + 8 * g + n), 2, l)];
            signed(of_seven(6 + 8 * g, 7 * n), level)
        }
        IQ2XS => {
            let level = [8, 25, 43][digit(&grids::IQ2_XS, b.bits(2 + 2 * e, 0, 9), 2, l)];
            signed(of_seven(2 + 2 * e, 9), level)
        }
        IQ2S => {
            let number = b.byte(2 + e) + 256 * b.bits(66 + g, 2 * n, 2);
            signed(b.bit(34 + e, l), [8, 25, 43][digit(&grids::IQ2_S, number, 2, l)])
        }
        IQ3XXS => {
            let digit = digit(&grids::IQ3_XXS, b.byte(2 + f), 3, i % 4);
            signed(of_seven(66 + 4 * g, 7 * n), [4, 12, 20, 28, 36, 44, 52, 62][digit])
        }
        IQ3S => {
            let number = b.byte(2 + f) + 256 * b.bit(66, f);
            signed(b.bit(74, i), 2 * digit(&grids::IQ3_S, number, 3, i % 4) as i32 + 1)
        }
        IQ1S => {
            let number = b.byte(2 + e) + 256 * b.bits(34 + 2 * g, 3 * n, 3);
            8 * (digit(&grids::IQ1, number, 2, l) as i32 - 1) + signed(b.bit(34 + 2 * g, 15), 1)
        }
        _ => {
            let number = b.byte(e) + 256 * b.bits(32, 4 * e, 3);
            8 * (digit(&grids::IQ1, number, 2, l) as i32 - 1) + signed(b.bit(32, 4 * e + 3), 1)
        }
    }
}

/// The levels of iq4_nl and iq4_xs.
const IQ4: [i32; 16] = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113];

/// The levels of mxfp4 and nvfp4.
const FP4: [i32; 16] = [0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12];

/// Returns the number of elements per sub-block.
fn sub_block(format: GgmlDType) -> usize {
    if matches!(format, Q2K | Q3K | Q6K | IQ2XS | IQ2S | IQ1M | NVFP4) { 16 } else { 32 }
}

/// Whether the format has summands.
fn has_summand(format: GgmlDType) -> bool {
    matches!(format, Q4_1 | Q5_1 | Q2K | Q4K | Q5K)
}

/// Returns `dl` and `ml` of an element (section 1, second table, and section 2). They are exact in
/// f64, and also in f32.
fn scale(format: GgmlDType, block: &[u8], i: usize) -> (f64, f64) {
    let b = Block(block);
    let j = i / sub_block(format);
    let odd = |number: i32| f64::from(2 * number + 1);
    match format {
        Q4_0 | Q5_0 | Q8_0 | Q8_1 | IQ4NL => (b.half(0), 0.0),
        TQ1_0 => (b.half(52), 0.0),
        TQ2_0 => (b.half(64), 0.0),
        IQ4XS => {
            let high = b.bit(2, 2 * j) + 2 * b.bit(2, 2 * j + 1);
            (b.half(0) * f64::from(b.nibble(4 + j / 2, j % 2) + 16 * high - 32), 0.0)
        }
        IQ2XXS => (b.half(0) * odd(b.bits(6 + 8 * j, 28, 4)) / 8.0, 0.0),
        IQ2XS => (b.half(0) * odd(b.bits(66, 4 * j, 4)) / 8.0, 0.0),
        IQ2S => (b.half(0) * odd(b.bits(74, 4 * j, 4)) / 8.0, 0.0),
        IQ3XXS => (b.half(0) * odd(b.bits(66 + 4 * j, 28, 4)) / 4.0, 0.0),
        IQ3S => (b.half(0) * odd(b.bits(106, 4 * j, 4)), 0.0),
        IQ1S => (b.half(0) * odd(b.bits(34 + 2 * j, 12, 3)) / 8.0, 0.0),
        IQ1M => {
            let bits: i32 = (0..4).map(|n| b.bits(48 + 2 * n, 12, 4) << (4 * n)).sum();
            let d = f16::from_bits(bits as u16).to_f64();
            (d * odd(b.bits(48 + j / 4 * 2, 3 * (j % 4), 3)) / 8.0, 0.0)
        }
        NVFP4 => {
            let d = match (b.byte(j) >> 3 & 15, b.byte(j) & 7) {
                (15, 7) => f64::NAN,
                (0, m) => f64::from(m) / 512.0,
                (e, m) => (1.0 + f64::from(m) / 8.0) * 2f64.powi(e - 7),
            };
            (d / 2.0, 0.0)
        }
        MXFP4 if b.byte(0) == 255 => (f64::NAN, 0.0),
        MXFP4 => (2f64.powi(b.byte(0) - 128), 0.0),
        Q4_1 | Q5_1 => (b.half(0), b.half(2)),
        Q8K => (f32::from_le_bytes(block[..4].try_into().unwrap()).into(), 0.0),
        Q2K => (b.half(80) * f64::from(b.nibble(j, 0)), -(b.half(82) * f64::from(b.nibble(j, 1)))),
        Q3K => {
            let high = b.byte(96 + 8 + j % 4) >> (2 * (j / 4)) & 3;
            (b.half(108) * f64::from(b.nibble(96 + j % 8, j / 8) + 16 * high - 32), 0.0)
        }
        Q4K | Q5K => {
            let (sc, m) = match j < 4 {
                true => (b.byte(4 + j) % 64, b.byte(4 + j + 4) % 64),
                false => (
                    b.nibble(4 + j + 4, 0) + 16 * (b.byte(4 + j - 4) / 64),
                    b.nibble(4 + j + 4, 1) + 16 * (b.byte(4 + j) / 64),
                ),
            };
            (b.half(0) * f64::from(sc), -(b.half(2) * f64::from(m)))
        }
        Q6K => (b.half(208) * f64::from(b.0[192 + j] as i8), 0.0),
        other => panic!("no expected value for {other}"),
    }
}

/// Returns an element in f32. In f64 the products and the sums are exact: all are multiples of
/// 2^-24 below 2^28.
fn element(format: GgmlDType, block: &[u8], i: usize) -> f32 {
    let ((dl, ml), q) = (scale(format, block, i), f64::from(integer(format, block, i)));
    if has_summand(format) { (dl * q + ml) as f32 } else { (dl * q) as f32 }
}

/// Returns every element of contiguous blocks.
fn elements(format: GgmlDType, bytes: &[u8]) -> Vec<f32> {
    let blocks = bytes.chunks_exact(format.block_bytes());
    blocks.flat_map(|b| (0..format.block_size()).map(|i| element(format, b, i))).collect()
}

/// Returns the formats that have a quantizer.
fn made() -> impl Iterator<Item = GgmlDType> {
    GgmlDType::ALL.iter().copied().filter(|format| format.has_quantizer())
}

/// Returns blocks of random integers with scales of moderate size.
fn blocks(rng: &mut Rng, format: GgmlDType, n: usize) -> Vec<u8> {
    let mut bytes: Vec<u8> = rng.bits(n * format.block_bytes());
    for block in bytes.chunks_exact_mut(format.block_bytes()) {
        let mut half = |at: usize| {
            let v = f16::from_f32(rng.floats(1)[0] / 16.0);
            block[at..at + 2].copy_from_slice(&v.to_le_bytes());
        };
        match format {
            Q4_0 | Q5_0 | Q8_0 | IQ4NL | IQ4XS | IQ2XXS | IQ2XS | IQ2S | IQ3XXS | IQ3S | IQ1S => half(0),
            // Four nibbles; the two upper ones have the exponent.
            IQ1M => block[55] = 0x20 | block[55] & 0x8f,
            TQ1_0 => half(52),
            TQ2_0 => half(64),
            Q4_1 | Q5_1 | Q8_1 | Q4K | Q5K => [0, 2].map(half).into_iter().collect(),
            Q2K => [80, 82].map(half).into_iter().collect(),
            Q3K => half(108),
            Q6K => half(208),
            NVFP4 => block[..4].iter_mut().for_each(|d| *d = 16 + rng.below(64) as u8),
            MXFP4 => block[0] = 120 + rng.below(8) as u8,
            Q8K => block[..4].copy_from_slice(&(rng.floats(1)[0] / 16.0).to_le_bytes()),
            other => panic!("no expected value for {other}"),
        }
    }
    bytes
}
