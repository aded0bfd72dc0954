//! The storage half of the HAL: all operations on data.

use crate::cpu_storage::through_host;
use crate::device::next_numbers;
use crate::{
    Activation, AdaptivePool, Affine, Attention, BackendDevice, BatchNorm, BernoulliProbs, BinaryOp, Cast, Celu, Clamp,
    CmpOp, Concat, Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d, Copy2d, CpuStorage,
    DType, Dropout, Elu, Error, ErrorKind, Flip, Func, GatherNd, GgmlDType, GridSample, GroupNorm, Indexing, KernelArg,
    LaunchConfig, LayerNorm, Layout, LeakyRelu, LocalResponseNorm, Matmul, MatmulInteger, MatmulSide, Op, Pack,
    PackedDType, PackedSrc, Pad, PadMode, PinnedBuffer, Pool1d, Pool2d, Pool3d, Powf, Predicate, QMatmul, Reduce,
    ReduceOp, Repeat, Resize, Result, Roll, RopeForm, Scalar, ScaledMatmul, Scan, ScatterNd, ScatterReduce, Shape,
    Sort, TopK, Triangle, UnaryOp, Unpack, UpsampleBilinear2d, UpsampleNearest1d, UpsampleNearest2d, WithDType,
    validate,
};
use smallvec::SmallVec;
use std::fmt;
use std::ops::Range;

/// An input of an operation.
///
/// ```rust
/// use isobit_hal::{CpuDevice, CpuStorage, Layout, Src, UnaryOp};
/// # use isobit_hal::{BackendDevice, BackendStorage};
/// let layout = Layout::contiguous(2);
/// let x = CpuDevice.storage_from_slice(&[4.0f32, 9.0])?;
/// let mut y = CpuDevice.storage_from_slice(&[0.0f32, 0.0])?;
/// CpuStorage::unary_into(UnaryOp::Sqrt, Src::Storage(&x, &layout), &mut y, &layout)?;
/// CpuStorage::unary_into(UnaryOp::Neg, Src::InPlace, &mut y, &layout)?;
/// assert_eq!(y.to_vec::<f32>()?, [-2.0, -3.0]);
/// # Ok::<(), isobit_hal::Error>(())
/// ```
#[derive(Debug)]
pub enum Src<'a, S> {
    /// A storage, viewed through a layout.
    Storage(&'a S, &'a Layout),
    /// The destination itself, through the destination's layout: the operation works in place.
    InPlace,
    /// A [packed matrix](crate::PackedMatrix), which only [`Op::Matmul`] takes.
    Packed(PackedSrc<'a, S>),
    /// One value in place of every element, of the dtype that a storage would have: nothing is
    /// uploaded. [`Op::takes_scalar`] says which inputs may be scalars.
    ///
    /// ```rust
    /// # use isobit_hal::*;
    /// let layout = Layout::contiguous(2);
    /// let mut x = CpuDevice.storage_from_slice(&[4.0f32, 0.5])?;
    /// let one = Src::Scalar(1.0f32.into());
    /// CpuStorage::binary_into(BinaryOp::Div, one, Src::InPlace, &mut x, &layout)?;
    /// assert_eq!(x.to_vec::<f32>()?, [0.25, 2.0]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    Scalar(Scalar),
}

impl<S> Clone for Src<'_, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for Src<'_, S> {}

impl<'a, S> Src<'a, S> {
    /// Returns the storage and its layout, or `None` for [`InPlace`](Self::InPlace) and
    /// [`Scalar`](Self::Scalar). Those of a packed matrix are its elements, so a driver that knows
    /// no packed form need not tell it apart.
    pub fn storage(self) -> Option<(&'a S, &'a Layout)> {
        match self {
            Src::Storage(storage, layout) => Some((storage, layout)),
            Src::Packed(packed) => Some(packed.matrix()),
            Src::InPlace | Src::Scalar(_) => None,
        }
    }

    /// Replaces each storage by `f(storage)`; a packed matrix has two. A driver uses it to reach
    /// the storage that another type wraps.
    ///
    /// # Errors
    /// The error of `f`.
    pub fn try_map<T>(self, mut f: impl FnMut(&'a S) -> Result<&'a T>) -> Result<Src<'a, T>> {
        Ok(match self {
            Src::Storage(storage, layout) => Src::Storage(f(storage)?, layout),
            Src::Packed(packed) => Src::Packed(packed.try_map(f)?),
            Src::InPlace => Src::InPlace,
            Src::Scalar(value) => Src::Scalar(value),
        })
    }
}

impl<'a, S> From<(&'a S, &'a Layout)> for Src<'a, S> {
    fn from((storage, layout): (&'a S, &'a Layout)) -> Self {
        Src::Storage(storage, layout)
    }
}

