//! Compares pooling, upsampling, triangles, fused additions, clamp and rotary embedding with
//! `docs/numerics/shape.md`: applies the definition to each result separately.

use super::*;
use half::f16;
use isobit_hal::{
    Activation, BinaryOp, ErrorKind, Op, Pool1d, Pool2d, Pool3d, RopeForm, Src, Triangle, UnaryOp, UpsampleBilinear2d,
    UpsampleNearest1d, UpsampleNearest2d, WithDType,
};

/// Returns the number of windows of PyTorch's `pooling_output_shape`.
fn windows_along(size: usize, p: &Pool3d, d: usize) -> usize {
    let sizes = [size, p.kernel[d], p.stride[d], p.dilation[d], p.padding_before[d], p.padding_after[d]];
    let [size, kernel, stride, dilation, before, after] = sizes.map(|size| size as isize);
    let rounding = if p.ceil_mode { stride - 1 } else { 0 };
    let mut count = (size + before + after - dilation * (kernel - 1) - 1 + rounding).div_euclid(stride) + 1;
    if p.ceil_mode && (count - 1) * stride >= size + before {
        count -= 1;
    }
    count as usize
}

/// Applies `f` to every window of `[1, c, d, h, w]`: it receives the elements in row-major order
/// with their positions in the volume, and the count, and returns one result.
fn windows<T: Copy, R>(
    x: &[T],
    [c, size @ ..]: [usize; 4],
    p: Pool3d,
    f: impl Fn(Vec<(usize, T)>, usize) -> R,
) -> Vec<R> {
    let counts = [0, 1, 2].map(|d| windows_along(size[d], &p, d));
    let volume: usize = size.iter().product();
    let mut results = Vec::new();
    for number in 0..c * counts.iter().product::<usize>() {
        let (rest, x_at) = (number / counts[2], number % counts[2]);
        let (rest, y_at) = (rest / counts[1], rest % counts[1]);
        let (plane, window) = (rest / counts[0], [rest % counts[0], y_at, x_at]);
        let (mut elements, mut count) = (Vec::new(), 0);
        for tap in 0..p.kernel.iter().product() {
            let tap: [usize; 3] =
                [tap / (p.kernel[1] * p.kernel[2]), tap / p.kernel[2] % p.kernel[1], tap % p.kernel[2]];
            let at = [0, 1, 2]
                .map(|d| (window[d] * p.stride[d] + tap[d] * p.dilation[d]) as isize - p.padding_before[d] as isize);
            let inside = |d: usize| (0..size[d] as isize).contains(&at[d]);
            let padded = |d: usize| at[d] < (size[d] + p.padding_after[d]) as isize;
            if (0..3).all(inside) {
                let [z, y, x_at] = at.map(|at| at as usize);
                let position = (z * size[1] + y) * size[2] + x_at;
                elements.push((position, x[plane * volume + position]));
            }
            count +=
                usize::from((0..3).all(if p.count_include_pad { &padded as &dyn Fn(usize) -> bool } else { &inside }));
        }
        results.push(f(elements, count));
    }
    results
}

fn pools() -> Vec<Pool2d> {
    vec![
        Pool2d::new([2, 2]),
        Pool2d::new([3, 2]).with_stride([1, 3]),
        Pool2d::new([3, 3]).with_stride([2, 2]).with_padding([1, 1]),
        Pool2d::new([4, 5]).with_stride([1, 1]).with_padding([2, 2]).with_count_include_pad(false),
        Pool2d::new([7, 9]),
        Pool2d::new([1, 1]).with_stride([9, 9]),
        Pool2d::new([3, 3]).with_stride([1, 2]).with_dilation([2, 3]),
        Pool2d::new([3, 2]).with_stride([1, 1]).with_dilation([3, 5]).with_padding([3, 2]),
        Pool2d::new([2, 3]).with_stride([2, 2]).with_ceil_mode(true),
        Pool2d::new([3, 2]).with_stride([3, 4]).with_padding([1, 1]).with_ceil_mode(true),
        Pool2d::new([3, 4]).with_stride([5, 3]).with_padding([1, 2]).with_ceil_mode(true).with_count_include_pad(false),
        Pool2d::new([3, 2]).with_stride([2, 2]).with_padding_by_side([0, 1], [2, 0]),
        Pool2d::new([2, 2])
            .with_stride([3, 2])
            .with_dilation([4, 2])
            .with_padding_by_side([1, 2], [4, 1])
            .with_ceil_mode(true),
        Pool2d::new([9, 2]).with_stride([3, 1]).with_ceil_mode(true),
    ]
}

