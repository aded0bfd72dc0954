//! User kernels: their source, the compiled function, and launches with checked arguments.

mod check;

#[doc(hidden)]
pub use check::{arguments, configuration};

use crate::{BackendStorage, DeviceId, F8E4M3, F8E5M2, Result, Scalar};
use half::{bf16, f16};
use smallvec::SmallVec;
use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// The grid, the block and the dynamic shared memory of a launch.
///
/// ```rust
/// use isobit_hal::LaunchConfig;
///
/// let config = LaunchConfig::for_num_elems(1000);
/// assert_eq!((config.grid, config.block), ([4, 1, 1], [256, 1, 1]));
/// assert_eq!(LaunchConfig::linear(4, 256), config);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaunchConfig {
    /// Blocks along x, y, z.
    pub grid: [u32; 3],
    /// Threads per block along x, y, z.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub shared_bytes: u32,
}

impl LaunchConfig {
    /// Creates a configuration with blocks and threads along x only.
    pub const fn linear(blocks: u32, threads: u32) -> Self {
        Self { grid: [blocks, 1, 1], block: [threads, 1, 1], shared_bytes: 0 }
    }

    /// Creates a configuration with one thread per element, in blocks of 256, and at least one
    /// block. The grid is capped at 2^31 - 1 blocks; a grid-stride kernel still covers every
    /// element.
    pub const fn for_num_elems(n: usize) -> Self {
        let blocks = n.div_ceil(256);
        let most = i32::MAX as usize;
        Self::linear(
            if blocks == 0 {
                1
            } else if blocks > most {
                most as u32
            } else {
                blocks as u32
            },
            256,
        )
    }
}

/// Source code in the dialect of Isobit's own kernels: CUDA C++ that both vendors' run-time
/// compilers accept. It may include Isobit's headers (`<isobit.cuh>` includes all of them) and the
/// headers given here. Kernels must be `extern "C"`: they are looked up by their names in the
/// source, and a template has no such name.
///
/// Compiler flags are pinned so that every vendor gives the same bits: no contraction, IEEE
/// division and square root, and denormals are kept. User options are appended unchanged; an option
/// such as `--use_fast_math` gives up this guarantee for the source. If an option makes the
/// compiler read files (`-I`, `-include`), the compiled code is not cached on disk, because the
/// files may change while the source stays the same.
///
/// ```rust
/// use isobit_hal::{BackendDevice, CpuDevice, ErrorKind, KernelSource};
///
/// let text = "extern \"C\" __global__ void fill(float *x) { x[threadIdx.x] = N; }";
/// let source = KernelSource::new("fill.cu", text).with_option("-DN=4");
/// assert_eq!(source.options, ["-DN=4"]);
/// // Only a GPU runs kernels.
/// assert_eq!(CpuDevice.compile("fill", &source).unwrap_err().kind(), ErrorKind::UnsupportedOp);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct KernelSource {
    /// A name for messages.
    pub name: String,
    /// The text.
    pub text: String,
    /// Name and text of additional headers. A header with the name of one of Isobit's headers
    /// replaces it.
    pub headers: Vec<(String, String)>,
    /// Compiler flags that follow Isobit's own, such as `-DN=4`.
    pub options: Vec<String>,
}

impl KernelSource {
    /// Creates a source without additional headers and flags.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: text.into(), ..Self::default() }
    }

    /// Adds a header that the text may include by its name.
    pub fn with_header(mut self, name: impl Into<String>, text: impl Into<String>) -> Self {
        self.headers.push((name.into(), text.into()));
        self
    }

    /// Adds a compiler flag.
    pub fn with_option(mut self, option: impl Into<String>) -> Self {
        self.options.push(option.into());
        self
    }
}

/// The code of a kernel.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum KernelCode<'a> {
    /// Source, compiled on this machine.
    Source(&'a KernelSource),
    /// PTX, which NVIDIA's driver compiles.
    Ptx(&'a str),
    /// A binary that the vendor's driver loads: a cubin, or an AMD code object.
    Binary(&'a [u8]),
}

/// The kind of a kernel parameter, as far as the code specifies it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParamKind {
    /// An address.
    Pointer,
    /// An integer, or raw bits.
    Integer,
    /// An address, or an integer of the same width: PTX does not have to distinguish them.
    PointerOrInteger,
    /// A floating-point number.
    Float,
    /// Bytes of unknown meaning: a structure, or a number whose type the code does not specify.
    Bytes,
}

/// One parameter of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelParam {
    /// The size in bytes.
    pub size: usize,
    /// The kind of argument it takes.
    pub kind: ParamKind,
}

