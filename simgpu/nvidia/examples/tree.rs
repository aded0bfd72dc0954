//! Loads every PTX module of the repository's kernels on every card, and prints the time and the
//! load errors.
//!
//! `cargo run -p isobit-simgpu-nvidia --example tree [folder of .ptx files]`

use isobit_kernels::{IMAGES, Target};
use isobit_simgpu_core::memory::Memory;
use isobit_simgpu_nvidia::arch::Arch;
use isobit_simgpu_nvidia::module::Module;
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Returns the modules of a folder, or the packed ones.
fn modules() -> Vec<(String, Vec<u8>)> {
    let Some(folder) = std::env::args().nth(1) else {
        let packed = IMAGES.iter().filter_map(|image| {
            let arch = image.archs(Target::Nvptx).first()?.clone().into_owned();
            Some((image.name.to_owned(), image.code_for(Target::Nvptx, &arch)?.to_vec()))
        });
        return packed.collect();
    };
    let paths = std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{folder}: {e}")).filter_map(Result::ok);
    let read = |path: std::path::PathBuf| {
        let bytes = std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        (path.display().to_string(), bytes)
    };
    paths.map(|entry| read(entry.path())).collect()
}

fn main() -> ExitCode {
    let modules = modules();
    let memory = Arc::new(Memory::new(1 << 30).expect("a gigabyte of addresses"));
    let (mut kernels, mut steps, mut lines, mut time) = (0, 0, 0, Duration::ZERO);
    let mut faults: BTreeMap<String, (usize, String)> = BTreeMap::new();
    for (name, image) in &modules {
        let started = Instant::now();
        let loaded = Module::load(Arch::Sm80, 0, &memory, image);
        time += started.elapsed();
        lines += image.iter().filter(|byte| **byte == b'\n').count();
        match loaded {
            Ok(module) => {
                kernels += module.kernels().count();
                steps += module.kernels().map(|kernel| kernel.program.steps.len()).sum::<usize>();
            }
            Err(error) => {
                let why = error.to_string();
                let what = why.rsplit_once(": ").map_or(&*why, |(_, what)| what).to_owned();
                faults.entry(what).or_insert_with(|| (0, format!("{name}: {why}"))).0 += 1;
            }
        }
    }
    let seconds = time.as_secs_f64();
    println!("{} modules, {lines} lines: {kernels} kernels, {steps} steps in {seconds:.2} s", modules.len());
    for (count, first) in faults.values() {
        println!("{count} times, first in {first}");
    }
    if faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
