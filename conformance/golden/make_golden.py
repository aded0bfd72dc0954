#!/usr/bin/env python3
"""Makes golden vectors: small inputs with the results of NumPy or PyTorch.

    python3 make_golden.py numpy     writes numpy.json.gz  (needs numpy, ml_dtypes)
    python3 make_golden.py torch     writes torch.json.gz  (needs numpy, ml_dtypes and torch; CPU tensors only)
    python3 make_golden.py FAMILY    writes FAMILY.json.gz, by families/FAMILY.py: its VERSION, and its make(golden)

The same versions give the same bytes. A file is one JSON document, gzipped:

    source    the libraries and their versions
    buffers   [dtype, hex of the little-endian elements], named by their position
    cases     op, params, in: [[buffer, shape, strides, offset] ...], out: [dtype, shape, buffer],
              tol, and if some elements are skipped: skip (their positions) and why
    skipped   [op, dtypes, reason]: cells that the source cannot check
    agrees    cases in which this source gave the same bits as numpy.json.gz; they are not repeated

tol is "raw" (all bits), "bits" (all bits, but any NaN equals any NaN), {"ulp": n} (at most n floats
away), or {"abs": buffer} (an absolute bound for each element, in f64: the forward bound of
numerics.md for a sum or product in any order, plus an ulp of the result). If the contract
deliberately differs from the source (numerics.md, "Where others differ"), the elements are skipped,
with the reason.
"""

import gzip
import importlib.util
import json
import os
import sys

import golden_cases


class Golden:
    """Collects cases; equal buffers are stored once."""

    def __init__(self, source, known=()):
        self.source, self.buffers, self.cases, self.skipped, self.index = source, [], [], [], {}
        self.known, self.agrees = set(known), 0

    def buffer(self, dtype, data):
        key = (dtype, data)
        if key not in self.index:
            self.index[key] = len(self.buffers)
            self.buffers.append([dtype, data.hex()])
        return self.index[key]

    def case(self, op, inputs, out, tol, params=None, skip=None):
        """inputs: (dtype, bytes, shape, strides, offset); out: (dtype, shape, bytes); tol: a word, {"ulp"} or {"abs": bytes};
        skip: {reason: positions}."""
        if signature(op, params, inputs, out) in self.known:
            self.agrees += 1
            return
        c = {"op": op}
        if params:
            c["params"] = params
        c["in"] = [[self.buffer(d, b), list(shape), list(strides), offset] for d, b, shape, strides, offset in inputs]
        c["out"] = [out[0], list(out[1]), self.buffer(out[0], out[2])]
        c["tol"] = {"abs": self.buffer("f64", tol["abs"])} if isinstance(tol, dict) and "abs" in tol else tol
        skip = {why: at for why, at in (skip or {}).items() if at}
        if skip:
            c["skip"] = sorted({i for at in skip.values() for i in at})
            c["why"] = "; ".join(sorted(skip))
        self.cases.append(c)

    def write(self, path):
        doc = {"source": self.source, "buffers": self.buffers, "cases": self.cases, "skipped": self.skipped, "agrees": self.agrees}
        text = json.dumps(doc, separators=(",", ":"), allow_nan=False)
        with open(path, "wb") as f:
            # Without name and time, so that the same vectors give the same bytes.
            with gzip.GzipFile(filename="", mode="wb", fileobj=f, compresslevel=9, mtime=0) as z:
                z.write(text.encode())
        ops = sorted({c["op"] for c in self.cases})
        print(f"{path}: {len(self.cases)} cases of {len(ops)} operations, {os.path.getsize(path)} bytes, {self.source}")
        if self.agrees:
            print(f"  {self.agrees} more have the bits of numpy.json.gz")
        for op, dtypes, reason in self.skipped:
            print(f"  skipped {op} {dtypes}: {reason}")


def named(**numbers):
    """The params of a family's operation: lists of numbers by name, as text so that infinities and NaN survive."""
    return {"named": {name: [repr(float(x)) for x in value] for name, value in numbers.items()}}


def signature(op, params, inputs, out):
    """The inputs and outputs of a case, for comparison."""
    operands = [(d, b, tuple(shape), tuple(strides), offset) for d, b, shape, strides, offset in inputs]
    return (op, json.dumps(params or {}, sort_keys=True), tuple(operands), (out[0], tuple(out[1]), out[2]))


def signatures(path):
    """The cases of a file, for comparison."""
    with gzip.open(path) as f:
        doc = json.load(f)
    data = [bytes.fromhex(hexed) for _, hexed in doc["buffers"]]
    for c in doc["cases"]:
        inputs = [(doc["buffers"][b][0], data[b], shape, strides, offset) for b, shape, strides, offset in c["in"]]
        dtype, shape, b = c["out"]
        yield signature(c["op"], c.get("params"), inputs, (dtype, shape, data[b]))


def main():
    which = sys.argv[1] if len(sys.argv) > 1 else "numpy"
    here = os.path.dirname(os.path.abspath(__file__))
    if which == "numpy":
        import golden_numpy as source
    elif which == "torch":
        import golden_torch as source
    elif os.path.exists(path := os.path.join(here, "families", f"{which}.py")):
        # By its path, because a family may have the name of a standard module.
        spec = importlib.util.spec_from_file_location(f"families.{which}", path)
        source = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(source)
        golden = Golden(source.VERSION)
        source.make(golden)
        golden.write(os.path.join(here, f"{which}.json.gz"))
        return
    else:
        sys.exit(__doc__)
    known = signatures(os.path.join(here, "numpy.json.gz")) if which != "numpy" else ()
    golden = Golden(source.VERSION, known)
    golden_cases.make(golden, source)
    golden.write(os.path.join(here, f"{which}.json.gz"))


if __name__ == "__main__":
    main()
