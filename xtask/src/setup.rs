//! What the build needs beside Rust, found or installed.

use crate::shell::{run, target_dir, version};
use anyhow::Result;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The oldest clang that compiles the tree, and the one that is installed where there is none.
pub const CLANG: u32 = 19;

/// The newest clang on the path that compiles the tree, with its version line.
pub fn find_clang() -> Option<(String, String)> {
    let numbered = (CLANG..=30).rev().map(|v| format!("clang-{v}"));
    numbered.chain(["clang".to_string()]).find_map(|name| {
        let line = version(&name, "--version")?;
        let major: u32 = line.split("version ").nth(1)?.split('.').next()?.parse().ok()?;
        (major >= CLANG).then_some((name, line))
    })
}

/// The linker of AMD code objects.
pub fn find_lld() -> Option<(String, String)> {
    let numbered = (CLANG..=30).rev().map(|v| format!("ld.lld-{v}"));
    numbered.chain(["ld.lld".to_string()]).find_map(|name| Some((name.clone(), version(&name, "--version")?)))
}

/// Installs clang and lld where they are missing and this user may; else says what to run, and goes on: the build embeds the
/// sources then, and devices compile them.
pub fn ensure_clang() -> Result<()> {
    if std::env::var_os("ISOBIT_CLANG").is_some() || find_clang().is_some() && find_lld().is_some() {
        return Ok(());
    }
    let packages = [format!("clang-{CLANG}"), format!("lld-{CLANG}")];
    let Some(apt) = apt() else {
        eprintln!(
            "note: clang {CLANG} or newer and lld are not installed, and this task may not install them. Run\n    \
             sudo apt-get install {}\nor your system's equivalent. Without them the kernels are compiled by each device when first used.",
            packages.join(" ")
        );
        return Ok(());
    };
    let get = || {
        let mut command = Command::new(apt[0]);
        command.args(&apt[1..]).env("DEBIAN_FRONTEND", "noninteractive").stdout(Stdio::null()).stdin(Stdio::null());
        command
    };
    run(get().args(["update", "-qq"]))?;
    run(get().args(["install", "-y", "-qq", "--no-install-recommends"]).args(&packages))
}

/// How to call apt-get, where there is one and this user may.
fn apt() -> Option<Vec<&'static str>> {
    version("apt-get", "--version")?;
    if version("id", "-u").is_some_and(|id| id == "0") {
        return Some(vec!["apt-get"]);
    }
    let passwordless = Command::new("sudo").args(["-n", "true"]).stderr(Stdio::null()).status().ok()?.success();
    passwordless.then(|| vec!["sudo", "-n", "apt-get"])
}

/// NVIDIA's own run-time compiler from PyPI, in the target folder: it compiles without a GPU. `None` where there is no Python to get it with.
pub fn ensure_nvrtc() -> Option<PathBuf> {
    python_library("nvidia-cuda-nvrtc", "nvidia/cu13/lib/libnvrtc.so.13")
}

/// NVIDIA's assembler from PyPI, which tells registers and spills without a GPU.
pub fn ensure_ptxas() -> Option<PathBuf> {
    let found = python_library("nvidia-cuda-nvcc", "nvidia/cu13/bin/ptxas")?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(&found, std::fs::Permissions::from_mode(0o755)).ok()?;
    }
    Some(found)
}

/// A file of a PyPI package of CUDA 13, installed once into the target folder.
fn python_library(package: &str, file: &str) -> Option<PathBuf> {
    let folder = target_dir().join("python").join(package);
    let found = folder.join(file);
    if found.exists() {
        return Some(found);
    }
    let requirement = format!("{package}>=13,<14");
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--target"]);
    pip.arg(&folder).arg(requirement).env("PIP_ROOT_USER_ACTION", "ignore");
    match run(&mut pip) {
        Ok(()) if found.exists() => Some(found),
        Ok(()) => {
            eprintln!("note: the PyPI package {package} has no {file}");
            None
        }
        Err(e) => {
            eprintln!("note: {e:#}; what needs {package} is left out");
            None
        }
    }
}
