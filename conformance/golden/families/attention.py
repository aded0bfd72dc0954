"""Golden vectors of attention: softmax(scale Q K^T) V in f64, with NumPy alone.

Scores, their soft-cap, the mask, the softmax and the average of values are computed in f64 from the
inputs. A causal query m - 1 - i belongs to key n - 1 - i (lower right, as in FlashAttention).

The bound of an element is the sum of two parts.

1. What the fixed point of docs/numerics/attention.md does to these very inputs: the difference of the
   result from the same f64 formula on inputs rounded to it. Queries and keys are rounded in segments of
   128 elements, values in segments of 128 keys, to 16 bits (bf16) or 24 bits (f16, f32).
2. A bound of everything else. With u = 2^-24, c = log2(e) and, for a key, A = c |scale| sum |s| over the
   scores s of its segments and t = c times its score with cap and mask:

     t is off by at most D = u (6 A + 6 |t| (if capped) + |t| + c |a| (if a mask adds a)),
     its weight 2^(t - top) by the share ln 2 (D + u |t - top|) + E, E = 2^-18.3 (bf16) or 2^-22, and, as
     weights are integers, by 2^-15 (bf16) or 2^-23 of the power of two that is the next one from the
     largest weight of its 128 keys on.

   The result y = sum w v / sum w is off by at most sum dw |v - y| / sum w, as common factors of weights
   cancel, and by 6 u (blocks + 1) sum w |v| / sum w for sums and the division.

Both results are rounded to the dtype, so an element may be any number of the dtype to which a number
within the bound rounds; in f16 this is mostly one number.
"""

import math

import ml_dtypes
import numpy as np

from golden_cases import DTYPES, View, rng, wide
from make_golden import named

VERSION = f"NumPy {np.__version__}, ml_dtypes {ml_dtypes.__version__}"

U = 2.0**-24
LOG2E = math.log2(math.e)
LARGEST = float(np.finfo(np.float32).max)
SEGMENT = 128
# Bits of the fixed point, its largest integer, the error of a weight relative to it, and that of
# the weight as an integer.
FIXED = {"bf16": (16, 0x7F7F, 2.0**-18.3, 2.0**-15)}
FIXED["f16"] = FIXED["f32"] = (24, 0x7F7F7F, 2.0**-22, 2.0**-23)


def fixed_point(x, axis, dtype):
    """Rounds segments along an axis to integers in steps of a power of two."""
    bits, largest, _, _ = FIXED[dtype]
    out = np.moveaxis(x, axis, -1).copy()
    for first in range(0, out.shape[-1], SEGMENT):
        part = out[..., first : first + SEGMENT]
        top = np.abs(part).max(-1, keepdims=True)
        step = np.exp2(np.frexp(top)[1].astype(np.float64) - (bits - 1))
        step = np.where(np.rint(top / step) > largest, 2 * step, step)
        part[...] = np.rint(part / step) * step
    return np.moveaxis(out, -1, axis)


def attend(q, k, v, seen, mask, scale, cap):
    """Returns results, scores in bits, and weights relative to the largest of each row."""
    with np.errstate(invalid="ignore", over="ignore"):
        t = scale * (q @ k.swapaxes(-1, -2))
        if cap is not None:
            t = cap * np.tanh(t / cap)
        seen = seen & (mask != -np.inf)
        t = np.where(seen, t + mask, -np.inf) * LOG2E
        # Scores are f32.
        t = np.where(seen & np.isnan(t), np.inf, np.where(np.abs(t) > LARGEST, np.sign(t) * np.inf, t))
        top = t.max(-1, keepdims=True, initial=-np.inf)
        visible = t > -np.inf
        w = np.exp2(np.where(visible, t - np.where(np.isfinite(top), top, 0.0), -np.inf))
        w = np.where(np.isposinf(top), np.nan, w)
        total = w.sum(-1, keepdims=True)
        # Values of keys that are not visible do not count, whatever they are.
        terms = np.where(visible[..., None], w[..., None] * v[..., None, :, :], 0.0)
        y = np.where(total == 0, 0.0, terms.sum(-2) / np.where(total == 0, 1.0, total))
    return y, t, w


