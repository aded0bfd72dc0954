//! What the suite knows about each family of operations: the named parameters, the shapes and
//! layouts to try, and suitable values.
//!
//! hal defines the operations and the family of each. [`of`] is exhaustive over the families, so
//! that a new operation is either in the suite or causes a compile error.

mod attention;
mod compact;
mod conv;
mod copy;
mod elementwise;
mod grid_sample;
mod index_map;
mod indexing;
mod matmul;
mod named;
mod norm;
mod operation;
mod packed;
mod pooling;
mod quantized;
mod random;
mod reduce;
mod resize;
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
use crate::generate::{Draw, Drawn, Fixed, Plan};
use isobit_hal::{DType, Layout, Op};

/// A family of operations. The default methods fit most families.
pub(crate) trait Family: Sync {
    /// Returns an operation of the family with the parameters of a case; the caller sets the
    /// numerics.
    fn with_params(&self, op: &Op, params: &Params) -> Op {
        let _ = params;
        op.clone()
    }

    /// Returns the dtypes of the operands for all cells, inputs first and the destination last.
    /// Combinations that hal's operation refuses are left out later.
    fn dtypes(&self, op: &Op) -> Vec<Vec<DType>> {
        DType::ALL.iter().map(|&dtype| vec![dtype; op.inputs() + 1]).collect()
    }

    /// Returns the operands whose dtypes distinguish the cells.
    fn distinctive(&self, _op: &Op) -> &'static [usize] {
        &[0]
    }

    /// Returns the operands that hold the values, by whose dtypes cells are selected and arranged
    /// in columns.
    fn values_of(&self, op: &Op) -> &'static [usize] {
        &self.distinctive(op)[..1]
    }

    /// Whether a device may report an index out of range. It does so at the next call that
    /// synchronises, so nothing else may run meanwhile.
    fn may_report(&self, _op: &Op) -> bool {
        false
    }

    /// See [`Cell::is_variant`].
    fn is_variant(&self, _cell: &Cell) -> bool {
        false
    }

    /// Whether each element of the result depends only on the input elements at the same position.
    fn is_elementwise(&self) -> bool {
        false
    }

    /// Returns how many leading dimensions of a case's shape may be removed while it shrinks.
    fn removable_dims(&self, rank: usize) -> usize {
        if self.is_elementwise() { rank } else { 0 }
    }

    /// Returns the dimensions of an input for a case's shape; `op` has the case's parameters.
    fn input_dims(&self, op: &Op, shape: &[usize], input: usize) -> Vec<usize> {
        let _ = (op, input);
        shape.to_vec()
    }

    /// Changes the layouts of the tensors that are passed as inputs, which a case describes over
    /// the result, to others of the same meaning.
    fn pass(&self, layouts: &mut [Layout]) {
        let _ = layouts;
    }

    /// Draws the shape, parameters and layouts. An input without a layout is the destination
    /// itself. [`layouts`] returns the layouts of a plan.
    fn draw(&self, draw: &mut Draw, cell: &Cell, plan: &Plan, index: u64) -> Drawn;

    /// Returns number `nth` of the few cases that are the same for every seed, or `None` to draw it
    /// like any other.
    fn fixed(&self, cell: &Cell, nth: u64) -> Option<Fixed> {
        let _ = (cell, nth);
        None
    }

    /// Returns the values of an input, or `None` if any values will do; `op` has the case's
    /// parameters, and `shape` is the case's shape.
    fn values(&self, draw: &mut Draw, cell: &Cell, op: &Op, shape: &[usize], input: usize) -> Option<Values> {
        let _ = (draw, cell, op, shape, input);
        None
    }

    /// Returns parameters that do not depend on the shape: these are drawn last.
    fn params(&self, draw: &mut Draw, cell: &Cell) -> Params {
        let _ = (draw, cell);
        Params::None
    }

    /// Compares the result of a vendor's library, with the elements in logical order, with the
    /// exact result.
    fn compare_vendor(&self, call: VendorCall<'_>) -> Comparison {
        unreachable!("{} has no vendor numerics", call.op)
    }
}

/// A case that a vendor's library computed.
pub(crate) struct VendorCall<'a> {
    /// The operation with its parameters.
    pub op: &'a Op,
    /// The dtype of the result.
    pub dtype: DType,
    /// The dimensions of the inputs.
    pub input_dims: Vec<Vec<usize>>,
    /// The exact values of the inputs in logical order.
    pub inputs: Vec<Vec<f64>>,
    /// The result, with the elements in logical order.
    pub got: &'a [u8],
}

/// Returns what the suite knows about a family.
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
        F::Attention => &attention::AttentionFamily,
        F::Sort => &sort::SortFamily,
        F::Indexing => &indexing::IndexingFamily,
        F::Compact => &compact::CompactFamily,
        F::Conv => &conv::ConvFamily,
        F::Pooling => &pooling::PoolFamily,
        F::Upsample => &upsample::UpsampleFamily,
        F::Resize => &resize::ResizeFamily,
        F::GridSample => &grid_sample::GridSampleFamily,
        F::IndexMap => &index_map::IndexMapFamily,
        F::Random => &random::RandomFamily,
        F::Packed => &packed::PackedFamily,
        F::Quantized => &quantized::QuantizedFamily,
    }
}

/// Draws layouts for a plan: the plan's kind for the first input, any kind for the others, and the
/// plan's kind for the destination.
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

/// Returns the dtypes of a source and of positions in it. Those of 64 bits are tried with one dtype
/// of each size: the kernels tell no more apart.
fn of_positions() -> Vec<Vec<DType>> {
    let wide = [DType::U8, DType::F16, DType::F32, DType::I64].map(|d| vec![d, DType::I64]);
    DType::ALL.iter().map(|&d| vec![d, DType::U32]).chain(wide).collect()
}