/// Data on a device: a buffer of elements of one dtype. A [`Layout`] says which elements of the
/// buffer a tensor consists of.
///
/// # Forms
/// A driver implements every operation in one method, [`apply_into`](Self::apply_into). It writes
/// the elements of `dst` that `dst_layout` selects, and no others. [`Op`] defines each operation
/// and says which inputs may be the destination itself. All other operation methods are provided on
/// top of `apply_into`:
///
/// - the `*_into` forms of elementwise operations, reductions and matrix products;
/// - the allocating forms, which are methods of the (first) input. They return a contiguous storage
///   with exactly as many elements as the result: its layout is [`Layout::contiguous`] of the
///   result's shape, which [`Op::result_shape`] tells.
///
/// Each method states the dtypes that it accepts and the [class](crate::Class) of its results.
/// "Floats" are those of [`DType::is_float`]. As in [`Op`], "all" and "floats" of an operation that
/// combines elements leave out those of [`DType::is_elementwise`].
///
/// ```rust
/// use isobit_hal::{BackendDevice, BackendStorage, BinaryOp, CpuDevice, Layout};
///
/// let matrix = CpuDevice.storage_from_slice(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
/// let row = CpuDevice.storage_from_slice(&[10.0f32, 20.0, 30.0])?;
/// let layout = Layout::contiguous((2, 3));
/// let repeated = Layout::contiguous(3).broadcast_as((2, 3))?;
/// let sum = matrix.binary(&layout, &row, &repeated, BinaryOp::Add)?;
/// assert_eq!(sum.to_vec::<f32>()?, [11.0, 22.0, 33.0, 14.0, 25.0, 36.0]);
/// # Ok::<(), isobit_hal::Error>(())
/// ```
///
/// # Common errors
/// Every operation can return these errors:
///
/// - `DeviceMismatch` if operands live on different devices;
/// - `ShapeMismatch` if the shapes of the operands do not fit together;
/// - `InvalidArgument` if a layout exceeds its buffer, or if a destination overlaps itself;
/// - `UnsupportedDtype` if the operation is not defined for the dtypes;
/// - `OutOfMemory` if an allocation fails.
///
/// All of these are detected before anything runs, so nothing is written. An index out of range is
/// detected while the operation runs: its element is skipped, and `IndexOutOfRange` is returned by
/// the next synchronising call at the latest.
pub trait BackendStorage: Sized + Send + Sync + fmt::Debug + 'static {
    /// The type of the device that this storage lives on.
    type Device: BackendDevice<Storage = Self>;

    /// Returns the dtype of the elements.
    fn dtype(&self) -> DType;

    /// Returns the number of elements in the buffer.
    fn len(&self) -> usize;

    /// Whether the buffer has no elements.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the device that the storage lives on.
    fn device(&self) -> &Self::Device;

    /// Copies the whole buffer to the host. Synchronises.
    ///
    /// # Errors
    /// The driver's errors, including those of earlier work.
    fn to_cpu_storage(&self) -> Result<CpuStorage>;

    /// Copies the whole buffer into a vector. Synchronises.
    ///
    /// # Errors
    /// `UnsupportedDtype` if `T` is not the type of the elements; otherwise as
    /// [`to_cpu_storage`](Self::to_cpu_storage).
    fn to_vec<T: WithDType>(&self) -> Result<Vec<T>> {
        validate::is_of::<T>(self, "to_vec")?;
        Ok(bytemuck::cast_slice(self.to_cpu_storage()?.as_bytes()).to_vec())
    }

    /// Copies `bytes.len()` bytes of the buffer to the host, starting at byte `offset`.
    /// Synchronises.
    ///
    /// # Errors
    /// `InvalidArgument` if the range exceeds the buffer or does not consist of whole elements;
    /// otherwise as [`to_cpu_storage`](Self::to_cpu_storage).
    fn read_bytes(&self, offset: usize, bytes: &mut [u8]) -> Result<()> {
        validate::byte_range(self, offset, bytes.len())?;
        bytes.copy_from_slice(&self.to_cpu_storage()?.as_bytes()[offset..][..bytes.len()]);
        Ok(())
    }

    /// Copies bytes from the host into the buffer, starting at byte `offset`. When it returns, the
    /// caller may change `bytes`.
    ///
    /// # Errors
    /// As [`read_bytes`](Self::read_bytes).
    fn write_bytes(&mut self, offset: usize, bytes: &[u8]) -> Result<()> {
        let range = validate::byte_range(self, offset, bytes.len())?;
        let src = self.device().storage_from_bytes(self.dtype(), bytes)?;
        src.copy_strided_src(self, range.start, &Layout::contiguous(range.len()))
    }

    /// Copies elements into a slice, starting at element `offset`. Synchronises.
    ///
    /// # Errors
    /// `UnsupportedDtype` if `T` is not the type of the elements; otherwise as
    /// [`read_bytes`](Self::read_bytes).
    fn read_slice<T: WithDType>(&self, offset: usize, data: &mut [T]) -> Result<()> {
        validate::is_of::<T>(self, "read_slice")?;
        self.read_bytes(offset.saturating_mul(size_of::<T>()), bytemuck::cast_slice_mut(data))
    }

    /// Overwrites elements with those of a slice, starting at element `offset`. This sets the
    /// inputs of a step without an allocation.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice};
    /// let mut x = CpuDevice.storage_from_slice(&[1i32, 2, 3, 4])?;
    /// x.write_slice(1, &[20, 30])?;
    /// let mut last = [0i32; 2];
    /// x.read_slice(2, &mut last)?;
    /// assert_eq!((x.to_vec::<i32>()?, last), (vec![1, 20, 30, 4], [30, 4]));
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// `UnsupportedDtype` if `T` is not the type of the elements; otherwise as
    /// [`write_bytes`](Self::write_bytes).
    fn write_slice<T: WithDType>(&mut self, offset: usize, data: &[T]) -> Result<()> {
        validate::is_of::<T>(self, "write_slice")?;
        self.write_bytes(offset.saturating_mul(size_of::<T>()), bytemuck::cast_slice(data))
    }

    /// Enqueues a copy from `range` of a pinned buffer into this buffer, starting at byte `offset`,
    /// and does not wait. The pinned buffer waits for the copy before it lets the host change its
    /// bytes.
    ///
    /// # Errors
    /// As [`write_bytes`](Self::write_bytes); `InvalidArgument` if `range` exceeds `src`.
    fn copy_from_pinned(&mut self, offset: usize, src: &PinnedBuffer, range: Range<usize>) -> Result<()> {
        validate::pinned_range(src, &range)?;
        self.write_bytes(offset, &src.bytes()?[range])
    }

    /// Enqueues a copy from this buffer, starting at byte `offset`, into `range` of a pinned
    /// buffer, and does not wait. The pinned buffer waits for the copy before it shows its bytes.
    ///
    /// # Errors
    /// As [`read_bytes`](Self::read_bytes); `InvalidArgument` if `range` exceeds `dst`.
    fn copy_to_pinned(&self, offset: usize, dst: &mut PinnedBuffer, range: Range<usize>) -> Result<()> {
        validate::pinned_range(dst, &range)?;
        self.read_bytes(offset, &mut dst.bytes_mut()?[range])
    }

    /// Copies the whole buffer into one of the same dtype and length, which may live on another
    /// device. The copy does not go through the host if the devices support direct access
    /// ([`BackendDevice::can_access_peer`]). It is ordered after earlier work on both buffers.
    ///
    /// # Errors
    /// `UnsupportedDtype` or `ShapeMismatch` if the buffers differ in dtype or length;
    /// `OutOfMemory`; the errors of the drivers.
    fn transfer_into(&self, dst: &mut Self) -> Result<()> {
        validate::transfer(self, dst)?;
        self.transfer_range_into(0..self.len(), dst, 0)
    }

    /// Copies a range of elements into another buffer of the same dtype, starting at its element
    /// `offset`. Otherwise as [`transfer_into`](Self::transfer_into), which stands on this method.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice};
    /// let x = CpuDevice.storage_from_slice(&[1i32, 2, 3, 4])?;
    /// let mut y = CpuDevice.storage_from_slice(&[0i32; 3])?;
    /// x.transfer_range_into(1..3, &mut y, 1)?;
    /// assert_eq!(y.to_vec::<i32>()?, [0, 2, 3]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// `UnsupportedDtype` if the buffers differ in dtype; `InvalidArgument` if the elements exceed
    /// one of the buffers; otherwise as [`transfer_into`](Self::transfer_into).
    fn transfer_range_into(&self, range: Range<usize>, dst: &mut Self, offset: usize) -> Result<()> {
        through_host(self, range, dst, offset)
    }

    /// Copies the whole buffer to a new storage on `device`.
    ///
    /// # Errors
    /// As [`transfer_into`](Self::transfer_into).
    fn to_device(&self, device: &Self::Device) -> Result<Self> {
        // SAFETY: the next line writes every element, or the storage is dropped without being read.
        let mut dst = unsafe { device.alloc_uninit(&Shape::from(self.len()), self.dtype())? };
        self.transfer_into(&mut dst)?;
        Ok(dst)
    }

    /// Returns the raw device address of the first element, for interop. Enqueue work on this
    /// address on the [current stream](BackendDevice::current_stream) of the calling thread.
    ///
    /// # Errors
    /// `UnsupportedOp` if the driver's storages have no device address.
    fn device_ptr(&self) -> Result<u64> {
        let location = self.device().location();
        let message = format!("storages of the {} driver have no device address", location.driver);
        Err(Error::new(ErrorKind::UnsupportedOp, message).with_device(location))
    }

    /// Enqueues a kernel. [`LaunchBuilder::launch`](crate::LaunchBuilder::launch) calls this; a
    /// driver implements it.
    ///
    /// # Errors
    /// As [`LaunchBuilder::launch`](crate::LaunchBuilder::launch).
    ///
    /// # Safety
    /// As [`LaunchBuilder::launch`](crate::LaunchBuilder::launch).
    unsafe fn launch(func: &Func, config: LaunchConfig, args: &mut [KernelArg<'_, Self>]) -> Result<()> {
        let _ = (config, args);
        let message = format!("cannot launch {}: the driver does not support kernels", func.name());
        Err(Error::new(ErrorKind::UnsupportedOp, message).with_kernel(func.name()))
    }

    /// Returns the form of a matrix, or of a batch of matrices, that makes products with it faster:
    /// the elements of `shape`, which `self` consists of, packed as an operand of products like
    /// `op`. [`PackedMatrix::new`](crate::PackedMatrix::new) calls this; a driver may implement it.
    /// Its [`apply_into`](Self::apply_into) then finds the form in [`Src::Packed`] and checks that
    /// it has the length that the shape needs. `None`, the default, is a driver that has no such
    /// form for this dtype, shape and numerics: products use the elements.
    ///
    /// # Errors
    /// `InvalidArgument` if `self` does not consist of the elements of `shape`; `OutOfMemory`.
    fn pack_matrix(&self, shape: &Shape, side: MatmulSide, op: Matmul) -> Result<Option<Self>> {
        let _ = (shape, side, op);
        Ok(None)
    }

    /// Copies the elements of a layout into a new contiguous storage. Dtypes: all.
    /// [Class](crate::Class): moved.
    ///
    /// # Errors
    /// The [common errors](Self#common-errors).
    fn try_clone(&self, layout: &Layout) -> Result<Self> {
        Self::apply(&Op::Copy, &[(self, layout)])
    }

    /// Runs an operation. The inputs are in the order that the operation's variant of [`Op`]
    /// documents.
    ///
    /// ```rust
    /// # use isobit_hal::*;
    /// let layout = Layout::contiguous(2);
    /// let x = CpuDevice.storage_from_slice(&[3i32, 4])?;
    /// let mut sum = CpuDevice.storage_from_slice(&[10i32, 20])?;
    /// let inputs = [Src::InPlace, Src::Storage(&x, &layout)];
    /// CpuStorage::apply_into(&Op::Binary(BinaryOp::Add), &inputs, &mut sum, &layout)?;
    /// assert_eq!(sum.to_vec::<i32>()?, [13, 24]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// The [common errors](Self#common-errors); `InvalidArgument` if the parameters do not suit the
    /// shapes, or if an input is the destination and the operation does not work in place. A driver
    /// returns `UnsupportedOp` for operations that it does not implement.
    fn apply_into(op: &Op, inputs: &[Src<'_, Self>], dst: &mut Self, dst_layout: &Layout) -> Result<()>;

    /// Allocating form of [`apply_into`](Self::apply_into), for operations whose result shape and
    /// dtype follow from the inputs. The result is on the device of the first input.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, CpuStorage, Layout, Op};
    /// let x = CpuDevice.storage_from_slice(&[1.0f32, 1.0, 1.0, 1.0])?;
    /// let y = CpuStorage::apply(&Op::Softmax, &[(&x, &Layout::contiguous(4))])?;
    /// assert_eq!(y.to_vec::<f32>()?, [0.25; 4]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`apply_into`](Self::apply_into); `InvalidArgument` if the inputs do not determine the
    /// result.
    fn apply(op: &Op, inputs: &[(&Self, &Layout)]) -> Result<Self> {
        let shapes: SmallVec<[&Shape; 4]> = inputs.iter().map(|(_, l)| l.shape()).collect();
        let dtypes: SmallVec<[DType; 4]> = inputs.iter().map(|(s, _)| s.dtype()).collect();
        let shape = op.result_shape(&shapes).map_err(|e| {
            let layouts: SmallVec<[&Layout; 4]> = inputs.iter().map(|&(_, l)| l).collect();
            e.with_op(op).with_layouts(&layouts)
        })?;
        let (Some(first), Some(shape), Some(dtype)) = (inputs.first(), shape, op.result_dtype(&dtypes)) else {
            let message = format!("the inputs of {op} do not determine its result: use {}", allocating_form(op));
            return Err(Error::new(ErrorKind::InvalidArgument, message).with_op(op));
        };
        let srcs: SmallVec<[Src<'_, Self>; 4]> = inputs.iter().map(|&input| input.into()).collect();
        allocate(first.0, &Layout::contiguous(shape), dtype, |dst, dl| Self::apply_into(op, &srcs, dst, dl))
    }

    /// Sets every element of a layout to one value. Dtypes: all. [Class](crate::Class): moved.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout, Scalar};
    /// let mut x = CpuDevice.storage_from_slice(&[1i32, 2, 3, 4])?;
    /// x.const_set(Scalar::I32(7), &Layout::contiguous_with_offset(2, 1))?;
    /// assert_eq!(x.to_vec::<i32>()?, [1, 7, 7, 4]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// The [common errors](Self#common-errors); `UnsupportedDtype` if the value has another dtype
    /// than the storage.
    fn const_set(&mut self, value: Scalar, layout: &Layout) -> Result<()> {
        Self::apply_into(&Op::Fill(value), &[], self, layout)
    }

    /// Copies elements from one layout to another of the same shape. Dtypes: all.
    /// [Class](crate::Class): moved (bits are kept, including NaN payloads).
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, CpuStorage, Layout, Src};
    /// let x = CpuDevice.storage_from_slice(&[1u8, 2, 3, 4, 5, 6])?;
    /// let mut y = CpuDevice.storage_from_slice(&[0u8; 6])?;
    /// let transposed = Layout::contiguous((2, 3)).transpose(0, 1)?;
    /// CpuStorage::copy_into(Src::Storage(&x, &transposed), &mut y, &Layout::contiguous((3, 2)))?;
    /// assert_eq!(y.to_vec::<u8>()?, [1, 4, 2, 5, 3, 6]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// The [common errors](Self#common-errors).
    fn copy_into(src: Src<'_, Self>, dst: &mut Self, dst_layout: &Layout) -> Result<()> {
        Self::apply_into(&Op::Copy, &[src], dst, dst_layout)
    }

    /// Copies the elements of a layout to consecutive elements of `dst`, starting at `dst_offset`.
    /// Dtypes: all. [Class](crate::Class): moved.
    ///
    /// # Errors
    /// The [common errors](Self#common-errors).
    fn copy_strided_src(&self, dst: &mut Self, dst_offset: usize, src_layout: &Layout) -> Result<()> {
        let dst_layout = Layout::contiguous_with_offset(src_layout.shape(), dst_offset);
        Self::copy_into(Src::Storage(self, src_layout), dst, &dst_layout)
    }

    /// Copies rows between buffers that each have their own row stride. Dtypes: all.
    /// [Class](crate::Class): moved.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, Copy2d, CpuDevice};
    /// let x = CpuDevice.storage_from_slice(&[1u8, 2, 3, 4, 5, 6])?;
    /// let mut y = CpuDevice.storage_from_slice(&[0u8; 4])?;
    /// // Two rows of two elements each: rows of `x` start 3 elements apart, rows of `y` 2.
    /// x.copy2d(&mut y, Copy2d::new(2, 2).with_strides(3, 2))?;
    /// assert_eq!(y.to_vec::<u8>()?, [1, 2, 4, 5]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// The [common errors](Self#common-errors); `InvalidArgument` if rows of the destination
    /// overlap.
    fn copy2d(&self, dst: &mut Self, copy: Copy2d) -> Result<()> {
        let shape = [copy.rows, copy.cols];
        let src_layout = Layout::new(shape, crate::Dims::from_slice(&[copy.src_stride, 1]), copy.src_offset)?;
        let dst_layout = Layout::new(shape, crate::Dims::from_slice(&[copy.dst_stride, 1]), copy.dst_offset)?;
        Self::copy_into(Src::Storage(self, &src_layout), dst, &dst_layout).map_err(|e| e.with_op("copy2d"))
    }

    /// Converts elements to the dtype of `dst`. Every dtype converts to every dtype:
    ///
    /// - to a float: one rounding to nearest even from the exact source value; f8e4m3 saturates to
    ///   448, the others overflow to infinity;
    /// - float to integer: truncates and saturates, and NaN gives 0;
    /// - integer to integer: wraps.
    ///
    /// [Class](crate::Class): exact (moved for equal dtypes).
    ///
    /// # Errors
    /// The [common errors](Self#common-errors).
    fn cast_into(src: &Self, src_layout: &Layout, dst: &mut Self, dst_layout: &Layout) -> Result<()> {
        Self::cast_with_into(Cast::default(), src, src_layout, dst, dst_layout)
    }

    /// Like [`cast_into`](Self::cast_into), with the rule of overflow that [`Cast`] names.
    ///
    /// # Errors
    /// The [common errors](Self#common-errors).
    fn cast_with_into(op: Cast, src: &Self, src_layout: &Layout, dst: &mut Self, dst_layout: &Layout) -> Result<()> {
        Self::apply_into(&Op::Cast(op), &[Src::Storage(src, src_layout)], dst, dst_layout)
    }

    /// Allocating form of [`cast_into`](Self::cast_into).
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, DType, Layout};
    /// let x = CpuDevice.storage_from_slice(&[-1.5f32, 2.9, 1e9, f32::NAN])?;
    /// let y = x.to_dtype(&Layout::contiguous(4), DType::U8)?;
    /// assert_eq!(y.to_vec::<u8>()?, [0, 2, 255, 0]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// The [common errors](Self#common-errors).
    fn to_dtype(&self, layout: &Layout, dtype: DType) -> Result<Self> {
        self.to_dtype_with(layout, dtype, Cast::default())
    }

    /// Allocating form of [`cast_with_into`](Self::cast_with_into); see [`Cast`].
    ///
    /// # Errors
    /// The [common errors](Self#common-errors).
    fn to_dtype_with(&self, layout: &Layout, dtype: DType, op: Cast) -> Result<Self> {
        allocate(self, layout, dtype, |dst, dl| Self::cast_with_into(op, self, layout, dst, dl))
    }

    /// Computes `x * mul + add`; see [`Affine`]. Dtypes: all. [Class](crate::Class): exact.
    ///
    /// # Errors
    /// The [common errors](Self#common-errors).
    fn affine_into(op: Affine, src: Src<'_, Self>, dst: &mut Self, dst_layout: &Layout) -> Result<()> {
        Self::apply_into(&Op::Affine(op), &[src], dst, dst_layout)
    }

    /// Allocating form of [`affine_into`](Self::affine_into).
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout};
    /// let x = CpuDevice.storage_from_slice(&[1.0f32, 2.0])?;
    /// let y = x.affine(&Layout::contiguous(2), 3.0, 0.5)?;
    /// assert_eq!(y.to_vec::<f32>()?, [3.5, 6.5]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// The [common errors](Self#common-errors).
    fn affine(&self, layout: &Layout, mul: f64, add: f64) -> Result<Self> {
        Self::apply(&Op::Affine(Affine::new(mul, add)), &[(self, layout)])
    }

    /// Computes `x^exponent`; see [`Powf`]. Dtypes: floats. [Class](crate::Class): defined.
    ///
    /// # Errors
    /// The [common errors](Self#common-errors).
    fn powf_into(op: Powf, src: Src<'_, Self>, dst: &mut Self, dst_layout: &Layout) -> Result<()> {
        Self::apply_into(&Op::Powf(op), &[src], dst, dst_layout)
    }

    /// Allocating form of [`powf_into`](Self::powf_into).
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout};
    /// let x = CpuDevice.storage_from_slice(&[2.0f32, 3.0])?;
    /// assert_eq!(x.powf(&Layout::contiguous(2), 2.0)?.to_vec::<f32>()?, [4.0, 9.0]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// The [common errors](Self#common-errors).
    fn powf(&self, layout: &Layout, exponent: f64) -> Result<Self> {
        Self::apply(&Op::Powf(Powf::new(exponent)), &[(self, layout)])
    }

    /// Computes ELU; see [`Elu`]. Dtypes: floats. [Class](crate::Class): defined.
    ///
    /// # Errors
    /// The [common errors](Self#common-errors).
    fn elu_into(op: Elu, src: Src<'_, Self>, dst: &mut Self, dst_layout: &Layout) -> Result<()> {
        Self::apply_into(&Op::Elu(op), &[src], dst, dst_layout)
    }

    /// Allocating form of [`elu_into`](Self::elu_into).
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout};
    /// let x = CpuDevice.storage_from_slice(&[f32::NEG_INFINITY, 0.0, 2.0])?;
    /// assert_eq!(x.elu(&Layout::contiguous(3), 0.5)?.to_vec::<f32>()?, [-0.5, 0.0, 2.0]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// The [common errors](Self#common-errors).
    fn elu(&self, layout: &Layout, alpha: f64) -> Result<Self> {
        Self::apply(&Op::Elu(Elu::new(alpha)), &[(self, layout)])
    }

    /// Computes leaky ReLU; see [`LeakyRelu`]. Dtypes: floats. [Class](crate::Class): exact.
    ///
    /// # Errors
    /// The [common errors](Self#common-errors).
    fn leaky_relu_into(op: LeakyRelu, src: Src<'_, Self>, dst: &mut Self, dst_layout: &Layout) -> Result<()> {
        Self::apply_into(&Op::LeakyRelu(op), &[src], dst, dst_layout)
    }

    /// Allocating form of [`leaky_relu_into`](Self::leaky_relu_into).
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout};
    /// let x = CpuDevice.storage_from_slice(&[-4.0f32, 0.0, 2.0])?;
    /// assert_eq!(x.leaky_relu(&Layout::contiguous(3), 0.125)?.to_vec::<f32>()?, [-0.5, 0.0, 2.0]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// The [common errors](Self#common-errors).
    fn leaky_relu(&self, layout: &Layout, negative_slope: f64) -> Result<Self> {
        Self::apply(&Op::LeakyRelu(LeakyRelu::new(negative_slope)), &[(self, layout)])
    }

    /// Computes CELU; see [`Celu`]. Dtypes: floats. [Class](crate::Class): defined.
    ///
    /// # Errors
    /// The [common errors](Self#common-errors).
    fn celu_into(op: Celu, src: Src<'_, Self>, dst: &mut Self, dst_layout: &Layout) -> Result<()> {
        Self::apply_into(&Op::Celu(op), &[src], dst, dst_layout)
    }

    /// Allocating form of [`celu_into`](Self::celu_into).
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout};
    /// let x = CpuDevice.storage_from_slice(&[f32::NEG_INFINITY, 0.0, 2.0])?;
    /// assert_eq!(x.celu(&Layout::contiguous(3), 0.5)?.to_vec::<f32>()?, [-0.5, 0.0, 2.0]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// The [common errors](Self#common-errors).
    fn celu(&self, layout: &Layout, alpha: f64) -> Result<Self> {
        Self::apply(&Op::Celu(Celu::new(alpha)), &[(self, layout)])
    }

    /// Applies a function of one argument; [`UnaryOp`] defines each function and its dtypes.
    /// [Class](crate::Class): exact or defined, as `docs/numerics.md` lists.
    ///
    /// # Errors
    /// The [common errors](Self#common-errors).
    fn unary_into(op: UnaryOp, src: Src<'_, Self>, dst: &mut Self, dst_layout: &Layout) -> Result<()> {
        Self::apply_into(&Op::Unary(op), &[src], dst, dst_layout)
    }

    /// Allocating form of [`unary_into`](Self::unary_into).
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout, UnaryOp};
    /// let x = CpuDevice.storage_from_slice(&[-1.0f32, 0.0, 2.0])?;
    /// let y = x.unary(&Layout::contiguous(3), UnaryOp::Relu)?;
    /// assert_eq!(y.to_vec::<f32>()?, [0.0, 0.0, 2.0]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// The [common errors](Self#common-errors).
    fn unary(&self, layout: &Layout, op: UnaryOp) -> Result<Self> {
        Self::apply(&Op::Unary(op), &[(self, layout)])
    }

    /// Applies a function of two arguments of equal shape and dtype; [`BinaryOp`] defines each
    /// function. To broadcast an argument, pass a [broadcast layout](Layout::broadcast_as). Dtypes:
    /// those that [`BinaryOp::takes`]. [Class](crate::Class): exact, except `Pow` and `FloorDiv` of
    /// floats, `Atan2` and `Hypot`, which are defined.
    ///
    /// # Errors
    /// The [common errors](Self#common-errors).
    fn binary_into(
        op: BinaryOp,
        lhs: Src<'_, Self>,
        rhs: Src<'_, Self>,
        dst: &mut Self,
        dst_layout: &Layout,
    ) -> Result<()> {
        Self::apply_into(&Op::Binary(op), &[lhs, rhs], dst, dst_layout)
    }

    /// Allocating form of [`binary_into`](Self::binary_into).
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, BinaryOp, CpuDevice, Layout};
    /// let layout = Layout::contiguous(3);
    /// let x = CpuDevice.storage_from_slice(&[1.0f32, 2.0, 3.0])?;
    /// let y = CpuDevice.storage_from_slice(&[4.0f32, 5.0, 6.0])?;
    /// let product = x.binary(&layout, &y, &layout, BinaryOp::Mul)?;
    /// assert_eq!(product.to_vec::<f32>()?, [4.0, 10.0, 18.0]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// The [common errors](Self#common-errors).
    fn binary(&self, layout: &Layout, rhs: &Self, rhs_layout: &Layout, op: BinaryOp) -> Result<Self> {
        Self::apply(&Op::Binary(op), &[(self, layout), (rhs, rhs_layout)])
    }

    /// [`binary`](Self::binary) with a scalar of the storage's dtype as the right argument. A
    /// scalar on the left goes through [`binary_into`](Self::binary_into).
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, BinaryOp, CpuDevice, Layout, Scalar};
    /// let x = CpuDevice.storage_from_slice(&[i64::MAX, 6])?;
    /// let y = x.binary_scalar(&Layout::contiguous(2), Scalar::I64(4), BinaryOp::BitwiseAnd)?;
    /// assert_eq!(y.to_vec::<i64>()?, [4, 4]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// The [common errors](Self#common-errors).
    fn binary_scalar(&self, layout: &Layout, rhs: Scalar, op: BinaryOp) -> Result<Self> {
        let inputs = [Src::Storage(self, layout), Src::Scalar(rhs)];
        allocate(self, layout, self.dtype(), |dst, dl| Self::apply_into(&Op::Binary(op), &inputs, dst, dl))
    }

    /// Compares two arguments of equal shape and dtype; the result is u8, 0 or 1. See [`CmpOp`].
    /// Dtypes: all. [Class](crate::Class): exact.
    ///
    /// # Errors
    /// The [common errors](Self#common-errors).
    fn cmp_into(op: CmpOp, lhs: Src<'_, Self>, rhs: Src<'_, Self>, dst: &mut Self, dst_layout: &Layout) -> Result<()> {
        Self::apply_into(&Op::Cmp(op), &[lhs, rhs], dst, dst_layout)
    }

    /// Allocating form of [`cmp_into`](Self::cmp_into).
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CmpOp, CpuDevice, Layout};
    /// let layout = Layout::contiguous(3);
    /// let x = CpuDevice.storage_from_slice(&[1i32, 2, 3])?;
    /// let y = CpuDevice.storage_from_slice(&[3i32, 2, 1])?;
    /// assert_eq!(x.cmp(&layout, &y, &layout, CmpOp::Lt)?.to_vec::<u8>()?, [1, 0, 0]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// The [common errors](Self#common-errors).
    fn cmp(&self, layout: &Layout, rhs: &Self, rhs_layout: &Layout, op: CmpOp) -> Result<Self> {
        Self::apply(&Op::Cmp(op), &[(self, layout), (rhs, rhs_layout)])
    }

    /// [`cmp`](Self::cmp) with a scalar of the storage's dtype as the right argument.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CmpOp, CpuDevice, Layout, Scalar};
    /// let x = CpuDevice.storage_from_slice(&[1.0f32, 2.0, f32::NAN])?;
    /// let large = x.cmp_scalar(&Layout::contiguous(3), Scalar::F32(1.5), CmpOp::Gt)?;
    /// assert_eq!(large.to_vec::<u8>()?, [0, 1, 0]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// The [common errors](Self#common-errors).
    fn cmp_scalar(&self, layout: &Layout, rhs: Scalar, op: CmpOp) -> Result<Self> {
        let inputs = [Src::Storage(self, layout), Src::Scalar(rhs)];
        allocate(self, layout, DType::U8, |dst, dl| Self::apply_into(&Op::Cmp(op), &inputs, dst, dl))
    }

    /// Tests each element; the result is u8, 0 or 1. [`Predicate`] defines each test and its
    /// dtypes. [Class](crate::Class): exact.
    ///
    /// # Errors
    /// The [common errors](Self#common-errors).
    fn predicate_into(op: Predicate, src: Src<'_, Self>, dst: &mut Self, dst_layout: &Layout) -> Result<()> {
        Self::apply_into(&Op::Predicate(op), &[src], dst, dst_layout)
    }

    /// Allocating form of [`predicate_into`](Self::predicate_into).
    ///
    /// # Errors
    /// The [common errors](Self#common-errors).
    fn predicate(&self, layout: &Layout, op: Predicate) -> Result<Self> {
        Self::apply(&Op::Predicate(op), &[(self, layout)])
    }

    /// Selects elements of `on_true` where the condition is not 0, and elements of `on_false`
    /// elsewhere. Dtypes: u8, u32 and i64 for the condition, all for the values.
    /// [Class](crate::Class): moved.
    ///
    /// # Errors
    /// The [common errors](Self#common-errors).
    fn where_cond_into(
        cond: Src<'_, Self>,
        on_true: Src<'_, Self>,
        on_false: Src<'_, Self>,
        dst: &mut Self,
        dst_layout: &Layout,
    ) -> Result<()> {
        Self::apply_into(&Op::WhereCond, &[cond, on_true, on_false], dst, dst_layout)
    }

    /// Allocating form of [`where_cond_into`](Self::where_cond_into); `self` is the condition.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout};
    /// let layout = Layout::contiguous(3);
    /// let cond = CpuDevice.storage_from_slice(&[1u8, 0, 1])?;
    /// let x = CpuDevice.storage_from_slice(&[1.0f32, 2.0, 3.0])?;
    /// let y = CpuDevice.storage_from_slice(&[-1.0f32, -2.0, -3.0])?;
    /// let chosen = cond.where_cond(&layout, &x, &layout, &y, &layout)?;
    /// assert_eq!(chosen.to_vec::<f32>()?, [1.0, -2.0, 3.0]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// The [common errors](Self#common-errors).
    fn where_cond(
        &self,
        layout: &Layout,
        on_true: &Self,
        on_true_layout: &Layout,
        on_false: &Self,
        on_false_layout: &Layout,
    ) -> Result<Self> {
        Self::apply(&Op::WhereCond, &[(self, layout), (on_true, on_true_layout), (on_false, on_false_layout)])
    }

    /// Returns the elements, with `value` where the mask is not 0 (`masked_fill` in PyTorch):
    /// [`where_cond`](Self::where_cond) with a scalar. Dtypes: u8, u32 and i64 for the mask, all
    /// for the elements, whose dtype the value has. [Class](crate::Class): moved.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout, Scalar};
    /// let l = Layout::contiguous(3);
    /// let x = CpuDevice.storage_from_slice(&[1i32, 2, 3])?;
    /// let mask = CpuDevice.storage_from_slice(&[0u8, 1, 0])?;
    /// let y = x.masked_fill(&l, &mask, &l, Scalar::I32(-1))?;
    /// assert_eq!(y.to_vec::<i32>()?, [1, -1, 3]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// The [common errors](Self#common-errors).
    fn masked_fill(&self, layout: &Layout, mask: &Self, mask_layout: &Layout, value: Scalar) -> Result<Self> {
        let inputs = [Src::Storage(mask, mask_layout), Src::Scalar(value), Src::Storage(self, layout)];
        allocate(self, layout, self.dtype(), |dst, dl| Self::apply_into(&Op::WhereCond, &inputs, dst, dl))
    }

    /// Reduces the dimensions of `op` to size 1; [`ReduceOp`](crate::ReduceOp) defines each
    /// reduction and its dtypes. The destination has the shape of the source, with the reduced
    /// dimensions set to 1. [Class](crate::Class): exact for integers and for `Min`, `Max`,
    /// `ArgMin`, `ArgMax`, `MaxNorm`, `Any` and `All`, otherwise defined.
    ///
    /// # Errors
    /// The [common errors](Self#common-errors); `InvalidArgument` if a dimension does not exist or
    /// is named twice, or if `Min`, `Max`, `ArgMin` or `ArgMax` has no elements to reduce, unless
    /// [`with_empty_extremes`](Reduce::with_empty_extremes) gives the first two a value.
    fn reduce_into(op: &Reduce, src: &Self, src_layout: &Layout, dst: &mut Self, dst_layout: &Layout) -> Result<()> {
        Self::apply_into(&Op::Reduce(op.clone()), &[Src::Storage(src, src_layout)], dst, dst_layout)
    }

    /// Allocating form of [`reduce_into`](Self::reduce_into).
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout, Reduce, ReduceOp};
    /// let x = CpuDevice.storage_from_slice(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
    /// let sums = x.reduce(&Layout::contiguous((2, 3)), &Reduce::new(ReduceOp::Sum, &[1]))?;
    /// assert_eq!(sums.to_vec::<f32>()?, [6.0, 15.0]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// The [common errors](Self#common-errors).
    fn reduce(&self, layout: &Layout, op: &Reduce) -> Result<Self> {
        Self::apply(&Op::Reduce(op.clone()), &[(self, layout)])
    }

    /// Computes a batched matrix product; [`Matmul`] defines the shapes. Products accumulate in the
    /// compute type. Dtypes: floats, u32, i32, i64. [Class](crate::Class): exact for integers; for
    /// floats defined with portable numerics, vendor with vendor numerics.
    ///
    /// # Errors
    /// The [common errors](Self#common-errors).
    fn matmul_into(
        op: Matmul,
        lhs: &Self,
        lhs_layout: &Layout,
        rhs: &Self,
        rhs_layout: &Layout,
        dst: &mut Self,
        dst_layout: &Layout,
    ) -> Result<()> {
        let inputs = [Src::Storage(lhs, lhs_layout), Src::Storage(rhs, rhs_layout)];
        Self::apply_into(&Op::Matmul(op), &inputs, dst, dst_layout)
    }

    /// Allocating form of [`matmul_into`](Self::matmul_into).
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout, Matmul};
    /// let x = CpuDevice.storage_from_slice(&[1.0f32, 2.0, 3.0, 4.0])?;
    /// let layout = Layout::contiguous((2, 2));
    /// let transposed = layout.transpose(0, 1)?;
    /// let product = x.matmul(&layout, &x, &transposed, Matmul::default())?;
    /// assert_eq!(product.to_vec::<f32>()?, [5.0, 11.0, 11.0, 25.0]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// The [common errors](Self#common-errors).
    fn matmul(&self, layout: &Layout, rhs: &Self, rhs_layout: &Layout, op: Matmul) -> Result<Self> {
        Self::apply(&Op::Matmul(op), &[(self, layout), (rhs, rhs_layout)])
    }

    /// Multiplies matrices of bytes, each less its zero points, with sums in i32; see
    /// [`MatmulInteger`]. `zeros` are the zero points of both operands, if they have any. Dtypes:
    /// i8, u8, each operand its own; zero points have the dtype of their operand, the result is
    /// i32. [Class](crate::Class): exact.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout};
    /// let (l, per_column) = (Layout::contiguous((2, 2)), Layout::contiguous(2));
    /// let x = CpuDevice.storage_from_slice(&[1u8, 2, 3, 255])?;
    /// let weights = CpuDevice.storage_from_slice(&[1i8, -1, 0, 4])?;
    /// let zero = CpuDevice.storage_from_slice(&[1i8, 0])?;
    /// let y = x.matmul_integer(&l, &weights, &l, [None, Some((&zero, &per_column))])?;
    /// assert_eq!(y.to_vec::<i32>()?, [-2, 7, -255, 1017]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// The [common errors](Self#common-errors).
    fn matmul_integer(
        &self,
        layout: &Layout,
        rhs: &Self,
        rhs_layout: &Layout,
        zeros: [Option<(&Self, &Layout)>; 2],
    ) -> Result<Self> {
        let op = MatmulInteger::new().with_zero_points(zeros[0].is_some(), zeros[1].is_some());
        let mut inputs = vec![(self, layout), (rhs, rhs_layout)];
        inputs.extend(zeros.into_iter().flatten());
        Self::apply(&Op::MatmulInteger(op), &inputs)
    }

    /// Multiplies matrices of f8 with scales into f16, bf16 or f32; see [`ScaledMatmul`]. `scales`
    /// are those of both operands. Dtypes: f8e4m3, f8e5m2, each operand its own; scales are f32.
    /// [Class](crate::Class): defined with portable numerics, vendor with vendor numerics.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, DType, F8E5M2, Layout};
    /// # use isobit_hal::ScaledMatmul;
    /// let x = CpuDevice.storage_from_slice(&[3.0f32, -2.0].map(F8E5M2::from_f32))?;
    /// let scale = CpuDevice.storage_from_slice(&[0.25f32])?;
    /// let (row, column) = (Layout::contiguous((1, 2)), Layout::contiguous((2, 1)));
    /// let one = Layout::contiguous(1);
    /// let scales = [(&scale, &one); 2];
    /// let y = x.scaled_matmul(&row, &x, &column, scales, DType::F32, ScaledMatmul::default())?;
    /// assert_eq!(y.to_vec::<f32>()?, [13.0 / 16.0]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// The [common errors](Self#common-errors).
    fn scaled_matmul(
        &self,
        layout: &Layout,
        rhs: &Self,
        rhs_layout: &Layout,
        scales: [(&Self, &Layout); 2],
        dtype: DType,
        op: ScaledMatmul,
    ) -> Result<Self> {
        let inputs = [(self, layout), (rhs, rhs_layout), scales[0], scales[1]];
        allocate_as(&Op::ScaledMatmul(op), &inputs, dtype)
    }

    /// Limits every element to `min..=max`; see [`Clamp`]. Dtypes: all. [Class](crate::Class):
    /// exact.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout};
    /// let x = CpuDevice.storage_from_slice(&[-2.0f32, 0.5, 7.0])?;
    /// assert_eq!(x.clamp(&Layout::contiguous(3), 0.0, 1.0)?.to_vec::<f32>()?, [0.0, 0.5, 1.0]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// The [common errors](Self#common-errors).
    fn clamp(&self, layout: &Layout, min: f64, max: f64) -> Result<Self> {
        Self::apply(&Op::Clamp(Clamp::new(min, max)), &[(self, layout)])
    }

    /// Keeps the elements on and below a diagonal of the matrices in the last two dimensions, and
    /// zeroes the rest. Applied to a tensor of ones, it gives a causal mask. Dtypes: all.
    /// [Class](crate::Class): moved.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout};
    /// let ones = CpuDevice.storage_from_slice(&[1u8; 9])?;
    /// let mask = ones.tril(&Layout::contiguous((3, 3)), 0)?;
    /// assert_eq!(mask.to_vec::<u8>()?, [1, 0, 0, 1, 1, 0, 1, 1, 1]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// The [common errors](Self#common-errors).
    fn tril(&self, layout: &Layout, diagonal: i64) -> Result<Self> {
        Self::apply(&Op::Triangle(Triangle::lower(diagonal)), &[(self, layout)])
    }

    /// Keeps the elements on and above a diagonal, and zeroes the rest; see [`tril`](Self::tril).
    ///
    /// # Errors
    /// The [common errors](Self#common-errors).
    fn triu(&self, layout: &Layout, diagonal: i64) -> Result<Self> {
        Self::apply(&Op::Triangle(Triangle::upper(diagonal)), &[(self, layout)])
    }

    /// Computes `f(self + bias)` in one pass, with the same bits as [`binary`](Self::binary)
    /// followed by [`unary`](Self::unary). To broadcast the bias, pass a [broadcast
    /// layout](Layout::broadcast_as). Dtypes: floats. [Class](crate::Class): exact for relu,
    /// otherwise defined.
    ///
    /// ```rust
    /// # use isobit_hal::{Activation, BackendDevice, BackendStorage, CpuDevice, Layout};
    /// let layout = Layout::contiguous((2, 2));
    /// let x = CpuDevice.storage_from_slice(&[1.0f32, 2.0, -3.0, -4.0])?;
    /// let bias = CpuDevice.storage_from_slice(&[0.5f32, 10.0])?;
    /// let rows = Layout::contiguous(2).broadcast_as((2, 2))?;
    /// let y = x.add_activation(&layout, &bias, &rows, Activation::Relu)?;
    /// assert_eq!(y.to_vec::<f32>()?, [1.5, 12.0, 0.0, 6.0]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// The [common errors](Self#common-errors).
    fn add_activation(
        &self,
        layout: &Layout,
        bias: &Self,
        bias_layout: &Layout,
        activation: Activation,
    ) -> Result<Self> {
        Self::apply(&Op::AddActivation(activation), &[(self, layout), (bias, bias_layout)])
    }

    /// Computes running sums, products, minima or maxima along a dimension; see [`Scan`]. Dtypes:
    /// all. [Class](crate::Class): defined for sums and products of floats, otherwise exact.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout, Scan};
    /// let (x, l) = (CpuDevice.storage_from_slice(&[3.0f32, 1.0, 2.0])?, Layout::contiguous(3));
    /// assert_eq!(x.scan(&l, Scan::cummin(0))?.to_vec::<f32>()?, [3.0, 1.0, 1.0]);
    /// assert_eq!(x.scan(&l, Scan::cummin(0).reverse())?.to_vec::<f32>()?, [1.0, 1.0, 2.0]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// The [common errors](Self#common-errors); `InvalidArgument` if the dimension does not exist.
    fn scan(&self, layout: &Layout, op: Scan) -> Result<Self> {
        Self::apply(&Op::Scan(op), &[(self, layout)])
    }

    /// Computes running sums along a dimension: [`scan`](Self::scan) with [`Scan::cumsum`]. Dtypes:
    /// all. [Class](crate::Class): defined for floats, otherwise exact.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout};
    /// let x = CpuDevice.storage_from_slice(&[1i32, 2, 3, 4])?;
    /// assert_eq!(x.cumsum(&Layout::contiguous(4), 0)?.to_vec::<i32>()?, [1, 3, 6, 10]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// The [common errors](Self#common-errors); `InvalidArgument` if the dimension does not exist.
    fn cumsum(&self, layout: &Layout, dim: usize) -> Result<Self> {
        self.scan(layout, Scan::cumsum(dim))
    }

    /// Computes the softmax over the last dimension. Dtypes: floats. [Class](crate::Class):
    /// defined.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout};
    /// let x = CpuDevice.storage_from_slice(&[5.0f32, 5.0, 5.0, 5.0])?;
    /// let y = x.softmax_last_dim(&Layout::contiguous((2, 2)))?;
    /// assert_eq!(y.to_vec::<f32>()?, [0.5; 4]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// The [common errors](Self#common-errors); `InvalidArgument` for rank 0.
    fn softmax_last_dim(&self, layout: &Layout) -> Result<Self> {
        Self::apply(&Op::Softmax, &[(self, layout)])
    }

    /// Computes [`Op::SafeSoftmax`]: [`softmax_last_dim`](Self::softmax_last_dim) with zeros for
    /// rows of -infinity alone. Dtypes: floats. [Class](crate::Class): defined.
    ///
    /// # Errors
    /// The [common errors](Self#common-errors); `InvalidArgument` for rank 0.
    fn safe_softmax_last_dim(&self, layout: &Layout) -> Result<Self> {
        Self::apply(&Op::SafeSoftmax, &[(self, layout)])
    }

    /// Computes the logarithm of [`softmax_last_dim`](Self::softmax_last_dim). Dtypes: floats.
    /// [Class](crate::Class): defined.
    ///
    /// # Errors
    /// The [common errors](Self#common-errors); `InvalidArgument` for rank 0.
    fn log_softmax_last_dim(&self, layout: &Layout) -> Result<Self> {
        Self::apply(&Op::LogSoftmax, &[(self, layout)])
    }

    /// Computes [`Op::RmsNorm`] over the last dimension. Dtypes: floats. [Class](crate::Class):
    /// defined.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout};
    /// let x = CpuDevice.storage_from_slice(&[2.0f32, -2.0])?;
    /// let weight = CpuDevice.storage_from_slice(&[1.0f32, 10.0])?;
    /// let y = x.rms_norm(&Layout::contiguous((1, 2)), &weight, &Layout::contiguous(2), 0.0)?;
    /// assert_eq!(y.to_vec::<f32>()?, [1.0, -10.0]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// The [common errors](Self#common-errors).
    fn rms_norm(&self, layout: &Layout, weight: &Self, weight_layout: &Layout, eps: f64) -> Result<Self> {
        Self::apply(&Op::RmsNorm { eps }, &[(self, layout), (weight, weight_layout)])
    }

    /// Computes [`Op::LayerNorm`] with a weight and a bias over the last dimension. Dtypes: floats.
    /// [Class](crate::Class): defined.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout};
    /// let x = CpuDevice.storage_from_slice(&[3.0f32, 7.0])?;
    /// let weight = CpuDevice.storage_from_slice(&[1.0f32, 2.0])?;
    /// let bias = CpuDevice.storage_from_slice(&[0.0f32, 5.0])?;
    /// let row = Layout::contiguous(2);
    /// let y = x.layer_norm(&Layout::contiguous((1, 2)), &weight, &row, &bias, &row, 0.0)?;
    /// assert_eq!(y.to_vec::<f32>()?, [-1.0, 7.0]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// The [common errors](Self#common-errors).
    fn layer_norm(
        &self,
        layout: &Layout,
        weight: &Self,
        weight_layout: &Layout,
        bias: &Self,
        bias_layout: &Layout,
        eps: f64,
    ) -> Result<Self> {
        let op = Op::LayerNorm(LayerNorm::new(eps));
        Self::apply(&op, &[(self, layout), (weight, weight_layout), (bias, bias_layout)])
    }

    /// Computes [`Op::LayerNormStats`]: the mean and the factor of each row of
    /// [`layer_norm`](Self::layer_norm), as `[.., 2]` of the compute type. Dtypes: floats.
    /// [Class](crate::Class): defined.
    ///
    /// # Errors
    /// The [common errors](Self#common-errors); `InvalidArgument` if the rows have no elements.
    fn layer_norm_stats(&self, layout: &Layout, eps: f64) -> Result<Self> {
        Self::apply(&Op::LayerNormStats { eps }, &[(self, layout)])
    }

    /// Computes [`Op::SkipLayerNorm`] over the last dimension: [`layer_norm`](Self::layer_norm) of
    /// `(self + src_bias) + skip`. Dtypes: floats. [Class](crate::Class): defined.
    ///
    /// # Errors
    /// The [common errors](Self#common-errors).
    fn skip_layer_norm(
        &self,
        layout: &Layout,
        skip: (&Self, &Layout),
        [weight, bias, src_bias]: [(&Self, &Layout); 3],
        eps: f64,
    ) -> Result<Self> {
        Self::apply(&Op::SkipLayerNorm { eps }, &[(self, layout), skip, weight, bias, src_bias])
    }

    /// Normalizes groups of channels of `[n, c, ..]`, with a weight and a bias for each channel if
    /// they are given; see [`GroupNorm`]. Dtypes: floats. [Class](crate::Class): defined.
    ///
    /// # Errors
    /// The [common errors](Self#common-errors); `InvalidArgument` if the channels cannot be divided
    /// into so many groups.
    fn group_norm(
        &self,
        layout: &Layout,
        [weight, bias]: [Option<(&Self, &Layout)>; 2],
        groups: usize,
        eps: f64,
    ) -> Result<Self> {
        let op = Op::GroupNorm(GroupNorm::new(groups, eps).with_inputs(weight.is_some(), bias.is_some()));
        let inputs: SmallVec<[_; 3]> = [Some((self, layout)), weight, bias].into_iter().flatten().collect();
        Self::apply(&op, &inputs)
    }

    /// Normalizes each channel of each batch element of `[n, c, ..]`:
    /// [`group_norm`](Self::group_norm) with as many groups as channels. Dtypes: floats.
    /// [Class](crate::Class): defined.
    ///
    /// # Errors
    /// The [common errors](Self#common-errors).
    fn instance_norm(&self, layout: &Layout, parameters: [Option<(&Self, &Layout)>; 2], eps: f64) -> Result<Self> {
        let channels = layout.dims().get(1).map_or(1, |&c| c.max(1));
        self.group_norm(layout, parameters, channels, eps)
    }

    /// Normalizes `[n, c, ..]` with the mean and the variance of each channel, and with a weight
    /// and a bias if they are given; see [`BatchNorm`]. Dtypes: floats. [Class](crate::Class):
    /// defined.
    ///
    /// # Errors
    /// The [common errors](Self#common-errors).
    fn batch_norm(
        &self,
        layout: &Layout,
        [mean, variance]: [(&Self, &Layout); 2],
        [weight, bias]: [Option<(&Self, &Layout)>; 2],
        eps: f64,
    ) -> Result<Self> {
        let op = Op::BatchNorm(BatchNorm::new(eps).with_inputs(weight.is_some(), bias.is_some()));
        let given = [Some((self, layout)), Some(mean), Some(variance), weight, bias];
        let inputs: SmallVec<[_; 5]> = given.into_iter().flatten().collect();
        Self::apply(&op, &inputs)
    }

    /// Batch normalization in training: [`batch_norm`](Self::batch_norm) with the statistics of the
    /// batch. Returns the result, and the mean and the variance of each channel over all other
    /// dimensions, in the compute type; the variance divides by the number of elements.
    ///
    /// If there are running statistics, contiguous and in the compute type, each becomes the sum of
    /// `1 - momentum` times itself and `momentum` times the statistic, in which the variance
    /// divides by the number of elements less 1, as in PyTorch's `batch_norm` in training. Dtypes:
    /// floats. [Class](crate::Class): defined: the bits are those of a cast of a narrow dtype to
    /// f32, [`ReduceOp::Mean`](crate::ReduceOp), [`ReduceOp::Var`](crate::ReduceOp), `batch_norm`,
    /// and for each running statistic two [`affine`](Self::affine) and an addition.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout};
    /// let x = CpuDevice.storage_from_slice(&[1.0f32, 5.0])?; // two batch elements, one channel
    /// let mut running_mean = CpuDevice.storage_from_slice(&[1.0f32])?;
    /// let mut running_variance = CpuDevice.storage_from_slice(&[2.0f32])?;
    /// let running = Some([&mut running_mean, &mut running_variance]);
    /// let [y, mean, variance] =
    ///     x.batch_norm_train(&Layout::contiguous((2, 1)), [None, None], running, 0.5, 0.0)?;
    /// assert_eq!(y.to_vec::<f32>()?, [-1.0, 1.0]);
    /// assert_eq!((mean.to_vec::<f32>()?, variance.to_vec::<f32>()?), (vec![3.0], vec![4.0]));
    /// assert_eq!(running_mean.to_vec::<f32>()?, [2.0]); // half of 1 and half of 3
    /// assert_eq!(running_variance.to_vec::<f32>()?, [5.0]); // half of 2 and half of 8
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// The [common errors](Self#common-errors); `InvalidArgument` if a channel has fewer than two
    /// elements.
    fn batch_norm_train(
        &self,
        layout: &Layout,
        parameters: [Option<(&Self, &Layout)>; 2],
        running: Option<[&mut Self; 2]>,
        momentum: f64,
        eps: f64,
    ) -> Result<[Self; 3]> {
        let c = *layout.dims().get(1).ok_or_else(|| {
            Error::new(ErrorKind::ShapeMismatch, format!("batch_norm_train takes [n, c, ..], not {}", layout.shape()))
        })?;
        let count = layout.elem_count() / c.max(1);
        if count < 2 {
            let message = format!("batch_norm_train of {}: a channel must have two elements", layout.shape());
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
        let (compute, all) = (self.dtype().compute(), Layout::contiguous(layout.shape()));
        let widened = if self.dtype() == compute { None } else { Some(self.to_dtype(layout, compute)?) };
        let (wide, wide_layout) = widened.as_ref().map_or((self, layout), |wide| (wide, &all));
        let others: SmallVec<[usize; 6]> = (0..layout.dims().len()).filter(|&d| d != 1).collect();
        let statistic = |op| wide.reduce(wide_layout, &Reduce::new(op, &others).with_correction(0));
        let (mean, variance) = (statistic(ReduceOp::Mean)?, statistic(ReduceOp::Var)?);
        let of_channels = &Layout::contiguous(c);
        let y = self.batch_norm(layout, [(&mean, of_channels), (&variance, of_channels)], parameters, eps)?;
        if let Some(running) = running {
            let unbiased = count as f64 / (count - 1) as f64;
            for (running, (statistic, factor)) in running.into_iter().zip([(&mean, 1.0), (&variance, unbiased)]) {
                let new = statistic.affine(of_channels, momentum * factor, 0.0)?;
                let kept = Op::Affine(Affine::new(1.0 - momentum, 0.0));
                Self::apply_into(&kept, &[Src::InPlace], running, of_channels)?;
                let sum = Op::Binary(BinaryOp::Add);
                Self::apply_into(&sum, &[Src::InPlace, (&new, of_channels).into()], running, of_channels)?;
            }
        }
        Ok([y, mean, variance])
    }

    /// Divides each element of `[n, c, ..]` by a power of the mean square of the channels around
    /// it; see [`LocalResponseNorm`]. Dtypes: floats. [Class](crate::Class): defined.
    ///
    /// # Errors
    /// The [common errors](Self#common-errors).
    fn local_response_norm(&self, layout: &Layout, op: LocalResponseNorm) -> Result<Self> {
        Self::apply(&Op::LocalResponseNorm(op), &[(self, layout)])
    }

    /// Draws ones and zeros, with the elements as the probabilities of the ones; the next numbers
    /// of the device's sequence choose. See [`BernoulliProbs`], and [`BackendDevice::bernoulli`]
    /// for one probability. Dtypes: f16, bf16, f32, f64. [Class](crate::Class): defined.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout};
    /// let p = CpuDevice.storage_from_slice(&[0.0f32, 1.0, 0.5])?;
    /// let y = p.bernoulli(&Layout::contiguous(3))?.to_vec::<f32>()?;
    /// assert_eq!(y[..2], [0.0, 1.0]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// The [common errors](Self#common-errors); `UnsupportedOp` if the device does not generate
    /// random numbers.
    fn bernoulli(&self, layout: &Layout) -> Result<Self> {
        let (seed, offset) = next_numbers(self.device(), layout.shape())?;
        Self::apply(&Op::BernoulliProbs(BernoulliProbs::new().at(seed, offset)), &[(self, layout)])
    }

    /// Sets each element to 0 with probability `p`, and divides the others by `1 - p`; the next
    /// numbers of the device's sequence choose. [`Op::Dropout`] with a seed and an offset chooses
    /// the same elements again, and [`Dropout::mask`] gives the mask. Dtypes: f16, bf16, f32, f64.
    /// [Class](crate::Class): defined.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout};
    /// let x = CpuDevice.storage_from_slice(&[1.0f32; 100])?;
    /// let y = x.dropout(&Layout::contiguous(100), 0.5)?.to_vec::<f32>()?;
    /// assert!(y.iter().all(|&v| v == 0.0 || v == 2.0));
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// The [common errors](Self#common-errors); `InvalidArgument` if `p` is not from 0 to 1;
    /// `UnsupportedOp` if the device does not generate random numbers.
    fn dropout(&self, layout: &Layout, p: f64) -> Result<Self> {
        let (seed, offset) = next_numbers(self.device(), layout.shape())?;
        Self::apply(&Op::Dropout(Dropout::new(p).at(seed, offset)), &[(self, layout)])
    }

    /// Applies rotary position embedding. [`RopeForm`] says which elements form a pair,
    /// [`Op::Rope`] gives the shapes. Dtypes: floats. [Class](crate::Class): defined.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout, RopeForm};
    /// let x = CpuDevice.storage_from_slice(&[3.0f32, 4.0])?;
    /// // One pair, rotated by 90 degrees.
    /// let cos = CpuDevice.storage_from_slice(&[0.0f32])?;
    /// let sin = CpuDevice.storage_from_slice(&[1.0f32])?;
    /// let (layout, angles) = (Layout::contiguous((1, 1, 1, 2)), Layout::contiguous((1, 1)));
    /// let y = x.rope(&layout, &cos, &angles, &sin, &angles, RopeForm::Halves)?;
    /// assert_eq!(y.to_vec::<f32>()?, [-4.0, 3.0]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// The [common errors](Self#common-errors).
    fn rope(
        &self,
        layout: &Layout,
        cos: &Self,
        cos_layout: &Layout,
        sin: &Self,
        sin_layout: &Layout,
        form: RopeForm,
    ) -> Result<Self> {
        Self::apply(&Op::Rope(form), &[(self, layout), (cos, cos_layout), (sin, sin_layout)])
    }

    /// Computes attention of the queries, which are `self`, to keys and values; see [`Attention`].
    /// A mask and lengths are optional; whether `op` says that they are given does not matter.
    /// Dtypes: f16, bf16, f32; lengths are u32. [Class](crate::Class): defined; vendor with vendor
    /// numerics, for f16 and bf16.
    ///
    /// # Errors
    /// The [common errors](Self#common-errors); `InvalidArgument` for heads that are too long and
    /// for a scale or a soft-cap that is not finite.
    fn scaled_dot_product_attention(
        &self,
        layout: &Layout,
        [key, value]: [(&Self, &Layout); 2],
        mask: Option<(&Self, &Layout)>,
        lengths: Option<(&Self, &Layout)>,
        op: Attention,
    ) -> Result<Self> {
        let op = op.with_inputs(mask.is_some(), lengths.is_some());
        let inputs: Vec<_> = [(self, layout), key, value].into_iter().chain(mask).chain(lengths).collect();
        Self::apply(&Op::ScaledDotProductAttention(op), &inputs)
    }

    /// Sorts the last dimension and returns the sorted values and their u32 source positions;
    /// [`Sort`] defines the order. Rows may have any length. Dtypes: all. [Class](crate::Class):
    /// moved for the values, exact for the positions.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout, Sort};
    /// let x = CpuDevice.storage_from_slice(&[3.0f32, 1.0, 2.0])?;
    /// let (values, positions) = x.sort_last_dim(&Layout::contiguous(3), Sort::ascending())?;
    /// assert_eq!(values.to_vec::<f32>()?, [1.0, 2.0, 3.0]);
    /// assert_eq!(positions.to_vec::<u32>()?, [1, 2, 0]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// The [common errors](Self#common-errors); `InvalidArgument` for rank 0.
    fn sort_last_dim(&self, layout: &Layout, sort: Sort) -> Result<(Self, Self)> {
        sorted(self, layout, &Op::Sort(sort), &Op::ArgSort(sort))
    }

    /// Returns only the u32 positions of [`sort_last_dim`](Self::sort_last_dim).
    ///
    /// # Errors
    /// The [common errors](Self#common-errors); `InvalidArgument` for rank 0.
    fn arg_sort_last_dim(&self, layout: &Layout, sort: Sort) -> Result<Self> {
        Self::apply(&Op::ArgSort(sort), &[(self, layout)])
    }

    /// Returns the first elements of the sorted last dimension and their u32 positions; see
    /// [`TopK`]. Dtypes: all. [Class](crate::Class): moved for the values, exact for the positions.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout, TopK};
    /// let x = CpuDevice.storage_from_slice(&[3.0f32, 1.0, 4.0, 2.0])?;
    /// let (values, positions) = x.topk(&Layout::contiguous(4), TopK::largest(2))?;
    /// assert_eq!(values.to_vec::<f32>()?, [4.0, 3.0]);
    /// assert_eq!(positions.to_vec::<u32>()?, [2, 0]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// The [common errors](Self#common-errors); `InvalidArgument` if `k` exceeds the size of the
    /// dimension.
    fn topk(&self, layout: &Layout, top: TopK) -> Result<(Self, Self)> {
        sorted(self, layout, &Op::TopK(top), &Op::ArgTopK(top))
    }

    /// Picks single elements by their positions along a dimension; see [`Op::Gather`]. The ids have
    /// the shape of the result. Dtypes: u8, u32, i32 and i64 for the ids, all for the values.
    /// [Class](crate::Class): moved.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout};
    /// let x = CpuDevice.storage_from_slice(&[1.0f32, 2.0, 3.0, 4.0])?;
    /// let ids = CpuDevice.storage_from_slice(&[1u32, 0])?;
    /// let y = x.gather(&Layout::contiguous((2, 2)), &ids, &Layout::contiguous((2, 1)), 1)?;
    /// assert_eq!(y.to_vec::<f32>()?, [2.0, 3.0]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// The [common errors](Self#common-errors); `IndexOutOfRange`.
    fn gather(&self, layout: &Layout, ids: &Self, ids_layout: &Layout, dim: usize) -> Result<Self> {
        Self::apply(&Op::Gather(Indexing::new(dim)), &[(self, layout), (ids, ids_layout)])
    }

    /// Picks whole slices by their positions along a dimension; see [`Op::IndexSelect`]. The ids
    /// have one dimension. Dtypes: u8, u32, i32 and i64 for the ids, all for the values.
    /// [Class](crate::Class): moved.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout};
    /// let table = CpuDevice.storage_from_slice(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
    /// let ids = CpuDevice.storage_from_slice(&[2u32, 0])?;
    /// let (rows, two) = (Layout::contiguous((3, 2)), Layout::contiguous(2));
    /// let rows = table.index_select(&rows, &ids, &two, 0)?;
    /// assert_eq!(rows.to_vec::<f32>()?, [5.0, 6.0, 1.0, 2.0]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// The [common errors](Self#common-errors); `IndexOutOfRange`.
    fn index_select(&self, layout: &Layout, ids: &Self, ids_layout: &Layout, dim: usize) -> Result<Self> {
        Self::apply(&Op::IndexSelect(Indexing::new(dim)), &[(self, layout), (ids, ids_layout)])
    }

    /// Counts the elements that are not 0, as a u32 of rank 0; see [`Op::CountNonzero`]. Dtypes:
    /// all. [Class](crate::Class): exact.
    ///
    /// # Errors
    /// The [common errors](Self#common-errors); `InvalidArgument` for more than 2^32 - 1 elements,
    /// whose count needs a destination of i64.
    fn count_nonzero(&self, layout: &Layout) -> Result<Self> {
        Self::apply(&Op::CountNonzero, &[(self, layout)])
    }

    /// Returns the u32 coordinates of the first `bound` elements that are not 0, one row for each,
    /// and rows of the padding id after the last; see [`Op::Nonzero`]. Dtypes: all.
    /// [Class](crate::Class): exact.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout};
    /// // The rows of a table whose flag is set. Padding ids give rows of 0.
    /// let l = Layout::contiguous(3);
    /// let flags = CpuDevice.storage_from_slice(&[0u8, 1, 1])?;
    /// let ids = flags.nonzero(&l, 3)?; // [3, 1]
    /// let table = CpuDevice.storage_from_slice(&[1.0f32, 2.0, 3.0])?;
    /// let rows = table.index_select(&l, &ids, &l, 0)?;
    /// assert_eq!(rows.to_vec::<f32>()?, [2.0, 3.0, 0.0]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// The [common errors](Self#common-errors); `InvalidArgument` for a dimension of more than
    /// 2^32 - 1 elements, whose coordinates need a destination of i64.
    fn nonzero(&self, layout: &Layout, bound: usize) -> Result<Self> {
        Self::apply(&Op::Nonzero { bound }, &[(self, layout)])
    }

    /// Returns the first `bound` elements where the mask is not 0, and zeros after the last; see
    /// [`Op::MaskedSelect`]. Dtypes: u8, u32 and i64 for the mask, all for the values.
    /// [Class](crate::Class): moved.
    ///
    /// # Errors
    /// The [common errors](Self#common-errors).
    fn masked_select(&self, layout: &Layout, mask: &Self, mask_layout: &Layout, bound: usize) -> Result<Self> {
        Self::apply(&Op::MaskedSelect { bound }, &[(self, layout), (mask, mask_layout)])
    }

    /// Returns the first `bound` slices along a dimension whose flag in a mask of one dimension is
    /// not 0, and slices of zeros after the last; see [`Op::Compress`]. Dtypes: u8, u32 and i64 for
    /// the mask, all for the values. [Class](crate::Class): moved.
    ///
    /// # Errors
    /// The [common errors](Self#common-errors).
    fn compress(&self, layout: &Layout, mask: &Self, mask_layout: &Layout, dim: usize, bound: usize) -> Result<Self> {
        Self::apply(&Op::Compress { dim, bound }, &[(self, layout), (mask, mask_layout)])
    }

    /// Counts the distinct elements, as a u32 of rank 0; see [`Op::Unique`]. Dtypes: all.
    /// [Class](crate::Class): exact.
    ///
    /// # Errors
    /// The [common errors](Self#common-errors); `InvalidArgument` for more than 2^32 - 1 elements.
    fn count_unique(&self, layout: &Layout) -> Result<Self> {
        Self::apply(&Op::CountUnique, &[(self, layout)])
    }

    /// Returns the first `bound` distinct elements in ascending order, and zeros after the last;
    /// see [`Op::Unique`]. Dtypes: all. [Class](crate::Class): moved.
    ///
    /// # Errors
    /// The [common errors](Self#common-errors); `InvalidArgument` for more than 2^32 - 1 elements.
    fn unique(&self, layout: &Layout, bound: usize) -> Result<Self> {
        Self::apply(&Op::Unique { bound }, &[(self, layout)])
    }

    /// Returns for each element the u32 index of its value among all distinct ones; see
    /// [`Op::UniqueInverse`]. Dtypes: all. [Class](crate::Class): exact.
    ///
    /// # Errors
    /// The [common errors](Self#common-errors); `InvalidArgument` for more than 2^32 - 1 elements.
    fn unique_inverse(&self, layout: &Layout) -> Result<Self> {
        Self::apply(&Op::UniqueInverse, &[(self, layout)])
    }

    /// Returns how often each of the first `bound` distinct elements occurs, as u32; see
    /// [`Op::UniqueCounts`]. Dtypes: all. [Class](crate::Class): exact.
    ///
    /// # Errors
    /// The [common errors](Self#common-errors); `InvalidArgument` for more than 2^32 - 1 elements.
    fn unique_counts(&self, layout: &Layout, bound: usize) -> Result<Self> {
        Self::apply(&Op::UniqueCounts { bound }, &[(self, layout)])
    }

    /// Returns where each of the first `bound` distinct elements occurs first, as a u32 position in
    /// row-major order; see [`Op::UniqueFirst`]. Dtypes: all. [Class](crate::Class): exact.
    ///
    /// # Errors
    /// The [common errors](Self#common-errors); `InvalidArgument` for more than 2^32 - 1 elements.
    fn unique_first(&self, layout: &Layout, bound: usize) -> Result<Self> {
        Self::apply(&Op::UniqueFirst { bound }, &[(self, layout)])
    }

    /// Sets single elements at positions along a dimension, in place; see [`Op::ScatterSet`].
    /// Dtypes: u8, u32, i32 and i64 for the ids, all for the values. [Class](crate::Class): moved.
    ///
    /// # Errors
    /// The [common errors](Self#common-errors); `IndexOutOfRange`.
    fn scatter_set(
        &mut self,
        layout: &Layout,
        ids: &Self,
        ids_layout: &Layout,
        src: &Self,
        src_layout: &Layout,
        dim: usize,
    ) -> Result<()> {
        let inputs = [Src::InPlace, Src::Storage(ids, ids_layout), Src::Storage(src, src_layout)];
        Self::apply_into(&Op::ScatterSet(Indexing::new(dim)), &inputs, self, layout)
    }

    /// Adds to single elements at positions along a dimension, in place and in the order of the
    /// source; see [`Op::ScatterAdd`]. Dtypes: u8, u32, i32 and i64 for the ids, all for the
    /// values. [Class](crate::Class): defined for floats, otherwise exact.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout};
    /// let mut counts = CpuDevice.storage_from_slice(&[0i32; 3])?;
    /// let ids = CpuDevice.storage_from_slice(&[2u32, 0, 2])?;
    /// let ones = CpuDevice.storage_from_slice(&[1i32; 3])?;
    /// let layout = Layout::contiguous(3);
    /// counts.scatter_add_set(&layout, &ids, &layout, &ones, &layout, 0)?;
    /// assert_eq!(counts.to_vec::<i32>()?, [1, 0, 2]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// The [common errors](Self#common-errors); `IndexOutOfRange`.
    fn scatter_add_set(
        &mut self,
        layout: &Layout,
        ids: &Self,
        ids_layout: &Layout,
        src: &Self,
        src_layout: &Layout,
        dim: usize,
    ) -> Result<()> {
        let inputs = [Src::InPlace, Src::Storage(ids, ids_layout), Src::Storage(src, src_layout)];
        Self::apply_into(&Op::ScatterAdd(Indexing::new(dim)), &inputs, self, layout)
    }

    /// Returns a copy of `self` with slices added at positions along a dimension, in the order of
    /// the source; see [`Op::IndexAdd`]. Dtypes: u8, u32, i32 and i64 for the ids, all for the
    /// values. [Class](crate::Class): defined for floats, otherwise exact.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout};
    /// let x = CpuDevice.storage_from_slice(&[10i32, 20, 30, 40])?;
    /// let ids = CpuDevice.storage_from_slice(&[1u32])?;
    /// let row = CpuDevice.storage_from_slice(&[5i32, 6])?;
    /// let (matrix, one) = (Layout::contiguous((2, 2)), Layout::contiguous((1, 2)));
    /// let y = x.index_add(&matrix, &ids, &Layout::contiguous(1), &row, &one, 0)?;
    /// assert_eq!(y.to_vec::<i32>()?, [10, 20, 35, 46]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// The [common errors](Self#common-errors); `IndexOutOfRange`.
    fn index_add(
        &self,
        layout: &Layout,
        ids: &Self,
        ids_layout: &Layout,
        src: &Self,
        src_layout: &Layout,
        dim: usize,
    ) -> Result<Self> {
        Self::apply(&Op::IndexAdd(Indexing::new(dim)), &[(self, layout), (ids, ids_layout), (src, src_layout)])
    }

    /// Combines elements with single ones at positions along a dimension, in place and in the order
    /// of the source; see [`ScatterReduce`]. Dtypes: u8, u32, i32 and i64 for the ids, all for the
    /// values. [Class](crate::Class): defined for products of floats, otherwise exact.
    ///
    /// # Errors
    /// The [common errors](Self#common-errors); `IndexOutOfRange`.
    fn scatter_reduce(
        &mut self,
        layout: &Layout,
        ids: &Self,
        ids_layout: &Layout,
        src: &Self,
        src_layout: &Layout,
        op: ScatterReduce,
    ) -> Result<()> {
        let inputs = [Src::InPlace, Src::Storage(ids, ids_layout), Src::Storage(src, src_layout)];
        Self::apply_into(&Op::ScatterReduce(op), &inputs, self, layout)
    }

    /// Picks slices by tuples of positions; see [`GatherNd`]. Dtypes: u8, u32, i32 and i64 for the
    /// ids, all for the values. [Class](crate::Class): moved.
    ///
    /// # Errors
    /// The [common errors](Self#common-errors); `IndexOutOfRange`.
    fn gather_nd(&self, layout: &Layout, ids: &Self, ids_layout: &Layout, op: GatherNd) -> Result<Self> {
        Self::apply(&Op::GatherNd(op), &[(self, layout), (ids, ids_layout)])
    }

    /// Sets slices at tuples of positions or combines them with what is there, in place and in the
    /// order of the source; see [`ScatterNd`]. Dtypes: u8, u32, i32 and i64 for the ids, all for
    /// the values. [Class](crate::Class): moved for [`ScatterOp::Set`](crate::ScatterOp::Set),
    /// defined for sums and products of floats, otherwise exact.
    ///
    /// # Errors
    /// The [common errors](Self#common-errors); `IndexOutOfRange`.
    fn scatter_nd(
        &mut self,
        layout: &Layout,
        ids: &Self,
        ids_layout: &Layout,
        src: &Self,
        src_layout: &Layout,
        op: ScatterNd,
    ) -> Result<()> {
        let inputs = [Src::InPlace, Src::Storage(ids, ids_layout), Src::Storage(src, src_layout)];
        Self::apply_into(&Op::ScatterNd(op), &inputs, self, layout)
    }

    /// Computes a 1D convolution; see [`Conv1d`]. Dtypes: f16, bf16, f32, f64.
    /// [Class](crate::Class): defined with portable numerics, vendor with vendor numerics.
    ///
    /// # Errors
    /// The [common errors](Self#common-errors); `InvalidArgument` if the kernel does not fit into
    /// the padded input or a parameter is out of its domain.
    fn conv1d(&self, layout: &Layout, kernel: &Self, kernel_layout: &Layout, op: Conv1d) -> Result<Self> {
        Self::apply(&Op::Conv1d(op), &[(self, layout), (kernel, kernel_layout)])
    }

    /// Computes [`conv1d`](Self::conv1d) with a bias `[c_out]`, which is added to the
    /// sums before they are rounded. Dtypes and class are those of [`conv1d`](Self::conv1d).
    ///
    /// # Errors
    /// As [`conv1d`](Self::conv1d).
    fn conv1d_bias(
        &self,
        layout: &Layout,
        kernel: &Self,
        kernel_layout: &Layout,
        bias: &Self,
        bias_layout: &Layout,
        op: Conv1d,
    ) -> Result<Self> {
        let inputs = [(self, layout), (kernel, kernel_layout), (bias, bias_layout)];
        Self::apply(&Op::Conv1d(op.with_bias(true)), &inputs)
    }

    /// Computes a 2D convolution; see [`Conv2d`]. Dtypes and class are those of
    /// [`conv1d`](Self::conv1d).
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, Conv2d, CpuDevice, Layout};
    /// let image = CpuDevice.storage_from_slice(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
    /// let kernel = CpuDevice.storage_from_slice(&[1.0f32; 4])?;
    /// // One image of one channel, 2 x 3; one output channel with a kernel of 2 x 2.
    /// let layout = Layout::contiguous((1, 1, 2, 3));
    /// let weights = Layout::contiguous((1, 1, 2, 2));
    /// let sums = image.conv2d(&layout, &kernel, &weights, Conv2d::default())?;
    /// assert_eq!(sums.to_vec::<f32>()?, [12.0, 16.0]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`conv1d`](Self::conv1d).
    fn conv2d(&self, layout: &Layout, kernel: &Self, kernel_layout: &Layout, op: Conv2d) -> Result<Self> {
        Self::apply(&Op::Conv2d(op), &[(self, layout), (kernel, kernel_layout)])
    }

    /// Computes [`conv2d`](Self::conv2d) with a bias `[c_out]`, which is added to the
    /// sums before they are rounded. Dtypes and class are those of [`conv1d`](Self::conv1d).
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, Conv2d, CpuDevice, Layout};
    /// let image = CpuDevice.storage_from_slice(&[1.0f32, 2.0, 3.0, 4.0])?;
    /// let kernel = CpuDevice.storage_from_slice(&[1.0f32, -1.0])?;
    /// let bias = CpuDevice.storage_from_slice(&[0.5f32, 10.0])?;
    /// // Two output channels with kernels of one tap.
    /// let layout = Layout::contiguous((1, 1, 2, 2));
    /// let weights = Layout::contiguous((2, 1, 1, 1));
    /// let (op, channels) = (Conv2d::default(), Layout::contiguous(2));
    /// let y = image.conv2d_bias(&layout, &kernel, &weights, &bias, &channels, op)?;
    /// assert_eq!(y.to_vec::<f32>()?, [1.5, 2.5, 3.5, 4.5, 9.0, 8.0, 7.0, 6.0]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`conv1d`](Self::conv1d).
    fn conv2d_bias(
        &self,
        layout: &Layout,
        kernel: &Self,
        kernel_layout: &Layout,
        bias: &Self,
        bias_layout: &Layout,
        op: Conv2d,
    ) -> Result<Self> {
        let inputs = [(self, layout), (kernel, kernel_layout), (bias, bias_layout)];
        Self::apply(&Op::Conv2d(op.with_bias(true)), &inputs)
    }

    /// Computes a 3D convolution; see [`Conv3d`]. Dtypes and class are those of
    /// [`conv1d`](Self::conv1d).
    ///
    /// # Errors
    /// As [`conv1d`](Self::conv1d).
    fn conv3d(&self, layout: &Layout, kernel: &Self, kernel_layout: &Layout, op: Conv3d) -> Result<Self> {
        Self::apply(&Op::Conv3d(op), &[(self, layout), (kernel, kernel_layout)])
    }

    /// Computes [`conv3d`](Self::conv3d) with a bias `[c_out]`, which is added to the
    /// sums before they are rounded. Dtypes and class are those of [`conv1d`](Self::conv1d).
    ///
    /// # Errors
    /// As [`conv1d`](Self::conv1d).
    fn conv3d_bias(
        &self,
        layout: &Layout,
        kernel: &Self,
        kernel_layout: &Layout,
        bias: &Self,
        bias_layout: &Layout,
        op: Conv3d,
    ) -> Result<Self> {
        let inputs = [(self, layout), (kernel, kernel_layout), (bias, bias_layout)];
        Self::apply(&Op::Conv3d(op.with_bias(true)), &inputs)
    }

    /// Computes a 1D transposed convolution; see [`ConvTranspose1d`]. Dtypes and class are those of
    /// [`conv1d`](Self::conv1d).
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, ConvTranspose1d, CpuDevice, Layout};
    /// let x = CpuDevice.storage_from_slice(&[1.0f32, 2.0])?;
    /// let kernel = CpuDevice.storage_from_slice(&[1.0f32, 10.0])?;
    /// let layout = Layout::contiguous((1, 1, 2));
    /// let op = ConvTranspose1d::default().with_stride([2]);
    /// let y = x.conv_transpose1d(&layout, &kernel, &layout, op)?;
    /// assert_eq!(y.to_vec::<f32>()?, [1.0, 10.0, 2.0, 20.0]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`conv1d`](Self::conv1d).
    fn conv_transpose1d(
        &self,
        layout: &Layout,
        kernel: &Self,
        kernel_layout: &Layout,
        op: ConvTranspose1d,
    ) -> Result<Self> {
        Self::apply(&Op::ConvTranspose1d(op), &[(self, layout), (kernel, kernel_layout)])
    }

    /// Computes [`conv_transpose1d`](Self::conv_transpose1d) with a bias `[c_out]`, which is added
    /// to the sums before they are rounded. Dtypes and class are those of [`conv1d`](Self::conv1d).
    ///
    /// # Errors
    /// As [`conv1d`](Self::conv1d).
    fn conv_transpose1d_bias(
        &self,
        layout: &Layout,
        kernel: &Self,
        kernel_layout: &Layout,
        bias: &Self,
        bias_layout: &Layout,
        op: ConvTranspose1d,
    ) -> Result<Self> {
        let inputs = [(self, layout), (kernel, kernel_layout), (bias, bias_layout)];
        Self::apply(&Op::ConvTranspose1d(op.with_bias(true)), &inputs)
    }

    /// Computes a 2D transposed convolution; see [`ConvTranspose2d`]. Dtypes and class are those of
    /// [`conv1d`](Self::conv1d).
    ///
    /// # Errors
    /// As [`conv1d`](Self::conv1d).
    fn conv_transpose2d(
        &self,
        layout: &Layout,
        kernel: &Self,
        kernel_layout: &Layout,
        op: ConvTranspose2d,
    ) -> Result<Self> {
        Self::apply(&Op::ConvTranspose2d(op), &[(self, layout), (kernel, kernel_layout)])
    }

    /// Computes [`conv_transpose2d`](Self::conv_transpose2d) with a bias `[c_out]`, which is added
    /// to the sums before they are rounded. Dtypes and class are those of [`conv1d`](Self::conv1d).
    ///
    /// # Errors
    /// As [`conv1d`](Self::conv1d).
    fn conv_transpose2d_bias(
        &self,
        layout: &Layout,
        kernel: &Self,
        kernel_layout: &Layout,
        bias: &Self,
        bias_layout: &Layout,
        op: ConvTranspose2d,
    ) -> Result<Self> {
        let inputs = [(self, layout), (kernel, kernel_layout), (bias, bias_layout)];
        Self::apply(&Op::ConvTranspose2d(op.with_bias(true)), &inputs)
    }

    /// Computes a 3D transposed convolution; see [`ConvTranspose3d`]. Dtypes and class are those of
    /// [`conv1d`](Self::conv1d).
    ///
    /// # Errors
    /// As [`conv1d`](Self::conv1d).
    fn conv_transpose3d(
        &self,
        layout: &Layout,
        kernel: &Self,
        kernel_layout: &Layout,
        op: ConvTranspose3d,
    ) -> Result<Self> {
        Self::apply(&Op::ConvTranspose3d(op), &[(self, layout), (kernel, kernel_layout)])
    }

    /// Computes [`conv_transpose3d`](Self::conv_transpose3d) with a bias `[c_out]`, which is added
    /// to the sums before they are rounded. Dtypes and class are those of [`conv1d`](Self::conv1d).
    ///
    /// # Errors
    /// As [`conv1d`](Self::conv1d).
    fn conv_transpose3d_bias(
        &self,
        layout: &Layout,
        kernel: &Self,
        kernel_layout: &Layout,
        bias: &Self,
        bias_layout: &Layout,
        op: ConvTranspose3d,
    ) -> Result<Self> {
        let inputs = [(self, layout), (kernel, kernel_layout), (bias, bias_layout)];
        Self::apply(&Op::ConvTranspose3d(op.with_bias(true)), &inputs)
    }

    /// Averages windows along the last dimension; see [`Pool1d`]. Dtypes and class are those of
    /// [`avg_pool2d`](Self::avg_pool2d).
    ///
    /// # Errors
    /// As [`avg_pool2d`](Self::avg_pool2d).
    fn avg_pool1d(&self, layout: &Layout, op: Pool1d) -> Result<Self> {
        Self::apply(&Op::AvgPool1d(op), &[(self, layout)])
    }

    /// Averages windows; see [`Pool2d`]. Dtypes: floats. [Class](crate::Class): defined.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout, Pool2d};
    /// let x = CpuDevice.storage_from_slice(&[1.0f32, 2.0, 5.0, 6.0, 3.0, 4.0, 7.0, 8.0])?;
    /// let (layout, windows) = (Layout::contiguous((1, 1, 2, 4)), Pool2d::new([2, 2]));
    /// assert_eq!(x.avg_pool2d(&layout, windows)?.to_vec::<f32>()?, [2.5, 6.5]);
    /// assert_eq!(x.max_pool2d(&layout, windows)?.to_vec::<f32>()?, [4.0, 8.0]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// The [common errors](Self#common-errors); `InvalidArgument` if no window fits into the padded
    /// input or a parameter is out of its domain.
    fn avg_pool2d(&self, layout: &Layout, op: Pool2d) -> Result<Self> {
        Self::apply(&Op::AvgPool2d(op), &[(self, layout)])
    }

    /// Averages windows over the last three dimensions; see [`Pool3d`]. Dtypes and class are those
    /// of [`avg_pool2d`](Self::avg_pool2d).
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout, Pool3d};
    /// let x = CpuDevice.storage_from_slice(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])?;
    /// let volume = Layout::contiguous((1, 1, 2, 2, 2));
    /// let y = x.avg_pool3d(&volume, Pool3d::new([2, 2, 2]))?;
    /// assert_eq!(y.to_vec::<f32>()?, [4.5]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`avg_pool2d`](Self::avg_pool2d).
    fn avg_pool3d(&self, layout: &Layout, op: Pool3d) -> Result<Self> {
        Self::apply(&Op::AvgPool3d(op), &[(self, layout)])
    }

    /// Returns the maxima of windows along the last dimension; see [`Pool1d`]. Dtypes and class are
    /// those of [`max_pool2d`](Self::max_pool2d).
    ///
    /// # Errors
    /// As [`avg_pool2d`](Self::avg_pool2d).
    fn max_pool1d(&self, layout: &Layout, op: Pool1d) -> Result<Self> {
        Self::apply(&Op::MaxPool1d(op), &[(self, layout)])
    }

    /// Returns the maxima of windows; see [`Pool2d`]. Dtypes: all. [Class](crate::Class): exact.
    ///
    /// # Errors
    /// As [`avg_pool2d`](Self::avg_pool2d).
    fn max_pool2d(&self, layout: &Layout, op: Pool2d) -> Result<Self> {
        Self::apply(&Op::MaxPool2d(op), &[(self, layout)])
    }

    /// Returns the maxima of windows over the last three dimensions; see [`Pool3d`]. Dtypes and
    /// class are those of [`max_pool2d`](Self::max_pool2d).
    ///
    /// # Errors
    /// As [`avg_pool2d`](Self::avg_pool2d).
    fn max_pool3d(&self, layout: &Layout, op: Pool3d) -> Result<Self> {
        Self::apply(&Op::MaxPool3d(op), &[(self, layout)])
    }

    /// Returns the u32 positions of the maxima of windows along the last dimension; see [`Pool1d`].
    /// Dtypes and class are those of [`argmax_pool2d`](Self::argmax_pool2d).
    ///
    /// # Errors
    /// As [`avg_pool2d`](Self::avg_pool2d).
    fn argmax_pool1d(&self, layout: &Layout, op: Pool1d) -> Result<Self> {
        Self::apply(&Op::ArgMaxPool1d(op), &[(self, layout)])
    }

    /// Returns the u32 positions of the maxima of windows in their planes, in row-major order; see
    /// [`Op::ArgMaxPool2d`]. Dtypes: all. [Class](crate::Class): exact.
    ///
    /// # Errors
    /// As [`avg_pool2d`](Self::avg_pool2d).
    fn argmax_pool2d(&self, layout: &Layout, op: Pool2d) -> Result<Self> {
        Self::apply(&Op::ArgMaxPool2d(op), &[(self, layout)])
    }

    /// Returns the u32 positions of the maxima of windows in their volumes; see [`Pool3d`]. Dtypes
    /// and class are those of [`argmax_pool2d`](Self::argmax_pool2d).
    ///
    /// # Errors
    /// As [`avg_pool2d`](Self::avg_pool2d).
    fn argmax_pool3d(&self, layout: &Layout, op: Pool3d) -> Result<Self> {
        Self::apply(&Op::ArgMaxPool3d(op), &[(self, layout)])
    }

    /// Computes the p-norms of windows along the last dimension; see [`LpPool`](crate::LpPool).
    /// Dtypes and class are those of [`lp_pool2d`](Self::lp_pool2d).
    ///
    /// # Errors
    /// As [`lp_pool2d`](Self::lp_pool2d).
    fn lp_pool1d(&self, layout: &Layout, p: f64, op: Pool1d) -> Result<Self> {
        Self::apply(&Op::LpPool(op.lp(p)), &[(self, layout)])
    }

    /// Computes the p-norms of windows; see [`LpPool`](crate::LpPool). Dtypes: floats.
    /// [Class](crate::Class): defined.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout, Pool2d};
    /// let x = CpuDevice.storage_from_slice(&[3.0f32, 4.0, -12.0, 0.0])?;
    /// let (l, op) = (Layout::contiguous((1, 1, 2, 2)), Pool2d::new([2, 2]));
    /// assert_eq!(x.lp_pool2d(&l, 2.0, op)?.to_vec::<f32>()?, [13.0]);
    /// assert_eq!(x.lp_pool2d(&l, 1.0, op)?.to_vec::<f32>()?, [19.0]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`avg_pool2d`](Self::avg_pool2d); `InvalidArgument` if p is not positive and finite as an
    /// f32.
    fn lp_pool2d(&self, layout: &Layout, p: f64, op: Pool2d) -> Result<Self> {
        Self::apply(&Op::LpPool(op.lp(p)), &[(self, layout)])
    }

    /// Computes the p-norms of windows over the last three dimensions; see
    /// [`LpPool`](crate::LpPool). Dtypes and class are those of [`lp_pool2d`](Self::lp_pool2d).
    ///
    /// # Errors
    /// As [`lp_pool2d`](Self::lp_pool2d).
    fn lp_pool3d(&self, layout: &Layout, p: f64, op: Pool3d) -> Result<Self> {
        Self::apply(&Op::LpPool(op.lp(p)), &[(self, layout)])
    }

    /// Averages `size` windows that share the last dimension between them; see [`AdaptivePool`].
    /// Dtypes and class are those of [`adaptive_avg_pool2d`](Self::adaptive_avg_pool2d).
    ///
    /// # Errors
    /// As [`adaptive_avg_pool2d`](Self::adaptive_avg_pool2d).
    fn adaptive_avg_pool1d(&self, layout: &Layout, size: [usize; 1]) -> Result<Self> {
        Self::apply(&Op::AdaptiveAvgPool(AdaptivePool::new(size)), &[(self, layout)])
    }

    /// Averages `size` windows that share the last two dimensions between them; see
    /// [`AdaptivePool`]. Dtypes: floats. [Class](crate::Class): defined.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout};
    /// let x = CpuDevice.storage_from_slice(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
    /// let l = Layout::contiguous((1, 1, 2, 3));
    /// assert_eq!(x.adaptive_avg_pool2d(&l, [1, 2])?.to_vec::<f32>()?, [3.0, 4.0]);
    /// assert_eq!(x.adaptive_max_pool2d(&l, [1, 2])?.to_vec::<f32>()?, [5.0, 6.0]);
    /// assert_eq!(x.adaptive_argmax_pool2d(&l, [1, 2])?.to_vec::<u32>()?, [4, 5]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// The [common errors](Self#common-errors); `InvalidArgument` if a dimension to share is empty.
    fn adaptive_avg_pool2d(&self, layout: &Layout, size: [usize; 2]) -> Result<Self> {
        Self::apply(&Op::AdaptiveAvgPool(AdaptivePool::new(size)), &[(self, layout)])
    }

    /// Averages `size` windows that share the last three dimensions between them; see
    /// [`AdaptivePool`]. Dtypes and class are those of
    /// [`adaptive_avg_pool2d`](Self::adaptive_avg_pool2d).
    ///
    /// # Errors
    /// As [`adaptive_avg_pool2d`](Self::adaptive_avg_pool2d).
    fn adaptive_avg_pool3d(&self, layout: &Layout, size: [usize; 3]) -> Result<Self> {
        Self::apply(&Op::AdaptiveAvgPool(AdaptivePool::new(size)), &[(self, layout)])
    }

    /// Returns the maxima of `size` windows that share the last dimension between them; see
    /// [`AdaptivePool`]. Dtypes and class are those of
    /// [`adaptive_max_pool2d`](Self::adaptive_max_pool2d).
    ///
    /// # Errors
    /// As [`adaptive_avg_pool2d`](Self::adaptive_avg_pool2d).
    fn adaptive_max_pool1d(&self, layout: &Layout, size: [usize; 1]) -> Result<Self> {
        Self::apply(&Op::AdaptiveMaxPool(AdaptivePool::new(size)), &[(self, layout)])
    }

    /// Returns the maxima of `size` windows that share the last two dimensions between them; see
    /// [`AdaptivePool`]. Dtypes: all. [Class](crate::Class): exact.
    ///
    /// # Errors
    /// As [`adaptive_avg_pool2d`](Self::adaptive_avg_pool2d).
    fn adaptive_max_pool2d(&self, layout: &Layout, size: [usize; 2]) -> Result<Self> {
        Self::apply(&Op::AdaptiveMaxPool(AdaptivePool::new(size)), &[(self, layout)])
    }

    /// Returns the maxima of `size` windows that share the last three dimensions between them; see
    /// [`AdaptivePool`]. Dtypes and class are those of
    /// [`adaptive_max_pool2d`](Self::adaptive_max_pool2d).
    ///
    /// # Errors
    /// As [`adaptive_avg_pool2d`](Self::adaptive_avg_pool2d).
    fn adaptive_max_pool3d(&self, layout: &Layout, size: [usize; 3]) -> Result<Self> {
        Self::apply(&Op::AdaptiveMaxPool(AdaptivePool::new(size)), &[(self, layout)])
    }

    /// Returns the u32 positions of the maxima of
    /// [`adaptive_max_pool1d`](Self::adaptive_max_pool1d) along the last dimension. Dtypes and
    /// class are those of [`adaptive_argmax_pool2d`](Self::adaptive_argmax_pool2d).
    ///
    /// # Errors
    /// As [`adaptive_avg_pool2d`](Self::adaptive_avg_pool2d).
    fn adaptive_argmax_pool1d(&self, layout: &Layout, size: [usize; 1]) -> Result<Self> {
        Self::apply(&Op::AdaptiveArgMaxPool(AdaptivePool::new(size)), &[(self, layout)])
    }

    /// Returns the u32 positions of the maxima of
    /// [`adaptive_max_pool2d`](Self::adaptive_max_pool2d) in their planes, in row-major order, by
    /// the rule of [`argmax_pool2d`](Self::argmax_pool2d). Dtypes: all. [Class](crate::Class):
    /// exact.
    ///
    /// # Errors
    /// As [`adaptive_avg_pool2d`](Self::adaptive_avg_pool2d).
    fn adaptive_argmax_pool2d(&self, layout: &Layout, size: [usize; 2]) -> Result<Self> {
        Self::apply(&Op::AdaptiveArgMaxPool(AdaptivePool::new(size)), &[(self, layout)])
    }

    /// Returns the u32 positions of the maxima of
    /// [`adaptive_max_pool3d`](Self::adaptive_max_pool3d) in their volumes. Dtypes and class are
    /// those of [`adaptive_argmax_pool2d`](Self::adaptive_argmax_pool2d).
    ///
    /// # Errors
    /// As [`adaptive_avg_pool2d`](Self::adaptive_avg_pool2d).
    fn adaptive_argmax_pool3d(&self, layout: &Layout, size: [usize; 3]) -> Result<Self> {
        Self::apply(&Op::AdaptiveArgMaxPool(AdaptivePool::new(size)), &[(self, layout)])
    }

    /// Adds the elements of windows over one dimension. Dtypes and class are those of
    /// [`col2im2d`](Self::col2im2d).
    ///
    /// # Errors
    /// As [`col2im2d`](Self::col2im2d).
    fn col2im1d(&self, layout: &Layout, op: Pool1d, size: [usize; 1]) -> Result<Self> {
        Self::apply(&Op::Col2im(op.backward(size)), &[(self, layout)])
    }

    /// Adds the elements of windows to their places in images of this size: `[n, c kh kw, windows]`
    /// to `[n, c, h, w]`; see [`Op::Col2im`]. The stride is the window's size unless it is set.
    /// Dtypes: floats. [Class](crate::Class): defined.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout, Pool2d};
    /// let columns = CpuDevice.storage_from_slice(&[1.0f32, 2.0, 10.0, 20.0])?;
    /// // Two windows of one row and two columns.
    /// let op = Pool2d::new([1, 2]).with_stride([1, 1]);
    /// let y = columns.col2im2d(&Layout::contiguous((1, 2, 2)), op, [1, 3])?;
    /// assert_eq!(y.to_vec::<f32>()?, [1.0, 12.0, 20.0]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// The [common errors](Self#common-errors); `ShapeMismatch` if there are other rows or columns
    /// than windows of that image have; `InvalidArgument` if none fits it.
    fn col2im2d(&self, layout: &Layout, op: Pool2d, size: [usize; 2]) -> Result<Self> {
        Self::apply(&Op::Col2im(op.backward(size)), &[(self, layout)])
    }

    /// Adds the elements of windows over three dimensions. Dtypes and class are those of
    /// [`col2im2d`](Self::col2im2d).
    ///
    /// # Errors
    /// As [`col2im2d`](Self::col2im2d).
    fn col2im3d(&self, layout: &Layout, op: Pool3d, size: [usize; 3]) -> Result<Self> {
        Self::apply(&Op::Col2im(op.backward(size)), &[(self, layout)])
    }

    /// Returns the gradient of the input of [`avg_pool1d`](Self::avg_pool1d). Dtypes and class are
    /// those of [`avg_pool2d_backward`](Self::avg_pool2d_backward).
    ///
    /// # Errors
    /// As [`avg_pool2d_backward`](Self::avg_pool2d_backward).
    fn avg_pool1d_backward(&self, layout: &Layout, op: Pool1d, size: [usize; 1]) -> Result<Self> {
        Self::apply(&Op::AvgPoolBackward(op.backward(size)), &[(self, layout)])
    }

    /// Returns the gradient of the input of [`avg_pool2d`](Self::avg_pool2d), whose last two
    /// dimensions have these sizes; the storage is that of the result. Dtypes: floats.
    /// [Class](crate::Class): defined.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout, Pool2d};
    /// let gradient = CpuDevice.storage_from_slice(&[4.0f32, 8.0])?;
    /// let (l, op) = (Layout::contiguous((1, 1, 1, 2)), Pool2d::new([2, 2]).with_stride([2, 1]));
    /// let y = gradient.avg_pool2d_backward(&l, op, [2, 3])?;
    /// assert_eq!(y.to_vec::<f32>()?, [1.0, 3.0, 2.0, 1.0, 3.0, 2.0]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`avg_pool2d`](Self::avg_pool2d) of that input; `ShapeMismatch` if its result has another
    /// shape.
    fn avg_pool2d_backward(&self, layout: &Layout, op: Pool2d, size: [usize; 2]) -> Result<Self> {
        Self::apply(&Op::AvgPoolBackward(op.backward(size)), &[(self, layout)])
    }

    /// Returns the gradient of the input of [`avg_pool3d`](Self::avg_pool3d). Dtypes and class are
    /// those of [`avg_pool2d_backward`](Self::avg_pool2d_backward).
    ///
    /// # Errors
    /// As [`avg_pool2d_backward`](Self::avg_pool2d_backward).
    fn avg_pool3d_backward(&self, layout: &Layout, op: Pool3d, size: [usize; 3]) -> Result<Self> {
        Self::apply(&Op::AvgPoolBackward(op.backward(size)), &[(self, layout)])
    }

    /// Returns the gradient of the input of [`max_pool1d`](Self::max_pool1d). Dtypes and class are
    /// those of [`max_pool2d_backward`](Self::max_pool2d_backward).
    ///
    /// # Errors
    /// As [`max_pool2d_backward`](Self::max_pool2d_backward).
    fn max_pool1d_backward(
        &self,
        layout: &Layout,
        positions: &Self,
        positions_layout: &Layout,
        op: Pool1d,
        size: [usize; 1],
    ) -> Result<Self> {
        Self::apply(&Op::MaxPoolBackward(op.backward(size)), &[(self, layout), (positions, positions_layout)])
    }

    /// Returns the gradient of the input of [`max_pool2d`](Self::max_pool2d), whose last two
    /// dimensions have these sizes; the storage is that of the result, and `positions` are those of
    /// [`argmax_pool2d`](Self::argmax_pool2d), as u32 or i64. Dtypes: floats.
    /// [Class](crate::Class): defined.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout, Pool2d};
    /// let x = CpuDevice.storage_from_slice(&[1.0f32, 5.0, 2.0])?;
    /// let (from, to) = (Layout::contiguous((1, 1, 1, 3)), Layout::contiguous((1, 1, 1, 2)));
    /// let op = Pool2d::new([1, 2]).with_stride([1, 1]);
    /// let positions = x.argmax_pool2d(&from, op)?;
    /// let gradient = CpuDevice.storage_from_slice(&[3.0f32, 4.0])?;
    /// let y = gradient.max_pool2d_backward(&to, &positions, &to, op, [1, 3])?;
    /// assert_eq!(y.to_vec::<f32>()?, [0.0, 7.0, 0.0]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`argmax_pool2d`](Self::argmax_pool2d) of that input; `ShapeMismatch` if its result has
    /// another shape.
    fn max_pool2d_backward(
        &self,
        layout: &Layout,
        positions: &Self,
        positions_layout: &Layout,
        op: Pool2d,
        size: [usize; 2],
    ) -> Result<Self> {
        Self::apply(&Op::MaxPoolBackward(op.backward(size)), &[(self, layout), (positions, positions_layout)])
    }

    /// Returns the gradient of the input of [`max_pool3d`](Self::max_pool3d). Dtypes and class are
    /// those of [`max_pool2d_backward`](Self::max_pool2d_backward).
    ///
    /// # Errors
    /// As [`max_pool2d_backward`](Self::max_pool2d_backward).
    fn max_pool3d_backward(
        &self,
        layout: &Layout,
        positions: &Self,
        positions_layout: &Layout,
        op: Pool3d,
        size: [usize; 3],
    ) -> Result<Self> {
        Self::apply(&Op::MaxPoolBackward(op.backward(size)), &[(self, layout), (positions, positions_layout)])
    }

    /// Returns the gradient of the input of [`adaptive_avg_pool1d`](Self::adaptive_avg_pool1d),
    /// whose dimensions after the first two have these sizes. Dtypes and class are those of
    /// [`avg_pool2d_backward`](Self::avg_pool2d_backward).
    ///
    /// # Errors
    /// As [`adaptive_avg_pool2d`](Self::adaptive_avg_pool2d) of that input.
    fn adaptive_avg_pool1d_backward(&self, layout: &Layout, size: [usize; 1]) -> Result<Self> {
        Self::apply(&Op::AdaptiveAvgPoolBackward(AdaptivePool::new(size)), &[(self, layout)])
    }

    /// Returns the gradient of the input of [`adaptive_avg_pool2d`](Self::adaptive_avg_pool2d),
    /// whose dimensions after the first two have these sizes. Dtypes and class are those of
    /// [`avg_pool2d_backward`](Self::avg_pool2d_backward).
    ///
    /// # Errors
    /// As [`adaptive_avg_pool2d`](Self::adaptive_avg_pool2d) of that input.
    fn adaptive_avg_pool2d_backward(&self, layout: &Layout, size: [usize; 2]) -> Result<Self> {
        Self::apply(&Op::AdaptiveAvgPoolBackward(AdaptivePool::new(size)), &[(self, layout)])
    }

    /// Returns the gradient of the input of [`adaptive_avg_pool3d`](Self::adaptive_avg_pool3d),
    /// whose dimensions after the first two have these sizes. Dtypes and class are those of
    /// [`avg_pool2d_backward`](Self::avg_pool2d_backward).
    ///
    /// # Errors
    /// As [`adaptive_avg_pool2d`](Self::adaptive_avg_pool2d) of that input.
    fn adaptive_avg_pool3d_backward(&self, layout: &Layout, size: [usize; 3]) -> Result<Self> {
        Self::apply(&Op::AdaptiveAvgPoolBackward(AdaptivePool::new(size)), &[(self, layout)])
    }

    /// Returns the gradient of the input of [`adaptive_max_pool1d`](Self::adaptive_max_pool1d),
    /// from the positions of [`adaptive_argmax_pool1d`](Self::adaptive_argmax_pool1d). Dtypes and
    /// class are those of [`max_pool2d_backward`](Self::max_pool2d_backward).
    ///
    /// # Errors
    /// As [`adaptive_avg_pool2d`](Self::adaptive_avg_pool2d) of that input; `ShapeMismatch` if the
    /// positions have another shape than the gradient.
    fn adaptive_max_pool1d_backward(
        &self,
        layout: &Layout,
        positions: &Self,
        positions_layout: &Layout,
        size: [usize; 1],
    ) -> Result<Self> {
        let op = Op::AdaptiveMaxPoolBackward(AdaptivePool::new(size));
        Self::apply(&op, &[(self, layout), (positions, positions_layout)])
    }

    /// Returns the gradient of the input of [`adaptive_max_pool2d`](Self::adaptive_max_pool2d),
    /// from the positions of [`adaptive_argmax_pool2d`](Self::adaptive_argmax_pool2d). Dtypes and
    /// class are those of [`max_pool2d_backward`](Self::max_pool2d_backward).
    ///
    /// # Errors
    /// As [`adaptive_avg_pool2d`](Self::adaptive_avg_pool2d) of that input; `ShapeMismatch` if the
    /// positions have another shape than the gradient.
    fn adaptive_max_pool2d_backward(
        &self,
        layout: &Layout,
        positions: &Self,
        positions_layout: &Layout,
        size: [usize; 2],
    ) -> Result<Self> {
        let op = Op::AdaptiveMaxPoolBackward(AdaptivePool::new(size));
        Self::apply(&op, &[(self, layout), (positions, positions_layout)])
    }

    /// Returns the gradient of the input of [`adaptive_max_pool3d`](Self::adaptive_max_pool3d),
    /// from the positions of [`adaptive_argmax_pool3d`](Self::adaptive_argmax_pool3d). Dtypes and
    /// class are those of [`max_pool2d_backward`](Self::max_pool2d_backward).
    ///
    /// # Errors
    /// As [`adaptive_avg_pool2d`](Self::adaptive_avg_pool2d) of that input; `ShapeMismatch` if the
    /// positions have another shape than the gradient.
    fn adaptive_max_pool3d_backward(
        &self,
        layout: &Layout,
        positions: &Self,
        positions_layout: &Layout,
        size: [usize; 3],
    ) -> Result<Self> {
        let op = Op::AdaptiveMaxPoolBackward(AdaptivePool::new(size));
        Self::apply(&op, &[(self, layout), (positions, positions_layout)])
    }

    /// Upsamples to the nearest neighbour along the last dimension; see [`UpsampleNearest1d`].
    /// Dtypes: all. [Class](crate::Class): moved.
    ///
    /// # Errors
    /// The [common errors](Self#common-errors).
    fn upsample_nearest1d(&self, layout: &Layout, op: UpsampleNearest1d) -> Result<Self> {
        Self::apply(&Op::UpsampleNearest1d(op), &[(self, layout)])
    }

    /// Upsamples to the nearest neighbour over the last two dimensions; see [`UpsampleNearest2d`].
    /// Dtypes: all. [Class](crate::Class): moved.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout, UpsampleNearest2d};
    /// let x = CpuDevice.storage_from_slice(&[1u8, 2])?;
    /// let layout = Layout::contiguous((1, 1, 1, 2));
    /// let y = x.upsample_nearest2d(&layout, UpsampleNearest2d::new([2, 4]))?;
    /// assert_eq!(y.to_vec::<u8>()?, [1, 1, 2, 2, 1, 1, 2, 2]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// The [common errors](Self#common-errors).
    fn upsample_nearest2d(&self, layout: &Layout, op: UpsampleNearest2d) -> Result<Self> {
        Self::apply(&Op::UpsampleNearest2d(op), &[(self, layout)])
    }

    /// Upsamples by bilinear interpolation over the last two dimensions; see
    /// [`UpsampleBilinear2d`]. Dtypes: floats. [Class](crate::Class): defined.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout, UpsampleBilinear2d};
    /// let x = CpuDevice.storage_from_slice(&[0.0f32, 4.0])?;
    /// let op = UpsampleBilinear2d::new([1, 5]).with_align_corners(true);
    /// let y = x.upsample_bilinear2d(&Layout::contiguous((1, 1, 1, 2)), op)?;
    /// assert_eq!(y.to_vec::<f32>()?, [0.0, 1.0, 2.0, 3.0, 4.0]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// The [common errors](Self#common-errors).
    fn upsample_bilinear2d(&self, layout: &Layout, op: UpsampleBilinear2d) -> Result<Self> {
        Self::apply(&Op::UpsampleBilinear2d(op), &[(self, layout)])
    }

    /// Resizes images by any rule; see [`Resize`]. Dtypes: nearest neighbours all, linear and cubic
    /// interpolation f8e4m3, f16, bf16, f32 and f64. [Class](crate::Class): moved; defined.
    ///
    /// # Errors
    /// The [common errors](Self#common-errors); `InvalidArgument` for an image without elements,
    /// and for scales, a region or a coefficient that are not as [`Resize`] has them.
    fn resize(&self, layout: &Layout, op: Resize) -> Result<Self> {
        Self::apply(&Op::Resize(op), &[(self, layout)])
    }

    /// Samples an image at the positions of a grid; see [`GridSample`]. Dtypes: f8e4m3, f16, bf16,
    /// f32 and f64, with a grid of f32, or of the same dtype if that is f16, bf16 or f64.
    /// [Class](crate::Class): defined.
    ///
    /// # Errors
    /// The [common errors](Self#common-errors); `InvalidArgument` for cubic interpolation in three
    /// dimensions, and for an image without elements.
    fn grid_sample(&self, layout: &Layout, grid: &Self, grid_layout: &Layout, op: GridSample) -> Result<Self> {
        Self::apply(&Op::GridSample(op), &[(self, layout), (grid, grid_layout)])
    }

    /// Reverses the order of the elements along dimensions; see [`Flip`]. Dtypes: all.
    /// [Class](crate::Class): moved.
    ///
    /// # Errors
    /// The [common errors](Self#common-errors); `InvalidArgument` if a dimension does not exist or
    /// is named twice.
    fn flip_into(op: &Flip, src: &Self, src_layout: &Layout, dst: &mut Self, dst_layout: &Layout) -> Result<()> {
        Self::apply_into(&Op::Flip(op.clone()), &[Src::Storage(src, src_layout)], dst, dst_layout)
    }

    /// Allocating form of [`flip_into`](Self::flip_into).
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout};
    /// let x = CpuDevice.storage_from_slice(&[1u8, 2, 3, 4, 5, 6])?;
    /// let y = x.flip(&Layout::contiguous((2, 3)), &[0, 1])?;
    /// assert_eq!(y.to_vec::<u8>()?, [6, 5, 4, 3, 2, 1]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`flip_into`](Self::flip_into).
    fn flip(&self, layout: &Layout, dims: &[usize]) -> Result<Self> {
        Self::apply(&Op::Flip(Flip::new(dims)), &[(self, layout)])
    }

    /// Moves the elements along dimensions, around the ends; see [`Roll`]. Dtypes: all.
    /// [Class](crate::Class): moved.
    ///
    /// # Errors
    /// The [common errors](Self#common-errors); `InvalidArgument` if a dimension does not exist, or
    /// if there is not one shift for each.
    fn roll_into(op: &Roll, src: &Self, src_layout: &Layout, dst: &mut Self, dst_layout: &Layout) -> Result<()> {
        Self::apply_into(&Op::Roll(op.clone()), &[Src::Storage(src, src_layout)], dst, dst_layout)
    }

    /// Allocating form of [`roll_into`](Self::roll_into).
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout};
    /// let x = CpuDevice.storage_from_slice(&[1u8, 2, 3, 4, 5, 6])?;
    /// let y = x.roll(&Layout::contiguous((2, 3)), &[-1, 1], &[1, 0])?;
    /// assert_eq!(y.to_vec::<u8>()?, [5, 6, 4, 2, 3, 1]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`roll_into`](Self::roll_into).
    fn roll(&self, layout: &Layout, shifts: &[isize], dims: &[usize]) -> Result<Self> {
        Self::apply(&Op::Roll(Roll::new(shifts, dims)), &[(self, layout)])
    }

    /// Adds elements at both ends of dimensions, or crops them; see [`Pad`]. Dtypes: all.
    /// [Class](crate::Class): moved.
    ///
    /// # Errors
    /// The [common errors](Self#common-errors); `InvalidArgument` if there is not one amount before
    /// and one after each dimension, if a dimension is cropped by more than its size, or if it has
    /// too few elements for the [`PadMode`]; `UnsupportedDtype` if a constant has another dtype
    /// than the elements.
    fn pad_into(op: &Pad, src: &Self, src_layout: &Layout, dst: &mut Self, dst_layout: &Layout) -> Result<()> {
        Self::apply_into(&Op::Pad(op.clone()), &[Src::Storage(src, src_layout)], dst, dst_layout)
    }

    /// Allocating form of [`pad_into`](Self::pad_into).
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout, PadMode};
    /// let x = CpuDevice.storage_from_slice(&[1u8, 2, 3, 4])?;
    /// let y = x.pad(&Layout::contiguous((2, 2)), &[0, 1], &[1, 0], PadMode::Replicate)?;
    /// assert_eq!(y.to_vec::<u8>()?, [1, 1, 2, 3, 3, 4, 3, 3, 4]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`pad_into`](Self::pad_into).
    fn pad(&self, layout: &Layout, before: &[isize], after: &[isize], mode: PadMode) -> Result<Self> {
        Self::apply(&Op::Pad(Pad::new(before, after, mode)), &[(self, layout)])
    }

    /// Repeats the whole tensor along dimensions; see [`Repeat`]. Dtypes: all.
    /// [Class](crate::Class): moved.
    ///
    /// # Errors
    /// The [common errors](Self#common-errors); `InvalidArgument` if there are fewer numbers than
    /// dimensions.
    fn repeat_into(op: &Repeat, src: &Self, src_layout: &Layout, dst: &mut Self, dst_layout: &Layout) -> Result<()> {
        Self::apply_into(&Op::Repeat(op.clone()), &[Src::Storage(src, src_layout)], dst, dst_layout)
    }

    /// Allocating form of [`repeat_into`](Self::repeat_into).
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout};
    /// let x = CpuDevice.storage_from_slice(&[1u8, 2, 3, 4])?;
    /// let y = x.repeat(&Layout::contiguous((2, 2)), &[1, 2])?;
    /// assert_eq!(y.to_vec::<u8>()?, [1, 2, 1, 2, 3, 4, 3, 4]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`repeat_into`](Self::repeat_into).
    fn repeat(&self, layout: &Layout, repeats: &[usize]) -> Result<Self> {
        Self::apply(&Op::Repeat(Repeat::new(repeats)), &[(self, layout)])
    }

    /// Joins tensors along a dimension, one after the other; see [`Concat`]. Dtypes: all.
    /// [Class](crate::Class): moved.
    ///
    /// # Errors
    /// The [common errors](Self#common-errors); `InvalidArgument` if there are no inputs or the
    /// dimension does not exist.
    fn concat_into(inputs: &[(&Self, &Layout)], dim: usize, dst: &mut Self, dst_layout: &Layout) -> Result<()> {
        let srcs: SmallVec<[Src<'_, Self>; 4]> = inputs.iter().map(|&input| input.into()).collect();
        Self::apply_into(&Op::Concat(Concat::new(dim, inputs.len())), &srcs, dst, dst_layout)
    }

    /// Allocating form of [`concat_into`](Self::concat_into). The result is on the device of the
    /// first input.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, CpuStorage, Layout};
    /// let x = CpuDevice.storage_from_slice(&[1u8, 2, 3, 4])?;
    /// let y = CpuDevice.storage_from_slice(&[5u8, 6])?;
    /// let (matrix, row) = (Layout::contiguous((2, 2)), Layout::contiguous((1, 2)));
    /// let joined = CpuStorage::concat(&[(&x, &matrix), (&y, &row)], 0)?;
    /// assert_eq!(joined.to_vec::<u8>()?, [1, 2, 3, 4, 5, 6]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`concat_into`](Self::concat_into).
    fn concat(inputs: &[(&Self, &Layout)], dim: usize) -> Result<Self> {
        Self::apply(&Op::Concat(Concat::new(dim, inputs.len())), inputs)
    }

    /// Joins tensors of one shape along a new dimension, as `torch.stack`: a
    /// [`concat`](Self::concat) of their layouts with a [dimension of size 1](Layout::unsqueeze)
    /// before dimension `dim`.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, CpuStorage, Layout};
    /// let l = Layout::contiguous(3);
    /// let x = CpuDevice.storage_from_slice(&[1u8, 2, 3])?;
    /// let y = CpuDevice.storage_from_slice(&[4u8, 5, 6])?;
    /// let pairs = CpuStorage::stack(&[(&x, &l), (&y, &l)], 1)?; // of shape [3, 2]
    /// assert_eq!(pairs.to_vec::<u8>()?, [1, 4, 2, 5, 3, 6]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`concat_into`](Self::concat_into); `ShapeMismatch` if the shapes differ.
    fn stack(inputs: &[(&Self, &Layout)], dim: usize) -> Result<Self> {
        let shapes = inputs.iter().map(|(_, l)| l.shape());
        if let Some((first, other)) = shapes.clone().zip(shapes.skip(1)).find(|(a, b)| a != b) {
            let message = format!("stack: the shapes {first} and {other} differ; tensors of one shape can be stacked");
            return Err(Error::new(ErrorKind::ShapeMismatch, message));
        }
        let layouts = inputs.iter().map(|(_, l)| l.unsqueeze(dim)).collect::<Result<Vec<_>>>()?;
        let inputs: Vec<_> = inputs.iter().zip(&layouts).map(|(&(storage, _), layout)| (storage, layout)).collect();
        Self::concat(&inputs, dim)
    }

    /// Packs each row of elements, and returns the bytes as u8; see [`PackedDType`]. Dtypes: f32,
    /// f16, bf16, f64, u8, i8, i32. [Class](crate::Class): exact.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, Layout, PackedDType};
    /// let x = CpuDevice.storage_from_slice(&[0.5f32, -6.0, 100.0])?;
    /// let packed = x.pack(&Layout::contiguous((1, 3)), PackedDType::F4E2M1)?;
    /// assert_eq!(packed.to_vec::<u8>()?, [0xf1, 0x07]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// The [common errors](Self#common-errors).
    fn pack(&self, layout: &Layout, dtype: PackedDType) -> Result<Self> {
        self.pack_with(layout, Pack::new(dtype))
    }

    /// Like [`pack`](Self::pack), with a rule for what exceeds the type.
    ///
    /// # Errors
    /// Like [`pack`](Self::pack).
    fn pack_with(&self, layout: &Layout, op: Pack) -> Result<Self> {
        Self::apply(&Op::Pack(op), &[(self, layout)])
    }

    /// Converts rows of packed elements (u8), of `elements` each, to a dtype; see
    /// [`pack`](Self::pack). Dtypes: f32, f16, bf16, f64, u8, i8, i32. [Class](crate::Class):
    /// exact.
    ///
    /// # Errors
    /// The [common errors](Self#common-errors); `ShapeMismatch` if the rows have another size than
    /// so many elements need.
    fn unpack(&self, layout: &Layout, packed: PackedDType, elements: usize, dtype: DType) -> Result<Self> {
        allocate_as(&Op::Unpack(Unpack::new(packed, elements)), &[(self, layout)], dtype)
    }

    /// Quantizes each row to blocks of a GGML format and returns the blocks as u8. Dtypes: f32,
    /// f16, bf16. [Class](crate::Class): defined.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, DType, GgmlDType, Layout};
    /// let x = CpuDevice.storage_from_slice(&[127.0f32; 32])?;
    /// let blocks = x.quantize(&Layout::contiguous((1, 32)), GgmlDType::Q8_0)?;
    /// // A block of q8_0 is an f16 scale and 32 signed bytes.
    /// assert_eq!(blocks.len(), 34);
    /// let back = blocks.dequantize(&Layout::contiguous((1, 34)), GgmlDType::Q8_0, DType::F32)?;
    /// assert_eq!(back.to_vec::<f32>()?, [127.0; 32]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// The [common errors](Self#common-errors); `InvalidArgument` if the row length is not a
    /// multiple of the block size.
    fn quantize(&self, layout: &Layout, format: GgmlDType) -> Result<Self> {
        Self::apply(&Op::Quantize(format), &[(self, layout)])
    }

    /// Converts rows of blocks (u8) to f32, f16 or bf16; see [`quantize`](Self::quantize).
    /// [Class](crate::Class): defined.
    ///
    /// # Errors
    /// The [common errors](Self#common-errors); `InvalidArgument` if the row length is not a
    /// multiple of the block size.
    fn dequantize(&self, layout: &Layout, format: GgmlDType, dtype: DType) -> Result<Self> {
        allocate_as(&Op::Dequantize(format), &[(self, layout)], dtype)
    }

    /// Multiplies activations, which are `self`, by the transpose of a quantized matrix; see
    /// [`QMatmul`]. Dtypes: f32, f16, bf16 for the activations and the result.
    /// [Class](crate::Class): defined.
    ///
    /// ```rust
    /// # use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, GgmlDType, Layout, QMatmul};
    /// let x = CpuDevice.storage_from_slice(&[0.5f32; 32])?;
    /// let weight = CpuDevice.storage_from_slice(&[127.0f32; 64])?;
    /// let blocks = weight.quantize(&Layout::contiguous((2, 32)), GgmlDType::Q8_0)?;
    /// let (row, matrix) = (Layout::contiguous((1, 32)), Layout::contiguous((2, 34)));
    /// let y = x.qmatmul(&row, &blocks, &matrix, QMatmul::new(GgmlDType::Q8_0))?;
    /// assert_eq!(y.to_vec::<f32>()?, [2032.0, 2032.0]);
    /// # Ok::<(), isobit_hal::Error>(())
    /// ```
    ///
    /// # Errors
    /// The [common errors](Self#common-errors); `InvalidArgument` if the row length is not a
    /// multiple of the block size.
    fn qmatmul(&self, layout: &Layout, weight: &Self, weight_layout: &Layout, op: QMatmul) -> Result<Self> {
        Self::apply(&Op::QMatmul(op), &[(weight, weight_layout), (self, layout)])
    }

    /// Multiplies each row of activations by one of several quantized matrices, which `ids`
    /// selects, as a mixture of experts does; see [`Op::QMatmulId`]. Dtypes and class are those of
    /// [`qmatmul`](Self::qmatmul); ids are u32.
    ///
    /// # Errors
    /// As [`qmatmul`](Self::qmatmul); `IndexOutOfRange`.
    fn qmatmul_id(
        &self,
        layout: &Layout,
        weight: &Self,
        weight_layout: &Layout,
        ids: &Self,
        ids_layout: &Layout,
        op: QMatmul,
    ) -> Result<Self> {
        Self::apply(&Op::QMatmulId(op), &[(weight, weight_layout), (self, layout), (ids, ids_layout)])
    }
}

