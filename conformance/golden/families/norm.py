"""Golden vectors of softmax and the norms, from PyTorch's functional forms on CPU tensors, computed in f64
from the same inputs.

Results in a dtype narrower than f64 are rounded once at the end, so a vector is the true result of its
inputs except for that rounding and the error of f64; the bounds are those of docs/numerics/norm.md. For
f64 itself, PyTorch's own rounding also counts and doubles the bound. PyTorch's results for infinities,
NaN and masked rows are compared as they are.
"""

import math

import ml_dtypes
import numpy as np
import torch

from golden_cases import DTYPES, View, compute, rng, ulp, wide
from make_golden import named

VERSION = f"PyTorch {torch.__version__}, NumPy {np.__version__}, ml_dtypes {ml_dtypes.__version__}"

torch.set_num_threads(1)

FLOATS = ["f8e4m3", "f16", "bf16", "f32", "f64"]
ROWS = [1, 2, 17, 257]
U = {"f32": 2.0**-24, "f64": 2.0**-53}
# The relative error of e^x itself, in units of u: 1 ulp is 2; that of the narrow floats is below
# 2^-19.
EXP = {"f8e4m3": 32, "f16": 32, "bf16": 32, "f32": 2, "f64": 4}


def depth(n):
    """The largest number of additions that an element takes part in."""
    return -(-min(n, 65536) // 256) - 1 + 8


def draw(dtype, shape, scale, name):
    x = rng(f"norm {name} {dtype} {shape} {scale}").normal(size=shape) * scale
    top = float(ml_dtypes.finfo(DTYPES[dtype]).max)
    return np.clip(x, -top, top).astype(DTYPES[dtype])


def rounded(y, dtype):
    """One rounding, as in the contract: f8e4m3 saturates."""
    if dtype == "f8e4m3":
        y = np.where(np.isnan(y), y, np.clip(y, -448.0, 448.0))
    return y.astype(DTYPES[dtype])


def up(bounds):
    """Rounds up to the next sixteenth of a power of two, which has fewer digits to store."""
    fraction, exponent = np.frexp(bounds)
    return np.ldexp(np.ceil(fraction * 16) / 16, exponent)


def emit(golden, op, dtype, views, y, bound, params=None):
    """`bound` is for the result in the compute type; the rounding to the dtype is added for both sides."""
    want = rounded(y, dtype)
    factor = 2 if dtype == "f64" else 1
    with np.errstate(invalid="ignore", over="ignore"):
        bounds = [factor * b + (1.0 if dtype == compute(dtype) else 1.01) * ulp(v, dtype) for b, v in zip(bound.ravel(), wide(want).ravel())]
    bounds = up(np.nan_to_num(np.array(bounds, dtype=np.float64), nan=0.0, posinf=0.0))
    golden.case(op, [v.record() for v in views], (dtype, want.shape, want.tobytes()), {"abs": bounds.tobytes()}, params)


def softmaxes(golden, dtype, view):
    u, x = U[compute(dtype)], wide(view.array())
    t, n = torch.from_numpy(x.copy()), x.shape[-1]
    y, log = torch.softmax(t, -1).numpy(), torch.log_softmax(t, -1).numpy()
    with np.errstate(invalid="ignore"):
        distance = np.abs(x - x.max(-1, keepdims=True))
        far = np.where(np.isfinite(distance), distance, 0.0)
        # e^d turns an error of d into a relative one; that of the sum is at most the share of its
        # largest term.
        share = np.nan_to_num((y * far).sum(-1, keepdims=True))
        relative = u * (far + share + 2 * EXP[dtype] + depth(n) + 3)
        tiny = 2.0 ** (-149 if compute(dtype) == "f32" else -1074)
        emit(golden, "softmax", dtype, [view], y, y * relative * 1.01 + tiny)
        safe = torch._safe_softmax(t, -1).numpy()
        emit(golden, "safe_softmax", dtype, [view], safe, safe * relative * 1.01 + tiny)
        absolute = u * (far + share + EXP[dtype] + depth(n) + 4 * np.log(max(n, 2)) + np.abs(np.nan_to_num(log, posinf=0, neginf=0)))
        emit(golden, "log_softmax", dtype, [view], log, absolute * 1.01)


def parameter(eps, dtype):
    """eps as in the contract, rounded to the compute type."""
    return float(np.float32(eps)) if compute(dtype) == "f32" else eps


def layer_bound(dtype, x, w, b, e):
    """The bound of a layer norm of rows, in the compute type."""
    u, h = U[compute(dtype)], depth(x.shape[-1])
    # The mean's error shifts every element, and changes the variance only by its square, which is
    # below the error of f32.
    mean = x.mean(-1, keepdims=True)
    off = u * (h + 3) * np.abs(x).mean(-1, keepdims=True)
    scale = 1.0 / np.sqrt(x.var(-1, keepdims=True) + e)
    part = np.abs(x - mean) * scale * np.abs(w)
    moved = (off + u * np.abs(x - mean)) * scale * np.abs(w)
    return (part * (u * (h + 12) + off * scale + (off * scale) ** 2) + moved * 2 + u * np.abs(b)) * 1.01


def layer_norm(dtype, x, weight, bias, eps):
    """The result for rows in f64, and its bound in the compute type."""
    n = x.shape[-1]
    w, b, e = wide(weight.array()), wide(bias.array()), parameter(eps, dtype)
    t, tw, tb = torch.from_numpy(x.copy()), torch.from_numpy(w.copy()), torch.from_numpy(b.copy())
    y = torch.nn.functional.layer_norm(t, (n,), tw, tb, e).numpy()
    return y, layer_bound(dtype, x, w, b, e)


def layer_forms(golden, dtype, view, weight, bias, eps):
    """Layer norms without a weight, a bias or both, and the mean and the scale of each row."""
    u, x, n, params = U[compute(dtype)], wide(view.array()), view.shape[-1], named(eps=[eps])
    ones, zeros = (View(dtype, np.full(n, v).astype(DTYPES[dtype])) for v in (1, 0))
    for op, w, b, inputs in [
        ("layer_norm_weight", weight, zeros, [weight]),
        ("layer_norm_bias", ones, bias, [bias]),
        ("layer_norm_plain", ones, zeros, []),
    ]:
        y, bound = layer_norm(dtype, x, w, b, eps)
        emit(golden, op, dtype, [view, *inputs], y, bound, params)
    _, mean, scale = torch.native_layer_norm(torch.from_numpy(x.copy()), (n,), None, None, parameter(eps, dtype))
    mean, scale = mean.numpy(), scale.numpy()
    off = u * (depth(n) + 3) * np.abs(x).mean(-1, keepdims=True)
    relative = u * (depth(n) + 12) + off * scale + (off * scale) ** 2
    stats, bounds = np.concatenate([mean, scale], -1), np.concatenate([off, scale * relative], -1)
    emit(golden, "layer_norm_stats", compute(dtype), [view], stats, bounds * 1.01, params)


def norms(golden, dtype, view, weight, bias, eps):
    u, x, w = U[compute(dtype)], wide(view.array()), wide(weight.array())
    t, n = torch.from_numpy(x.copy()), x.shape[-1]
    tw = torch.from_numpy(w.copy())
    params = named(eps=[eps])
    h = depth(n)
    y = torch.nn.functional.rms_norm(t, (n,), tw, parameter(eps, dtype)).numpy()
    emit(golden, "rms_norm", dtype, [view, weight], y, np.abs(y) * u * (0.5 * (h + 4) + 5) * 1.01, params)
    y, bound = layer_norm(dtype, x, weight, bias, eps)
    emit(golden, "layer_norm", dtype, [view, weight, bias], y, bound, params)
    layer_forms(golden, dtype, view, weight, bias, eps)


def skip_norm(golden, dtype, view, skip, weight, bias, view_bias, eps):
    """Both sums are rounded as by `add`, so the bound is that of layer_norm for the rounded sum."""
    with np.errstate(invalid="ignore", over="ignore"):
        x = rounded(wide(view.array()) + wide(view_bias.array()), dtype)
        x = wide(rounded(wide(x) + wide(skip.array()), dtype))
        y, bound = layer_norm(dtype, x, weight, bias, eps)
    emit(golden, "skip_layer_norm", dtype, [view, skip, weight, bias, view_bias], y, bound, named(eps=[eps]))


def per_channel(view, parameter, absent):
    """A parameter as PyTorch takes it, and with a value for every element."""
    c, ones = view.shape[1], [1] * (len(view.shape) - 2)
    values = np.full(c, absent) if parameter is None else wide(parameter.array())
    return torch.from_numpy(values.copy()), values.reshape([1, c, *ones])


def of_channels(golden, dtype, view, statistics, weight, bias, groups, eps):
    """Norms with parameters by channel, with all of them, one of them or none."""
    x, e, u = wide(view.array()), parameter(eps, dtype), U[compute(dtype)]
    t = torch.from_numpy(x.copy())
    (mean, wide_mean), (variance, wide_variance) = (per_channel(view, s, 0) for s in statistics)
    for form, w, b in [("", weight, bias), ("_weight", weight, None), ("_bias", None, bias), ("_plain", None, None)]:
        given = [p for p in (w, b) if p is not None]
        (tw, ww), (tb, wb) = per_channel(view, w, 1.0), per_channel(view, b, 0.0)
        for g in groups:
            y = torch.nn.functional.group_norm(t, g, tw, tb, e).numpy()
            rows = [np.broadcast_to(v, x.shape).reshape(x.shape[0] * g, -1) for v in (x, ww, wb)]
            bound = layer_bound(dtype, *rows, e).reshape(x.shape)
            emit(golden, "group_norm" + form, dtype, [view, *given], y, bound, named(groups=[g], eps=[eps]))
        # PyTorch on the CPU folds the mean into the bias, which cancels.
        long_x, long_variance = x.astype(np.longdouble), wide_variance.astype(np.longdouble)
        y = ((long_x - wide_mean) / np.sqrt(long_variance + e) * ww + wb).astype(np.float64)
        near = torch.nn.functional.batch_norm(t, mean, variance, tw, tb, False, 0.0, e).numpy()
        assert np.allclose(y, near, rtol=1e-9, atol=1e-9, equal_nan=True)
        bound = np.abs((x - wide_mean) / np.sqrt(wide_variance + e) * ww) * u * 7 + np.abs(y) * u + np.abs(wb) * u
        emit(golden, "batch_norm" + form, dtype, [view, *statistics, *given], y, bound * 1.01, named(eps=[eps]))


def responses(golden, dtype, view):
    x, u = wide(view.array()), U[compute(dtype)]
    for size, alpha, beta, k in [(5, 1e-4, 0.75, 2.0), (3, 1.0, 0.75, 1.0), (4, 0.5, 0.5, 1.0), (1, 2.0, 1.0, 0.5), (9, 1.0, -0.25, 1.0)]:
        y = torch.nn.functional.local_response_norm(torch.from_numpy(x.copy()), size, alpha, beta, k).numpy()
        logarithm = np.abs(np.log(k + alpha * np.max(x) ** 2)) + 1
        bound = np.abs(y) * u * (abs(beta) * (size + 4 + logarithm) + EXP["f64"] * 2 + 2)
        params = named(before=[size // 2], after=[(size - 1) // 2], alpha=[alpha], beta=[beta], k=[k])
        emit(golden, "local_response_norm", dtype, [view], y, bound * 1.01, params)


def channel_norms(golden, dtype):
    stat = compute(dtype)
    for shape, groups in [((2, 6, 5), [1, 2, 6]), ((1, 8, 3, 16), [4]), ((3, 4, 1), [2])]:
        view, c = View(dtype, draw(dtype, shape, 2.0, "channels")), shape[1]
        mean, variance = draw(stat, (c,), 1.0, "mean"), np.abs(draw(stat, (c,), 2.0, "variance"))
        weight, bias = (View(dtype, draw(dtype, (c,), 1.0, name)) for name in ("w", "b"))
        of_channels(golden, dtype, view, [View(stat, mean), View(stat, variance)], weight, bias, groups, 1e-5)
        responses(golden, dtype, view)
    buffer, statistics = draw(dtype, (120,), 4.0, "layouts"), np.abs(draw(stat, (20,), 2.0, "statistics"))
    # The channels last, and a parameter with a stride.
    view = View(dtype, buffer, [2, 6, 4, 2], [48, 1, 12, 6], 3)
    given = [View(dtype, buffer, [6], *at) for at in [([3], 50), ([0], 3)]]
    of_channels(golden, dtype, view, [View(stat, statistics, [6], *at) for at in [([2], 1), ([1], 5)]], *given, [3], 1e-3)
    responses(golden, dtype, view)


def specials(golden, dtype):
    """Masked rows, rows without a defined result, rows of equal and of distant values."""
    inf, nan = math.inf, math.nan
    rows = [
        [0, 0, 0, 0, 0], [0, -inf, 1, -inf, 2], [-inf, -inf, -inf, -inf, 3], [-inf] * 5, [inf, 0, 0, 0, 0], [nan, 0, 1, 2, 3],
        [-0.0, -0.0, 0.0, 0.0, -0.0], [100, 0, -100, -200, -400], [1e-3, 2e-3, 3e-3, 4e-3, 5e-3], [-300, -300, -300, -300, -301],
    ]  # fmt: skip
    if dtype == "f8e4m3":
        rows = [r for r in rows if not any(map(math.isinf, r))]
    x = np.array(rows).astype(DTYPES[dtype])
    softmaxes(golden, dtype, View(dtype, x))
    finite = np.array([r for r in rows if np.isfinite(r).all()]).astype(DTYPES[dtype])
    ones = np.ones(5).astype(DTYPES[dtype])
    norms(golden, dtype, View(dtype, finite), View(dtype, ones), View(dtype, ones), 1e-3)


def skip_norms(golden, dtype):
    top = float(ml_dtypes.finfo(DTYPES[dtype]).max)
    cases = [(1, 1.0), (17, 1.0), (257, 3.0)]
    # Sums beyond the largest float: f8e4m3 saturates, f16 has infinities.
    cases += [(17, top / 2)] if dtype in ("f8e4m3", "f16") else []
    for n, scale in cases:
        shape = (2 if n < 100 else 1, n)
        rows = [View(dtype, draw(dtype, shape, scale, name)) for name in ("x", "skip")]
        parameters = [View(dtype, draw(dtype, (n,), 1.0, name)) for name in ("w", "b", "x bias")]
        skip_norm(golden, dtype, *rows, *parameters, 1e-5)
    buffer = draw(dtype, (120,), 4.0, "layouts")
    # Both strided, then a skip that is the same for all rows.
    for shape, strides, skip_strides in [([6, 10], [1, 6], [11, 1]), ([4, 7], [10, 2], [0, 3])]:
        n = shape[-1]
        rows = [View(dtype, buffer, shape, strides), View(dtype, buffer, shape, skip_strides, 50)]
        parameters = [View(dtype, buffer, [n], *at) for at in [([3], 50), ([0], 3), ([2], 7)]]
        skip_norm(golden, dtype, *rows, *parameters, 1e-6)


def make(golden):
    for dtype in FLOATS:
        for n in ROWS:
            for scale in [1.0, 12.0] if n < 100 else [3.0]:
                view = View(dtype, draw(dtype, (2 if n < 100 else 1, n), scale, "x"))
                softmaxes(golden, dtype, view)
                weight, bias = View(dtype, draw(dtype, (n,), 1.0, "w")), View(dtype, draw(dtype, (n,), 1.0, "b"))
                norms(golden, dtype, view, weight, bias, 1e-5)
        buffer = draw(dtype, (120,), 4.0, "layouts")
        for shape, strides, offset in [([6, 10], [1, 6], 0), ([5, 3, 4], [1, 20, 5], 0), ([3, 4, 5], [5, 0, 1], 7), ([4, 7], [10, 2], 13)]:
            view = View(dtype, buffer, shape, strides, offset)
            softmaxes(golden, dtype, view)
            n = shape[-1]
            norms(golden, dtype, view, View(dtype, buffer, [n], [3], 50), View(dtype, buffer, [n], [0], 3), 1e-6)
        specials(golden, dtype)
    # More than four elements per lane.
    softmaxes(golden, "f32", View("f32", draw("f32", (1, 1025), 3.0, "x")))
    for dtype in FLOATS:
        skip_norms(golden, dtype)
        channel_norms(golden, dtype)
