"""The inputs of the golden vectors, which are the same for every source, and the bounds of the difference
from the source's results."""

from fractions import Fraction
import math

import ml_dtypes
import numpy as np

INTS = {"u8": np.uint8, "i8": np.int8, "u32": np.uint32, "i16": np.int16, "i32": np.int32, "i64": np.int64}
NARROW = {"f8e4m3": ml_dtypes.float8_e4m3fn, "f16": np.float16, "bf16": ml_dtypes.bfloat16}
FLOATS = {**NARROW, "f32": np.float32, "f64": np.float64}
DTYPES = {**INTS, **FLOATS}
PRECISION = {"f8e4m3": 4, "f16": 11, "bf16": 8, "f32": 24, "f64": 53}
MIN_EXPONENT = {"f8e4m3": -6, "f16": -14, "bf16": -126, "f32": -126, "f64": -1022}

ANY = "neg abs sign sqr relu ceil floor round trunc".split()
FLOAT_ONLY = (
    "sqrt rsqrt recip exp exp2 log log2 log1p expm1 sin cos tan tanh sinh cosh asin acos atan erf gelu gelu_erf silu sigmoid".split()
)
BINARY = "add sub mul div rem pow maximum minimum".split()
COMPARE = "eq ne lt le gt ge".split()
REDUCE = "sum prod mean min max argmin argmax".split()
EXACT = ANY + ["sqrt", "recip"]

SATURATES = "beyond 448 f8e4m3 saturates here"
TRUNCATES = "a float out of the integer's range, or NaN, is what the processor gives"
HALVES = "halves go away from zero here, to even there"
ZEROS = "of two zeros of different signs theirs may take either"
NEGATIVE = "a negative integer exponent raises there"
TWICE = "theirs rounds twice, by way of f32"


def rng(name):
    """Random numbers that depend only on the case's name."""
    return np.random.default_rng([ord(c) for c in name])


def is_float(dtype):
    return dtype in FLOATS


def compute(dtype):
    return "f32" if dtype in NARROW else dtype


def wide(x):
    """Values as f64; exact for every float dtype."""
    return np.asarray(x).astype(np.float64)


def values(dtype, n=64, name="values"):
    """n values of a dtype: special ones first, then random ones."""
    r = rng(f"{name} {dtype}")
    if not is_float(dtype):
        info = np.iinfo(DTYPES[dtype])
        special = [0, 1, 2, 3, 5, 7, 10, 100, info.max, info.max - 1, info.max // 2, info.min, info.min + 1]
        special += [] if info.min == 0 else [-1, -2, -3, -7, -10, -100]
        x = [v for v in special if info.min <= v <= info.max][:n]
        x += [int(v) for v in r.integers(info.min, info.max, size=n, dtype=DTYPES[dtype], endpoint=True)]
        return np.array(x[:n], dtype=DTYPES[dtype])
    top = float(ml_dtypes.finfo(DTYPES[dtype]).max)
    low = 2.0 ** MIN_EXPONENT[dtype]
    tiny = low * 2.0 ** (1 - PRECISION[dtype])
    special = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -1.5, 2.0, 2.5, -2.5, 3.0, -3.0, 7.0, 10.0, -10.0, 0.1, 1 / 3]
    special += [low, -low, tiny, -tiny, low / 2, top, -top, top / 2, math.nan]
    special += [] if dtype == "f8e4m3" else [math.inf, -math.inf]
    span = min(20.0, math.log2(top))
    signs = r.choice([-1.0, 1.0], size=n)
    random = np.where(r.random(n) < 0.5, r.normal(size=n) * 3, signs * 2.0 ** r.uniform(-span, span, size=n))
    random = np.clip(random, -top, top)
    return np.concatenate([special, random])[:n].astype(DTYPES[dtype])


def raw(dtype, n):
    """n elements of random bits, including NaN payloads, as unsigned integers of the dtype's size."""
    size = np.dtype(DTYPES[dtype]).itemsize
    return rng(f"raw {dtype}").integers(0, 256, size=n * size, dtype=np.uint8).view(f"u{size}")


