//! What the suite knows of each family of operations: their parameters by name, the shapes and
//! layouts to try, and which values suit them.
//!
//! hal says which operations there are and to which family each belongs; [`of`] is exhaustive over
//! the families, so that a new operation is in the suite, or does not compile, from the day it is
//! declared.

mod conv;
mod copy;
mod elementwise;
mod indexing;
mod matmul;
mod named;
mod norm;
mod operation;
mod pooling;
mod quantized;
mod random;
mod reduce;
mod rope;
mod scan;
mod sort;
mod triangle;
mod upsample;

pub(crate) use copy::COPY2D;
pub use named::Named;
pub use operation::Operation;

use crate::case::{LayoutSpec, Params, Values};
use crate::cells::Cell;
use crate::compare::Comparison;
use crate::generate::{Draw, Drawn, Plan};
use isobit_hal::{DType, Op};

/// A family of operations. What most families do is the default.
pub(crate) trait Family: Sync {
    /// An operation of the family with the parameters of a case; the numerics are set by the
    /// caller.
    fn with_params(&self, op: &Op, params: &Params) -> Op {
        let _ = params;
        op.clone()
    }

    /// The dtypes of its operands, inputs first and the destination last, to make cells of: those
    /// that hal's operation refuses are left out.
    fn dtypes(&self, op: &Op) -> Vec<Vec<DType>> {
        DType::ALL.iter().map(|&dtype| vec![dtype; op.inputs() + 1]).collect()
    }

    /// Which operands' dtypes tell its cells apart.
    fn distinctive(&self, _op: &Op) -> &'static [usize] {
        &[0]
    }

    /// Which of those are the values' own, by which cells are chosen and set side by side.
    fn values_of(&self, op: &Op) -> &'static [usize] {
        &self.distinctive(op)[..1]
    }

    /// Whether an index out of range may be reported: of a device, which reports it at whatever
    /// call synchronises next, so that nothing else may run meanwhile.
    fn may_report(&self, _op: &Op) -> bool {
        false
    }

    /// Whether each element of the result comes from the inputs' elements at its own place.
    fn is_elementwise(&self) -> bool {
        false
    }

    /// How many leading dimensions of a case's shape may be removed while it shrinks.
    fn removable_dims(&self, rank: usize) -> usize {
        if self.is_elementwise() { rank } else { 0 }
    }

    /// The dimensions of an input of a case's shape; `op` has the case's parameters.
    fn input_dims(&self, op: &Op, shape: &[usize], input: usize) -> Vec<usize> {
        let _ = (op, input);
        shape.to_vec()
    }

    /// Draws shape, parameters and layouts. An input without a layout is the destination itself.
    /// [`layouts`] makes those of a plan.
    fn draw(&self, draw: &mut Draw, cell: &Cell, plan: &Plan, index: u64) -> Drawn;

    /// The values of an input, where not any will do; `op` has the case's parameters, and `shape`
    /// is the case's.
    fn values(&self, draw: &mut Draw, cell: &Cell, op: &Op, shape: &[usize], input: usize) -> Option<Values> {
        let _ = (draw, cell, op, shape, input);
        None
    }

    /// Parameters that do not go with the shape: drawn last.
    fn params(&self, draw: &mut Draw, cell: &Cell) -> Params {
        let _ = (draw, cell);
        Params::None
    }

    /// Holds what a vendor's library gave, elements in logical order, to the exact result.
    fn compare_vendor(&self, call: VendorCall<'_>) -> Comparison {
        unreachable!("{} has no vendor numerics", call.op)
    }
}

/// A case that a vendor's library computed.
pub(crate) struct VendorCall<'a> {
    /// The operation with its parameters.
    pub op: &'a Op,
    /// Of the result.
    pub dtype: DType,
    /// The inputs' dimensions.
    pub input_dims: Vec<Vec<usize>>,
    /// The inputs' exact values in logical order.
    pub inputs: Vec<Vec<f64>>,
    /// The result, elements in logical order.
    pub got: &'a [u8],
}

/// What the suite knows of a family.
fn of(family: isobit_hal::Family) -> &'static dyn Family {
    use isobit_hal::Family as F;
    match family {
        F::Fill | F::Copy | F::Cast | F::Affine | F::Unary | F::Binary | F::Compare | F::Select | F::BiasActivation => {
            &elementwise::ElementwiseFamily
        }
        F::Reduce => &reduce::ReduceFamily,
        F::Matmul => &matmul::MatmulFamily,
        F::Triangle => &triangle::TriangleFamily,
        F::Scan => &scan::ScanFamily,
        F::Norm => &norm::NormFamily,
        F::Rope => &rope::RopeFamily,
        F::Sort => &sort::SortFamily,
        F::Indexing => &indexing::IndexingFamily,
        F::Conv => &conv::ConvFamily,
        F::Pooling => &pooling::PoolFamily,
        F::Upsample => &upsample::UpsampleFamily,
        F::Random => &random::RandomFamily,
        F::Quantized => &quantized::QuantizedFamily,
    }
}

/// Layouts as a plan asks for them: of the first input that kind, of the others any, of the
/// destination the plan's.
pub(crate) fn layouts(draw: &mut Draw, plan: &Plan, inputs: &[Vec<usize>], dst: &[usize]) -> Vec<Option<LayoutSpec>> {
    use crate::case::LayoutKind;
    use crate::generate::layout;
    let mut layouts = Vec::with_capacity(inputs.len() + 1);
    for (i, dims) in inputs.iter().enumerate() {
        let kind = match i {
            0 => plan.input,
            _ if plan.plain => LayoutKind::Contiguous,
            _ => draw.one_of(&LayoutKind::ALL),
        };
        layouts.push(Some(layout::draw(draw, dims, kind, plan.combine, true)));
    }
    layouts.push(Some(layout::draw(draw, dst, plan.dst, plan.combine, false)));
    layouts
}
