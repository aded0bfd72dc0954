//! Elements of windows, added to their places in an image in the order that
//! `docs/numerics/shape.md` fixes.

use super::CpuStorage;
use super::compute::{Compute, FloatCompute};
use super::element::Element;
use super::planes::Planes;
use super::pooling::Input;
use super::walk::dispatch_float;
use crate::{Layout, PoolBackward};

/// Returns a layout with dimensions of size 1 before the last ones, of which there are three then.
fn over_three(dims: &[usize], strides: &[usize], offset: usize) -> Layout {
    let added = 5 - dims.len();
    let all = |values: &[usize], one: usize| [&values[..2], &[one; 2][..added], &values[2..]].concat();
    Layout::new(all(dims, 1), all(strides, 0), offset).expect("the same elements")
}

pub(super) fn col2im(op: &PoolBackward, columns: Input<'_>, dst: &mut CpuStorage, dst_layout: &Layout) {
    dispatch_float!(dst.dtype(), T => add::<T>(op, columns, (dst, dst_layout)));
}

fn add<T: Element<Compute: FloatCompute>>(
    op: &PoolBackward,
    (columns, layout): Input<'_>,
    (dst, dst_layout): (&mut CpuStorage, &Layout),
) {
    let windows = op.over_three();
    let [kernel, stride, dilation, padding] =
        [windows.kernel, windows.stride, windows.dilation, windows.padding_before];
    let taps: usize = kernel.iter().product();
    // A row of the source has an element of each window.
    let (dims, strides) = (layout.dims(), layout.stride());
    let by_tap = over_three(
        &[dims[0], dims[1] / taps, taps, dims[2]],
        &[strides[0], strides[1] * taps, strides[1], strides[2]],
        layout.start_offset(),
    );
    let to = over_three(dst_layout.dims(), dst_layout.stride(), dst_layout.start_offset());
    let size = [2, 3, 4].map(|d| to.dims()[d]);
    let counts = windows.counts(size).expect("validated windows");
    let planes = Planes::<T>::new((columns, &by_tap), dst, &to, 3);
    // The window whose element at a tap is at a position, along one dimension.
    let window = |d: usize, position: usize, tap: usize| {
        let away = (position + padding[d]).checked_sub(tap * dilation[d])?;
        Some(away / stride[d]).filter(|&at| away.is_multiple_of(stride[d]) && at < counts[d])
    };
    planes.run(&|rows| {
        let (mut row_of_tap, mut wide) = (vec![T::zeroed(); dims[2]], vec![T::Compute::ZERO; counts[2]]);
        let (mut sums, mut results) = (vec![T::Compute::ZERO; size[2]], vec![T::zeroed(); size[2]]);
        for row in rows {
            sums.fill(T::Compute::ZERO);
            let (slice, line) = (row.y / size[1], row.y % size[1]);
            for tap in 0..taps {
                let [q, r, s] = [tap / kernel[2] / kernel[1], tap / kernel[2] % kernel[1], tap % kernel[2]];
                let (Some(z), Some(y)) = (window(0, slice, q), window(1, line, r)) else { continue };
                let first = (z * counts[1] + y) * counts[2];
                let elements = row.source(tap, &mut row_of_tap);
                let values = T::load(&elements[first..][..counts[2]], &mut wide);
                for (x, &value) in values.iter().enumerate() {
                    let position = (x * stride[2] + s * dilation[2]).checked_sub(padding[2]);
                    if let Some(sum) = position.and_then(|at| sums.get_mut(at)) {
                        *sum = sum.add(value);
                    }
                }
            }
            T::round_all(&sums, &mut results);
            row.write(&results);
        }
    });
}
