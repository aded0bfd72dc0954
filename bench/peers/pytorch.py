#!/usr/bin/env python3
"""Times the rows of isobit-bench that PyTorch also has, in the same way: `python3 pytorch.py OUT.json [OPS]`.

Rows have the same names as in the benchmark, so `isobit-bench --peers OUT.json` can show both.
Measure both on the same machine, one after the other. OPS is a comma-separated list of parts of
names. TF32 is off, because the rows that PyTorch is compared with have f32 precision.
"""

import json
import statistics
import sys

import torch
import torch.nn.functional as F

TIMINGS, LAUNCHES = 5, 20
DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
INTEGERS = {"i32": torch.int32, "u8": torch.uint8}
MI = 1 << 20

torch.backends.cuda.matmul.allow_tf32 = False
torch.backends.cudnn.allow_tf32 = False
torch.backends.cudnn.benchmark = True


def time_us(call):
    for _ in range(5):
        call()
    times = []
    for _ in range(TIMINGS):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        for _ in range(LAUNCHES):
            call()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) * 1e3 / LAUNCHES)
    return statistics.median(times)


def rand(*shape, dtype):
    return torch.rand(*shape, device="cuda", dtype=torch.float32).sub_(0.5).mul_(4).to(dtype)


def elementwise(dtype):
    x, y = rand(64 * MI, dtype=dtype), rand(64 * MI, dtype=dtype)
    mask = x > 0
    yield "copy", "64Mi", lambda: x.clone()
    yield "affine", "64Mi", lambda: x * 1.5
    yield "add", "64Mi", lambda: x + y
    yield "lt", "64Mi", lambda: x < y
    yield "where_cond", "64Mi", lambda: torch.where(mask, x, y)
    yield "exp", "64Mi", lambda: torch.exp(x)
    yield "tanh", "64Mi", lambda: torch.tanh(x)
    yield "gelu", "64Mi", lambda: F.gelu(x, approximate="tanh")
    yield "gelu_erf", "64Mi", lambda: F.gelu(x)
    yield "silu", "64Mi", lambda: F.silu(x)
    yield "asinh", "64Mi", lambda: torch.asinh(x)
    yield "acosh", "64Mi", lambda: torch.acosh(x)
    yield "atanh", "64Mi", lambda: torch.atanh(x)
    yield "softplus", "64Mi", lambda: F.softplus(x, threshold=1e9)
    yield "mish", "64Mi", lambda: F.mish(x)
    yield "hard_sigmoid", "64Mi", lambda: F.hardsigmoid(x)
    yield "hard_swish", "64Mi", lambda: F.hardswish(x)
    yield "selu", "64Mi", lambda: F.selu(x)
    yield "leaky_relu", "64Mi", lambda: F.leaky_relu(x)
    yield "celu", "64Mi", lambda: F.celu(x)
    yield "atan2", "64Mi", lambda: torch.atan2(x, y)
    yield "hypot", "64Mi", lambda: torch.hypot(x, y)
    yield "add_scalar", "64Mi", lambda: x + 1.0
    yield "masked_fill", "64Mi", lambda: x.masked_fill(mask, 1.0)
    yield "logical_and", "64Mi", lambda: torch.logical_and(x, y)
    yield "isnan", "64Mi", lambda: torch.isnan(x)
    yield "isinf", "64Mi", lambda: torch.isinf(x)
    yield "logical_not", "64Mi", lambda: torch.logical_not(x)
    yield "round_even", "64Mi", lambda: torch.round(x)
    yield "floor_div", "64Mi", lambda: torch.floor_divide(x, y)
    yield "floor_mod", "64Mi", lambda: torch.remainder(x, y)
    if dtype == torch.float32:
        yield "nextafter", "64Mi", lambda: torch.nextafter(x, y)


