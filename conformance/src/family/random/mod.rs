//! Random numbers: ordinary intervals, intervals with few values or none in the dtype, positions in
//! the sequence at the edges of the generator's blocks and of its counter, and numbers from a
//! library, which are checked against their distribution.

mod statistics;

use super::{Family, Named, VendorCall, layouts};
use crate::case::{Dist, Params, Values};
use crate::cells::Cell;
use crate::compare::Comparison;
use crate::generate::{Draw, Drawn, Fixed, Plan, layout, shape, values};
use crate::hard;
use crate::schema::Class;
use isobit_hal::cpu::internals::block;
use isobit_hal::{Bernoulli, BernoulliProbs, DType, Dropout, Op, RandNormal, RandUniform, Scalar};

pub(super) struct RandomFamily;

/// Splits a 64-bit number into two of 32 bits, the low one first: a parameter is an f64, which
/// represents only 53 bits.
fn halves(x: u64) -> [f64; 2] {
    [f64::from(x as u32), f64::from((x >> 32) as u32)]
}

fn whole(params: &Params, name: &str) -> u64 {
    let numbers = params.numbers(name);
    let half = |i: usize| numbers.get(i).map_or(0, |&x| x as u64 & 0xffff_ffff);
    half(1) << 32 | half(0)
}

fn interval(draw: &mut Draw) -> [f64; 2] {
    let x = f64::from(draw.pick(-3.0..3.0f32));
    let scale = 10f64.powi(draw.pick(-12..12i32));
    let wide = [x * scale, (x + f64::from(draw.pick(0.0..2.0f32))) * scale];
    draw.one_of(&[
        [0.0, 1.0],
        [0.0, 1.0],
        [-1.0, 1.0],
        wide,
        wide,
        // No value, one value and a few values, at least in the narrower dtypes.
        [x, x],
        [1.0001, 1.0002],
        [1.0, 1.0 + 2f64.powi(-9)],
        [0.1, 0.101],
        // Beyond the range of f16 and of f32; a difference that overflows.
        [-1e5, 1e5],
        [-3e38, 3e38],
        [-1e-44, 1e-44],
    ])
}

fn normal(draw: &mut Draw) -> [f64; 2] {
    let mean = f64::from(draw.pick(-100.0..100.0f32));
    let std = f64::from(draw.pick(0.0..10.0f32));
    draw.one_of(&[[0.0, 1.0], [0.0, 1.0], [mean, std], [mean, std], [mean, 0.0], [0.0, 3e4], [1.0, 1e-9], [0.0, 1e-40]])
}

/// Probabilities: all, none, and those next to them; products with 2^32 that lie between integers.
fn probability(draw: &mut Draw) -> f64 {
    let step = 2f64.powi(-32);
    let (p, word) = (f64::from(draw.pick(0.0..1.0f32)), f64::from(draw.pick(0..u32::MAX)));
    draw.one_of(&[
        0.0,
        1.0,
        0.5,
        0.1,
        0.9,
        p,
        p,
        (word + 0.5) * step,
        step,
        0.5 * step,
        0.75 * step,
        1.0 - step,
        1.0 - 0.25 * step,
        5e-324,
    ])
}

/// Probabilities of the elements of one call: at and around those that decide an element, which are
/// apart by less than the digits of narrow dtypes; ordinary ones; and values that are none.
fn probabilities(draw: &mut Draw, op: BernoulliProbs, dtype: DType, count: usize) -> Values {
    let dist = match draw.pick(0..6) {
        0 | 1 => {
            let step = 2f64.powi(-32);
            let near = [-1.0, -0.5, -0.25, 0.0, 0.25, 0.5, 1.0, 1.5].map(|of| of * step);
            let bits = (0..count as u64).map(|i| {
                let number = op.offset.wrapping_add(i);
                let counter = [(number / 4) as u32, ((number / 4) >> 32) as u32, 0, 0];
                let words = block(counter, [op.seed as u32, (op.seed >> 32) as u32]);
                let p = f64::from(words[(number % 4) as usize]) * step + near[(i / 3 % 8) as usize];
                Scalar::from_f64(dtype, p).to_bits()
            });
            return Values::Bits(bits.collect());
        }
        2 => Dist::Uniform { scale: 0 },
        3 => Dist::Exponents { low: -34, high: 0 },
        4 => Dist::Levels,
        _ => values::general(draw),
    };
    values::of(draw, dist)
}

