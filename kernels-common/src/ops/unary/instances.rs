//! Two kernels per operation and dtype. Operations that return integers unchanged have no kernel,
//! because that is a copy. Signed integers share the wrapping kernels of the unsigned ones.

use super::{declaration, functions_of, recipes_of_functions, without_sign};
use crate::key::{Family, Key};
use crate::manifest::Module;
use isobit_hal::{DType, UnaryOp};

use UnaryOp::*;

/// The operations that follow a recipe, by module. All kernels of a module are compiled together
/// when one of them is needed.
const MATH: &[(&str, &[UnaryOp])] = &[
    ("exp", &[Exp, Exp2, Expm1]),
    ("log", &[Log, Log2, Log1p, Rsqrt]),
    ("trig", &[Sin, Cos, Tan]),
    ("hyperbolic", &[Tanh, Sinh, Cosh]),
    ("inverse_trig", &[Asin, Acos, Atan]),
    ("erf", &[Erf, GeluErf]),
    ("activation", &[Gelu, Silu, Sigmoid]),
    ("inverse_hyperbolic", &[Asinh, Acosh, Atanh]),
    ("softplus", &[Softplus, Mish]),
    ("piecewise", &[HardSigmoid, HardSwish, Selu]),
];

/// Adds the family's modules.
pub fn add(modules: &mut Vec<Module>) {
    for &dtype in DType::ALL {
        let exact: Vec<UnaryOp> =
            UnaryOp::ALL.iter().copied().filter(|&op| op.is_exact() && has_kernel(op, dtype)).collect();
        let name = format!("unary_exact_{dtype}");
        modules.push(module(name, "ops/unary/exact.cu", declaration(dtype), &[dtype], &exact));
        if let Some((suffix, dtypes)) = functions_of(dtype) {
            modules.extend(MATH.iter().map(|(group, ops)| {
                let name = format!("unary_{group}_{suffix}");
                module(name, "ops/unary/math.cu", recipes_of_functions(dtypes), dtypes, ops)
            }));
        }
    }
}

/// Returns the dtype whose key the kernels have: the negative, the square and the complement of an
/// integer have the same bits whether it is signed or not.
pub fn carrier(op: UnaryOp, dtype: DType) -> DType {
    if matches!(op, Neg | Sqr | BitwiseNot) { without_sign(dtype) } else { dtype }
}

fn has_kernel(op: UnaryOp, dtype: DType) -> bool {
    op.takes(dtype) && (dtype.is_float() || !op.is_rounding()) && carrier(op, dtype) == dtype
}

fn module(name: String, source: &'static str, prelude: &'static str, dtypes: &[DType], ops: &[UnaryOp]) -> Module {
    let mut module = Module::new(name, source).with_prelude(prelude);
    for (&dtype, &op) in dtypes.iter().flat_map(|dtype| ops.iter().map(move |op| (dtype, op))) {
        let key = |variant| Key::new(Family::Unary, op.index(), &[dtype], variant);
        let args = [op.name(), dtype.as_str()];
        module.kernel(key(Key::CONTIGUOUS), format!("{op}_{dtype}"), "ISOBIT_UNARY", &args);
        module.kernel(key(Key::STRIDED), format!("{op}_strided_{dtype}"), "ISOBIT_UNARY_STRIDED", &args);
    }
    module
}
