//! Prints how the compiled kernels of the repository use a card, one line per kernel, for
//! `cargo xtask kernels --resources --occupancy`: what only the decoder, the counters and the rules
//! of the simulated cards know.
//!
//! `cargo run -p isobit-simgpu-amd --example occupancy gfx90a`

#[path = "../../core/testing/device.rs"]
mod device;

use device::Device;
use isobit_kernels::{Family, IMAGES, KERNELS, Key, Target};
use isobit_simgpu_amd::dispatch::Gpu;
use isobit_simgpu_amd::isa::{Arch, Inst};
use isobit_simgpu_amd::loader::{ArgKind, Kernel};
use std::collections::HashMap;

/// How many of so many arguments of a kernel follow the pointers, the number of elements first.
type AfterPointers = fn(usize) -> usize;

/// The families whose kernels for contiguous operands have the key [`Key::CONTIGUOUS`].
const ELEMENTWISE: [(Family, AfterPointers); 8] = [
    (Family::Fill, |args| args - 1),
    (Family::Affine, |args| args - 2),
    (Family::Cast, |_| 1),
    (Family::Unary, |_| 1),
    (Family::Binary, |_| 1),
    (Family::Compare, |_| 1),
    (Family::Select, |_| 1),
    (Family::BiasActivation, |_| 1),
];

/// The elements of a measured launch of one block: whole packs of every dtype, many per thread.
const ELEMENTS: usize = 1 << 15;

/// Returns how many arguments of a kernel follow its pointers, if it is for contiguous operands.
fn after_pointers(key: Key) -> Option<AfterPointers> {
    let (_, after) = ELEMENTWISE.into_iter().find(|(family, _)| key.to_bits() >> 56 == *family as u64)?;
    (key == key.with_variant(Key::CONTIGUOUS)).then_some(after)
}

/// Returns the bytes that a lane moves with an instruction, if that starts with one of the names.
/// Instructions for buffers are not among them: they access private memory on gfx90a.
fn bytes(inst: &Inst, names: [&str; 2]) -> u32 {
    if !names.iter().any(|name| inst.name.starts_with(name)) {
        return 0;
    }
    match inst.name.rsplit_once('_').map_or(inst.name, |(_, last)| last) {
        "b128" => 16,
        "b96" => 12,
        "b64" => 8,
        "b32" => 4,
        "b16" | "i16" | "u16" => 2,
        _ => 1,
    }
}

/// Whether a launch gives it group memory: the code accesses some, and declares none.
fn takes_dynamic(kernel: &Kernel) -> bool {
    let mut insts = kernel.insts();
    kernel.lds_bytes == 0 && insts.any(|inst| inst.name.starts_with("ds_load") || inst.name.starts_with("ds_store"))
}

/// A card with two buffers for operands of [`ELEMENTS`] elements of any dtype.
struct Card {
    gpu: Gpu,
    device: Device,
    inputs: u64,
    result: u64,
}

impl Card {
    fn new(arch: Arch) -> Self {
        let device = Device::new();
        let gpu = Gpu::new(arch, device.memory.clone(), device.findings.clone(), 1, 0).expect("threads");
        // As floats of 16, 32 or 64 bits these are between 1/8 and 2, for which functions take
        // their common branches.
        let values: Vec<u8> =
            (0..8 * ELEMENTS).map(|i| if i % 2 == 1 { 0x3f } else { 0xc0 + (i / 2 % 61) as u8 }).collect();
        let (inputs, result) = (device.upload(&values), device.uninitialised(values.len()));
        Self { gpu, device, inputs, result }
    }

    /// Returns the instructions that each lane executes per element of contiguous operands.
    fn per_element(&self, kernel: &Kernel, after: AfterPointers) -> f64 {
        let args: Vec<_> = kernel.args.iter().filter(|arg| arg.kind == ArgKind::Explicit).collect();
        let count = args.len() - after(args.len());
        let mut segment = Vec::new();
        for (i, arg) in args.iter().enumerate() {
            let value = match i {
                0 => self.result,
                _ if i < count => self.inputs,
                _ if i == count => ELEMENTS as u64,
                // A parameter: one of the values that inputs have.
                _ => 0x3fc8_3fc8_3fc8_3fc8,
            };
            segment.resize(arg.offset as usize, 0);
            segment.extend_from_slice(&value.to_le_bytes()[..arg.bytes as usize]);
        }
        let before = self.gpu.instructions();
        let ran = self.gpu.launch(kernel, [1; 3], [kernel.max_threads, 1, 1], 0, &segment);
        ran.unwrap_or_else(|e| panic!("{}: {e}", kernel.name));
        let findings = self.device.findings.take();
        assert!(findings.is_empty(), "{}: {findings:?}", kernel.name);
        (self.gpu.instructions() - before) as f64 / ELEMENTS as f64
    }
}

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    // A module's source lies in the folder of its family.
    let manifest = isobit_kernels::manifest();
    let folders: HashMap<&str, &str> =
        manifest.iter().filter_map(|module| Some((&*module.name, module.source.split('/').nth(1)?))).collect();
    let keys: HashMap<&str, Key> = KERNELS.iter().map(|entry| (entry.symbol, entry.key)).collect();
    println!("target\tkernel\tfamily\tthreads\toccupancy\tdynamic\tload\tstore\tcontiguous");
    for arch in Arch::ALL.into_iter().filter(|arch| wanted.iter().any(|name| name == arch.name())) {
        let card = Card::new(arch);
        for image in IMAGES {
            let Some(code) = image.code_for(Target::Amdgcn, arch.name()) else { continue };
            let module = card.gpu.load(&code).unwrap_or_else(|e| panic!("{}: {e}", image.name));
            let mut kernels: Vec<&Kernel> = module.kernels().collect();
            kernels.sort_by(|a, b| a.name.cmp(&b.name));
            for kernel in kernels {
                let widest = |names| kernel.insts().map(|inst| bytes(inst, names)).max().unwrap_or(0);
                let after = keys.get(&*kernel.name).and_then(|&key| after_pointers(key));
                println!(
                    "{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}",
                    arch.name(),
                    kernel.name,
                    folders.get(image.name).copied().unwrap_or("-"),
                    kernel.max_threads,
                    arch.units().occupancy(kernel, kernel.max_threads, 0),
                    takes_dynamic(kernel),
                    widest(["global_load", "flat_load"]),
                    widest(["global_store", "flat_store"]),
                    after.map_or("-".into(), |after| format!("{:.2}", card.per_element(kernel, after))),
                );
            }
        }
    }
}
