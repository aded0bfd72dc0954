//! Debian packages: installs them if this user may, or unpacks them into the target folder.

use super::policy::{self, Facts, Outcome};
use crate::shell::{quietly, run, target_dir, version};
use anyhow::{Context, Result, bail};
use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

static YES: AtomicBool = AtomicBool::new(false);

/// Records whether `--yes` was given.
pub fn answer_yes(yes: bool) {
    YES.store(yes, Ordering::Relaxed);
}

/// Whether this runs in CI (`CI` is set), where nobody can answer and nothing may be skipped.
pub fn is_ci() -> bool {
    std::env::var_os("CI").is_some_and(|ci| !ci.is_empty() && ci != "false" && ci != "0")
}

/// Collects the facts about this machine and user.
pub fn facts() -> Facts {
    static FACTS: OnceLock<Facts> = OnceLock::new();
    *FACTS.get_or_init(|| {
        let free = || {
            let asked = Command::new("sudo").args(["-n", "true"]).stdin(Stdio::null()).stderr(Stdio::null()).status();
            asked.is_ok_and(|status| status.success())
        };
        let root = is_root();
        let sudo = !root && version("sudo", "--version").is_some();
        Facts {
            apt: version("apt-get", "--version").is_some(),
            root,
            agreed: YES.load(Ordering::Relaxed) || is_ci(),
            terminal: std::io::stdin().is_terminal() && std::io::stderr().is_terminal(),
            sudo,
            sudo_is_free: sudo && free(),
        }
    })
}

/// Whether the user is root.
pub fn is_root() -> bool {
    version("id", "-u").is_some_and(|id| id == "0")
}

/// Installs the packages with one command if the user may and agrees; otherwise prints the command.
/// Returns whether they were installed.
pub fn install(packages: &[&str]) -> Result<bool> {
    let facts = facts();
    let apt: &[&str] = match policy::decide(facts) {
        Outcome::Install => &["apt-get"],
        Outcome::InstallWithSudo => &["sudo", "-n", "apt-get"],
        Outcome::Ask if agrees(packages)? => &["sudo", "apt-get"],
        Outcome::Ask | Outcome::Tell => {
            eprintln!("note: {}", policy::told(facts, packages));
            return Ok(false);
        }
    };
    let mut update = apt_get(apt);
    // The existing package lists may suffice if new ones cannot be downloaded.
    if let Err(e) = run(update.args(["update", "-qq"])) {
        eprintln!("note: {e:#}");
    }
    run(apt_get(apt).args(["install", "-y", "-qq", "--no-install-recommends"]).args(packages))?;
    Ok(true)
}

fn apt_get(words: &[&str]) -> Command {
    let mut command = Command::new(words[0]);
    // `sudo` passes variables on only if configured to; `-qq` with `-y` asks only questions that
    // have a default.
    command.args(&words[1..]).env("DEBIAN_FRONTEND", "noninteractive").stdout(Stdio::null());
    if words.contains(&"-n") || words.len() == 1 {
        command.stdin(Stdio::null());
    }
    command
}

fn agrees(packages: &[&str]) -> Result<bool> {
    eprint!("Install {} with sudo apt-get? [y/N] ", packages.join(" "));
    std::io::stderr().flush().context("the terminal")?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer).context("the terminal")?;
    Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

/// A file of a Debian package that is unpacked into the target folder instead of installed. This
/// avoids its dependencies: `librocrand1` would install the real HIP.
#[derive(Debug, Clone, Copy)]
pub struct Unpacked {
    /// The package.
    pub package: &'static str,
    /// The file in it.
    pub file: &'static str,
}

/// Debian's headers of HIP.
pub const HIP_HEADERS: Unpacked = Unpacked { package: "libamdhip64-dev", file: "usr/include/hip/hip_runtime_api.h" };

/// Debian's headers of rocRAND.
pub const ROCRAND_HEADERS: Unpacked = Unpacked { package: "librocrand-dev", file: "usr/include/rocrand/rocrand.h" };

/// Debian's build of rocRAND, a real library of ROCm that runs on the simulated GPU.
pub const ROCRAND: Unpacked = Unpacked { package: "librocrand1", file: "usr/lib/x86_64-linux-gnu/librocrand.so.1" };

/// Debian's build of rocSPARSE, another one.
pub const ROCSPARSE: Unpacked =
    Unpacked { package: "librocsparse0", file: "usr/lib/x86_64-linux-gnu/librocsparse.so.0" };

impl Unpacked {
    /// Returns the path of the file after unpacking.
    pub fn path(self) -> PathBuf {
        target_dir().join("debian").join(self.file)
    }

    /// Returns the file. Downloads and unpacks the package if necessary.
    ///
    /// # Errors
    /// Returns an error if the package cannot be downloaded or unpacked, or lacks the file.
    pub fn get(self) -> Result<PathBuf> {
        let path = self.path();
        if path.exists() {
            return Ok(path);
        }
        if !facts().apt {
            bail!("Debian's package {} is needed, but this machine has no apt-get", self.package);
        }
        self.unpack().with_context(|| format!("Debian's package {}", self.package))?;
        if !path.exists() {
            bail!("the Debian package {} has no {}", self.package, self.file);
        }
        Ok(path)
    }

    fn unpack(self) -> Result<()> {
        let folder = target_dir().join("debian");
        // A separate folder per process, so that no other process unpacks a file that is still
        // being downloaded.
        let own = folder.join(format!("{}.{}", self.package, std::process::id()));
        std::fs::create_dir_all(&own).with_context(|| format!("cannot make {}", own.display()))?;
        let download = || quietly(Command::new("apt-get").args(["download", "-qq", self.package]).current_dir(&own));
        // Package lists may be missing or old, as in a container: download them and try again.
        download().or_else(|e| {
            let apt: &[&str] = match policy::decide(facts()) {
                Outcome::Install => &["apt-get"],
                Outcome::InstallWithSudo => &["sudo", "-n", "apt-get"],
                Outcome::Ask | Outcome::Tell => return Err(e),
            };
            quietly(apt_get(apt).args(["update", "-qq"]))?;
            download()
        })?;
        let mut files = std::fs::read_dir(&own)?.filter_map(|entry| Some(entry.ok()?.path()));
        let archive =
            files.find(|file| file.extension().is_some_and(|e| e == "deb")).context("apt-get left no .deb")?;
        quietly(Command::new("dpkg-deb").arg("-x").args([&archive, &folder]))?;
        std::fs::remove_dir_all(&own).with_context(|| format!("cannot remove {}", own.display()))
    }
}
