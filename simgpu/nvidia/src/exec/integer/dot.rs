//! Dot products of the bytes of words: `dp4a`, and `dp2a` with its 16-bit halves.

use crate::exec::emit::{flags, op, ptx};
use crate::lower::{Lower, Modifiers, Table};
use crate::ptx::ast::{Instruction, Kind, Type};

/// Returns the signedness of both factors, and the type of the sum, which is signed if one of the
/// factors is.
fn take_types(modifiers: &mut Modifiers<'_>) -> Result<(bool, bool, Type), String> {
    let (a, b) = (modifiers.take_type()?, modifiers.take_type()?);
    for ty in [a, b] {
        if !matches!(ty, ptx!(u32) | ptx!(s32)) {
            return Err(crate::exec::emit::refused(ty));
        }
    }
    let signed = |ty: Type| ty.kind == Kind::Signed;
    Ok((signed(a), signed(b), if signed(a) { a } else { b }))
}

/// Returns a byte of a word, counted from the lowest.
#[inline(always)]
fn byte<const SIGNED: bool>(word: u32, at: u32) -> i32 {
    let byte = (word >> (8 * at)) as u8;
    if SIGNED { (byte as i8).into() } else { byte.into() }
}

/// Returns one half of a word.
#[inline(always)]
fn half<const SIGNED: bool>(word: u32, at: u32) -> i32 {
    let half = (word >> (16 * at)) as u16;
    if SIGNED { (half as i16).into() } else { half.into() }
}

fn dp4a(low: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    let mut modifiers = Modifiers::of(inst);
    let (a_signed, b_signed, ty) = take_types(&mut modifiers)?;
    modifiers.finish()?;
    flags!(a_signed A, b_signed B => op!(low, inst, ty, [ty, ty, ty], |a: u32, b: u32, c: u32| -> u32 {
        let product = |at| byte::<A>(a, at).wrapping_mul(byte::<B>(b, at)) as u32;
        let sums = product(0).wrapping_add(product(1)).wrapping_add(product(2).wrapping_add(product(3)));
        c.wrapping_add(sums)
    }))
}

fn dp2a(low: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    let mut modifiers = Modifiers::of(inst);
    let half_of_b = modifiers.take_any(&["lo", "hi"]).ok_or("it has neither .lo nor .hi")?;
    let high = half_of_b == "hi";
    let (a_signed, b_signed, ty) = take_types(&mut modifiers)?;
    modifiers.finish()?;
    flags!(a_signed A, b_signed B, high HIGH => op!(low, inst, ty, [ty, ty, ty], |a: u32, b: u32, c: u32| -> u32 {
        let first = if HIGH { 2 } else { 0 };
        let product = |at| half::<A>(a, at).wrapping_mul(byte::<B>(b, first + at)) as u32;
        c.wrapping_add(product(0)).wrapping_add(product(1))
    }))
}

/// Dot products.
pub const TABLE: Table = &[("dp4a", dp4a), ("dp2a", dp2a)];
