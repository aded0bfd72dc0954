//! The HIP runtime: `hip/hip_runtime_api.h`.

use crate::properties::{hipDeviceProp_tR0000, hipDeviceProp_tR0600};
use std::ffi::{c_char, c_float, c_int, c_uchar, c_uint, c_void};

/// The status of a call.
/// <https://rocm.docs.amd.com/projects/HIP/en/latest/reference/error_codes.html>
pub type hipError_t = c_uint;
/// A device attribute, for [`Hip::hipDeviceGetAttribute`].
pub type hipDeviceAttribute_t = c_uint;
/// A kernel's attribute, for [`Hip::hipFuncGetAttribute`].
pub type hipFunction_attribute = c_uint;
/// The direction of a copy.
pub type hipMemcpyKind = c_uint;
/// The calls that a capture forbids.
pub type hipStreamCaptureMode = c_uint;
/// Whether a stream is being captured.
pub type hipStreamCaptureStatus = c_uint;
/// The result of updating a graph.
pub type hipGraphExecUpdateResult = c_uint;
/// A device's ordinal.
pub type hipDevice_t = c_int;
/// An address in device memory.
pub type hipDeviceptr_t = *mut c_void;

crate::handles! {
    /// A stream.
    hipStream_t = ihipStream_t;
    /// An event.
    hipEvent_t = ihipEvent_t;
    /// A loaded code object.
    hipModule_t = ihipModule_t;
    /// A kernel of a loaded code object.
    hipFunction_t = ihipModuleSymbol_t;
    /// A graph.
    hipGraph_t = ihipGraph;
    /// A node of a graph.
    hipGraphNode_t = hipGraphNode;
    /// An executable graph.
    hipGraphExec_t = hipGraphExec;
}

crate::constants! { hipError_t:
    hipSuccess = 0, "Done.";
    hipErrorInvalidValue = 1, "An argument is null or out of range.";
    hipErrorOutOfMemory = 2, "No memory is left.";
    hipErrorNotInitialized = 3, "The runtime is not initialised.";
    hipErrorDeinitialized = 4, "The process is ending.";
    hipErrorInvalidConfiguration = 9, "A launch requires more than the device supports.";
    hipErrorInsufficientDriver = 35, "The kernel driver is older than the runtime.";
    hipErrorInvalidDeviceFunction = 98, "A kernel was not compiled for this device.";
    hipErrorNoDevice = 100, "There is no AMD GPU.";
    hipErrorInvalidDevice = 101, "There is no device of this ordinal.";
    hipErrorInvalidImage = 200, "A code object is broken.";
    hipErrorInvalidContext = 201, "There is no current device.";
    hipErrorNoBinaryForGpu = 209, "A code object is for another architecture.";
    hipErrorECCNotCorrectable = 214, "Memory has an uncorrectable error.";
    hipErrorPeerAccessUnsupported = 217, "One device cannot access the other's memory.";
    hipErrorInvalidKernelFile = 218, "A code object cannot be read.";
    hipErrorSharedObjectInitFailed = 303, "A library that the runtime needs does not start.";
    hipErrorInvalidHandle = 400, "A stream or an event is invalid, or does not support the call.";
    hipErrorIllegalState = 401, "A stream is being captured or not, contrary to what the call requires.";
    hipErrorNotFound = 500, "There is no such kernel.";
    hipErrorNotReady = 600, "The work is not done yet; this is not a failure.";
    hipErrorIllegalAddress = 700, "A kernel used memory that is not allocated.";
    hipErrorLaunchTimeOut = 702, "A kernel ran too long.";
    hipErrorPeerAccessAlreadyEnabled = 704, "The device already has access to the other's memory.";
    hipErrorPeerAccessNotEnabled = 705, "The device has no access to the other's memory.";
    hipErrorContextIsDestroyed = 709, "The device's context is gone.";
    hipErrorAssert = 710, "A kernel's assertion failed.";
    hipErrorLaunchFailure = 719, "A kernel failed.";
    hipErrorNotSupported = 801, "This runtime does not support the call.";
    hipErrorStreamCaptureUnsupported = 900, "Not allowed while a stream is captured.";
    hipErrorStreamCaptureInvalidated = 901, "An error ended the capture.";
    hipErrorStreamCaptureMerge = 902, "Two captures would be merged.";
    hipErrorStreamCaptureUnmatched = 903, "The stream is not captured.";
    hipErrorStreamCaptureUnjoined = 904, "A stream that forked off was not joined before the capture's end.";
    hipErrorStreamCaptureIsolation = 905, "A dependency would leave the capture.";
    hipErrorStreamCaptureImplicit = 906, "The default stream would join the capture.";
    hipErrorCapturedEvent = 907, "An event was recorded in a capture.";
    hipErrorStreamCaptureWrongThread = 908, "Another thread began the capture.";
    hipErrorGraphExecUpdateFailure = 910, "A graph's topology does not allow the update.";
    hipErrorUnknown = 999, "Something else.";
}

