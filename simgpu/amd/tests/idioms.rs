//! The idioms of CUDA and HIP programs on every simulated AMD GPU.

mod common;

use common::{Card, compile};
use isobit_simgpu_amd::isa::Arch;

#[path = "../../idioms/host.rs"]
mod host;

fn warp(arch: Arch) -> u32 {
    if arch == Arch::Gfx1100 { 32 } else { 64 }
}