/// Pools over three dimensions, with their sizes; the pools over two come first.
fn volumes() -> Vec<([usize; 4], Pool3d)> {
    let thin = Pool3d::new([2, 3, 2]).with_stride([1, 2, 3]);
    let mut all: Vec<_> = pools().iter().map(|p| ([3, 1, 7, 9], p.over_three())).collect();
    all.push(([2, 4, 5, 6], Pool3d::new([2, 2, 2])));
    all.push(([1, 5, 4, 6], thin.with_padding([1, 1, 0]).with_dilation([2, 1, 3]).with_count_include_pad(false)));
    all.push(([2, 4, 5, 7], thin.with_padding_by_side([0, 1, 1], [1, 2, 0]).with_ceil_mode(true)));
    all
}

/// Pools a volume by the operation that has as many dimensions as it needs.
fn pooled<T: WithDType>(x: &[T], [c, d, h, w]: [usize; 4], p: Pool3d, is_average: bool) -> Vec<T> {
    let mut plane = Pool2d::new([p.kernel[1], p.kernel[2]])
        .with_stride([p.stride[1], p.stride[2]])
        .with_dilation([p.dilation[1], p.dilation[2]])
        .with_ceil_mode(p.ceil_mode)
        .with_count_include_pad(p.count_include_pad);
    plane = plane
        .with_padding_by_side([p.padding_before[1], p.padding_before[2]], [p.padding_after[1], p.padding_after[2]]);
    let layout = Layout::contiguous([1, c, d, h, w]);
    let flat = Layout::contiguous([1, c, h, w]);
    let y = match (is_average, plane.over_three() == p) {
        (true, true) => storage(x).avg_pool2d(&flat, plane),
        (false, true) => storage(x).max_pool2d(&flat, plane),
        (true, false) => storage(x).avg_pool3d(&layout, p),
        (false, false) => storage(x).max_pool3d(&layout, p),
    };
    vec::<T>(&y.unwrap())
}

#[test]
fn windows_are_averaged_in_row_major_order() {
    let mut rng = Rng(91);
    for (dims, pool) in volumes() {
        let x = rng.floats(dims.iter().product());
        let mean = |v: Vec<(usize, f32)>, n: usize| v.iter().fold(0.0, |s, (_, x)| s + x) / n as f32;
        assert_same(&pooled(&x, dims, pool, true), &windows(&x, dims, pool, mean));
        let wide: Vec<f64> = x.iter().map(|&v| f64::from(v) / 3.0).collect();
        let mean = |v: Vec<(usize, f64)>, n: usize| v.iter().fold(0.0, |s, (_, x)| s + x) / n as f64;
        assert_same(&pooled(&wide, dims, pool, true), &windows(&wide, dims, pool, mean));
        let half: Vec<f16> = x.iter().map(|&v| f16::from_f32(v)).collect();
        let mean =
            |v: Vec<(usize, f16)>, n: usize| f16::from_f32(v.iter().fold(0.0, |s, (_, x)| s + x.to_f32()) / n as f32);
        assert_same(&pooled(&half, dims, pool, true), &windows(&half, dims, pool, mean));
    }
    let zeros = storage(&[-0.0f32; 4]).avg_pool2d(&Layout::contiguous([1, 1, 2, 2]), Pool2d::new([2, 2])).unwrap();
    assert_same(&vec::<f32>(&zeros), &[0.0]);
}

