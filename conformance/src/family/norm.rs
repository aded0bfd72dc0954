//! Softmax and the norms: rows at and around the lengths at which a kernel changes its method.
//! Every sixteen cases have a row of each of the longer methods, and one longer than a segment.

mod channels;

use super::{Family, Named, layouts};
use crate::case::{Dist, Params, Values};
use crate::cells::Cell;
use crate::generate::{Draw, Drawn, Plan, layout, values};
use isobit_hal::{DType, LayerNorm, Op};
use proptest::prelude::*;
use proptest::sample::select;

pub(super) struct NormFamily;

/// Lanes, vectors, the maximum row length of each kernel that keeps rows in registers, and the
/// neighbours of these numbers.
const SHORT: &[usize] = &[
    1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 127, 128, 129, 250, 255, 256, 257, 258, 384, 511,
    512, 513, 768, 1000, 1023, 1024, 1025,
];
const MIDDLE: &[usize] = &[1026, 1500, 2047, 2048, 2049, 3072, 4093, 4095, 4096, 4097, 5120];
const WIDE: &[usize] = &[8191, 8192, 8193, 12_288, 16_383, 16_384, 16_385, 20_000];
/// Rows of more than one segment, except the first two.
const LONG: &[usize] = &[65_535, 65_536, 65_537, 65_793, 131_072, 131_073];

/// Rows of the longer methods for rows in registers.
const TWO_THOUSAND: &[usize] = &[1025, 1500, 2047, 2048];
const FOUR_THOUSAND: &[usize] = &[2049, 3072, 4095, 4096];
const EIGHT_THOUSAND: &[usize] = &[4097, 5120, 8191, 8192];
const SIXTEEN_THOUSAND: &[usize] = &[8193, 12_288, 16_383, 16_384];

/// The number of elements of a case with short rows.
const BUDGET: usize = 6000;

const EPS: &[f64] = &[1e-5, 1e-5, 1e-6, 1e-8, 1e-12, 0.1, 0.0, 1.0, -1e-3, 1e-60, 1e300, f64::INFINITY, f64::NAN];

impl Family for NormFamily {
    fn with_params(&self, op: &Op, params: &Params) -> Op {
        let eps = params.number("eps");
        match op {
            Op::RmsNorm { .. } => Op::RmsNorm { eps },
            Op::LayerNorm(p) => Op::LayerNorm(LayerNorm::new(eps).with_inputs(p.has_weight, p.has_bias)),
            Op::LayerNormStats { .. } => Op::LayerNormStats { eps },
            Op::SkipLayerNorm { .. } => Op::SkipLayerNorm { eps },
            _ if channels::is_of_channels(op) => channels::with_params(op, params),
            other => other.clone(),
        }
    }

    fn dtypes(&self, op: &Op) -> Vec<Vec<DType>> {
        let result = |dtype: DType| if is_stats(op) { dtype.compute() } else { dtype };
        let of = |&dtype: &DType| {
            let mut dtypes = [vec![dtype; op.inputs()], vec![result(dtype)]].concat();
            if let Op::BatchNorm(_) = op {
                dtypes[1..3].fill(dtype.compute());
            }
            dtypes
        };
        DType::ALL.iter().map(of).collect()
    }

    fn input_dims(&self, op: &Op, shape: &[usize], input: usize) -> Vec<usize> {
        if channels::is_of_channels(op) && input > 0 {
            return vec![shape[1]];
        }
        let rows = if is_of_rows(op, input) { 0 } else { shape.len() - 1 };
        shape[rows..].to_vec()
    }

