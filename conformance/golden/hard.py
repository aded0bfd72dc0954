#!/usr/bin/env python3
"""Searches for hard inputs of the recipes (docs/numerics) and writes them next to this file:

    f64_hard.bin     f64: inputs with their true values, in the format of f64_truth.bin
    hard_inputs.tsv  f32, f16 and bf16: operation, dtype and the inputs' bits in hexadecimal; the
                     inputs of pow, atan2 and hypot are pairs

    python3 hard.py     (needs mpmath and numpy; takes some minutes; the same bytes every time)

An input is hard if

- a recipe of the CPU (hal/src/cpu/math) changes its path there, or within four places of it: each
  comparison of a recipe, and the places where a reduction rounds to the next integer;
- its true value lies as close to halfway between two values of the dtype as a search over many
  inputs (all of f16 and bf16, 2^22 of f32, 6000 of f64) found, over all and in each binade;
- the last place of a recipe's constant decides its result: a reduced argument of exp (f32) that lies
  next to a tie, a product of an f64 angle with 2/pi in which a low word carries into a high one;
- it is a position in the generator's sequence around which roundings of normal numbers matter that
  few words have: the line of rand_normal begins with a block's number and a count of numbers;
- it is the value with a given exponent that lies closest to a multiple of pi/2, which continued
  fractions give (W. Kahan, Minimizing q m - n, 1983): a reduction needs the most bits there.
"""

import math
import os
import struct

import mpmath as mp
import numpy as np

import f64_truth as truth
from f64_truth import INF, MAX, SMALL, TINY, both, near

HERE = os.path.dirname(os.path.abspath(__file__))
LN2, PI = mp.log(2), mp.pi

# precision with the leading bit, smallest exponent, largest exponent
FORMATS = {"f64": (53, -1022, 1023), "f32": (24, -126, 127), "f16": (11, -14, 15), "bf16": (8, -126, 127)}


def around(points, spread=4):
    return [x for p in points for x in near(float(p), spread) if x == x]


