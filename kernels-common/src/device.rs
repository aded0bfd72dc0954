//! The device half of the HAL over any runtime.

use crate::faults::{FaultFlag, IndexFaults};
use crate::key::Key;
use crate::modules::Modules;
use crate::ops;
use crate::pool::{Pool, PoolStats};
use crate::runtime::GpuRuntime;
use crate::storage::GpuStorage;
use isobit_hal::{
    BackendDevice, DType, DeviceId, DeviceInfo, DeviceLocation, Error, ErrorKind, Numerics, Op, RandomState, Result,
    Shape, Support,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What is fixed when a device is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceOptions {
    /// The numerics of operations that name none. [`Numerics::Vendor`] unless told otherwise.
    pub numerics: Numerics,
}

impl Default for DeviceOptions {
    fn default() -> Self {
        Self { numerics: Numerics::Vendor }
    }
}

impl DeviceOptions {
    /// With given default numerics.
    pub const fn with_numerics(mut self, numerics: Numerics) -> Self {
        self.numerics = numerics;
        self
    }
}

#[derive(Debug)]
struct Inner<R: GpuRuntime> {
    id: DeviceId,
    ordinal: usize,
    options: DeviceOptions,
    modules: Modules<R>,
    stream: R::Stream,
    pool: Pool,
    index_faults: IndexFaults,
    vendor_fallbacks: AtomicU64,
    random: RandomState,
    runtime: R,
}

impl<R: GpuRuntime> Drop for Inner<R> {
    fn drop(&mut self) {
        self.index_faults.release(&self.runtime);
        self.pool.trim(&self.runtime, 0);
    }
}

/// A GPU: a runtime, its stream, its memory pool and its modules. Clones are handles to one device, which closes with the last of them and of
/// its storages.
#[derive(Debug)]
pub struct GpuDevice<R: GpuRuntime>(Arc<Inner<R>>);

impl<R: GpuRuntime> Clone for GpuDevice<R> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<R: GpuRuntime> GpuDevice<R> {
    /// Opens the device of an ordinal.
    ///
    /// # Errors
    /// `LibraryUnavailable` where the vendor's driver is absent or too old, `InvalidArgument` where there is no such device or
    /// [`POOL_VARIABLE`](crate::POOL_VARIABLE) is not understood.
    pub fn new_with(ordinal: usize, options: DeviceOptions) -> Result<Self> {
        let pool = Pool::of_environment()?;
        let runtime = R::open(ordinal)?;
        let stream = runtime.new_stream()?;
        Ok(Self(Arc::new(Inner {
            id: DeviceId::new(),
            ordinal,
            options,
            modules: Modules::new(),
            stream,
            pool,
            index_faults: IndexFaults::default(),
            vendor_fallbacks: AtomicU64::new(0),
            random: RandomState::default(),
            runtime,
        })))
    }

    /// The driver below, for those who must.
    pub fn runtime(&self) -> &R {
        &self.0.runtime
    }

    /// The stream that work on this device runs on.
    pub fn stream(&self) -> &R::Stream {
        &self.0.stream
    }

    /// What the memory pool holds.
    pub fn pool_stats(&self) -> PoolStats {
        self.0.pool.stats()
    }

    /// Returns cached memory to the driver until at most `keep` bytes stay cached.
    pub fn trim(&self, keep: u64) {
        self.0.pool.trim(&self.0.runtime, keep);
    }

    /// Sets how many bytes may stay cached; none is returned below `u64::MAX` unless memory runs out.
    pub fn set_cache_limit(&self, bytes: u64) {
        self.0.pool.set_cap(&self.0.runtime, bytes);
    }

    /// How many operations with [`Numerics::Vendor`] the portable kernels did because the vendor's library could not.
    pub fn vendor_fallbacks(&self) -> u64 {
        self.0.vendor_fallbacks.load(Ordering::Relaxed)
    }

    pub(crate) fn count_vendor_fallback(&self) {
        self.0.vendor_fallbacks.fetch_add(1, Ordering::Relaxed);
    }

    /// A flag for the kernels of an operation whose ids count along a dimension of `size`: a kernel sets it where it meets an id out of range, and
    /// the next synchronising call reports that.
    ///
    /// # Errors
    /// Those of the driver.
    pub(crate) fn index_faults(&self, op: &Op, size: usize) -> Result<FaultFlag<'_>> {
        let faults = &self.0.index_faults;
        Ok(FaultFlag::new(faults, faults.flag(self, op, size)?))
    }

    /// The first id out of range that kernels met and that was not reported yet; the device has been waited for.
    ///
    /// # Errors
    /// `IndexOutOfRange`, naming the operation; those of the driver.
    pub(crate) fn report_index_faults(&self) -> Result<()> {
        self.0.index_faults.report(self)
    }

    pub(crate) fn pool(&self) -> &Pool {
        &self.0.pool
    }

    /// The kernel of a key and its symbol, loaded if need be.
    ///
    /// # Errors
    /// `KernelMissing`, `CompileFailed`, and those of the driver.
    pub fn function(&self, key: Key) -> Result<(R::Function, &'static str)> {
        self.0.modules.function(&self.0.runtime, key).map_err(|e| e.with_device(self.location_of()))
    }

    pub(crate) fn location_of(&self) -> DeviceLocation {
        DeviceLocation { driver: R::DRIVER, ordinal: self.0.ordinal }
    }

    pub(crate) fn alloc(&self, len: usize, dtype: DType) -> Result<GpuStorage<R>> {
        let bytes = len.saturating_mul(dtype.size_in_bytes());
        let (ptr, class) = self.0.pool.alloc(&self.0.runtime, bytes).map_err(|e| e.with_device(self.location_of()))?;
        // SAFETY: the block came from this device's pool just now, is at least as large, and is given to nobody else.
        Ok(unsafe { GpuStorage::from_block(self.clone(), ptr, class, dtype, len) })
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
        self.alloc(shape.elem_count(), dtype)
    }

    fn storage_from_bytes(&self, dtype: DType, bytes: &[u8]) -> Result<GpuStorage<R>> {
        let size = dtype.size_in_bytes();
        if !bytes.len().is_multiple_of(size) {
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                format!("{} bytes are no whole number of {dtype} elements of {size} bytes", bytes.len()),
            ));
        }
        let storage = self.alloc(bytes.len() / size, dtype)?;
        if !bytes.is_empty() {
            // SAFETY: the storage has exactly as many bytes.
            unsafe { self.runtime().copy_to_device(self.stream(), storage.ptr(), bytes)? };
        }
        Ok(storage)
    }

    fn random_state(&self) -> Option<&RandomState> {
        Some(&self.0.random)
    }

    fn synchronize(&self) -> Result<()> {
        self.runtime().synchronize(self.stream()).map_err(|e| e.with_device(self.location_of()))?;
        self.report_index_faults()
    }
}
