//! Functions of one argument.

use super::CpuStorage;
use super::compute::{Compute, FloatCompute};
use super::element::Element;
use super::recipes::Recipes;
use super::walk::{Function, dispatch_float, map};
use crate::{Layout, Src, UnaryOp};
use std::marker::PhantomData;

/// A type for each operation, which calls the method of that name, and a function from the operation to the pass with that type.
macro_rules! functions {
    ($(#[$meta:meta])* $dispatch:ident<T: $element:ident<Compute: $compute:ident>> { $($op:ident($x:ident) => $result:expr;)* }) => {
        $(
            struct $op<T>(PhantomData<T>);

            impl<T> Clone for $op<T> {
                fn clone(&self) -> Self {
                    *self
                }
            }
            impl<T> Copy for $op<T> {}

            impl<T: $element<Compute: $compute>> Function<1, T::Compute, T::Compute> for $op<T> {
                #[inline(always)]
                fn call(self, [$x]: [T::Compute; 1]) -> T::Compute {
                    $result
                }
            }
        )*

        $(#[$meta])*
        fn $dispatch<T: $element<Compute: $compute>>(
            op: UnaryOp,
            src: Src<'_, CpuStorage>,
            dst: &mut CpuStorage,
            dst_layout: &Layout,
        ) {
            match op {
                $(UnaryOp::$op => map::<1, T, T>($op::<T>(PhantomData), [src], dst, dst_layout),)*
                _ => unreachable!("`is_float_only` says to which function an operation belongs"),
            }
        }
    };
}

functions! {
    /// Those of every dtype.
    any_dtype<T: Element<Compute: Compute>> {
        Neg(x) => x.neg();
        Abs(x) => x.abs();
        Sign(x) => x.sign();
        Sqr(x) => x.mul(x);
        Relu(x) => x.relu();
        Ceil(x) => x.ceil();
        Floor(x) => x.floor();
        Round(x) => x.round();
        Trunc(x) => x.trunc();
    }
}

functions! {
    /// Those of floats.
    floats<T: Recipes<Compute: FloatCompute>> {
        Sqrt(x) => x.sqrt();
        Recip(x) => T::recip(x);
        Rsqrt(x) => T::rsqrt(x);
        Exp(x) => T::exp(x);
        Exp2(x) => T::exp2(x);
        Log(x) => T::log(x);
        Log2(x) => T::log2(x);
        Log1p(x) => T::log1p(x);
        Expm1(x) => T::expm1(x);
        Sin(x) => T::sin(x);
        Cos(x) => T::cos(x);
        Tan(x) => T::tan(x);
        Tanh(x) => T::tanh(x);
        Sinh(x) => T::sinh(x);
        Cosh(x) => T::cosh(x);
        Asin(x) => T::asin(x);
        Acos(x) => T::acos(x);
        Atan(x) => T::atan(x);
        Erf(x) => T::erf(x);
        Gelu(x) => T::gelu(x);
        GeluErf(x) => T::gelu_erf(x);
        Silu(x) => T::silu(x);
        Sigmoid(x) => T::sigmoid(x);
    }
}

pub(super) fn unary(op: UnaryOp, src: Src<'_, CpuStorage>, dst: &mut CpuStorage, dst_layout: &Layout) {
    if op.is_float_only() {
        dispatch_float!(dst.dtype(), T => floats::<T>(op, src, dst, dst_layout))
    } else {
        dispatch_dtype!(dst.dtype(), T => any_dtype::<T>(op, src, dst, dst_layout))
    }
}
