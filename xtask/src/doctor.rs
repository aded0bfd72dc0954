//! `cargo xtask doctor`: what this machine has, and what to do about what it lacks.

use crate::setup;
use crate::shell::{self, cargo, target_dir, version};
use anyhow::Result;
use std::path::PathBuf;
use std::process::ExitCode;

/// Prints a line for each thing the project can use.
pub fn run() -> Result<ExitCode> {
    println!("Tools");
    row("rustc", version("rustc", "--version"), "install Rust from https://rustup.rs");
    row("cargo", version("cargo", "--version"), "install Rust from https://rustup.rs");
    let clang = setup::find_clang().map(|(name, line)| format!("{name}: {line}"));
    row("clang", clang, "`apt-get install clang-19`; without it devices compile the kernels when first used");
    let lld = setup::find_lld().map(|(name, line)| format!("{name}: {line}"));
    row("lld", lld, "`apt-get install lld-19`; AMD code objects are linked with it");
    let llvm = setup::find_llvm().map(|(name, line)| format!("{name}: {line}"));
    row("llvm", llvm, "`apt-get install llvm-19`; the tests of the AMD decoder are held to its disassembler");
    row(
        "python3",
        version("python3", "--version"),
        "`apt-get install python3 python3-pip`; some tests fetch NVRTC with it",
    );
    if let Ok(named) = std::env::var("ISOBIT_CLANG") {
        println!("  {:<14} {named}", "ISOBIT_CLANG");
    }

    println!("\nSimulated GPUs and what runs on them");
    let at = |file: PathBuf| file.exists().then(|| file.display().to_string());
    for (device, library) in [("sim-cuda", "cuda/lib/libcuda.so"), ("sim-rocm", "rocm/lib/libamdhip64.so")] {
        let found = at(target_dir().join("simgpu").join(library));
        row(device, found, "`cargo xtask conformance` builds it, as does `cargo run -p isobit-simgpu-stage`");
    }
    let rocrand = at(target_dir().join("debian").join(setup::ROCRAND.1));
    row(
        "librocrand1",
        rocrand,
        "`cargo xtask test` unpacks Debian's package; a real ROCm library is tested on the simulator",
    );

    println!("\nDevices");
    shell::run(cargo().args([
        "run",
        "--quiet",
        "--package",
        "isobit",
        "--features",
        "cuda,rocm",
        "--example",
        "devices",
    ]))?;
    Ok(ExitCode::SUCCESS)
}

fn row(name: &str, found: Option<String>, otherwise: &str) {
    match found {
        Some(found) => println!("  {name:<14} {found}"),
        None => println!("  {name:<14} missing: {otherwise}"),
    }
}
