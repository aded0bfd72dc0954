//! The activations of a product, prepared as dense rows: widened to f32, or quantized to q8_1.

use super::super::element::Codec;
use super::super::vector::{Kernel, vectorised};
use super::super::walk::Buffer;
use super::convert::quantize_block;
use super::format::{Format, Scale};
use super::formats::Q8_1;
use super::q8::scaled_sum;
use super::rows::Rows;
use rayon::prelude::*;

/// Elements per block.
pub(super) const BLOCK: usize = 32;

/// A q8_1 block in the form that products use.
#[derive(Clone, Copy)]
pub(super) struct Block {
    pub q: [i8; BLOCK],
    pub d: f32,
    /// The scaled sum.
    pub s: f32,
    /// `d` times the sum of the integers of each half.
    pub halves: [f32; 2],
}

impl Block {
    const ZERO: Self = Self { q: [0; BLOCK], d: 0.0, s: 0.0, halves: [0.0; 2] };
}

/// A loop that quantizes a row.
struct ToQ8_1<'a>(&'a [f32], &'a mut [Block]);

impl Kernel for ToQ8_1<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (x, block) in self.0.chunks_exact(BLOCK).zip(self.1) {
            let mut bytes = [0; Q8_1::FORMAT.block_bytes()];
            let mut scale = [Scale::default()];
            quantize_block::<Q8_1>(x, &mut bytes);
            Q8_1::scales(&bytes, &mut scale);
            Q8_1::integers(&bytes, &mut block.q);
            let [first, second] =
                [&block.q[..16], &block.q[16..]].map(|q| q.iter().map(|&q| i32::from(q)).sum::<i32>());
            block.d = scale[0].factor;
            block.s = scaled_sum(&bytes);
            block.halves = [block.d * first as f32, block.d * second as f32];
        }
    }
}

/// Allocates rows of values and fills them in parallel.
fn filled<V: Copy + Send + Sync>(rows: usize, len: usize, zero: V, fill: &(dyn Fn(usize, &mut [V]) + Sync)) -> Vec<V> {
    let mut values = vec![zero; rows * len];
    if len != 0 {
        values.par_chunks_mut(len).enumerate().for_each(|(row, out)| fill(row, out));
    }
    values
}

/// Returns the rows widened to f32.
pub(super) fn widened(x: &Rows<'_>, codec: Codec) -> Vec<f32> {
    let k = x.len();
    filled(x.count(), k, 0.0, &|row, out| {
        let mut elements = Buffer::default();
        let elements = elements.bytes(k * codec.size);
        x.read(row, 0, elements);
        codec.widen(elements, out);
    })
}

/// Returns the rows quantized to blocks.
pub(super) fn quantized(x: &[f32], k: usize) -> Vec<Block> {
    let blocks = k / BLOCK;
    filled(x.len().checked_div(k).unwrap_or(0), blocks, Block::ZERO, &|row, out| {
        vectorised(ToQ8_1(&x[row * k..][..k], out))
    })
}
