//! Sums and differences.

use super::carry;
use crate::exec::emit::{op, typed};
use crate::lower::{Lower, Modifiers};
use crate::ptx::ast::{Instruction, Type};

/// Returns whether the pair is signed, if the instruction is for pairs of 16-bit integers.
pub fn take_pair(modifiers: &mut Modifiers<'_>) -> Option<bool> {
    modifiers.take_any(&["u16x2", "s16x2"]).map(|name| name == "s16x2")
}

/// Applies a function to both halves of a word.
#[inline(always)]
pub fn both(a: u32, b: u32, f: impl Fn(u16, u16) -> u16) -> u32 {
    u32::from(f(a as u16, b as u16)) | u32::from(f((a >> 16) as u16, (b >> 16) as u16)) << 16
}

const WORD: Type = Type { kind: crate::ptx::ast::Kind::Bits, bits: 32 };

/// `add`
pub fn add(low: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    let mut modifiers = Modifiers::of(inst);
    if modifiers.take("cc") {
        return carry::add(low, inst);
    }
    if take_pair(&mut modifiers).is_some() {
        modifiers.finish()?;
        return op!(low, inst, WORD, [WORD, WORD], |a: u32, b: u32| -> u32 { both(a, b, u16::wrapping_add) });
    }
    let (sat, ty) = (modifiers.take("sat"), modifiers.take_type()?);
    modifiers.finish()?;
    if sat {
        return typed!(ty, T: s32 => op!(low, inst, ty, [ty, ty], |a: T, b: T| -> T { a.saturating_add(b) }));
    }
    typed!(ty, T: u16 s16 u32 s32 u64 s64 => op!(low, inst, ty, [ty, ty], |a: T, b: T| -> T { a.wrapping_add(b) }))
}

/// `sub`
pub fn sub(low: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    let mut modifiers = Modifiers::of(inst);
    if modifiers.take("cc") {
        return carry::sub(low, inst);
    }
    let (sat, ty) = (modifiers.take("sat"), modifiers.take_type()?);
    modifiers.finish()?;
    if sat {
        return typed!(ty, T: s32 => op!(low, inst, ty, [ty, ty], |a: T, b: T| -> T { a.saturating_sub(b) }));
    }
    typed!(ty, T: u16 s16 u32 s32 u64 s64 => op!(low, inst, ty, [ty, ty], |a: T, b: T| -> T { a.wrapping_sub(b) }))
}
