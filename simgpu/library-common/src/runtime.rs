//! The simulator's runtime library (HIP or the CUDA driver), which is next to the calling library,
//! and the functions that the replacement libraries need from it.

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// A stream, `hipStream_t` or `CUstream`; null is the default stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub struct Stream(pub *mut c_void);

// SAFETY: a stream's handle is an identifier that the runtime allows any thread to use.
unsafe impl Send for Stream {}
// SAFETY: as above.
unsafe impl Sync for Stream {}

type HostFunction = unsafe extern "C" fn(*mut c_void);

/// A vendor's runtime: its file, and the names of its functions.
#[derive(Debug)]
pub struct Vendor {
    name: &'static str,
    library: &'static str,
    stream_synchronize: &'static str,
    stream_is_capturing: &'static str,
    current_device: &'static str,
    device_count: &'static str,
    opened: OnceLock<Result<Runtime, String>>,
}

/// AMD's.
pub static HIP: Vendor = Vendor {
    name: "HIP",
    library: "libamdhip64.so",
    stream_synchronize: "hipStreamSynchronize",
    stream_is_capturing: "hipStreamIsCapturing",
    current_device: "hipGetDevice",
    device_count: "hipGetDeviceCount",
    opened: OnceLock::new(),
};

/// NVIDIA's.
pub static CUDA: Vendor = Vendor {
    name: "CUDA",
    library: "libcuda.so",
    stream_synchronize: "cuStreamSynchronize",
    stream_is_capturing: "cuStreamIsCapturing",
    current_device: "cuCtxGetDevice",
    device_count: "cuDeviceGetCount",
    opened: OnceLock::new(),
};

impl Vendor {
    /// Returns the runtime library in the folder that this code was loaded from. Opens it once.
    ///
    /// # Errors
    /// Says what was searched for and why it is not usable.
    pub fn runtime(&'static self) -> Result<&'static Runtime, &'static str> {
        let runtime = self.opened.get_or_init(|| Runtime::open(self, &own_folder()?.join(self.library)));
        runtime.as_ref().map_err(String::as_str)
    }

    /// Counts a call of a library's function. Returns the status with which an injected fault makes
    /// it fail, if there is one. Without a runtime there are no faults.
    pub fn injected(&'static self, name: &str) -> Option<i32> {
        let runtime = self.runtime().ok()?;
        // SAFETY: the name has this number of bytes.
        let status = unsafe { (runtime.sim_call)(name.as_ptr(), name.len()) };
        (status != 0).then_some(status)
    }

    /// # Safety
    /// `T` must be the symbol's type, and must not be used after the library is closed.
    unsafe fn symbol<T: Copy>(&self, library: &Library, path: &Path, name: &str) -> Result<T, String> {
        // SAFETY: the caller promises that `T` is the symbol's type and is not used after the
        // library is closed.
        unsafe { library.get::<T>(name.as_bytes()) }
            .map(|s| *s)
            .map_err(|_| format!("{} is not the simulator's {} library: it has no {name}", path.display(), self.name))
    }
}

/// The functions of a runtime library that the replacement libraries call.
#[derive(Debug)]
pub struct Runtime {
    sim_enqueue: unsafe extern "C" fn(*mut c_void, HostFunction, *mut c_void) -> c_int,
    stream_synchronize: unsafe extern "C" fn(*mut c_void) -> c_int,
    stream_is_capturing: unsafe extern "C" fn(*mut c_void, *mut c_int) -> c_int,
    current_device: unsafe extern "C" fn(*mut c_int) -> c_int,
    device_count: unsafe extern "C" fn(*mut c_int) -> c_int,
    sim_meet: unsafe extern "C" fn(c_int, *mut c_void, HostFunction, *mut c_void) -> c_int,
    sim_urge: unsafe extern "C" fn(),
    sim_find: unsafe extern "C" fn(c_int, *const c_char, *const c_char),
    sim_access: unsafe extern "C" fn(*const c_void, usize, c_int, *const c_char) -> c_int,
    sim_call: unsafe extern "C" fn(*const u8, usize) -> c_int,
    // Kept open, because closing it would unmap the functions above.
    _library: Library,
}

