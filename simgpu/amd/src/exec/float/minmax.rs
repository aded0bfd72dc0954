//! Minimum, maximum and median. In IEEE mode, which is the mode of every kernel, a signalling NaN
//! operand is returned quieted, a quiet NaN gives the other operand, and -0 is less than +0.

use super::half::both;
use crate::exec::lane::{Lanes, lower};
use crate::exec::lower::{Lower, Lowering};
use crate::exec::program::{Step, Unsupported};
use crate::exec::value::{F16, F16x2, Value};
use crate::isa::Inst;
use std::marker::PhantomData;

/// A floating-point type, by its bits.
pub trait Bits: Value {
    /// A key that orders like the values, with -0 below +0.
    type Key: PartialOrd + Copy;
    /// Returns the value's key.
    fn key(self) -> Self::Key;
    /// Whether it is a NaN.
    fn nan(self) -> bool;
    /// Whether it is a NaN that is already quiet.
    fn quiet_bit(self) -> bool;
    /// Returns a NaN quieted.
    fn quieted(self) -> Self;
    /// Whether the values are equal; the two zeros are equal.
    fn same(self, other: Self) -> bool;
}

macro_rules! bits {
    ($type:ty, $uint:ty, $int:ty, $infinity:expr, $quiet:expr, |$x:ident| $get:expr, |$y:ident| $make:expr) => {
        impl Bits for $type {
            type Key = $int;
            #[inline(always)]
            fn key(self) -> $int {
                let $x = self;
                let bits = $get as $int;
                bits ^ ((bits >> (<$int>::BITS - 1)) & <$int>::MAX)
            }
            #[inline(always)]
            fn nan(self) -> bool {
                let $x = self;
                ($get & <$int>::MAX as $uint) > $infinity
            }
            #[inline(always)]
            fn quiet_bit(self) -> bool {
                let $x = self;
                $get & $quiet != 0
            }
            #[inline(always)]
            fn quieted(self) -> Self {
                let $x = self;
                let $y = $get | $quiet;
                $make
            }
            #[inline(always)]
            fn same(self, other: Self) -> bool {
                let ($x, this_nan) = (self, self.nan());
                let this = $get;
                let $x = other;
                let other = $get;
                !this_nan & ((this == other) | ((this | other) & <$int>::MAX as $uint == 0))
            }
        }
    };
}

bits!(F16, u16, i16, 0x7c00, 0x200, |x| x.0, |y| F16(y));
bits!(f32, u32, i32, 0x7f80_0000, 0x40_0000, |x| x.to_bits(), |y| f32::from_bits(y));
bits!(f64, u64, i64, 0x7ff0_0000_0000_0000, 0x8_0000_0000_0000, |x| x.to_bits(), |y| f64::from_bits(y));

/// Selects by order unless there is a NaN. For two quiet NaNs GFX9 returns the second and GFX11 the
/// first.
#[inline(always)]
fn choose<const GFX9: bool, T: Bits>(a: T, b: T, first: bool) -> T {
    let signalling = |x: T| x.nan() & !x.quiet_bit();
    let plain = if first { a } else { b };
    let (one, other) = if GFX9 { (a, b) } else { (b, a) };
    let r = if other.nan() { one } else { plain };
    let r = if one.nan() { other } else { r };
    let r = if signalling(b) { b.quieted() } else { r };
    if signalling(a) { a.quieted() } else { r }
}

/// Returns the smaller value.
#[inline(always)]
pub fn min<const GFX9: bool, T: Bits>(a: T, b: T) -> T {
    choose::<GFX9, T>(a, b, a.key() < b.key())
}

/// Returns the larger value.
#[inline(always)]
pub fn max<const GFX9: bool, T: Bits>(a: T, b: T) -> T {
    choose::<GFX9, T>(a, b, a.key() > b.key())
}

#[inline(always)]
fn med3<const GFX9: bool, T: Bits>(a: T, b: T, c: T) -> T {
    let greatest = max::<GFX9, T>(max::<GFX9, T>(a, b), c);
    let least = min::<GFX9, T>(min::<GFX9, T>(a, b), c);
    let r = if greatest.same(b) { max::<GFX9, T>(a, c) } else { max::<GFX9, T>(a, b) };
    let r = if greatest.same(a) { max::<GFX9, T>(b, c) } else { r };
    if a.nan() | b.nan() | c.nan() { least } else { r }
}

