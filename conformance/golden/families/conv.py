"""Golden vectors of convolutions, from PyTorch on CPU tensors, with one thread.

Each element has a bound: both sides sum K products in some order, each within gamma_(K+1) of the sum
of their magnitudes, and round to the dtype. Bounds are rounded up to powers of two, which compress
better.
"""

import ml_dtypes
import numpy as np
import torch
import torch.nn.functional as F

from make_golden import named

VERSION = f"PyTorch {torch.__version__}, NumPy {np.__version__}, ml_dtypes {ml_dtypes.__version__}"

torch.set_num_threads(1)

DTYPES = {
    "f16": (torch.float16, np.float16, 11),
    "bf16": (torch.bfloat16, ml_dtypes.bfloat16, 8),
    "f32": (torch.float32, np.float32, 24),
    "f64": (torch.float64, np.float64, 53),
}


def by_side(function, is_transposed):
    """PyTorch pads both sides alike. Other padding is added to the input first, or taken from the result."""

    def call(*inputs, padding=None, padding_after=None, **params):
        if padding_after is None:
            return function(*inputs, padding=padding or 0, **params)
        sides = list(zip(padding, padding_after))
        if not is_transposed:
            x, *others = inputs
            return function(F.pad(x, [n for side in reversed(sides) for n in side]), *others, **params)
        y = function(*inputs, **params)
        for d, (before, after) in enumerate(sides):
            y = y.narrow(d + 2, before, y.shape[d + 2] - before - after)
        return y

    return call


FUNCTIONS = {
    "conv1d": by_side(F.conv1d, False),
    "conv2d": by_side(F.conv2d, False),
    "conv_transpose1d": by_side(F.conv_transpose1d, True),
    "conv_transpose2d": by_side(F.conv_transpose2d, True),
    "conv3d": by_side(F.conv3d, False),
    "conv_transpose3d": by_side(F.conv_transpose3d, True),
}


def plain(op, src, kernel, **params):
    return op, (src, kernel), params


def biased(op, src, kernel, **params):
    groups = params.get("groups", [1])[0]
    channels = kernel[1] * groups if op.startswith("conv_t") else kernel[0]
    return f"{op}_bias", (src, kernel, (channels,)), params


