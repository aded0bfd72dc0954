//! Asking before calling: cudarc panics where a library, or a symbol of it, is absent, so each is looked for first.

use cudarc::{cublas, driver, nvrtc};
use isobit_hal::{Error, ErrorKind, Result};
use std::sync::OnceLock;

/// A vendor library and the symbols of it that this crate calls.
#[derive(Debug)]
pub(crate) struct Library {
    name: &'static str,
    install: &'static str,
    symbols: &'static [&'static str],
    is_present: unsafe fn() -> bool,
    open: unsafe fn() -> &'static libloading::Library,
    state: OnceLock<Result<(), String>>,
}

/// NVIDIA's driver.
pub(crate) static DRIVER: Library = Library {
    name: "the NVIDIA driver (libcuda)",
    install: "install NVIDIA's driver, or run where there is an NVIDIA GPU",
    symbols: &[
        "cuInit",
        "cuDriverGetVersion",
        "cuDeviceGetCount",
        "cuDeviceGet",
        "cuDeviceGetName",
        "cuDeviceGetAttribute",
        "cuDeviceTotalMem_v2",
        "cuDevicePrimaryCtxRetain",
        "cuDevicePrimaryCtxRelease_v2",
        "cuCtxSetCurrent",
        "cuMemGetInfo_v2",
        "cuMemAlloc_v2",
        "cuMemFree_v2",
        "cuMemcpyHtoDAsync_v2",
        "cuMemcpyDtoHAsync_v2",
        "cuMemcpyDtoDAsync_v2",
        "cuMemsetD8Async",
        "cuStreamCreate",
        "cuStreamDestroy_v2",
        "cuStreamSynchronize",
        "cuEventCreate",
        "cuEventDestroy_v2",
        "cuEventRecord",
        "cuEventSynchronize",
        "cuEventElapsedTime",
        "cuModuleLoadDataEx",
        "cuModuleUnload",
        "cuModuleGetFunction",
        "cuLaunchKernel",
        "cuGetErrorName",
        "cuGetErrorString",
    ],
    is_present: driver::sys::is_culib_present,
    open: driver::sys::culib,
    state: OnceLock::new(),
};

/// NVIDIA's run-time compiler.
pub(crate) static NVRTC: Library = Library {
    name: "NVRTC (libnvrtc)",
    install: "install the CUDA toolkit's NVRTC, or the PyPI package nvidia-cuda-nvrtc with its folder in LD_LIBRARY_PATH",
    symbols: &[
        "nvrtcVersion",
        "nvrtcCreateProgram",
        "nvrtcCompileProgram",
        "nvrtcDestroyProgram",
        "nvrtcGetPTXSize",
        "nvrtcGetPTX",
        "nvrtcGetProgramLogSize",
        "nvrtcGetProgramLog",
        "nvrtcGetErrorString",
    ],
    is_present: nvrtc::sys::is_culib_present,
    open: nvrtc::sys::culib,
    state: OnceLock::new(),
};

/// NVIDIA's BLAS.
pub(crate) static CUBLAS: Library = Library {
    name: "cuBLAS (libcublas)",
    install: "install the CUDA toolkit's cuBLAS to have vendor numerics",
    symbols: &[
        "cublasCreate_v2",
        "cublasDestroy_v2",
        "cublasGetVersion_v2",
        "cublasSetStream_v2",
        "cublasSetWorkspace_v2",
        "cublasSetMathMode",
        "cublasGemmStridedBatchedEx",
        "cublasGetStatusName",
    ],
    is_present: cublas::sys::is_culib_present,
    open: cublas::sys::culib,
    state: OnceLock::new(),
};

impl Library {
    /// Makes sure that every symbol can be called. Looked up once in a process.
    ///
    /// # Errors
    /// `LibraryUnavailable`, saying what is missing and what to install.
    pub(crate) fn require(&self) -> Result<()> {
        self.state
            .get_or_init(|| self.look())
            .clone()
            .map_err(|why| Error::new(ErrorKind::LibraryUnavailable, format!("{why}; {}", self.install)))
    }

    fn look(&self) -> Result<(), String> {
        // SAFETY: opening a vendor's library runs its initialisers, which is what asking for the device means.
        if !unsafe { (self.is_present)() } {
            return Err(format!("{} is not on this machine", self.name));
        }
        let missing: Vec<_> = self.symbols.iter().copied().filter(|s| self.symbol::<*const ()>(s).is_none()).collect();
        if missing.is_empty() {
            return Ok(());
        }
        Err(format!("{} on this machine is too old or broken: it lacks {}", self.name, missing.join(", ")))
    }

    /// A symbol of the library, which is present.
    pub(crate) fn symbol<F: Copy>(&self, name: &str) -> Option<F> {
        // SAFETY: the library is present, so cudarc opens it without a panic; the caller names the symbol's type.
        unsafe { (self.open)().get::<F>(name.as_bytes()).ok().map(|s| *s) }
    }

    /// The file it was loaded from, if it is loaded.
    pub(crate) fn path(&self, file_prefix: &str) -> Option<String> {
        let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
        maps.lines()
            .filter_map(|line| line.find('/').map(|at| &line[at..]))
            .find(|path| path.rsplit('/').next().is_some_and(|file| file.starts_with(file_prefix)))
            .map(str::to_string)
    }
}
