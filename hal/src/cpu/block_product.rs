//! Block products, as `docs/numerics.md` section 9 defines them: the quantization of a line's
//! segments, and the value of an exact sum. Sums of products of the integers are exact in f64 in
//! any order, so the loops of `blocked` compute them.
//!
//! Integers in the loops wrap, although none does: a check for overflow would keep the compiler
//! from vectorising a loop where such checks are on.

use super::blocked::{Line, MC, MR, Method, NC, Panels, Scratch, Segment, Tiled};
use super::element::Element;
use super::vector::{Kernel, vectorised};
use std::ops::Range;

/// Elements of k per segment.
pub(super) const SEGMENT: usize = 128;
/// The most input channels of a convolution with which a segment has several taps.
const FEW_CHANNELS: usize = 32;

/// How k is cut into segments: into rows, and each row into segments, of which the last is filled
/// with zeros. A matrix product is one row.
#[derive(Debug, Clone, Copy)]
pub(super) struct Segments {
    /// Elements in all and per row.
    elements: usize,
    row: usize,
}

impl Segments {
    pub fn of_product(k: usize) -> Self {
        Self { elements: k, row: k.max(1) }
    }

    /// Returns those of a convolution, whose k runs over the channels of one tap after the other: a
    /// row has the channels of one tap or, if they are few, of as many taps as fit a segment.
    pub fn of_taps(taps: usize, channels: usize) -> Self {
        let together = if channels > FEW_CHANNELS { 1 } else { SEGMENT / channels.max(1) };
        Self { elements: taps * channels, row: (channels * together).max(1) }
    }

    /// Returns the elements with those that fill the rows.
    pub fn filled(self) -> usize {
        self.elements.div_ceil(self.row) * self.row.next_multiple_of(SEGMENT)
    }

    /// Returns the number of an element among those that do not fill; `None` if it does.
    pub fn element(self, at: usize) -> Option<usize> {
        let (row, at) = (at / self.row.next_multiple_of(SEGMENT), at % self.row.next_multiple_of(SEGMENT));
        Some(row * self.row + at).filter(|&element| at < self.row && element < self.elements)
    }

    /// Returns each segment without what fills it.
    fn ranges(self) -> impl Iterator<Item = Range<usize>> {
        let used = move |start: usize| {
            let end = start + SEGMENT;
            start..(start..end).rfind(|&at| self.element(at).is_some()).map_or(start, |last| last + 1)
        };
        (0..self.filled()).step_by(SEGMENT).map(used)
    }
}

/// The levels of both operands that each pass multiplies.
const PASSES: [[usize; 2]; 3] = [[0, 0], [1, 0], [0, 1]];

/// Returns 2^n, for n from -126 to 127.
#[inline(always)]
pub(super) fn power(n: i32) -> f32 {
    f32::from_bits((n.wrapping_add(127) as u32) << 23)
}

/// Returns the step of the integers of a line whose largest element, which is not 0, has these bits
/// without the sign.
#[inline(always)]
pub(super) fn step_of(largest: u32, bits: u32) -> i32 {
    // Balanced digits hold integers up to 0x7f7f and 0x7f7f7f.
    let (limit, top) = ((0x7f_7f7f >> (24 - bits)) as f32, bits as i32 - 2);
    // Every f32 is normal as an f64.
    let bits_of_largest = f64::from(f32::from_bits(largest)).to_bits();
    let exponent = (bits_of_largest >> 52) as i32 - 1023;
    let significand = f64::from_bits(bits_of_largest & ((1 << 52) - 1) | 1023 << 52) as f32;
    let over = (significand * power(top)).round_ties_even() > limit;
    exponent - top + i32::from(over)
}

/// Returns the value of an exact sum of products of integers.
#[inline(always)]
pub(super) fn value_of(sum: f64) -> f32 {
    const HIGH: f64 = (1 << 24) as f64;
    let high = (sum * (1.0 / HIGH) + 0.5).floor();
    (high as f32).mul_add(HIGH as f32, (sum - high * HIGH) as f32)
}

/// A segment of a line as integers in steps of `2^step`.
#[derive(Clone, Copy)]
struct Quantized {
    step: i32,
    /// Whether the elements are so unlike in size that the rests count.
    wide: bool,
    /// Whether an element is infinite or a NaN; the integers are 0.
    special: bool,
}

