# SPDX-License-Identifier: Apache-2.0
"""Primitives of JAX as operators of the ONNX standard; those that the table does not know, or knows in another form
only, become operators of the domain `jax`."""
import dataclasses
import math
import typing

import numpy

from .graphjson import DTYPES, CaptureError

SIMPLE = {"add": "Add", "add_any": "Add", "sub": "Sub", "mul": "Mul", "div": "Div", "neg": "Neg", "exp": "Exp",
          "log": "Log", "tanh": "Tanh", "logistic": "Sigmoid", "sqrt": "Sqrt", "abs": "Abs", "sign": "Sign",
          "erf": "Erf", "sin": "Sin", "cos": "Cos", "floor": "Floor", "ceil": "Ceil", "stop_gradient": "Identity",
          "copy": "Identity", "copy_p": "Identity", "optimization_barrier": "Identity", "min": "Min", "max": "Max",
          "eq": "Equal", "gt": "Greater", "lt": "Less", "ge": "GreaterOrEqual", "le": "LessOrEqual", "and": "And",
          "or": "Or", "not": "Not", "pow": "Pow"}
REDUCTIONS = {"reduce_sum": "ReduceSum", "reduce_max": "ReduceMax", "reduce_min": "ReduceMin",
              "reduce_prod": "ReduceProd"}
ONNX_TYPES = {"float32": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "bool": 9,
              "float16": 10, "float64": 11, "uint32": 12, "uint64": 13, "bfloat16": 16}
LETTERS = "abcdefghijklmnopqrstuvwxyz"


class NotStandard(Exception):
    """The standard has no operator for this form of the primitive."""


@dataclasses.dataclass
class Operand:
    """A value of the graph. array: its numbers while measuring; constant: its numbers, of constants."""
    name: str
    shape: tuple
    dtype: str
    array: typing.Any = None
    constant: typing.Any = None


def dtype_name(dtype, of):
    if str(dtype) not in DTYPES:
        raise CaptureError(f"{of} has the type {dtype}, which a capture cannot hold; pass raw keys "
                           "(jax.random.PRNGKey) and floats or integers")
    return str(dtype)


def must(condition):
    if not condition:
        raise NotStandard


def distinct(graph, results):
    """Names of the outputs; one that is returned twice, an input or a constant gets a copy."""
    names = []
    for one in results:
        name = one.name
        if name in names or name in graph.inputs or one.constant is not None:
            copy = graph.add_value(f"{name}_out", one.dtype, one.shape)
            graph.add_node("Identity", [name], [copy], f"{name}_copy")
            name = copy
        names.append(name)
    return names


class Emitter:
    """What one equation is written with."""

    def __init__(self, graph, name, avals, scope):
        self.graph, self.name, self.avals, self.scope = graph, name, avals, scope
        self.nodes = []

    def write(self, op, inputs, attributes=None, shape=None, dtype=None, flops=None):
        """A node of one result; without a shape it is that of the equation."""
        aval = self.avals[0]
        shape = tuple(aval.shape) if shape is None else tuple(shape)
        dtype = str(aval.dtype) if dtype is None else dtype
        value = self.graph.add_value(self.name, dtype_name(dtype, f"the result of '{self.name}'"), shape)
        self.graph.add_node(op, [one.name for one in inputs], [value], self.name, scope=self.scope,
                            attributes=attributes, flops=math.prod(shape) if flops is None else flops)
        return [Operand(value, shape, dtype)]

    def constant(self, array):
        array = numpy.asarray(array)
        return Operand(self.graph.add_constant(f"{self.name}_constant", array), array.shape, str(array.dtype),
                       None, array)

    def reshaped(self, x, shape=None):
        shape = tuple(self.avals[0].shape) if shape is None else tuple(shape)
        return self.write("Reshape", [x, self.constant(numpy.asarray(shape, numpy.int64))], None, shape, x.dtype, 0)


def emit(graph, name, parameters, inputs, avals, scope, milliseconds):
    """Writes one equation; operands of its results."""
    emitter = Emitter(graph, name, avals, scope)
    values, nodes = set(graph.values), len(graph.nodes)
    try:
        results = standard(emitter, name, parameters, inputs)
    except NotStandard:
        graph.values = {key: value for key, value in graph.values.items() if key in values}
        graph._node_names -= {node["name"] for node in graph.nodes[nodes:]}
        del graph.nodes[nodes:]
        results = opaque(graph, name, parameters, inputs, avals, scope)
    for node in graph.nodes[nodes:] if milliseconds is not None else ():
        node["milliseconds"] = milliseconds if node is graph.nodes[-1] else 0.0
    return results


