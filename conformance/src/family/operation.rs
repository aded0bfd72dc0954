//! The operations of the suite: hal's, by the names that reports and the command line give them.

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
            // A copy of rows is a method of storages with a name of its own, and the same
            // operation.
            let rows = (op == Op::Copy).then(|| Entry { name: copy::COPY2D, op: Op::Copy, family: &copy::Copy2dForm });
            std::iter::once(entry(op)).chain(rows)
        };
        Op::examples().into_iter().flat_map(with_forms).collect()
    })
}

impl Operation {
    /// Every operation, in the order of reports.
    pub fn all() -> impl Iterator<Item = Operation> {
        (0..entries().len()).map(Operation)
    }

    /// The operation of a name.
    pub fn find(name: &str) -> Option<Operation> {
        Operation::all().find(|operation| operation.name() == name)
    }

    fn entry(self) -> &'static Entry {
        &entries()[self.0]
    }

    /// Its position among all.
    pub fn index(self) -> usize {
        self.0
    }

    /// The name, as the command line and reports spell it.
    pub fn name(self) -> &'static str {
        self.entry().name
    }

    /// hal's operation, with parameters that stand for any.
    pub fn op(self) -> &'static Op {
        &self.entry().op
    }

    /// What the suite knows of its family.
    pub(crate) fn family(self) -> &'static dyn Family {
        self.entry().family
    }

    /// hal's operation for operands of given dtypes, with parameters that stand for any.
    pub fn at(self, dtypes: &[DType]) -> Op {
        match (self.op(), dtypes) {
            (Op::Fill(_), [dtype]) => Op::Fill(Scalar::zero(*dtype)),
            (op, _) => op.clone(),
        }
    }

    /// hal's operation for operands of given dtypes, with given parameters.
    pub fn with_params(self, dtypes: &[DType], params: &Params) -> Op {
        self.family().with_params(&self.at(dtypes), params)
    }

    /// How many inputs it has.
    pub fn inputs(self) -> usize {
        self.op().inputs()
    }

    /// Whether the dtype of the values comes first among those that tell cells apart.
    pub(crate) fn names_values_first(self) -> bool {
        let (distinctive, values) = (self.family().distinctive(self.op()), self.family().values_of(self.op()));
        distinctive.first() == values.last()
    }

    /// The shapes of the inputs of a case of a shape; `op` has the case's parameters.
    fn input_shapes(self, op: &Op, shape: &[usize]) -> Vec<Shape> {
        (0..self.inputs()).map(|i| self.family().input_dims(op, shape, i).into()).collect()
    }

    /// The dimensions of an operand; the destination comes after the inputs.
    pub(crate) fn operand_dims(self, op: &Op, shape: &[usize], operand: usize) -> Vec<usize> {
        if operand < self.inputs() {
            return self.family().input_dims(op, shape, operand);
        }
        match op.result_shape(&self.input_shapes(op, shape).iter().collect::<Vec<_>>()) {
            Ok(Some(result)) => result.dims().to_vec(),
            _ => shape.to_vec(),
        }
    }

    /// Whether hal takes the shapes of a case: one that was made smaller may suit no longer.
    pub(crate) fn is_well_formed(self, dtypes: &[DType], case: &Case) -> bool {
        let op = self.with_params(dtypes, &case.params);
        op.result_shape(&self.input_shapes(&op, &case.shape).iter().collect::<Vec<_>>()).is_ok()
    }
}