crate::constants! { hipDeviceAttribute_t:
    hipDeviceAttributeL2CacheSize = 19, "Bytes of the L2 cache.";
    hipDeviceAttributeMaxGridDimX = 29, "Blocks of a grid along x.";
    hipDeviceAttributeMaxGridDimY = 30, "Blocks of a grid along y.";
    hipDeviceAttributeMaxGridDimZ = 31, "Blocks of a grid along z.";
    hipDeviceAttributeMaxThreadsPerBlock = 56, "Threads of a block.";
    hipDeviceAttributeMaxThreadsPerMultiProcessor = 57, "Threads that a compute unit holds.";
    hipDeviceAttributeMultiprocessorCount = 63, "Compute units.";
    hipDeviceAttributeMaxSharedMemoryPerBlock = 74, "Bytes of shared memory of a block.";
    hipDeviceAttributeWarpSize = 87, "Threads of a wave.";
}

crate::constants! { hipFunction_attribute:
    HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1, "Bytes of shared memory that the kernel declares.";
}

crate::constants! { hipMemcpyKind:
    hipMemcpyHostToDevice = 1, "To the device.";
    hipMemcpyDeviceToHost = 2, "To the host.";
    hipMemcpyDeviceToDevice = 3, "Within a device.";
}

crate::constants! { hipStreamCaptureMode:
    hipStreamCaptureModeRelaxed = 2, "No call of any thread is forbidden.";
}

crate::constants! { hipStreamCaptureStatus:
    hipStreamCaptureStatusNone = 0, "It is not.";
}

crate::constants! { hipGraphExecUpdateResult:
    hipGraphExecUpdateSuccess = 0, "Done.";
}

crate::constants! { c_uint:
    hipStreamNonBlocking = 1, "A stream that does not wait for the null stream.";
    hipEventDefault = 0, "An event that measures time.";
    hipEventDisableTiming = 2, "An event that only orders work.";
    hipHostMallocPortable = 1, "Page-locked for every device.";
}

