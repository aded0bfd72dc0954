//! Code for GPUs, as the simulators load it.

use isobit_simgpu_amd::isa::Arch as AmdArch;
use isobit_simgpu_amd::loader;
use isobit_simgpu_core::memory::Memory;
use isobit_simgpu_nvidia::arch::Arch;
use isobit_simgpu_nvidia::module;
use std::sync::{Arc, OnceLock};

/// Bytes of a device's memory, which limits the variables of a module.
const MEMORY: u64 = 64 << 20;

fn memory() -> &'static Arc<Memory> {
    static DEVICE: OnceLock<Arc<Memory>> = OnceLock::new();
    DEVICE.get_or_init(|| Arc::new(Memory::new(MEMORY).expect("64 MiB of addresses")))
}

/// Parses and lowers PTX.
pub(crate) fn ptx(data: &[u8]) {
    match module::Module::load(Arch::Sm90, 0, memory(), data) {
        Ok(module) => {
            module.kernels().for_each(|kernel| assert!(!kernel.program.steps.is_empty(), "{}", kernel.name));
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// Loads a code object, or a bundle of them, for a card that the first byte selects.
pub(crate) fn code_object(data: &[u8]) {
    let Some((first, image)) = data.split_first() else { return };
    let arch = AmdArch::ALL[usize::from(*first) % AmdArch::ALL.len()];
    if let Err(error) = loader::Module::load(arch, 0, memory(), image) {
        assert!(!error.to_string().is_empty());
    }
}

/// Reads the metadata of a code object, in msgpack.
pub(crate) fn metadata(data: &[u8]) {
    if let Err(error) = loader::kernels_described(data) {
        assert!(!error.to_string().is_empty());
    }
    isobit_kernels::untrusted::metadata_of_note(data);
}
