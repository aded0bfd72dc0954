//! Functions of two arguments of the same dtype.

use super::CpuStorage;
use super::compute::{Compute, IntCompute};
use super::element::Element;
use super::math_dispatch::Recipes;
use super::walk::{
    BlockFunction, Each, Function, dispatch_any_float, dispatch_compute, dispatch_int, dispatch_recipes, map,
};
use crate::{BinaryOp, DType, F8E4M3, F8E5M2, Layout, Src};
use half::{bf16, f16};
use std::marker::PhantomData;

/// Defines a module with a type for each operation, and a function that maps an operation to its
/// pass over blocks.
macro_rules! functions {
    ($(#[$meta:meta])* $find:ident<C: $bound:path> { $($op:ident($x:ident, $y:ident) => $result:expr;)* }) => {
        $(#[$meta])*
        mod $find {
            use super::*;

            $(
                #[derive(Clone, Copy)]
                struct $op;

                impl<C: $bound> Function<2, C, C> for $op {
                    #[inline(always)]
                    fn call(self, [$x, $y]: [C; 2]) -> C {
                        $result
                    }
                }
            )*

            pub(super) fn of<C: $bound>(op: BinaryOp) -> &'static dyn BlockFunction<2> {
                match op {
                    $(BinaryOp::$op => const { &Each::<_, C, C>::value($op) },)*
                    _ => unreachable!("`function` says to which group an operation belongs"),
                }
            }
        }
    };
}

functions! {
    /// Operations on every dtype.
    any_dtype<C: Compute> {
        Add(x, y) => x.add(y);
        Sub(x, y) => x.sub(y);
        Mul(x, y) => x.mul(y);
        Div(x, y) => x.div(y);
        Rem(x, y) => x.rem(y);
        Maximum(x, y) => x.maximum(y);
        Minimum(x, y) => x.minimum(y);
        FloorDiv(x, y) => x.floor_div(y);
        FloorMod(x, y) => x.floor_mod(y);
    }
}

functions! {
    /// Operations on integers.
    integers<C: IntCompute> {
        Pow(x, y) => x.pow(y);
        BitwiseAnd(x, y) => x.bitwise_and(y);
        BitwiseOr(x, y) => x.bitwise_or(y);
        BitwiseXor(x, y) => x.bitwise_xor(y);
        BitwiseLeftShift(x, y) => x.left_shift(y);
        BitwiseRightShift(x, y) => x.right_shift(y);
    }
}

/// Defines functions of two floats, computed by the recipes of a dtype.
macro_rules! recipes {
    ($($op:ident($x:ident, $y:ident) => $result:expr;)*) => {
        $(
            struct $op<R>(PhantomData<fn() -> R>);

            impl<R> Clone for $op<R> {
                fn clone(&self) -> Self {
                    *self
                }
            }
            impl<R> Copy for $op<R> {}

            impl<R: Recipes> Function<2, R::Compute, R::Compute> for $op<R> {
                #[inline(always)]
                fn call(self, [$x, $y]: [R::Compute; 2]) -> R::Compute {
                    $result
                }
            }
        )*

        fn recipe<R: Recipes>(op: BinaryOp) -> &'static dyn BlockFunction<2> {
            match op {
                $(BinaryOp::$op => const { &Each::<_, R::Compute, R::Compute>::value($op::<R>(PhantomData)) },)*
                _ => unreachable!("`function` says which operations have recipes"),
            }
        }
    };
}

recipes! {
    Pow(x, y) => R::pow(x, y);
    Atan2(y, x) => R::atan2(y, x);
    Hypot(x, y) => R::hypot(x, y);
}

/// The next value of a dtype in a direction.
trait Neighbours: Element {
    fn next_after(from: Self::Compute, towards: Self::Compute) -> Self::Compute;
}

macro_rules! neighbours {
    ($($ty:ident)*) => {$(
        impl Neighbours for $ty {
            #[inline(always)]
            fn next_after(from: $ty, towards: $ty) -> $ty {
                if from < towards {
                    from.next_up()
                } else if from > towards {
                    from.next_down()
                } else {
                    // Equal, or not comparable.
                    if from.is_nan() { from } else { towards }
                }
            }
        }
    )*};
    (@narrow $($ty:ident $bits:ident $below:literal)*) => {$(
        impl Neighbours for $ty {
            #[inline(always)]
            fn next_after(from: f32, towards: f32) -> f32 {
                if from.is_nan() {
                    return from;
                }
                if from == towards || towards.is_nan() {
                    return towards;
                }
                // Negative numbers count down from -1, so the neighbours of both zeros are the
                // least numbers of either sign.
                let bits = $ty::from_f32(from).to_bits();
                let magnitude = i32::from(bits & $below);
                let at = if from < 0.0 { -magnitude } else { magnitude };
                let next = if from < towards { at + 1 } else { at - 1 };
                let sign = if next < 0 { !$below } else { 0 };
                let neighbour = $ty::from_bits(sign | next.unsigned_abs() as $bits).to_f32();
                // The number between the least ones of both signs is not reached: a zero has the
                // sign of the number that it follows.
                if next == 0 { neighbour.copysign(from) } else { neighbour }
            }
        }
    )*};
}
neighbours! { f32 f64 }
neighbours! { @narrow F8E4M3 u8 0x7f F8E5M2 u8 0x7f f16 u16 0x7fff bf16 u16 0x7fff }

struct Next<T>(PhantomData<fn() -> T>);

impl<T> Clone for Next<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Next<T> {}

impl<T: Neighbours> Function<2, T::Compute, T::Compute> for Next<T> {
    #[inline(always)]
    fn call(self, [x, y]: [T::Compute; 2]) -> T::Compute {
        T::next_after(x, y)
    }
}

fn next_after<T: Neighbours>() -> &'static dyn BlockFunction<2> {
    const { &Each::<_, T::Compute, T::Compute>::value(Next::<T>(PhantomData)) }
}

/// Returns the operation on blocks of a dtype's compute type.
pub(super) fn function(op: BinaryOp, dtype: DType) -> &'static dyn BlockFunction<2> {
    use BinaryOp::*;
    match op {
        Pow | Atan2 | Hypot if dtype.is_float() => dispatch_recipes!(dtype, R => recipe::<R>(op)),
        NextAfter => dispatch_any_float!(dtype, T => next_after::<T>()),
        Pow | BitwiseAnd | BitwiseOr | BitwiseXor | BitwiseLeftShift | BitwiseRightShift => {
            dispatch_int!(dtype, C => integers::of::<C>(op))
        }
        _ => dispatch_compute!(dtype, C => any_dtype::of::<C>(op)),
    }
}

pub(super) fn binary(op: BinaryOp, srcs: [Src<'_, CpuStorage>; 2], dst: &mut CpuStorage, dst_layout: &Layout) {
    map(function(op, dst.dtype()), srcs, dst, dst_layout);
}
