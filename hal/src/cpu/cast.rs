//! `cast_into`: converts every dtype to every dtype, with a single rounding of the exact value.

use super::CpuStorage;
use super::compute::{Compute, Convert, OddF32};
use super::walk::{BlockFunction, Each, Function, dispatch_compute, map};
use crate::{Cast, DType, F8E4M3, F8E5M2, Layout, Src};

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

/// The same where magnitudes above `limit` become `beyond`: what a float of 8 bits has there by the
/// rule that is not its own. `limit` is a value at which the exact value rounds as its f32 does.
#[derive(Clone, Copy)]
struct ToOddWithin {
    limit: f32,
    beyond: f32,
}

impl<C: Compute + OddF32> Function<1, C, f32> for ToOddWithin {
    #[inline(always)]
    fn call(self, [x]: [C; 1]) -> f32 {
        let x = x.odd_f32();
        if x.abs() > self.limit { self.beyond.copysign(x) } else { x }
    }
}

/// The tie between the largest f8e4m3 and the next number that the format would have.
const F8E4M3_END: f32 = 464.0;

impl ToOddWithin {
    /// Returns the function for the rule of overflow that a dtype does not have by itself.
    const fn of(dtype: DType) -> Self {
        match dtype {
            DType::F8E4M3 => Self { limit: F8E4M3_END, beyond: F8E4M3::NAN.to_f32() },
            _ => Self { limit: F8E5M2::MAX.to_f32(), beyond: F8E5M2::MAX.to_f32() },
        }
    }
}

fn to<C: Compute + Convert<D>, D: Compute>() -> &'static dyn BlockFunction<1> {
    const { &Each::<_, C, D>::value(To) }
}

fn to_odd<C: Compute + OddF32>() -> &'static dyn BlockFunction<1> {
    const { &Each::<_, C, f32>::value(ToOdd) }
}

pub(super) fn cast(op: Cast, src: &CpuStorage, src_layout: &Layout, dst: &mut CpuStorage, dst_layout: &Layout) {
    let srcs = [Src::Storage(src, src_layout)];
    let (from, into) = (src.dtype(), dst.dtype());
    if from == into {
        return super::copy::copy(srcs[0], dst, dst_layout);
    }
    if !op.is_own_rule(into) {
        let within = ToOddWithin::of(into);
        return dispatch_compute!(from, C => map(&Each::<_, C, f32>::value(within), srcs, dst, dst_layout));
    }
    let function = dispatch_compute!(from, C => if into.is_narrow_float() {
        to_odd::<C>()
    } else {
        dispatch_compute!(into, D => to::<C, D>())
    });
    map(function, srcs, dst, dst_layout);
}
