//! What the suite knows of each family of operations beyond the elementwise ones: their parameters by name, the shapes and layouts to try, and
//! which values suit them. A new operation of hal is in the suite once its family lists it here.

mod conv;
mod indexing;
mod named;
mod norm;
mod pool;
mod quantized;
mod random;
mod rope;
mod scan;
mod sort;
mod triangle;
mod upsample;

pub use named::Named;

use crate::case::{Case, Recipe, Values};
use crate::cells::Cell;
use crate::compare::Comparison;
use crate::generate::{Draw, Drawn, Plan};
use crate::report::Class;
use isobit_hal::{DType, Op, Shape};
use std::sync::OnceLock;

/// A family of operations.
pub(crate) trait Family: Sync {
    /// Every operation, with parameters that stand for any.
    fn ops(&self) -> Vec<Op>;

    /// An operation of [`ops`](Self::ops) with the parameters of a case; the numerics are set by the caller.
    fn with_params(&self, op: &Op, params: &Named) -> Op;

    /// The dtypes of its operands, inputs first and the destination last, to make cells of: those that hal's operation refuses are left out.
    fn dtypes(&self, op: &Op) -> Vec<Vec<DType>>;

    /// Which operands' dtypes tell its cells apart; the values' own dtype comes first.
    fn distinctive(&self, _op: &Op) -> &'static [usize] {
        &[0]
    }

    /// How it is compared where no vendor's library computes it.
    fn class(&self, op: &Op, dtypes: &[DType]) -> Class;

    /// Whether a vendor's library may compute it, so that there are cells of both numerics.
    fn has_numerics(&self) -> bool {
        false
    }

    /// Whether an index out of range may be reported: of a device, which reports it at whatever call synchronises next, so that nothing else may run
    /// meanwhile.
    fn may_report(&self, _op: &Op) -> bool {
        false
    }

    /// The dimensions of an input of a case's shape; `op` has the case's parameters.
    fn input_dims(&self, op: &Op, shape: &[usize], input: usize) -> Vec<usize>;

    /// Draws shape, parameters and layouts. An input without a layout is the destination itself. [`layouts`] makes those of a plan.
    fn draw(&self, draw: &mut Draw, cell: &Cell, plan: &Plan, index: u64) -> Drawn;

    /// The values of an input, where not any will do; `op` has the case's parameters, and `shape` is the case's.
    fn values(&self, draw: &mut Draw, cell: &Cell, op: &Op, shape: &[usize], input: usize) -> Option<Values> {
        let _ = (draw, cell, op, shape, input);
        None
    }

    /// Holds what a vendor's library gave, elements in logical order, to the exact result.
    fn compare_vendor(&self, call: &VendorCall<'_>) -> Comparison {
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

/// In the order of reports, by the names of their folders in the kernel tree.
static FAMILIES: &[(&str, &dyn Family)] = &[
    ("triangle", &triangle::TriangleFamily),
    ("scan", &scan::ScanFamily),
    ("norm", &norm::NormFamily),
    ("rope", &rope::RopeFamily),
    ("sort", &sort::SortFamily),
    ("indexing", &indexing::IndexingFamily),
    ("conv", &conv::ConvFamily),
    ("pool", &pool::PoolFamily),
    ("upsample", &upsample::UpsampleFamily),
    ("random", &random::RandomFamily),
    ("quantized", &quantized::QuantizedFamily),
];

/// An operation of a family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Member(usize);

struct Entry {
    family: usize,
    op: Op,
}

fn all() -> &'static [Entry] {
    static ALL: OnceLock<Vec<Entry>> = OnceLock::new();
    let of = |family: usize| FAMILIES[family].1.ops().into_iter().map(move |op| Entry { family, op });
    ALL.get_or_init(|| (0..FAMILIES.len()).flat_map(of).collect())
}

/// The families' names, in the order of reports.
pub fn names() -> impl Iterator<Item = &'static str> {
    FAMILIES.iter().map(|f| f.0)
}

impl Member {
    /// Every operation of every family.
    pub fn all() -> impl Iterator<Item = Member> {
        (0..all().len()).map(Member)
    }

    /// The operation of a name.
    pub fn find(name: &str) -> Option<Member> {
        Member::all().find(|m| m.op().name() == name)
    }

    pub(crate) fn family(self) -> &'static dyn Family {
        FAMILIES[self.family_index()].1
    }

    /// The position of its family among [`names`].
    pub fn family_index(self) -> usize {
        all()[self.0].family
    }

    /// Its position among all.
    pub fn index(self) -> usize {
        self.0
    }

    /// The operation with parameters that stand for any.
    pub fn op(self) -> &'static Op {
        &all()[self.0].op
    }

    /// The operation with given parameters.
    pub fn with_params(self, params: &Named) -> Op {
        self.family().with_params(self.op(), params)
    }

    /// How many inputs it has.
    pub fn inputs(self) -> usize {
        self.family().dtypes(self.op())[0].len() - 1
    }

    /// The dimensions of an operand; the destination comes after the inputs.
    pub(crate) fn operand_dims(self, op: &Op, shape: &[usize], operand: usize) -> Vec<usize> {
        let inputs = self.inputs();
        if operand < inputs {
            return self.family().input_dims(op, shape, operand);
        }
        let dims: Vec<Shape> = (0..inputs).map(|i| self.family().input_dims(op, shape, i).as_slice().into()).collect();
        match op.result_shape(&dims.iter().collect::<Vec<_>>()) {
            Ok(Some(result)) => result.dims().to_vec(),
            _ => shape.to_vec(),
        }
    }

    /// Whether hal takes the shapes of a case: one that was made smaller may suit no longer.
    pub(crate) fn is_well_formed(self, case: &Case) -> bool {
        let op = self.with_params(case.params.named());
        let dims: Vec<Shape> =
            (0..self.inputs()).map(|i| self.family().input_dims(&op, &case.shape, i).as_slice().into()).collect();
        op.result_shape(&dims.iter().collect::<Vec<_>>()).is_ok()
    }
}

/// Layouts as a plan asks for them: of the first input that kind, of the others any, of the destination the plan's.
pub(crate) fn layouts(draw: &mut Draw, plan: &Plan, inputs: &[Vec<usize>], dst: &[usize]) -> Vec<Option<Recipe>> {
    use crate::case::LayoutKind;
    use crate::generate::layout;
    let mut recipes = Vec::with_capacity(inputs.len() + 1);
    for (i, dims) in inputs.iter().enumerate() {
        let kind = match i {
            0 => plan.input,
            _ if plan.plain => LayoutKind::Contiguous,
            _ => draw.one_of(&LayoutKind::ALL),
        };
        recipes.push(Some(layout::draw(draw, dims, kind, plan.combine, true)));
    }
    recipes.push(Some(layout::draw(draw, dst, plan.dst, plan.combine, false)));
    recipes
}