/// The interface that a driver implements for its kernels; users call [`Func`].
///
/// ```rust
/// use isobit_hal::{DeviceId, Func, kernel::{FuncBackend, KernelParam, ParamKind}};
/// use std::sync::Arc;
///
/// #[derive(Debug)]
/// struct Negate(DeviceId);
///
/// impl FuncBackend for Negate {
///     fn name(&self) -> &str { "negate" }
///     fn device(&self) -> DeviceId { self.0 }
///     fn params(&self) -> Option<&[KernelParam]> {
///         Some(&[KernelParam { size: 8, kind: ParamKind::Pointer }])
///     }
/// }
/// let func = Func::from_backend(Arc::new(Negate(DeviceId::new())));
/// assert_eq!((func.name(), func.params().unwrap().len()), ("negate", 1));
/// ```
pub trait FuncBackend: Any + Send + Sync + fmt::Debug {
    /// Returns the symbol.
    fn name(&self) -> &str;

    /// Returns the device on which the kernel was loaded.
    fn device(&self) -> DeviceId;

    /// Returns the parameters in order, or `None` if the code does not specify them.
    fn params(&self) -> Option<&[KernelParam]>;

    /// As [`Func::max_threads_per_block`].
    fn max_threads_per_block(&self) -> Option<u32> {
        None
    }
}

/// A kernel that is ready to launch. Clones are handles; the module stays loaded as long as the
/// device and any of the handles exist.
#[derive(Debug, Clone)]
pub struct Func(Arc<dyn FuncBackend>);

impl Func {
    /// Wraps a driver's kernel.
    pub fn from_backend(func: Arc<dyn FuncBackend>) -> Self {
        Self(func)
    }

    /// Returns the driver's own kernel, if it has type `T`.
    pub fn downcast_ref<T: FuncBackend>(&self) -> Option<&T> {
        (&*self.0 as &dyn Any).downcast_ref()
    }

    /// Returns the symbol.
    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// Returns the device on which the kernel was loaded.
    pub fn device(&self) -> DeviceId {
        self.0.device()
    }

    /// Returns the parameters in order, or `None` if the code does not specify them. A launch
    /// checks its arguments against them.
    pub fn params(&self) -> Option<&[KernelParam]> {
        self.0.params()
    }

    /// Returns the maximum number of threads per block, if the code was compiled with such a limit.
    pub fn max_threads_per_block(&self) -> Option<u32> {
        self.0.max_threads_per_block()
    }

    /// Starts a launch.
    pub fn builder<S: BackendStorage>(&self) -> LaunchBuilder<'_, S> {
        LaunchBuilder { func: self, args: SmallVec::new() }
    }
}

/// A number or structure that a kernel takes by value.
///
/// ```rust
/// use isobit_hal::kernel::{KernelValue, ParamKind};
///
/// assert_eq!(KernelValue::from(1.5f32).kind, ParamKind::Float);
/// assert_eq!(KernelValue::from(7u16).bytes.as_slice(), 7u16.to_ne_bytes());
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct KernelValue {
    /// The bytes, as the kernel reads them.
    pub bytes: SmallVec<[u8; 16]>,
    /// The kind of the value.
    pub kind: ParamKind,
}

impl KernelValue {
    /// Creates a structure from its bytes, which must have the layout of the kernel's structure.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Self { bytes: SmallVec::from_slice(bytes), kind: ParamKind::Bytes }
    }
}

macro_rules! values {
    ($($kind:ident: $($ty:ty)*;)*) => {$($(
        impl From<$ty> for KernelValue {
            fn from(value: $ty) -> Self {
                Self { bytes: SmallVec::from_slice(bytemuck::bytes_of(&value)), kind: ParamKind::$kind }
            }
        }
    )*)*};
}
values! {
    Integer: u8 i8 u16 i16 u32 i32 u64 i64 usize;
    Float: f32 f64;
    // Kernels take these as structures with one member.
    Bytes: F8E4M3 F8E5M2 f16 bf16;
}

impl From<Scalar> for KernelValue {
    fn from(value: Scalar) -> Self {
        match value {
            Scalar::U8(v) => v.into(),
            Scalar::I8(v) => v.into(),
            Scalar::U32(v) => v.into(),
            Scalar::I16(v) => v.into(),
            Scalar::I32(v) => v.into(),
            Scalar::I64(v) => v.into(),
            Scalar::F8E4M3(v) => v.into(),
            Scalar::F16(v) => v.into(),
            Scalar::BF16(v) => v.into(),
            Scalar::F32(v) => v.into(),
            Scalar::F64(v) => v.into(),
            Scalar::U16(v) => v.into(),
            Scalar::U64(v) => v.into(),
            Scalar::F8E5M2(v) => v.into(),
        }
    }
}

