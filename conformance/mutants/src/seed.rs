//! Begins the target folder of the copy with what the checkout has built, so that only what a
//! mutant changes is compiled. Cargo compares contents and times, and paths inside a workspace
//! count from its root; so most packages of the checkout are fresh in the copy.

use anyhow::{Context, Result};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// What a package names if it depends on the place of its checkout.
const PLACE: &str = "CARGO_MANIFEST_DIR";

/// Copies what cargo built in `from`, a target folder, to `to`, which does not exist yet. `files`
/// are the files of the checkout at `root`. Programs are left out: they are linked again within
/// seconds, and most of them are tests that no mutant runs.
///
/// # Errors
/// Fails if a file cannot be copied.
pub fn seed(root: &Path, files: &BTreeSet<PathBuf>, from: &Path, to: &Path) -> Result<()> {
    let (built, debug) = (from.join("debug"), to.join("debug"));
    if to.exists() || !built.join(".fingerprint").is_dir() {
        return Ok(());
    }
    let placed: Vec<String> = placed(root, files).into_iter().map(|name| name + "-").collect();
    // An interrupted copy would be taken for a whole one.
    let part = to.with_extension("part");
    if part.exists() {
        std::fs::remove_dir_all(&part).with_context(|| format!("cannot remove {}", part.display()))?;
    }
    let into = part.join("debug");
    for folder in ["build", "deps", ".fingerprint"] {
        let wanted = |name: &str, is_folder: bool| match folder {
            "deps" => name.contains('.'),
            ".fingerprint" if is_folder => !placed.iter().any(|p| name.strip_prefix(p).is_some_and(is_hash)),
            _ => true,
        };
        copy_all(&built.join(folder), &into.join(folder), &wanted)?;
    }
    for name in ["CACHEDIR.TAG", ".rustc_info.json"] {
        // Cargo writes them again.
        let _ = std::fs::copy(from.join(name), part.join(name));
    }
    std::fs::rename(&part, to).with_context(|| format!("cannot create {}", debug.display()))
}

fn is_hash(text: &str) -> bool {
    text.len() == 16 && text.bytes().all(|b| b.is_ascii_hexdigit())
}

/// Returns the packages that are built with the path of the checkout in them.
fn placed(root: &Path, files: &BTreeSet<PathBuf>) -> BTreeSet<String> {
    let sources = files.iter().filter(|file| file.extension().is_some_and(|e| e == "rs"));
    let named = sources.filter(|file| std::fs::read_to_string(root.join(file)).is_ok_and(|text| text.contains(PLACE)));
    let manifests = named.filter_map(|file| {
        let mut folders = file.ancestors().skip(1).map(|folder| folder.join("Cargo.toml"));
        folders.find(|manifest| files.contains(manifest))
    });
    manifests.filter_map(|manifest| package(&std::fs::read_to_string(root.join(manifest)).ok()?)).collect()
}

/// Returns the name of a manifest's package.
fn package(manifest: &str) -> Option<String> {
    let table: toml::Table = manifest.parse().ok()?;
    Some(table.get("package")?.get("name")?.as_str()?.to_string())
}

/// Copies a folder with the times of its files, by which cargo tells what is fresh.
fn copy_all(from: &Path, to: &Path, wanted: &dyn Fn(&str, bool) -> bool) -> Result<()> {
    std::fs::create_dir_all(to).with_context(|| format!("cannot create {}", to.display()))?;
    let entries = std::fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))?;
    for entry in entries {
        let entry = entry.with_context(|| format!("cannot read {}", from.display()))?;
        let kind = entry.file_type().with_context(|| format!("cannot read {}", from.display()))?;
        let name = entry.file_name();
        if !wanted(&name.to_string_lossy(), kind.is_dir()) {
            continue;
        }
        let (from, to) = (entry.path(), to.join(&name));
        if kind.is_dir() {
            copy_all(&from, &to, &|_, _| true)?;
        } else if kind.is_file() {
            copy(&from, &to)?;
        }
    }
    Ok(())
}

/// Copies a file with its time of change.
///
/// # Errors
/// Fails if the file cannot be copied.
pub fn copy(from: &Path, to: &Path) -> Result<()> {
    let copied = || -> std::io::Result<()> {
        std::fs::copy(from, to)?;
        let time = std::fs::metadata(from)?.modified()?;
        std::fs::File::options().write(true).open(to)?.set_modified(time)
    };
    copied().with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &Path, text: &str) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    #[test]
    fn what_does_not_depend_on_the_place_is_taken_over_with_its_time() {
        let folder = tempfile::tempdir().unwrap();
        let (root, from, to) = (folder.path().join("root"), folder.path().join("from"), folder.path().join("to"));
        let manifest = |name: &str| format!("[package]\nname = \"{name}\"\n");
        let files = [("a/Cargo.toml", manifest("a")), ("a/src/deep/x.rs", "env!(\"CARGO_MANIFEST_DIR\")".into())];
        let more = [("b/Cargo.toml", manifest("a-b")), ("b/src/lib.rs", String::new())];
        let files: BTreeSet<PathBuf> = files
            .iter()
            .chain(&more)
            .map(|(file, text)| {
                write(&root.join(file), text);
                PathBuf::from(file)
            })
            .collect();
        let hash = "0123456789abcdef";
        for name in ["a", "a-b"] {
            write(&from.join(format!("debug/.fingerprint/{name}-{hash}/lib")), "f");
        }
        for name in [&format!("liba-{hash}.rlib"), &format!("test-{hash}")] {
            write(&from.join("debug/deps").join(name), "code");
        }
        write(&from.join("debug/build/a/out/x"), "o");
        seed(&root, &files, &from, &to).unwrap();
        let has = |name: &str| to.join("debug").join(name).exists();
        assert!(has(&format!(".fingerprint/a-b-{hash}/lib")) && !has(&format!(".fingerprint/a-{hash}")));
        assert!(has(&format!("deps/liba-{hash}.rlib")) && !has(&format!("deps/test-{hash}")));
        let time = |path: PathBuf| std::fs::metadata(path).unwrap().modified().unwrap();
        assert_eq!(time(from.join("debug/build/a/out/x")), time(to.join("debug/build/a/out/x")));
        // What the copy has built since is kept.
        std::fs::remove_dir_all(to.join("debug/build")).unwrap();
        seed(&root, &files, &from, &to).unwrap();
        assert!(!has("build"));
    }
}
