//! How far a result may be from the truth: the table of section 2 in `docs/numerics.md`.

use isobit_hal::DType;

/// A bound on an operation's error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bound {
    /// The float nearest to the true value, ties to even.
    Rounded,
    /// At most this many units in the last place from the true value.
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

/// The bound of an operation at a float dtype.
pub fn bound(op: &str, dtype: DType) -> Bound {
    let exact = ["neg", "abs", "sign", "sqr", "relu", "ceil", "floor", "round", "trunc", "sqrt", "recip"];
    let parametric = ["pow", "powf", "elu"];
    let amplifying = ["tan", "gelu", "gelu_erf", "silu"];
    match dtype {
        _ if exact.contains(&op) => Bound::Rounded,
        DType::F64 if parametric.contains(&op) || amplifying.contains(&op) => Bound::Ulps(4.0),
        DType::F64 => Bound::Ulps(2.0),
        DType::F32 if parametric.contains(&op) || amplifying.contains(&op) => Bound::Ulps(2.0),
        DType::F32 => Bound::Ulps(1.0),
        _ if parametric.contains(&op) => Bound::Ulps(1.0),
        _ => Bound::Rounded,
    }
}