/// Quantizes values, which become the rests, in steps of the integers.
struct Quantize<'a> {
    bits: u32,
    values: &'a mut [f32],
    integers: &'a mut [f64],
}

impl Kernel for Quantize<'_> {
    type Output = Quantized;

    #[inline(always)]
    fn run(self) -> Quantized {
        let Self { bits, values, integers } = self;
        let largest = values.iter().fold(0, |largest, v| largest.max(v.to_bits() & 0x7fff_ffff));
        let special = largest >= f32::INFINITY.to_bits();
        if largest == 0 || special {
            integers.fill(0.0);
            values.fill(0.0);
            return Quantized { step: 0, wide: false, special };
        }
        let step = step_of(largest, bits);
        // 2^-step may be too large for an f32.
        let (first, second) = (power((-step).min(127)), power((-step - 127).max(0)));
        // Integers, because the compiler keeps the order of sums of floats, one after the other.
        let (mut sum, mut count) = (0u32, 0u32);
        for (value, integer) in values.iter_mut().zip(integers) {
            let scaled = *value * first * second;
            let nearest = scaled.round_ties_even();
            // The low bits of a number from 2^23 to 2^24 are its distance from 2^23.
            sum = sum.wrapping_add((nearest.abs() + power(23)).to_bits() & 0x7f_ffff);
            count = count.wrapping_add(u32::from(*value != 0.0));
            *value = scaled - nearest;
            *integer = f64::from(nearest);
        }
        // The mean size of the nonzero elements is below 1/16 or 1/32 of the largest integers.
        let small = if bits == 16 { 1 << 11 } else { 1 << 18 };
        Quantized { step, wide: sum < count * small, special }
    }
}

/// Adds the values of a segment's exact sums to a row of results.
struct Accumulate<'a> {
    sums: &'a [f64],
    results: &'a mut [f32],
    step: i32,
    steps: &'a [i32],
}

impl Kernel for Accumulate<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for ((sum, result), step) in self.sums.iter().zip(self.results).zip(self.steps) {
            let value = value_of(*sum);
            let exponent = self.step.wrapping_add(*step).clamp(-252, 252);
            let near = exponent.clamp(-126, 126);
            *result = (value * power(exponent.wrapping_sub(near))).mul_add(power(near), *result);
        }
    }
}

/// The lines of one operand in a block, one segment at a time.
struct Side {
    width: usize,
    values: Vec<f32>,
    line: Vec<f64>,
    panels: Vec<f64>,
    steps: Vec<i32>,
    /// The lines with an infinity or a NaN.
    special: Vec<bool>,
    /// The segments of the block in which a line is wide.
    wide: Vec<bool>,
}

impl Side {
    fn new(width: usize, lines: usize, segments: Segments) -> Self {
        Self {
            width,
            values: vec![0.0; lines * SEGMENT],
            line: vec![0.0; SEGMENT],
            panels: vec![0.0; lines.next_multiple_of(width) * SEGMENT],
            steps: vec![0; lines],
            special: vec![false; lines],
            wide: vec![false; segments.filled() / SEGMENT],
        }
    }

    /// Quantizes a segment of `depth` elements of every line, which `pack` reads.
    fn quantize(
        &mut self,
        (segment, level): (usize, usize),
        (lines, depth): (usize, usize),
        bits: u32,
        pack: impl FnOnce(Panels<'_, f32>),
    ) {
        pack(Panels::new(&mut self.values, 1, lines, depth));
        let mut panels = Panels::new(&mut self.panels, self.width, lines, depth);
        let integers = &mut self.line[..depth];
        for (at, values) in self.values.chunks_exact_mut(depth).take(lines).enumerate() {
            let first = vectorised(Quantize { bits, values, integers });
            self.special[at] |= first.special;
            self.wide[segment] |= first.wide;
            self.steps[at] = first.step;
            if level == 1 {
                if !first.wide {
                    values.fill(0.0);
                }
                self.steps[at] += vectorised(Quantize { bits, values, integers }).step;
            }
            panels.set_line(at, integers);
        }
    }
}

/// Block products of integers of so many bits, over such segments.
#[derive(Debug, Clone, Copy)]
pub(super) struct Blocks {
    pub bits: u32,
    pub segments: Segments,
}

impl<T: Element<Compute = f32>> Method<T> for Blocks {
    type Scratch = (BlockScratch, Scratch<T>);

