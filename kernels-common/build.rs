//! Compiles the kernel tree for the targets of the chosen features and generates the table.
//!
//! - `ISOBIT_CUDA_ARCHS`, `ISOBIT_ROCM_ARCHS`: architectures, comma-separated (`sm_80`; `gfx90a,gfx942,gfx1100`).
//! - `ISOBIT_CLANG`: the compiler; else the newest `clang` of version 19 or newer on the path. Where there is none, or
//!   `ISOBIT_CLANG=none`, the sources alone are embedded, and devices compile what they use.
//! - `ISOBIT_KERNEL_CACHE`: where compiled modules are kept by content; else a folder beside the build's own output.
#![allow(missing_docs)]

// Both are written for the library, and the build uses a part of each.
#[path = "build/clang.rs"]
mod clang;
#[path = "build/generate.rs"]
mod generate;
#[allow(dead_code)]
#[path = "src/key.rs"]
mod key;
#[allow(dead_code)]
#[path = "src/manifest.rs"]
mod manifest;
#[path = "build/progress.rs"]
mod progress;
#[path = "build/sources.rs"]
mod sources;

fn main() {
    for file in sources::depended_on() {
        println!("cargo::rerun-if-changed={}", file.display());
    }
    println!("cargo::rerun-if-changed=build");
    for name in ["ISOBIT_CUDA_ARCHS", "ISOBIT_ROCM_ARCHS", "ISOBIT_CLANG", "ISOBIT_KERNEL_CACHE", "PATH"] {
        println!("cargo::rerun-if-env-changed={name}");
    }
    let targets = clang::targets();
    let modules = manifest::modules();
    let sources = sources::read();
    let built = clang::compile(&modules, &sources, &targets);
    generate::write(&modules, &sources, &built);
}
