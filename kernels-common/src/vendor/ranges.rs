//! Ranges of host time for the vendors' profilers, one per operation: NVTX for Nsight Systems,
//! ROCTX for rocprof. The library is opened only if ranges are requested.

use crate::runtime::RangeLibrary;
use isobit_hal::{Error, ErrorKind, Result, trace};
use libloading::Library;
use std::ffi::{CString, OsStr, c_char, c_int};
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

/// Set to `1` to show each operation as a range in the vendor's profiler, as
/// [`DeviceOptions::with_ranges`](crate::DeviceOptions::with_ranges) does, but without failing if
/// the library is missing. Unset, empty or `0` disables ranges.
pub const RANGES_VARIABLE: &str = "ISOBIT_RANGES";

type Push = unsafe extern "C" fn(*const c_char) -> c_int;
type Pop = unsafe extern "C" fn() -> c_int;

/// An open library of ranges.
#[derive(Debug)]
pub(crate) struct Ranges {
    push: Push,
    pop: Pop,
    /// Keeps the two functions loaded.
    _library: Library,
}

impl Ranges {
    /// Opens the library if the option or the variable requests it.
    ///
    /// # Errors
    /// Returns `LibraryUnavailable` if the option requests a library that is missing, and
    /// `InvalidArgument` if the variable has an invalid value.
    pub(crate) fn asked_for(option: bool, driver: &str, library: Option<&RangeLibrary>) -> Result<Option<Arc<Self>>> {
        let by_variable = is_on(std::env::var_os(RANGES_VARIABLE).as_deref())?;
        if !option && !by_variable {
            return Ok(None);
        }
        let opened = library.ok_or_else(|| no_library(driver)).and_then(Self::open);
        match opened {
            Err(e) if !option => {
                tracing::warn!(target: trace::TARGET, error = %e, "{RANGES_VARIABLE} is set, but ranges are not available");
                Ok(None)
            }
            opened => Ok(Some(Arc::new(opened?))),
        }
    }

    fn open(library: &RangeLibrary) -> Result<Self> {
        let unavailable = |why: String, cause: Option<libloading::Error>| {
            let message = format!(
                "{}, which shows ranges in profilers, cannot be used, because {why}: install it, or use neither with_ranges nor {RANGES_VARIABLE}",
                library.name
            );
            let error = Error::new(ErrorKind::LibraryUnavailable, message);
            cause.into_iter().fold(error, |error, cause| error.with_source(cause))
        };
        // SAFETY: the initialisers of these libraries only look for an attached profiler.
        let found =
            library.sonames.iter().find_map(|name| unsafe { Library::new(*name) }.ok().map(|found| (name, found)));
        let names = || library.sonames.join(", ");
        let (name, found) =
            found.ok_or_else(|| unavailable(format!("none of its files is on this machine ({})", names()), None))?;
        let lacks = |symbol: &str, cause| unavailable(format!("{name} has no {symbol}"), Some(cause));
        // SAFETY: the types are those that both vendors document for these symbols.
        let (push, pop) = unsafe {
            (
                *found.get::<Push>(library.push).map_err(|e| lacks(library.push, e))?,
                *found.get::<Pop>(library.pop).map_err(|e| lacks(library.pop, e))?,
            )
        };
        Ok(Self { push, pop, _library: found })
    }

    /// Starts a range on this thread. It ends when the result is dropped.
    pub(crate) fn enter(self: &Arc<Self>, name: impl fmt::Display) -> Range {
        // A name with a NUL is cut there; no operation has one.
        let name = CString::new(name.to_string()).unwrap_or_else(|e| {
            let until = e.nul_position();
            CString::new(&e.into_vec()[..until]).unwrap_or_default()
        });
        // SAFETY: the function has the documented type, and its library is open. The string lives
        // during the call, and the library copies it.
        unsafe { (self.push)(name.as_ptr()) };
        Range { ranges: self.clone(), thread: PhantomData }
    }
}

/// A range that has started.
#[must_use = "the range ends when it is dropped"]
pub(crate) struct Range {
    ranges: Arc<Ranges>,
    // Ranges nest within their thread.
    thread: PhantomData<*const ()>,
}

impl Drop for Range {
    fn drop(&mut self) {
        // SAFETY: the function has the documented type, and its library is open. It ends the
        // innermost range of this thread, which is this one.
        unsafe { (self.ranges.pop)() };
    }
}

fn is_on(setting: Option<&OsStr>) -> Result<bool> {
    match setting.map(OsStr::to_str) {
        None | Some(Some("" | "0")) => Ok(false),
        Some(Some("1")) => Ok(true),
        _ => {
            let setting = setting.unwrap_or_default();
            let message = format!("{RANGES_VARIABLE} is {setting:?}: set it to `1` for ranges, or unset it for none");
            Err(Error::new(ErrorKind::InvalidArgument, message))
        }
    }
}

#[cold]
fn no_library(driver: &str) -> Error {
    let message = format!("the {driver} driver has no library that shows ranges in a profiler: disable ranges");
    Error::new(ErrorKind::LibraryUnavailable, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ABSENT: RangeLibrary =
        RangeLibrary { name: "NVTX", sonames: &["libisobit-is-not-there.so.1"], push: "push", pop: "pop" };

    #[test]
    fn an_option_that_cannot_be_had_is_an_error_that_says_what_to_install() {
        for (library, says) in [(Some(&ABSENT), "libisobit-is-not-there.so.1"), (None, "nvidia driver has no library")]
        {
            let error = Ranges::asked_for(true, "nvidia", library).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::LibraryUnavailable);
            assert!(error.message().contains(says), "{error}");
        }
        // A library without the functions; every Linux program has libc.
        let libc = RangeLibrary { sonames: &["libc.so.6"], push: "isobit_push", ..ABSENT };
        let error = Ranges::asked_for(true, "nvidia", Some(&libc)).unwrap_err();
        assert!(error.message().contains("libc.so.6 has no isobit_push"), "{error}");
    }

    #[test]
    fn the_variable_is_on_or_off() {
        for (setting, on) in [(None, false), (Some(""), false), (Some("0"), false), (Some("1"), true)] {
            assert_eq!(is_on(setting.map(OsStr::new)).unwrap(), on, "{setting:?}");
        }
        let error = is_on(Some("yes".as_ref())).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.message().contains("yes"), "{error}");
    }
}
