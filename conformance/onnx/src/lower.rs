//! From operators of ONNX to operations of the HAL: one table for each subject.
//!
//! An operator that is an operation of the HAL is a line of a table. The others name a function,
//! which composes operations. Values that ONNX has in tensors and the HAL in parameters, such as
//! shapes and positions of slices, are read back from the device.

mod attention;
mod boxes;
mod cast;
mod compact;
mod composed;
mod control;
mod conv;
mod det;
mod einsum;
mod elementwise;
mod grid_sample;
mod index;
mod linear_attention;
mod logic;
mod loss;
mod matmul;
mod norm;
mod pad;
mod pool;
mod quantize;
mod random;
mod recurrent;
mod reduce;
mod resize;
mod scan;
mod scatter;
mod shape;
mod signal;
mod training;
mod windows;

use crate::graph::{Call, Outputs};
use crate::stop::Reason;
use isobit::{BinaryOp, CmpOp, UnaryOp};

/// How an operator is lowered.
#[derive(Debug, Clone, Copy)]
pub enum Rule {
    /// A function of one argument.
    Unary(UnaryOp),
    /// A function of two arguments, which broadcast.
    Binary(BinaryOp),
    /// A comparison, which broadcasts.
    Compare(CmpOp),
    /// A function of any number of arguments, which broadcast, by folding them.
    Fold(BinaryOp),
    /// A composition.
    Code(fn(&Call<'_>) -> Outputs),
}

/// Operators and how they are lowered.
pub type Table = &'static [(&'static str, Rule)];

const TABLES: &[Table] = &[
    elementwise::TABLE,
    composed::TABLE,
    logic::TABLE,
    cast::TABLE,
    reduce::TABLE,
    scan::TABLE,
    shape::TABLE,
    pad::TABLE,
    index::TABLE,
    compact::TABLE,
    scatter::TABLE,
    matmul::TABLE,
    det::TABLE,
    einsum::TABLE,
    conv::TABLE,
    pool::TABLE,
    resize::TABLE,
    grid_sample::TABLE,
    boxes::TABLE,
    norm::TABLE,
    attention::TABLE,
    linear_attention::TABLE,
    recurrent::TABLE,
    quantize::TABLE,
    loss::TABLE,
    random::TABLE,
    signal::TABLE,
    training::TABLE,
    control::TABLE,
];

/// Operators on values that are no tensors of numbers.
const OUT_OF_SCOPE: &[(&str, &str)] = &[
    ("StringConcat", "strings"),
    ("StringNormalizer", "strings"),
    ("StringSplit", "strings"),
    ("RegexFullMatch", "strings"),
    ("ai.onnx.ml.LabelEncoder", "strings"),
    ("ImageDecoder", "images"),
    ("SequenceAt", "sequences"),
    ("SequenceConstruct", "sequences"),
    ("SequenceEmpty", "sequences"),
    ("SequenceErase", "sequences"),
    ("SequenceInsert", "sequences"),
    ("SequenceLength", "sequences"),
    ("SequenceMap", "sequences"),
    ("SplitToSequence", "sequences"),
    ("ConcatFromSequence", "sequences"),
    ("Optional", "optional values"),
    ("OptionalGetElement", "optional values"),
    ("OptionalHasElement", "optional values"),
];

/// Returns how an operator is lowered.
pub fn find(op: &str) -> Option<Rule> {
    TABLES.iter().flat_map(|table| table.iter()).find(|(known, _)| *known == op).map(|&(_, rule)| rule)
}

/// Returns the reason of an operator on values that are no tensors of numbers.
pub fn out_of_scope(op: &str) -> Option<Reason> {
    OUT_OF_SCOPE.iter().find(|(known, _)| *known == op).map(|&(_, what)| Reason::Scope(what))
}

impl Rule {
    /// Runs the operations of a node.
    ///
    /// # Errors
    /// Not expressed, or the errors of the operations.
    pub fn lower(self, call: &Call<'_>) -> Outputs {
        let ops = call.ops();
        Ok(vec![match self {
            Rule::Unary(op) => ops.unary(op, call.input(0)?)?,
            Rule::Binary(op) => ops.binary(op, call.input(0)?, call.input(1)?)?,
            Rule::Compare(op) => ops.compare(op, call.input(0)?, call.input(1)?)?,
            Rule::Fold(op) => {
                let mut folded = call.input(0)?.clone();
                for at in 1..call.inputs() {
                    folded = ops.binary(op, &folded, call.input(at)?)?;
                }
                folded
            }
            Rule::Code(code) => return code(call),
        }])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_operator_is_in_one_table() {
        let mut known = BTreeSet::new();
        let lowered = TABLES.iter().flat_map(|table| table.iter()).map(|(op, _)| op);
        for op in lowered.chain(OUT_OF_SCOPE.iter().map(|(op, _)| op)) {
            assert!(known.insert(op), "{op} is there twice");
        }
        assert!(find("Relu").is_some() && find("ReLU").is_none());
    }
}
