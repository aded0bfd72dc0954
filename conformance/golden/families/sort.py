"""Golden vectors of sorting, from NumPy's stable argsort, and from PyTorch's stable sort and the values of
its topk if torch is installed.

NumPy has no descending sort. For integers and for numbers that are negated exactly, an ascending sort of
the negated values replaces it, except for NaNs, which are put first here as PyTorch documents.
"""

import numpy as np

import ml_dtypes

from make_golden import named

try:
    import torch
except ImportError:
    torch = None

VERSION = f"numpy {np.__version__}, ml_dtypes {ml_dtypes.__version__}" + (f", torch {torch.__version__}" if torch else "")

INTEGERS = {"u8": np.uint8, "i8": np.int8, "u32": np.uint32, "i16": np.int16, "i32": np.int32, "i64": np.int64}
FLOATS = {
    "f8e4m3": (ml_dtypes.float8_e4m3fn, np.uint8),
    "f16": (np.float16, np.uint16),
    "bf16": (ml_dtypes.bfloat16, np.uint16),
    "f32": (np.float32, np.uint32),
    "f64": (np.float64, np.uint64),
}


def rows_of(dtype, rng, rows, n):
    """Random bits in the first rows; then few different values, so that most are equal."""
    if dtype in INTEGERS:
        t = np.dtype(INTEGERS[dtype])
        any_bits = rng.integers(0, 256, (rows, n * t.itemsize), dtype=np.uint8).view(t)
        few = rng.integers(0, 3, (rows, n)).astype(t)
        if t.kind == "i":
            few -= 1
        return np.concatenate([any_bits, few])
    float_type, bits_type = FLOATS[dtype]
    any_bits = rng.integers(0, 256, (rows, n * np.dtype(bits_type).itemsize), dtype=np.uint8).view(bits_type)
    few = np.array([0.0, -0.0, 1.0, -1.0, np.nan, -np.nan, 448.0, 2.0**-9]).astype(float_type).view(bits_type)
    return np.concatenate([any_bits, few[rng.integers(0, len(few), (rows, n))]]).view(float_type)


def ascending(x):
    """Positions by NumPy's stable sort: NaNs last, in order, and zeros of both signs equal. f64 represents
    every float here; integers are sorted as they are."""
    if np.issubdtype(x.dtype, np.integer):
        return np.argsort(x, axis=-1, kind="stable")
    return np.argsort(x.astype(np.float64), axis=-1, kind="stable")


def descending(x):
    """NaNs first, then the stable order of the negated values; for integers, the complement avoids overflow."""
    if np.issubdtype(x.dtype, np.integer):
        return np.argsort(~x, axis=-1, kind="stable")
    y = -x.astype(np.float64)
    # lexsort is stable and takes the last key first.
    return np.stack([np.lexsort((np.nan_to_num(r, nan=0.0, posinf=np.inf, neginf=-np.inf), ~np.isnan(r))) for r in y])


def check_against_torch(dtype, x, order, is_descending):
    """PyTorch's own stable sort must agree where it has the dtype."""
    kinds = {"f32": "float32", "f64": "float64", "f16": "float16", "bf16": "bfloat16", "u8": "uint8", "i8": "int8",
             "i16": "int16", "i32": "int32", "i64": "int64"}
    if torch is None or dtype not in kinds:
        return None
    if dtype == "bf16":
        t = torch.from_numpy(x.view(np.int16).copy()).view(torch.bfloat16)
    else:
        t = torch.from_numpy(x.copy())
    values, at = torch.sort(t, dim=-1, descending=is_descending, stable=True)
    assert np.array_equal(at.numpy(), order), f"PyTorch's stable sort of {dtype} differs from NumPy's"
    return t


def make(golden):
    rng = np.random.default_rng(20_260_704)
    for dtype in [*INTEGERS, *FLOATS]:
        for rows, n in [(1, 1), (2, 33), (1, 130)]:
            x = rows_of(dtype, rng, rows, n)
            shape = x.shape
            strides = (n, 1)
            operand = (dtype, x.tobytes(), shape, strides, 0)
            for is_descending in [False, True]:
                order = descending(x) if is_descending else ascending(x)
                t = check_against_torch(dtype, x, order, is_descending)
                values = np.take_along_axis(x.view(bits_of(dtype)), order, axis=-1)
                positions = order.astype(np.uint32)
                params = named(descending=[is_descending])
                golden.case("sort", [operand], (dtype, shape, values.tobytes()), "raw", params)
                golden.case("argsort", [operand], ("u32", shape, positions.tobytes()), "bits", params)
                for k in sorted({0, 1, n // 4, n}):
                    top = named(largest=[is_descending], k=[k])
                    first, at = values[:, :k], positions[:, :k]
                    if t is not None:
                        # PyTorch may return any of equal elements, so only the values are compared.
                        got = torch.topk(t, k, dim=-1, largest=is_descending, sorted=True).values.double().numpy()
                        assert np.array_equal(got, first.copy().view(x.dtype).astype(np.float64), equal_nan=True)
                    golden.case("topk", [operand], (dtype, first.shape, first.tobytes()), "raw", top)
                    golden.case("argtopk", [operand], ("u32", at.shape, at.tobytes()), "bits", top)


def bits_of(dtype):
    return INTEGERS[dtype] if dtype in INTEGERS else FLOATS[dtype][1]
