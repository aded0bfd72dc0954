//! Matrix products: sizes around tiles, inner sizes around the segments of 256, batches and broadcast batches.

use super::{Draw, Drawn, Plan, layout};
use crate::case::{LayoutKind, Params};
use proptest::sample::select;

const OUTER: &[usize] = &[1, 1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 63, 64, 65, 100, 127, 128, 129, 257];
const INNER: &[usize] = &[
    0, 1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 300, 511, 512, 513, 769,
    1025,
];
/// Multiplications in a case.
const BUDGET: usize = 1 << 19;

pub fn draw(draw: &mut Draw, plan: &Plan) -> Drawn {
    let min_rank = layout::min_rank(plan.input).max(layout::min_rank(plan.dst)).max(2);
    let batch_rank = draw.one_of(&[0usize, 0, 0, 1, 1, 2, 2, 4]).max(min_rank - 2);
    let k = draw.pick(select(INNER));
    let mut left = BUDGET / k.max(16);
    let mut fit = |draw: &mut Draw, choices: &[usize]| {
        let fitting: Vec<usize> = choices.iter().copied().filter(|&c| c <= left).collect();
        let size = draw.one_of(&fitting);
        left /= size;
        size
    };
    let (mut m, n) = (fit(draw, OUTER), fit(draw, OUTER));
    let mut shape: Vec<usize> = (0..batch_rank).map(|_| fit(draw, &[1, 2, 3, 5])).collect();
    if draw.chance(3) {
        m = 0;
    }
    let batch = shape.clone();
    shape.extend([m, k, n]);
    let dims = |last: [usize; 2]| [&batch[..], &last].concat();
    let rhs_kind = if plan.plain { LayoutKind::Contiguous } else { draw.one_of(&LayoutKind::ALL) };
    let lhs = layout::draw(draw, &dims([m, k]), plan.input, plan.combine, true);
    let rhs = layout::draw(draw, &dims([k, n]), rhs_kind, plan.combine, true);
    let dst = layout::draw(draw, &dims([m, n]), plan.dst, plan.combine, false);
    (shape, Some(Params::None), vec![Some(lhs), Some(rhs), Some(dst)])
}
