//! Elementwise operations: fills, copies, casts, functions of one and two arguments and with
//! parameters, comparisons, and selections.

mod params;

use super::Family;
use crate::case::{Dist, LayoutKind, LayoutSpec, Params, Values};
use crate::cells::Cell;
use crate::generate::{DST_KINDS, Draw, Drawn, Fixed, Plan, layout, shape, values};
use isobit_hal::{Affine, Cast, Celu, Clamp, DType, Elu, LeakyRelu, Op, Powf, Scalar};

pub(super) struct ElementwiseFamily;

impl Family for ElementwiseFamily {
    fn with_params(&self, op: &Op, params: &Params) -> Op {
        match op {
            Op::Fill(value) => match params {
                Params::Fill(bits) => Op::Fill(Scalar::from_bits(value.dtype(), *bits)),
                _ => op.clone(),
            },
            Op::Affine(_) => Op::Affine(Affine::new(params.number("mul"), params.number("add"))),
            Op::Powf(_) => Op::Powf(Powf::new(params.number("exponent"))),
            Op::Elu(_) => Op::Elu(Elu::new(params.number("alpha"))),
            Op::LeakyRelu(_) => Op::LeakyRelu(LeakyRelu::new(params.number("negative_slope"))),
            Op::Celu(_) => Op::Celu(Celu::new(params.number("alpha"))),
            Op::Cast(_) => Op::Cast(match params.numbers("saturate")[..] {
                [saturate, ..] if saturate != 0.0 => Cast::saturating(),
                [_, ..] => Cast::non_saturating(),
                [] => Cast::default(),
            }),
            Op::Clamp(_) => Op::Clamp(Clamp::new(params.number("min"), params.number("max"))),
            other => other.clone(),
        }
    }

    fn dtypes(&self, op: &Op) -> Vec<Vec<DType>> {
        let all = || DType::ALL.iter().copied();
        match op {
            Op::Cast(_) => all().flat_map(|from| all().map(move |to| vec![from, to])).collect(),
            Op::Cmp(_) => all().map(|d| vec![d, d, DType::U8]).collect(),
            Op::Predicate(_) => all().map(|d| vec![d, DType::U8]).collect(),
            Op::WhereCond => all().flat_map(|cond| all().map(move |d| vec![cond, d, d, d])).collect(),
            _ => all().map(|d| vec![d; op.inputs() + 1]).collect(),
        }
    }

    fn distinctive(&self, op: &Op) -> &'static [usize] {
        if matches!(op, Op::Cast(_) | Op::WhereCond) { &[0, 1] } else { &[0] }
    }

    fn values_of(&self, op: &Op) -> &'static [usize] {
        match op {
            Op::Cast(_) => &[0, 1],
            Op::WhereCond => &[1],
            _ => &[0],
        }
    }

    fn is_elementwise(&self) -> bool {
        true
    }

    fn draw(&self, draw: &mut Draw, cell: &Cell, plan: &Plan, index: u64) -> Drawn {
        let op = cell.operation.op();
        let inputs = op.inputs();
        // One of every four cases in which all operands would be contiguous.
        if inputs > 1 && index % 12 == 11 {
            return rows(draw, inputs);
        }
        // An input may be the destination if both have the same dtype.
        let dst_dtype = cell.dst_dtype();
        let may: Vec<bool> = (0..inputs).map(|i| op.takes_dst(i) && cell.dtypes[i] == dst_dtype).collect();
        let mut in_place = vec![false; inputs];
        if index % 8 == 5 && may.contains(&true) {
            while !in_place.contains(&true) {
                in_place = may.iter().map(|&m| m && draw.chance(60)).collect();
            }
        }
        let kinds: Vec<LayoutKind> = (0..inputs)
            .map(|i| match i {
                _ if plan.plain => LayoutKind::Contiguous,
                0 => plan.input,
                _ => draw.one_of(&LayoutKind::ALL),
            })
            .chain([if inputs == 0 && !plan.plain { DST_KINDS[index as usize % 5] } else { plan.dst }])
            .collect();
        let min_rank = kinds.iter().map(|&k| layout::min_rank(k)).max().unwrap_or(0);
        let mut dims = shape::draw(draw, min_rank, shape::budget);
        // Every cell has tensors without elements.
        if index % 32 == 17 && !dims.is_empty() {
            let empty = draw.pick(0..dims.len());
            dims[empty] = 0;
        }
        let layouts = kinds
            .iter()
            .enumerate()
            .map(|(i, &k)| {
                (i == inputs || !in_place[i]).then(|| layout::draw(draw, &dims, k, plan.combine, i < inputs))
            })
            .collect();
        (dims, params::listed(op, index), layouts)
    }

    /// Turned matrices of whole vectors that are no whole tiles.
    fn fixed(&self, cell: &Cell, nth: u64) -> Option<Fixed> {
        let shape = [[2, 48, 80], [1, 272, 16]].get(nth as usize).filter(|_| *cell.operation.op() == Op::Copy)?;
        let mut turned = LayoutSpec::contiguous(3);
        (turned.0[1].order, turned.0[2].order) = (2, 1);
        Some(Fixed { layout: Some((0, turned)), ..Fixed::new(shape, &[Dist::LogUniform]) })
    }

    fn values(&self, draw: &mut Draw, _cell: &Cell, op: &Op, _shape: &[usize], input: usize) -> Option<Values> {
        (*op == Op::WhereCond && input == 0).then(|| values::of(draw, Dist::Mask))
    }

    fn params(&self, draw: &mut Draw, cell: &Cell) -> Params {
        params::draw(draw, cell)
    }
}

/// Draws a matrix whose rows are whole numbers of vectors, with an input that is one row or one
/// column: what adding a bias, scaling rows and masking columns do.
fn rows(draw: &mut Draw, inputs: usize) -> Drawn {
    let dims = vec![draw.pick(2..=9usize), draw.one_of(&[16, 32, 48, 64, 128, 272, 512])];
    let broadcast = draw.pick(0..inputs);
    let layouts = (0..=inputs).map(|i| {
        let mut spec = LayoutSpec::contiguous(2);
        if i == broadcast || (i < inputs && draw.chance(40)) {
            spec.0[draw.pick(0..2usize)].broadcast = true;
        }
        Some(spec)
    });
    let layouts = layouts.collect();
    (dims, None, layouts)
}
