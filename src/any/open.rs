//! Opening a device, and asking what was opened.

use super::AnyDevice;
use crate::{BackendDevice, CpuDevice, Error, ErrorKind, Numerics, Result, drivers};
#[cfg(feature = "cuda")]
use isobit_cuda::CudaDevice;
#[cfg(feature = "rocm")]
use isobit_rocm::RocmDevice;

impl AnyDevice {
    /// The host.
    pub fn cpu() -> Self {
        Self::from_backend(CpuDevice)
    }

    /// An NVIDIA GPU, with vendor numerics unless an operation says otherwise.
    ///
    /// # Errors
    /// `LibraryUnavailable` where this build or this machine has no CUDA driver; `InvalidArgument`
    /// where there is no such device.
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
            .map(Self::from_backend)
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
    /// `LibraryUnavailable` where this build or this machine has no ROCm driver; `InvalidArgument`
    /// where there is no such device.
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
            .map(Self::from_backend)
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

    /// Opens a device by the name that [`DeviceLocation`](crate::DeviceLocation) prints, such as
    /// `cuda:0`; `cpu` and a driver's bare name mean ordinal 0. Drivers are those of this build and
    /// those that [`register_driver`](crate::register_driver) named.
    ///
    /// # Errors
    /// `InvalidArgument` for a name that is none; `LibraryUnavailable` for a driver that this build
    /// or this machine has not; else those of the driver.
    pub fn open(name: &str) -> Result<Self> {
        let (driver, ordinal) = name.split_once(':').unwrap_or((name, "0"));
        let ordinal = ordinal.parse().map_err(|e| {
            Error::new(
                ErrorKind::InvalidArgument,
                format!("`{name}` is not a device name: `{ordinal}` is not an ordinal"),
            )
            .with_source(e)
        })?;
        match (drivers::open(driver, ordinal), driver) {
            (Some(opened), _) => opened,
            (None, "cuda") => Self::new_cuda(ordinal),
            (None, "rocm") => Self::new_rocm(ordinal),
            (None, _) => {
                let known = drivers::names().join(", ");
                let message = format!("`{name}` is not a device name: the drivers are {known}, as in `cpu:0`");
                Err(Error::new(ErrorKind::InvalidArgument, message))
            }
        }
    }

    /// True for the host.
    pub fn is_cpu(&self) -> bool {
        self.downcast_ref::<CpuDevice>().is_some()
    }

    /// True for an NVIDIA GPU.
    pub fn is_cuda(&self) -> bool {
        self.location().driver == "cuda"
    }

    /// True for an AMD GPU.
    pub fn is_rocm(&self) -> bool {
        self.location().driver == "rocm"
    }

    /// The CUDA device inside.
    ///
    /// # Errors
    /// `DeviceMismatch` where it is another driver's.
    #[cfg(feature = "cuda")]
    pub fn as_cuda_device(&self) -> Result<&CudaDevice> {
        self.downcast_ref().ok_or_else(|| self.is_not("a CUDA device"))
    }

    /// The ROCm device inside.
    ///
    /// # Errors
    /// `DeviceMismatch` where it is another driver's.
    #[cfg(feature = "rocm")]
    pub fn as_rocm_device(&self) -> Result<&RocmDevice> {
        self.downcast_ref().ok_or_else(|| self.is_not("a ROCm device"))
    }

    #[cfg(any(feature = "cuda", feature = "rocm"))]
    #[cold]
    fn is_not(&self, wanted: &str) -> Error {
        Error::new(ErrorKind::DeviceMismatch, format!("{wanted} was asked for, this is {}", self.location()))
    }
}