def integers(dtype):
    low, high = (0, 256) if dtype == torch.uint8 else (-(1 << 31), (1 << 31) - 1)
    x, y = (torch.randint(low, high, (64 * MI,), device="cuda", dtype=dtype) for _ in range(2))
    amount = y % 8
    yield "bitwise_not", "64Mi", lambda: torch.bitwise_not(x)
    yield "bitwise_and", "64Mi", lambda: torch.bitwise_and(x, y)
    yield "bitwise_or", "64Mi", lambda: torch.bitwise_or(x, y)
    yield "bitwise_xor", "64Mi", lambda: torch.bitwise_xor(x, y)
    yield "bitwise_left_shift", "64Mi", lambda: torch.bitwise_left_shift(x, amount)
    yield "bitwise_right_shift", "64Mi", lambda: torch.bitwise_right_shift(x, amount)
    yield "add_scalar", "64Mi", lambda: x + 1


def multiplied_bytes(dtype):
    """Products of bytes with sums in i32. `_int_mm` takes more than 16 rows."""
    for m, n, k in [(4096, 4096, 4096), (8192, 8192, 8192), (512, 512, 512), (64, 4096, 4096)]:
        a = torch.randint(-128, 128, (m, k), device="cuda", dtype=dtype)
        b = torch.randint(-128, 128, (n, k), device="cuda", dtype=dtype).t()
        rows = b.contiguous()
        yield "matmul_integer", f"{m}x{n}x{k}", lambda a=a, rows=rows: torch._int_mm(a, rows)
        yield "matmul_integer", f"{m}x{n}x{k}^T", lambda a=a, b=b: torch._int_mm(a, b)


def scaled(dtype):
    """Products of f8 with scales into bf16, with the library's accurate sums. The right operand has a row per column."""
    for m, n, k in [(4096, 4096, 4096), (8192, 8192, 8192), (64, 4096, 4096), (16, 4096, 4096)]:
        a, b = rand(m, k, dtype=dtype), rand(n, k, dtype=dtype).t()
        one, of_rows, of_columns = (torch.ones(shape, device="cuda") for shape in [(), (m, 1), (1, n)])
        for form, of_a, of_b in [("tensor", one, one), ("rows", of_rows, of_columns)]:
            call = lambda a=a, b=b, of_a=of_a, of_b=of_b: torch._scaled_mm(a, b, of_a, of_b, out_dtype=torch.bfloat16)
            yield f"scaled_matmul_{form}", f"{m}x{n}x{k}^T", call


def laid_out(dtype):
    x, row = rand(8192, 8192, dtype=dtype), rand(1, 8192, dtype=dtype)
    yield "add_broadcast_row", "8192x8192", lambda: x + row
    yield "copy_transposed", "8192x8192^T", lambda: x.t().contiguous()
    yield "exp_transposed", "8192x8192^T", lambda: torch.exp(x.t()).contiguous()
    yield "sum_last", "8192x8192", lambda: torch.sum(x, 1)
    yield "sum_first", "8192x8192", lambda: torch.sum(x, 0)
    yield "sum_all", "8192x8192", lambda: torch.sum(x)
    yield "max_last", "8192x8192", lambda: torch.amax(x, 1)
    yield "logsumexp_last", "8192x8192", lambda: torch.logsumexp(x, 1)
    yield "logsumexp_first", "8192x8192", lambda: torch.logsumexp(x, 0)
    yield "l1_norm_last", "8192x8192", lambda: torch.linalg.vector_norm(x, 1, 1)
    yield "l2_norm_last", "8192x8192", lambda: torch.linalg.vector_norm(x, 2, 1)
    yield "l2_norm_first", "8192x8192", lambda: torch.linalg.vector_norm(x, 2, 0)
    yield "max_norm_last", "8192x8192", lambda: torch.linalg.vector_norm(x, float("inf"), 1)
    yield "any_last", "8192x8192", lambda: torch.any(x, 1)
    yield "all_last", "8192x8192", lambda: torch.all(x, 1)
    yield "var_last", "8192x8192", lambda: torch.var(x, 1)
    yield "var_first", "8192x8192", lambda: torch.var(x, 0)
    yield "std_last", "8192x8192", lambda: torch.std(x, 1)
    yield "std_all", "8192x8192", lambda: torch.std(x)


