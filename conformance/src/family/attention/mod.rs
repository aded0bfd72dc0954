//! Attention: grouped heads, windows that leave rows without keys, masks of every broadcast,
//! lengths below and beyond the number of keys, and special elements that rows see or do not see.
//!
//! The shape of a case contains the batch, the heads of keys, the heads of queries that share one,
//! the queries, the keys and the size of a head.

mod draw;
mod exact;
mod fixed;
#[cfg(test)]
mod fused;
mod vendor;

use super::{Family, VendorCall};
use crate::case::{Dist, Params, Values};
use crate::cells::Cell;
use crate::compare::Comparison;
use crate::generate::{Draw, Drawn, Fixed, Plan, values};
use crate::schema::Class;
use isobit_hal::{Attention, DType, Op};
use proptest::prelude::*;

pub(super) struct AttentionFamily;

/// What an input is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Query,
    Key,
    Value,
    Mask,
    Lengths,
}

impl Role {
    fn of(op: &Attention, input: usize) -> Self {
        match input {
            0 => Role::Query,
            1 => Role::Key,
            2 => Role::Value,
            3 if op.has_mask => Role::Mask,
            _ => Role::Lengths,
        }
    }
}

fn attention(op: &Op) -> &Attention {
    let Op::ScaledDotProductAttention(op) = op else { unreachable!("not an operation of the family") };
    op
}

/// Returns the exponent from which elements of queries and keys are special, and that of values. A
/// dtype without such numbers has its largest instead.
fn limits(dtype: DType) -> [i32; 2] {
    if dtype == DType::F16 { [15, 15] } else { [80, 120] }
}

impl Family for AttentionFamily {
    /// Absent parameters are those of attention to all keys.
    fn with_params(&self, op: &Op, params: &Params) -> Op {
        let &Attention { has_mask, has_lengths, .. } = attention(op);
        let number = |name| params.numbers(name).first().map(|&x| x as f32);
        let size = |name| params.sizes(name).map(|[n]: [usize; 1]| n);
        let mut op = Attention::new()
            .with_inputs(has_mask, has_lengths)
            .with_window(size("window_size_left"), size("window_size_right"));
        (op.scale, op.softcap) = (number("scale"), number("softcap"));
        Op::ScaledDotProductAttention(op)
    }

    fn dtypes(&self, op: &Op) -> Vec<Vec<DType>> {
        let op = attention(op);
        let operands = 4 + usize::from(op.has_mask) + usize::from(op.has_lengths);
        let of = |&dtype: &DType| {
            let mut dtypes = vec![dtype; operands];
            if op.has_lengths {
                dtypes[operands - 2] = DType::U32;
            }
            dtypes
        };
        DType::ALL.iter().map(of).collect()
    }

    fn input_dims(&self, op: &Op, shape: &[usize], input: usize) -> Vec<usize> {
        let [batch, kv_heads, group, m, n, d] = *shape else { unreachable!("six numbers make a case") };
        match Role::of(attention(op), input) {
            Role::Query => vec![batch, kv_heads * group, m, d],
            Role::Key | Role::Value => vec![batch, kv_heads, n, d],
            Role::Mask => vec![batch, kv_heads * group, m, n],
            Role::Lengths => vec![batch],
        }
    }

    fn draw(&self, draw: &mut Draw, cell: &Cell, plan: &Plan, _index: u64) -> Drawn {
        let shape = draw::shape(draw, cell);
        let params = draw::params(draw, cell, &shape);
        let layouts = draw::layouts(draw, cell, plan, &shape);
        (shape, Some(Params::Named(params)), layouts)
    }

    fn fixed(&self, cell: &Cell, nth: u64) -> Option<Fixed> {
        fixed::of(cell, nth)
    }

    fn values(&self, draw: &mut Draw, cell: &Cell, op: &Op, shape: &[usize], input: usize) -> Option<Values> {
        let dtype = cell.dtypes[0];
        let dist = match Role::of(attention(op), input) {
            role if cell.class() == Class::Vendor => vendor::dist(draw, role, dtype, shape[4]),
            Role::Query | Role::Key => of_scores(draw, dtype, shape[5]),
            Role::Value => of_values(draw, dtype),
            Role::Mask => of_mask(draw),
            Role::Lengths => of_lengths(draw, shape[4]),
        };
        Some(values::of(draw, dist))
    }

    fn compare_vendor(&self, call: VendorCall<'_>) -> Comparison {
        exact::compare(attention(call.op), &call)
    }
}

