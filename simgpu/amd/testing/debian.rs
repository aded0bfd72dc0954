//! A file of a Debian package, unpacked in cargo's target folder; nothing is installed. `cargo
//! xtask` puts packages in the same place. The test programs that need one include this file.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the path of a file of a package, and downloads the package if it is missing. If it can
/// neither be found nor downloaded, prints a message and returns `None`.
///
/// # Panics
/// If it is unavailable although `CI` is set, because its tests would then be skipped.
pub fn file(package: &str, path: &str) -> Option<PathBuf> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("debian");
    let file = target.join(path);
    if file.exists() {
        return Some(file);
    }
    let why = match fetch(package, &target) {
        Ok(()) if file.exists() => return Some(file),
        Ok(()) => format!("Debian's {package} has no {path}"),
        Err(why) => why,
    };
    let message = format!(
        "{why}. This test uses Debian's {package}; without apt, unpack that package to target/debian, so that \
         target/debian/{path} exists"
    );
    assert!(std::env::var_os("CI").is_none(), "{message}");
    eprintln!("skipped: {message}");
    None
}

fn fetch(package: &str, target: &Path) -> Result<(), String> {
    std::fs::create_dir_all(target).expect("cargo's folder can be written");
    // Use a folder of its own, so that a process does not unpack a file that another process is
    // still downloading.
    let folder = tempfile::tempdir_in(target).expect("cargo's folder can be written");
    run(Command::new("apt-get").args(["download", "-qq", package]).current_dir(&folder))?;
    let mut files =
        std::fs::read_dir(&folder).expect("a folder just made").filter_map(|entry| Some(entry.ok()?.path()));
    let archive = files.find(|f| f.extension().is_some_and(|e| e == "deb")).ok_or("apt-get left no .deb")?;
    run(Command::new("dpkg-deb").arg("-x").arg(archive).arg(target))
}

fn run(command: &mut Command) -> Result<(), String> {
    let status = command.status();
    if status.as_ref().is_ok_and(|s| s.success()) { Ok(()) } else { Err(format!("{command:?} failed ({status:?})")) }
}
