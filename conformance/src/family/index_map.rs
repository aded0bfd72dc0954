//! Flips, rolls, padding, repetition and concatenation: one dimension or several, amounts from none
//! to more than the size, crops, units of every size, and long rows.
//!
//! The shape of a case is that of the input. For a concatenation it is that of the first input,
//! followed by the size of each input along the dimension.

use super::{Family, Named, layouts};
use crate::case::Params;
use crate::cells::Cell;
use crate::generate::{Draw, Drawn, Plan, layout, shape};
use isobit_hal::{Concat, Flip, Op, Pad, PadMode, Repeat, Roll, Scalar};

pub(super) struct IndexMapFamily;

/// The most elements of a result, apart from what a single dimension adds.
const MOST: usize = 24_000;

/// Rows of more than one part.
const LONG: [usize; 5] = [2049, 2056, 4096, 4099, 8200];

fn signed(params: &Params, name: &str) -> Vec<isize> {
    params.numbers(name).into_iter().map(|x| x as isize).collect()
}

fn unsigned(params: &Params, name: &str) -> Vec<usize> {
    params.numbers(name).into_iter().map(|x| x as usize).collect()
}

/// Returns how many times as large a result of these dimensions may become.
fn room(dims: &[usize]) -> usize {
    MOST / dims.iter().map(|&d| d.max(1)).product::<usize>().max(1)
}

impl Family for IndexMapFamily {
    fn with_params(&self, op: &Op, params: &Params) -> Op {
        match op {
            Op::Flip(_) => Op::Flip(Flip::new(&unsigned(params, "dims"))),
            Op::Roll(_) => Op::Roll(Roll::new(&signed(params, "shifts"), &unsigned(params, "dims"))),
            Op::Pad(pad) => {
                let mode = match (params.size("mode"), pad.mode) {
                    (0, PadMode::Constant(value)) => {
                        let halves = unsigned(params, "bits");
                        let half = |i: usize| halves.get(i).map_or(0, |&half| half as u64);
                        PadMode::Constant(Scalar::from_bits(value.dtype(), half(1) << 32 | half(0)))
                    }
                    (1, _) => PadMode::Reflect,
                    (2, _) => PadMode::Replicate,
                    _ => PadMode::Circular,
                };
                Op::Pad(Pad::new(&signed(params, "before"), &signed(params, "after"), mode))
            }
            Op::Repeat(_) => Op::Repeat(Repeat::new(&unsigned(params, "repeats"))),
            other => Op::Concat(Concat::new(params.size("dim"), other.inputs())),
        }
    }

    fn input_dims(&self, op: &Op, shape: &[usize], input: usize) -> Vec<usize> {
        let Op::Concat(p) = op else { return shape.to_vec() };
        let (dims, sizes) = shape.split_at(shape.len().saturating_sub(p.inputs));
        let mut dims = dims.to_vec();
        // hal refuses a dimension that does not exist.
        if let (Some(d), Some(&size)) = (dims.get_mut(p.dim), sizes.get(input)) {
            *d = size;
        }
        dims
    }

    fn draw(&self, draw: &mut Draw, cell: &Cell, plan: &Plan, index: u64) -> Drawn {
        let op = cell.operation.op();
        let rank = layout::min_rank(plan.input).max(layout::min_rank(plan.dst)).max(1);
        let mut dims = if index % 16 == 3 {
            let mut dims: Vec<usize> = (0..rank).map(|_| draw.one_of(&[1, 2, 3])).collect();
            dims[rank - 1] = draw.one_of(&LONG);
            dims
        } else {
            shape::draw(draw, rank, shape::budget)
        };
        if plan.plain && draw.chance(60) {
            // Whole vectors of every dtype.
            let last = dims.len() - 1;
            dims[..last].iter_mut().for_each(|d| *d = (*d).min(5));
            dims[last] = draw.one_of(&[16, 32, 48, 64, 272]);
        }
        let named = match op {
            Op::Flip(_) => Named::default().with_sizes("dims", &some_dims(draw, dims.len())),
            Op::Roll(_) => rolled(draw, &dims),
            Op::Pad(_) => padded(draw, &dims),
            Op::Repeat(_) => repeated(draw, &dims),
            _ => {
                let dim = draw.pick(0..dims.len());
                let lines: usize = (0..dims.len()).filter(|&d| d != dim).map(|d| dims[d].max(1)).product();
                let around = [dims[dim], dims[dim], 1, dims[dim] / 2, dims[dim] + 1, 16, 32];
                let sizes: Vec<usize> = (0..op.inputs())
                    .map(|_| if draw.chance(15) { 0 } else { draw.one_of(&around).min((MOST / lines).max(1)) })
                    .collect();
                dims.extend(sizes);
                Named::default().with_sizes("dim", &[dim])
            }
        };
        let params = Params::Named(named);
        let op = cell.operation.with_params(&cell.dtypes, &params);
        let operand = |i: usize| cell.operation.operand_dims(&op, &dims, i);
        let inputs: Vec<_> = (0..op.inputs()).map(operand).collect();
        let layouts = layouts(draw, plan, &inputs, &operand(op.inputs()));
        (dims, Some(params), layouts)
    }
}

/// Draws some of the dimensions, in any order.
fn some_dims(draw: &mut Draw, rank: usize) -> Vec<usize> {
    let mut dims: Vec<usize> = (0..rank).filter(|_| draw.chance(50)).collect();
    if dims.is_empty() && draw.chance(80) {
        dims.push(draw.pick(0..rank));
    }
    if draw.chance(50) {
        dims.reverse();
    }
    dims
}

