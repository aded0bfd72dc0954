//! Dot products of small integers in a register, added to a 32-bit number.

use super::clamp::choose;
use crate::exec::lane::Lanes;
use crate::exec::lower::{Lower, Lowering};
use crate::exec::program::{Step, Unsupported};
use crate::exec::value::U16x2;
use crate::isa::Inst;

/// Returns an element of `BITS` bits, signed or unsigned.
#[inline(always)]
const fn element<const BITS: u32, const SIGNED: bool>(word: u32, at: u32) -> i64 {
    let top = word << (32 - BITS - at * BITS);
    if SIGNED { (top as i32 >> (32 - BITS)) as i64 } else { (top >> (32 - BITS)) as i64 }
}

/// The dot product of elements of `BITS` bits. The first operand is signed if `A` is set, the
/// second if `B` is set. The sum and the result are signed if `SUM` is set.
struct Dot<const BITS: u32, const A: bool, const B: bool, const SUM: bool, const CLAMPED: bool>;

impl<const BITS: u32, const A: bool, const B: bool, const SUM: bool, const CLAMPED: bool> Lanes
    for Dot<BITS, A, B, SUM, CLAMPED>
{
    type In = (u32, u32, u32);
    type Out = u32;
    #[inline(always)]
    fn lane((a, b, c): Self::In) -> u32 {
        if !CLAMPED {
            return (0..32 / BITS).fold(c, |sum, at| {
                sum.wrapping_add((element::<BITS, A>(a, at) as u32).wrapping_mul(element::<BITS, B>(b, at) as u32))
            });
        }
        let start = if SUM { i64::from(c as i32) } else { i64::from(c) };
        let sum = (0..32 / BITS).fold(start, |sum, at| sum + element::<BITS, A>(a, at) * element::<BITS, B>(b, at));
        if SUM { sum.clamp(i32::MIN.into(), i32::MAX.into()) as u32 } else { sum.min(u32::MAX.into()) as u32 }
    }
}

/// The dot product of two 16-bit elements, which `op_sel` may swap.
struct Halves<const SIGNED: bool, const CLAMPED: bool>;

impl<const SIGNED: bool, const CLAMPED: bool> Lanes for Halves<SIGNED, CLAMPED> {
    type In = (U16x2, U16x2, u32);
    type Out = u32;
    #[inline(always)]
    fn lane((a, b, c): Self::In) -> u32 {
        let join = |x: U16x2| u32::from(x.0) | u32::from(x.1) << 16;
        Dot::<16, SIGNED, SIGNED, SIGNED, CLAMPED>::lane((join(a), join(b), c))
    }
}

/// Lowers a dot product whose operands have the same signedness.
fn alike<const BITS: u32, const SIGNED: bool>(lower: &mut Lower, inst: &Inst) -> Result<Step, Unsupported> {
    choose::<Dot<BITS, SIGNED, SIGNED, SIGNED, false>, Dot<BITS, SIGNED, SIGNED, SIGNED, true>>(lower, inst)
}

/// Lowers a dot product that is added to its destination.
fn accumulating<const BITS: u32>(lower: &mut Lower, inst: &Inst) -> Result<Step, Unsupported> {
    let mut whole = inst.clone();
    (whole.src[2], whole.src_count) = (inst.dst, 3);
    alike::<BITS, true>(lower, &whole)
}

/// Lowers a dot product where an operand is signed if its `neg_lo` is set.
fn either<const BITS: u32>(lower: &mut Lower, inst: &Inst) -> Result<Step, Unsupported> {
    let signed = inst.neg & 3;
    let inst = Inst { neg: inst.neg & !3, ..inst.clone() };
    match signed {
        0 => choose::<Dot<BITS, false, false, true, false>, Dot<BITS, false, false, true, true>>(lower, &inst),
        1 => choose::<Dot<BITS, true, false, true, false>, Dot<BITS, true, false, true, true>>(lower, &inst),
        2 => choose::<Dot<BITS, false, true, true, false>, Dot<BITS, false, true, true, true>>(lower, &inst),
        _ => alike::<BITS, true>(lower, &inst),
    }
}

/// The dot products.
pub const TABLE: &[(&str, Lowering)] = &[
    ("v_dot2_i32_i16", choose::<Halves<true, false>, Halves<true, true>>),
    ("v_dot2_u32_u16", choose::<Halves<false, false>, Halves<false, true>>),
    ("v_dot4_i32_i8", alike::<8, true>),
    ("v_dot4_u32_u8", alike::<8, false>),
    ("v_dot8_i32_i4", alike::<4, true>),
    ("v_dot8_u32_u4", alike::<4, false>),
    ("v_dot4_i32_iu8", either::<8>),
    ("v_dot8_i32_iu4", either::<4>),
    ("v_dot2c_i32_i16", accumulating::<16>),
    ("v_dot4c_i32_i8", accumulating::<8>),
    ("v_dot8c_i32_i4", accumulating::<4>),
];
