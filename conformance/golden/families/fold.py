"""Golden vectors of scans and of reductions to norms, logarithms of sums, truth values and variances, from
NumPy.

Results that round are computed with NumPy's long double (64 bits of precision) and rounded to the dtype;
the bounds are those of docs/numerics.md, section 8, and docs/numerics/shape.md, section 6. All others are
NumPy's own.
"""

import math

import ml_dtypes
import numpy as np

from golden_cases import DTYPES, depth, is_float
from make_golden import named

VERSION = f"NumPy {np.__version__}, ml_dtypes {ml_dtypes.__version__}"

FLOATS = [d for d in DTYPES if is_float(d)]
PRECISION = {"f8e4m3": 4, "f16": 11, "bf16": 8, "f32": 24, "f64": 53}
SMALLEST = {"f8e4m3": -9, "f16": -24, "bf16": -133, "f32": -149, "f64": -1074}


def unit(dtype):
    """Half an ulp of 1 in the compute type."""
    return 2.0 ** (-53 if dtype == "f64" else -24)


def draw(rng, shape, dtype, scale=2.0, mean=0.0):
    if is_float(dtype):
        return (rng.standard_normal(shape) * scale + mean).astype(np.float32).astype(DTYPES[dtype])
    info = np.iinfo(DTYPES[dtype])
    return rng.integers(info.min, info.max, shape, dtype=DTYPES[dtype], endpoint=True)


def wide(x):
    """The elements as long doubles; exact for every float dtype."""
    return x.astype(np.float64).astype(np.longdouble)


