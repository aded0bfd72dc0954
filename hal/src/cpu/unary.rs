//! Functions of one argument.

use super::CpuStorage;
use super::compute::{Compute, FloatCompute, IntCompute};
use super::math_dispatch::Recipes;
use super::walk::{
    BlockFunction, Each, Function, dispatch_compute, dispatch_float_compute, dispatch_int, dispatch_recipes, map,
};
use crate::{DType, Layout, Src, UnaryOp};
use std::marker::PhantomData;

/// Defines a type for each operation, which calls the method of that name, and a function that maps
/// an operation to its pass over blocks.
macro_rules! functions {
    ($(#[$meta:meta])* $find:ident<$T:ident: $bound:path, $C:ty> { $($op:ident($x:ident) => $result:expr;)* }) => {
        $(
            struct $op<T>(PhantomData<fn() -> T>);

            impl<T> Clone for $op<T> {
                fn clone(&self) -> Self {
                    *self
                }
            }
            impl<T> Copy for $op<T> {}

            impl<$T: $bound> Function<1, $C, $C> for $op<$T> {
                #[inline(always)]
                fn call(self, [$x]: [$C; 1]) -> $C {
                    $result
                }
            }
        )*

        $(#[$meta])*
        fn $find<$T: $bound + 'static>(op: UnaryOp) -> &'static dyn BlockFunction<1> {
            match op {
                $(UnaryOp::$op => const { &Each::<_, $C, $C>::value($op::<$T>(PhantomData)) },)*
                _ => unreachable!("`function` says to which group an operation belongs"),
            }
        }
    };
}

functions! {
    /// Operations on every dtype.
    any_dtype<C: Compute, C> {
        Neg(x) => x.neg();
        Abs(x) => x.abs();
        Sign(x) => x.sign();
        Sqr(x) => x.mul(x);
        Relu(x) => x.relu();
    }
}

functions! {
    /// Roundings, which leave integers unchanged.
    roundings<C: FloatCompute, C> {
        Ceil(x) => x.ceil();
        Floor(x) => x.floor();
        Round(x) => x.round();
        Trunc(x) => x.trunc();
        RoundEven(x) => x.round_even();
        Sqrt(x) => x.sqrt();
    }
}

functions! {
    /// Operations on integers alone.
    bitwise<C: IntCompute, C> {
        BitwiseNot(x) => x.bitwise_not();
    }
}

functions! {
    /// Operations on floats that have recipes.
    recipes<R: Recipes, R::Compute> {
        Recip(x) => R::recip(x);
        Rsqrt(x) => R::rsqrt(x);
        Exp(x) => R::exp(x);
        Exp2(x) => R::exp2(x);
        Log(x) => R::log(x);
        Log2(x) => R::log2(x);
        Log1p(x) => R::log1p(x);
        Expm1(x) => R::expm1(x);
        Sin(x) => R::sin(x);
        Cos(x) => R::cos(x);
        Tan(x) => R::tan(x);
        Tanh(x) => R::tanh(x);
        Sinh(x) => R::sinh(x);
        Cosh(x) => R::cosh(x);
        Asin(x) => R::asin(x);
        Acos(x) => R::acos(x);
        Atan(x) => R::atan(x);
        Erf(x) => R::erf(x);
        Gelu(x) => R::gelu(x);
        GeluErf(x) => R::gelu_erf(x);
        Silu(x) => R::silu(x);
        Sigmoid(x) => R::sigmoid(x);
        Asinh(x) => R::asinh(x);
        Acosh(x) => R::acosh(x);
        Atanh(x) => R::atanh(x);
        Softplus(x) => R::softplus(x);
        Mish(x) => R::mish(x);
        HardSigmoid(x) => R::hard_sigmoid(x);
        HardSwish(x) => R::hard_swish(x);
        Selu(x) => R::selu(x);
    }
}

/// Returns the operation on blocks of a dtype's compute type.
pub(super) fn function(op: UnaryOp, dtype: DType) -> &'static dyn BlockFunction<1> {
    use UnaryOp::*;
    match op {
        Neg | Abs | Sign | Sqr | Relu => dispatch_compute!(dtype, C => any_dtype::<C>(op)),
        BitwiseNot => dispatch_int!(dtype, C => bitwise::<C>(op)),
        Ceil | Floor | Round | Trunc | RoundEven | Sqrt => dispatch_float_compute!(dtype, C => roundings::<C>(op)),
        _ => dispatch_recipes!(dtype, R => recipes::<R>(op)),
    }
}

pub(super) fn unary(op: UnaryOp, src: Src<'_, CpuStorage>, dst: &mut CpuStorage, dst_layout: &Layout) {
    let dtype = dst.dtype();
    if dtype.is_int() && op.is_rounding() {
        return super::copy::copy(src, dst, dst_layout);
    }
    map(function(op, dtype), [src], dst, dst_layout);
}
