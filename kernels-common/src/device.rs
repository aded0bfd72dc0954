//! The device half of the HAL, for any runtime.

use crate::capture::graph::GpuGraph;
use crate::code::custom::{CustomModules, GpuFunc};
use crate::code::modules::Modules;
use crate::counters::Counts;
use crate::faults::{FaultFlag, IndexFaults};
use crate::key::Key;
use crate::memory::block::{Block, BlockOwner};
use crate::memory::caching_allocator::Pool;
use crate::memory::pinned::GpuPinned;
use crate::ops;
use crate::ops::matmul::self_test::UnitTests;
use crate::runtime::{DevicePtr, GpuRuntime, Vendor};
use crate::storage::GpuStorage;
use crate::stream::dependencies::{Access, Order, Uses};
use crate::stream::event::GpuEvent;
use crate::stream::streams::Streams;
use crate::stream::{GpuStream, StreamHandle};
use crate::vendor::ranges::{Range, Ranges};
use isobit_hal::graph::Step;
use isobit_hal::trace::{self, Call};
use isobit_hal::{
    BackendDevice, BackendStorage, Counters, DType, DeviceId, DeviceInfo, DeviceLocation, Error, ErrorKind, Event,
    Func, Graph, KernelCode, Numerics, Op, PinnedBuffer, PoolStats, RandomState, Result, Shape, Stream, Support,
};
use std::sync::{Arc, OnceLock};
use tracing::span::EnteredSpan;

/// Options that are fixed when a device is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceOptions {
    /// The numerics of operations that do not specify any. The default is [`Numerics::Vendor`].
    pub numerics: Numerics,
    /// Whether each operation is a range in the vendor's profiler (NVTX, ROCTX).
    /// [`RANGES_VARIABLE`](crate::RANGES_VARIABLE) also enables ranges.
    pub ranges: bool,
}

impl Default for DeviceOptions {
    fn default() -> Self {
        Self { numerics: Numerics::Vendor, ranges: false }
    }
}

impl DeviceOptions {
    /// Sets the default numerics.
    pub const fn with_numerics(mut self, numerics: Numerics) -> Self {
        self.numerics = numerics;
        self
    }

    /// Enables or disables a range in the vendor's profiler for each operation. With ranges
    /// enabled, opening a device fails if the library of ranges is missing.
    pub const fn with_ranges(mut self, ranges: bool) -> Self {
        self.ranges = ranges;
        self
    }
}

#[derive(Debug)]
struct Inner<R: GpuRuntime> {
    id: DeviceId,
    ordinal: usize,
    options: DeviceOptions,
    modules: Modules<R>,
    custom: CustomModules<R>,
    streams: Streams<R>,
    pool: Pool<Uses<R>>,
    index_faults: IndexFaults,
    counts: Counts,
    ranges: Option<Arc<Ranges>>,
    random: RandomState,
    unit_tests: UnitTests,
    /// Whether the kernels of Hopper's warpgroups load, once a product has asked.
    warpgroups: OnceLock<bool>,
    runtime: R,
}

impl<R: GpuRuntime> Drop for Inner<R> {
    fn drop(&mut self) {
        self.index_faults.release(&self.runtime);
        self.pool.trim(&self.runtime, 0);
        self.runtime.close_stream(self.streams.default());
    }
}

/// A GPU: a runtime with its streams, memory pool and modules. Clones are handles to the same
/// device, which closes when the last handle and the last of its storages are dropped.
///
/// ```
/// use isobit_hal::{BackendDevice, BackendStorage, BinaryOp, Layout, Numerics, Result};
/// use isobit_kernels::{DeviceOptions, GpuDevice, GpuRuntime};
///
/// /// Adds two vectors on the first GPU of a driver.
/// fn add<R: GpuRuntime>(a: &[f32], b: &[f32]) -> Result<Vec<f32>> {
///     let options = DeviceOptions::default().with_numerics(Numerics::Portable);
///     let device = GpuDevice::<R>::new_with(0, options)?;
///     let (a, b) = (device.storage_from_slice(a)?, device.storage_from_slice(b)?);
///     let (a_layout, b_layout) = (Layout::contiguous([a.len()]), Layout::contiguous([b.len()]));
///     a.binary(&a_layout, &b, &b_layout, BinaryOp::Add)?.to_vec()
/// }
/// ```
#[derive(Debug)]
pub struct GpuDevice<R: GpuRuntime>(Arc<Inner<R>>);

