//! How the elements of each dtype become values of its compute type and back, a block at a time.

use super::compute::{Compute, Convert, IntegerPow, OddF32};
use super::recipes::Recipes;
use super::vector::{Kernel, vectorised};
use crate::{F8E4M3, WithDType};
use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};

/// An element of a buffer.
pub(super) trait Element: WithDType {
    /// What it is computed in.
    type Compute: Compute;

    /// The elements widened, in `buf` where they must be moved for that.
    fn load<'a>(src: &'a [Self], buf: &'a mut [Self::Compute]) -> &'a [Self::Compute];

    /// Fills `dst` with what `fill` writes, rounded; `buf` has room for as many elements.
    fn store(dst: &mut [Self], buf: &mut [Self::Compute], fill: impl FnOnce(&mut [Self::Compute]));

    /// One value, rounded.
    fn round(value: Self::Compute) -> Self;

    /// What to hand to [`store`](Self::store) so that it rounds `value` once.
    fn prepare<V: Convert<Self::Compute> + OddF32>(value: V) -> Self::Compute;

    /// [`BinaryOp::Pow`](crate::BinaryOp::Pow) before it is rounded.
    fn power(x: Self::Compute, y: Self::Compute) -> Self::Compute;
}

macro_rules! same_as_compute {
    ($($ty:ident $trait:ident;)*) => {$(
        impl Element for $ty {
            type Compute = $ty;

            fn load<'a>(src: &'a [Self], _: &'a mut [$ty]) -> &'a [$ty] {
                src
            }

            fn store(dst: &mut [Self], _: &mut [$ty], fill: impl FnOnce(&mut [$ty])) {
                fill(dst);
            }

            #[inline(always)]
            fn round(value: $ty) -> Self {
                value
            }

            #[inline(always)]
            fn prepare<V: Convert<$ty> + OddF32>(value: V) -> $ty {
                value.convert()
            }

            #[inline(always)]
            fn power(x: $ty, y: $ty) -> $ty {
                <$ty as $trait>::pow(x, y)
            }
        }
    )*};
}
same_as_compute! {
    u8 IntegerPow;
    i8 IntegerPow;
    u32 IntegerPow;
    i16 IntegerPow;
    i32 IntegerPow;
    i64 IntegerPow;
    f32 Recipes;
    f64 Recipes;
}

macro_rules! narrow_floats {
    ($($ty:ident $widen:path, $round:path;)*) => {$(
        impl Element for $ty {
            type Compute = f32;

            fn load<'a>(src: &'a [Self], buf: &'a mut [f32]) -> &'a [f32] {
                let buf = &mut buf[..src.len()];
                $widen(src, buf);
                buf
            }

            fn store(dst: &mut [Self], buf: &mut [f32], fill: impl FnOnce(&mut [f32])) {
                let buf = &mut buf[..dst.len()];
                fill(buf);
                $round(buf, dst);
            }

            #[inline(always)]
            fn round(value: f32) -> Self {
                $ty::from_f32(value)
            }

            #[inline(always)]
            fn prepare<V: Convert<f32> + OddF32>(value: V) -> f32 {
                value.odd_f32()
            }

            #[inline(always)]
            fn power(x: f32, y: f32) -> f32 {
                <$ty as Recipes>::pow(x, y)
            }
        }
    )*};
}
narrow_floats! {
    f16 widen_f16, round_f16;
    bf16 widen, round;
    F8E4M3 widen, round;
}

/// half's slices go through F16C; a loop over its scalars would ask for the feature at every element.
fn widen_f16(src: &[f16], dst: &mut [f32]) {
    src.convert_to_f32_slice(dst);
}

fn round_f16(src: &[f32], dst: &mut [f16]) {
    dst.convert_from_f32_slice(src);
}

struct Each<'a, A, B, F>(&'a [A], &'a mut [B], F);

impl<A: Copy, B, F: Fn(A) -> B> Kernel for Each<'_, A, B, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (b, &a) in self.1.iter_mut().zip(self.0) {
            *b = self.2(a);
        }
    }
}

/// A float narrower than f32 whose scalar conversions are plain integer arithmetic.
trait Bits: Copy {
    fn widen(self) -> f32;
    fn round(v: f32) -> Self;
}

macro_rules! bits {
    ($($ty:ident)*) => {$(
        impl Bits for $ty {
            #[inline(always)]
            fn widen(self) -> f32 { self.to_f32() }
            #[inline(always)]
            fn round(v: f32) -> Self { $ty::from_f32(v) }
        }
    )*};
}
bits! { bf16 F8E4M3 }

fn widen<T: Bits>(src: &[T], dst: &mut [f32]) {
    vectorised(Each(src, dst, T::widen));
}

fn round<T: Bits>(src: &[f32], dst: &mut [T]) {
    vectorised(Each(src, dst, T::round));
}
