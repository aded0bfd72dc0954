//! `quantize` and `dequantize`, one block at a time.

use super::super::element::Codec;
use super::super::vector::{Kernel, vectorised};
use super::super::walk::parallel;
use super::format::{Format, SEGMENT, SUB_BLOCKS, Scale, Summand};
use super::rows::{Rows, RowsMut};
use crate::GgmlDType;
use std::marker::PhantomData;

/// Largest block size in bytes.
const BYTES: usize = GgmlDType::Q8K.block_bytes();
/// Number of blocks that a thread takes at a time.
const GROUP: usize = 32;

/// Writes a block, which encodes NaN if an element is not finite.
#[inline(always)]
pub(super) fn quantize_block<F: Format>(x: &[f32], block: &mut [u8]) {
    if x.iter().all(|v| v.is_finite()) {
        return F::quantize(x, block);
    }
    block.fill(0);
    match F::FORMAT {
        GgmlDType::Q8K => block[F::D..][..4].copy_from_slice(&0x7fc0_0000_u32.to_le_bytes()),
        GgmlDType::MXFP4 => block[F::D] = 0xff,
        GgmlDType::NVFP4 => block[F::D..][..4].fill(0x7f),
        _ => block[F::D..][..2].copy_from_slice(&0x7e00_u16.to_le_bytes()),
    }
}

struct Quantize<'a, F>(&'a [f32], &'a mut [u8], PhantomData<F>);

impl<F: Format> Kernel for Quantize<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        quantize_block::<F>(self.0, self.1);
    }
}

struct Unpack<'a, F>(&'a [u8], &'a mut [i8], &'a mut [Scale], PhantomData<F>);

impl<F: Format> Kernel for Unpack<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        F::integers(self.0, self.1);
        F::scales(self.0, self.2);
    }
}

/// A loop that multiplies the integers by their factors and adds the summands.
struct Scaled<'a> {
    q: &'a [i8],
    scales: &'a [Scale],
    /// Elements per sub-block.
    sub: usize,
    has_summands: bool,
    out: &'a mut [f32],
}

impl Kernel for Scaled<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let subs = self.q.chunks_exact(self.sub).zip(self.out.chunks_exact_mut(self.sub));
        for ((q, out), scale) in subs.zip(self.scales) {
            for (&q, o) in q.iter().zip(out) {
                let product = scale.factor * f32::from(q);
                *o = if self.has_summands { product + scale.summand } else { product };
            }
        }
    }
}

/// The compiled functions of a format, which all loops over blocks call.
#[derive(Clone, Copy)]
pub(super) struct Functions {
    pub format: GgmlDType,
    /// Elements per sub-block.
    pub sub: usize,
    pub summand: Summand,
    quantize: fn(&[f32], &mut [u8]),
    /// Reads the integers and the scales of a block.
    pub unpack: fn(&[u8], &mut [i8], &mut [Scale]),
}

impl Functions {
    pub fn of<F: Format>() -> Self {
        Self {
            format: F::FORMAT,
            sub: F::SUB,
            summand: F::SUMMAND,
            quantize: |x, block| vectorised(Quantize::<F>(x, block, PhantomData)),
            unpack: |block, q, scales| vectorised(Unpack::<F>(block, q, scales, PhantomData)),
        }
    }

    /// Reads the elements of a block.
    pub fn dequantize(&self, block: &[u8], out: &mut [f32]) {
        let (mut q, mut scales) = ([0; SEGMENT], [Scale::default(); SUB_BLOCKS]);
        let (q, scales) = (&mut q[..out.len()], &mut scales[..out.len() / self.sub]);
        (self.unpack)(block, q, scales);
        vectorised(Scaled { q, scales, sub: self.sub, has_summands: self.summand != Summand::None, out });
    }

    /// Calls `body` with the row of every block and the block's index in it, in parallel.
    fn blocks(&self, rows: usize, elements: usize, body: &(dyn Fn(usize, usize) + Sync)) {
        let blocks = elements / self.format.block_size();
        parallel(rows * blocks, GROUP, &|range| range.for_each(|i| body(i / blocks, i % blocks)));
    }

    pub fn write(&self, src: &Rows<'_>, codec: Codec, dst: &RowsMut<'_>) {
        let (size, bytes) = (self.format.block_size(), self.format.block_bytes());
        self.blocks(src.count(), src.len(), &|row, block| {
            let (mut elements, mut values, mut written) = ([0u64; SEGMENT / 2], [0.0; SEGMENT], [0; BYTES]);
            let elements = &mut bytemuck::cast_slice_mut(&mut elements)[..size * codec.size];
            let (values, written) = (&mut values[..size], &mut written[..bytes]);
            src.read(row, block * size, elements);
            codec.widen(elements, values);
            (self.quantize)(values, written);
            // SAFETY: no other task has this block.
            unsafe { dst.write(row, block * bytes, written) };
        });
    }

    pub fn read(&self, src: &Rows<'_>, codec: Codec, dst: &RowsMut<'_>) {
        let (size, bytes) = (self.format.block_size(), self.format.block_bytes());
        self.blocks(dst.count(), dst.len(), &|row, block| {
            let (mut read, mut values, mut rounded) = ([0; BYTES], [0.0; SEGMENT], [0u64; SEGMENT / 2]);
            let (read, values) = (&mut read[..bytes], &mut values[..size]);
            let rounded = &mut bytemuck::cast_slice_mut(&mut rounded)[..size * codec.size];
            src.read(row, block * bytes, read);
            self.dequantize(read, values);
            codec.round(values, rounded);
            // SAFETY: no other task has this block.
            unsafe { dst.write(row, block * size, rounded) };
        });
    }
}
