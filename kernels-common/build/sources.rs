//! The files of the tree, as the compiler and the embedded copy see them.

use std::path::{Path, PathBuf};

/// Returns the name relative to `src` and the text of every header and kernel source, sorted by
/// name.
pub fn read() -> Vec<(String, String)> {
    let root = root();
    let kernels = files().into_iter().filter(|path| is_kernel_source(path));
    let named = kernels.map(|path| {
        let name = path.strip_prefix(&root).expect("found below it").to_string_lossy().replace('\\', "/");
        let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{} cannot be read: {e}", path.display()));
        (name, text)
    });
    let mut named: Vec<_> = named.collect();
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
