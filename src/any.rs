//! The driver chosen at run time. Everything here forwards; what is computed is the driver's.

use crate::{
    BackendDevice, BackendStorage, CpuDevice, CpuStorage, DType, DeviceId, DeviceInfo, DeviceLocation, Error,
    ErrorKind, Layout, Numerics, Op, RandomState, Result, Scalar, Shape, Src, Support,
};
#[cfg(feature = "cuda")]
use isobit_cuda::{CudaDevice, CudaStorage};
#[cfg(feature = "rocm")]
use isobit_rocm::{RocmDevice, RocmStorage};
use smallvec::SmallVec;

/// A device of any driver in this build.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum AnyDevice {
    /// The host.
    Cpu(CpuDevice),
    /// An NVIDIA GPU.
    #[cfg(feature = "cuda")]
    Cuda(CudaDevice),
    /// An AMD GPU.
    #[cfg(feature = "rocm")]
    Rocm(RocmDevice),
}

/// A storage of any driver in this build.
#[derive(Debug)]
pub struct AnyStorage {
    device: AnyDevice,
    storage: Inner,
}

#[derive(Debug)]
enum Inner {
    Cpu(CpuStorage),
    #[cfg(feature = "cuda")]
    Cuda(CudaStorage),
    #[cfg(feature = "rocm")]
    Rocm(RocmStorage),
}

/// Runs an expression on what is inside a device or storage.
macro_rules! on {
    ($any:ident, $value:expr, $inner:ident => $body:expr) => {
        match $value {
            $any::Cpu($inner) => $body,
            #[cfg(feature = "cuda")]
            $any::Cuda($inner) => $body,
            #[cfg(feature = "rocm")]
            $any::Rocm($inner) => $body,
        }
    };
}

/// A driver's storage inside the run-time choice.
trait Inside: BackendStorage {
    fn inside(any: &AnyStorage) -> Option<&Self>;
    fn wrap(self) -> Inner;
}

macro_rules! inside {
    ($variant:ident $storage:ident) => {
        impl Inside for $storage {
            fn inside(any: &AnyStorage) -> Option<&Self> {
                match &any.storage {
                    Inner::$variant(s) => Some(s),
                    #[allow(unreachable_patterns)]
                    _ => None,
                }
            }

            fn wrap(self) -> Inner {
                Inner::$variant(self)
            }
        }
    };
}
inside!(Cpu CpuStorage);
#[cfg(feature = "cuda")]
inside!(Cuda CudaStorage);
#[cfg(feature = "rocm")]
inside!(Rocm RocmStorage);

/// The operand as the destination's driver has it.
fn get<'a, S: Inside>(operand: &'a AnyStorage, dst: &S) -> Result<&'a S> {
    S::inside(operand).ok_or_else(|| {
        Error::new(
            ErrorKind::DeviceMismatch,
            format!(
                "operands live on different devices, {} and {}: copy one over first",
                operand.device.location(),
                dst.device().location()
            ),
        )
    })
}

fn src<'a, S: Inside>(operand: Src<'a, AnyStorage>, dst: &S) -> Result<Src<'a, S>> {
    Ok(match operand {
        Src::Storage(storage, layout) => Src::Storage(get(storage, dst)?, layout),
        Src::Dst => Src::Dst,
    })
}

impl AnyDevice {
    /// The host.
    pub fn cpu() -> Self {
        AnyDevice::Cpu(CpuDevice)
    }

    /// An NVIDIA GPU, with vendor numerics unless an operation says otherwise.
    ///
    /// # Errors
    /// `LibraryUnavailable` where this build or this machine has no CUDA driver; `InvalidArgument` where there is no such device.
    pub fn new_cuda(ordinal: usize) -> Result<Self> {
        Self::new_cuda_with(ordinal, Numerics::Vendor)
    }

    /// An NVIDIA GPU with given default numerics.
    ///
    /// # Errors
    /// As [`new_cuda`](Self::new_cuda).
    #[cfg(feature = "cuda")]
    pub fn new_cuda_with(ordinal: usize, numerics: Numerics) -> Result<Self> {
        CudaDevice::new_with(ordinal, isobit_cuda::DeviceOptions::default().with_numerics(numerics))
            .map(AnyDevice::Cuda)
    }

