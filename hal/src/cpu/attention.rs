//! Attention, as `docs/numerics/attention.md` defines it: queries, keys, weights and values are
//! integers, so that only the order of blocks of keys shows in the bits. Sums of products of the
//! integers are exact in f64 in any order, so the loops of `blocked` compute them.

use super::CpuStorage;
use super::block_product::{SEGMENT, power, step_of, value_of};
use super::blocked::{Destination, MR, Panels, Segment, Tiled};
use super::element::Element;
use super::math::f32::tanh;
use super::vector::{Kernel, vectorised};
use super::walk::{gather, parallel, scatter};
use crate::{Attention, DType, Layout, bf16, f16};
use std::f32::consts::LOG2_E;
use std::ops::Range;

/// Keys per block: those of a segment of values.
const KEYS: usize = SEGMENT;
/// Rows that one task computes; whole panels.
const ROWS: usize = 16 * MR;
/// The least step of integers.
const LEAST_STEP: i32 = -100;
/// Queries and keys from this size on make scores that are no f32, and values sums.
const LINE_LIMIT: f32 = f32::from_bits((80 + 127) << 23);
const VALUE_LIMIT: f32 = f32::from_bits((120 + 127) << 23);
/// Weights from here on are 0, and their exponents those of an f32.
const LEAST_POWER: f32 = -40.0;

type Input<'a> = (&'a CpuStorage, &'a Layout);

/// What the integers of a dtype are, and the polynomial for 2^x.
#[derive(Clone, Copy)]
struct Digits {
    /// Bits of an integer, and the exponent of a weight of 1.
    bits: u32,
    weight: i32,
    /// From the highest power down to x; that of 1 is 1.
    powers: &'static [f32],
}

const TWO: Digits =
    Digits { bits: 16, weight: 14, powers: &floats([0x3c1c_f9d3, 0x3d64_fda9, 0x3e76_01db, 0x3f31_7099]) };
const THREE: Digits = Digits {
    bits: 24,
    weight: 22,
    powers: &floats([0x391b_5aa2, 0x3aaf_213e, 0x3c1d_9983, 0x3d63_5841, 0x3e75_fdf0, 0x3f31_7218]),
};

const fn floats<const N: usize>(bits: [u32; N]) -> [f32; N] {
    let (mut floats, mut at) = ([0.0; N], 0);
    while at < N {
        floats[at] = f32::from_bits(bits[at]);
        at += 1;
    }
    floats
}

/// Makes integers of a segment of finite elements and returns their step.
struct Quantize<'a> {
    bits: u32,
    values: &'a [f32],
    integers: &'a mut [f64],
}

impl Kernel for Quantize<'_> {
    type Output = i32;

    #[inline(always)]
    fn run(self) -> i32 {
        let largest = self.values.iter().fold(0, |largest, v| largest.max(v.to_bits() & 0x7fff_ffff));
        let step = if largest == 0 { 0 } else { step_of(largest, self.bits).max(LEAST_STEP) };
        for (integer, value) in self.integers.iter_mut().zip(self.values) {
            *integer = f64::from((value * power(step.wrapping_neg())).round_ties_even());
        }
        step
    }
}

/// A segment of several lines: panels of integers, the elements of each line, and the steps.
struct Part {
    panels: Vec<f64>,
    depth: usize,
    steps: Vec<i32>,
}

/// Queries, keys, or columns of the values of a block, as integers.
struct Lines {
    parts: Vec<Part>,
    /// Line and place of each element that is infinite, a NaN or beyond the limit. They count as 0.
    special: Vec<[usize; 2]>,
}

