//! What tasks need beside Rust: found in a version that serves, or installed. What cannot be had is
//! told, and the task goes on without.

mod apt;
pub mod policy;
mod pypi;
pub mod tool;

pub use apt::{HIP_HEADERS, ROCRAND, ROCRAND_HEADERS, answer_yes, install, is_ci, is_root};
pub use pypi::{MINILM, NVRTC, PTXAS};

use crate::shell::{self, cargo, quietly};
use anyhow::{Context, Result, bail};
use std::path::PathBuf;
use std::thread::JoinHandle;
use tool::Asked;

/// Names NVIDIA's run-time compiler for simulated NVIDIA GPUs, which have no stand-in for it.
pub const NVRTC_VARIABLE: &str = "ISOBIT_NVRTC";

/// Names the disassembler that the decoder of the simulated AMD GPU is held to.
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
    /// Fetches packages of PyPI.
    Pip,
}

impl Need {
    /// Every one, as the doctor tells of them.
    pub const ALL: [Self; 5] = [Self::Clang, Self::Lld, Self::Objdump, Self::Libclang, Self::Pip];

    /// How people call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Clang => "clang",
            Self::Lld => "ld.lld",
            Self::Objdump => "llvm-objdump",
            Self::Libclang => "libclang",
            Self::Pip => "python3, pip",
        }
    }

    /// The Debian package that brings it.
    pub fn package(self) -> &'static str {
        match self {
            Self::Clang => "clang-19",
            Self::Lld => "lld-19",
            Self::Objdump => "llvm-19",
            Self::Libclang => "libclang1-19",
            Self::Pip => "python3-pip",
        }
    }

    /// What comes of it where it cannot be had.
    pub fn without(self) -> &'static str {
        match self {
            Self::Clang => {
                "kernel sources are packed uncompiled: devices compile what they use, and no AMD GPU can be simulated"
            }
            Self::Lld => "kernels for AMD GPUs are not compiled, and none can be simulated",
            Self::Objdump => "the decoder of the simulated AMD GPU is not held to LLVM's disassembler",
            Self::Libclang => "the bindings of ROCm are not compared with its headers",
            Self::Pip => {
                "NVIDIA's NVRTC cannot be fetched, so that a simulated NVIDIA GPU compiles no kernels of a user's own"
            }
        }
    }

    /// Whether this machine has one that serves.
    pub fn ask(self) -> Asked {
        match self {
            Self::Clang => tool::clang(),
            Self::Lld => match tool::clang() {
                Ok(clang) => tool::lld(&clang.program),
                Err(_) => Err("without a clang there is nothing to link".into()),
            },
            Self::Objdump => tool::objdump(),
            Self::Libclang => tool::libclang(),
            Self::Pip => tool::pip(),
        }
    }
}

/// Packages that bring what is missing; the linker's as well as its compiler's, which is missing
/// first.
fn packages(missing: &[Need], needs: &[Need]) -> Vec<&'static str> {
    let wanted = |need: &&Need| {
        missing.contains(need) || **need == Need::Lld && needs.contains(&Need::Lld) && missing.contains(&Need::Clang)
    };
    needs.iter().filter(wanted).map(|need| need.package()).collect()
}

/// Finds what is needed, installs what is missing where this user may, and tells cargo how it came
/// out. Gives what is still missing.
///
/// # Errors
/// A compiler that was named does not serve; in CI, apt-get fails. What is merely not to be had is
/// no error.
pub fn ensure(needs: &[Need]) -> Result<Vec<Need>> {
    let chosen = std::env::var_os("ISOBIT_CLANG").is_some_and(|named| named == "none");
    let missing = |needs: &[Need]| -> Vec<Need> {
        needs.iter().copied().filter(|need| !(chosen && need.compiles()) && need.ask().is_err()).collect()
    };
    if needs.contains(&Need::Clang)
        && let (Some(named), Err(why)) = (std::env::var_os("ISOBIT_CLANG").filter(|_| !chosen), tool::clang())
    {
        bail!("ISOBIT_CLANG={} does not serve: {why}", named.display());
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
            Err(e) if is_ci() => return Err(e).context("packages that are needed could not be installed"),
            Err(e) => eprintln!("note: {e:#}"),
        }
    }
    for need in &lacking {
        eprintln!("note: without {} {}", need.name(), need.without());
    }
    tell(needs, &lacking);
    // Chosen or not, no kernels are compiled.
    lacking.extend(needs.iter().filter(|need| chosen && need.compiles()));
    Ok(lacking)
}

impl Need {
    fn compiles(self) -> bool {
        matches!(self, Self::Clang | Self::Lld)
    }
}

/// Tells every later cargo which compiler and disassembler serve, where it would not find them
/// itself.
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

/// What compiles the kernels.
pub fn ensure_clang() -> Result<()> {
    ensure(&[Need::Clang, Need::Lld]).map(drop)
}

/// What reads headers.
pub fn ensure_libclang() -> Result<()> {
    ensure(&[Need::Libclang]).map(drop)
}

/// NVIDIA's assembler, which tells registers and spills without a GPU; where it cannot be had, that
/// is told.
pub fn ensure_ptxas() -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt as _;
    let found = ensure(&[Need::Pip]).and_then(|_| PTXAS.get());
    let usable = found.and_then(|ptxas| {
        std::fs::set_permissions(&ptxas, std::fs::Permissions::from_mode(0o755))?;
        Ok(ptxas)
    });
    usable.map_err(|e| eprintln!("note: {e:#}")).ok()
}

/// Something that is fetched while other work goes on.
pub struct Fetched<T>(JoinHandle<Result<T>>);

impl<T: Send + 'static> Fetched<T> {
    /// Starts.
    pub fn start(get: impl FnOnce() -> Result<T> + Send + 'static) -> Self {
        Self(std::thread::spawn(get))
    }

    /// Waits for it.
    pub fn wait(self) -> Result<T> {
        self.0.join().expect("fetching does not panic")
    }
}

/// Fetches the sources of every crate, so that a registry which cannot be reached is told before
/// anything is built.
pub fn fetch_crates() -> Result<()> {
    let host = shell::version("rustc", "--print=host-tuple");
    let mut fetch = cargo();
    fetch.arg("fetch");
    if let Some(host) = host {
        fetch.args(["--target", &host]);
    }
    quietly(&mut fetch)
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
        // A linker may be there, and of the version of an older clang.
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
