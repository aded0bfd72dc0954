//! Softmax and norms, most of them over the last dimension. Their sums follow the order of
//! reductions. A row is widened into a buffer, computed in place, and rounded when it is written;
//! several threads share a row of many segments.

mod channels;
mod exp;
mod rows;

use super::CpuStorage;
use super::binary::binary;
use super::compute::{Compute, FloatCompute};
use super::copy::copy;
use super::element::Element;
use super::math_dispatch::Recipes;
use super::reduce::{Lanes, SEGMENT, reduce_segments};
use super::vector::{Kernel, vectorised};
use super::walk::{Function, dispatch_float};
use crate::{BinaryOp, Layout, Op, Result, Src};
pub(super) use channels::{batch_norm, group_norm, local_response_norm};
pub(super) use exp::ExpDown;
use rayon::prelude::*;
use rows::{Rows, widened};

type Input<'a> = (&'a CpuStorage, &'a Layout);

pub(super) fn softmax(op: &Op, src: Input<'_>, dst: &mut CpuStorage, dl: &Layout) {
    let [log, safe] = [Op::LogSoftmax, Op::SafeSoftmax].map(|form| *op == form);
    dispatch_float!(dst.dtype(), T => Rows::<T>::new(src, dst, dl).run(&|_, x| {
        let hidden = <T as Element>::Compute::from_parameter(f64::NEG_INFINITY);
        if safe && x.iter().all(|&x| x == hidden) {
            x.fill(Compute::ZERO);
        } else {
            softmax_row::<T>(log, x);
        }
    }))
}

pub(super) fn rms_norm(eps: f64, src: Input<'_>, weight: Input<'_>, dst: &mut CpuStorage, dl: &Layout) {
    dispatch_float!(dst.dtype(), T => {
        let weight = widened::<T>(weight);
        Rows::<T>::new(src, dst, dl).run(&|_, x| {
            let scale = scale(x, eps);
            let (weight, bias) = (&weight, None);
            in_parts(x, &|start, x| vectorised(Weigh { x, start, scale, weight, bias }));
        })
    })
}