impl Runtime {
    fn open(vendor: &Vendor, path: &Path) -> Result<Self, String> {
        // The loader identifies a library by its inode, so this is the instance that the program
        // opened under any name. SAFETY: the simulator's library does nothing when it is loaded.
        let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) }
            .map_err(|e| format!("the simulator's {} library is not at {}: {e}", vendor.name, path.display()))?;
        // SAFETY: the fields have the types that both vendors and the simulator declare for these
        // symbols.
        unsafe {
            Ok(Self {
                sim_enqueue: vendor.symbol(&library, path, "isobit_sim_enqueue")?,
                stream_synchronize: vendor.symbol(&library, path, vendor.stream_synchronize)?,
                stream_is_capturing: vendor.symbol(&library, path, vendor.stream_is_capturing)?,
                current_device: vendor.symbol(&library, path, vendor.current_device)?,
                device_count: vendor.symbol(&library, path, vendor.device_count)?,
                sim_meet: vendor.symbol(&library, path, "isobit_sim_meet")?,
                sim_urge: vendor.symbol(&library, path, "isobit_sim_urge")?,
                sim_find: vendor.symbol(&library, path, "isobit_sim_find")?,
                sim_access: vendor.symbol(&library, path, "isobit_sim_access")?,
                sim_call: vendor.symbol(&library, path, "isobit_sim_call")?,
                _library: library,
            })
        }
    }

    /// Runs work in stream order. If the stream is being captured, each launch of the graph runs
    /// the work again.
    ///
    /// # Errors
    /// Returns the runtime's error code if it does not accept work for this stream.
    pub fn enqueue(&self, stream: Stream, work: impl Fn() + Send + 'static) -> Result<(), i32> {
        let capturing = self.is_capturing(stream)?;
        hand_over(capturing, work, |function, work| {
            // SAFETY: the runtime checks the stream; `work` is what the function expects, and only
            // the function frees it.
            unsafe { (self.sim_enqueue)(stream.0, function, work) }
        })
    }

    /// Like [`enqueue`](Self::enqueue), for work that waits for work of other devices. It runs on a
    /// thread of its own. The stream must be one of the device; null is its default stream.
    ///
    /// # Errors
    /// Returns the runtime's error code if it does not accept work for this stream.
    pub fn meet(&self, device: c_int, stream: Stream, work: impl Fn() + Send + 'static) -> Result<(), i32> {
        // A default stream cannot be captured, and the device need not be current.
        let capturing = !stream.0.is_null() && self.is_capturing(stream)?;
        hand_over(capturing, work, |function, work| {
            // SAFETY: as for other work.
            unsafe { (self.sim_meet)(device, stream.0, function, work) }
        })
    }

    /// Has threads do what work of this kind waits for, although the program waits for none of it.
    pub fn urge(&self) {
        // SAFETY: the function has no conditions.
        unsafe { (self.sim_urge)() }
    }

    /// Returns the device that is current for the calling thread.
    ///
    /// # Errors
    /// Returns the runtime's error code.
    pub fn current_device(&self) -> Result<c_int, i32> {
        let mut device = 0;
        // SAFETY: an out-parameter.
        match unsafe { (self.current_device)(&mut device) } {
            0 => Ok(device),
            code => Err(code),
        }
    }

    /// Returns the number of devices.
    ///
    /// # Errors
    /// Returns the runtime's error code.
    pub fn device_count(&self) -> Result<c_int, i32> {
        let mut count = 0;
        // SAFETY: an out-parameter.
        match unsafe { (self.device_count)(&mut count) } {
            0 => Ok(count),
            code => Err(code),
        }
    }

    /// Reports a finding about the calls of a program: a deadlock, or calls that do not fit
    /// together.
    pub fn find(&self, deadlock: bool, what: &str, message: &str) {
        let [what, message] = [what, message].map(|text| CString::new(text).unwrap_or_default());
        // SAFETY: both are strings that end in NUL.
        unsafe { (self.sim_find)(c_int::from(deadlock), what.as_ptr(), message.as_ptr()) }
    }

    /// Waits for all work of a stream.
    ///
    /// # Errors
    /// Returns the runtime's error code.
    pub fn synchronize(&self, stream: Stream) -> Result<(), i32> {
        // SAFETY: the runtime checks the stream.
        match unsafe { (self.stream_synchronize)(stream.0) } {
            0 => Ok(()),
            code => Err(code),
        }
    }

    /// Whether the stream is being captured into a graph.
    ///
    /// # Errors
    /// Returns the runtime's error code if the stream is unknown.
    pub fn is_capturing(&self, stream: Stream) -> Result<bool, i32> {
        let mut status = 0;
        // SAFETY: the runtime checks the stream; the second argument is an out-parameter.
        match unsafe { (self.stream_is_capturing)(stream.0, &mut status) } {
            0 => Ok(status != 0),
            code => Err(code),
        }
    }

    /// Like [`crate::Access`].
    pub fn access(&self, pointer: *const u8, bytes: usize, write: bool, what: &str) -> bool {
        let what = CString::new(what).unwrap_or_default();
        // SAFETY: the simulator checks the range, and reads the text up to its NUL.
        unsafe { (self.sim_access)(pointer.cast(), bytes, c_int::from(write), what.as_ptr()) == 0 }
    }
}

