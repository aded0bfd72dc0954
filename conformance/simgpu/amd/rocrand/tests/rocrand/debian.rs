//! Debian's package of rocRAND, unpacked under the folder that cargo builds in; nothing is installed. `cargo xtask` puts it at the same place.

use std::path::{Path, PathBuf};
use std::process::Command;

const PACKAGE: &str = "librocrand1";
const FILE: &str = "usr/lib/x86_64-linux-gnu/librocrand.so.1";

/// Debian's library, fetched where it is not there yet.
///
/// # Panics
/// Where it can neither be found nor fetched: what it is to show would else go unshown.
pub fn librocrand() -> &'static Path {
    static FOUND: std::sync::OnceLock<PathBuf> = std::sync::OnceLock::new();
    FOUND.get_or_init(|| {
        let target = isobit_simgpu_stage::folder().expect("cargo's folder").with_file_name("debian");
        let file = target.join(FILE);
        if !file.exists() {
            fetch(&target);
            assert!(file.exists(), "Debian's {PACKAGE} has no {FILE}");
        }
        file
    })
}

fn fetch(target: &Path) {
    // A folder of its own, so that several processes do not unpack what another one is still downloading.
    std::fs::create_dir_all(target).expect("cargo's folder can be written");
    let folder = tempfile::tempdir_in(target).expect("cargo's folder can be written");
    run(Command::new("apt-get").args(["download", "-qq", PACKAGE]).current_dir(&folder));
    let mut files =
        std::fs::read_dir(&folder).expect("a folder just made").filter_map(|entry| Some(entry.ok()?.path()));
    let archive = files.find(|f| f.extension().is_some_and(|e| e == "deb")).expect("apt-get leaves a .deb");
    run(Command::new("dpkg-deb").arg("-x").arg(archive).arg(target));
}

fn run(command: &mut Command) {
    let status = command.status();
    assert!(
        status.as_ref().is_ok_and(|s| s.success()),
        "{command:?} failed ({status:?}). This test runs Debian's {PACKAGE}; where there is no apt, unpack that package to \
         target/debian, so that target/debian/{FILE} is there"
    );
}