impl Family for RandomFamily {
    fn with_params(&self, op: &Op, params: &Params) -> Op {
        let (seed, offset) = (whole(params, "seed"), whole(params, "offset"));
        match op {
            Op::RandUniform(_) => {
                Op::RandUniform(RandUniform::new(params.number("lo"), params.number("up")).at(seed, offset))
            }
            Op::Bernoulli(_) => Op::Bernoulli(Bernoulli::new(params.number("p")).at(seed, offset)),
            Op::BernoulliProbs(_) => Op::BernoulliProbs(BernoulliProbs::new().at(seed, offset)),
            Op::Dropout(_) => Op::Dropout(Dropout::new(params.number("p")).at(seed, offset)),
            _ => Op::RandNormal(RandNormal::new(params.number("mean"), params.number("std")).at(seed, offset)),
        }
    }

    fn draw(&self, draw: &mut Draw, cell: &Cell, plan: &Plan, index: u64) -> Drawn {
        let op = cell.operation.op();
        let of_input = if op.inputs() == 0 { 0 } else { layout::min_rank(plan.input) };
        let dims = shape::draw(draw, layout::min_rank(plan.dst).max(of_input), shape::budget);
        let params = match op {
            Op::Bernoulli(_) | Op::Dropout(_) => Named::default().with("p", &[probability(draw)]),
            Op::BernoulliProbs(_) => Named::default(),
            Op::RandUniform(_) => {
                let [lo, up] = interval(draw);
                Named::default().with("lo", &[lo]).with("up", &[up])
            }
            _ => {
                let [mean, std] = normal(draw);
                Named::default().with("mean", &[mean]).with("std", &[std])
            }
        };
        let (seed, offset) = (draw.pick(0..u64::MAX), draw.pick(0..1u64 << 40));
        let seed = draw.one_of(&[0, 1, u32::MAX.into(), 1 << 32, u64::MAX, seed, seed, seed, seed]);
        let offset = draw.one_of(&[
            0,
            0,
            0,
            1,
            2,
            3,
            4,
            offset,
            offset * 4,
            // The counter's words carry over, and the sequence wraps around.
            (1 << 34) - 6,
            u64::MAX - 6,
        ]);
        let params = params.with("seed", &halves(seed)).with("offset", &halves(offset));
        let mut layouts = layouts(draw, plan, &vec![dims.clone(); op.inputs()], &dims);
        if op.takes_dst(0) && index % 8 == 5 {
            layouts[0] = None;
        }
        (dims, Some(Params::Named(params)), layouts)
    }

    /// The positions of normal numbers at which the most roundings matter.
    fn fixed(&self, cell: &Cell, nth: u64) -> Option<Fixed> {
        let is_normal = matches!(cell.operation.op(), Op::RandNormal(_)) && cell.class() != Class::Vendor;
        if !is_normal || nth != 0 || cell.dtypes != [DType::F32] {
            return None;
        }
        let [block, count] = hard::of_function("rand_normal", DType::F32).first()?[..] else { return None };
        let params = Named::default().with("mean", &[0.0]).with("std", &[1.0]);
        let params = params.with("seed", &halves(0)).with("offset", &halves(4 * block));
        Some(Fixed::new(&[count as usize], &[]).with(Params::Named(params)))
    }

    fn values(&self, draw: &mut Draw, cell: &Cell, op: &Op, shape: &[usize], _input: usize) -> Option<Values> {
        let Op::BernoulliProbs(op) = op else { return None };
        Some(probabilities(draw, *op, cell.dtypes[0], shape.iter().product()))
    }

    fn compare_vendor(&self, call: VendorCall<'_>) -> Comparison {
        statistics::compare(call.op, call.dtype, call.got)
    }
}
