//! What a driver gives: the narrow trait that every operation, the memory pool and the module cache are written against.

use crate::code::rtc::RtcSource;
use crate::code::target::{Code, Target};
use isobit_hal::{DType, DeviceInfo, LaunchConfig, Limits, Result};
use std::ffi::c_void;
use std::fmt::Debug;
use std::ptr::NonNull;

/// An address in device memory. Arithmetic is in bytes; 0 is the address of an empty buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(transparent)]
pub struct DevicePtr(pub u64);

impl DevicePtr {
    /// The address `elements` further, for elements of a dtype.
    pub fn at(self, dtype: DType, elements: usize) -> Self {
        Self(self.0 + (elements * dtype.size_in_bytes()) as u64)
    }
}

/// One operand of a matrix product for a vendor library: strides in elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Matrix {
    /// The first element.
    pub ptr: DevicePtr,
    /// From a row to the next.
    pub row_stride: usize,
    /// From a column to the next.
    pub col_stride: usize,
    /// From a matrix of the batch to the next.
    pub batch_stride: usize,
}

/// A batched matrix product `c = a b`, for a vendor library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gemm {
    /// Of all three operands.
    pub dtype: DType,
    /// Matrices in the batch; at least 1.
    pub batch: usize,
    /// Rows of `a` and `c`; at least 1.
    pub m: usize,
    /// Columns of `b` and `c`; at least 1.
    pub n: usize,
    /// Columns of `a`, rows of `b`; at least 1.
    pub k: usize,
    /// `[m, k]`.
    pub a: Matrix,
    /// `[k, n]`.
    pub b: Matrix,
    /// `[m, n]`.
    pub c: Matrix,
}

/// One operand of a convolution for a vendor library: strides in elements, `[n, c, h, w]` or those of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Tensor4 {
    /// The first element.
    pub ptr: DevicePtr,
    /// The sizes.
    pub dims: [usize; 4],
    /// From an element to the next along each dimension.
    pub strides: [usize; 4],
}

/// A convolution, or the transpose of one, over two spatial dimensions (the first of size 1 for those over one), for a vendor library. No dimension
/// is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Conv {
    /// Of all three operands: f16, bf16, f32, f64.
    pub dtype: DType,
    /// Whether it is the transpose.
    pub transposed: bool,
    /// `[n, c_in, h, w]`.
    pub src: Tensor4,
    /// `[c_out, c_in / groups, kh, kw]`, transposed `[c_in, c_out / groups, kh, kw]`.
    pub kernel: Tensor4,
    /// `[n, c_out, h_out, w_out]`.
    pub dst: Tensor4,
    /// Along h and w.
    pub stride: [usize; 2],
    /// Along h and w.
    pub padding: [usize; 2],
    /// Along h and w.
    pub dilation: [usize; 2],
    /// Groups of channels.
    pub groups: usize,
}

/// How a vendor library's random numbers are distributed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Distribution {
    /// Uniform above 0 and up to 1, as the libraries draw them.
    Unit,
    /// Normal.
    Normal {
        /// The mean.
        mean: f64,
        /// The standard deviation.
        deviation: f64,
    },
}

/// Random numbers from a vendor library's generator.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Random {
    /// f32 or f64: what the libraries draw.
    pub dtype: DType,
    /// Where they go, without gaps; aligned to two elements.
    pub dst: DevicePtr,
    /// How many; at least 1, and of normal ones an even number.
    pub len: usize,
    /// Which.
    pub distribution: Distribution,
    /// Which sequence.
    pub seed: u64,
    /// Numbers drawn from it before.
    pub offset: u64,
}

/// A captured graph of the vendor's, as a number; owned by whoever got it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RawGraph(pub u64);

/// A graph of the vendor's made ready to be launched, as a number; owned by whoever got it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RawGraphExec(pub u64);

/// A library that shows named ranges of the host's time in a profiler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RangeLibrary {
    /// What people call it: `NVTX`, `ROCTX`.
    pub name: &'static str,
    /// The files it may be.
    pub sonames: &'static [&'static str],
    /// `int push(const char *)`.
    pub push: &'static str,
    /// `int pop(void)`.
    pub pop: &'static str,
}

/// What a vendor-library hook did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Vendor {
    /// The work is enqueued.
    Done,
    /// The library cannot; the portable kernel does it. Why, for a person.
    Declined(String),
}