type Work = Box<dyn Fn() + Send>;

/// Passes work to the runtime, as a function and its argument. If the runtime does not accept it,
/// returns its error code.
fn hand_over(
    capturing: bool,
    work: impl Fn() + Send + 'static,
    to: impl FnOnce(HostFunction, *mut c_void) -> c_int,
) -> Result<(), i32> {
    let work: Box<Work> = Box::new(Box::new(work));
    let work = Box::into_raw(work);
    // The runtime does not report the last launch of a graph, so captured work is never freed.
    let function = if capturing { call } else { call_and_free };
    match to(function, work.cast()) {
        0 => Ok(()),
        code => {
            // SAFETY: the pointer is from `into_raw` above, and the runtime did not accept it.
            drop(unsafe { Box::from_raw(work) });
            Err(code)
        }
    }
}

unsafe extern "C" fn call(work: *mut c_void) {
    // SAFETY: the runtime passes the pointer from `enqueue`, which is valid for the life of the
    // process.
    let work = unsafe { &*work.cast::<Work>() };
    crate::guarded((), work);
}

unsafe extern "C" fn call_and_free(work: *mut c_void) {
    // SAFETY: the runtime passes the pointer from `enqueue`, once.
    let work = unsafe { Box::from_raw(work.cast::<Work>()) };
    crate::guarded((), &**work);
}

/// Returns the folder of the shared library that contains this code.
fn own_folder() -> Result<PathBuf, String> {
    let mut info = libc::Dl_info {
        dli_fname: std::ptr::null(),
        dli_fbase: std::ptr::null_mut(),
        dli_sname: std::ptr::null(),
        dli_saddr: std::ptr::null_mut(),
    };
    // SAFETY: the arguments are an address in this library and an out-parameter.
    let found = unsafe { libc::dladdr(own_folder as *const c_void, &mut info) } != 0;
    if !found || info.dli_fname.is_null() {
        return Err("the loader does not know which file this library came from".into());
    }
    // SAFETY: dladdr returns a string that is valid as long as the library is loaded.
    let file = unsafe { CStr::from_ptr(info.dli_fname) };
    let file = Path::new(OsStr::from_bytes(file.to_bytes()));
    Ok(file.parent().unwrap_or(Path::new(".")).to_path_buf())
}

#[cfg(test)]
mod tests {
    use super::{CUDA, HIP, Runtime, own_folder};

    #[test]
    fn the_folder_is_that_of_the_file_this_code_is_in() {
        let program = std::env::current_exe().unwrap();
        assert_eq!(own_folder().unwrap().canonicalize().unwrap(), program.parent().unwrap().canonicalize().unwrap());
    }

    #[test]
    fn what_is_no_simulator_is_refused_by_name() {
        for vendor in [&HIP, &CUDA] {
            let missing =
                Runtime::open(vendor, &std::path::Path::new("/nonexistent").join(vendor.library)).unwrap_err();
            assert!(missing.contains("/nonexistent/lib") && missing.contains(vendor.name), "{missing}");
            // The C library does not have the functions.
            let other = Runtime::open(vendor, "libc.so.6".as_ref()).unwrap_err();
            assert!(other.contains("libc.so.6") && other.contains("isobit_sim_enqueue"), "{other}");
        }
    }
}
