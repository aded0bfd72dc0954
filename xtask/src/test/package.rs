//! The packages of the workspace: their folders, their dependencies, and what their tests need.

use crate::setup::Need;
use anyhow::{Context, Result};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Built together with every selection, so that shared packages always have the same features and
/// nothing is compiled twice.
pub const FEATURES_CRATE: &str = "isobit-features";

/// Every driver is built, independent of this machine's devices.
const FEATURES: [&str; 21] = [
    "isobit/cuda",
    "isobit/rocm",
    "isobit-kernels/cuda",
    "isobit-kernels/rocm",
    "isobit-kernels/sm_75",
    "isobit-kernels/sm_80",
    "isobit-kernels/sm_90",
    "isobit-kernels/gfx90a",
    "isobit-kernels/gfx942",
    "isobit-kernels/gfx1030",
    "isobit-kernels/gfx1100",
    "isobit-kernels/gfx1201",
    "isobit-conformance/cli",
    "isobit-conformance/cuda",
    "isobit-conformance/rocm",
    "isobit-onnx/cuda",
    "isobit-onnx/rocm",
    "isobit-embed/cuda",
    "isobit-embed/rocm",
    "isobit-llama/cuda",
    "isobit-llama/rocm",
];

/// The packages that have features.
pub const ALL: &[&str] =
    &["isobit", "isobit-kernels", "isobit-conformance", "isobit-onnx", "isobit-embed", "isobit-llama"];

/// Returns the features of all packages, as `package/feature`.
pub fn all_features() -> &'static [&'static str] {
    &FEATURES
}

/// Returns the arguments that select the features of some packages, which must be part of the
/// build.
pub fn features_of(packages: &[&str]) -> Vec<String> {
    let of_these = |feature: &&&str| packages.iter().any(|package| feature.split('/').next() == Some(package));
    let chosen: Vec<&str> = FEATURES.iter().filter(of_these).copied().collect();
    if chosen.is_empty() { Vec::new() } else { vec!["--features".into(), chosen.join(",")] }
}

/// A package of the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its folder.
    pub folder: PathBuf,
    /// The names of its dependencies in the workspace.
    dependencies: BTreeSet<String>,
}

/// Returns every package of the workspace.
///
/// # Errors
/// Fails if a manifest cannot be read.
pub fn all(root: &Path) -> Result<Vec<Package>> {
    let read = |folder: &Path| {
        let manifest = folder.join("Cargo.toml");
        std::fs::read_to_string(&manifest).with_context(|| format!("cannot read {}", manifest.display()))
    };
    let members = members(&read(root)?);
    let folders = std::iter::once(root.to_path_buf()).chain(members.iter().map(|member| root.join(member)));
    folders.map(|folder| Ok(package(&read(&folder)?, folder))).collect()
}

/// Returns the folders of `workspace.members`, which are listed one per line.
fn members(manifest: &str) -> Vec<String> {
    let list = manifest.lines().skip_while(|line| line.trim() != "members = [").skip(1);
    list.take_while(|line| line.trim() != "]").filter_map(|line| Some(line.split('"').nth(1)?.to_string())).collect()
}

fn package(manifest: &str, folder: PathBuf) -> Package {
    let (mut name, mut dependencies, mut section) = (String::new(), BTreeSet::new(), "");
    for line in manifest.lines().map(str::trim) {
        if line.starts_with('[') {
            section = line;
        } else if let Some((key, value)) = line.split_once('=') {
            let key = key.trim();
            if section == "[package]" && key == "name" {
                name = value.trim().trim_matches('"').into();
            } else if section.ends_with("dependencies]") && !section.starts_with("[workspace") {
                dependencies.insert(key.trim_end_matches(".workspace").into());
            }
        }
    }
    Package { name, folder, dependencies }
}

/// What the tests of a package need before they are built and run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Needs {
    /// Programs of the system.
    pub tools: Vec<Need>,
    /// The simulated GPUs.
    pub simulators: bool,
    /// NVIDIA's run-time compiler.
    pub nvrtc: bool,
    /// Debian's rocRAND.
    pub rocrand: bool,
    /// The model of the example `embed`.
    pub model: bool,
}