/// Gives so many bytes, aligned to 256, for work on the call's stream that is enqueued before the call returns.
pub type Scratch<'a> = dyn FnMut(usize) -> Result<DevicePtr> + 'a;

/// A GPU as its vendor's driver offers it.
///
/// Every method may be called from any thread; an implementation makes its device current for the calling thread itself. Work given to one
/// stream runs in order. Failures are [`isobit_hal::Error`]s with the vendor's code attached.
pub trait GpuRuntime: Sized + Send + Sync + Debug + 'static {
    /// The driver's name: `cuda`, `rocm`.
    const DRIVER: &'static str;
    /// Which of the packaged code it loads.
    const TARGET: Target;
    /// The library of ranges for this vendor's profilers.
    const RANGES: Option<RangeLibrary>;
    /// A loaded module; unloaded when dropped.
    type Module: Send + Sync + Debug;
    /// A kernel in a module, valid as long as the module.
    type Function: Send + Sync + Debug + Copy;
    /// A stream; destroyed when dropped.
    type Stream: Send + Sync + Debug;
    /// An event; destroyed when dropped.
    type Event: Send + Sync + Debug;

    /// Opens a device.
    ///
    /// # Errors
    /// `LibraryUnavailable` where the vendor's driver is absent or too old, `InvalidArgument` where there is no such device.
    fn open(ordinal: usize) -> Result<Self>;

    /// Its limits.
    fn limits(&self) -> &Limits;

    /// The architecture as code objects name it: `sm_90`, `gfx90a:sramecc+:xnack-`.
    fn arch(&self) -> &str;

    /// Names, sizes, versions.
    ///
    /// # Errors
    /// Those of the driver.
    fn info(&self) -> Result<DeviceInfo>;

    /// Free and total bytes of device memory.
    ///
    /// # Errors
    /// Those of the driver.
    fn memory(&self) -> Result<(u64, u64)>;

    /// Allocates device memory, aligned to at least 256 bytes.
    ///
    /// # Errors
    /// `OutOfMemory`.
    fn alloc(&self, bytes: usize) -> Result<DevicePtr>;

    /// Frees device memory. Errors are kept for the next synchronising call.
    ///
    /// # Safety
    /// `ptr` came from [`alloc`](Self::alloc) of this runtime, is freed once, and no work that uses it is pending.
    unsafe fn free(&self, ptr: DevicePtr);

    /// Copies from the host; returns when `src` may change.
    ///
    /// # Safety
    /// `dst` has room for `src`.
    ///
    /// # Errors
    /// Those of the driver.
    unsafe fn copy_to_device(&self, stream: &Self::Stream, dst: DevicePtr, src: &[u8]) -> Result<()>;

    /// Copies to the host; returns when `dst` is filled.
    ///
    /// # Safety
    /// `src` holds as many bytes as `dst`.
    ///
    /// # Errors
    /// Those of the driver, and those of earlier work on the stream.
    unsafe fn copy_to_host(&self, stream: &Self::Stream, dst: &mut [u8], src: DevicePtr) -> Result<()>;

    /// Copies within the device, in stream order.
    ///
    /// # Safety
    /// Both ranges are allocated and do not overlap.
    ///
    /// # Errors
    /// Those of the driver.
    unsafe fn copy_on_device(&self, stream: &Self::Stream, dst: DevicePtr, src: DevicePtr, bytes: usize) -> Result<()>;

    /// Sets bytes, in stream order.
    ///
    /// # Safety
    /// The range is allocated.
    ///
    /// # Errors
    /// Those of the driver.
    unsafe fn set_bytes(&self, stream: &Self::Stream, dst: DevicePtr, value: u8, bytes: usize) -> Result<()>;

    /// A new stream that does not wait for the legacy default stream.
    ///
    /// # Errors
    /// Those of the driver.
    fn new_stream(&self) -> Result<Self::Stream>;

    /// Waits for all work of a stream.
    ///
    /// # Errors
    /// Those of the work.
    fn synchronize(&self, stream: &Self::Stream) -> Result<()>;

    /// A new event that can measure time.
    ///
    /// # Errors
    /// Those of the driver.
    fn new_event(&self) -> Result<Self::Event>;

    /// Marks a point in a stream.
    ///
    /// # Errors
    /// Those of the driver.
    fn record(&self, event: &Self::Event, stream: &Self::Stream) -> Result<()>;

    /// Milliseconds between two recorded events; waits for the second.
    ///
    /// # Errors
    /// Those of the driver.
    fn elapsed_ms(&self, from: &Self::Event, to: &Self::Event) -> Result<f32>;

    /// Loads code.
    ///
    /// # Errors
    /// `KernelMissing` where the code does not fit the device, else those of the driver.
    fn load_module(&self, code: Code<'_>) -> Result<Self::Module>;

    /// Finds a kernel.
    ///
    /// # Errors
    /// `KernelMissing`, with the symbol.
    fn function(&self, module: &Self::Module, symbol: &str) -> Result<Self::Function>;

    /// The run-time compiler's name and version: code that another one made is not taken for this one's.
    ///
    /// # Errors
    /// `LibraryUnavailable` where there is none.
    fn compiler(&self) -> Result<String>;

    /// Compiles source for this device: PTX (NUL-terminated) or a code object.
    ///
    /// # Errors
    /// `LibraryUnavailable` where there is no run-time compiler, `CompileFailed` with its log.
    fn compile(&self, source: &RtcSource<'_>) -> Result<Vec<u8>>;

    /// Launches a kernel.
    ///
    /// # Safety
    /// `args` point to values of exactly the kernel's parameters, and what the kernel reads and writes is allocated.
    ///
    /// # Errors
    /// Those of the driver.
    unsafe fn launch(
        &self,
        stream: &Self::Stream,
        function: Self::Function,
        config: &LaunchConfig,
        args: &mut [*mut c_void],
    ) -> Result<()>;

    /// Lets launches of a kernel ask for so many bytes of dynamic shared memory, which may be more than a block has by default. Changes what other launches
    /// may ask for; callers see to it that the number only grows.
    ///
    /// # Errors
    /// `InvalidArgument` where the device has not that much for the kernel, saying how much it has.
    fn allow_dynamic_shared(&self, function: Self::Function, bytes: u32) -> Result<()>;

    /// A matrix product by the vendor's library, on the stream, in memory from `scratch`.
    ///
    /// # Safety
    /// Every element the problem names is allocated, and `c` overlaps neither itself nor its inputs.
    ///
    /// # Errors
    /// `LibraryFailure`; `CaptureViolation` where the library cannot be made ready on a captured stream. What it cannot do, or a library that is not there,
    /// is `Declined`, not an error.
    unsafe fn gemm(&self, stream: &Self::Stream, problem: &Gemm, scratch: &mut Scratch<'_>) -> Result<Vendor>;

    /// A convolution by the vendor's library, on the stream, in memory from `scratch`.
    ///
    /// # Safety
    /// Every element the problem names is allocated, and the result overlaps neither itself nor its inputs.
    ///
    /// # Errors
    /// As [`gemm`](Self::gemm).
    unsafe fn conv(&self, stream: &Self::Stream, problem: &Conv, scratch: &mut Scratch<'_>) -> Result<Vendor>;

    /// Random numbers by the vendor's library, on the stream.
    ///
    /// # Safety
    /// Every element the problem names is allocated.
    ///
    /// # Errors
    /// As [`gemm`](Self::gemm).
    unsafe fn random(&self, stream: &Self::Stream, problem: &Random) -> Result<Vendor>;

    /// A stream of another library's by the vendor's handle; it is not destroyed with what is returned.
    ///
    /// # Safety
    /// The handle is a stream of this device and lives longer.
    ///
    /// # Errors
    /// Those of the driver.
    unsafe fn stream_from_raw(&self, raw: u64) -> Result<Self::Stream>;

    /// The vendor's handle of a stream.
    fn raw_stream(&self, stream: &Self::Stream) -> u64;

    /// Whether all work of a stream is done.
    ///
    /// # Errors
    /// Those of the work.
    fn stream_is_idle(&self, stream: &Self::Stream) -> Result<bool>;

    /// The stream closes: what the runtime keeps for it (handles of libraries) can go.
    fn close_stream(&self, stream: &Self::Stream);

    /// A new event that orders work and measures no time, which is cheaper.
    ///
    /// # Errors
    /// Those of the driver.
    fn new_ordering_event(&self) -> Result<Self::Event>;

    /// Work given to the stream from now on runs after the event's point.
    ///
    /// # Errors
    /// Those of the driver.
    fn wait_event(&self, stream: &Self::Stream, event: &Self::Event) -> Result<()>;

    /// Whether the event's point is reached.
    ///
    /// # Errors
    /// Those of the work before it.
    fn event_is_done(&self, event: &Self::Event) -> Result<bool>;

    /// Waits for the event's point.
    ///
    /// # Errors
    /// Those of the work before it.
    fn synchronize_event(&self, event: &Self::Event) -> Result<()>;

    /// Page-locked host memory, not initialised, aligned to at least 64 bytes. `bytes` is not 0.
    ///
    /// # Errors
    /// `OutOfMemory`.
    fn alloc_pinned(&self, bytes: usize) -> Result<NonNull<u8>>;

    /// Frees page-locked memory. Errors are kept for the next synchronising call.
    ///
    /// # Safety
    /// `ptr` came from [`alloc_pinned`](Self::alloc_pinned) of this runtime, is freed once, and no copy that uses it is pending.
    unsafe fn free_pinned(&self, ptr: NonNull<u8>);

    /// Enqueues a copy from page-locked memory.
    ///
    /// # Safety
    /// Both ranges are allocated, and `src` stays and does not change until the copy is done.
    ///
    /// # Errors
    /// Those of the driver.
    unsafe fn copy_from_pinned(
        &self,
        stream: &Self::Stream,
        dst: DevicePtr,
        src: NonNull<u8>,
        bytes: usize,
    ) -> Result<()>;

    /// Enqueues a copy to page-locked memory.
    ///
    /// # Safety
    /// Both ranges are allocated, and nothing touches `dst` until the copy is done.
    ///
    /// # Errors
    /// Those of the driver.
    unsafe fn copy_to_pinned(
        &self,
        stream: &Self::Stream,
        dst: NonNull<u8>,
        src: DevicePtr,
        bytes: usize,
    ) -> Result<()>;

    /// Whether memory of the other device can be copied here without the host.
    fn can_access_peer(&self, other: &Self) -> bool;

    /// Enqueues a copy from another device, for which [`can_access_peer`](Self::can_access_peer) holds, or within this one.
    ///
    /// # Safety
    /// Both ranges are allocated, `src` on `from`, and its content is there when the stream comes to the copy.
    ///
    /// # Errors
    /// Those of the driver.
    unsafe fn copy_from_peer(
        &self,
        stream: &Self::Stream,
        dst: DevicePtr,
        from: &Self,
        src: DevicePtr,
        bytes: usize,
    ) -> Result<()>;

    /// Begins to capture what is given to a stream, in the mode that leaves other calls of every thread alone (relaxed).
    ///
    /// # Errors
    /// Those of the driver.
    fn begin_capture(&self, stream: &Self::Stream) -> Result<()>;

    /// Whether what is given to a stream is captured.
    ///
    /// # Errors
    /// Those of the driver.
    fn is_capturing(&self, stream: &Self::Stream) -> Result<bool>;

    /// Ends the capture and gives what was captured.
    ///
    /// # Errors
    /// `CaptureViolation` where something broke the capture, which is over then all the same.
    fn end_capture(&self, stream: &Self::Stream) -> Result<RawGraph>;

    /// How many nodes a graph has.
    ///
    /// # Safety
    /// The graph is not destroyed.
    ///
    /// # Errors
    /// Those of the driver.
    unsafe fn graph_nodes(&self, graph: RawGraph) -> Result<usize>;

    /// Makes a graph ready to be launched.
    ///
    /// # Safety
    /// The graph is not destroyed.
    ///
    /// # Errors
    /// Those of the driver.
    unsafe fn instantiate(&self, graph: RawGraph) -> Result<RawGraphExec>;

    /// Puts another graph's arguments into one that is ready; false where their shapes differ, and nothing was changed.
    ///
    /// # Safety
    /// Neither is destroyed, and `exec` is not running.
    ///
    /// # Errors
    /// Those of the driver.
    unsafe fn update_graph(&self, exec: RawGraphExec, graph: RawGraph) -> Result<bool>;

    /// Launches a graph.
    ///
    /// # Safety
    /// It is not destroyed, and what its nodes read and write is allocated.
    ///
    /// # Errors
    /// Those of the driver.
    unsafe fn launch_graph(&self, stream: &Self::Stream, exec: RawGraphExec) -> Result<()>;

    /// Destroys a graph. Errors are kept for the next synchronising call.
    ///
    /// # Safety
    /// It is not destroyed yet.
    unsafe fn destroy_graph(&self, graph: RawGraph);

    /// Destroys a graph that was made ready; a launch that is running ends first. Errors are kept for the next synchronising call.
    ///
    /// # Safety
    /// It is not destroyed yet.
    unsafe fn destroy_graph_exec(&self, exec: RawGraphExec);
}
