//! Sums, products, and signs of halves.

use super::value::{Half, Halves, fused};
use crate::exec::emit::{flags, op, refused, typed};
use crate::lower::{Lower, Modifiers};
use crate::ptx::ast::{Instruction, Kind, Type};

/// Arithmetic modifiers. The only rounding is to nearest, `.ftz` and `.sat` exist only for
/// binary16, and `.relu` only if the instruction allows it.
struct How {
    ftz: bool,
    sat: bool,
    relu: bool,
    ty: Type,
}

impl How {
    fn take(inst: &Instruction, relu: bool) -> Result<Self, String> {
        let mut modifiers = Modifiers::of(inst);
        modifiers.take("rn");
        let (ftz, sat) = (modifiers.take("ftz"), modifiers.take("sat"));
        let relu = relu && modifiers.take("relu");
        let ty = modifiers.take_type()?;
        modifiers.finish()?;
        if matches!(ty.kind, Kind::BFloat | Kind::BFloatPair) && (ftz || sat) || sat && relu {
            return Err(refused(ty));
        }
        Ok(Self { ftz, sat, relu, ty })
    }
}

/// The steps after the operation itself.
#[inline(always)]
fn finish<const FTZ: bool, const SAT: bool, const RELU: bool, H: Half>(x: H) -> H {
    let x = x.flush::<FTZ>();
    let value = x.widen();
    if SAT {
        let below = if value < 1.0 { x } else { H::narrow(1.0) };
        return if value > 0.0 { below } else { H::of_bits(0) };
    }
    // A result that is not above zero becomes +0; a NaN remains a NaN.
    if RELU && value <= 0.0 { H::of_bits(0) } else { x }
}

/// Combines [`typed`] and [`flags`], with the flags that a type supports: those of bfloat16 are
/// never set.
macro_rules! flagged {
    ($ty:ident, $t:ident, $ftz:ident, $sat:ident => $body:expr) => {
        if matches!($ty.kind, Kind::BFloat | Kind::BFloatPair) {
            const FTZ: bool = false;
            const SAT: bool = false;
            typed!($ty, $t: bf16 bf16x2 => $body)
        } else {
            typed!($ty, $t: f16 f16x2 => flags!($ftz FTZ, $sat SAT => $body))
        }
    };
}

/// Expresses an instruction as a fused multiply-add of its operands.
macro_rules! fused {
    ($(#[$doc:meta])* $name:ident, |$($x:ident),*| ($a:expr, $b:expr, $c:expr)) => {
        $(#[$doc])*
        pub fn $name(low: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
            let How { ftz, sat, ty, .. } = How::take(inst, false)?;
            flagged!(ty, T, ftz, sat => op!(low, inst, ty, [ty, ty], |a: T, b: T| -> T {
                a.zip(b, |a, b| {
                    let ($($x),*) = (a.flush::<FTZ>().widen(), b.flush::<FTZ>().widen());
                    finish::<FTZ, SAT, false, _>(fused($a, $b, $c))
                })
            }))
        }
    };
}

fused!(
    /// `add`
    add, |a, b| (a, 1.0, b)
);
fused!(
    /// `sub`
    sub, |a, b| (a, 1.0, -b)
);
fused!(
    /// `mul`. Adding -0 changes nothing, not even the sign of a zero.
    mul, |a, b| (a, b, -0.0)
);

/// `fma`
pub fn fma(low: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    let How { ftz, sat, relu, ty } = How::take(inst, true)?;
    flags!(relu RELU => flagged!(ty, T, ftz, sat => {
        op!(low, inst, ty, [ty, ty, ty], |a: T, b: T, c: T| -> T {
            a.zip3(b, c, |a, b, c| {
                let (a, b, c) = (a.flush::<FTZ>().widen(), b.flush::<FTZ>().widen(), c.flush::<FTZ>().widen());
                finish::<FTZ, SAT, RELU, _>(fused(a, b, c))
            })
        })
    }))
}

/// Lowers a change of sign.
fn sign(low: &mut Lower<'_>, inst: &Instruction, abs: bool) -> Result<(), String> {
    let mut modifiers = Modifiers::of(inst);
    let (ftz, ty) = (modifiers.take("ftz"), modifiers.take_type()?);
    modifiers.finish()?;
    typed!(ty, T: f16 bf16 f16x2 bf16x2 => flags!(ftz FTZ, abs ABS => op!(low, inst, ty, [ty], |a: T| -> T {
        a.map(|a| {
            let a = a.flush::<FTZ>();
            if ABS { a.size() } else { a.negated() }
        })
    })))
}

/// `abs`
pub fn abs(low: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    sign(low, inst, true)
}

/// `neg`
pub fn neg(low: &mut Lower<'_>, inst: &Instruction) -> Result<(), String> {
    sign(low, inst, false)
}
