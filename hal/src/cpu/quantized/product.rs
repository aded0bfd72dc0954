//! Products with quantized matrices. They work on tiles of a few rows of weights and many rows of
//! activations, one segment of k at a time. Each result is summed in the order of
//! `docs/numerics/quantized.md`, whatever tile it is in.

use super::super::vector::{Kernel, vectorised};
use super::super::walk::parallel;
use super::convert::Functions;
use super::format::{SEGMENT, SUB_BLOCKS, Scale, Summand};
use super::operand::{BLOCK, Block};
use super::rows::Rows;

/// Rows of weights per tile: two AVX registers of results.
pub(super) const COLUMNS: usize = 16;
/// Rows of activations per tile: their sums stay in the L1 cache.
const ROWS: usize = 64;
/// Rows of activations whose sums stay in registers.
const TOGETHER: usize = 4;
/// Largest size in bytes of a segment of a row of weights: 8 blocks of q8_1 have 288, one block of
/// q8_K has 292.
pub(super) const SEGMENT_BYTES: usize = 292;

/// The results of a tile, one line per row of activations.
type Sums = [[f32; COLUMNS]; ROWS];

/// Dense rows of activations of k elements, ready for a product.
#[derive(Clone, Copy)]
pub(super) enum Activations<'a> {
    Float(&'a [f32]),
    Q8_1(&'a [Block]),
}

/// Rows of activations that are multiplied by one matrix: the rows of the weights from `first` on.
pub(super) struct Group {
    pub first: usize,
    pub rows: Vec<usize>,
}

/// One product.
pub(super) struct Product<'a> {
    pub functions: Functions,
    pub weights: Rows<'a>,
    /// Rows per matrix.
    pub n: usize,
    pub k: usize,
    pub activations: Activations<'a>,
    /// A row of results uses the row of activations with its index divided by `share`.
    pub share: usize,
    /// Receives the row, the first column and the results.
    pub store: &'a (dyn Fn(usize, usize, &[f32]) + Sync),
}

impl Product<'_> {
    /// Computes the rows of results of every group.
    pub fn run(&self, groups: &[Group]) {
        let tiles = self.n.div_ceil(COLUMNS);
        let tasks: Vec<(usize, &[usize])> =
            groups.iter().flat_map(|g| g.rows.chunks(ROWS).map(|rows| (g.first, rows))).collect();
        parallel(tasks.len() * tiles, 1, &|range| {
            for i in range {
                let ((first, rows), column) = (tasks[i / tiles], i % tiles * COLUMNS);
                self.tile(first, column, rows);
            }
        });
    }

    fn tile(&self, first: usize, column: usize, rows: &[usize]) {
        let columns = COLUMNS.min(self.n - column);
        let mut bytes = [[0; SEGMENT_BYTES]; COLUMNS];
        let mut sums = [[0.0; COLUMNS]; ROWS];
        for start in (0..self.k).step_by(SEGMENT) {
            let depth = SEGMENT.min(self.k - start);
            let format = self.functions.format;
            let at = |element: usize| element / format.block_size() * format.block_bytes();
            let weights = &mut bytes[..columns];
            for (c, bytes) in weights.iter_mut().enumerate() {
                self.weights.read(first + column + c, at(start), &mut bytes[..at(depth)]);
            }
            let functions = self.functions;
            let segment =
                Segment { functions, weights, start, depth, k: self.k, rows, share: self.share, sums: &mut sums };
            match self.activations {
                Activations::Float(x) => segment.floats(x),
                Activations::Q8_1(x) => segment.integers(x),
            }
        }
        for (&row, sums) in rows.iter().zip(&sums) {
            (self.store)(row, column, &sums[..columns]);
        }
    }
}

/// One segment of k of a tile.
struct Segment<'a> {
    functions: Functions,
    weights: &'a [[u8; SEGMENT_BYTES]],
    start: usize,
    depth: usize,
    k: usize,
    rows: &'a [usize],
    share: usize,
    sums: &'a mut Sums,
}

impl Segment<'_> {
    /// Adds the segment's values of a row; the first segment overwrites.
    #[inline(always)]
    fn add(&mut self, i: usize, value: &[f32; COLUMNS]) {
        if self.start == 0 {
            self.sums[i] = *value;
        } else {
            self.sums[i].iter_mut().zip(value).for_each(|(s, v)| *s += v);
        }
    }

    /// Calls `f` with every block of a row of weights and its index in the segment.
    fn blocks(&self, column: usize, f: &mut dyn FnMut(&[u8], usize)) {
        let (size, bytes) = (self.functions.format.block_size(), self.functions.format.block_bytes());
        for b in 0..self.depth / size {
            f(&self.weights[column][b * bytes..][..bytes], b * size);
        }
    }

    fn floats(self, x: &[f32]) {
        let (functions, size) = (self.functions, self.functions.format.block_size());
        let mut panel: Panel = [[0.0; COLUMNS]; SEGMENT];
        for c in 0..self.weights.len() {
            let mut elements = [0.0; SEGMENT];
            self.blocks(c, &mut |block, at| functions.dequantize(block, &mut elements[at..][..size]));
            panel.iter_mut().zip(elements).for_each(|(p, v)| p[c] = v);
        }
        vectorised(Floats(self, x, &panel));
    }

    fn integers(self, x: &[Block]) {
        let (functions, size) = (self.functions, self.functions.format.block_size());
        let mut weights = [Row { q: [0; SEGMENT], scales: [Scale::default(); SUB_BLOCKS] }; COLUMNS];
        for (c, row) in weights.iter_mut().enumerate().take(self.weights.len()) {
            self.blocks(c, &mut |block, at| {
                let scales = &mut row.scales[at / functions.sub..][..size / functions.sub];
                (functions.unpack)(block, &mut row.q[at..][..size], scales);
            });
        }
        match (functions.sub, functions.summand) {
            (16, Summand::None) => vectorised(Integers::<16, _>(self, x, &weights, no_summand)),
            (16, _) => vectorised(Integers::<16, _>(self, x, &weights, of_sub_block)),
            (_, Summand::None) => vectorised(Integers::<32, _>(self, x, &weights, no_summand)),
            _ => vectorised(Integers::<32, _>(self, x, &weights, of_block)),
        }
    }
}

