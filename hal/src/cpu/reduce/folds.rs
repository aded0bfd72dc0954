//! What each reduction computes: the accumulator of an element, how two accumulators combine, and
//! the value before it is rounded.

use super::super::compute::Compute;
use super::super::math_dispatch::Recipes;
use super::super::norm::ExpDown;
use super::super::walk::{dispatch_compute, dispatch_recipes};
use super::{Fold, Start, state};
use crate::{DType, ReduceOp};
use std::marker::PhantomData;

/// Defines folds whose accumulator is a value of the compute type: that of one element, of two, and
/// the result of none.
macro_rules! folds {
    ($($op:ident($x:ident => $first:expr; $a:ident, $b:ident => $combine:expr; $nothing:ident);)*) => {$(
        struct $op;

        impl<C: Compute> Fold<C> for $op {
            type Acc = C;
            type Out = C;

            #[inline(always)]
            fn first($x: C, _: usize) -> C {
                $first
            }

            #[inline(always)]
            fn combine($a: C, $b: C) -> C {
                $combine
            }

            #[inline(always)]
            fn finish(acc: Option<C>, _: C) -> C {
                acc.unwrap_or(C::$nothing)
            }
        }
    )*};
}
folds! {
    Sum(x => x; a, b => a.add(b); ZERO);
    Prod(x => x; a, b => a.mul(b); ONE);
    Min(x => x; a, b => a.minimum(b); TOP);
    Max(x => x; a, b => a.maximum(b); BOTTOM);
    Magnitudes(x => x.abs(); a, b => a.add(b); ZERO);
    Squares(x => x.mul(x); a, b => a.add(b); ZERO);
    MaxNorm(x => x.abs(); a, b => a.maximum(b); ZERO);
}

/// Defines folds that choose one element: the first NaN if there is one, otherwise the first
/// element that is `$before` all others.
macro_rules! arg_folds {
    ($($op:ident $before:tt)*) => {$(
        struct $op;

        impl<C: Compute> Fold<C> for $op {
            type Acc = (C, u32);
            type Out = u32;

            #[inline(always)]
            fn first(x: C, index: usize) -> Self::Acc {
                (x, index as u32)
            }

            #[inline(always)]
            fn combine(a: Self::Acc, b: Self::Acc) -> Self::Acc {
                let earlier = a.1 < b.1;
                let a_goes = if a.0.is_nan() || b.0.is_nan() {
                    a.0.is_nan() && (!b.0.is_nan() || earlier)
                } else {
                    a.0 $before b.0 || (a.0 == b.0 && earlier)
                };
                if a_goes { a } else { b }
            }

            #[inline(always)]
            fn finish(acc: Option<Self::Acc>, _: C) -> u32 {
                acc.expect("validated to have elements").1
            }
        }
    )*};
}
arg_folds! { ArgMin < ArgMax > }

/// Defines folds of what elements are not 0: 1 or 0, and the result of none.
macro_rules! logical_folds {
    ($($op:ident $join:tt $nothing:literal)*) => {$(
        struct $op;

        impl<C: Compute> Fold<C> for $op {
            type Acc = u8;
            type Out = u8;

            #[inline(always)]
            fn first(x: C, _: usize) -> u8 {
                u8::from(x != C::ZERO)
            }

            #[inline(always)]
            fn combine(a: u8, b: u8) -> u8 {
                a $join b
            }

            #[inline(always)]
            fn finish(acc: Option<u8>, _: C) -> u8 {
                acc.unwrap_or($nothing)
            }
        }
    )*};
}
logical_folds! { Any | 0 All & 1 }

/// The sum of e^(x - m), with m the maximum, which is the seed; then m plus its logarithm.
struct LogSumExp<T>(PhantomData<T>);

impl<T: ExpDown<Compute: Recipes<Compute = T::Compute>>> Fold<T::Compute> for LogSumExp<T> {
    type Acc = T::Compute;
    type Out = T::Compute;

    const PREPARES: bool = true;

