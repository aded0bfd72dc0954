//! The storage half of the HAL: every operation on data.

use crate::cpu_storage::through_host;
use crate::{
    Activation, Affine, BackendDevice, BinaryOp, Clamp, CmpOp, Conv1d, Conv2d, ConvTranspose1d, ConvTranspose2d,
    Copy2d, CpuStorage, CumSum, DType, Elu, Error, ErrorKind, Func, GgmlDType, KernelArg, LaunchConfig, Layout, Matmul,
    Op, PinnedBuffer, Pool2d, Powf, QMatmul, Reduce, Result, RopeForm, Scalar, Shape, Sort, TopK, Triangle, UnaryOp,
    UpsampleBilinear2d, UpsampleNearest1d, UpsampleNearest2d, WithDType, validate,
};
use smallvec::SmallVec;
use std::fmt;
use std::ops::Range;

/// An input of an operation.
#[derive(Debug)]
pub enum Src<'a, S> {
    /// A storage, seen through a layout.
    Storage(&'a S, &'a Layout),
    /// The destination itself, through its own layout: the operation works in place.
    InPlace,
}

impl<S> Clone for Src<'_, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for Src<'_, S> {}

impl<'a, S> Src<'a, S> {
    /// The storage and its layout; `None` for the destination.
    pub fn storage(self) -> Option<(&'a S, &'a Layout)> {
        match self {
            Src::Storage(storage, layout) => Some((storage, layout)),
            Src::InPlace => None,
        }
    }

    /// The input for a driver whose storages lie inside these.
    ///
    /// # Errors
    /// Those of the function.
    pub fn try_map<T>(self, f: impl FnOnce(&'a S) -> Result<&'a T>) -> Result<Src<'a, T>> {
        Ok(match self {
            Src::Storage(storage, layout) => Src::Storage(f(storage)?, layout),
            Src::InPlace => Src::InPlace,
        })
    }
}

impl<'a, S> From<(&'a S, &'a Layout)> for Src<'a, S> {
    fn from((storage, layout): (&'a S, &'a Layout)) -> Self {
        Src::Storage(storage, layout)
    }
}

