//! Sampling images at positions that a tensor has, with the arithmetic that
//! `docs/numerics/shape.md` fixes.

use super::compute::{Convert, FloatCompute};
use super::element::Element;
use super::neighbourhood::{FAR, Keys, Tap, Taps, sum};
use super::quantized::rows::RowsMut;
use super::walk::{dispatch_float, parallel};
use crate::{BackendStorage, CpuStorage, GridPadding, GridSample, Interpolation, Layout};
use smallvec::SmallVec;

type Input<'a> = (&'a CpuStorage, &'a Layout);

/// A dimension of the image.
#[derive(Clone, Copy)]
struct Extent<C> {
    count: usize,
    /// The same, and the number of the last element.
    size: C,
    last: C,
    /// The distance from one element to the next, in elements of the contiguous image.
    step: usize,
}

impl<C: FloatCompute + Convert<i64>> Extent<C> {
    /// Returns the position, counted in elements and finite, of a number of the grid.
    fn position(&self, x: C, op: GridSample) -> C {
        let half = C::from_parameter(0.5);
        let position = match op.align_corners {
            true => x.add(C::ONE).mul(half).mul(self.last),
            false => x.add(C::ONE).fma(self.size, C::ONE.neg()).mul(half),
        };
        if position.is_nan() {
            return if op.padding == GridPadding::Zeros { C::from_parameter(-8.0) } else { C::ZERO };
        }
        let far = C::from_parameter(FAR);
        position.maximum(far.neg()).minimum(far)
    }

    fn clamped(&self, position: C) -> C {
        position.maximum(C::ZERO).minimum(self.last)
    }

    /// Moves a position into the image, if what is outside is part of it.
    fn moved(&self, position: C, op: GridSample) -> C {
        match op.padding {
            GridPadding::Zeros => position,
            GridPadding::Border => self.clamped(position),
            GridPadding::Reflection => {
                let two = C::from_parameter(2.0);
                let (low, span) = match op.align_corners {
                    true => (C::ZERO, self.last),
                    false => (C::from_parameter(-0.5), self.size),
                };
                if span == C::ZERO {
                    return C::ZERO;
                }
                // There and back is one period.
                let period = span.mul(two);
                let phase = position.sub(low).abs().rem(period);
                self.clamped(phase.minimum(period.sub(phase)).add(low))
            }
        }
    }

    fn tap(&self, element: C, weight: C) -> Tap<C> {
        let takes_part = element >= C::ZERO && element <= self.last && weight != C::ZERO;
        let element: i64 = element.floor().convert();
        // A compute type that has not every number rounds that of the last element.
        Tap { at: takes_part.then(|| (element as usize).min(self.count - 1) * self.step), weight }
    }

    fn taps(&self, x: C, op: GridSample) -> Taps<C> {
        let position = self.position(x, op);
        match op.mode {
            Interpolation::Nearest => SmallVec::from_iter([self.tap(self.moved(position, op).round_even(), C::ONE)]),
            Interpolation::Linear => {
                let position = self.moved(position, op);
                let low = position.floor();
                let rest = position.sub(low);
                SmallVec::from_iter([self.tap(low, C::ONE.sub(rest)), self.tap(low.add(C::ONE), rest)])
            }
            Interpolation::Cubic => {
                let low = position.floor();
                let weights = Keys::new(-0.75).weights(position.sub(low)).into_iter().zip([-1.0, 0.0, 1.0, 2.0]);
                let tap = |(weight, i)| self.tap(self.moved(low.add(C::from_parameter(i)), op), weight);
                weights.map(tap).collect()
            }
        }
    }
}

pub(super) fn grid_sample(
    op: GridSample,
    image: Input<'_>,
    grid: Input<'_>,
    dst: &mut CpuStorage,
    dst_layout: &Layout,
) {
    dispatch_float!(dst.dtype(), T => sample::<T>(op, image, grid, dst, dst_layout));
}

fn sample<T: Element<Compute: FloatCompute + Convert<i64> + crate::WithDType>>(
    op: GridSample,
    (image, image_layout): Input<'_>,
    (grid, grid_layout): Input<'_>,
    dst: &mut CpuStorage,
    dst_layout: &Layout,
) {
    if dst_layout.elem_count() == 0 {
        return;
    }
    let compute = dst.dtype().compute();
    let wide = |storage: &CpuStorage, layout| storage.to_dtype(layout, compute).expect("the CPU casts every dtype");
    let (image, grid) = (wide(image, image_layout), wide(grid, grid_layout));
    let [image, grid]: [&[T::Compute]; 2] = [&image, &grid].map(|x| x.as_slice().expect("cast to the compute type"));
    let (sizes, points) = (&image_layout.dims()[2..], &dst_layout.dims()[2..]);
    let channels = dst_layout.dims()[1];
    let plane: usize = sizes.iter().product();
    let mut step = plane;
    let extents: Vec<Extent<T::Compute>> = sizes
        .iter()
        .map(|&size| {
            step /= size;
            let (all, last) = (T::Compute::from_count(size), T::Compute::from_count(size - 1));
            Extent { count: size, size: all, last, step }
        })
        .collect();
    let columns = points[points.len() - 1];
    let lines: usize = points[..points.len() - 1].iter().product();
    let rows = RowsMut::new(dst, dst_layout);
    parallel(rows.count() / channels, 1, &|group| {
        let (mut around, mut values) = (vec![SmallVec::<[Taps<_>; 3]>::new(); columns], vec![T::zeroed(); columns]);
        for line in group {
            let first = line * columns * extents.len();
            for (x, around) in around.iter_mut().enumerate() {
                let numbers = &grid[first + x * extents.len()..][..extents.len()];
                // A grid has the last dimension first.
                *around = extents.iter().zip(numbers.iter().rev()).map(|(e, &x)| e.taps(x, op)).collect();
            }
            let (batch, line) = (line / lines, line % lines);
            for channel in (0..channels).map(|c| batch * channels + c) {
                for (value, taps) in values.iter_mut().zip(&around) {
                    *value = T::round(sum(image, channel * plane, taps));
                }
                // SAFETY: no other task has this line of any channel.
                unsafe { rows.write(channel * lines + line, 0, bytemuck::cast_slice(&values)) };
            }
        }
    });
}
