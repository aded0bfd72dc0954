"""Golden vectors of flips, rolls, padding, repetition and concatenation, from NumPy: flip, roll, pad, tile
and concatenate. Negative amounts of a padding are slices of the input."""

import hashlib
import math

import ml_dtypes
import numpy as np

from golden_cases import DTYPES
from make_golden import named

VERSION = f"NumPy {np.__version__}, ml_dtypes {ml_dtypes.__version__}"

# Operations that only move bits are the same for every dtype of the same size.
CARRIERS = ["u8", "i16", "f32", "i64"]
MODES = {"constant": 0, "reflect": 1, "edge": 2, "wrap": 3}
# (shape, amounts before and after each dimension). Every mode has elements enough for them.
PADS = [
    ([7], [(3, 2)]),
    ([2, 5, 9], [(1, 0), (0, 4), (8, 3)]),
    ([4, 6, 8], [(0, 0), (-2, 3), (-1, -1)]),
    ([3, 40], [(2, 1), (16, 16)]),
    ([1, 3, 5, 5], [(0, 0), (0, 0), (2, 2), (1, 1)]),
]
ROLLS = [([9], [2], [0]), ([4, 5, 6], [-1, 7], [2, 0]), ([3, 40], [16], [1]), ([2, 3, 4], [5, -9, 4], [0, 1, 1]), ([5, 4], [2], [0])]
FLIPS = [([11], [0]), ([3, 4, 5], [2]), ([3, 4, 5], [0, 1]), ([2, 3, 4, 5], [3, 0, 2]), ([3, 32], [0])]
REPEATS = [([5], [3]), ([2, 3], [2, 1]), ([2, 3], [2, 1, 2]), ([4, 16], [1, 3]), ([2, 1, 3], [1, 4, 2])]
CONCATS = [([4, 3], 0, [1, 0, 4, 2, 3]), ([4, 3], 1, [3, 1, 2, 0, 7]), ([2, 3, 16], 2, [16, 32, 16, 0, 16]), ([2, 3, 4], 1, [1, 1, 1, 1, 1])]


class Bits:
    """Bits that look random: a hash of a counter. numpy.random imports a module `random`, which is a family
    here."""

    def __init__(self):
        self.drawn = 0

    def array(self, shape, dtype):
        size = np.dtype(DTYPES[dtype]).itemsize
        self.drawn += 1
        data = hashlib.shake_256(str(self.drawn).encode()).digest(math.prod(shape) * size)
        return np.frombuffer(data, f"<u{size}").reshape(shape)


def operand(x, dtype):
    """An input that is transposed in memory if it has two dimensions or more, so that no view is contiguous."""
    if x.ndim < 2:
        return (dtype, np.ascontiguousarray(x).tobytes(), x.shape, [1] * x.ndim, 0)
    laid = np.ascontiguousarray(np.swapaxes(x, 0, x.ndim - 1))
    strides = np.swapaxes(laid, 0, x.ndim - 1).strides
    return (dtype, laid.tobytes(), x.shape, [s // x.itemsize for s in strides], 0)


def plain(x, dtype):
    strides = [int(np.prod(x.shape[d + 1 :])) for d in range(x.ndim)]
    return (dtype, np.ascontiguousarray(x).tobytes(), x.shape, strides, 0)


def result(x, dtype):
    return (dtype, x.shape, np.ascontiguousarray(x).tobytes())


def make(golden):
    bits_of = Bits()
    for dtype in CARRIERS:
        for laid in (plain, operand):
            for shape, dims in FLIPS:
                x = bits_of.array(shape, dtype)
                golden.case("flip", [laid(x, dtype)], result(np.flip(x, dims), dtype), "raw", named(dims=dims))
            for shape, shifts, dims in ROLLS:
                x = bits_of.array(shape, dtype)
                golden.case("roll", [laid(x, dtype)], result(np.roll(x, shifts, dims), dtype), "raw", named(shifts=shifts, dims=dims))
            for shape, amounts in PADS:
                x = bits_of.array(shape, dtype)
                kept = x[tuple(slice(max(-b, 0), n - max(-a, 0)) for n, (b, a) in zip(shape, amounts))]
                added = [(max(b, 0), max(a, 0)) for b, a in amounts]
                for mode, number in MODES.items():
                    bits = int(bits_of.array([1], dtype)[0])
                    value = {"constant_values": bits} if mode == "constant" else {}
                    fits = {"reflect": lambda n, m: m < n, "wrap": lambda n, m: m <= n}.get(mode, lambda n, m: True)
                    if all(max(pair) == 0 or fits(n, max(pair)) for n, pair in zip(kept.shape, added)):
                        y = np.pad(kept, added, mode=mode, **value)
                        before, after = zip(*amounts)
                        numbers = named(mode=[number], bits=[bits % 2**32, bits >> 32], before=before, after=after)
                        golden.case("pad", [laid(x, dtype)], result(y, dtype), "raw", numbers)
            for shape, repeats in REPEATS:
                x = bits_of.array(shape, dtype)
                golden.case("repeat", [laid(x, dtype)], result(np.tile(x, repeats), dtype), "raw", named(repeats=repeats))
            for shape, dim, sizes in CONCATS:
                inputs = [bits_of.array([size if d == dim else n for d, n in enumerate(shape)], dtype) for size in sizes]
                y = np.concatenate(inputs, dim)
                golden.case("concat", [laid(x, dtype) for x in inputs], result(y, dtype), "raw", named(dim=[dim]))
