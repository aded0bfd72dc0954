//! The device half of the HAL.

use crate::graph::Step;
use crate::sync_fallback::{HostMemory, InOrderEvent, InOrderStream, StepGraph};
use crate::{
    BackendStorage, Counters, CpuStorage, DType, DeviceInfo, Error, ErrorKind, Event, Func, Graph, KernelCode, Layout,
    Op, PinnedBuffer, PoolStats, RandNormal, RandUniform, RandomState, Result, Scalar, Shape, Stream, StreamGuard,
    Support, WithDType, stream,
};
use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};

/// Identifies one opened device for the life of the process; two devices on one ordinal have two
/// ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeviceId(pub(crate) u64);

impl DeviceId {
    /// An id that no other device has.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// The driver and the ordinal of a device: what a person would call it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DeviceLocation {
    /// The driver's name: `cpu`, `cuda`, `rocm`, or that of a driver from elsewhere.
    pub driver: &'static str,
    /// Which of the driver's devices.
    pub ordinal: usize,
}

impl fmt::Display for DeviceLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.driver, self.ordinal)
    }
}

/// Who computes an operation that a vendor library could also do. Written and parsed by
/// [`name`](Self::name), also by serde, which the feature `serde` turns on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum Numerics {
    /// The vendor's library where it can, the portable kernel where it cannot: fast, within a
    /// forward error bound.
    Vendor,
    /// The kernel of the tree: the same bits on every device.
    Portable,
}

impl Numerics {
    /// Both.
    pub const ALL: &[Numerics] = &[Numerics::Vendor, Numerics::Portable];

    /// The name, as reports and the command line spell it.
    pub const fn name(self) -> &'static str {
        match self {
            Numerics::Vendor => "vendor",
            Numerics::Portable => "portable",
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
            let message = format!("`{name}` is not a kind of numerics: use `vendor` or `portable`");
            Error::new(ErrorKind::InvalidArgument, message)
        })
    }
}

