//! Operands of matrix products that are prepared once for many products.

use crate::{BackendStorage, DType, Error, ErrorKind, Layout, Matmul, Op, Result, Shape, Src};

/// Which operand of a matrix product a matrix is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MatmulSide {
    /// The left operand, `[.., m, k]`.
    Lhs,
    /// The right operand, `[.., k, n]`.
    Rhs,
}

impl MatmulSide {
    /// Returns the position among the inputs of [`Op::Matmul`].
    pub const fn input(self) -> usize {
        match self {
            MatmulSide::Lhs => 0,
            MatmulSide::Rhs => 1,
        }
    }

    fn name(self) -> &'static str {
        match self {
            MatmulSide::Lhs => "the left operand",
            MatmulSide::Rhs => "the right operand",
        }
    }
}

/// One operand of matrix products, prepared once for the many products that reuse it, such as the
/// weights of a layer. Products with it have the same bits as products with the matrix itself.
///
/// [Block products](crate::Numerics::Block) pack their operands as integers before they multiply
/// them, which takes about the time to read and write the operand. A packed matrix skips this pass
/// for its side. That pays where a product is short against its operands: many products with the
/// same large matrix and few rows or columns on the other side, but at least 16: with fewer only
/// the shorter operand is packed at all. Products with other numerics, and drivers without a packed
/// form (the CPU), use the matrix.
///
/// # Memory
/// It holds a contiguous copy of the matrix, because lines with an infinity or a NaN and products
/// with other numerics need the elements, and the driver's packed form. On a GPU that has, for
/// every element, two levels of one byte per [digit](Matmul::block_digits) and 0.06 bytes: 4.1
/// bytes for f8e4m3 and bf16, 6.1 for f16 and f32, with lines counted in eights and k in 128s.
/// [`bytes`](Self::bytes) returns the total.
///
/// # Batches
/// The matrix may have batch dimensions. A product needs equal batch dimensions on both sides, so
/// pass a broadcast of [`layout`](Self::layout) to [`as_src_with`](Self::as_src_with) where the
/// other operand has more.
///
/// ```rust
/// use isobit_hal::{BackendDevice, BackendStorage, CpuDevice, CpuStorage, Layout};
/// use isobit_hal::{Matmul, MatmulSide, Numerics, Op, PackedMatrix};
///
/// let op = Matmul::with_numerics(Numerics::Block);
/// let weights = CpuDevice.storage_from_slice(&[1.0f32, 2.0, 3.0, 4.0])?;
/// let packed = PackedMatrix::new(&weights, &Layout::contiguous((2, 2)), MatmulSide::Rhs, op)?;
///
/// let x = CpuDevice.storage_from_slice(&[1.0f32, 0.0, 1.0, 1.0])?;
/// let (rows, mut y) = (Layout::contiguous((2, 2)), CpuDevice.storage_from_slice(&[0.0f32; 4])?);
/// CpuStorage::apply_into(&Op::Matmul(op), &[(&x, &rows).into(), packed.as_src()], &mut y, &rows)?;
/// assert_eq!(y.to_vec::<f32>()?, [1.0, 2.0, 4.0, 6.0]);
///
/// // The same matrix for a batch of two.
/// let batch = Layout::contiguous((2, 1, 2));
/// let repeated = packed.layout().broadcast_as((2, 2, 2))?;
/// let inputs = [(&x, &batch).into(), packed.as_src_with(&repeated)];
/// CpuStorage::apply_into(&Op::Matmul(op), &inputs, &mut y, &batch)?;
/// assert_eq!(y.to_vec::<f32>()?, [1.0, 2.0, 4.0, 6.0]);
/// # Ok::<(), isobit_hal::Error>(())
/// ```
#[derive(Debug)]
pub struct PackedMatrix<S> {
    matrix: S,
    form: Option<S>,
    layout: Layout,
    side: MatmulSide,
}

impl<S: BackendStorage> PackedMatrix<S> {
    /// Copies a matrix, or a batch of matrices, and packs it for products like `op`. Later changes
    /// of `storage` do not change it. Dtypes: those of [`Op::Matmul`].
    ///
    /// # Errors
    /// `UnsupportedDtype` if the dtype has no matrix products; `ShapeMismatch` if the layout has
    /// fewer than two dimensions; `InvalidArgument` if it exceeds its buffer; `OutOfMemory`.
    pub fn new(storage: &S, layout: &Layout, side: MatmulSide, op: Matmul) -> Result<Self> {
        let check = || {
            Op::Matmul(op).check_dtypes(&[storage.dtype(); 3])?;
            if layout.shape().rank() < 2 {
                let message =
                    format!("a packed matrix needs two dimensions at least, not the shape {}", layout.shape());
                return Err(Error::new(ErrorKind::ShapeMismatch, message).with_layouts(&[layout]));
            }
            Ok(())
        };
        check().map_err(|e| e.with_op(Op::Matmul(op)))?;
        let matrix = storage.try_clone(layout)?;
        let form = matrix.pack_matrix(layout.shape(), side, op)?;
        Ok(Self { matrix, form, layout: Layout::contiguous(layout.shape()), side })
    }

