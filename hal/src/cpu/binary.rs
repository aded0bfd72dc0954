//! Functions of two arguments of the same dtype.

use super::CpuStorage;
use super::compute::{Compute, IntegerPow};
use super::math_dispatch::Recipes;
use super::walk::{BlockFunction, Each, Function, dispatch_compute, dispatch_recipes, map};
use crate::{BinaryOp, DType, Layout, Src};
use std::marker::PhantomData;

macro_rules! functions {
    ($($op:ident($x:ident, $y:ident) => $result:expr;)*) => {
        $(
            #[derive(Clone, Copy)]
            struct $op;

            impl<C: Compute> Function<2, C, C> for $op {
                #[inline(always)]
                fn call(self, [$x, $y]: [C; 2]) -> C {
                    $result
                }
            }
        )*

        fn exact<C: Compute>(op: BinaryOp) -> &'static dyn BlockFunction<2> {
            match op {
                $(BinaryOp::$op => const { &Each::<_, C, C>::value($op) },)*
                BinaryOp::Pow => unreachable!("a recipe"),
            }
        }
    };
}

functions! {
    Add(x, y) => x.add(y);
    Sub(x, y) => x.sub(y);
    Mul(x, y) => x.mul(y);
    Div(x, y) => x.div(y);
    Rem(x, y) => x.rem(y);
    Maximum(x, y) => x.maximum(y);
    Minimum(x, y) => x.minimum(y);
}

#[derive(Clone, Copy)]
struct IntegerPower;

impl<C: IntegerPow> Function<2, C, C> for IntegerPower {
    #[inline(always)]
    fn call(self, [x, y]: [C; 2]) -> C {
        x.pow(y)
    }
}

/// The power function, computed by the recipe of a dtype.
struct Power<R>(PhantomData<fn() -> R>);

impl<R> Clone for Power<R> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<R> Copy for Power<R> {}

impl<R: Recipes> Function<2, R::Compute, R::Compute> for Power<R> {
    #[inline(always)]
    fn call(self, [x, y]: [R::Compute; 2]) -> R::Compute {
        R::pow(x, y)
    }
}

fn integer_power<C: IntegerPow>() -> &'static dyn BlockFunction<2> {
    const { &Each::<_, C, C>::value(IntegerPower) }
}

fn power<R: Recipes>() -> &'static dyn BlockFunction<2> {
    const { &Each::<_, R::Compute, R::Compute>::value(Power::<R>(PhantomData)) }
}

/// Returns the operation on blocks of a dtype's compute type.
pub(super) fn function(op: BinaryOp, dtype: DType) -> &'static dyn BlockFunction<2> {
    match op {
        BinaryOp::Pow if dtype.is_float() => dispatch_recipes!(dtype, R => power::<R>()),
        BinaryOp::Pow => {
            crate::dispatch_dtype!(@arms dtype, C, integer_power::<C>(), U8 u8, I8 i8, U32 u32, I16 i16, I32 i32, I64 i64)
        }
        _ => dispatch_compute!(dtype, C => exact::<C>(op)),
    }
}

pub(super) fn binary(op: BinaryOp, srcs: [Src<'_, CpuStorage>; 2], dst: &mut CpuStorage, dst_layout: &Layout) {
    map(function(op, dst.dtype()), srcs, dst, dst_layout);
}
