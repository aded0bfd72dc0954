//! Fused additions: the sum as `add` rounds it, then the function of one argument of the dtype.

use super::CpuStorage;
use super::compute::Compute;
use super::recipes::Recipes;
use super::vector::{Kernel, vectorised};
use super::walk::{Walk, dispatch_float, zeroed};
use crate::{Activation, Layout, Src};

struct Add<'a, C>([&'a [C]; 2], &'a mut [C]);

impl<C: Compute> Kernel for Add<'_, C> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Add([x, bias], sums) = self;
        for (sum, (&x, &bias)) in sums.iter_mut().zip(x.iter().zip(bias)) {
            *sum = x.add(bias);
        }
    }
}

struct Map<'a, C, F>(F, &'a [C], &'a mut [C]);

impl<C: Compute, F: Fn(C) -> C> Kernel for Map<'_, C, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (out, &x) in self.2.iter_mut().zip(self.1) {
            *out = (self.0)(x);
        }
    }
}

fn run<T: Recipes>(
    function: impl Fn(T::Compute) -> T::Compute + Copy + Sync,
    srcs: [Src<'_, CpuStorage>; 2],
    dst: &mut CpuStorage,
    dst_layout: &Layout,
) {
    Walk::new(srcs, dst, dst_layout).run(&|blocks| {
        let (mut elements, mut widened) = ([zeroed::<T>(); 2], [zeroed::<T::Compute>(); 2]);
        let (mut rounded, mut scratch, mut scattered) = (zeroed::<T>(), zeroed::<T::Compute>(), zeroed::<T>());
        for block in blocks {
            let ([x, bias], [wide_x, wide_bias]) = (&mut elements, &mut widened);
            let operands = [T::load(block.source(0, x), wide_x), T::load(block.source(1, bias), wide_bias)];
            let sums = &mut rounded[..block.len()];
            T::store(sums, &mut scratch, |out| vectorised(Add(operands, out)));
            let sums = T::load(sums, wide_x);
            block.target(&mut scattered, |out| {
                T::store(out, &mut scratch, |out| vectorised(Map(function, sums, out)));
            });
        }
    });
}

pub(super) fn add_activation(
    op: Activation,
    srcs: [Src<'_, CpuStorage>; 2],
    dst: &mut CpuStorage,
    dst_layout: &Layout,
) {
    dispatch_float!(dst.dtype(), T => match op {
        Activation::Relu => run::<T>(Compute::relu, srcs, dst, dst_layout),
        Activation::Gelu => run::<T>(T::gelu, srcs, dst, dst_layout),
        Activation::GeluErf => run::<T>(T::gelu_erf, srcs, dst, dst_layout),
        Activation::Silu => run::<T>(T::silu, srcs, dst, dst_layout),
    });
}
