"""Golden vectors of the quantized family, from `gguf` (dequantize, and quantize if it has it) and from
ggml's own C library (the other quantizers).

Needs numpy and gguf. The environment variable GGML must name a shared library that exports ggml's
quantize_row_*_ref, built without contraction, for example with
`cc -O2 -ffp-contract=off -fPIC -shared -DNDEBUG -Iinclude -Isrc src/ggml-quants.c` in ggml's tree
(GGML_COMMIT names the commit). Products are computed by NumPy in f64 over gguf's elements, with the
bounds of docs/numerics/quantized.md.
"""

import ctypes
import os
from importlib.metadata import version

import gguf
import numpy as np
from gguf.quants import dequantize, quantize

FORMATS = {
    # name: elements per block, bytes per block, offsets of the f16 scales
    "q4_0": (32, 18, [0]),
    "q4_1": (32, 20, [0, 2]),
    "q5_0": (32, 22, [0]),
    "q5_1": (32, 24, [0, 2]),
    "q8_0": (32, 34, [0]),
    "q8_1": (32, 36, [0, 2]),
    "q2_k": (256, 84, [80, 82]),
    "q3_k": (256, 110, [108]),
    "q4_k": (256, 144, [0, 2]),
    "q5_k": (256, 176, [0, 2]),
    "q6_k": (256, 210, [208]),
    "q8_k": (256, 292, []),
    "iq4_nl": (32, 18, [0]),
    "iq4_xs": (256, 136, [0]),
    "tq1_0": (256, 54, [52]),
    "tq2_0": (256, 66, [64]),
    "mxfp4": (32, 17, []),
    "iq2_xxs": (256, 66, [0]),
    "iq2_xs": (256, 74, [0]),
    "iq2_s": (256, 82, [0]),
    "iq3_xxs": (256, 98, [0]),
    "iq3_s": (256, 110, [0]),
    "iq1_s": (256, 50, [0]),
    "iq1_m": (256, 56, []),
    "nvfp4": (64, 36, []),
}
OF_GGUF = {"q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "tq1_0", "tq2_0", "mxfp4"}

WITHOUT_QUANTIZER = {"iq2_xxs", "iq2_xs", "iq2_s", "iq3_xxs", "iq3_s", "iq1_s", "iq1_m"}

library = ctypes.CDLL(os.environ["GGML"])

VERSION = f"gguf {version('gguf')}, ggml {os.environ['GGML_COMMIT'][:12]}, numpy {np.__version__}"


def kind(name):
    return getattr(gguf.GGMLQuantizationType, name.upper())


def elements(name, rows):
    """f32 elements of rows of blocks. gguf has no q8_1 and q8_K: they are defined by one product per element."""
    if name == "q8_1":
        blocks = rows.reshape(-1, 36)
        d = blocks[:, :2].copy().view(np.float16).astype(np.float32)
        return (d * blocks[:, 4:].view(np.int8).astype(np.float32)).reshape(rows.shape[0], -1)
    if name == "q8_k":
        blocks = rows.reshape(-1, 292)
        d = blocks[:, :4].copy().view(np.float32)
        return (d * blocks[:, 4:260].view(np.int8).astype(np.float32)).reshape(rows.shape[0], -1)
    return dequantize(rows, kind(name))


def blocks_of(name, rows):
    """Rows of f32 in blocks."""
    if name in OF_GGUF:
        return quantize(rows, kind(name))
    size, width, _ = FORMATS[name]
    out = np.zeros((rows.shape[0], rows.shape[1] // size * width), np.uint8)
    function = getattr(library, f"quantize_row_{name.replace('_k', '_K')}_ref")
    for row, to in zip(np.ascontiguousarray(rows, np.float32), out):
        function(row.ctypes.data_as(ctypes.c_void_p), to.ctypes.data_as(ctypes.c_void_p), ctypes.c_int64(row.size))
    return out


def well_formed(rng, name, rows, blocks):
    """Random integers with scales of moderate size."""
    size, width, halves = FORMATS[name]
    out = rng.integers(0, 256, (rows, blocks, width), dtype=np.uint8)
    for at in halves:
        d = (rng.standard_normal((rows, blocks)) / 16).astype(np.float16)
        out[:, :, at : at + 2] = d.view(np.uint8).reshape(rows, blocks, 2)
    if name == "q8_k":
        d = (rng.standard_normal((rows, blocks)) / 16).astype(np.float32)
        out[:, :, :4] = d.view(np.uint8).reshape(rows, blocks, 4)
    if name == "mxfp4":
        out[:, :, 0] = out[:, :, 0] % 8 + 118
    if name == "nvfp4":
        out[:, :, :4] = out[:, :, :4] % 64 + 16
    if name == "iq1_m":
        # The exponent is in the upper nibbles of two bytes.
        out[:, :, 55] = out[:, :, 55] & 0x8F | 0x20
    return out.reshape(rows, blocks * width)


def finite(rng, name, rows, blocks):
    """Random bytes with finite scales of every magnitude, including subnormal ones."""
    size, width, halves = FORMATS[name]
    out = rng.integers(0, 256, (rows, blocks, width), dtype=np.uint8)
    for at in halves:
        high = out[:, :, at + 1]
        high[(high & 0x7C) == 0x7C] ^= 0x40
    if name == "q8_k":
        high = out[:, :, 3]
        high[(high & 0x7F) >= 0x7C] ^= 0x40
    if name == "mxfp4":
        # Products beyond 2^125 overflow.
        out[:, :, 0] %= 252
    if name == "nvfp4":
        # gguf reads NaN as 0.
        scales = out[:, :, :4]
        scales[(scales & 0x7F) == 0x7F] = 1
    if name == "iq1_m":
        high = out[:, :, 55]
        high[(high & 0x70) == 0x70] ^= 0x40
    return out.reshape(rows, blocks * width)


def samples(rng):
    """Rows of 512 elements of several kinds that a quantizer may get, except non-finite values."""
    n = 512
    i = np.arange(n)
    yield rng.standard_normal(n)
    yield rng.uniform(0.5, 3.0, n)
    yield np.round(rng.uniform(-9, 9, n)) / 2
    yield rng.standard_normal(n) * np.exp2(rng.integers(-12, 12, n))
    yield np.where(i // 16 % 3 == 0, 0.0, rng.standard_normal(n) * 1e-5)
    yield 0.1 + 2 * np.cos(i)


def dense(dtype, array, shape):
    strides = [int(np.prod(shape[i + 1 :])) for i in range(len(shape))]
    return (dtype, np.ascontiguousarray(array).tobytes(), list(shape), strides, 0)


def narrow(dtype, x):
    """f32 rounded to a dtype, as bytes."""
    if dtype == "f32":
        return x.astype(np.float32).tobytes()
    if dtype == "f16":
        with np.errstate(over="ignore"):
            return x.astype(np.float16).tobytes()
    bits = x.astype(np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16).tobytes()


def conversions(golden, rng):
    rows = np.array(list(samples(rng)), np.float32)
    halves = rows.astype(np.float16)
    for name, (size, width, _) in FORMATS.items():
        blocks = 512 // size // 2
        for bytes_, dtypes in ((well_formed(rng, name, 2, blocks), ["f32"]), (finite(rng, name, 2, blocks), ["f32", "f16", "bf16"])):
            want = elements(name, bytes_)
            for dtype in dtypes:
                out = (dtype, want.shape, narrow(dtype, want))
                golden.case(f"dequantize_{name}", [dense("u8", bytes_, bytes_.shape)], out, "bits")
        for dtype, x in (("f32", rows), ("f16", halves)) if name not in WITHOUT_QUANTIZER else ():
            want = blocks_of(name, x.astype(np.float32))
            golden.case(f"quantize_{name}", [dense(dtype, x, x.shape)], ("u8", want.shape, want.tobytes()), "raw")


def gamma(h):
    u = 2.0**-24
    return h * u / (1 - h * u)


def product(name, weights, x, through):
    """x w^T in f64 and the bound of the result in f32."""
    w = elements(name, weights).astype(np.float64)
    x = x.astype(np.float64)
    exact, magnitudes = x @ w.T, np.abs(x) @ np.abs(w).T
    k = x.shape[1]
    bound = gamma(min(k, 256) + k // 256 + 2) * magnitudes
    if through:
        # Half a step of each activation and the rounding of the step, plus that of the scaled sum
        # for a summand of at most the greatest element of 32.
        steps = np.abs(x).reshape(x.shape[0], -1, 32).max(axis=2) / 127
        off = np.repeat(steps * 0.5, 32, axis=1) + np.abs(x) * 2.0**-10
        peaks = np.abs(w).reshape(w.shape[0], -1, 32).max(axis=2)
        sums = np.abs(x).reshape(x.shape[0], -1, 32).sum(axis=2) + steps * 16
        bound = bound * 2 + off @ np.abs(w).T + 2.0**-9 * 2 * sums @ peaks.T
    return exact, bound + np.spacing(np.abs(exact).astype(np.float32)).astype(np.float64)


def products(golden, rng):
    k = 512
    x = rng.standard_normal((3, k)).astype(np.float32)
    for name, (size, width, _) in FORMATS.items():
        weights = well_formed(rng, name, 5, k // size)
        for op, through in ((f"qmatmul_{name}", False), (f"qmatmul_q8_1_{name}", True)):
            y, bound = product(name, weights, x, through)
            inputs = [dense("u8", weights, weights.shape), dense("f32", x, x.shape)]
            golden.case(op, inputs, ("f32", y.shape, y.astype(np.float32).tobytes()), {"abs": bound.tobytes()})
        # Two experts of two rows and one of padding: three tokens with two experts each.
        experts = weights[:4].reshape(2, 2, -1)
        ids = np.array([[1, 0], [0, 2**32 - 1], [1, 1]], np.uint32)
        for op, through in ((f"qmatmul_id_{name}", False), (f"qmatmul_id_q8_1_{name}", True)):
            y, bound = np.zeros((3, 2, 2)), np.zeros((3, 2, 2))
            for t in range(3):
                for j in range(2):
                    if ids[t, j] < 2:
                        y[t, j], bound[t, j] = product(name, experts[ids[t, j]], x[t : t + 1], through)
            inputs = [dense("u8", experts, experts.shape), dense("f32", x, (3, 1, x.shape[1])), dense("u32", ids, ids.shape)]
            golden.case(op, inputs, ("f32", y.shape, y.astype(np.float32).tobytes()), {"abs": bound.tobytes()})


def make(golden):
    rng = np.random.default_rng(20260)
    conversions(golden, rng)
    products(golden, rng)
