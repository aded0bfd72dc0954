//! The files of the tree, as the compiler and the embedded copy see them.

use isobit_hal::grids;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The header with the code books of quantized formats, which the build makes.
const GRIDS: &str = "ops/quantized/grids.cuh";

/// Returns the text of that header.
fn grids() -> String {
    let mut text = String::from("#pragma once\n\n#include \"device_lib/base.cuh\"\n\nnamespace isobit {\n\n");
    let all: [(&str, &[u16]); 6] = [
        ("IQ2_XXS", &grids::IQ2_XXS),
        ("IQ2_XS", &grids::IQ2_XS),
        ("IQ2_S", &grids::IQ2_S),
        ("IQ3_XXS", &grids::IQ3_XXS),
        ("IQ3_S", &grids::IQ3_S),
        ("IQ1", &grids::IQ1),
    ];
    for (name, entries) in all {
        // Without const, because clang puts constants into NVIDIA's constant memory, of which a
        // warp reads one word at a time. It sees that nothing writes the tables.
        writeln!(text, "static __device__ u16 {name}_GRID[{}] = {{", entries.len()).unwrap();
        for line in entries.chunks(16) {
            line.iter().for_each(|entry| write!(text, "{entry}, ").unwrap());
            text.push('\n');
        }
        text.push_str("};\n\n");
    }
    text.push_str("} // namespace isobit\n");
    text
}

/// Returns the folder that includes of headers that the build makes are relative to.
pub fn made() -> PathBuf {
    PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("made")
}

/// Writes the headers that the build makes.
pub fn write_made() {
    let path = made().join(GRIDS);
    std::fs::create_dir_all(path.parent().expect("it is in a folder")).expect("OUT_DIR is writable");
    std::fs::write(path, grids()).expect("OUT_DIR is writable");
}

/// Returns the name relative to `src` and the text of every header and kernel source, sorted by
/// name, with those that the build makes.
pub fn read() -> Vec<(String, String)> {
    let root = root();
    let kernels = files().into_iter().filter(|path| is_kernel_source(path));
    let named = kernels.map(|path| {
        let name = path.strip_prefix(&root).expect("found below it").to_string_lossy().replace('\\', "/");
        let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{} cannot be read: {e}", path.display()));
        (name, text)
    });
    let mut named: Vec<_> = named.chain([(GRIDS.to_string(), grids())]).collect();
    named.sort();
    named
}

/// Returns the files that trigger a new build. This excludes most of `src`: launchers are next to
/// their kernels and change far more often.
pub fn depended_on() -> Vec<PathBuf> {
    let lists = ["key.rs", "manifest.rs", "instances.rs"];
    let is_list = |path: &Path| path.file_name().is_some_and(|name| lists.iter().any(|list| name == *list));
    files().into_iter().filter(|path| is_kernel_source(path) || is_list(path)).collect()
}

/// Returns the folder that includes are relative to.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn is_kernel_source(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "cu" || e == "cuh")
}

fn files() -> Vec<PathBuf> {
    let mut found = Vec::new();
    walk(&root(), &mut found);
    found
}

fn walk(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).expect("the source folder is readable") {
        let path = entry.expect("the source folder is readable").path();
        if path.is_dir() {
            walk(&path, found);
        } else {
            found.push(path);
        }
    }
}
