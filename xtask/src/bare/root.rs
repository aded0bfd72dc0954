//! Makes a minimal Debian root and runs commands in it.

use super::host::{self, SUITE};
use crate::setup;
use crate::shell::{self, quietly, version};
use anyhow::{Context, Result, bail};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Packages beyond Debian's required ones: a C linker, and certificates for the registries.
const INCLUDED: [&str; 3] = ["ca-certificates", "gcc", "libc6-dev"];

/// The folder of Rust in the root.
const RUST: &str = "/opt/rust";

/// The ordinary user of `--user`.
const USER: &str = "developer";

/// The folders of a toolchain other than documentation.
const TOOLCHAIN: [&str; 3] = ["bin", "lib", "libexec"];

/// A root. Its mounts belong to the processes that run in it and disappear with them.
pub struct Root {
    folder: PathBuf,
    user: bool,
    network: bool,
}

impl Root {
    /// Creates a root in a folder that must be empty or not exist yet.
    pub fn new(folder: PathBuf, user: bool, network: bool) -> Result<Self> {
        if std::fs::read_dir(&folder).is_ok_and(|mut entries| entries.next().is_some()) {
            bail!("{} is not empty: remove it, or name another folder with --root", folder.display());
        }
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let folder = folder.canonicalize().with_context(|| format!("cannot find {}", folder.display()))?;
        Ok(Self { folder, user, network })
    }

    /// Returns the home folder of the user who runs commands, as a path in the root.
    fn home(&self) -> PathBuf {
        if self.user { Path::new("/home").join(USER) } else { "/root".into() }
    }

    /// Converts a path in the root to a path on this machine.
    fn outside(&self, inside: impl AsRef<Path>) -> PathBuf {
        self.folder.join(inside.as_ref().strip_prefix("/").unwrap_or(inside.as_ref()))
    }

    /// Installs Debian, with this machine's mirrors and proxies.
    pub fn install_debian(&self, with: &[String]) -> Result<()> {
        let included = INCLUDED.into_iter().map(String::from).chain(with.iter().cloned()).collect::<Vec<_>>().join(",");
        let sources = host::sources();
        if version("mmdebstrap", "--version").is_none() && version("debootstrap", "--version").is_none() {
            setup::install(&["mmdebstrap"])?;
        }
        let mut make;
        if version("mmdebstrap", "--version").is_some() {
            make = Command::new("mmdebstrap");
            make.args(["--quiet", "--mode=root", "--variant=minbase", &format!("--include={included}")]);
            make.args(host::apt_settings().iter().map(|file| format!("--aptopt={}", file.display())));
            make.arg(SUITE).arg(&self.folder).args(&sources);
        } else {
            make = Command::new("debootstrap");
            make.args(["--variant=minbase", &format!("--include={included}"), SUITE]).arg(&self.folder);
            make.args(sources.iter().find(|s| s.contains(&format!(" {SUITE} "))).and_then(|s| s.split(' ').nth(1)));
        }
        quietly(&mut make).map(drop)
    }

    /// Installs the toolchain of this process, copies the registry settings, and creates the user.
    pub fn install_rust(&self) -> Result<()> {
        let toolchain = version("rustc", "--print=sysroot").context("rustc does not print its sysroot")?;
        for program in ["cargo", "rustc", "cargo-clippy", "cargo-fmt"] {
            let path = Path::new(&toolchain).join("bin").join(program);
            if !path.exists() {
                bail!("{} is missing: run `rustup component add clippy rustfmt`", path.display());
            }
        }
        let there = self.outside(RUST);
        std::fs::create_dir_all(&there).with_context(|| format!("cannot make {}", there.display()))?;
        let parts = TOOLCHAIN.map(|part| Path::new(&toolchain).join(part)).into_iter().filter(|part| part.exists());
        quietly(Command::new("cp").args(["--archive", "--reflink=auto"]).args(parts).arg(&there))?;
        if self.user {
            quietly(Command::new("chroot").arg(&self.folder).args([
                "useradd",
                "--create-home",
                "--shell",
                "/bin/sh",
                USER,
            ]))?;
        }
        for (from, to) in host::files(&self.home()) {
            let to = self.outside(to);
            let folder = to.parent().context("a file in the root has a parent folder")?;
            std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
            // Follows links to files of this machine and replaces files that the root already has.
            let mut copy = Command::new("cp");
            copy.args(["--recursive", "--dereference", "--remove-destination", "--no-target-directory"]);
            quietly(copy.args([&from, &to]))?;
        }
        Ok(())
    }