/// A device: where storages live and operations run. Cloning gives another handle to the same
/// device.
pub trait BackendDevice: Clone + fmt::Debug + Send + Sync + 'static {
    /// The storages of this device.
    type Storage: BackendStorage<Device = Self>;

    /// Opens the device of an ordinal, with default options.
    ///
    /// # Errors
    /// `LibraryUnavailable` where the driver is not on this machine, `InvalidArgument` where there
    /// is no such device.
    fn new(ordinal: usize) -> Result<Self>;

    /// Unique per opened device; clones share it.
    fn id(&self) -> DeviceId;

    /// The driver's name and the ordinal.
    fn location(&self) -> DeviceLocation;

    /// True for handles of one opened device.
    fn same_device(&self, other: &Self) -> bool {
        self.id() == other.id()
    }

    /// Names, sizes and versions.
    ///
    /// # Errors
    /// The driver's error if the query fails.
    fn info(&self) -> Result<DeviceInfo>;

    /// The numerics that operations take where they name none; fixed when the device is made.
    fn default_numerics(&self) -> Numerics {
        Numerics::Portable
    }

    /// Whether an operation can run, for dtypes in the order its variant of [`Op`] documents
    /// (inputs first, destination last). A device that says yes does not answer `UnsupportedOp`,
    /// `UnsupportedDtype` or `KernelMissing` afterwards.
    fn supports(&self, op: &Op, dtypes: &[DType]) -> Support;

    /// Allocates `shape.elem_count()` zeros.
    ///
    /// # Errors
    /// `OutOfMemory`.
    fn zeros(&self, shape: &Shape, dtype: DType) -> Result<Self::Storage> {
        // SAFETY: every element is set in the next line, before anything can read it.
        let mut storage = unsafe { self.alloc_uninit(shape, dtype)? };
        storage.const_set(Scalar::zero(dtype), &Layout::contiguous(shape))?;
        Ok(storage)
    }

    /// A storage of `elem_count` elements with no defined content.
    ///
    /// # Errors
    /// `OutOfMemory`.
    ///
    /// # Safety
    /// Every element must be written before it is read.
    unsafe fn alloc_uninit(&self, shape: &Shape, dtype: DType) -> Result<Self::Storage>;

    /// A storage with a copy of the data.
    ///
    /// # Errors
    /// `OutOfMemory`, and those of the driver while copying.
    fn storage_from_slice<T: WithDType>(&self, data: &[T]) -> Result<Self::Storage> {
        self.storage_from_bytes(T::DTYPE, bytemuck::cast_slice(data))
    }

    /// A storage with a copy of a host storage.
    ///
    /// # Errors
    /// As [`storage_from_slice`](Self::storage_from_slice).
    fn storage_from_cpu_storage(&self, storage: &CpuStorage) -> Result<Self::Storage> {
        self.storage_from_bytes(storage.dtype(), storage.as_bytes())
    }

    /// A storage with a copy of raw bytes, in the machine's byte order.
    ///
    /// # Errors
    /// `InvalidArgument` where the length is no multiple of the dtype's size; else as
    /// [`storage_from_slice`](Self::storage_from_slice).
    fn storage_from_bytes(&self, dtype: DType, bytes: &[u8]) -> Result<Self::Storage>;

    /// The device's own place in a sequence of random numbers; `None` where it draws none.
    fn random_state(&self) -> Option<&RandomState> {
        None
    }

    /// Starts the sequence of a seed: what is drawn afterwards depends on the seed and on nothing
    /// before.
    ///
    /// # Errors
    /// `UnsupportedOp` where the device draws no random numbers.
    fn set_seed(&self, seed: u64) -> Result<()> {
        self.random_state().ok_or_else(|| no_random(self)).map(|state| state.set_seed(seed))
    }

    /// The seed that was set last, or the one that the device began with.
    ///
    /// # Errors
    /// `UnsupportedOp` where the device draws no random numbers.
    fn get_current_seed(&self) -> Result<u64> {
        self.random_state().ok_or_else(|| no_random(self)).map(RandomState::seed)
    }

    /// A storage of uniform numbers in `[lo, up)`, the next of the device's sequence; see
    /// [`RandUniform`]. f16, bf16, f32, f64. With portable numerics the same numbers on every
    /// device.
    ///
    /// # Errors
    /// As [`BackendStorage::apply_into`]; `InvalidArgument` where `lo` and `up` are no interval of
    /// finite numbers.
    fn rand_uniform(&self, shape: &Shape, dtype: DType, lo: f64, up: f64) -> Result<Self::Storage> {
        draw(self, shape, dtype, |seed, offset| Op::RandUniform(RandUniform::new(lo, up).at(seed, offset)))
    }

    /// A storage of normal numbers, the next of the device's sequence; see [`RandNormal`]. Else as
    /// [`rand_uniform`](Self::rand_uniform).
    ///
    /// # Errors
    /// As there; `InvalidArgument` where `std` is negative, or it or `mean` is not finite.
    fn rand_normal(&self, shape: &Shape, dtype: DType, mean: f64, std: f64) -> Result<Self::Storage> {
        draw(self, shape, dtype, |seed, offset| Op::RandNormal(RandNormal::new(mean, std).at(seed, offset)))
    }

    /// Waits until all work given to the device is done.
    ///
    /// # Errors
    /// Those of the work itself, which surface here at the latest: the first that happened, with
    /// the operation that caused it.
    fn synchronize(&self) -> Result<()>;

    /// Whether operations on bf16 are there, those of matrices included.
    fn supports_bf16(&self) -> bool {
        self.supports(&Op::Matmul(crate::Matmul::default()), &[DType::BF16; 3]).is_supported()
    }

    /// The stream that everything runs on where a thread chooses no other.
    ///
    /// # Errors
    /// Those of the driver.
    fn default_stream(&self) -> Result<Stream> {
        Ok(InOrderStream::default_of(self))
    }

    /// The stream that this thread's work goes to.
    ///
    /// # Errors
    /// Those of the driver.
    fn current_stream(&self) -> Result<Stream> {
        stream::with_entered(self.id(), |entered| entered.cloned()).map_or_else(|| self.default_stream(), Ok)
    }

    /// A new stream, whose work runs beside that of the others, after what was given to this
    /// thread's stream so far. On a device without several
    /// ([`Capabilities::concurrent_streams`](crate::Capabilities::concurrent_streams)) a name for
    /// the one there is.
    ///
    /// # Errors
    /// Those of the driver.
    fn new_stream(&self) -> Result<Stream> {
        self.current_stream()?.fork()
    }

    /// A stream of another library's, by the vendor's handle; 0 is the vendor's default stream. It
    /// is not destroyed here.
    ///
    /// # Errors
    /// `UnsupportedOp` where the driver has no handles.
    ///
    /// # Safety
    /// `raw` is a stream of this device (`CUstream` or `hipStream_t`), and lives as long as any
    /// handle made here.
    unsafe fn stream_from_raw(&self, raw: u64) -> Result<Stream> {
        let _ = raw;
        Err(lacks(self, "streams of another library's"))
    }

    /// Has this thread's work on the device go to a stream until the guard is dropped.
    ///
    /// # Errors
    /// `DeviceMismatch` for a stream of another device.
    fn enter_stream(&self, stream: &Stream) -> Result<StreamGuard> {
        if stream.device() == self.id() {
            return Ok(StreamGuard::enter(stream));
        }
        let location = self.location();
        let message = format!("the stream belongs to another device than {location}: use one that {location} made");
        Err(Error::new(ErrorKind::DeviceMismatch, message).with_device(location))
    }

    /// Runs a function whose work on the device goes to a stream.
    ///
    /// # Errors
    /// As [`enter_stream`](Self::enter_stream), and those of the function.
    fn with_stream<T>(&self, stream: &Stream, f: impl FnOnce() -> Result<T>) -> Result<T> {
        let _entered = self.enter_stream(stream)?;
        f()
    }

    /// A new event that measures time.
    ///
    /// # Errors
    /// Those of the driver.
    fn new_event(&self) -> Result<Event> {
        Ok(InOrderEvent::event(self.id()))
    }

    /// Whether work is ordered after the work of other streams on its operands. True to begin with.
    fn is_event_tracking(&self) -> bool {
        true
    }

    /// Orders work after the work of other streams on its operands, from now on.
    fn enable_event_tracking(&self) {}

    /// Disables automatic ordering between streams: the caller orders them with [`Stream::join`]
    /// and [`Stream::wait_event`]. Saves one event per operation.
    ///
    /// # Safety
    /// Until it is enabled again, work on a storage is ordered by the caller, its being dropped
    /// included: memory of a storage dropped while another stream still works on it may be given to
    /// a new one.
    unsafe fn disable_event_tracking(&self) {}

    /// Page-locked host memory of zeros. On a device without such
    /// ([`Capabilities::async_copies`](crate::Capabilities::async_copies)) plain memory.
    ///
    /// # Errors
    /// `OutOfMemory`.
    fn alloc_pinned(&self, bytes: usize) -> Result<PinnedBuffer> {
        Ok(PinnedBuffer::new(Box::new(HostMemory::new(bytes)?)))
    }

    /// A storage over memory of another library's, which is not freed here.
    ///
    /// # Errors
    /// `InvalidArgument` for an address that is not aligned to the dtype; `UnsupportedOp` where the
    /// driver's storages are not addresses.
    ///
    /// # Safety
    /// `ptr` is the address on this device of `len` elements, which live and are used by nothing
    /// else as long as the storage, other streams' work ordered by the caller.
    unsafe fn storage_from_raw(&self, ptr: u64, len: usize, dtype: DType) -> Result<Self::Storage> {
        let _ = (ptr, len, dtype);
        Err(lacks(self, "storages over foreign memory"))
    }

    /// What the memory pool holds.
    fn pool_stats(&self) -> PoolStats {
        PoolStats::default()
    }

    /// Sets how many bytes the device's storages and cache may take together; beyond, an allocation
    /// is `OutOfMemory`. `u64::MAX` for no limit. Without effect on a device without a pool.
    fn set_memory_limit(&self, bytes: u64) {
        let _ = bytes;
    }

    /// Sets how many bytes may stay cached; `u64::MAX` for no limit. Without effect on a device
    /// without a pool.
    fn set_cache_limit(&self, bytes: u64) {
        let _ = bytes;
    }

    /// Returns cached memory to the driver until at most `keep` bytes stay cached.
    fn trim(&self, keep: u64) {
        let _ = keep;
    }

    /// Whether storages of the other device can be copied here without the host,
    /// [`BackendStorage::transfer_into`].
    fn can_access_peer(&self, other: &Self) -> bool {
        self.same_device(other)
    }

    /// Captures a step as a graph. The step is called once and its work not done: it runs when the
    /// graph is [replayed](Graph::replay). It may allocate (from the pool, and the graph keeps what
    /// it takes), fork and join streams; it may not wait for the device, nor copy from or to the
    /// host but for pinned memory. On a device without graphs
    /// ([`Capabilities::graphs`](crate::Capabilities::graphs)) a replay calls the step.
    ///
    /// # Errors
    /// `CaptureViolation`, with the operation that cannot be captured and why; those of the step.
    fn capture(&self, step: impl FnMut() -> Result<()> + Send + 'static) -> Result<Graph> {
        self.capture_step(Box::new(step))
    }

    /// As [`capture`](Self::capture), which calls it: what a driver implements.
    ///
    /// # Errors
    /// As there.
    fn capture_step(&self, step: Step) -> Result<Graph> {
        Ok(Graph::from_backend(Box::new(StepGraph(step))))
    }

    /// A kernel of the tree, by its symbol.
    ///
    /// # Errors
    /// `KernelMissing` where the tree has none of that name; `UnsupportedOp` where the device runs
    /// no kernels.
    fn get_or_load_func(&self, name: &str) -> Result<Func> {
        let _ = name;
        Err(lacks(self, "kernels"))
    }

    /// A kernel of a user's own. Code is known by its content, whatever name it has: the same
    /// source is compiled once on a machine, and a changed one under the same `module` name is
    /// another module.
    ///
    /// # Errors
    /// `CompileFailed`, whose cause is the compiler's log; `LibraryUnavailable` where there is no
    /// run-time compiler; `KernelMissing` where the code has no kernel of that name or does not fit
    /// the device; `InvalidArgument` for another vendor's code, a binary that is not whole, an
    /// option that the compiler does not know, or two headers of one name; `UnsupportedOp` where
    /// the device runs no kernels.
    fn get_or_load_custom_func(&self, name: &str, module: &str, code: KernelCode<'_>) -> Result<Func> {
        let _ = (name, module, code);
        Err(lacks(self, "kernels"))
    }

    /// Compiles source and gives one of its kernels; the source's name is the module's. See
    /// [`get_or_load_custom_func`](Self::get_or_load_custom_func).
    ///
    /// # Errors
    /// As there.
    fn compile(&self, name: &str, source: &crate::KernelSource) -> Result<Func> {
        self.get_or_load_custom_func(name, &source.name, KernelCode::Source(source))
    }

    /// What the device has done since it was opened.
    fn counters(&self) -> Counters {
        Counters::default()
    }
}

#[cold]
fn lacks(device: &impl BackendDevice, what: &str) -> Error {
    let location = device.location();
    Error::new(ErrorKind::UnsupportedOp, format!("the {} driver has no {what}", location.driver)).with_device(location)
}

#[cold]
fn no_random(device: &impl BackendDevice) -> Error {
    let location = device.location();
    Error::new(ErrorKind::UnsupportedOp, format!("the {} driver draws no random numbers", location.driver))
        .with_device(location)
}

/// A new storage of the next numbers of a device's sequence.
fn draw<D: BackendDevice>(device: &D, shape: &Shape, dtype: DType, op: impl Fn(u64, u64) -> Op) -> Result<D::Storage> {
    let state = device.random_state().ok_or_else(|| no_random(device))?;
    // SAFETY: the operation writes every element of the contiguous layout, or fails and the storage
    // is dropped unread.
    let mut storage = unsafe { device.alloc_uninit(shape, dtype)? };
    let (seed, offset) = state.advance(shape.elem_count() as u64);
    D::Storage::apply_into(&op(seed, offset), &[], &mut storage, &Layout::contiguous(shape))?;
    Ok(storage)
}
