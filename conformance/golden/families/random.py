"""Golden vectors of random numbers, from the paper of Philox4x32-10 (Salmon, Moraes, Dror and Shaw, SC11),
the map of docs/numerics/random.md in exact arithmetic, and the transform of Box and Muller with 50
digits. No polynomial and no floating-point operation is shared with the kernels.

Needs numpy, ml_dtypes and mpmath.
"""

from fractions import Fraction

import ml_dtypes
import mpmath
import numpy

from make_golden import named

VERSION = f"Philox4x32-10 and Box-Muller from their papers, mpmath {mpmath.__version__}, numpy {numpy.__version__}"
TYPES = {"f16": numpy.float16, "bf16": ml_dtypes.bfloat16, "f32": numpy.float32, "f64": numpy.float64}
# Bits of the significand, and the smallest exponent of a normal number.
FORMATS = {"f16": (11, -14), "bf16": (8, -126), "f32": (24, -126), "f64": (53, -1022)}
WORD = 0xFFFFFFFF
mpmath.mp.dps = 50

KNOWN = [
    ([0] * 4, [0] * 2, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
    ([WORD] * 4, [WORD] * 2, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
    (
        [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
        [0xA4093822, 0x299F31D0],
        [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
    ),
]


def philox(counter, key):
    """A block: the published rounds, word by word."""
    (x0, x1, x2, x3), (k0, k1) = counter, key
    for _ in range(10):
        p0, p1 = 0xD2511F53 * x0, 0xCD9E8D57 * x2
        x0, x1, x2, x3 = p1 >> 32 ^ x1 ^ k0, p1 & WORD, p0 >> 32 ^ x3 ^ k1, p0 & WORD
        k0, k1 = (k0 + 0x9E3779B9) & WORD, (k1 + 0xBB67AE85) & WORD
    return [x0, x1, x2, x3]


def block(seed, stream, number):
    return philox([number & WORD, number >> 32, stream, 0], [seed & WORD, seed >> 32])


def nearest(x, dtype):
    """The value of a dtype's grid nearest to a fraction, ties to even, as a fraction."""
    if x == 0:
        return x
    digits, least = FORMATS[dtype]
    exponent = max(mpmath.floor(mpmath.log(abs(mpmath.mpf(x.numerator) / x.denominator), 2)), least)
    unit = Fraction(2) ** (int(exponent) + 1 - digits)
    return round(x / unit) * unit


def as_array(values, dtype):
    # Exact, because each is a value of the dtype.
    return numpy.array([float(v) for v in values], dtype=numpy.float64).astype(TYPES[dtype])


def uniform(dtype, seed, offset, n, lo, up, ends):
    compute = "f64" if dtype == "f64" else "f32"
    lo, up = (nearest(Fraction(x), compute) for x in (lo, up))
    for i in range(n):
        number = (offset + i) % 2**64
        if dtype == "f64":
            words = block(seed, 1, number // 2)
            at = number % 2 * 2
            u = Fraction((words[at + 1] << 32 | words[at]) >> 11, 2**53)
        else:
            u = Fraction(block(seed, 0, number // 4)[number % 4] >> 8, 2**24)
        between = nearest(u * up + nearest(lo - u * lo, compute), compute)
        yield nearest(min(max(between, ends[0]), ends[1]), dtype)


def standard_normal(dtype, seed, number):
    if dtype == "f64":
        w = block(seed, 1, number // 2)
        a, b = w[1] << 32 | w[0], w[3] << 32 | w[2]
        u = mpmath.mpf((a >> 11) + 1) / 2**53
        t = mpmath.mpf(b & 2**52 - 1) / 2**52 - mpmath.mpf(1) / 2
        swap, minus = b >> 62 & 1, b >> 63
    else:
        w = block(seed, 0, number // 4)
        a, b = w[number % 4 // 2 * 2 :][:2]
        u = mpmath.mpf(int(nearest(Fraction(a | 1), "f32"))) / 2**32
        t = mpmath.mpf(b & 2**23 - 1) / 2**23 - mpmath.mpf(1) / 2
        swap, minus = b >> 30 & 1, b >> 31
    radius = mpmath.sqrt(-2 * mpmath.log(u)) * (-1 if minus else 1)
    angle = t * mpmath.pi / 2
    pair = [mpmath.cos(angle), mpmath.sin(angle)]
    return radius * pair[number % 2 ^ swap]


def ends_of(dtype, lo, up):
    """The outermost values of a dtype in [lo, up), by steps from their neighbours."""
    step = lambda x, to: numpy.nextafter(numpy.array(x, TYPES[dtype]), numpy.array(to, TYPES[dtype]))
    first = numpy.array(lo).astype(TYPES[dtype])
    while float(first) < lo:
        first = step(first, numpy.inf)
    last = numpy.array(up).astype(TYPES[dtype])
    while float(last) >= up:
        last = step(last, -numpy.inf)
    return Fraction(float(first)), Fraction(float(last))


def params_of(seed, offset, **numbers):
    """64-bit numbers are passed as two halves, the low one first, because a parameter is an f64."""
    halves = {"seed": [seed & WORD, seed >> 32], "offset": [offset & WORD, offset >> 32]}
    return named(**{name: [x] for name, x in numbers.items()}, **halves)


PLACES = [(0, 0, 40), (299792458, 0, 64), (2**64 - 1, 7, 33), (0x0123456789ABCDEF, 2**34 - 6, 24), (5, 2**64 - 6, 17)]


def marks(seed, offset, n, p):
    """Ones where a word is below p * 2^32, rounded to an integer."""
    threshold = round(Fraction(p) * 2**32)
    for i in range(n):
        number = (offset + i) % 2**64
        yield int(block(seed, 0, number // 4)[number % 4] < threshold)


PROBABILITIES = [0.0, 1.0, 0.5, 0.1, 0.9371, 2.0**-33, 1.0 - 2.0**-33]
MASKS = {"u8": numpy.uint8, "u32": numpy.uint32, "i64": numpy.int64}


def make_marks(golden):
    for seed, offset, n in PLACES:
        for p in PROBABILITIES:
            kept = list(marks(seed, offset, n, p))
            for dtype, ty in {**TYPES, **MASKS}.items():
                out = (dtype, [n], numpy.array(kept).astype(ty).tobytes())
                golden.case("bernoulli", [], out, "bits", params_of(seed, offset, p=p))
            kept = list(marks(seed, offset, n, 1.0 - p))
            for dtype, ty in TYPES.items():
                x = (numpy.arange(n) - 7.3).astype(ty)
                compute = "f64" if dtype == "f64" else "f32"
                scale = nearest(Fraction(1.0 / (1.0 - p)), compute) if p < 1.0 else 0
                y = [nearest(nearest(Fraction(float(v)) * scale, compute), dtype) if k else 0 for v, k in zip(x, kept)]
                inputs = [(dtype, x.tobytes(), [n], [1], 0)]
                golden.case("dropout", inputs, (dtype, [n], as_array(y, dtype).tobytes()), "bits", params_of(seed, offset, p=p))


def make_probs(golden):
    """Probabilities around those that decide each element, and values that are none."""
    near = [Fraction(i, 4) for i in (-4, -2, -1, 0, 1, 2, 4, 6)]
    for seed, offset, n in PLACES:
        words = [block(seed, 0, (offset + i) % 2**64 // 4)[(offset + i) % 4] for i in range(n)]
        for dtype, ty in TYPES.items():
            compute = numpy.float64 if dtype == "f64" else numpy.float32
            for others in [[-0.25, numpy.nan, 1.5, numpy.inf, -numpy.inf, -0.0], [0.0, 1.0, 0.5, 0.1]]:
                ps = [float((word + near[i % 8]) / 2**32) for i, word in enumerate(words)]
                ps[n // 2 :] = [others[i % len(others)] for i in range(n - n // 2)]
                p = numpy.array(ps).astype(ty)
                kept = []
                for word, x in zip(words, p.astype(compute)):
                    inside = 0 if numpy.isnan(x) else min(max(float(x), 0.0), 1.0)
                    kept.append(int(word < round(Fraction(inside) * 2**32)))
                out = (dtype, [n], as_array(kept, dtype).tobytes())
                golden.case("bernoulli_probs", [(dtype, p.tobytes(), [n], [1], 0)], out, "bits", params_of(seed, offset))


def make(golden):
    for counter, key, words in KNOWN:
        assert philox(counter, key) == words, "the published vectors"
    for dtype in TYPES:
        for seed, offset, n in PLACES:
            for lo, up in [(0.0, 1.0), (-1.0, 1.0), (-3.7, 5.2), (0.1, 0.1015625), (1000.0, 1004.0)]:
                values = as_array(uniform(dtype, seed, offset, n, lo, up, ends_of(dtype, lo, up)), dtype)
                params = params_of(seed, offset, lo=lo, up=up)
                golden.case("rand_uniform", [], (dtype, [n], values.tobytes()), "bits", params)
            for mean, std in [(0.0, 1.0), (10.0, 0.5), (-1.0, 300.0)]:
                values, bounds = [], []
                digits, least = FORMATS[dtype]
                compute = 2.0 ** (-52 if dtype == "f64" else -23)
                for i in range(n):
                    z = standard_normal(dtype, seed, (offset + i) % 2**64) * std
                    x = z + mean
                    unit = 2.0 ** (max(int(mpmath.floor(mpmath.log(abs(x), 2))), least) + 1 - digits)
                    values.append(nearest(Fraction(*mpmath.libmp.to_rational(x._mpf_)), dtype))
                    # The bound of docs/numerics/random.md, one rounding in the compute type, one to
                    # the dtype, and that of the vector.
                    bounds.append(float(4 * compute * abs(z) + compute * abs(x) + unit))
                abs_bytes = numpy.array(bounds, dtype=numpy.float64).tobytes()
                params = params_of(seed, offset, mean=mean, std=std)
                out = (dtype, [n], as_array(values, dtype).tobytes())
                golden.case("rand_normal", [], out, {"abs": abs_bytes}, params)
    make_marks(golden)
    make_probs(golden)
