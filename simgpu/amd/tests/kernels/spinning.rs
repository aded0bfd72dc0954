//! Blocks that wait for other blocks, and deadlocks, on AMD's cards.

#[path = "../../../core/testing/spinning.rs"]
mod expected;

use crate::common::{Card, compile};
use isobit_simgpu_amd::isa::Arch;

fn with_threads(arch: Arch, image: &[u8], threads: usize) -> Card {
    Card::with(arch, image, threads, 0)
}
