//! CUDA's result codes with their names and descriptions, as the CUDA 13 driver gives them.

isobit_simgpu_runtime_common::codes! {
    /// The result of an API function: `CUresult`.
    Code, unknown "CUDA_ERROR_UNKNOWN" "unknown error", forbidden NOT_PERMITTED;
    SUCCESS CUDA_SUCCESS 0 "no error";
    INVALID_VALUE CUDA_ERROR_INVALID_VALUE 1 "invalid argument";
    OUT_OF_MEMORY CUDA_ERROR_OUT_OF_MEMORY 2 "out of memory";
    NOT_INITIALIZED CUDA_ERROR_NOT_INITIALIZED 3 "initialization error";
    DEINITIALIZED CUDA_ERROR_DEINITIALIZED 4 "driver shutting down";
    PROFILER_DISABLED CUDA_ERROR_PROFILER_DISABLED 5 "profiler disabled while using external profiling tool";
    PROFILER_NOT_INITIALIZED CUDA_ERROR_PROFILER_NOT_INITIALIZED 6
        "profiler not initialized: call cudaProfilerInitialize()";
    PROFILER_ALREADY_STARTED CUDA_ERROR_PROFILER_ALREADY_STARTED 7 "profiler already started";
    PROFILER_ALREADY_STOPPED CUDA_ERROR_PROFILER_ALREADY_STOPPED 8 "profiler already stopped";
    STUB_LIBRARY CUDA_ERROR_STUB_LIBRARY 34 "CUDA driver is a stub library";
    CALL_REQUIRES_NEWER_DRIVER CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER 36
        "API call is not supported in the installed CUDA driver";
    DEVICE_UNAVAILABLE CUDA_ERROR_DEVICE_UNAVAILABLE 46 "CUDA-capable device(s) is/are busy or unavailable";
    NO_DEVICE CUDA_ERROR_NO_DEVICE 100 "no CUDA-capable device is detected";
    INVALID_DEVICE CUDA_ERROR_INVALID_DEVICE 101 "invalid device ordinal";
    DEVICE_NOT_LICENSED CUDA_ERROR_DEVICE_NOT_LICENSED 102 "device doesn't have valid Grid license";
    INVALID_IMAGE CUDA_ERROR_INVALID_IMAGE 200 "device kernel image is invalid";
    INVALID_CONTEXT CUDA_ERROR_INVALID_CONTEXT 201 "invalid device context";
    CONTEXT_ALREADY_CURRENT CUDA_ERROR_CONTEXT_ALREADY_CURRENT 202 "context already current";
    MAP_FAILED CUDA_ERROR_MAP_FAILED 205 "mapping of buffer object failed";
    UNMAP_FAILED CUDA_ERROR_UNMAP_FAILED 206 "unmapping of buffer object failed";
    ARRAY_IS_MAPPED CUDA_ERROR_ARRAY_IS_MAPPED 207 "array is mapped";
    ALREADY_MAPPED CUDA_ERROR_ALREADY_MAPPED 208 "resource already mapped";
    NO_BINARY_FOR_GPU CUDA_ERROR_NO_BINARY_FOR_GPU 209 "no kernel image is available for execution on the device";
    ALREADY_ACQUIRED CUDA_ERROR_ALREADY_ACQUIRED 210 "resource already acquired";
    NOT_MAPPED CUDA_ERROR_NOT_MAPPED 211 "resource not mapped";
    NOT_MAPPED_AS_ARRAY CUDA_ERROR_NOT_MAPPED_AS_ARRAY 212 "resource not mapped as array";
    NOT_MAPPED_AS_POINTER CUDA_ERROR_NOT_MAPPED_AS_POINTER 213 "resource not mapped as pointer";
    ECC_UNCORRECTABLE CUDA_ERROR_ECC_UNCORRECTABLE 214 "uncorrectable ECC error encountered";
    UNSUPPORTED_LIMIT CUDA_ERROR_UNSUPPORTED_LIMIT 215 "limit is not supported on this architecture";
    CONTEXT_ALREADY_IN_USE CUDA_ERROR_CONTEXT_ALREADY_IN_USE 216
        "exclusive-thread device already in use by a different thread";
    PEER_ACCESS_UNSUPPORTED CUDA_ERROR_PEER_ACCESS_UNSUPPORTED 217
        "peer access is not supported between these two devices";
    INVALID_PTX CUDA_ERROR_INVALID_PTX 218 "a PTX JIT compilation failed";
    INVALID_GRAPHICS_CONTEXT CUDA_ERROR_INVALID_GRAPHICS_CONTEXT 219 "invalid OpenGL or DirectX context";
    NVLINK_UNCORRECTABLE CUDA_ERROR_NVLINK_UNCORRECTABLE 220 "uncorrectable NVLink error detected during the execution";
    JIT_COMPILER_NOT_FOUND CUDA_ERROR_JIT_COMPILER_NOT_FOUND 221 "PTX JIT compiler library not found";
    UNSUPPORTED_PTX_VERSION CUDA_ERROR_UNSUPPORTED_PTX_VERSION 222
        "the provided PTX was compiled with an unsupported toolchain.";
    JIT_COMPILATION_DISABLED CUDA_ERROR_JIT_COMPILATION_DISABLED 223 "PTX JIT compilation was disabled";
    UNSUPPORTED_EXEC_AFFINITY CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY 224
        "the provided execution affinity is not supported";
    UNSUPPORTED_DEVSIDE_SYNC CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC 225
        "the provided PTX contains unsupported call to cudaDeviceSynchronize";
    CONTAINED CUDA_ERROR_CONTAINED 226 "Invalid access of peer GPU memory over nvlink or a hardware error";
    INVALID_SOURCE CUDA_ERROR_INVALID_SOURCE 300 "device kernel image is invalid";
    FILE_NOT_FOUND CUDA_ERROR_FILE_NOT_FOUND 301 "file not found";
    SHARED_OBJECT_SYMBOL_NOT_FOUND CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND 302 "shared object symbol not found";
    SHARED_OBJECT_INIT_FAILED CUDA_ERROR_SHARED_OBJECT_INIT_FAILED 303 "shared object initialization failed";
    OPERATING_SYSTEM CUDA_ERROR_OPERATING_SYSTEM 304 "OS call failed or operation not supported on this OS";
    INVALID_HANDLE CUDA_ERROR_INVALID_HANDLE 400 "invalid resource handle";
    ILLEGAL_STATE CUDA_ERROR_ILLEGAL_STATE 401 "the operation cannot be performed in the present state";
    LOSSY_QUERY CUDA_ERROR_LOSSY_QUERY 402 "attempted introspection would be semantically lossy";
    NOT_FOUND CUDA_ERROR_NOT_FOUND 500 "named symbol not found";
    NOT_READY CUDA_ERROR_NOT_READY 600 "device not ready";
    ILLEGAL_ADDRESS CUDA_ERROR_ILLEGAL_ADDRESS 700 "an illegal memory access was encountered";
    LAUNCH_OUT_OF_RESOURCES CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES 701 "too many resources requested for launch";
    LAUNCH_TIMEOUT CUDA_ERROR_LAUNCH_TIMEOUT 702 "the launch timed out and was terminated";
    LAUNCH_INCOMPATIBLE_TEXTURING CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING 703
        "launch uses incompatible texturing mode";
    PEER_ACCESS_ALREADY_ENABLED CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED 704 "peer access is already enabled";
    PEER_ACCESS_NOT_ENABLED CUDA_ERROR_PEER_ACCESS_NOT_ENABLED 705 "peer access has not been enabled";
    PRIMARY_CONTEXT_ACTIVE CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE 708 "cannot set while device is active in this process";
    CONTEXT_IS_DESTROYED CUDA_ERROR_CONTEXT_IS_DESTROYED 709 "context is destroyed";
    ASSERT CUDA_ERROR_ASSERT 710 "device-side assert triggered";
    TOO_MANY_PEERS CUDA_ERROR_TOO_MANY_PEERS 711 "peer mapping resources exhausted";
    HOST_MEMORY_ALREADY_REGISTERED CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED 712
        "part or all of the requested memory range is already mapped";
    HOST_MEMORY_NOT_REGISTERED CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED 713
        "pointer does not correspond to a registered memory region";
    HARDWARE_STACK_ERROR CUDA_ERROR_HARDWARE_STACK_ERROR 714 "hardware stack error";
    ILLEGAL_INSTRUCTION CUDA_ERROR_ILLEGAL_INSTRUCTION 715 "an illegal instruction was encountered";
    MISALIGNED_ADDRESS CUDA_ERROR_MISALIGNED_ADDRESS 716 "misaligned address";
    INVALID_ADDRESS_SPACE CUDA_ERROR_INVALID_ADDRESS_SPACE 717 "operation not supported on global/shared address space";
    INVALID_PC CUDA_ERROR_INVALID_PC 718 "invalid program counter";
    LAUNCH_FAILURE CUDA_ERROR_LAUNCH_FAILED 719 "unspecified launch failure";
    COOPERATIVE_LAUNCH_TOO_LARGE CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE 720 "too many blocks in cooperative launch";
    TENSOR_MEMORY_LEAK CUDA_ERROR_TENSOR_MEMORY_LEAK 721 "tensor memory not completely freed";
    NOT_PERMITTED CUDA_ERROR_NOT_PERMITTED 800 "operation not permitted";
    NOT_SUPPORTED CUDA_ERROR_NOT_SUPPORTED 801 "operation not supported";
    SYSTEM_NOT_READY CUDA_ERROR_SYSTEM_NOT_READY 802 "system not yet initialized";
    SYSTEM_DRIVER_MISMATCH CUDA_ERROR_SYSTEM_DRIVER_MISMATCH 803
        "system has unsupported display driver / cuda driver combination";
    COMPAT_NOT_SUPPORTED_ON_DEVICE CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE 804
        "forward compatibility was attempted on non supported HW";
    MPS_CONNECTION_FAILED CUDA_ERROR_MPS_CONNECTION_FAILED 805
        "MPS client failed to connect to the MPS control daemon or the MPS server";
    MPS_RPC_FAILURE CUDA_ERROR_MPS_RPC_FAILURE 806
        "the remote procedural call between the MPS server and the MPS client failed";
    MPS_SERVER_NOT_READY CUDA_ERROR_MPS_SERVER_NOT_READY 807
        "MPS server is not ready to accept new MPS client requests";
    MPS_MAX_CLIENTS_REACHED CUDA_ERROR_MPS_MAX_CLIENTS_REACHED 808
        "the hardware resources required to create MPS client have been exhausted";
    MPS_MAX_CONNECTIONS_REACHED CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED 809
        "the hardware resources required to support device connections have been exhausted";
    MPS_CLIENT_TERMINATED CUDA_ERROR_MPS_CLIENT_TERMINATED 810 "the MPS client has been terminated by the server";
    CDP_NOT_SUPPORTED CUDA_ERROR_CDP_NOT_SUPPORTED 811
        "is using CUDA Dynamic Parallelism, but the current configuration, like MPS, does not support it";
    CDP_VERSION_MISMATCH CUDA_ERROR_CDP_VERSION_MISMATCH 812
        "unsupported interaction between different versions of CUDA Dynamic Parallelism";
    STREAM_CAPTURE_UNSUPPORTED CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED 900
        "operation not permitted when stream is capturing";
    STREAM_CAPTURE_INVALIDATED CUDA_ERROR_STREAM_CAPTURE_INVALIDATED 901
        "operation failed due to a previous error during capture";
    STREAM_CAPTURE_MERGE CUDA_ERROR_STREAM_CAPTURE_MERGE 902
        "operation would result in a merge of separate capture sequences";
    STREAM_CAPTURE_UNMATCHED CUDA_ERROR_STREAM_CAPTURE_UNMATCHED 903
        "capture was not ended in the same stream as it began";
    STREAM_CAPTURE_UNJOINED CUDA_ERROR_STREAM_CAPTURE_UNJOINED 904 "capturing stream has unjoined work";
    STREAM_CAPTURE_ISOLATION CUDA_ERROR_STREAM_CAPTURE_ISOLATION 905
        "dependency created on uncaptured work in another stream";
    STREAM_CAPTURE_IMPLICIT CUDA_ERROR_STREAM_CAPTURE_IMPLICIT 906
        "operation would make the legacy stream depend on a capturing blocking stream";
    CAPTURED_EVENT CUDA_ERROR_CAPTURED_EVENT 907
        "operation not permitted on an event last recorded in a capturing stream";
    STREAM_CAPTURE_WRONG_THREAD CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD 908
        "attempt to terminate a thread-local capture sequence from another thread";
    TIMEOUT CUDA_ERROR_TIMEOUT 909 "wait operation timed out";
    GRAPH_EXEC_UPDATE_FAILURE CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE 910
        "the graph update was not performed because it included changes which violated constraints specific to instantiated graph update";
    EXTERNAL_DEVICE CUDA_ERROR_EXTERNAL_DEVICE 911 "an async error has occured in external entity outside of CUDA";
    INVALID_CLUSTER_SIZE CUDA_ERROR_INVALID_CLUSTER_SIZE 912
        "a kernel launch error has occurred due to cluster misconfiguration";
    FUNCTION_NOT_LOADED CUDA_ERROR_FUNCTION_NOT_LOADED 913
        "the function handle is not loaded when calling an API that requires a loaded function";
    INVALID_RESOURCE_TYPE CUDA_ERROR_INVALID_RESOURCE_TYPE 914
        "one or more resources passed in are not valid resource types for the operation";
    INVALID_RESOURCE_CONFIGURATION CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION 915
        "one or more resources are insufficient or non-applicable for the operation";
    KEY_ROTATION CUDA_ERROR_KEY_ROTATION 916 "an error happened during the key rotation sequence";
    UNKNOWN CUDA_ERROR_UNKNOWN 999 "unknown error";
}