fn rolled(draw: &mut Draw, dims: &[usize]) -> Named {
    let mut named = some_dims(draw, dims.len());
    if !named.is_empty() && draw.chance(15) {
        named.push(named[0]);
    }
    let shifts: Vec<f64> = named
        .iter()
        .map(|&d| {
            let n = dims[d] as f64;
            let far = [1e6 + 1.0, -1e6 - 3.0, i64::MAX as f64, i64::MIN as f64];
            let shift =
                draw.one_of(&[1.0, -1.0, 2.0, 16.0, -32.0, n, -n, (n / 2.0).trunc(), 3.0 * n + 1.0, -2.0 * n - 1.0]);
            if draw.chance(10) { draw.one_of(&far) } else { shift }
        })
        .collect();
    Named::default().with_sizes("dims", &named).with("shifts", &shifts)
}

fn padded(draw: &mut Draw, dims: &[usize]) -> Named {
    let mode = draw.pick(0..4usize);
    let mut result = dims.to_vec();
    let mut amounts = [vec![0f64; dims.len()], vec![0f64; dims.len()]];
    let whole = draw.chance(30);
    for d in 0..dims.len() {
        if draw.chance(40) {
            continue;
        }
        let (size, mut kept) = (dims[d], dims[d]);
        let mut crops = [0; 2];
        for crop in &mut crops {
            if draw.chance(20) {
                let most = kept.min(size);
                *crop = draw.one_of(&[1, 2, 16, size / 2, size]).min(most);
                kept -= *crop;
            }
        }
        // What the mode allows, and what keeps the result small.
        let most = match mode {
            0 => usize::MAX,
            1 => kept.saturating_sub(1),
            2 if kept == 0 => 0,
            2 => usize::MAX,
            _ => kept,
        };
        let grow = room(&result) * result[d].max(1);
        for (side, crop) in crops.into_iter().enumerate() {
            let amount = if whole { draw.one_of(&[16, 32, 48]) } else { draw.one_of(&[0, 1, 1, 2, 3, 7, 8, 33, size]) };
            let amount = amount.min(most).min(grow / 3);
            amounts[side][d] = if crop > 0 { -(crop as f64) } else { amount as f64 };
            result[d] += amount;
        }
    }
    let [before, after] = amounts;
    // Among the constants are values of every bit pattern, NaN included.
    let bits = [0, 1].map(|_| if draw.chance(30) { 0.0 } else { f64::from(draw.pick(0..=u32::MAX)) });
    Named::default().with_sizes("mode", &[mode]).with("bits", &bits).with("before", &before).with("after", &after)
}

fn repeated(draw: &mut Draw, dims: &[usize]) -> Named {
    let new = draw.one_of(&[0, 0, 1, 2]);
    let mut total = dims.iter().map(|&d| d.max(1)).product::<usize>();
    let repeats: Vec<usize> = (0..new + dims.len())
        .map(|_| {
            let times = draw.one_of(&[1, 1, 2, 3, 5, 17]).min((MOST / total).max(1));
            total *= times;
            if draw.chance(2) { 0 } else { times }
        })
        .collect();
    Named::default().with_sizes("repeats", &repeats)
}

/// Returns the operation for elements of a dtype: a padding has a constant of it.
pub(super) fn of_dtype(op: &Op, dtype: isobit_hal::DType) -> Op {
    match op {
        Op::Pad(pad) => Op::Pad(Pad::new(&pad.before, &pad.after, PadMode::Constant(Scalar::zero(dtype)))),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobit_hal::{DType, Family};

    #[test]
    fn every_cell_meets_every_mode_crops_empty_inputs_and_long_rows() {
        let cells = Cell::all().iter().filter(|c| c.operation.op().family() == Family::IndexMap);
        let mut seen = 0;
        for cell in cells {
            let cases: Vec<_> = crate::generate::full(cell).collect();
            for case in &cases {
                assert!(cell.operation.is_well_formed(&cell.dtypes, case), "{cell}: {case:?}");
            }
            let count =
                |holds: &dyn Fn(&Op, &[usize]) -> bool| cases.iter().filter(|c| holds(&c.op(cell), &c.shape)).count();
            match cell.operation.name() {
                "pad" => {
                    for mode in [PadMode::Reflect, PadMode::Replicate, PadMode::Circular] {
                        assert!(count(&|op, _| matches!(op, Op::Pad(p) if p.mode == mode)) > 5, "{cell} {mode:?}");
                    }
                    assert!(count(&|op, _| matches!(op, Op::Pad(p) if matches!(p.mode, PadMode::Constant(_)))) > 5);
                    assert!(count(&|op, _| matches!(op, Op::Pad(p) if p.before.iter().any(|&b| b < 0))) > 5);
                }
                "concat" => {
                    let some_empty = |_: &Op, shape: &[usize]| shape[shape.len() - 5..].contains(&0);
                    assert!(count(&some_empty) > 10 && count(&|op, s| !some_empty(op, s)) > 10, "{cell}");
                }
                _ => {}
            }
            assert!(count(&|_, shape| shape.iter().any(|&d| d > 2048)) > 2, "{cell}");
            seen += 1;
        }
        assert_eq!(seen, 5 * DType::ALL.len());
    }
}