    fn scratch(&self, [m, n, k]: [usize; 3]) -> (BlockScratch, Scratch<T>) {
        (BlockScratch::new(*self, [m, n]), Scratch::new(m, n, k))
    }

    fn block(
        &self,
        (blocks, chains): &mut (BlockScratch, Scratch<T>),
        sides: [usize; 3],
        pack: impl FnMut(Range<usize>, &mut Line<T>, [Option<Panels<'_, f32>>; 2]),
        store: impl FnMut(usize, &mut Line<T>, &[f32]),
    ) {
        blocks.block(*self, chains, sides, pack, store);
    }
}

/// Buffers that a thread reuses from block to block.
pub(super) struct BlockScratch {
    sides: [Side; 2],
    sums: Vec<f64>,
    results: Vec<f32>,
}

impl BlockScratch {
    /// Allocates buffers for blocks of `m` x `n` results.
    fn new(blocks: Blocks, [m, n]: [usize; 2]) -> Self {
        let (m, n) = (m.min(MC), n.min(NC));
        let width = if m == 1 { 1 } else { MR };
        Self {
            sides: [Side::new(width, m, blocks.segments), Side::new(f64::NR, n, blocks.segments)],
            sums: vec![0.0; width * n.next_multiple_of(f64::NR)],
            results: vec![0.0; m * n],
        }
    }

    /// Computes a block. `pack` and `store` are those of [`Method::block`]; chains are the results
    /// of lines with an infinity or a NaN.
    fn block<T: Element<Compute = f32>>(
        &mut self,
        Blocks { bits, segments }: Blocks,
        scratch: &mut Scratch<T>,
        [rows, columns, k]: [usize; 3],
        mut pack: impl FnMut(Range<usize>, &mut Line<T>, [Option<Panels<'_, f32>>; 2]),
        mut store: impl FnMut(usize, &mut Line<T>, &[f32]),
    ) {
        let Self { sides: [a, b], sums, results } = self;
        let padded = columns.next_multiple_of(f64::NR);
        let results = &mut results[..rows * columns];
        results.fill(0.0);
        for side in [&mut *a, &mut *b] {
            side.special.fill(false);
            side.wide.fill(false);
        }
        for levels in PASSES {
            for (segment, range) in segments.ranges().enumerate() {
                // Products with a second level of zeros add nothing.
                if levels[0] == 1 && !a.wide[segment] || levels[1] == 1 && !b.wide[segment] {
                    continue;
                }
                let depth = range.len();
                let left = |p: Panels<'_, f32>| pack(range.clone(), scratch.line(), [Some(p), None]);
                a.quantize((segment, levels[0]), (rows, depth), bits, left);
                let right = |p: Panels<'_, f32>| pack(range, scratch.line(), [None, Some(p)]);
                b.quantize((segment, levels[1]), (columns, depth), bits, right);
                let (a_panels, b_panels) =
                    (&a.panels[..rows.next_multiple_of(a.width) * depth], &b.panels[..padded * depth]);
                // A panel's sums are in the L1 cache when they are added.
                let panels = a_panels.chunks_exact(a.width * depth).zip(results.chunks_mut(a.width * columns));
                for ((panel, results), steps) in panels.zip(a.steps.chunks(a.width)) {
                    f64::segment(Segment::only(panel, b_panels, depth, sums, padded), a.width);
                    let rows = sums.chunks_exact(padded).zip(results.chunks_exact_mut(columns)).zip(steps);
                    for ((sums, results), &step) in rows {
                        vectorised(Accumulate { sums, results, step, steps: &b.steps });
                    }
                }
            }
        }
        // A sum of nothing is +0, whichever passes there were.
        results.iter_mut().for_each(|result| *result += 0.0);
        if a.special[..rows].contains(&true) || b.special[..columns].contains(&true) {
            let chain = |row: usize, _: &mut Line<T>, chains: &[f32]| {
                let results = &mut results[row * columns..][..columns];
                for (at, (result, &chain)) in results.iter_mut().zip(chains).enumerate() {
                    if a.special[row] || b.special[at] {
                        *result = chain;
                    }
                }
            };
            scratch.block([rows, columns, k], |k, line, [a, b]| pack(k, line, [Some(a), Some(b)]), chain);
        }
        for (row, results) in results.chunks_exact(columns).enumerate() {
            store(row, scratch.line(), results);
        }
    }
}
