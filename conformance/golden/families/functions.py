"""Golden vectors of the inverse hyperbolic functions, softplus, mish, hard_sigmoid, hard_swish, selu, celu,
leaky_relu, atan2 and hypot, from mpmath at 400 bits: the definitions in f64_truth.py, rounded once to the
dtype by integer arithmetic. The special cases are those of C's Annex F.
"""

import math
import os
import sys

# mpmath imports Python's `random`, not the family of that name beside this one.
sys.path[:] = [p for p in sys.path if p != os.path.dirname(os.path.abspath(__file__))]

from fractions import Fraction

import mpmath as mp
import ml_dtypes
import numpy as np

import f64_truth as truth
from golden_cases import DTYPES, NARROW, View, compute, layouts, pairs, rounded, values, wide
from make_golden import named

VERSION = f"mpmath {mp.__version__}, NumPy {np.__version__}, ml_dtypes {ml_dtypes.__version__}"

FLOATS = [*NARROW, "f32", "f64"]
ROUNDED = "asinh acosh atanh softplus hard_sigmoid".split()
AMPLIFYING = "mish hard_swish selu celu".split()


def exact(value):
    """An mpmath number as a fraction."""
    sign, mantissa, exponent, _ = mp.mpf(value)._mpf_
    return Fraction(-mantissa if sign else mantissa) * Fraction(2) ** exponent


def to_dtype(value, dtype):
    """A fraction rounded once, and then kept within the range."""
    try:
        result = rounded(value, dtype)
    except OverflowError:
        result = math.inf if value > 0 else -math.inf
    top = float(ml_dtypes.finfo(DTYPES[dtype]).max)
    if abs(result) > top:
        return math.copysign(top if dtype == "f8e4m3" else math.inf, result)
    return result


def true_value(name, function, arguments, dtype):
    special = truth.special(name, arguments)
    if isinstance(special, float):
        return special if math.isnan(special) or special == 0 else limit(special, dtype)
    if special is not None:
        hi, rest, e = special
        value = Fraction(hi) + Fraction(rest) * Fraction(2) ** e
    else:
        value = function(*(mp.mpf(a) for a in arguments))
        if mp.isinf(value):
            return limit(math.inf if value > 0 else -math.inf, dtype)
        value = exact(value)
    result = to_dtype(value, dtype)
    zero = math.copysign(0.0, arguments[0]) if special is not None else truth.zero_sign(name, arguments) * 0.0
    return result if result != 0 else zero


def limit(value, dtype):
    return math.copysign(448.0, value) if math.isinf(value) and dtype == "f8e4m3" else value


def tolerance(name, dtype):
    if dtype in NARROW:
        return "bits" if name in ROUNDED + ["mish", "hard_swish", "selu"] else {"ulp": 1}
    return {"ulp": {"f32": 1, "f64": 2}[dtype] * (2 if name in AMPLIFYING else 1)}


def case(golden, name, function, views, tol, params=None):
    dtype = views[0].dtype
    arguments = zip(*([float(v) for v in wide(view.array()).reshape(-1)] for view in views))
    results = [function(a) for a in arguments]
    with np.errstate(all="ignore"):
        out = np.array(results, dtype=np.float64).astype(DTYPES[dtype]).reshape(views[0].shape)
    golden.case(name, [v.record() for v in views], (dtype, out.shape, np.ascontiguousarray(out).tobytes()), tol, params)


def leaky(x, slope, dtype):
    if x > 0 or math.isnan(x) or math.isnan(slope):
        return x if not math.isnan(slope) or x > 0 else math.nan
    if math.isinf(x) or x == 0:
        return limit(x * slope, dtype)
    slope = rounded(Fraction(slope), compute(dtype))
    first = to_dtype(Fraction(x) * Fraction(slope), compute(dtype))
    result = to_dtype(Fraction(first), dtype) if math.isfinite(first) else limit(first, dtype)
    return result if result != 0 else math.copysign(0.0, x * slope)


def make(golden):
    table = truth.function_table()
    for dtype in FLOATS:
        x = values(dtype)
        for n, name in enumerate(ROUNDED + ["mish", "hard_swish", "selu"]):
            function = table[name][0]
            for view in [layouts(dtype, x)[0], layouts(dtype, x)[1 + n % 6]]:
                value = lambda a: true_value(name, function, a, dtype)
                case(golden, name, value, [view], tolerance(name, dtype))
        for alpha in [1.0, 0.5, -2.0, 3.7]:
            used = float(np.float32(alpha)) if dtype != "f64" else alpha
            value = lambda a: true_value("celu", table["celu"][0], (a[0], used), dtype)
            case(golden, "celu", value, [View(dtype, x)], tolerance("celu", dtype), named(alpha=[alpha]))
        for slope in [0.01, -0.5, 0.0, 3.0]:
            value = lambda a: leaky(a[0], slope, dtype)
            case(golden, "leaky_relu", value, [layouts(dtype, x)[3]], "bits", named(negative_slope=[slope]))
            case(golden, "leaky_relu", value, [View(dtype, x)], "bits", named(negative_slope=[slope]))
        for first, second in pairs(dtype):
            for name in ("atan2", "hypot"):
                value = lambda a: true_value(name, table[name][0], a, dtype)
                case(golden, name, value, [first, second], tolerance(name, dtype))
