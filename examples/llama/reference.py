#!/usr/bin/env python3
"""Computes what the tests expect with NumPy in float64: `python3 reference.py > tests/expected.json`.

It shares no code with the example. The model is `Config::TINY`, with weights by a formula. Nothing is kept between tokens: each is made from the whole sequence before it.
"""

import itertools
import json

import numpy as np

VOCABULARY, HIDDEN, LAYERS, HEADS, KV_HEADS, SIZE, WIDE = 256, 64, 2, 4, 2, 16, 128
THETA, EPS = 500_000.0, 1e-5
PROMPT, STEPS = 20, 6


def matrix(numbers, rows, columns):
    """The next matrix. Its elements have 24 bits, so they are the same in f32."""
    bits = np.arange(rows * columns, dtype=np.uint32) * np.uint32(0x9E3779B1)
    bits ^= np.uint32(next(numbers) * 0x85EBCA77 & 0xFFFFFFFF)
    bits = (bits ^ bits >> np.uint32(15)) * np.uint32(0x85EBCA6B)
    bits = (bits ^ bits >> np.uint32(13)) * np.uint32(0xC2B2AE35)
    bits ^= bits >> np.uint32(16)
    return ((bits >> np.uint32(8)) / 2.0**24 - 0.5).reshape(rows, columns)


def weights():
    numbers, layers = itertools.count(1), []
    embedding = matrix(numbers, VOCABULARY, HIDDEN)
    for _ in range(LAYERS):
        shapes = ((HEADS + 2 * KV_HEADS) * SIZE, HIDDEN), (HIDDEN, HEADS * SIZE), (2 * WIDE, HIDDEN), (HIDDEN, WIDE)
        layers.append([matrix(numbers, *shape) for shape in shapes])
    return embedding, layers


def norm(x):
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + EPS)


def rotate(x):
    """x: [tokens, heads, size]. The halves of a head are the parts of complex numbers."""
    half = SIZE // 2
    angles = np.arange(len(x))[:, None] / THETA ** (np.arange(half) / half)
    turned = (x[..., :half] + 1j * x[..., half:]) * np.exp(1j * angles)[:, None]
    return np.concatenate([turned.real, turned.imag], -1)


def attend(q, k, v):
    past = np.tril(np.ones((len(q), len(q)), bool))
    heads = []
    for head in range(HEADS):
        shared = head // (HEADS // KV_HEADS)
        scores = np.where(past, q[:, head] @ k[:, shared].T / np.sqrt(SIZE), -np.inf)
        e = np.exp(scores - scores.max(-1, keepdims=True))
        heads.append(e / e.sum(-1, keepdims=True) @ v[:, shared])
    return np.concatenate(heads, -1)


def forward(embedding, layers, ids):
    x = embedding[ids]
    for qkv, joined, widen, narrow in layers:
        made = (norm(x) @ qkv.T).reshape(len(ids), -1, SIZE)
        q, k, v = np.split(made, [HEADS, HEADS + KV_HEADS], 1)
        x = x + attend(rotate(q), rotate(k), v) @ joined.T
        gate, through = np.split(norm(x) @ widen.T, 2, -1)
        x = x + (gate / (1 + np.exp(-gate)) * through) @ narrow.T
    last = norm(x[-1])
    return last, embedding @ last


def main():
    embedding, layers = weights()
    rounded = lambda x: [round(float(e), 7) for e in x]
    made = []
    ids = [(17 + i * 7919) % VOCABULARY for i in range(PROMPT)]
    for _ in range(STEPS + 1):
        hidden, logits = forward(embedding, layers, ids)
        second, first = np.sort(logits)[-2:]
        assert first - second > 1e-3, "the choice of a token must not depend on rounding"
        ids.append(int(logits.argmax()))
        made.append({"logits": rounded(logits), "hidden": rounded(hidden)})
    expected = {"prompt": ids[:PROMPT], "tokens": ids[PROMPT:], "first": made[0], "last": made[-1]}
    print("{\n" + ",\n".join(f'"{key}": {json.dumps(value)}' for key, value in expected.items()) + "\n}")


if __name__ == "__main__":
    main()
