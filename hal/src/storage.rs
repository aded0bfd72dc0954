//! The storage half of the HAL: every operation on data.

use crate::{
    Affine, BackendDevice, BinaryOp, CmpOp, Copy2d, CpuStorage, DType, Elu, Error, ErrorKind, Layout, Matmul, Op, Powf,
    Reduce, Result, Scalar, UnaryOp, WithDType,
};
use std::fmt;

/// An input of an elementwise operation.
#[derive(Debug)]
pub enum Src<'a, S> {
    /// A storage, seen through a layout.
    Storage(&'a S, &'a Layout),
    /// The destination itself, through its own layout: the operation works in place.
    Dst,
}

impl<S> Clone for Src<'_, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for Src<'_, S> {}

impl<'a, S> From<(&'a S, &'a Layout)> for Src<'a, S> {
    fn from((storage, layout): (&'a S, &'a Layout)) -> Self {
        Src::Storage(storage, layout)
    }
}

#[cold]
fn unsupported<S: BackendStorage>(dst: &S, op: Op) -> Result<()> {
    let location = dst.device().location();
    let message = format!("the {} driver does not implement {op}", location.driver);
    Err(Error::new(ErrorKind::UnsupportedOp, message).with_op(op).with_device(location))
}

/// Data on a device: a buffer of elements of one dtype. Where the elements of a tensor lie in it, a [`Layout`] says.
///
/// # Forms
/// A driver implements the `*_into` forms. They are associated functions that write the elements of `dst` that `dst_layout` names
/// and no others. Inputs of elementwise operations are [`Src`]s, so that the destination may also be an input. The allocating
/// forms are methods of the (first) input; they return a storage of exactly as many elements as the result has, contiguous.
///
/// # Errors common to all
/// `DeviceMismatch` where operands live on different devices; `ShapeMismatch` where shapes do not agree; `InvalidArgument` where a
/// layout leaves its buffer or a destination overlaps itself; `UnsupportedDtype` where the operation is not defined for the
/// dtypes; `OutOfMemory` where an allocation fails. All are found before anything runs, and nothing is written then. A default body
/// answers `UnsupportedOp`.
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
    /// `UnsupportedDtype` where `T` is not the dtype; else as [`to_cpu_storage`](Self::to_cpu_storage).
    fn to_vec<T: WithDType>(&self) -> Result<Vec<T>> {
        if self.dtype() != T::DTYPE {
            return Err(Error::new(
                ErrorKind::UnsupportedDtype,
                format!("to_vec: the storage holds {}, {} was asked for; cast it first", self.dtype(), T::DTYPE),
            ));
        }
        Ok(bytemuck::cast_slice(self.to_cpu_storage()?.as_bytes()).to_vec())
    }

    /// A new storage with the elements of a layout, contiguous. Class: moved.
    ///
    /// # Errors
    /// The common ones.
    fn try_clone(&self, layout: &Layout) -> Result<Self> {
        allocate(self, layout, self.dtype(), |dst, dl| Self::copy_into(Src::Storage(self, layout), dst, dl))
    }

    /// Sets every element of a layout to one value. All dtypes. Class: moved.
    ///
    /// # Errors
    /// The common ones; `UnsupportedDtype` where the value is of another dtype.
    fn const_set(&mut self, value: Scalar, layout: &Layout) -> Result<()> {
        let _ = (value, layout);
        unsupported(self, Op::ConstSet)
    }

    /// Copies elements from one layout to another of the same shape. All dtypes. Class: moved (bits are kept, NaN payloads included).
    ///
    /// # Errors
    /// The common ones.
    fn copy_into(src: Src<'_, Self>, dst: &mut Self, dst_layout: &Layout) -> Result<()> {
        let _ = (src, dst_layout);
        unsupported(dst, Op::Copy)
    }

    /// Copies the elements of a layout to consecutive places of `dst`, from `dst_offset`. Class: moved.
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
        Self::copy_into(Src::Storage(self, &src_layout), dst, &dst_layout).map_err(|e| e.with_op(Op::Copy2d(copy)))
    }

    /// Converts to the dtype of `dst`. Every dtype to every dtype: one rounding to nearest even from the source's exact value; float to integer
    /// truncates and saturates, NaN gives 0; integer to integer wraps; to f8e4m3 saturates to 448. Class: exact (moved for equal dtypes).
    ///
    /// # Errors
    /// The common ones.
    fn cast_into(src: &Self, src_layout: &Layout, dst: &mut Self, dst_layout: &Layout) -> Result<()> {
        let _ = (src, src_layout, dst_layout);
        unsupported(dst, Op::Cast)
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
        let _ = (src, dst_layout);
        unsupported(dst, Op::Affine(op))
    }

    /// Allocating form of [`affine_into`](Self::affine_into).
    ///
    /// # Errors
    /// The common ones.
    fn affine(&self, layout: &Layout, mul: f64, add: f64) -> Result<Self> {
        let op = Affine::new(mul, add);
        allocate(self, layout, self.dtype(), |dst, dl| Self::affine_into(op, Src::Storage(self, layout), dst, dl))
    }

    /// `x^exponent`; see [`Powf`]. Floats. Class: defined.
    ///
    /// # Errors
    /// The common ones.
    fn powf_into(op: Powf, src: Src<'_, Self>, dst: &mut Self, dst_layout: &Layout) -> Result<()> {
        let _ = (src, dst_layout);
        unsupported(dst, Op::Powf(op))
    }

    /// Allocating form of [`powf_into`](Self::powf_into).
    ///
    /// # Errors
    /// The common ones.
    fn powf(&self, layout: &Layout, exponent: f64) -> Result<Self> {
        let op = Powf::new(exponent);
        allocate(self, layout, self.dtype(), |dst, dl| Self::powf_into(op, Src::Storage(self, layout), dst, dl))
    }

    /// ELU; see [`Elu`]. Floats. Class: defined.
    ///
    /// # Errors
    /// The common ones.
    fn elu_into(op: Elu, src: Src<'_, Self>, dst: &mut Self, dst_layout: &Layout) -> Result<()> {
        let _ = (src, dst_layout);
        unsupported(dst, Op::Elu(op))
    }

    /// Allocating form of [`elu_into`](Self::elu_into).
    ///
    /// # Errors
    /// The common ones.
    fn elu(&self, layout: &Layout, alpha: f64) -> Result<Self> {
        let op = Elu::new(alpha);
        allocate(self, layout, self.dtype(), |dst, dl| Self::elu_into(op, Src::Storage(self, layout), dst, dl))
    }

    /// A function of one argument; [`UnaryOp`] gives meaning and dtypes. Class: exact or defined, by `docs/numerics.md`.
    ///
    /// # Errors
    /// The common ones.
    fn unary_into(op: UnaryOp, src: Src<'_, Self>, dst: &mut Self, dst_layout: &Layout) -> Result<()> {
        let _ = (src, dst_layout);
        unsupported(dst, Op::Unary(op))
    }

    /// Allocating form of [`unary_into`](Self::unary_into).
    ///
    /// # Errors
    /// The common ones.
    fn unary(&self, layout: &Layout, op: UnaryOp) -> Result<Self> {
        allocate(self, layout, self.dtype(), |dst, dl| Self::unary_into(op, Src::Storage(self, layout), dst, dl))
    }

    /// A function of two arguments of one shape and dtype; [`BinaryOp`] gives meaning. Broadcast through layouts. All dtypes. Class: exact, but
    /// `Pow` of floats: defined.
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
        let _ = (lhs, rhs, dst_layout);
        unsupported(dst, Op::Binary(op))
    }

    /// Allocating form of [`binary_into`](Self::binary_into).
    ///
    /// # Errors
    /// The common ones.
    fn binary(&self, layout: &Layout, rhs: &Self, rhs_layout: &Layout, op: BinaryOp) -> Result<Self> {
        allocate(self, layout, self.dtype(), |dst, dl| {
            Self::binary_into(op, Src::Storage(self, layout), Src::Storage(rhs, rhs_layout), dst, dl)
        })
    }

    /// A comparison of two arguments of one shape and dtype into u8, 0 or 1; see [`CmpOp`]. All dtypes. Class: exact.
    ///
    /// # Errors
    /// The common ones.
    fn cmp_into(op: CmpOp, lhs: Src<'_, Self>, rhs: Src<'_, Self>, dst: &mut Self, dst_layout: &Layout) -> Result<()> {
        let _ = (lhs, rhs, dst_layout);
        unsupported(dst, Op::Cmp(op))
    }

    /// Allocating form of [`cmp_into`](Self::cmp_into).
    ///
    /// # Errors
    /// The common ones.
    fn cmp(&self, layout: &Layout, rhs: &Self, rhs_layout: &Layout, op: CmpOp) -> Result<Self> {
        allocate(self, layout, DType::U8, |dst, dl| {
            Self::cmp_into(op, Src::Storage(self, layout), Src::Storage(rhs, rhs_layout), dst, dl)
        })
    }

    /// `on_true` where the condition is not 0, else `on_false`. Conditions u8, u32, i64; values of every dtype. Class: moved.
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
        let _ = (cond, on_true, on_false, dst_layout);
        unsupported(dst, Op::WhereCond)
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
        allocate(self, layout, on_true.dtype(), |dst, dl| {
            Self::where_cond_into(
                Src::Storage(self, layout),
                Src::Storage(on_true, on_true_layout),
                Src::Storage(on_false, on_false_layout),
                dst,
                dl,
            )
        })
    }

    /// Reduces the dimensions of `op` to size 1; [`ReduceOp`](crate::ReduceOp) gives meaning and dtypes. The destination has the source's
    /// shape with those dimensions 1. Class: defined for `Sum`, `Prod` and `Mean` of floats, else exact.
    ///
    /// # Errors
    /// The common ones; `InvalidArgument` for a dimension that is not there or named twice, and where `Min`, `Max`, `ArgMin` or `ArgMax` has no elements.
    fn reduce_into(op: &Reduce, src: &Self, src_layout: &Layout, dst: &mut Self, dst_layout: &Layout) -> Result<()> {
        let _ = (src, src_layout, dst_layout);
        unsupported(dst, Op::Reduce(op.clone()))
    }

    /// Allocating form of [`reduce_into`](Self::reduce_into).
    ///
    /// # Errors
    /// The common ones.
    fn reduce(&self, layout: &Layout, op: &Reduce) -> Result<Self> {
        let dtype = if op.op.is_arg() { DType::U32 } else { self.dtype() };
        let result = Layout::contiguous(layout.shape().reduced(&op.dims));
        allocate(self, &result, dtype, |dst, dl| Self::reduce_into(op, self, layout, dst, dl))
    }

    /// A batched matrix product; see [`Matmul`] for shapes. f8e4m3, f16, bf16, f32, f64, accumulated in the compute type. Class: defined with
    /// portable numerics, vendor with vendor numerics.
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
        let _ = (lhs, lhs_layout, rhs, rhs_layout, dst_layout);
        unsupported(dst, Op::Matmul(op))
    }

    /// Allocating form of [`matmul_into`](Self::matmul_into).
    ///
    /// # Errors
    /// The common ones.
    fn matmul(&self, layout: &Layout, rhs: &Self, rhs_layout: &Layout, op: Matmul) -> Result<Self> {
        let shape = crate::validate::matmul_shape(layout, rhs_layout)?;
        allocate(self, &Layout::contiguous(shape), self.dtype(), |dst, dl| {
            Self::matmul_into(op, self, layout, rhs, rhs_layout, dst, dl)
        })
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
    // SAFETY: `fill` writes every element of the contiguous layout, which is all of the buffer, or fails and the storage is dropped unread.
    let mut dst = unsafe { like.device().alloc_uninit(layout.shape(), dtype)? };
    fill(&mut dst, &dst_layout)?;
    Ok(dst)
}
