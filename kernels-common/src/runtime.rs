//! What a driver gives: the narrow trait that every operation, the memory pool and the module cache are written against.

use crate::image::{Code, Target};
use crate::rtc::RtcSource;
use isobit_hal::{DType, DeviceInfo, Result};
use std::ffi::c_void;
use std::fmt::Debug;

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

/// What a launch must stay within, and what a launcher tunes for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Threads that run in lockstep: 32 or 64.
    pub warp_size: u32,
    /// Multiprocessors or compute units.
    pub multiprocessors: u32,
    /// Threads a block can have.
    pub max_threads_per_block: u32,
    /// Threads that one multiprocessor holds at a time.
    pub max_threads_per_multiprocessor: u32,
    /// Bytes of shared memory a block can have without asking for more.
    pub shared_memory_per_block: u32,
    /// Blocks along x.
    pub max_grid_x: u32,
    /// Blocks along y and z.
    pub max_grid_yz: u32,
    /// Threads in a grid along one dimension (HIP: below 2^32).
    pub max_threads_per_dim: u64,
    /// Bytes of the last-level cache.
    pub l2_bytes: u64,
}

/// Grid, block and dynamic shared memory of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaunchConfig {
    /// Blocks along x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block along x, y, z.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub shared_bytes: u32,
}

impl LaunchConfig {
    /// Blocks along x alone.
    pub const fn linear(blocks: u32, threads: u32) -> Self {
        Self { grid: [blocks, 1, 1], block: [threads, 1, 1], shared_bytes: 0 }
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

/// What a vendor-library hook did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Vendor {
    /// The work is enqueued.
    Done,
    /// The library cannot; the portable kernel does it. Why, for a person.
    Declined(String),
}

/// A GPU as its vendor's driver offers it.
///
/// Every method may be called from any thread; an implementation makes its device current for the calling thread itself. Work given to one
/// stream runs in order. Failures are [`isobit_hal::Error`]s with the vendor's code attached.
pub trait GpuRuntime: Sized + Send + Sync + Debug + 'static {
    /// The driver's name: `cuda`, `rocm`.
    const DRIVER: &'static str;
    /// Which of the packaged code it loads.
    const TARGET: Target;
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

    /// A matrix product by the vendor's library, on the stream.
    ///
    /// # Safety
    /// Every element the problem names is allocated, and `c` overlaps neither itself nor its inputs.
    ///
    /// # Errors
    /// `LibraryFailure`. What the library cannot do is `Declined`, not an error.
    unsafe fn gemm(&self, stream: &Self::Stream, problem: &Gemm) -> Result<Vendor>;

    /// A convolution by the vendor's library, on the stream.
    ///
    /// # Safety
    /// Every element the problem names is allocated, and the result overlaps neither itself nor its inputs.
    ///
    /// # Errors
    /// `LibraryFailure`. What the library cannot do, or a library that is not there, is `Declined`, not an error.
    unsafe fn conv(&self, stream: &Self::Stream, problem: &Conv) -> Result<Vendor> {
        let _ = (stream, problem);
        Ok(Vendor::Declined(format!("the {} driver asks no library for convolutions", Self::DRIVER)))
    }

    /// Random numbers by the vendor's library, on the stream.
    ///
    /// # Safety
    /// Every element the problem names is allocated.
    ///
    /// # Errors
    /// `LibraryFailure`. What the library cannot do, or a library that is not there, is `Declined`, not an error.
    unsafe fn random(&self, stream: &Self::Stream, problem: &Random) -> Result<Vendor> {
        let _ = (stream, problem);
        Ok(Vendor::Declined(format!("the {} driver asks no library for random numbers", Self::DRIVER)))
    }
}