def closest_to_quadrants(dtype):
    """For each exponent, the values closest to a multiple of pi/2."""
    precision, _, top = FORMATS[dtype]
    found = []
    for e in range(0, top - precision + 2):
        # m 2^e is close to q pi/2 if m/q is a convergent of (pi/2)/2^e.
        with mp.workprec(2400):
            x = (mp.pi / 2) / mp.mpf(2) ** e
            p0, p1, q0, q1 = 0, 1, 1, 0
            best = None
            for _ in range(200):
                a = int(mp.floor(x))
                p0, p1, q0, q1 = p1, a * p1 + p0, q1, a * q1 + q0
                if p1 >= 2**precision:
                    break
                if p1 >= 2 ** (precision - 1):
                    best = p1
                elif p1 > 0 and q1 > 0:
                    k = (2 ** (precision - 1)) // p1 + 1
                    best = p1 * k if p1 * k < 2**precision else best
                x = x - a
                if x == 0:
                    break
                x = 1 / x
            if best:
                value = mp.ldexp(best, e)
                rest = abs(value / (mp.pi / 2) - mp.nint(value / (mp.pi / 2)))
                found.append((rest, float(value)))
    found.sort()
    step = max(1, len(found) // 40)
    return [v for _, v in found[:60]] + [v for _, v in found[60::step]]


def carries(per_exponent=2):
    """Angles from 2^30 up in whose product with 2/pi the low word carries into the high one, and
    whose distance from a multiple of pi/2 is so small that the result needs the carry."""
    r = np.random.RandomState(11)
    with mp.workprec(1400):
        two_over_pi = int(mp.floor(mp.ldexp(2 / mp.pi, 1216)))
    found = []
    for e in range(30 - 52, 1024 - 52, 40):
        # The bits of 2/pi whose products with the significand are from 2 to 2^-190 in the quotient.
        window = two_over_pi >> (1216 - 190 - e) & (2**192 - 1)
        high, mid, low = (np.uint64(window >> shift & (2**64 - 1)) for shift in (128, 64, 0))
        m = r.randint(2**52, 2**53, 1 << 20).astype(np.uint64)
        with np.errstate(over="ignore"):
            part = m * mid
            p1 = part + high_product(m, low)
            p0 = m * high + high_product(m, mid) + (p1 < part)
        fraction = (p0 << np.uint64(2)).astype(np.int64)
        distance = np.where(p1 < part, np.abs(fraction.astype(np.float64)), np.inf)
        for i in np.argsort(distance, kind="stable")[:per_exponent]:
            if distance[i] < 2.0**58:
                found.append(math.ldexp(int(m[i]), e))
    return found


def high_product(a, b):
    """The upper halves of products of 64-bit words."""
    mask, half = np.uint64(2**32 - 1), np.uint64(32)
    a0, a1, b0, b1 = a & mask, a >> half, b & mask, b >> half
    mid = a1 * b0 + (a0 * b0 >> half)
    return a1 * b1 + (mid >> half) + (a0 * b1 + (mid & mask) >> half)


def halves(step, low, high, count):
    """Places at which x / step rounds to another integer."""
    ks = sorted({int(round(low + (high - low) * i / (count - 1))) for i in range(count)} | {-2, -1, 0, 1})
    return [(k + mp.mpf(1) / 2) * step for k in ks]


def f64_breakpoints():
    tiny = [2.0**-54, 2.0**-28, 2.0**-27]
    ends = [0.0, TINY, SMALL, 1.0, MAX]
    exps = halves(LN2, -1074, 1023, 25)
    first = truth.of_bits(0x3FE6A09E00000000)
    binades = [first * 2.0**k for k in list(range(-6, 7)) + [-1000, -1021, 52, 53, 1000, 1022]]
    logs = around(binades + [SMALL, 1.0, 2.0**-1060, TINY * 3, TINY * 5, MAX])
    below_one = around([first * 2.0**k - 1 for k in list(range(-6, 60)) + [1000, 1001]] + [-1.0, -0.5] + tiny[:1])
    quadrants = halves(PI / 2, 0, 2**29, 20) + halves(PI / 2, 0, 30, 31)
    angles = around(quadrants, 2) + around([2.0**30, 2.0**-27] + ends[1:]) + closest_to_quadrants("f64") + carries()
    hyperbolic = around(halves(LN2, -8, 1023, 30) + [710.0, 710.5, 1024 * LN2, 1025 * LN2, 22.0, 40.0, 0.25] + tiny)
    gates = lambda limit: around([limit, limit / 2, 1.0, 0.5] + tiny + ends[1:3]) + around(halves(LN2, -8, 60, 20), 2)
    return {
        "exp": around(exps + [-750, 720, 1024 * LN2, -1022 * LN2, -1074 * LN2, -1075 * LN2] + tiny),
        "exp2": around(halves(1, -1079, 1029, 30) + [-1080, 1030, 1024, -1022, -1074, -1075] + tiny),
        "expm1": both(around(halves(LN2, -60, 1023, 25) + [710, 1024 * LN2, 40, 53 * LN2] + tiny)),
        "log": logs,
        "log2": logs,
        "log1p": below_one + both(around(tiny)),
        "sin": both(angles),
        "cos": both(angles),
        "tan": both(angles),
        "sinh": both(hyperbolic),
        "cosh": both(hyperbolic),
        "tanh": both(around(halves(LN2 / 2, -8, 64, 40) + [22.0] + tiny)),
        "asin": both(around([0.5, 1.0, 2.0**-27, 2.0**-26] + ends[1:3])),
        "acos": both(around([0.5, 1.0, 2.0**-54, 2.0**-27] + ends[1:3])),
        "atan": both(
            around([truth.of_bits(0x3FDA827999FCEF32), truth.of_bits(0x4003504F333F9DE6), 2.0**60, 1.0] + tiny + ends[1:])
        ),
        "erf": both(around([1.0, 6.0, 5.9, 0.5] + tiny + ends[1:3])),
        "gelu": both(gates(24.0)),
        "gelu_erf": both(gates(40.0) + around([4.0, 8.0, 38.5])),
        "silu": both(gates(800.0) + around([709.0, 745.0])),
        "sigmoid": both(gates(800.0) + around([709.0, 745.0, 36.7])),
        "rsqrt": around([2.0**k for k in (-1074, -1073, -1023, -1022, -1021, -1, 0, 1, 2, 1022, 1023)] + [MAX]),
        "recip": both(around([2.0**k for k in (-1074, -1024, -1023, -1022, 0, 1021, 1022, 1023)] + [MAX])),
        "pow": powers(),
        "elu": [(x, a) for x in around(halves(LN2, -60, 2, 20) + [-40.0] + [-t for t in tiny]) for a in (1.0, -2.5)],
        "asinh": both(around(truth.LOG_STEPS + [2.0**28, 1.0] + tiny + ends[1:])),
        "acosh": around([mp.cosh(mp.log(first * 2.0**k)) for k in range(1, 26)] + [1.0, 2.0, 2.0**28, MAX]),
        "atanh": both(around([mp.tanh(mp.log(first * 2.0**k) / 2) for k in range(1, 50)] + [1.0, 0.5] + tiny + ends[1:3])),
        "softplus": both(around([40.0, 36.7, 745.1, 708.4, 0.88, 0.35] + tiny + ends[1:])) + around(halves(LN2, -60, 0, 20), 2),
        "mish": both(around([800.0, 40.0, 709.0, 745.0, 1.0] + tiny + ends[1:]) + around(halves(LN2, -60, 0, 20), 2)),
        "hard_sigmoid": both(around([3.0, 2.0, 1.5, 1.0, 0.5, 2.0**-52] + tiny + ends[1:])),
        "hard_swish": both(around([3.0, 2.0, 1.5, 1.0, 0.5, 2.0**-52] + tiny + ends[1:])),
        "selu": both(around([40.0, 36.7, 1.0] + tiny + ends[1:])) + around(halves(LN2, -60, 2, 20)),
        "celu": [
            (x * abs(a), a)
            for x in around(halves(LN2, -60, 2, 20) + [-40.0, -709.7] + [-t for t in tiny])
            for a in (1.0, -2.5, 0.7)
        ],
        "atan2": sides(),
        "hypot": sides(),
    }


def sides():
    """Pairs around the comparisons of the recipes of atan2 and hypot."""
    middle = truth.of_bits(0x3FDA827999FCEF32)
    scales = [2.0**k for k in (-1022, -900, -601, -400, -200, 0, 1, 200, 500, 600, 1000, 1022)]
    pairs = []
    for a in scales + [-s for s in scales]:
        long = near(a, 1)
        pairs += [(a, v) for ratio in (middle, 1.0, 2.0**-27, 2.0**-53) for v in near(a * ratio, 2)]
        pairs += [(v, a * 0.75) for v in long] + [(-a * 0.75, v) for v in long] + [(v, -a * middle) for v in long]
    pairs += [(x, y) for x in (TINY, SMALL, MAX) for y in (-TINY, SMALL - TINY, -SMALL, 1.0, MAX)]
    return [p for x, y in pairs if abs(x) <= MAX and abs(y) <= MAX for p in ((x, y), (y, x))]


def powers():
    d = truth.Draw("hard pow")
    pairs = []
    first = truth.of_bits(0x3FE6A09E00000000)
    bases = around([first * 2.0**k for k in (-1021, -3, -1, 0, 1, 2, 900)], 2)
    bases += around([1.0], 4) + [TINY, SMALL, SMALL - TINY, MAX, 2.0, 3.0, 0.1, 10.0] + d.any_bits(20, signed=False)
    # Results at the ends of the range, and where the logarithm is cut off.
    for x in bases:
        if x in (0.0, 1.0):
            continue
        for limit in (-1080, -1075, -1074, -1022, 1024, 1030):
            y = float(limit / mp.log(x, 2))
            pairs += [(x, v) for v in near(y, 2)] if abs(y) <= MAX else []
    # Exact powers, halfway cases among them, and signs.
    pairs += [(float(x), float(y)) for x in (3, 5, 7, 2**13 + 1) for y in (2, 3, 4, 11, 33, 34)]
    pairs += [(-x, y) for x, y in pairs[-24:]]
    pairs += [(x, y) for x in (-2.0, -1.0, -0.0, 0.0) for y in around([2.0**52, 2.0**53, 1.0], 2)]
    return pairs


def f64_table():
    table, points = truth.function_table(), f64_breakpoints()
    out = [b"F64TRUE1", struct.pack("<I", len(table))]
    for name, (f, ordinary) in table.items():
        inputs = [x if isinstance(x, tuple) else (x,) for x in points[name]]
        inputs += search_f64(name, f, [x if isinstance(x, tuple) else (x,) for x in ordinary])
        unique = list(dict.fromkeys(struct.pack(f"<{len(a)}d", *a) for a in inputs))
        args = [struct.unpack(f"<{len(b) // 8}d", b) for b in unique]
        out.append(struct.pack("<B", len(name)) + name.encode() + struct.pack("<BI", len(args[0]), len(args)))
        for a in args:
            hi, rest, e = truth.record(name, f, a)
            out.append(struct.pack(f"<{len(a)}ddfh", *a, hi, rest, e))
        print(name, len(args), flush=True)
    with open(os.path.join(HERE, "f64_hard.bin"), "wb") as file:
        file.write(b"".join(out))


def search_f64(name, f, ordinary, keep=40):
    """The inputs, near the ordinary ones, whose true values are closest to a tie."""
    d = truth.Draw("hard " + name)
    finite = [a for a in ordinary if all(abs(v) <= MAX for v in a)]
    found = []
    with mp.workprec(160):
        for _ in range(6000):
            a = d.r.choice(finite)
            # Another significand in the same binade.
            x = truth.of_bits(truth.bits_of(a[0]) ^ d.r.getrandbits(51))
            a = (x,) + a[1:]
            hi, rest, _ = truth.record(name, f, a)
            if hi == hi and abs(hi) not in (0.0, INF) and rest != 0.0:
                found.append((0.5 - abs(rest), a))
    found.sort()
    return [a for _, a in found[:keep]]


# f32, f16, bf16: the true values are f64, from numpy and the C library.

erf = np.vectorize(math.erf, otypes=[float])
erfc = np.vectorize(math.erfc, otypes=[float])
logistic = lambda x: 1.0 / (1.0 + np.exp(-x))
FUNCTIONS = {
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log2": np.log2,
    "log1p": np.log1p,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "erf": erf,
    "gelu": lambda x: x * logistic(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)),
    "gelu_erf": lambda x: 0.5 * x * erfc(-x / math.sqrt(2)),
    "silu": lambda x: x * logistic(x),
    "sigmoid": logistic,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "recip": lambda x: 1 / x,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "softplus": lambda x: np.where(x > 0, x, 0) + np.log1p(np.exp(-np.abs(x))),
    "mish": lambda x: x * np.tanh(np.where(x > 0, x, 0) + np.log1p(np.exp(-np.abs(x)))),
    "hard_sigmoid": lambda x: np.clip((x + 3) / 6, 0, 1),
    "hard_swish": lambda x: x * np.clip((x + 3) / 6, 0, 1),
    "selu": lambda x: float(truth.SELU_SCALE) * np.where(x > 0, x, float(truth.SELU_ALPHA) * np.expm1(np.minimum(x, 0))),
}
SLOW = ("erf", "gelu_erf")


