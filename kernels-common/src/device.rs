//! The device half of the HAL over any runtime.

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
use std::sync::Arc;
use tracing::span::EnteredSpan;

/// What is fixed when a device is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceOptions {
    /// The numerics of operations that name none. [`Numerics::Vendor`] unless told otherwise.
    pub numerics: Numerics,
    /// Whether each operation is a range in the vendor's profiler (NVTX, ROCTX).
    /// [`RANGES_VARIABLE`](crate::RANGES_VARIABLE) asks for them too.
    pub ranges: bool,
}

impl Default for DeviceOptions {
    fn default() -> Self {
        Self { numerics: Numerics::Vendor, ranges: false }
    }
}

impl DeviceOptions {
    /// With given default numerics.
    pub const fn with_numerics(mut self, numerics: Numerics) -> Self {
        self.numerics = numerics;
        self
    }

    /// With each operation as a range in the vendor's profiler, or without. Opening a device with
    /// them fails where the library of ranges is not there.
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
    runtime: R,
}

impl<R: GpuRuntime> Drop for Inner<R> {
    fn drop(&mut self) {
        self.index_faults.release(&self.runtime);
        self.pool.trim(&self.runtime, 0);
        self.runtime.close_stream(self.streams.default());
    }
}

/// A GPU: a runtime, its streams, its memory pool and its modules. Clones are handles to one
/// device, which closes with the last of them and of its storages.
#[derive(Debug)]
pub struct GpuDevice<R: GpuRuntime>(Arc<Inner<R>>);

impl<R: GpuRuntime> Clone for GpuDevice<R> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

/// Says in an error on which device it happened.
pub(crate) trait OnDevice {
    /// With the device, if it is an error.
    fn on_device<R: GpuRuntime>(self, device: &GpuDevice<R>) -> Self;
}

impl<T> OnDevice for Result<T> {
    fn on_device<R: GpuRuntime>(self, device: &GpuDevice<R>) -> Self {
        self.map_err(|e| e.with_device(device.location_of()))
    }
}

impl<R: GpuRuntime> GpuDevice<R> {
    /// Opens the device of an ordinal.
    ///
    /// # Errors
    /// `LibraryUnavailable` where the vendor's driver is absent or too old, `InvalidArgument` where
    /// there is no such device or [`POOL_VARIABLE`](crate::POOL_VARIABLE) or
    /// [`RANGES_VARIABLE`](crate::RANGES_VARIABLE) is not understood.
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
            runtime,
        })))
    }

    /// The driver below, for interop.
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

    pub(crate) fn counts(&self) -> &Counts {
        &self.0.counts
    }

    /// Shows a call to subscribers and to the vendor's profiler as long as what is returned lives.
    pub(crate) fn show(&self, call: &Call<'_, GpuStorage<R>>) -> (Option<EnteredSpan>, Option<Range>) {
        (trace::operation(call), self.0.ranges.as_ref().map(|ranges| ranges.enter(call)))
    }

    /// A kernel was launched on a stream, or became part of a graph.
    #[inline]
    pub(crate) fn count_launch(&self, stream: &GpuStream<R>) {
        if !stream.is_capturing() {
            self.counts().launches.add();
        }
    }

    /// Whether a vendor's library did its part of an operation; where it declined, the portable
    /// kernels do the operation.
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

    /// A flag for the kernels of an operation whose ids count along a dimension of `size`: a kernel
    /// sets it where it meets an id out of range, and the next synchronising call reports that.
    ///
    /// # Errors
    /// Those of the driver.
    pub(crate) fn index_faults(&self, op: &Op, size: usize) -> Result<FaultFlag<'_>> {
        FaultFlag::new(self.faults(), self, op, size)
    }

    /// The first id out of range that kernels met and that was not reported yet, after this
    /// thread's stream has been waited for.
    ///
    /// # Errors
    /// `IndexOutOfRange`, naming the operation; those of the driver.
    pub(crate) fn report_index_faults(&self, stream: &GpuStream<R>) -> Result<()> {
        self.faults().report(self, stream, false)
    }

    /// Waits for one stream.
    ///
    /// # Errors
    /// Those of its work; `CaptureViolation` while it is captured.
    pub(crate) fn synchronize_stream(&self, stream: &GpuStream<R>) -> Result<()> {
        self.refuse_in_capture(stream, "waiting for a stream")?;
        self.runtime().synchronize(stream).on_device(self)?;
        self.report_index_faults(stream)
    }

    pub(crate) fn pool(&self) -> &Pool<Uses<R>> {
        &self.0.pool
    }

    /// The kernel of a key and its symbol, loaded if need be.
    ///
    /// # Errors
    /// `KernelMissing`, `CompileFailed`, and those of the driver.
    pub fn function(&self, key: Key) -> Result<(R::Function, &'static str)> {
        self.0.modules.function((self.runtime(), self.counts()), key).on_device(self)
    }

    /// The driver's own function of a symbol of the tree, for those who launch by themselves; valid
    /// as long as the device. That of a kernel of a user's own is [`GpuFunc::function`].
    ///
    /// # Errors
    /// As [`get_or_load_func`](BackendDevice::get_or_load_func).
    pub fn get_or_load_func_raw(&self, name: &str) -> Result<R::Function> {
        let kernel = self.0.modules.kernel((self.runtime(), self.counts()), name).on_device(self)?;
        Ok(kernel.function())
    }

    pub(crate) fn location_of(&self) -> DeviceLocation {
        DeviceLocation { driver: R::DRIVER, ordinal: self.0.ordinal }
    }

    /// Enqueues work of one's own on this thread's stream, after the work of other streams on the
    /// storages that it reads and writes, and remembers that it does. For those who call the
    /// vendor's libraries by themselves.
    ///
    /// # Errors
    /// Those of the work; those of the driver.
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
        op.check_dtypes(dtypes).and_then(|()| ops::check_kernels(op, dtypes)).into()
    }

    unsafe fn alloc_uninit(&self, shape: &Shape, dtype: DType) -> Result<GpuStorage<R>> {
        self.alloc_storage(shape.elem_count(), dtype, false)
    }

    fn storage_from_bytes(&self, dtype: DType, bytes: &[u8]) -> Result<GpuStorage<R>> {
        let size = dtype.size_in_bytes();
        if !bytes.len().is_multiple_of(size) {
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                format!("{} bytes are no whole number of {dtype} elements of {size} bytes", bytes.len()),
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
        // SAFETY: the caller promises what hal's method of this name asks.
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
            let message =
                format!("{ptr:#x} is no address of {dtype} elements: it must be a multiple of {size}, and not 0");
            return Err(Error::new(ErrorKind::InvalidArgument, message).with_device(self.location_of()));
        }
        // SAFETY: the caller promises valid memory.
        let block = unsafe { Block::new(self.clone(), DevicePtr(ptr), 0, BlockOwner::Foreign, false, Uses::default()) };
        // SAFETY: as above.
        Ok(unsafe { GpuStorage::from_block(Arc::new(block), dtype, len) })
    }

    fn can_access_peer(&self, other: &Self) -> bool {
        self.ordinal() == other.ordinal() || self.runtime().can_access_peer(other.runtime())
    }
}
