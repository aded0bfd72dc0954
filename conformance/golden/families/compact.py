"""Golden vectors of results whose size depends on values, from NumPy's count_nonzero, argwhere, boolean
indexing, compress and unique.

Narrow floats are widened to f64, which is exact, so that NumPy compares and sorts their values; results
are the bits at the positions that it returns. NumPy's results are cut at the bound, or filled up to it as
documented: with the largest id for positions, else with zeros.
"""

import ml_dtypes
import numpy as np

from make_golden import named

VERSION = f"NumPy {np.__version__}, ml_dtypes {ml_dtypes.__version__}"

INTEGERS = {"u8": np.uint8, "i8": np.int8, "u32": np.uint32, "i16": np.int16, "i32": np.int32, "i64": np.int64}
FLOATS = {
    "f8e4m3": (ml_dtypes.float8_e4m3fn, np.uint8),
    "f16": (np.float16, np.uint16),
    "bf16": (ml_dtypes.bfloat16, np.uint16),
    "f32": (np.float32, np.uint32),
    "f64": (np.float64, np.uint64),
}
MASKS = {"u8": np.uint8, "u32": np.uint32, "i64": np.int64}
POSITIONS = {"u32": np.uint32, "i64": np.int64}
SHAPES = [(11,), (4, 9), (3, 2, 5)]


def elements(rng, dtype, shape):
    """Zeros and few other values, with all kinds of NaNs; and the numbers that NumPy computes with."""
    count = int(np.prod(shape))
    if dtype in INTEGERS:
        t = np.dtype(INTEGERS[dtype])
        few = np.concatenate([np.zeros(2, t), rng.integers(0, 256, 5 * t.itemsize, dtype=np.uint8).view(t)])
        x = few[rng.integers(0, len(few), count)].reshape(shape)
        return x, x
    float_type, bits_type = FLOATS[dtype]
    few = np.array([0.0, -0.0, 1.5, -1.0, np.nan, -np.nan, 448.0, 2.0**-9]).astype(float_type)
    x = few[rng.integers(0, len(few), count)].reshape(shape)
    return x.view(bits_type), x.astype(np.float64)


def bounded(rows, bound, fill):
    """The first rows, and rows of one value up to the bound."""
    rest = np.full((max(0, bound - len(rows)), *rows.shape[1:]), fill, rows.dtype)
    return np.concatenate([rows[:bound], rest])


def strides(shape):
    return tuple(int(np.prod(shape[d + 1 :])) for d in range(len(shape)))


def make(golden):
    rng = np.random.default_rng(20_261_127)
    for dtype in [*INTEGERS, *FLOATS]:
        for shape in SHAPES:
            bits, x = elements(rng, dtype, shape)
            positions(golden, dtype, bits, x)
            selections(golden, rng, dtype, bits)


def positions(golden, dtype, bits, x):
    shape, n = x.shape, x.size
    operand = [(dtype, bits.tobytes(), shape, strides(shape), 0)]

    def case(op, dst, result, **params):
        result = result.astype(POSITIONS[dst]) if dst in POSITIONS else result
        tol = "raw" if op == "unique" else "bits"
        golden.case(op, operand, (dst if dst in POSITIONS else dtype, result.shape, result.tobytes()), tol, named(**params))

    values, first, inverse, counts = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
    found = np.argwhere(x)
    wide = dtype in ["u8", "f16", "f32", "i64"]
    for dst in ["u32", "i64"] if wide else ["u32"]:
        none = np.iinfo(POSITIONS[dst]).max
        case("count_nonzero", dst, np.array(np.count_nonzero(x)))
        case("count_unique", dst, np.array(len(values)))
        case("unique_inverse", dst, inverse.reshape(shape))
        for bound in [n, len(found) // 2]:
            case("nonzero", dst, bounded(found, bound, none), bound=[bound])
        for bound in [n, len(values) // 2]:
            case("unique_counts", dst, bounded(counts, bound, 0), bound=[bound])
            case("unique_first", dst, bounded(first, bound, none), bound=[bound])
    for bound in [n, len(values) // 2]:
        case("unique", None, bounded(bits.reshape(-1)[first], bound, 0), bound=[bound])


def selections(golden, rng, dtype, bits):
    shape = bits.shape
    operand = (dtype, bits.tobytes(), shape, strides(shape), 0)
    for mask_dtype, t in MASKS.items():
        if mask_dtype != "u8" and dtype not in ["i8", "bf16", "f32", "f64"]:
            continue
        mask = (rng.random(shape) < 0.5) * rng.choice(np.array([1, 128], t), shape)
        flags = (mask_dtype, mask.tobytes(), shape, strides(shape), 0)
        kept = bits[mask != 0]
        for bound in [bits.size, len(kept) // 2]:
            result = bounded(kept, bound, 0)
            golden.case("masked_select", [operand, flags], (dtype, result.shape, result.tobytes()), "raw", named(bound=[bound]))
        for dim, size in enumerate(shape):
            row = (rng.random(max(size - 1, 1)) < 0.6).astype(t)
            kept = np.compress(row != 0, bits, axis=dim)
            for bound in [size, kept.shape[dim] // 2]:
                result = np.moveaxis(bounded(np.moveaxis(kept, dim, 0), bound, 0), 0, dim)
                flags = (mask_dtype, row.tobytes(), row.shape, (1,), 0)
                params = named(bound=[bound], dim=[dim])
                golden.case("compress", [operand, flags], (dtype, result.shape, result.tobytes()), "raw", params)
