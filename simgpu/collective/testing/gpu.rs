//! A vendor's libraries as a program opens them: the few functions of the runtime that the tests
//! need, and all of the collective library.

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::path::Path;
use std::ptr::null_mut;

/// Whose libraries are tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vendor {
    /// NVIDIA: libcuda and libnccl.
    #[allow(dead_code, reason = "each program tests one vendor")]
    Nvidia,
    /// AMD: libamdhip64 and librccl.
    #[allow(dead_code, reason = "each program tests one vendor")]
    Amd,
}

/// A stream, a communicator or memory, for use by any thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub struct Handle(pub *mut c_void);

// SAFETY: the libraries allow any thread to use their objects.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

/// `ncclUniqueId`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Id(pub [u8; 128]);

/// `ncclConfig_t` of NCCL 2.18.
#[repr(C)]
pub struct Config {
    pub size: usize,
    pub magic: c_uint,
    pub version: c_uint,
    pub blocking: c_int,
    pub others: [c_int; 3],
    pub net_name: *const c_char,
    pub split_share: c_int,
}

impl Config {
    pub fn new(blocking: c_int) -> Self {
        Self {
            size: size_of::<Self>(),
            magic: 0xcafe_beef,
            version: 21803,
            blocking,
            others: [c_int::MIN; 3],
            net_name: std::ptr::null(),
            split_share: c_int::MIN,
        }
    }
}

macro_rules! nccl {
    ($($name:ident($($ty:ty),*);)*) => {
        /// The functions of the collective library.
        #[allow(non_snake_case, reason = "the vendor's interface")]
        pub struct Nccl {
            $(pub $name: unsafe extern "C" fn($($ty),*) -> c_int,)*
            pub ncclGetErrorString: unsafe extern "C" fn(c_int) -> *const c_char,
            pub ncclGetLastError: unsafe extern "C" fn(*mut c_void) -> *const c_char,
        }

        impl Nccl {
            fn of(library: &Library) -> Self {
                // SAFETY: these are the types of the vendors' headers.
                unsafe {
                    Self {
                        $($name: symbol(library, stringify!($name)),)*
                        ncclGetErrorString: symbol(library, "ncclGetErrorString"),
                        ncclGetLastError: symbol(library, "ncclGetLastError"),
                    }
                }
            }
        }
    };
}

nccl! {
    ncclGetVersion(*mut c_int);
    ncclGetUniqueId(*mut Id);
    ncclCommInitRank(*mut Handle, c_int, Id, c_int);
    ncclCommInitRankConfig(*mut Handle, c_int, Id, c_int, *const Config);
    ncclCommInitAll(*mut Handle, c_int, *const c_int);
    ncclCommFinalize(Handle);
    ncclCommDestroy(Handle);
    ncclCommAbort(Handle);
    ncclCommSplit(Handle, c_int, c_int, *mut Handle, *const Config);
    ncclCommGetAsyncError(Handle, *mut c_int);
    ncclCommCount(Handle, *mut c_int);
    ncclCommCuDevice(Handle, *mut c_int);
    ncclCommUserRank(Handle, *mut c_int);
    ncclAllReduce(Handle, Handle, usize, c_int, c_int, Handle, Handle);
    ncclReduce(Handle, Handle, usize, c_int, c_int, c_int, Handle, Handle);
    ncclBroadcast(Handle, Handle, usize, c_int, c_int, Handle, Handle);
    ncclReduceScatter(Handle, Handle, usize, c_int, c_int, Handle, Handle);
    ncclAllGather(Handle, Handle, usize, c_int, Handle, Handle);
    ncclSend(Handle, usize, c_int, c_int, Handle, Handle);
    ncclRecv(Handle, usize, c_int, c_int, Handle, Handle);
    ncclGroupStart();
    ncclGroupEnd();
}

/// # Safety
/// `T` is the type of the function.
unsafe fn symbol<T: Copy>(library: &Library, name: &str) -> T {
    // SAFETY: as the caller promises; the libraries stay open.
    *unsafe { library.get::<T>(name.as_bytes()) }.unwrap_or_else(|_| panic!("there is no {name}"))
}

/// The libraries of a vendor.
pub struct Gpu {
    vendor: Vendor,
    runtime: Library,
    pub nccl: Nccl,
    _collective: Library,
}

