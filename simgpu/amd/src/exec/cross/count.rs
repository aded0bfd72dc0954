//! Counts the bits of a mask below each lane.

use super::{read, vector, write};
use crate::exec::lower::Lowering;
use crate::exec::program::{Flow, Step};
use crate::exec::row::Row;
use crate::exec::wave::{Env, Wave};

/// Counts the bits of the first operand that belong to lanes below each lane, and adds the second
/// operand. Bit 0 of the first operand belongs to lane `first`.
fn count(wave: &mut Wave, step: &Step, env: &Env<'_>, first: u32) -> Flow {
    let (mask, add) = (read(wave, step, env, 0), read(wave, step, env, 1));
    let counts = Row(std::array::from_fn(|lane| {
        let below = (lane as u32).saturating_sub(first).min(32);
        let bits = u64::from(mask.0[lane]) & ((1 << below) - 1);
        bits.count_ones().wrapping_add(add.0[lane])
    }));
    write(wave, step, &counts);
    Flow::Next
}

fn low(wave: &mut Wave, step: &Step, env: &mut Env<'_>) -> Flow {
    count(wave, step, env, 0)
}

fn high(wave: &mut Wave, step: &Step, env: &mut Env<'_>) -> Flow {
    count(wave, step, env, 32)
}

/// The lane-counting instructions.
pub const TABLE: &[(&str, Lowering)] = &[
    ("v_mbcnt_lo_u32_b32", |lower, inst| vector(lower, inst, low, 2, 0)),
    ("v_mbcnt_hi_u32_b32", |lower, inst| vector(lower, inst, high, 2, 0)),
];
