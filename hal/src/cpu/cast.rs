//! `cast_into`: every dtype to every dtype, with one rounding from the exact value.

use super::CpuStorage;
use super::compute::{Convert, OddF32};
use super::element::Element;
use super::walk::{Function, map};
use crate::{Layout, Src};
use std::marker::PhantomData;

struct To<D>(PhantomData<D>);

impl<D> Clone for To<D> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<D> Copy for To<D> {}

impl<D: Element, C: Convert<D::Compute> + OddF32> Function<1, C, D::Compute> for To<D> {
    #[inline(always)]
    fn call(self, [x]: [C; 1]) -> D::Compute {
        D::prepare(x)
    }
}

pub(super) fn cast(src: &CpuStorage, src_layout: &Layout, dst: &mut CpuStorage, dst_layout: &Layout) {
    let srcs = [Src::Storage(src, src_layout)];
    if src.dtype() == dst.dtype() {
        return super::copy::copy(srcs[0], dst, dst_layout);
    }
    dispatch_dtype!(src.dtype(), S => dispatch_dtype!(dst.dtype(), D => {
        map::<1, S, D>(To::<D>(PhantomData), srcs, dst, dst_layout);
    }));
}