impl Gpu {
    pub fn open(vendor: Vendor) -> Self {
        let files = match vendor {
            Vendor::Nvidia => ["libcuda.so.1", "libnccl.so.2"],
            Vendor::Amd => ["libamdhip64.so.6", "librccl.so.1"],
        };
        let open = |file| {
            // SAFETY: the simulator's libraries do nothing harmful when they are loaded.
            unsafe { Library::open(Some(file), RTLD_NOW | RTLD_LOCAL) }.expect("the library opens")
        };
        let [runtime, collective] = files.map(open);
        let gpu = Self { vendor, runtime, nccl: Nccl::of(&collective), _collective: collective };
        if vendor == Vendor::Nvidia {
            let init: unsafe extern "C" fn(c_uint) -> c_int = gpu.of_runtime("cuInit");
            // SAFETY: a function of this type.
            assert_eq!(unsafe { init(0) }, 0);
        }
        gpu
    }

    /// Returns a function of the runtime by its name.
    fn of_runtime<T: Copy>(&self, name: &str) -> T {
        // SAFETY: the callers name functions with the types of the vendors' headers.
        unsafe { symbol(&self.runtime, name) }
    }

    /// Calls a function of the runtime by NVIDIA's or AMD's name, with arguments that are pointers
    /// or as wide.
    pub fn call<const N: usize>(&self, names: [&str; 2], arguments: [usize; N]) -> c_int {
        let name = names[usize::from(self.vendor == Vendor::Amd)];
        // SAFETY: on this architecture an integer argument is passed as a wider one is, and the
        // tests name functions with so many arguments.
        unsafe {
            match arguments[..] {
                [] => self.of_runtime::<unsafe extern "C" fn() -> c_int>(name)(),
                [a] => self.of_runtime::<unsafe extern "C" fn(usize) -> c_int>(name)(a),
                [a, b] => self.of_runtime::<unsafe extern "C" fn(usize, usize) -> c_int>(name)(a, b),
                [a, b, c] => self.of_runtime::<unsafe extern "C" fn(usize, usize, usize) -> c_int>(name)(a, b, c),
                [a, b, c, d] => {
                    self.of_runtime::<unsafe extern "C" fn(usize, usize, usize, usize) -> c_int>(name)(a, b, c, d)
                }
                [a, b, c, d, e] => self
                    .of_runtime::<unsafe extern "C" fn(usize, usize, usize, usize, usize) -> c_int>(name)(
                    a, b, c, d, e,
                ),
                _ => panic!("{name} has too many arguments"),
            }
        }
    }

    /// Makes a device current for the thread.
    pub fn set_device(&self, device: usize) {
        if self.vendor == Vendor::Amd {
            assert_eq!(self.call(["", "hipSetDevice"], [device]), 0);
            return;
        }
        let mut context = null_mut::<c_void>();
        assert_eq!(self.call(["cuDevicePrimaryCtxRetain", ""], [(&raw mut context) as usize, device]), 0);
        assert_eq!(self.call(["cuCtxSetCurrent", ""], [context as usize]), 0);
    }

    /// Makes a stream of the current device, which does not wait for the default one.
    pub fn stream(&self) -> Handle {
        let mut stream = Handle(null_mut());
        assert_eq!(self.call(["cuStreamCreate", "hipStreamCreateWithFlags"], [(&raw mut stream) as usize, 1]), 0);
        stream
    }

    pub fn alloc(&self, bytes: usize) -> Handle {
        let mut at = Handle(null_mut());
        assert_eq!(self.call(["cuMemAlloc_v2", "hipMalloc"], [(&raw mut at) as usize, bytes]), 0);
        at
    }

    pub fn free(&self, at: Handle) {
        assert_eq!(self.call(["cuMemFree_v2", "hipFree"], [at.0 as usize]), 0);
    }

    /// Copies bytes to new memory of the current device, in stream order.
    pub fn upload(&self, bytes: &[u8], stream: Handle) -> Handle {
        let at = self.alloc(bytes.len().max(1));
        let (to, from, stream) = (at.0 as usize, bytes.as_ptr() as usize, stream.0 as usize);
        let copied = match self.vendor {
            Vendor::Nvidia => self.call(["cuMemcpyHtoDAsync_v2", ""], [to, from, bytes.len(), stream]),
            Vendor::Amd => self.call(["", "hipMemcpyAsync"], [to, from, bytes.len(), 1, stream]),
        };
        assert_eq!(copied, 0);
        at
    }