    /// An NVIDIA GPU with given default numerics.
    ///
    /// # Errors
    /// `LibraryUnavailable`: this build has no CUDA driver.
    #[cfg(not(feature = "cuda"))]
    pub fn new_cuda_with(_ordinal: usize, _numerics: Numerics) -> Result<Self> {
        Err(Error::new(
            ErrorKind::LibraryUnavailable,
            "this build has no CUDA driver: build with the feature `cuda` of `isobit`",
        ))
    }

    /// An AMD GPU, with vendor numerics unless an operation says otherwise.
    ///
    /// # Errors
    /// `LibraryUnavailable` where this build or this machine has no ROCm driver; `InvalidArgument` where there is no such device.
    pub fn new_rocm(ordinal: usize) -> Result<Self> {
        Self::new_rocm_with(ordinal, Numerics::Vendor)
    }

    /// An AMD GPU with given default numerics.
    ///
    /// # Errors
    /// As [`new_rocm`](Self::new_rocm).
    #[cfg(feature = "rocm")]
    pub fn new_rocm_with(ordinal: usize, numerics: Numerics) -> Result<Self> {
        RocmDevice::new_with(ordinal, isobit_rocm::DeviceOptions::default().with_numerics(numerics))
            .map(AnyDevice::Rocm)
    }

    /// An AMD GPU with given default numerics.
    ///
    /// # Errors
    /// `LibraryUnavailable`: this build has no ROCm driver.
    #[cfg(not(feature = "rocm"))]
    pub fn new_rocm_with(_ordinal: usize, _numerics: Numerics) -> Result<Self> {
        Err(Error::new(
            ErrorKind::LibraryUnavailable,
            "this build has no ROCm driver: build with the feature `rocm` of `isobit`",
        ))
    }

    /// An NVIDIA GPU where there is one, else the host.
    ///
    /// # Errors
    /// Those of opening a GPU that is there.
    pub fn cuda_if_available(ordinal: usize) -> Result<Self> {
        Self::host_without_driver(Self::new_cuda(ordinal))
    }

    /// An AMD GPU where there is one, else the host.
    ///
    /// # Errors
    /// Those of opening a GPU that is there.
    pub fn rocm_if_available(ordinal: usize) -> Result<Self> {
        Self::host_without_driver(Self::new_rocm(ordinal))
    }

    fn host_without_driver(opened: Result<Self>) -> Result<Self> {
        match opened {
            Err(e) if e.kind() == ErrorKind::LibraryUnavailable => Ok(Self::cpu()),
            other => other,
        }
    }

    /// Opens a device by the name that [`DeviceLocation`] prints, such as `cuda:0`; `cpu` and a driver's bare name mean ordinal 0.
    ///
    /// # Errors
    /// `InvalidArgument` for a name that is none; else those of the driver.
    pub fn open(name: &str) -> Result<Self> {
        let (driver, ordinal) = name.split_once(':').unwrap_or((name, "0"));
        let ordinal = ordinal.parse().map_err(|e| {
            Error::new(ErrorKind::InvalidArgument, format!("`{name}` is no device: `{ordinal}` is no ordinal"))
                .with_source(e)
        })?;
        match driver {
            "cpu" => CpuDevice::new(ordinal).map(AnyDevice::Cpu),
            "cuda" => Self::new_cuda(ordinal),
            "rocm" => Self::new_rocm(ordinal),
            _ => Err(Error::new(
                ErrorKind::InvalidArgument,
                format!("`{name}` is no device: drivers are cpu, cuda and rocm, as in `cuda:0`"),
            )),
        }
    }

    /// True for the host.
    pub fn is_cpu(&self) -> bool {
        matches!(self, AnyDevice::Cpu(_))
    }

    /// True for an NVIDIA GPU.
    pub fn is_cuda(&self) -> bool {
        self.location().driver == "cuda"
    }

    /// True for an AMD GPU.
    pub fn is_rocm(&self) -> bool {
        self.location().driver == "rocm"
    }

    fn wrap(&self, storage: Inner) -> Result<AnyStorage> {
        Ok(AnyStorage { device: self.clone(), storage })
    }

    /// The CUDA device inside.
    ///
    /// # Errors
    /// `DeviceMismatch` where it is another driver's.
    #[cfg(feature = "cuda")]
    pub fn as_cuda_device(&self) -> Result<&CudaDevice> {
        match self {
            AnyDevice::Cuda(device) => Ok(device),
            _ => Err(self.is_not("a CUDA device")),
        }
    }

