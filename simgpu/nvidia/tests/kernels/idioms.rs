//! The idioms of CUDA and HIP programs on every simulated NVIDIA GPU.

use crate::common::{Card, compile};
use isobit_simgpu_nvidia::arch::Arch;
use std::path::Path;
use std::sync::OnceLock;

#[path = "../../../idioms/host.rs"]
mod host;

/// Returns the idioms for a card, compiled once.
fn compiled(arch: Arch) -> &'static [u8] {
    static MODULES: [OnceLock<Vec<u8>>; Arch::ALL.len()] = [const { OnceLock::new() }; Arch::ALL.len()];
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../idioms/all.cu");
    let position = Arch::ALL.iter().position(|&known| known == arch).expect("a known card");
    MODULES[position].get_or_init(|| compile(&source, arch))
}

fn warp(_arch: Arch) -> u32 {
    32
}
