"""Golden vectors of adaptive pools, pools of norms, gradients of pools and fold, from PyTorch's CPU tensors, and from NumPy what it does not have. As in shape.py, results that round are computed in f64."""

import numpy as np
import torch
import torch.nn.functional as F

from families.shape import VERSION, draw, operand, result, rounded, tensor, within
from golden_cases import is_float
from make_golden import named

DTYPES = ["i8", "f8e4m3", "f16", "bf16", "f32", "f64"]

# Shape and number of windows: even, uneven, one for all, and more of them than there are elements.
ADAPTIVE = [
    ([2, 2, 11], [4]),
    ([1, 3, 12], [3]),
    ([1, 2, 3], [7]),
    ([1, 2, 7, 6], [3, 4]),
    ([1, 2, 8, 6], [4, 3]),
    ([1, 2, 5, 7], [1, 1]),
    ([1, 2, 5, 4, 6], [2, 3, 4]),
    ([1, 1, 4, 2, 5], [2, 3, 5]),
]


def with_ties(rng, x, dtype):
    """Equal elements, and more than one NaN in a window."""
    some = np.trunc(x.astype(np.float32) / 3).astype(x.dtype)
    if is_float(dtype):
        some.reshape(-1)[rng.integers(0, x.size, x.size // 8)] = np.nan
    return some


def positions(places, to):
    return result(places.numpy().astype({"u32": np.uint32, "i64": np.int64}[to]), to)


def adaptive(golden, rng):
    for shape, size in ADAPTIVE:
        dims, params = len(size), named(size=size)
        largest, average = (getattr(F, f"adaptive_{name}_pool{dims}d") for name in ["max", "avg"])
        most = int(np.prod([-(-s // n) + 1 for s, n in zip(shape[2:], size)]))
        for dtype in DTYPES:
            x = draw(rng, shape, dtype)
            wide = tensor(x, dtype).to(torch.float64)
            golden.case(f"adaptive_max_pool{dims}d", [operand(x, dtype)], result(rounded(largest(wide, size), dtype), dtype), "bits", params)
            some = with_ties(rng, x, dtype)
            _, places = largest(tensor(some, dtype).to(torch.float64), size, return_indices=True)
            for to in ["u32", "i64"] if dtype == "f32" else ["u32"]:
                golden.case(f"adaptive_argmax_pool{dims}d", [operand(some, dtype)], positions(places, to), "raw", params)
            if is_float(dtype):
                y, magnitude = average(wide, size), average(wide.abs(), size)
                golden.case(f"adaptive_avg_pool{dims}d", [operand(x, dtype)], result(rounded(y, dtype), dtype), within(y, magnitude, most + 2, dtype), params)


# Shape, kernel, stride, padding before and after, dilation, rounding up, and the order.
NORMS = [
    ([2, 2, 11], [3], [2], [0], [0], [1], False, 2),
    ([1, 2, 11], [3], [3], [1], [2], [2], True, 1),
    ([1, 2, 9], [4], [2], [2], [1], [1], False, 3),
    ([1, 2, 7, 6], [3, 2], [2, 2], [0, 0], [0, 0], [1, 1], False, 2),
    ([1, 2, 7, 6], [3, 2], [2, 3], [1, 0], [0, 1], [2, 1], True, 2),
    ([1, 2, 8, 6], [2, 3], [2, 1], [0, 1], [1, 2], [1, 2], False, 1),
    ([1, 1, 6, 5], [2, 2], [2, 2], [0, 0], [0, 0], [1, 1], True, 2.5),
    ([1, 2, 5, 4, 6], [2, 3, 2], [2, 1, 3], [0, 0, 0], [0, 0, 0], [1, 1, 1], False, 3),
    ([1, 1, 4, 6, 5], [3, 2, 2], [1, 2, 2], [1, 0, 1], [0, 1, 1], [1, 2, 1], True, 2),
]


def taps(x, kernel, stride, before, after, dilation, ceil):
    """Every window's elements along a last dimension; those that are padding are zeros."""
    dims = len(kernel)
    for d in range(dims):
        size, extent = x.shape[2 + d], (kernel[d] - 1) * dilation[d] + 1
        room = size + before[d] + after[d] - extent + (stride[d] - 1 if ceil else 0)
        count = room // stride[d] + 1
        if ceil and (count - 1) * stride[d] >= size + before[d]:
            count -= 1
        reach = (count - 1) * stride[d] + extent
        padding = [0, 0] * (dims - 1) + [before[d], max(reach - before[d] - size, 0)]
        # As many dimensions follow: those that are left, and one for the taps of each before.
        x = F.pad(x, padding).narrow(2 + d, 0, reach).unfold(2 + d, extent, stride[d])[..., :: dilation[d]]
    return x.flatten(2 + dims)


def norms(golden, rng):
    for shape, kernel, stride, before, after, dilation, ceil, p in NORMS:
        dims = len(kernel)
        is_plain = before == after == [0] * dims and dilation == [1] * dims and not ceil
        params = named(kernel=kernel, stride=stride, padding=before, padding_after=after, dilation=dilation, ceil_mode=[ceil], p=[p])
        for dtype in DTYPES[1:]:
            x = draw(rng, shape, dtype, 1.0)
            wide = tensor(x, dtype).to(torch.float64)
            y = torch.linalg.vector_norm(taps(wide, kernel, stride, before, after, dilation, ceil), p, dim=-1)
            if is_plain:
                # PyTorch's own pool has neither padding nor dilation, and takes powers of negative
                # elements.
                window = (kernel, stride) if dims > 1 else (kernel[0], stride[0])
                torch.testing.assert_close(y, getattr(F, f"lp_pool{dims}d")(wide.abs(), p, *window), rtol=1e-12, atol=0)
            # Powers are within a few ulps; a root's relative error is 1/p of that of the sum.
            tol = within(y, y, 3 * (int(np.prod(kernel)) + 8), dtype)
            golden.case(f"lp_pool{dims}d", [operand(x, dtype)], result(rounded(y, dtype), dtype), tol, params)


# Shape, kernel, stride, padding, dilation and rounding up.
BACKWARD = [
    ([2, 2, 11], [3], [2], [1], [1], False),
    ([1, 3, 10], [4], [3], [2], [1], True),
    ([1, 2, 12], [3], [1], [1], [3], False),
    ([1, 2, 7, 6], [3, 2], [1, 3], [1, 0], [2, 1], True),
    ([1, 2, 9, 8], [3, 3], [2, 2], [1, 1], [1, 1], False),
    ([1, 1, 8, 6], [3, 2], [4, 3], [0, 1], [1, 1], True),
    ([1, 2, 5, 4, 6], [2, 3, 2], [2, 1, 3], [1, 1, 0], [1, 1, 1], True),
    ([1, 1, 4, 6, 5], [3, 2, 2], [1, 2, 1], [0, 1, 1], [1, 2, 3], False),
]


def gradient_of(golden, rng, name, x, pool, params, dtype, windows, places=None, ids="u32"):
    """The gradient of a pool's input, from a drawn one of its result; an element is in so many windows at most."""
    wide = x.detach().requires_grad_()
    pooled = pool(wide)
    drawn = draw(rng, list(pooled.shape), dtype, 1.0)
    given = tensor(drawn, dtype).to(torch.float64)
    grads = [torch.autograd.grad(pooled, wide, g, retain_graph=True)[0] for g in (given, given.abs())]
    inputs = [operand(drawn, dtype)]
    if places is not None:
        inputs.append(operand(places.numpy().astype({"u32": np.uint32, "i64": np.int64}[ids]), ids))
    tol = within(*grads, windows + 1, dtype)
    golden.case(name, inputs, result(rounded(grads[0], dtype), dtype), tol, named(**params, size=list(x.shape[2:])))


def backward(golden, rng):
    for shape, kernel, stride, padding, dilation, ceil in BACKWARD:
        dims, taps = len(kernel), int(np.prod(kernel))
        largest, average = (getattr(F, f"{name}_pool{dims}d") for name in ["max", "avg"])
        params = {"kernel": kernel, "stride": stride, "padding": padding, "dilation": dilation, "ceil_mode": [ceil]}
        for dtype in DTYPES[1:]:
            x = tensor(draw(rng, shape, dtype), dtype).to(torch.float64)
            places = largest(x, kernel, stride, padding, dilation, ceil, return_indices=True)[1]
            for ids in ["u32", "i64"]:
                gradient_of(golden, rng, f"max_pool{dims}d_backward", x, lambda x: largest(x, kernel, stride, padding, dilation, ceil), params, dtype, taps, places, ids)
            for include in [True, False] if set(dilation) == {1} else []:
                counted = {**params, "count_include_pad": [include]}
                gradient_of(golden, rng, f"avg_pool{dims}d_backward", x, lambda x: average(x, kernel, stride, padding, ceil, include), counted, dtype, taps)
    for shape, size in ADAPTIVE:
        dims, windows = len(size), int(np.prod([-(-n // s) + 1 for s, n in zip(shape[2:], size)]))
        largest, average = (getattr(F, f"adaptive_{name}_pool{dims}d") for name in ["max", "avg"])
        for dtype in DTYPES[1:]:
            x = tensor(draw(rng, shape, dtype), dtype).to(torch.float64)
            places = largest(x, size, return_indices=True)[1]
            gradient_of(golden, rng, f"adaptive_max_pool{dims}d_backward", x, lambda x: largest(x, size), {}, dtype, windows, places)
            gradient_of(golden, rng, f"adaptive_avg_pool{dims}d_backward", x, lambda x: average(x, size), {}, dtype, windows)


# Images and channels, sizes of the image, kernel, stride, padding and dilation.
FOLDS = [
    ([2, 2], [7, 6], [3, 2], [1, 1], [0, 0], [1, 1]),
    ([1, 3], [5, 8], [3, 3], [2, 1], [1, 2], [1, 1]),
    ([1, 1], [9, 7], [2, 3], [3, 2], [2, 1], [2, 1]),
    ([2, 1], [6, 5], [2, 2], [1, 3], [3, 0], [3, 2]),
    ([1, 2], [4, 4], [4, 4], [4, 4], [0, 0], [1, 1]),
    ([1, 2], [3, 5], [1, 1], [1, 2], [2, 1], [1, 1]),
]


def cases_of_fold(golden, rng, planes, image, windows, fold):
    """fold(columns, counts) adds elements of windows to their places in images."""
    kernel, stride, padding, dilation = windows
    taps = int(np.prod(kernel))
    counts = [(n + 2 * b - e * (t - 1) - 1) // a + 1 for n, t, a, b, e in zip(image, *windows)]
    params = named(kernel=kernel, stride=stride, padding=padding, dilation=dilation, size=image)
    for dtype in DTYPES[1:]:
        x = draw(rng, [planes[0], planes[1] * taps, int(np.prod(counts))], dtype, 1.0)
        wide = tensor(x, dtype).to(torch.float64)
        y, magnitude = (fold(t, counts).reshape(planes + image) for t in (wide, wide.abs()))
        golden.case(f"col2im{len(image)}d", [operand(x, dtype)], result(rounded(y, dtype), dtype), within(y, magnitude, taps + 1, dtype), params)


def folds(golden, rng):
    """PyTorch has two dimensions; over one, a dimension of size 1 is left out."""
    for planes, *sizes in FOLDS:
        for drop in [1, 0]:
            of_one = lambda values, one: [one] * drop + values[drop:]
            image, kernel, stride, padding, dilation = map(of_one, sizes, [1, 1, 1, 0, 1])
            fold = lambda t, _: F.fold(t, image, kernel, dilation, padding, stride)
            image_size, *windows = (values[drop:] for values in sizes)
            cases_of_fold(golden, rng, planes, image_size, windows, fold)


# The same over three dimensions.
VOLUME_FOLDS = [
    ([2, 2], [3, 4, 5], [2, 3, 2], [1, 1, 1], [0, 0, 0], [1, 1, 1]),
    ([1, 3], [4, 5, 3], [3, 2, 3], [2, 1, 2], [1, 0, 2], [1, 2, 1]),
    ([2, 1], [5, 3, 6], [2, 2, 2], [3, 2, 1], [2, 3, 1], [2, 3, 4]),
    ([1, 2], [2, 4, 4], [2, 2, 2], [2, 2, 2], [0, 0, 0], [1, 1, 1]),
]


def volume_folds(golden, rng):
    """PyTorch does not have them: NumPy adds one element of all windows at a time to the image and its padding."""
    for planes, image, *windows in VOLUME_FOLDS:
        kernel, stride, padding, dilation = windows

        def fold(t, counts):
            columns = t.numpy().reshape(planes + kernel + counts)
            padded = np.zeros(planes + [n + 2 * b for n, b in zip(image, padding)])
            for tap in np.ndindex(*kernel):
                places = (slice(i * e, i * e + (n - 1) * a + 1, a) for i, e, n, a in zip(tap, dilation, counts, stride))
                padded[(..., *places)] += columns[(slice(None), slice(None), *tap)]
            return torch.from_numpy(padded[(..., *(slice(b, b + n) for n, b in zip(image, padding)))].copy())

        cases_of_fold(golden, rng, planes, image, windows, fold)


def make(golden):
    for part in [adaptive, norms, backward, folds, volume_folds]:
        # Each part has its own generator, so that changing one does not affect another.
        part(golden, np.random.default_rng(sum(map(ord, part.__name__))))
