//! Blocks that wait for other blocks, and deadlocks, on NVIDIA's cards.

#[path = "../../../core/testing/spinning.rs"]
mod expected;

use crate::common::{Card, compile};
use isobit_simgpu_nvidia::arch::Arch;

fn with_threads(arch: Arch, image: &[u8], threads: usize) -> Card {
    Card::with(arch, image, threads)
}
