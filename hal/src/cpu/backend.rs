//! The operations of host storages: validated, then handed to the family's file.

use super::storage::with_vec;
use super::{CpuDevice, CpuStorage, affine, binary, cast, compare, copy, fill, matmul, reduce, ternary, unary};
use crate::{
    Affine, BackendStorage, BinaryOp, CmpOp, DType, Elu, Layout, Matmul, Op, Powf, Reduce, Result, Scalar, Src,
    UnaryOp, WithDType, validate,
};

impl BackendStorage for CpuStorage {
    type Device = CpuDevice;

    fn dtype(&self) -> DType {
        fn of<T: WithDType>(_: &[T]) -> DType {
            T::DTYPE
        }
        with_vec!(self, v => of(v))
    }

    fn len(&self) -> usize {
        with_vec!(self, v => v.len())
    }

    fn device(&self) -> &CpuDevice {
        CpuDevice::INSTANCE
    }

    fn to_cpu_storage(&self) -> Result<CpuStorage> {
        CpuStorage::from_bytes(self.dtype(), self.as_bytes())
    }

    fn const_set(&mut self, value: Scalar, layout: &Layout) -> Result<()> {
        validate::const_set(value, self, layout)?;
        fill::fill(value, self, layout);
        Ok(())
    }

    fn copy_into(src: Src<'_, Self>, dst: &mut Self, dst_layout: &Layout) -> Result<()> {
        validate::elementwise(&Op::Copy, &[src], dst, dst_layout)?;
        copy::copy(src, dst, dst_layout);
        Ok(())
    }

    fn cast_into(src: &Self, src_layout: &Layout, dst: &mut Self, dst_layout: &Layout) -> Result<()> {
        validate::elementwise(&Op::Cast, &[Src::Storage(src, src_layout)], dst, dst_layout)?;
        cast::cast(src, src_layout, dst, dst_layout);
        Ok(())
    }

    fn affine_into(op: Affine, src: Src<'_, Self>, dst: &mut Self, dst_layout: &Layout) -> Result<()> {
        validate::elementwise(&Op::Affine(op), &[src], dst, dst_layout)?;
        affine::affine(op, src, dst, dst_layout);
        Ok(())
    }

    fn powf_into(op: Powf, src: Src<'_, Self>, dst: &mut Self, dst_layout: &Layout) -> Result<()> {
        validate::elementwise(&Op::Powf(op), &[src], dst, dst_layout)?;
        affine::powf(op, src, dst, dst_layout);
        Ok(())
    }

    fn elu_into(op: Elu, src: Src<'_, Self>, dst: &mut Self, dst_layout: &Layout) -> Result<()> {
        validate::elementwise(&Op::Elu(op), &[src], dst, dst_layout)?;
        affine::elu(op, src, dst, dst_layout);
        Ok(())
    }

    fn unary_into(op: UnaryOp, src: Src<'_, Self>, dst: &mut Self, dst_layout: &Layout) -> Result<()> {
        validate::elementwise(&Op::Unary(op), &[src], dst, dst_layout)?;
        unary::unary(op, src, dst, dst_layout);
        Ok(())
    }

    fn binary_into(
        op: BinaryOp,
        lhs: Src<'_, Self>,
        rhs: Src<'_, Self>,
        dst: &mut Self,
        dst_layout: &Layout,
    ) -> Result<()> {
        validate::elementwise(&Op::Binary(op), &[lhs, rhs], dst, dst_layout)?;
        binary::binary(op, [lhs, rhs], dst, dst_layout);
        Ok(())
    }

    fn cmp_into(op: CmpOp, lhs: Src<'_, Self>, rhs: Src<'_, Self>, dst: &mut Self, dst_layout: &Layout) -> Result<()> {
        validate::elementwise(&Op::Cmp(op), &[lhs, rhs], dst, dst_layout)?;
        compare::compare(op, [lhs, rhs], dst, dst_layout);
        Ok(())
    }

    fn where_cond_into(
        cond: Src<'_, Self>,
        on_true: Src<'_, Self>,
        on_false: Src<'_, Self>,
        dst: &mut Self,
        dst_layout: &Layout,
    ) -> Result<()> {
        let srcs = [cond, on_true, on_false];
        validate::elementwise(&Op::WhereCond, &srcs, dst, dst_layout)?;
        ternary::where_cond(srcs, dst, dst_layout);
        Ok(())
    }

    fn reduce_into(op: &Reduce, src: &Self, src_layout: &Layout, dst: &mut Self, dst_layout: &Layout) -> Result<()> {
        validate::reduce(op, src, src_layout, dst, dst_layout)?;
        reduce::reduce(op, src, src_layout, dst, dst_layout);
        Ok(())
    }

    fn matmul_into(
        _: Matmul,
        lhs: &Self,
        lhs_layout: &Layout,
        rhs: &Self,
        rhs_layout: &Layout,
        dst: &mut Self,
        dst_layout: &Layout,
    ) -> Result<()> {
        validate::matmul((lhs, lhs_layout), (rhs, rhs_layout), (dst, dst_layout))?;
        matmul::matmul((lhs, lhs_layout), (rhs, rhs_layout), dst, dst_layout);
        Ok(())
    }
}
