//! The HIP runtime: `hip/hip_runtime_api.h`.

use crate::properties::{hipDeviceProp_tR0000, hipDeviceProp_tR0600};
use std::ffi::{c_char, c_float, c_int, c_uchar, c_uint, c_void};

/// What a call reports.
/// <https://rocm.docs.amd.com/projects/HIP/en/latest/reference/error_codes.html>
pub type hipError_t = c_uint;
/// A device's attribute, for [`Hip::hipDeviceGetAttribute`].
pub type hipDeviceAttribute_t = c_uint;
/// Which way a copy goes.
pub type hipMemcpyKind = c_uint;
/// Which calls a capture forbids.
pub type hipStreamCaptureMode = c_uint;
/// Whether a stream is captured.
pub type hipStreamCaptureStatus = c_uint;
/// What an update of a graph came to.
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
    /// A graph that can be launched.
    hipGraphExec_t = hipGraphExec;
}

crate::constants! { hipError_t:
    hipSuccess = 0, "Done.";
    hipErrorInvalidValue = 1, "An argument is null or out of range.";
    hipErrorOutOfMemory = 2, "No memory is left.";
    hipErrorNotInitialized = 3, "The runtime is not initialised.";
    hipErrorDeinitialized = 4, "The process is ending.";
    hipErrorInvalidConfiguration = 9, "A launch asks for more than the device can do.";
    hipErrorInsufficientDriver = 35, "The kernel driver is older than the runtime.";
    hipErrorInvalidDeviceFunction = 98, "A kernel was not compiled for this device.";
    hipErrorNoDevice = 100, "There is no AMD GPU.";
    hipErrorInvalidDevice = 101, "There is no device of this ordinal.";
    hipErrorInvalidImage = 200, "A code object is broken.";
    hipErrorInvalidContext = 201, "There is no current device.";
    hipErrorNoBinaryForGpu = 209, "A code object is for another architecture.";
    hipErrorECCNotCorrectable = 214, "Memory failed for good.";
    hipErrorPeerAccessUnsupported = 217, "The one device cannot reach the other's memory.";
    hipErrorInvalidKernelFile = 218, "A code object cannot be read.";
    hipErrorSharedObjectInitFailed = 303, "A library that the runtime needs does not start.";
    hipErrorInvalidHandle = 400, "A stream or an event is none, or not one that can do this.";
    hipErrorIllegalState = 401, "A stream is captured, or is not, where the call wants the other.";
    hipErrorNotFound = 500, "There is no such kernel.";
    hipErrorNotReady = 600, "Work is not done yet: no failure.";
    hipErrorIllegalAddress = 700, "A kernel used memory that is not allocated.";
    hipErrorLaunchTimeOut = 702, "A kernel ran too long.";
    hipErrorPeerAccessAlreadyEnabled = 704, "The device may reach the other's memory already.";
    hipErrorPeerAccessNotEnabled = 705, "The device may not reach the other's memory.";
    hipErrorContextIsDestroyed = 709, "The device's context is gone.";
    hipErrorAssert = 710, "A kernel's assertion failed.";
    hipErrorLaunchFailure = 719, "A kernel failed.";
    hipErrorNotSupported = 801, "This runtime does not do that.";
    hipErrorStreamCaptureUnsupported = 900, "Not allowed while a stream is captured.";
    hipErrorStreamCaptureInvalidated = 901, "An error ended the capture.";
    hipErrorStreamCaptureMerge = 902, "Two captures would become one.";
    hipErrorStreamCaptureUnmatched = 903, "The stream is not captured.";
    hipErrorStreamCaptureUnjoined = 904, "A stream that forked off was not joined before the capture's end.";
    hipErrorStreamCaptureIsolation = 905, "A dependency would leave the capture.";
    hipErrorStreamCaptureImplicit = 906, "The default stream would join the capture.";
    hipErrorCapturedEvent = 907, "An event was recorded in a capture.";
    hipErrorStreamCaptureWrongThread = 908, "Another thread began the capture.";
    hipErrorGraphExecUpdateFailure = 910, "A graph's shape does not allow the update.";
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
    hipEventDisableTiming = 2, "An event that orders work alone.";
    hipHostMallocPortable = 1, "Page-locked for every device.";
}

