//! Matrix products of GFX9 (`v_mfma`), on vector and accumulation registers.
//!
//! The layouts are those of AMD's ISA documents of CDNA 2 and CDNA 3. A block of the result has
//! `SIDE` rows and columns. A lane holds `EACH` consecutive factors of one row of A, or of one
//! column of B: lane `SIDE * (BLOCKS * (k / EACH) + block) + row`. Of the result, a lane holds
//! elements of one column, in groups of consecutive rows. The groups go round the lanes before they
//! go on to the next registers.

use super::accumulate::Sum;
use super::held;
use crate::exec::lower::{Lower, Lowering, modifier};
use crate::exec::program::{Exec, Flow, Source, Step, Unsupported};
use crate::exec::value::Value;
use crate::exec::wave::{Env, Wave};
use crate::isa::{Inst, Operand};
use std::hint::black_box;

/// The number of lanes: all targets that have these instructions have waves of 64.
const LANES: usize = 64;

/// Computes blocks of `SIDE` x `SIDE`. `EACH` is the number of factors in a lane, `HELD` that of
/// elements of the result. `WIDE` lanes are computed at a time.
#[inline(always)]
fn run<
    T: Sum,
    const SIDE: usize,
    const DEPTH: usize,
    const BLOCKS: usize,
    const EACH: usize,
    const HELD: usize,
    const WIDE: usize,
>(
    wave: &mut Wave,
    step: &Step,
    env: &Env<'_>,
) -> Flow {
    let words = T::KIND.dwords();
    let registers = if words == 2 { 2 } else { EACH.div_ceil(4) };
    let [mut a, mut b] = [[[T::default(); LANES]; EACH]; 2];
    for (operand, factors) in [(step.rows[0], &mut a), (step.rows[1], &mut b)] {
        let rows = [0, registers - 1].map(|register| held(wave, env, operand, register));
        for (at, factors) in factors.iter_mut().enumerate() {
            T::factors(rows, at, factors);
        }
    }
    let mut sums = [[T::default(); LANES]; HELD];
    for (element, sums) in sums.iter_mut().enumerate() {
        let low = held(wave, env, step.rows[2], words * element);
        let high = if words == 2 { held(wave, env, step.rows[3], words * element) } else { low };
        for ((sum, low), high) in sums.iter_mut().zip(&low.0).zip(&high.0) {
            *sum = T::from_words(*low, *high);
        }
    }
    // Blocks of four rows lie side by side in the lanes, larger ones one after the other in the
    // registers.
    let beside = if SIDE == 4 { BLOCKS } else { 1 };
    let rounds = LANES / (SIDE * beside);
    let turns = SIDE / (T::TOGETHER * rounds);
    for (element, sums) in sums.iter_mut().enumerate() {
        let (group, part) = (element / T::TOGETHER, element % T::TOGETHER);
        for (place, sums) in sums.chunks_exact_mut(SIDE).enumerate() {
            let (round, block) = (place / beside, place % beside + group / turns);
            let row = T::TOGETHER * (group % turns * rounds + round) + part;
            // Hidden from the compiler, which would otherwise make vectors of several rows.
            let row = black_box(row);
            for (at, sums) in sums.as_chunks_mut::<WIDE>().0.iter_mut().enumerate() {
                let mut chains = *sums;
                for k in 0..DEPTH {
                    let first = SIDE * (BLOCKS * (k / EACH) + block);
                    let x = a[k % EACH][first + row];
                    let column = &b[k % EACH][first..][..SIDE].as_chunks::<WIDE>().0[at];
                    for (sum, y) in chains.iter_mut().zip(column) {
                        *sum = sum.add(x, *y);
                    }
                }
                *sums = chains;
            }
        }
    }
    for (element, sums) in sums.iter().enumerate() {
        let at = usize::from(step.dst) + words * element;
        for (word, sum) in wave.v[at & 511].0.iter_mut().zip(sums) {
            *word = sum.words().0;
        }
        if words == 2 {
            for (word, sum) in wave.v[(at + 1) & 511].0.iter_mut().zip(sums) {
                *word = sum.words().1;
            }
        }
    }
    Flow::Next
}

