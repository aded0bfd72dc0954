//! ROCm's device library, from Debian's package.

#[path = "../../testing/debian.rs"]
mod debian;

use std::path::{Path, PathBuf};

/// Returns the folder of the bitcode, or prints a message if it is unavailable.
pub fn folder() -> Option<PathBuf> {
    let file = debian::file("rocm-device-libs", "usr/lib/x86_64-linux-gnu/amdgcn/bitcode/ockl.bc")?;
    file.parent().map(Path::to_path_buf)
}

/// Returns clang's options that link the library. Its own option asks for a file for the exact
/// processor, and Debian's package is older than some; printing needs only those that say which
/// interface the code has, and how wide waves are.
pub fn options(folder: &Path, wide: bool) -> Vec<String> {
    let waves = if wide { "oclc_wavefrontsize64_on" } else { "oclc_wavefrontsize64_off" };
    let files = ["opencl", "ockl", "oclc_abi_version_500", waves];
    let file = |name: &str| folder.join(name).with_extension("bc").display().to_string();
    files
        .into_iter()
        .flat_map(|name| ["-Xclang".into(), "-mlink-builtin-bitcode".into(), "-Xclang".into(), file(name)])
        .collect()
}
