//! Quotients, reciprocals and roots. The correctly rounded ones are here, the approximate ones in
//! [`super::approx`].

use super::approx;
use super::round::{directed, take_rounding};
use super::{Canonical, exact, finish, flush};
use crate::exec::emit::{flags, op, ptx, refused};
use crate::lower::{Lower, Modifiers, Table};
use crate::ptx::ast::Instruction;

/// `div`
pub fn div(low: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    let mut modifiers = Modifiers::of(inst);
    if modifiers.take("approx") || modifiers.take("full") {
        return approx::div(low, inst);
    }
    let (rounding, ftz) = (take_rounding(&mut modifiers), modifiers.take("ftz"));
    let ty = modifiers.take_type()?;
    modifiers.finish()?;
    match ty {
        ptx!(f32) => flags!(ftz FTZ => directed!(rounding, ROUNDING =>
            op!(low, inst, ty, [ty, ty], |a: f32, b: f32| -> f32 {
                finish::<FTZ, false>(flush::<FTZ>(a) / flush::<FTZ>(b))
            }),
            op!(low, inst, ty, [ty, ty], |a: f32, b: f32| -> f32 {
                let (a, b) = (flush::<FTZ>(a), flush::<FTZ>(b));
                finish::<FTZ, false>(exact::quotient(a, b, a / b, ROUNDING))
            })
        )),
        ptx!(f64) if !ftz => directed!(rounding, ROUNDING =>
            op!(low, inst, ty, [ty, ty], |a: f64, b: f64| -> f64 { (a / b).canonical() }),
            op!(low, inst, ty, [ty, ty], |a: f64, b: f64| -> f64 {
                exact::quotient(a, b, a / b, ROUNDING).canonical()
            })
        ),
        other => Err(refused(other)),
    }
}

/// An instruction with one source that also exists as an approximation.
macro_rules! one {
    ($(#[$doc:meta])* $name:ident, |$x:ident| $near:expr, |$y:ident, $rounding:ident| $exact:expr) => {
        $(#[$doc])*
        pub fn $name(low: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
            let mut modifiers = Modifiers::of(inst);
            if modifiers.take("approx") {
                return approx::$name(low, inst);
            }
            let (rounding, ftz) = (take_rounding(&mut modifiers), modifiers.take("ftz"));
            let ty = modifiers.take_type()?;
            modifiers.finish()?;
            match ty {
                ptx!(f32) => flags!(ftz FTZ => directed!(rounding, $rounding =>
                    op!(low, inst, ty, [ty], |a: f32| -> f32 {
                        let $x = flush::<FTZ>(a);
                        finish::<FTZ, false>($near)
                    }),
                    op!(low, inst, ty, [ty], |a: f32| -> f32 {
                        let $y = flush::<FTZ>(a);
                        finish::<FTZ, false>($exact)
                    })
                )),
                ptx!(f64) if !ftz => directed!(rounding, $rounding =>
                    op!(low, inst, ty, [ty], |$x: f64| -> f64 { ($near).canonical() }),
                    op!(low, inst, ty, [ty], |$y: f64| -> f64 { ($exact).canonical() })
                ),
                other => Err(refused(other)),
            }
        }
    };
}

one!(
    /// `rcp`
    rcp, |x| 1.0 / x, |x, ROUNDING| exact::quotient(1.0, x, 1.0 / x, ROUNDING)
);
one!(
    /// `sqrt`
    sqrt, |x| x.sqrt(), |x, ROUNDING| exact::root(x, x.sqrt(), ROUNDING)
);

/// Reciprocals and roots.
pub const TABLE: Table = &[("rcp", rcp), ("sqrt", sqrt)];
