//! The device half of the HAL.

use crate::{
    BackendStorage, CpuStorage, DType, Error, ErrorKind, Layout, Op, RandNormal, RandUniform, RandomState, Result,
    Scalar, Shape, Support, WithDType,
};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// Identifies one opened device for the life of the process; two devices on one ordinal have two ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeviceId(u64);

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

/// Who computes an operation that a vendor library could also do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Numerics {
    /// The vendor's library where it can, the portable kernel where it cannot: fast, within a forward error bound.
    Vendor,
    /// The kernel of the tree: the same bits on every device.
    Portable,
}

/// A library that a device has loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LibraryInfo {
    /// What it is, such as `cuBLAS`.
    pub name: String,
    /// Its version as it reports it.
    pub version: String,
    /// The file it was loaded from, where that is known.
    pub path: Option<String>,
}

impl LibraryInfo {
    /// A library of a name and a version.
    pub fn new(name: impl Into<String>, version: impl Into<String>, path: Option<String>) -> Self {
        Self { name: name.into(), version: version.into(), path }
    }
}

/// What a device says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct DeviceInfo {
    /// The driver: `cpu`, `cuda`, `rocm`.
    pub driver: String,
    /// The product's name.
    pub name: String,
    /// The architecture, vendor's spelling: `sm_90`, `gfx90a:sramecc+:xnack-`, `x86_64+avx2+fma`.
    pub arch: String,
    /// True where the device is simulated.
    pub simulated: bool,
    /// Threads that run in lockstep; 1 on a CPU.
    pub warp_size: usize,
    /// Multiprocessors, compute units or cores.
    pub multiprocessors: usize,
    /// Bytes of memory in all; 0 where that is not known.
    pub memory_total: u64,
    /// Bytes of memory free at the time of asking; 0 where that is not known.
    pub memory_free: u64,
    /// The version of the driver.
    pub driver_version: String,
    /// The vendor libraries that are loaded.
    pub libraries: Vec<LibraryInfo>,
}

/// A device: where storages live and operations run. Cloning gives another handle to the same device.
pub trait BackendDevice: Clone + fmt::Debug + Send + Sync + 'static {
    /// The storages of this device.
    type Storage: BackendStorage<Device = Self>;

    /// Opens the device of an ordinal, with default options.
    ///
    /// # Errors
    /// `LibraryUnavailable` where the driver is not on this machine, `InvalidArgument` where there is no such device.
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
    /// Those of the driver while asking it.
    fn info(&self) -> Result<DeviceInfo>;

    /// The numerics that operations take where they name none; fixed when the device is made.
    fn default_numerics(&self) -> Numerics {
        Numerics::Portable
    }

    /// Whether an operation can run, for dtypes in the order its variant of [`Op`] documents (inputs first, destination last).
    /// A device that says yes does not answer `UnsupportedOp`, `UnsupportedDtype` or `KernelMissing` afterwards.
    fn supports(&self, op: &Op, dtypes: &[DType]) -> Support;

    /// A storage of `elem_count` zeros.
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
    /// `InvalidArgument` where the length is no multiple of the dtype's size; else as [`storage_from_slice`](Self::storage_from_slice).
    fn storage_from_bytes(&self, dtype: DType, bytes: &[u8]) -> Result<Self::Storage>;

    /// The device's own place in a sequence of random numbers; `None` where it draws none.
    fn random_state(&self) -> Option<&RandomState> {
        None
    }

    /// Starts the sequence of a seed: what is drawn afterwards depends on the seed and on nothing before.
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

    /// A storage of uniform numbers in `[lo, up)`, the next of the device's sequence; see [`RandUniform`]. f16, bf16, f32, f64. With portable
    /// numerics the same numbers on every device.
    ///
    /// # Errors
    /// As [`BackendStorage::apply_into`]; `InvalidArgument` where `lo` and `up` are no interval of finite numbers.
    fn rand_uniform(&self, shape: &Shape, dtype: DType, lo: f64, up: f64) -> Result<Self::Storage> {
        draw(self, shape, dtype, |seed, offset| Op::RandUniform(RandUniform::new(lo, up).at(seed, offset)))
    }

    /// A storage of normal numbers, the next of the device's sequence; see [`RandNormal`]. Else as [`rand_uniform`](Self::rand_uniform).
    ///
    /// # Errors
    /// As there; `InvalidArgument` where `std` is negative, or it or `mean` is not finite.
    fn rand_normal(&self, shape: &Shape, dtype: DType, mean: f64, std: f64) -> Result<Self::Storage> {
        draw(self, shape, dtype, |seed, offset| Op::RandNormal(RandNormal::new(mean, std).at(seed, offset)))
    }

    /// Waits until all work given to the device is done.
    ///
    /// # Errors
    /// Those of the work itself, which surface here at the latest: the first that happened, with the operation that caused it.
    fn synchronize(&self) -> Result<()>;
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
    // SAFETY: the operation writes every element of the contiguous layout, or fails and the storage is dropped unread.
    let mut storage = unsafe { device.alloc_uninit(shape, dtype)? };
    let (seed, offset) = state.advance(shape.elem_count() as u64);
    D::Storage::apply_into(&op(seed, offset), &[], &mut storage, &Layout::contiguous(shape))?;
    Ok(storage)
}