impl<R: GpuRuntime> Clone for GpuDevice<R> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

/// Adds the device to an error.
pub(crate) trait OnDevice {
    /// Adds the device if this is an error.
    fn on_device<R: GpuRuntime>(self, device: &GpuDevice<R>) -> Self;
}

impl<T> OnDevice for Result<T> {
    fn on_device<R: GpuRuntime>(self, device: &GpuDevice<R>) -> Self {
        self.map_err(|e| e.with_device(device.location_of()))
    }
}

impl<R: GpuRuntime> GpuDevice<R> {
    /// Opens the device with an ordinal.
    ///
    /// # Errors
    /// Returns `LibraryUnavailable` if the vendor's driver is missing or too old, and
    /// `InvalidArgument` if there is no such device or if [`POOL_VARIABLE`](crate::POOL_VARIABLE)
    /// or [`RANGES_VARIABLE`](crate::RANGES_VARIABLE) has an invalid value.
    pub fn new_with(ordinal: usize, options: DeviceOptions) -> Result<Self> {
        let pool = Pool::of_environment()?;
        let ranges = Ranges::asked_for(options.ranges, R::DRIVER, R::RANGES.as_ref())?;
        let runtime = R::open(ordinal)?;
        let streams = Streams::new(runtime.new_stream()?);
        Ok(Self(Arc::new(Inner {
            id: DeviceId::new(),
            ordinal,
            options,
            modules: Modules::new(),
            custom: CustomModules::default(),
            streams,
            pool,
            index_faults: IndexFaults::default(),
            counts: Counts::default(),
            ranges,
            random: RandomState::default(),
            unit_tests: UnitTests::default(),
            warpgroups: OnceLock::new(),
            runtime,
        })))
    }

    /// Returns the underlying driver, for interop.
    pub fn runtime(&self) -> &R {
        &self.0.runtime
    }

    pub(crate) fn streams(&self) -> &Streams<R> {
        &self.0.streams
    }

    pub(crate) fn device_id(&self) -> DeviceId {
        self.0.id
    }

    pub(crate) fn ordinal(&self) -> usize {
        self.0.ordinal
    }

    pub(crate) fn faults(&self) -> &IndexFaults {
        &self.0.index_faults
    }

    pub(crate) fn warpgroups(&self) -> &OnceLock<bool> {
        &self.0.warpgroups
    }

    pub(crate) fn unit_tests(&self) -> &UnitTests {
        &self.0.unit_tests
    }

    pub(crate) fn counts(&self) -> &Counts {
        &self.0.counts
    }

    /// Shows a call to `tracing` subscribers and to the vendor's profiler until the result is
    /// dropped.
    pub(crate) fn show(&self, call: &Call<'_, GpuStorage<R>>) -> (Option<EnteredSpan>, Option<Range>) {
        (trace::operation(call), self.0.ranges.as_ref().map(|ranges| ranges.enter(call)))
    }

    /// Counts a kernel launch, except on a captured stream, where the kernel becomes part of a
    /// graph.
    #[inline]
    pub(crate) fn count_launch(&self, stream: &GpuStream<R>) {
        if !stream.is_capturing() {
            self.counts().launches.add();
        }
    }

    /// Whether a vendor library did its part of an operation. If it declined, the portable kernels
    /// do the operation.
    pub(crate) fn vendor_took(&self, op: &Op, outcome: Vendor) -> bool {
        match outcome {
            Vendor::Done => self.counts().vendor_calls.add(),
            Vendor::Declined(why) => {
                self.counts().vendor_fallbacks.add();
                tracing::debug!(target: trace::TARGET, device = %self.location_of(), op = op.name(), why, "vendor fall-back");
                return false;
            }
        }
        true
    }