class View:
    """A buffer seen through a layout: shape, strides and offset in elements."""

    def __init__(self, dtype, buffer, shape=None, strides=None, offset=0):
        self.dtype, self.buffer, self.offset = dtype, np.ascontiguousarray(buffer), offset
        self.shape = tuple(shape if shape is not None else buffer.shape)
        dense = [math.prod(self.shape[i + 1 :]) for i in range(len(self.shape))]
        self.strides = tuple(strides if strides is not None else dense)

    def array(self):
        size = self.buffer.itemsize
        flat = self.buffer.reshape(-1)[self.offset :]
        # As unsigned integers, because NumPy cannot take strides of ml_dtypes' float8_e5m2.
        bits = np.lib.stride_tricks.as_strided(flat.view(f"u{size}"), self.shape, [s * size for s in self.strides])
        return bits.view(flat.dtype)

    def record(self):
        return (self.dtype, self.buffer.tobytes(), self.shape, self.strides, self.offset)


def layouts(dtype, buffer):
    """Views of a buffer of at least 60 elements: dense, transposed, permuted, broadcast, narrowed and stepped."""
    return [
        View(dtype, buffer, [len(buffer)]),
        View(dtype, buffer, [6, 10], [1, 6]),
        View(dtype, buffer, [5, 3, 4], [1, 20, 5]),
        View(dtype, buffer, [3, 4, 5], [5, 0, 1], 7),
        View(dtype, buffer, [4, 6], [10, 1], 13),
        View(dtype, buffer, [5, 8], [10, 1], 2),
        View(dtype, buffer, [19], [3], 1),
        View(dtype, buffer, [], [], 5),
        View(dtype, buffer, [3, 0, 2]),
    ]


def gamma(h, dtype):
    u = Fraction(1, 2 ** PRECISION[compute(dtype)])
    return h * u / (1 - h * u)


