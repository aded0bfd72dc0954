//! Kernels of a user's own: source, the compiled function, and its launch with arguments that are
//! checked.

mod check;

#[doc(hidden)]
pub use check::{arguments, configuration};

use crate::{BackendStorage, DeviceId, F8E4M3, Result, Scalar};
use half::{bf16, f16};
use smallvec::SmallVec;
use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// Grid, block and dynamic shared memory of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaunchConfig {
    /// Blocks along x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block along x, y, z.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub shared_bytes: u32,
}

impl LaunchConfig {
    /// Blocks along x alone.
    pub const fn linear(blocks: u32, threads: u32) -> Self {
        Self { grid: [blocks, 1, 1], block: [threads, 1, 1], shared_bytes: 0 }
    }

    /// A thread an element in blocks of 256, one block at least. Above 2^31 - 1 blocks there are
    /// that many: a kernel that strides over the grid covers all the same.
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

/// Source in the dialect of the kernel tree (CUDA C++ that both vendors' run-time compilers take).
/// It may include the tree's own headers, of which `<isobit.cuh>` has them all, and those given
/// here. Kernels are `extern "C"`: they are found by their names as the source has them, which a
/// template has not.
///
/// Flags are pinned so that every vendor gives the same bits: no contraction, IEEE division and
/// square root, denormals kept. Options of a user's own come after them and are passed on as they
/// are: one such as `--use_fast_math` gives that up for this source. What a compiler makes with an
/// option that has it read files (`-I`, `-include`) is not kept on disk, for the files may change
/// without the source's changing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct KernelSource {
    /// A name for messages.
    pub name: String,
    /// The text.
    pub text: String,
    /// Name and text of headers beside those of the tree. One of the same name as the tree's stands
    /// in for it.
    pub headers: Vec<(String, String)>,
    /// Flags for the compiler after those of the tree, such as `-DN=4`.
    pub options: Vec<String>,
}

impl KernelSource {
    /// A source without headers and flags of its own.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: text.into(), ..Self::default() }
    }

    /// With a header that the text may include by its name.
    pub fn with_header(mut self, name: impl Into<String>, text: impl Into<String>) -> Self {
        self.headers.push((name.into(), text.into()));
        self
    }

    /// With a flag for the compiler.
    pub fn with_option(mut self, option: impl Into<String>) -> Self {
        self.options.push(option.into());
        self
    }
}

/// What a kernel is made from.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum KernelCode<'a> {
    /// Source, compiled on this machine.
    Source(&'a KernelSource),
    /// PTX, which NVIDIA's driver compiles.
    Ptx(&'a str),
    /// A binary as the vendor's driver loads it: a cubin, or an AMD code object.
    Binary(&'a [u8]),
}

/// What a kernel's parameter takes, as far as its code says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParamKind {
    /// An address.
    Pointer,
    /// An integer or bits.
    Integer,
    /// An integer as wide as an address, or an address: PTX need not say which.
    PointerOrInteger,
    /// A floating-point number.
    Float,
    /// Bytes of which nothing more is known: a structure, or a number where the code does not tell.
    Bytes,
}

/// One parameter of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelParam {
    /// Its size in bytes.
    pub size: usize,
    /// What it takes.
    pub kind: ParamKind,
}

/// What a driver implements for its kernels; users call [`Func`].
pub trait FuncBackend: Any + Send + Sync + fmt::Debug {
    /// The symbol.
    fn name(&self) -> &str;

    /// The device it was loaded on.
    fn device(&self) -> DeviceId;

    /// Its parameters in order, where the code tells them.
    fn params(&self) -> Option<&[KernelParam]>;

    /// As [`Func::max_threads_per_block`].
    fn max_threads_per_block(&self) -> Option<u32> {
        None
    }
}

/// A kernel that is ready to be launched. Clones are handles; its module stays loaded as long as
/// the device and any of them.
#[derive(Debug, Clone)]
pub struct Func(Arc<dyn FuncBackend>);

impl Func {
    /// A driver's kernel.
    pub fn from_backend(func: Arc<dyn FuncBackend>) -> Self {
        Self(func)
    }

