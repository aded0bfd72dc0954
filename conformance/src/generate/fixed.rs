//! Cases that are the same for every seed: what drawing would meet once in thousands of cases.

use super::Draw;
use crate::case::{Case, Dist, Input, LayoutSpec, Params, Values};
use crate::cells::Cell;
use crate::hard;

/// The index of the first fixed case of a cell: that of its hard inputs, if it has any. The indices
/// before it give every kind of layout.
pub const HARD: u64 = 8;

/// The distance from one fixed case to the next. All take the place of a plain case.
const EVERY: u64 = 12;

/// What a family fixes of a case; the rest follows from the cell.
pub(crate) struct Fixed {
    pub shape: Vec<usize>,
    pub params: Params,
    /// The layouts of inputs and destination are contiguous, except for one of an input.
    pub layout: Option<(usize, LayoutSpec)>,
    pub inputs: Vec<Dist>,
}

impl Fixed {
    /// Contiguous operands, and no parameters.
    pub fn new(shape: &[usize], inputs: &[Dist]) -> Self {
        Self { shape: shape.into(), params: Params::None, layout: None, inputs: inputs.into() }
    }

    /// The same with parameters.
    pub fn with(self, params: Params) -> Self {
        Self { params, ..self }
    }
}

/// Returns the number among fixed cases that an index has, whether or not the cell has so many.
fn number(index: u64) -> Option<u64> {
    let distance = index.checked_sub(HARD)?;
    distance.is_multiple_of(EVERY).then_some(distance / EVERY)
}

/// Whether the case of a cell with an index is one that its family fixes.
pub(crate) fn is_fixed(cell: &Cell, index: u64) -> bool {
    number(index).is_some_and(|nth| cell.operation.family().fixed(cell, nth).is_some())
}

/// Returns the fixed case of a cell with an index, if it has one.
pub(super) fn case(seed: u64, cell: &Cell, index: u64) -> Option<Case> {
    let nth = number(index)?;
    let draw = &mut Draw::new(seed, cell, index);
    if nth == 0
        && let Some(case) = hard_case(draw, cell)
    {
        return Some(case);
    }
    let fixed = cell.operation.family().fixed(cell, nth)?;
    let op = cell.operation.with_params(&cell.dtypes, &fixed.params);
    let layout = |operand: usize| match &fixed.layout {
        Some((of, layout)) if *of == operand => layout.clone(),
        _ => LayoutSpec::contiguous(cell.operation.operand_dims(&op, &fixed.shape, operand).len()),
    };
    let inputs = fixed.inputs.iter().enumerate();
    let inputs = inputs.map(|(i, &dist)| Input::new(Some(layout(i)), super::values::of(draw, dist)));
    Some(assembled(cell, inputs.collect(), layout(cell.operation.inputs()), fixed.shape.clone(), fixed.params.clone()))
}

/// Returns the case of a cell's hard inputs.
fn hard_case(draw: &mut Draw, cell: &Cell) -> Option<Case> {
    let inputs = hard::inputs(cell);
    let count = inputs.first()?.len();
    let inputs = inputs.into_iter().map(|bits| Input::new(Some(LayoutSpec::contiguous(1)), Values::Bits(bits)));
    let params = cell.operation.family().params(draw, cell);
    Some(assembled(cell, inputs.collect(), LayoutSpec::contiguous(1), vec![count], params))
}

fn assembled(cell: &Cell, inputs: Vec<Input>, dst: LayoutSpec, shape: Vec<usize>, params: Params) -> Case {
    Case {
        op: cell.operation.name().into(),
        dtypes: cell.dtypes.iter().map(|d| d.to_string()).collect(),
        numerics: cell.numerics,
        shape,
        params,
        inputs,
        dst,
    }
}
