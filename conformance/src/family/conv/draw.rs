//! Shapes and parameters: channels around the tile sizes, sums around the segments of 256, windows
//! that extend over the edges, and phases without taps.

use super::Setup;
use crate::case::Params;
use crate::family::{Family, layouts};
use crate::generate::{Draw, Drawn, Plan};
use isobit_hal::{Op, Shape};

/// The number of multiplications in a case.
const BUDGET: usize = 1 << 19;
/// The same of block products in tiles of 64 x 64 results by 128 products, because simulated cards
/// multiply whole tiles.
const TILES: usize = 8;
const TILE: usize = 64;
const SEGMENT: usize = 128;

const CHANNELS_IN: &[usize] = &[1, 1, 2, 3, 4, 5, 8, 16, 29, 33, 64, 65, 128];
const CHANNELS_OUT: &[usize] = &[1, 1, 2, 3, 4, 5, 7, 15, 16, 17, 20, 32, 33, 63, 64, 65, 100, 129];
/// For block products, which fewer channels do not have.
const CHANNELS_OUT_OF_BLOCKS: &[usize] = &[15, 16, 16, 17, 20, 32, 33, 63, 64, 65, 100, 129];
const TAPS: &[usize] = &[1, 2, 3, 3, 3, 4, 5, 7];
const TAPS_OF_BLOCKS: &[usize] = &[1, 2, 2, 3];
const STRIDES: &[usize] = &[1, 1, 1, 2, 2, 3, 4, 6];
const DILATIONS: &[usize] = &[1, 1, 1, 2, 3, 4];
const PADDINGS: &[usize] = &[0, 0, 1, 1, 2, 3, 6];
const GROUPS: &[usize] = &[1, 1, 1, 1, 2, 3, 4, 8, 31];
/// Taps along every dimension, and groups, of convolutions with one channel in a group.
const TAPS_OF_DEPTHWISE: &[usize] = &[3, 3, 5, 7];
const GROUPS_OF_DEPTHWISE: &[usize] = &[1, 2, 3, 8, 31];
const SIZES: &[usize] =
    &[1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 28, 31, 32, 33, 63, 65, 127, 128, 129, 255, 257, 511, 513];

pub(super) fn draw(draw: &mut Draw, op: &Op, blocks: bool, plan: &Plan, index: u64) -> Drawn {
    let mut setup = Setup::of(op);
    let rank = setup.rank();
    let mut left = if blocks { TILES } else { BUDGET };
    let fit = |draw: &mut Draw, left: &mut usize, choices: &[usize], tile: usize| {
        let cost = |size: usize| if blocks { size.div_ceil(tile) } else { size };
        let fitting: Vec<usize> = choices.iter().copied().filter(|&c| cost(c) <= *left).collect();
        let size = draw.one_of(&fitting);
        *left /= cost(size);
        size
    };
    // One tap for every output: the convolution is then a plain product.
    let pointwise = draw.chance(12);
    let each = |draw: &mut Draw, choices: &[usize], plain: usize| -> Vec<usize> {
        (0..rank).map(|_| if pointwise { plain } else { draw.one_of(choices) }).collect()
    };
    setup.stride = each(draw, STRIDES, 1);
    setup.dilation = each(draw, DILATIONS, 1);
    setup.padding = each(draw, PADDINGS, 0);
    // Not in the first cases, whose results are recorded.
    let is_late = !pointwise && index >= 8;
    let (is_by_side, is_depthwise) = (is_late && index % 3 == 2, is_late && !blocks && index % 8 == 5);
    let mut taps = each(draw, if blocks { TAPS_OF_BLOCKS } else { TAPS }, 1);
    if is_depthwise {
        taps.fill(draw.one_of(TAPS_OF_DEPTHWISE));
        setup.stride.fill(1);
        setup.dilation.fill(1);
    }
    taps.iter().for_each(|t| left /= t);
    left = left.max(1);
    let [of_input, of_output, groups] = match (blocks, is_depthwise) {
        (_, true) => [&[1], &[1], GROUPS_OF_DEPTHWISE],
        (true, _) => [CHANNELS_IN, CHANNELS_OUT_OF_BLOCKS, GROUPS],
        _ => [CHANNELS_IN, CHANNELS_OUT, GROUPS],
    };
    let mut channels_in = fit(draw, &mut left, of_input, SEGMENT);
    let channels_out = fit(draw, &mut left, of_output, TILE);
    setup.groups = fit(draw, &mut left, groups, 1);
    let mut batch = fit(draw, &mut left, &[1, 1, 2, 2, 3, 5], 1);

    // The outputs share the remaining budget.
    left *= if blocks { TILE } else { 1 };
    let most = match rank {
        1 => left,
        2 => left.isqrt(),
        _ => (left as f64).cbrt() as usize,
    };
    let mut sizes = Vec::with_capacity(rank);
    for (d, &taps) in taps.iter().enumerate().take(rank) {
        let extent = setup.dilation[d] * (taps - 1);
        let per_output = if setup.transposed { setup.stride[d] } else { 1 };
        let fitting: Vec<usize> = SIZES.iter().copied().filter(|&s| s * per_output <= most.max(per_output)).collect();
        let mut size = draw.one_of(&fitting);
        if setup.transposed {
            if !pointwise && draw.chance(40) {
                setup.output_padding[d] = draw.pick(0..setup.stride[d].max(setup.dilation[d]));
            }
            let whole = (size - 1) * setup.stride[d] + extent + setup.output_padding[d] + 1;
            setup.padding[d] = setup.padding[d].min(whole / 2);
            setup.padding_after[d] = if is_by_side { draw.pick(0..=whole / 2) } else { setup.padding[d] };
        } else {
            // At least one window, and sometimes an input that consists only of padding.
            setup.padding_after[d] = if is_by_side { draw.one_of(PADDINGS) } else { setup.padding[d] };
            let least = (extent + 1).saturating_sub(setup.padding[d] + setup.padding_after[d]);
            size = if least == 0 && draw.chance(10) { 0 } else { size.max(least).max(1) };
        }
        sizes.push(size);
    }
    match draw.pick(0..100) {
        0 => batch = 0,
        1 => channels_in = 0,
        _ => {}
    }
    let shape = [&[batch, channels_in, channels_out][..], &sizes, &taps].concat();
    let params = Params::Named(setup.named());
    let op = super::ConvFamily.with_params(op, &params);
    let inputs: Vec<Vec<usize>> = (0..op.inputs()).map(|i| setup.input_dims(&shape, i)).collect();
    let shapes: Vec<Shape> = inputs.iter().map(|dims| dims.as_slice().into()).collect();
    let result = op.result_shape(&shapes.iter().collect::<Vec<_>>());
    let dst = result.expect("windows were fitted").expect("the inputs' shapes make the result's");
    let layouts = layouts(draw, plan, &inputs, dst.dims());
    (shape, Some(params), layouts)
}
