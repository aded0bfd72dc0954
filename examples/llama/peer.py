#!/usr/bin/env python3
"""Runs the same stack in PyTorch: `python3 peer.py [--dtype bf16] [--prompt 512] [--tokens 64]`.

Llama 3.2 1B with random weights, a static cache of keys and values, and
F.scaled_dot_product_attention. Prints, as JSON, the milliseconds and tokens per second of reading
the prompt and of the steps after it; these called normally and as one CUDA graph. Every step makes
the likeliest token and feeds it to the next one without the host. As in the example, each time is
the median of five, between two waits for the device. TF32 is off.

A step attends to the whole cache through a mask, as PyTorch's own static caches do: its length is
on the device, so that one graph serves every step. `step_window` says which form of attention the
eager steps use: `mask`, as the graph does, or `slice`, which reads only what is filled.
"""

import argparse
import json
import statistics
import time

import torch
import torch.nn.functional as F
from torch import nn

VOCABULARY, HIDDEN, HEADS, KV_HEADS, SIZE, WIDE = 128_256, 2048, 32, 8, 64, 8192
THETA, EPS, STD = 500_000.0, 1e-5, 0.02
TIMINGS = 5
DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"

torch.backends.cuda.matmul.allow_tf32 = False
torch.backends.cudnn.allow_tf32 = False


def rotate(x, cos, sin):
    a, b = x.chunk(2, -1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)


class Layer(nn.Module):
    """A decoder layer. One product makes queries, keys and values, another both wide vectors."""

    def __init__(self, capacity):
        super().__init__()
        linear = lambda inputs, outputs: nn.Linear(inputs, outputs, bias=False)
        self.qkv, self.joined = linear(HIDDEN, (HEADS + 2 * KV_HEADS) * SIZE), linear(HEADS * SIZE, HIDDEN)
        self.widen, self.narrow = linear(HIDDEN, 2 * WIDE), linear(WIDE, HIDDEN)
        self.attention_norm, self.norm = nn.RMSNorm(HIDDEN, EPS), nn.RMSNorm(HIDDEN, EPS)
        self.register_buffer("keys", torch.zeros(1, KV_HEADS, capacity, SIZE))
        self.register_buffer("values", torch.zeros(1, KV_HEADS, capacity, SIZE))

    def forward(self, x, positions, angles, seen, mask):
        made = self.qkv(self.attention_norm(x)).unflatten(-1, (-1, SIZE)).transpose(1, 2)
        q, k, v = made.split((HEADS, KV_HEADS, KV_HEADS), 1)
        q, k = rotate(q, *angles), rotate(k, *angles)
        self.keys.index_copy_(2, positions, k)
        self.values.index_copy_(2, positions, v)
        keys, values = self.keys[:, :, :seen], self.values[:, :, :seen]
        if q.shape[2] > 1:
            context = F.scaled_dot_product_attention(q, keys, values, is_causal=True, enable_gqa=True)
        else:
            # As several queries of each head of keys: with groups, the slowest way takes a mask.
            grouped = q.reshape(1, KV_HEADS, -1, SIZE)
            context = F.scaled_dot_product_attention(grouped, keys, values, attn_mask=mask).reshape(q.shape)
        x = x + self.joined(context.transpose(1, 2).flatten(2))
        gate, through = self.widen(self.norm(x)).chunk(2, -1)
        return x + self.narrow(F.silu(gate) * through)


class Llama(nn.Module):
    def __init__(self, layers, capacity):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, HIDDEN)
        self.layers = nn.ModuleList(Layer(capacity) for _ in range(layers))
        self.norm = nn.RMSNorm(HIDDEN, EPS)
        angles = torch.arange(capacity)[:, None] / THETA ** (torch.arange(SIZE // 2) / (SIZE // 2))
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())
        self.capacity = capacity

    def forward(self, ids, positions, seen=None):
        """The likeliest next token. `seen` is the number of keys, if the host knows it."""
        x, angles = self.embedding(ids), (self.cos[positions], self.sin[positions])
        mask = None
        if seen is None:
            seen = self.capacity
            mask = torch.arange(seen, device=DEVICE)[None, None, None] <= positions
        for layer in self.layers:
            x = layer(x, positions, angles, seen, mask)
        logits = F.linear(self.norm(x[:, -1]), self.embedding.weight)
        return logits.argmax(-1, keepdim=True)


def seconds(work):
    wait = torch.cuda.synchronize if DEVICE == "cuda" else lambda: None
    wait()
    start = time.perf_counter()
    work()
    wait()
    return time.perf_counter() - start


def median_ms(work, before=lambda: None):
    times = []
    for _ in range(TIMINGS + 2):
        before()
        times.append(seconds(work))
    return statistics.median(times[2:]) * 1e3


def captured(step):
    """The step as a CUDA graph."""
    beside = torch.cuda.Stream()
    beside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(beside):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(beside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dtype", choices=DTYPES, default="bf16")
    parser.add_argument("--layers", type=int, default=16)
    parser.add_argument("--prompt", type=int, default=512)
    parser.add_argument("--tokens", type=int, default=64)
    args = parser.parse_args()
    torch.manual_seed(0)
    # Created on the device: on the host, drawing a billion numbers takes a minute.
    with torch.device(DEVICE):
        model = Llama(args.layers, args.prompt + args.tokens).to(DTYPES[args.dtype]).eval()
    with torch.inference_mode():
        for weight in model.parameters():
            if weight.dim() > 1:
                weight.normal_(0, STD)
        prompt = torch.tensor([[(17 + i * 7919) % VOCABULARY for i in range(args.prompt)]], device=DEVICE)
        positions = torch.arange(args.prompt, device=DEVICE)
        token, position = torch.zeros(1, 1, dtype=torch.long, device=DEVICE), torch.zeros(1, dtype=torch.long, device=DEVICE)

        def prefill():
            token.copy_(model(prompt, positions, args.prompt))

        def start():
            prefill()
            position.fill_(args.prompt)

        def step(seen=None):
            token.copy_(model(token, position, seen))
            position.add_(1)

        def masked():
            for _ in range(args.tokens):
                step()

        def sliced():
            for i in range(args.tokens):
                step(args.prompt + i + 1)

        times = {"prefill_ms": median_ms(prefill)}
        eager = {name: median_ms(work, start) for name, work in {"mask": masked, "slice": sliced}.items()}
        window = min(eager, key=eager.get)
        times["decode_ms"] = eager[window]
        if DEVICE == "cuda":
            start()
            # The steps before the capture and the capture's own must stay within the cache.
            position.zero_()
            replay = captured(step)
            times["graph_ms"] = median_ms(lambda: [replay() for _ in range(args.tokens)], start)
    counts = {"prefill_ms": args.prompt, "decode_ms": args.tokens, "graph_ms": args.tokens}
    rates = {key.replace("_ms", "_tokens_per_second"): counts[key] / ms * 1e3 for key, ms in times.items()}
    name = torch.cuda.get_device_name() if DEVICE == "cuda" else "the host"
    report = {"source": f"PyTorch {torch.__version__}", "device_name": name, **vars(args), "step_window": window}
    print(json.dumps({**report, **times, **rates}, indent=1))


if __name__ == "__main__":
    main()
