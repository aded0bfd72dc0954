"""NumPy (with ml_dtypes for bfloat16 and f8e4m3) as a source of golden vectors."""

import math

import ml_dtypes
import numpy as np

from golden_cases import DTYPES, compute, is_float, wide

NAME = "NumPy"
VERSION = f"NumPy {np.__version__}, ml_dtypes {ml_dtypes.__version__}"
REFUSALS = (TypeError, NotImplementedError)
BY_ZERO = "an integer divided by zero warns there"


def ulps(op, dtype):
    """The error of NumPy's own result: none in f32, which is computed in f64 here; in f64 its functions
    are within 4 ulp, and the composites amplify the error of e^x by its argument (up to 709)."""
    if dtype == "f32":
        return 1
    return 2048 if op in ("gelu", "gelu_erf", "silu", "sigmoid") else 4


def differs(op, x):
    """Elements for which NumPy's function differs: none besides those that the cases name."""
    return {}


def depth(n):
    """Sums are computed in f64 or exactly: their error is far below the contract's bound."""
    return 1


def rounds_twice(src, dst):
    return dst != "f16"


def gate(x, g):
    return np.where(np.isneginf(x), -0.0, x * g)


REFERENCE = {
    "neg": np.negative, "abs": np.abs, "sign": np.sign, "sqr": np.square, "relu": lambda x: np.maximum(x, 0), "ceil": np.ceil,
    "floor": np.floor, "round": np.round, "trunc": np.trunc, "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x),
    "recip": lambda x: 1 / x, "exp": np.exp, "exp2": np.exp2, "log": np.log, "log2": np.log2, "log1p": np.log1p,
    "expm1": np.expm1, "sin": np.sin, "cos": np.cos, "tan": np.tan, "tanh": np.tanh, "sinh": np.sinh, "cosh": np.cosh,
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "erf": np.vectorize(math.erf, otypes=[np.float64]),
    "gelu": lambda x: gate(x, 1 / (1 + np.exp(-2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))),
    "gelu_erf": lambda x: gate(x, 0.5 * np.vectorize(math.erfc, otypes=[np.float64])(-x / math.sqrt(2))),
    "silu": lambda x: gate(x, 1 / (1 + np.exp(-x))), "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
}  # fmt: skip
REFERENCE2 = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "rem": np.fmod, "pow": np.power,
    "maximum": np.maximum, "minimum": np.minimum,
}  # fmt: skip
COMPARE = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal}


def reference(op, x):
    return REFERENCE[op](x)


def reference2(op, x, y):
    return REFERENCE2[op](x, y)


def native(view):
    """The elements in the contract's compute type."""
    return view.array().astype(DTYPES[compute(view.dtype)])


def copy(view):
    return view.array().copy()


def cast(view, dst):
    return view.array().copy() if view.dtype == dst else view.array().astype(DTYPES[dst])


def unary(op, view):
    x, dtype = view.array(), DTYPES[view.dtype]
    if not is_float(view.dtype):
        if op in ("ceil", "floor", "round", "trunc"):
            return x.copy()
        return REFERENCE[op](x).astype(dtype)
    exact = op in ("neg", "abs", "sign", "sqr", "relu", "ceil", "floor", "round", "trunc", "sqrt", "recip")
    return REFERENCE[op](native(view) if exact else wide(x)).astype(dtype)


def powf(view, exponent):
    # Uses an array of exponents, because for a scalar 0.5 NumPy uses a square root, which gives -0
    # for -0.
    x = wide(view.array())
    return np.power(x, np.full(x.shape, exponent)).astype(DTYPES[view.dtype])


def elu(view, alpha):
    x = wide(view.array())
    return np.where(x > 0, x, alpha * np.expm1(np.where(x > 0, 0, x))).astype(DTYPES[view.dtype])


def binary(op, x, y):
    a, b, dtype = x.array(), y.array(), DTYPES[x.dtype]
    if is_float(x.dtype):
        if op == "pow":
            return np.power(wide(a), wide(b)).astype(dtype)
        return REFERENCE2[op](native(x), native(y)).astype(dtype)
    if op == "div":
        # NumPy has no truncating integer operation: computed exactly with Python's integers.
        whole = [0 if d == 0 else abs(n) // abs(d) * (1 if (n < 0) == (d < 0) else -1) for n, d in zip(a.reshape(-1).tolist(), b.reshape(-1).tolist())]
        return np.array(whole, dtype=object).reshape(x.shape).astype(np.int64).astype(dtype) if x.dtype != "i64" else wrap64(whole, x.shape)
    if op == "rem":
        rest = [0 if d == 0 else int(math.copysign(1, n)) * (abs(n) % abs(d)) for n, d in zip(a.reshape(-1).tolist(), b.reshape(-1).tolist())]
        return np.array(rest, dtype=np.int64).astype(dtype).reshape(x.shape)
    if op == "pow":
        b = np.where(b.astype(object) < 0, 0, b).astype(dtype)
    return REFERENCE2[op](a, b)


def wrap64(values, shape):
    return np.array([(v + 2**63) % 2**64 - 2**63 for v in values], dtype=np.int64).reshape(shape)


def compare(op, x, y):
    return COMPARE[op](x.array(), y.array()).astype(np.uint8)


def where(c, t, f):
    return np.where(c.array() != 0, t.array(), f.array())


def reduce(op, view, dims):
    x, axis = view.array(), tuple(dims)
    if op.startswith("arg"):
        # NumPy accepts one axis: the reduced axes are moved to the end, in their order, and merged.
        kept = [d for d in range(x.ndim) if d not in dims]
        joined = np.transpose(x, kept + sorted(dims)).reshape([x.shape[d] for d in kept] + [-1])
        joined = wide(joined) if is_float(view.dtype) else joined
        shape = [1 if d in dims else n for d, n in enumerate(x.shape)]
        return getattr(np, op)(joined, axis=-1).astype(np.uint32).reshape(shape)
    function = {"sum": np.sum, "prod": np.prod, "mean": np.mean, "min": np.min, "max": np.max}[op]
    if not is_float(view.dtype):
        extra = {"dtype": x.dtype} if op in ("sum", "prod") else {}
        return function(x, axis=axis, keepdims=True, **extra)
    if view.dtype == "f64" and op in ("sum", "mean", "prod"):
        # With a 64-bit significand, the error is far below that of any order in f64.
        return np.asarray(function(x.astype(np.longdouble), axis=axis, keepdims=True)).astype(np.float64)
    return np.asarray(function(wide(x), axis=axis, keepdims=True)).astype(DTYPES[view.dtype])


def matmul(x, y):
    a, b = (v.array().astype(np.longdouble if x.dtype == "f64" else np.float64) for v in (x, y))
    return (a @ b).astype(DTYPES[x.dtype])

