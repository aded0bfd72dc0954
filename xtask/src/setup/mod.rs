//! Finds or installs the tools that tasks need besides Rust. If a tool is not available, a note is
//! printed and the task continues without it.

mod apt;
pub mod policy;
mod pypi;
pub mod tool;

pub use apt::{HIP_HEADERS, ROCRAND, ROCRAND_HEADERS, ROCSPARSE, answer_yes, install, is_ci, is_root};
pub use pypi::{MINILM, ML_DTYPES, NUMPY, NVRTC, ONNX, PROTOBUF, PTXAS, SCIPY, TYPING_EXTENSIONS, Wheel};

use crate::shell::{self, cargo, quietly};
use anyhow::{Context, Result, bail};
use std::path::PathBuf;
use std::thread::JoinHandle;
use tool::Asked;

/// The variable that names NVRTC for simulated NVIDIA GPUs, which do not replace it.
pub const NVRTC_VARIABLE: &str = "ISOBIT_NVRTC";

/// The variable that names the disassembler with which the decoder of the simulated AMD GPU is
/// compared.
const OBJDUMP_VARIABLE: &str = "ISOBIT_LLVM_OBJDUMP";

/// A program or library of the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Compiles the kernels.
    Clang,
    /// Links those for AMD GPUs.
    Lld,
    /// Disassembles them, for the tests of the simulated AMD GPU's decoder.
    Objdump,
    /// Reads C headers.
    Libclang,
    /// Downloads packages from PyPI.
    Pip,
    /// Watches the memory and the threads of a program.
    Valgrind,
}

impl Need {
    /// All tools, in the order in which the doctor shows them.
    pub const ALL: [Self; 6] = [Self::Clang, Self::Lld, Self::Objdump, Self::Libclang, Self::Pip, Self::Valgrind];

    /// Returns its usual name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Clang => "clang",
            Self::Lld => "ld.lld",
            Self::Objdump => "llvm-objdump",
            Self::Libclang => "libclang",
            Self::Pip => "python3, pip",
            Self::Valgrind => "valgrind",
        }
    }

    /// Returns the Debian package that contains it.
    pub fn package(self) -> &'static str {
        match self {
            Self::Clang => "clang-19",
            Self::Lld => "lld-19",
            Self::Objdump => "llvm-19",
            Self::Libclang => "libclang1-19",
            Self::Pip => "python3-pip",
            Self::Valgrind => "valgrind",
        }
    }

    /// Returns the consequence of not having it.
    pub fn without(self) -> &'static str {
        match self {
            Self::Clang => {
                "kernel sources are packed uncompiled: devices compile what they use, and no AMD GPU can be simulated"
            }
            Self::Lld => "kernels for AMD GPUs are not compiled, and none can be simulated",
            Self::Objdump => "the decoder of the simulated AMD GPU is not compared with LLVM's disassembler",
            Self::Libclang => "the ROCm bindings are not compared with the headers",
            Self::Pip => "NVIDIA's NVRTC cannot be downloaded, so a simulated NVIDIA GPU cannot compile user kernels",
            Self::Valgrind => "memcheck and helgrind do not watch the tests of memory, streams and graphs",
        }
    }

    /// Looks for a usable version on this machine.
    pub fn ask(self) -> Asked {
        match self {
            Self::Clang => tool::clang(),
            Self::Lld => match tool::clang() {
                Ok(clang) => tool::lld(&clang.program),
                Err(_) => Err("there is no clang whose output it could link".into()),
            },
            Self::Objdump => tool::objdump(),
            Self::Libclang => tool::libclang(),
            Self::Pip => tool::pip(),
            Self::Valgrind => tool::valgrind(),
        }
    }
}

/// Returns the packages of the missing tools. If clang is missing, this includes the linker, whose
/// check needs clang.
fn packages(missing: &[Need], needs: &[Need]) -> Vec<&'static str> {
    let wanted = |need: &&Need| {
        missing.contains(need) || **need == Need::Lld && needs.contains(&Need::Lld) && missing.contains(&Need::Clang)
    };
    needs.iter().filter(wanted).map(|need| need.package()).collect()
}

