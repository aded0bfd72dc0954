//! candle's `CudaDevice` on an Isobit device.

use super::isobit::{
    self, AnyDevice, AnyStorage, BackendDevice as _, BackendStorage as _, Op, RandNormal, RandUniform, RandomState,
};
use super::{convert, glue, CudaStorage};
use crate::{CpuStorage, CpuStorageRef, DType, DeviceLocation, Result, Shape};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

/// Identifies one `CudaDevice`; clones share it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DeviceId(usize);

impl DeviceId {
    fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

struct Inner {
    id: DeviceId,
    ordinal: usize,
    device: AnyDevice,
    /// Where work goes; by default to the device's current stream.
    stream: Option<isobit::Stream>,
    /// Each `CudaDevice` has its own sequence of random numbers, as in candle.
    random: RandomState,
}

/// A device of Isobit. `ISOBIT_CANDLE_DEVICES` says which device an ordinal means.
#[derive(Clone)]
pub struct CudaDevice(Arc<Inner>);

impl std::fmt::Debug for CudaDevice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CudaDevice({}, {})", self.0.ordinal, self.0.device.location())
    }
}

impl CudaDevice {
    fn open(ordinal: usize, with_stream: bool) -> Result<Self> {
        let device = glue::open(ordinal)?;
        let stream = with_stream.then(|| device.new_stream()).transpose()?;
        Ok(Self(Arc::new(Inner { id: DeviceId::new(), ordinal, device, stream, random: RandomState::default() })))
    }

    /// Opens a device whose work goes to a stream of its own.
    ///
    /// # Errors
    /// As [`Device::new_cuda`](crate::Device::new_cuda).
    pub fn new_with_stream(ordinal: usize) -> Result<Self> {
        Self::open(ordinal, true)
    }

    /// Wraps a device that the program opened itself.
    pub fn from_isobit(device: AnyDevice) -> Self {
        let ordinal = glue::ordinal_of(&device);
        let random = RandomState::default();
        Self(Arc::new(Inner { id: DeviceId::new(), ordinal, device, stream: None, random }))
    }

    /// Returns the Isobit device: for kernels of your own, streams, graphs and events.
    pub fn isobit(&self) -> &AnyDevice {
        &self.0.device
    }

    /// Returns the id that distinguishes this device from every other opened one.
    pub fn id(&self) -> DeviceId {
        self.0.id
    }

    /// Calls `f` with its work going to the stream of this device.
    pub(crate) fn run<T>(&self, f: impl FnOnce() -> isobit::Result<T>) -> Result<T> {
        Ok(match &self.0.stream {
            None => f()?,
            Some(stream) => self.0.device.with_stream(stream, f)?,
        })
    }

    pub(super) fn upload(&self, data: CpuStorageRef<'_>) -> Result<CudaStorage> {
        let _entered = match &self.0.stream {
            None => None,
            Some(stream) => Some(self.0.device.enter_stream(stream)?),
        };
        CudaStorage::new(convert::upload(&self.0.device, data)?, self)
    }

    fn random(&self, shape: &Shape, dtype: DType, op: impl Fn(u64, u64) -> Op) -> Result<CudaStorage> {
        let (shape, dtype) = (isobit::Shape::from(shape.dims()), convert::to_isobit(dtype)?);
        let storage = self.run(|| {
            // SAFETY: the operation writes every element, or the storage is dropped unread.
            let mut storage = unsafe { self.0.device.alloc_uninit(&shape, dtype)? };
            let (seed, offset) = self.0.random.advance(shape.elem_count() as u64);
            AnyStorage::apply_into(&op(seed, offset), &[], &mut storage, &isobit::Layout::contiguous(&shape))?;
            Ok(storage)
        })?;
        CudaStorage::new(storage, self)
    }
}

impl crate::backend::BackendDevice for CudaDevice {
    type Storage = CudaStorage;

    fn new(ordinal: usize) -> Result<Self> {
        Self::open(ordinal, false)
    }

    fn location(&self) -> DeviceLocation {
        DeviceLocation::Cuda { gpu_id: self.0.ordinal }
    }

    fn same_device(&self, other: &Self) -> bool {
        self.0.id == other.0.id
    }

    fn zeros_impl(&self, shape: &Shape, dtype: DType) -> Result<CudaStorage> {
        let dtype = convert::to_isobit(dtype)?;
        CudaStorage::new(self.run(|| self.0.device.zeros(&shape.dims().into(), dtype))?, self)
    }

    unsafe fn alloc_uninit(&self, shape: &Shape, dtype: DType) -> Result<CudaStorage> {
        let dtype = convert::to_isobit(dtype)?;
        // SAFETY: the caller writes every element before it reads it.
        CudaStorage::new(self.run(|| unsafe { self.0.device.alloc_uninit(&shape.dims().into(), dtype) })?, self)
    }

    fn storage_from_slice<T: crate::WithDType>(&self, data: &[T]) -> Result<CudaStorage> {
        self.upload(T::cpu_storage_ref(data))
    }

    fn storage_from_cpu_storage(&self, storage: &CpuStorage) -> Result<CudaStorage> {
        self.upload(convert::borrowed(storage))
    }

    fn storage_from_cpu_storage_owned(&self, storage: CpuStorage) -> Result<CudaStorage> {
        self.storage_from_cpu_storage(&storage)
    }

    fn rand_uniform(&self, shape: &Shape, dtype: DType, lo: f64, up: f64) -> Result<CudaStorage> {
        self.random(shape, dtype, |seed, offset| Op::RandUniform(RandUniform::new(lo, up).at(seed, offset)))
    }

    fn rand_normal(&self, shape: &Shape, dtype: DType, mean: f64, std: f64) -> Result<CudaStorage> {
        self.random(shape, dtype, |seed, offset| Op::RandNormal(RandNormal::new(mean, std).at(seed, offset)))
    }

    fn set_seed(&self, seed: u64) -> Result<()> {
        self.0.random.set_seed(seed);
        Ok(())
    }

    fn get_current_seed(&self) -> Result<u64> {
        Ok(self.0.random.seed())
    }

    fn synchronize(&self) -> Result<()> {
        Ok(self.0.device.synchronize()?)
    }
}