# Inputs, and the parameters that are not 1 (stride, dilation, groups) or 0 (padding, output
# padding).
CASES = [
    plain("conv1d", (1, 1, 5), (1, 1, 3)),
    plain("conv1d", (2, 3, 9), (4, 3, 3), padding=[1]),
    plain("conv1d", (2, 3, 9), (4, 3, 4), padding=[3]),
    plain("conv1d", (3, 2, 13), (3, 2, 3), stride=[2], padding=[2]),
    plain("conv1d", (2, 2, 17), (2, 2, 3), stride=[3], padding=[4], dilation=[4]),
    plain("conv1d", (2, 6, 8), (4, 3, 3), groups=[2]),
    plain("conv1d", (2, 5, 8), (10, 1, 3), groups=[5], padding=[1]),
    plain("conv1d", (2, 40, 7), (2, 40, 7), padding=[3]),
    plain("conv1d", (3, 7, 6), (5, 7, 1)),
    plain("conv1d", (1, 2, 1), (1, 2, 3), padding=[1]),
    plain("conv2d", (1, 1, 4, 5), (1, 1, 2, 3)),
    plain("conv2d", (2, 3, 6, 7), (4, 3, 3, 3), padding=[1, 1]),
    plain("conv2d", (2, 3, 6, 7), (4, 3, 2, 5), padding=[1, 4], stride=[2, 1]),
    plain("conv2d", (1, 2, 9, 8), (3, 2, 3, 2), stride=[3, 2], padding=[2, 0], dilation=[2, 3]),
    plain("conv2d", (2, 4, 5, 5), (6, 2, 3, 3), groups=[2], padding=[1, 1]),
    plain("conv2d", (2, 6, 5, 5), (6, 1, 3, 3), groups=[6], padding=[1, 1]),
    plain("conv2d", (1, 3, 7, 7), (9, 1, 3, 3), groups=[3], stride=[2, 2], padding=[1, 1]),
    plain("conv2d", (1, 33, 3, 3), (1, 33, 3, 3), padding=[1, 1]),
    plain("conv2d", (2, 5, 3, 4), (7, 5, 1, 1)),
    plain("conv2d", (2, 5, 5, 5), (3, 5, 1, 1), stride=[2, 2]),
    plain("conv_transpose1d", (1, 1, 4), (1, 1, 3)),
    plain("conv_transpose1d", (3, 2, 5), (2, 4, 3)),
    plain("conv_transpose1d", (2, 3, 5), (3, 2, 4), stride=[2], padding=[1]),
    plain("conv_transpose1d", (2, 3, 5), (3, 2, 3), stride=[3], padding=[2], output_padding=[2]),
    plain("conv_transpose1d", (2, 2, 6), (2, 3, 3), stride=[2], dilation=[3], output_padding=[1]),
    plain("conv_transpose1d", (2, 4, 4), (4, 1, 2), stride=[4], dilation=[2], groups=[2]),
    plain("conv_transpose1d", (2, 4, 5), (4, 2, 3), groups=[4], padding=[1]),
    plain("conv_transpose1d", (1, 90, 3), (90, 1, 6), stride=[2], padding=[2]),
    plain("conv_transpose2d", (1, 1, 3, 4), (1, 1, 2, 3)),
    plain("conv_transpose2d", (2, 3, 3, 4), (3, 2, 3, 3), stride=[2, 2], padding=[1, 1], output_padding=[1, 1]),
    plain("conv_transpose2d", (2, 2, 3, 3), (2, 3, 4, 2), stride=[2, 3], padding=[1, 0], output_padding=[0, 2]),
    plain("conv_transpose2d", (1, 2, 4, 3), (2, 2, 3, 3), stride=[1, 2], dilation=[2, 2], output_padding=[1, 0]),
    plain("conv_transpose2d", (2, 6, 3, 3), (6, 2, 3, 3), stride=[2, 2], groups=[3]),
    plain("conv_transpose2d", (2, 4, 4, 4), (4, 1, 3, 3), padding=[1, 1], groups=[4]),
    plain("conv_transpose2d", (1, 66, 2, 2), (66, 1, 3, 3), stride=[2, 1]),
    plain("conv_transpose2d", (2, 5, 3, 3), (5, 4, 1, 1)),
    plain("conv1d", (2, 3, 9), (4, 3, 4), padding=[0], padding_after=[3]),
    plain("conv2d", (2, 3, 6, 7), (4, 3, 2, 5), padding=[1, 4], padding_after=[0, 1], stride=[2, 1]),
    plain("conv_transpose1d", (2, 3, 5), (3, 2, 4), stride=[2], padding=[1], padding_after=[4]),
    plain("conv_transpose2d", (2, 3, 3, 4), (3, 2, 3, 3), stride=[2, 2], padding=[2, 0], padding_after=[0, 1]),
    plain("conv3d", (1, 1, 3, 4, 5), (1, 1, 2, 3, 2)),
    plain("conv3d", (2, 3, 4, 5, 3), (4, 3, 3, 3, 3), padding=[1, 1, 1]),
    plain("conv3d", (1, 2, 6, 5, 7), (3, 2, 2, 3, 2), stride=[2, 1, 3], padding=[0, 2, 1], dilation=[2, 1, 3]),
    plain("conv3d", (1, 4, 3, 3, 4), (6, 2, 2, 2, 3), groups=[2], padding=[1, 0, 1]),
    plain("conv3d", (1, 5, 3, 4, 4), (5, 1, 3, 3, 3), groups=[5], padding=[1, 1, 1]),
    plain("conv3d", (1, 12, 3, 2, 3), (2, 12, 3, 2, 3), padding=[2, 0, 1], padding_after=[0, 1, 2]),
    plain("conv_transpose3d", (1, 1, 2, 3, 2), (1, 1, 2, 2, 3)),
    plain("conv_transpose3d", (1, 3, 2, 3, 2), (3, 2, 3, 3, 3), stride=[2, 2, 2], padding=[1, 1, 1], output_padding=[1, 0, 1]),
    plain("conv_transpose3d", (1, 2, 3, 2, 3), (2, 3, 2, 3, 2), stride=[1, 2, 3], dilation=[2, 2, 1], output_padding=[1, 1, 2]),
    plain("conv_transpose3d", (1, 4, 2, 3, 2), (4, 2, 3, 2, 2), groups=[2], padding=[1, 0, 0], padding_after=[0, 1, 0]),
    plain("conv_transpose3d", (1, 40, 2, 2, 2), (40, 1, 2, 3, 3), stride=[2, 1, 1]),
    biased("conv1d", (2, 6, 8), (4, 3, 3), groups=[2], padding=[1]),
    biased("conv1d", (2, 40, 7), (2, 40, 7), padding=[3]),
    biased("conv2d", (2, 3, 6, 7), (4, 3, 3, 3), padding=[1, 1]),
    biased("conv2d", (2, 5, 3, 4), (7, 5, 1, 1)),
    biased("conv2d", (2, 6, 5, 5), (6, 1, 3, 3), groups=[6], padding=[1, 1]),
    biased("conv3d", (1, 2, 4, 5, 3), (3, 2, 2, 3, 2), stride=[2, 1, 1], padding=[0, 1, 1]),
    biased("conv_transpose1d", (2, 3, 5), (3, 2, 2), stride=[3], output_padding=[2]),
    biased("conv_transpose1d", (2, 4, 4), (4, 1, 2), stride=[4], dilation=[2], groups=[2]),
    biased("conv_transpose2d", (2, 3, 3, 4), (3, 2, 3, 3), stride=[2, 2], padding=[1, 1], output_padding=[1, 1]),
    biased("conv_transpose3d", (1, 3, 2, 3, 2), (3, 2, 2, 3, 1), stride=[2, 2, 3], padding=[1, 1, 0]),
]

