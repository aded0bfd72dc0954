//! A case: one call of one operation with everything that determines it, as a value that can be
//! saved, shrunk and run again.

mod blocks;
mod layout;
mod level_ties;
mod numbers;
mod values;

pub use layout::{Dim, GUARD, LayoutKind, LayoutSpec, Placed};
pub use numbers::{Format, format_of, power_of_two};
pub use values::{Dist, Values};

use crate::cells::Cell;
use crate::family::Named;
use isobit_hal::{Numerics, Op};
use serde::{Deserialize, Serialize};

/// An `f64` that survives JSON, including NaN and infinities.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Real(pub f64);

impl From<Real> for String {
    fn from(r: Real) -> String {
        format!("{:?}", r.0)
    }
}

impl TryFrom<String> for Real {
    type Error = std::num::ParseFloatError;

    fn try_from(s: String) -> Result<Self, Self::Error> {
        s.parse().map(Real)
    }
}

impl PartialEq for Real {
    fn eq(&self, other: &Self) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}

/// The parameters of a call besides its operands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Params {
    /// No parameters.
    None,
    /// The bits of the value that `const_set` writes.
    Fill(u64),
    /// `x * mul + add`.
    Affine {
        /// The factor.
        mul: Real,
        /// The summand.
        add: Real,
    },
    /// The exponent of `powf`, the alpha of `elu`.
    Number(Real),
    /// The dimensions to reduce.
    Dims(Vec<usize>),
    /// The dimensions to reduce, and named parameters of the reduction.
    DimsAnd(Vec<usize>, Named),
    /// The named parameters of a family's operation.
    Named(Named),
}

impl Params {
    /// Returns the numbers with a name. A single-number parameter has its number under every name.
    pub fn numbers(&self, name: &str) -> Vec<f64> {
        match self {
            Params::None | Params::Fill(_) => Vec::new(),
            Params::Affine { mul, add } => vec![if name == "mul" { mul.0 } else { add.0 }],
            Params::Number(number) => vec![number.0],
            Params::Dims(dims) => dims.iter().map(|&d| d as f64).collect(),
            Params::DimsAnd(_, named) | Params::Named(named) => named.numbers(name),
        }
    }

    /// Returns the dimensions to reduce; none if the operation reduces none.
    pub fn dims(&self) -> &[usize] {
        match self {
            Params::Dims(dims) | Params::DimsAnd(dims, _) => dims,
            _ => &[],
        }
    }

    /// Returns the first number with a name, or 0 if there is none.
    pub fn number(&self, name: &str) -> f64 {
        self.numbers(name).first().copied().unwrap_or(0.0)
    }

    /// Returns the first number with a name as a size.
    pub fn size(&self, name: &str) -> usize {
        self.number(name) as usize
    }

    /// Returns the numbers with a name as sizes, if there are exactly `N`.
    pub fn sizes<const N: usize>(&self, name: &str) -> Option<[usize; N]> {
        let numbers: Vec<usize> = self.numbers(name).into_iter().map(|x| x as usize).collect();
        numbers.try_into().ok()
    }

    /// Whether the first number with a name is not 0.
    pub fn flag(&self, name: &str) -> bool {
        self.number(name) != 0.0
    }

    /// Returns simpler parameters, one step at a time, to try while a case shrinks. Each is smaller
    /// by some measure, so shrinking terminates.
    pub(crate) fn simpler(&self) -> Vec<Params> {
        match self {
            Params::None | Params::Fill(_) => Vec::new(),
            &Params::Affine { mul, add } => {
                vec![Params::Affine { mul: Real(1.0), add }, Params::Affine { mul, add: Real(0.0) }]
            }
            Params::Number(_) => vec![Params::Number(Real(1.0))],
            Params::Dims(dims) => fewer(dims).map(Params::Dims).collect(),
            Params::DimsAnd(dims, named) => {
                let simpler = named.simpler().into_iter().map(|named| Params::DimsAnd(dims.clone(), named));
                fewer(dims).map(|dims| Params::DimsAnd(dims, named.clone())).chain(simpler).collect()
            }
            Params::Named(named) => named.simpler().into_iter().map(Params::Named).collect(),
        }
    }

    /// Returns the parameters for a shape that lost a dimension.
    pub(crate) fn without_dim(&self, dim: usize) -> Params {
        match self {
            Params::Dims(dims) => Params::Dims(dims_without(dims, dim)),
            Params::DimsAnd(dims, named) => Params::DimsAnd(dims_without(dims, dim), named.clone()),
            other => other.clone(),
        }
    }
}

/// Returns the dimensions with each of them left out.
fn fewer(dims: &[usize]) -> impl Iterator<Item = Vec<usize>> {
    (0..dims.len()).map(move |i| [&dims[..i], &dims[i + 1..]].concat())
}

/// Returns the dimensions of a shape that lost one.
fn dims_without(dims: &[usize], lost: usize) -> Vec<usize> {
    dims.iter().filter(|&&d| d != lost).map(|&d| d - usize::from(d > lost)).collect()
}

/// An input of a case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Input {
    /// The layout of its elements; `None` for the destination itself.
    pub layout: Option<LayoutSpec>,
    /// The values of its elements.
    pub values: Values,
    /// Whether it is passed as a scalar: its layout repeats one element, which is the value.
    #[serde(default, skip_serializing_if = "layout::is_false")]
    pub scalar: bool,
}

impl Input {
    /// Creates an input that is a tensor.
    pub fn new(layout: Option<LayoutSpec>, values: Values) -> Self {
        Self { layout, values, scalar: false }
    }
}

/// One call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Case {
    /// The operation's name.
    pub op: String,
    /// The dtypes of all operands, inputs first.
    pub dtypes: Vec<String>,
    /// Portable or vendor numerics, for operations that offer a choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numerics: Option<Numerics>,
    /// The shape of the operands; for reductions the shape of the source; for matmul `[batch.., m,
    /// k, n]`; for copy2d rows and columns.
    pub shape: Vec<usize>,
    /// The parameters.
    pub params: Params,
    /// The inputs.
    pub inputs: Vec<Input>,
    /// The layout of the result.
    pub dst: LayoutSpec,
}

impl Case {
    /// Returns the cell that it belongs to; `None` for a case of another version whose operation or
    /// dtypes no longer exist.
    pub fn cell(&self) -> Option<&'static Cell> {
        let same = |c: &Cell| {
            c.operation.name() == self.op
                && c.numerics == self.numerics
                && c.dtypes.len() == self.dtypes.len()
                && c.dtypes.iter().zip(&self.dtypes).all(|(a, b)| a.as_str() == b)
        };
        Cell::all().iter().find(|c| same(c))
    }

    /// Returns hal's operation with its parameters.
    pub fn op(&self, cell: &Cell) -> Op {
        cell.operation.with_params(&cell.dtypes, &self.params).with_numerics(self.numerics)
    }

    /// Returns the dimensions of an operand; the destination comes after the inputs.
    pub fn operand_dims(&self, cell: &Cell, operand: usize) -> Vec<usize> {
        cell.operation.operand_dims(&self.op(cell), &self.shape, operand)
    }

    /// Returns the layout kinds of its operands.
    pub fn layout_kinds(&self) -> impl Iterator<Item = LayoutKind> {
        let tensors = self.inputs.iter().filter(|i| !i.scalar);
        tensors.filter_map(|i| i.layout.as_ref()).chain([&self.dst]).map(|r| r.kind())
    }

    /// Whether an input is the destination itself.
    pub fn in_place(&self) -> bool {
        self.inputs.iter().any(|i| i.layout.is_none())
    }
}
