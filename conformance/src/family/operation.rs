//! The operations of the suite: hal's operations, by the names that reports and the command line
//! use.

use super::{Family, copy, of};
use crate::case::{Case, Params};
use isobit_hal::{DType, Op, Scalar, Shape};
use std::sync::OnceLock;

/// An operation without its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Operation(usize);

struct Entry {
    name: &'static str,
    op: Op,
    family: &'static dyn Family,
}

fn entries() -> &'static [Entry] {
    static ENTRIES: OnceLock<Vec<Entry>> = OnceLock::new();
    ENTRIES.get_or_init(|| {
        let entry = |op: Op| Entry { name: op.name(), family: of(op.family()), op };
        let with_forms = |op: Op| {
            // A copy of rows is a separate method of storages but the same operation.
            let rows = (op == Op::Copy).then(|| Entry { name: copy::COPY2D, op: Op::Copy, family: &copy::Copy2dForm });
            std::iter::once(entry(op)).chain(rows)
        };
        Op::examples().into_iter().flat_map(with_forms).collect()
    })
}

impl Operation {
    /// Returns every operation, in the order of reports.
    pub fn all() -> impl Iterator<Item = Operation> {
        (0..entries().len()).map(Operation)
    }

    /// Returns the operation with a name.
    pub fn find(name: &str) -> Option<Operation> {
        Operation::all().find(|operation| operation.name() == name)
    }

    fn entry(self) -> &'static Entry {
        &entries()[self.0]
    }

    /// Returns its position among all operations.
    pub fn index(self) -> usize {
        self.0
    }

    /// Returns the name, as the command line and reports spell it.
    pub fn name(self) -> &'static str {
        self.entry().name
    }

    /// Returns hal's operation with placeholder parameters.
    pub fn op(self) -> &'static Op {
        &self.entry().op
    }

    /// Returns what the suite knows about its family.
    pub(crate) fn family(self) -> &'static dyn Family {
        self.entry().family
    }

    /// Returns hal's operation for operands of the given dtypes, with placeholder parameters.
    pub fn at(self, dtypes: &[DType]) -> Op {
        match (self.op(), dtypes) {
            (Op::Fill(_), [dtype]) => Op::Fill(Scalar::zero(*dtype)),
            (Op::Pad(_), [dtype, ..]) => super::index_map::of_dtype(self.op(), *dtype),
            (op, _) => op.clone(),
        }
    }

    /// Returns hal's operation for operands of the given dtypes, with the given parameters.
    pub fn with_params(self, dtypes: &[DType], params: &Params) -> Op {
        self.family().with_params(&self.at(dtypes), params)
    }

    /// Returns the number of inputs.
    pub fn inputs(self) -> usize {
        self.op().inputs()
    }

    /// Whether the dtype of the values comes first among the dtypes that distinguish the cells.
    pub(crate) fn names_values_first(self) -> bool {
        let (distinctive, values) = (self.family().distinctive(self.op()), self.family().values_of(self.op()));
        distinctive.first() == values.last()
    }

    /// Returns the shapes of the inputs for a case's shape; `op` has the case's parameters.
    fn input_shapes(self, op: &Op, shape: &[usize]) -> Vec<Shape> {
        (0..self.inputs()).map(|i| self.family().input_dims(op, shape, i).into()).collect()
    }

    /// Returns the dimensions of an operand; the destination comes after the inputs.
    pub(crate) fn operand_dims(self, op: &Op, shape: &[usize], operand: usize) -> Vec<usize> {
        if operand < self.inputs() {
            return self.family().input_dims(op, shape, operand);
        }
        match op.result_shape(&self.input_shapes(op, shape).iter().collect::<Vec<_>>()) {
            Ok(Some(result)) => result.dims().to_vec(),
            _ => shape.to_vec(),
        }
    }

    /// Whether hal accepts the shapes of a case; after shrinking it may not.
    pub(crate) fn is_well_formed(self, dtypes: &[DType], case: &Case) -> bool {
        let op = self.with_params(dtypes, &case.params);
        op.result_shape(&self.input_shapes(&op, &case.shape).iter().collect::<Vec<_>>()).is_ok()
    }
}