pub(super) fn layer_norm(
    eps: f64,
    src: Input<'_>,
    parameters: [Option<Input<'_>>; 2],
    dst: &mut CpuStorage,
    dl: &Layout,
) {
    let n = dl.dims().last().copied().unwrap_or(1);
    dispatch_float!(dst.dtype(), T => {
        let absent = [<T as Element>::Compute::ONE, <T as Element>::Compute::ZERO];
        let of = |i: usize| parameters[i].map_or_else(|| vec![absent[i]; n], widened::<T>);
        let (weight, bias) = (of(0), of(1));
        Rows::<T>::new(src, dst, dl).run(&|_, x| {
            let [_, scale] = centre(x, eps);
            let (weight, bias) = (&weight, Some(&bias[..]));
            in_parts(x, &|start, x| vectorised(Weigh { x, start, scale, weight, bias }));
        })
    })
}

/// The result is computed for the rows of a compact copy, and copied to the destination.
pub(super) fn layer_norm_stats(eps: f64, src: Input<'_>, dst: &mut CpuStorage, dl: &Layout) -> Result<()> {
    let n = src.1.dims().last().copied().unwrap_or(1).max(1);
    let stats = dispatch_float!(src.0.dtype(), T => {
        let stats: Vec<_> = widened::<T>(src).par_chunks_mut(n).flat_map_iter(|x| centre(x, eps)).collect();
        CpuStorage::from_bytes(dst.dtype(), bytemuck::cast_slice(&stats))?
    });
    copy((&stats, &Layout::contiguous(dl.shape())).into(), dst, dl);
    Ok(())
}

/// Subtracts the mean from a row; returns the mean and `1 / sqrt(variance + eps)`.
fn centre<C: FloatCompute>(x: &mut [C], eps: f64) -> [C; 2] {
    let mean = fold(x, &|_| (), itself, Compute::add).div(C::from_count(x.len()));
    in_parts(x, &|_, x| map(x, Less(mean)));
    [mean, scale(x, eps)]
}

/// The sums are those of `add`, in its roundings.
pub(super) fn skip_layer_norm(
    eps: f64,
    [src, skip]: [Input<'_>; 2],
    [weight, bias, src_bias]: [Input<'_>; 3],
    dst: &mut CpuStorage,
    dl: &Layout,
) -> Result<()> {
    let all = Layout::contiguous(dl.shape());
    let repeated = src_bias.1.broadcast_as(dl.shape()).expect("validated to be as long as a row");
    let mut sum = CpuStorage::zeros(dl.elem_count(), dst.dtype())?;
    binary(BinaryOp::Add, [src.into(), (src_bias.0, &repeated).into()], &mut sum, &all);
    binary(BinaryOp::Add, [Src::InPlace, skip.into()], &mut sum, &all);
    layer_norm(eps, (&sum, &all), [Some(weight), Some(bias)], dst, dl);
    Ok(())
}

fn softmax_row<T: ExpDown<Compute: Recipes<Compute = T::Compute> + FloatCompute>>(log: bool, x: &mut [T::Compute]) {
    let largest = fold(x, &|_| (), itself, Compute::maximum);
    if log {
        let sum = fold(x, &|x| map(x, Less(largest)), exponential::<T>, Compute::add);
        let sum = <T::Compute as Recipes>::log(sum);
        in_parts(x, &|_, x| map(x, Less(sum)));
    } else {
        let sum = fold(x, &|x| map(x, Exponential::<T>(largest)), itself, Compute::add);
        let factor = T::Compute::ONE.div(sum);
        in_parts(x, &|_, x| map(x, Times(factor)));
    }
}

/// Returns `1 / sqrt(mean of squares + eps)`.
fn scale<C: FloatCompute>(x: &mut [C], eps: f64) -> C {
    factor(fold(x, &|_| (), square, Compute::add).div(C::from_count(x.len())), eps)
}

/// Returns `1 / sqrt(variance + eps)`.
fn factor<C: FloatCompute>(variance: C, eps: f64) -> C {
    C::ONE.div(variance.add(C::from_parameter(eps)).sqrt())
}

/// Applies `before` to each segment of a row, then reduces the row in the order of section 8 of
/// `docs/numerics.md`. `first` and `combine` must be `#[inline(always)]`.
fn fold<C: Compute>(
    x: &mut [C],
    before: &(dyn Fn(&mut [C]) + Sync),
    first: impl Fn(C, usize) -> C + Copy + Sync,
    combine: impl Fn(C, C) -> C + Copy + Sync,
) -> C {
    let segment = |x: &mut [C]| {
        before(x);
        let mut lanes = Lanes::new();
        lanes.feed(x, 0, first, combine);
        lanes.take(combine).expect("a row has elements")
    };
    if x.len() <= SEGMENT {
        return segment(x);
    }
    let values = x.par_chunks_mut(SEGMENT).map(segment).collect();
    reduce_segments(values, &mut Lanes::new(), combine).expect("a row has segments")
}

/// Calls `f` with parts of a row and the index at which each starts.
fn in_parts<C: Compute>(x: &mut [C], f: &(dyn Fn(usize, &mut [C]) + Sync)) {
    if x.len() <= SEGMENT {
        return f(0, x);
    }
    x.par_chunks_mut(SEGMENT).enumerate().for_each(|(i, x)| f(i * SEGMENT, x));
}

#[inline(always)]
fn itself<C>(x: C, _: usize) -> C {
    x
}

#[inline(always)]
fn square<C: Compute>(x: C, _: usize) -> C {
    x.mul(x)
}

#[inline(always)]
fn exponential<T: ExpDown>(x: T::Compute, _: usize) -> T::Compute {
    T::exp_down(x)
}

/// A loop that applies a function in place.
struct InPlace<'a, C, F>(&'a mut [C], F);

impl<C: Compute, F: Function<1, C, C>> Kernel for InPlace<'_, C, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        self.0.iter_mut().for_each(|x| *x = self.1.call([*x]));
    }
}

fn map<C: Compute>(x: &mut [C], f: impl Function<1, C, C>) {
    vectorised(InPlace(x, f));
}

#[derive(Clone, Copy)]
struct Less<C>(C);

impl<C: Compute> Function<1, C, C> for Less<C> {
    #[inline(always)]
    fn call(self, [x]: [C; 1]) -> C {
        x.sub(self.0)
    }
}

#[derive(Clone, Copy)]
struct Times<C>(C);

impl<C: Compute> Function<1, C, C> for Times<C> {
    #[inline(always)]
    fn call(self, [x]: [C; 1]) -> C {
        x.mul(self.0)
    }
}

/// e^(x - m), with m the maximum of the row.
struct Exponential<T: Element>(T::Compute);

impl<T: Element> Clone for Exponential<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T: Element> Copy for Exponential<T> {}

impl<T: ExpDown> Function<1, T::Compute, T::Compute> for Exponential<T> {
    #[inline(always)]
    fn call(self, [x]: [T::Compute; 1]) -> T::Compute {
        T::exp_down(x.sub(self.0))
    }
}

/// `x * scale * weight`; with a bias, one fma computes the last product and the sum.
struct Weigh<'a, C> {
    x: &'a mut [C],
    /// Index in the row at which they start.
    start: usize,
    scale: C,
    weight: &'a [C],
    bias: Option<&'a [C]>,
}

impl<C: FloatCompute> Kernel for Weigh<'_, C> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let range = self.start..self.start + self.x.len();
        let weighed = self.x.iter_mut().zip(&self.weight[range.clone()]);
        match self.bias {
            None => weighed.for_each(|(x, &w)| *x = x.mul(self.scale).mul(w)),
            Some(bias) => {
                weighed.zip(&bias[range]).for_each(|((x, &w), &b)| *x = x.mul(self.scale).fma(w, b));
            }
        }
    }
}
