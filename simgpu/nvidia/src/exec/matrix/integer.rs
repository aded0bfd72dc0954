//! Products of 8-bit integers with 32-bit sums, which are exact but for their last addition.

use super::layout::{N, Shape};
use crate::exec::lane::{row, write};
use crate::exec::{Env, Exec, Flow, LANES, Place, Step, Warp};
use crate::lower::Lower;

/// A bit of [`Step::extra`] above the list's number: the first matrix is signed.
pub const A_SIGNED: u32 = 1 << 31;
/// See [`A_SIGNED`]: the second matrix is signed.
pub const B_SIGNED: u32 = 1 << 30;
/// See [`A_SIGNED`]: the sum saturates.
pub const SATURATED: u32 = 1 << 29;

/// Returns the elements as signed words, whatever their signedness.
fn elements(word: u32, signed: bool) -> [i16; 4] {
    word.to_le_bytes().map(|byte| if signed { (byte as i8).into() } else { byte.into() })
}

#[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
fn fast<const M: usize, const K: usize>(warp: &mut Warp, step: &Step, env: &mut Env<'_>) -> Flow {
    product::<M, K>(warp, step, env)
}

fn base<const M: usize, const K: usize>(warp: &mut Warp, step: &Step, env: &mut Env<'_>) -> Flow {
    product::<M, K>(warp, step, env)
}

/// Computes the product and sum. The step's list holds the registers of the result, of both
/// matrices and of the addend, in this order.
#[inline(always)]
fn product<const M: usize, const K: usize>(warp: &mut Warp, step: &Step, env: &mut Env<'_>) -> Flow {
    if !warp.converged(u32::MAX) {
        return Flow::Converge;
    }
    let shape = Shape { m: M, k: K, packed: 4 };
    let list = &env.program.lists[(step.extra & !(A_SIGNED | B_SIGNED | SATURATED)) as usize];
    // SAFETY: lowering gave the step 32-bit registers.
    let read = |place: &Place| unsafe { &(*row(warp, env.program, *place)).0 };
    let (results, sources) = list.split_at(shape.c_registers());
    let (a_places, sources) = sources.split_at(shape.a_registers());
    let (b_places, c_places) = sources.split_at(shape.b_registers());

    let (mut a, mut b) = ([[0i16; K]; M], [[0i16; K]; N]);
    for (register, place) in a_places.iter().enumerate() {
        for (lane, word) in read(place).iter().enumerate() {
            let (row, column) = shape.a_at(lane, register);
            a[row][column..column + 4].copy_from_slice(&elements(*word, step.extra & A_SIGNED != 0));
        }
    }
    for (register, place) in b_places.iter().enumerate() {
        for (lane, word) in read(place).iter().enumerate() {
            let (row, column) = shape.b_at(lane, register);
            b[column][row..row + 4].copy_from_slice(&elements(*word, step.extra & B_SIGNED != 0));
        }
    }
    let mut out = [[0u32; LANES]; 4];
    for (register, (place, out)) in c_places.iter().zip(&mut out).enumerate() {
        for (lane, (summand, out)) in read(place).iter().zip(out).enumerate() {
            let (row, column) = shape.c_at(lane, register);
            // The sum of at most 32 products of 16 bits fits.
            let dot: i32 = a[row].iter().zip(&b[column]).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum();
            let summand = *summand as i32;
            let sum = if step.extra & SATURATED != 0 { summand.saturating_add(dot) } else { summand.wrapping_add(dot) };
            *out = sum as u32;
        }
    }
    for (place, out) in results.iter().zip(&out) {
        // SAFETY: lowering gave the step 32-bit registers.
        unsafe { write(warp, *place, out) };
    }
    Flow::Next
}

/// Returns the function of a shape.
pub fn exec(low: &Lower<'_>, shape: Shape) -> Exec {
    match (shape.m, shape.k) {
        (8, _) => low.choose(fast::<8, 16> as Exec, base::<8, 16> as Exec),
        (_, 16) => low.choose(fast::<16, 16> as Exec, base::<16, 16> as Exec),
        _ => low.choose(fast::<16, 32> as Exec, base::<16, 32> as Exec),
    }
}