impl Lines {
    /// Quantizes lines of `length` elements for panels of `width` lines.
    fn new(mut values: Vec<f32>, length: usize, width: usize, bits: u32, limit: f32) -> Self {
        let lines = values.len() / length;
        let mut special = Vec::new();
        let is_special = |value: f32| value.is_nan() || value.abs() >= limit;
        for (at, value) in values.iter_mut().enumerate().filter(|(_, value)| is_special(**value)) {
            special.push([at / length, at % length]);
            *value = 0.0;
        }
        let part = |start: usize| {
            let depth = SEGMENT.min(length - start);
            let mut integers = vec![0.0; depth];
            let (mut panels, mut steps) = (vec![0.0; lines.next_multiple_of(width) * depth], vec![0; lines]);
            let mut packed = Panels::new(&mut panels, width, lines, depth);
            for (line, step) in steps.iter_mut().enumerate() {
                let values = &values[line * length + start..][..depth];
                *step = vectorised(Quantize { bits, values, integers: &mut integers });
                packed.set_line(line, &integers);
            }
            Part { panels, depth, steps }
        };
        Self { parts: (0..length).step_by(SEGMENT).map(part).collect(), special }
    }
}

/// Adds a segment's products of a query with keys to its scores.
struct Score<'a> {
    sums: &'a [f64],
    scores: &'a mut [f32],
    /// 2^step of the query, the factor of all scores, and the steps of the keys.
    query: f32,
    factor: f32,
    steps: &'a [i32],
}

impl Kernel for Score<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for ((score, &sum), &step) in self.scores.iter_mut().zip(self.sums).zip(self.steps) {
            *score = (value_of(sum) * self.query).mul_add(self.factor * power(step), *score);
        }
    }
}

/// Makes weights of scores. Returns the power of two that they are relative to, and their sum.
struct Weigh<'a> {
    digits: Digits,
    scores: &'a [f32],
    weights: &'a mut [f64],
}

impl Kernel for Weigh<'_> {
    type Output = (f32, f32);

    #[inline(always)]
    fn run(self) -> (f32, f32) {
        let top = self.scores.iter().fold(f32::NEG_INFINITY, |top, &score| top.max(score)).ceil();
        // An integer, because the compiler keeps the order of sums of floats, one after the other.
        let mut sum = 0u32;
        for (weight, score) in self.weights.iter_mut().zip(self.scores) {
            let exponent = (score - top).max(LEAST_POWER);
            let whole = exponent.round_ties_even();
            let mut polynomial = self.digits.powers[0];
            for &next in self.digits.powers[1..].iter().chain(&[1.0]) {
                polynomial = polynomial.mul_add(exponent - whole, next);
            }
            let integer = (polynomial * power((whole as i32).wrapping_add(self.digits.weight))).round_ties_even();
            sum = sum.wrapping_add(integer as u32);
            *weight = f64::from(integer);
        }
        (top, sum as f32 * power(self.digits.weight.wrapping_neg()))
    }
}

/// Adds a block's sums of weighted values to a row of results.
struct Add<'a> {
    sums: &'a [f64],
    results: &'a mut [f32],
    steps: &'a [i32],
    /// The exponent of a weight of 1, and what the results and the sums are multiplied by.
    weight: i32,
    back: f32,
    unit: f32,
}

impl Kernel for Add<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for ((result, &sum), step) in self.results.iter_mut().zip(self.sums).zip(self.steps) {
            let value = value_of(sum) * power(step.wrapping_sub(self.weight));
            *result = value.mul_add(self.unit, *result * self.back);
        }
    }
}

/// Makes scores of capped ones, in powers of two.
struct Cap<'a>(&'a mut [f32], f32);

impl Kernel for Cap<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self(scores, cap) = self;
        for score in scores {
            *score = cap * LOG2_E * tanh(*score);
        }
    }
}

/// Adds a mask to scores.
struct Mask<'a>(&'a mut [f32], &'a [f32]);

impl Kernel for Mask<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (score, &added) in self.0.iter_mut().zip(self.1) {
            *score = if added == f32::NEG_INFINITY { added } else { added.mul_add(LOG2_E, *score) };
        }
    }
}

/// Exact sums of products of lines.
struct Sums {
    sums: Vec<f64>,
    /// Sums in a row, with those that fill the last panel.
    columns: usize,
}

