//! Matrix products of integers of GFX11 (`v_wmma_i32`), in waves of 32 lanes.
//!
//! The layouts are those of AMD's ISA document of RDNA 3. A lane holds a whole row of A, or column
//! of B, and lanes 16 to 31 repeat those of 0 to 15. Register `v` of the result holds row `2 v` in
//! lanes 0 to 15, and row `2 v + 1` in the others.

use super::held;
use crate::exec::lower::{Lower, Lowering, modifier};
use crate::exec::program::{Flow, Source, Step, Unsupported};
use crate::exec::row::Row;
use crate::exec::value::Kind;
use crate::exec::wave::{Env, Wave};
use crate::isa::{Inst, Operand};

/// The number of rows, of columns, and of elements of the common dimension.
const SIDE: usize = 16;
/// The number of registers of the result and of the addend.
const HELD: usize = 8;

/// Returns the elements of a factor, `[k][row or column]`. If the two halves of the wave differ, it
/// returns the first lane that does.
#[inline(always)]
fn elements<const BITS: usize>(registers: &[Row], signed: bool) -> Result<[[i32; SIDE]; SIDE], usize> {
    let mut elements = [[0; SIDE]; SIDE];
    for (k, elements) in elements.iter_mut().enumerate() {
        let (words, shift) = (&registers[k * BITS / 32].0, k * BITS % 32);
        for (lane, element) in elements.iter_mut().enumerate() {
            if words[lane] != words[lane + SIDE] {
                return Err(lane);
            }
            let top = words[lane] << (32 - BITS - shift);
            *element = if signed { top as i32 >> (32 - BITS) } else { (top >> (32 - BITS)) as i32 };
        }
    }
    Ok(elements)
}

/// Multiplies factors whose elements have `BITS` bits. Their exact sum has at most 25 bits.
#[inline(always)]
fn product<const BITS: usize>(wave: &mut Wave, step: &Step, env: &mut Env<'_>) -> Flow {
    let inst = env.program.inst(step);
    let (neg, clamp) = (inst.neg, inst.clamp);
    let mut factors = [[[0; SIDE]; SIDE]; 2];
    for (at, factor) in factors.iter_mut().enumerate() {
        let Source::Row(first) = step.rows[at] else { return Flow::Fault };
        let first = usize::from(first) & 255;
        match elements::<BITS>(&wave.v[first..][..SIDE * BITS / 32], neg >> at & 1 == 1) {
            Ok(elements) => *factor = elements,
            Err(lane) => {
                env.fault = Some(format!(
                    "{} reads different elements of {} in lanes {lane} and {}, which must hold the same: load both \
                     halves of the wave alike",
                    inst.mnemonic,
                    ["A", "B"][at],
                    lane + SIDE,
                ));
                return Flow::Fault;
            }
        }
    }
    let [a, b] = factors;
    let mut sums = [[0i64; 2 * SIDE]; HELD];
    for (register, sums) in sums.iter_mut().enumerate() {
        let addend = held(wave, env, step.rows[2], register);
        for (half, sums) in sums.chunks_exact_mut(SIDE).enumerate() {
            let mut exact = [0i32; SIDE];
            for (a, b) in a.iter().zip(&b) {
                for (sum, b) in exact.iter_mut().zip(b) {
                    *sum += a[2 * register + half] * b;
                }
            }
            for ((sum, exact), addend) in sums.iter_mut().zip(exact).zip(&addend.0[half * SIDE..]) {
                *sum = i64::from(exact) + i64::from(*addend as i32);
            }
        }
    }
    for (register, sums) in sums.iter().enumerate() {
        let words = &mut wave.v[(usize::from(step.dst) + register) & 255].0;
        for (word, sum) in words.iter_mut().zip(sums) {
            *word = if clamp { (*sum).clamp(i32::MIN.into(), i32::MAX.into()) } else { *sum } as u32;
        }
    }
    Flow::Next
}

#[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
fn fast<const BITS: usize>(wave: &mut Wave, step: &Step, env: &mut Env<'_>) -> Flow {
    product::<BITS>(wave, step, env)
}

fn base<const BITS: usize>(wave: &mut Wave, step: &Step, env: &mut Env<'_>) -> Flow {
    product::<BITS>(wave, step, env)
}

/// Lowers a product. `neg_lo` says which factors are signed.
fn lower<const BITS: usize>(lower: &mut Lower, inst: &Inst) -> Result<Step, Unsupported> {
    if inst.neg & 4 != 0 || inst.neg_hi != 0 {
        return Err(modifier(inst, "neg_hi, or neg_lo of the addend,"));
    }
    let mut step = lower.step(lower.choose(fast::<BITS>, base::<BITS>));
    for (at, operand) in inst.src[..2].iter().enumerate() {
        step.rows[at] = Source::Row(lower.vgpr(inst, *operand)?);
    }
    step.rows[2] = match inst.src[2] {
        operand @ (Operand::Vgpr(_) | Operand::Inline(_)) => lower.rows(inst, operand, Kind::Int32)?[0],
        _ => return Err(modifier(inst, "an addend that is neither a vector register nor an inline constant")),
    };
    step.dst = lower.vgpr(inst, inst.dst)?;
    Ok(step)
}

/// The products of integers of 8 and of 4 bits.
pub const TABLE: &[(&str, Lowering)] =
    &[("v_wmma_i32_16x16x16_iu8", lower::<8>), ("v_wmma_i32_16x16x16_iu4", lower::<4>)];
