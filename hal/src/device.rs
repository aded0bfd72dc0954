//! The device half of the HAL.

use crate::graph::Step;
use crate::sync_fallback::{HostMemory, InOrderEvent, InOrderStream, StepGraph};
use crate::{
    BackendStorage, Bernoulli, Counters, CpuStorage, DType, DeviceInfo, Error, ErrorKind, Event, Func, Graph,
    KernelCode, Layout, Op, PinnedBuffer, PoolStats, RandNormal, RandUniform, RandomState, Result, Scalar, Shape,
    Stream, StreamGuard, Support, WithDType, stream,
};
use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};

/// Identifies one opened device for the lifetime of the process. Opening the same GPU twice gives
/// two ids; the CPU always has the same id.
///
/// ```rust
/// use isobit_hal::{BackendDevice, CpuDevice, DeviceId};
///
/// assert_eq!(CpuDevice::new(0)?.id(), CpuDevice.id());
/// assert_ne!(CpuDevice.id(), DeviceId::new());
/// # Ok::<(), isobit_hal::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeviceId(pub(crate) u64);

impl DeviceId {
    /// Returns an id that no other device has.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// The driver and the ordinal of a device, displayed as `cuda:0`.
///
/// ```rust
/// use isobit_hal::{BackendDevice, CpuDevice, DeviceLocation};
///
/// assert_eq!(CpuDevice.location(), DeviceLocation { driver: "cpu", ordinal: 0 });
/// assert_eq!(CpuDevice.location().to_string(), "cpu:0");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DeviceLocation {
    /// The name of the driver: `cpu`, `cuda`, `rocm`, or the name of a third-party driver.
    pub driver: &'static str,
    /// The number of the device among the driver's devices.
    pub ordinal: usize,
}

impl fmt::Display for DeviceLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.driver, self.ordinal)
    }
}

/// Selects the implementation of an operation that a vendor library can also compute. Text and
/// serde (feature `serde`) use its [`name`](Self::name).
///
/// ```rust
/// use isobit_hal::{CpuDevice, Matmul, Numerics, Op};
/// # use isobit_hal::BackendDevice;
/// let op = Op::Matmul(Matmul::with_numerics(Numerics::Portable));
/// assert_eq!(op.numerics(), Some(Numerics::Portable));
/// assert_eq!(Op::Matmul(Matmul::default()).numerics(), None, "takes the device's default");
/// assert_eq!(CpuDevice.default_numerics(), Numerics::Portable);
/// assert_eq!("vendor".parse::<Numerics>()?, Numerics::Vendor);
/// # Ok::<(), isobit_hal::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum Numerics {
    /// Uses the vendor's library if it supports the call, and the portable kernel otherwise. Fast;
    /// results are within a forward error bound. Libraries compute matrix products, convolutions,
    /// random numbers, and attention of f16 and bf16.
    Vendor,
    /// Uses Isobit's own kernel: the same bits on every device. Products are chains of fused
    /// multiply-adds in a fixed order.
    Portable,
    /// Uses Isobit's own kernels: the same bits on every device, other bits than
    /// [`Portable`](Self::Portable). Matrix products of f8e4m3, bf16, f16 and f32, convolutions
    /// with 16 output channels per group or more, and products of float activations with quantized
    /// matrices are sums of exact integer products with one exponent per 128 elements of a row or
    /// column (block floating point), which integer matrix units compute several times as fast as a
    /// chain. An element that is far smaller than the largest of its 128 loses bits;
    /// `docs/numerics.md` section 9, `docs/numerics/conv.md` and `docs/numerics/quantized.md` have
    /// the recipes and the bounds. Everything else is as with [`Portable`](Self::Portable):
    /// products of f64, attention, and random numbers.
    Block,
}

impl Numerics {
    /// All values.
    pub const ALL: &[Numerics] = &[Numerics::Vendor, Numerics::Portable, Numerics::Block];

    /// Returns the name that reports and the command line use.
    pub const fn name(self) -> &'static str {
        match self {
            Numerics::Vendor => "vendor",
            Numerics::Portable => "portable",
            Numerics::Block => "block",
        }
    }
}

