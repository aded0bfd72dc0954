//! Ids of u8. In candle the maximum of every id type is padding; Isobit pads with the maxima of u32
//! and i64 only, so that u8 ids can address 256 rows.

use isobit::{AnyStorage, BackendStorage, CmpOp, DType, Layout, Result, Scalar};

/// Converts u8 ids to u32 ids in which padding, 255, is the padding of u32. Returns `None` for ids
/// of other dtypes, which need no conversion. The result is contiguous.
///
/// # Errors
/// `OutOfMemory` and the driver's errors.
pub fn padded_ids(ids: &AnyStorage, layout: &Layout) -> Result<Option<AnyStorage>> {
    if ids.dtype() != DType::U8 {
        return Ok(None);
    }
    let device = ids.device();
    let whole = |value: Scalar| -> Result<(AnyStorage, Layout)> {
        let mut one = isobit::BackendDevice::zeros(device, &1.into(), value.dtype())?;
        one.const_set(value, &Layout::contiguous(1))?;
        Ok((one, Layout::contiguous(1).broadcast_as(layout.shape())?))
    };
    let (mark, mark_layout) = whole(Scalar::U8(u8::MAX))?;
    let (padding, padding_layout) = whole(Scalar::U32(u32::MAX))?;
    let is_padding = ids.cmp(layout, &mark, &mark_layout, CmpOp::Eq)?;
    let wide = ids.to_dtype(layout, DType::U32)?;
    let contiguous = Layout::contiguous(layout.shape());
    is_padding.where_cond(&contiguous, &padding, &padding_layout, &wide, &contiguous).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobit::{AnyDevice, BackendDevice};

    #[test]
    fn the_greatest_u8_is_padding_and_other_dtypes_stay() {
        let cpu = AnyDevice::cpu();
        let ids = cpu.storage_from_slice(&[9u8, 3, 255, 0, 9]).unwrap();
        let wide = padded_ids(&ids, &Layout::contiguous_with_offset(3, 1)).unwrap().unwrap();
        assert_eq!(wide.to_vec::<u32>().unwrap(), [3, u32::MAX, 0]);
        // Every second element.
        let wide = padded_ids(&ids, &Layout::contiguous(5).step(0, 2).unwrap()).unwrap().unwrap();
        assert_eq!(wide.to_vec::<u32>().unwrap(), [9, u32::MAX, 9]);
        let ids = cpu.storage_from_slice(&[255u32]).unwrap();
        assert!(padded_ids(&ids, &Layout::contiguous(1)).unwrap().is_none());
    }
}