def along_rows(dtype):
    x = rand(8192, 8192, dtype=dtype)
    weight, bias = rand(8192, dtype=dtype), rand(8192, dtype=dtype)
    skip, x_bias = rand(8192, 8192, dtype=dtype), rand(8192, dtype=dtype)
    yield "softmax_last", "8192x8192", lambda: torch.softmax(x, -1)
    yield "safe_softmax_last", "8192x8192", lambda: torch._safe_softmax(x, -1)
    yield "log_softmax_last", "8192x8192", lambda: torch.log_softmax(x, -1)
    yield "rms_norm_last", "8192x8192", lambda: F.rms_norm(x, (8192,), weight, 1e-5)
    yield "layer_norm_last", "8192x8192", lambda: F.layer_norm(x, (8192,), weight, bias, 1e-5)
    yield "layer_norm_plain_last", "8192x8192", lambda: F.layer_norm(x, (8192,), None, None, 1e-5)
    # PyTorch has no statistics without the result.
    yield "layer_norm_stats_last", "8192x8192", lambda: torch.native_layer_norm(x, (8192,), None, None, 1e-5)
    yield "skip_layer_norm_last", "8192x8192", lambda: F.layer_norm(x + x_bias + skip, (8192,), weight, bias, 1e-5)
    yield "cumsum_last", "8192x8192", lambda: torch.cumsum(x, 1)
    yield "cumsum_last_reverse", "8192x8192", lambda: torch.cumsum(x.flip(1), 1).flip(1)
    yield "cumsum_first", "8192x8192", lambda: torch.cumsum(x, 0)
    yield "cumsum_first_reverse", "8192x8192", lambda: torch.cumsum(x.flip(0), 0).flip(0)
    yield "cumprod_last", "8192x8192", lambda: torch.cumprod(x, 1)
    yield "cumprod_first", "8192x8192", lambda: torch.cumprod(x, 0)
    yield "cummin_last", "8192x8192", lambda: torch.cummin(x, 1)
    yield "cummax_last", "8192x8192", lambda: torch.cummax(x, 1)
    yield "cummax_first", "8192x8192", lambda: torch.cummax(x, 0)
    yield "argmax_last", "8192x8192", lambda: torch.argmax(x, 1)
    yield "argmin_last", "8192x8192", lambda: torch.argmin(x, 1)


def sorted_rows(dtype):
    x = rand(8192, 1024, dtype=dtype)
    yield "argsort_last", "8192x1024", lambda: torch.argsort(x, dim=-1)
    yield "sort_last", "8192x1024", lambda: torch.sort(x, dim=-1)
    yield "topk_last", "8192x1024 k=16", lambda: torch.topk(x, 16)
    long = rand(1, MI, dtype=dtype)
    yield "argsort_last", "1x1Mi", lambda: torch.argsort(long, dim=-1)
    yield "sort_last", "1x1Mi", lambda: torch.sort(long, dim=-1)


def indexed(dtype):
    table = rand(32768, 4096, dtype=dtype)
    rows = torch.randint(0, 32768, (16384,), device="cuda")
    src = rand(16384, 4096, dtype=dtype)
    ids = torch.randint(0, 4096, (16384, 4096), device="cuda")
    out = torch.zeros_like(src)
    yield "index_select_rows", "32768x4096[16384]", lambda: torch.index_select(table, 0, rows)
    yield "index_add_rows", "32768x4096[16384]", lambda: table.index_add_(0, rows, src)
    yield "gather_last", "16384x4096", lambda: torch.gather(src, 1, ids)
    yield "scatter_last", "16384x4096", lambda: out.scatter_(1, ids, src)
    yield "scatter_add_last", "16384x4096", lambda: out.scatter_add_(1, ids, src)
    yield "scatter_reduce_amax_last", "16384x4096", lambda: out.scatter_reduce_(1, ids, src, "amax")
    yield "scatter_reduce_amax_first", "16384x4096", lambda: out.scatter_reduce_(0, ids, src, "amax")
    pairs = torch.randint(0, 4096, (16 << 20, 2), device="cuda")
    taken = src[pairs[:, 0], pairs[:, 1]]
    yield "gather_nd", "16384x4096[16Mi]", lambda: src[pairs[:, 0], pairs[:, 1]]
    # PyTorch has no scatter_nd: the pairs become positions in the flattened matrix first.
    yield "scatter_nd_amax", "16384x4096[16Mi]", lambda: out.view(-1).scatter_reduce_(
        0, pairs[:, 0] * 4096 + pairs[:, 1], taken, "amax"
    )


