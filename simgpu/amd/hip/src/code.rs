//! HIP's result codes, with their names and meanings.

isobit_simgpu_runtime_common::codes! {
    /// The result of a function: `hipError_t`.
    Code, unknown "hipErrorUnknown" "unknown error", forbidden NOT_SUPPORTED;
    SUCCESS hipSuccess 0 "no error";
    INVALID_VALUE hipErrorInvalidValue 1 "invalid argument";
    OUT_OF_MEMORY hipErrorOutOfMemory 2 "out of memory";
    NOT_INITIALIZED hipErrorNotInitialized 3 "initialization error";
    DEINITIALIZED hipErrorDeinitialized 4 "driver shutting down";
    PROFILER_DISABLED hipErrorProfilerDisabled 5 "profiler disabled while using external profiling tool";
    PROFILER_NOT_INITIALIZED hipErrorProfilerNotInitialized 6 "profiler is not initialized";
    PROFILER_ALREADY_STARTED hipErrorProfilerAlreadyStarted 7 "profiler already started";
    PROFILER_ALREADY_STOPPED hipErrorProfilerAlreadyStopped 8 "profiler already stopped";
    INVALID_CONFIGURATION hipErrorInvalidConfiguration 9 "invalid configuration argument";
    INVALID_PITCH_VALUE hipErrorInvalidPitchValue 12 "invalid pitch argument";
    INVALID_SYMBOL hipErrorInvalidSymbol 13 "invalid device symbol";
    INVALID_DEVICE_POINTER hipErrorInvalidDevicePointer 17 "invalid device pointer";
    INVALID_MEMCPY_DIRECTION hipErrorInvalidMemcpyDirection 21 "invalid copy direction for memcpy";
    INSUFFICIENT_DRIVER hipErrorInsufficientDriver 35 "driver version is insufficient for runtime version";
    MISSING_CONFIGURATION hipErrorMissingConfiguration 52 "__global__ function call is not configured";
    PRIOR_LAUNCH_FAILURE hipErrorPriorLaunchFailure 53 "unspecified launch failure in prior launch";
    INVALID_DEVICE_FUNCTION hipErrorInvalidDeviceFunction 98 "invalid device function";
    NO_DEVICE hipErrorNoDevice 100 "no ROCm-capable device is detected";
    INVALID_DEVICE hipErrorInvalidDevice 101 "invalid device ordinal";
    INVALID_IMAGE hipErrorInvalidImage 200 "device kernel image is invalid";
    INVALID_CONTEXT hipErrorInvalidContext 201 "invalid device context";
    CONTEXT_ALREADY_CURRENT hipErrorContextAlreadyCurrent 202 "context is already current context";
    MAP_FAILED hipErrorMapFailed 205 "mapping of buffer object failed";
    UNMAP_FAILED hipErrorUnmapFailed 206 "unmapping of buffer object failed";
    ARRAY_IS_MAPPED hipErrorArrayIsMapped 207 "array is mapped";
    ALREADY_MAPPED hipErrorAlreadyMapped 208 "resource already mapped";
    NO_BINARY_FOR_GPU hipErrorNoBinaryForGpu 209 "no kernel image is available for execution on the device";
    ALREADY_ACQUIRED hipErrorAlreadyAcquired 210 "resource already acquired";
    NOT_MAPPED hipErrorNotMapped 211 "resource not mapped";
    NOT_MAPPED_AS_ARRAY hipErrorNotMappedAsArray 212 "resource not mapped as array";
    NOT_MAPPED_AS_POINTER hipErrorNotMappedAsPointer 213 "resource not mapped as pointer";
    ECC_NOT_CORRECTABLE hipErrorECCNotCorrectable 214 "uncorrectable ECC error encountered";
    UNSUPPORTED_LIMIT hipErrorUnsupportedLimit 215 "limit is not supported on this architecture";
    CONTEXT_ALREADY_IN_USE hipErrorContextAlreadyInUse 216 "exclusive-thread device already in use by a different thread";
    PEER_ACCESS_UNSUPPORTED hipErrorPeerAccessUnsupported 217 "peer access is not supported between these two devices";
    INVALID_KERNEL_FILE hipErrorInvalidKernelFile 218 "invalid kernel file";
    INVALID_GRAPHICS_CONTEXT hipErrorInvalidGraphicsContext 219 "invalid OpenGL or DirectX context";
    INVALID_SOURCE hipErrorInvalidSource 300 "device kernel image is invalid";
    FILE_NOT_FOUND hipErrorFileNotFound 301 "file not found";
    SHARED_OBJECT_SYMBOL_NOT_FOUND hipErrorSharedObjectSymbolNotFound 302 "shared object symbol not found";
    SHARED_OBJECT_INIT_FAILED hipErrorSharedObjectInitFailed 303 "shared object initialization failed";
    OPERATING_SYSTEM hipErrorOperatingSystem 304 "OS call failed or operation not supported on this OS";
    INVALID_HANDLE hipErrorInvalidHandle 400 "invalid resource handle";
    ILLEGAL_STATE hipErrorIllegalState 401 "the operation cannot be performed in the present state";
    NOT_FOUND hipErrorNotFound 500 "named symbol not found";
    NOT_READY hipErrorNotReady 600 "device not ready";
    ILLEGAL_ADDRESS hipErrorIllegalAddress 700 "an illegal memory access was encountered";
    LAUNCH_OUT_OF_RESOURCES hipErrorLaunchOutOfResources 701 "too many resources requested for launch";
    LAUNCH_TIMEOUT hipErrorLaunchTimeOut 702 "the launch timed out and was terminated";
    PEER_ACCESS_ALREADY_ENABLED hipErrorPeerAccessAlreadyEnabled 704 "peer access is already enabled";
    PEER_ACCESS_NOT_ENABLED hipErrorPeerAccessNotEnabled 705 "peer access has not been enabled";
    SET_ON_ACTIVE_PROCESS hipErrorSetOnActiveProcess 708 "cannot set while device is active in this process";
    CONTEXT_IS_DESTROYED hipErrorContextIsDestroyed 709 "context is destroyed";
    ASSERT hipErrorAssert 710 "device-side assert triggered";
    HOST_MEMORY_ALREADY_REGISTERED hipErrorHostMemoryAlreadyRegistered 712
        "part or all of the requested memory range is already mapped";
    HOST_MEMORY_NOT_REGISTERED hipErrorHostMemoryNotRegistered 713
        "pointer does not correspond to a registered memory region";
    LAUNCH_FAILURE hipErrorLaunchFailure 719 "unspecified launch failure";
    COOPERATIVE_LAUNCH_TOO_LARGE hipErrorCooperativeLaunchTooLarge 720 "too many blocks in cooperative launch";
    NOT_SUPPORTED hipErrorNotSupported 801 "operation not supported";
    STREAM_CAPTURE_UNSUPPORTED hipErrorStreamCaptureUnsupported 900 "operation not permitted when stream is capturing";
    STREAM_CAPTURE_INVALIDATED hipErrorStreamCaptureInvalidated 901
        "operation failed due to a previous error during capture";
    STREAM_CAPTURE_MERGE hipErrorStreamCaptureMerge 902
        "operation would result in a merge of separate capture sequences";
    STREAM_CAPTURE_UNMATCHED hipErrorStreamCaptureUnmatched 903
        "capture was not ended in the same stream as it began";
    STREAM_CAPTURE_UNJOINED hipErrorStreamCaptureUnjoined 904 "capturing stream has unjoined work";
    STREAM_CAPTURE_ISOLATION hipErrorStreamCaptureIsolation 905
        "dependency created on uncaptured work in another stream";
    STREAM_CAPTURE_IMPLICIT hipErrorStreamCaptureImplicit 906
        "operation would make the legacy stream depend on a capturing blocking stream";
    CAPTURED_EVENT hipErrorCapturedEvent 907 "operation not permitted on an event last recorded in a capturing stream";
    STREAM_CAPTURE_WRONG_THREAD hipErrorStreamCaptureWrongThread 908
        "attempt to terminate a thread-local capture sequence from another thread";
    GRAPH_EXEC_UPDATE_FAILURE hipErrorGraphExecUpdateFailure 910
        "the graph update was not performed because it included changes which violated constraints specific to instantiated graph update";
    UNKNOWN hipErrorUnknown 999 "unknown error";
    RUNTIME_MEMORY hipErrorRuntimeMemory 1052 "runtime memory call returned error";
    RUNTIME_OTHER hipErrorRuntimeOther 1053 "runtime call other than memory returned error";
}

/// HIP has no codes of its own for these failures.
impl Code {
    const MISALIGNED_ADDRESS: Self = Self::LAUNCH_FAILURE;
    const ILLEGAL_INSTRUCTION: Self = Self::LAUNCH_FAILURE;
    const HARDWARE_STACK_ERROR: Self = Self::LAUNCH_FAILURE;
    const INVALID_PC: Self = Self::LAUNCH_FAILURE;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_its_name_and_meaning() {
        assert_eq!(Code::SUCCESS.name(), c"hipSuccess");
        assert_eq!(Code(209).name(), c"hipErrorNoBinaryForGpu");
        assert_eq!(Code(209).meaning(), c"no kernel image is available for execution on the device");
        assert_eq!(Code(998).name(), c"hipErrorUnknown");
        assert_eq!(Code(998).meaning(), c"unknown error");
        assert!(Code(719).is_known() && !Code(998).is_known());
    }
}
