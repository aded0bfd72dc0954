//! The elementwise operations with parameters: `affine`, `clamp`, `powf`, `elu`, `leaky_relu` and
//! `celu`.

use super::CpuStorage;
use super::compute::{Compute, FloatCompute};
use super::element::Element;
use super::math_dispatch::Recipes;
use super::walk::{Each, Function, dispatch_compute, dispatch_float_compute, dispatch_recipes, map};
use crate::{Affine, Celu, Clamp, Elu, Layout, LeakyRelu, Powf, Src};

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
    dispatch_recipes!(dst.dtype(), R => {
        type C = <R as Element>::Compute;
        map(&Each::<_, C, C>::value(Power::<R>(C::from_parameter(op.exponent))), [src], dst, dst_layout);
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
