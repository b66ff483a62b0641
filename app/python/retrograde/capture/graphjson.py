# SPDX-License-Identifier: Apache-2.0
"""Writes graph JSON (docs/formats/graph.md): what the captures of PyTorch and JAX have in common. Needs numpy only.

    graph = GraphWriter("net")
    graph.add_input("x", "float32", (1, 3))
    w = graph.add_constant("w", numpy.ones((3, 2), numpy.float32))
    graph.add_value("y", "float32", (1, 2))
    graph.add_node("MatMul", ["x", w], ["y"], name="product", milliseconds=0.2)
    graph.set_outputs(["y"])
    graph.write("net.json")
"""
import base64
import json
import os
import pathlib
import tempfile

import numpy

from ..errors import InputError

FORMAT = "retrograde-graph/1"
OPSET = 20
DTYPES = {"float32": 4, "float64": 8, "float16": 2, "bfloat16": 2, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2,
          "int32": 4, "uint32": 4, "int64": 8, "uint64": 8, "bool": 1}


class CaptureError(InputError):
    """What could not be captured, where, and what to do about it."""


def bytes_of(dtype, shape):
    """Bytes of a dense tensor; shape: numbers only."""
    count = 1
    for extent in shape:
        count *= int(extent)
    return count * DTYPES[dtype]


def tensor_field(array):
    """A constant or attribute of kind tensor: dtype, shape, elements in row-major order, little endian, base64."""
    array = numpy.asarray(array)
    dtype = str(array.dtype)
    if dtype not in DTYPES:
        raise CaptureError(f"graph JSON holds no tensors of the type {dtype}; convert it to float32 or int64 first")
    shape = [int(extent) for extent in array.shape]
    little = numpy.ascontiguousarray(array.astype(array.dtype.newbyteorder("<"), copy=False))
    return {"dtype": dtype, "shape": shape, "data": base64.b64encode(little.tobytes()).decode()}


def number_field(value):
    """A float as graph JSON wants it: a number or one of "inf", "-inf", "nan"."""
    value = float(value)
    return value if numpy.isfinite(value) else "nan" if value != value else "inf" if value > 0 else "-inf"


def attribute_field(value):
    """The attribute whose kind follows from the Python value; a numpy array becomes a tensor."""
    if isinstance(value, numpy.ndarray):
        return {"tensor": tensor_field(value)}
    if isinstance(value, (bool, int, numpy.integer)):
        return {"int": int(value)}
    if isinstance(value, (float, numpy.floating)):
        return {"float": number_field(value)}
    if isinstance(value, str):
        return {"text": value}
    items = list(value)
    if all(isinstance(item, (bool, int, numpy.integer)) for item in items):
        return {"ints": [int(item) for item in items]}
    if all(isinstance(item, str) for item in items):
        return {"texts": items}
    return {"floats": [number_field(item) for item in items]}


def write_text(path, text):
    """Writes a file whole or not at all."""
    path = pathlib.Path(path)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name + ".")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


class GraphWriter:
    """Collects values and nodes. Names of values and of nodes are unique; a name that is taken gets ~2, ~3, …"""

    def __init__(self, name, opsets=None):
        self.name = name
        self.opsets = {"ai.onnx": OPSET, **(opsets or {})}
        self.inputs, self.outputs, self.values, self.nodes = [], [], {}, []
        self._node_names = set()

    @staticmethod
    def _free(name, taken):
        name, wanted, count = str(name) or "unnamed", str(name) or "unnamed", 1
        while name in taken:
            count += 1
            name = f"{wanted}~{count}"
        return name

    def add_value(self, name, dtype=None, shape=None, **facts):
        """A value; shape: numbers, symbols (text) or None. Facts: bytes, storage, pinned, requires_grad. Its name."""
        name = self._free(name, self.values)
        value = {"name": name}
        if dtype is not None:
            if dtype not in DTYPES:
                raise CaptureError(f"value '{name}' has the type {dtype}, which graph JSON does not know; convert it "
                                   f"to one of {', '.join(DTYPES)}")
            value["dtype"] = dtype
        if shape is not None:
            value["shape"] = [extent if isinstance(extent, str) or extent is None else int(extent) for extent in shape]
        value.update({key: fact for key, fact in facts.items() if fact is not None})
        self.values[name] = value
        return name

    def add_input(self, name, dtype, shape, **facts):
        """A value that is an input of the graph. Its name."""
        name = self.add_value(name, dtype, shape, **facts)
        self.inputs.append(name)
        return name

    def add_constant(self, name, array, weights=True):
        """A constant; without `weights` only type and shape are written, and the graph cannot be run. Its name."""
        array = numpy.asarray(array)
        name = self.add_value(name, str(array.dtype), array.shape)
        field = tensor_field(array if weights else numpy.empty(0, array.dtype))
        if not weights:
            field = {"dtype": str(array.dtype), "shape": [int(extent) for extent in array.shape]}
        self.values[name]["constant"] = field
        return name

    def add_node(self, op, inputs, outputs, name="", domain="", scope="", attributes=None, **facts):
        """A node. Facts: flops, milliseconds, workspace, phase, saves_inputs, saves_outputs, recomputable, stochastic,
        effectful, metadata. Its name."""
        name = self._free(name or op, self._node_names)
        self._node_names.add(name)
        node = {"name": name, "op": op, "inputs": list(inputs), "outputs": list(outputs)}
        if domain:
            node["domain"] = domain
        if scope:
            node["scope"] = scope
        if attributes:
            node["attributes"] = {key: attribute_field(value) for key, value in attributes.items()}
        node.update({key: fact for key, fact in facts.items() if fact is not None})
        self.nodes.append(node)
        return name

    def set_outputs(self, names):
        """The outputs, in order; at least one."""
        self.outputs = list(names)

    def document(self):
        """The graph as a Python dictionary in the shape of the file."""
        if not self.outputs:
            raise CaptureError(f"graph '{self.name}' has no outputs: what was captured returned no tensor")
        return {"format": FORMAT, "name": self.name, "opsets": self.opsets, "inputs": self.inputs,
                "outputs": self.outputs, "values": list(self.values.values()), "nodes": self.nodes}

    def write(self, path):
        """Writes the file whole or not at all."""
        write_text(path, json.dumps(self.document()))
        return str(path)
