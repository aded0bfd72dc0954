//! Comparisons of two arguments of the same dtype; the results are u8.

use super::CpuStorage;
use super::compute::Compute;
use super::walk::{BlockFunction, Each, Function, dispatch_compute, map};
use crate::{CmpOp, Layout, Src};

macro_rules! functions {
    ($($op:ident $operator:tt)*) => {
        $(
            #[derive(Clone, Copy)]
            struct $op;

            impl<C: Compute> Function<2, C, u8> for $op {
                #[inline(always)]
                fn call(self, [x, y]: [C; 2]) -> u8 {
                    (x $operator y).into()
                }
            }
        )*

        fn function<C: Compute>(op: CmpOp) -> &'static dyn BlockFunction<2> {
            match op {
                $(CmpOp::$op => const { &Each::<_, C, u8>::value($op) },)*
            }
        }
    };
}
functions! { Eq == Ne != Lt < Le <= Gt > Ge >= }

pub(super) fn compare(op: CmpOp, srcs: [Src<'_, CpuStorage>; 2], dst: &mut CpuStorage, dst_layout: &Layout) {
    let dtype = srcs.iter().find_map(|src| src.storage()).map_or(dst.dtype(), |(s, _)| s.dtype());
    map(dispatch_compute!(dtype, C => function::<C>(op)), srcs, dst, dst_layout);
}
