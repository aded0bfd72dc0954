//! The idioms of CUDA and HIP programs on every simulated NVIDIA GPU.

use crate::common::{Card, compile};
use isobit_simgpu_nvidia::arch::Arch;

#[path = "../../../idioms/host.rs"]
mod host;

fn warp(_arch: Arch) -> u32 {
    32
}
