//! Conversion between the elements of each dtype and the values of its compute type, one block at a
//! time.

use super::compute::Compute;
use super::vector::{Kernel, vectorised};
use super::walk::{Buffer, values, values_mut};
use crate::{DType, F8E4M3, F8E5M2, WithDType};
use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};

/// An element of a buffer.
pub(super) trait Element: WithDType {
    /// The compute type of the dtype.
    type Compute: Compute;

    /// Returns the widened elements; `buf` holds them if they need conversion.
    fn load<'a>(src: &'a [Self], buf: &'a mut [Self::Compute]) -> &'a [Self::Compute];

    /// Rounds the values that `fill` writes into `dst`; `buf` has room for `dst.len()` values.
    fn store(dst: &mut [Self], buf: &mut [Self::Compute], fill: impl FnOnce(&mut [Self::Compute]));

    /// Rounds values into `dst`, which has the same length.
    fn round_all(values: &[Self::Compute], dst: &mut [Self]);

    /// Rounds one value.
    fn round(value: Self::Compute) -> Self;
}

/// The same conversions for a dtype known only at run time, so that code that only moves and
/// converts blocks is compiled once.
#[derive(Clone, Copy)]
pub(super) struct Codec {
    /// Bytes per element, and bytes per value of the compute type.
    pub size: usize,
    pub wide_size: usize,
    /// The conversions of a float narrower than f32, between slices of equal length.
    narrow: Option<Narrow>,
}

#[derive(Clone, Copy)]
struct Narrow {
    widen: fn(&[u8], &mut [f32]),
    round: fn(&[f32], &mut [u8]),
}

impl Codec {
    pub fn of(dtype: DType) -> Self {
        let narrow = match dtype {
            DType::F8E4M3 => Some(Narrow::of::<F8E4M3>()),
            DType::F8E5M2 => Some(Narrow::of::<F8E5M2>()),
            DType::F16 => Some(Narrow::of::<f16>()),
            DType::BF16 => Some(Narrow::of::<bf16>()),
            _ => None,
        };
        Self { size: dtype.size_in_bytes(), wide_size: dtype.compute().size_in_bytes(), narrow }
    }

    /// Returns the widened elements; `buf` holds them if they need conversion.
    pub fn widened<'a>(&self, src: &'a [u8], buf: &'a mut Buffer) -> &'a [u8] {
        let Some(narrow) = self.narrow else { return src };
        let out = buf.bytes(src.len() / self.size * self.wide_size);
        (narrow.widen)(src, values_mut(out));
        out
    }

    /// Rounds the values that `fill` writes into `dst`.
    pub fn rounded(&self, dst: &mut [u8], buf: &mut Buffer, fill: impl FnOnce(&mut [u8])) {
        let Some(narrow) = self.narrow else { return fill(dst) };
        let wide = buf.bytes(dst.len() / self.size * self.wide_size);
        fill(wide);
        (narrow.round)(values(wide), dst);
    }

    /// Widens elements into `out`, which has the same length.
    pub fn widen<C: Compute>(&self, src: &[u8], out: &mut [C]) {
        match self.narrow {
            None => out.copy_from_slice(values(src)),
            Some(narrow) => (narrow.widen)(src, bytemuck::cast_slice_mut(out)),
        }
    }

    /// Rounds values into `dst`, which has the same number of elements.
    pub fn round<C: Compute>(&self, values: &[C], dst: &mut [u8]) {
        match self.narrow {
            None => dst.copy_from_slice(bytemuck::cast_slice(values)),
            Some(narrow) => (narrow.round)(bytemuck::cast_slice(values), dst),
        }
    }
}

impl Narrow {
    fn of<T: Element<Compute = f32>>() -> Self {
        Self {
            widen: |src, out| {
                T::load(values(src), out);
            },
            round: |values, dst| T::round_all(values, values_mut(dst)),
        }
    }
}

macro_rules! same_as_compute {
    ($($ty:ident)*) => {$(
        impl Element for $ty {
            type Compute = $ty;

            fn load<'a>(src: &'a [Self], _: &'a mut [$ty]) -> &'a [$ty] {
                src
            }

            fn store(dst: &mut [Self], _: &mut [$ty], fill: impl FnOnce(&mut [$ty])) {
                fill(dst);
            }

            fn round_all(values: &[$ty], dst: &mut [Self]) {
                dst.copy_from_slice(values);
            }

            #[inline(always)]
            fn round(value: $ty) -> Self {
                value
            }
        }
    )*};
}
same_as_compute! { u8 i8 u16 i16 u32 i32 u64 i64 f32 f64 }

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

            fn round_all(values: &[f32], dst: &mut [Self]) {
                $round(values, dst);
            }

            #[inline(always)]
            fn round(value: f32) -> Self {
                $ty::from_f32(value)
            }
        }
    )*};
}
narrow_floats! {
    f16 widen_f16, round_f16;
    bf16 widen, round;
    F8E4M3 widen, round;
    F8E5M2 widen, round;
}

/// half's slice conversions use F16C; a loop over its scalar conversions would test for the CPU
/// feature at every element.
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
bits! { bf16 F8E4M3 F8E5M2 }

fn widen<T: Bits>(src: &[T], dst: &mut [f32]) {
    vectorised(Each(src, dst, T::widen));
}

fn round<T: Bits>(src: &[f32], dst: &mut [T]) {
    vectorised(Each(src, dst, T::round));
}
