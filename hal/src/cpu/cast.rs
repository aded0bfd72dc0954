//! `cast_into`: converts every dtype to every dtype, with a single rounding of the exact value.

use super::CpuStorage;
use super::compute::{Compute, Convert, OddF32};
use super::walk::{BlockFunction, Each, Function, dispatch_compute, map};
use crate::{Layout, Src};

/// Conversion to another compute type.
#[derive(Clone, Copy)]
struct To;

impl<C: Compute + Convert<D>, D: Compute> Function<1, C, D> for To {
    #[inline(always)]
    fn call(self, [x]: [C; 1]) -> D {
        x.convert()
    }
}

/// Conversion to an f32 that rounds to a narrow float as the exact value would.
#[derive(Clone, Copy)]
struct ToOdd;

impl<C: Compute + OddF32> Function<1, C, f32> for ToOdd {
    #[inline(always)]
    fn call(self, [x]: [C; 1]) -> f32 {
        x.odd_f32()
    }
}

fn to<C: Compute + Convert<D>, D: Compute>() -> &'static dyn BlockFunction<1> {
    const { &Each::<_, C, D>::value(To) }
}

fn to_odd<C: Compute + OddF32>() -> &'static dyn BlockFunction<1> {
    const { &Each::<_, C, f32>::value(ToOdd) }
}

pub(super) fn cast(src: &CpuStorage, src_layout: &Layout, dst: &mut CpuStorage, dst_layout: &Layout) {
    let srcs = [Src::Storage(src, src_layout)];
    let (from, into) = (src.dtype(), dst.dtype());
    if from == into {
        return super::copy::copy(srcs[0], dst, dst_layout);
    }
    let function = dispatch_compute!(from, C => if into.is_narrow_float() {
        to_odd::<C>()
    } else {
        dispatch_compute!(into, D => to::<C, D>())
    });
    map(function, srcs, dst, dst_layout);
}
