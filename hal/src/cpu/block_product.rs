//! Block products, as `docs/numerics.md` section 9 defines them: the quantization of a line's
//! segments, and the value of an exact sum. Sums of products of the integers are exact in f64 in
//! any order, so the loops of `blocked` compute them.

use super::blocked::{Line, MC, MR, NC, Panels, Scratch, Segment, Tiled};
use super::element::Element;
use super::vector::{Kernel, vectorised};
use std::ops::Range;

/// Elements of k per segment.
const SEGMENT: usize = 128;
/// The levels of both operands that each pass multiplies.
const PASSES: [[usize; 2]; 3] = [[0, 0], [1, 0], [0, 1]];

/// Returns 2^n, for n from -126 to 127.
#[inline(always)]
fn power(n: i32) -> f32 {
    f32::from_bits(((n + 127) as u32) << 23)
}

/// A segment of a line as integers in steps of `2^step`.
struct Quantized {
    step: i32,
    /// Whether the elements are so unlike in size that the rests count.
    wide: bool,
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
        if largest == 0 {
            integers.fill(0.0);
            return Quantized { step: 0, wide: false };
        }
        // Balanced digits hold integers up to 0x7f7f and 0x7f7f7f.
        let (limit, top) = ((0x7f_7f7f >> (24 - bits)) as f32, bits as i32 - 2);
        // Every f32 is normal as an f64.
        let bits_of_largest = f64::from(f32::from_bits(largest)).to_bits();
        let exponent = (bits_of_largest >> 52) as i32 - 1023;
        let significand = f64::from_bits(bits_of_largest & ((1 << 52) - 1) | 1023 << 52) as f32;
        let over = (significand * power(top)).round_ties_even() > limit;
        let step = exponent - top + i32::from(over);
        // 2^-step may be too large for an f32.
        let (first, second) = (power((-step).min(127)), power((-step - 127).max(0)));
        let (mut sum, mut count) = (0.0, 0.0);
        for (value, integer) in values.iter_mut().zip(integers) {
            let scaled = *value * first * second;
            let nearest = scaled.round_ties_even();
            sum += f64::from(nearest.abs());
            count += if *value == 0.0 { 0.0 } else { 1.0 };
            *value = scaled - nearest;
            *integer = f64::from(nearest);
        }
        // The mean size of the nonzero elements is below 1/16 or 1/32 of the largest integers.
        let small = if bits == 16 { 1 << 11 } else { 1 << 18 };
        Quantized { step, wide: sum < count * f64::from(small) }
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
        const HIGH: f64 = (1 << 24) as f64;
        for ((sum, result), step) in self.sums.iter().zip(self.results).zip(self.steps) {
            let high = (sum * (1.0 / HIGH) + 0.5).floor();
            let value = (high as f32).mul_add(HIGH as f32, (sum - high * HIGH) as f32);
            let exponent = (self.step + step).clamp(-252, 252);
            let near = exponent.clamp(-126, 126);
            *result = (value * power(exponent - near)).mul_add(power(near), *result);
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
    /// Whether a segment of the block was wide.
    wide: bool,
}

impl Side {
    fn new(width: usize, lines: usize) -> Self {
        Self {
            width,
            values: vec![0.0; lines * SEGMENT],
            line: vec![0.0; SEGMENT],
            panels: vec![0.0; lines.next_multiple_of(width) * SEGMENT],
            steps: vec![0; lines],
            special: vec![false; lines],
            wide: false,
        }
    }

    /// Quantizes a segment of `depth` elements of every line, which `pack` reads.
    fn quantize(&mut self, lines: usize, depth: usize, level: usize, bits: u32, pack: impl FnOnce(Panels<'_, f32>)) {
        pack(Panels::new(&mut self.values, 1, lines, depth));
        let mut panels = Panels::new(&mut self.panels, self.width, lines, depth);
        for (at, values) in self.values.chunks_exact_mut(depth).take(lines).enumerate() {
            if values.iter().any(|v| !v.is_finite()) {
                self.special[at] = true;
                values.fill(0.0);
            }
            let integers = &mut self.line[..depth];
            let first = vectorised(Quantize { bits, values, integers });
            self.wide |= first.wide;
            self.steps[at] = first.step;
            if level == 1 {
                if !first.wide {
                    values.fill(0.0);
                }
                let second = vectorised(Quantize { bits, values, integers: &mut self.line[..depth] });
                self.steps[at] += second.step;
            }
            panels.set_line(at, &self.line[..depth]);
        }
    }
}

/// Buffers that a thread reuses from block to block.
pub(super) struct BlockScratch {
    bits: u32,
    sides: [Side; 2],
    sums: Vec<f64>,
    results: Vec<f32>,
}

impl BlockScratch {
    /// Allocates buffers for blocks of an `m` x `n` product of integers of `bits`.
    pub fn new(bits: u32, m: usize, n: usize) -> Self {
        let (m, n) = (m.min(MC), n.min(NC));
        let padded = m.next_multiple_of(MR) * n.next_multiple_of(f64::NR);
        Self {
            bits,
            sides: [Side::new(if m == 1 { 1 } else { MR }, m), Side::new(f64::NR, n)],
            sums: vec![0.0; padded],
            results: vec![0.0; m * n],
        }
    }

    /// Computes a block. `pack` and `store` are those of [`Scratch::block`], which computes the
    /// results of lines with an infinity or a NaN.
    pub fn block<T: Element<Compute = f32>>(
        &mut self,
        scratch: &mut Scratch<T>,
        [rows, columns, k]: [usize; 3],
        mut pack: impl FnMut(Range<usize>, &mut Line<T>, [Option<Panels<'_, f32>>; 2]),
        mut store: impl FnMut(usize, &mut Line<T>, &[f32]),
    ) {
        let Self { bits, sides: [a, b], sums, results } = self;
        let padded = columns.next_multiple_of(f64::NR);
        let results = &mut results[..rows * columns];
        results.fill(0.0);
        for side in [&mut *a, &mut *b] {
            side.special.fill(false);
            side.wide = false;
        }
        for levels in PASSES {
            if levels[0] == 1 && !a.wide || levels[1] == 1 && !b.wide {
                continue;
            }
            for start in (0..k).step_by(SEGMENT) {
                let depth = SEGMENT.min(k - start);
                let range = start..start + depth;
                a.quantize(rows, depth, levels[0], *bits, |p| pack(range.clone(), scratch.line(), [Some(p), None]));
                b.quantize(columns, depth, levels[1], *bits, |p| pack(range, scratch.line(), [None, Some(p)]));
                let (a_panels, b_panels) =
                    (&a.panels[..rows.next_multiple_of(a.width) * depth], &b.panels[..padded * depth]);
                let sums = &mut sums[..rows.next_multiple_of(a.width) * padded];
                f64::segment(Segment::only(a_panels, b_panels, depth, sums, padded), a.width);
                for (row, sums) in sums.chunks_exact(padded).take(rows).enumerate() {
                    let results = &mut results[row * columns..][..columns];
                    let sums = &sums[..columns];
                    vectorised(Accumulate { sums, results, step: a.steps[row], steps: &b.steps });
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
