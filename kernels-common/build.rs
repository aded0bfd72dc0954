//! Gathers the compiled kernels of the selected targets and generates the kernel table.
//!
//! Compiled code comes from the data crates (`code/`) if it was made from the same sources with the
//! same flags. A checkout compiles the rest, each module once for a given content.
//!
//! - `ISOBIT_CUDA_ARCHS`, `ISOBIT_ROCM_ARCHS`: the architectures, comma-separated (`sm_80`;
//!   `gfx90a,gfx942,gfx1100`). By default a released package uses those of its features, and a
//!   checkout those for development.
//! - `ISOBIT_CLANG`: the compiler. The default is the newest `clang` of version 19 or newer on the
//!   path. If there is none, or with `ISOBIT_CLANG=none`, modules that are not compiled yet are
//!   embedded only as sources, and devices compile what they use.
//! - `ISOBIT_KERNEL_CACHE`: the folder in which compiled modules are cached by content. The default
//!   is a folder next to the build's own output.
#![allow(missing_docs)]

// These three are written for the library; the build script uses only a part of each.
#[allow(dead_code)]
#[path = "src/code/archive/mod.rs"]
mod archive;
#[path = "build/clang.rs"]
mod clang;
#[path = "build/code.rs"]
mod code;
#[path = "build/generate.rs"]
mod generate;
#[path = "build/identity.rs"]
mod identity;
#[path = "src/code/includes.rs"]
mod includes;
#[allow(dead_code)]
#[path = "src/key.rs"]
mod key;
#[allow(dead_code)]
#[path = "src/manifest.rs"]
mod manifest;
#[path = "build/prebuilt.rs"]
mod prebuilt;
#[path = "build/progress.rs"]
mod progress;
#[path = "build/sources.rs"]
mod sources;
#[path = "build/steps.rs"]
mod steps;
#[path = "build/target.rs"]
mod target;

fn main() {
    for file in sources::depended_on() {
        println!("cargo::rerun-if-changed={}", file.display());
    }
    println!("cargo::rerun-if-changed=build");
    for name in ["ISOBIT_CUDA_ARCHS", "ISOBIT_ROCM_ARCHS", "ISOBIT_CLANG", "ISOBIT_KERNEL_CACHE", "PATH"] {
        println!("cargo::rerun-if-env-changed={name}");
    }
    let modules = manifest::modules();
    let sources = sources::read();
    let code = code::gather(&modules, &sources, &target::chosen());
    generate::write(&modules, &sources, &code);
}
