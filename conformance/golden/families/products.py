"""Golden vectors of products of integers, of bytes with zero points, of f8 with scales, and of batches
that broadcast, from NumPy: matmul of int64, cut to the dtype. Floats are whole numbers so small that
every order adds exactly; those of f8 are also any numbers, multiplied in float64."""

import hashlib
import itertools
import math

import ml_dtypes
import numpy as np

from golden_cases import DTYPES

VERSION = f"NumPy {np.__version__}, ml_dtypes {ml_dtypes.__version__}"

# (lhs, rhs): batches of equal, of different and of no dimensions; one row; a long k; no k.
SHAPES = [
    ([3, 5], [5, 4]),
    ([2, 1, 3, 7], [4, 7, 2]),
    ([1, 6, 9], [3, 1, 9, 5]),
    ([2, 1, 261], [1, 261, 3]),
    ([18, 21], [21, 17]),
    ([2, 0], [5, 0, 3]),
]


class Bits:
    """Bits that look random: a hash of a counter."""

    def __init__(self):
        self.drawn = 0

    def array(self, shape, dtype):
        size = np.dtype(DTYPES[dtype]).itemsize
        self.drawn += 1
        data = hashlib.shake_256(str(self.drawn).encode()).digest(math.prod(shape) * size)
        return np.frombuffer(data, DTYPES[dtype]).reshape(shape)


def plain(x, dtype):
    strides = [math.prod(x.shape[d + 1 :]) for d in range(x.ndim)]
    return (dtype, np.ascontiguousarray(x).tobytes(), x.shape, strides, 0)


def transposed(x, dtype):
    """The matrices lie column by column."""
    strides = plain(x, dtype)[3]
    strides[-2:] = [1, max(x.shape[-2], 1)]
    return (dtype, np.ascontiguousarray(np.swapaxes(x, -1, -2)).tobytes(), x.shape, strides, 0)


def result(x, dtype):
    return (dtype, x.shape, np.ascontiguousarray(x).tobytes())


def wrapped(x, dtype):
    """The value modulo 2^bits of the dtype."""
    size = np.dtype(DTYPES[dtype]).itemsize
    return x.astype(np.int64).astype(f"<u{size}").view(DTYPES[dtype])


def make(golden):
    bits = Bits()
    with np.errstate(over="ignore"):
        for dtype in ["u32", "i32", "i64"]:
            for lhs, rhs in SHAPES:
                a, b = bits.array(lhs, dtype), bits.array(rhs, dtype)
                y = wrapped(np.matmul(a.astype(np.int64), b.astype(np.int64)), dtype)
                golden.case("matmul", [plain(a, dtype), transposed(b, dtype)], result(y, dtype), "raw")
        for dtype in ["f16", "bf16", "f32", "f64"]:
            for lhs, rhs in SHAPES:
                a, b = ((bits.array(shape, "u8") % 3).astype(np.int64) - 1 for shape in (lhs, rhs))
                y = np.matmul(a, b)
                operands = [x.astype(DTYPES[dtype]) for x in (a, b)]
                if np.abs(y).max(initial=0) <= 256:
                    inputs = [transposed(operands[0], dtype), plain(operands[1], dtype)]
                    golden.case("matmul", inputs, result(y.astype(DTYPES[dtype]), dtype), "bits")
        for of_a in ["u8", "i8"]:
            for of_b in ["u8", "i8"]:
                for lhs, rhs in SHAPES:
                    bytes_of(golden, bits, (of_a, lhs), (of_b, rhs))
        for of_a, of_b in itertools.product(F8, F8):
            for at, to in enumerate(["f16", "bf16", "f32"]):
                for i, shapes in enumerate(SCALED):
                    scaled(golden, bits, of_a, of_b, to, shapes, shapes[0][-1] < 100 and i % 2 == at % 2)


F8 = {"f8e4m3": ml_dtypes.float8_e4m3fn, "f8e5m2": ml_dtypes.float8_e5m2}
F32_UNIT, ULP = 2.0**-24, {"f16": (2.0**-10, 2.0**-24), "bf16": (2.0**-7, 2.0**-133), "f32": (2.0**-23, 2.0**-149)}