def opaque(graph, name, parameters, inputs, avals, scope):
    """One node of the domain jax."""
    results = []
    for aval in avals:
        dtype = str(aval.dtype)
        facts = {} if dtype in DTYPES else {"bytes": math.prod(aval.shape) * getattr(aval.dtype, "itemsize", 4)}
        value = graph.add_value(name, dtype if dtype in DTYPES else "uint32", aval.shape, **facts)
        results.append(Operand(value, tuple(aval.shape), dtype))
    said = {key: str(value)[:200] for key, value in parameters.items() if "jaxpr" not in key}
    graph.add_node(name, [one.name for one in inputs], [one.name for one in results], name, "jax", scope,
                   flops=sum(math.prod(aval.shape) for aval in avals), metadata=said)
    return results


def standard(e, name, p, inputs):
    """The equation in operators of the standard; NotStandard where there is none."""
    if name in FORMS:
        return FORMS[name](e, p, *inputs)
    if name in REDUCTIONS:
        axes = e.constant(numpy.asarray(p["axes"], numpy.int64))
        return e.write(REDUCTIONS[name], [inputs[0], axes], {"keepdims": 0}, flops=math.prod(inputs[0].shape))
    must(name in SIMPLE and len(e.avals) == 1)
    must(name not in ("and", "or", "not") or inputs[0].dtype == "bool")
    must(len({one.dtype for one in inputs}) == 1)
    return e.write(SIMPLE[name], inputs)


def is_zero(one):
    return one.constant is not None and one.constant.shape == () and one.constant == 0


def maximum(e, p, a, b):
    if is_zero(b) or is_zero(a):
        return e.write("Relu", [a if is_zero(b) else b])
    return e.write("Max", [a, b])


def rsqrt(e, p, x):
    return e.write("Reciprocal", e.write("Sqrt", [x], None, x.shape))


def square(e, p, x):
    return e.write("Mul", [x, x])


def integer_pow(e, p, x):
    if p["y"] == 2:
        return e.write("Mul", [x, x])
    return e.write("Pow", [x, e.constant(numpy.asarray(p["y"], x.dtype))])


def not_equal(e, p, a, b):
    return e.write("Not", e.write("Equal", [a, b]))


def cast(e, p, x):
    if str(e.avals[0].dtype) == x.dtype:
        return e.write("Identity", [x])
    return e.write("Cast", [x], {"to": ONNX_TYPES[dtype_name(e.avals[0].dtype, "a conversion")]})


def select(e, p, which, *cases):
    must(which.dtype == "bool" and len(cases) == 2)
    return e.write("Where", [which, cases[1], cases[0]])


def reshape(e, p, x, *rest):
    must(not rest)
    return e.reshaped(x)


def transpose(e, p, x):
    return e.write("Transpose", [x], {"perm": list(p["permutation"])}, flops=0)


def broadcast(e, p, x, *rest):
    must(not rest)
    shape = tuple(e.avals[0].shape)
    lined = [1] * len(shape)
    for axis, extent in zip(p["broadcast_dimensions"], x.shape):
        lined[axis] = extent
    if tuple(lined) == shape:
        return e.reshaped(x)
    flat = e.reshaped(x, lined)[0] if tuple(lined) != x.shape else x
    return e.write("Expand", [flat, e.constant(numpy.asarray(shape, numpy.int64))], flops=0)


def concatenate(e, p, *inputs):
    return e.write("Concat", inputs, {"axis": p["dimension"]}, flops=0)


def sliced(e, p, x):
    steps = p["strides"] or [1] * len(x.shape)
    parts = [e.constant(numpy.asarray(one, numpy.int64))
             for one in (p["start_indices"], p["limit_indices"], range(len(x.shape)), steps)]
    return e.write("Slice", [x, *parts], flops=0)


def split(e, p, x):
    sizes = e.constant(numpy.asarray(p["sizes"], numpy.int64))
    parts = [Operand(e.graph.add_value(e.name, x.dtype, aval.shape), tuple(aval.shape), x.dtype) for aval in e.avals]
    e.graph.add_node("Split", [x.name, sizes.name], [one.name for one in parts], e.name, scope=e.scope,
                     attributes={"axis": p["axis"]}, flops=0)
    return parts


def product(e, p, a, b):
    (contract_a, contract_b), (batch_a, batch_b) = p["dimension_numbers"]
    must(a.dtype == b.dtype == str(e.avals[0].dtype))
    flops = 2 * math.prod(e.avals[0].shape) * math.prod(a.shape[i] for i in contract_a)
    plain = not batch_a and list(contract_a) == [len(a.shape) - 1] and list(contract_b) == [0] and len(b.shape) == 2
    count = len(batch_a)
    batched = (list(batch_a) == list(batch_b) == list(range(count)) and len(a.shape) == len(b.shape) == count + 2
               and list(contract_a) == [count + 1] and list(contract_b) == [count])
    if plain or (batched and count):
        return e.write("MatMul", [a, b], flops=flops)
    return einsum(e, a, b, contract_a, contract_b, batch_a, batch_b, flops)


