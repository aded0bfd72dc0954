//! Functions of two arguments of one dtype.

use super::CpuStorage;
use super::compute::Compute;
use super::element::Element;
use super::walk::{Function, map};
use crate::{BinaryOp, Layout, Src};
use std::marker::PhantomData;

macro_rules! functions {
    ($($op:ident($x:ident, $y:ident) => $result:expr;)*) => {
        $(
            struct $op<T>(PhantomData<T>);

            impl<T> Clone for $op<T> {
                fn clone(&self) -> Self {
                    *self
                }
            }
            impl<T> Copy for $op<T> {}

            impl<T: Element> Function<2, T::Compute, T::Compute> for $op<T> {
                #[inline(always)]
                fn call(self, [$x, $y]: [T::Compute; 2]) -> T::Compute {
                    $result
                }
            }
        )*

        fn run<T: Element>(op: BinaryOp, srcs: [Src<'_, CpuStorage>; 2], dst: &mut CpuStorage, dst_layout: &Layout) {
            match op {
                $(BinaryOp::$op => map::<2, T, T>($op::<T>(PhantomData), srcs, dst, dst_layout),)*
            }
        }
    };
}

functions! {
    Add(x, y) => x.add(y);
    Sub(x, y) => x.sub(y);
    Mul(x, y) => x.mul(y);
    Div(x, y) => x.div(y);
    Rem(x, y) => x.rem(y);
    Pow(x, y) => T::power(x, y);
    Maximum(x, y) => x.maximum(y);
    Minimum(x, y) => x.minimum(y);
}

pub(super) fn binary(op: BinaryOp, srcs: [Src<'_, CpuStorage>; 2], dst: &mut CpuStorage, dst_layout: &Layout) {
    dispatch_dtype!(dst.dtype(), T => run::<T>(op, srcs, dst, dst_layout))
}