# Every case in f32, and in turn one of the other dtypes, which keeps the file small.
TURNS = [("f32", "f64", "bf16"), ("f32", "f16"), ("f32", "bf16")]


def tensor(dtype, dims, rng):
    """Values of both signs and several magnitudes, as a PyTorch tensor."""
    of_torch, _, _ = DTYPES[dtype]
    x = rng.standard_normal(dims) * np.exp2(rng.integers(-3, 4, dims))
    return torch.from_numpy(x).to(of_torch)


def data(t, dtype):
    _, of_numpy, _ = DTYPES[dtype]
    return t.contiguous().to(torch.float64).numpy().astype(of_numpy).tobytes()


def bounds(f, inputs, want, depth, dtype, params):
    # The dtype of the accumulation, and the dtype of the results.
    unit, precision = 2.0 ** -(53 if dtype == "f64" else 24), DTYPES[dtype][2]
    sums = f(*[t.double().abs() for t in inputs], **params).numpy()
    magnitude = np.maximum(np.abs(want.double().numpy()), 2.0**-14 if dtype == "f16" else 2.0**-126)
    ulp = np.exp2(np.floor(np.log2(magnitude)) + 1 - precision)
    bound = 2 * (depth + 1) * unit / (1 - (depth + 1) * unit) * sums + ulp
    return np.exp2(np.ceil(np.log2(bound)))


def strided(t, dims, axes):
    """The elements in another order of dimensions, outermost first, and how they are addressed."""
    moved = t.permute(axes)
    strides, step = [0] * len(dims), 1
    for axis in reversed(axes):
        strides[axis] = step
        step *= dims[axis]
    return moved, strides


def make(golden):
    for number, (op, shapes, params) in enumerate(CASES):
        function = FUNCTIONS[op.removesuffix("_bias")]
        for dtype in TURNS[number % 3]:
            rng = np.random.default_rng([number, list(DTYPES).index(dtype)])
            tensors = [tensor(dtype, dims, rng) for dims in shapes]
            call = {name: tuple(v) if name != "groups" else v[0] for name, v in params.items()}
            # In f16 and bf16, PyTorch rounds partial sums of transposed convolutions; these are
            # computed in f64 and rounded once.
            wide = [t.double() if dtype in ("f16", "bf16") else t for t in tensors]
            want = function(*wide, **call).to(tensors[0].dtype)
            kernel = shapes[1]
            depth = int(np.prod(kernel)) // (kernel[1] if op.startswith("conv_t") else kernel[0])
            # A bias is one more summand.
            depth += len(shapes) - 2
            tol = {"abs": bounds(function, tensors, want, depth, dtype, call).astype(np.float64).tobytes()}
            inputs = []
            for t, dims in zip(tensors, shapes):
                # Every fourth case with channels last.
                channels_last = number % 4 == 2 and len(dims) > 1
                axes = [0, *range(2, len(dims)), 1] if channels_last else list(range(len(dims)))
                moved, strides = strided(t, dims, axes)
                inputs.append((dtype, data(moved, dtype), dims, strides, 0))
            out = (dtype, tuple(want.shape), data(want, dtype))
            golden.case(op, inputs, out, tol, params=named(**params))
