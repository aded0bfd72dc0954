//! Minimum, maximum, absolute value, negation.

use super::sum::{both, take_pair};
use crate::exec::emit::{flags, op, typed};
use crate::lower::{Lower, Modifiers};
use crate::ptx::ast::{Instruction, Kind, Type};

const WORD: Type = Type { kind: Kind::Bits, bits: 32 };

/// `min`
pub fn min(low: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    order(low, inst, false)
}

/// `max`
pub fn max(low: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    order(low, inst, true)
}

/// Lowers a minimum or maximum; with `.relu` the result is not below zero.
fn order(low: &mut Lower<'_>, inst: &Instruction, max: bool) -> Result<(), String> {
    let mut modifiers = Modifiers::of(inst);
    let relu = modifiers.take("relu");
    if let Some(signed) = take_pair(&mut modifiers) {
        modifiers.finish()?;
        return pairs(low, inst, max, signed, relu);
    }
    let ty = modifiers.take_type()?;
    modifiers.finish()?;
    if relu {
        return typed!(ty, T: s32 => flags!(max MAX => op!(low, inst, ty, [ty, ty], |a: T, b: T| -> T {
            (if MAX { a.max(b) } else { a.min(b) }).max(0)
        })));
    }
    typed!(ty, T: u16 s16 u32 s32 u64 s64 => flags!(max MAX => op!(low, inst, ty, [ty, ty], |a: T, b: T| -> T {
        if MAX { a.max(b) } else { a.min(b) }
    })))
}

/// Lowers a minimum or maximum of both halves of a word.
fn pairs(low: &mut Lower<'_>, inst: &Instruction, max: bool, signed: bool, relu: bool) -> Result<(), String> {
    if !signed {
        if relu {
            return Err(".relu is valid only with signed integers".into());
        }
        return flags!(max MAX => op!(low, inst, WORD, [WORD, WORD], |a: u32, b: u32| -> u32 {
            both(a, b, |a, b| if MAX { a.max(b) } else { a.min(b) })
        }));
    }
    flags!(max MAX, relu RELU => op!(low, inst, WORD, [WORD, WORD], |a: u32, b: u32| -> u32 {
        both(a, b, |a, b| {
            let (a, b) = (a as i16, b as i16);
            let chosen = if MAX { a.max(b) } else { a.min(b) };
            (if RELU { chosen.max(0) } else { chosen }) as u16
        })
    }))
}

/// `abs`
pub fn abs(low: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    let mut modifiers = Modifiers::of(inst);
    let ty = modifiers.take_type()?;
    modifiers.finish()?;
    typed!(ty, T: s16 s32 s64 => op!(low, inst, ty, [ty], |a: T| -> T { a.wrapping_abs() }))
}

/// `neg`
pub fn neg(low: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    let mut modifiers = Modifiers::of(inst);
    let ty = modifiers.take_type()?;
    modifiers.finish()?;
    typed!(ty, T: s16 s32 s64 => op!(low, inst, ty, [ty], |a: T| -> T { a.wrapping_neg() }))
}
