//! Tests of matrix instructions: each element of a result is computed from the elements of the
//! factors, whose places are those that AMD's matrix instruction calculator
//! (ROCm/amd_matrix_instruction_calculator) gives for each instruction.

mod mfma;
mod wmma;

use crate::bench::{Bench, Random};

/// Fills all vector and accumulation registers with words of a generator.
fn fill(bench: &mut Bench, random: &mut Random, word: fn(&mut Random) -> u32) {
    for row in bench.wave.v.iter_mut() {
        row.0.fill_with(|| word(random));
    }
}
