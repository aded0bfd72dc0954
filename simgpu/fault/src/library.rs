//! The simulated libraries: the names of their functions and files, and the statuses that those
//! libraries return which compute on top of a runtime.
//!
//! The statuses are those of the vendors' headers, also where a simulated library never returns one
//! itself. The codes of CUDA and HIP are in the tables of their runtime libraries.

/// A vendor of simulated GPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vendor {
    /// NVIDIA: libcuda and the libraries beside it.
    Nvidia,
    /// AMD: libamdhip64 and the libraries beside it.
    Amd,
}

/// A simulated library.
#[derive(Debug)]
pub struct Library {
    /// Its vendor.
    pub vendor: Vendor,
    /// Its file without a version.
    pub file: &'static str,
    /// What the names of its functions begin with.
    pub prefix: &'static str,
    /// Whether it is the vendor's runtime, which counts the calls of all libraries of the vendor.
    pub is_runtime: bool,
    /// The names of its statuses and their numbers; empty for a runtime, which has its own table.
    pub statuses: &'static [(&'static str, i32)],
    /// Functions that return no status, and so cannot fail.
    pub infallible: &'static [&'static str],
}

/// Every library. A prefix of another library's prefix comes after it.
pub const LIBRARIES: &[Library] = &[
    Library {
        vendor: Vendor::Nvidia,
        file: "libcublas.so",
        prefix: "cublas",
        is_runtime: false,
        statuses: CUBLAS,
        infallible: &[
            "cublasGetStatusName",
            "cublasGetStatusString",
            "cublasLtGetStatusName",
            "cublasLtGetStatusString",
            "cublasLtGetVersion",
        ],
    },
    Library {
        vendor: Vendor::Nvidia,
        file: "libcudnn.so",
        prefix: "cudnn",
        is_runtime: false,
        statuses: CUDNN,
        infallible: &["cudnnGetVersion", "cudnnGetCudartVersion", "cudnnGetErrorString", "cudnnGetLastErrorString"],
    },
    Library {
        vendor: Vendor::Nvidia,
        file: "libcurand.so",
        prefix: "curand",
        is_runtime: false,
        statuses: CURAND,
        infallible: &[],
    },
    Library {
        vendor: Vendor::Nvidia,
        file: "libnccl.so",
        prefix: "nccl",
        is_runtime: false,
        statuses: NCCL,
        infallible: NCCL_INFALLIBLE,
    },
    Library {
        vendor: Vendor::Nvidia,
        file: "libcuda.so",
        prefix: "cu",
        is_runtime: true,
        statuses: &[],
        infallible: &[],
    },
    Library {
        vendor: Vendor::Amd,
        file: "librocblas.so",
        prefix: "rocblas_",
        is_runtime: false,
        statuses: ROCBLAS,
        infallible: &["rocblas_status_to_string"],
    },
    Library {
        vendor: Vendor::Amd,
        file: "libhipblaslt.so",
        prefix: "hipblasLt",
        is_runtime: false,
        statuses: HIPBLASLT,
        infallible: &[],
    },
    Library {
        vendor: Vendor::Amd,
        file: "librocrand.so",
        prefix: "rocrand_",
        is_runtime: false,
        statuses: ROCRAND,
        infallible: &[],
    },
    Library {
        vendor: Vendor::Amd,
        file: "librccl.so",
        prefix: "nccl",
        is_runtime: false,
        statuses: NCCL,
        infallible: NCCL_INFALLIBLE,
    },
    Library {
        vendor: Vendor::Amd,
        file: "libMIOpen.so",
        prefix: "miopen",
        is_runtime: false,
        statuses: MIOPEN,
        infallible: &["miopenGetErrorString"],
    },
    Library {
        vendor: Vendor::Amd,
        file: "libhiprtc.so",
        prefix: "hiprtc",
        is_runtime: false,
        statuses: HIPRTC,
        infallible: &["hiprtcGetErrorString"],
    },
    Library {
        vendor: Vendor::Amd,
        file: "libamdhip64.so",
        prefix: "hip",
        is_runtime: true,
        statuses: &[],
        infallible: &[
            "hipGetLastError",
            "hipExtGetLastError",
            "hipPeekAtLastError",
            "hipGetErrorName",
            "hipGetErrorString",
        ],
    },
];

