//! The elementwise operations with parameters: `affine`, `clamp`, `powf` and `elu`.

use super::CpuStorage;
use super::compute::Compute;
use super::element::Element;
use super::recipes::Recipes;
use super::walk::{Function, dispatch_float, map};
use crate::{Affine, Clamp, Elu, Layout, Powf, Src};
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

/// A function of the element and one parameter, by the recipe of the dtype.
macro_rules! with_parameter {
    ($name:ident, $recipe:ident) => {
        struct $name<T: Element>(T::Compute, PhantomData<T>);

        impl<T: Element> Clone for $name<T> {
            fn clone(&self) -> Self {
                *self
            }
        }
        impl<T: Element> Copy for $name<T> {}

        impl<T: Recipes> Function<1, T::Compute, T::Compute> for $name<T> {
            #[inline(always)]
            fn call(self, [x]: [T::Compute; 1]) -> T::Compute {
                T::$recipe(x, self.0)
            }
        }
    };
}
with_parameter!(Power, pow);
with_parameter!(ExpLinear, elu);

pub(super) fn affine(op: Affine, src: Src<'_, CpuStorage>, dst: &mut CpuStorage, dst_layout: &Layout) {
    dispatch_dtype!(dst.dtype(), T => {
        type C = <T as Element>::Compute;
        let f = MulAdd { mul: C::from_parameter(op.mul), add: C::from_parameter(op.add) };
        map::<1, T, T>(f, [src], dst, dst_layout);
    });
}

pub(super) fn clamp(op: Clamp, src: Src<'_, CpuStorage>, dst: &mut CpuStorage, dst_layout: &Layout) {
    dispatch_dtype!(dst.dtype(), T => {
        type C = <T as Element>::Compute;
        let f = Between { min: C::from_parameter(op.min), max: C::from_parameter(op.max) };
        map::<1, T, T>(f, [src], dst, dst_layout);
    });
}

pub(super) fn powf(op: Powf, src: Src<'_, CpuStorage>, dst: &mut CpuStorage, dst_layout: &Layout) {
    dispatch_float!(dst.dtype(), T => {
        map::<1, T, T>(Power::<T>(Compute::from_parameter(op.exponent), PhantomData), [src], dst, dst_layout);
    });
}

pub(super) fn elu(op: Elu, src: Src<'_, CpuStorage>, dst: &mut CpuStorage, dst_layout: &Layout) {
    dispatch_float!(dst.dtype(), T => {
        map::<1, T, T>(ExpLinear::<T>(Compute::from_parameter(op.alpha), PhantomData), [src], dst, dst_layout);
    });
}
