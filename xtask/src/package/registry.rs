//! A registry of files with the new packages and all packages that they depend on, in the format
//! that cargo calls `local-registry`. A program that depends on the packages can be built from it
//! without a network.

use crate::shell::{cargo, root, sha256, target_dir};
use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// A published package, or a dependency of one.
#[derive(Debug)]
pub struct Package {
    pub name: String,
    version: String,
    /// Whether it is a package of this workspace.
    pub ours: bool,
    /// Its metadata from cargo.
    metadata: Value,
}

impl Package {
    /// Returns its file name in a registry.
    pub fn file(&self) -> String {
        format!("{}-{}.crate", self.name, self.version)
    }

    /// Whether it contains the compiled kernels of an architecture.
    pub fn is_data(&self) -> bool {
        self.metadata["links"].as_str().is_some_and(|links| links.starts_with("isobit_kernels_"))
    }

    /// Returns its line in a registry's index.
    fn line(&self, checksum: &str) -> Value {
        // Includes dev-dependencies, although they are not resolved: a feature may name one and
        // would otherwise refer to a missing dependency.
        let dependencies: Vec<Value> =
            self.metadata["dependencies"].as_array().into_iter().flatten().map(dependency).collect();
        json!({
            "v": 2,
            "name": self.name,
            "vers": self.version,
            "deps": dependencies,
            "cksum": checksum,
            "features": {},
            "features2": self.metadata["features"],
            "links": self.metadata["links"],
            "rust_version": self.metadata["rust_version"],
            "yanked": false,
        })
    }
}

/// Converts a dependency to the format of an index.
fn dependency(of: &Value) -> Value {
    let (name, package) = match &of["rename"] {
        Value::Null => (&of["name"], &Value::Null),
        rename => (rename, &of["name"]),
    };
    json!({
        "name": name,
        "package": package,
        "req": of["req"],
        "features": of["features"],
        "optional": of["optional"],
        "default_features": of["uses_default_features"],
        "target": of["target"],
        "kind": of["kind"].as_str().unwrap_or("normal"),
    })
}

/// Returns every package of the workspace that may be published, and every package that the lock
/// file takes from a registry.
pub fn packages() -> Result<Vec<Package>> {
    let output =
        cargo().args(["metadata", "--format-version", "1", "--locked"]).output().context("cargo does not start")?;
    ensure!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).context("cargo's metadata is not JSON")?;
    let package = |metadata: &Value| {
        let text = |name: &str| metadata[name].as_str().unwrap_or_default().to_string();
        let ours = metadata["source"].is_null();
        Package { name: text("name"), version: text("version"), ours, metadata: metadata.clone() }
    };
    let packages = metadata["packages"].as_array().context("cargo's metadata has no packages")?.iter();
    // `publish = false` is an empty list of registries.
    Ok(packages.filter(|p| p["publish"].as_array().is_none_or(|to| !to.is_empty())).map(package).collect())
}

/// Recreates the registry from the packages in a folder, and returns its path.
pub fn make(made: &Path, packages: &[Package]) -> Result<PathBuf> {
    let registry = target_dir().join("registry");
    if registry.exists() {
        std::fs::remove_dir_all(&registry).with_context(|| format!("{} cannot be removed", registry.display()))?;
    }
    std::fs::create_dir_all(&registry)?;
    let locked = locked()?;
    let mut index: HashMap<PathBuf, String> = HashMap::new();
    for package in packages {
        let to = registry.join(package.file());
        let from = if package.ours { made.join(package.file()) } else { fetched(package)? };
        std::fs::copy(&from, &to).with_context(|| format!("{} cannot be copied", from.display()))?;
        let checksum = match locked.get(&(package.name.as_str().into(), package.version.as_str().into())) {
            Some(checksum) => checksum.clone(),
            None => sha256(&to)?,
        };
        let lines = index.entry(place(&package.name)).or_default();
        *lines += &format!("{}\n", package.line(&checksum));
    }
    for (place, lines) in index {
        let path = registry.join("index").join(place);
        std::fs::create_dir_all(path.parent().context("it lies in the index")?)?;
        std::fs::write(&path, lines).with_context(|| format!("{} cannot be written", path.display()))?;
    }
    Ok(registry)
}

