//! Products of f64: each result is a chain of fused multiply-adds in ascending order of k, which
//! begins with the summand. NVIDIA does not document this order. `kernels-common/tests/driver`
//! holds the instruction against the chain on real cards, where no result has differed.

use super::layout::{N, Shape};
use crate::exec::float::Canonical;
use crate::exec::lane::{row, write};
use crate::exec::{Env, Exec, Flow, LANES, Place, Step, Warp};
use crate::lower::Lower;

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
    let shape = Shape { m: M, k: K, packed: 1 };
    let list = &env.program.lists[step.extra as usize];
    // SAFETY: lowering gave the step 64-bit registers, which have two rows.
    let read = |place: &Place| unsafe { &*row(warp, env.program, *place).cast::<[f64; LANES]>() };
    let (results, sources) = list.split_at(shape.c_registers());
    let (a_places, sources) = sources.split_at(shape.a_registers());
    let (b_places, c_places) = sources.split_at(shape.b_registers());

    let (mut a, mut b, mut sum) = ([[0.0; M]; K], [[0.0; N]; K], [[0.0; N]; M]);
    for (register, place) in a_places.iter().enumerate() {
        for (lane, value) in read(place).iter().enumerate() {
            let (row, column) = shape.a_at(lane, register);
            a[column][row] = *value;
        }
    }
    for (register, place) in b_places.iter().enumerate() {
        for (lane, value) in read(place).iter().enumerate() {
            let (row, column) = shape.b_at(lane, register);
            b[row][column] = *value;
        }
    }
    for (register, place) in c_places.iter().enumerate() {
        for (lane, value) in read(place).iter().enumerate() {
            let (row, column) = shape.c_at(lane, register);
            sum[row][column] = *value;
        }
    }
    for (a, b) in a.iter().zip(&b) {
        for (a, sum) in a.iter().zip(&mut sum) {
            for (b, sum) in b.iter().zip(sum) {
                *sum = a.mul_add(*b, *sum);
            }
        }
    }
    for (register, place) in results.iter().enumerate() {
        let out: [f64; LANES] = std::array::from_fn(|lane| {
            let (row, column) = shape.c_at(lane, register);
            sum[row][column].canonical()
        });
        // SAFETY: lowering gave the step 64-bit registers.
        unsafe { write(warp, *place, &out) };
    }
    Flow::Next
}

/// Returns the function of a shape.
pub fn exec(low: &Lower<'_>, shape: Shape) -> Exec {
    match (shape.m, shape.k) {
        (8, _) => low.choose(fast::<8, 4> as Exec, base::<8, 4> as Exec),
        (_, 4) => low.choose(fast::<16, 4> as Exec, base::<16, 4> as Exec),
        (_, 8) => low.choose(fast::<16, 8> as Exec, base::<16, 8> as Exec),
        _ => low.choose(fast::<16, 16> as Exec, base::<16, 16> as Exec),
    }
}