def operand(x, dtype):
    strides = [s // x.itemsize for s in np.ascontiguousarray(x).strides]
    return (dtype, np.ascontiguousarray(x).tobytes(), x.shape, strides, 0)


def result(x, dtype):
    x = np.ascontiguousarray(x)
    return (dtype, x.shape, x.tobytes())


def rounded(y, dtype):
    """Long doubles as values of the dtype. f16 overflows to infinity; f8e4m3 saturates here, and is NaN there."""
    y = np.asarray(y).astype(np.float64)
    with np.errstate(over="ignore"):
        return (np.clip(y, -448, 448) if dtype == "f8e4m3" else y).astype(DTYPES[dtype])


def within(value, error, dtype):
    """An absolute error in the compute type, then an ulp of the dtype."""
    value, error = np.asarray(value, np.float64), np.asarray(error, np.float64)
    finite = np.where(np.isfinite(value), value, 0.0)
    ulp = np.exp2(np.floor(np.log2(np.maximum(np.abs(finite), 1e-300))) + 1 - PRECISION[dtype])
    bound = np.maximum(ulp, 2.0 ** SMALLEST[dtype]) + np.where(np.isfinite(value), error, 0.0)
    # The next power of two, which compresses better.
    return {"abs": np.exp2(np.ceil(np.log2(bound))).astype("<f8").tobytes()}


def shifted(y, axis, nothing):
    """The results of an exclusive scan, from those of the inclusive one."""
    first = np.full_like(np.take(y, [0], axis), nothing)
    return np.concatenate([first, np.delete(y, -1, axis)], axis)


def scanned(function, x, axis, nothing, exclusive, reverse):
    x = np.flip(x, axis) if reverse else x
    y = function(x, axis)
    y = shifted(y, axis, nothing) if exclusive else y
    return np.flip(y, axis) if reverse else y


def scans(golden, rng):
    for dtype in DTYPES:
        top = 448 if dtype == "f8e4m3" else math.inf
        least, most = (-top, top) if is_float(dtype) else (np.iinfo(DTYPES[dtype]).min, np.iinfo(DTYPES[dtype]).max)
        for op, function, nothing in [
            ("cumsum", np.cumsum, 0),
            ("cumprod", np.cumprod, 1),
            ("cummin", np.minimum.accumulate, most),
            ("cummax", np.maximum.accumulate, least),
        ]:
            for shape, dim, exclusive, reverse in [
                ([2, 37], 1, 0, 0), ([2, 37], 1, 1, 0), ([2, 48], 1, 0, 1), ([2, 48], 1, 1, 1), ([21, 3], 0, 0, 1),
                ([21, 3], 0, 1, 0), ([2, 18, 2], 1, 1, 1), ([270], 0, 1, 1),
            ]:  # fmt: skip
                x = draw(rng, shape, dtype)
                if op == "cumprod" and is_float(dtype):
                    # Factors of both signs near one, so that no product overflows or vanishes.
                    x = (np.exp2(rng.uniform(-0.3, 0.3, shape)) * rng.choice([-1, 1], shape)).astype(DTYPES[dtype])
                params = named(dim=[dim], exclusive=[exclusive], reverse=[reverse])
                case = lambda y, tol: golden.case(op, [operand(x, dtype)], result(y, dtype), tol, params)
                scan = lambda f, v: scanned(f, v, dim, nothing, exclusive, reverse)
                if op in ("cummin", "cummax"):
                    if is_float(dtype):
                        x.reshape(-1)[rng.integers(x.size)] = math.nan
                        case(rounded(scan(function, wide(x)), dtype), "bits")
                    else:
                        case(scan(function, x), "bits")
                elif not is_float(dtype):
                    case(scan(lambda v, a: function(v, axis=a, dtype=v.dtype), x), "bits")
                else:
                    y, n = scan(function, wide(x)), shape[dim]
                    h = 16 * math.ceil(math.log(n, 16)) if op == "cumsum" else n
                    size = scan(function, np.abs(wide(x)))
                    case(rounded(y, dtype), within(y, 2 * h * unit(dtype) * size, dtype))


# Shapes and the dimensions that are reduced. The last one repeats its rows, and has more elements
# than a segment of 65,536.
SHAPES = [([280], [0]), ([2, 140], [1]), ([20, 8], [0]), ([4, 7, 5], [0, 2]), ([3, 4], []), ([1], [0]), ([300, 220], [0, 1])]


def seen(x, stored, dtype):
    """The operand of an array whose first rows, `stored`, are repeated."""
    held = np.ascontiguousarray(x[tuple(slice(n) for n in stored)])
    name, data, _, strides, offset = operand(held, dtype)
    return (name, data, x.shape, [0 if n != m else s for n, m, s in zip(stored, x.shape, strides)], offset)


def reductions(golden, rng):
    for dtype in DTYPES:
        for shape, dims in SHAPES:
            stored = [1, *shape[1:]] if shape[0] == 300 else shape
            repeated = lambda x: np.broadcast_to(x, shape)
            x = repeated(draw(rng, stored, dtype))
            axis, n = tuple(dims), math.prod(shape[d] for d in dims)
            keep = dict(axis=axis, keepdims=True)
            case = lambda op, y, tol, out=dtype, numbers={}: golden.case(
                op, [seen(x, stored, dtype)], result(y, out), tol, dict(dims=dims, **(named(**numbers) if numbers else {}))
            )
            truth = x.astype(np.float64) if is_float(dtype) else x
            case("any", np.any(truth, **keep).astype(np.uint8), "bits", "u8")
            case("all", np.all(truth, **keep).astype(np.uint8), "bits", "u8")
            if not is_float(dtype):
                case("l1_norm", np.sum(np.abs(x), dtype=x.dtype, **keep), "bits")
                case("max_norm", np.max(np.abs(x), **keep), "bits")
                continue
            v, u, h = wide(x), unit(dtype), depth(n)
            case("max_norm", rounded(np.max(np.abs(v), **keep), dtype), "bits")
            y = np.sum(np.abs(v), **keep)
            case("l1_norm", rounded(y, dtype), within(y, h * u * y, dtype))
            y = np.sqrt(np.sum(v * v, **keep))
            case("l2_norm", rounded(y, dtype), within(y, (h + 3) * u * y, dtype))
            m = np.max(v, **keep)
            e = np.exp(v - m)
            s = np.sum(e, **keep)
            y = m + np.log(s)
            # exp of narrow floats has a relative error of 2^-19.
            eps = 4 * u if dtype in ("f32", "f64") else 2.0**-19
            case("logsumexp", rounded(y, dtype), within(y, u * np.sum((m - v) * e, **keep) / s + eps + u * (h + 4 * np.log(s) + abs(y)), dtype))
            for mean, correction in [(0.0, 1), (0.0, 0), (100.0, 1), (7.0, 3)]:
                x = repeated(draw(rng, stored, dtype, 2.0, mean))
                v = wide(x)
                center = np.mean(v, **keep)
                squares = np.sum((v - center) ** 2, **keep)
                first = v[tuple(slice(0, 1) if d in dims else slice(None) for d in range(v.ndim))]
                with np.errstate(all="ignore"):
                    y = squares / np.longdouble(max(n - correction, 0))
                    kappa = np.sqrt(1 + (center - first) ** 2 * n / np.where(squares == 0, 1, squares))
                numbers = dict(correction=[correction])
                error = kappa * (4 * h + 8) * u
                case("var", rounded(y, dtype), within(y, error * y, dtype), numbers=numbers)
                case("std", rounded(np.sqrt(y), dtype), within(np.sqrt(y), error * np.sqrt(y), dtype), numbers=numbers)
        # Conditions with few elements that decide.
        for lone in range(4):
            x = np.zeros([4, 270], DTYPES[dtype])
            x[lone, rng.integers(270)] = 1
            if is_float(dtype):
                x[(lone + 1) % 4, rng.integers(270)] = math.nan
                x[(lone + 2) % 4, :] = -0.0
            truth = x.astype(np.float64) if is_float(dtype) else x
            golden.case("any", [operand(x, dtype)], result(np.any(truth, 1, keepdims=True).astype(np.uint8), "u8"), "bits", dict(dims=[1]))
            x = (truth == 0).astype(DTYPES[dtype])
            golden.case("all", [operand(x, dtype)], result(np.all(x.astype(np.float64), 1, keepdims=True).astype(np.uint8), "u8"), "bits", dict(dims=[1]))
        # Extremes of no elements.
        x = np.zeros([3, 0], DTYPES[dtype])
        top = 448 if dtype == "f8e4m3" else math.inf
        least, most = (-top, top) if is_float(dtype) else (np.iinfo(DTYPES[dtype]).min, np.iinfo(DTYPES[dtype]).max)
        for op, nothing in [("min", most), ("max", least)]:
            y = np.full([3, 1], nothing, DTYPES[dtype])
            golden.case(op, [operand(x, dtype)], result(y, dtype), "bits", dict(dims=[1], **named(empty_extremes=[1])))


def logsumexp_of_infinities(golden, rng):
    inf = math.inf
    for dtype in ["f16", "bf16", "f32", "f64"]:
        x = np.array([[-inf, -inf], [inf, 1], [inf, inf], [-inf, 3], [math.nan, inf], [0, math.nan]], DTYPES[dtype])
        y = np.array([-inf, inf, inf, 3, math.nan, math.nan], DTYPES[dtype]).reshape(6, 1)
        golden.case("logsumexp", [operand(x, dtype)], result(y, dtype), "bits", dict(dims=[1]))


def make(golden):
    for part in [scans, reductions, logsumexp_of_infinities]:
        # Each part has its own generator, so that changing one does not affect another.
        part(golden, np.random.default_rng(sum(map(ord, part.__name__))))
