//! Constructors and type queries of [`AnyDevice`].

use super::AnyDevice;
use crate::{BackendDevice, CpuDevice, Error, ErrorKind, Numerics, Result, drivers};
#[cfg(feature = "cuda")]
use isobit_cuda::CudaDevice;
#[cfg(feature = "rocm")]
use isobit_rocm::RocmDevice;

impl AnyDevice {
    /// Returns the CPU device.
    pub fn cpu() -> Self {
        Self::from_backend(CpuDevice)
    }

    /// Opens an NVIDIA GPU with vendor numerics by default.
    ///
    /// # Errors
    /// Returns `LibraryUnavailable` if this build or this machine has no CUDA driver, and
    /// `InvalidArgument` if there is no such device.
    pub fn new_cuda(ordinal: usize) -> Result<Self> {
        Self::new_cuda_with(ordinal, Numerics::Vendor)
    }

    /// Opens an NVIDIA GPU with the given default numerics.
    ///
    /// # Errors
    /// Same as [`new_cuda`](Self::new_cuda).
    #[cfg(feature = "cuda")]
    pub fn new_cuda_with(ordinal: usize, numerics: Numerics) -> Result<Self> {
        CudaDevice::new_with(ordinal, isobit_cuda::DeviceOptions::default().with_numerics(numerics))
            .map(Self::from_backend)
    }

    /// Opens an NVIDIA GPU with the given default numerics.
    ///
    /// # Errors
    /// Always returns `LibraryUnavailable`: this build has no CUDA driver.
    #[cfg(not(feature = "cuda"))]
    pub fn new_cuda_with(_ordinal: usize, _numerics: Numerics) -> Result<Self> {
        Err(Error::new(
            ErrorKind::LibraryUnavailable,
            "this build has no CUDA driver: build with the feature `cuda` of `isobit`",
        ))
    }

    /// Opens an AMD GPU with vendor numerics by default.
    ///
    /// # Errors
    /// Returns `LibraryUnavailable` if this build or this machine has no ROCm driver, and
    /// `InvalidArgument` if there is no such device.
    pub fn new_rocm(ordinal: usize) -> Result<Self> {
        Self::new_rocm_with(ordinal, Numerics::Vendor)
    }

    /// Opens an AMD GPU with the given default numerics.
    ///
    /// # Errors
    /// Same as [`new_rocm`](Self::new_rocm).
    #[cfg(feature = "rocm")]
    pub fn new_rocm_with(ordinal: usize, numerics: Numerics) -> Result<Self> {
        RocmDevice::new_with(ordinal, isobit_rocm::DeviceOptions::default().with_numerics(numerics))
            .map(Self::from_backend)
    }

    /// Opens an AMD GPU with the given default numerics.
    ///
    /// # Errors
    /// Always returns `LibraryUnavailable`: this build has no ROCm driver.
    #[cfg(not(feature = "rocm"))]
    pub fn new_rocm_with(_ordinal: usize, _numerics: Numerics) -> Result<Self> {
        Err(Error::new(
            ErrorKind::LibraryUnavailable,
            "this build has no ROCm driver: build with the feature `rocm` of `isobit`",
        ))
    }

    /// Opens an NVIDIA GPU if there is one, otherwise returns the CPU device.
    ///
    /// # Errors
    /// Returns the driver's error if a GPU is present but does not open.
    pub fn cuda_if_available(ordinal: usize) -> Result<Self> {
        Self::host_without_driver(Self::new_cuda(ordinal))
    }

    /// Opens an AMD GPU if there is one, otherwise returns the CPU device.
    ///
    /// # Errors
    /// Returns the driver's error if a GPU is present but does not open.
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
    /// `cuda:0`, a GPU with vendor numerics by default. `cpu` and a bare driver name mean ordinal
    /// 0. The driver is one of this build's or one added by
    /// [`register_driver`](crate::register_driver).
    ///
    /// ```
    /// use isobit::{AnyDevice, ErrorKind};
    ///
    /// assert!(AnyDevice::open("cpu:0")?.is_cpu());
    /// let error = AnyDevice::open("no-such-driver").unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    /// # Ok::<(), isobit::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns `InvalidArgument` if `name` is not a device name, `LibraryUnavailable` if this build
    /// or this machine does not have the driver, or the driver's error.
    pub fn open(name: &str) -> Result<Self> {
        Self::open_with(name, Numerics::Vendor)
    }

    /// [`open`](Self::open) with the given default numerics. They are those of a GPU: the CPU has
    /// no vendor's library, and a registered driver has its own default.
    ///
    /// ```
    /// use isobit::{AnyDevice, Numerics};
    ///
    /// let device = AnyDevice::open_with("cpu", Numerics::Portable)?; // or "cuda:0", "rocm:0"
    /// # Ok::<(), isobit::Error>(())
    /// ```
    ///
    /// # Errors
    /// Same as [`open`](Self::open).
    pub fn open_with(name: &str, numerics: Numerics) -> Result<Self> {
        let (driver, ordinal) = name.split_once(':').unwrap_or((name, "0"));
        let ordinal = ordinal.parse().map_err(|e| {
            Error::new(
                ErrorKind::InvalidArgument,
                format!("`{name}` is not a device name: `{ordinal}` is not a device number"),
            )
            .with_source(e)
        })?;
        match driver {
            "cuda" => Self::new_cuda_with(ordinal, numerics),
            "rocm" => Self::new_rocm_with(ordinal, numerics),
            _ => drivers::open(driver, ordinal).unwrap_or_else(|| {
                let known = drivers::names().join(", ");
                let message = format!("`{name}` is not a device name: the drivers are {known}, as in `cpu:0`");
                Err(Error::new(ErrorKind::InvalidArgument, message))
            }),
        }
    }

    /// Whether this is the CPU device.
    pub fn is_cpu(&self) -> bool {
        self.downcast_ref::<CpuDevice>().is_some()
    }

    /// Whether this is an NVIDIA GPU.
    pub fn is_cuda(&self) -> bool {
        self.location().driver == "cuda"
    }

    /// Whether this is an AMD GPU.
    pub fn is_rocm(&self) -> bool {
        self.location().driver == "rocm"
    }

    /// Returns the underlying CUDA device.
    ///
    /// # Errors
    /// Returns `DeviceMismatch` if the device belongs to another driver.
    #[cfg(feature = "cuda")]
    pub fn as_cuda_device(&self) -> Result<&CudaDevice> {
        self.downcast_ref().ok_or_else(|| self.is_not("a CUDA device"))
    }

    /// Returns the underlying ROCm device.
    ///
    /// # Errors
    /// Returns `DeviceMismatch` if the device belongs to another driver.
    #[cfg(feature = "rocm")]
    pub fn as_rocm_device(&self) -> Result<&RocmDevice> {
        self.downcast_ref().ok_or_else(|| self.is_not("a ROCm device"))
    }

    #[cfg(any(feature = "cuda", feature = "rocm"))]
    #[cold]
    fn is_not(&self, wanted: &str) -> Error {
        Error::new(ErrorKind::DeviceMismatch, format!("expected {wanted}, found {}", self.location()))
    }
}