    fn draw(&self, draw: &mut Draw, cell: &Cell, plan: &Plan, index: u64) -> Drawn {
        let op = cell.operation.op();
        let n = match index % 16 {
            6 => draw.one_of(LONG),
            1 => draw.one_of(WIDE),
            // Not below 8: the first cases of every cell stay what they are.
            11 => draw.one_of(SIXTEEN_THOUSAND),
            9 => draw.one_of(TWO_THOUSAND),
            13 => draw.one_of(FOUR_THOUSAND),
            15 => draw.one_of(EIGHT_THOUSAND),
            _ => draw.pick(prop_oneof![8 => select(SHORT), 3 => select(MIDDLE), 1 => 1..=1200usize]),
        };
        let min_rank = layout::min_rank(plan.input).max(layout::min_rank(plan.dst)).max(1);
        if channels::is_of_channels(op) {
            let (shape, params) = channels::shape(draw, op, n, min_rank.max(2));
            let inputs: Vec<Vec<usize>> = (0..op.inputs()).map(|i| self.input_dims(op, &shape, i)).collect();
            let layouts = layouts(draw, plan, &inputs, &shape);
            return (shape, Some(Params::Named(params)), layouts);
        }
        let outer = draw.one_of(&[0usize, 1, 1, 1, 2, 2, 3, 5]).max(min_rank - 1);
        let mut left = BUDGET / n;
        let mut shape: Vec<usize> = (0..outer)
            .map(|_| {
                let fitting: Vec<usize> =
                    [1, 2, 3, 5, 7, 16, 33, 130].into_iter().filter(|&d| d <= left.max(1)).collect();
                let size = draw.one_of(&fitting);
                left /= size;
                size
            })
            .collect();
        shape.push(n);
        if draw.chance(4) {
            let empty = draw.pick(0..shape.len());
            // A row without elements has no statistics.
            let is_row = is_stats(op) && empty == shape.len() - 1;
            shape[empty] = usize::from(is_row);
        }
        let inputs: Vec<Vec<usize>> = (0..op.inputs()).map(|i| self.input_dims(op, &shape, i)).collect();
        let mut result = shape.clone();
        if is_stats(op) {
            *result.last_mut().expect("a row has a dimension") = 2;
        }
        let layouts = layouts(draw, plan, &inputs, &result);
        let eps = draw.one_of(EPS);
        let has_eps = !matches!(op, Op::Softmax | Op::SafeSoftmax | Op::LogSoftmax);
        let params = if has_eps { Named::default().with("eps", &[eps]) } else { Named::default() };
        (shape, Some(Params::Named(params)), layouts)
    }

    fn values(&self, draw: &mut Draw, _cell: &Cell, op: &Op, _shape: &[usize], input: usize) -> Option<Values> {
        let dist = match (op, input) {
            _ if channels::is_of_channels(op) => channels::dist(draw, op, input),
            // Rows of which all or nearly all elements are -infinity.
            (Op::SafeSoftmax, _) => draw.pick(prop_oneof![
                3 => Just(Dist::Hiding { share: 256, wild: false }),
                3 => select(&[192, 250, 255][..]).prop_map(|share| Dist::Hiding { share, wild: false }),
                1 => Just(Dist::Hiding { share: 250, wild: true }),
                1 => Just(Dist::Specials),
            ]),
            // From distributions in which no power vanishes to those in which all but one do.
            (Op::Softmax | Op::LogSoftmax, _) => draw.pick(prop_oneof![
                6 => (-2..9i32).prop_map(|scale| Dist::Uniform { scale }),
                2 => (0..12i32).prop_map(|n| Dist::Exponents { low: -n, high: n }),
                1 => Just(Dist::LogUniform),
                1 => Just(Dist::Specials),
                1 => Just(Dist::Sparse),
                1 => Just(Dist::Few),
                1 => Just(Dist::Ramp),
            ]),
            // A variance near a usual eps, which then decides.
            _ if is_of_rows(op, input) && draw.chance(15) => Dist::Uniform { scale: draw.pick(-21..-5i32) },
            _ if is_of_rows(op, input) => values::accumulated(draw),
            _ => draw.pick(prop_oneof![
                4 => (-1..3i32).prop_map(|scale| Dist::Uniform { scale }),
                1 => Just(Dist::Ones),
                1 => Just(Dist::LogUniform),
                1 => Just(Dist::Specials),
            ]),
        };
        Some(values::of(draw, dist))
    }
}

/// Whether the result has two numbers for each row.
fn is_stats(op: &Op) -> bool {
    matches!(op, Op::LayerNormStats { .. })
}

/// Whether an input has rows, and is not a parameter of a row's length.
fn is_of_rows(op: &Op, input: usize) -> bool {
    input == 0 || input == 1 && matches!(op, Op::SkipLayerNorm { .. })
}
