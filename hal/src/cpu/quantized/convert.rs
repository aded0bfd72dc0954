//! `quantize` and `dequantize`: a block at a time.

use super::super::element::Element;
use super::super::vector::{Kernel, vectorised};
use super::super::walk::parallel;
use super::format::{Format, SEGMENT, SUB_BLOCKS, Scale, Summand};
use super::rows::{Rows, RowsMut};
use crate::GgmlDType;

/// The most bytes of a block.
const BYTES: usize = GgmlDType::Q8K.block_bytes();
/// Blocks that a thread takes at a time.
const GROUP: usize = 32;

/// Writes a block: its numbers, or NaN where an element is not finite.
#[inline(always)]
pub(super) fn quantize_block<F: Format>(x: &[f32], block: &mut [u8]) {
    if x.iter().all(|v| v.is_finite()) {
        return F::quantize(x, block);
    }
    block.fill(0);
    match F::FORMAT {
        GgmlDType::Q8K => block[F::D..][..4].copy_from_slice(&0x7fc0_0000_u32.to_le_bytes()),
        _ => block[F::D..][..2].copy_from_slice(&0x7e00_u16.to_le_bytes()),
    }
}

/// Reads a block: the integers times their factors, and the summands added.
#[inline(always)]
pub(super) fn dequantize_block<F: Format>(block: &[u8], out: &mut [f32]) {
    let (mut q, mut scales) = ([0; SEGMENT], [Scale::default(); SUB_BLOCKS]);
    let (q, scales) = (&mut q[..out.len()], &mut scales[..out.len() / F::SUB]);
    F::integers(block, q);
    F::scales(block, scales);
    for ((q, out), scale) in q.chunks_exact(F::SUB).zip(out.chunks_exact_mut(F::SUB)).zip(scales) {
        for (&q, o) in q.iter().zip(out) {
            let product = scale.factor * f32::from(q);
            *o = if F::SUMMAND == Summand::None { product } else { product + scale.summand };
        }
    }
}

struct Quantize<'a, F>(&'a [f32], &'a mut [u8], std::marker::PhantomData<F>);

impl<F: Format> Kernel for Quantize<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        quantize_block::<F>(self.0, self.1);
    }
}

struct Dequantize<'a, F>(&'a [u8], &'a mut [f32], std::marker::PhantomData<F>);

impl<F: Format> Kernel for Dequantize<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        dequantize_block::<F>(self.0, self.1);
    }
}

/// What a format's functions are once compiled: a dtype's loop calls them.
pub(super) struct Functions {
    format: GgmlDType,
    quantize: fn(&[f32], &mut [u8]),
    dequantize: fn(&[u8], &mut [f32]),
}

impl Functions {
    pub fn of<F: Format>() -> Self {
        Self {
            format: F::FORMAT,
            quantize: |x, block| vectorised(Quantize::<F>(x, block, std::marker::PhantomData)),
            dequantize: |block, out| vectorised(Dequantize::<F>(block, out, std::marker::PhantomData)),
        }
    }

    /// Calls `body` with the row and the place in it of every block, in parallel.
    fn blocks(&self, rows: usize, elements: usize, body: &(dyn Fn(usize, usize) + Sync)) {
        let blocks = elements / self.format.block_size();
        parallel(rows * blocks, GROUP, &|range| range.for_each(|i| body(i / blocks, i % blocks)));
    }

    pub fn quantize<T: Element<Compute = f32>>(&self, src: &Rows<'_, T>, dst: &RowsMut<'_, u8>) {
        let (size, bytes) = (self.format.block_size(), self.format.block_bytes());
        self.blocks(src.count(), src.len(), &|row, block| {
            let (mut elements, mut values, mut written) = ([T::default(); SEGMENT], [0.0; SEGMENT], [0; BYTES]);
            let (elements, written) = (&mut elements[..size], &mut written[..bytes]);
            src.read(row, block * size, elements);
            (self.quantize)(T::load(elements, &mut values), written);
            // SAFETY: no other task has this block.
            unsafe { dst.write(row, block * bytes, written) };
        });
    }

    pub fn dequantize<T: Element<Compute = f32>>(&self, src: &Rows<'_, u8>, dst: &RowsMut<'_, T>) {
        let (size, bytes) = (self.format.block_size(), self.format.block_bytes());
        self.blocks(dst.count(), dst.len(), &|row, block| {
            let (mut read, mut values, mut rounded) = ([0; BYTES], [0.0; SEGMENT], [T::default(); SEGMENT]);
            let (read, rounded) = (&mut read[..bytes], &mut rounded[..size]);
            src.read(row, block * bytes, read);
            T::store(rounded, &mut values, |out| (self.dequantize)(read, out));
            // SAFETY: no other task has this block.
            unsafe { dst.write(row, block * size, rounded) };
        });
    }
}
