//! Checks libraries before calls: cudarc panics if a library or a symbol is missing, so each is
//! looked up first.

use cudarc::{cublas, cublaslt, cudnn, curand, driver, nvrtc};
use isobit_hal::Result;
use isobit_kernels::{Library, loaded_file};
use std::path::PathBuf;

/// A vendor library, with the symbols that this crate calls.
#[derive(Debug)]
pub(crate) struct CudaLibrary {
    name: &'static str,
    file: &'static str,
    symbols: &'static [&'static str],
    is_present: unsafe fn() -> bool,
    open: unsafe fn() -> &'static libloading::Library,
    found: Library<()>,
}

/// NVIDIA's driver.
pub(crate) static DRIVER: CudaLibrary = CudaLibrary {
    name: "the NVIDIA driver (libcuda)",
    file: "libcuda.so",
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
        "cuCtxEnablePeerAccess",
        "cuDeviceCanAccessPeer",
        "cuMemGetInfo_v2",
        "cuMemAlloc_v2",
        "cuMemFree_v2",
        "cuMemHostAlloc",
        "cuMemFreeHost",
        "cuMemcpyHtoDAsync_v2",
        "cuMemcpyDtoHAsync_v2",
        "cuMemcpyDtoDAsync_v2",
        "cuMemcpyPeerAsync",
        "cuMemsetD8Async",
        "cuStreamCreate",
        "cuStreamDestroy_v2",
        "cuStreamSynchronize",
        "cuStreamQuery",
        "cuStreamWaitEvent",
        "cuStreamIsCapturing",
        "cuStreamBeginCapture_v2",
        "cuStreamEndCapture",
        "cuEventCreate",
        "cuEventDestroy_v2",
        "cuEventRecord",
        "cuEventQuery",
        "cuEventSynchronize",
        "cuEventElapsedTime",
        "cuModuleLoadDataEx",
        "cuModuleUnload",
        "cuModuleGetFunction",
        "cuFuncGetAttribute",
        "cuFuncSetAttribute",
        "cuLaunchKernel",
        "cuGraphGetNodes",
        "cuGraphInstantiateWithFlags",
        "cuGraphExecUpdate_v2",
        "cuGraphLaunch",
        "cuGraphDestroy",
        "cuGraphExecDestroy",
        "cuGetErrorName",
        "cuGetErrorString",
    ],
    is_present: driver::sys::is_culib_present,
    open: driver::sys::culib,
    found: Library::new("install the NVIDIA driver, or use a machine with an NVIDIA GPU"),
};

/// NVIDIA's run-time compiler.
pub(crate) static NVRTC: CudaLibrary = CudaLibrary {
    name: "NVRTC (libnvrtc)",
    file: "libnvrtc.so",
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
    found: Library::new(
        "install the CUDA toolkit's NVRTC, or the PyPI package nvidia-cuda-nvrtc with its folder in LD_LIBRARY_PATH",
    ),
};

/// NVIDIA's BLAS.
pub(crate) static CUBLAS: CudaLibrary = CudaLibrary {
    name: "cuBLAS (libcublas)",
    file: "libcublas.so",
    symbols: &[
        "cublasCreate_v2",
        "cublasDestroy_v2",
        "cublasGetProperty",
        "cublasSetStream_v2",
        "cublasSetWorkspace_v2",
        "cublasSetMathMode",
        "cublasGemmStridedBatchedEx",
        "cublasGetStatusName",
    ],
    is_present: cublas::sys::is_culib_present,
    open: cublas::sys::culib,
    found: Library::new("install the CUDA toolkit's cuBLAS to use vendor numerics"),
};

