//! Permutations within rows of 16 lanes and between halves of a wave (GFX10 and later).

use super::{read, vector, write};
use crate::exec::lower::Lowering;
use crate::exec::program::{Flow, Step};
use crate::exec::row::Row;
use crate::exec::source;
use crate::exec::wave::{Env, Wave};

/// Permutes within rows. If `op_sel` bit 0 is set, inactive lanes may be read. If bit 1 is set, a
/// lane with nothing to read gets zero; otherwise it keeps its value.
fn permlane16(wave: &mut Wave, step: &Step, env: &Env<'_>, other_row: usize) -> Flow {
    let op_sel = env.program.inst(step).op_sel;
    let (fetch_inactive, zero) = (op_sel & 1 != 0, op_sel & 2 != 0);
    let low = source::word(wave, env, step.scalars[0]);
    let high = source::word(wave, env, step.scalars[1]);
    let select = u64::from(low) | u64::from(high) << 32;
    let row = read(wave, step, env, 0);
    let old = wave.v[usize::from(step.dst) & 511];
    let permuted = Row(std::array::from_fn(|lane| {
        let from = (lane & !15 ^ other_row) | (select >> (4 * (lane & 15)) & 15) as usize;
        if fetch_inactive || wave.active.0[from] != 0 {
            row.0[from]
        } else if zero {
            0
        } else {
            old.0[lane]
        }
    }));
    write(wave, step, &permuted);
    Flow::Next
}

fn same_row(wave: &mut Wave, step: &Step, env: &mut Env<'_>) -> Flow {
    permlane16(wave, step, env, 0)
}

/// Reads from the other row of each pair.
fn other_row(wave: &mut Wave, step: &Step, env: &mut Env<'_>) -> Flow {
    permlane16(wave, step, env, 16)
}

/// Reads from the other half of a 64-lane wave, active or not. A 32-lane wave has no other half, so
/// nothing happens.
fn permlane64(wave: &mut Wave, step: &Step, env: &mut Env<'_>) -> Flow {
    if wave.width == 64 {
        let row = read(wave, step, env, 0);
        write(wave, step, &Row(std::array::from_fn(|lane| row.0[lane ^ 32])));
    }
    Flow::Next
}

/// The permutations.
pub const TABLE: &[(&str, Lowering)] = &[
    ("v_permlane16_b32", |lower, inst| vector(lower, inst, same_row, 1, 2)),
    ("v_permlanex16_b32", |lower, inst| vector(lower, inst, other_row, 1, 2)),
    ("v_permlane64_b32", |lower, inst| vector(lower, inst, permlane64, 1, 0)),
];
