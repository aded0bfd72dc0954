//! The storage half of the HAL over any runtime: device bytes and a dtype.

use crate::device::GpuDevice;
use crate::ops;
use crate::runtime::{DevicePtr, GpuRuntime};
use isobit_hal::{
    Affine, BackendStorage, BinaryOp, CmpOp, CpuStorage, DType, Elu, Layout, Matmul, Powf, Reduce, Result, Scalar, Src,
    UnaryOp,
};

/// A buffer in device memory; returned to the device's pool when dropped.
#[derive(Debug)]
pub struct GpuStorage<R: GpuRuntime> {
    device: GpuDevice<R>,
    ptr: DevicePtr,
    class: usize,
    dtype: DType,
    len: usize,
}

impl<R: GpuRuntime> GpuStorage<R> {
    /// # Safety
    /// `ptr` and `class` are a block of the device's pool that holds `len` elements and that nothing else owns.
    pub(crate) unsafe fn from_block(
        device: GpuDevice<R>,
        ptr: DevicePtr,
        class: usize,
        dtype: DType,
        len: usize,
    ) -> Self {
        Self { device, ptr, class, dtype, len }
    }

    /// The address of the first element, for those who must. Work on it belongs on the device's stream.
    pub fn ptr(&self) -> DevicePtr {
        self.ptr
    }
}

impl<R: GpuRuntime> Drop for GpuStorage<R> {
    fn drop(&mut self) {
        // SAFETY: the block came from this pool and the storage is its only owner.
        unsafe { self.device.pool().free(self.device.runtime(), self.ptr, self.class) };
    }
}

impl<R: GpuRuntime> BackendStorage for GpuStorage<R> {
    type Device = GpuDevice<R>;

    fn dtype(&self) -> DType {
        self.dtype
    }

    fn len(&self) -> usize {
        self.len
    }

    fn device(&self) -> &GpuDevice<R> {
        &self.device
    }

    fn to_cpu_storage(&self) -> Result<CpuStorage> {
        let mut host = CpuStorage::zeros(self.len, self.dtype)?;
        if self.len > 0 {
            // SAFETY: both buffers have as many bytes.
            unsafe { self.device.runtime().copy_to_host(self.device.stream(), host.as_bytes_mut(), self.ptr)? };
        }
        Ok(host)
    }

    fn const_set(&mut self, value: Scalar, layout: &Layout) -> Result<()> {
        ops::fill::const_set(self, value, layout)
    }

    fn copy_into(src: Src<'_, Self>, dst: &mut Self, dst_layout: &Layout) -> Result<()> {
        ops::copy::copy_into(src, dst, dst_layout)
    }

    fn cast_into(src: &Self, src_layout: &Layout, dst: &mut Self, dst_layout: &Layout) -> Result<()> {
        ops::cast::cast_into(src, src_layout, dst, dst_layout)
    }

    fn affine_into(op: Affine, src: Src<'_, Self>, dst: &mut Self, dst_layout: &Layout) -> Result<()> {
        ops::affine::affine_into(op, src, dst, dst_layout)
    }

    fn powf_into(op: Powf, src: Src<'_, Self>, dst: &mut Self, dst_layout: &Layout) -> Result<()> {
        ops::affine::powf_into(op, src, dst, dst_layout)
    }

    fn elu_into(op: Elu, src: Src<'_, Self>, dst: &mut Self, dst_layout: &Layout) -> Result<()> {
        ops::affine::elu_into(op, src, dst, dst_layout)
    }

    fn unary_into(op: UnaryOp, src: Src<'_, Self>, dst: &mut Self, dst_layout: &Layout) -> Result<()> {
        ops::unary::unary_into(op, src, dst, dst_layout)
    }

    fn binary_into(op: BinaryOp, lhs: Src<'_, Self>, rhs: Src<'_, Self>, dst: &mut Self, dl: &Layout) -> Result<()> {
        ops::binary::binary_into(op, lhs, rhs, dst, dl)
    }

    fn cmp_into(op: CmpOp, lhs: Src<'_, Self>, rhs: Src<'_, Self>, dst: &mut Self, dl: &Layout) -> Result<()> {
        ops::compare::cmp_into(op, lhs, rhs, dst, dl)
    }

    fn where_cond_into(
        cond: Src<'_, Self>,
        on_true: Src<'_, Self>,
        on_false: Src<'_, Self>,
        dst: &mut Self,
        dst_layout: &Layout,
    ) -> Result<()> {
        ops::ternary::where_cond_into(cond, on_true, on_false, dst, dst_layout)
    }

    fn reduce_into(op: &Reduce, src: &Self, src_layout: &Layout, dst: &mut Self, dst_layout: &Layout) -> Result<()> {
        ops::reduce::reduce_into(op, src, src_layout, dst, dst_layout)
    }

    fn matmul_into(
        op: Matmul,
        lhs: &Self,
        lhs_layout: &Layout,
        rhs: &Self,
        rhs_layout: &Layout,
        dst: &mut Self,
        dst_layout: &Layout,
    ) -> Result<()> {
        ops::matmul::matmul_into(op, (lhs, lhs_layout), (rhs, rhs_layout), dst, dst_layout)
    }
}
