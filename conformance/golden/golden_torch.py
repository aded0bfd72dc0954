"""PyTorch, with CPU tensors only, as a source of golden vectors."""

import ml_dtypes
import numpy as np
import torch

import golden_numpy
from golden_cases import DTYPES, is_float

NAME = "PyTorch"
VERSION = f"PyTorch {torch.__version__}, NumPy {np.__version__}, ml_dtypes {ml_dtypes.__version__}"
# If PyTorch does not implement a dtype, the cell is skipped, whatever exception it raises.
REFUSALS = (RuntimeError, NotImplementedError, TypeError, AttributeError)
BY_ZERO = "an integer divided by zero raises there"

torch.set_num_threads(1)

TORCH = {
    "u8": torch.uint8, "i8": torch.int8, "u32": getattr(torch, "uint32", None), "i16": torch.int16, "i32": torch.int32, "i64": torch.int64,
    "f8e4m3": getattr(torch, "float8_e4m3fn", None), "f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32,
    "f64": torch.float64,
}  # fmt: skip
# Types of the same size through which bits go from NumPy to PyTorch and back.
CARRIER = {1: np.uint8, 2: np.int16, 4: np.int32, 8: np.int64}

reference, reference2 = golden_numpy.reference, golden_numpy.reference2


def ulps(op, dtype):
    """Results computed in f64 and rounded are correct except for the rounding; in f64 itself the functions
    are within 4 ulp, and the composites amplify the error of their argument."""
    if dtype == "f32":
        return 1
    return 4096 if op in COMPOSITES else 4


def differs(op, x):
    """Elements for which PyTorch's function differs, by reason."""
    if op == "sign":
        return {"the sign of NaN may be 0 there": np.flatnonzero(np.isnan(x)).tolist()}
    if op in ("gelu", "gelu_erf"):
        return {"their form cancels in the negative tail": np.flatnonzero(x < -2).tolist()}
    if op == "silu":
        return {"at -infinity theirs is NaN": np.flatnonzero(np.isneginf(x)).tolist()}
    return {}


def depth(n):
    """In any order, each element takes part in at most n additions."""
    return max(n, 1)


def rounds_twice(src, dst):
    return True


def tensor(view):
    """The view as a strided tensor over the same bits."""
    if TORCH[view.dtype] is None:
        raise NotImplementedError(f"this version has no {view.dtype}")
    carrier = CARRIER[view.buffer.itemsize]
    base = torch.from_numpy(view.buffer.reshape(-1).view(carrier).copy()).view(TORCH[view.dtype])
    return torch.as_strided(base, view.shape, view.strides, view.offset)


def array(t, dtype):
    """A tensor's elements as a NumPy array of the dtype."""
    t = t.contiguous()
    carrier = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[t.element_size()]
    # A view as another dtype needs a dimension.
    flat = t.reshape(-1).view(carrier).numpy().view(DTYPES[dtype])
    return flat.reshape(tuple(t.shape))


def copy(view):
    # The bits were drawn as unsigned integers and are returned as such.
    return array(tensor(view).clone(memory_format=torch.contiguous_format), view.dtype)


def cast(view, dst):
    if TORCH[dst] is None:
        raise NotImplementedError(f"this version has no {dst}")
    return array(tensor(view).to(TORCH[dst]), dst)


UNARY = {
    "neg": torch.neg, "abs": torch.abs, "sign": torch.sign, "sqr": torch.square, "relu": torch.relu, "ceil": torch.ceil,
    "floor": torch.floor, "round": torch.round, "trunc": torch.trunc, "sqrt": torch.sqrt, "rsqrt": torch.rsqrt,
    "recip": torch.reciprocal, "exp": torch.exp, "exp2": torch.exp2, "log": torch.log, "log2": torch.log2,
    "log1p": torch.log1p, "expm1": torch.expm1, "sin": torch.sin, "cos": torch.cos, "tan": torch.tan, "tanh": torch.tanh,
    "sinh": torch.sinh, "cosh": torch.cosh, "asin": torch.asin, "acos": torch.acos, "atan": torch.atan, "erf": torch.erf,
    "gelu": lambda x: torch.nn.functional.gelu(x, approximate="tanh"), "gelu_erf": torch.nn.functional.gelu,
    "silu": torch.nn.functional.silu, "sigmoid": torch.sigmoid,
}  # fmt: skip
# Operations that differ from IEEE 754 (seen in 2.11 on x86-64); NumPy's vectors have these cells.
WRONG = {
    ("abs", "f8e4m3"): "the absolute value of -0 is -0 there",
    ("sqrt", "f64"): "it is not correctly rounded there: sqrt(1/2) is an ulp below",
    ("rem", "f16"): "fmod gives NaN where the quotient is huge",
    ("rem", "bf16"): "fmod gives NaN where the quotient is huge",
    ("rem", "f32"): "fmod gives NaN where the quotient is huge",
    ("rem", "f64"): "fmod gives NaN where the quotient is huge",
}
COMPOSITES = ("gelu", "gelu_erf", "silu", "sigmoid", "elu")
EXACT = ("neg", "abs", "sign", "sqr", "relu", "ceil", "floor", "round", "trunc", "sqrt", "recip")