    /// Returns a flag for the kernels of an operation whose indices, and the tensor that they
    /// index, have these shapes. A kernel leaves the first index out of range there; the next
    /// synchronising call reports it.
    ///
    /// # Errors
    /// Returns the driver's error if the call fails.
    pub(crate) fn index_faults(&self, op: &Op, shapes: [&[usize]; 2]) -> Result<FaultFlag<'_>> {
        FaultFlag::new(self.faults(), self, op, shapes)
    }

    /// Reports the first out-of-range index that kernels found and that was not reported yet. The
    /// caller has already waited for this thread's stream.
    ///
    /// # Errors
    /// Returns `IndexOutOfRange`, naming the operation, or the driver's error.
    pub(crate) fn report_index_faults(&self, stream: &GpuStream<R>) -> Result<()> {
        self.faults().report(self, stream, false)
    }

    /// Waits for one stream.
    ///
    /// # Errors
    /// Returns the error of its work, or `CaptureViolation` if it is being captured.
    pub(crate) fn synchronize_stream(&self, stream: &GpuStream<R>) -> Result<()> {
        self.refuse_in_capture(stream, "waiting for a stream")?;
        self.runtime().synchronize(stream).on_device(self)?;
        self.report_index_faults(stream)
    }

    pub(crate) fn pool(&self) -> &Pool<Uses<R>> {
        &self.0.pool
    }

    /// Returns the kernel of a key and its symbol. Loads its module if needed.
    ///
    /// # Errors
    /// Returns `KernelMissing`, `CompileFailed` or the driver's error.
    pub fn function(&self, key: Key) -> Result<(R::Function, &'static str)> {
        self.0.modules.function((self.runtime(), self.counts()), key).on_device(self)
    }

    /// Returns the driver's function for a symbol of the kernel tree, for code that launches it
    /// directly. It is valid as long as the device. For a custom kernel use [`GpuFunc::function`].
    ///
    /// # Errors
    /// Same as [`get_or_load_func`](BackendDevice::get_or_load_func).
    pub fn get_or_load_func_raw(&self, name: &str) -> Result<R::Function> {
        let kernel = self.0.modules.kernel((self.runtime(), self.counts()), name).on_device(self)?;
        Ok(kernel.function())
    }

    pub(crate) fn location_of(&self) -> DeviceLocation {
        DeviceLocation { driver: R::DRIVER, ordinal: self.0.ordinal }
    }

    /// Enqueues custom work on this thread's stream, for example calls to a vendor library. The
    /// work runs after the work of other streams on the storages it reads and writes, and is
    /// recorded as a use of them.
    ///
    /// ```
    /// use isobit_hal::{BackendStorage, Result};
    /// use isobit_kernels::{GpuRuntime, GpuStorage};
    ///
    /// /// Zeroes a storage with the driver's own call.
    /// fn zero<R: GpuRuntime>(x: &mut GpuStorage<R>) -> Result<()> {
    ///     let (device, ptr) = (x.device().clone(), x.ptr());
    ///     let bytes = x.len() * x.dtype().size_in_bytes();
    ///     device.enqueue(&[], &mut [x], |stream| {
    ///         // SAFETY: the storage has this many bytes.
    ///         unsafe { device.runtime().set_bytes(stream, ptr, 0, bytes) }
    ///     })
    /// }
    /// ```
    ///
    /// # Errors
    /// Returns the error of `work` or the driver's error.
    pub fn enqueue<T>(
        &self,
        reads: &[&GpuStorage<R>],
        writes: &mut [&mut GpuStorage<R>],
        work: impl FnOnce(&R::Stream) -> Result<T>,
    ) -> Result<T> {
        let operands = || {
            let reads = reads.iter().map(|s| (s.block(), Access::Read));
            reads.chain(writes.iter().map(|s| (s.block(), Access::Write))).collect()
        };
        let order = Order::before(self, operands)?;
        let done = work(&self.stream());
        let noted = order.after(self, operands);
        done.and_then(|value| noted.map(|_| value))
    }
}

/// Returns the kernels that an operation may launch.
///
/// # Errors
/// Those of [`BackendDevice::supports`].
fn kernels(op: &Op, dtypes: &[DType]) -> Result<Vec<Key>> {
    op.check_dtypes(dtypes)?;
    ops::kernels(op, dtypes)
}

impl<R: GpuRuntime> BackendDevice for GpuDevice<R> {
    type Storage = GpuStorage<R>;

    fn new(ordinal: usize) -> Result<Self> {
        Self::new_with(ordinal, DeviceOptions::default())
    }

    fn id(&self) -> DeviceId {
        self.0.id
    }

    fn location(&self) -> DeviceLocation {
        self.location_of()
    }

    fn info(&self) -> Result<DeviceInfo> {
        self.0.runtime.info()
    }

    fn default_numerics(&self) -> Numerics {
        self.0.options.numerics
    }

    fn supports(&self, op: &Op, dtypes: &[DType]) -> Support {
        kernels(op, dtypes).map(drop).into()
    }

