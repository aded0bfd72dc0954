"""Golden vectors of packed elements, from ml_dtypes: its integers of two and four bits, float4_e2m1fn,
float8_e8m0fnu and the two fnuz floats. Every code is unpacked; packed is what both round alike: floats
every number (ml_dtypes does not saturate fnuz), integers whole numbers in their range, and powers of two
of f8e8m0."""

import ml_dtypes
import numpy as np

from golden_cases import DTYPES
from make_golden import named

VERSION = f"NumPy {np.__version__}, ml_dtypes {ml_dtypes.__version__}"

# name: (type, bits)
TYPES = {
    "u4": (ml_dtypes.uint4, 4),
    "i4": (ml_dtypes.int4, 4),
    "u2": (ml_dtypes.uint2, 2),
    "i2": (ml_dtypes.int2, 2),
    "f4e2m1": (ml_dtypes.float4_e2m1fn, 4),
    "f8e8m0": (ml_dtypes.float8_e8m0fnu, 8),
    "f8e4m3fnuz": (ml_dtypes.float8_e4m3fnuz, 8),
    "f8e5m2fnuz": (ml_dtypes.float8_e5m2fnuz, 8),
}
VALUES = ["f32", "f16", "bf16", "f64", "u8", "i8", "i32"]
FLOATS = ["f32", "f16", "bf16", "f64"]


def rows_of(codes, bits):
    """Packs codes, the first in the low bits of each byte; a row begins at a byte."""
    each = 8 // bits
    rows, k = codes.shape
    padded = np.zeros((rows, -(-k // each) * each), np.uint32)
    padded[:, :k] = codes
    shifts = np.arange(each, dtype=np.uint32) * bits
    return (padded.reshape(rows, -1, each) << shifts).sum(2).astype(np.uint8)


def codes_of(x, bits):
    return x.view(np.uint8).astype(np.uint32) & ((1 << bits) - 1)


def plain(x, dtype):
    return (dtype, np.ascontiguousarray(x).tobytes(), x.shape, [x.shape[1], 1], 0)


def result(x, dtype):
    return (dtype, x.shape, np.ascontiguousarray(x).tobytes())


def packed(golden, name, x, dtype, params=None):
    """`x` holds values of the dtype."""
    of, bits = TYPES[name]
    for shape in [(1, x.size)] + ([(x.size // 3, 3)] if x.size >= 3 else []):
        rows = x[: shape[0] * shape[1]].reshape(shape).astype(DTYPES[dtype])
        # Through f64, so that every dtype converts in one step.
        codes = codes_of(rows.astype(np.float64).astype(of), bits)
        golden.case(f"pack_{name}", [plain(rows, dtype)], result(rows_of(codes, bits), "u8"), "raw", params)


def make(golden):
    for name, (of, bits) in TYPES.items():
        codes = np.arange(1 << bits, dtype=np.uint8)
        values = codes.view(of).astype(np.float64)
        for shape in [(1, codes.size), (max(codes.size // 3, 1), 3)]:
            part = codes[: shape[0] * shape[1]].reshape(shape)
            exact = values[: part.size].reshape(shape)
            for dtype in FLOATS:
                with np.errstate(over="ignore"):
                    y = exact.astype(DTYPES[dtype])
                op = f"unpack_{name}"
                golden.case(op, [plain(rows_of(part, bits), "u8")], result(y, dtype), "bits", named(elements=[shape[1]]))
            for dtype in ["u8", "i8", "i32"]:
                if name in ["u4", "i4", "u2", "i2"]:
                    y = exact.astype(np.int64).astype(DTYPES[dtype])
                else:
                    ends = np.iinfo(DTYPES[dtype])
                    y = np.clip(np.trunc(np.nan_to_num(exact)), ends.min, ends.max).astype(DTYPES[dtype])
                golden.case(op, [plain(rows_of(part, bits), "u8")], result(y, dtype), "raw", named(elements=[shape[1]]))
        for dtype in VALUES:
            fits = values[~np.isnan(values)]
            if dtype == "f16" or dtype not in FLOATS:
                limits = np.finfo(np.float16) if dtype == "f16" else np.iinfo(DTYPES[dtype])
                fits = fits[(fits >= float(limits.min)) & (fits <= float(limits.max))]
                fits = fits[fits.astype(DTYPES[dtype]).astype(np.float64) == fits]
            packed(golden, name, fits, dtype)
    for dtype in FLOATS:
        # Between all elements, at the middles, and around them as near as the dtype has numbers; of
        # f64 as near as f32 has them, because ml_dtypes rounds twice.
        of = DTYPES["f32" if dtype == "f64" else dtype]
        middles = np.array([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0, 6.5]).astype(of)
        up, down = (np.nextafter(middles, np.array(end).astype(of)) for end in (np.inf, 0.0))
        every = np.concatenate([middles, up, down, np.array([0.0, 1e-4, 0.3, 0.9, 2.2, 7, 500, np.inf]).astype(of)])
        packed(golden, "f4e2m1", np.concatenate([every, -every]), dtype)
        for name, beyond in [("f8e4m3fnuz", 256.0), ("f8e5m2fnuz", 65536.0)]:
            magnitudes = np.append(np.arange(128, dtype=np.uint8).view(TYPES[name][0]).astype(np.float64), beyond)
            middles = ((magnitudes[1:] + magnitudes[:-1]) / 2).astype(of)
            up, down = (np.nextafter(middles, np.array(end).astype(of)) for end in (np.inf, 0.0))
            every = np.concatenate([middles, up, down, np.array([0.0, 1e-7, 60000, np.inf, np.nan]).astype(of)])
            packed(golden, name, np.concatenate([every, -every]), dtype, named(non_saturating=[1]))
