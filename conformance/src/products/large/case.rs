//! One product: its shape, the layouts and kinds of its operands, and which of its results the CPU
//! computes.

use super::Options;
use super::values::{Kind, Line, Value};
use isobit_hal::{DType, Layout, Numerics};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use rayon::prelude::*;
use std::fmt;

/// The most elements of a batch of matrices.
const MOST: usize = 1 << 26;

struct Draw(Xoshiro256PlusPlus);

impl Draw {
    fn below(&mut self, n: usize) -> usize {
        (self.0.next_u64() % n as u64) as usize
    }

    /// Draws a side from `low` to `high`, all lengths of numbers equally likely. Half of the sides
    /// are whole vectors or tiles.
    fn side(&mut self, low: usize, high: usize) -> usize {
        let unit = (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        let side = (low as f64 * ((high + 1) as f64 / low as f64).powf(unit)) as usize;
        let whole = [1, 1, 8, 128][self.below(4)];
        side.next_multiple_of(whole).clamp(1, high)
    }
}

/// A matrix in memory, with lines along k: rows of the left operand, columns of the right one. It
/// is stored line after line or k after k.
#[derive(Debug)]
pub(super) struct Operand {
    /// Of the left operand `[batch, m, k]`, of the right one `[batch, k, n]`.
    pub layout: Layout,
    kind: Kind,
    by_line: bool,
    /// Matrices in memory: one if it is broadcast.
    stored: usize,
    lines: Vec<Line>,
    k: usize,
    /// Elements between the starts of two lines, or of two k.
    pitch: usize,
    offset: usize,
    /// Strides of the batch, of lines and of k.
    strides: [usize; 3],
}

impl Operand {
    fn draw(draw: &mut Draw, dtype: DType, batch: usize, lines: usize, k: usize, is_left: bool) -> Self {
        let kind = Kind::ALL[draw.below(Kind::ALL.len())];
        let by_line = draw.below(2) == 0;
        let (outer, inner) = if by_line { (lines, k) } else { (k, lines) };
        let pitch = inner + [0, 0, 0, 8, 64, 1 + draw.below(17)][draw.below(6)];
        let offset = [0, 0, 16, 1 + draw.below(9)][draw.below(4)];
        let stored = if draw.below(4) == 0 { 1 } else { batch };
        let between = if stored == batch { outer * pitch } else { 0 };
        let (line, along) = if by_line { (pitch, 1) } else { (1, pitch) };
        let layout = if is_left {
            Layout::new([batch, lines, k], &[between, line, along][..], offset)
        } else {
            Layout::new([batch, k, lines], &[between, along, line][..], offset)
        };
        Self {
            layout: layout.expect("as many strides as dimensions"),
            kind,
            by_line,
            stored,
            lines: (0..stored * lines).map(|_| kind.line(&mut draw.0, dtype, k)).collect(),
            k,
            pitch,
            offset,
            strides: [between, line, along],
        }
    }

    /// Returns the operand's memory. What is not part of the operand is a NaN.
    pub fn fill<T: Value>(&self) -> Vec<T> {
        let lines = self.lines.len() / self.stored;
        let (outer, inner) = if self.by_line { (lines, self.k) } else { (self.k, lines) };
        let mut memory = vec![T::of(f64::NAN); self.offset + self.stored * outer * self.pitch];
        memory[self.offset..].par_chunks_mut(self.pitch).enumerate().for_each(|(at, chunk)| {
            let (matrix, at) = (at / outer, at % outer);
            for (i, element) in chunk[..inner].iter_mut().enumerate() {
                let (line, k) = if self.by_line { (at, i) } else { (i, at) };
                *element = T::of(self.lines[matrix * lines + line].at(k));
            }
        });
        memory
    }

    /// Returns some lines of some matrices of the batch, one after the other.
    pub fn lines<T: Value>(&self, memory: &[T], batches: &[usize], lines: &[usize]) -> Vec<T> {
        let [between, line, along] = self.strides;
        let mut out = vec![T::of(0.0); batches.len() * lines.len() * self.k];
        out.par_chunks_mut(self.k).enumerate().for_each(|(at, out)| {
            let start = self.offset + batches[at / lines.len()] * between + lines[at % lines.len()] * line;
            out.iter_mut().enumerate().for_each(|(k, element)| *element = memory[start + k * along]);
        });
        out
    }
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}+{}", self.kind.name(), self.strides, self.offset)
    }
}

/// A product.
#[derive(Debug)]
pub(super) struct Case {
    pub index: u64,
    pub numerics: Numerics,
    dtype: DType,
    pub batch: usize,
    /// m, k and n.
    pub sides: [usize; 3],
    pub operands: [Operand; 2],
    pub result: Layout,
    /// The elements of the result's memory.
    pub result_len: usize,
    /// The batch, the rows and the columns, in the order in which they are compared.
    orders: [Vec<usize>; 3],
}

/// Results that the CPU computes.
#[derive(Debug)]
pub(super) struct Strip {
    pub batches: Vec<usize>,
    pub rows: Vec<usize>,
    pub columns: Vec<usize>,
}

/// Returns all places of a side in an order that is drawn: the last and the first one first.
fn order(draw: &mut Draw, side: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..side).collect();
    order.swap(0, side - 1);
    if side > 2 {
        order.swap(1, side - 1);
    }
    for i in (3..side).rev() {
        order.swap(i, 2 + draw.below(i - 1));
    }
    order
}