    /// The ROCm device inside.
    ///
    /// # Errors
    /// `DeviceMismatch` where it is another driver's.
    #[cfg(feature = "rocm")]
    pub fn as_rocm_device(&self) -> Result<&RocmDevice> {
        match self {
            AnyDevice::Rocm(device) => Ok(device),
            _ => Err(self.is_not("a ROCm device")),
        }
    }

    #[cfg(any(feature = "cuda", feature = "rocm"))]
    fn is_not(&self, wanted: &str) -> Error {
        Error::new(ErrorKind::DeviceMismatch, format!("{wanted} was asked for, this is {}", self.location()))
    }
}

impl BackendDevice for AnyDevice {
    type Storage = AnyStorage;

    /// The host; see [`open`](AnyDevice::open) for the others.
    fn new(ordinal: usize) -> Result<Self> {
        CpuDevice::new(ordinal).map(AnyDevice::Cpu)
    }

    fn id(&self) -> DeviceId {
        on!(AnyDevice, self, d => d.id())
    }

    fn location(&self) -> DeviceLocation {
        on!(AnyDevice, self, d => d.location())
    }

    fn info(&self) -> Result<DeviceInfo> {
        on!(AnyDevice, self, d => d.info())
    }

    fn default_numerics(&self) -> Numerics {
        on!(AnyDevice, self, d => d.default_numerics())
    }

    fn supports(&self, op: &Op, dtypes: &[DType]) -> Support {
        on!(AnyDevice, self, d => d.supports(op, dtypes))
    }

    fn zeros(&self, shape: &Shape, dtype: DType) -> Result<AnyStorage> {
        self.wrap(on!(AnyDevice, self, d => d.zeros(shape, dtype)?.wrap()))
    }

    unsafe fn alloc_uninit(&self, shape: &Shape, dtype: DType) -> Result<AnyStorage> {
        // SAFETY: passed on.
        self.wrap(on!(AnyDevice, self, d => unsafe { d.alloc_uninit(shape, dtype)? }.wrap()))
    }

    fn storage_from_bytes(&self, dtype: DType, bytes: &[u8]) -> Result<AnyStorage> {
        self.wrap(on!(AnyDevice, self, d => d.storage_from_bytes(dtype, bytes)?.wrap()))
    }

    fn random_state(&self) -> Option<&RandomState> {
        on!(AnyDevice, self, d => d.random_state())
    }

    fn synchronize(&self) -> Result<()> {
        on!(AnyDevice, self, d => d.synchronize())
    }
}

impl AnyStorage {
    /// The host storage inside, where the device is the host.
    pub fn as_cpu_storage(&self) -> Option<&CpuStorage> {
        CpuStorage::inside(self)
    }

    /// The CUDA storage inside, where the device is an NVIDIA GPU.
    #[cfg(feature = "cuda")]
    pub fn as_cuda_storage(&self) -> Option<&CudaStorage> {
        CudaStorage::inside(self)
    }

    /// The ROCm storage inside, where the device is an AMD GPU.
    #[cfg(feature = "rocm")]
    pub fn as_rocm_storage(&self) -> Option<&RocmStorage> {
        RocmStorage::inside(self)
    }
}

impl BackendStorage for AnyStorage {
    type Device = AnyDevice;

    fn dtype(&self) -> DType {
        on!(Inner, &self.storage, s => s.dtype())
    }

    fn len(&self) -> usize {
        on!(Inner, &self.storage, s => s.len())
    }

    fn device(&self) -> &AnyDevice {
        &self.device
    }

    fn to_cpu_storage(&self) -> Result<CpuStorage> {
        on!(Inner, &self.storage, s => s.to_cpu_storage())
    }

    fn const_set(&mut self, value: Scalar, layout: &Layout) -> Result<()> {
        on!(Inner, &mut self.storage, s => s.const_set(value, layout))
    }

    fn apply_into(op: &Op, inputs: &[Src<'_, Self>], dst: &mut Self, dst_layout: &Layout) -> Result<()> {
        on!(Inner, &mut dst.storage, d => {
            let inputs = inputs.iter().map(|&input| src(input, d)).collect::<Result<SmallVec<[_; 4]>>>()?;
            BackendStorage::apply_into(op, &inputs, d, dst_layout)
        })
    }
}
