"""Golden vectors of u16, u64 and f8e5m2, from NumPy and ml_dtypes: the cases that numpy.json.gz and
elementwise.json.gz have for the other dtypes, and casts between them and all others."""

import types

import ml_dtypes
import numpy as np

import golden_cases
import golden_numpy
from families import elementwise

VERSION = golden_numpy.VERSION

NEW = {"u16": np.uint16, "u64": np.uint64, "f8e5m2": ml_dtypes.float8_e5m2}


class Only:
    """Passes on the cases that have one of the new dtypes."""

    def __init__(self, golden):
        self.golden, self.skipped = golden, []

    def case(self, op, inputs, out, tol, params=None, skip=None):
        if any(dtype in NEW for dtype in [out[0], *(record[0] for record in inputs)]):
            self.golden.case(op, inputs, out, tol, params, skip)


def binary(op, x, y):
    """Quotients of unsigned integers, which need no rule for signs; a divisor of 0 gives 0."""
    if x.dtype not in ("u16", "u64") or op not in ("div", "rem"):
        return golden_numpy.binary(op, x, y)
    a, b = x.array(), y.array()
    divisor = np.where(b == 0, 1, b).astype(b.dtype)
    result = a // divisor if op == "div" else a % divisor
    return np.where(b == 0, 0, result).astype(a.dtype)


def make(golden):
    golden_cases.INTS.update(u16=np.uint16, u64=np.uint64)
    for known in (golden_cases.NARROW, golden_cases.FLOATS):
        known.update(f8e5m2=ml_dtypes.float8_e5m2)
    golden_cases.DTYPES.update(NEW)
    golden_cases.PRECISION.update(f8e5m2=3)
    golden_cases.MIN_EXPONENT.update(f8e5m2=-14)
    source = types.SimpleNamespace(**{**vars(golden_numpy), "binary": binary})
    only = Only(golden)
    for group in ("copies", "casts", "elementwise", "binaries", "wheres"):
        getattr(golden_cases, group)(only, source)
    golden.skipped += [note for note in only.skipped if NEW.keys() & set(note[1].split(","))]
    elementwise.make(only)