/// NVIDIA's BLAS of single products, which comes with cuBLAS.
pub(crate) static CUBLAS_LT: CudaLibrary = CudaLibrary {
    name: "cuBLASLt (libcublasLt)",
    file: "libcublasLt.so",
    symbols: &[
        "cublasLtGetStatusName",
        "cublasLtMatmul",
        "cublasLtMatmulAlgoGetHeuristic",
        "cublasLtMatmulDescCreate",
        "cublasLtMatmulDescDestroy",
        "cublasLtMatmulDescSetAttribute",
        "cublasLtMatmulPreferenceCreate",
        "cublasLtMatmulPreferenceDestroy",
        "cublasLtMatmulPreferenceSetAttribute",
        "cublasLtMatrixLayoutCreate",
        "cublasLtMatrixLayoutDestroy",
        "cublasLtMatrixLayoutSetAttribute",
    ],
    is_present: cublaslt::sys::is_culib_present,
    open: cublaslt::sys::culib,
    found: Library::new("install the CUDA toolkit's cuBLAS, which contains it"),
};

/// NVIDIA's deep-learning primitives.
pub(crate) static CUDNN: CudaLibrary = CudaLibrary {
    name: "cuDNN (libcudnn)",
    file: "libcudnn.so",
    symbols: &[
        "cudnnCreate",
        "cudnnDestroy",
        "cudnnSetStream",
        "cudnnGetVersion",
        "cudnnGetErrorString",
        "cudnnBackendCreateDescriptor",
        "cudnnBackendDestroyDescriptor",
        "cudnnBackendSetAttribute",
        "cudnnBackendGetAttribute",
        "cudnnBackendFinalize",
        "cudnnBackendExecute",
    ],
    is_present: cudnn::sys::is_culib_present,
    open: cudnn::sys::culib,
    found: Library::new(
        "install cuDNN 9 to use vendor numerics for convolutions, or the PyPI package nvidia-cudnn with its folder in LD_LIBRARY_PATH",
    ),
};

/// NVIDIA's random number generators.
pub(crate) static CURAND: CudaLibrary = CudaLibrary {
    name: "cuRAND (libcurand)",
    file: "libcurand.so",
    symbols: &[
        "curandCreateGenerator",
        "curandDestroyGenerator",
        "curandGetVersion",
        "curandSetStream",
        "curandSetPseudoRandomGeneratorSeed",
        "curandSetGeneratorOffset",
        "curandGenerateUniform",
        "curandGenerateUniformDouble",
        "curandGenerateNormal",
        "curandGenerateNormalDouble",
    ],
    is_present: curand::sys::is_culib_present,
    open: curand::sys::culib,
    found: Library::new("install the CUDA toolkit's cuRAND to use vendor numerics for random numbers"),
};

impl CudaLibrary {
    /// Checks that every symbol is available. The lookup happens once per process.
    ///
    /// # Errors
    /// Returns `LibraryUnavailable`, saying what is missing and what to install.
    pub(crate) fn require(&self) -> Result<()> {
        self.found.require(|| self.look())
    }

    /// Whether the library can be called, as far as this is known without opening it.
    pub(crate) fn is_there(&self) -> bool {
        let stem = self.file.strip_prefix("lib").and_then(|file| file.strip_suffix(".so")).unwrap_or(self.file);
        let files = cudarc::get_lib_name_candidates(stem).into_iter().map(PathBuf::from);
        self.found.is_there(files, || self.look())
    }

    fn look(&self) -> Result<(), String> {
        // SAFETY: opening a vendor library runs its initialisers, which is expected when a device
        // is opened.
        if !unsafe { (self.is_present)() } {
            return Err(format!("{} is not on this machine", self.name));
        }
        let missing: Vec<_> = self.symbols.iter().copied().filter(|s| self.symbol::<*const ()>(s).is_none()).collect();
        if missing.is_empty() {
            return Ok(());
        }
        Err(format!("{} on this machine is too old or broken: it lacks {}", self.name, missing.join(", ")))
    }

    /// Returns a symbol of the library, which must be present.
    pub(crate) fn symbol<F: Copy>(&self, name: &str) -> Option<F> {
        // SAFETY: the library is present, so cudarc opens it without a panic; the caller specifies
        // the symbol's type.
        unsafe { (self.open)().get::<F>(name.as_bytes()).ok().map(|s| *s) }
    }

    /// Returns the file it was loaded from, if it is loaded.
    pub(crate) fn path(&self) -> Option<String> {
        loaded_file(self.file)
    }
}
