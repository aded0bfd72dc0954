//! The faults of a process, and the number of its calls: every call of the vendor's interface
//! passes through [`Calls`], which counts it and may make it fail.
//!
//! The runtime counts for the libraries beside it too, so that one variable and one function set
//! the faults of all of them.

use crate::error::{Error, outcome};
use crate::{Result, ResultCode};
use isobit_simgpu_fault::{Effect, Fault, Library, Vendor};
use parking_lot::Mutex;
use serde::Serialize;
use std::borrow::Cow;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_int, c_void};

/// The number of calls of a function.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize)]
struct Count {
    /// All of them.
    calls: u64,
    /// Those that returned an error, for whatever reason. Of a library beside the runtime, only
    /// injected faults are counted.
    failed: u64,
    /// Those that an injected fault made fail.
    injected: u64,
}

#[derive(Debug, Default)]
struct State {
    /// The faults, or what is wrong with them; `None` before the first call reads the variable.
    faults: Option<std::result::Result<Vec<Fault>, String>>,
    /// Calls since the start of the process.
    counts: BTreeMap<String, Count>,
    /// Calls since the faults were set.
    since: BTreeMap<String, u64>,
}

/// What becomes of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It does its work.
    Runs,
    /// It fails.
    Fails(Effect),
    /// It fails, because the faults cannot be read.
    Unreadable,
}

/// The calls of a vendor's interface.
#[derive(Debug)]
pub struct Calls {
    vendor: Vendor,
    /// Loses the device that is current for the calling thread.
    lose: fn(),
    state: Mutex<State>,
}

thread_local! {
    /// Whether the module that the thread's call loads is corrupt.
    static CORRUPT: Cell<bool> = const { Cell::new(false) };
}

/// Returns the image of a module, or its first half if a fault has corrupted it. What follows is
/// zero, so an image that tells its size by its content still has that size.
pub fn image(bytes: &[u8]) -> Cow<'_, [u8]> {
    if !CORRUPT.get() {
        return Cow::Borrowed(bytes);
    }
    let mut corrupt = bytes.to_vec();
    corrupt[bytes.len() / 2..].fill(0);
    Cow::Owned(corrupt)
}

impl Calls {
    /// Creates the calls of a vendor's interface. `lose` loses the current device.
    pub const fn new(vendor: Vendor, lose: fn()) -> Self {
        let state = State { faults: None, counts: BTreeMap::new(), since: BTreeMap::new() };
        Self { vendor, lose, state: Mutex::new(state) }
    }

    /// Runs a call, unless a fault makes it fail, and returns its code. See [`outcome`].
    pub fn run<C: ResultCode>(&self, name: &str, log: bool, body: impl FnOnce() -> Result<(), C>) -> C {
        let fail = |code: C, why: &str| outcome(name, log, || Err(Error::new(code, why)));
        let code = match self.enter::<C>(name) {
            Fate::Runs => outcome(name, log, body),
            Fate::Unreadable => fail(C::INVALID_VALUE, "the injected faults cannot be read"),
            Fate::Fails(Effect::Code(number)) => fail(C::of(number), "an injected fault"),
            Fate::Fails(Effect::Absent) => fail(C::NOT_SUPPORTED, "an injected fault: the function is absent"),
            Fate::Fails(Effect::Lost) => {
                (self.lose)();
                fail(C::LAUNCH_FAILURE, "an injected fault: the device is lost")
            }
            Fate::Fails(Effect::Corrupt) => {
                CORRUPT.set(true);
                let code = outcome(name, log, body);
                CORRUPT.set(false);
                code
            }
        };
        if code != C::SUCCESS && code != C::NOT_READY {
            self.state.lock().counts.entry(name.to_owned()).or_default().failed += 1;
        }
        code
    }

    /// Counts a call and decides about it.
    fn enter<C: ResultCode>(&self, name: &str) -> Fate {
        let mut state = self.state.lock();
        if state.faults.is_none() {
            let faults = isobit_simgpu_fault::of_environment().and_then(|text| self.parse::<C>(&text));
            if let Err(why) = &faults {
                eprintln!("simulated GPU: {}: {why}; every call fails", isobit_simgpu_fault::VARIABLE);
            }
            state.faults = Some(faults);
        }
        let State { faults, counts, since } = &mut *state;
        let count = entry(counts, name);
        count.calls += 1;
        let faults = match faults {
            Some(Ok(faults)) => faults,
            _ => return Fate::Unreadable,
        };
        if faults.is_empty() {
            return Fate::Runs;
        }
        let calls = entry(since, name);
        *calls += 1;
        match faults.iter().find(|fault| fault.call == name && fault.at.is(*calls)) {
            Some(fault) => {
                count.injected += 1;
                Fate::Fails(fault.effect)
            }
            None => Fate::Runs,
        }
    }

    fn parse<C: ResultCode>(&self, text: &str) -> std::result::Result<Vec<Fault>, String> {
        let code = |name: &str| {
            let known = C::all().iter().find(|code| code.name().to_str() == Ok(name));
            known.map(|code| code.number())
        };
        isobit_simgpu_fault::parse(text, self.vendor, code, exports)
    }

    /// Replaces the faults by those of a text, and counts calls from one again. An error is printed
    /// to stderr and changes nothing. Returns whether the text could be read.
    ///
    /// # Safety
    /// `text` is null, for no faults, or a string that ends in NUL.
    pub unsafe fn set<C: ResultCode>(&self, text: *const c_char) -> bool {
        let text = match text.is_null() {
            true => c"",
            // SAFETY: not null; the caller promises a string that ends in NUL.
            false => unsafe { CStr::from_ptr(text) },
        };
        match text.to_str().map_err(|_| "it is not UTF-8".to_owned()).and_then(|text| self.parse::<C>(text)) {
            Ok(faults) => {
                let mut state = self.state.lock();
                state.faults = Some(Ok(faults));
                state.since.clear();
                true
            }
            Err(why) => {
                eprintln!("simulated GPU: isobit_sim_fault: {why}");
                false
            }
        }
    }