/// Declares operations by their behaviour on each generation.
macro_rules! orders {
    ($($op:ident => |$($x:ident),*| ($($in:ident),*) $body:expr;)*) => {$(
        struct $op<const GFX9: bool, T>(PhantomData<T>);
        impl<const GFX9: bool, T: Bits> Lanes for $op<GFX9, T> {
            type In = ($($in,)*);
            type Out = T;
            #[inline(always)]
            fn lane(($($x,)*): Self::In) -> T {
                $body
            }
        }
        impl<T: Bits> ByGeneration for $op<true, T> {
            type Gfx11 = $op<false, T>;
        }
    )*};
}

/// An instruction of GFX9 and its form on GFX11.
trait ByGeneration: Lanes {
    type Gfx11: Lanes;
}

fn generation<L: ByGeneration>(low: &mut Lower, inst: &Inst) -> Result<Step, Unsupported> {
    if low.arch.is_gfx9() { lower::<L>(low, inst) } else { lower::<L::Gfx11>(low, inst) }
}

orders! {
    Min => |a, b| (T, T) min::<GFX9, T>(a, b);
    Max => |a, b| (T, T) max::<GFX9, T>(a, b);
    Min3 => |a, b, c| (T, T, T) min::<GFX9, T>(min::<GFX9, T>(a, b), c);
    Max3 => |a, b, c| (T, T, T) max::<GFX9, T>(max::<GFX9, T>(a, b), c);
    Med3 => |a, b, c| (T, T, T) med3::<GFX9, T>(a, b, c);
    MinMax => |a, b, c| (T, T, T) max::<GFX9, T>(min::<GFX9, T>(a, b), c);
    MaxMin => |a, b, c| (T, T, T) min::<GFX9, T>(max::<GFX9, T>(a, b), c);
}

struct PackedMin<const GFX9: bool>;
struct PackedMax<const GFX9: bool>;

impl<const GFX9: bool> Lanes for PackedMin<GFX9> {
    type In = (F16x2, F16x2);
    type Out = F16x2;
    #[inline(always)]
    fn lane((a, b): Self::In) -> F16x2 {
        both(a, b, min::<GFX9, F16>)
    }
}

impl<const GFX9: bool> Lanes for PackedMax<GFX9> {
    type In = (F16x2, F16x2);
    type Out = F16x2;
    #[inline(always)]
    fn lane((a, b): Self::In) -> F16x2 {
        both(a, b, max::<GFX9, F16>)
    }
}

impl ByGeneration for PackedMin<true> {
    type Gfx11 = PackedMin<false>;
}

impl ByGeneration for PackedMax<true> {
    type Gfx11 = PackedMax<false>;
}

/// Minimum, maximum and median instructions.
pub const TABLE: &[(&str, Lowering)] = &[
    ("v_min_f16", generation::<Min<true, F16>>),
    ("v_min_f32", generation::<Min<true, f32>>),
    ("v_min_f64", generation::<Min<true, f64>>),
    ("v_max_f16", generation::<Max<true, F16>>),
    ("v_max_f32", generation::<Max<true, f32>>),
    ("v_max_f64", generation::<Max<true, f64>>),
    ("v_min3_f16", generation::<Min3<true, F16>>),
    ("v_min3_f32", generation::<Min3<true, f32>>),
    ("v_max3_f16", generation::<Max3<true, F16>>),
    ("v_max3_f32", generation::<Max3<true, f32>>),
    ("v_med3_f16", generation::<Med3<true, F16>>),
    ("v_med3_f32", generation::<Med3<true, f32>>),
    ("v_minmax_f16", generation::<MinMax<true, F16>>),
    ("v_minmax_f32", generation::<MinMax<true, f32>>),
    ("v_maxmin_f16", generation::<MaxMin<true, F16>>),
    ("v_maxmin_f32", generation::<MaxMin<true, f32>>),
    ("v_pk_min_f16", generation::<PackedMin<true>>),
    ("v_pk_max_f16", generation::<PackedMax<true>>),
];
