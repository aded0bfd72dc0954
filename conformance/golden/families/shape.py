"""Golden vectors of pooling, upsampling, resizing, grid sampling, triangles, fused additions, clamp, rotary embedding and running
sums, from PyTorch's CPU tensors.

Results that round are computed in f64 and rounded to the dtype, so that the vectors do not depend on a
machine's order of additions; the bounds are those of docs/numerics/shape.md. Positions of upsampling are
PyTorch's own in f32 and f64; for narrower floats they are those of f32.
"""

import ml_dtypes
import numpy as np
import torch
import torch.nn.functional as F

from golden_cases import DTYPES, is_float
from golden_torch import TORCH, array
from make_golden import named

VERSION = f"PyTorch {torch.__version__.split('+')[0]}, NumPy {np.__version__}, ml_dtypes {ml_dtypes.__version__}"

ALL = ["u8", "i8", "i16", "i32", "i64", "f8e4m3", "f16", "bf16", "f32", "f64"]
FLOATS = [d for d in ALL if is_float(d)]
# Operations that only move bits are the same for every dtype of the same size.
CARRIERS = ["u8", "i16", "f32", "i64"]
# Bits of a dtype's significand, and the exponent of its smallest value.
PRECISION = {"f8e4m3": 4, "f16": 11, "bf16": 8, "f32": 24, "f64": 53}
SMALLEST = {"f8e4m3": -9, "f16": -24, "bf16": -133, "f32": -149, "f64": -1074}


def draw(rng, shape, dtype, scale=4.0):
    """Values of both signs that all affect the result and are not deliberately equal."""
    if is_float(dtype):
        return (rng.standard_normal(shape) * scale).astype(np.float32).astype(DTYPES[dtype])
    info = np.iinfo(DTYPES[dtype])
    return rng.integers(info.min, info.max, shape, dtype=DTYPES[dtype], endpoint=True)


def tensor(x, dtype):
    carrier = {1: np.uint8, 2: np.int16, 4: np.int32, 8: np.int64}[x.itemsize]
    return torch.from_numpy(np.ascontiguousarray(x).view(carrier)).view(TORCH[dtype])


