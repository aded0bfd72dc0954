//! One error type for every driver: a kind that a program can act on, and the context that a person
//! needs.

use crate::{DType, DeviceLocation, Layout};
use std::error::Error as StdError;
use std::fmt;

/// The result of a HAL call.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, as far as a program can act on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The device cannot give that much memory, also after its caches were released.
    OutOfMemory,
    /// The device no longer answers; it must be opened again.
    DeviceLost,
    /// The operation is not defined for these dtypes, or this driver does not implement it for
    /// them.
    UnsupportedDtype,
    /// This driver does not implement the operation.
    UnsupportedOp,
    /// An argument is out of its domain: a layout that leaves its buffer, an overlapping output, a
    /// bad ordinal.
    InvalidArgument,
    /// Shapes that must agree do not.
    ShapeMismatch,
    /// An index read from a tensor lies outside the tensor it indexes.
    IndexOutOfRange,
    /// No compiled kernel fits this device and none could be compiled.
    KernelMissing,
    /// A run-time compiler rejected a kernel.
    CompileFailed,
    /// A vendor library (or the driver itself) is not on this machine, or lacks a symbol that is
    /// needed.
    LibraryUnavailable,
    /// A vendor library reported a failure.
    LibraryFailure,
    /// Operands live on different devices.
    DeviceMismatch,
    /// The call is not legal while a graph is being captured.
    CaptureViolation,
    /// Anything else.
    Other,
}

/// The code and the name a vendor's interface gave a failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NativeCode {
    /// The numeric code.
    pub code: i64,
    /// The vendor's name of it, such as `CUDA_ERROR_OUT_OF_MEMORY`.
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

/// The error of every fallible call in the HAL. Boxed inside, so a `Result` stays one word wide.
pub struct Error(Box<Inner>);

impl Error {
    /// An error of a kind with a message that says what was asked, what was found and what to do.
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

    /// Names the operation; the first name given stays.
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

    /// Names the device.
    pub fn with_device(mut self, device: DeviceLocation) -> Self {
        self.0.device = Some(device);
        self
    }

    /// Names the kernel.
    pub fn with_kernel(mut self, kernel: impl Into<String>) -> Self {
        self.0.kernel = Some(kernel.into());
        self
    }

    /// Attaches the vendor's own code.
    pub fn with_native(mut self, code: i64, name: impl Into<String>) -> Self {
        self.0.native = Some(NativeCode { code, name: name.into() });
        self
    }

    /// Attaches the error that caused this one.
    pub fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// The kind, for a program to act on.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The message alone, without the context.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The operation that failed, where one was involved.
    pub fn op(&self) -> Option<&str> {
        self.0.op.as_deref()
    }

    /// The dtypes of its operands, inputs first.
    pub fn dtypes(&self) -> &[DType] {
        &self.0.dtypes
    }

    /// The layouts of its operands, inputs first.
    pub fn layouts(&self) -> &[Layout] {
        &self.0.layouts
    }

    /// The device it happened on.
    pub fn device(&self) -> Option<&DeviceLocation> {
        self.0.device.as_ref()
    }

    /// The kernel that was involved.
    pub fn kernel(&self) -> Option<&str> {
        self.0.kernel.as_deref()
    }

    /// The vendor's own code.
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

/// As [`Display`](fmt::Display), with the errors that caused it: what `unwrap` and a `main` that
/// returns this print is for people.
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