/// Returns the file of an external package, which cargo downloaded for this build.
fn fetched(package: &Package) -> Result<PathBuf> {
    let manifest = Path::new(package.metadata["manifest_path"].as_str().context("a package has a manifest")?);
    // The manifest is <home>/registry/src/<registry>/<package>/Cargo.toml; the downloaded files are
    // in <home>/registry/cache.
    let source = manifest.ancestors().nth(2).context("it lies in cargo's home")?;
    let (name, home) = (source.file_name(), source.ancestors().nth(2));
    let (name, home) = name.zip(home).context("it lies in cargo's home")?;
    let file = home.join("cache").join(name).join(package.file());
    if !file.exists() {
        bail!("{} is missing, from which cargo unpacked {}: run `cargo fetch`", file.display(), package.name);
    }
    Ok(file)
}

/// Returns the checksums of the lock file, by name and version.
fn locked() -> Result<HashMap<(String, String), String>> {
    let lock = std::fs::read_to_string(root().join("Cargo.lock")).context("Cargo.lock cannot be read")?;
    Ok(checksums(&lock))
}

fn checksums(lock: &str) -> HashMap<(String, String), String> {
    let entry = |text: &str| {
        let value = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" = "))?;
            Some(line.trim_matches('"').to_string())
        };
        Some(((value("name")?, value("version")?), value("checksum")?))
    };
    lock.split("[[package]]").filter_map(entry).collect()
}

/// Returns the path of a package's lines in an index, in folders named by its first letters.
fn place(name: &str) -> PathBuf {
    let name = name.to_lowercase();
    match name.len() {
        1 | 2 => Path::new(&name.len().to_string()).join(name),
        3 => Path::new("3").join(&name[..1]).join(name),
        _ => Path::new(&name[..2]).join(&name[2..4]).join(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_filed_by_their_first_letters() {
        for (name, path) in
            [("a", "1/a"), ("cc", "2/cc"), ("syn", "3/s/syn"), ("half", "ha/lf/half"), ("Isobit", "is/ob/isobit")]
        {
            assert_eq!(place(name), Path::new(path));
        }
    }

    #[test]
    fn checksums_are_those_of_the_lock_file() {
        let lock = "version = 4\n\n[[package]]\nname = \"half\"\nversion = \"2.1.0\"\nsource = \"registry+x\"\nchecksum = \"ab12\"\n\n\
                    [[package]]\nname = \"isobit\"\nversion = \"0.1.0\"\n";
        let expected = HashMap::from([(("half".to_string(), "2.1.0".to_string()), "ab12".to_string())]);
        assert_eq!(checksums(lock), expected);
    }

    #[test]
    fn a_line_of_the_index_has_what_cargo_resolves_by() {
        let metadata = json!({
            "name": "isobit-rocm", "version": "0.1.0", "links": null, "rust_version": "1.88", "features": {"default": ["gfx90a"]},
            "dependencies": [
                {"name": "isobit-hip-sys", "rename": "hip-sys", "req": "^0.1.0", "features": [], "optional": false,
                 "uses_default_features": true, "target": null, "kind": null},
                {"name": "tempfile", "rename": null, "req": "^3", "features": [], "optional": false,
                 "uses_default_features": true, "target": null, "kind": "dev"}
            ]
        });
        let package = Package { name: "isobit-rocm".into(), version: "0.1.0".into(), ours: true, metadata };
        let line = package.line("ab12");
        assert_eq!(line["deps"].as_array().unwrap().len(), 2);
        assert_eq!(line["deps"][0]["name"], "hip-sys");
        assert_eq!(line["deps"][0]["package"], "isobit-hip-sys");
        assert_eq!(line["deps"][0]["kind"], "normal");
        assert_eq!((&line["deps"][1]["name"], &line["deps"][1]["kind"]), (&json!("tempfile"), &json!("dev")));
        assert_eq!((&line["cksum"], &line["features2"]["default"][0]), (&json!("ab12"), &json!("gfx90a")));
        assert!(!package.is_data());
    }
}
