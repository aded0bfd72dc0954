//! Upsampling: nearest neighbour and bilinear interpolation, with the positions that
//! `docs/numerics/shape.md` fixes.

use super::CpuStorage;
use super::compute::{Compute, Convert, FloatCompute};
use super::element::Element;
use super::planes::{Planes, Widened};
use super::vector::{Kernel, vectorised};
use super::walk::{dispatch_float, dispatch_size};
use crate::{Layout, Op, UpsampleBilinear2d};
use bytemuck::Zeroable;

type Input<'a> = (&'a CpuStorage, &'a Layout);

/// Returns the distance in source elements from one result element to the next.
fn step<C: FloatCompute>(from: usize, to: usize, factor: Option<f64>) -> C {
    match factor {
        Some(factor) => C::from_parameter(1.0 / factor),
        None => C::from_count(from).div(C::from_count(to)),
    }
}

/// Returns the element at or below a non-negative position, at most the last one.
fn element_at<C: FloatCompute + Convert<i64>>(position: C, size: usize) -> usize {
    (position.floor().convert() as usize).min(size - 1)
}

/// Returns the source element for each result element of a dimension.
fn nearest_elements(from: usize, to: usize, factor: Option<f64>) -> Vec<usize> {
    let step: f32 = step(from, to, factor);
    (0..to).map(|i| element_at(i as f32 * step, from)).collect()
}

pub(super) fn nearest(op: &Op, src: Input<'_>, dst: &mut CpuStorage, dst_layout: &Layout) {
    let (spatial, factors) = match op {
        Op::UpsampleNearest1d(op) => (1, [None, op.scale[0]]),
        Op::UpsampleNearest2d(op) => (2, op.scale),
        _ => unreachable!("not a nearest upsampling"),
    };
    dispatch_size!(dst.dtype(), T => {
        let planes = Planes::<T>::new(src, dst, dst_layout, spatial);
        let (from, to) = (planes.source(), planes.target());
        if to.rows == 0 || to.columns == 0 {
            return;
        }
        let rows = nearest_elements(from.rows, to.rows, factors[0]);
        let columns = nearest_elements(from.columns, to.columns, factors[1]);
        planes.run(&|targets| {
            let (mut elements, mut chosen) = (vec![0; from.columns], vec![0; to.columns]);
            for target in targets {
                let source = target.source(rows[target.y], &mut elements);
                chosen.iter_mut().zip(&columns).for_each(|(c, &x)| *c = source[x]);
                target.write(&chosen);
            }
        });
    });
}

/// The two source elements between which a result element lies, and their weights.
#[derive(Clone, Copy)]
struct Between<C> {
    low: usize,
    high: usize,
    weights: [C; 2],
}

fn betweens<C: FloatCompute + Convert<i64>>(
    from: usize,
    to: usize,
    factor: Option<f64>,
    align_corners: bool,
) -> Vec<Between<C>> {
    let half = C::from_parameter(0.5);
    let step = match align_corners {
        true if to > 1 => C::from_count(from - 1).div(C::from_count(to - 1)),
        true => C::ZERO,
        false => step(from, to, factor),
    };
    let between = |i: usize| {
        if from == to {
            return Between { low: i, high: i, weights: [C::ONE, C::ZERO] };
        }
        let position = match align_corners {
            true => step.mul(C::from_count(i)),
            false => step.mul(C::from_count(i).add(half)).sub(half).maximum(C::ZERO),
        };
        let low = element_at(position, from);
        let weight = position.sub(C::from_count(low)).maximum(C::ZERO).minimum(C::ONE);
        Between { low, high: (low + 1).min(from - 1), weights: [C::ONE.sub(weight), weight] }
    };
    (0..to).map(between).collect()
}

/// A loop that interpolates one row between two source rows, columns first.
struct Interpolate<'a, C> {
    low: &'a [C],
    high: &'a [C],
    weights: [C; 2],
    columns: &'a [Between<C>],
    out: &'a mut [C],
}

impl<C: FloatCompute> Kernel for Interpolate<'_, C> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (out, column) in self.out.iter_mut().zip(self.columns) {
            let [low, high] = [self.low, self.high].map(|row| blend(row[column.low], row[column.high], column.weights));
            *out = blend(low, high, self.weights);
        }
    }
}

#[inline(always)]
fn blend<C: FloatCompute>(low: C, high: C, weights: [C; 2]) -> C {
    high.fma(weights[1], low.mul(weights[0]))
}

pub(super) fn bilinear(op: &UpsampleBilinear2d, src: Input<'_>, dst: &mut CpuStorage, dst_layout: &Layout) {
    dispatch_float!(dst.dtype(), T => {
        type C = <T as Element>::Compute;
        let planes = Planes::<T>::new(src, dst, dst_layout, 2);
        let (from, to) = (planes.source(), planes.target());
        if to.rows == 0 || to.columns == 0 {
            return;
        }
        let rows = betweens::<C>(from.rows, to.rows, op.scale[0], op.align_corners);
        let columns = betweens::<C>(from.columns, to.columns, op.scale[1], op.align_corners);
        planes.run(&|targets| {
            let (mut first, mut second) = (Widened::<T>::new(from.columns), Widened::<T>::new(from.columns));
            let (mut scratch, mut rounded) = (vec![C::ZERO; to.columns], vec![T::zeroed(); to.columns]);
            for target in targets {
                let Between { low, high, weights } = rows[target.y];
                let (low, high) = (first.load(&target, low), second.load(&target, high));
                T::store(&mut rounded, &mut scratch, |out| {
                    vectorised(Interpolate { low, high, weights, columns: &columns, out });
                });
                target.write(&rounded);
            }
        });
    });
}
