//! Linear layers.

use isobit::{BackendStorage, Layout, Matmul, MatmulSide, Numerics, Op, PackedMatrix, Result, Src};

/// `x W^T`, with one row of `W` per output.
#[derive(Debug)]
pub struct Linear<S> {
    weight: Weight<S>,
    inputs: usize,
    outputs: usize,
}

/// A weight as products take it.
#[derive(Debug)]
enum Weight<S> {
    /// As it was given.
    Plain(S),
    /// For block products, which otherwise make integers of the weight in every step.
    Packed(PackedMatrix<S>),
}

impl<S: BackendStorage> Linear<S> {
    /// Creates a layer for products like `op` from a matrix `[outputs, inputs]`.
    ///
    /// # Errors
    /// Returns the errors of the device.
    pub fn new(weight: S, [inputs, outputs]: [usize; 2], op: Matmul) -> Result<Self> {
        let weight = match op.numerics {
            Some(Numerics::Block) => {
                let layout = Layout::contiguous([outputs, inputs]).transpose(0, 1)?;
                Weight::Packed(PackedMatrix::new(&weight, &layout, MatmulSide::Rhs, op)?)
            }
            _ => Weight::Plain(weight),
        };
        Ok(Self { weight, inputs, outputs })
    }

    /// Computes `y = x W^T` for `rows` rows. The weight is not copied: a transposed layout reads
    /// it.
    ///
    /// # Errors
    /// Returns the errors of the device.
    pub fn forward(&self, op: Matmul, x: &S, y: &mut S, rows: usize) -> Result<()> {
        self.forward_into(op, x, y, &Layout::contiguous([rows, self.outputs]))
    }

    /// Computes `y = x W^T` for the rows of a layout `[rows, outputs]` of `y`.
    ///
    /// # Errors
    /// Returns the errors of the device.
    pub fn forward_into(&self, op: Matmul, x: &S, y: &mut S, to: &Layout) -> Result<()> {
        let from = Layout::contiguous([to.dims()[0], self.inputs]);
        let transposed = Layout::contiguous([self.outputs, self.inputs]).transpose(0, 1)?;
        let weight = match &self.weight {
            Weight::Plain(weight) => Src::Storage(weight, &transposed),
            Weight::Packed(packed) => packed.as_src(),
        };
        S::apply_into(&Op::Matmul(op), &[(x, &from).into(), weight], y, to)
    }
}
