//! Compositions of operations that several nodes need.

use super::Ops;
use crate::stop::{Lowered, Stop};
use crate::tensor::Tensor;
use isobit::{BinaryOp, CmpOp, DType, Matmul, Op, ReduceOp, UnaryOp};

impl Ops {
    /// Adds, with broadcasting.
    ///
    /// # Errors
    /// As [`binary`](Self::binary), also of the next three.
    pub fn add(&self, a: &Tensor, b: &Tensor) -> Lowered<Tensor> {
        self.binary(BinaryOp::Add, a, b)
    }

    /// Subtracts, with broadcasting.
    ///
    /// # Errors
    /// As [`binary`](Self::binary).
    pub fn sub(&self, a: &Tensor, b: &Tensor) -> Lowered<Tensor> {
        self.binary(BinaryOp::Sub, a, b)
    }

    /// Multiplies, with broadcasting.
    ///
    /// # Errors
    /// As [`binary`](Self::binary).
    pub fn mul(&self, a: &Tensor, b: &Tensor) -> Lowered<Tensor> {
        self.binary(BinaryOp::Mul, a, b)
    }

    /// Divides, with broadcasting.
    ///
    /// # Errors
    /// As [`binary`](Self::binary).
    pub fn div(&self, a: &Tensor, b: &Tensor) -> Lowered<Tensor> {
        self.binary(BinaryOp::Div, a, b)
    }

    /// Compares with one value.
    ///
    /// # Errors
    /// The operation's.
    pub fn compare_with(&self, op: CmpOp, x: &Tensor, value: f64) -> Lowered<Tensor> {
        self.compare(op, x, &self.scalar(x.dtype(), value)?)
    }

    /// Multiplies matrices; batch dimensions broadcast, and vectors are as in NumPy's `matmul`.
    ///
    /// # Errors
    /// The operation's; fails if the shapes do not fit together.
    pub fn matmul(&self, a: &Tensor, b: &Tensor) -> Lowered<Tensor> {
        if a.rank() == 0 || b.rank() == 0 {
            return Err(Stop::Failed("a product of matrices takes no scalars".into()));
        }
        let (row, column) = (a.rank() == 1, b.rank() == 1);
        let a = if row { a.unsqueeze(0)? } else { a.clone() };
        let b = if column { b.unsqueeze(1)? } else { b.clone() };
        let mut product = self.apply(&Op::Matmul(Matmul::default()), &[&a, &b])?;
        if column {
            product = product.squeeze(product.rank() - 1)?;
        }
        if row {
            let at = product.rank() - if column { 1 } else { 2 };
            product = product.squeeze(at)?;
        }
        Ok(product)
    }

    /// Runs an operation of the last dimension along another one.
    ///
    /// # Errors
    /// The operation's.
    pub fn along(&self, op: &Op, x: &Tensor, axis: usize) -> Lowered<Tensor> {
        let last = x.rank().saturating_sub(1);
        if axis == last {
            return self.apply(op, &[x]);
        }
        self.apply(op, &[&x.transpose(axis, last)?])?.transpose(axis, last)
    }

    /// Returns `x` with negative elements increased by `size`, as ONNX counts positions.
    ///
    /// # Errors
    /// The operations'.
    pub fn positions(&self, x: &Tensor, size: usize) -> Lowered<Tensor> {
        let x = self.cast(x, DType::I64)?;
        let wrapped = self.affine(&x, 1.0, size as f64)?;
        self.select(&self.compare_with(CmpOp::Lt, &x, 0.0)?, &wrapped, &x)
    }

    /// Returns the mean and the variance over dimensions, which stay with size 1. The variance
    /// divides by the number of elements.
    ///
    /// # Errors
    /// The operations'.
    pub fn moments(&self, x: &Tensor, dims: &[usize]) -> Lowered<(Tensor, Tensor)> {
        let mean = self.reduce(ReduceOp::Mean, x, dims)?;
        let centred = self.sub(x, &mean)?;
        let variance = self.reduce(ReduceOp::Mean, &self.unary(UnaryOp::Sqr, &centred)?, dims)?;
        Ok((mean, variance))
    }
}