impl Case {
    /// Draws a product of the options.
    pub fn draw(options: &Options, index: u64, dtype: DType) -> Self {
        let seed = options.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ index.wrapping_mul(0xd6e8_feb8_6659_fd93);
        let draw = &mut Draw(Xoshiro256PlusPlus::seed_from_u64(seed));
        let most = options.max_side;
        // Half of the products are large in each side.
        let low = if draw.below(2) == 0 { 1 } else { (most / 16).max(1) };
        let sides @ [m, k, n] = [(); 3].map(|()| draw.side(low, most));
        let largest = (m * k).max(k * n).max(m * n);
        let batch = [1, 1, 1, 2 + draw.below(3)][draw.below(4)].min(MOST / largest).max(1);
        let operands = [Operand::draw(draw, dtype, batch, m, k, true), Operand::draw(draw, dtype, batch, n, k, false)];
        let by_row = draw.below(4) > 0;
        let (outer, inner) = if by_row { (m, n) } else { (n, m) };
        let pitch = inner + [0, 0, 8, draw.below(17)][draw.below(4)];
        let offset = [0, 0, 16, draw.below(9)][draw.below(4)];
        let (row, column) = if by_row { (pitch, 1) } else { (1, pitch) };
        let result = Layout::new([batch, m, n], &[outer * pitch, row, column][..], offset);
        Self {
            index,
            numerics: options.numerics,
            dtype,
            batch,
            sides,
            operands,
            result: result.expect("as many strides as dimensions"),
            result_len: offset + batch * outer * pitch,
            orders: [batch, m, n].map(|side| order(draw, side)),
        }
    }

    /// Returns the multiply-adds of the product.
    pub fn work(&self) -> f64 {
        self.sides.iter().fold(self.batch as f64, |work, &side| work * side as f64)
    }

    /// Returns the results to compare for so many multiply-adds: more of them contain fewer.
    pub fn strip(&self, work: f64) -> Strip {
        let [m, k, n] = self.sides;
        let one = m as f64 * k as f64 * n as f64;
        let batches = ((work / one) as usize).clamp(1, self.batch);
        // As large a part of the rows as of the columns.
        let part = (work / one).min(1.0).sqrt();
        let rows = ((m as f64 * part) as usize).clamp(1, m);
        let columns = ((work / k as f64 / rows as f64) as usize).clamp(1, n);
        let take = |order: &[usize], n: usize| order[..n].to_vec();
        let [by_batch, by_row, by_column] = &self.orders;
        Strip { batches: take(by_batch, batches), rows: take(by_row, rows), columns: take(by_column, columns) }
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([m, k, n], [left, right]) = (self.sides, &self.operands);
        write!(
            f,
            "{} {}, {} x [{m} x {k} x {n}], left {left}, right {right}, ",
            self.dtype, self.numerics, self.batch
        )?;
        write!(f, "result {:?}+{}", self.result.stride(), self.result.start_offset())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn options(max_side: usize) -> Options {
        let time = Duration::from_secs(1);
        Options { first: 0, products: 9, max_side, dtypes: vec![DType::F32], numerics: Numerics::Block, seed: 3, time }
    }

    #[test]
    fn sides_reach_from_one_to_the_largest() {
        let cases: Vec<Case> = (0..60).map(|index| Case::draw(&options(700), index, DType::F32)).collect();
        let sides: Vec<usize> = cases.iter().flat_map(|case| case.sides).collect();
        assert!(sides.iter().all(|side| (1..=700).contains(side)));
        for (low, high) in [(1, 8), (9, 43), (44, 300), (301, 699), (700, 700)] {
            assert!(sides.iter().any(|side| (low..=high).contains(side)), "{low} to {high}");
        }
        assert!(
            cases.iter().any(|case| case.batch > 1) && cases.iter().any(|case| case.operands[0].stored < case.batch)
        );
    }

    /// What a layout names is what the lines are, and everything else is a NaN.
    #[test]
    fn memory_holds_the_lines_where_the_layout_has_them() {
        for index in 0..40 {
            let case = Case::draw(&options(60), index, DType::F64);
            for (operand, is_left) in case.operands.iter().zip([true, false]) {
                let memory: Vec<f64> = operand.fill();
                let [batch, _, _] = operand.layout.dims() else { panic!("three dimensions") };
                let all = |n: usize| (0..n).collect::<Vec<_>>();
                let count = operand.lines.len() / operand.stored;
                let lines = operand.lines(&memory, &all(*batch), &all(count));
                let view = if is_left { operand.layout.clone() } else { operand.layout.transpose(1, 2).unwrap() };
                for (i, (at, &element)) in view.strided_index().zip(&lines).enumerate() {
                    let line = i / operand.k % (count * operand.stored);
                    assert!(element.same(operand.lines[line].at(i % operand.k)), "{index}, {i}");
                    assert!(memory[at].same(element));
                }
                let named = operand.stored * count * operand.k;
                let nans = memory.iter().filter(|v| v.is_nan()).count();
                assert!(nans >= memory.len() - named);
            }
        }
    }

    #[test]
    fn more_work_compares_more_of_the_same_results_and_always_the_corners() {
        for index in 0..40 {
            let case = Case::draw(&options(300), index, DType::F32);
            let [m, k, n] = case.sides;
            let (few, many) = (case.strip(k as f64 * 9.0), case.strip(k as f64 * 900.0));
            for (few, many) in [(&few.rows, &many.rows), (&few.columns, &many.columns), (&few.batches, &many.batches)] {
                assert_eq!(few[..], many[..few.len()]);
            }
            assert_eq!((few.rows[0], few.columns[0]), (m - 1, n - 1));
            let whole = case.strip(case.work());
            assert_eq!([whole.batches.len(), whole.rows.len(), whole.columns.len()], [case.batch, m, n]);
            let mut rows = whole.rows;
            rows.sort();
            assert_eq!(rows, (0..m).collect::<Vec<_>>());
        }
    }
}