/// Lowers a product with these functions.
fn lower<T: Value>(lower: &mut Lower, inst: &Inst, fast: Exec, base: Exec) -> Result<Step, Unsupported> {
    if inst.mai.cbsz != 0 {
        return Err(modifier(inst, "cbsz, blocks that read the factor of another block,"));
    }
    if inst.mai.abid != 0 {
        return Err(modifier(inst, "abid, the block that others read,"));
    }
    if inst.mai.blgp != 0 {
        return Err(modifier(inst, "blgp, an exchange of lanes or a negation,"));
    }
    let mut step = lower.step(lower.choose(fast, base));
    for (at, operand) in inst.src[..2].iter().enumerate() {
        step.rows[at] = Source::Row(lower.vgpr(inst, *operand)?);
    }
    let addend = match inst.src[2] {
        operand @ (Operand::Vgpr(_) | Operand::Inline(_)) => lower.rows(inst, operand, T::KIND)?,
        _ => return Err(modifier(inst, "an addend that is neither a vector register nor an inline constant")),
    };
    // The second word of an element follows the first.
    step.rows[2..4].copy_from_slice(&addend);
    step.dst = lower.vgpr(inst, inst.dst)?;
    Ok(step)
}

/// The rows of the table, each with its functions for AVX2 and for the baseline. The number of
/// factors in a lane, and that of elements of the result, follow from the shape.
macro_rules! mfma {
    ($($name:literal: $type:ty, $side:literal x $depth:literal, $blocks:literal;)*) => {
        &[$(($name, |low, inst| {
            const EACH: usize = $side * $depth * $blocks / LANES;
            const HELD: usize = $side * $side * $blocks / LANES;
            const WIDE: usize = if $side < 8 { $side } else { 8 };
            #[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
            fn fast(wave: &mut Wave, step: &Step, env: &mut Env<'_>) -> Flow {
                run::<$type, $side, $depth, $blocks, EACH, HELD, WIDE>(wave, step, env)
            }
            fn base(wave: &mut Wave, step: &Step, env: &mut Env<'_>) -> Flow {
                run::<$type, $side, $depth, $blocks, EACH, HELD, WIDE>(wave, step, env)
            }
            lower::<$type>(low, inst, fast, base)
        })),*]
    };
}

/// The products: their type, the number of rows and columns, the common dimension, and the number
/// of blocks.
pub const TABLE: &[(&str, Lowering)] = mfma! {
    "v_mfma_f64_16x16x4_f64": f64, 16 x 4, 1;
    "v_mfma_f64_4x4x4_4b_f64": f64, 4 x 4, 4;
    "v_mfma_f32_32x32x1_2b_f32": f32, 32 x 1, 2;
    "v_mfma_f32_16x16x1_4b_f32": f32, 16 x 1, 4;
    "v_mfma_f32_4x4x1_16b_f32": f32, 4 x 1, 16;
    "v_mfma_f32_32x32x2_f32": f32, 32 x 2, 1;
    "v_mfma_f32_16x16x4_f32": f32, 16 x 4, 1;
    "v_mfma_i32_32x32x4_2b_i8": i32, 32 x 4, 2;
    "v_mfma_i32_16x16x4_4b_i8": i32, 16 x 4, 4;
    "v_mfma_i32_4x4x4_16b_i8": i32, 4 x 4, 16;
    "v_mfma_i32_32x32x8_i8": i32, 32 x 8, 1;
    "v_mfma_i32_16x16x16_i8": i32, 16 x 16, 1;
    "v_mfma_i32_32x32x16_i8": i32, 32 x 16, 1;
    "v_mfma_i32_16x16x32_i8": i32, 16 x 32, 1;
};
