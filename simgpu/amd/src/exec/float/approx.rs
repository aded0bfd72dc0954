//! Approximations: reciprocal, roots, exponential, logarithm, sine, cosine.
//!
//! According to the ISA documents, the binary32 instructions are accurate to one unit in the last
//! place (ULP), and those of binary16 to 0.51 ULP. Those of binary64 are seeds for Newton's method,
//! with errors of up to 2^29 ULP ("RDNA 3 ISA", V_RCP_F32 and after). All binary32 instructions
//! except sine and cosine flush subnormal operands and results to zero; the others keep them.
//!
//! By default the result is correctly rounded. `Lower::approximation` requests another result that
//! a card may give: for binary32 the neighbour of the exact value that is farthest from it but
//! still within one ULP, upwards or downwards in magnitude; for binary64, 2^28 ULP up or down. The
//! error bound of binary16 leaves no choice except near halfway cases, so there is no other result.
//! An exact binary32 result is never changed: LLVM's division of 32-bit integers relies on that
//! (2^32-1 over 2^31+1 gave 3 when the reciprocal of 2^31 was one ULP too large), and it is correct
//! on all cards.

use super::half::{narrow, narrow_f64, widen};
use super::legacy::flush;
use crate::exec::lane::{Lanes, lower};
use crate::exec::lower::{Lower, Lowering};
use crate::exec::program::{Step, Unsupported};
use crate::exec::value::{F16, Value};
use crate::isa::Inst;
use std::f64::consts::TAU;
use std::marker::PhantomData;

/// An approximate instruction.
trait Approximate {
    type Type: Value;
    /// Returns the result, moved up (1), down (-1) or not (0).
    fn at<const SHIFT: i8>(x: Self::Type) -> Self::Type;
}

struct Shifted<A, const SHIFT: i8>(PhantomData<A>);

impl<A: Approximate, const SHIFT: i8> Lanes for Shifted<A, SHIFT> {
    type In = (A::Type,);
    type Out = A::Type;
    #[inline(always)]
    fn lane((x,): Self::In) -> A::Type {
        A::at::<SHIFT>(x)
    }
}

fn shifted<A: Approximate>(low: &mut Lower, inst: &Inst) -> Result<Step, Unsupported> {
    match low.approximation {
        0 => lower::<Shifted<A, 0>>(low, inst),
        1.. => lower::<Shifted<A, 1>>(low, inst),
        _ => lower::<Shifted<A, -1>>(low, inst),
    }
}

/// Returns the binary32 within one ULP of an exact value, on the side that the shift selects.
#[inline(always)]
fn settle<const SHIFT: i8>(exact: f64) -> f32 {
    let near = exact as f32;
    let (size, bound) = (f64::from(near).abs(), exact.abs());
    let moves = match SHIFT {
        0 => return near,
        1.. => size < bound,
        _ => size > bound,
    };
    let next = f32::from_bits(near.to_bits().wrapping_add(i32::from(SHIFT) as u32));
    if moves & near.is_normal() & next.is_normal() { next } else { near }
}

/// Returns a seed for Newton's method.
#[inline(always)]
fn seed<const SHIFT: i8>(near: f64) -> f64 {
    let moved = f64::from_bits(near.to_bits().wrapping_add((i64::from(SHIFT) << 28) as u64));
    if near.is_normal() & moved.is_normal() { moved } else { near }
}

/// Returns a reciprocal. Division requires a reciprocal from which one step of Newton's method
/// gives the correctly rounded one ("RDNA 4 ISA", V_RCP_F32), so another neighbour is returned only
/// if it has this property.
#[inline(always)]
fn reciprocal_f32<const SHIFT: i8>(x: f32) -> f32 {
    let near = 1.0 / x;
    if SHIFT == 0 {
        return near;
    }
    let moved = settle::<SHIFT>(1.0 / f64::from(x));
    let refined = (-x).mul_add(moved, 1.0).mul_add(moved, moved);
    if refined == near { moved } else { near }
}

/// As above with two steps, as in division. They give the correctly rounded reciprocal from every
/// nearby value, unless the exact reciprocal is almost halfway between two numbers, as for a number
/// whose fraction is all ones.
#[inline(always)]
fn reciprocal_f64<const SHIFT: i8>(x: f64) -> f64 {
    let near = 1.0 / x;
    let moved = seed::<SHIFT>(near);
    let step = |y: f64| (-x).mul_add(y, 1.0).mul_add(y, y);
    if SHIFT == 0 || step(step(moved)) == near { moved } else { near }
}