impl Sums {
    /// Multiplies lines in panels of `width` lines by others.
    fn new(left: &[f64], width: usize, right: &Part) -> Self {
        let columns = right.panels.len() / right.depth;
        let mut sums = vec![0.0; left.len() / right.depth * columns];
        f64::segment(Segment::only(left, &right.panels, right.depth, &mut sums, columns), width);
        Self { sums, columns }
    }

    fn rows(&self) -> impl Iterator<Item = &[f64]> {
        self.sums.chunks_exact(self.columns)
    }
}

struct Problem<'a> {
    op: &'a Attention,
    digits: Digits,
    query: Input<'a>,
    key: Input<'a>,
    value: Input<'a>,
    mask: Option<Input<'a>>,
    lengths: Option<Vec<usize>>,
    /// Queries, keys and the size of a head.
    m: usize,
    n: usize,
    d: usize,
    /// Heads of the keys, and heads of the query that share one.
    kv_heads: usize,
    group: usize,
}

/// Reads a matrix that begins at an index, in f32. It runs along two of the four dimensions.
fn read<T: Element<Compute = f32>>(
    (storage, layout): Input<'_>,
    index: [usize; 4],
    dims: [usize; 2],
    along: [usize; 2],
) -> Vec<f32> {
    let (base, n) = (storage.as_slice::<T>().expect("the dtype was dispatched on").as_ptr(), dims[0] * dims[1]);
    let base = base.wrapping_add(layout.start_offset() + offset(layout, &index));
    let (mut elements, mut wide) = (vec![T::zeroed(); n], vec![0.0; n]);
    // SAFETY: the layout was validated to lie in the buffer, which is borrowed and not written.
    unsafe { gather(base, &dims, &along.map(|dim| layout.stride()[dim]), 0..n, &mut elements) };
    T::load(&elements, &mut wide).to_vec()
}

fn offset(layout: &Layout, index: &[usize]) -> usize {
    index.iter().zip(layout.stride()).map(|(i, stride)| i * stride).sum()
}

impl Problem<'_> {
    /// Returns the number of keys of a batch entry.
    fn length(&self, batch: usize) -> usize {
        self.lengths.as_ref().map_or(self.n, |lengths| lengths[batch].min(self.n))
    }

    /// Returns the keys in the window of a query.
    fn window(&self, batch: usize, query: usize) -> Range<usize> {
        let length = self.length(batch) as i64;
        let own = query as i64 + length - self.m as i64;
        // Larger than every distance.
        let side = |size: Option<usize>| size.map_or(1 << 40, |size| size.min(1 << 40) as i64);
        let first = (own - side(self.op.window_size_left)).clamp(0, length);
        let end = (own + side(self.op.window_size_right) + 1).clamp(first, length);
        first as usize..end as usize
    }

    fn compute<T: Element<Compute = f32>>(&self, batches: usize, dst: &mut CpuStorage, layout: &Layout) {
        let elements = dst.as_mut_slice::<T>().expect("the dtype was dispatched on");
        let to = Destination(elements.as_mut_ptr().wrapping_add(layout.start_offset()));
        let tiles = (self.group * self.m).div_ceil(ROWS);
        parallel(batches * self.kv_heads * tiles, 1, &|tasks| {
            let to = &to;
            for task in tasks {
                let (batch, kv_head) = (task / tiles / self.kv_heads, task / tiles % self.kv_heads);
                let mut tile = Tile::new::<T>(self, [batch, kv_head], task % tiles);
                (0..self.length(batch)).step_by(KEYS).for_each(|first| tile.add::<T>(first));
                for (row, results) in tile.rows.iter().zip(tile.results.chunks_exact(self.d)) {
                    let line: Vec<T> = results.iter().map(|&result| T::round(row.result(result))).collect();
                    let base = to.0.wrapping_add(offset(layout, &[batch, row.head, row.query]));
                    // SAFETY: the layout was validated to lie in the buffer and not to overlap
                    // itself, and one task has this row.
                    unsafe { scatter(&line, base, &[self.d], &[layout.stride()[3]], 0..self.d) };
                }
            }
        });
    }
}

