#!/usr/bin/env python3
"""Computes the expected embeddings of the tests with NumPy in float64:
`python3 reference.py MODEL_FOLDER > tests/expected.json`.

It shares no code with the example. The weights are read from the bytes of the file. The tokens are
made from `vocab.txt` by BERT's rules (lower case, accents removed, punctuation and ideographs
separated, then the longest known piece first). The model is implemented as in its paper.
"""

import json
import math
import struct
import sys
import unicodedata
from pathlib import Path

import numpy as np

SENTENCES = [
    "The quick brown fox jumps over the lazy dog.",
    "Tensors, everywhere!",
    "Füchse über Zäune: naïve café 東京 (uncharacteristically) \t1,234.5€",
    # More tokens than the model reads.
    "A hardware abstraction layer gives one program many machines, and the same answer on each of them. " * 16,
]


def read_safetensors(path):
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            begin, end = (8 + length + offset for offset in entry["data_offsets"])
            tensors[name] = np.frombuffer(data[begin:end], "<f4").reshape(entry["shape"]).astype(np.float64)
    return tensors


def is_punctuation(c):
    ascii_symbol = 33 <= ord(c) <= 126 and not c.isalnum()
    return ascii_symbol or unicodedata.category(c).startswith("P")


def is_ideograph(c):
    ranges = [(0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F)]
    ranges += [(0x2B820, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F)]
    return any(first <= ord(c) <= last for first, last in ranges)


def words(text):
    text = "".join(f" {c} " if is_ideograph(c) else c for c in text)
    text = unicodedata.normalize("NFD", text.lower())
    text = "".join(c for c in text if unicodedata.category(c) != "Mn")
    text = "".join(f" {c} " if is_punctuation(c) else c for c in text)
    return text.split()


def pieces(word, vocabulary):
    ids, start = [], 0
    while start < len(word):
        for end in range(len(word), start, -1):
            piece = ("##" if start else "") + word[start:end]
            if piece in vocabulary:
                ids.append(vocabulary[piece])
                start = end
                break
        else:
            return [vocabulary["[UNK]"]]
    return ids


def tokenize(text, vocabulary, most):
    ids = [id for word in words(text) for id in pieces(word, vocabulary)]
    return [vocabulary["[CLS]"], *ids[: most - 2], vocabulary["[SEP]"]]


def linear(w, name, x):
    return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]


def layer_norm(w, name, x, eps):
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + eps) * w[f"{name}.weight"] + w[f"{name}.bias"]


def gelu(x):
    return x / 2 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def embed(w, config, ids):
    eps, heads = config["layer_norm_eps"], config["num_attention_heads"]
    table = lambda of: w[f"embeddings.{of}_embeddings.weight"]
    x = table("word")[ids] + table("position")[: len(ids)] + table("token_type")[0]
    x = layer_norm(w, "embeddings.LayerNorm", x, eps)
    for number in range(config["num_hidden_layers"]):
        layer = f"encoder.layer.{number}"
        split = lambda x: x.reshape(len(ids), heads, -1).swapaxes(0, 1)
        q, k, v = (split(linear(w, f"{layer}.attention.self.{part}", x)) for part in ("query", "key", "value"))
        context = softmax(q @ k.swapaxes(1, 2) / math.sqrt(q.shape[-1])) @ v
        context = context.swapaxes(0, 1).reshape(x.shape)
        projected = linear(w, f"{layer}.attention.output.dense", context)
        x = layer_norm(w, f"{layer}.attention.output.LayerNorm", projected + x, eps)
        wide = gelu(linear(w, f"{layer}.intermediate.dense", x))
        x = layer_norm(w, f"{layer}.output.LayerNorm", linear(w, f"{layer}.output.dense", wide) + x, eps)
    mean = x.mean(0)
    return mean / np.linalg.norm(mean)


def main():
    folder = Path(sys.argv[1])
    config = json.loads((folder / "config.json").read_text())
    most = json.loads((folder / "sentence_bert_config.json").read_text())["max_seq_length"]
    lines = (folder / "vocab.txt").read_text(encoding="utf-8").split("\n")
    vocabulary = {piece: id for id, piece in enumerate(lines)}
    w = read_safetensors(folder / "model.safetensors")
    expected = []
    for text in SENTENCES:
        ids = tokenize(text, vocabulary, most)
        embedding = [round(x, 9) for x in embed(w, config, ids)]
        expected.append({"text": text, "ids": ids, "embedding": embedding})
    print("[\n" + ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in expected) + "\n]")


if __name__ == "__main__":
    main()