#[test]
fn windows_have_maxima() {
    let mut rng = Rng(92);
    // A few distinct values, including +0, -0 and NaN.
    let some = [-1.0, -0.0, 0.0, -2.5, f32::NEG_INFINITY, f32::NAN];
    let key =
        |v: f32| if v.is_nan() { i64::MAX } else { i64::from((v * 4.0) as i32) * 2 - i64::from(v.is_sign_negative()) };
    for (dims, pool) in volumes() {
        let x: Vec<f32> = (0..dims.iter().product()).map(|_| some[rng.below(6)]).collect();
        let ints: Vec<i8> = rng.bits(x.len());
        let largest = |v: Vec<(usize, f32)>, _| v.into_iter().map(|(_, v)| v).max_by_key(|&v| key(v)).unwrap();
        assert_same(&pooled(&x, dims, pool, false), &windows(&x, dims, pool, largest));
        let largest = |v: Vec<(usize, i8)>, _| v.into_iter().map(|(_, v)| v).max().unwrap();
        assert_same(&pooled(&ints, dims, pool, false), &windows(&ints, dims, pool, largest));
    }
    let line = Pool1d::new([3]).with_stride([2]).with_padding([1]);
    let y = storage(&[4i32, 1, 2, 3]).max_pool1d(&Layout::contiguous([1, 1, 4]), line).unwrap();
    assert_eq!(vec::<i32>(&y), [4, 3]);
    let y = storage(&[4f32, 1.0, 2.0, 3.0]).avg_pool1d(&Layout::contiguous([1, 2, 2]), Pool1d::new([2])).unwrap();
    assert_eq!(vec::<f32>(&y), [2.5, 2.5]);
}

#[test]
fn windows_have_the_positions_of_their_maxima() {
    let mut rng = Rng(93);
    let some = [-1.0, -0.0, 0.0, 2.5, f32::NEG_INFINITY, f32::NAN];
    // As PyTorch: torch/aten max_pool kernels take an element if it is larger or a NaN.
    let place = |v: Vec<(usize, f32)>, _: usize| {
        let first = v[0];
        let found = v.iter().fold(first, |best, &next| if next.1 > best.1 || next.1.is_nan() { next } else { best });
        found.0 as i64
    };
    for (dims, pool) in volumes() {
        for kinds in [4, 5, 6] {
            let x: Vec<f32> = (0..dims.iter().product()).map(|_| some[rng.below(kinds)]).collect();
            let [c, d, h, w] = dims;
            let layout = Layout::contiguous([1, c, d, h, w]);
            let want = windows(&x, dims, pool, place);
            let op = Op::ArgMaxPool3d(pool);
            let shape = op.result_shape(&[layout.shape()]).unwrap().unwrap();
            let mut wide = CpuDevice.zeros(&shape, DType::I64).unwrap();
            let inputs = [Src::Storage(&storage(&x), &layout)];
            CpuStorage::apply_into(&op, &inputs, &mut wide, &Layout::contiguous(shape)).unwrap();
            assert_eq!(vec::<i64>(&wide), want, "{pool:?}");
            let narrow: Vec<i64> =
                vec::<u32>(&storage(&x).argmax_pool3d(&layout, pool).unwrap()).into_iter().map(i64::from).collect();
            assert_eq!(narrow, want, "{pool:?}");
        }
    }
    // torch.nn.functional.max_pool1d(torch.tensor([[[1, nan, 3, nan, 2.]]]), 5,
    // return_indices=True)
    let x = storage(&[1.0, f32::NAN, 3.0, f32::NAN, 2.0]);
    assert_eq!(vec::<u32>(&x.argmax_pool1d(&Layout::contiguous([1, 1, 5]), Pool1d::new([5])).unwrap()), [3]);
    let lowest = storage(&[i8::MIN; 4]);
    let places = lowest.argmax_pool2d(&Layout::contiguous([1, 1, 2, 2]), Pool2d::new([1, 2])).unwrap();
    assert_eq!(vec::<u32>(&places), [0, 2]);
    // A plane that repeats one element, and has too many of them for a position.
    let many = Layout::contiguous([1, 1, 1]).broadcast_as([1, 1, 1 << 32]).unwrap();
    let error = lowest.argmax_pool1d(&many, Pool1d::new([1 << 32])).unwrap_err();
    assert!(error.to_string().contains("u32 index"), "{error}");
}

