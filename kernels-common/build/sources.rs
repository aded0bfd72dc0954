//! The files of the tree, as the compiler and the embedded copy see them.

use std::path::{Path, PathBuf};

/// Name relative to `src`, and text, of every header and kernel source, sorted by name.
pub fn read() -> Vec<(String, String)> {
    let mut files = Vec::new();
    walk(&root(), &root(), &mut files);
    files.sort();
    files
}

/// The folder that includes are relative to.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn walk(root: &Path, dir: &Path, files: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(dir).expect("the source folder is readable") {
        let path = entry.expect("the source folder is readable").path();
        if path.is_dir() {
            walk(root, &path, files);
        } else if path.extension().is_some_and(|e| e == "cu" || e == "cuh") {
            let name = path.strip_prefix(root).expect("found below it").to_string_lossy().replace('\\', "/");
            let text =
                std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{} cannot be read: {e}", path.display()));
            files.push((name, text));
        }
    }
}
