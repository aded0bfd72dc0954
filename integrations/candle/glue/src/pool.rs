//! Average pooling of integers, which the HAL does not define.

use isobit::{AnyStorage, BackendStorage, DType, Layout, Pool2d, Result};

/// Averages windows. The averages of integers are computed in f64 and rounded towards zero; sums
/// beyond 2^53 are rounded first.
///
/// # Errors
/// As [`BackendStorage::avg_pool2d`].
pub fn avg_pool2d(storage: &AnyStorage, layout: &Layout, windows: Pool2d) -> Result<AnyStorage> {
    if storage.dtype().is_float() {
        return storage.avg_pool2d(layout, windows);
    }
    let contiguous = Layout::contiguous(layout.shape());
    let averages = storage.to_dtype(layout, DType::F64)?.avg_pool2d(&contiguous, windows)?;
    averages.to_dtype(&Layout::contiguous(averages.len()), storage.dtype())
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobit::{AnyDevice, BackendDevice};

    #[test]
    fn integers_are_averaged_and_rounded_towards_zero() {
        let cpu = AnyDevice::cpu();
        let windows = Pool2d::new([1, 2]);
        let layout = Layout::contiguous((1, 1, 1, 4));
        let bytes = cpu.storage_from_slice(&[200u8, 255, 1, 2]).unwrap();
        assert_eq!(avg_pool2d(&bytes, &layout, windows).unwrap().to_vec::<u8>().unwrap(), [227, 1]);
        let ints = cpu.storage_from_slice(&[-3i64, 0, 1, 2]).unwrap();
        assert_eq!(avg_pool2d(&ints, &layout, windows).unwrap().to_vec::<i64>().unwrap(), [-1, 1]);
        let floats = cpu.storage_from_slice(&[-3.0f32, 0.0, 1.0, 2.0]).unwrap();
        assert_eq!(avg_pool2d(&floats, &layout, windows).unwrap().to_vec::<f32>().unwrap(), [-1.5, 1.5]);
    }
}
