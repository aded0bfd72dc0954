"""Writes the node tests of the installed package `onnx` as one JSON index and one file of tensors.

`cases.py FOLDER` makes `FOLDER/cases.json` and `FOLDER/tensors.bin`. The package computes inputs
and expected outputs when it is imported, so nothing of it is kept in this repository. A value is a
tensor (its dtype by ONNX's name, its shape, and where its bytes are), or says which kind of value
it is that is no tensor. Elements narrower than a byte take one byte each.
"""

import json
import math
import os
import sys
import warnings

import numpy
import onnx
from onnx import AttributeProto, TensorProto, numpy_helper
from onnx.backend.test.case.node import collect_testcases


class Tensors:
    """The file of tensors, which grows as values are referred to."""

    def __init__(self, file):
        self.file = file
        self.at = 0

    def array(self, array, dtype):
        data = numpy.ascontiguousarray(array).tobytes()
        reference = {"dtype": dtype, "shape": list(array.shape), "at": self.at, "bytes": len(data)}
        self.file.write(data)
        self.at += len(data)
        return reference

    def value(self, value):
        """A tensor, or what kind of other value it is."""
        if value is None:
            return {"kind": "optional"}
        if isinstance(value, (list, tuple)):
            return {"kind": "sequence"}
        if isinstance(value, TensorProto):
            if value.data_type == TensorProto.STRING:
                return {"kind": "string"}
            return self.array(numpy_helper.to_array(value), dtype_name(value.data_type))
        array = numpy.asarray(value)
        if array.dtype.kind in "OUST":
            return {"kind": "string"}
        return self.array(array, dtype_name(onnx.helper.np_dtype_to_tensor_dtype(array.dtype)))


def dtype_name(data_type):
    return TensorProto.DataType.Name(data_type).lower()


def number(value):
    """A float as JSON has it; JSON has no NaN and no infinities."""
    return value if math.isfinite(value) else str(value)


def attribute(proto, tensors):
    kinds = {
        AttributeProto.FLOAT: lambda: {"float": number(proto.f)},
        AttributeProto.INT: lambda: {"int": proto.i},
        AttributeProto.STRING: lambda: {"text": proto.s.decode("utf-8", "replace")},
        AttributeProto.TENSOR: lambda: {"tensor": tensors.value(proto.t)},
        AttributeProto.GRAPH: lambda: {"graph": graph(proto.g, tensors)},
        AttributeProto.FLOATS: lambda: {"floats": [number(f) for f in proto.floats]},
        AttributeProto.INTS: lambda: {"ints": list(proto.ints)},
        AttributeProto.STRINGS: lambda: {"texts": [s.decode("utf-8", "replace") for s in proto.strings]},
    }
    known = kinds.get(proto.type)
    return known() if known else {"other": AttributeProto.AttributeType.Name(proto.type).lower()}


def node(proto, tensors):
    return {
        "op": f"{proto.domain}.{proto.op_type}".lstrip("."),
        "inputs": list(proto.input),
        "outputs": list(proto.output),
        "attributes": {a.name: attribute(a, tensors) for a in proto.attribute},
    }


def graph(proto, tensors):
    return {
        "inputs": [i.name for i in proto.input],
        "outputs": [o.name for o in proto.output],
        "initializers": {t.name: tensors.value(t) for t in proto.initializer},
        "nodes": [node(n, tensors) for n in proto.node],
    }


def case(test, tensors):
    opsets = {o.domain or "ai.onnx": o.version for o in test.model.opset_import}
    return {
        "name": test.name,
        "rtol": test.rtol,
        "atol": test.atol,
        "opset": opsets.get("ai.onnx", 0),
        "graph": graph(test.model.graph, tensors),
        "data": [
            {"inputs": [tensors.value(v) for v in inputs], "outputs": [tensors.value(v) for v in outputs]}
            for inputs, outputs in test.data_sets
        ],
    }


def main(folder):
    os.makedirs(folder, exist_ok=True)
    # Overflows and divisions by zero are what some of the cases are about.
    warnings.simplefilter("ignore")
    with open(os.path.join(folder, "tensors.bin"), "wb") as file:
        tensors = Tensors(file)
        cases = [case(test, tensors) for test in collect_testcases(None)]
    # Renamed when it is complete, so that an interrupted run leaves no index.
    index = os.path.join(folder, "cases.json")
    with open(index + ".part", "w", encoding="utf-8") as file:
        json.dump({"package": onnx.__version__, "cases": cases}, file)
    os.replace(index + ".part", index)


if __name__ == "__main__":
    main(sys.argv[1])