def depth(n):
    """The largest number of additions that an element of a sum takes part in (numerics.md, section 8)."""
    h = -(-min(n, 65536) // 256) - 1 + 8
    return h if n <= 65536 else h + depth(-(-n // 65536))


def ulp(value, dtype):
    v = abs(float(value))
    e = MIN_EXPONENT[dtype] if v == 0 or not math.isfinite(v) else max(math.frexp(v)[1] - 1, MIN_EXPONENT[dtype])
    return 2.0 ** (e - PRECISION[dtype] + 1)


def beyond(results, dtype):
    """Positions at which f64 results saturate in f8e4m3."""
    if dtype != "f8e4m3":
        return []
    return [i for i, v in enumerate(np.ravel(results)) if not math.isnan(v) and abs(v) > 464]


def unary_tol(op, dtype, source):
    if op in EXACT or not is_float(dtype):
        return "bits"
    amplifying = op in ("tan", "gelu", "gelu_erf", "silu", "elu", "pow", "powf")
    if dtype in NARROW:
        return {"ulp": 2 if op in ("elu", "pow", "powf") else 1}
    ours = {"f32": (1, 2), "f64": (2, 4)}[dtype][amplifying]
    return {"ulp": ours + source.ulps(op, dtype)}


def emit(golden, source, op, dtypes, views, dtype, call, tol, params=None, skip=None):
    """One case: `call` returns the source's result as an array of `dtype`, or raises if the source cannot compute it."""
    try:
        with np.errstate(all="ignore"):
            result = call()
    except source.REFUSALS as e:
        note = [op, dtypes, f"{source.NAME} refuses: {str(e).splitlines()[0][:120]}"]
        if note not in golden.skipped:
            golden.skipped.append(note)
        return
    result = np.asarray(result, order="C")
    golden.case(op, [v.record() for v in views], (dtype, result.shape, result.tobytes()), tol, params, skip)


def make(golden, source):
    copies(golden, source)
    casts(golden, source)
    elementwise(golden, source)
    binaries(golden, source)
    wheres(golden, source)
    reductions(golden, source)
    matmuls(golden, source)


def copies(golden, source):
    for dtype in DTYPES:
        buffer = raw(dtype, 64)
        for view in layouts(dtype, buffer):
            emit(golden, source, "copy_strided_src", dtype, [view], dtype, lambda: source.copy(view), "raw")
        for rows, cols, ss, ds, so, do in [(3, 5, 7, 6, 2, 1), (4, 4, 4, 4, 0, 0), (2, 3, 0, 9, 60, 0), (5, 1, 12, 1, 3, 2)]:
            params = dict(rows=rows, cols=cols, src_stride=ss, dst_stride=ds, src_offset=so, dst_offset=do)
            dst = np.zeros(do + (rows - 1) * ds + cols + 2, dtype=buffer.dtype)
            for row in range(rows):
                dst[do + row * ds : do + row * ds + cols] = buffer[so + row * ss : so + row * ss + cols]
            emit(golden, source, "copy2d", dtype, [View(dtype, buffer)], dtype, lambda: dst, "raw", params)
        for shape, strides, offset in [([4, 5], [5, 1], 3), ([3, 4], [1, 4], 0), ([], [], 2), ([6], [3], 1)]:
            dst = np.zeros(24, dtype=buffer.dtype)
            where = np.arange(24)[offset:]
            at = np.lib.stride_tricks.as_strided(where, shape, [s * where.itemsize for s in strides])
            dst[at.reshape(-1)] = buffer[11]
            params = dict(value=buffer[11:12].tobytes().hex(), shape=shape, strides=strides, offset=offset)
            emit(golden, source, "const_set", dtype, [], dtype, lambda: dst, "raw", params)


def casts(golden, source):
    for src in DTYPES:
        x = values(src)
        for n, dst in enumerate(DTYPES):
            view = layouts(src, x)[0 if n % 2 else 1]
            a = view.array().reshape(-1)
            skip = {TRUNCATES: [], SATURATES: [], TWICE: []}
            if is_float(src) and not is_float(dst):
                info = np.iinfo(DTYPES[dst])
                inside = lambda v: math.isfinite(v) and info.min <= math.trunc(v) <= info.max
                skip[TRUNCATES] = [i for i, v in enumerate(wide(a)) if not inside(v)]
            if dst == "f8e4m3":
                skip[SATURATES] = beyond(wide(a), dst)
            if dst in NARROW and source.rounds_twice(src, dst):
                exact = lambda v: math.isnan(float(v)) or not is_float(src) and abs(int(v)) <= 2**24 or float(np.float32(float(v))) == float(v)
                with np.errstate(all="ignore"):
                    skip[TWICE] = [i for i, v in enumerate(a) if not exact(v)]
            tol = "raw" if src == dst else "bits"
            call = lambda: source.cast(view, dst)
            emit(golden, source, "cast", f"{src},{dst}", [view], dst, call, tol, None, skip)


def rounded(value, dtype):
    """The float nearest to a Fraction, ties to even, computed only with integers."""
    if value == 0:
        return 0.0
    e = max(math.frexp(float(value))[1] - 1, MIN_EXPONENT[dtype]) - PRECISION[dtype] + 1
    return float(round(value / Fraction(2) ** e) * Fraction(2) ** e)


def elementwise(golden, source):
    for dtype in DTYPES:
        x = values(dtype)
        for n, op in enumerate(ANY + (FLOAT_ONLY if is_float(dtype) else [])):
            for view in [layouts(dtype, x)[0], layouts(dtype, x)[1 + n % 6]]:
                a = view.array().reshape(-1)
                skip = {HALVES: [], SATURATES: [], ZEROS: []}
                if is_float(dtype):
                    with np.errstate(all="ignore"):
                        skip[SATURATES] = beyond(source.reference(op, wide(a)), dtype)
                        skip |= source.differs(op, wide(a))
                        if op == "round":
                            skip[HALVES] = [i for i, v in enumerate(wide(a)) if abs(v) % 1 == 0.5]
                        if op == "relu":
                            skip[ZEROS] = [i for i, v in enumerate(wide(a)) if v == 0]
                call = lambda: source.unary(op, view)
                emit(golden, source, op, dtype, [view], dtype, call, unary_tol(op, dtype, source), None, skip)
        for mul, add in [(1.5, -0.75), (-3.0, 2.0), (0.0, 1.0), (2.0, 0.0)]:
            view = layouts(dtype, x)[2 if mul > 1 else 0]
            # Exact arithmetic, rounded once to the compute type, because no library has this
            # operation as one fma.
            emit(golden, source, "affine", dtype, [view], dtype, lambda: affine(view, mul, add), "bits", dict(mul=mul, add=add))
        if not is_float(dtype):
            continue
        for exponent in [2.0, 0.5, -1.0, 3.0, -0.25, 0.0]:
            view = layouts(dtype, x)[0]
            with np.errstate(all="ignore"):
                skip = {SATURATES: beyond(np.power(wide(view.array()), exponent), dtype)}
            call = lambda: source.powf(view, exponent)
            emit(golden, source, "powf", dtype, [view], dtype, call, unary_tol("powf", dtype, source), dict(exponent=exponent), skip)
        for alpha in [1.0, 0.5, -2.0]:
            view = layouts(dtype, x)[0]
            call = lambda: source.elu(view, alpha)
            emit(golden, source, "elu", dtype, [view], dtype, call, unary_tol("elu", dtype, source), dict(alpha=alpha))


def affine(view, mul, add):
    dtype = view.dtype
    if not is_float(dtype):
        bits, info = 8 * np.dtype(DTYPES[dtype]).itemsize, np.iinfo(DTYPES[dtype])
        m, a = (min(max(int(p), info.min), info.max) for p in (mul, add))
        wrapped = [((int(v) * m + a - info.min) % 2**bits) + info.min for v in view.array().reshape(-1)]
        return np.array(wrapped, dtype=DTYPES[dtype]).reshape(view.shape)
    out = []
    for v in wide(view.array()).reshape(-1):
        plain = v * mul + add
        exact = None if not math.isfinite(v) else Fraction(v) * Fraction(mul) + Fraction(add)
        # Zeros and non-finite values are not rounded.
        out.append(plain if not exact else rounded_or_infinite(exact, compute(dtype)))
    with np.errstate(all="ignore"):
        result = np.array(out, dtype=np.float64).astype(DTYPES[compute(dtype)])
        if dtype == "f8e4m3":
            result = np.where(np.isnan(result), result, np.clip(result, -448, 448))
        return result.astype(DTYPES[dtype]).reshape(view.shape)


def rounded_or_infinite(value, dtype):
    try:
        return rounded(value, dtype)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def pairs(dtype):
    """Two views of one shape: dense with dense, and a column with a row."""
    x, y = values(dtype), values(dtype, name="others")
    y = np.concatenate([y[5:], y[:5]])
    return [
        (View(dtype, x), View(dtype, y)),
        (View(dtype, x, [6, 7], [1, 0], 20), View(dtype, y, [6, 7], [0, 8], 3)),
        (View(dtype, x, [9, 9], [1, 0]), View(dtype, x, [9, 9], [0, 1])),
    ]


def binaries(golden, source):
    for dtype in DTYPES:
        for x, y in pairs(dtype):
            a, b = x.array().reshape(-1), y.array().reshape(-1)
            for op in BINARY:
                skip = {SATURATES: [], ZEROS: [], NEGATIVE: []}
                tol = "bits"
                if is_float(dtype):
                    with np.errstate(all="ignore"):
                        skip[SATURATES] = beyond(source.reference2(op, wide(a), wide(b)), dtype)
                    tol = unary_tol("pow", dtype, source) if op == "pow" else tol
                    if op in ("maximum", "minimum"):
                        mixed = (wide(a) == 0) & (wide(b) == 0) & (np.signbit(wide(a)) != np.signbit(wide(b)))
                        skip[ZEROS] = np.flatnonzero(mixed).tolist()
                elif op == "pow":
                    skip[NEGATIVE] = np.flatnonzero(b.astype(object) < 0).tolist()
                elif op in ("div", "rem"):
                    skip[source.BY_ZERO] = np.flatnonzero(b == 0).tolist()
                emit(golden, source, op, dtype, [x, y], dtype, lambda: source.binary(op, x, y), tol, None, skip)
            for op in COMPARE:
                emit(golden, source, op, dtype, [x, y], "u8", lambda: source.compare(op, x, y), "bits")


def wheres(golden, source):
    for cond in ("u8", "u32", "i64"):
        c = values(cond, 60, "cond") * rng(f"cond {cond}").integers(0, 2, 60).astype(DTYPES[cond])
        for dtype in DTYPES:
            t, f = raw(dtype, 64), raw(dtype, 80)[7:71][::-1]
            for views in [
                (View(cond, c, [60]), View(dtype, t, [60]), View(dtype, f, [60], None, 4)),
                (View(cond, c, [6, 10], [1, 6]), View(dtype, t, [6, 10], [0, 1]), View(dtype, f, [6, 10], [10, 1])),
            ]:
                call = lambda: source.where(*views)
                emit(golden, source, "where_cond", f"{cond},{dtype}", views, dtype, call, "raw")


def reducible(dtype, op):
    """A buffer of 560 elements whose reductions stay in range and are meaningful."""
    n = 560
    if not is_float(dtype):
        return np.resize(values(dtype, 97, "reduce"), n)
    r = rng(f"reduce {dtype}")
    if op == "prod":
        x = r.choice([-1.0, 1.0], n) * 2.0 ** r.uniform(-0.05, 0.05, n)
    elif op in ("sum", "mean"):
        x = r.normal(size=n) * (0.25 if dtype == "f8e4m3" else 3.0)
    else:
        x = r.integers(1, 40, n) * 0.25 * r.choice([-1.0, 1.0], n)
    return x.astype(DTYPES[dtype])


def reductions(golden, source):
    for dtype in DTYPES:
        for op in REDUCE:
            if op == "mean" and not is_float(dtype):
                continue
            x = reducible(dtype, op)
            shapes = [
                (View(dtype, x), [0]),
                (View(dtype, x, [2, 280]), [1]),
                (View(dtype, x, [20, 28]), [0]),
                (View(dtype, x, [4, 7, 20], [1, 80, 4]), [0, 2]),
                (View(dtype, x, [2, 3, 5], [30, 0, 2], 3), [1]),
                (View(dtype, x, [3, 4], [4, 1]), []),
                # Three segments of 65,536, from few elements.
                (View(dtype, x, [240, 550], [0, 1]), [0, 1]),
            ]
            if op in ("min", "max", "argmin", "argmax") and is_float(dtype):
                holed = x.copy()
                holed[[130, 131, 400]] = math.nan
                shapes.append((View(dtype, holed, [5, 112]), [1]))
            for view, dims in shapes:
                if op == "prod" and is_float(dtype) and view.array().size > 1000:
                    continue
                out = "u32" if op.startswith("arg") else dtype
                tol = reduce_tol(op, view, dims, source) if is_float(dtype) and op in ("sum", "prod", "mean") else "bits"
                skip = {}
                if dtype == "f8e4m3" and op in ("sum", "prod", "mean"):
                    skip[SATURATES] = beyond([exact_of(op, row) for row in rows_of(view, dims)], dtype)
                call = lambda: source.reduce(op, view, dims)
                emit(golden, source, op, dtype, [view], out, call, tol, dict(dims=dims), skip)


def rows_of(view, dims):
    """For each element of the reduced shape, the elements that are reduced to it, as f64."""
    kept = [d for d in range(len(view.shape)) if d not in dims]
    a = np.transpose(wide(view.array()), kept + sorted(dims))
    return a.reshape(math.prod(view.shape[d] for d in kept), -1)


def exact_of(op, row):
    """The value of a reduction, to f64 or better."""
    if op == "prod":
        return float(np.prod(row, dtype=np.longdouble))
    return math.fsum(row) / (len(row) if op == "mean" else 1)


def reduce_tol(op, view, dims, source):
    """Forward bounds (Higham, sections 3.1 and 4.2) of the contract's order and of the source's together, and an ulp of the dtype for both roundings."""
    tol = []
    for row in rows_of(view, dims):
        n, size = len(row), math.fsum(abs(row))
        result = exact_of(op, row)
        if op == "prod":
            bound = (gamma(max(n - 1, 1), view.dtype) * 2) * Fraction(abs(result))
        else:
            h = depth(n) + 2 + source.depth(n)
            bound = gamma(h, view.dtype) * Fraction(size) / (n if op == "mean" else 1)
        tol.append(float(bound) * 1.0001 + ulp(result, view.dtype))
    return {"abs": np.array(tol, dtype=np.float64).tobytes()}


def matmuls(golden, source):
    for dtype in FLOATS:
        for n, (batch, m, k, cols, kind) in enumerate(
            [([], 3, 5, 4, "real"), ([2], 5, 37, 3, "real"), ([], 1, 300, 2, "real"), ([2, 2], 4, 7, 4, "whole"), ([], 1, 1, 1, "whole"), ([], 3, 0, 2, "whole")]
        ):
            r = rng(f"matmul {dtype} {n}")
            draw = lambda size: (r.normal(size=size) / 4 if kind == "real" else r.integers(-4, 5, size)).astype(DTYPES[dtype])
            count = math.prod(batch)
            x, y = draw(count * m * k + 3), draw(k * cols + 5)
            # The left operand is dense with an offset, the right one transposed and broadcast over
            # the batch.
            dense = [math.prod(([*batch, m, k])[i + 1 :]) for i in range(len(batch) + 2)]
            lhs = View(dtype, x, [*batch, m, k], dense, 3)
            rhs = View(dtype, y, [*batch, k, cols], [0] * len(batch) + [1, max(k, 1)], 5 if k else 0)
            a, b = wide(lhs.array()), wide(rhs.array())
            size, exact = np.abs(a) @ np.abs(b), a @ b
            h = min(k, 256) + -(-k // 256) - 1 + source.depth(k)
            bound = [float(gamma(max(h, 1), dtype) * Fraction(float(s))) * 1.0001 + ulp(v, dtype) for s, v in zip(size.reshape(-1), exact.reshape(-1))]
            # Integers this small add exactly in any order.
            tol = "bits" if kind == "whole" else {"abs": np.array(bound, dtype=np.float64).tobytes()}
            emit(golden, source, "matmul", dtype, [lhs, rhs], dtype, lambda: source.matmul(lhs, rhs), tol)
