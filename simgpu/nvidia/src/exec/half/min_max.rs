//! Minimum and maximum of halves, like those of binary32.

use super::value::{Half, Halves};
use crate::exec::emit::{flags, op, typed};
use crate::exec::float::choose_signed;
use crate::lower::{Lower, Modifiers};
use crate::ptx::ast::Instruction;

/// Computes in binary32 and converts back, which changes only the NaN.
#[inline(always)]
fn choose<const MAX: bool, const FTZ: bool, const NAN: bool, const XORSIGN: bool, H: Half>(a: H, b: H) -> H {
    let (a, b) = (a.flush::<FTZ>().widen(), b.flush::<FTZ>().widen());
    H::narrow(choose_signed::<MAX, NAN, XORSIGN, f32>(a, b))
}

fn order(low: &mut Lower<'_>, inst: &Instruction, max: bool) -> Result<(), String> {
    let mut modifiers = Modifiers::of(inst);
    let (ftz, nan) = (modifiers.take("ftz"), modifiers.take("NaN"));
    let xorsign = modifiers.take("xorsign");
    if xorsign != modifiers.take("abs") {
        return Err(".xorsign and .abs are valid only together".into());
    }
    let ty = modifiers.take_type()?;
    modifiers.finish()?;
    typed!(ty, T: f16 bf16 f16x2 bf16x2 => flags!(max MAX, ftz FTZ, nan NAN, xorsign XORSIGN => {
        op!(low, inst, ty, [ty, ty], |a: T, b: T| -> T {
            a.zip(b, choose::<MAX, FTZ, NAN, XORSIGN, _>)
        })
    }))
}

/// `min`
pub fn min(low: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    order(low, inst, false)
}

/// `max`
pub fn max(low: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    order(low, inst, true)
}