impl Library {
    /// Returns the library that a function belongs to by its name: that of a vendor, if the
    /// libraries of both have functions of this name. NVRTC is not simulated.
    pub fn of(function: &str, vendor: Vendor) -> Option<&'static Self> {
        let mut named = LIBRARIES.iter().filter(|library| function.starts_with(library.prefix));
        let first = named.next()?;
        let same = |library: &&Self| library.prefix == first.prefix && library.vendor == vendor;
        Some(if first.vendor == vendor { first } else { named.find(same).unwrap_or(first) })
    }

    /// Returns the number of a status by its name.
    pub fn status(&self, name: &str) -> Option<i32> {
        self.statuses.iter().find(|(known, _)| *known == name).map(|(_, number)| *number)
    }
}

const CUBLAS: &[(&str, i32)] = &[
    ("CUBLAS_STATUS_NOT_INITIALIZED", 1),
    ("CUBLAS_STATUS_ALLOC_FAILED", 3),
    ("CUBLAS_STATUS_INVALID_VALUE", 7),
    ("CUBLAS_STATUS_ARCH_MISMATCH", 8),
    ("CUBLAS_STATUS_MAPPING_ERROR", 11),
    ("CUBLAS_STATUS_EXECUTION_FAILED", 13),
    ("CUBLAS_STATUS_INTERNAL_ERROR", 14),
    ("CUBLAS_STATUS_NOT_SUPPORTED", 15),
    ("CUBLAS_STATUS_LICENSE_ERROR", 16),
];

const CUDNN: &[(&str, i32)] = &[
    ("CUDNN_STATUS_NOT_INITIALIZED", 1001),
    ("CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH", 1002),
    ("CUDNN_STATUS_SERIALIZATION_VERSION_MISMATCH", 1003),
    ("CUDNN_STATUS_DEPRECATED", 1004),
    ("CUDNN_STATUS_LICENSE_ERROR", 1005),
    ("CUDNN_STATUS_RUNTIME_IN_PROGRESS", 1006),
    ("CUDNN_STATUS_RUNTIME_FP_OVERFLOW", 1007),
    ("CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED", 1008),
    ("CUDNN_STATUS_BAD_PARAM", 2000),
    ("CUDNN_STATUS_BAD_PARAM_NULL_POINTER", 2002),
    ("CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER", 2003),
    ("CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED", 2004),
    ("CUDNN_STATUS_BAD_PARAM_OUT_OF_BOUND", 2005),
    ("CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT", 2006),
    ("CUDNN_STATUS_BAD_PARAM_STREAM_MISMATCH", 2007),
    ("CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH", 2008),
    ("CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES", 2009),
    ("CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE", 2010),
    ("CUDNN_STATUS_BAD_PARAM_CUDA_GRAPH_MISMATCH", 2011),
    ("CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE", 2012),
    ("CUDNN_STATUS_NOT_SUPPORTED", 3000),
    ("CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN", 3001),
    ("CUDNN_STATUS_NOT_SUPPORTED_SHAPE", 3002),
    ("CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE", 3003),
    ("CUDNN_STATUS_NOT_SUPPORTED_LAYOUT", 3004),
    ("CUDNN_STATUS_NOT_SUPPORTED_INCOMPATIBLE_CUDA_DRIVER", 3005),
    ("CUDNN_STATUS_NOT_SUPPORTED_INCOMPATIBLE_CUDART", 3006),
    ("CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH", 3007),
    ("CUDNN_STATUS_NOT_SUPPORTED_RUNTIME_PREREQUISITE_MISSING", 3008),
    ("CUDNN_STATUS_NOT_SUPPORTED_SUBLIBRARY_UNAVAILABLE", 3009),
    ("CUDNN_STATUS_NOT_SUPPORTED_SHARED_MEMORY_INSUFFICIENT", 3010),
    ("CUDNN_STATUS_NOT_SUPPORTED_PADDING", 3011),
    ("CUDNN_STATUS_NOT_SUPPORTED_BAD_LAUNCH_PARAM", 3012),
    ("CUDNN_STATUS_NOT_SUPPORTED_CUDA_GRAPH_NATIVE_API", 3013),
    ("CUDNN_STATUS_INTERNAL_ERROR", 4000),
    ("CUDNN_STATUS_INTERNAL_ERROR_COMPILATION_FAILED", 4001),
    ("CUDNN_STATUS_INTERNAL_ERROR_UNEXPECTED_VALUE", 4002),
    ("CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED", 4003),
    ("CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED", 4004),
    ("CUDNN_STATUS_INTERNAL_ERROR_BAD_LAUNCH_PARAM", 4005),
    ("CUDNN_STATUS_INTERNAL_ERROR_TEXTURE_CREATION_FAILED", 4006),
    ("CUDNN_STATUS_EXECUTION_FAILED", 5000),
    ("CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER", 5001),
    ("CUDNN_STATUS_EXECUTION_FAILED_CUBLAS", 5002),
    ("CUDNN_STATUS_EXECUTION_FAILED_CUDART", 5003),
    ("CUDNN_STATUS_EXECUTION_FAILED_CURAND", 5004),
];

