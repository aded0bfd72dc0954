//! Norms of `[n, c, ..]`, whose parameters have one element for each channel: computed for the rows
//! of a compact copy, and copied to the destination.

use super::super::compute::{Compute, FloatCompute};
use super::super::copy::copy;
use super::super::element::Element;
use super::super::math_dispatch::Recipes;
use super::super::vector::{Kernel, vectorised};
use super::super::walk::{Function, dispatch_float};
use super::rows::{Rows, widened};
use super::{CpuStorage, Input, centre, map};
use crate::{GroupNorm, Layout, LocalResponseNorm, Result};

/// Returns the channels of `[n, c, ..]` and the elements of each.
fn sizes(layout: &Layout) -> [usize; 2] {
    [layout.dims()[1], layout.dims()[2..].iter().product()]
}

/// Calls `f` with a compact copy of a source and with a destination of the same size, both as rows
/// of `n` elements, and copies the latter to `dst`.
fn in_rows(
    src: Input<'_>,
    dst: &mut CpuStorage,
    dl: &Layout,
    n: usize,
    f: impl FnOnce(Input<'_>, &mut CpuStorage, &Layout),
) -> Result<()> {
    if dl.elem_count() == 0 {
        return Ok(());
    }
    let all = Layout::contiguous(dl.shape());
    let rows = Layout::contiguous([dl.elem_count() / n, n]);
    let compact = || CpuStorage::zeros(dl.elem_count(), dst.dtype());
    let (mut from, mut to) = (compact()?, compact()?);
    copy(src.into(), &mut from, &all);
    f((&from, &rows), &mut to, &rows);
    copy((&to, &all).into(), dst, dl);
    Ok(())
}

/// `x * scale * weight + bias`, in which one fma computes the last product and the sum.
#[derive(Clone, Copy)]
struct Scaled<C> {
    scale: C,
    weight: C,
    bias: C,
}

impl<C: FloatCompute> Function<1, C, C> for Scaled<C> {
    #[inline(always)]
    fn call(self, [x]: [C; 1]) -> C {
        x.mul(self.scale).fma(self.weight, self.bias)
    }
}

/// The weight and the bias of each channel.
struct Parameters<C>([Option<Vec<C>>; 2]);

impl<C: FloatCompute> Parameters<C> {
    fn new<T: Element<Compute = C>>(parameters: [Option<Input<'_>>; 2]) -> Self {
        Self(parameters.map(|p| p.map(widened::<T>)))
    }

    fn scaled(&self, scale: C, channel: usize) -> Scaled<C> {
        let of = |i: usize, absent: C| self.0[i].as_ref().map_or(absent, |values| values[channel]);
        Scaled { scale, weight: of(0, C::ONE), bias: of(1, C::ZERO) }
    }
}

pub(in super::super) fn group_norm(
    op: &GroupNorm,
    src: Input<'_>,
    parameters: [Option<Input<'_>>; 2],
    dst: &mut CpuStorage,
    dl: &Layout,
) -> Result<()> {
    let [c, spatial] = sizes(dl);
    let in_group = c / op.groups;
    dispatch_float!(dst.dtype(), T => {
        let parameters = Parameters::new::<T>(parameters);
        in_rows(src, dst, dl, in_group * spatial, |src, dst, rows| {
            Rows::<T>::new(src, dst, rows).run(&|row, x| {
                let [_, scale] = centre(x, op.eps);
                let first = row % op.groups * in_group;
                for (channel, x) in (first..).zip(x.chunks_mut(spatial)) {
                    map(x, parameters.scaled(scale, channel));
                }
            });
        })
    })
}

pub(in super::super) fn batch_norm(
    eps: f64,
    src: Input<'_>,
    statistics: [Input<'_>; 2],
    parameters: [Option<Input<'_>>; 2],
    dst: &mut CpuStorage,
    dl: &Layout,
) -> Result<()> {
    let [c, spatial] = sizes(dl);
    dispatch_float!(dst.dtype(), T => {
        let parameters = Parameters::new::<T>(parameters);
        let [means, variances] = statistics.map(widened::<<T as Element>::Compute>);
        in_rows(src, dst, dl, spatial, |src, dst, rows| {
            Rows::<T>::new(src, dst, rows).run(&|row, x| {
                let channel = row % c;
                map(x, super::Less(means[channel]));
                map(x, parameters.scaled(super::factor(variances[channel], eps), channel));
            });
        })
    })
}

pub(in super::super) fn local_response_norm(
    op: &LocalResponseNorm,
    src: Input<'_>,
    dst: &mut CpuStorage,
    dl: &Layout,
) -> Result<()> {
    let [c, spatial] = sizes(dl);
    dispatch_float!(dst.dtype(), T => {
        let wide = widened::<T>(src);
        in_rows(src, dst, dl, spatial, |src, dst, rows| {
            Rows::<T>::new(src, dst, rows).run(&|row, x| {
                let (batch, channel) = (row - row % c, row % c);
                let mut squares = vec![Compute::ZERO; spatial];
                let last = channel.saturating_add(op.after).min(c - 1);
                for other in channel.saturating_sub(op.before)..=last {
                    let values = &wide[(batch + other) * spatial..][..spatial];
                    vectorised(AddSquares { squares: &mut squares, values });
                }
                vectorised(Respond::<T> { x, squares: &squares, op });
            });
        })
    })
}

/// Adds the squares of a channel.
struct AddSquares<'a, C> {
    squares: &'a mut [C],
    values: &'a [C],
}

impl<C: Compute> Kernel for AddSquares<'_, C> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        self.squares.iter_mut().zip(self.values).for_each(|(sum, &x)| *sum = sum.add(x.mul(x)));
    }
}

/// `x * (squares * alpha / size + k)^-beta`.
struct Respond<'a, T: Element> {
    x: &'a mut [T::Compute],
    squares: &'a [T::Compute],
    op: &'a LocalResponseNorm,
}

impl<T: Element<Compute: Recipes<Compute = T::Compute> + FloatCompute>> Kernel for Respond<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let LocalResponseNorm { alpha, beta, k, .. } = *self.op;
        let [factor, power, k] = [alpha / self.op.size() as f64, -beta, k].map(<T::Compute as Compute>::from_parameter);
        for (x, &sum) in self.x.iter_mut().zip(self.squares) {
            *x = x.mul(<T::Compute as Recipes>::pow(sum.fma(factor, k), power));
        }
    }
}