/// A row of results: its query, the keys in its window, and the largest score and the sum of
/// weights so far.
struct Row {
    head: usize,
    query: usize,
    window: Range<usize>,
    top: f32,
    sum: f32,
}

impl Row {
    /// Whether a key of a block is in the window.
    fn sees(&self, first: usize) -> bool {
        self.window.start.max(first) < self.window.end.min(first + KEYS)
    }

    /// Adds the sum of weights of a block whose largest score is `top`. Returns what the earlier
    /// sums and those of the block are multiplied by.
    fn add(&mut self, top: f32, sum: f32) -> [f32; 2] {
        let next = self.top.max(top);
        let back = power((self.top - next).max(-126.0) as i32);
        let unit = power((top - next).max(-100.0) as i32);
        (self.top, self.sum) = (next, sum.mul_add(unit, self.sum * back));
        [back, unit]
    }

    /// Returns the result of a sum of weighted values.
    fn result(&self, sum: f32) -> f32 {
        if self.top == f32::NEG_INFINITY { 0.0 } else { (sum + 0.0) / self.sum }
    }
}

/// Rows that share keys, computed together.
struct Tile<'a> {
    problem: &'a Problem<'a>,
    /// The batch entry, and the head of the keys.
    at: [usize; 2],
    /// Rows per panel.
    width: usize,
    queries: Lines,
    rows: Vec<Row>,
    results: Vec<f32>,
}

impl<'a> Tile<'a> {
    fn new<T: Element<Compute = f32>>(
        problem: &'a Problem<'a>,
        at @ [batch, kv_head]: [usize; 2],
        tile: usize,
    ) -> Self {
        let &Problem { m, d, group, .. } = problem;
        let row = |row: usize| {
            let (head, query) = (kv_head * group + row / m, row % m);
            Row { head, query, window: problem.window(batch, query), top: f32::NEG_INFINITY, sum: 0.0 }
        };
        let mut rows: Vec<Row> = (tile * ROWS..(group * m).min((tile + 1) * ROWS)).map(row).collect();
        let query = |row: &Row| read::<T>(problem.query, [batch, row.head, row.query, 0], [1, d], [2, 3]);
        let width = if rows.len() == 1 { 1 } else { MR };
        let queries = rows.iter().flat_map(query).collect();
        let queries = Lines::new(queries, d, width, problem.digits.bits, LINE_LIMIT);
        queries.special.iter().for_each(|&[row, _]| rows[row].sum = f32::NAN);
        let results = vec![0.0; rows.len() * d];
        Self { problem, at, width, queries, rows, results }
    }

    /// Adds a block of keys to the rows that see any of it.
    fn add<T: Element<Compute = f32>>(&mut self, first: usize) {
        if !self.rows.iter().any(|row| row.sees(first)) {
            return;
        }
        let (&Problem { digits, d, key, value, .. }, [batch, kv_head]) = (self.problem, self.at);
        let (count, start) = (KEYS.min(self.problem.length(batch) - first), [batch, kv_head, first, 0]);
        let lines = |values, length, limit| Lines::new(values, length, f64::NR, digits.bits, limit);
        let keys = lines(read::<T>(key, start, [count, d], [2, 3]), d, LINE_LIMIT);
        let columns = lines(read::<T>(value, start, [d, count], [3, 2]), count, VALUE_LIMIT);
        let scores = self.scores::<T>(first, &keys, count);

        let mut panels = vec![0.0; self.rows.len().next_multiple_of(self.width) * count];
        let mut packed = Panels::new(&mut panels, self.width, self.rows.len(), count);
        let (mut weights, mut scales) = (vec![0.0; count], vec![None; self.rows.len()]);
        let results = self.results.chunks_exact_mut(d);
        for (at, ((row, scores), results)) in
            self.rows.iter_mut().zip(scores.chunks_exact(count)).zip(results).enumerate()
        {
            let visible = |key: usize| scores[key] != f32::NEG_INFINITY;
            if !(0..count).any(visible) {
                continue;
            }
            let (top, sum) = vectorised(Weigh { digits, scores, weights: &mut weights });
            packed.set_line(at, &weights);
            scales[at] = Some(row.add(top, sum));
            if top == f32::INFINITY || keys.special.iter().any(|&[key, _]| visible(key)) {
                row.sum = f32::NAN;
            }
            let special = columns.special.iter().filter(|&&[_, key]| visible(key));
            special.for_each(|&[column, _]| results[column] = f32::NAN);
        }
        let [values] = &columns.parts[..] else { unreachable!("a block of keys is a segment") };
        let sums = Sums::new(&panels, self.width, values);
        for ((results, sums), scale) in self.results.chunks_exact_mut(d).zip(sums.rows()).zip(scales) {
            if let Some([back, unit]) = scale {
                vectorised(Add { sums, results, steps: &values.steps, weight: digits.weight, back, unit });
            }
        }
    }

