//! Shared parts of the formats with 256 integers and quantized scales.

use super::format::{Format, SEGMENT, SUB_BLOCKS, Scale};
use super::rounding::even;
use super::search::Tries;

/// Calls `f` for every element in order, with the index of its run of 32, its position in the run,
/// and its integer.
#[inline(always)]
pub(super) fn runs<'a>(q: impl Iterator<Item = &'a mut [i8]>, mut f: impl FnMut(usize, usize, &mut i8)) {
    for (run, q) in q.enumerate() {
        q.iter_mut().enumerate().for_each(|(l, q)| f(run, l, q));
    }
}

/// Quantizes scales or minima to integers from 0 to `last`; returns the step.
#[inline(always)]
pub(super) fn levels(values: &[f32], last: u8, out: &mut [u8]) -> f32 {
    let greatest = values.iter().fold(0.0, |g, &v| if v > g { v } else { g });
    let inverse = if greatest > 0.0 { f32::from(last) / greatest } else { 0.0 };
    out.iter_mut().zip(values).for_each(|(o, v)| *o = even(inverse * v, 0, last.into()) as u8);
    greatest / f32::from(last)
}

/// Quantizes the elements again with the scales stored in the block. Sub-blocks whose factor is 0
/// keep their integers.
#[inline(always)]
pub(super) fn refine<F: Format>(x: &[f32], block: &[u8], q: &mut [i8], lo: i32, hi: i32) {
    let mut scales = [Scale::default(); SUB_BLOCKS];
    let scales = &mut scales[..SEGMENT / F::SUB];
    F::scales(block, scales);
    for ((q, x), scale) in q.chunks_exact_mut(F::SUB).zip(x.chunks_exact(F::SUB)).zip(scales) {
        if scale.factor != 0.0 {
            q.iter_mut().zip(x).for_each(|(q, v)| *q = even((v - scale.summand) / scale.factor, lo, hi) as i8);
        }
    }
}

/// Finds a scale and a minimum for every sub-block, and the integers.
#[inline(always)]
pub(super) fn search<const SUB: usize>(
    x: &[f32],
    tries: &Tries,
    weights: impl Fn(&[f32], &mut [f32; SUB]),
    q: &mut [i8],
) -> [[f32; SUB_BLOCKS]; 2] {
    let mut found = [[0.0; SUB_BLOCKS]; 2];
    let mut w = [0.0; SUB];
    for (j, (x, q)) in x.chunks_exact(SUB).zip(q.chunks_exact_mut(SUB)).enumerate() {
        weights(x, &mut w);
        (found[0][j], found[1][j]) = tries.search(x, &w, q);
    }
    found
}
