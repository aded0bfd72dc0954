//! Maps each dtype to its recipes.

use super::element::Element;
use super::math::{f32 as single, f64 as double, narrow};
use crate::F8E4M3;
use half::{bf16, f16};

macro_rules! recipes {
    (@trait [$($unary:ident)*] [$($binary:ident)*]) => {
        /// The recipes of a float dtype, in its compute type. The caller still has to round the
        /// result to the dtype.
        pub(super) trait Recipes: Element {
            $(fn $unary(x: Self::Compute) -> Self::Compute;)*
            $(fn $binary(x: Self::Compute, y: Self::Compute) -> Self::Compute;)*
        }
    };
    (@impl $ty:ident $call:ident [$($unary:ident)*] [$($binary:ident)*]) => {
        impl Recipes for $ty {
            $(
                #[inline(always)]
                fn $unary(x: Self::Compute) -> Self::Compute {
                    $call!($unary, x)
                }
            )*
            $(
                #[inline(always)]
                fn $binary(x: Self::Compute, y: Self::Compute) -> Self::Compute {
                    $call!($binary, x, y)
                }
            )*
        }
    };
    ($unary:tt $binary:tt $($ty:ident $call:ident;)*) => {
        recipes!(@trait $unary $binary);
        $(recipes!(@impl $ty $call $unary $binary);)*
    };
}

macro_rules! call_f32 {
    ($function:ident, $($x:ident),*) => { single::$function($($x),*) };
}
macro_rules! call_f64 {
    ($function:ident, $($x:ident),*) => { double::$function($($x),*) };
}
macro_rules! call_f16 {
    ($function:ident, $($x:ident),*) => { narrow::$function::<narrow::F16>($($x),*) };
}
macro_rules! call_bf16 {
    ($function:ident, $($x:ident),*) => { narrow::$function::<narrow::Bf16>($($x),*) };
}
macro_rules! call_f8e4m3 {
    ($function:ident, $($x:ident),*) => { narrow::$function::<narrow::F8E4M3>($($x),*) };
}

recipes! {
    [recip rsqrt exp exp2 log log2 log1p expm1 sin cos tan tanh sinh cosh asin acos atan erf gelu gelu_erf silu sigmoid
     asinh acosh atanh softplus mish hard_sigmoid hard_swish selu]
    [pow elu celu atan2 hypot]
    f32 call_f32;
    f64 call_f64;
    f16 call_f16;
    bf16 call_bf16;
    F8E4M3 call_f8e4m3;
}
