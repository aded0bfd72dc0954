//! q8_0, q8_1 and q8_K: integers of one byte each.

use super::format::{Format, Scale, Summand, half_at, put_half};
use super::rounding::{away, even, inverse, top};
use crate::GgmlDType;

/// 32 integers with one scale, and in q8_1 also their scaled sum.
pub(super) struct Q8<const SUM: bool>;

impl<const SUM: bool> Q8<SUM> {
    const INTEGERS: usize = if SUM { 4 } else { 2 };
}

/// Returns the scaled sum of a q8_1 block.
#[inline(always)]
pub(super) fn scaled_sum(block: &[u8]) -> f32 {
    half_at(block, 2)
}

#[inline(always)]
fn read(bytes: &[u8], out: &mut [i8]) {
    out.copy_from_slice(bytemuck::cast_slice(&bytes[..out.len()]));
}

impl<const SUM: bool> Format for Q8<SUM> {
    const FORMAT: GgmlDType = if SUM { GgmlDType::Q8_1 } else { GgmlDType::Q8_0 };
    const SUB: usize = 32;
    const SUMMAND: Summand = Summand::None;
    const D: usize = 0;

    #[inline(always)]
    fn integers(block: &[u8], out: &mut [i8]) {
        read(&block[Self::INTEGERS..], out);
    }

    #[inline(always)]
    fn quantize(x: &[f32], block: &mut [u8]) {
        let step = top(x).abs() / 127.0;
        let inverse = inverse(step);
        put_half(block, Self::D, step);
        let mut sum = 0;
        for (q, v) in block[Self::INTEGERS..].iter_mut().zip(x) {
            let integer = away(v * inverse, -128, 127);
            *q = integer as u8;
            sum += integer;
        }
        if SUM {
            put_half(block, 2, sum as f32 * step);
        }
    }
}

/// q8_K: 256 integers with one f32 scale, and the sum of every 16 integers.
pub(super) struct Q8K;

const INTEGERS: usize = 4;
const SUMS: usize = 260;

impl Format for Q8K {
    const FORMAT: GgmlDType = GgmlDType::Q8K;
    const SUB: usize = 32;
    const SUMMAND: Summand = Summand::None;
    const D: usize = 0;

    #[inline(always)]
    fn scales(block: &[u8], out: &mut [Scale]) {
        let factor = f32::from_le_bytes([block[0], block[1], block[2], block[3]]);
        out.fill(Scale { factor, summand: 0.0 });
    }

    #[inline(always)]
    fn integers(block: &[u8], out: &mut [i8]) {
        read(&block[INTEGERS..], out);
    }

    #[inline(always)]
    fn quantize(x: &[f32], block: &mut [u8]) {
        let top = top(x);
        if top == 0.0 {
            return block.fill(0);
        }
        let inverse = -127.0 / top;
        block[..INTEGERS].copy_from_slice(&(1.0 / inverse).to_le_bytes());
        let (integers, sums) = block[INTEGERS..].split_at_mut(SUMS - INTEGERS);
        for ((integers, sum), x) in integers.chunks_exact_mut(16).zip(sums.chunks_exact_mut(2)).zip(x.chunks_exact(16))
        {
            let mut total = 0i16;
            for (q, v) in integers.iter_mut().zip(x) {
                let integer = even(inverse * v, -128, 127);
                *q = integer as u8;
                total += integer as i16;
            }
            sum.copy_from_slice(&total.to_le_bytes());
        }
    }
}
