//! Whether a library is installed, without loading it: some take a gigabyte and seconds to open,
//! and listing devices uses none.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The default folders of the dynamic loader on Linux distributions, which it searches last.
const DEFAULT_FOLDERS: [&str; 6] =
    ["/lib64", "/usr/lib64", "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib", "/usr/lib"];

/// Whether one of the files exists. Each is a path, or a bare name for the dynamic loader.
pub(crate) fn is_installed(files: impl IntoIterator<Item = PathBuf>) -> bool {
    let path = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> =
        std::env::split_paths(&path).filter(|folder| !folder.as_os_str().is_empty()).collect();
    folders.extend(DEFAULT_FOLDERS.map(PathBuf::from));
    let cache = std::fs::read("/etc/ld.so.cache").unwrap_or_default();
    files.into_iter().any(|file| is_found(&file, &folders, &cache))
}

fn is_found(file: &Path, folders: &[PathBuf], cache: &[u8]) -> bool {
    if file.components().count() > 1 {
        return file.is_file();
    }
    folders.iter().any(|folder| folder.join(file).is_file()) || cached(file, cache)
}

/// Whether the loader's cache lists a file with that name that still exists. The cache is treated
/// as a sequence of NUL-terminated paths.
fn cached(name: &Path, cache: &[u8]) -> bool {
    let paths = cache.split(|&byte| byte == 0).filter(|text| text.first() == Some(&b'/'));
    let mut paths = paths.map(|text| Path::new(OsStr::from_bytes(text)));
    paths.any(|path| path.file_name() == Some(name.as_os_str()) && path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_is_found_where_the_loader_would_find_it() {
        let folder = std::env::temp_dir().join(format!("isobit-installed-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("libisobit-test.so.1");
        std::fs::write(&file, "").unwrap();
        let name = Path::new("libisobit-test.so.1");
        assert!(is_found(&file, &[], b""), "a path");
        assert!(is_found(name, std::slice::from_ref(&folder), b""), "a folder of the search path");
        let cache =
            |path: &Path| [b"ld.so-1.7.0\0\x01\0libisobit-test.so.1\0", path.as_os_str().as_bytes(), b"\0"].concat();
        assert!(is_found(name, &[], &cache(&file)), "the loader's cache");
        assert!(
            !is_found(Path::new("libisobit-test.so"), std::slice::from_ref(&folder), &cache(&file)),
            "another name"
        );
        assert!(!is_found(name, &[], &cache(Path::new("/nowhere/libisobit-test.so.1"))), "a cache that is out of date");
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(!is_found(&file, &[], b""));
    }

    #[test]
    fn the_c_library_is_there() {
        assert!(is_installed([PathBuf::from("libc.so.6")]));
        assert!(!is_installed([PathBuf::from("libnothing-of-that-name.so")]));
    }
}