# Shapes of lhs, rhs and their scales: of tensors, rows and columns, blocks of k, squares, mixed.
SCALED = [
    ([3, 5], [5, 4], [1], []),
    ([6, 16], [16, 7], [6, 1], [1, 7]),
    ([3, 130], [130, 4], [3, 2], [2, 4]),
    ([129, 9], [9, 2], [2, 1], [1, 1]),
    ([2, 1, 5], [2, 5, 130], [2, 1, 1], [1, 2]),
    ([2, 0], [0, 3], [2, 1], [1, 1]),
]


def over(scales, shape):
    """The scale of each element of an operand."""
    s = np.reshape(scales, (1, 1)) if np.ndim(scales) < 2 else scales
    for axis in (-2, -1):
        size, own = shape[axis], s.shape[axis]
        at = np.arange(size) // (1 if own == size else 128 if own > 1 else max(size, 1))
        s = np.take(s, at, axis)
    return s.astype(np.float64)


def scaled(golden, bits, of_a, of_b, to, shapes, exact):
    """The sum of whole numbers by powers of two, which every order adds exactly, or of any."""

    def operand(shape, dtype):
        if exact:
            return ((bits.array(shape, "u8") % 5).astype(np.int64) - 2).astype(F8[dtype])
        # Without the exponents of infinities and NaNs.
        return (bits.array(shape, "u8") & 0xBF).view(F8[dtype])

    def scales(shape):
        drawn = bits.array(shape, "u8").astype(np.float64)
        return (2.0 ** (drawn % 3 - 1) if exact else (drawn + 1) / 97 * 2.0**-4).astype(np.float32)

    a, b, of_rows, of_columns = operand(shapes[0], of_a), operand(shapes[1], of_b), *map(scales, shapes[2:])
    x, y = (m.astype(np.float64) * over(s, m.shape) for m, s in ((a, of_rows), (b, of_columns)))
    exactly, magnitudes, k = np.matmul(x, y), np.matmul(np.abs(x), np.abs(y)), a.shape[-1]
    unit, least = ULP[to]
    bound = (k + 4) * F32_UNIT / (1 - (k + 4) * F32_UNIT) * magnitudes + unit * np.abs(exactly) + least
    tol = "bits" if exact else {"abs": np.ascontiguousarray(bound).tobytes()}
    inputs = [plain(a, of_a), transposed(b, of_b), plain(of_rows, "f32"), plain(of_columns, "f32")]
    golden.case("scaled_matmul", inputs, result(exactly.astype(DTYPES[to]), to), tol)


def bytes_of(golden, bits, a, b):
    """With no zero points, with one for each line of either operand, and with one for each operand."""
    (of_a, lhs), (of_b, rhs) = a, b
    a, b = bits.array(lhs, of_a), bits.array(rhs, of_b)
    operands = [plain(a, of_a), transposed(b, of_b)]
    a, b = a.astype(np.int64), b.astype(np.int64)
    rows, columns = bits.array([lhs[-2]], of_a), bits.array([rhs[-1]], of_b)
    less_rows, less_columns = a - rows.astype(np.int64)[:, None], b - columns.astype(np.int64)
    for name, zeros, x, y in [
        ("matmul_integer", [], a, b),
        ("matmul_integer_lhs_zero", [plain(rows, of_a)], less_rows, b),
        ("matmul_integer_rhs_zero", [plain(columns, of_b)], a, less_columns),
        ("matmul_integer_zeros", [plain(rows, of_a), plain(columns, of_b)], less_rows, less_columns),
    ]:
        golden.case(name, operands + zeros, result(wrapped(np.matmul(x, y), "i32"), "i32"), "raw")
    one = [bits.array([1], of_a), bits.array([], of_b)]
    y = wrapped(np.matmul(a - int(one[0][0]), b - int(one[1])), "i32")
    golden.case("matmul_integer_zeros", operands + [plain(one[0], of_a), plain(one[1], of_b)], result(y, "i32"), "raw")
