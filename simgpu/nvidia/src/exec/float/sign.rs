//! Signs and classes: `abs`, `neg`, `copysign`, `testp`. They operate on bits. PTX does not specify
//! their result for a NaN; here it remains a NaN.

use super::flush;
use crate::exec::emit::{PREDICATE, flags, op, ptx, refused, typed};
use crate::lower::{Lower, Modifiers, Table};
use crate::ptx::ast::Instruction;

/// `abs`
pub fn abs(low: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    let mut modifiers = Modifiers::of(inst);
    let (ftz, ty) = (modifiers.take("ftz"), modifiers.take_type()?);
    modifiers.finish()?;
    match ty {
        ptx!(f32) => flags!(ftz FTZ => op!(low, inst, ty, [ty], |a: f32| -> f32 { flush::<FTZ>(a).abs() })),
        ptx!(f64) if !ftz => op!(low, inst, ty, [ty], |a: f64| -> f64 { a.abs() }),
        other => Err(refused(other)),
    }
}

/// `neg`
pub fn neg(low: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    let mut modifiers = Modifiers::of(inst);
    let (ftz, ty) = (modifiers.take("ftz"), modifiers.take_type()?);
    modifiers.finish()?;
    match ty {
        ptx!(f32) => flags!(ftz FTZ => op!(low, inst, ty, [ty], |a: f32| -> f32 { -flush::<FTZ>(a) })),
        ptx!(f64) if !ftz => op!(low, inst, ty, [ty], |a: f64| -> f64 { -a }),
        other => Err(refused(other)),
    }
}

/// Returns the second operand with the sign of the first.
fn copysign(low: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    let mut modifiers = Modifiers::of(inst);
    let ty = modifiers.take_type()?;
    modifiers.finish()?;
    typed!(ty, T: f32 f64 => op!(low, inst, ty, [ty, ty], |a: T, b: T| -> T { b.copysign(a) }))
}

fn testp(low: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    let mut modifiers = Modifiers::of(inst);
    let class = modifiers.take_any(&["finite", "infinite", "number", "notanumber", "normal", "subnormal"]);
    let ty = modifiers.take_type()?;
    modifiers.finish()?;
    macro_rules! test {
        (|$x:ident| $test:expr) => {
            typed!(ty, T: f32 f64 => op!(low, inst, PREDICATE, [ty], |$x: T| -> bool { $test }))
        };
    }
    match class {
        Some("finite") => test!(|x| x.abs() < T::INFINITY),
        Some("infinite") => test!(|x| x.abs() == T::INFINITY),
        Some("number") => test!(|x| !x.is_nan()),
        Some("notanumber") => test!(|x| x.is_nan()),
        // Zeros count as normal.
        Some("normal") => test!(|x| ((x.abs() >= T::MIN_POSITIVE) | (x == 0.0)) & (x.abs() < T::INFINITY)),
        Some("subnormal") => test!(|x| (x.abs() < T::MIN_POSITIVE) & (x != 0.0)),
        _ => Err("it has no class modifier".into()),
    }
}

/// Sign and class instructions that exist only for floating point.
pub const TABLE: Table = &[("copysign", copysign), ("testp", testp)];