def kept(dtype):
    x = rand(8192, 8192, dtype=dtype).relu()
    mask, rows = x > 0, x[:, 0] > 0
    yield "count_nonzero", "8192x8192", lambda: torch.count_nonzero(x)
    yield "nonzero", "8192x8192", lambda: torch.nonzero(x)
    yield "masked_select", "8192x8192", lambda: torch.masked_select(x, mask)
    yield "compress_first", "8192x8192", lambda: x[rows]
    few = (rand(MI, dtype=dtype) * 1024).floor()
    yield "unique", "1Mi", lambda: torch.unique(few)
    yield "unique_inverse", "1Mi", lambda: torch.unique(few, return_inverse=True)


def convolved(dtype):
    def images(channels, side):
        return rand(32, channels, side, side, dtype=dtype)

    def kernel(out, channels, taps):
        return rand(out, channels, taps, taps, dtype=dtype)

    x2, k2 = images(128, 56), kernel(128, 128, 3)
    x1, k1 = rand(32, 256, 1024, dtype=dtype), rand(256, 256, 5, dtype=dtype)
    depthwise = kernel(128, 1, 3)
    yield "conv2d", "32x128x56x56 k3 p1", lambda: F.conv2d(x2, k2, padding=1)
    bias = rand(128, dtype=dtype)
    yield "conv2d_bias", "32x128x56x56 k3 p1", lambda: F.conv2d(x2, k2, bias, padding=1)
    yield "conv2d", "32x128x56x56 k3 p1 g128", lambda: F.conv2d(x2, depthwise, padding=1, groups=128)
    few, few_k = images(64, 56), kernel(64, 64, 3)
    yield "conv2d", "32x64x56x56 k3 p1", lambda: F.conv2d(few, few_k, padding=1)
    small, small_k = images(256, 28), kernel(256, 256, 3)
    yield "conv2d", "32x256x28x28 k3 p1", lambda: F.conv2d(small, small_k, padding=1)
    tiny, tiny_k = images(512, 7), kernel(512, 512, 3)
    yield "conv2d", "32x512x7x7 k3 p1", lambda: F.conv2d(tiny, tiny_k, padding=1)
    yield "conv2d", "32x128x56x56 k3 p1 s2", lambda: F.conv2d(x2, k2, padding=1, stride=2)
    wide, point = images(256, 56), kernel(256, 256, 1)
    yield "conv2d", "32x256x56x56 k1", lambda: F.conv2d(wide, point)
    wide_bias = rand(256, dtype=dtype)
    yield "conv2d_bias", "32x256x56x56 k1", lambda: F.conv2d(wide, point, wide_bias)
    photos, first = images(3, 224), kernel(64, 3, 7)
    yield "conv2d", "32x3x224x224 k7 p3 s2", lambda: F.conv2d(photos, first, padding=3, stride=2)
    yield "conv_transpose2d", "32x128x56x56 k3 s2", lambda: F.conv_transpose2d(x2, k2, stride=2)
    yield "conv1d", "32x256x1024 k5", lambda: F.conv1d(x1, k1)
    yield "conv_transpose1d", "32x256x1024 k5 s2", lambda: F.conv_transpose1d(x1, k1, stride=2)
    x3, k3 = rand(8, 64, 16, 28, 28, dtype=dtype), rand(64, 64, 3, 3, 3, dtype=dtype)
    depthwise3 = rand(64, 1, 3, 3, 3, dtype=dtype)
    yield "conv3d", "8x64x16x28x28 k3 p1", lambda: F.conv3d(x3, k3, padding=1)
    yield "conv3d", "8x64x16x28x28 k3 p1 g64", lambda: F.conv3d(x3, depthwise3, padding=1, groups=64)
    small3, doubled = rand(8, 64, 8, 14, 14, dtype=dtype), rand(64, 64, 2, 2, 2, dtype=dtype)
    yield "conv_transpose3d", "8x64x8x14x14 k2 s2", lambda: F.conv_transpose3d(small3, doubled, stride=2)


