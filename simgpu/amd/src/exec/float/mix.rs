//! Fused multiply-adds whose operands are each binary16 or binary32, with a result of binary32 or,
//! rounded a second time, of binary16.

use super::half::{narrow, widen};
use crate::exec::lane::{Lanes, lowered};
use crate::exec::lower::Lower;
use crate::exec::lower::Lowering;
use crate::exec::program::{Finish, Step, Unsupported};
use crate::exec::value::{F16, Kind};
use crate::isa::{Encoding, Inst, Select, Unused};

/// Computes from the raw operands; `HALVES` has a set bit for each operand that is binary16.
#[inline(always)]
fn fma<const HALVES: u8>((a, b, c): (u32, u32, u32)) -> f32 {
    let number = |at: u8, word: u32| if HALVES >> at & 1 == 1 { widen(F16(word as u16)) } else { f32::from_bits(word) };
    number(0, a).mul_add(number(1, b), number(2, c))
}

struct Mix<const HALVES: u8>;
struct MixHalf<const HALVES: u8>;

impl<const HALVES: u8> Lanes for Mix<HALVES> {
    type In = (u32, u32, u32);
    type Out = f32;
    #[inline(always)]
    fn lane(operands: Self::In) -> f32 {
        fma::<HALVES>(operands)
    }
}

impl<const HALVES: u8> Lanes for MixHalf<HALVES> {
    type In = (u32, u32, u32);
    type Out = F16;
    #[inline(always)]
    fn lane(operands: Self::In) -> F16 {
        narrow(fma::<HALVES>(operands))
    }
}

/// Returns the instruction in the form of the encoding that has an absolute value and a half for
/// each source, because that is the meaning of its fields here: `op_sel_hi` says that a source is
/// binary16, `op_sel` selects its half, and `neg_hi` takes its absolute value.
fn plain(inst: &Inst) -> (Inst, u8, [Kind; 3]) {
    let halves = inst.op_sel_hi & 7;
    let kinds = std::array::from_fn(|at| if halves >> at & 1 == 1 { Kind::F16 } else { Kind::F32 });
    let inst = Inst {
        encoding: Encoding::Vop3,
        abs: inst.neg_hi & 7,
        neg_hi: 0,
        op_sel: inst.op_sel & halves,
        op_sel_hi: 0,
        ..inst.clone()
    };
    (inst, halves, kinds)
}

macro_rules! choose {
    ($op:ident, $lower:expr, $inst:expr, $halves:expr, $kinds:expr) => {
        match $halves {
            0 => lowered::<$op<0>>($lower, $inst, $kinds),
            1 => lowered::<$op<1>>($lower, $inst, $kinds),
            2 => lowered::<$op<2>>($lower, $inst, $kinds),
            3 => lowered::<$op<3>>($lower, $inst, $kinds),
            4 => lowered::<$op<4>>($lower, $inst, $kinds),
            5 => lowered::<$op<5>>($lower, $inst, $kinds),
            6 => lowered::<$op<6>>($lower, $inst, $kinds),
            _ => lowered::<$op<7>>($lower, $inst, $kinds),
        }
    };
}

fn word(lower: &mut Lower, inst: &Inst) -> Result<Step, Unsupported> {
    let (inst, halves, kinds) = plain(inst);
    choose!(Mix, lower, &inst, halves, &kinds)
}

/// Lowers a result of one half. The other half keeps its bits on every generation.
fn half<const HIGH: u8>(lower: &mut Lower, inst: &Inst) -> Result<Step, Unsupported> {
    let (inst, halves, kinds) = plain(inst);
    let mut step = choose!(MixHalf, lower, &inst, halves, &kinds)?;
    let part = Some((Select::Word(HIGH), Unused::Preserve));
    step.finish = lower.finish(Finish { kind: Kind::F16, omod: 0, clamp: inst.clamp, part, dpp: inst.dpp });
    Ok(step)
}

/// The mixed-precision instructions.
pub const TABLE: &[(&str, Lowering)] =
    &[("v_fma_mix_f32", word), ("v_fma_mixlo_f16", half::<0>), ("v_fma_mixhi_f16", half::<1>)];