/// Data on a device: a buffer of elements of one dtype. Where the elements of a tensor lie in it, a
/// [`Layout`] says.
///
/// # Forms
/// A driver carries out operations in [`apply_into`](Self::apply_into), which writes the elements
/// of `dst` that `dst_layout` names and no others; [`Op`] says what each operation means, and which
/// of its inputs may be the destination itself. Everything else is provided on top of it: the
/// `*_into` forms of elementwise operations, reductions and products, and the allocating forms,
/// methods of the (first) input that return a storage of exactly as many elements as the result
/// has, contiguous.
///
/// # Errors common to all
/// `DeviceMismatch` where operands live on different devices; `ShapeMismatch` where shapes do not
/// agree; `InvalidArgument` where a layout leaves its buffer or a destination overlaps itself;
/// `UnsupportedDtype` where the operation is not defined for the dtypes; `OutOfMemory` where an
/// allocation fails. All are found before anything runs, and nothing is written then. An index out
/// of range is found while the operation runs: its element is left out, and `IndexOutOfRange` is
/// returned at the next synchronising call at the latest.
pub trait BackendStorage: Sized + Send + Sync + fmt::Debug + 'static {
    /// The device of this storage.
    type Device: BackendDevice<Storage = Self>;

    /// The dtype of the elements.
    fn dtype(&self) -> DType;

    /// How many elements the buffer holds.
    fn len(&self) -> usize;

    /// True where the buffer holds nothing.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The device it lives on.
    fn device(&self) -> &Self::Device;

    /// The whole buffer, copied to the host. Synchronises.
    ///
    /// # Errors
    /// Those of the driver, those of earlier work included.
    fn to_cpu_storage(&self) -> Result<CpuStorage>;

    /// The whole buffer as a vector. Synchronises.
    ///
    /// # Errors
    /// `UnsupportedDtype` where `T` is not the dtype; else as
    /// [`to_cpu_storage`](Self::to_cpu_storage).
    fn to_vec<T: WithDType>(&self) -> Result<Vec<T>> {
        validate::is_of::<T>(self, "to_vec")?;
        Ok(bytemuck::cast_slice(self.to_cpu_storage()?.as_bytes()).to_vec())
    }

    /// Copies bytes of the buffer to the host, from a byte on. Synchronises.
    ///
    /// # Errors
    /// `InvalidArgument` where the range leaves the buffer or is no whole elements; else as
    /// [`to_cpu_storage`](Self::to_cpu_storage).
    fn read_bytes(&self, offset: usize, bytes: &mut [u8]) -> Result<()> {
        validate::byte_range(self, offset, bytes.len())?;
        bytes.copy_from_slice(&self.to_cpu_storage()?.as_bytes()[offset..][..bytes.len()]);
        Ok(())
    }

    /// Copies bytes from the host into the buffer, from a byte on. Returns when `bytes` may change.
    ///
    /// # Errors
    /// As [`read_bytes`](Self::read_bytes).
    fn write_bytes(&mut self, offset: usize, bytes: &[u8]) -> Result<()> {
        let range = validate::byte_range(self, offset, bytes.len())?;
        let src = self.device().storage_from_bytes(self.dtype(), bytes)?;
        src.copy_strided_src(self, range.start, &Layout::contiguous(range.len()))
    }

    /// Fills a slice with elements from `offset` on. Synchronises.
    ///
    /// # Errors
    /// `UnsupportedDtype` where `T` is not the dtype; else as [`read_bytes`](Self::read_bytes).
    fn read_slice<T: WithDType>(&self, offset: usize, data: &mut [T]) -> Result<()> {
        validate::is_of::<T>(self, "read_slice")?;
        self.read_bytes(offset.saturating_mul(size_of::<T>()), bytemuck::cast_slice_mut(data))
    }

    /// Overwrites elements from `offset` on with a slice: new inputs for a step that does not
    /// allocate.
    ///
    /// # Errors
    /// `UnsupportedDtype` where `T` is not the dtype; else as [`write_bytes`](Self::write_bytes).
    fn write_slice<T: WithDType>(&mut self, offset: usize, data: &[T]) -> Result<()> {
        validate::is_of::<T>(self, "write_slice")?;
        self.write_bytes(offset.saturating_mul(size_of::<T>()), bytemuck::cast_slice(data))
    }

    /// Enqueues a copy of pinned bytes into the buffer, from a byte on, and does not wait. The
    /// pinned buffer waits for it before its bytes are changed.
    ///
    /// # Errors
    /// As [`write_bytes`](Self::write_bytes); `InvalidArgument` where `src` has no such range.
    fn copy_from_pinned(&mut self, offset: usize, src: &PinnedBuffer, range: Range<usize>) -> Result<()> {
        validate::pinned_range(src, &range)?;
        self.write_bytes(offset, &src.bytes()?[range])
    }

    /// Enqueues a copy of the buffer's bytes, from a byte on, into pinned ones, and does not wait.
    /// The pinned buffer waits for it before its bytes are shown.
    ///
    /// # Errors
    /// As [`read_bytes`](Self::read_bytes); `InvalidArgument` where `dst` has no such range.
    fn copy_to_pinned(&self, offset: usize, dst: &mut PinnedBuffer, range: Range<usize>) -> Result<()> {
        validate::pinned_range(dst, &range)?;
        self.read_bytes(offset, &mut dst.bytes_mut()?[range])
    }

    /// Copies the whole buffer into one of the same dtype and length, which may live on another
    /// device: without the host between devices that can ([`BackendDevice::can_access_peer`]). In
    /// order after the work on both.
    ///
    /// # Errors
    /// `UnsupportedDtype` and `ShapeMismatch` where the buffers differ; `OutOfMemory`; those of the
    /// drivers.
    fn transfer_into(&self, dst: &mut Self) -> Result<()> {
        through_host(self, dst)
    }

    /// A copy of the whole buffer on a device.
    ///
    /// # Errors
    /// As [`transfer_into`](Self::transfer_into).
    fn to_device(&self, device: &Self::Device) -> Result<Self> {
        // SAFETY: every element is written in the next line, or the storage is dropped unread.
        let mut dst = unsafe { device.alloc_uninit(&Shape::from(self.len()), self.dtype())? };
        self.transfer_into(&mut dst)?;
        Ok(dst)
    }

    /// The raw device address of the first element, for interop. Work on it belongs on the stream
    /// that this thread's work goes to.
    ///
    /// # Errors
    /// `UnsupportedOp` where the driver's storages are not addresses.
    fn device_ptr(&self) -> Result<u64> {
        let location = self.device().location();
        let message = format!("storages of the {} driver are not addresses", location.driver);
        Err(Error::new(ErrorKind::UnsupportedOp, message).with_device(location))
    }

    /// Enqueues a kernel: what [`LaunchBuilder::launch`](crate::LaunchBuilder::launch) calls and a
    /// driver implements.
    ///
    /// # Errors
    /// As there.
    ///
    /// # Safety
    /// As there.
    unsafe fn launch(func: &Func, config: LaunchConfig, args: &mut [KernelArg<'_, Self>]) -> Result<()> {
        let _ = (config, args);
        let message = format!("the driver runs no kernels, {} was to be launched", func.name());
        Err(Error::new(ErrorKind::UnsupportedOp, message).with_kernel(func.name()))
    }

    /// A new storage with the elements of a layout, contiguous. Class: moved.
    ///
    /// # Errors
    /// The common ones.
    fn try_clone(&self, layout: &Layout) -> Result<Self> {
        Self::apply(&Op::Copy, &[(self, layout)])
    }

    /// Carries out an operation. The inputs are in the order that the operation's variant of [`Op`]
    /// documents.
    ///
    /// # Errors
    /// The common ones; `InvalidArgument` for parameters that do not suit the shapes, and for the
    /// destination as an input where the operation does not work in place. A driver answers
    /// `UnsupportedOp` for operations that it does not know.
    fn apply_into(op: &Op, inputs: &[Src<'_, Self>], dst: &mut Self, dst_layout: &Layout) -> Result<()>;

    /// Allocating form of [`apply_into`](Self::apply_into), for operations whose result has the
    /// shape and the dtype that their inputs say. The first input says on which device.
    ///
    /// # Errors
    /// As there; `InvalidArgument` for an operation whose result the inputs do not determine.
    fn apply(op: &Op, inputs: &[(&Self, &Layout)]) -> Result<Self> {
        let shapes: SmallVec<[&Shape; 4]> = inputs.iter().map(|(_, l)| l.shape()).collect();
        let dtypes: SmallVec<[DType; 4]> = inputs.iter().map(|(s, _)| s.dtype()).collect();
        let shape = op.result_shape(&shapes).map_err(|e| {
            let layouts: SmallVec<[&Layout; 4]> = inputs.iter().map(|&(_, l)| l).collect();
            e.with_op(op).with_layouts(&layouts)
        })?;
        let (Some(first), Some(shape), Some(dtype)) = (inputs.first(), shape, op.result_dtype(&dtypes)) else {
            let message = format!("the inputs of {op} do not say what its result is: use apply_into");
            return Err(Error::new(ErrorKind::InvalidArgument, message).with_op(op));
        };
        let srcs: SmallVec<[Src<'_, Self>; 4]> = inputs.iter().map(|&input| input.into()).collect();
        allocate(first.0, &Layout::contiguous(shape), dtype, |dst, dl| Self::apply_into(op, &srcs, dst, dl))
    }

    /// Sets every element of a layout to one value. All dtypes. Class: moved.
    ///
    /// # Errors
    /// The common ones; `UnsupportedDtype` where the value is of another dtype.
    fn const_set(&mut self, value: Scalar, layout: &Layout) -> Result<()> {
        Self::apply_into(&Op::Fill(value), &[], self, layout)
    }

    /// Copies elements from one layout to another of the same shape. All dtypes. Class: moved (bits
    /// are kept, NaN payloads included).
    ///
    /// # Errors
    /// The common ones.
    fn copy_into(src: Src<'_, Self>, dst: &mut Self, dst_layout: &Layout) -> Result<()> {
        Self::apply_into(&Op::Copy, &[src], dst, dst_layout)
    }

    /// Copies the elements of a layout to consecutive places of `dst`, from `dst_offset`. Class:
    /// moved.
    ///
    /// # Errors
    /// The common ones.
    fn copy_strided_src(&self, dst: &mut Self, dst_offset: usize, src_layout: &Layout) -> Result<()> {
        let dst_layout = Layout::contiguous_with_offset(src_layout.shape(), dst_offset);
        Self::copy_into(Src::Storage(self, src_layout), dst, &dst_layout)
    }

    /// Copies rows between buffers with their own distances from row to row. Class: moved.
    ///
    /// # Errors
    /// The common ones; `InvalidArgument` where rows of the destination overlap.
    fn copy2d(&self, dst: &mut Self, copy: Copy2d) -> Result<()> {
        let shape = [copy.rows, copy.cols];
        let src_layout = Layout::new(shape, crate::Dims::from_slice(&[copy.src_stride, 1]), copy.src_offset)?;
        let dst_layout = Layout::new(shape, crate::Dims::from_slice(&[copy.dst_stride, 1]), copy.dst_offset)?;
        Self::copy_into(Src::Storage(self, &src_layout), dst, &dst_layout).map_err(|e| e.with_op("copy2d"))
    }

    /// Converts to the dtype of `dst`. Every dtype to every dtype: one rounding to nearest even
    /// from the source's exact value; float to integer truncates and saturates, NaN gives 0;
    /// integer to integer wraps; to f8e4m3 saturates to 448. Class: exact (moved for equal dtypes).
    ///
    /// # Errors
    /// The common ones.
    fn cast_into(src: &Self, src_layout: &Layout, dst: &mut Self, dst_layout: &Layout) -> Result<()> {
        Self::apply_into(&Op::Cast, &[Src::Storage(src, src_layout)], dst, dst_layout)
    }

    /// The elements of a layout in another dtype; see [`cast_into`](Self::cast_into).
    ///
    /// # Errors
    /// The common ones.
    fn to_dtype(&self, layout: &Layout, dtype: DType) -> Result<Self> {
        allocate(self, layout, dtype, |dst, dl| Self::cast_into(self, layout, dst, dl))
    }

    /// `x * mul + add`; see [`Affine`]. All dtypes. Class: exact.
    ///
    /// # Errors
    /// The common ones.
    fn affine_into(op: Affine, src: Src<'_, Self>, dst: &mut Self, dst_layout: &Layout) -> Result<()> {
        Self::apply_into(&Op::Affine(op), &[src], dst, dst_layout)
    }

    /// Allocating form of [`affine_into`](Self::affine_into).
    ///
    /// # Errors
    /// The common ones.
    fn affine(&self, layout: &Layout, mul: f64, add: f64) -> Result<Self> {
        Self::apply(&Op::Affine(Affine::new(mul, add)), &[(self, layout)])
    }

    /// `x^exponent`; see [`Powf`]. Floats. Class: defined.
    ///
    /// # Errors
    /// The common ones.
    fn powf_into(op: Powf, src: Src<'_, Self>, dst: &mut Self, dst_layout: &Layout) -> Result<()> {
        Self::apply_into(&Op::Powf(op), &[src], dst, dst_layout)
    }

    /// Allocating form of [`powf_into`](Self::powf_into).
    ///
    /// # Errors
    /// The common ones.
    fn powf(&self, layout: &Layout, exponent: f64) -> Result<Self> {
        Self::apply(&Op::Powf(Powf::new(exponent)), &[(self, layout)])
    }

    /// ELU; see [`Elu`]. Floats. Class: defined.
    ///
    /// # Errors
    /// The common ones.
    fn elu_into(op: Elu, src: Src<'_, Self>, dst: &mut Self, dst_layout: &Layout) -> Result<()> {
        Self::apply_into(&Op::Elu(op), &[src], dst, dst_layout)
    }

    /// Allocating form of [`elu_into`](Self::elu_into).
    ///
    /// # Errors
    /// The common ones.
    fn elu(&self, layout: &Layout, alpha: f64) -> Result<Self> {
        Self::apply(&Op::Elu(Elu::new(alpha)), &[(self, layout)])
    }

    /// A function of one argument; [`UnaryOp`] gives meaning and dtypes. Class: exact or defined,
    /// by `docs/numerics.md`.
    ///
    /// # Errors
    /// The common ones.
    fn unary_into(op: UnaryOp, src: Src<'_, Self>, dst: &mut Self, dst_layout: &Layout) -> Result<()> {
        Self::apply_into(&Op::Unary(op), &[src], dst, dst_layout)
    }

    /// Allocating form of [`unary_into`](Self::unary_into).
    ///
    /// # Errors
    /// The common ones.
    fn unary(&self, layout: &Layout, op: UnaryOp) -> Result<Self> {
        Self::apply(&Op::Unary(op), &[(self, layout)])
    }

    /// A function of two arguments of one shape and dtype; [`BinaryOp`] gives meaning. Broadcast
    /// through layouts. All dtypes. Class: exact, but `Pow` of floats: defined.
    ///
    /// # Errors
    /// The common ones.
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
    /// # Errors
    /// The common ones.
    fn binary(&self, layout: &Layout, rhs: &Self, rhs_layout: &Layout, op: BinaryOp) -> Result<Self> {
        Self::apply(&Op::Binary(op), &[(self, layout), (rhs, rhs_layout)])
    }

    /// A comparison of two arguments of one shape and dtype into u8, 0 or 1; see [`CmpOp`]. All
    /// dtypes. Class: exact.
    ///
    /// # Errors
    /// The common ones.
    fn cmp_into(op: CmpOp, lhs: Src<'_, Self>, rhs: Src<'_, Self>, dst: &mut Self, dst_layout: &Layout) -> Result<()> {
        Self::apply_into(&Op::Cmp(op), &[lhs, rhs], dst, dst_layout)
    }

    /// Allocating form of [`cmp_into`](Self::cmp_into).
    ///
    /// # Errors
    /// The common ones.
    fn cmp(&self, layout: &Layout, rhs: &Self, rhs_layout: &Layout, op: CmpOp) -> Result<Self> {
        Self::apply(&Op::Cmp(op), &[(self, layout), (rhs, rhs_layout)])
    }

    /// `on_true` where the condition is not 0, else `on_false`. Conditions u8, u32, i64; values of
    /// every dtype. Class: moved.
    ///
    /// # Errors
    /// The common ones.
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
    /// # Errors
    /// The common ones.
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

    /// Reduces the dimensions of `op` to size 1; [`ReduceOp`](crate::ReduceOp) gives meaning and
    /// dtypes. The destination has the source's shape with those dimensions 1. Class: defined for
    /// `Sum`, `Prod` and `Mean` of floats, else exact.
    ///
    /// # Errors
    /// The common ones; `InvalidArgument` for a dimension that is not there or named twice, and
    /// where `Min`, `Max`, `ArgMin` or `ArgMax` has no elements.
    fn reduce_into(op: &Reduce, src: &Self, src_layout: &Layout, dst: &mut Self, dst_layout: &Layout) -> Result<()> {
        Self::apply_into(&Op::Reduce(op.clone()), &[Src::Storage(src, src_layout)], dst, dst_layout)
    }

    /// Allocating form of [`reduce_into`](Self::reduce_into).
    ///
    /// # Errors
    /// The common ones.
    fn reduce(&self, layout: &Layout, op: &Reduce) -> Result<Self> {
        Self::apply(&Op::Reduce(op.clone()), &[(self, layout)])
    }

    /// A batched matrix product; see [`Matmul`] for shapes. f8e4m3, f16, bf16, f32, f64,
    /// accumulated in the compute type. Class: defined with portable numerics, vendor with vendor
    /// numerics.
    ///
    /// # Errors
    /// The common ones.
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
    /// # Errors
    /// The common ones.
    fn matmul(&self, layout: &Layout, rhs: &Self, rhs_layout: &Layout, op: Matmul) -> Result<Self> {
        Self::apply(&Op::Matmul(op), &[(self, layout), (rhs, rhs_layout)])
    }

    /// See [`Clamp`]. All dtypes. Class: exact.
    ///
    /// # Errors
    /// The common ones.
    fn clamp(&self, layout: &Layout, min: f64, max: f64) -> Result<Self> {
        Self::apply(&Op::Clamp(Clamp::new(min, max)), &[(self, layout)])
    }

    /// Keeps what lies on and below a diagonal of the matrices in the last two dimensions, and
    /// zeroes the rest. Applied to a tensor of ones it gives a causal mask. All dtypes. Class:
    /// moved.
    ///
    /// # Errors
    /// The common ones.
    fn tril(&self, layout: &Layout, diagonal: i64) -> Result<Self> {
        Self::apply(&Op::Triangle(Triangle::lower(diagonal)), &[(self, layout)])
    }

    /// Keeps what lies on and above a diagonal, and zeroes the rest; see [`tril`](Self::tril).
    ///
    /// # Errors
    /// The common ones.
    fn triu(&self, layout: &Layout, diagonal: i64) -> Result<Self> {
        Self::apply(&Op::Triangle(Triangle::upper(diagonal)), &[(self, layout)])
    }

    /// `f(self + bias)`: the bits of [`binary`](Self::binary) followed by [`unary`](Self::unary),
    /// in one pass. Broadcast through layouts. Floats. Class: exact for relu, else defined.
    ///
    /// # Errors
    /// The common ones.
    fn add_activation(
        &self,
        layout: &Layout,
        bias: &Self,
        bias_layout: &Layout,
        activation: Activation,
    ) -> Result<Self> {
        Self::apply(&Op::AddActivation(activation), &[(self, layout), (bias, bias_layout)])
    }

    /// Running sums along a dimension; see [`CumSum`]. All dtypes. Class: defined for floats, else
    /// exact.
    ///
    /// # Errors
    /// The common ones; `InvalidArgument` for a dimension that is not there.
    fn cumsum(&self, layout: &Layout, dim: usize) -> Result<Self> {
        Self::apply(&Op::CumSum(CumSum::new(dim)), &[(self, layout)])
    }

    /// Softmax over the last dimension. Floats. Class: defined.
    ///
    /// # Errors
    /// The common ones; `InvalidArgument` for rank 0.
    fn softmax_last_dim(&self, layout: &Layout) -> Result<Self> {
        Self::apply(&Op::Softmax, &[(self, layout)])
    }

    /// The logarithm of [`softmax_last_dim`](Self::softmax_last_dim). Floats. Class: defined.
    ///
    /// # Errors
    /// The common ones; `InvalidArgument` for rank 0.
    fn log_softmax_last_dim(&self, layout: &Layout) -> Result<Self> {
        Self::apply(&Op::LogSoftmax, &[(self, layout)])
    }

    /// [`Op::RmsNorm`] over the last dimension. Floats. Class: defined.
    ///
    /// # Errors
    /// The common ones.
    fn rms_norm(&self, layout: &Layout, weight: &Self, weight_layout: &Layout, eps: f64) -> Result<Self> {
        Self::apply(&Op::RmsNorm { eps }, &[(self, layout), (weight, weight_layout)])
    }

    /// [`Op::LayerNorm`] over the last dimension. Floats. Class: defined.
    ///
    /// # Errors
    /// The common ones.
    fn layer_norm(
        &self,
        layout: &Layout,
        weight: &Self,
        weight_layout: &Layout,
        bias: &Self,
        bias_layout: &Layout,
        eps: f64,
    ) -> Result<Self> {
        Self::apply(&Op::LayerNorm { eps }, &[(self, layout), (weight, weight_layout), (bias, bias_layout)])
    }

    /// Rotary position embedding; [`RopeForm`] says of which elements, [`Op::Rope`] the shapes.
    /// Floats. Class: defined.
    ///
    /// # Errors
    /// The common ones.
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

    /// The last dimension sorted, and the u32 positions that the elements came from; [`Sort`] fixes
    /// the order. Rows of any length, all dtypes. Class: moved, and exact.
    ///
    /// # Errors
    /// The common ones; `InvalidArgument` for rank 0.
    fn sort_last_dim(&self, layout: &Layout, sort: Sort) -> Result<(Self, Self)> {
        sorted(self, layout, &Op::Sort(sort), &Op::ArgSort(sort))
    }

    /// The u32 positions of the elements of the last dimension, sorted; see
    /// [`sort_last_dim`](Self::sort_last_dim).
    ///
    /// # Errors
    /// The common ones; `InvalidArgument` for rank 0.
    fn arg_sort_last_dim(&self, layout: &Layout, sort: Sort) -> Result<Self> {
        Self::apply(&Op::ArgSort(sort), &[(self, layout)])
    }

    /// The first elements of the sorted last dimension, and their u32 positions; see [`TopK`]. All
    /// dtypes. Class: moved, and exact.
    ///
    /// # Errors
    /// The common ones; `InvalidArgument` for more elements than there are.
    fn topk(&self, layout: &Layout, top: TopK) -> Result<(Self, Self)> {
        sorted(self, layout, &Op::TopK(top), &Op::ArgTopK(top))
    }

    /// Elements at positions along a dimension, [`Op::Gather`]; ids u8, u32 or i64, of the result's
    /// shape. All dtypes. Class: moved.
    ///
    /// # Errors
    /// The common ones; `IndexOutOfRange`.
    fn gather(&self, layout: &Layout, ids: &Self, ids_layout: &Layout, dim: usize) -> Result<Self> {
        Self::apply(&Op::Gather { dim }, &[(self, layout), (ids, ids_layout)])
    }

    /// Slices at positions along a dimension, [`Op::IndexSelect`]; ids u8, u32 or i64, of one
    /// dimension. All dtypes. Class: moved.
    ///
    /// # Errors
    /// The common ones; `IndexOutOfRange`.
    fn index_select(&self, ids: &Self, layout: &Layout, ids_layout: &Layout, dim: usize) -> Result<Self> {
        Self::apply(&Op::IndexSelect { dim }, &[(self, layout), (ids, ids_layout)])
    }

    /// Sets elements at positions along a dimension, in place, [`Op::ScatterSet`]. All dtypes.
    /// Class: moved.
    ///
    /// # Errors
    /// The common ones; `IndexOutOfRange`.
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
        Self::apply_into(&Op::ScatterSet { dim }, &inputs, self, layout)
    }

    /// Adds to elements at positions along a dimension, in place, in the order of the source,
    /// [`Op::ScatterAdd`]. All dtypes. Class: defined for floats, else exact.
    ///
    /// # Errors
    /// The common ones; `IndexOutOfRange`.
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
        Self::apply_into(&Op::ScatterAdd { dim }, &inputs, self, layout)
    }

    /// A copy with slices added at positions along a dimension, in the order of the source,
    /// [`Op::IndexAdd`]. All dtypes. Class: defined for floats, else exact.
    ///
    /// # Errors
    /// The common ones; `IndexOutOfRange`.
    fn index_add(
        &self,
        layout: &Layout,
        ids: &Self,
        ids_layout: &Layout,
        src: &Self,
        src_layout: &Layout,
        dim: usize,
    ) -> Result<Self> {
        Self::apply(&Op::IndexAdd { dim }, &[(self, layout), (ids, ids_layout), (src, src_layout)])
    }

    /// See [`Conv1d`]. f16, bf16, f32, f64. Class: defined with portable numerics, vendor with
    /// vendor numerics.
    ///
    /// # Errors
    /// The common ones; `InvalidArgument` for parameters that leave no window.
    fn conv1d(&self, layout: &Layout, kernel: &Self, kernel_layout: &Layout, op: Conv1d) -> Result<Self> {
        Self::apply(&Op::Conv1d(op), &[(self, layout), (kernel, kernel_layout)])
    }

    /// See [`Conv2d`]; else as [`conv1d`](Self::conv1d).
    ///
    /// # Errors
    /// As there.
    fn conv2d(&self, layout: &Layout, kernel: &Self, kernel_layout: &Layout, op: Conv2d) -> Result<Self> {
        Self::apply(&Op::Conv2d(op), &[(self, layout), (kernel, kernel_layout)])
    }

    /// See [`ConvTranspose1d`]; else as [`conv1d`](Self::conv1d).
    ///
    /// # Errors
    /// As there.
    fn conv_transpose1d(
        &self,
        layout: &Layout,
        kernel: &Self,
        kernel_layout: &Layout,
        op: ConvTranspose1d,
    ) -> Result<Self> {
        Self::apply(&Op::ConvTranspose1d(op), &[(self, layout), (kernel, kernel_layout)])
    }

    /// See [`ConvTranspose2d`]; else as [`conv1d`](Self::conv1d).
    ///
    /// # Errors
    /// As there.
    fn conv_transpose2d(
        &self,
        layout: &Layout,
        kernel: &Self,
        kernel_layout: &Layout,
        op: ConvTranspose2d,
    ) -> Result<Self> {
        Self::apply(&Op::ConvTranspose2d(op), &[(self, layout), (kernel, kernel_layout)])
    }

    /// Averages of windows; see [`Pool2d`]. Floats. Class: defined.
    ///
    /// # Errors
    /// The common ones; `InvalidArgument` for parameters that leave no window.
    fn avg_pool2d(&self, layout: &Layout, op: Pool2d) -> Result<Self> {
        Self::apply(&Op::AvgPool2d(op), &[(self, layout)])
    }

    /// Maxima of windows; see [`Pool2d`]. All dtypes. Class: exact.
    ///
    /// # Errors
    /// The common ones; `InvalidArgument` for parameters that leave no window.
    fn max_pool2d(&self, layout: &Layout, op: Pool2d) -> Result<Self> {
        Self::apply(&Op::MaxPool2d(op), &[(self, layout)])
    }

    /// See [`UpsampleNearest1d`]. All dtypes. Class: moved.
    ///
    /// # Errors
    /// The common ones.
    fn upsample_nearest1d(&self, layout: &Layout, op: UpsampleNearest1d) -> Result<Self> {
        Self::apply(&Op::UpsampleNearest1d(op), &[(self, layout)])
    }

    /// See [`UpsampleNearest2d`]. All dtypes. Class: moved.
    ///
    /// # Errors
    /// The common ones.
    fn upsample_nearest2d(&self, layout: &Layout, op: UpsampleNearest2d) -> Result<Self> {
        Self::apply(&Op::UpsampleNearest2d(op), &[(self, layout)])
    }

    /// See [`UpsampleBilinear2d`]. Floats. Class: defined.
    ///
    /// # Errors
    /// The common ones.
    fn upsample_bilinear2d(&self, layout: &Layout, op: UpsampleBilinear2d) -> Result<Self> {
        Self::apply(&Op::UpsampleBilinear2d(op), &[(self, layout)])
    }

    /// The blocks of each row, as u8. f32, f16, bf16. Class: defined.
    ///
    /// # Errors
    /// The common ones; `InvalidArgument` where rows are no whole blocks.
    fn quantize(&self, layout: &Layout, format: GgmlDType) -> Result<Self> {
        Self::apply(&Op::Quantize(format), &[(self, layout)])
    }

    /// The elements of rows of blocks, in f32, f16 or bf16. Class: defined.
    ///
    /// # Errors
    /// The common ones; `InvalidArgument` where rows are no whole blocks.
    fn dequantize(&self, layout: &Layout, format: GgmlDType, dtype: DType) -> Result<Self> {
        let op = Op::Dequantize(format);
        let shape = op.result_shape(&[layout.shape()]).map_err(|e| e.with_op(&op))?.unwrap_or_default();
        allocate(self, &Layout::contiguous(shape), dtype, |dst, dl| {
            Self::apply_into(&op, &[Src::Storage(self, layout)], dst, dl)
        })
    }

    /// Activations times the transpose of a quantized matrix; see [`QMatmul`]. `self` is the
    /// activations. Class: defined.
    ///
    /// # Errors
    /// The common ones; `InvalidArgument` where rows are no whole blocks.
    fn qmatmul(&self, layout: &Layout, weight: &Self, weight_layout: &Layout, op: QMatmul) -> Result<Self> {
        Self::apply(&Op::QMatmul(op), &[(weight, weight_layout), (self, layout)])
    }

    /// As [`qmatmul`](Self::qmatmul) with one of several matrices for each row, [`Op::QMatmulId`]:
    /// a mixture of experts.
    ///
    /// # Errors
    /// As there; `IndexOutOfRange`.
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

/// A contiguous storage of a layout's shape beside `like`, filled by `fill`.
fn allocate<S: BackendStorage>(
    like: &S,
    layout: &Layout,
    dtype: DType,
    fill: impl FnOnce(&mut S, &Layout) -> Result<()>,
) -> Result<S> {
    let dst_layout = Layout::contiguous(layout.shape());
    // SAFETY: `fill` writes every element of the contiguous layout, which is all of the buffer, or
    // fails and the storage is dropped unread.
    let mut dst = unsafe { like.device().alloc_uninit(layout.shape(), dtype)? };
    fill(&mut dst, &dst_layout)?;
    Ok(dst)
}

/// The values and the positions of one sort: an operation has one destination, so the positions are
/// sorted and the values gathered by them.
fn sorted<S: BackendStorage>(src: &S, layout: &Layout, values: &Op, positions: &Op) -> Result<(S, S)> {
    let shape = values.result_shape(&[layout.shape()]).map_err(|e| e.with_op(values).with_layouts(&[layout]))?;
    let shape = shape.expect("a sort's shape is that of its input");
    let order = S::apply(positions, &[(src, layout)])?;
    let last = shape.rank() - 1;
    let sorted = src.gather(layout, &order, &Layout::contiguous(shape), last)?;
    Ok((sorted, order))
}
