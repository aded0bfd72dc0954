"""Golden vectors of indexing, from NumPy's indexing with arrays, and from PyTorch's operations if torch is
installed.

NumPy reads and writes through index arrays in row-major order, the last of equal indices wins, and
`add.at` adds unbuffered in that order. Sums of narrow floats are computed in f32 and rounded once.
Elements whose id is a padding mark are removed before, and are 0 in reads. Products and extremes are
combined element by element in that order, in the same type; zeros have no sign here that would decide.
Tuples of ids are NumPy's index arrays of several dimensions, half of them counted from the end. PyTorch's
gather, index_select, scatter, scatter_add, scatter_reduce and index_add must agree where their result is
determined: without marks, and if nothing rounds.
"""

import ml_dtypes
import numpy as np

from make_golden import named

try:
    import torch
except ImportError:
    torch = None

VERSION = f"NumPy {np.__version__}, ml_dtypes {ml_dtypes.__version__}" + (f", PyTorch {torch.__version__}" if torch else "")

INTEGERS = {"u8": np.uint8, "i8": np.int8, "u32": np.uint32, "i16": np.int16, "i32": np.int32, "i64": np.int64}
NARROW = {"f8e4m3": ml_dtypes.float8_e4m3fn, "f16": np.float16, "bf16": ml_dtypes.bfloat16}
WIDE = {"f32": np.float32, "f64": np.float64}
DTYPES = {**INTEGERS, **NARROW, **WIDE}
IDS = {"u8": None, "u32": 2**32 - 1, "i64": 2**63 - 1}

# The shape of the moved elements, the dimension of the ids, and the shape of the indexed tensor.
SHAPES = [((9,), 0, (5,)), ((4, 7), 1, (4, 6)), ((3, 7), 0, (4, 7)), ((2, 5, 3), 1, (3, 4, 3))]

# Dimensions that tensor and ids share, those that tuples index, those of a slice, and those of the
# tuples.
TUPLES = [((), (5,), (3,), (4,)), ((), (3, 4), (), (2, 5)), ((2,), (3, 2), (2,), (3,)), ((), (2, 3, 2), (2,), (9,))]


def values(rng, dtype, shape):
    t = np.dtype(DTYPES[dtype])
    if dtype in INTEGERS:
        count = int(np.prod(shape))
        return rng.integers(0, 256, count * t.itemsize, dtype=np.uint8).view(t).reshape(shape)
    return (rng.standard_normal(shape) * 8).astype(t)


def ids_of(rng, dtype, shape, size, marks):
    ids = rng.integers(0, size, shape).astype(INTEGERS[dtype])
    if marks and IDS[dtype] is not None:
        ids[rng.random(shape) < 0.2] = IDS[dtype]
    return ids


def places(ids, dim, dtype):
    """The index arrays of the elements that are not padding, and their mask."""
    kept = np.ones(ids.shape, bool) if IDS[dtype] is None else ids != IDS[dtype]
    at = [i[kept] for i in np.indices(ids.shape)]
    at[dim] = ids[kept].astype(np.int64)
    return tuple(at), kept


def take(tensor, ids, dim, id_dtype):
    at, kept = places(ids, dim, id_dtype)
    out = np.zeros(ids.shape, tensor.dtype)
    out[kept] = tensor[at]
    return out


def put(tensor, ids, src, dim, id_dtype):
    at, kept = places(ids, dim, id_dtype)
    out = tensor.copy()
    out[at] = src[kept]
    return out


def add(dtype, tensor, ids, src, dim, id_dtype):
    at, kept = places(ids, dim, id_dtype)
    compute = np.float32 if dtype in NARROW else tensor.dtype
    sums = tensor.astype(compute)
    with np.errstate(over="ignore"):
        np.add.at(sums, at, src[kept].astype(compute))
    # Only elements to which something was added are rounded.
    touched = np.zeros(tensor.shape, bool)
    touched[at] = True
    rounded = np.clip(sums, -448, 448) if dtype == "f8e4m3" else sums
    return np.where(touched, rounded.astype(tensor.dtype), tensor)


COMBINE = {
    "prod": lambda a, b: a * b,
    "amin": lambda a, b: b if b < a else a,
    "amax": lambda a, b: b if b > a else a,
    "add": lambda a, b: a + b,
}


def combine(dtype, how, tensor, at, src):
    """Combines the elements of src, in their order, with those at positions of the tensor."""
    compute = np.float32 if dtype in NARROW else tensor.dtype.type
    out = {}
    with np.errstate(over="ignore", invalid="ignore"):
        for place, x in zip(zip(*at), src.ravel()):
            before = out.get(place, compute(tensor[place]))
            out[place] = COMBINE[how](before, compute(x))
        result = tensor.copy()
        for place, x in out.items():
            result[place] = np.clip(x, -448, 448) if dtype == "f8e4m3" else x
    return result