impl fmt::Display for Numerics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Numerics {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::ALL.iter().copied().find(|n| n.name() == name).ok_or_else(|| {
            let message = format!("unknown numerics `{name}`: use `vendor`, `portable` or `block`");
            Error::new(ErrorKind::InvalidArgument, message)
        })
    }
}

/// A device: storages live on it and operations run on it. A clone is another handle to the same
/// device.
///
/// ```rust
/// use isobit_hal::{BackendDevice, BackendStorage, BinaryOp, CpuDevice, DType, Layout, Op, Shape};
///
/// let device = CpuDevice::new(0)?;
/// assert!(device.supports(&Op::Binary(BinaryOp::Add), &[DType::F32; 3]).is_supported());
/// let zeros = device.zeros(&Shape::from(2), DType::F32)?;
/// let x = device.storage_from_slice(&[1.0f32, 2.0])?;
/// let layout = Layout::contiguous(2);
/// let sum = zeros.binary(&layout, &x, &layout, BinaryOp::Add)?;
/// assert_eq!(sum.to_vec::<f32>()?, [1.0, 2.0]);
/// # Ok::<(), isobit_hal::Error>(())
/// ```
pub trait BackendDevice: Clone + fmt::Debug + Send + Sync + 'static {
    /// The type of this device's storages.
    type Storage: BackendStorage<Device = Self>;

    /// Opens the device with an ordinal, with default options.
    ///
    /// # Errors
    /// `LibraryUnavailable` if the driver is not installed on this machine, `InvalidArgument` if
    /// the device does not exist.
    fn new(ordinal: usize) -> Result<Self>;

    /// Returns the id of the opened device; clones share it.
    fn id(&self) -> DeviceId;

    /// Returns the driver's name and the ordinal.
    fn location(&self) -> DeviceLocation;

    /// Whether both handles refer to the same opened device.
    fn same_device(&self, other: &Self) -> bool {
        self.id() == other.id()
    }

    /// Returns names, sizes and versions.
    ///
    /// # Errors
    /// The driver's error if the query fails.
    fn info(&self) -> Result<DeviceInfo>;

    /// Returns the numerics of operations that do not specify them; fixed when the device is
    /// created.
    fn default_numerics(&self) -> Numerics {
        Numerics::Portable
    }

    /// Returns whether an operation can run for the given dtypes, which are in the order that the
    /// operation's variant of [`Op`] documents (inputs first, destination last). If the answer is
    /// yes, the operation does not return `UnsupportedOp`, `UnsupportedDtype` or `KernelMissing`.
    fn supports(&self, op: &Op, dtypes: &[DType]) -> Support;

    /// Loads the code of these operations, so that their first use takes no longer than later ones.
    /// Each is given with its dtypes in the order of [`supports`](Self::supports). Otherwise a GPU
    /// loads each kernel when it is first needed, which takes milliseconds where the driver
    /// compiles it. It does nothing for code that is loaded, and on a device that loads none.
    ///
    /// ```
    /// use isobit_hal::{BackendDevice, BinaryOp, CpuDevice, DType, Op, UnaryOp};
    ///
    /// let device = CpuDevice::new(0)?;
    /// device.preload(&[
    ///     (Op::Unary(UnaryOp::Silu), &[DType::BF16; 2]),
    ///     (Op::Binary(BinaryOp::Add), &[DType::BF16; 3]),
    /// ])?;
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// `UnsupportedDtype` or `UnsupportedOp` if the device does not support one of them, before
    /// anything is loaded; `CompileFailed` or the driver's error.
    fn preload(&self, calls: &[(Op, &[DType])]) -> Result<()> {
        calls.iter().try_for_each(|(op, dtypes)| self.supports(op, dtypes).into_result())
    }

    /// Allocates `shape.elem_count()` zeros.
    ///
    /// # Errors
    /// `OutOfMemory`.
    fn zeros(&self, shape: &Shape, dtype: DType) -> Result<Self::Storage> {
        // SAFETY: the next line sets every element, before anything can read it.
        let mut storage = unsafe { self.alloc_uninit(shape, dtype)? };
        storage.const_set(Scalar::zero(dtype), &Layout::contiguous(shape))?;
        Ok(storage)
    }

    /// Allocates `shape.elem_count()` elements with undefined content.
    ///
    /// # Errors
    /// `OutOfMemory`.
    ///
    /// # Safety
    /// Every element must be written before it is read.
    unsafe fn alloc_uninit(&self, shape: &Shape, dtype: DType) -> Result<Self::Storage>;

    /// Creates a storage with a copy of `data`.
    ///
    /// # Errors
    /// `OutOfMemory`, and the driver's errors while it copies.
    fn storage_from_slice<T: WithDType>(&self, data: &[T]) -> Result<Self::Storage> {
        self.storage_from_bytes(T::DTYPE, bytemuck::cast_slice(data))
    }

    /// Creates a storage with a copy of a host storage.
    ///
    /// # Errors
    /// As [`storage_from_slice`](Self::storage_from_slice).
    fn storage_from_cpu_storage(&self, storage: &CpuStorage) -> Result<Self::Storage> {
        self.storage_from_bytes(storage.dtype(), storage.as_bytes())
    }

    /// Creates a storage with the elements of a host storage. The CPU takes the host storage
    /// itself, without a copy.
    ///
    /// # Errors
    /// As [`storage_from_slice`](Self::storage_from_slice).
    fn storage_from_cpu_storage_owned(&self, storage: CpuStorage) -> Result<Self::Storage> {
        self.storage_from_cpu_storage(&storage)
    }

    /// Creates a storage with a copy of raw bytes, in the byte order of the machine.
    ///
    /// # Errors
    /// `InvalidArgument` if the length is not a multiple of the dtype's size; otherwise as
    /// [`storage_from_slice`](Self::storage_from_slice).
    fn storage_from_bytes(&self, dtype: DType, bytes: &[u8]) -> Result<Self::Storage>;

    /// Returns the device's position in its sequence of random numbers, or `None` if the device
    /// does not generate any.
    fn random_state(&self) -> Option<&RandomState> {
        None
    }

    /// Starts the random sequence of a seed: later draws depend only on the seed and on the draws
    /// since this call.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, DType, Shape};
    /// let shape = Shape::from(100);
    /// CpuDevice.set_seed(42)?;
    /// let first = CpuDevice.rand_normal(&shape, DType::F32, 0.0, 1.0)?;
    /// CpuDevice.set_seed(42)?;
    /// let second = CpuDevice.rand_normal(&shape, DType::F32, 0.0, 1.0)?;
    /// assert_eq!(first.to_vec::<f32>()?, second.to_vec::<f32>()?);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// `UnsupportedOp` if the device does not generate random numbers.
    fn set_seed(&self, seed: u64) -> Result<()> {
        self.random_state().ok_or_else(|| no_random(self)).map(|state| state.set_seed(seed))
    }

    /// Returns the seed that was set last, or the device's initial seed.
    ///
    /// # Errors
    /// `UnsupportedOp` if the device does not generate random numbers.
    fn get_current_seed(&self) -> Result<u64> {
        self.random_state().ok_or_else(|| no_random(self)).map(RandomState::seed)
    }

    /// Creates a storage of uniform random numbers in `[lo, up)`, the next numbers of the device's
    /// sequence; see [`RandUniform`]. Dtypes: f16, bf16, f32, f64. With portable numerics, every
    /// device gives the same numbers.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, DType, Shape};
    /// let x = CpuDevice.rand_uniform(&Shape::from(100), DType::F32, -1.0, 1.0)?;
    /// let x = x.to_vec::<f32>()?;
    /// assert!(x.len() == 100 && x.iter().all(|v| (-1.0..1.0).contains(v)));
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`BackendStorage::apply_into`]; `InvalidArgument` if `lo` and `up` are not finite or do
    /// not form an interval.
    fn rand_uniform(&self, shape: &Shape, dtype: DType, lo: f64, up: f64) -> Result<Self::Storage> {
        draw(self, shape, dtype, |seed, offset| Op::RandUniform(RandUniform::new(lo, up).at(seed, offset)))
    }

    /// Creates a storage of normally distributed random numbers, the next numbers of the device's
    /// sequence; see [`RandNormal`]. Dtypes and reproducibility are those of
    /// [`rand_uniform`](Self::rand_uniform).
    ///
    /// # Errors
    /// As [`BackendStorage::apply_into`]; `InvalidArgument` if `std` is negative, or if `mean` or
    /// `std` is not finite.
    fn rand_normal(&self, shape: &Shape, dtype: DType, mean: f64, std: f64) -> Result<Self::Storage> {
        draw(self, shape, dtype, |seed, offset| Op::RandNormal(RandNormal::new(mean, std).at(seed, offset)))
    }

    /// Creates a storage of ones, each with probability `p`, and zeros by the next numbers of the
    /// device's sequence; see [`Bernoulli`]. Dtypes: f16, bf16, f32, f64, u8, u32, i64. Every
    /// device gives the same elements.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, DType, Shape};
    /// let never = CpuDevice.bernoulli(&Shape::from(3), DType::U8, 0.0)?;
    /// let always = CpuDevice.bernoulli(&Shape::from(3), DType::U8, 1.0)?;
    /// assert_eq!([never.to_vec::<u8>()?, always.to_vec::<u8>()?], [[0; 3], [1; 3]]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`BackendStorage::apply_into`]; `InvalidArgument` if `p` is not from 0 to 1.
    fn bernoulli(&self, shape: &Shape, dtype: DType, p: f64) -> Result<Self::Storage> {
        draw(self, shape, dtype, |seed, offset| Op::Bernoulli(Bernoulli::new(p).at(seed, offset)))
    }

    /// Waits until all work enqueued on the device is done.
    ///
    /// # Errors
    /// The errors of the work itself, which are reported here at the latest: the first one that
    /// occurred, with the operation that caused it.
    fn synchronize(&self) -> Result<()>;

    /// Whether the device supports operations on bf16, including matrix products.
    fn supports_bf16(&self) -> bool {
        self.supports(&Op::Matmul(crate::Matmul::default()), &[DType::BF16; 3]).is_supported()
    }

    /// Returns the stream that work runs on if its thread has not entered another one.
    ///
    /// # Errors
    /// The driver's errors.
    fn default_stream(&self) -> Result<Stream> {
        Ok(InOrderStream::default_of(self))
    }

    /// Returns the stream that the work of this thread goes to.
    ///
    /// # Errors
    /// The driver's errors.
    fn current_stream(&self) -> Result<Stream> {
        stream::with_entered(self.id(), |entered| entered.cloned()).map_or_else(|| self.default_stream(), Ok)
    }

    /// Creates a stream. Its work runs concurrently with the work of other streams, but after all
    /// work enqueued so far on this thread's current stream. On a device without [concurrent
    /// streams](crate::Capabilities::concurrent_streams), this is another handle to the only
    /// stream.
    ///
    /// # Errors
    /// The driver's errors.
    fn new_stream(&self) -> Result<Stream> {
        self.current_stream()?.fork()
    }

    /// Wraps a stream that another library created, by the vendor's handle; 0 is the vendor's
    /// default stream. Dropping the wrapper does not destroy the stream.
    ///
    /// # Errors
    /// `UnsupportedOp` if the driver has no stream handles.
    ///
    /// # Safety
    /// `raw` must be a stream of this device (`CUstream` or `hipStream_t`), and must stay valid as
    /// long as any clone of the returned stream.
    unsafe fn stream_from_raw(&self, raw: u64) -> Result<Stream> {
        let _ = raw;
        Err(lacks(self, "external streams"))
    }

    /// Sends this thread's work on the device to a stream until the guard is dropped.
    ///
    /// # Errors
    /// `DeviceMismatch` if the stream belongs to another device.
    fn enter_stream(&self, stream: &Stream) -> Result<StreamGuard> {
        if stream.device() == self.id() {
            return Ok(StreamGuard::enter(stream));
        }
        let location = self.location();
        let message = format!("the stream belongs to another device: use a stream created by {location}");
        Err(Error::new(ErrorKind::DeviceMismatch, message).with_device(location))
    }

    /// Calls `f` and sends its work on the device to a stream.
    ///
    /// # Errors
    /// As [`enter_stream`](Self::enter_stream), and the error of `f`.
    fn with_stream<T>(&self, stream: &Stream, f: impl FnOnce() -> Result<T>) -> Result<T> {
        let _entered = self.enter_stream(stream)?;
        f()
    }

    /// Creates an event that measures time.
    ///
    /// # Errors
    /// The driver's errors.
    fn new_event(&self) -> Result<Event> {
        Ok(InOrderEvent::event(self.id()))
    }

    /// Whether the device automatically orders work after the work of other streams on the same
    /// operands. Initially true.
    fn is_event_tracking(&self) -> bool {
        true
    }

    /// Enables automatic ordering: from now on, work runs after the work of other streams on its
    /// operands.
    fn enable_event_tracking(&self) {}

    /// Disables automatic ordering between streams; the caller orders them with [`Stream::join`]
    /// and [`Stream::wait_event`]. Saves one event per operation.
    ///
    /// # Safety
    /// Until automatic ordering is enabled again, the caller must order all work on a storage,
    /// including its drop: if a storage is dropped while another stream still works on it, its
    /// memory may be given to a new storage.
    unsafe fn disable_event_tracking(&self) {}

    /// Allocates page-locked host memory, filled with zeros. On a device without [asynchronous
    /// copies](crate::Capabilities::async_copies) it is ordinary memory.
    ///
    /// # Errors
    /// `OutOfMemory`.
    fn alloc_pinned(&self, bytes: usize) -> Result<PinnedBuffer> {
        Ok(PinnedBuffer::new(Box::new(HostMemory::new(bytes)?)))
    }

    /// Wraps memory that another library allocated. Dropping the storage does not free the memory.
    ///
    /// # Errors
    /// `InvalidArgument` if the address is not aligned to the dtype; `UnsupportedOp` if the
    /// driver's storages have no device address.
    ///
    /// # Safety
    /// `ptr` must be the address, on this device, of `len` elements. As long as the storage lives,
    /// the elements must stay valid and nothing else may use them. The caller must order the work
    /// of other streams on them.
    unsafe fn storage_from_raw(&self, ptr: u64, len: usize, dtype: DType) -> Result<Self::Storage> {
        let _ = (ptr, len, dtype);
        Err(lacks(self, "storages over external memory"))
    }

    /// Returns the state of the memory pool.
    fn pool_stats(&self) -> PoolStats {
        PoolStats::default()
    }

    /// Limits the bytes that the device's storages and its cache may occupy together; an allocation
    /// beyond the limit returns `OutOfMemory`. `u64::MAX` means no limit. Has no effect on a device
    /// without a pool.
    fn set_memory_limit(&self, bytes: u64) {
        let _ = bytes;
    }

    /// Limits the bytes that may stay cached; `u64::MAX` means no limit. Has no effect on a device
    /// without a pool.
    fn set_cache_limit(&self, bytes: u64) {
        let _ = bytes;
    }

    /// Returns cached memory to the driver until at most `keep` bytes stay cached.
    fn trim(&self, keep: u64) {
        let _ = keep;
    }

    /// Whether [`BackendStorage::transfer_into`] can copy storages of the other device to this one
    /// without going through the host.
    fn can_access_peer(&self, other: &Self) -> bool {
        self.same_device(other)
    }

    /// Captures a step as a graph: calls the step once and records its work, which runs only when
    /// the graph is [replayed](Graph::replay).
    ///
    /// The step may allocate (from the pool; the graph keeps the memory), and may fork and join
    /// streams. It may not wait for the device, and may only copy from or to the host through
    /// pinned memory. On a device without [graphs](crate::Capabilities::graphs), capturing does not
    /// call the step; each replay calls it.
    ///
    /// # Errors
    /// `CaptureViolation`, with the operation that cannot be captured and the reason; the errors of
    /// the step.
    fn capture(&self, step: impl FnMut() -> Result<()> + Send + 'static) -> Result<Graph> {
        self.capture_step(Box::new(step))
    }

    /// Captures a boxed step. [`capture`](Self::capture) calls this; a driver implements it.
    ///
    /// # Errors
    /// As [`capture`](Self::capture).
    fn capture_step(&self, step: Step) -> Result<Graph> {
        Ok(Graph::from_backend(Box::new(StepGraph(step))))
    }

    /// Returns one of Isobit's own kernels by its symbol.
    ///
    /// # Errors
    /// `KernelMissing` if there is no kernel of that name; `UnsupportedOp` if the device does not
    /// run kernels.
    fn get_or_load_func(&self, name: &str) -> Result<Func> {
        let _ = name;
        Err(lacks(self, "kernels"))
    }

    /// Returns a user's kernel. Code is identified by its content, not by its name: the same source
    /// is compiled once per machine, and a changed source under the same `module` name is a new
    /// module.
    ///
    /// # Errors
    /// - `CompileFailed`, with the compiler's log as its source;
    /// - `LibraryUnavailable` if there is no run-time compiler;
    /// - `KernelMissing` if the code has no kernel of that name, or does not fit the device;
    /// - `InvalidArgument` for another vendor's code, a truncated binary, an option that the
    ///   compiler does not know, or two headers of the same name;
    /// - `UnsupportedOp` if the device does not run kernels.
    fn get_or_load_custom_func(&self, name: &str, module: &str, code: KernelCode<'_>) -> Result<Func> {
        let _ = (name, module, code);
        Err(lacks(self, "kernels"))
    }

    /// Compiles a source and returns one of its kernels; the module takes the name of the source.
    /// See [`get_or_load_custom_func`](Self::get_or_load_custom_func).
    ///
    /// # Errors
    /// As [`get_or_load_custom_func`](Self::get_or_load_custom_func).
    fn compile(&self, name: &str, source: &crate::KernelSource) -> Result<Func> {
        self.get_or_load_custom_func(name, &source.name, KernelCode::Source(source))
    }

    /// Returns the device's counters since it was opened.
    fn counters(&self) -> Counters {
        Counters::default()
    }
}

