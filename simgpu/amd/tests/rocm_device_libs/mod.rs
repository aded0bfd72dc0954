//! Debian's package of ROCm's device library, unpacked in cargo's target folder; nothing is
//! installed.

use std::path::{Path, PathBuf};
use std::process::Command;

const PACKAGE: &str = "rocm-device-libs";
const FOLDER: &str = "usr/lib/x86_64-linux-gnu/amdgcn/bitcode";

/// Returns the folder of the bitcode, and downloads the package if it is missing. If it can neither
/// be found nor downloaded, prints a message and returns `None`.
///
/// # Panics
/// If it is unavailable although `CI` is set, because its tests would then be skipped.
pub fn folder() -> Option<PathBuf> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("debian");
    let folder = target.join(FOLDER);
    let found = || folder.join("ockl.bc").exists();
    if found() {
        return Some(folder);
    }
    let why = match fetch(&target) {
        Ok(()) if found() => return Some(folder),
        Ok(()) => format!("Debian's {PACKAGE} has no {FOLDER}"),
        Err(why) => why,
    };
    let message = format!(
        "{why}. This test links kernels with Debian's {PACKAGE}; without apt, unpack that package to target/debian, so \
         that target/debian/{FOLDER} exists"
    );
    assert!(std::env::var_os("CI").is_none(), "{message}");
    eprintln!("skipped: {message}");
    None
}

fn fetch(target: &Path) -> Result<(), String> {
    std::fs::create_dir_all(target).expect("cargo's folder can be written");
    // Use a folder of its own, so that a process does not unpack a file that another process is
    // still downloading.
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

/// Returns clang's options that link the library. Its own option asks for a file for the exact
/// processor, and Debian's package is older than some; printing needs only those that say which
/// interface the code has, and how wide waves are.
pub fn options(folder: &Path, wide: bool) -> Vec<String> {
    let waves = if wide { "oclc_wavefrontsize64_on" } else { "oclc_wavefrontsize64_off" };
    let files = ["opencl", "ockl", "oclc_abi_version_500", waves];
    let file = |name: &str| folder.join(name).with_extension("bc").display().to_string();
    files
        .into_iter()
        .flat_map(|name| ["-Xclang".into(), "-mlink-builtin-bitcode".into(), "-Xclang".into(), file(name)])
        .collect()
}
