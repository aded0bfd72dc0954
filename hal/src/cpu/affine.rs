//! The elementwise operations with parameters: `affine`, `clamp`, `powf`, `elu`, `leaky_relu` and
//! `celu`.

use super::CpuStorage;
use super::compute::{Compute, FloatCompute};
use super::element::Element;
use super::math_dispatch::Recipes;
use super::walk::{BlockFunction, Each, Function, dispatch_compute, dispatch_float_compute, dispatch_recipes, map};
use super::{copy, unary};
use crate::{Affine, Celu, Clamp, Elu, Layout, LeakyRelu, Powf, PowfRecipe, Src, UnaryOp};
use std::marker::PhantomData;

#[derive(Clone, Copy)]
struct MulAdd<C> {
    mul: C,
    add: C,
}

impl<C: Compute> Function<1, C, C> for MulAdd<C> {
    #[inline(always)]
    fn call(self, [x]: [C; 1]) -> C {
        x.affine(self.mul, self.add)
    }
}

#[derive(Clone, Copy)]
struct Between<C> {
    min: C,
    max: C,
}

impl<C: Compute> Function<1, C, C> for Between<C> {
    #[inline(always)]
    fn call(self, [x]: [C; 1]) -> C {
        x.maximum(self.min).minimum(self.max)
    }
}

#[derive(Clone, Copy)]
struct Leaky<C> {
    slope: C,
}

impl<C: FloatCompute> Function<1, C, C> for Leaky<C> {
    #[inline(always)]
    fn call(self, [x]: [C; 1]) -> C {
        if x > C::ZERO { x } else { x.mul(self.slope) }
    }
}

/// Defines a function of an element and one parameter that follows the dtype's recipe.
macro_rules! with_parameter {
    ($name:ident, $recipe:ident) => {
        struct $name<R: Recipes>(R::Compute);

        impl<R: Recipes> Clone for $name<R> {
            fn clone(&self) -> Self {
                *self
            }
        }
        impl<R: Recipes> Copy for $name<R> {}

        impl<R: Recipes> Function<1, R::Compute, R::Compute> for $name<R> {
            #[inline(always)]
            fn call(self, [x]: [R::Compute; 1]) -> R::Compute {
                R::$recipe(x, self.0)
            }
        }
    };
}
/// Defines a power with an exponent that has a recipe of its own.
macro_rules! power {
    ($name:ident<$R:ident>($x:ident) => $result:expr) => {
        struct $name<R>(PhantomData<fn() -> R>);

        impl<R> Clone for $name<R> {
            fn clone(&self) -> Self {
                *self
            }
        }
        impl<R> Copy for $name<R> {}

        impl<$R: Recipes<Compute: FloatCompute>> Function<1, $R::Compute, $R::Compute> for $name<$R> {
            #[inline(always)]
            fn call(self, [$x]: [$R::Compute; 1]) -> $R::Compute {
                $result
            }
        }
    };
}
power!(Cube<R>(x) => x.mul(x.mul(x)));
power!(InverseSquare<R>(x) => { let inverse = R::recip(x); inverse.mul(inverse) });

/// Returns what the power with an exponent of 1/2 is the root of: powers of -0 and minus infinity
/// are those of +0 and infinity.
#[inline(always)]
fn radicand<C: FloatCompute>(x: C) -> C {
    if x == C::BOTTOM { C::TOP } else { x.add(C::ZERO) }
}
power!(Root<R>(x) => radicand(x).sqrt());
power!(InverseRoot<R>(x) => R::rsqrt(radicand(x)));

with_parameter!(Power, pow);
with_parameter!(ExpLinear, elu);
with_parameter!(ContinuousExpLinear, celu);

pub(super) fn affine(op: Affine, src: Src<'_, CpuStorage>, dst: &mut CpuStorage, dst_layout: &Layout) {
    dispatch_compute!(dst.dtype(), C => {
        let f = MulAdd { mul: C::from_parameter(op.mul), add: C::from_parameter(op.add) };
        map(&Each::<_, C, C>::value(f), [src], dst, dst_layout);
    });
}

pub(super) fn clamp(op: Clamp, src: Src<'_, CpuStorage>, dst: &mut CpuStorage, dst_layout: &Layout) {
    dispatch_compute!(dst.dtype(), C => {
        let f = Between { min: C::from_parameter(op.min), max: C::from_parameter(op.max) };
        map(&Each::<_, C, C>::value(f), [src], dst, dst_layout);
    });
}

pub(super) fn powf(op: Powf, src: Src<'_, CpuStorage>, dst: &mut CpuStorage, dst_layout: &Layout) {
    let dtype = dst.dtype();
    dispatch_recipes!(dtype, R => {
        type C = <R as Element>::Compute;
        let power: &dyn BlockFunction<1> = match op.recipe(dtype) {
            PowfRecipe::Pow => &Each::<_, C, C>::value(Power::<R>(C::from_parameter(op.exponent))),
            PowfRecipe::Itself => return copy::copy(src, dst, dst_layout),
            PowfRecipe::Square => unary::function(UnaryOp::Sqr, dtype),
            PowfRecipe::Cube => &Each::<_, C, C>::value(Cube::<R>(PhantomData)),
            PowfRecipe::Reciprocal => unary::function(UnaryOp::Recip, dtype),
            PowfRecipe::InverseSquare => &Each::<_, C, C>::value(InverseSquare::<R>(PhantomData)),
            PowfRecipe::Root => &Each::<_, C, C>::value(Root::<R>(PhantomData)),
            PowfRecipe::InverseRoot => &Each::<_, C, C>::value(InverseRoot::<R>(PhantomData)),
        };
        map(power, [src], dst, dst_layout);
    });
}

pub(super) fn elu(op: Elu, src: Src<'_, CpuStorage>, dst: &mut CpuStorage, dst_layout: &Layout) {
    dispatch_recipes!(dst.dtype(), R => {
        type C = <R as Element>::Compute;
        map(&Each::<_, C, C>::value(ExpLinear::<R>(C::from_parameter(op.alpha))), [src], dst, dst_layout);
    });
}

pub(super) fn leaky_relu(op: LeakyRelu, src: Src<'_, CpuStorage>, dst: &mut CpuStorage, dst_layout: &Layout) {
    dispatch_float_compute!(dst.dtype(), C => {
        let f = Leaky { slope: C::from_parameter(op.negative_slope) };
        map(&Each::<_, C, C>::value(f), [src], dst, dst_layout);
    });
}

pub(super) fn celu(op: Celu, src: Src<'_, CpuStorage>, dst: &mut CpuStorage, dst_layout: &Layout) {
    dispatch_recipes!(dst.dtype(), R => {
        type C = <R as Element>::Compute;
        map(&Each::<_, C, C>::value(ContinuousExpLinear::<R>(C::from_parameter(op.alpha))), [src], dst, dst_layout);
    });
}