    /// The driver's own kernel, where it is of that type.
    pub fn downcast_ref<T: FuncBackend>(&self) -> Option<&T> {
        (&*self.0 as &dyn Any).downcast_ref()
    }

    /// The symbol.
    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// The device it was loaded on.
    pub fn device(&self) -> DeviceId {
        self.0.device()
    }

    /// Its parameters in order, where the code tells them: arguments are then checked against them.
    pub fn params(&self) -> Option<&[KernelParam]> {
        self.0.params()
    }

    /// The threads that its blocks may have, where its code was compiled for so many at most.
    pub fn max_threads_per_block(&self) -> Option<u32> {
        self.0.max_threads_per_block()
    }

    /// Begins a launch.
    pub fn builder<S: BackendStorage>(&self) -> LaunchBuilder<'_, S> {
        LaunchBuilder { func: self, args: SmallVec::new() }
    }
}

/// A number or structure that a kernel takes by value.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelValue {
    /// Its bytes, as the kernel reads them.
    pub bytes: SmallVec<[u8; 16]>,
    /// What it is.
    pub kind: ParamKind,
}

impl KernelValue {
    /// A structure by its bytes, laid out as the kernel's own.
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
    // Kernels take these as structures of one member.
    Bytes: F8E4M3 f16 bf16;
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
        }
    }
}

/// An argument of a kernel.
#[derive(Debug)]
pub enum KernelArg<'a, S> {
    /// The address of a storage's first element further by so many elements; the kernel reads it.
    Read(&'a S, usize),
    /// The same, and the kernel writes it.
    Write(&'a mut S, usize),
    /// By value.
    Value(KernelValue),
}

impl<S> KernelArg<'_, S> {
    /// The argument for a driver whose storages lie inside these.
    ///
    /// # Errors
    /// Those of the functions.
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

/// A launch in the making: a kernel and its arguments so far.
#[derive(Debug)]
#[must_use = "nothing runs before `launch`"]
pub struct LaunchBuilder<'a, S> {
    func: &'a Func,
    args: SmallVec<[KernelArg<'a, S>; 8]>,
}

impl<'a, S: BackendStorage> LaunchBuilder<'a, S> {
    /// A storage that the kernel reads.
    pub fn arg(self, storage: &'a S) -> Self {
        self.arg_at(storage, 0)
    }

    /// A storage that the kernel reads from an element on.
    pub fn arg_at(mut self, storage: &'a S, offset: usize) -> Self {
        self.args.push(KernelArg::Read(storage, offset));
        self
    }

    /// A storage that the kernel writes.
    pub fn arg_mut(self, storage: &'a mut S) -> Self {
        self.arg_mut_at(storage, 0)
    }

    /// A storage that the kernel writes from an element on.
    pub fn arg_mut_at(mut self, storage: &'a mut S, offset: usize) -> Self {
        self.args.push(KernelArg::Write(storage, offset));
        self
    }

    /// A number or structure by value.
    pub fn value(mut self, value: impl Into<KernelValue>) -> Self {
        self.args.push(KernelArg::Value(value.into()));
        self
    }

    /// Enqueues the kernel on the stream that this thread's work goes to, after the work of other
    /// streams on its storages.
    ///
    /// # Safety
    /// The arguments are of the types that the kernel takes (where [`Func::params`] says them,
    /// number, size and kind are checked), and the kernel stays inside its storages, writing none
    /// that was given to be read. An address that is given by value is one that it may use when the
    /// stream comes to it.
    ///
    /// # Errors
    /// `InvalidArgument` for arguments that do not suit the kernel, an offset beyond a storage, or
    /// a configuration that the device does not take; `DeviceMismatch` where kernel and storages
    /// live on different devices; those of the driver.
    pub unsafe fn launch(mut self, config: LaunchConfig) -> Result<()> {
        // SAFETY: the caller promises that the arguments are of the types that the kernel takes
        // (where `Func::params` says them, number, size and kind are checked), and the kernel stays
        // inside its storages, writing none that was given to be read.
        unsafe { S::launch(self.func, config, &mut self.args) }
    }
}
