//! Counts and finds bits.

use crate::exec::emit::{U32, flags, op, ptx, typed};
use crate::lower::{Lower, Modifiers, Table};
use crate::ptx::ast::{Instruction, Kind};

fn popc(low: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    let mut modifiers = Modifiers::of(inst);
    let ty = modifiers.take_type()?;
    modifiers.finish()?;
    typed!(ty, T: b32 b64 => op!(low, inst, U32, [ty], |a: T| -> u32 { a.count_ones() }))
}

fn clz(low: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    let mut modifiers = Modifiers::of(inst);
    let ty = modifiers.take_type()?;
    modifiers.finish()?;
    typed!(ty, T: b32 b64 => op!(low, inst, U32, [ty], |a: T| -> u32 { a.leading_zeros() }))
}

fn brev(low: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    let mut modifiers = Modifiers::of(inst);
    let ty = modifiers.take_type()?;
    modifiers.finish()?;
    typed!(ty, T: b32 b64 => op!(low, inst, ty, [ty], |a: T| -> T { a.reverse_bits() }))
}

/// The position of the highest set bit, or its distance from the highest position; all ones if no
/// bit is set.
#[inline(always)]
fn highest<const SHIFT: bool>(zeros: u32, bits: u32) -> u32 {
    let place = if SHIFT { zeros } else { (bits - 1).wrapping_sub(zeros) };
    if zeros == bits { u32::MAX } else { place }
}

/// For a negative number, the highest non-sign bit is a zero bit.
fn bfind(low: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    let mut modifiers = Modifiers::of(inst);
    let (shift, ty) = (modifiers.take("shiftamt"), modifiers.take_type()?);
    modifiers.finish()?;
    if ty.kind == Kind::Signed {
        return typed!(ty, T: s32 s64 => flags!(shift SHIFT => op!(low, inst, U32, [ty], |a: T| -> u32 {
            highest::<SHIFT>((a ^ a >> (T::BITS - 1)).leading_zeros(), T::BITS)
        })));
    }
    typed!(ty, T: u32 u64 => flags!(shift SHIFT => op!(low, inst, U32, [ty], |a: T| -> u32 {
        highest::<SHIFT>(a.leading_zeros(), T::BITS)
    })))
}

/// Returns the position of the n-th set bit, counted upwards or downwards from a position.
#[inline(always)]
fn nth_set(mask: u32, base: u32, offset: i32) -> u32 {
    if base > 31 {
        return u32::MAX;
    }
    if offset == 0 {
        return if mask >> base & 1 != 0 { base } else { u32::MAX };
    }
    // Counts upwards from the base; a downward search is an upward search in the reversed mask.
    let (turned, from) = if offset > 0 { (mask, base) } else { (mask.reverse_bits(), 31 - base) };
    let mut left = turned >> from << from;
    for _ in 1..offset.unsigned_abs().min(33) {
        left &= left.wrapping_sub(1);
    }
    match left.trailing_zeros() {
        32 => u32::MAX,
        place if offset > 0 => place,
        place => 31 - place,
    }
}

fn fns(low: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    let mut modifiers = Modifiers::of(inst);
    let ty = modifiers.take_type()?;
    modifiers.finish()?;
    typed!(ty, T: b32 => {
        op!(low, inst, ty, [ty, ty, ptx!(s32)], |mask: T, base: u32, offset: i32| -> T { nth_set(mask, base, offset) })
    })
}

/// Instructions that count and find bits.
pub const TABLE: Table = &[("popc", popc), ("clz", clz), ("brev", brev), ("bfind", bfind), ("fns", fns)];