    /// Returns the scores of `count` keys for each row; minus infinity hides a key.
    fn scores<T: Element<Compute = f32>>(&self, first: usize, keys: &Lines, count: usize) -> Vec<f32> {
        let Problem { op, mask, d, .. } = *self.problem;
        let factor = op.softcap.map_or(op.scale_of(d) * LOG2_E, |cap| op.scale_of(d) / cap);
        let mut all = vec![0.0; self.rows.len() * count];
        for (queries, keys) in self.queries.parts.iter().zip(&keys.parts) {
            let sums = Sums::new(&queries.panels, self.width, keys);
            for ((scores, sums), &step) in all.chunks_exact_mut(count).zip(sums.rows()).zip(&queries.steps) {
                vectorised(Score { sums, scores, query: power(step), factor, steps: &keys.steps });
            }
        }
        for (row, scores) in self.rows.iter().zip(all.chunks_exact_mut(count)) {
            if let Some(cap) = op.softcap {
                vectorised(Cap(scores, cap));
            }
            if let Some(mask) = mask {
                let added = read::<T>(mask, [self.at[0], row.head, row.query, first], [1, count], [2, 3]);
                vectorised(Mask(scores, &added));
            }
            for (key, score) in (first..).zip(scores) {
                *score = match *score {
                    _ if !row.window.contains(&key) => f32::NEG_INFINITY,
                    score if score.is_nan() => f32::INFINITY,
                    score => score,
                };
            }
        }
        all
    }
}

/// Computes attention of the inputs, which `stored` returns by their numbers.
pub(super) fn attention<'a>(
    op: &Attention,
    stored: impl Fn(usize) -> Input<'a>,
    dst: &mut CpuStorage,
    dst_layout: &Layout,
) {
    if dst_layout.elem_count() == 0 {
        return;
    }
    let (query, key) = (stored(0), stored(1));
    let lengths = op.has_lengths.then(|| {
        let (storage, layout) = stored(3 + usize::from(op.has_mask));
        let all = storage.as_slice::<u32>().expect("validated to be u32");
        layout.strided_index().map(|at| all[at] as usize).collect()
    });
    let ([batches, heads, m, d], [_, kv_heads, n, _]) = (dims(query.1), dims(key.1));
    let problem = Problem {
        op,
        digits: if dst.dtype() == DType::BF16 { TWO } else { THREE },
        query,
        key,
        value: stored(2),
        mask: op.has_mask.then(|| stored(3)),
        lengths,
        m,
        n,
        d,
        kv_heads,
        group: heads / kv_heads,
    };
    match dst.dtype() {
        DType::F16 => problem.compute::<f16>(batches, dst, dst_layout),
        DType::BF16 => problem.compute::<bf16>(batches, dst, dst_layout),
        _ => problem.compute::<f32>(batches, dst, dst_layout),
    }
}

fn dims(layout: &Layout) -> [usize; 4] {
    layout.dims().try_into().expect("validated to be of rank 4")
}
