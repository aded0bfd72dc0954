//! e^x for x <= 0, as `docs/numerics/norm.md` defines it: the usual recipes of f32 and f64, and one
//! for the narrow floats that need not handle positive arguments.

use super::super::math::narrow;
use super::super::math_dispatch::Recipes;
use crate::F8E4M3;
use half::{bf16, f16};

/// A dtype that has a softmax.
pub(in crate::cpu) trait ExpDown: Recipes {
    /// Returns e^x for x <= 0; NaN stays NaN.
    fn exp_down(x: Self::Compute) -> Self::Compute;
}

macro_rules! exp_down {
    ($($ty:ident => $exp:expr;)*) => {$(
        impl ExpDown for $ty {
            #[inline(always)]
            fn exp_down(x: Self::Compute) -> Self::Compute {
                ($exp)(x)
            }
        }
    )*};
}
exp_down! {
    f32 => <f32 as Recipes>::exp;
    f64 => <f64 as Recipes>::exp;
    f16 => narrow::exp_down;
    bf16 => narrow::exp_down;
    F8E4M3 => narrow::exp_down;
}