def through_f64(f, dtype, *views):
    """A function of floats, computed in f64 and rounded, because its accuracy in the dtype itself depends on the machine."""
    return array(f(*(tensor(v).to(torch.float64) for v in views)).to(TORCH[dtype]), dtype)


def refuse_wrong(op, dtype):
    if (op, dtype) in WRONG:
        raise NotImplementedError(WRONG[op, dtype])


def unary(op, view):
    refuse_wrong(op, view.dtype)
    if not is_float(view.dtype) and op == "sqr":
        t = tensor(view)
        return array(t * t, view.dtype)
    if op in EXACT:
        return array(UNARY[op](tensor(view)), view.dtype)
    return through_f64(UNARY[op], view.dtype, view)


def powf(view, exponent):
    # Uses a tensor of exponents, because for a scalar 0.5 a square root may be used, which gives -0
    # for -0.
    return through_f64(lambda t: torch.pow(t, torch.full_like(t, exponent)), view.dtype, view)


def elu(view, alpha):
    return through_f64(lambda t: torch.where(t > 0, t, alpha * torch.expm1(t)), view.dtype, view)


BINARY = {
    "add": torch.add, "sub": torch.sub, "mul": torch.mul, "rem": torch.fmod, "pow": torch.pow, "maximum": torch.maximum,
    "minimum": torch.minimum,
}  # fmt: skip


def binary(op, x, y):
    refuse_wrong(op, x.dtype)
    if op == "pow" and is_float(x.dtype):
        return through_f64(torch.pow, x.dtype, x, y)
    a, b = tensor(x), tensor(y)
    if not is_float(x.dtype):
        if op in ("div", "rem"):
            b = torch.where(b == 0, torch.ones_like(b), b)
            # MIN / -1 traps on some processors; the contract wraps, like a negation.
            if op == "div" and x.dtype != "u8":
                safe = torch.where(b == -1, torch.ones_like(b), b)
                return array(torch.where(b == -1, -a, torch.div(a, safe, rounding_mode="trunc")), x.dtype)
            if op == "rem" and x.dtype != "u8":
                safe = torch.where(b == -1, torch.ones_like(b), b)
                return array(torch.fmod(a, safe), x.dtype)
        if op == "pow":
            b = torch.where(b < 0, torch.zeros_like(b), b)
    if op == "div":
        return array(torch.div(a, b, rounding_mode=None if is_float(x.dtype) else "trunc"), x.dtype)
    return array(BINARY[op](a, b), x.dtype)


COMPARE = {"eq": torch.eq, "ne": torch.ne, "lt": torch.lt, "le": torch.le, "gt": torch.gt, "ge": torch.ge}


def compare(op, x, y):
    return array(COMPARE[op](tensor(x), tensor(y)).to(torch.uint8), "u8")


def where(c, t, f):
    return array(torch.where(tensor(c) != 0, tensor(t), tensor(f)), t.dtype)


def reduce(op, view, dims):
    x = tensor(view)
    if is_float(view.dtype) and op in ("sum", "prod", "mean"):
        x = x.to(torch.float64)
    kept = [d for d in range(x.dim()) if d not in dims]
    joined = x.permute(kept + sorted(dims)).reshape([x.shape[d] for d in kept] + [-1])
    function = {"sum": torch.sum, "prod": torch.prod, "mean": torch.mean, "min": torch.amin, "max": torch.amax,
                "argmin": torch.argmin, "argmax": torch.argmax}[op]  # fmt: skip
    extra = {"dtype": x.dtype} if op in ("sum", "prod", "mean") else {}
    result = function(joined, dim=-1, **extra)
    shape = [1 if d in dims else n for d, n in enumerate(view.shape)]
    if op.startswith("arg"):
        return result.numpy().astype(np.uint32).reshape(shape)
    return array(result.to(TORCH[view.dtype]), view.dtype).reshape(shape)


def matmul(x, y):
    return through_f64(torch.matmul, x.dtype, x, y)
