//! Shifts. An amount of the width or more gives zero, or only copies of the sign.

use super::field::take_clamp;
use crate::exec::emit::{U32, flags, op, ptx, refused, typed};
use crate::lower::{Lower, Modifiers, Table};
use crate::ptx::ast::Instruction;

fn shl(low: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    let mut modifiers = Modifiers::of(inst);
    let ty = modifiers.take_type()?;
    modifiers.finish()?;
    typed!(ty, T: b16 b32 b64 => op!(low, inst, ty, [ty, U32], |a: T, by: u32| -> T {
        if by < T::BITS { a << (by & (T::BITS - 1)) } else { 0 }
    }))
}

fn shr(low: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    let mut modifiers = Modifiers::of(inst);
    let ty = modifiers.take_type()?;
    modifiers.finish()?;
    if ty.kind == crate::ptx::ast::Kind::Signed {
        return typed!(ty, T: s16 s32 s64 => op!(low, inst, ty, [ty, U32], |a: T, by: u32| -> T {
            a >> by.min(T::BITS - 1)
        }));
    }
    typed!(ty, T: b16 u16 b32 u32 b64 u64 => op!(low, inst, ty, [ty, U32], |a: T, by: u32| -> T {
        if by < T::BITS { a >> (by & (T::BITS - 1)) } else { 0 }
    }))
}

/// Funnel shift: returns one word from two consecutive words.
fn shf(low: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    let mut modifiers = Modifiers::of(inst);
    let left = match modifiers.take_any(&["l", "r"]) {
        Some(side) => side == "l",
        None => return Err("it has neither .l nor .r".into()),
    };
    let (clamp, ty) = (take_clamp(&mut modifiers)?, modifiers.take_type()?);
    modifiers.finish()?;
    if ty != ptx!(b32) {
        return Err(refused(ty));
    }
    flags!(left LEFT, clamp CLAMP => op!(low, inst, ty, [ty, ty, U32], |a: u32, b: u32, by: u32| -> u32 {
        let both = u64::from(a) | u64::from(b) << 32;
        let by = if CLAMP { by.min(32) } else { by & 31 };
        if LEFT { (both << by >> 32) as u32 } else { (both >> by) as u32 }
    }))
}

/// Shifts.
pub const TABLE: Table = &[("shl", shl), ("shr", shr), ("shf", shf)];