crate::library! {
    /// The HIP runtime, `libamdhip64`.
    pub struct Hip {
        name: "the HIP runtime (libamdhip64)",
        variable: "ISOBIT_HIP_LIBRARY",
        sonames: ["libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"]
    }

    /// Counts the devices; initialises the runtime.
    fn hipGetDeviceCount(count: *mut c_int) -> hipError_t;
    /// Makes a device current for the calling thread.
    fn hipSetDevice(deviceId: c_int) -> hipError_t;
    /// Writes a device's name, NUL-terminated, into `len` bytes.
    fn hipDeviceGetName(name: *mut c_char, len: c_int, device: hipDevice_t) -> hipError_t;
    /// One number about a device.
    fn hipDeviceGetAttribute(pi: *mut c_int, attr: hipDeviceAttribute_t, deviceId: c_int) -> hipError_t;
    /// Bytes of a device's memory.
    fn hipDeviceTotalMem(bytes: *mut usize, device: hipDevice_t) -> hipError_t;
    /// Whether a device can reach the memory of another.
    fn hipDeviceCanAccessPeer(canAccessPeer: *mut c_int, deviceId: c_int, peerDeviceId: c_int) -> hipError_t;
    /// Lets the current device reach the memory of another.
    fn hipDeviceEnablePeerAccess(peerDeviceId: c_int, flags: c_uint) -> hipError_t;
    /// The runtime's version: major * 10^7 + minor * 10^5 + patch.
    fn hipRuntimeGetVersion(runtimeVersion: *mut c_int) -> hipError_t;
    /// The driver's version, numbered as the runtime's.
    fn hipDriverGetVersion(driverVersion: *mut c_int) -> hipError_t;
    /// Free and total bytes of the current device.
    fn hipMemGetInfo(free: *mut usize, total: *mut usize) -> hipError_t;
    /// Allocates on the current device.
    fn hipMalloc(ptr: *mut *mut c_void, size: usize) -> hipError_t;
    /// Frees; waits for the device first.
    fn hipFree(ptr: *mut c_void) -> hipError_t;
    /// Allocates page-locked host memory.
    fn hipHostMalloc(ptr: *mut *mut c_void, size: usize, flags: c_uint) -> hipError_t;
    /// Frees page-locked host memory.
    fn hipHostFree(ptr: *mut c_void) -> hipError_t;
    /// Copies in stream order; with pageable host memory it returns when that may be used again.
    fn hipMemcpyAsync(
        dst: *mut c_void, src: *const c_void, sizeBytes: usize, kind: hipMemcpyKind, stream: hipStream_t,
    ) -> hipError_t;
    /// Copies from a device to another in stream order.
    fn hipMemcpyPeerAsync(
        dst: *mut c_void, dstDeviceId: c_int, src: *const c_void, srcDevice: c_int, sizeBytes: usize, stream: hipStream_t,
    ) -> hipError_t;
    /// Sets bytes in stream order.
    fn hipMemsetD8Async(dest: hipDeviceptr_t, value: c_uchar, count: usize, stream: hipStream_t) -> hipError_t;
    /// Makes a stream.
    fn hipStreamCreateWithFlags(stream: *mut hipStream_t, flags: c_uint) -> hipError_t;
    /// Destroys a stream when its work is done.
    fn hipStreamDestroy(stream: hipStream_t) -> hipError_t;
    /// Waits for a stream's work.
    fn hipStreamSynchronize(stream: hipStream_t) -> hipError_t;
    /// Whether a stream's work is done: success, or `hipErrorNotReady`.
    fn hipStreamQuery(stream: hipStream_t) -> hipError_t;
    /// What comes on a stream waits for an event's point.
    fn hipStreamWaitEvent(stream: hipStream_t, event: hipEvent_t, flags: c_uint) -> hipError_t;
    /// Whether a stream is captured.
    fn hipStreamIsCapturing(stream: hipStream_t, pCaptureStatus: *mut hipStreamCaptureStatus) -> hipError_t;
    /// Begins to capture what a stream is given.
    fn hipStreamBeginCapture(stream: hipStream_t, mode: hipStreamCaptureMode) -> hipError_t;
    /// Ends a capture and gives its graph.
    fn hipStreamEndCapture(stream: hipStream_t, pGraph: *mut hipGraph_t) -> hipError_t;
    /// Makes an event.
    fn hipEventCreateWithFlags(event: *mut hipEvent_t, flags: c_uint) -> hipError_t;
    /// Destroys an event.
    fn hipEventDestroy(event: hipEvent_t) -> hipError_t;
    /// Marks a point in a stream.
    fn hipEventRecord(event: hipEvent_t, stream: hipStream_t) -> hipError_t;
    /// Whether an event's point is reached: success, or `hipErrorNotReady`.
    fn hipEventQuery(event: hipEvent_t) -> hipError_t;
    /// Waits until an event's point is reached.
    fn hipEventSynchronize(event: hipEvent_t) -> hipError_t;
    /// Milliseconds between two points.
    fn hipEventElapsedTime(ms: *mut c_float, start: hipEvent_t, stop: hipEvent_t) -> hipError_t;
    /// Loads a code object from memory.
    fn hipModuleLoadData(module: *mut hipModule_t, image: *const c_void) -> hipError_t;
    /// Unloads a code object.
    fn hipModuleUnload(module: hipModule_t) -> hipError_t;
    /// Finds a kernel.
    fn hipModuleGetFunction(function: *mut hipFunction_t, module: hipModule_t, kname: *const c_char) -> hipError_t;
    /// Launches a kernel; grid times block is below 2^32 along each dimension.
    fn hipModuleLaunchKernel(
        f: hipFunction_t, gridDimX: c_uint, gridDimY: c_uint, gridDimZ: c_uint, blockDimX: c_uint, blockDimY: c_uint,
        blockDimZ: c_uint, sharedMemBytes: c_uint, stream: hipStream_t, kernelParams: *mut *mut c_void,
        extra: *mut *mut c_void,
    ) -> hipError_t;
    /// A graph's nodes; with null for `nodes`, how many there are.
    fn hipGraphGetNodes(graph: hipGraph_t, nodes: *mut hipGraphNode_t, numNodes: *mut usize) -> hipError_t;
    /// Makes a graph that can be launched.
    fn hipGraphInstantiate(
        pGraphExec: *mut hipGraphExec_t, graph: hipGraph_t, pErrorNode: *mut hipGraphNode_t, pLogBuffer: *mut c_char,
        bufferSize: usize,
    ) -> hipError_t;
    /// Puts a graph's arguments into one that can be launched.
    fn hipGraphExecUpdate(
        hGraphExec: hipGraphExec_t, hGraph: hipGraph_t, hErrorNode_out: *mut hipGraphNode_t,
        updateResult_out: *mut hipGraphExecUpdateResult,
    ) -> hipError_t;
    /// Launches a graph.
    fn hipGraphLaunch(graphExec: hipGraphExec_t, stream: hipStream_t) -> hipError_t;
    /// Destroys a graph.
    fn hipGraphDestroy(graph: hipGraph_t) -> hipError_t;
    /// Destroys a graph that can be launched.
    fn hipGraphExecDestroy(graphExec: hipGraphExec_t) -> hipError_t;
    /// The calling thread's last error, which it forgets.
    fn hipGetLastError() -> hipError_t;
    /// An error's name, a static string.
    fn hipGetErrorName(hip_error: hipError_t) -> *const c_char;
    /// An error's sentence, a static string.
    fn hipGetErrorString(hipError: hipError_t) -> *const c_char;

    optional {
        /// A device's properties in the layout of ROCm 6 and 7, which alone have it.
        fn hipGetDevicePropertiesR0600(prop: *mut hipDeviceProp_tR0600, deviceId: c_int) -> hipError_t;
        /// A device's properties in the layout of ROCm 5.
        fn hipGetDeviceProperties(prop: *mut hipDeviceProp_tR0000, deviceId: c_int) -> hipError_t;
    }
}