crate::library! {
    /// The HIP runtime, `libamdhip64`.
    pub struct Hip {
        name: "the HIP runtime (libamdhip64)",
        variable: "ISOBIT_HIP_LIBRARY",
        sonames: ["libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"]
    }

    /// Counts the devices and initialises the runtime.
    fn hipGetDeviceCount(count: *mut c_int) -> hipError_t;
    /// Makes a device current for the calling thread.
    fn hipSetDevice(deviceId: c_int) -> hipError_t;
    /// Writes a device's name, NUL-terminated, into `len` bytes.
    fn hipDeviceGetName(name: *mut c_char, len: c_int, device: hipDevice_t) -> hipError_t;
    /// Returns one attribute of a device.
    fn hipDeviceGetAttribute(pi: *mut c_int, attr: hipDeviceAttribute_t, deviceId: c_int) -> hipError_t;
    /// Returns the bytes of a device's memory.
    fn hipDeviceTotalMem(bytes: *mut usize, device: hipDevice_t) -> hipError_t;
    /// Whether a device can access the memory of another.
    fn hipDeviceCanAccessPeer(canAccessPeer: *mut c_int, deviceId: c_int, peerDeviceId: c_int) -> hipError_t;
    /// Gives the current device access to the memory of another.
    fn hipDeviceEnablePeerAccess(peerDeviceId: c_int, flags: c_uint) -> hipError_t;
    /// Returns the runtime's version: major * 10^7 + minor * 10^5 + patch.
    fn hipRuntimeGetVersion(runtimeVersion: *mut c_int) -> hipError_t;
    /// Returns the driver's version, in the format of the runtime's.
    fn hipDriverGetVersion(driverVersion: *mut c_int) -> hipError_t;
    /// Returns the free and total bytes of the current device's memory.
    fn hipMemGetInfo(free: *mut usize, total: *mut usize) -> hipError_t;
    /// Allocates memory on the current device.
    fn hipMalloc(ptr: *mut *mut c_void, size: usize) -> hipError_t;
    /// Frees device memory. Waits for the device first.
    fn hipFree(ptr: *mut c_void) -> hipError_t;
    /// Allocates page-locked host memory.
    fn hipHostMalloc(ptr: *mut *mut c_void, size: usize, flags: c_uint) -> hipError_t;
    /// Frees page-locked host memory.
    fn hipHostFree(ptr: *mut c_void) -> hipError_t;
    /// Copies in stream order. With pageable host memory, returns when that memory may be reused.
    fn hipMemcpyAsync(
        dst: *mut c_void, src: *const c_void, sizeBytes: usize, kind: hipMemcpyKind, stream: hipStream_t,
    ) -> hipError_t;
    /// Copies from one device to another in stream order.
    fn hipMemcpyPeerAsync(
        dst: *mut c_void, dstDeviceId: c_int, src: *const c_void, srcDevice: c_int, sizeBytes: usize, stream: hipStream_t,
    ) -> hipError_t;
    /// Sets bytes in stream order.
    fn hipMemsetD8Async(dest: hipDeviceptr_t, value: c_uchar, count: usize, stream: hipStream_t) -> hipError_t;
    /// Creates a stream.
    fn hipStreamCreateWithFlags(stream: *mut hipStream_t, flags: c_uint) -> hipError_t;
    /// Destroys a stream when its work is done.
    fn hipStreamDestroy(stream: hipStream_t) -> hipError_t;
    /// Waits for a stream's work.
    fn hipStreamSynchronize(stream: hipStream_t) -> hipError_t;
    /// Whether a stream's work is done: success, or `hipErrorNotReady`.
    fn hipStreamQuery(stream: hipStream_t) -> hipError_t;
    /// Makes later work on a stream wait for an event.
    fn hipStreamWaitEvent(stream: hipStream_t, event: hipEvent_t, flags: c_uint) -> hipError_t;
    /// Whether a stream is being captured.
    fn hipStreamIsCapturing(stream: hipStream_t, pCaptureStatus: *mut hipStreamCaptureStatus) -> hipError_t;
    /// Begins to capture a stream.
    fn hipStreamBeginCapture(stream: hipStream_t, mode: hipStreamCaptureMode) -> hipError_t;
    /// Ends a capture and returns its graph.
    fn hipStreamEndCapture(stream: hipStream_t, pGraph: *mut hipGraph_t) -> hipError_t;
    /// Creates an event.
    fn hipEventCreateWithFlags(event: *mut hipEvent_t, flags: c_uint) -> hipError_t;
    /// Destroys an event.
    fn hipEventDestroy(event: hipEvent_t) -> hipError_t;
    /// Records an event in a stream.
    fn hipEventRecord(event: hipEvent_t, stream: hipStream_t) -> hipError_t;
    /// Whether the work before an event is done: success, or `hipErrorNotReady`.
    fn hipEventQuery(event: hipEvent_t) -> hipError_t;
    /// Waits for the work before an event.
    fn hipEventSynchronize(event: hipEvent_t) -> hipError_t;
    /// Returns the milliseconds between two events.
    fn hipEventElapsedTime(ms: *mut c_float, start: hipEvent_t, stop: hipEvent_t) -> hipError_t;
    /// Loads a code object from memory.
    fn hipModuleLoadData(module: *mut hipModule_t, image: *const c_void) -> hipError_t;
    /// Unloads a code object.
    fn hipModuleUnload(module: hipModule_t) -> hipError_t;
    /// Finds a kernel.
    fn hipModuleGetFunction(function: *mut hipFunction_t, module: hipModule_t, kname: *const c_char) -> hipError_t;
    /// Returns an attribute of a kernel.
    fn hipFuncGetAttribute(value: *mut c_int, attrib: hipFunction_attribute, hfunc: hipFunction_t) -> hipError_t;
    /// Launches a kernel. Grid times block must be below 2^32 along each dimension.
    fn hipModuleLaunchKernel(
        f: hipFunction_t, gridDimX: c_uint, gridDimY: c_uint, gridDimZ: c_uint, blockDimX: c_uint, blockDimY: c_uint,
        blockDimZ: c_uint, sharedMemBytes: c_uint, stream: hipStream_t, kernelParams: *mut *mut c_void,
        extra: *mut *mut c_void,
    ) -> hipError_t;
    /// Returns a graph's nodes, or only their number if `nodes` is null.
    fn hipGraphGetNodes(graph: hipGraph_t, nodes: *mut hipGraphNode_t, numNodes: *mut usize) -> hipError_t;
    /// Creates an executable graph.
    fn hipGraphInstantiate(
        pGraphExec: *mut hipGraphExec_t, graph: hipGraph_t, pErrorNode: *mut hipGraphNode_t, pLogBuffer: *mut c_char,
        bufferSize: usize,
    ) -> hipError_t;
    /// Updates an executable graph with the arguments of another graph.
    fn hipGraphExecUpdate(
        hGraphExec: hipGraphExec_t, hGraph: hipGraph_t, hErrorNode_out: *mut hipGraphNode_t,
        updateResult_out: *mut hipGraphExecUpdateResult,
    ) -> hipError_t;
    /// Launches a graph.
    fn hipGraphLaunch(graphExec: hipGraphExec_t, stream: hipStream_t) -> hipError_t;
    /// Destroys a graph.
    fn hipGraphDestroy(graph: hipGraph_t) -> hipError_t;
    /// Destroys an executable graph.
    fn hipGraphExecDestroy(graphExec: hipGraphExec_t) -> hipError_t;
    /// Returns and clears the calling thread's last error.
    fn hipGetLastError() -> hipError_t;
    /// Returns the name of an error, a static string.
    fn hipGetErrorName(hip_error: hipError_t) -> *const c_char;
    /// Returns the description of an error, a static string.
    fn hipGetErrorString(hipError: hipError_t) -> *const c_char;

    optional {
        /// Returns a device's properties in the layout of ROCm 6 and 7; only these have the
        /// function.
        fn hipGetDevicePropertiesR0600(prop: *mut hipDeviceProp_tR0600, deviceId: c_int) -> hipError_t;
        /// Returns a device's properties in the layout of ROCm 5.
        fn hipGetDeviceProperties(prop: *mut hipDeviceProp_tR0000, deviceId: c_int) -> hipError_t;
    }
}