def widen(dtype, bits):
    if dtype == "f32":
        return bits.astype(np.uint32).view(np.float32).astype(np.float64)
    if dtype == "f16":
        return bits.astype(np.uint16).view(np.float16).astype(np.float64)
    return (bits.astype(np.uint32) << 16).astype(np.uint32).view(np.float32).astype(np.float64)


def narrow(dtype, x):
    """The bits of a value, truncated to the dtype."""
    if dtype == "f16":
        return int(np.float64(x).astype(np.float16).view(np.uint16))
    bits = int(np.float64(x).astype(np.float32).view(np.uint32))
    return bits if dtype == "f32" else bits >> 16


def distance_to_tie(dtype, values):
    precision, low, high = FORMATS[dtype]
    with np.errstate(all="ignore"):
        exponent = np.maximum(np.frexp(values)[1] - 1, low)
        places = np.ldexp(values, precision - 1 - exponent)
        distance = np.abs(np.abs(places - np.floor(places)) - 0.5)
        usable = np.isfinite(values) & (values != 0) & (np.abs(values) < 2.0 ** (high + 1)) & (distance > 0)
        return np.where(usable & (np.abs(places) >= 0.25), distance, np.inf)


NARROW_POINTS = {
    "exp": [88.0, 88.72283, -86.0, -87.33654, -103.97208, -104.0, 11.09, -17.33, 0.34657359, -0.34657359],
    "exp2": [128.0, -126.0, -149.0, -150.0, 16.0, -24.0, -25.0, 0.5, -0.5, 1.5],
    "expm1": [88.0, 88.72283, -17.328679, -9.0, 0.34657359, -0.34657359, 11.09],
    "sinh": [44.0, 88.0, 89.41598, 1.0, 0.5, 11.78],
    "cosh": [44.0, 88.0, 89.41598, 1.0, 0.5, 11.78],
    "tanh": [0.6, 9.01, 9.0109, 44.0, 22.0, 4.5],
    "asin": [0.5, 1.0],
    "acos": [0.5, 1.0],
    "atan": [1.0, 2.0**60, 0.41421357, 2.4142137],
    "erf": [1.0, 3.92, 3.9192059, 4.0, 2.0],
    "gelu": [9.75, -9.75, 5.0, -5.0, 10.0, -10.0],
    "gelu_erf": [9.75, -9.75, -13.5, -14.2, 5.6, -5.6],
    "silu": [86.0, -86.0, -88.0, -103.9, 88.7],
    "sigmoid": [86.0, -86.0, -88.0, -103.9, 16.6, 88.7],
    "asinh": [0.5, 4096.0, 1.25, 1.0, 0.28],
    "acosh": [1.0, 2.0, 4096.0, 1.0833334, 1.0416666],
    "atanh": [1.0, 0.5, 0.14285715, 0.33333334, 0.9921875],
    "softplus": [22.0, -22.0, 16.6, -104.0, -87.3, 0.34657359, -1.0986123],
    "mish": [22.0, -22.0, -104.0, -110.0, -87.3, -120.0, 0.34657359],
    "hard_sigmoid": [3.0, -3.0, -1.5, 0.0, 1.0],
    "hard_swish": [3.0, -3.0, -1.5, 0.0, 1.0],
    "selu": [-18.0, -17.3, -0.34657359, -1.0397208, 1.0],
}
for trig in ("sin", "cos", "tan"):
    NARROW_POINTS[trig] = [2.0**17] + [float((k + 0.5) * math.pi / 2) for k in (0, 1, 2, 3, 7, 100, 83442, 83443)]
