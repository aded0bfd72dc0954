//! Which recipe serves which dtype.

use super::element::Element;
use super::math;
use crate::F8E4M3;
use half::{bf16, f16};

macro_rules! recipes {
    (@trait [$($name:ident)*]) => {
        /// The recipes of a dtype of floats, in its compute type: the result is still to be rounded to the dtype.
        #[allow(missing_docs)]
        pub(super) trait Recipes: Element {
            $(fn $name(x: Self::Compute) -> Self::Compute;)*
            fn elu(x: Self::Compute, alpha: Self::Compute) -> Self::Compute;
        }
    };
    (@impl $ty:ident [$($module:ident)::+] [$($name:ident)*]) => {
        const _: () = {
            use math::$($module)::+ as recipe;

            impl Recipes for $ty {
                $(
                    #[inline(always)]
                    fn $name(x: Self::Compute) -> Self::Compute {
                        recipe::$name(x)
                    }
                )*

                #[inline(always)]
                fn elu(x: Self::Compute, alpha: Self::Compute) -> Self::Compute {
                    recipe::elu(x, alpha)
                }
            }
        };
    };
    ($names:tt $($ty:ident $($module:ident)::+;)*) => {
        recipes!(@trait $names);
        $(recipes!(@impl $ty [$($module)::+] $names);)*
    };
}
recipes! {
    [rsqrt exp exp2 log log2 log1p expm1 sin cos tan tanh sinh cosh asin acos atan erf gelu gelu_erf silu sigmoid]
    f32 f32;
    f64 f64;
    f16 f32;
    bf16 f32;
    F8E4M3 f32;
}