def einsum(e, a, b, contract_a, contract_b, batch_a, batch_b, flops):
    names_a = list(LETTERS[:len(a.shape)])
    names_b = list(LETTERS[len(a.shape):len(a.shape) + len(b.shape)])
    for i, j in [*zip(contract_a, contract_b), *zip(batch_a, batch_b)]:
        names_b[j] = names_a[i]
    free_a = [one for i, one in enumerate(names_a) if i not in (*contract_a, *batch_a)]
    free_b = [one for i, one in enumerate(names_b) if i not in (*contract_b, *batch_b)]
    result = [names_a[i] for i in batch_a] + free_a + free_b
    equation = f"{''.join(names_a)},{''.join(names_b)}->{''.join(result)}"
    return e.write("Einsum", [a, b], {"equation": equation}, flops=flops)


def turned(e, x, order):
    """x with its axes in this order; itself where that is none."""
    if list(order) == list(range(len(order))):
        return x
    shape = [x.shape[i] for i in order]
    return e.write("Transpose", [x], {"perm": [int(i) for i in order]}, shape, x.dtype, 0)[0]


def convolution(e, p, x, w):
    numbers = p["dimension_numbers"]
    must(p["batch_group_count"] == 1 and all(one == 1 for one in p["lhs_dilation"]))
    x, w = turned(e, x, numbers.lhs_spec), turned(e, w, numbers.rhs_spec)
    attributes = {"kernel_shape": list(w.shape[2:]), "strides": list(p["window_strides"]),
                  "pads": [low for low, _ in p["padding"]] + [high for _, high in p["padding"]],
                  "dilations": list(p["rhs_dilation"]), "group": int(p["feature_group_count"])}
    must(all(one >= 0 for one in attributes["pads"]))
    out = list(numbers.out_spec)
    shape = [e.avals[0].shape[i] for i in out]
    flops = 2 * math.prod(w.shape[1:]) * math.prod(shape)
    found = e.write("Conv", [x, w], attributes, shape, x.dtype, flops)
    back = [out.index(i) for i in range(len(out))]
    return found if back == list(range(len(out))) else [turned(e, found[0], back)]


def window(op):
    def write(e, p, x):
        dimensions = list(p["window_dimensions"])
        must(len(dimensions) >= 3 and all(one == 1 for one in p["base_dilation"]))
        must(all(one == 1 for one in p["window_dilation"]))
        axes = [i for i, extent in enumerate(dimensions) if extent == 1 and p["window_strides"][i] == 1]
        must(len(axes) >= 2 and dimensions[0] == 1)
        order = [0, axes[-1] if axes[-1] else axes[1]]
        order += [i for i in range(len(dimensions)) if i not in order]
        x = turned(e, x, order)
        pads = [p["padding"][i] for i in order[2:]]
        shape = [e.avals[0].shape[i] for i in order]
        attributes = {"kernel_shape": [dimensions[i] for i in order[2:]],
                      "strides": [p["window_strides"][i] for i in order[2:]],
                      "pads": [low for low, _ in pads] + [high for _, high in pads]}
        found = e.write(op, [x], attributes, shape, x.dtype, math.prod(dimensions) * math.prod(shape))
        return [turned(e, found[0], [order.index(i) for i in range(len(order))])]

    return write


def gather(e, p, table, indices):
    """Rows of a table by number, as embeddings are read."""
    numbers = p["dimension_numbers"]
    must(len(table.shape) == 2 and tuple(numbers.collapsed_slice_dims) == (0,) and tuple(numbers.start_index_map) == (0,))
    must(tuple(p["slice_sizes"]) == (1, table.shape[1]) and indices.shape[-1] == 1)
    must(tuple(numbers.offset_dims) == (len(indices.shape) - 1,))
    return e.write("Gather", [table, e.reshaped(indices, indices.shape[:-1])[0]], {"axis": 0}, flops=0)


def iota(e, p):
    shape = [1] * len(p["shape"])
    shape[p["dimension"]] = p["shape"][p["dimension"]]
    numbers = numpy.arange(shape[p["dimension"]], dtype=p["dtype"]).reshape(shape)
    return [e.constant(numpy.ascontiguousarray(numpy.broadcast_to(numbers, p["shape"])))]


FORMS = {"max": maximum, "rsqrt": rsqrt, "square": square, "integer_pow": integer_pow, "ne": not_equal,
         "convert_element_type": cast, "select_n": select, "reshape": reshape, "squeeze": reshape,
         "expand_dims": reshape, "transpose": transpose, "broadcast_in_dim": broadcast, "concatenate": concatenate,
         "slice": sliced, "split": split, "dot_general": product, "conv_general_dilated": convolution,
         "reduce_window_max": window("MaxPool"), "gather": gather, "iota": iota}
