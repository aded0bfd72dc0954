//! candle's crates as the registry has them. Cargo fetches them, so any mirror that it is set up
//! for is used.

use crate::shell::{self, cargo, target_dir};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A package of the registry.
#[derive(Debug)]
pub struct Package {
    pub version: String,
    pub sha256: String,
    file: PathBuf,
}

/// Fetches the crates of a release (`*` for the newest), in the order of [`super::CRATES`].
pub fn fetch(release: &str) -> Result<Vec<Package>> {
    let scratch = target_dir().join("candle-fetch").join(if release == "*" { "newest" } else { release });
    let exact = if release == "*" { "*".to_string() } else { format!("={release}") };
    let wanted: String = super::CRATES.iter().map(|of| format!("{} = \"{exact}\"\n", of.name)).collect();
    std::fs::create_dir_all(scratch.join("src")).with_context(|| format!("cannot make {}", scratch.display()))?;
    std::fs::write(scratch.join("src/lib.rs"), "")?;
    let manifest = scratch.join("Cargo.toml");
    let package = "[package]\nname = \"candle-fetch\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n";
    std::fs::write(&manifest, format!("{package}\n[dependencies]\n{wanted}"))?;
    if release == "*" {
        // The lock file of an earlier run would keep the release that was newest then.
        let _ = std::fs::remove_file(scratch.join("Cargo.lock"));
    }
    let mut metadata = cargo();
    metadata.args(["metadata", "--format-version", "1", "--manifest-path"]).arg(&manifest);
    let output = metadata.output().context("cargo does not start")?;
    ensure!(output.status.success(), "cargo cannot fetch candle: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).context("cargo's metadata is not JSON")?;
    super::CRATES.iter().map(|of| package_of(&metadata, of.name)).collect()
}

fn package_of(metadata: &Value, name: &str) -> Result<Package> {
    let mut all = metadata["packages"].as_array().into_iter().flatten();
    let found = all.find(|package| package["name"] == name).with_context(|| format!("cargo fetched no {name}"))?;
    let text = |key: &str| found[key].as_str().unwrap_or_default().to_string();
    // Cargo unpacks <home>/registry/cache/<index>/<package>.crate to <home>/registry/src/….
    let manifest = text("manifest_path");
    let unpacked = Path::new(&manifest).parent().unwrap_or(Path::new(""));
    let file = unpacked.with_file_name(format!("{name}-{}.crate", text("version")));
    let file = PathBuf::from(file.to_string_lossy().replacen("/registry/src/", "/registry/cache/", 1));
    Ok(Package { version: text("version"), sha256: shell::sha256(&file)?, file })
}

/// Unpacks a package and returns its folder, which no earlier run has changed.
pub fn unpack(package: &Package) -> Result<PathBuf> {
    let name = package.file.file_stem().context("a package has a name")?;
    let folder = target_dir().join("candle-fetch").join(name);
    if folder.exists() {
        std::fs::remove_dir_all(&folder).with_context(|| format!("cannot replace {}", folder.display()))?;
    }
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let mut tar = Command::new("tar");
    shell::quietly(tar.arg("-xzf").arg(&package.file).arg("-C").arg(&folder).arg("--strip-components=1"))?;
    Ok(folder)
}

/// Makes a folder equal to another. Files that are equal already keep their time, so that cargo
/// does not build them again.
pub fn mirror(from: &Path, to: &Path) -> Result<()> {
    let list = |folder: &Path| -> Result<Vec<PathBuf>> {
        let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
        Ok(entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?)
    };
    std::fs::create_dir_all(to).with_context(|| format!("cannot make {}", to.display()))?;
    for path in list(from)? {
        let to = to.join(path.file_name().unwrap_or_default());
        match path.is_dir() {
            true => mirror(&path, &to)?,
            false => write_changed(&to, &std::fs::read(&path)?)?,
        }
    }
    for path in list(to)? {
        let wanted = from.join(path.file_name().unwrap_or_default()).exists();
        match path.is_dir() {
            _ if wanted => {}
            true => std::fs::remove_dir_all(&path)?,
            false => std::fs::remove_file(&path)?,
        }
    }
    Ok(())
}

/// Writes a file unless it has this content, so that cargo builds only what has changed.
pub fn write_changed(file: &Path, content: &[u8]) -> Result<()> {
    if std::fs::read(file).is_ok_and(|old| old == content) {
        return Ok(());
    }
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    std::fs::write(file, content).with_context(|| format!("cannot write {}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mirror_has_the_same_files_and_leaves_equal_ones_alone() {
        let scratch = std::env::temp_dir().join(format!("isobit-mirror-{}", std::process::id()));
        let (from, to) = (scratch.join("from"), scratch.join("to"));
        for (file, text) in
            [("from/x/same", "1"), ("from/new", "2"), ("to/x/same", "1"), ("to/x/old", "3"), ("to/y/z", "4")]
        {
            write_changed(&scratch.join(file), text.as_bytes()).unwrap();
        }
        let written = |file: &Path| std::fs::metadata(file).unwrap().modified().unwrap();
        let before = written(&to.join("x/same"));
        mirror(&from, &to).unwrap();
        assert_eq!(written(&to.join("x/same")), before);
        assert_eq!(std::fs::read_to_string(to.join("new")).unwrap(), "2");
        assert!(!to.join("x/old").exists() && !to.join("y").exists());
        std::fs::remove_dir_all(scratch).unwrap();
    }
}