    fn preload(&self, calls: &[(Op, &[DType])]) -> Result<()> {
        let keys = calls.iter().map(|(op, dtypes)| kernels(op, dtypes)).collect::<Result<Vec<_>>>()?.concat();
        self.0.modules.preload((self.runtime(), self.counts()), &keys).on_device(self)
    }

    unsafe fn alloc_uninit(&self, shape: &Shape, dtype: DType) -> Result<GpuStorage<R>> {
        self.alloc_storage(shape.elem_count(), dtype, false)
    }

    fn storage_from_bytes(&self, dtype: DType, bytes: &[u8]) -> Result<GpuStorage<R>> {
        let size = dtype.size_in_bytes();
        if !bytes.len().is_multiple_of(size) {
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                format!("{} bytes are not a multiple of the size of {dtype}, which is {size} bytes", bytes.len()),
            ));
        }
        let mut storage = self.alloc_storage(bytes.len() / size, dtype, false)?;
        storage.write_bytes(0, bytes)?;
        Ok(storage)
    }

    fn random_state(&self) -> Option<&RandomState> {
        Some(&self.0.random)
    }

    fn get_or_load_func(&self, name: &str) -> Result<Func> {
        let kernel = self.0.modules.kernel((self.runtime(), self.counts()), name).on_device(self)?;
        Ok(GpuFunc::func(self, kernel))
    }

    fn get_or_load_custom_func(&self, name: &str, module: &str, code: KernelCode<'_>) -> Result<Func> {
        let kernel = self.0.custom.kernel((self.runtime(), self.counts()), name, module, code);
        Ok(GpuFunc::func(self, kernel.on_device(self)?))
    }

    fn pool_stats(&self) -> PoolStats {
        self.pool().stats()
    }

    fn set_cache_limit(&self, bytes: u64) {
        self.pool().set_cache_limit(self.runtime(), bytes);
    }

    fn set_memory_limit(&self, bytes: u64) {
        self.pool().set_limit(self.runtime(), bytes);
    }

    fn trim(&self, keep: u64) {
        self.pool().trim(self.runtime(), keep);
    }

    fn counters(&self) -> Counters {
        self.0.counts.with(&self.0.pool.stats())
    }

    fn synchronize(&self) -> Result<()> {
        self.refuse_in_capture(&self.stream(), "waiting for the device")?;
        self.wait_all().on_device(self)?;
        self.faults().report(self, &self.stream(), true)
    }

    fn default_stream(&self) -> Result<Stream> {
        Ok(StreamHandle::stream(self.clone(), self.streams().default().clone()))
    }

    unsafe fn stream_from_raw(&self, raw: u64) -> Result<Stream> {
        // SAFETY: the caller upholds the contract of the method of the same name in `hal`.
        self.add_stream(self.stream().shared(), || unsafe { self.runtime().stream_from_raw(raw) })
    }

    fn capture_step(&self, step: Step) -> Result<Graph> {
        GpuGraph::capture(self, step)
    }

    fn new_event(&self) -> Result<Event> {
        GpuEvent::event(self)
    }

    fn is_event_tracking(&self) -> bool {
        self.tracks_events()
    }

    fn enable_event_tracking(&self) {
        self.track_events(true);
    }

    unsafe fn disable_event_tracking(&self) {
        self.track_events(false);
    }

    fn alloc_pinned(&self, bytes: usize) -> Result<PinnedBuffer> {
        Ok(PinnedBuffer::new(Box::new(GpuPinned::zeros(self, bytes)?)))
    }

    unsafe fn storage_from_raw(&self, ptr: u64, len: usize, dtype: DType) -> Result<GpuStorage<R>> {
        let size = dtype.size_in_bytes();
        if (ptr == 0 && len > 0) || !ptr.is_multiple_of(size as u64) {
            let message = format!(
                "{ptr:#x} is not a valid address for {dtype} elements: it must be a multiple of {size} and not 0"
            );
            return Err(Error::new(ErrorKind::InvalidArgument, message).with_device(self.location_of()));
        }
        // SAFETY: the caller promises that the memory is valid.
        let block = unsafe { Block::new(self.clone(), DevicePtr(ptr), 0, BlockOwner::Foreign, false, Uses::default()) };
        // SAFETY: as above.
        Ok(unsafe { GpuStorage::from_block(Arc::new(block), dtype, len) })
    }

    fn can_access_peer(&self, other: &Self) -> bool {
        self.ordinal() == other.ordinal() || self.runtime().can_access_peer(other.runtime())
    }
}