    /// Counts a call of a library beside the runtime. Returns the status with which it fails, or 0
    /// if it does its work.
    ///
    /// # Safety
    /// `name` has `length` bytes.
    pub unsafe fn library_call<C: ResultCode>(&self, name: *const u8, length: usize) -> c_int {
        // SAFETY: as the caller promises.
        let name = unsafe { std::slice::from_raw_parts(name, length) };
        let Ok(name) = std::str::from_utf8(name) else { return 0 };
        match self.enter::<C>(name) {
            Fate::Fails(Effect::Code(number)) => {
                self.state.lock().counts.entry(name.to_owned()).or_default().failed += 1;
                number
            }
            // The other effects are the runtime's; a runtime without faults fails itself.
            _ => 0,
        }
    }

    /// Whether a fault says that the runtime does not have a function.
    pub fn is_absent(&self, name: &str) -> bool {
        let state = self.state.lock();
        let Some(Ok(faults)) = &state.faults else { return false };
        faults.iter().any(|fault| fault.effect == Effect::Absent && fault.call == name)
    }

    /// Writes the number of calls by function as JSON, without a NUL. Returns its size in bytes; if
    /// `length` is less, nothing is written.
    ///
    /// # Safety
    /// `buffer` is null or has room for `length` bytes.
    pub unsafe fn write_counts(&self, buffer: *mut c_char, length: usize) -> usize {
        let Ok(json) = serde_json::to_vec(&self.state.lock().counts) else { return 0 };
        if !buffer.is_null() && json.len() <= length {
            // SAFETY: the bytes fit into the room that the caller promises.
            unsafe { std::ptr::copy_nonoverlapping(json.as_ptr(), buffer.cast(), json.len()) };
        }
        json.len()
    }
}

/// Returns the value of a name, without a copy of the name if it is there.
fn entry<'a, T: Default>(map: &'a mut BTreeMap<String, T>, name: &str) -> &'a mut T {
    if !map.contains_key(name) {
        map.insert(name.to_owned(), T::default());
    }
    map.get_mut(name).unwrap_or_else(|| unreachable!("it was inserted"))
}

/// Whether a simulated library exports a function. The runtime looks at itself and at the files
/// beside it. In a program that contains the runtime, as this package's tests do, every function
/// counts as there.
fn exports(library: &Library, function: &str) -> bool {
    // SAFETY: all fields are integers or pointers, for which zero is valid.
    let mut info = unsafe { std::mem::zeroed::<libc::Dl_info>() };
    let code: fn(&Library, &str) -> bool = exports;
    // SAFETY: the arguments are an address in this library and an out-parameter.
    if unsafe { libc::dladdr(code as *const c_void, &mut info) } == 0 || info.dli_fname.is_null() {
        return true;
    }
    // SAFETY: dladdr returns a string that is valid as long as the library is loaded.
    let own = unsafe { CStr::from_ptr(info.dli_fname) }.to_bytes();
    let Some(slash) = own.iter().rposition(|&byte| byte == b'/') else { return true };
    if !own[slash + 1..].windows(3).any(|part| part == b".so") {
        return true;
    }
    let path = match library.is_runtime {
        true => own.to_vec(),
        false => [&own[..=slash], library.file.as_bytes()].concat(),
    };
    let (Ok(path), Ok(function)) = (CString::new(path), CString::new(function)) else { return false };
    // SAFETY: both strings end in NUL. The simulated libraries only remove symbols when they are
    // loaded; they stay loaded, as a handle is never closed.
    unsafe {
        let handle = libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL);
        // A library that is not installed has no functions that could fail.
        !handle.is_null() && !libc::dlsym(handle, function.as_ptr()).is_null()
    }
}

/// Declares the functions of a runtime library with which programs and the libraries beside it
/// inject faults: `isobit_sim_fault`, `isobit_sim_calls` and `isobit_sim_call`. The first argument
/// is the static [`Calls`], the second the vendor's code.
#[macro_export]
macro_rules! fault_functions {
    ($calls:expr, $code:ty) => {
        isobit_simgpu_fault::remove_absent_functions!();

        /// Replaces the faults of the process, in the language of `ISOBIT_SIM_FAULT`; calls are
        /// counted from one again. Returns 0, or 1 if the text is wrong, which is printed to stderr
        /// and changes nothing. A function that is loaded cannot become absent.
        ///
        /// # Safety
        /// `faults` is null, for no faults, or a string that ends in NUL.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn isobit_sim_fault(faults: *const ::std::ffi::c_char) -> ::std::ffi::c_int {
            // SAFETY: as the caller promises.
            ::std::ffi::c_int::from(!unsafe { $calls.set::<$code>(faults) })
        }

        /// Writes the number of calls by function; see
        /// [`Calls::write_counts`]($crate::fault::Calls::write_counts).
        ///
        /// # Safety
        /// `buffer` is null or has room for `length` bytes.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn isobit_sim_calls(buffer: *mut ::std::ffi::c_char, length: usize) -> usize {
            // SAFETY: as the caller promises.
            unsafe { $calls.write_counts(buffer, length) }
        }

        /// Counts a call of a library; see
        /// [`Calls::library_call`]($crate::fault::Calls::library_call).
        ///
        /// # Safety
        /// `name` has `length` bytes.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn isobit_sim_call(name: *const u8, length: usize) -> ::std::ffi::c_int {
            // SAFETY: as the caller promises.
            unsafe { $calls.library_call::<$code>(name, length) }
        }
    };
}
