//! Selects one of two values by a predicate or by a sign.

use crate::exec::emit::{PREDICATE, flags, op, ptx, refused, typed};
use crate::exec::float::flush;
use crate::lower::{Lower, Modifiers, Table};
use crate::ptx::ast::Instruction;

fn selp(low: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    let mut modifiers = Modifiers::of(inst);
    let ty = modifiers.take_type()?;
    modifiers.finish()?;
    typed!(ty, T: b16 u16 s16 b32 u32 s32 f32 b64 u64 s64 f64 => {
        op!(low, inst, ty, [ty, ty, PREDICATE], |a: T, b: T, first: bool| -> T { if first { a } else { b } })
    })
}

fn slct(low: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    let mut modifiers = Modifiers::of(inst);
    let ftz = modifiers.take("ftz");
    let (ty, by) = (modifiers.take_type()?, modifiers.take_type()?);
    modifiers.finish()?;
    match by {
        ptx!(s32) if !ftz => typed!(ty, T: b16 u16 s16 b32 u32 s32 f32 b64 u64 s64 f64 => {
            op!(low, inst, ty, [ty, ty, by], |a: T, b: T, sign: i32| -> T { if sign >= 0 { a } else { b } })
        }),
        ptx!(f32) => flags!(ftz FTZ => typed!(ty, T: b16 u16 s16 b32 u32 s32 f32 b64 u64 s64 f64 => {
            op!(low, inst, ty, [ty, ty, by], |a: T, b: T, sign: f32| -> T {
                if flush::<FTZ>(sign) >= 0.0 { a } else { b }
            })
        })),
        other => Err(refused(other)),
    }
}

/// Select instructions.
pub const TABLE: Table = &[("selp", selp), ("slct", slct)];
