//! A case: one call of one operation, with everything that determines it, as a value that can be saved, shrunk and run again.

mod blocks;
mod kind;
mod layout;
mod numbers;
mod values;

pub use kind::Kind;
pub use layout::{Dim, GUARD, LayoutKind, Placed, Recipe};
pub use numbers::{Format, format_of, power_of_two};
pub use values::{Dist, Values};

use crate::cells::Cell;
use crate::family::Named;
use crate::report::Numerics;
use isobit_hal::{Affine, Clamp, Copy2d, DType, Elu, Op, Powf, Reduce, Scalar, Shape};
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;

/// An `f64` that survives JSON, NaN and infinities included.
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

/// The parameters of a call beside its operands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Params {
    /// None.
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
    /// The exponent of powf, the alpha of elu.
    Number(Real),
    /// The dimensions that are reduced.
    Dims(Vec<usize>),
    /// Those of a family's operation.
    Named(Named),
}

impl Params {
    /// Parameters by name, where they are such.
    pub fn named(&self) -> &Named {
        static NONE: LazyLock<Named> = LazyLock::new(Named::default);
        match self {
            Params::Named(named) => named,
            _ => &NONE,
        }
    }
}

/// An input of a case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Input {
    /// Where its elements lie; `None` is the destination itself.
    pub layout: Option<Recipe>,
    /// What they are.
    pub values: Values,
}

/// One call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Case {
    /// The operation's name.
    pub op: String,
    /// The dtypes of all operands, inputs first.
    pub dtypes: Vec<String>,
    /// Who computes it, where that can be chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numerics: Option<Numerics>,
    /// The shape of the operands; for reductions that of the source; for matmul `[batch.., m, k, n]`; for copy2d rows and columns.
    pub shape: Vec<usize>,
    /// The parameters.
    pub params: Params,
    /// The inputs.
    pub inputs: Vec<Input>,
    /// Where the result goes.
    pub dst: Recipe,
}

impl Case {
    /// The cell it belongs to; `None` for a case of another version, whose operation or dtypes are no longer there.
    pub fn cell(&self) -> Option<&'static Cell> {
        let same = |c: &Cell| {
            c.kind.name() == self.op
                && c.numerics == self.numerics
                && c.dtypes.len() == self.dtypes.len()
                && c.dtypes.iter().zip(&self.dtypes).all(|(a, b)| a.as_str() == b)
        };
        Cell::all().iter().find(|c| same(c))
    }

    /// The dimensions of an operand; the destination comes after the inputs.
    pub fn operand_dims(&self, kind: Kind, operand: usize) -> Vec<usize> {
        let s = &self.shape;
        match (kind, &self.params) {
            (Kind::Reduce(_), Params::Dims(dims)) if operand == 1 => {
                Shape::from(s.as_slice()).reduced(dims).dims().to_vec()
            }
            (Kind::Matmul, _) => {
                let (batch, mkn) = s.split_at(s.len() - 3);
                let last = [[mkn[0], mkn[1]], [mkn[1], mkn[2]], [mkn[0], mkn[2]]][operand];
                [batch, &last].concat()
            }
            (Kind::Family(member), params) => member.operand_dims(&member.with_params(params.named()), s, operand),
            _ => s.clone(),
        }
    }

    /// The operation with its parameters, as hal takes it. Offsets of copy2d are those of the layouts as they are placed.
    pub fn op(&self, kind: Kind, src: Option<&Placed>, dst: &Placed) -> Op {
        match (kind, &self.params) {
            (Kind::Affine, Params::Affine { mul, add }) => Op::Affine(Affine::new(mul.0, add.0)),
            (Kind::Powf, Params::Number(x)) => Op::Powf(Powf::new(x.0)),
            (Kind::Elu, Params::Number(x)) => Op::Elu(Elu::new(x.0)),
            (Kind::Reduce(op), Params::Dims(dims)) => Op::Reduce(Reduce::new(op, dims)),
            (Kind::Copy2d, _) => {
                let (s, d) = (&src.expect("copy2d has a source").layout, &dst.layout);
                Op::Copy2d(
                    Copy2d::new(self.shape[0], self.shape[1])
                        .with_strides(s.stride()[0], d.stride()[0])
                        .with_offsets(s.start_offset(), d.start_offset()),
                )
            }
            (Kind::Clamp, Params::Named(p)) => Op::Clamp(Clamp::new(p.number("min"), p.number("max"))),
            (Kind::Family(member), params) => {
                member.with_params(params.named()).with_numerics(self.numerics.map(Into::into))
            }
            _ => kind.op(self.numerics),
        }
    }

    /// The kinds of layout of its operands.
    pub fn layout_kinds(&self) -> impl Iterator<Item = LayoutKind> {
        self.inputs.iter().filter_map(|i| i.layout.as_ref()).chain([&self.dst]).map(|r| r.kind())
    }

    /// True where an input is the destination itself.
    pub fn in_place(&self) -> bool {
        self.inputs.iter().any(|i| i.layout.is_none())
    }
}

/// A value of a dtype from its bits.
pub fn scalar_from_bits(dtype: DType, bits: u64) -> Scalar {
    let bytes = bits.to_ne_bytes();
    let low = if cfg!(target_endian = "little") { &bytes[..] } else { &bytes[8 - dtype.size_in_bytes()..] };
    isobit_hal::dispatch_dtype!(dtype, T => {
        let value: T = bytemuck::pod_read_unaligned(&low[..size_of::<T>()]);
        Scalar::from(value)
    })
}
