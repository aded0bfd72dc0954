//! Convolutions and transposed convolutions, with and without a bias. The shape of a case is
//! `[batch, input channels of a group, output channels of a group, input sizes.., taps..]`.

mod draw;
mod exact;

use super::{Family, Named, VendorCall, matmul};
use crate::case::{Dist, Params, Values};
use crate::cells::Cell;
use crate::compare::{Comparison, compare_product};
use crate::generate::{Draw, Drawn, Fixed, Plan, values};
use isobit_hal::{Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d, DType, Numerics, Op};

pub(super) struct ConvFamily;

/// The number of the bias among the inputs.
const BIAS: usize = 2;

/// The parameters of any of the operations, one number per spatial dimension.
#[derive(Debug, Clone)]
struct Setup {
    transposed: bool,
    stride: Vec<usize>,
    padding: Vec<usize>,
    padding_after: Vec<usize>,
    output_padding: Vec<usize>,
    dilation: Vec<usize>,
    groups: usize,
}

impl Setup {
    fn of(op: &Op) -> Self {
        macro_rules! setup {
            ($p:ident, $output_padding:expr, $transposed:literal) => {
                Self {
                    transposed: $transposed,
                    stride: $p.stride.into(),
                    padding: $p.padding_before.into(),
                    padding_after: $p.padding_after.into(),
                    output_padding: $output_padding.into(),
                    dilation: $p.dilation.into(),
                    groups: $p.groups,
                }
            };
        }
        match op {
            Op::Conv1d(p) => setup!(p, [0], false),
            Op::Conv2d(p) => setup!(p, [0, 0], false),
            Op::Conv3d(p) => setup!(p, [0, 0, 0], false),
            Op::ConvTranspose1d(p) => setup!(p, p.output_padding, true),
            Op::ConvTranspose2d(p) => setup!(p, p.output_padding, true),
            Op::ConvTranspose3d(p) => setup!(p, p.output_padding, true),
            _ => unreachable!("not an operation of the family"),
        }
    }

    fn rank(&self) -> usize {
        self.stride.len()
    }

    /// Returns the parameters under the names that golden vectors also use.
    fn named(&self) -> Named {
        let named = Named::default()
            .with_sizes("stride", &self.stride)
            .with_sizes("padding", &self.padding)
            .with_sizes("dilation", &self.dilation)
            .with_sizes("groups", &[self.groups]);
        let named = match self.padding_after == self.padding {
            true => named,
            false => named.with_sizes("padding_after", &self.padding_after),
        };
        if self.transposed { named.with_sizes("output_padding", &self.output_padding) } else { named }
    }

    /// Returns the dimensions of an input for a shape.
    fn input_dims(&self, shape: &[usize], input: usize) -> Vec<usize> {
        let (&[batch, channels_in, channels_out], space) = shape.split_first_chunk().expect("a shape of the family");
        let (sizes, taps) = space.split_at(self.rank());
        match (input, self.transposed) {
            (BIAS, _) => vec![self.groups * channels_out],
            (0, _) => [&[batch, self.groups * channels_in], sizes].concat(),
            (_, false) => [&[self.groups * channels_out, channels_in], taps].concat(),
            (_, true) => [&[self.groups * channels_in, channels_out], taps].concat(),
        }
    }
}

/// Sets the named parameters. hal refuses invalid ones, which a shrunk case may have.
macro_rules! with_named {
    ($op:expr, $params:ident) => {{
        let mut op = $op;
        op = $params.sizes("stride").map_or(op, |n| op.with_stride(n));
        op = $params.sizes("padding").map_or(op, |n| op.with_padding(n));
        op = $params.sizes("padding_after").map_or(op, |n| op.with_padding_by_side(op.padding_before, n));
        op = $params.sizes("dilation").map_or(op, |n| op.with_dilation(n));
        $params.sizes("groups").map_or(op, |[n]: [usize; 1]| op.with_groups(n))
    }};
}