const CURAND: &[(&str, i32)] = &[
    ("CURAND_STATUS_VERSION_MISMATCH", 100),
    ("CURAND_STATUS_NOT_INITIALIZED", 101),
    ("CURAND_STATUS_ALLOCATION_FAILED", 102),
    ("CURAND_STATUS_TYPE_ERROR", 103),
    ("CURAND_STATUS_OUT_OF_RANGE", 104),
    ("CURAND_STATUS_LENGTH_NOT_MULTIPLE", 105),
    ("CURAND_STATUS_DOUBLE_PRECISION_REQUIRED", 106),
    ("CURAND_STATUS_LAUNCH_FAILURE", 201),
    ("CURAND_STATUS_PREEXISTING_FAILURE", 202),
    ("CURAND_STATUS_INITIALIZATION_FAILED", 203),
    ("CURAND_STATUS_ARCH_MISMATCH", 204),
    ("CURAND_STATUS_INTERNAL_ERROR", 999),
];

/// Of both vendors.
const NCCL: &[(&str, i32)] = &[
    ("ncclUnhandledCudaError", 1),
    ("ncclSystemError", 2),
    ("ncclInternalError", 3),
    ("ncclInvalidArgument", 4),
    ("ncclInvalidUsage", 5),
    ("ncclRemoteError", 6),
    ("ncclInProgress", 7),
];

/// Of both vendors.
const NCCL_INFALLIBLE: &[&str] = &["ncclGetErrorString", "ncclGetLastError"];

const ROCBLAS: &[(&str, i32)] = &[
    ("rocblas_status_invalid_handle", 1),
    ("rocblas_status_not_implemented", 2),
    ("rocblas_status_invalid_pointer", 3),
    ("rocblas_status_invalid_size", 4),
    ("rocblas_status_memory_error", 5),
    ("rocblas_status_internal_error", 6),
    ("rocblas_status_perf_degraded", 7),
    ("rocblas_status_size_query_mismatch", 8),
    ("rocblas_status_size_increased", 9),
    ("rocblas_status_size_unchanged", 10),
    ("rocblas_status_invalid_value", 11),
    ("rocblas_status_continue", 12),
    ("rocblas_status_check_numerics_fail", 13),
    ("rocblas_status_excluded_from_build", 14),
    ("rocblas_status_arch_mismatch", 15),
];

const HIPBLASLT: &[(&str, i32)] = &[
    ("HIPBLAS_STATUS_NOT_INITIALIZED", 1),
    ("HIPBLAS_STATUS_ALLOC_FAILED", 2),
    ("HIPBLAS_STATUS_INVALID_VALUE", 3),
    ("HIPBLAS_STATUS_MAPPING_ERROR", 4),
    ("HIPBLAS_STATUS_EXECUTION_FAILED", 5),
    ("HIPBLAS_STATUS_INTERNAL_ERROR", 6),
    ("HIPBLAS_STATUS_NOT_SUPPORTED", 7),
    ("HIPBLAS_STATUS_ARCH_MISMATCH", 8),
    ("HIPBLAS_STATUS_HANDLE_IS_NULLPTR", 9),
    ("HIPBLAS_STATUS_INVALID_ENUM", 10),
    ("HIPBLAS_STATUS_UNKNOWN", 11),
];

