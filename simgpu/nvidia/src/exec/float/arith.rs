//! Sums, differences, products, and fused multiply-adds, with every rounding.

use super::round::{directed, take_rounding};
use super::{Canonical, exact, finish, flush};
use crate::exec::emit::{flags, op, ptx, refused};
use crate::lower::{Lower, Modifiers};
use crate::ptx::ast::Instruction;

/// An instruction with two sources: the first expression rounds to nearest, the function of
/// [`exact`] in the other directions.
macro_rules! two {
    ($(#[$doc:meta])* $name:ident, $exact:ident, |$a:ident, $b:ident| $near:expr) => {
        $(#[$doc])*
        pub fn $name(low: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
            let mut modifiers = Modifiers::of(inst);
            let (rounding, ftz, sat) = (take_rounding(&mut modifiers), modifiers.take("ftz"), modifiers.take("sat"));
            let ty = modifiers.take_type()?;
            modifiers.finish()?;
            match ty {
                ptx!(f32) => flags!(ftz FTZ, sat SAT => directed!(rounding, ROUNDING =>
                    op!(low, inst, ty, [ty, ty], |a: f32, b: f32| -> f32 {
                        let ($a, $b) = (flush::<FTZ>(a), flush::<FTZ>(b));
                        finish::<FTZ, SAT>($near)
                    }),
                    op!(low, inst, ty, [ty, ty], |a: f32, b: f32| -> f32 {
                        let ($a, $b) = (flush::<FTZ>(a), flush::<FTZ>(b));
                        finish::<FTZ, SAT>(exact::$exact($a, $b, $near, ROUNDING))
                    })
                )),
                ptx!(f64) if !ftz && !sat => directed!(rounding, ROUNDING =>
                    op!(low, inst, ty, [ty, ty], |$a: f64, $b: f64| -> f64 { ($near).canonical() }),
                    op!(low, inst, ty, [ty, ty], |$a: f64, $b: f64| -> f64 {
                        exact::$exact($a, $b, $near, ROUNDING).canonical()
                    })
                ),
                other => Err(refused(other)),
            }
        }
    };
}

two!(
    /// `add`
    add, sum, |a, b| a + b
);
two!(
    /// `sub`
    sub, difference, |a, b| a - b
);
two!(
    /// `mul`
    mul, product, |a, b| a * b
);

/// `fma`
pub fn fma(low: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    let mut modifiers = Modifiers::of(inst);
    let (rounding, ftz, sat) = (take_rounding(&mut modifiers), modifiers.take("ftz"), modifiers.take("sat"));
    let ty = modifiers.take_type()?;
    modifiers.finish()?;
    match ty {
        ptx!(f32) => flags!(ftz FTZ, sat SAT => directed!(rounding, ROUNDING =>
            op!(low, inst, ty, [ty, ty, ty], |a: f32, b: f32, c: f32| -> f32 {
                let (a, b, c) = (flush::<FTZ>(a), flush::<FTZ>(b), flush::<FTZ>(c));
                finish::<FTZ, SAT>(a.mul_add(b, c))
            }),
            op!(low, inst, ty, [ty, ty, ty], |a: f32, b: f32, c: f32| -> f32 {
                let (a, b, c) = (flush::<FTZ>(a), flush::<FTZ>(b), flush::<FTZ>(c));
                finish::<FTZ, SAT>(exact::fused(a, b, c, a.mul_add(b, c), ROUNDING))
            })
        )),
        ptx!(f64) if !ftz && !sat => directed!(rounding, ROUNDING =>
            op!(low, inst, ty, [ty, ty, ty], |a: f64, b: f64, c: f64| -> f64 { a.mul_add(b, c).canonical() }),
            op!(low, inst, ty, [ty, ty, ty], |a: f64, b: f64, c: f64| -> f64 {
                exact::fused(a, b, c, a.mul_add(b, c), ROUNDING).canonical()
            })
        ),
        other => Err(refused(other)),
    }
}

/// `mad`, which is fused on every card since sm_20.
pub fn mad(low: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    fma(low, inst)
}
