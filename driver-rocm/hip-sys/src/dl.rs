//! Finds a library of ROCm: the folders, the file names, and the error if it is missing.
//!
//! The search order is: a path given by the caller or by the library's environment variable, and
//! then nothing else; the folders `lib` and `lib64` of `ROCM_PATH`; the dynamic loader's own
//! search; `/opt/rocm/lib`. In each place every soname is tried, newest release first.

use std::ffi::OsString;
use std::fmt;
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};

/// A library to look for.
#[derive(Debug, Clone, Copy)]
pub struct LibrarySpec {
    /// The library's name, for messages.
    pub name: &'static str,
    /// The environment variable that names its file.
    pub variable: &'static str,
    /// The file names under which releases install it, newest first.
    pub sonames: &'static [&'static str],
}

/// A file that was tried, and why it did not open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// A path, or a bare name for the dynamic loader.
    pub file: PathBuf,
    /// The message of the loader.
    pub reason: String,
}

/// The reason why a library cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpenError {
    /// No file that was tried opens.
    NotFound {
        /// The library.
        name: &'static str,
        /// The environment variable that names its file.
        variable: &'static str,
        /// All attempts, in order.
        tried: Vec<Attempt>,
    },
    /// The library opens but lacks functions: it is too old, too new, or another library with the
    /// same name.
    MissingSymbols {
        /// The library.
        name: &'static str,
        /// The file that was opened.
        file: PathBuf,
        /// The missing functions.
        symbols: Vec<&'static str>,
    },
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::NotFound { name, variable, tried } => {
                write!(f, "{name} was not found; tried, in this order: ")?;
                for (i, attempt) in tried.iter().enumerate() {
                    let comma = if i == 0 { "" } else { ", " };
                    write!(f, "{comma}{}", attempt.file.display())?;
                    // For missing files the loader only says that they do not exist; any other
                    // message is worth showing.
                    if attempt.file.is_file() || !attempt.reason.contains("No such file") {
                        write!(f, " ({})", attempt.reason)?;
                    }
                }
                write!(f, ". Set {variable} to its file, or ROCM_PATH to the folder of ROCm")
            }
            OpenError::MissingSymbols { name, file, symbols } => {
                write!(
                    f,
                    "{name} ({}) is of an unknown release or broken: it lacks {}",
                    file.display(),
                    symbols.join(", ")
                )
            }
        }
    }
}

impl std::error::Error for OpenError {}

/// An open library. It is never closed: libraries of ROCm start threads, and unloading their code
/// would crash the process.
#[derive(Debug)]
pub struct Opened {
    library: ManuallyDrop<libloading::Library>,
    file: PathBuf,
}

impl LibrarySpec {
    /// Opens the library: only `path` if it is given, otherwise the first file that opens.
    ///
    /// # Errors
    /// Returns [`OpenError::NotFound`] with every attempt.
    pub fn open(&self, path: Option<&Path>) -> Result<Opened, OpenError> {
        self.open_first(path.map_or_else(|| self.places(), |path| vec![path.into()]))
    }

    /// Returns the files to try, in order: paths, and bare names for the dynamic loader.
    pub fn places(&self) -> Vec<PathBuf> {
        let named = std::env::var_os(self.variable).map(PathBuf::from);
        self.candidates(named, std::env::var_os("ROCM_PATH"))
    }

    fn candidates(&self, named: Option<PathBuf>, rocm_path: Option<OsString>) -> Vec<PathBuf> {
        if let Some(named) = named {
            return vec![named];
        }
        let rocm =
            rocm_path.into_iter().flat_map(|root| [Path::new(&root).join("lib"), Path::new(&root).join("lib64")]);
        let folders = rocm.chain([PathBuf::new(), PathBuf::from("/opt/rocm/lib")]);
        folders.flat_map(|folder| self.sonames.iter().map(move |soname| folder.join(soname))).collect()
    }

    fn open_first(&self, candidates: Vec<PathBuf>) -> Result<Opened, OpenError> {
        let mut tried = Vec::new();
        for file in candidates {
            // SAFETY: opening a vendor library runs its initialisers, which is expected when the
            // library is requested.
            match unsafe { libloading::Library::new(&file) } {
                Ok(library) => return Ok(Opened { library: ManuallyDrop::new(library), file }),
                Err(e) => tried.push(Attempt { file, reason: reason_of(&e) }),
            }
        }
        Err(OpenError::NotFound { name: self.name, variable: self.variable, tried })
    }
}

/// Returns the message of the loader, which libloading keeps as the source of its error.
fn reason_of(error: &libloading::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

impl Opened {
    /// Returns the opened file: a path, or the bare name that the dynamic loader found.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Returns the names that the library does not have.
    pub fn missing(&self, names: &[&'static str]) -> Vec<&'static str> {
        // SAFETY: the address is only checked for existence and not used.
        let has = |name: &str| unsafe { self.library.get::<*const ()>(name.as_bytes()) }.is_ok();
        names.iter().copied().filter(|name| !has(name)).collect()
    }

    /// Returns a function of the library, if it has it.
    ///
    /// # Safety
    /// `F` is a function pointer of the type that the vendor documents for the name.
    pub unsafe fn function<F: Copy>(&self, name: &str) -> Option<F> {
        // SAFETY: the caller promises the type; the library is never closed.
        unsafe { self.library.get::<F>(name.as_bytes()) }.ok().map(|symbol| *symbol)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPEC: LibrarySpec = LibrarySpec {
        name: "Nothing",
        variable: "ISOBIT_NOTHING_LIBRARY",
        sonames: &["libnothing.so.2", "libnothing.so"],
    };

    #[test]
    fn every_place_is_tried_with_every_name() {
        let tried = SPEC.candidates(None, Some("/r".into()));
        let tried: Vec<_> = tried.iter().map(|p| p.to_str().unwrap()).collect();
        assert_eq!(
            tried,
            [
                "/r/lib/libnothing.so.2",
                "/r/lib/libnothing.so",
                "/r/lib64/libnothing.so.2",
                "/r/lib64/libnothing.so",
                "libnothing.so.2",
                "libnothing.so",
                "/opt/rocm/lib/libnothing.so.2",
                "/opt/rocm/lib/libnothing.so",
            ]
        );
    }

    #[test]
    fn a_named_file_is_tried_alone() {
        assert_eq!(SPEC.candidates(Some("/x/y.so".into()), Some("/r".into())), [Path::new("/x/y.so")]);
        let error = SPEC.open(Some(Path::new("/x/y.so"))).unwrap_err();
        let OpenError::NotFound { tried, .. } = &error else { panic!("{error}") };
        assert_eq!(tried.len(), 1);
        assert!(
            error.to_string().contains("/x/y.so") && error.to_string().contains("ISOBIT_NOTHING_LIBRARY"),
            "{error}"
        );
    }
}