impl Family for ConvFamily {
    fn with_params(&self, op: &Op, params: &Params) -> Op {
        match op {
            Op::Conv1d(p) => Op::Conv1d(with_named!(Conv1d::default().with_bias(p.has_bias), params)),
            Op::Conv2d(p) => Op::Conv2d(with_named!(Conv2d::default().with_bias(p.has_bias), params)),
            Op::Conv3d(p) => Op::Conv3d(with_named!(Conv3d::default().with_bias(p.has_bias), params)),
            Op::ConvTranspose1d(p) => {
                let op = with_named!(ConvTranspose1d::default().with_bias(p.has_bias), params);
                Op::ConvTranspose1d(params.sizes("output_padding").map_or(op, |n| op.with_output_padding(n)))
            }
            Op::ConvTranspose2d(p) => {
                let op = with_named!(ConvTranspose2d::default().with_bias(p.has_bias), params);
                Op::ConvTranspose2d(params.sizes("output_padding").map_or(op, |n| op.with_output_padding(n)))
            }
            Op::ConvTranspose3d(p) => {
                let op = with_named!(ConvTranspose3d::default().with_bias(p.has_bias), params);
                Op::ConvTranspose3d(params.sizes("output_padding").map_or(op, |n| op.with_output_padding(n)))
            }
            _ => unreachable!("not an operation of the family"),
        }
    }

    fn is_variant(&self, cell: &Cell) -> bool {
        cell.operation.op().inputs() > BIAS
    }

    fn input_dims(&self, op: &Op, shape: &[usize], input: usize) -> Vec<usize> {
        Setup::of(op).input_dims(shape, input)
    }

    fn draw(&self, draw: &mut Draw, cell: &Cell, plan: &Plan, index: u64) -> Drawn {
        draw::draw(draw, cell.operation.op(), cell.numerics == Some(Numerics::Block), plan, index)
    }

    /// For block products: channels of more than one segment per tap, phases with different taps,
    /// and several taps per segment; segments are wide and not, in any order.
    fn fixed(&self, cell: &Cell, nth: u64) -> Option<Fixed> {
        if cell.numerics != Some(Numerics::Block) {
            return None;
        }
        let mut setup = Setup::of(cell.operation.op());
        let rank = setup.rank();
        let (channels, sizes, taps) = match nth {
            0 => ([130, 17], [5, 4, 2], [2, 2, 2]),
            1 => ([5, 20], [12, 8, 2], [7, 5, 2]),
            _ => return None,
        };
        setup.padding.fill(1);
        setup.padding_after.fill(1);
        if nth == 0 {
            setup.stride.fill(2);
        }
        let shape = [&[2][..], &channels, &sizes[..rank], &taps[..rank]].concat();
        let mut exponents = matmul::around_wide(cell.dtypes[0]).to_vec();
        exponents.resize(cell.operation.op().inputs(), exponents[1]);
        Some(Fixed::new(&shape, &exponents).with(Params::Named(setup.named())))
    }

    fn values(&self, draw: &mut Draw, cell: &Cell, op: &Op, _shape: &[usize], input: usize) -> Option<Values> {
        let dist = match (cell.numerics, input) {
            (Some(Numerics::Vendor), _) => {
                let infinite = input == 0 && Setup::of(op).groups == 1 || input == BIAS;
                for_vendor(values::bounded(draw), cell.dtypes[0], infinite)
            }
            _ => values::accumulated(draw),
        };
        Some(values::of(draw, dist))
    }

    fn compare_vendor(&self, call: VendorCall<'_>) -> Comparison {
        compare_product(&exact::product(&Setup::of(call.op), &call), call.dtype, None, call.got)
    }
}

/// Restricts a distribution for a vendor's library: no infinities unless they are allowed, and in
/// f16 no result that overflows.
pub(super) fn for_vendor(dist: Dist, dtype: DType, infinite: bool) -> Dist {
    let f16 = dtype == DType::F16;
    match dist {
        // A library need not multiply elements outside the input, which infinite weights would
        // reveal. It may multiply the channels of other groups by 0, as cuDNN does in its matrix
        // units, which infinite elements would reveal.
        Dist::Sparse if f16 || !infinite => Dist::Few,
        // cuDNN 9 on an H200 gives 0 for some f16 results below -65504, and minus infinity for
        // others.
        Dist::Uniform { scale } if f16 => Dist::Uniform { scale: scale.min(1) },
        Dist::Integers { bits } if f16 => Dist::Integers { bits: bits.min(2) },
        Dist::Exponents { low, high } if f16 => Dist::Exponents { low, high: high.min(2) },
        dist => dist,
    }
}
