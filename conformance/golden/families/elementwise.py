"""Golden vectors of elementwise operations whose results are exact or floors, from NumPy and ml_dtypes."""

import ml_dtypes
import numpy as np

from golden_cases import DTYPES, INTS, compute, is_float, pairs, values

VERSION = f"NumPy {np.__version__}, ml_dtypes {ml_dtypes.__version__}"

BITWISE = {
    "bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor,
    "bitwise_left_shift": np.left_shift, "bitwise_right_shift": np.right_shift,
}  # fmt: skip
LOGICAL = {"logical_and": np.logical_and, "logical_or": np.logical_or, "logical_xor": np.logical_xor}
TESTS = {"isnan": np.isnan, "isinf": np.isinf, "logical_not": np.logical_not}
FLOORS = {"floor_div": np.floor_divide, "floor_mod": np.remainder}

BY_ZERO = "an integer divided by zero warns there"
NEGATIVE = "a shift by a negative amount is undefined there"
ZEROS = "of two zeros NumPy's halves give the first, C and the others the second"
ROUNDS = "NumPy's quotient of 2^24 (2^53) and more is the rounded one of x - floor_mod"


def native(view):
    """The elements in the contract's compute type."""
    return view.array().astype(DTYPES[compute(view.dtype)])


def make(golden):
    def case(op, views, dtype, result, skip=None):
        result = np.asarray(result.astype(DTYPES[dtype]), order="C")
        golden.case(op, [v.record() for v in views], (dtype, result.shape, result.tobytes()), "bits", None, skip)

    with np.errstate(all="ignore"):
        for dtype in DTYPES:
            for x, y in pairs(dtype):
                binary(case, dtype, x, y)
            x = pairs(dtype)[0][0]
            for op in TESTS if is_float(dtype) else ["logical_not"]:
                case(op, [x], "u8", TESTS[op](native(x)))
            case("round_even", [x], dtype, np.rint(native(x)) if is_float(dtype) else native(x))
            if not is_float(dtype):
                case("bitwise_not", [x], dtype, np.invert(native(x)))


def binary(case, dtype, x, y):
    a, b = native(x), native(y)
    flat = b.reshape(-1)
    for op, function in LOGICAL.items():
        case(op, [x, y], "u8", function(a, b))
    for op, function in FLOORS.items():
        result, skip = function(a, b), {}
        if not is_float(dtype):
            skip[BY_ZERO] = np.flatnonzero(flat == 0).tolist()
        elif op == "floor_div":
            limit = 2.0 ** (53 if dtype == "f64" else 24)
            skip[ROUNDS] = np.flatnonzero(np.isfinite(result) & (np.abs(result) >= limit)).tolist()
        if dtype == "f8e4m3":
            result = np.where(np.isnan(result), result, np.clip(result, -448, 448))
        case(op, [x, y], dtype, result, skip)
    if dtype in INTS:
        for op, function in BITWISE.items():
            skip = {NEGATIVE: np.flatnonzero(flat < 0).tolist()} if "shift" in op else {}
            case(op, [x, y], dtype, function(a, b), skip)
    else:
        # ml_dtypes has nextafter of its own types.
        zeros = (a == 0) & (b == 0) & (np.signbit(a) != np.signbit(b))
        skip = {ZEROS: np.flatnonzero(zeros.reshape(-1)).tolist()} if dtype == "f16" else {}
        case("nextafter", [x, y], dtype, np.nextafter(x.array(), y.array()), skip)