def tuples(golden, rng, dtype, id_dtype, shared, sizes, slice_, count):
    """gather_nd and scatter_nd with tuples of ids, half of them counted from the end if ids have signs."""
    first = shared + count
    tensor = values(rng, dtype, shared + sizes + slice_)
    ids = [rng.integers(-size if id_dtype == "i64" else 0, size, first) for size in sizes]
    stored = np.stack(ids, -1).astype(INTEGERS[id_dtype])
    batch = np.indices(first)[: len(shared)]
    moved = tensor[tuple(batch) + tuple(ids)]
    parameters = named(batch_dims=[len(shared)], negative_ids=[1])
    out = (dtype, moved.shape, np.ascontiguousarray(moved).tobytes())
    golden.case("gather_nd", [operand(dtype, tensor), operand(id_dtype, stored)], out, "raw", parameters)
    if shared:
        return
    src = values(rng, dtype, moved.shape)
    # Every element of a slice has the ids of its tuple.
    each = np.indices(moved.shape)
    at = [i.reshape(i.shape + (1,) * len(slice_)) % size for i, size in zip(ids, sizes)]
    at = [np.broadcast_to(i, moved.shape).ravel() for i in at] + [i.ravel() for i in each[len(first) :]]
    inputs = [operand(dtype, tensor), operand(id_dtype, stored), operand(dtype, src, True)]
    results = {"scatter_nd": tensor.copy()}
    results["scatter_nd"][tuple(at)] = src.ravel()
    results |= {f"scatter_nd_{how}": combine(dtype, how, tensor, at, src) for how in COMBINE}
    for op, result in results.items():
        out = (dtype, result.shape, np.ascontiguousarray(result).tobytes())
        golden.case(op, inputs, out, "raw" if op == "scatter_nd" else "bits", named(negative_ids=[1]))


def operand(dtype, x, transposed=False):
    """In the harness's format: bytes, shape, strides in elements, offset; transposed in memory if requested."""
    stored = np.ascontiguousarray(x.T) if transposed else np.ascontiguousarray(x)
    strides = [s // stored.itemsize for s in stored.strides]
    return (dtype, stored.tobytes(), x.shape, strides[::-1] if transposed else strides, 0)


def spread(ids, dim, shape):
    """Ids of one dimension in a full shape."""
    along = [1] * len(shape)
    along[dim] = len(ids)
    return np.broadcast_to(ids.reshape(along), shape)


def agree(dtype, tensor, ids, line, src, dim, results):
    """PyTorch must give the same for i64 ids without marks, in dtypes that it can index."""
    if torch is None or dtype not in ("i16", "i32", "i64", "f16", "f32", "f64"):
        return
    t, s = torch.from_numpy(tensor.copy()), torch.from_numpy(src.copy())
    i, l = torch.from_numpy(ids.astype(np.int64)), torch.from_numpy(line.astype(np.int64))
    assert np.array_equal(torch.gather(t, dim, i).numpy(), results["gather"])
    assert np.array_equal(torch.index_select(t, dim, l).numpy(), results["index_select"])
    assert np.array_equal(torch.scatter(t, dim, i, s).numpy(), results["scatter_set"])
    for how in ("amin", "amax"):
        assert np.array_equal(t.scatter_reduce(dim, i, s, how).numpy(), results[f"scatter_reduce_{how}"])
    if dtype in INTEGERS:
        assert np.array_equal(torch.scatter_add(t, dim, i, s).numpy(), results["scatter_add_set"])
    elif dtype == "f64":
        assert np.allclose(torch.scatter_add(t, dim, i, s).numpy(), results["scatter_add_set"], rtol=1e-13)


def make(golden):
    rng = np.random.default_rng(20_261_121)
    for dtype in DTYPES:
        for n, (shape, dim, tensor_shape) in enumerate(SHAPES):
            for k, id_dtype in enumerate(IDS):
                marks = (n + k) % 2 == 1
                tensor, src = values(rng, dtype, tensor_shape), values(rng, dtype, shape)
                ids = ids_of(rng, id_dtype, shape, tensor_shape[dim], marks)
                line = ids_of(rng, id_dtype, shape[dim], tensor_shape[dim], marks)
                # One-dimensional ids apply to every slice of the tensor, so the other sizes are the
                # tensor's.
                taken = tuple(shape[d] if d == dim else size for d, size in enumerate(tensor_shape))
                slices = values(rng, dtype, taken)
                every = spread(line, dim, taken)
                results = {
                    "gather": take(tensor, ids, dim, id_dtype),
                    "index_select": take(tensor, every, dim, id_dtype),
                    "scatter_set": put(tensor, ids, src, dim, id_dtype),
                    "scatter_add_set": add(dtype, tensor, ids, src, dim, id_dtype),
                    "index_add": add(dtype, tensor, every, slices, dim, id_dtype),
                }
                at, kept = places(ids, dim, id_dtype)
                for how in ("prod", "amin", "amax"):
                    results[f"scatter_reduce_{how}"] = combine(dtype, how, tensor, at, src[kept])
                if not marks:
                    agree(dtype, tensor, ids, line, src, dim, results)
                turned = (n + k) % 3 == 0
                to, at, from_ = operand(dtype, tensor), operand(id_dtype, ids, turned), operand(dtype, src, not turned)
                row = operand(id_dtype, line)
                inputs = {
                    **{f"scatter_reduce_{how}": [to, at, from_] for how in ("prod", "amin", "amax")},
                    "gather": [to, at],
                    "index_select": [to, row],
                    "scatter_set": [to, at, from_],
                    "scatter_add_set": [to, at, from_],
                    "index_add": [to, row, operand(dtype, slices, turned)],
                }
                for op, result in results.items():
                    moves = op in ("gather", "index_select", "scatter_set")
                    out = (dtype, result.shape, np.ascontiguousarray(result).tobytes())
                    golden.case(op, inputs[op], out, "raw" if moves else "bits", named(dim=[dim]))
    for dtype in DTYPES:
        for n, (shared, sizes, slice_, count) in enumerate(TUPLES):
            has_all = dtype in ("u8", "f16", "f32", "i64")
            tuples(golden, rng, dtype, "u32" if has_all and n % 2 else "i64", shared, sizes, slice_, count)