    #[inline(always)]
    fn prepare(x: T::Compute, seed: T::Compute) -> T::Compute {
        T::exp_down(x.sub(seed))
    }

    #[inline(always)]
    fn first(x: T::Compute, _: usize) -> T::Compute {
        x
    }

    #[inline(always)]
    fn combine(a: T::Compute, b: T::Compute) -> T::Compute {
        a.add(b)
    }

    #[inline(always)]
    fn finish(acc: Option<T::Compute>, seed: T::Compute) -> T::Compute {
        // An infinite maximum, or NaN, is the result. So is that of no elements.
        let is_finite = seed.sub(seed) == T::Compute::ZERO;
        match acc {
            Some(sum) if is_finite => seed.add(<T::Compute as Recipes>::log(sum)),
            _ => seed,
        }
    }
}

/// The count of elements, the mean of their differences from the first one, which is the seed, and
/// the sum of squared deviations from that mean.
#[derive(Clone, Copy)]
struct Spread<C> {
    count: C,
    mean: C,
    squares: C,
}

struct Moments;

impl<C: Compute> Fold<C> for Moments {
    type Acc = Spread<C>;
    type Out = C;

    const PREPARES: bool = true;

    #[inline(always)]
    fn prepare(x: C, seed: C) -> C {
        x.sub(seed)
    }

    #[inline(always)]
    fn first(x: C, _: usize) -> Spread<C> {
        Spread { count: C::ONE, mean: x, squares: C::ZERO }
    }

    #[inline(always)]
    fn combine(a: Spread<C>, b: Spread<C>) -> Spread<C> {
        let count = a.count.add(b.count);
        let apart = b.mean.sub(a.mean);
        let weight = b.count.div(count);
        Spread {
            count,
            mean: apart.affine(weight, a.mean),
            squares: apart.mul(apart).affine(a.count.mul(weight), a.squares.add(b.squares)),
        }
    }

    /// The difference is 0 unless the mean is infinite or NaN; then there is no deviation from it.
    #[inline(always)]
    fn finish(acc: Option<Spread<C>>, _: C) -> C {
        acc.map_or(C::ZERO, |s| s.squares.add(s.mean.sub(s.mean)))
    }
}

/// What must be known of a sequence before its elements are folded.
#[derive(Clone, Copy)]
pub(super) enum Seed {
    Unused,
    /// The first element.
    First,
    /// The result of another fold.
    Reduced(Start),
}

impl Seed {
    pub fn of(op: ReduceOp, dtype: DType) -> Self {
        match op {
            ReduceOp::Var | ReduceOp::Std => Seed::First,
            ReduceOp::LogSumExp => Seed::Reduced(start(ReduceOp::Max, dtype)),
            _ => Seed::Unused,
        }
    }
}

/// Returns the function that starts a result. A mean, a root or a quotient is a sum until it is
/// written.
pub(super) fn start(op: ReduceOp, dtype: DType) -> Start {
    if op == ReduceOp::LogSumExp {
        return dispatch_recipes!(dtype, R => state::<<R as super::Element>::Compute, LogSumExp<R>>);
    }
    dispatch_compute!(dtype, C => match op {
        ReduceOp::Sum | ReduceOp::Mean => state::<C, Sum>,
        ReduceOp::Prod => state::<C, Prod>,
        ReduceOp::Min => state::<C, Min>,
        ReduceOp::Max => state::<C, Max>,
        ReduceOp::ArgMin => state::<C, ArgMin>,
        ReduceOp::ArgMax => state::<C, ArgMax>,
        ReduceOp::L1Norm => state::<C, Magnitudes>,
        ReduceOp::L2Norm => state::<C, Squares>,
        ReduceOp::MaxNorm => state::<C, MaxNorm>,
        ReduceOp::Any => state::<C, Any>,
        ReduceOp::All => state::<C, All>,
        ReduceOp::Var | ReduceOp::Std => state::<C, Moments>,
        ReduceOp::LogSumExp => unreachable!("it depends on the dtype"),
    })
}