/// Float activations, with dequantized weights.
struct Floats<'a>(Segment<'a>, &'a [f32], &'a Panel);

/// The weights of a segment; those with the same k are adjacent.
type Panel = [[f32; COLUMNS]; SEGMENT];

/// Computes the fma chains of a few rows of activations.
#[inline(always)]
fn chains<const N: usize>(rows: [&[f32]; N], panel: &[[f32; COLUMNS]]) -> [[f32; COLUMNS]; N] {
    // Interleave them like the weights, so that the loop below steps through two arrays and its
    // sums stay in registers.
    let mut x = [[0.0; N]; SEGMENT];
    for (r, row) in rows.iter().enumerate() {
        x.iter_mut().zip(&row[..panel.len()]).for_each(|(x, &v)| x[r] = v);
    }
    let mut sums = [[0.0f32; COLUMNS]; N];
    for (x, weights) in x.iter().zip(panel) {
        for (sums, &x) in sums.iter_mut().zip(x) {
            for (sum, &w) in sums.iter_mut().zip(weights) {
                *sum = x.mul_add(w, *sum);
            }
        }
    }
    sums
}

impl Kernel for Floats<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Floats(mut segment, x, panel) = self;
        let panel = &panel[..segment.depth];
        let (rows, share, k, start) = (segment.rows, segment.share, segment.k, segment.start);
        let x = |row: usize| &x[row / share * k + start..];
        let (fours, rest) = rows.as_chunks::<TOGETHER>();
        for (i, rows) in fours.iter().enumerate() {
            for (r, sums) in chains(rows.map(x), panel).iter().enumerate() {
                segment.add(i * TOGETHER + r, sums);
            }
        }
        for (i, &row) in rest.iter().enumerate() {
            segment.add(fours.len() * TOGETHER + i, &chains([x(row)], panel)[0]);
        }
    }
}

/// q8_1 activations, the weights as integers in sub-blocks of `SUB`, and the function that adds a
/// sub-block's summand.
struct Integers<'a, const SUB: usize, A>(Segment<'a>, &'a [Block], &'a [Row; COLUMNS], A);

/// Adds nothing, for formats without summands.
#[inline(always)]
fn no_summand(sum: f32, _: Scale, _: &Block, _: usize) -> f32 {
    sum
}

/// Adds the summand times the sum stored in the activations' block.
#[inline(always)]
fn of_block(sum: f32, scale: Scale, x: &Block, _: usize) -> f32 {
    scale.summand.mul_add(x.s, sum)
}

/// Adds the summand times the sum of the activations' integers over the sub-block.
#[inline(always)]
fn of_sub_block(sum: f32, scale: Scale, x: &Block, sub: usize) -> f32 {
    scale.summand.mul_add(x.halves[sub], sum)
}

/// One segment of a row of weights.
#[derive(Clone, Copy)]
struct Row {
    q: [i8; SEGMENT],
    scales: [Scale; SUB_BLOCKS],
}

/// Returns the sum of products of bytes. It wraps only if i32 overflows, which 32 products never
/// reach.
#[inline(always)]
fn dot(a: &[i8], b: &[i8]) -> i32 {
    a.iter().zip(b).fold(0i32, |sum, (&a, &b)| sum.wrapping_add(i32::from(a) * i32::from(b)))
}

impl Row {
    /// Returns the segment's value for a row of activations.
    #[inline(always)]
    fn value<const SUB: usize>(&self, x: &[Block], add: impl Fn(f32, Scale, &Block, usize) -> f32) -> f32 {
        let subs = BLOCK / SUB;
        let mut sum = 0.0f32;
        for (b, x) in x.iter().enumerate() {
            for sub in 0..subs {
                let scale = self.scales[b * subs + sub];
                let integers = dot(&self.q[b * BLOCK + sub * SUB..][..SUB], &x.q[sub * SUB..][..SUB]);
                sum = (scale.factor * x.d).mul_add(integers as f32, sum);
                sum = add(sum, scale, x, sub);
            }
        }
        sum
    }
}

impl<const SUB: usize, A: Fn(f32, Scale, &Block, usize) -> f32 + Copy> Kernel for Integers<'_, SUB, A> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Integers(mut segment, x, weights, add) = self;
        let (columns, blocks) = (segment.weights.len(), segment.k / BLOCK);
        for (i, &row) in segment.rows.iter().enumerate() {
            let x = &x[row / segment.share * blocks + segment.start / BLOCK..][..segment.depth / BLOCK];
            let mut values = [0.0; COLUMNS];
            for (value, weights) in values.iter_mut().zip(&weights[..columns]) {
                *value = weights.value::<SUB>(x, add);
            }
            segment.add(i, &values);
        }
    }
}
