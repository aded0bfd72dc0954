//! Products of batches. candle requires only that both operands have equally many matrices:
//! `[2, 3, m, k]` times `[3, 2, k, n]` pairs them in row-major order.

use isobit::{AnyStorage, BackendStorage, Layout, Matmul, Result, collapse};

/// Multiplies the matrices in the last two dimensions, in pairs.
///
/// # Errors
/// As [`BackendStorage::matmul`].
pub fn matmul(lhs: &AnyStorage, lhs_layout: &Layout, rhs: &AnyStorage, rhs_layout: &Layout) -> Result<AnyStorage> {
    let batches = |layout: &Layout| layout.dims()[..layout.shape().rank().saturating_sub(2)].to_vec();
    let (of_lhs, of_rhs) = (batches(lhs_layout), batches(rhs_layout));
    let count = |batches: &[usize]| batches.iter().product::<usize>();
    if of_lhs == of_rhs || count(&of_lhs) != count(&of_rhs) {
        return lhs.matmul(lhs_layout, rhs, rhs_layout, Matmul::default());
    }
    let (lhs_copy, lhs_layout) = one_batch(lhs, lhs_layout)?;
    let (rhs_copy, rhs_layout) = one_batch(rhs, rhs_layout)?;
    let (lhs, rhs) = (lhs_copy.as_ref().unwrap_or(lhs), rhs_copy.as_ref().unwrap_or(rhs));
    lhs.matmul(&lhs_layout, rhs, &rhs_layout, Matmul::default())
}

/// Returns a layout of shape `[batch, rows, columns]` for the same matrices, and a copy of them if
/// the batch dimensions cannot be merged where they are.
fn one_batch(storage: &AnyStorage, layout: &Layout) -> Result<(Option<AnyStorage>, Layout)> {
    let (batches, matrix) = layout.dims().split_at(layout.shape().rank() - 2);
    let (batch_strides, matrix_strides) = layout.stride().split_at(batches.len());
    let batch = Layout::new(batches, batch_strides, 0)?;
    let merged = collapse(&[&batch]);
    let shape = [batch.elem_count(), matrix[0], matrix[1]];
    match (&merged.dims[..], &merged.strides[0][..]) {
        ([], _) => {
            Ok((None, Layout::new(shape, [0, matrix_strides[0], matrix_strides[1]].as_slice(), layout.start_offset())?))
        }
        ([_], [stride]) => {
            let strides = [*stride, matrix_strides[0], matrix_strides[1]];
            Ok((None, Layout::new(shape, strides.as_slice(), layout.start_offset())?))
        }
        _ => Ok((Some(storage.try_clone(layout)?), Layout::contiguous(shape))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobit::{AnyDevice, BackendDevice};

    #[test]
    fn matrices_are_paired_in_row_major_order() {
        let cpu = AnyDevice::cpu();
        let values: Vec<f32> = (0..12).map(|i| i as f32).collect();
        let storage = cpu.storage_from_slice(&values).unwrap();
        // Six matrices of one row and two columns, times six of two rows and one column.
        let lhs = Layout::contiguous((2, 3, 1, 2));
        let rhs = Layout::contiguous((3, 2, 2, 1));
        let paired: Vec<f32> = values.chunks(2).map(|pair| pair[0] * pair[0] + pair[1] * pair[1]).collect();
        assert_eq!(matmul(&storage, &lhs, &storage, &rhs).unwrap().to_vec::<f32>().unwrap(), paired);
        // The same six in another order, which cannot be merged in place.
        let turned = Layout::contiguous((2, 3, 2, 1)).transpose(0, 1).unwrap();
        let order = [0, 3, 1, 4, 2, 5];
        let expected: Vec<f32> =
            (0..6).map(|i| (0..2).map(|j| values[2 * i + j] * values[2 * order[i] + j]).sum()).collect();
        assert_eq!(matmul(&storage, &lhs, &storage, &turned).unwrap().to_vec::<f32>().unwrap(), expected);
        // One matrix, repeated.
        let repeated = Layout::contiguous((1, 1, 2, 1)).broadcast_as((3, 2, 2, 1)).unwrap();
        let expected: Vec<f32> = values.chunks(2).map(|pair| pair[1]).collect();
        assert_eq!(matmul(&storage, &lhs, &storage, &repeated).unwrap().to_vec::<f32>().unwrap(), expected);
    }

    #[test]
    fn different_numbers_of_matrices_are_refused() {
        let storage = AnyDevice::cpu().storage_from_slice(&[0.0f32; 12]).unwrap();
        let (lhs, rhs) = (Layout::contiguous((2, 3, 1, 2)), Layout::contiguous((5, 2, 1)));
        assert_eq!(matmul(&storage, &lhs, &storage, &rhs).unwrap_err().kind(), isobit::ErrorKind::ShapeMismatch);
    }
}
