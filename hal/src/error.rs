//! One error type for every driver: a kind that a program can handle, and context for people.

use crate::{DType, DeviceLocation, Layout};
use std::error::Error as StdError;
use std::fmt;

/// The result of a HAL call.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The kind of an error, for a program to handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The device cannot allocate the memory, even after releasing its caches.
    OutOfMemory,
    /// The device no longer responds; it must be opened again.
    DeviceLost,
    /// The operation is not defined for these dtypes, or this driver does not implement it for
    /// them.
    UnsupportedDtype,
    /// This driver does not implement the operation.
    UnsupportedOp,
    /// An argument is out of its domain: for example a layout that exceeds its buffer, a
    /// destination that overlaps itself, or a bad ordinal.
    InvalidArgument,
    /// The shapes of the operands do not fit together.
    ShapeMismatch,
    /// An index read from a tensor lies outside the tensor it indexes.
    IndexOutOfRange,
    /// No compiled kernel fits this device, and none could be compiled.
    KernelMissing,
    /// A run-time compiler rejected a kernel.
    CompileFailed,
    /// A vendor library (or the driver itself) is not installed on this machine, or lacks a
    /// required symbol.
    LibraryUnavailable,
    /// A vendor library reported a failure.
    LibraryFailure,
    /// Operands live on different devices.
    DeviceMismatch,
    /// The call is not allowed while a graph is being captured.
    CaptureViolation,
    /// A rank of a [communicator](crate::Communicator) has left, failed or aborted, or did not make
    /// a call in time. The devices are not affected.
    CommunicatorFailed,
    /// Anything else.
    Other,
}

/// The code and the name that a vendor's interface returned for a failure.
///
/// ```rust
/// use isobit_hal::{Error, ErrorKind};
///
/// let error = Error::new(ErrorKind::LibraryFailure, "the product failed")
///     .with_native(13, "CUBLAS_STATUS_EXECUTION_FAILED");
/// assert_eq!(error.native().map(|native| native.code), Some(13));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NativeCode {
    /// The numeric code.
    pub code: i64,
    /// The vendor's name for the code, such as `CUDA_ERROR_OUT_OF_MEMORY`.
    pub name: String,
}

#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    message: String,
    op: Option<String>,
    dtypes: Vec<DType>,
    layouts: Vec<Layout>,
    device: Option<DeviceLocation>,
    kernel: Option<String>,
    native: Option<NativeCode>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

/// The error of every fallible HAL call. Its content is boxed, so that a `Result<()>` stays one
/// word wide.
///
/// ```rust
/// use isobit_hal::{BackendDevice, BackendStorage, BinaryOp, CpuDevice, ErrorKind, Layout};
///
/// let x = CpuDevice.storage_from_slice(&[1.0f32, 2.0])?;
/// let (two, three) = (Layout::contiguous(2), Layout::contiguous(3));
/// let error = x.binary(&two, &x, &three, BinaryOp::Add).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::ShapeMismatch);
/// assert_eq!((error.op(), error.layouts().len()), (Some("add"), 2));
/// # Ok::<(), isobit_hal::Error>(())
/// ```
pub struct Error(Box<Inner>);

impl Error {
    /// Creates an error. The message says what was requested, what was found and what to do.
    #[cold]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            message: message.into(),
            op: None,
            dtypes: Vec::new(),
            layouts: Vec::new(),
            device: None,
            kernel: None,
            native: None,
            source: None,
        }))
    }

    /// Sets the operation, unless it is already set.
    pub fn with_op(mut self, op: impl fmt::Display) -> Self {
        self.0.op.get_or_insert_with(|| op.to_string());
        self
    }

    /// Attaches the dtypes of the operands, inputs first.
    pub fn with_dtypes(mut self, dtypes: &[DType]) -> Self {
        self.0.dtypes = dtypes.to_vec();
        self
    }

    /// Attaches the layouts of the operands, inputs first.
    pub fn with_layouts(mut self, layouts: &[&Layout]) -> Self {
        self.0.layouts = layouts.iter().map(|&l| l.clone()).collect();
        self
    }

    /// Sets the device.
    pub fn with_device(mut self, device: DeviceLocation) -> Self {
        self.0.device = Some(device);
        self
    }

    /// Sets the kernel.
    pub fn with_kernel(mut self, kernel: impl Into<String>) -> Self {
        self.0.kernel = Some(kernel.into());
        self
    }

    /// Attaches the vendor's code and its name.
    pub fn with_native(mut self, code: i64, name: impl Into<String>) -> Self {
        self.0.native = Some(NativeCode { code, name: name.into() });
        self
    }

    /// Attaches the error that caused this one.
    pub fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// Returns the kind, for a program to handle.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns the message without the context.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Returns the operation that failed, if there is one.
    pub fn op(&self) -> Option<&str> {
        self.0.op.as_deref()
    }

    /// Returns the dtypes of the operands, inputs first.
    pub fn dtypes(&self) -> &[DType] {
        &self.0.dtypes
    }

    /// Returns the layouts of the operands, inputs first.
    pub fn layouts(&self) -> &[Layout] {
        &self.0.layouts
    }

    /// Returns the device on which the error occurred.
    pub fn device(&self) -> Option<&DeviceLocation> {
        self.0.device.as_ref()
    }

    /// Returns the kernel that was involved.
    pub fn kernel(&self) -> Option<&str> {
        self.0.kernel.as_deref()
    }

    /// Returns the vendor's code.
    pub fn native(&self) -> Option<&NativeCode> {
        self.0.native.as_ref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let e = &self.0;
        f.write_str(&e.message)?;
        let mut context = Vec::new();
        if let Some(op) = &e.op {
            context.push(format!("op {op}"));
        }
        if !e.dtypes.is_empty() {
            let names: Vec<_> = e.dtypes.iter().map(|d| d.as_str()).collect();
            context.push(format!("dtypes {}", names.join(", ")));
        }
        if !e.layouts.is_empty() {
            let layouts: Vec<_> = e.layouts.iter().map(|l| l.to_string()).collect();
            context.push(format!("layouts {}", layouts.join(", ")));
        }
        if let Some(device) = &e.device {
            context.push(format!("device {device}"));
        }
        if let Some(kernel) = &e.kernel {
            context.push(format!("kernel {kernel}"));
        }
        if let Some(native) = &e.native {
            context.push(format!("native {} ({})", native.name, native.code));
        }
        if !context.is_empty() {
            write!(f, " [{}]", context.join("; "))?;
        }
        Ok(())
    }
}

/// Like [`Display`](fmt::Display), followed by the chain of source errors. `unwrap` and a `main`
/// that returns an error print this, so it is written for people.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)?;
        let mut cause = self.source();
        while let Some(error) = cause {
            write!(f, "\n  caused by: {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_deref().map(|s| s as &(dyn StdError + 'static))
    }
}