def channels(dtype):
    def per_channel(c):
        return [rand(c, dtype=t) for t in (torch.float32, torch.float32, dtype, dtype)]

    for shape, groups in [((32, 128, 112, 112), 32), ((8, 320, 64, 64), 32), ((32, 512, 7, 7), 32)]:
        x, (_, _, w, b) = rand(*shape, dtype=dtype), per_channel(shape[1])
        size = "x".join(map(str, shape))
        yield "group_norm", f"{size} {groups}", lambda: F.group_norm(x, groups, w, b, 1e-5)
    for shape in [(32, 128, 112, 112), (32, 512, 7, 7)]:
        x, (mean, variance, w, b) = rand(*shape, dtype=dtype), per_channel(shape[1])
        variance = variance.abs() + 1
        size = "x".join(map(str, shape))
        # With statistics of f32, PyTorch takes parameters of f32 alone.
        wide_w, wide_b = w.float(), b.float()
        yield "batch_norm", size, lambda: F.batch_norm(x, mean, variance, wide_w, wide_b, False, 0.1, 1e-5)
        if shape[1] == 128:
            yield "batch_norm_train", size, lambda: F.batch_norm(x, mean, variance, wide_w, wide_b, True, 0.1, 1e-5)
            yield "instance_norm", size, lambda: F.instance_norm(x, None, None, w, b, True, 0.1, 1e-5)
            yield "local_response_norm", f"{size} 5", lambda: F.local_response_norm(x, 5, 1e-4, 0.75, 2.0)


