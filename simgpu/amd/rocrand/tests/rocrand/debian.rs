//! Debian's package of rocRAND, unpacked in cargo's target folder; nothing is installed. `cargo
//! xtask` puts it in the same place.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

const PACKAGE: &str = "librocrand1";
const FILE: &str = "usr/lib/x86_64-linux-gnu/librocrand.so.1";

/// Returns Debian's library, and downloads it if it is missing. If it can neither be found nor
/// downloaded, prints a message and returns `None`.
///
/// # Panics
/// If it is unavailable although `CI` is set, because its tests would then be skipped.
pub fn librocrand() -> Option<&'static Path> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    let found = FOUND.get_or_init(|| {
        let target = isobit_simgpu_install::folder().expect("cargo's folder").with_file_name("debian");
        let file = target.join(FILE);
        if file.exists() {
            return Some(file);
        }
        let why = match fetch(&target) {
            Ok(()) if file.exists() => return Some(file),
            Ok(()) => format!("Debian's {PACKAGE} has no {FILE}"),
            Err(why) => why,
        };
        let message = format!(
            "{why}. This test runs Debian's {PACKAGE}; without apt, unpack that package to target/debian, so that \
             target/debian/{FILE} exists"
        );
        assert!(std::env::var_os("CI").is_none(), "{message}");
        eprintln!("skipped: {message}");
        None
    });
    found.as_deref()
}

fn fetch(target: &Path) -> Result<(), String> {
    // Use a folder of its own, so that a process does not unpack a file that another process is
    // still downloading.
    std::fs::create_dir_all(target).expect("cargo's folder can be written");
    let folder = tempfile::tempdir_in(target).expect("cargo's folder can be written");
    run(Command::new("apt-get").args(["download", "-qq", PACKAGE]).current_dir(&folder))?;
    let mut files =
        std::fs::read_dir(&folder).expect("a folder just made").filter_map(|entry| Some(entry.ok()?.path()));
    let archive = files.find(|f| f.extension().is_some_and(|e| e == "deb")).ok_or("apt-get left no .deb")?;
    run(Command::new("dpkg-deb").arg("-x").arg(archive).arg(target))
}

fn run(command: &mut Command) -> Result<(), String> {
    let status = command.status();
    if status.as_ref().is_ok_and(|s| s.success()) { Ok(()) } else { Err(format!("{command:?} failed ({status:?})")) }
}
