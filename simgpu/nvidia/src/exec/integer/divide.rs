//! Quotients and remainders. PTX does not specify a division by zero: here both results are all
//! ones, as on an H200 for 32 bits.

use crate::exec::emit::{op, typed};
use crate::lower::{Lower, Modifiers, Table};
use crate::ptx::ast::Instruction;

/// `div`
pub fn div(low: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    let mut modifiers = Modifiers::of(inst);
    let ty = modifiers.take_type()?;
    modifiers.finish()?;
    typed!(ty, T: u16 s16 u32 s32 u64 s64 => op!(low, inst, ty, [ty, ty], |a: T, b: T| -> T {
        if b == 0 { !0 } else { a.wrapping_div(b) }
    }))
}

fn rem(low: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    let mut modifiers = Modifiers::of(inst);
    let ty = modifiers.take_type()?;
    modifiers.finish()?;
    typed!(ty, T: u16 s16 u32 s32 u64 s64 => op!(low, inst, ty, [ty, ty], |a: T, b: T| -> T {
        if b == 0 { !0 } else { a.wrapping_rem(b) }
    }))
}

/// Remainders, which exist only for integers.
pub const TABLE: Table = &[("rem", rem)];
