//! Permutations through the LDS unit, which do not access memory. A lane reads zero from an
//! inactive lane.

use super::{read, vector, write};
use crate::exec::lower::Lowering;
use crate::exec::program::{Flow, Step};
use crate::exec::row::Row;
use crate::exec::wave::{Env, Wave};

/// Returns the lane of an address; the address counts words, modulo the wave.
fn lane_of(address: u32, step: &Step, env: &Env<'_>, width: usize) -> usize {
    (address.wrapping_add(env.program.inst(step).imm as u32) / 4) as usize % width
}

/// Each lane reads from the lane that its address selects.
fn bpermute(wave: &mut Wave, step: &Step, env: &mut Env<'_>) -> Flow {
    let (addresses, data) = (read(wave, step, env, 0), read(wave, step, env, 1));
    let width = wave.width;
    let pulled = Row(std::array::from_fn(|lane| {
        let from = lane_of(addresses.0[lane], step, env, width);
        data.0[from] & wave.active.0[from]
    }));
    write(wave, step, &pulled);
    Flow::Next
}

/// Each active lane writes to the lane that its address selects. If several write to one lane, the
/// highest wins; a lane that nobody writes to gets zero.
fn permute(wave: &mut Wave, step: &Step, env: &mut Env<'_>) -> Flow {
    let (addresses, data) = (read(wave, step, env, 0), read(wave, step, env, 1));
    let mut pushed = Row::splat(0);
    for lane in 0..wave.width {
        if wave.active.0[lane] != 0 {
            pushed.0[lane_of(addresses.0[lane], step, env, wave.width)] = data.0[lane];
        }
    }
    write(wave, step, &pushed);
    Flow::Next
}

/// Returns the lane from which a lane reads under a swizzle, which stays within groups of 32 lanes.
/// The upper bits of the offset select the mode: `111` the order of an FFT's butterflies, `110` a
/// rotation, `10` any permutation of four neighbours, `0` a bit mask.
const fn swizzled(offset: u32, lane: u32) -> u32 {
    let (group, at) = (lane & 32, lane & 31);
    let (low, middle, high) = (offset & 31, offset >> 5 & 31, offset >> 10 & 31);
    let from = if offset >= 0xe000 {
        // The bit-reversed position without its lowest bits, which stay unchanged.
        (at.reverse_bits() >> 27) >> low.count_ones() | at & low
    } else if offset >= 0xc000 {
        let by = if high & 1 == 1 { 32 - middle } else { middle };
        at & low | (at + by) & !low
    } else if offset >= 0x8000 {
        at & !3 | offset >> (2 * (at & 3)) & 3
    } else {
        (at & low | middle) ^ high
    };
    group | from & 31
}

fn swizzle(wave: &mut Wave, step: &Step, env: &mut Env<'_>) -> Flow {
    let data = read(wave, step, env, 0);
    let offset = env.program.inst(step).imm as u32 & 0xffff;
    let permuted = Row(std::array::from_fn(|lane| {
        let from = swizzled(offset, lane as u32) as usize;
        data.0[from] & wave.active.0[from]
    }));
    write(wave, step, &permuted);
    Flow::Next
}

/// The LDS permutations.
pub const TABLE: &[(&str, Lowering)] = &[
    ("ds_bpermute_b32", |lower, inst| vector(lower, inst, bpermute, 2, 0)),
    ("ds_permute_b32", |lower, inst| vector(lower, inst, permute, 2, 0)),
    ("ds_swizzle_b32", |lower, inst| vector(lower, inst, swizzle, 1, 0)),
];