for log in ("log", "log2", "log1p"):
    NARROW_POINTS[log] = [2.0 / 3, 4.0 / 3, 1.0, 2.0**-126, 2.0**-14, -1.0 / 3, 1.0 / 3, 2.0**-25, -0.5]
for root in ("rsqrt", "recip"):
    NARROW_POINTS[root] = [2.0**-126, 2.0**-127, 2.0**126, 2.0**127, 2.0**-14, 1.0, 2.0, 4.0]


def narrow_inputs(name, f, dtype, keep=64):
    width = 32 if dtype == "f32" else 16
    count = 1 << (16 if width == 16 else 18 if name in SLOW else 22)
    step = (1 << width) // count
    # An odd offset in each step, so that significands differ.
    bits = np.arange(count, dtype=np.uint64) * step
    bits = (bits + (bits // step * 2654435761) % step) if step > 1 else bits
    with np.errstate(all="ignore"):
        values = f(widen(dtype, bits))
    distance = distance_to_tie(dtype, values)
    nearest = np.argsort(distance, kind="stable")[:keep]
    chosen = [int(bits[i]) for i in nearest if distance[i] != np.inf]
    chosen += nearest_in_binades(dtype, bits, distance)
    chosen += reduced_ties() if (name, dtype) == ("exp", "f32") else []
    # The sign bit, and the bits of the smallest normal number.
    sign, low = 1 << (width - 1), 1 << (FORMATS[dtype][0] - 1)
    for point in NARROW_POINTS.get(name, []):
        at = narrow(dtype, point)
        chosen += [(at + d) % (1 << width) for d in range(-4, 5)]
        chosen += [((at ^ sign) + d) % (1 << width) for d in range(-4, 5)]
    if name in ("sin", "cos", "tan"):
        angles = [narrow(dtype, v) for v in QUADRANTS[dtype]]
        chosen += angles + [a | sign for a in angles]
    chosen += [0, 1, low - 1, low, low + 1, sign, sign | 1, sign | low]
    return list(dict.fromkeys(chosen))


def nearest_in_binades(dtype, bits, distance):
    """The input of each sign and exponent whose value is closest to a tie; of the wide formats,
    every fourth exponent."""
    precision = FORMATS[dtype][0]
    binade = (bits >> np.uint64(precision - 1)).astype(np.int64)
    order = np.lexsort((distance, binade))
    order = order[distance[order] != np.inf]
    _, first = np.unique(binade[order], return_index=True)
    step = 1 if dtype == "f16" else 4
    return [int(bits[order[i]]) for i in first if binade[order[i]] % step == 0]


def fused(a, b, c):
    """fma of f32; the product is exact in f64, and the sum nearly always."""
    return (a.astype(np.float64) * np.float64(b) + np.float64(c)).astype(np.float32)


def reduced_ties(keep=12):
    """Inputs of exp (f32) whose reduced argument lies next to a tie, on either side, so that the low
    part of ln 2 decides it to the last place, and whose result depends on that."""
    hexes = lambda *words: [np.float32(float.fromhex(w)) for w in words]
    log2_e, high, low = hexes("0x1.715476p0", "0x1.62e4p-1", "0x1.7f7d1cp-20")
    tail = hexes("0x1.a2d3dep-13", "0x1.6d310cp-10", "0x1.110fc4p-7", "0x1.5555p-5", "0x1.555556p-3", "0x1p-1")
    x = np.random.RandomState(5).uniform(-87, 88, 1 << 22).astype(np.float32)
    n = np.rint(fused(x, log2_e, 0.0)).astype(np.float32)
    first = (x.astype(np.float64) - n.astype(np.float64) * np.float64(high)).astype(np.float32)
    exact = first.astype(np.float64) - n.astype(np.float64) * np.float64(low)

    def result(r):
        q = np.full_like(r, tail[0])
        for c in tail[1:]:
            q = (q.astype(np.float64) * r + np.float64(c)).astype(np.float32)
        square = (r * r).astype(np.float64)
        return (1.0 + (square * q + r).astype(np.float32).astype(np.float64)).astype(np.float32)

    r = exact.astype(np.float32)
    other = np.nextafter(r, np.where(exact > r, np.inf, -np.inf).astype(np.float32))
    # In places of the low part of ln 2: how far it may be off before the argument is another one.
    middle = (r.astype(np.float64) + other.astype(np.float64)) / 2
    with np.errstate(all="ignore"):
        places = (exact - middle) / n / np.spacing(low).astype(np.float64)
    places = np.where((result(r) != result(other)) & (n != 0), places, np.inf)
    chosen = []
    for sign in (1, -1):
        distance = np.where(places * sign > 0, np.abs(places), np.inf)
        nearest = np.argsort(distance, kind="stable")[:keep]
        chosen += [int(bits) for bits in x[nearest].view(np.uint32)]
    return chosen


def philox(blocks):
    """The words of blocks of seed 0, stream 0 (docs/numerics/random.md)."""
    mask, half = np.uint64(2**32 - 1), np.uint64(32)
    c = [blocks & mask, blocks >> half, np.zeros_like(blocks), np.zeros_like(blocks)]
    keys = [0, 0]
    for _ in range(10):
        p, q = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [(q >> half) ^ c[1] ^ np.uint64(keys[0]), q & mask, (p >> half) ^ c[3] ^ np.uint64(keys[1]), p & mask]
        keys = [(keys[0] + 0x9E3779B9) % 2**32, (keys[1] + 0xBB67AE85) % 2**32]
    return c


def normal_window(length=1024):
    """The blocks, of 2^23, among which the most radii of normal numbers (f32) change if the exponent's
    product is rounded before the polynomial is added: very small words."""
    hexes = [
        "-0x1.1f41f4p-2",
        "0x1.3b2484p-2",
        "-0x1.1ea1bcp-2",
        "0x1.50332cp-2",
        "-0x1.99d434p-2",
        "0x1.00148p-1",
        "-0x1.5554fap-1",
        "0x1.ffffd6p-1",
        "-0x1p1",
    ]
    hits = []
    for start in range(0, 1 << 23, 1 << 20):
        blocks = np.arange(start, start + (1 << 20), dtype=np.uint64)
        words = philox(blocks)
        for word in (words[0], words[2]):
            v = (word | np.uint64(1)).astype(np.float32).view(np.uint32)
            exponent = (v - np.uint32(0x4F2AAAAB)) & np.uint32(0xFF800000)
            f = (v - exponent - np.uint32(0x10000000)).view(np.float32) - np.float32(1)
            p = np.full_like(f, np.float32(float.fromhex(hexes[0])))
            for c in hexes[1:]:
                p = (p.astype(np.float64) * f + float.fromhex(c)).astype(np.float32)
            product = exponent.view(np.int32).astype(np.float64) * -float.fromhex("0x1.62e43p-23")
            rest = (f * p).astype(np.float64)
            radius = lambda sum: np.sqrt(sum.astype(np.float32))
            differ = radius(product + rest) != radius(product.astype(np.float32).astype(np.float64) + rest)
            hits.append(blocks[differ])
    hits = np.sort(np.concatenate(hits))
    ends = np.searchsorted(hits, hits + np.uint64(length))
    best = int(np.argmax(ends - np.arange(len(hits))))
    return [int(hits[best]), 4 * length]


QUADRANTS = {}


def narrow_table():
    lines = []
    for dtype in ("f32", "f16", "bf16"):
        QUADRANTS[dtype] = closest_to_quadrants(dtype)
        for name, f in FUNCTIONS.items():
            bits = narrow_inputs(name, f, dtype)
            lines.append(f"{name}\t{dtype}\t" + " ".join(f"{b:x}" for b in bits))
        lines.append(f"pow\t{dtype}\t" + " ".join(f"{b:x}" for pair in narrow_powers(dtype) for b in pair))
        for name in ("atan2", "hypot"):
            lines.append(f"{name}\t{dtype}\t" + " ".join(f"{b:x}" for pair in narrow_sides(name, dtype) for b in pair))
        print(dtype, flush=True)
    lines.append("rand_normal\tf32\t" + " ".join(f"{b:x}" for b in normal_window()))
    with open(os.path.join(HERE, "hard_inputs.tsv"), "w") as file:
        file.write("\n".join(lines) + "\n")


def narrow_powers(dtype, keep=150):
    """Pairs whose powers are closest to a tie, and those at the ends of the range."""
    r = np.random.RandomState(7)
    width = 32 if dtype == "f32" else 16
    top = FORMATS[dtype][2] + 1
    with np.errstate(all="ignore"):
        x = r.randint(0, 1 << (width - 1), 1 << 19).astype(np.uint64)
        ends = r.choice([top, FORMATS[dtype][1], FORMATS[dtype][1] - FORMATS[dtype][0] + 1], 1 << 19)
        log = np.log2(widen(dtype, x))
        wanted = np.where(r.rand(1 << 19) < 0.1, ends, (r.rand(1 << 19) * 2 - 1) * top)
        y = wanted / log
        y = np.where(np.isfinite(y) & (np.abs(y) < 2.0 ** (top - 1)), y, 2.0)
        if dtype == "f16":
            ybits = y.astype(np.float16).view(np.uint16).astype(np.uint64)
        else:
            ybits = y.astype(np.float32).view(np.uint32).astype(np.uint64)
            ybits = ybits if dtype == "f32" else ybits >> 16
        values = np.power(widen(dtype, x), widen(dtype, ybits))
    distance = distance_to_tie(dtype, values)
    nearest = np.argsort(distance, kind="stable")[:keep]
    extreme = [i for i in range(2000) if wanted[i] in ends[:3]][:60]
    return [(int(x[i]), int(ybits[i])) for i in list(nearest) + extreme]


def narrow_sides(name, dtype, keep=150):
    """Pairs of comparable sides whose atan2 or hypot is closest to a tie, and those around the
    comparisons of the recipes."""
    r = np.random.RandomState(9)
    precision, low, top = FORMATS[dtype]
    with np.errstate(all="ignore"):
        x = r.rand(1 << 19) * 2.0 ** r.randint(low // 2, top // 2, 1 << 19)
        y = x * (2 * r.rand(1 << 19) - 1) * 2.0 ** r.randint(-3, 4, 1 << 19)
        xbits, ybits = (np.array(bits_of_all(dtype, v), dtype=np.uint64) for v in (x, y))
        function = {"atan2": np.arctan2, "hypot": np.hypot}[name]
        values = function(widen(dtype, xbits), widen(dtype, ybits))
    nearest = np.argsort(distance_to_tie(dtype, values), kind="stable")[:keep]
    pairs = [(int(xbits[i]), int(ybits[i])) for i in nearest]
    sign = 1 << (31 if dtype == "f32" else 15)
    for exponent in (low - precision + 2, low, -64, -40, 0, 62, 64, top):
        if low - precision + 1 < exponent <= top:
            at = narrow(dtype, 2.0**exponent)
            for ratio in (1.0, 0.41421357, 0.75, 2.0**-12):
                short = narrow(dtype, ratio * 2.0**exponent)
                pairs += [(at, short + d) for d in (-1, 0, 1) if short + d >= 0]
                pairs += [(short | sign, at), (at | sign, short), (short | sign, at | sign)]
    return pairs


def bits_of_all(dtype, x):
    """The bits of values, truncated to the dtype."""
    if dtype == "f16":
        return x.astype(np.float16).view(np.uint16)
    bits = x.astype(np.float32).view(np.uint32)
    return bits if dtype == "f32" else bits >> 16


if __name__ == "__main__":
    narrow_table()
    f64_table()