/// Draws a distribution of queries or keys: mostly one of which the scores are from nearly equal to
/// so far apart that one key has all the weight.
fn of_scores(draw: &mut Draw, dtype: DType, d: usize) -> Dist {
    let [limit, _] = limits(dtype);
    // One special element decides a line, so most lines of several would be special.
    if d <= 4 && draw.chance(20) {
        return draw.one_of(&[Dist::Around { exponent: limit }, Dist::LogUniform, Dist::Specials]);
    }
    draw.pick(prop_oneof![
        24 => (-3..4i32).prop_map(|scale| Dist::Uniform { scale }),
        6 => (0..9i32).prop_map(|n| Dist::Exponents { low: -n, high: n }),
        // Below the least step of integers in some segments; nothing in f16.
        2 => (-110..-80i32).prop_map(|low| Dist::Exponents { low, high: low + 12 }),
        4 => rare(),
        1 => Just(Dist::Few),
        1 => Just(Dist::Ones),
        1 => Just(Dist::Alike),
        1 => Just(Dist::Halfway),
        1 => Just(Dist::NegativeZeros),
    ])
}

/// Draws a distribution of values, of which a special one decides only its column.
fn of_values(draw: &mut Draw, dtype: DType) -> Dist {
    let [_, limit] = limits(dtype);
    if draw.chance(60) {
        return values::accumulated(draw);
    }
    draw.pick(prop_oneof![
        3 => rare(),
        1 => Just(Dist::Around { exponent: limit }),
        1 => Just(Dist::Ones),
        1 => (-149..-80i32).prop_map(|low| Dist::Exponents { low, high: low + 20 }),
    ])
}

fn rare() -> impl Strategy<Value = Dist> {
    (-1..3i32, prop::sample::select(&[64u32, 512, 4096][..])).prop_map(|(scale, of)| Dist::Rare { scale, of })
}

/// Draws a distribution of masks: from those that hide nothing to those that hide whole blocks of
/// keys, and all of them.
fn of_mask(draw: &mut Draw) -> Dist {
    draw.pick(prop_oneof![
        12 => (prop::sample::select(&[0u32, 0, 16, 64, 128, 128, 192, 224, 240, 255, 256][..]), 0..8u32)
            .prop_map(|(share, wild)| Dist::Hiding { share, wild: wild == 0 }),
        2 => (-1..8i32).prop_map(|scale| Dist::Uniform { scale }),
        1 => (0..12i32).prop_map(|n| Dist::Exponents { low: -n, high: n }),
        1 => Just(Dist::Specials),
    ])
}

/// Draws a distribution of lengths, some of which are beyond the number of keys.
fn of_lengths(draw: &mut Draw, keys: usize) -> Dist {
    Dist::Ids { below: keys as u32 + 1, wild: draw.chance(50) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every cell with its cases of `cargo xtask test --full`.
    fn cases() -> impl Iterator<Item = (&'static Cell, Vec<crate::case::Case>)> {
        let cells = Cell::all().iter().filter(|cell| cell.operation.op().family() == isobit_hal::Family::Attention);
        cells.map(|cell| (cell, crate::generate::full(cell).collect()))
    }

    #[test]
    fn every_cell_meets_each_parameter_several_blocks_and_rows_without_keys() {
        let mut seen = 0;
        for (cell, cases) in cases() {
            let count = |has: &dyn Fn(&Attention, [usize; 6]) -> bool| {
                let of = |case: &&crate::case::Case| {
                    has(attention(&case.op(cell)), case.shape[..].try_into().expect("six numbers make a case"))
                };
                cases.iter().filter(of).count()
            };
            let counts = [
                count(&|op, _| op.scale.is_some()),
                count(&|op, _| op.scale.is_some_and(|scale| scale < 0.0)),
                count(&|op, _| op.softcap.is_some()),
                count(&|op, _| op.window_size_left.is_some()),
                count(&|op, _| op.window_size_right == Some(0)),
                count(&|op, [_, _, _, m, n, _]| op.window_size_right == Some(0) && m > n),
                count(&|_, [_, _, group, ..]| group > 1),
                count(&|_, [.., n, _]| n > 128),
                count(&|_, [.., n, _]| n > 256),
                count(&|_, [.., d]| d > 128),
                count(&|_, [_, _, group, m, ..]| group * m > 64),
            ];
            assert!(counts.iter().all(|&n| n > 1), "{cell}: {counts:?}");
            seen += 1;
        }
        assert_eq!(seen, 4 * 5);
    }
}
