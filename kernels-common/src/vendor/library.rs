//! Vendor libraries: looked for once per process, optional, and reported with installation advice
//! if missing.

use crate::vendor::library_probe::is_installed;
use isobit_hal::{Error, ErrorKind, Result};
use std::path::PathBuf;
use std::sync::OnceLock;

/// The result of looking for a library, cached for the life of the process.
#[derive(Debug)]
pub struct Library<T> {
    install: &'static str,
    found: OnceLock<Result<T, String>>,
}

impl<T: Copy> Library<T> {
    /// Creates an entry for a library that has not been looked for yet. `install` says how to
    /// install it.
    pub const fn new(install: &'static str) -> Self {
        Self { install, found: OnceLock::new() }
    }

    /// Returns the library. Calls `look` the first time.
    ///
    /// # Errors
    /// Returns `LibraryUnavailable` with the error of `look` and the installation advice.
    pub fn require(&self, look: impl FnOnce() -> Result<T, String>) -> Result<T> {
        let found = self.found.get_or_init(look);
        found.clone().map_err(|why| Error::new(ErrorKind::LibraryUnavailable, format!("{why}; {}", self.install)))
    }

    /// Whether the library is available: by an earlier search, otherwise by whether one of its
    /// files exists, otherwise by opening it.
    pub fn is_there(&self, files: impl IntoIterator<Item = PathBuf>, look: impl FnOnce() -> Result<T, String>) -> bool {
        match self.found.get() {
            Some(found) => found.is_ok(),
            // Opening is the last resort: it may take long if the library exists, and is fast if it
            // does not.
            None => is_installed(files) || self.require(look).is_ok(),
        }
    }
}

/// Returns the path of a loaded library of this process whose file name starts with `prefix`.
pub fn loaded_file(prefix: &str) -> Option<String> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    maps.lines()
        .filter_map(|line| line.find('/').map(|at| &line[at..]))
        .find(|path| path.rsplit('/').next().is_some_and(|file| file.starts_with(prefix)))
        .map(str::to_string)
}

/// The function that the libraries of the simulated GPUs have, and no vendor's.
const OF_SIMULATOR: &[u8] = b"isobit_sim_report\0";

/// Whether the loaded library of a driver is that of a simulated GPU. `file` is its path, as
/// [`loaded_file`] returns it.
pub fn is_simulator(file: Option<&str>) -> bool {
    let Some(file) = file else { return false };
    #[cfg(unix)]
    let library = {
        use libloading::os::unix::{Library, RTLD_NOW};
        /// Opens only a library that is already loaded; the value is that of the GNU C library.
        const RTLD_NOLOAD: std::ffi::c_int = 4;
        // SAFETY: with RTLD_NOLOAD nothing is loaded, so no code of a library runs.
        unsafe { Library::open(Some(file), RTLD_NOW | RTLD_NOLOAD) }
    };
    #[cfg(unix)]
    // SAFETY: the symbol is only looked for, never used.
    return library.is_ok_and(|library| unsafe { library.get::<*const ()>(OF_SIMULATOR) }.is_ok());
    #[cfg(not(unix))]
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_is_looked_for_once_and_its_absence_says_what_to_do() {
        let absent: Library<u32> = Library::new("install it");
        for _ in 0..2 {
            let error = absent.require(|| Err("libx is not there".into())).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::LibraryUnavailable);
            assert_eq!(error.message(), "libx is not there; install it");
        }
        assert!(absent.require(|| Ok(1)).is_err(), "found the first time is found for ever");
    }

    #[test]
    fn a_library_of_the_system_is_no_simulator() {
        assert!(!is_simulator(None) && !is_simulator(Some("/nowhere/libcuda.so.1")));
        assert!(!is_simulator(loaded_file("libc.so").as_deref()));
    }

    #[test]
    fn a_library_whose_file_is_there_is_not_opened_to_say_so() {
        let library: Library<u32> = Library::new("install it");
        let file = std::env::current_exe().unwrap();
        assert!(library.is_there([file.clone()], || unreachable!("its file is there")));
        assert!(library.require(|| Err("broken".into())).is_err());
        assert!(
            !library.is_there([file], || unreachable!("it was looked for")),
            "what was found out goes before the file"
        );
        let hidden: Library<u32> = Library::new("install it");
        assert!(hidden.is_there([], || Ok(1)), "where the loader alone finds it");
    }

    #[test]
    fn the_file_of_a_loaded_library_is_found() {
        let libc = loaded_file("libc.so").expect("a Rust test links libc");
        assert!(std::path::Path::new(&libc).is_file(), "{libc}");
        assert_eq!(loaded_file("libnothing-of-that-name"), None);
    }
}