/// Returns the call that allocates the result of an operation whose inputs do not determine it.
fn allocating_form(op: &Op) -> &'static str {
    match op {
        Op::Cast(_) => "to_dtype or to_dtype_with, which names the dtype, or apply_into",
        Op::Unpack(_) => "unpack, which names the dtype, or apply_into",
        Op::Dequantize(_) => "dequantize, which names the dtype, or apply_into",
        Op::ScaledMatmul(_) => "scaled_matmul, which names the dtype, or apply_into",
        _ => "apply_into",
    }
}

/// Allocates a contiguous storage of a layout's shape on the device of `like`, and lets `fill`
/// write it.
fn allocate<S: BackendStorage>(
    like: &S,
    layout: &Layout,
    dtype: DType,
    fill: impl FnOnce(&mut S, &Layout) -> Result<()>,
) -> Result<S> {
    let dst_layout = Layout::contiguous(layout.shape());
    // SAFETY: `fill` writes every element of the contiguous layout, which is the whole buffer, or
    // it fails and the storage is dropped without being read.
    let mut dst = unsafe { like.device().alloc_uninit(layout.shape(), dtype)? };
    fill(&mut dst, &dst_layout)?;
    Ok(dst)
}

/// Runs an operation whose dtype the inputs do not determine.
fn allocate_as<S: BackendStorage>(op: &Op, inputs: &[(&S, &Layout)], dtype: DType) -> Result<S> {
    let shapes: SmallVec<[&Shape; 4]> = inputs.iter().map(|(_, l)| l.shape()).collect();
    let shape = op.result_shape(&shapes).map_err(|e| e.with_op(op))?.unwrap_or_default();
    let srcs: SmallVec<[Src<'_, S>; 4]> = inputs.iter().map(|&input| input.into()).collect();
    allocate(inputs[0].0, &Layout::contiguous(shape), dtype, |dst, dl| S::apply_into(op, &srcs, dst, dl))
}

/// Returns the values and the positions of one sort. An operation has one destination, so this
/// sorts the positions and then gathers the values by them.
fn sorted<S: BackendStorage>(src: &S, layout: &Layout, values: &Op, positions: &Op) -> Result<(S, S)> {
    let shape = values.result_shape(&[layout.shape()]).map_err(|e| e.with_op(values).with_layouts(&[layout]))?;
    let shape = shape.expect("a sort's shape is that of its input");
    let order = S::apply(positions, &[(src, layout)])?;
    let last = shape.rank() - 1;
    let sorted = src.gather(layout, &order, &Layout::contiguous(shape), last)?;
    Ok((sorted, order))
}
