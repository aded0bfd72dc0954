//! Matrices that are packed once for many block products (`PackedMatrix` of the HAL): their packed
//! form is what a product packs for itself, matrix after matrix.

use super::{Operand, pack_lines, packed_bytes};
use crate::launch::index::{Dim, IndexDims};
use crate::launch::sizes;
use crate::runtime::{DevicePtr, GpuRuntime};
use crate::storage::GpuStorage;
use isobit_hal::{
    BackendDevice, BackendStorage, DType, Error, ErrorKind, Layout, Matmul, MatmulSide, Numerics, Result, Shape, Src,
};

/// Where a product finds an operand that is packed already.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Form {
    pub at: DevicePtr,
    /// Bytes of one packed matrix, and elements of the matrix itself.
    pub bytes: usize,
    pub elements: usize,
}

impl Form {
    /// Returns the packed form of a validated input, or `None` if it has none that the product can
    /// use: the layout takes parts of matrices, or the product is computed in strips.
    ///
    /// # Errors
    /// `InvalidArgument` if the form has another length than its matrices need.
    pub fn of<R: GpuRuntime>(src: Src<'_, GpuStorage<R>>, digits: usize) -> Result<Option<Self>> {
        let Src::Packed(packed) = src else { return Ok(None) };
        let (Some(form), (matrix, layout)) = (packed.form(), packed.matrix()) else { return Ok(None) };
        let Some(bytes) = one(packed.shape(), packed.side(), digits) else { return Ok(None) };
        if !takes_whole_matrices(layout, packed.shape()) {
            return Ok(None);
        }
        let [.., rows, cols] = *layout.dims() else { unreachable!("validated to have two dimensions") };
        // Validation keeps the layout inside `matrix`, hence what follows inside the form.
        let (elements, needed) = (rows * cols, bytes.saturating_mul(matrix.len() / (rows * cols)));
        if form.dtype() != DType::U8 || form.len() != needed {
            let message = format!(
                "the packed form of {} matrices of {rows} x {cols} has {needed} bytes, not {} elements of {}: use the one \
                 that pack_matrix returned for them",
                matrix.len() / elements,
                form.len(),
                form.dtype()
            );
            return Err(Error::new(ErrorKind::InvalidArgument, message).with_layouts(&[layout]));
        }
        Ok(Some(Self { at: form.ptr(), bytes, elements }.after(layout.start_offset())))
    }

    /// Returns how many matrices so many elements are, which are whole matrices.
    pub fn matrices(&self, elements: usize) -> usize {
        elements / self.elements
    }

    /// Returns the form of what follows so many elements, which are whole matrices.
    pub fn after(self, elements: usize) -> Self {
        Self { at: self.at.at(DType::U8, self.matrices(elements) * self.bytes), ..self }
    }
}

/// Returns the bytes of each packed matrix of a shape; `None` if there are no elements, or more
/// lines than a launch has.
fn one(shape: &Shape, side: MatmulSide, digits: usize) -> Option<usize> {
    let [.., rows, cols] = *shape.dims() else { return None };
    let (lines, k) = if side == MatmulSide::Lhs { (rows, cols) } else { (cols, rows) };
    (shape.elem_count() != 0 && !sizes::MATMUL_SIDE.is_exceeded(lines)).then(|| packed_bytes(digits, lines, k))
}

/// Returns whether a layout consists of matrices of a contiguous buffer of the shape.
fn takes_whole_matrices(layout: &Layout, shape: &Shape) -> bool {
    let ([.., rows, cols], [batch @ .., m, n]) = (shape.dims(), layout.dims()) else { return false };
    let ([steps @ .., row, col], elements) = (layout.stride(), rows * cols) else { return false };
    (m, n) == (rows, cols)
        && (*m == 1 || row == cols)
        && (*n == 1 || *col == 1)
        && layout.start_offset().is_multiple_of(elements)
        && batch.iter().zip(steps).all(|(&size, step)| size == 1 || step.is_multiple_of(elements))
}

/// Packs the matrices of a contiguous storage; `None` if block products of the numerics do not
/// exist, or do not take them packed.
pub(crate) fn pack_matrix<R: GpuRuntime>(
    storage: &GpuStorage<R>,
    shape: &Shape,
    side: MatmulSide,
    op: Matmul,
) -> Result<Option<GpuStorage<R>>> {
    let (device, dtype) = (storage.device(), storage.dtype());
    if shape.rank() < 2 || shape.elem_count() != storage.len() {
        let message = format!(
            "a storage of {} elements cannot be packed as matrices of shape {shape}: pass the shape of its contiguous layout",
            storage.len()
        );
        return Err(Error::new(ErrorKind::InvalidArgument, message));
    }
    let is_block = op.numerics.unwrap_or_else(|| device.default_numerics()) == Numerics::Block;
    let Some(digits) = Matmul::block_digits(dtype).filter(|_| is_block) else { return Ok(None) };
    let Some(bytes) = one(shape, side, digits) else { return Ok(None) };
    let [.., rows, cols] = *shape.dims() else { unreachable!("checked above") };
    let matrices = shape.elem_count() / (rows * cols);
    let mut form = device.alloc(bytes.saturating_mul(matrices), DType::U8)?;
    let from = Operand { ptr: storage.ptr(), row: cols, col: 1 };
    let (from, lines, k) = match side {
        MatmulSide::Lhs => (from, rows, cols),
        MatmulSide::Rhs => (from.transposed(), cols, rows),
    };
    let layout = Layout::contiguous(shape);
    GpuStorage::ordered(&[Src::Storage(storage, &layout)], &mut form, |form| {
        let all = super::pack_blocks(lines, k).saturating_mul(matrices);
        let most = (sizes::MATMUL_BLOCKS.limit(all) / super::pack_blocks(lines, k)).max(1);
        (0..matrices).step_by(most).try_for_each(|first| {
            let batch = [Dim { size: most.min(matrices - first), stride: [rows * cols] }];
            let (from, to) = (from.offset(dtype, first * rows * cols), form.ptr().at(DType::U8, first * bytes));
            // SAFETY: the matrices are all elements of the storage, and the form has space for each
            // of them.
            unsafe { pack_lines(device, dtype, from, [lines, k], bytes, &IndexDims::from_slice(&batch), to) }
        })
    })?;
    Ok(Some(form))
}
