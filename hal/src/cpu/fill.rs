//! `const_set`: writes the bits of one value to every element.

use super::CpuStorage;
use super::walk::{Walk, dispatch_size, zeroed};
use crate::{Layout, Scalar};

pub(super) fn fill(value: Scalar, dst: &mut CpuStorage, layout: &Layout) {
    dispatch_size!(dst.dtype(), T => {
        let value = value.to_bits() as T;
        Walk::new([], dst, layout).run(&|blocks| {
            let mut scattered = zeroed::<T>();
            blocks.for_each(|block| block.target(&mut scattered, |out| out.fill(value)));
        });
    });
}