/// The elements of every window of an adaptive pool over `[c, d, h, w]`, as PyTorch's documentation
/// has them, with their positions in the volume.
fn sharing_windows<T: Copy>(x: &[T], [c, size @ ..]: [usize; 4], windows: [usize; 3]) -> Vec<Vec<(usize, T)>> {
    let volume: usize = size.iter().product();
    let along = |d: usize, i: usize| i * size[d] / windows[d]..((i + 1) * size[d]).div_ceil(windows[d]);
    let mut all = Vec::new();
    for plane in 0..c {
        for number in 0..windows.iter().product() {
            let (rest, column) = (number / windows[2], number % windows[2]);
            let (slice, row) = (rest / windows[1], rest % windows[1]);
            let mut elements = Vec::new();
            for z in along(0, slice) {
                for y in along(1, row) {
                    elements.extend(along(2, column).map(|x| (z * size[1] + y) * size[2] + x));
                }
            }
            all.push(elements.into_iter().map(|at| (at, x[plane * volume + at])).collect());
        }
    }
    all
}

#[test]
fn adaptive_windows_share_the_dimensions() {
    let mut rng = Rng(94);
    for (dims, size) in
        [([2, 5, 4, 7], [2, 3, 3]), ([1, 4, 6, 8], [2, 3, 4]), ([3, 3, 2, 5], [5, 1, 7]), ([1, 2, 9, 31], [1, 1, 1])]
    {
        let x = rng.floats(dims.iter().product());
        let [c, d, h, w] = dims;
        let layout = Layout::contiguous([1, c, d, h, w]);
        let windows = sharing_windows(&x, dims, size);
        let mean = |v: &Vec<(usize, f32)>| v.iter().fold(0.0, |s, (_, x)| s + x) / v.len() as f32;
        let means: Vec<f32> = windows.iter().map(mean).collect();
        assert_same(&vec::<f32>(&storage(&x).adaptive_avg_pool3d(&layout, size).unwrap()), &means);
        let best = |v: &Vec<(usize, f32)>| v.iter().copied().fold(v[0], |a, b| if b.1 > a.1 { b } else { a });
        let (places, values): (Vec<u32>, Vec<f32>) = windows.iter().map(best).map(|(at, x)| (at as u32, x)).unzip();
        assert_same(&vec::<f32>(&storage(&x).adaptive_max_pool3d(&layout, size).unwrap()), &values);
        assert_eq!(vec::<u32>(&storage(&x).adaptive_argmax_pool3d(&layout, size).unwrap()), places);
    }
    let (x, l) = (storage(&[1.0f32, 2.0, 3.0, 4.0, 5.0]), Layout::contiguous([1, 1, 5]));
    assert_eq!(vec::<f32>(&x.adaptive_avg_pool1d(&l, [3]).unwrap()), [1.5, 3.0, 4.5]);
    assert_eq!(vec::<f32>(&x.adaptive_max_pool1d(&l, [3]).unwrap()), [2.0, 4.0, 5.0]);
    assert_eq!(vec::<u32>(&x.adaptive_argmax_pool1d(&l, [3]).unwrap()), [1, 3, 4]);
    assert!(x.adaptive_avg_pool1d(&l, [0]).unwrap().is_empty());
}