    /// Clones the committed state.
    pub fn clone_head(&self) -> Result<()> {
        let from = format!("file://{}", shell::root().display());
        quietly(
            Command::new("git").args(["clone", "--quiet", "--depth", "1", &from]).arg(self.outside(self.checkout())),
        )?;
        if self.user {
            let owner = format!("{USER}:{USER}");
            let home = self.home();
            quietly(Command::new("chroot").arg(&self.folder).args(["chown", "-R", &owner]).arg(home))?;
        }
        Ok(())
    }

    fn checkout(&self) -> PathBuf {
        self.home().join("isobit")
    }

    /// Returns a command that runs in the clone. Its mounts and child processes end with it.
    pub fn command(&self, words: &[String]) -> Command {
        let mut command = Command::new("unshare");
        command.args(["--mount", "--pid", "--fork", "--kill-child"]);
        if !self.network {
            command.arg("--net");
        }
        command.args(["--", "sh", "-ec", MOUNT, "sh"]).arg(&self.folder);
        if self.user {
            command.arg(format!("--userspec={USER}:{USER}"));
        }
        command.arg(&self.folder).args(["/usr/bin/env", "-i"]).args(self.variables().into_iter().map(assigned));
        command.args(["sh", "-c", "cd \"$0\" && exec \"$@\""]).arg(self.checkout()).args(words);
        command
    }

    fn variables(&self) -> Vec<(OsString, OsString)> {
        let own = [
            ("PATH", format!("{RUST}/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")),
            ("HOME", self.home().display().to_string()),
            ("LANG", "C.UTF-8".into()),
        ];
        let own = own.map(|(name, value)| (name.into(), value.into()));
        own.into_iter().chain(host::variables(std::env::vars_os())).collect()
    }

    /// Removes the root, but nothing on other file systems that are mounted in it.
    pub fn remove(self) -> Result<()> {
        quietly(Command::new("rm").args(["-rf", "--one-file-system"]).arg(&self.folder)).map(drop)
    }
}

/// Mounts /proc, /sys and /dev, and starts the following command in the root.
const MOUNT: &str = "mount -t proc proc \"$1/proc\"; mount --rbind /sys \"$1/sys\"; mount --rbind /dev \"$1/dev\"; shift; exec chroot \"$@\"";

fn assigned((name, value): (OsString, OsString)) -> OsString {
    let mut assigned = name;
    assigned.push("=");
    assigned.push(value);
    assigned
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_with_something_in_it_is_refused() {
        let folder = std::env::temp_dir().join(format!("isobit-root-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("etc")).unwrap();
        let e = Root::new(folder.clone(), false, true).err().unwrap().to_string();
        assert!(e.contains("is not empty") && e.contains("--root"), "{e}");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_command_runs_in_the_clone_as_the_user_and_without_what_is_not_named() {
        let words = |root: &Root| {
            let command = root.command(&["cargo".into(), "xtask".into()]);
            command.get_args().map(|arg| arg.to_string_lossy().into_owned()).collect::<Vec<_>>()
        };
        let root = Root { folder: "/r".into(), user: true, network: false };
        let all = words(&root);
        assert!(all.contains(&"--net".into()) && all.contains(&"--userspec=developer:developer".into()), "{all:?}");
        assert!(all.contains(&"HOME=/home/developer".into()), "{all:?}");
        assert_eq!(all[all.len() - 3..], ["/home/developer/isobit", "cargo", "xtask"]);
        let all = words(&Root { folder: "/r".into(), user: false, network: true });
        assert!(!all.contains(&"--net".into()) && all.contains(&"HOME=/root".into()), "{all:?}");
        assert!(!all.iter().any(|arg| arg.starts_with("CARGO_MANIFEST_DIR=")), "{all:?}");
    }
}