/// Returns the sine and cosine of a number of turns. Quarter turns are subtracted exactly, so that
/// zeros and ones are exact.
#[inline(always)]
fn turns(x: f64) -> (f64, f64) {
    let fraction = x - x.round_ties_even();
    let quarters = (fraction * 4.0).round_ties_even();
    let (sine, cosine) = ((fraction - quarters / 4.0) * TAU).sin_cos();
    match quarters as i32 & 3 {
        0 => (sine, cosine),
        1 => (cosine, -sine),
        2 => (-sine, -cosine),
        _ => (-cosine, sine),
    }
}

#[inline(always)]
fn sine(x: f64) -> f64 {
    // A whole number of turns gives +0, but zero keeps its sign.
    if x == 0.0 { x } else { turns(x).0 + 0.0 }
}

#[inline(always)]
fn cosine(x: f64) -> f64 {
    turns(x).1 + 0.0
}

macro_rules! approximations {
    ($($op:ident, $type:ty, $shift:ident, |$x:ident| $body:expr;)*) => {$(
        struct $op;
        impl Approximate for $op {
            type Type = $type;
            #[inline(always)]
            fn at<const $shift: i8>($x: $type) -> $type {
                $body
            }
        }
    )*};
}

approximations! {
    RcpF32, f32, SHIFT, |x| flush(reciprocal_f32::<SHIFT>(flush(x)));
    RsqF32, f32, SHIFT, |x| settle::<SHIFT>(1.0 / f64::from(flush(x)).sqrt());
    SqrtF32, f32, SHIFT, |x| if SHIFT == 0 { flush(x).sqrt() } else { settle::<SHIFT>(f64::from(flush(x)).sqrt()) };
    ExpF32, f32, SHIFT, |x| flush(settle::<SHIFT>(f64::from(flush(x)).exp2()));
    LogF32, f32, SHIFT, |x| settle::<SHIFT>(logarithm(f64::from(flush(x))));
    SinF32, f32, SHIFT, |x| settle::<SHIFT>(sine(x.into()));
    CosF32, f32, SHIFT, |x| settle::<SHIFT>(cosine(x.into()));
    RcpF64, f64, SHIFT, |x| reciprocal_f64::<SHIFT>(x);
    RsqF64, f64, SHIFT, |x| seed::<SHIFT>(1.0 / x.sqrt());
    SqrtF64, f64, SHIFT, |x| seed::<SHIFT>(x.sqrt());
    RcpF16, F16, SHIFT, |x| narrow(1.0 / widen(x));
    RsqF16, F16, SHIFT, |x| narrow_f64(1.0 / f64::from(widen(x)).sqrt());
    SqrtF16, F16, SHIFT, |x| narrow(widen(x).sqrt());
    ExpF16, F16, SHIFT, |x| narrow_f64(f64::from(widen(x)).exp2());
    LogF16, F16, SHIFT, |x| narrow_f64(logarithm(widen(x).into()));
    SinF16, F16, SHIFT, |x| narrow_f64(sine(widen(x).into()));
    CosF16, F16, SHIFT, |x| narrow_f64(cosine(widen(x).into()));
}

/// Returns the logarithm to base two. For a negative number it is the NaN of an invalid operation,
/// because the host's library does not specify its sign.
#[inline(always)]
fn logarithm(x: f64) -> f64 {
    if x < 0.0 { -f64::NAN } else { x.log2() }
}

/// The approximations.
pub const TABLE: &[(&str, Lowering)] = &[
    ("v_rcp_f16", shifted::<RcpF16>),
    ("v_rcp_f32", shifted::<RcpF32>),
    ("v_rcp_iflag_f32", shifted::<RcpF32>),
    ("v_rcp_f64", shifted::<RcpF64>),
    ("v_rsq_f16", shifted::<RsqF16>),
    ("v_rsq_f32", shifted::<RsqF32>),
    ("v_rsq_f64", shifted::<RsqF64>),
    ("v_sqrt_f16", shifted::<SqrtF16>),
    ("v_sqrt_f32", shifted::<SqrtF32>),
    ("v_sqrt_f64", shifted::<SqrtF64>),
    ("v_exp_f16", shifted::<ExpF16>),
    ("v_exp_f32", shifted::<ExpF32>),
    ("v_log_f16", shifted::<LogF16>),
    ("v_log_f32", shifted::<LogF32>),
    ("v_sin_f16", shifted::<SinF16>),
    ("v_sin_f32", shifted::<SinF32>),
    ("v_cos_f16", shifted::<CosF16>),
    ("v_cos_f32", shifted::<CosF32>),
];