#[test]
fn gradients_go_to_the_elements_of_their_windows() {
    let mut rng = Rng(96);
    for (dims, pool) in volumes() {
        let x = rng.floats(dims.iter().product());
        let volume: usize = dims[1..].iter().product();
        let covered = windows(&x, dims, pool, |elements, count| (elements, count));
        let gradient = rng.floats(covered.len());
        let [c, d, h, w] = dims;
        let counts = [0, 1, 2].map(|i| windows_along(dims[i + 1], &pool, i));
        let from = Layout::contiguous([1, c, counts[0], counts[1], counts[2]]);
        let (mut shares, mut chosen, mut places) = (vec![0.0f32; x.len()], vec![0.0f32; x.len()], Vec::new());
        let per_plane = covered.len() / c;
        for (window, (elements, count)) in covered.iter().enumerate() {
            let start = window / per_plane * volume;
            for (at, _) in elements {
                shares[start + at] += gradient[window] / *count as f32;
            }
            let place = elements[rng.below(elements.len())].0;
            chosen[start + place] += gradient[window];
            places.push(place as i64);
        }
        let (gradient, size) = (storage(&gradient), [d, h, w]);
        assert_same(&vec::<f32>(&gradient.avg_pool3d_backward(&from, pool, size).unwrap()), &shares);
        let got = gradient.max_pool3d_backward(&from, &storage(&places), &from, pool, size).unwrap();
        assert_same(&vec::<f32>(&got), &chosen);
    }
    // The gap of a window, a position of no element, one beyond u32, and one below 0.
    let (gradient, l) = (storage(&[1.0f32; 4]), Layout::contiguous([1, 1, 4]));
    let op = Pool1d::new([2]).with_stride([1]).with_dilation([2]);
    let places = storage(&[1i64, 1 << 32, -1, 3]);
    let got = gradient.max_pool1d_backward(&l, &places, &l, op, [6]).unwrap();
    assert_same(&vec::<f32>(&got), &[0.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
    // torch.ops.aten._adaptive_avg_pool2d_backward(torch.tensor([[[[3, 6.]]]]),
    // torch.zeros(1, 1, 1, 3))
    let (gradient, l) = (storage(&[3.0f32, 6.0]), Layout::contiguous([1, 1, 1, 2]));
    assert_same(&vec::<f32>(&gradient.adaptive_avg_pool2d_backward(&l, [1, 3]).unwrap()), &[1.5, 4.5, 3.0]);
    let got = gradient.adaptive_max_pool2d_backward(&l, &storage(&[1u32, 1]), &l, [1, 3]).unwrap();
    assert_same(&vec::<f32>(&got), &[0.0, 9.0, 0.0]);
}

#[test]
fn elements_of_windows_are_added_to_their_places() {
    let mut rng = Rng(96);
    for (dims, pool) in volumes() {
        let [c, d, h, w] = dims;
        let counts = pool.counts([d, h, w]).unwrap();
        let (taps, windows): (usize, usize) = (pool.kernel.iter().product(), counts.iter().product());
        let x = rng.floats(c * taps * windows);
        let mut want = vec![0.0f32; c * d * h * w];
        let split = |i: usize, of: [usize; 3]| [i / of[2] / of[1], i / of[2] % of[1], i % of[2]];
        for (row, window) in (0..c * taps).flat_map(|row| (0..windows).map(move |window| (row, window))) {
            let (tap, at) = (split(row % taps, pool.kernel), split(window, counts));
            let place =
                |d: usize| (at[d] * pool.stride[d] + tap[d] * pool.dilation[d]).checked_sub(pool.padding_before[d]);
            let [z, y, x_at] = [0, 1, 2].map(place);
            let (Some(z), Some(y), Some(column)) =
                (z.filter(|&z| z < d), y.filter(|&y| y < h), x_at.filter(|&x| x < w))
            else {
                continue;
            };
            want[((row / taps * d + z) * h + y) * w + column] += x[row * windows + window];
        }
        let layout = Layout::contiguous([1, c * taps, windows]);
        assert_same(&vec::<f32>(&storage(&x).col2im3d(&layout, pool, [d, h, w]).unwrap()), &want);
    }
    // torch.nn.functional.fold(x, (1, 2), (1, 2), padding=(0, 1), stride=(1, 2)) with
    // x = torch.arange(4.0).view(1, 2, 2)
    let op = Pool1d::new([2]).with_padding([1]);
    let columns = storage(&[0.0f32, 1.0, 2.0, 3.0]);
    assert_eq!(vec::<f32>(&columns.col2im1d(&Layout::contiguous([1, 2, 2]), op, [2]).unwrap()), [2.0, 1.0]);
}

#[test]
fn windows_have_norms() {
    let mut rng = Rng(95);
    let scalar = |x: f32| storage(&[x]);
    let one = Layout::contiguous(1);
    let pow = |x: f32, p: f32| vec::<f32>(&scalar(x).binary(&one, &scalar(p), &one, BinaryOp::Pow).unwrap())[0];
    for (dims, pool) in volumes() {
        let x = rng.floats(dims.iter().product());
        let [c, d, h, w] = dims;
        let layout = Layout::contiguous([1, c, d, h, w]);
        let norms = |p| vec::<f32>(&storage(&x).lp_pool3d(&layout, p, pool).unwrap());
        let sum = |v: Vec<(usize, f32)>, _| v.iter().fold(0.0, |s, (_, x)| s + x.abs());
        assert_same(&norms(1.0), &windows(&x, dims, pool, sum));
        let root = |v: Vec<(usize, f32)>, _| v.iter().fold(0.0f32, |s, (_, x)| x.mul_add(*x, s)).sqrt();
        assert_same(&norms(2.0), &windows(&x, dims, pool, root));
        let cube = |x: f32| x.abs() * (x.abs() * x.abs());
        let third = |v: Vec<(usize, f32)>, _| pow(v.iter().fold(0.0, |s, (_, x)| s + cube(*x)), 1.0 / 3.0);
        assert_same(&norms(3.0), &windows(&x, dims, pool, third));
        let other = |v: Vec<(usize, f32)>, _| pow(v.iter().fold(0.0, |s, (_, x)| s + pow(x.abs(), 2.5)), 1.0 / 2.5);
        assert_same(&norms(2.5), &windows(&x, dims, pool, other));
    }
    // torch.nn.functional.lp_pool1d(torch.tensor([[[3, 4, 5, 12.]]]), 2, 2)
    let x = storage(&[3.0f32, -4.0, 5.0, 12.0]);
    assert_eq!(vec::<f32>(&x.lp_pool1d(&Layout::contiguous([1, 1, 4]), 2.0, Pool1d::new([2])).unwrap()), [5.0, 13.0]);
    // The order of the norm is one of f32 there, so that 0 is not a power of 0.1.
    let half = storage(&[f16::from_f32(3.0); 2]);
    let y = half.lp_pool2d(&Layout::contiguous([1, 1, 1, 2]), 0.5, Pool2d::new([1, 2])).unwrap();
    assert_eq!(vec::<f16>(&y), [f16::from_f32(12.0)]);
}

#[test]
fn windows_of_nothing_are_refused() {
    let x = storage::<f32>(&[]);
    let pool = Pool2d::new([2, 1]).with_padding([1, 0]);
    let error = x.avg_pool2d(&Layout::contiguous([1, 1, 0, 3]), pool).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    // The widest window: over one element it covers that element; over more its end overflows.
    for widest in [[usize::MAX, 1], [1, usize::MAX]] {
        let pool = Pool2d::new(widest).with_padding(widest.map(|k| k / 2));
        let got = storage(&[3f32]).max_pool2d(&Layout::contiguous([1, 1, 1, 1]), pool).unwrap();
        assert_same(&vec::<f32>(&got), &[3.0]);
        let error = storage(&[3f32; 4]).max_pool2d(&Layout::contiguous([1, 1, 2, 2]), pool).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    }
    let images = x.max_pool2d(&Layout::contiguous([0, 2, 4, 4]), Pool2d::new([2, 2])).unwrap();
    assert_eq!(images.len(), 0);
}

#[test]
fn nearest_neighbours_are_at_the_positions_of_the_rule() {
    for (from, to, factor) in
        [(5, 10, None), (7, 3, None), (4, 4, None), (3, 8, Some(2.7)), (9, 6, Some(1e-39)), (6, 5, Some(1e30))]
    {
        let step = factor.map_or(from as f32 / to as f32, |f: f64| (1.0 / f) as f32);
        let place = |i: usize| ((i as f32 * step).floor() as usize).min(from - 1);
        let line: Vec<i32> = (0..2 * from as i32).collect();
        let mut op = UpsampleNearest1d::new([to]);
        op.scale = [factor];
        let got = storage(&line).upsample_nearest1d(&Layout::contiguous([1, 2, from]), op).unwrap();
        let want: Vec<i32> = (0..2 * to).map(|i| line[i / to * from + place(i % to)]).collect();
        assert_same(&vec::<i32>(&got), &want);
        let plane: Vec<u8> = (0..3 * from).map(|i| i as u8).collect();
        let mut op = UpsampleNearest2d::new([to, 3]);
        op.scale[0] = factor;
        // Transposed: rows lie side by side.
        let turned = Layout::contiguous([1, 1, 3, from]).transpose(2, 3).unwrap();
        let got = storage(&plane).upsample_nearest2d(&turned, op).unwrap();
        let want: Vec<u8> = (0..3 * to).map(|i| plane[i % 3 * from + place(i / 3)]).collect();
        assert_same(&vec::<u8>(&got), &want);
    }
}

#[test]
fn bilinear_interpolation_keeps_the_order() {
    let mut rng = Rng(93);
    let cases =
        [([4, 5], [8, 10], None), ([5, 3], [2, 7], None), ([3, 4], [3, 9], Some([1.5, 2.2])), ([1, 6], [4, 1], None)];
    for (([h, w], to, factors), align) in cases.into_iter().flat_map(|c| [(c, false), (c, true)]) {
        let (x, l) = (rng.floats(h * w), Layout::contiguous([1, 1, h, w]));
        let mut op = UpsampleBilinear2d::new(to).with_align_corners(align);
        if let Some(factors) = factors {
            op = op.with_scale(factors);
        }
        let side = |i: usize, from: usize, to: usize, factor: Option<f64>| -> (usize, usize, f32, f32) {
            if from == to {
                return (i, i, 1.0, 0.0);
            }
            let step = factor.map_or(from as f32 / to as f32, |f| (1.0 / f) as f32);
            let position = match align {
                true if to > 1 => (from - 1) as f32 / (to - 1) as f32 * i as f32,
                true => 0.0,
                false => (step * (i as f32 + 0.5) - 0.5).max(0.0),
            };
            let low = (position.floor() as usize).min(from - 1);
            let weight = (position - low as f32).clamp(0.0, 1.0);
            (low, (low + 1).min(from - 1), 1.0 - weight, weight)
        };
        let mut want = Vec::new();
        for y in 0..to[0] {
            for column in 0..to[1] {
                let (y0, y1, v0, v1) = side(y, h, to[0], factors.map(|f| f[0]));
                let (x0, x1, w0, w1) = side(column, w, to[1], factors.map(|f| f[1]));
                let across = |y: usize| x[y * w + x1].mul_add(w1, x[y * w + x0] * w0);
                want.push(across(y1).mul_add(v1, across(y0) * v0));
            }
        }
        assert_same(&vec::<f32>(&storage(&x).upsample_bilinear2d(&l, op).unwrap()), &want);
        let half: Vec<f16> = x.iter().map(|_| f16::from_f32(0.625)).collect();
        let same = vec::<f16>(&storage(&half).upsample_bilinear2d(&l, op).unwrap());
        assert_same(&same, &vec![f16::from_f32(0.625); to[0] * to[1]]);
    }
}

#[test]
fn triangles_keep_one_side_of_the_diagonal() {
    let dims = [2, 5, 7];
    let x: Vec<i16> = (1..=70).collect();
    for diagonal in [0, 1, -1, 3, -4, 6, 7, -5, 100, -100, i64::MAX, i64::MIN] {
        for (op, keeps) in [
            (Triangle::lower(diagonal), (|d, k| d <= k) as fn(i128, i128) -> bool),
            (Triangle::upper(diagonal), |d, k| d >= k),
        ] {
            let kept = |i: usize| keeps((i % 7) as i128 - (i / 7 % 5) as i128, diagonal.into());
            let want: Vec<i16> = x.iter().enumerate().map(|(i, &v)| if kept(i) { v } else { 0 }).collect();
            let (l, op) = (Layout::contiguous(dims), Op::Triangle(op));
            assert_same(&vec::<i16>(&CpuStorage::apply(&op, &[(&storage(&x), &l)]).unwrap()), &want);
            let mut own = storage(&x);
            CpuStorage::apply_into(&op, &[Src::InPlace], &mut own, &l).unwrap();
            assert_same(&vec::<i16>(&own), &want);
            // Columns of every third element of a transposed matrix.
            let wide = Layout::contiguous([2, 21, 5]).step(1, 3).unwrap().transpose(1, 2).unwrap();
            let mut spread = storage(&vec![-1i16; 210]);
            CpuStorage::apply_into(&op, &[(&storage(&x), &l).into()], &mut spread, &wide).unwrap();
            assert_same(&vec::<i16>(&spread.try_clone(&wide).unwrap()), &want);
        }
    }
}

#[test]
fn fused_additions_are_the_two_operations() {
    let mut rng = Rng(94);
    let (n, m) = (37, 65);
    let l = Layout::contiguous([n, m]);
    let row = Layout::contiguous([1, m]).broadcast_as([n, m]).unwrap();
    fn check<T: WithDType>(x: &[T], bias: &[T], l: &Layout, row: &Layout) {
        let (x, bias) = (storage(x), storage(bias));
        for &op in Activation::ALL {
            let sum = x.binary(l, &bias, row, BinaryOp::Add).unwrap();
            let want = canonical(&sum.unary(l, op.unary()).unwrap());
            assert_eq!(canonical(&x.add_activation(l, &bias, row, op).unwrap()), want, "{op} {}", T::DTYPE);
            let mut own = x.clone();
            let inputs = [Src::InPlace, Src::Storage(&bias, row)];
            CpuStorage::apply_into(&Op::AddActivation(op), &inputs, &mut own, l).unwrap();
            assert_eq!(canonical(&own), want);
        }
        assert!(UnaryOp::ALL.contains(&Activation::Silu.unary()));
    }
    check::<isobit_hal::F8E4M3>(&rng.bits(n * m), &rng.bits(m), &l, &row);
    check::<f16>(&rng.bits(n * m), &rng.bits(m), &l, &row);
    check::<half::bf16>(&rng.bits(n * m), &rng.bits(m), &l, &row);
    check::<f32>(&rng.floats(n * m), &rng.floats(m), &l, &row);
    check::<f64>(&rng.bits(n * m), &rng.bits(m), &l, &row);
}

#[test]
fn clamps_stay_between_their_limits() {
    let l = Layout::contiguous(7);
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    let x = storage(&[-inf, -2.0, -0.0, 0.0, 1.5, inf, nan]);
    let clamp = |min, max| vec::<f32>(&x.clamp(&l, min, max).unwrap());
    assert_same(&clamp(-1.0, 1.0), &[-1.0, -1.0, -0.0, 0.0, 1.0, 1.0, nan]);
    assert_same(&clamp(0.0, -0.0), &[-0.0, -0.0, -0.0, -0.0, -0.0, -0.0, nan]);
    assert_same(&clamp(3.0, -3.0), &[-3.0, -3.0, -3.0, -3.0, -3.0, -3.0, nan]);
    assert_same(&clamp(f64::NAN, 1.0), &[nan; 7]);
    let bytes = storage(&[0u8, 3, 200, 255]);
    let four = Layout::contiguous(4);
    assert_same(&vec::<u8>(&bytes.clamp(&four, 2.9, 200.7).unwrap()), &[2, 3, 200, 200]);
    assert_same(&vec::<u8>(&bytes.clamp(&four, -5.0, f64::NAN).unwrap()), &[0; 4]);
    // A limit that bf16 cannot represent is rounded with the result.
    let narrow = storage(&[half::bf16::from_f32(9.0)]);
    let limited = narrow.clamp(&Layout::contiguous(1), 0.0, 1.0 / 3.0).unwrap();
    assert_same(&vec::<half::bf16>(&limited), &[half::bf16::from_f32(1.0 / 3.0)]);
}

#[test]
fn pairs_are_turned() {
    let mut rng = Rng(95);
    let (batch, heads, time) = (2, 3, 5);
    for (d, batched) in [(2, false), (10, true), (64, false), (0, true)] {
        let half = d / 2;
        let x = rng.floats(batch * heads * time * d);
        let tables = if batched { batch } else { 1 } * time * half;
        let (cos, sin) = (rng.floats(tables), rng.floats(tables));
        let table = if batched { Layout::contiguous([batch, time, half]) } else { Layout::contiguous([time, half]) };
        for &form in RopeForm::ALL {
            let dims = if form == RopeForm::Thd { [batch, time, heads, d] } else { [batch, heads, time, d] };
            let l = Layout::contiguous(dims);
            let got = storage(&x).rope(&l, &storage(&cos), &table, &storage(&sin), &table, form).unwrap();
            let mut want = vec![0f32; x.len()];
            for head in 0..batch * heads * time {
                let (b, t) =
                    (head / (heads * time), if form == RopeForm::Thd { head / heads % time } else { head % time });
                for i in 0..half {
                    let angle = if batched { (b * time + t) * half + i } else { t * half + i };
                    let (first, second) =
                        if form == RopeForm::Interleaved { (2 * i, 2 * i + 1) } else { (i, i + half) };
                    let (first, second) = (head * d + first, head * d + second);
                    let (c, s) = (cos[angle], sin[angle]);
                    want[first] = x[first].mul_add(c, -(x[second] * s));
                    want[second] = x[first].mul_add(s, x[second] * c);
                }
            }
            assert_same(&vec::<f32>(&got), &want);
        }
    }
}