    /// Returns the dtype of the elements.
    pub fn dtype(&self) -> DType {
        self.matrix.dtype()
    }

    /// Returns the device that the matrix lives on.
    pub fn device(&self) -> &S::Device {
        self.matrix.device()
    }

    /// Returns the bytes of device memory that it holds.
    pub fn bytes(&self) -> usize {
        let of = |storage: &S| storage.len() * storage.dtype().size_in_bytes();
        of(&self.matrix) + self.form.as_ref().map_or(0, of)
    }
}

impl<S> PackedMatrix<S> {
    /// Returns the contiguous layout of the matrix.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Returns the operand that it is packed as.
    pub fn side(&self) -> MatmulSide {
        self.side
    }

    /// Returns the elements, for anything but a product: [`layout`](Self::layout) says where they
    /// are.
    pub fn matrix(&self) -> &S {
        &self.matrix
    }

    /// Whether the driver has a packed form for it. Without one, products use the matrix.
    pub fn has_packed_form(&self) -> bool {
        self.form.is_some()
    }

    /// Returns the matrix as an input of [`Op::Matmul`].
    pub fn as_src(&self) -> Src<'_, S> {
        self.as_src_with(&self.layout)
    }

    /// Returns the matrix as an input of [`Op::Matmul`], through another layout of the copy:
    /// usually a broadcast of [`layout`](Self::layout), or some of its batch. A layout that does
    /// not take matrices as a whole (rows of them, or their transpose) gives the right product, but
    /// the driver cannot use the packed form for it.
    pub fn as_src_with<'a>(&'a self, layout: &'a Layout) -> Src<'a, S> {
        let (matrix, form) = (&self.matrix, self.form.as_ref());
        Src::Packed(PackedSrc { matrix, layout, form, shape: self.layout.shape(), side: self.side })
    }
}

/// A [`PackedMatrix`] as an input of a product: what a driver sees of it.
#[derive(Debug)]
pub struct PackedSrc<'a, S> {
    matrix: &'a S,
    layout: &'a Layout,
    form: Option<&'a S>,
    shape: &'a Shape,
    side: MatmulSide,
}

impl<S> Clone for PackedSrc<'_, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for PackedSrc<'_, S> {}

impl<'a, S> PackedSrc<'a, S> {
    /// Returns the elements and the layout of this input. A driver without a packed form uses them
    /// as those of any other input; [`Src::storage`] returns them too.
    pub fn matrix(self) -> (&'a S, &'a Layout) {
        (self.matrix, self.layout)
    }

    /// Returns what [`BackendStorage::pack_matrix`] returned for the contiguous elements.
    pub fn form(self) -> Option<&'a S> {
        self.form
    }

    /// Returns the shape that was packed. The layout may be another one of the same elements.
    pub fn shape(self) -> &'a Shape {
        self.shape
    }

    /// Returns the operand that the matrix is packed as.
    pub fn side(self) -> MatmulSide {
        self.side
    }

    pub(crate) fn try_map<T>(self, mut f: impl FnMut(&'a S) -> Result<&'a T>) -> Result<PackedSrc<'a, T>> {
        let Self { matrix, layout, form, shape, side } = self;
        Ok(PackedSrc { matrix: f(matrix)?, layout, form: form.map(f).transpose()?, shape, side })
    }

    /// Checks that an operation takes the matrix as this input.
    pub(crate) fn check(self, op: &Op, input: usize) -> Result<()> {
        let message = match op {
            Op::Matmul(_) if input == self.side.input() => return Ok(()),
            Op::Matmul(_) => format!(
                "input {input} is a matrix packed as {}: pack it for the side that it is passed on",
                self.side.name()
            ),
            _ => format!("{op} takes no packed matrix as input {input}: pass PackedMatrix::matrix and its layout"),
        };
        Err(Error::new(ErrorKind::InvalidArgument, message).with_layouts(&[self.layout]))
    }
}