    /// Copies bytes from the device, and waits for the stream.
    pub fn download(&self, at: Handle, bytes: usize, stream: Handle) -> Vec<u8> {
        let mut host = vec![0; bytes];
        let (to, from, at_stream) = (host.as_mut_ptr() as usize, at.0 as usize, stream.0 as usize);
        let copied = match self.vendor {
            Vendor::Nvidia => self.call(["cuMemcpyDtoHAsync_v2", ""], [to, from, bytes, at_stream]),
            Vendor::Amd => self.call(["", "hipMemcpyAsync"], [to, from, bytes, 2, at_stream]),
        };
        assert_eq!(copied, 0);
        assert_eq!(self.synchronize(stream), 0);
        host
    }

    pub fn synchronize(&self, stream: Handle) -> c_int {
        self.call(["cuStreamSynchronize", "hipStreamSynchronize"], [stream.0 as usize])
    }

    pub fn query(&self, stream: Handle) -> c_int {
        self.call(["cuStreamQuery", "hipStreamQuery"], [stream.0 as usize])
    }

    /// Asserts that a call of the collective library succeeds.
    #[track_caller]
    pub fn ok(&self, status: c_int) {
        assert_eq!(status, 0, "{}", self.last_error());
    }

    /// Returns the text about the thread's last failure.
    pub fn last_error(&self) -> String {
        // SAFETY: the function returns a string.
        unsafe { CStr::from_ptr((self.nccl.ncclGetLastError)(null_mut())) }.to_string_lossy().into_owned()
    }

    /// Returns what has become of a communicator.
    pub fn asynchronous_error(&self, communicator: Handle) -> c_int {
        let mut error = -1;
        // SAFETY: an out-parameter.
        self.ok(unsafe { (self.nccl.ncclCommGetAsyncError)(communicator, &mut error) });
        error
    }

    /// Waits until a communicator has failed, and returns how.
    pub fn failure(&self, communicator: Handle) -> c_int {
        for _ in 0..6000 {
            match self.asynchronous_error(communicator) {
                0 | 7 => std::thread::sleep(std::time::Duration::from_millis(10)),
                error => return error,
            }
        }
        panic!("the communicator does not fail");
    }

    pub fn id(&self) -> Id {
        let mut id = Id([0; 128]);
        // SAFETY: an out-parameter.
        self.ok(unsafe { (self.nccl.ncclGetUniqueId)(&mut id) });
        id
    }

    /// Makes a rank's communicator on the current device.
    pub fn join(&self, ranks: usize, id: Id, rank: usize) -> Handle {
        let mut communicator = Handle(null_mut());
        // SAFETY: an out-parameter.
        self.ok(unsafe { (self.nccl.ncclCommInitRank)(&mut communicator, ranks as c_int, id, rank as c_int) });
        communicator
    }

    /// Returns the kind and the text of each finding since the last call.
    pub fn findings(&self) -> Vec<(String, String)> {
        let mut info = std::mem::MaybeUninit::<[*const c_void; 4]>::zeroed();
        let report = self.of_runtime::<*const c_void>("isobit_sim_report");
        // SAFETY: an address in a library, and room for `Dl_info`.
        let file = unsafe {
            unsafe extern "C" {
                fn dladdr(address: *const c_void, info: *mut [*const c_void; 4]) -> c_int;
            }
            assert_ne!(dladdr(report, info.as_mut_ptr()), 0);
            CStr::from_ptr(info.assume_init()[0].cast()).to_string_lossy().into_owned()
        };
        let text = isobit_simgpu_library_common::report::take(Path::new(&file)).expect("the simulator's runtime");
        let report: serde_json::Value = serde_json::from_str(&text).expect("the simulator reports JSON");
        let findings = report["findings"].as_array().expect("findings");
        findings.iter().map(|f| (f["kind"].as_str().unwrap_or_default().to_string(), f.to_string())).collect()
    }
}