#[cold]
fn lacks(device: &impl BackendDevice, what: &str) -> Error {
    let location = device.location();
    Error::new(ErrorKind::UnsupportedOp, format!("the {} driver does not support {what}", location.driver))
        .with_device(location)
}

#[cold]
fn no_random(device: &impl BackendDevice) -> Error {
    let location = device.location();
    Error::new(ErrorKind::UnsupportedOp, format!("the {} driver does not generate random numbers", location.driver))
        .with_device(location)
}

/// Creates a storage of the next numbers of a device's sequence.
fn draw<D: BackendDevice>(device: &D, shape: &Shape, dtype: DType, op: impl Fn(u64, u64) -> Op) -> Result<D::Storage> {
    // SAFETY: the operation writes every element of the contiguous layout, or it fails and the
    // storage is dropped without being read.
    let mut storage = unsafe { device.alloc_uninit(shape, dtype)? };
    let (seed, offset) = next_numbers(device, shape)?;
    D::Storage::apply_into(&op(seed, offset), &[], &mut storage, &Layout::contiguous(shape))?;
    Ok(storage)
}

/// Returns the seed and the position of the next numbers of a device's sequence, one for each
/// element of a shape, and moves on.
pub(crate) fn next_numbers(device: &impl BackendDevice, shape: &Shape) -> Result<(u64, u64)> {
    let state = device.random_state().ok_or_else(|| no_random(device))?;
    Ok(state.advance(shape.elem_count() as u64))
}
