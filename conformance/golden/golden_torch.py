"""PyTorch, with CPU tensors alone, as a source of golden vectors."""

import ml_dtypes
import numpy as np
import torch

import golden_numpy
from golden_cases import DTYPES, is_float

NAME = "PyTorch"
VERSION = f"PyTorch {torch.__version__}, NumPy {np.__version__}, ml_dtypes {ml_dtypes.__version__}"
# What PyTorch does not implement for a dtype is a reason to skip the cell, whatever it raises.
REFUSALS = (RuntimeError, NotImplementedError, TypeError, AttributeError)
BY_ZERO = "an integer divided by zero raises there"

torch.set_num_threads(1)
torch.use_deterministic_algorithms(True)

TORCH = {
    "u8": torch.uint8, "i8": torch.int8, "u32": getattr(torch, "uint32", None), "i16": torch.int16, "i32": torch.int32, "i64": torch.int64,
    "f8e4m3": getattr(torch, "float8_e4m3fn", None), "f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32,
    "f64": torch.float64,
}  # fmt: skip
# Types of the same size through which bits go from NumPy to PyTorch and back.
CARRIER = {1: np.uint8, 2: np.int16, 4: np.int32, 8: np.int64}

reference, reference2 = golden_numpy.reference, golden_numpy.reference2


def ulps(op, dtype):
    """PyTorch's vectorised functions (SLEEF) are within 4 ulp; the composites are evaluated in the dtype itself and amplify the error of
    their argument, by up to 103 in f32 and 709 in f64."""
    composite = op in ("gelu", "gelu_erf", "silu", "sigmoid", "elu")
    return {"f32": 512 if composite else 4, "f64": 4096 if composite else 4}[dtype]


def depth(n):
    """Any order: each element takes part in at most n additions."""
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
    # The bits were drawn as unsigned integers: they come back as such.
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
COMPOSITES = ("gelu", "gelu_erf", "silu", "sigmoid", "elu")


def in_wider(op, view, f):
    """The composites cancel in the far negative tail when they are evaluated in the dtype itself, by more than any bound in ulps: they are
    taken from the next wider type."""
    t = tensor(view)
    if op in COMPOSITES and view.dtype != "f64":
        return array(f(t.to(torch.float64)).to(TORCH[view.dtype]), view.dtype)
    return array(f(t), view.dtype)


def unary(op, view):
    if op == "sqr" and not is_float(view.dtype):
        t = tensor(view)
        return array(t * t, view.dtype)
    if op in ("gelu", "gelu_erf", "silu") and view.dtype == "f64":
        raise NotImplementedError("its f64 form cancels in the negative tail and gives NaN at -infinity; f64 has the table of truths")
    if op in COMPOSITES:
        # NaN at -infinity, where the limit is -0 here.
        result = in_wider(op, view, UNARY[op]).copy()
        if op != "sigmoid":
            result[np.isneginf(golden_numpy.wide(view.array()))] = -0.0
        return result
    return in_wider(op, view, UNARY[op])


def powf(view, exponent):
    return array(torch.pow(tensor(view), exponent), view.dtype)


def elu(view, alpha):
    return in_wider("elu", view, lambda t: torch.where(t > 0, t, alpha * torch.expm1(t)))


BINARY = {
    "add": torch.add, "sub": torch.sub, "mul": torch.mul, "rem": torch.fmod, "pow": torch.pow, "maximum": torch.maximum,
    "minimum": torch.minimum,
}  # fmt: skip


def binary(op, x, y):
    a, b = tensor(x), tensor(y)
    if not is_float(x.dtype):
        if op in ("div", "rem"):
            b = torch.where(b == 0, torch.ones_like(b), b)
            # MIN / -1 traps on some processors; the contract wraps, as a negation does.
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
    kept = [d for d in range(x.dim()) if d not in dims]
    joined = x.permute(kept + sorted(dims)).reshape([x.shape[d] for d in kept] + [-1])
    function = {"sum": torch.sum, "prod": torch.prod, "mean": torch.mean, "min": torch.amin, "max": torch.amax,
                "argmin": torch.argmin, "argmax": torch.argmax}[op]  # fmt: skip
    extra = {"dtype": x.dtype} if op in ("sum", "prod", "mean") else {}
    result = function(joined, dim=-1, **extra)
    shape = [1 if d in dims else n for d, n in enumerate(view.shape)]
    if op.startswith("arg"):
        return result.numpy().astype(np.uint32).reshape(shape)
    return array(result, view.dtype).reshape(shape)


def matmul(x, y):
    return array(torch.matmul(tensor(x), tensor(y)), x.dtype)