def windows(dtype):
    x = rand(32, 128, 112, 112, dtype=dtype)
    small = rand(32, 128, 56, 56, dtype=dtype)
    yield "avg_pool2d", "32x128x112x112 2x2", lambda: F.avg_pool2d(x, 2)
    yield "max_pool2d", "32x128x112x112 2x2", lambda: F.max_pool2d(x, 2)
    yield "max_pool2d_k3s2p1", "32x128x112x112 3x3", lambda: F.max_pool2d(x, 3, 2, 1)
    # Values and positions: PyTorch has no call for the positions alone.
    yield "argmax_pool2d_k3s2p1", "32x128x112x112 3x3", lambda: F.max_pool2d(x, 3, 2, 1, return_indices=True)
    yield "max_pool2d_k3d2", "32x128x112x112 3x3", lambda: F.max_pool2d(x, 3, 2, dilation=2)
    sound, video = rand(32, 512, 4096, dtype=dtype), rand(8, 64, 16, 112, 112, dtype=dtype)
    yield "max_pool1d_k3s2p1", "32x512x4096 3", lambda: F.max_pool1d(sound, 3, 2, 1)
    yield "avg_pool3d_k3s2p1", "8x64x16x112x112 3x3x3", lambda: F.avg_pool3d(video, 3, 2, 1)
    yield "max_pool3d_k3s2p1", "8x64x16x112x112 3x3x3", lambda: F.max_pool3d(video, 3, 2, 1)
    yield "lp_pool2d_k3s2", "32x128x112x112 3x3", lambda: F.lp_pool2d(x, 2, 3, 2)
    yield "lp_pool2d_k3s2_p3", "32x128x112x112 3x3", lambda: F.lp_pool2d(x, 3, 3, 2)
    yield "adaptive_avg_pool2d", "32x128x112x112 to 7x7", lambda: F.adaptive_avg_pool2d(x, 7)
    yield "adaptive_avg_pool2d_uneven", "32x128x112x112 to 50x50", lambda: F.adaptive_avg_pool2d(x, 50)
    yield "adaptive_max_pool2d_uneven", "32x128x112x112 to 50x50", lambda: F.adaptive_max_pool2d(x, 50)
    # Values and positions: PyTorch has no call for the positions alone.
    yield "adaptive_argmax_pool2d_uneven", "32x128x112x112 to 50x50", lambda: F.adaptive_max_pool2d(x, 50, return_indices=True)
    back = rand(32, 128, 56, 56, dtype=dtype)
    places = F.max_pool2d(x, 3, 2, 1, return_indices=True)[1]
    aten = torch.ops.aten
    columns = rand(32, 128 * 9, 56 * 56, dtype=dtype)
    yield "col2im2d_k3p1", "32x128x56x56 3x3", lambda: F.fold(columns, 56, 3, padding=1)
    yield "avg_pool2d_backward", "32x128x112x112 2x2", lambda: aten.avg_pool2d_backward(back, x, [2, 2], [2, 2], [0, 0], False, True, None)
    yield "avg_pool2d_k3s2p1_backward", "32x128x112x112 3x3", lambda: aten.avg_pool2d_backward(back, x, [3, 3], [2, 2], [1, 1], False, True, None)
    # Its positions are i64, ours u32.
    yield "max_pool2d_k3s2p1_backward", "32x128x112x112 3x3", lambda: aten.max_pool2d_with_indices_backward(back, x, [3, 3], [2, 2], [1, 1], [1, 1], False, places)
    yield "upsample_nearest2d", "32x128x56x56 x2", lambda: F.interpolate(small, scale_factor=2, mode="nearest")
    yield "upsample_bilinear2d", "32x128x56x56 x2", lambda: F.interpolate(small, scale_factor=2, mode="bilinear")
    clip = rand(8, 64, 8, 56, 56, dtype=dtype)
    yield "resize_bicubic", "32x128x56x56 x2", lambda: F.interpolate(small, scale_factor=2, mode="bicubic")
    yield "resize_nearest_exact", "32x128x56x56 x2", lambda: F.interpolate(small, scale_factor=2, mode="nearest-exact")
    yield "resize_bilinear_antialiased", "32x128x112x112 /2", lambda: F.interpolate(x, (56, 56), mode="bilinear", antialias=True)
    yield "resize_bicubic_antialiased", "32x128x112x112 /2", lambda: F.interpolate(x, (56, 56), mode="bicubic", antialias=True)
    yield "resize_trilinear", "8x64x8x56x56 x2", lambda: F.interpolate(clip, scale_factor=2, mode="trilinear")
    # The same positions as a resize, moved by less than an element, as optical flow has them.
    near = F.affine_grid(torch.eye(2, 3, device="cuda").repeat(32, 1, 1), [32, 1, 112, 112], align_corners=False)
    grid = (near + 0.01 * torch.randn_like(near)).to(dtype)
    yield "grid_sample_bilinear", "32x128x112x112", lambda: F.grid_sample(x, grid, "bilinear", align_corners=False)
    yield "grid_sample_nearest", "32x128x112x112", lambda: F.grid_sample(x, grid, "nearest", align_corners=False)
    yield "grid_sample_bicubic", "32x128x112x112", lambda: F.grid_sample(x, grid, "bicubic", align_corners=False)
    space = F.affine_grid(torch.eye(3, 4, device="cuda").repeat(8, 1, 1), [8, 1, 16, 56, 56], align_corners=False)
    space, volume = space.to(dtype), rand(8, 64, 16, 56, 56, dtype=dtype)
    yield "grid_sample_trilinear", "8x64x16x56x56", lambda: F.grid_sample(volume, space, "bilinear", align_corners=False)


def drawn(dtype):
    out = torch.empty(64 * MI, device="cuda", dtype=dtype)
    yield "rand_uniform", "64Mi", lambda: out.uniform_()
    yield "rand_normal", "64Mi", lambda: out.normal_()
    yield "bernoulli", "64Mi", lambda: out.bernoulli_(0.5)
    x = rand(64 * MI, dtype=dtype)
    yield "dropout", "64Mi", lambda: torch.native_dropout(x, 0.1, True)
    p = torch.rand_like(x)
    yield "bernoulli_probs", "64Mi", lambda: torch.bernoulli(p)