impl Package {
    /// Returns the needs, derived from the dependencies; needs that no dependency implies are
    /// listed by package name.
    pub fn needs(&self, all: &[Package]) -> Needs {
        let stands_on = self.closure(all);
        let kernels = stands_on.contains("isobit-kernels") || self.name == "isobit-kernels";
        let simulators = self.dependencies.contains("isobit-simgpu-install");
        let nvrtc = simulators || self.name == "isobit-kernels";
        let model = self.name == "isobit-embed";
        let mut tools = if kernels || simulators { vec![Need::Clang, Need::Lld] } else { Vec::new() };
        if self.name == "isobit-simgpu-amd" {
            tools.push(Need::Objdump);
        }
        if nvrtc || model {
            tools.push(Need::Pip);
        }
        Needs { tools, simulators, nvrtc, rocrand: self.name == "isobit-simgpu-rocrand", model }
    }

    fn closure(&self, all: &[Package]) -> BTreeSet<String> {
        let (mut found, mut next) = (BTreeSet::new(), vec![self]);
        while let Some(package) = next.pop() {
            for name in &package.dependencies {
                if found.insert(name.clone()) {
                    next.extend(all.iter().find(|p| p.name == *name));
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::root;

    fn needs(name: &str) -> Needs {
        let all = all(root()).unwrap();
        let package = all.iter().find(|p| p.name == name).unwrap_or_else(|| panic!("there is no package {name}"));
        package.needs(&all)
    }

    #[test]
    fn the_host_needs_nothing() {
        for name in
            ["isobit-hal", "isobit-simgpu-core", "isobit-simgpu-math", "isobit-hip-sys", "xtask", FEATURES_CRATE]
        {
            assert_eq!(needs(name), Needs::default(), "{name}");
        }
    }

    #[test]
    fn what_stands_on_kernels_needs_their_compiler() {
        let compiler = [Need::Clang, Need::Lld];
        assert_eq!(needs("isobit-simgpu-nvidia"), Needs { tools: compiler.into(), ..Needs::default() });
        let amd = needs("isobit-simgpu-amd");
        assert!(amd.tools.contains(&Need::Objdump) && !amd.simulators && !amd.nvrtc, "{amd:?}");
        let kernels = needs("isobit-kernels");
        assert!(kernels.nvrtc && !kernels.simulators, "{kernels:?}");
        for name in ["isobit-cuda", "isobit-rocm", "isobit", "isobit-conformance", "isobit-llama"] {
            let found = needs(name);
            assert!(found.simulators && found.nvrtc && !found.model && !found.rocrand, "{name}: {found:?}");
            assert_eq!(found.tools, [Need::Clang, Need::Lld, Need::Pip], "{name}");
        }
        assert!(needs("isobit-simgpu-rocrand").rocrand);
        assert!(needs("isobit-embed").model);
    }

    #[test]
    fn every_package_with_a_listed_feature_is_there_and_listed() {
        let names: Vec<String> = all(root()).unwrap().into_iter().map(|p| p.name).collect();
        for feature in FEATURES {
            let package = feature.split('/').next().unwrap();
            assert!(names.iter().any(|name| name == package), "{feature}");
            assert!(ALL.contains(&package), "{feature}");
        }
        assert_eq!(features_of(ALL), ["--features".to_string(), FEATURES.join(",")]);
        assert_eq!(features_of(&["isobit-embed"]), ["--features", "isobit-embed/cuda,isobit-embed/rocm"]);
        assert!(features_of(&["isobit-hal"]).is_empty());
    }

    #[test]
    fn manifests_are_read() {
        assert_eq!(members("[workspace]\nmembers = [\n    \"hal\",\n    \"a/b\",\n]\n"), ["hal", "a/b"]);
        let text = "[package]\nname = \"p\"\n[features]\nx = []\n[dependencies]\na.workspace = true\nb = { path = \"..\" }\n\
                    [dev-dependencies]\nc = \"1\"\n";
        let read = package(text, "p".into());
        assert_eq!((read.name.as_str(), read.dependencies.len()), ("p", 3));
        assert!(["a", "b", "c"].iter().all(|name| read.dependencies.contains(*name)));
    }
}
