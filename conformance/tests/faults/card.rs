//! The simulated cards that the faults run on, and the names of their calls.

use isobit::ErrorKind;
use std::path::PathBuf;

/// A simulated card.
#[derive(Debug, PartialEq, Eq)]
pub struct Card {
    /// Its name in the suite.
    pub id: &'static str,
    /// The name with which its driver opens it.
    pub opened_as: &'static str,
    /// The folder of the vendor's simulated libraries.
    pub folder: &'static str,
    /// The runtime library.
    pub runtime: &'static str,
    /// The BLAS library.
    pub blas: &'static str,
    /// Selects the architecture: two cards of it, so that they can be peers.
    pub select: (&'static str, &'static str),
    /// The place of the vendor's names in pairs: 0 is NVIDIA, 1 AMD.
    pub vendor: usize,
    /// The calls that create a native object, each with the one that destroys it.
    pub natives: &'static [(&'static str, &'static str)],
}

/// The same call of both vendors; empty if a vendor's driver does not make it.
pub type Names = [&'static str; 2];

const NVIDIA: &[(&str, &str)] = &[
    ("cuDevicePrimaryCtxRetain", "cuDevicePrimaryCtxRelease_v2"),
    ("cuMemAlloc_v2", "cuMemFree_v2"),
    ("cuMemHostAlloc", "cuMemFreeHost"),
    ("cuStreamCreate", "cuStreamDestroy_v2"),
    ("cuEventCreate", "cuEventDestroy_v2"),
    ("cuModuleLoadDataEx", "cuModuleUnload"),
    ("cuStreamEndCapture", "cuGraphDestroy"),
    ("cuGraphInstantiateWithFlags", "cuGraphExecDestroy"),
    ("cublasCreate_v2", "cublasDestroy_v2"),
    ("cublasLtMatmulDescCreate", "cublasLtMatmulDescDestroy"),
    ("cublasLtMatmulPreferenceCreate", "cublasLtMatmulPreferenceDestroy"),
    ("cublasLtMatrixLayoutCreate", "cublasLtMatrixLayoutDestroy"),
    ("cudnnCreate", "cudnnDestroy"),
    ("cudnnBackendCreateDescriptor", "cudnnBackendDestroyDescriptor"),
    ("curandCreateGenerator", "curandDestroyGenerator"),
];

const AMD: &[(&str, &str)] = &[
    ("hipMalloc", "hipFree"),
    ("hipHostMalloc", "hipHostFree"),
    ("hipStreamCreateWithFlags", "hipStreamDestroy"),
    ("hipEventCreateWithFlags", "hipEventDestroy"),
    ("hipModuleLoadData", "hipModuleUnload"),
    ("hipStreamEndCapture", "hipGraphDestroy"),
    ("hipGraphInstantiate", "hipGraphExecDestroy"),
    ("rocblas_create_handle", "rocblas_destroy_handle"),
    ("miopenCreateWithStream", "miopenDestroy"),
    ("miopenCreateTensorDescriptor", "miopenDestroyTensorDescriptor"),
    ("miopenCreateConvolutionDescriptor", "miopenDestroyConvolutionDescriptor"),
    ("rocrand_create_generator", "rocrand_destroy_generator"),
    ("hiprtcCreateProgram", "hiprtcDestroyProgram"),
];

impl Card {
    /// NVIDIA's warps of 32, AMD's waves of 64 and of 32.
    pub const ALL: &[Self] = &[
        Self {
            id: "sim-cuda",
            opened_as: "cuda:0",
            folder: "cuda",
            runtime: "libcuda.so",
            blas: "libcublas.so",
            select: ("ISOBIT_SIM_CUDA", "sm_80,sm_80"),
            vendor: 0,
            natives: NVIDIA,
        },
        Self {
            id: "sim-rocm:gfx90a",
            opened_as: "rocm:0",
            folder: "rocm",
            runtime: "libamdhip64.so",
            blas: "librocblas.so",
            select: ("ISOBIT_SIM_ROCM", "gfx90a,gfx90a"),
            vendor: 1,
            natives: AMD,
        },
        Self {
            id: "sim-rocm:gfx1100",
            opened_as: "rocm:0",
            folder: "rocm",
            runtime: "libamdhip64.so",
            blas: "librocblas.so",
            select: ("ISOBIT_SIM_ROCM", "gfx1100,gfx1100"),
            vendor: 1,
            natives: AMD,
        },
    ];

    /// Returns the folder that replaces the vendor's installation.
    pub fn installation(&self) -> PathBuf {
        let built = || isobit_simgpu_install::folder().expect("cargo's target folder");
        std::env::var_os("ISOBIT_SIMGPU").map_or_else(built, PathBuf::from).join(self.folder)
    }

    /// Whether the driver of this card compiles source with a library whose calls can fail. NVRTC
    /// is NVIDIA's own.
    pub fn compiles_on_request(&self) -> bool {
        self.vendor == 1
    }
}

/// A code that both vendors' runtimes have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Code {
    /// The vendors' names.
    pub names: Names,
    /// The kind that the HAL documents for it.
    pub kind: ErrorKind,
}

/// A code for each kind that a call can have.
pub const CODES: [Code; 5] = [
    Code { names: ["CUDA_ERROR_INVALID_VALUE", "hipErrorInvalidValue"], kind: ErrorKind::InvalidArgument },
    Code { names: ["CUDA_ERROR_OUT_OF_MEMORY", "hipErrorOutOfMemory"], kind: ErrorKind::OutOfMemory },
    Code { names: ["CUDA_ERROR_NOT_SUPPORTED", "hipErrorNotSupported"], kind: ErrorKind::UnsupportedOp },
    Code { names: ["CUDA_ERROR_ECC_UNCORRECTABLE", "hipErrorECCNotCorrectable"], kind: ErrorKind::DeviceLost },
    Code { names: ["CUDA_ERROR_UNKNOWN", "hipErrorUnknown"], kind: ErrorKind::Other },
];
