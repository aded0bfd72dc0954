//! Resizing images, with the arithmetic that `docs/numerics/shape.md` fixes.

use super::compute::{Compute, FloatCompute};
use super::element::Element;
use super::neighbourhood::{FAR, Keys, Tap, Taps, sum};
use super::quantized::rows::{Rows, RowsMut};
use super::walk::{dispatch_float, dispatch_size, parallel};
use crate::{BackendStorage, CpuStorage, Interpolation, Layout, NearestMode, Resize, ResizeAxis, Scalar};

type Input<'a> = (&'a CpuStorage, &'a Layout);

/// A dimension of the image.
#[derive(Clone, Copy)]
struct Axis {
    from: usize,
    to: usize,
    positions: ResizeAxis,
    /// The distance from one element to the next in a contiguous image.
    step: usize,
}

impl Axis {
    /// Returns the dimensions of the image, at least so many.
    fn all(op: &Resize, image: &[usize], least: usize) -> Vec<Self> {
        let missing = least.saturating_sub(image.len());
        let mut step = image.iter().product::<usize>();
        let whole = Self { from: 1, to: 1, positions: ResizeAxis::WHOLE, step };
        let given = image.iter().enumerate().map(|(d, &from)| {
            step /= from;
            Self { from, to: op.size[d], positions: op.axis(d, from), step }
        });
        std::iter::repeat_n(whole, missing).chain(given).collect()
    }

    fn position(&self, i: usize) -> f64 {
        let p = self.positions;
        ((i as f64 + p.shift) * p.factor / p.divisor + p.offset).clamp(-FAR, FAR)
    }

    /// Whether there is no element at an element's position or on one of its sides.
    fn is_beyond(&self, i: usize) -> bool {
        let position = self.position(i);
        position < 0.0 || position > (self.from - 1) as f64
    }

    fn clamped(&self, element: i64) -> usize {
        element.clamp(0, self.from as i64 - 1) as usize
    }

    fn nearest(&self, i: usize, mode: NearestMode) -> usize {
        let position = self.position(i);
        let low = position.floor();
        let rest = position - low;
        let is_next = match mode {
            NearestMode::RoundPreferFloor => rest > 0.5,
            NearestMode::RoundPreferCeil => rest >= 0.5,
            NearestMode::Floor => false,
            NearestMode::Ceil => rest > 0.0,
        };
        self.clamped(low as i64 + i64::from(is_next))
    }

    /// Returns the elements around that of the result, and the sum of the weights of those that the
    /// image has.
    fn taps<C: FloatCompute>(&self, i: usize, op: &Resize, keys: &Keys<C>) -> (Taps<C>, C) {
        let position = self.position(i);
        let distance = |element: i64| C::from_parameter((element as f64 - position) * self.positions.filter);
        let low = position.floor() as i64;
        let rest = C::from_parameter(position - position.floor());
        let weights: Vec<(i64, C)> = match op.mode {
            _ if op.antialias => {
                let (support, count) = self.positions.support(op.reach());
                let first = (position - support).floor() as i64 + 1;
                (first..first + count as i64).map(|j| (j, kernel(distance(j).abs(), op.mode, keys))).collect()
            }
            Interpolation::Cubic => (low - 1..).zip(keys.weights(rest)).collect(),
            _ => vec![(low, C::ONE.sub(rest)), (low + 1, rest)],
        };
        let mut total = C::ZERO;
        let tap = |(element, weight): (i64, C)| {
            let is_outside = op.exclude_outside && !(0..self.from as i64).contains(&element);
            if !is_outside {
                total = total.add(weight);
            }
            let takes_part = !is_outside && weight != C::ZERO;
            Tap { at: takes_part.then(|| self.clamped(element) * self.step), weight }
        };
        // With antialiasing, what takes no part is not even added as 0.
        let taps = weights.into_iter().map(tap).filter(|tap| !op.antialias || tap.at.is_some());
        (taps.collect(), total)
    }
}

/// Returns the weight of an element at a distance.
fn kernel<C: FloatCompute>(distance: C, mode: Interpolation, keys: &Keys<C>) -> C {
    let two = C::ONE.add(C::ONE);
    match mode {
        Interpolation::Cubic if distance <= C::ONE => keys.near(distance),
        Interpolation::Cubic if distance < two => keys.far(distance),
        Interpolation::Cubic => C::ZERO,
        _ if distance < C::ONE => C::ONE.sub(distance),
        _ => C::ZERO,
    }
}

/// Whether results have values of their own outside the image.
fn is_cropped(op: &Resize) -> bool {
    matches!(op.coordinates, crate::Coordinates::CropAndResize(_))
}

