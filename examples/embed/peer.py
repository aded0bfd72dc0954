#!/usr/bin/env python3
"""Runs the same model in PyTorch, on the sentences of reports that the example wrote:
`python3 peer.py MODEL_FOLDER REPORT.json ...`.

A report (`--json`, best with `--bench`) has the ids of its sentences, its embeddings and its times.
For each report this prints the smallest cosine between its embeddings and PyTorch's, in the
report's precision and in f32. It also prints the time of PyTorch's step on the same batch in the
same precision, called normally and as a CUDA graph. The time is measured as in the example: the
median of five timings, each of many steps between two waits for the device. TF32 is off.
"""

import json
import struct
import sys
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

TIMINGS, SECONDS, MOST_STEPS = 5, 0.4, 200
DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"

torch.backends.cuda.matmul.allow_tf32 = False
torch.backends.cudnn.allow_tf32 = False


class Layer(nn.Module):
    """An encoder layer. One product computes queries, keys and values, as in the example."""

    def __init__(self, config):
        super().__init__()
        hidden, wide, eps = config["hidden_size"], config["intermediate_size"], config["layer_norm_eps"]
        self.heads = config["num_attention_heads"]
        self.qkv, self.joined = nn.Linear(hidden, 3 * hidden), nn.Linear(hidden, hidden)
        self.widen, self.narrow = nn.Linear(hidden, wide), nn.Linear(wide, hidden)
        self.attention_norm, self.output_norm = nn.LayerNorm(hidden, eps), nn.LayerNorm(hidden, eps)

    def forward(self, x, mask):
        q, k, v = self.qkv(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        context = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        x = self.attention_norm(self.joined(context.transpose(1, 2).flatten(2)) + x)
        return self.output_norm(self.narrow(F.gelu(self.widen(x))) + x)

    def read(self, tensors, name):
        def copy(module, *names):
            for kind in ("weight", "bias"):
                getattr(module, kind).copy_(torch.cat([tensors[f"{name}.{n}.{kind}"] for n in names]))

        copy(self.qkv, *(f"attention.self.{part}" for part in ("query", "key", "value")))
        copy(self.joined, "attention.output.dense")
        copy(self.attention_norm, "attention.output.LayerNorm")
        copy(self.widen, "intermediate.dense")
        copy(self.narrow, "output.dense")
        copy(self.output_norm, "output.LayerNorm")


class MiniLM(nn.Module):
    def __init__(self, config, tensors):
        super().__init__()
        hidden = config["hidden_size"]
        self.words = nn.Embedding(config["vocab_size"], hidden)
        self.places = nn.Embedding(config["max_position_embeddings"], hidden)
        self.norm = nn.LayerNorm(hidden, config["layer_norm_eps"])
        self.layers = nn.ModuleList(Layer(config) for _ in range(config["num_hidden_layers"]))
        with torch.no_grad():
            self.words.weight.copy_(tensors["embeddings.word_embeddings.weight"])
            kind = tensors["embeddings.token_type_embeddings.weight"][0]
            self.places.weight.copy_(tensors["embeddings.position_embeddings.weight"] + kind)
            for kind in ("weight", "bias"):
                getattr(self.norm, kind).copy_(tensors[f"embeddings.LayerNorm.{kind}"])
            for number, layer in enumerate(self.layers):
                layer.read(tensors, f"encoder.layer.{number}")

    def forward(self, ids, mask, shares):
        x = self.norm(self.words(ids) + self.places.weight[: ids.shape[1]])
        for layer in self.layers:
            x = layer(x, mask)
        return F.normalize((shares @ x).squeeze(1), dim=-1)


def read_safetensors(path):
    data = bytearray(path.read_bytes())
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            begin, end = entry["data_offsets"]
            flat = torch.frombuffer(data, dtype=torch.float32, count=(end - begin) // 4, offset=8 + length + begin)
            tensors[name] = flat.reshape(entry["shape"])
    return tensors


def batch(sentences, padding, dtype):
    """Ids, the mask added to scores (None without padding), and each token's weight in the mean."""
    longest = max(len(s["ids"]) for s in sentences)
    ids = torch.tensor([s["ids"] + [padding] * (longest - len(s["ids"])) for s in sentences], device=DEVICE)
    lengths = torch.tensor([len(s["ids"]) for s in sentences], device=DEVICE)
    own = torch.arange(longest, device=DEVICE) < lengths[:, None]
    mask = torch.zeros(own.shape, device=DEVICE, dtype=dtype).masked_fill(~own, -torch.inf)[:, None, None]
    shares = (own / lengths[:, None]).to(dtype)[:, None]
    return ids, None if own.all() else mask, shares


def wait():
    if DEVICE == "cuda":
        torch.cuda.synchronize()


def milliseconds(step):
    def seconds(steps):
        wait()
        start = time.perf_counter()
        for _ in range(steps):
            step()
        wait()
        return (time.perf_counter() - start) / steps

    seconds(3)
    steps = int(min(max(SECONDS / seconds(3), 1), MOST_STEPS))
    seconds(steps)
    return sorted(seconds(steps) for _ in range(TIMINGS))[TIMINGS // 2] * 1e3


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
    folder, reports = Path(sys.argv[1]), sys.argv[2:]
    config = json.loads((folder / "config.json").read_text())
    tensors = read_safetensors(folder / "model.safetensors")
    name = torch.cuda.get_device_name() if DEVICE == "cuda" else "the host"
    print(f"PyTorch {torch.__version__} on {name}")
    for path in reports:
        report = json.loads(Path(path).read_text())
        print(f"\n{path}: {report['device']}, {report['device_name']}, {report['dtype']}, {report['numerics']} numerics")
        sentences, padding = report["sentences"], config["pad_token_id"]
        theirs = torch.tensor([s["embedding"] for s in sentences], dtype=torch.float64)
        for of in dict.fromkeys(["f32", report["dtype"]]):
            model = MiniLM(config, tensors).eval().to(DEVICE, DTYPES[of])
            inputs = batch(sentences, padding, DTYPES[of])
            with torch.inference_mode():
                ours = model(*inputs).cpu().double()
            cosines = F.cosine_similarity(ours, theirs, dim=-1)
            print(f"  smallest cosine with PyTorch in {of}, of {len(sentences)} sentences: {cosines.min():.9f}")
        with torch.inference_mode():
            step = lambda: model(*inputs)
            times = {"PyTorch": milliseconds(step)}
            if DEVICE == "cuda":
                times["PyTorch, CUDA graph"] = milliseconds(captured(step))
        timing = report.get("timing") or {}
        for what, key in {"Isobit": "step_ms", "Isobit, graph": "graph_ms"}.items():
            if timing.get(key):
                times[what] = timing[key]
        tokens = inputs[0].numel()
        print(f"  {inputs[0].shape[0]} sentences of {inputs[0].shape[1]} tokens in {report['dtype']}")
        for what, ms in times.items():
            print(f"  {what:<20} {ms:9.3f} ms {tokens / ms * 1e3:12.0f} tokens/s")


if __name__ == "__main__":
    main()
