//! `copy_into`: copies the bits of elements from one layout to another.

use super::CpuStorage;
use super::walk::{Walk, dispatch_size, zeroed};
use crate::{Layout, Src};

pub(super) fn copy(src: Src<'_, CpuStorage>, dst: &mut CpuStorage, dst_layout: &Layout) {
    if matches!(src, Src::InPlace) {
        return;
    }
    dispatch_size!(dst.dtype(), T => {
        Walk::new([src], dst, dst_layout).run(&|blocks| {
            let (mut gathered, mut scattered) = (zeroed::<T>(), zeroed::<T>());
            for block in blocks {
                block.target(&mut scattered, |out| out.copy_from_slice(block.source(0, &mut gathered)));
            }
        });
    });
}
