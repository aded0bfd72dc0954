//! `cvt.pack.sat`: saturates two integers and packs them next to each other, in front of what was
//! packed before.

use crate::exec::emit::{U32, op, ptx};
use crate::lower::Lower;
use crate::ptx::ast::{Instruction, Type};

const S32: Type = ptx!(s32);

/// Returns the width of a narrow type, and whether it is signed.
fn range(name: &str) -> Option<(u32, bool)> {
    match name {
        "s2" | "u2" => Some((2, name == "s2")),
        "s4" | "u4" => Some((4, name == "s4")),
        "s8" | "u8" => Some((8, name == "s8")),
        "s16" | "u16" => Some((16, name == "s16")),
        _ => None,
    }
}

/// Saturates an integer to a type of this width, and truncates it to that width.
#[inline(always)]
fn saturate<const BITS: u32, const SIGNED: bool>(x: i32) -> u32 {
    let (least, greatest) = if SIGNED { (-1 << (BITS - 1), (1 << (BITS - 1)) - 1) } else { (0, (1 << BITS) - 1) };
    x.clamp(least, greatest) as u32 & ((1 << BITS) - 1)
}

/// Packs two integers, the first above the second.
#[inline(always)]
fn beside<const BITS: u32, const SIGNED: bool>(a: i32, b: i32) -> u32 {
    saturate::<BITS, SIGNED>(a) << BITS | saturate::<BITS, SIGNED>(b)
}

macro_rules! packs {
    ($low:ident, $inst:ident, $width:expr, $(($bits:literal, $signed:literal))*) => {
        match $width {
            $(($bits, $signed) => op!($low, $inst, U32, [S32, S32, U32], |a: i32, b: i32, before: u32| -> u32 {
                beside::<$bits, $signed>(a, b) | before << (2 * $bits)
            }),)*
            _ => Err("it does not support these integer types".into()),
        }
    };
}

/// `cvt.pack`
///
/// # Errors
/// Fails if the types or operands are not supported.
pub fn pack(low: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    let [pack, sat, narrow, wide, before @ ..] = inst.modifiers.as_slice() else {
        return Err("it must be cvt.pack.sat with two types".into());
    };
    if pack != "pack" || sat != "sat" || wide != "s32" {
        return Err("it must be cvt.pack.sat of .s32".into());
    }
    let width = range(narrow).ok_or_else(|| format!("it cannot pack .{narrow}"))?;
    match before {
        [] if width == (16, true) => {
            op!(low, inst, U32, [S32, S32], |a: i32, b: i32| -> u32 { beside::<16, true>(a, b) })
        }
        [] if width == (16, false) => {
            op!(low, inst, U32, [S32, S32], |a: i32, b: i32| -> u32 { beside::<16, false>(a, b) })
        }
        [third] if third == "b32" && width.0 < 16 => {
            packs!(low, inst, width, (2, false)(2, true)(4, false)(4, true)(8, false)(8, true))
        }
        _ => Err("a .b32 with earlier results is valid only for 2, 4 and 8 bits".into()),
    }
}