def multiplied(dtype):
    for batch, m, n, k in [(1, 4096, 4096, 4096), (1, 8192, 8192, 8192), (1, 512, 512, 512), (64, 512, 512, 512), (1, 64, 4096, 4096), (1, 8, 4096, 4096), (1, 1, 4096, 4096)]:
        a, b = rand(batch, m, k, dtype=dtype), rand(batch, k, n, dtype=dtype)
        work = f"{m}x{n}x{k}" if batch == 1 else f"{batch}x{m}x{n}x{k}"
        yield "matmul", work, lambda a=a, b=b: torch.matmul(a, b)
    a, weights = rand(1, 1, 4096, dtype=dtype), rand(1, 4096, 4096, dtype=dtype).mT
    yield "matmul", "1x4096x4096^T", lambda: torch.matmul(a, weights)


def attended(dtype):
    def work(batch, kv, m, n, d, causal=False):
        q = rand(batch, 32, m, d, dtype=dtype)
        k, v = rand(batch, kv, n, d, dtype=dtype), rand(batch, kv, n, d, dtype=dtype)
        grouped = "" if kv == 32 else f" kv{kv}"
        name = f"{batch}x32x{m}x{n}x{d}{grouped}{' causal' if causal else ''}"
        call = lambda: F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=kv != 32)
        return "scaled_dot_product_attention", name, call

    for d in (64, 128):
        for n in (128, 1024, 4096):
            yield work(1, 32, n, n, d)
            yield work(1, 32, n, n, d, causal=True)
    for n, d in ((4096, 32), (1024, 96), (1024, 256)):
        yield work(1, 32, n, n, d)
        yield work(1, 32, n, n, d, causal=True)
    yield work(1, 8, 2048, 2048, 128, causal=True)
    yield work(1, 8, 2048, 32768, 128)
    for batch in (1, 8):
        for n in (1024, 4096, 32768):
            yield work(batch, 8, 1, n, 128)


def moved(dtype):
    x = rand(8192, 8192, dtype=dtype)
    yield "flip_last", "8192x8192", lambda: torch.flip(x, (1,))
    yield "flip_first", "8192x8192", lambda: torch.flip(x, (0,))
    yield "roll_last", "8192x8192", lambda: torch.roll(x, 1000, 1)
    yield "roll_first", "8192x8192", lambda: torch.roll(x, 1000, 0)
    images, tile = rand(32, 64, 112, 112, dtype=dtype), rand(4096, 4096, dtype=dtype)
    yield "pad_reflect", "32x64x112x112 p3", lambda: F.pad(images, (3, 3, 3, 3), mode="reflect")
    yield "pad_constant", "32x64x112x112 p3", lambda: F.pad(images, (3, 3, 3, 3))
    yield "repeat", "4096x4096 x2x2", lambda: tile.repeat(2, 2)
    for n, (rows, columns), dim in [(4, (8192, 2048), 1), (4, (2048, 8192), 0), (16, (8192, 512), 1), (16, (8192, 511), 1)]:
        inputs = [rand(rows, columns, dtype=dtype) for _ in range(n)]
        name = f"concat_{'last' if dim else 'first'}"
        yield name, f"{n} of {rows}x{columns}", lambda inputs=inputs, dim=dim: torch.cat(inputs, dim)


def main():
    out = sys.argv[1] if len(sys.argv) > 1 else sys.exit(__doc__)
    wanted = sys.argv[2].split(",") if len(sys.argv) > 2 else [""]
    rows = []
    of_floats = (
        elementwise, laid_out, along_rows, channels, sorted_rows, indexed, kept, convolved, windows, moved, drawn, multiplied, attended
    )  # fmt: skip
    families = [(name, dtype, family) for name, dtype in DTYPES.items() for family in of_floats]
    families += [(name, dtype, integers) for name, dtype in INTEGERS.items()]
    families += [("i8", torch.int8, multiplied_bytes), ("f8e4m3", torch.float8_e4m3fn, scaled)]
    for name, dtype, family in families:
        for op, work, call in family(dtype):
            if any(part in op for part in wanted):
                rows.append({"op": op, "dtype": name, "work": work, "us": round(time_us(call), 3)})
                print(f"{op:<24} {name:<5} {work:<26} {rows[-1]['us']:>10.2f} us", flush=True)
        torch.cuda.empty_cache()
    with open(out, "w") as f:
        json.dump({"source": f"PyTorch {torch.__version__}", "rows": rows}, f, indent=1)


if __name__ == "__main__":
    main()