def others(q, k, v, y, t, w, mask, scale, cap, dtype):
    """The second part of the bound."""
    _, _, relative, absolute = FIXED[dtype]
    parts = range(0, q.shape[-1], SEGMENT)
    scores = sum(np.abs(q[..., p : p + SEGMENT] @ k[..., p : p + SEGMENT].swapaxes(-1, -2)) for p in parts)
    visible = w > 0
    size = np.where(visible, np.abs(t), 0.0)
    d = 6 * LOG2E * abs(scale) * scores + (7 if cap is not None else 1) * size
    d = U * (d + LOG2E * np.where(visible, np.abs(mask), 0.0))
    away = np.minimum(-np.log2(np.where(visible, w, 1.0)), 40.0)
    # A block's unit of weights is the power of two from its largest weight on; a score may be off
    # so far that it is the next one.
    unit, top = np.zeros(w.shape), np.where(visible, t, -np.inf).max(-1, keepdims=True, initial=-np.inf)
    top = np.where(top > -np.inf, top, 0.0)
    for first in range(0, w.shape[-1], SEGMENT):
        keys = slice(first, first + SEGMENT)
        most = np.where(visible, t + d, -np.inf)[..., keys].max(-1, keepdims=True)
        unit[..., keys] = np.exp2(np.ceil(most) - top)
    dw = np.where(visible, w * (math.log(2) * (d + U * away) + relative) + absolute * unit, 0.0)
    total = np.where(visible.any(-1), w.sum(-1), 1.0)[..., None]
    off = (dw[..., None] * np.abs(v[..., None, :, :] - y[..., None, :])).sum(-2) / total
    blocks = -(-k.shape[-2] // SEGMENT)
    return off + 6 * U * (blocks + 1) * (w @ np.abs(v)) / total


def up(bounds):
    """Rounds up to the next sixteenth of a power of two, which has fewer digits to store."""
    fraction, exponent = np.frexp(bounds)
    return np.ldexp(np.ceil(fraction * 16) / 16, exponent)


def emit(golden, dtype, q, k, v, mask=None, lengths=None, left=None, right=None, scale=None, cap=None):
    """q, k, v, mask and lengths are views."""
    (batch, heads, m, d), (_, kv_heads, n, _) = q.shape, k.shape
    x = [wide(view.array()) for view in (q, k, v)]
    x[1:] = [np.repeat(part, heads // kv_heads, axis=1) for part in x[1:]]
    added = wide(mask.array()) if mask else np.zeros((batch, heads, m, n))
    length = np.minimum(lengths.array().astype(np.int64), n) if lengths else np.full(batch, n)
    length = length[:, None, None, None]
    own, key = np.arange(m)[:, None] + length - m, np.arange(n)
    seen = key < length
    if left is not None:
        seen = seen & (key >= own - left)
    if right is not None:
        seen = seen & (key <= own + right)
    factor = float(np.float32(1) / np.sqrt(np.float32(d)) if scale is None else np.float32(scale))
    y, t, w = attend(*x, seen, added, factor, cap)

    # Of keys that the length hides, the fixed point takes none.
    there = (key < length).reshape(batch, 1, n, 1)
    finite = [np.nan_to_num(part, nan=0.0, posinf=0.0, neginf=0.0) for part in (x[0], *(np.where(there, part, 0.0) for part in x[1:]))]
    summand = np.nan_to_num(added, nan=0.0, posinf=0.0)
    rounded = [fixed_point(part, axis, dtype) for part, axis in zip(finite, (-1, -1, -2))]
    exact, t, w = attend(*finite, seen, summand, factor, cap)
    fixed, _, _ = attend(*rounded, seen, summand, factor, cap)
    bound = np.abs(fixed - exact) + 1.01 * others(*finite, exact, t, w, np.where(np.isfinite(summand), summand, 0.0), factor, cap, dtype)

    want = y.astype(DTYPES[dtype])
    with np.errstate(invalid="ignore"):
        ends = [np.abs(wide(end.astype(DTYPES[dtype])) - wide(want)) for end in (y - bound, y + bound)]
    # The suite reads numbers from decimal digits, which moves them a little.
    bounds = up(1.01 * np.nan_to_num(np.maximum(*ends), nan=0.0))
    sizes = {"window_size_left": left, "window_size_right": right, "scale": scale, "softcap": cap}
    params = named(**{name: [number] for name, number in sizes.items() if number is not None})
    name = "scaled_dot_product_attention" + ("_mask" if mask else "") + ("_lengths" if lengths else "")
    inputs = [view.record() for view in (q, k, v, mask, lengths) if view]
    golden.case(name, inputs, (dtype, want.shape, want.tobytes()), {"abs": bounds.tobytes()}, params)


# Batch, heads of keys, heads that share one, queries, keys, elements; and what differs from
# attention to all keys with the usual scale.
CASES = [
    ((1, 1, 1, 3, 5, 4), {}),
    ((1, 1, 1, 1, 1, 1), {}),
    ((2, 2, 3, 1, 17, 8), {}),
    ((1, 1, 2, 5, 9, 3), {"right": 0}),
    # Queries before the first key.
    ((2, 1, 1, 7, 4, 3), {"right": 0}),
    ((1, 1, 1, 6, 6, 5), {"left": 0, "right": 0}),
    ((1, 2, 1, 6, 11, 3), {"left": 3, "right": 1}),
    ((1, 1, 1, 4, 300, 5), {"left": 140, "right": 2}),
    ((1, 1, 1, 1, 300, 129), {"right": 0}),
    ((1, 1, 1, 1, 129, 65), {"left": 127}),
    ((1, 1, 1, 2, 3, 256), {"scale": 0.25}),
    ((1, 1, 2, 2, 130, 16), {"cap": 2.0}),
    ((1, 1, 2, 2, 40, 16), {"cap": 30.0, "scale": -3.0, "left": 30}),
    ((1, 1, 1, 3, 140, 7), {"scale": 0.0}),
    # Maxima of blocks that are far apart.
    ((1, 1, 1, 3, 259, 6), {"scale": 40.0}),
    ((1, 1, 1, 3, 259, 6), {"scale": 40.0, "right": 0}),
]
WITH_MASK = [
    ((1, 2, 1, 4, 9, 3), {}),
    ((2, 1, 2, 3, 33, 4), {"right": 0}),
    ((1, 1, 2, 2, 290, 5), {"cap": 5.0}),
]
WITH_LENGTHS = [
    ((5, 1, 1, 2, 6, 3), {"right": 0}),
    ((3, 1, 2, 2, 140, 4), {"left": 20}),
]


class Pool:
    """Random numbers from which all inputs of a dtype are taken, so that the file stays small: lines
    overlap, and each begins some elements after the one before."""

    def __init__(self, dtype):
        self.dtype = dtype
        self.numbers = rng(f"attention {dtype}").normal(size=2048).astype(DTYPES[dtype])

    def view(self, shape, start, line=3):
        _, heads, count, _ = shape
        strides = [line * heads * count + 11, line * count + 5, line, 1]
        last = start + sum((n - 1) * s for n, s in zip(shape, strides))
        assert last < len(self.numbers), (shape, last)
        return View(self.dtype, self.numbers, shape, strides, start)

    def inputs(self, shape):
        batch, kv_heads, group, m, n, d = shape
        keys = (batch, kv_heads, n, d)
        return self.view((batch, kv_heads * group, m, d), 400, 37), self.view(keys, 0), self.view(keys, 600)


def mask_of(dtype, shape, name):
    """A mask of which a third hides keys, and whose first row hides all."""
    r = rng(f"attention mask {dtype} {shape} {name}")
    x = np.where(r.random(shape) < 0.33, -np.inf, r.normal(size=shape) * 2)
    x[..., 0, :] = -np.inf
    return View(dtype, x.astype(DTYPES[dtype]))


def shared(view, shape):
    """The same view for every head and batch entry."""
    return View(view.dtype, view.buffer, shape, [0, 0, shape[3], 1])


def specials(golden, dtype):
    """NaNs and infinities that are visible, or hidden by the window, the mask or the length; masks that are
    not numbers, and so low that they hide keys."""
    nan, inf = math.nan, math.inf
    t = DTYPES[dtype]
    tokens = [[1, 2], [-1, 0.5], [nan, 1], [0.25, 3]]
    plain = [[0.5, 1], [2, -1], [1, 1], [-2, 4]]
    marked = [[0.5, 1], [2, nan], [1, 1], [-2, 4]]
    q, k, v, w = (View(dtype, np.array(x, t).reshape(1, 1, 4, 2)) for x in (plain, tokens, plain, marked))
    low = float(ml_dtypes.finfo(t).min)
    rows = [[0, 0, -inf, 0], [0, -inf, -inf, 1], [nan, 0, -inf, 0], [inf, -inf, -inf, -inf]]
    lows = [[0, 0, low, 0], [low] * 4, [-inf, low, 0, 0], [1, 2, 3, -inf]]
    mask, lowest = (View(dtype, np.array(x, t).reshape(1, 1, 4, 4)) for x in (rows, lows))
    emit(golden, dtype, q, k, v, right=0)
    emit(golden, dtype, q, v, w, right=0)
    emit(golden, dtype, k, q, v)
    emit(golden, dtype, q, k, v, mask=mask)
    emit(golden, dtype, q, v, w, mask=mask)
    emit(golden, dtype, q, v, v, mask=lowest)
    for length in [0, 1, 2, 3, 2**32 - 1]:
        lengths = View("u32", np.array([length], np.uint32))
        emit(golden, dtype, q, k, w, lengths=lengths)
        emit(golden, dtype, q, v, w, mask=lowest, lengths=lengths, right=1)


def make(golden):
    for dtype in ["f16", "bf16", "f32"]:
        pool = Pool(dtype)
        for shape, params in CASES:
            emit(golden, dtype, *pool.inputs(shape), **params)
        for number, (shape, params) in enumerate(WITH_MASK):
            batch, kv_heads, group, m, n, _ = shape
            whole = (batch, kv_heads * group, m, n)
            mask = mask_of(dtype, whole, "") if number == 0 else shared(mask_of(dtype, (1, 1, m, n), "shared"), whole)
            emit(golden, dtype, *pool.inputs(shape), mask=mask, **params)
        for number, (shape, params) in enumerate(WITH_LENGTHS):
            batch, kv_heads, group, m, n, _ = shape
            lengths = View("u32", np.array([[6, 0, 1, 4, 2**32 - 1], [140, 129, 5]][number], np.uint32))
            emit(golden, dtype, *pool.inputs(shape), lengths=lengths, **params)
            mask = shared(mask_of(dtype, (1, 1, m, n), "lengths"), (batch, kv_heads * group, m, n))
            emit(golden, dtype, *pool.inputs(shape), mask=mask, lengths=lengths, **params)
        specials(golden, dtype)