/// An argument of a kernel.
#[derive(Debug)]
pub enum KernelArg<'a, S> {
    /// The address of a storage's element at the given offset; the kernel reads the storage.
    Read(&'a S, usize),
    /// The address of a storage's element at the given offset; the kernel writes the storage.
    Write(&'a mut S, usize),
    /// A value.
    Value(KernelValue),
}

impl<S> KernelArg<'_, S> {
    /// Replaces the storage by the result of `read` or `write`. A driver uses it to reach the
    /// storage that another type wraps.
    ///
    /// # Errors
    /// The error of `read` or `write`.
    pub fn try_map<'a, T>(
        &'a mut self,
        read: impl FnOnce(&'a S) -> Result<&'a T>,
        write: impl FnOnce(&'a mut S) -> Result<&'a mut T>,
    ) -> Result<KernelArg<'a, T>> {
        Ok(match self {
            KernelArg::Read(storage, offset) => KernelArg::Read(read(storage)?, *offset),
            KernelArg::Write(storage, offset) => KernelArg::Write(write(storage)?, *offset),
            KernelArg::Value(value) => KernelArg::Value(value.clone()),
        })
    }
}

/// A launch under construction: a kernel and its arguments so far.
///
/// ```rust
/// use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, KernelSource, LaunchConfig};
///
/// const ADD_ONE: &str = r#"
/// extern "C" __global__ void add_one(float *x, unsigned long long n) {
///     unsigned long long i = blockIdx.x * 256ull + threadIdx.x;
///     if (i < n) x[i] += 1;
/// }"#;
///
/// fn add_one<D: BackendDevice>(device: &D, x: &mut D::Storage) -> isobit_hal::Result<()> {
///     let func = device.compile("add_one", &KernelSource::new("add_one.cu", ADD_ONE))?;
///     let n = x.len();
///     // SAFETY: the arguments have the types of the parameters, and the kernel checks `i < n`.
///     unsafe { func.builder().arg_mut(x).value(n).launch(LaunchConfig::for_num_elems(n)) }
/// }
/// let mut x = CpuDevice.storage_from_slice(&[1.0f32, 2.0])?;
/// // Only a GPU runs kernels.
/// let error = add_one(&CpuDevice, &mut x).unwrap_err();
/// assert_eq!(error.kind(), isobit_hal::ErrorKind::UnsupportedOp);
/// # Ok::<(), isobit_hal::Error>(())
/// ```
#[derive(Debug)]
#[must_use = "nothing runs before `launch`"]
pub struct LaunchBuilder<'a, S> {
    func: &'a Func,
    args: SmallVec<[KernelArg<'a, S>; 8]>,
}

impl<'a, S: BackendStorage> LaunchBuilder<'a, S> {
    /// Adds a storage that the kernel reads.
    pub fn arg(self, storage: &'a S) -> Self {
        self.arg_at(storage, 0)
    }

    /// Adds a storage that the kernel reads, starting at element `offset`.
    pub fn arg_at(mut self, storage: &'a S, offset: usize) -> Self {
        self.args.push(KernelArg::Read(storage, offset));
        self
    }

    /// Adds a storage that the kernel writes.
    pub fn arg_mut(self, storage: &'a mut S) -> Self {
        self.arg_mut_at(storage, 0)
    }

    /// Adds a storage that the kernel writes, starting at element `offset`.
    pub fn arg_mut_at(mut self, storage: &'a mut S, offset: usize) -> Self {
        self.args.push(KernelArg::Write(storage, offset));
        self
    }

    /// Adds a number or structure by value.
    pub fn value(mut self, value: impl Into<KernelValue>) -> Self {
        self.args.push(KernelArg::Value(value.into()));
        self
    }

    /// Enqueues the kernel on this thread's current stream, after the work of other streams on its
    /// storages.
    ///
    /// # Safety
    /// The arguments must have the types of the kernel's parameters. (If [`Func::params`] specifies
    /// them, number, size and kind are checked.) The kernel must stay inside its storages, and must
    /// not write a storage that was passed for reading. An address that is passed by value must be
    /// valid when the stream reaches the kernel.
    ///
    /// # Errors
    /// `InvalidArgument` if the arguments do not match the kernel, an offset is beyond its storage,
    /// or the device does not support the configuration; `DeviceMismatch` if the kernel and its
    /// storages live on different devices; the driver's errors.
    pub unsafe fn launch(mut self, config: LaunchConfig) -> Result<()> {
        // SAFETY: the caller promises that the arguments have the types of the kernel's
        // parameters (if `Func::params` specifies them, number, size and kind are checked), that
        // the kernel stays inside its storages and writes none that was passed for reading, and
        // that addresses passed by value are valid.
        unsafe { S::launch(self.func, config, &mut self.args) }
    }
}
