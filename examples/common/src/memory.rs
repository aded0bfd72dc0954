//! Moves elements from the host to a device, in a model's dtype.

use isobit::{BackendDevice, BackendStorage, DType, Layout, Result, WithDType};

/// Uploads elements to a device, which rounds them to the model's dtype.
///
/// # Errors
/// Returns the errors of the device.
pub fn upload<D: BackendDevice>(device: &D, elements: &[f32], dtype: DType) -> Result<D::Storage> {
    let storage = device.storage_from_slice(elements)?;
    match dtype {
        DType::F32 => Ok(storage),
        _ => storage.to_dtype(&Layout::contiguous(elements.len()), dtype),
    }
}

/// Overwrites the first elements of a storage, in its dtype.
///
/// # Errors
/// Returns the errors of the device.
pub fn put<S: BackendStorage, T: WithDType>(elements: &[T], storage: &mut S) -> Result<()> {
    if storage.dtype() == T::DTYPE {
        return storage.write_slice(0, elements);
    }
    let layout = Layout::contiguous(elements.len());
    let uploaded = storage.device().storage_from_slice(elements)?;
    S::cast_into(&uploaded, &layout, storage, &layout)
}

/// Copies elements to the host as f32.
///
/// # Errors
/// Returns the errors of the device, including those of earlier work.
pub fn read<S: BackendStorage>(storage: &S, layout: &Layout) -> Result<Vec<f32>> {
    storage.to_dtype(layout, DType::F32)?.to_vec()
}
