//! `ex2.approx` and `tanh.approx` of halves, shifted like those of binary32.

use super::value::{Half, Halves};
use crate::exec::emit::{flags, op, typed};
use crate::exec::float::approx::shifted;
use crate::lower::{Lower, Modifiers};
use crate::ptx::ast::{Instruction, Kind};

/// Returns the half within one unit in the last place of an exact value, on the side that the shift
/// selects.
#[inline(always)]
fn settle<const SHIFT: i8, H: Half>(exact: f64) -> H {
    let near = H::narrow_f64(exact);
    let (size, bound) = (f64::from(near.widen()).abs(), exact.abs());
    let moves = match SHIFT {
        0 => return near,
        1.. => size < bound,
        _ => size > bound,
    };
    let next = H::of_bits(near.bits().wrapping_add(i16::from(SHIFT) as u16));
    let normal = |x: H| (x.widen().abs() >= H::LEAST) & (x.widen().abs() < f32::INFINITY);
    if moves & normal(near) & normal(next) { next } else { near }
}

/// A function that is computed in binary64. `.ftz` is for `ex2` of bfloat16, which has no form
/// without it.
macro_rules! function {
    ($(#[$doc:meta])* $name:ident, $ftz:expr, |$x:ident| $exact:expr) => {
        $(#[$doc])*
        pub fn $name(low: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
            let mut modifiers = Modifiers::of(inst);
            if !modifiers.take("approx") {
                return Err("it exists only as .approx".into());
            }
            let (ftz, ty) = (modifiers.take("ftz"), modifiers.take_type()?);
            modifiers.finish()?;
            if ftz != ($ftz && matches!(ty.kind, Kind::BFloat | Kind::BFloatPair)) {
                return Err("for halves, .ftz is required with ex2 of bfloat16 and invalid otherwise".into());
            }
            typed!(ty, T: f16 bf16 f16x2 bf16x2 => flags!(ftz FTZ => shifted!(low, SHIFT => {
                op!(low, inst, ty, [ty], |a: T| -> T {
                    a.map(|a| {
                        let $x = f64::from(a.flush::<FTZ>().widen());
                        settle::<SHIFT, <T as Halves>::Each>($exact).flush::<FTZ>()
                    })
                })
            })))
        }
    };
}

function!(
    /// `ex2`
    ex2, true, |x| x.exp2()
);
function!(
    /// `tanh`
    tanh, false, |x| x.tanh()
);
