"""Golden vectors of adaptive pools, from PyTorch's CPU tensors. As in shape.py, results that round are computed in f64."""

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


def make(golden):
    for part in [adaptive]:
        # Each part has its own generator, so that changing one does not affect another.
        part(golden, np.random.default_rng(sum(map(ord, part.__name__))))
