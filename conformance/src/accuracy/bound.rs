//! The error bounds of the operations: the table of section 2 in `docs/numerics.md`.

use isobit_hal::{BinaryOp, Class, DType, Op, UnaryOp};

/// A bound on an operation's error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bound {
    /// The result is the float nearest to the true value, ties to even.
    Rounded,
    /// The result is at most this many units in the last place from the true value.
    Ulps(f64),
}

impl std::fmt::Display for Bound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Bound::Rounded => f.write_str("correctly rounded"),
            Bound::Ulps(u) => write!(f, "{u} ulp"),
        }
    }
}

/// Returns the bound of an operation at a float dtype.
pub fn bound(op: &Op, dtype: DType) -> Bound {
    use UnaryOp::{Gelu, GeluErf, HardSwish, Mish, Selu, Silu, Tan};
    let parametric = matches!(op, Op::Binary(BinaryOp::Pow) | Op::Powf(_) | Op::Elu(_) | Op::Celu(_));
    let amplifying = matches!(op, Op::Unary(Tan | Gelu | GeluErf | Silu | Mish | HardSwish | Selu));
    match dtype {
        _ if op.class(&[dtype]) == Class::Exact => Bound::Rounded,
        DType::F64 if parametric || amplifying => Bound::Ulps(4.0),
        DType::F64 => Bound::Ulps(2.0),
        DType::F32 if parametric || amplifying => Bound::Ulps(2.0),
        DType::F32 => Bound::Ulps(1.0),
        _ if parametric || matches!(op, Op::Binary(_)) => Bound::Ulps(1.0),
        _ => Bound::Rounded,
    }
}