const ROCRAND: &[(&str, i32)] = &[
    ("ROCRAND_STATUS_VERSION_MISMATCH", 100),
    ("ROCRAND_STATUS_NOT_CREATED", 101),
    ("ROCRAND_STATUS_ALLOCATION_FAILED", 102),
    ("ROCRAND_STATUS_TYPE_ERROR", 103),
    ("ROCRAND_STATUS_OUT_OF_RANGE", 104),
    ("ROCRAND_STATUS_LENGTH_NOT_MULTIPLE", 105),
    ("ROCRAND_STATUS_DOUBLE_PRECISION_REQUIRED", 106),
    ("ROCRAND_STATUS_LAUNCH_FAILURE", 107),
    ("ROCRAND_STATUS_INTERNAL_ERROR", 108),
];

const MIOPEN: &[(&str, i32)] = &[
    ("miopenStatusNotInitialized", 1),
    ("miopenStatusInvalidValue", 2),
    ("miopenStatusBadParm", 3),
    ("miopenStatusAllocFailed", 4),
    ("miopenStatusInternalError", 5),
    ("miopenStatusNotImplemented", 6),
    ("miopenStatusUnknownError", 7),
    ("miopenStatusUnsupportedOp", 8),
    ("miopenStatusGpuOperationsSkipped", 9),
    ("miopenStatusVersionMismatch", 10),
];

const HIPRTC: &[(&str, i32)] = &[
    ("HIPRTC_ERROR_OUT_OF_MEMORY", 1),
    ("HIPRTC_ERROR_PROGRAM_CREATION_FAILURE", 2),
    ("HIPRTC_ERROR_INVALID_INPUT", 3),
    ("HIPRTC_ERROR_INVALID_PROGRAM", 4),
    ("HIPRTC_ERROR_INVALID_OPTION", 5),
    ("HIPRTC_ERROR_COMPILATION", 6),
    ("HIPRTC_ERROR_BUILTIN_OPERATION_FAILURE", 7),
    ("HIPRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION", 8),
    ("HIPRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION", 9),
    ("HIPRTC_ERROR_NAME_EXPRESSION_NOT_VALID", 10),
    ("HIPRTC_ERROR_INTERNAL_ERROR", 11),
    ("HIPRTC_ERROR_LINKING", 100),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_belongs_to_the_library_that_exports_it() {
        let file = |name| Library::of(name, Vendor::Nvidia).map(|library| library.file);
        for (name, expected) in [
            ("cublasGemmEx", "libcublas.so"),
            ("cudnnCreate", "libcudnn.so"),
            ("curandGenerate", "libcurand.so"),
            ("cuInit", "libcuda.so"),
            ("hipMalloc", "libamdhip64.so"),
            ("hipblasLtMatmul", "libhipblaslt.so"),
            ("hiprtcCompileProgram", "libhiprtc.so"),
            ("miopenCreate", "libMIOpen.so"),
            ("rocblas_gemm_ex", "librocblas.so"),
            ("rocrand_generate", "librocrand.so"),
        ] {
            assert_eq!(file(name), Some(expected));
        }
        assert_eq!((file("nvrtcCompileProgram"), file("malloc")), (None, None));
        let of_both = [Vendor::Nvidia, Vendor::Amd].map(|vendor| Library::of("ncclAllReduce", vendor));
        assert_eq!(
            of_both.map(|library| library.map(|library| library.file)),
            [Some("libnccl.so"), Some("librccl.so")]
        );
    }

    #[test]
    fn no_status_is_named_twice_or_zero() {
        for library in LIBRARIES {
            for (at, (name, number)) in library.statuses.iter().enumerate() {
                assert_ne!(*number, 0, "{name} would be success");
                let rest = &library.statuses[at + 1..];
                assert!(rest.iter().all(|(other, n)| other != name && n != number), "{name}");
            }
        }
        let cublas = Library::of("cublasCreate_v2", Vendor::Amd).unwrap();
        assert_eq!(cublas.status("CUBLAS_STATUS_EXECUTION_FAILED"), Some(13));
        assert_eq!(cublas.status("CUDA_ERROR_OUT_OF_MEMORY"), None);
    }
}