/// Finds the needed tools, installs missing ones if this user may, and sets variables for cargo
/// accordingly. Returns the tools that are still missing.
///
/// # Errors
/// Fails if a compiler named by the user is not usable, or if apt-get fails in CI. A tool that is
/// not available is not an error.
pub fn ensure(needs: &[Need]) -> Result<Vec<Need>> {
    let chosen = std::env::var_os("ISOBIT_CLANG").is_some_and(|named| named == "none");
    let missing = |needs: &[Need]| -> Vec<Need> {
        needs.iter().copied().filter(|need| !(chosen && need.compiles()) && need.ask().is_err()).collect()
    };
    if needs.contains(&Need::Clang)
        && let (Some(named), Err(why)) = (std::env::var_os("ISOBIT_CLANG").filter(|_| !chosen), tool::clang())
    {
        bail!("ISOBIT_CLANG={} is not usable: {why}", named.display());
    }
    let mut lacking = missing(needs);
    if !lacking.is_empty() {
        for need in &lacking {
            if let Err(why) = need.ask() {
                eprintln!("{}: {why}", need.name());
            }
        }
        match install(&packages(&lacking, needs)) {
            Ok(false) => {}
            Ok(true) => lacking = missing(needs),
            Err(e) if is_ci() => return Err(e).context("required packages could not be installed"),
            Err(e) => eprintln!("note: {e:#}"),
        }
    }
    for need in &lacking {
        eprintln!("note: without {}, {}", need.name(), need.without());
    }
    tell(needs, &lacking);
    // No kernels are compiled, even if that was the user's choice.
    lacking.extend(needs.iter().filter(|need| chosen && need.compiles()));
    Ok(lacking)
}

impl Need {
    fn compiles(self) -> bool {
        matches!(self, Self::Clang | Self::Lld)
    }
}

/// Sets variables for every later cargo that name compiler and disassembler, if cargo would not
/// find them itself.
fn tell(needs: &[Need], lacking: &[Need]) {
    if needs.contains(&Need::Clang) && std::env::var_os("ISOBIT_CLANG").is_none() {
        let found = tool::clang().map(|tool| tool.program).unwrap_or_else(|_| "none".into());
        if tool::clang_of_a_build().is_some_and(|taken| taken != found) {
            shell::tell("ISOBIT_CLANG", found);
        }
    }
    if lacking.contains(&Need::Lld) && !lacking.contains(&Need::Clang) {
        shell::tell("ISOBIT_ROCM_ARCHS", "");
    }
    if needs.contains(&Need::Objdump)
        && let Ok(objdump) = tool::objdump()
    {
        shell::tell(OBJDUMP_VARIABLE, objdump.program);
    }
}

/// Makes the compilers of the kernels available.
pub fn ensure_clang() -> Result<()> {
    ensure(&[Need::Clang, Need::Lld]).map(drop)
}

/// Makes libclang available.
pub fn ensure_libclang() -> Result<()> {
    ensure(&[Need::Libclang]).map(drop)
}

/// Returns NVIDIA's assembler, which reports registers and spills without a GPU. Prints a note if
/// it is not available.
pub fn ensure_ptxas() -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt as _;
    let found = ensure(&[Need::Pip]).and_then(|_| PTXAS.get());
    let usable = found.and_then(|ptxas| {
        std::fs::set_permissions(&ptxas, std::fs::Permissions::from_mode(0o755))?;
        Ok(ptxas)
    });
    usable.map_err(|e| eprintln!("note: {e:#}")).ok()
}

/// A download in the background.
pub struct Fetched<T>(JoinHandle<Result<T>>);

impl<T: Send + 'static> Fetched<T> {
    /// Starts the download.
    pub fn start(get: impl FnOnce() -> Result<T> + Send + 'static) -> Self {
        Self(std::thread::spawn(get))
    }

    /// Waits for the download.
    pub fn wait(self) -> Result<T> {
        self.0.join().expect("fetching does not panic")
    }
}

/// Downloads the sources of every crate, so that an unreachable registry is reported before
/// anything is built.
pub fn fetch_crates() -> Result<()> {
    let host = shell::version("rustc", "--print=host-tuple");
    let mut fetch = cargo();
    fetch.arg("fetch");
    if let Some(host) = host {
        fetch.args(["--target", &host]);
    }
    quietly(&mut fetch).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tool::LLVM;

    #[test]
    fn packages_are_those_of_what_is_missing_in_one_list() {
        let needs = [Need::Clang, Need::Lld, Need::Objdump, Need::Pip];
        assert_eq!(packages(&[Need::Objdump], &needs), ["llvm-19"]);
        assert_eq!(packages(&[Need::Clang, Need::Lld, Need::Pip], &needs), ["clang-19", "lld-19", "python3-pip"]);
        // A linker may exist, but with the version of an older clang.
        assert_eq!(packages(&[Need::Clang], &needs), ["clang-19", "lld-19"]);
        assert_eq!(packages(&[Need::Clang], &[Need::Clang]), ["clang-19"]);
        assert!(packages(&[], &needs).is_empty());
    }

    #[test]
    fn the_version_that_is_installed_is_the_oldest_that_serves() {
        for need in [Need::Clang, Need::Lld, Need::Objdump, Need::Libclang] {
            assert!(need.package().ends_with(&format!("-{LLVM}")), "{need:?}");
        }
    }
}
