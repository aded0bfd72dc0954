//! Products, with and without an addition, and sums of absolute differences.

use super::carry;
use crate::exec::emit::{flags, op, typed};
use crate::lower::{Lower, Modifiers, Table};
use crate::ptx::ast::{Instruction, Type};

/// An integer with a product of twice its width.
pub trait Wide: Copy {
    /// The type of twice the width.
    type Double;
    /// Returns the full product.
    fn wide(self, other: Self) -> Self::Double;
    /// Returns the upper half of the product.
    fn high(self, other: Self) -> Self;
}

macro_rules! wide {
    ($($type:ty, $double:ty;)*) => {$(
        impl Wide for $type {
            type Double = $double;
            #[inline(always)]
            fn wide(self, other: Self) -> $double {
                (self as $double).wrapping_mul(other as $double)
            }
            #[inline(always)]
            fn high(self, other: Self) -> Self {
                (self.wide(other) >> Self::BITS) as Self
            }
        }
    )*};
}

wide! {
    u16, u32;
    i16, i32;
    u32, u64;
    i32, i64;
    u64, u128;
    i64, i128;
}

/// Takes the modifier that selects a part of the product.
pub fn take_part(modifiers: &mut Modifiers<'_>) -> Result<&'static str, String> {
    modifiers.take_any(&["lo", "hi", "wide"]).ok_or_else(|| "it has none of .lo, .hi and .wide".into())
}

fn doubled(ty: Type) -> Type {
    Type { bits: ty.bits * 2, ..ty }
}

/// `mul`
pub fn mul(low: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    let mut modifiers = Modifiers::of(inst);
    let (part, ty) = (take_part(&mut modifiers)?, modifiers.take_type()?);
    modifiers.finish()?;
    match part {
        "lo" => typed!(ty, T: u16 s16 u32 s32 u64 s64 => {
            op!(low, inst, ty, [ty, ty], |a: T, b: T| -> T { a.wrapping_mul(b) })
        }),
        "hi" => typed!(ty, T: u16 s16 u32 s32 u64 s64 => {
            op!(low, inst, ty, [ty, ty], |a: T, b: T| -> T { a.high(b) })
        }),
        _ => typed!(ty, T: u16 s16 u32 s32 => {
            op!(low, inst, doubled(ty), [ty, ty], |a: T, b: T| -> <T as Wide>::Double { a.wide(b) })
        }),
    }
}

/// `mad`
pub fn mad(low: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    let mut modifiers = Modifiers::of(inst);
    if modifiers.take("cc") {
        return carry::mad(low, inst);
    }
    let (part, sat, ty) = (take_part(&mut modifiers)?, modifiers.take("sat"), modifiers.take_type()?);
    modifiers.finish()?;
    match (part, sat) {
        ("lo", false) => typed!(ty, T: u16 s16 u32 s32 u64 s64 => {
            op!(low, inst, ty, [ty, ty, ty], |a: T, b: T, c: T| -> T { a.wrapping_mul(b).wrapping_add(c) })
        }),
        ("hi", false) => typed!(ty, T: u16 s16 u32 s32 u64 s64 => {
            op!(low, inst, ty, [ty, ty, ty], |a: T, b: T, c: T| -> T { a.high(b).wrapping_add(c) })
        }),
        ("hi", true) => typed!(ty, T: s32 => {
            op!(low, inst, ty, [ty, ty, ty], |a: T, b: T, c: T| -> T { a.high(b).saturating_add(c) })
        }),
        ("wide", false) => typed!(ty, T: u16 s16 u32 s32 => {
            type Double = <T as Wide>::Double;
            op!(low, inst, doubled(ty), [ty, ty, doubled(ty)], |a: T, b: T, c: Double| -> Double {
                a.wide(b).wrapping_add(c)
            })
        }),
        _ => Err(".sat is valid only with .hi".into()),
    }
}

/// An integer for 24-bit multiplication.
trait Short {
    /// Returns the product of the low 24 bits of two integers: its bits 16 to 47, or 0 to 31.
    fn short<const HIGH: bool>(self, other: Self) -> Self;
}

impl Short for u32 {
    #[inline(always)]
    fn short<const HIGH: bool>(self, other: Self) -> Self {
        let product = u64::from(self & 0xff_ffff) * u64::from(other & 0xff_ffff);
        (if HIGH { product >> 16 } else { product }) as Self
    }
}

impl Short for i32 {
    #[inline(always)]
    fn short<const HIGH: bool>(self, other: Self) -> Self {
        let product = i64::from(self << 8 >> 8) * i64::from(other << 8 >> 8);
        (if HIGH { product >> 16 } else { product }) as Self
    }
}

fn mul24(low: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    let mut modifiers = Modifiers::of(inst);
    let (high, ty) = (take_half(&mut modifiers)?, modifiers.take_type()?);
    modifiers.finish()?;
    typed!(ty, T: u32 s32 => flags!(high HIGH => {
        op!(low, inst, ty, [ty, ty], |a: T, b: T| -> T { a.short::<HIGH>(b) })
    }))
}

fn mad24(low: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    let mut modifiers = Modifiers::of(inst);
    let (high, sat, ty) = (take_half(&mut modifiers)?, modifiers.take("sat"), modifiers.take_type()?);
    modifiers.finish()?;
    match (sat, high) {
        (true, false) => Err(".sat is valid only with .hi".into()),
        (true, true) => typed!(ty, T: s32 => {
            op!(low, inst, ty, [ty, ty, ty], |a: T, b: T, c: T| -> T { a.short::<true>(b).saturating_add(c) })
        }),
        (false, _) => typed!(ty, T: u32 s32 => flags!(high HIGH => {
            op!(low, inst, ty, [ty, ty, ty], |a: T, b: T, c: T| -> T { a.short::<HIGH>(b).wrapping_add(c) })
        })),
    }
}

/// Returns true for `.hi` and false for `.lo`.
fn take_half(modifiers: &mut Modifiers<'_>) -> Result<bool, String> {
    match take_part(modifiers)? {
        "wide" => Err("it has no .wide".into()),
        part => Ok(part == "hi"),
    }
}

fn sad(low: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    let mut modifiers = Modifiers::of(inst);
    let ty = modifiers.take_type()?;
    modifiers.finish()?;
    typed!(ty, T: u16 s16 u32 s32 u64 s64 => op!(low, inst, ty, [ty, ty, ty], |a: T, b: T, c: T| -> T {
        c.wrapping_add(a.abs_diff(b) as T)
    }))
}

/// 24-bit products, and sums of absolute differences.
pub const TABLE: Table = &[("mul24", mul24), ("mad24", mad24), ("sad", sad)];
