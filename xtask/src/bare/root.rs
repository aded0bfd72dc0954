//! A minimal Debian root: how it is made, and how commands run in it.

use super::host::{self, SUITE};
use crate::setup;
use crate::shell::{self, quietly, version};
use anyhow::{Context, Result, bail};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What there is beside what Debian calls required: a C linker, and the certificates of registries.
const INCLUDED: [&str; 3] = ["ca-certificates", "gcc", "libc6-dev"];

/// Where Rust lies in the root.
const RUST: &str = "/opt/rust";

/// The ordinary user of `--user`.
const USER: &str = "developer";

/// What of a toolchain is no documentation.
const TOOLCHAIN: [&str; 3] = ["bin", "lib", "libexec"];

/// A root. Its mounts are those of the processes that run in it, and go with them.
pub struct Root {
    folder: PathBuf,
    user: bool,
    network: bool,
}

impl Root {
    /// In a folder that must be empty, or not be there yet.
    pub fn new(folder: PathBuf, user: bool, network: bool) -> Result<Self> {
        if std::fs::read_dir(&folder).is_ok_and(|mut entries| entries.next().is_some()) {
            bail!("{} is not empty: remove it, or name another folder with --root", folder.display());
        }
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let folder = folder.canonicalize().with_context(|| format!("cannot find {}", folder.display()))?;
        Ok(Self { folder, user, network })
    }

    /// The folder of the user who runs commands, as the root calls it.
    fn home(&self) -> PathBuf {
        if self.user { Path::new("/home").join(USER) } else { "/root".into() }
    }

    /// A place in the root as this machine calls it.
    fn outside(&self, inside: impl AsRef<Path>) -> PathBuf {
        self.folder.join(inside.as_ref().strip_prefix("/").unwrap_or(inside.as_ref()))
    }

    /// Debian, with what this machine knows of mirrors and proxies.
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
        quietly(&mut make)
    }

    /// The toolchain that runs this, registries' settings, and the user.
    pub fn install_rust(&self) -> Result<()> {
        let toolchain = version("rustc", "--print=sysroot").context("rustc does not tell its folder")?;
        for program in ["cargo", "rustc", "cargo-clippy", "cargo-fmt"] {
            let path = Path::new(&toolchain).join("bin").join(program);
            if !path.exists() {
                bail!("{} is not there: `rustup component add clippy rustfmt`", path.display());
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
            let folder = to.parent().context("a file in the root lies in a folder")?;
            std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
            // Links to files of this machine are followed; what the root has already is replaced.
            let mut copy = Command::new("cp");
            copy.args(["--recursive", "--dereference", "--remove-destination", "--no-target-directory"]);
            quietly(copy.args([&from, &to]))?;
        }
        Ok(())
    }

    /// A fresh clone of what is committed.
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

    /// A command in the clone. What it mounts and starts goes with it, however it ends.
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

    /// Removes it. Only what is on its own file system, whatever may be mounted there.
    pub fn remove(self) -> Result<()> {
        quietly(Command::new("rm").args(["-rf", "--one-file-system"]).arg(&self.folder))
    }
}

/// Mounts what every Linux has, and starts what follows in the root.
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