pub(super) fn resize(op: &Resize, image: Input<'_>, dst: &mut CpuStorage, dst_layout: &Layout) {
    if dst_layout.elem_count() == 0 {
        return;
    }
    if op.mode == Interpolation::Nearest {
        let outside = Scalar::from_f64(dst.dtype(), op.extrapolation).to_bits().to_le_bytes();
        return dispatch_size!(dst.dtype(), T => {
            let outside = bytemuck::pod_read_unaligned(&outside[..size_of::<T>()]);
            nearest::<T>(op, image, outside, dst, dst_layout);
        });
    }
    dispatch_float!(dst.dtype(), T => interpolate::<T>(op, image, dst, dst_layout));
}

/// Calls `body` with each row of the result, as its plane and the numbers of its outer dimensions,
/// to fill its elements.
fn rows<T: bytemuck::Pod + Send + Sync>(
    axes: &[Axis],
    dst: &mut CpuStorage,
    dst_layout: &Layout,
    body: impl Fn(usize, &[usize], &mut [T]) + Sync,
) {
    let (columns, outer) = axes.split_last().expect("one dimension at least");
    let lines: usize = outer.iter().map(|axis| axis.to).product();
    let rows = RowsMut::new(dst, dst_layout);
    parallel(rows.count(), 16, &|group| {
        let mut values = vec![T::zeroed(); columns.to];
        let mut index = vec![0; outer.len()];
        for row in group {
            let (plane, mut line) = (row / lines, row % lines);
            for (at, axis) in index.iter_mut().zip(outer).rev() {
                (*at, line) = (line % axis.to, line / axis.to);
            }
            body(plane, &index, &mut values);
            // SAFETY: no other task has this row.
            unsafe { rows.write(row, 0, bytemuck::cast_slice(&values)) };
        }
    });
}

fn nearest<T: bytemuck::Pod + Send + Sync>(
    op: &Resize,
    (image, image_layout): Input<'_>,
    outside: T,
    dst: &mut CpuStorage,
    dst_layout: &Layout,
) {
    let axes = Axis::all(op, &image_layout.dims()[2..], 1);
    let (columns, outer) = axes.split_last().expect("one dimension at least");
    let all = |axis: &Axis| (0..axis.to).map(|i| axis.nearest(i, op.nearest)).collect::<Vec<_>>();
    let (across, down): (_, Vec<_>) = (all(columns), outer.iter().map(all).collect());
    let is_beyond = |axis: &Axis, i| is_cropped(op) && axis.is_beyond(i);
    let source = Rows::new((image, image_layout));
    let lines: usize = outer.iter().map(|axis| axis.from).product();
    rows::<T>(&axes, dst, dst_layout, |plane, index, values| {
        let mut line = vec![T::zeroed(); columns.from];
        let at = index.iter().zip(&down).zip(outer).fold(0, |at, ((&i, chosen), axis)| at * axis.from + chosen[i]);
        source.read(plane * lines + at, 0, bytemuck::cast_slice_mut(&mut line));
        let all_beyond = index.iter().zip(outer).any(|(&i, axis)| is_beyond(axis, i));
        for (i, value) in values.iter_mut().enumerate() {
            *value = if all_beyond || is_beyond(columns, i) { outside } else { line[across[i]] };
        }
    });
}

fn interpolate<T: Element<Compute: FloatCompute + crate::WithDType>>(
    op: &Resize,
    (image, image_layout): Input<'_>,
    dst: &mut CpuStorage,
    dst_layout: &Layout,
) {
    let compute = dst.dtype().compute();
    let wide = image.to_dtype(image_layout, compute).expect("the CPU casts every dtype");
    let wide: &[T::Compute] = wide.as_slice().expect("cast to the compute type");
    let sizes = &image_layout.dims()[2..];
    let axes = Axis::all(op, sizes, 2);
    let plane: usize = sizes.iter().product();
    let keys = Keys::new(op.cubic_coeff);
    let all = |axis: &Axis| (0..axis.to).map(|i| axis.taps(i, op, &keys)).collect::<Vec<_>>();
    let taps: Vec<_> = axes.iter().map(all).collect();
    let outside = T::round(T::Compute::from_parameter(op.extrapolation));
    rows::<T>(&axes, dst, dst_layout, |image, index, values| {
        let mut around: Vec<Taps<T::Compute>> = Vec::with_capacity(axes.len());
        for (x, value) in values.iter_mut().enumerate() {
            let at = || index.iter().chain([&x]);
            if is_cropped(op) && at().zip(&axes).any(|(&i, axis)| axis.is_beyond(i)) {
                *value = outside;
                continue;
            }
            around.clear();
            around.extend(at().zip(&taps).map(|(&i, taps)| taps[i].0.clone()));
            let mut result = sum(wide, image * plane, &around);
            if op.is_normalized() {
                let total = at().zip(&taps).fold(T::Compute::ONE, |all, (&i, taps)| all.mul(taps[i].1));
                result = result.div(total);
            }
            *value = T::round(result);
        }
    });
}
