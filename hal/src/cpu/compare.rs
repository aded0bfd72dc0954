//! Comparisons of two arguments of the same dtype, and tests of one; the results are u8.

use super::CpuStorage;
use super::compute::Compute;
use super::walk::{BlockFunction, Each, Function, dispatch_compute, map};
use crate::{CmpOp, Layout, Predicate, Src};

/// Defines a type for each function, and a function that maps an operation to its pass over blocks.
macro_rules! functions {
    ($find:ident: $kind:ident<$n:literal> { $($op:ident[$($x:ident),*] => $result:expr;)* }) => {
        $(
            #[derive(Clone, Copy)]
            struct $op;

            impl<C: Compute> Function<$n, C, u8> for $op {
                #[inline(always)]
                fn call(self, [$($x),*]: [C; $n]) -> u8 {
                    ($result).into()
                }
            }
        )*

        fn $find<C: Compute>(op: $kind) -> &'static dyn BlockFunction<$n> {
            match op {
                $($kind::$op => const { &Each::<_, C, u8>::value($op) },)*
            }
        }
    };
}

functions! {
    comparison: CmpOp<2> {
        Eq[x, y] => x == y;
        Ne[x, y] => x != y;
        Lt[x, y] => x < y;
        Le[x, y] => x <= y;
        Gt[x, y] => x > y;
        Ge[x, y] => x >= y;
        LogicalAnd[x, y] => x != C::ZERO && y != C::ZERO;
        LogicalOr[x, y] => x != C::ZERO || y != C::ZERO;
        LogicalXor[x, y] => (x != C::ZERO) != (y != C::ZERO);
    }
}

functions! {
    test: Predicate<1> {
        IsNan[x] => x.is_nan();
        // The difference of two equal values is 0, except of infinities.
        IsInf[x] => !x.is_nan() && x.sub(x).is_nan();
        LogicalNot[x] => x == C::ZERO;
    }
}

pub(super) fn compare(op: CmpOp, srcs: [Src<'_, CpuStorage>; 2], dst: &mut CpuStorage, dst_layout: &Layout) {
    let dtype = srcs.iter().find_map(|src| src.storage()).map_or(dst.dtype(), |(s, _)| s.dtype());
    map(dispatch_compute!(dtype, C => comparison::<C>(op)), srcs, dst, dst_layout);
}

pub(super) fn predicate(op: Predicate, src: Src<'_, CpuStorage>, dst: &mut CpuStorage, dst_layout: &Layout) {
    let dtype = src.storage().map_or(dst.dtype(), |(s, _)| s.dtype());
    map(dispatch_compute!(dtype, C => test::<C>(op)), [src], dst, dst_layout);
}