def operand(x, dtype):
    strides = [s // x.itemsize for s in np.ascontiguousarray(x).strides]
    return (dtype, np.ascontiguousarray(x).tobytes(), x.shape, strides, 0)


def result(x, dtype):
    x = np.ascontiguousarray(x)
    return (dtype, x.shape, x.tobytes())


def within(value, magnitude, operations, dtype):
    """The bound of a number of roundings in the compute type at a magnitude, then half an ulp of the dtype,
    doubled for the source's own error."""
    compute = 53 if dtype == "f64" else 24
    value, magnitude = np.asarray(value, np.float64), np.asarray(magnitude, np.float64)
    ulp = np.maximum(np.exp2(np.floor(np.log2(np.maximum(np.abs(value), 1e-300))) + 1 - PRECISION[dtype]), 2.0 ** SMALLEST[dtype])
    bound = 2 * operations * magnitude * 2.0**-compute + ulp
    # The next power of two, which compresses better.
    return {"abs": np.exp2(np.ceil(np.log2(bound))).astype("<f8").tobytes()}


def rounded(t, dtype):
    return array(t.to(TORCH[dtype]), dtype)


def pool(golden, rng):
    shapes = [([2, 1, 9, 11], [3, 2], [2, 1], [1, 0]), ([1, 2, 8, 16], [2, 2], [2, 2], [0, 0]), ([1, 1, 5, 4], [5, 4], [1, 3], [2, 2])]
    for shape, kernel, stride, padding in shapes:
        for dtype in ALL:
            x = draw(rng, shape, dtype)
            wide = tensor(x, dtype).to(torch.float64)
            params = {"kernel": kernel, "stride": stride, "padding": padding}
            if dtype != "i64":
                # Every value is exact in f64, and so is the largest.
                y = F.max_pool2d(wide, kernel, stride, padding)
                golden.case("max_pool2d", [operand(x, dtype)], result(rounded(y, dtype), dtype), "bits", named(**params))
            for include in [True, False] if is_float(dtype) else []:
                y, magnitude = (F.avg_pool2d(t, kernel, stride, padding, count_include_pad=include) for t in (wide, wide.abs()))
                tol = within(y, magnitude, kernel[0] * kernel[1] + 2, dtype)
                golden.case("avg_pool2d", [operand(x, dtype)], result(rounded(y, dtype), dtype), tol, named(**params, count_include_pad=[include]))
    for dtype in ["f16", "f32", "f64"]:
        x = draw(rng, [1, 1, 4, 6], dtype)
        x[0, 0, 1, 1], x[0, 0, 3, 4] = np.nan, -np.inf
        y = F.max_pool2d(tensor(x, dtype).to(torch.float64), [2, 2])
        golden.case("max_pool2d", [operand(x, dtype)], result(rounded(y, dtype), dtype), "bits", named(kernel=[2, 2], stride=[2, 2], padding=[0, 0]))


# Shape, kernel, stride, padding and dilation. PyTorch's averages have no dilation.
POOLS = [
    ([2, 2, 11], [3], [2], [1], [1]),
    ([1, 3, 10], [4], [3], [2], [1]),
    ([1, 2, 12], [3], [4], [1], [3]),
    ([1, 2, 7, 6], [3, 2], [2, 5], [1, 0], [2, 1]),
    ([1, 2, 9, 8], [3, 3], [2, 2], [1, 1], [1, 1]),
    ([1, 1, 8, 6], [3, 2], [4, 3], [0, 1], [1, 1]),
    ([1, 2, 5, 4, 6], [2, 3, 2], [2, 1, 3], [1, 1, 0], [1, 1, 1]),
    ([1, 1, 4, 6, 5], [3, 2, 2], [1, 2, 2], [0, 1, 1], [1, 2, 3]),
]


def any_pool(golden, rng):
    for shape, kernel, stride, padding, dilation in POOLS:
        dims = len(kernel)
        largest, average = (getattr(F, f"{name}_pool{dims}d") for name in ["max", "avg"])
        for ceil in [False, True]:
            params = {"kernel": kernel, "stride": stride, "padding": padding, "dilation": dilation, "ceil_mode": [ceil]}
            for dtype in ["i8", "f8e4m3", "f16", "f32", "f64"]:
                x = draw(rng, shape, dtype)
                wide = tensor(x, dtype).to(torch.float64)
                y = largest(wide, kernel, stride, padding, dilation, ceil)
                golden.case(f"max_pool{dims}d", [operand(x, dtype)], result(rounded(y, dtype), dtype), "bits", named(**params))
                # Ties, and more than one NaN in a window.
                some = np.trunc(x.astype(np.float32) / 3).astype(x.dtype)
                if is_float(dtype):
                    some.reshape(-1)[rng.integers(0, x.size, x.size // 8)] = np.nan
                _, places = largest(tensor(some, dtype).to(torch.float64), kernel, stride, padding, dilation, ceil, return_indices=True)
                for to in ["u32", "i64"] if dtype == "f32" else ["u32"]:
                    data = places.numpy().astype({"u32": np.uint32, "i64": np.int64}[to])
                    golden.case(f"argmax_pool{dims}d", [operand(some, dtype)], result(data, to), "raw", named(**params))
                for include in [True, False] if is_float(dtype) and set(dilation) == {1} else []:
                    y, magnitude = (average(t, kernel, stride, padding, ceil, include) for t in (wide, wide.abs()))
                    tol = within(y, magnitude, int(np.prod(kernel)) + 2, dtype)
                    golden.case(f"avg_pool{dims}d", [operand(x, dtype)], result(rounded(y, dtype), dtype), tol, named(**params, count_include_pad=[include]))


# Sizes, and factors if they are given.
UPSAMPLES = [((4, 5), (8, 10), None), ((3, 7), (5, 3), None), ((5, 4), (5, 9), None), ((3, 4), (7, 9), (2.4, 2.3)), ((6, 5), (4, 4), (0.7, 0.9)), ((1, 2), (4, 1), None)]


def scales(factors):
    return list(factors) if factors else [0.0, 0.0]


def upsample(golden, rng):
    for (h, w), size, factors in UPSAMPLES:
        for dtype in CARRIERS:
            x = draw(rng, [1, 1, h, w], dtype)
            # Positions are computed in f32 for every dtype, as in PyTorch on a GPU; the values are
            # passed as integers in f32.
            places = torch.arange(h * w, dtype=torch.float32).reshape(1, 1, h, w)
            places = torch._C._nn.upsample_nearest2d(places, list(size), *(factors or (None, None)))
            chosen = x.reshape(1, h * w)[:, places.reshape(-1).to(torch.int64).numpy()].reshape(1, 1, *size)
            golden.case("upsample_nearest2d", [operand(x, dtype)], result(chosen, dtype), "raw", named(size=list(size), scale=scales(factors)))
            row = torch._C._nn.upsample_nearest1d(torch.arange(w, dtype=torch.float32).reshape(1, 1, w), [size[1]], factors and factors[1])
            line, columns = x[0, :, :1, :].reshape(1, 1, w), row.reshape(-1).to(torch.int64).numpy()
            golden.case("upsample_nearest1d", [operand(line, dtype)], result(line[..., columns], dtype), "raw", named(size=[size[1]], scale=scales(factors)[1:]))
        for dtype in FLOATS:
            x = draw(rng, [1, 1, h, w], dtype)
            for align in [False, True]:
                compute = torch.float64 if dtype == "f64" else torch.float32
                wide = tensor(x, dtype).to(compute)
                y, magnitude = (torch._C._nn.upsample_bilinear2d(t, list(size), align, *(factors or (None, None))) for t in (wide, wide.abs()))
                golden.case("upsample_bilinear2d", [operand(x, dtype)], result(rounded(y, dtype), dtype), within(y, magnitude, 8, dtype),
                            named(size=list(size), scale=scales(factors), align_corners=[align]))  # fmt: skip


# The sizes of images, and of the positions.
GRIDS = [((5, 9), (3, 5)), ((1, 4), (2, 2)), ((3, 2, 4), (2, 2, 3)), ((1, 1, 5), (1, 2, 2))]


def grid_sample(golden, rng):
    for image, positions in GRIDS:
        for dtype in FLOATS:
            of = {"f8e4m3": "f32", "f16": "f32"}.get(dtype, dtype)
            x = draw(rng, [2, 3, *image], dtype)
            grid = rng.uniform(-2.5, 2.5, [2, *positions, len(image)]).astype(DTYPES[of])
            # Multiples of 1/16, whose positions are exact in f32, tell which element is nearest.
            exact = (rng.integers(-40, 41, grid.shape) / 16.0).astype(DTYPES[of])
            for mode, name in enumerate(["bilinear", "nearest", "bicubic"]):
                for padding, outside in enumerate(["zeros", "border", "reflection"]):
                    for align in [False, True]:
                        if name == "bicubic" and len(image) == 3:
                            continue
                        at = exact if name == "nearest" else grid
                        wide, places = tensor(x, dtype).double(), tensor(at, of).double()
                        y = F.grid_sample(wide, places, name, outside, align)
                        params = named(mode=[mode], padding=[padding], align_corners=[align])
                        # Positions below 32 are within 2^-22, and a value changes by less than
                        # four times the largest element from one to the next.
                        bound = within(y, np.full(y.shape, 4 * float(wide.abs().max())), 64, dtype)
                        golden.case("grid_sample", [operand(x, dtype), operand(at, of)], result(rounded(y, dtype), dtype),
                                    "raw" if name == "nearest" else bound, params)  # fmt: skip


RESIZES = [((7,), (4,)), ((3,), (8,)), ((5, 8), (3, 3)), ((4, 3), (9, 5)), ((6, 5), (6, 2)), ((3, 4, 5), (2, 6, 3))]
LINEAR = {1: "linear", 2: "bilinear", 3: "trilinear"}


def resize(golden, rng):
    for image, size in RESIZES:
        for dtype in CARRIERS:
            x = draw(rng, [1, 2, *image], dtype)
            places = torch.arange(2.0 * np.prod(image)).reshape(1, 2, *image)
            for mode, rule in [("nearest", dict(coordinates=[4], nearest=[2])), ("nearest-exact", dict(nearest=[1]))]:
                at = F.interpolate(places, size, mode=mode).long().numpy()
                golden.case("resize_nearest", [operand(x, dtype)], result(x.reshape(-1)[at], dtype), "raw", named(size=size, **rule))
        for dtype in FLOATS:
            x = draw(rng, [1, 2, *image], dtype)
            wide = tensor(x, dtype).double()
            for op, mode in [("resize_linear", LINEAR[len(image)]), ("resize_cubic", "bicubic")]:
                for align, smooth in [(False, False), (True, False), (False, True)]:
                    if (smooth or mode == "bicubic") and len(image) != 2:
                        continue
                    # PyTorch evaluates the antialiasing cubic with -1/2, as Pillow does.
                    rule = dict(cubic_coeff=[-0.5]) if smooth else {}
                    y = F.interpolate(wide, size, mode=mode, align_corners=align, antialias=smooth)
                    params = named(size=size, coordinates=[3 if align else 0], antialias=[smooth], exclude_outside=[smooth], **rule)
                    # The sum of the magnitudes of cubic weights is below 2.
                    bound = within(y, np.full(y.shape, 2 * float(wide.abs().max())), 64, dtype)
                    golden.case(op, [operand(x, dtype)], result(rounded(y, dtype), dtype), bound, params)


def triangle(golden, rng):
    for dtype in CARRIERS:
        for shape, diagonals in [([4, 7], [0, 2, -3, 9, -9]), ([2, 3, 5, 3], [-1])]:
            x = draw(rng, shape, dtype)
            for diagonal in diagonals:
                for op, f in [("tril", np.tril), ("triu", np.triu)]:
                    kept = f(np.ones(shape, bool), diagonal)
                    golden.case(op, [operand(x, dtype)], result(np.where(kept, x, np.zeros(1, x.dtype)), dtype), "raw", named(diagonal=[diagonal]))


def activation(golden, rng):
    functions = {"add_relu": F.relu, "add_gelu": lambda t: F.gelu(t, approximate="tanh"), "add_gelu_erf": F.gelu, "add_silu": F.silu}
    for dtype in FLOATS:
        x, bias = draw(rng, [5, 16], dtype, 1.5), np.abs(draw(rng, [16], dtype, 0.5))
        # The sum in the dtype, then the function in f64: PyTorch's forms cancel in the tail and
        # cannot be a reference there.
        total = (tensor(x, dtype).to(torch.float64) + tensor(bias, dtype).to(torch.float64)).to(TORCH[dtype])
        far = np.flatnonzero(total.to(torch.float64).numpy() < -2).tolist()
        data = np.ascontiguousarray(bias).tobytes()
        for op, f in functions.items():
            y = rounded(f(total.to(torch.float64)), dtype)
            skip = {"their form cancels in the negative tail": far} if "gelu" in op else None
            tol = "bits" if op == "add_relu" else {"ulp": 64 if dtype == "f64" else 2 if dtype == "f32" else 1}
            golden.case(op, [operand(x, dtype), (dtype, data, x.shape, [0, 1], 0)], result(y, dtype), tol, None, skip)


def clamp(golden, rng):
    for dtype in ALL:
        x = draw(rng, [40], dtype)
        if is_float(dtype):
            x[:2] = np.nan, -np.inf if dtype != "f8e4m3" else -448
        for low, high in [(-1.5, 2.25), (0.0, 100.0), (3.0, -3.0)]:
            limits = [low, high] if is_float(dtype) else [max(int(low), np.iinfo(DTYPES[dtype]).min), max(int(high), np.iinfo(DTYPES[dtype]).min)]
            wide = torch.float64 if is_float(dtype) else torch.int64
            y = torch.clamp(tensor(x, dtype).to(wide), *limits)
            golden.case("clamp", [operand(x, dtype)], result(rounded(y, dtype), dtype), "bits", named(min=[low], max=[high]))


def rope(golden, rng):
    """The formula in f64; neither torch nor NumPy has an operation for it."""
    for dtype in FLOATS:
        for op, shape in [("rope", (2, 3, 5, 8)), ("rope_i", (2, 3, 5, 8)), ("rope_thd", (2, 5, 3, 8))]:
            for batched in [False, True]:
                x = draw(rng, shape, dtype)
                angle = rng.uniform(0, 6.28, ([shape[0]] if batched else []) + [5, 4])
                c, s = (f(angle).astype(np.float32).astype(DTYPES[dtype]) for f in (np.cos, np.sin))
                wide, cos, sin = (tensor(t, dtype).to(torch.float64).numpy() for t in (x, c, s))
                cos, sin = (t if batched else t[None] for t in (cos, sin))
                heads = 2 if op == "rope_thd" else 1
                cos, sin = (np.expand_dims(t, heads) for t in (cos, sin))
                first, second = (wide[..., 0::2], wide[..., 1::2]) if op == "rope_i" else (wide[..., :4], wide[..., 4:])
                turned = [first * cos - second * sin, first * sin + second * cos]
                size = [np.abs(first * cos) + np.abs(second * sin), np.abs(first * sin) + np.abs(second * cos)]
                join = (lambda p: np.stack(p, -1).reshape(shape)) if op == "rope_i" else (lambda p: np.concatenate(p, -1))
                y = rounded(torch.from_numpy(join(turned)), dtype)
                inputs = [operand(t, dtype) for t in (x, c, s)]
                golden.case(op, inputs, result(y, dtype), within(join(turned), join(size), 2, dtype))


def scan(golden, rng):
    for dtype in ALL:
        for shape, dim in [([3, 37], 1), ([21, 4], 0), ([2, 18, 3], 1), ([300], 0)]:
            x = draw(rng, shape, dtype)
            if not is_float(dtype):
                y = torch.cumsum(tensor(x, dtype), dim, dtype=torch.int64)
                golden.case("cumsum", [operand(x, dtype)], result(rounded(y, dtype), dtype), "bits", named(dim=[dim]))
                continue
            wide = tensor(x, dtype).to(torch.float64)
            y, magnitude = torch.cumsum(wide, dim), torch.cumsum(wide.abs(), dim)
            golden.case("cumsum", [operand(x, dtype)], result(rounded(y, dtype), dtype), within(y, magnitude, 48, dtype), named(dim=[dim]))


def make(golden):
    for part in [pool, any_pool, upsample, triangle, activation, clamp, rope, scan, grid_sample, resize]:
        # Each part has its own generator, so that changing one does not affect another.
        part(golden, np.random.default_rng(sum(map(ord, part.__name__))))
