# SPDX-License-Identifier: Apache-2.0
"""Nodes of torch.fx as operators of the ONNX standard. A table from modules, functions and methods to what writes them;
what the table does not know, or knows in another form only, becomes an operator of the domain `torch`."""
import dataclasses
import math
import typing

import numpy
import torch

from . import spikylut
from . import torchinplace
from . import torchstate
from .torchforms import FORMS, Form, NotStandard


@dataclasses.dataclass
class Operand:
    """A value of the graph that stands for a tensor."""
    name: str
    shape: tuple
    dtype: typing.Any
    constant: typing.Any = None  # the tensor, of parameters, buffers and constants


def operands_of(thing):
    """All operands in nested tuples, lists and dictionaries, in order."""
    if isinstance(thing, Operand):
        return [thing]
    if isinstance(thing, dict):
        thing = list(thing.values())
    if isinstance(thing, (tuple, list)):
        return [one for part in thing for one in operands_of(part)]
    return []


def like(result, operands):
    """The structure of `result` with an operand for each tensor, in order."""
    if isinstance(result, torch.Tensor):
        return operands.pop(0)
    if isinstance(result, dict):
        return {key: like(one, operands) for key, one in result.items()}
    if isinstance(result, (tuple, list)):
        return tuple(like(one, operands) for one in result)
    return result


class Emitter:
    """What a form of the table writes with: the nodes of one node of torch.fx."""

    def __init__(self, recorder, node, module, result):
        self.recorder, self.graph, self.node = recorder, recorder.writer, node
        self.module, self.result = module, result
        self.scope = scope_of(node)
        self.outputs = torchstate.tensors_of(result)

    def parameter(self, name):
        """Operand of a parameter or buffer of the module; None where it has none."""
        tensor = getattr(self.module, name, None)
        return None if tensor is None else self.recorder.constant(f"{self.node.target}.{name}", tensor)

    def constant(self, array, name="constant"):
        """Operand of a small constant."""
        array = numpy.asarray(array)
        value = self.graph.add_constant(f"{self.node.name}_{name}", array)
        return Operand(value, array.shape, torch.from_numpy(numpy.atleast_1d(array)).dtype)

    def scalar(self, operand, other):
        """A number as operand of the type of another."""
        if isinstance(operand, Operand):
            return operand
        return self.constant(numpy.asarray(operand, torchstate.DTYPES[other.dtype]))

    def write(self, op, inputs, attributes=None, flops=None, shape=None, dtype=None):
        """Writes a node of one result. Without a shape it is the result of the node of torch.fx."""
        final = shape is None
        shape = tuple(self.outputs[0].shape) if final else tuple(shape)
        dtype = self.outputs[0].dtype if dtype is None else dtype
        name = self.graph.add_value(self.node.name if final else f"{self.node.name}_{op.lower()}",
                                    torchstate.dtype_name(dtype, f"the result of '{self.node.name}'"), shape)
        inputs = [None if one is None else one.name for one in inputs]
        self.graph.add_node(op, inputs, [name], self.node.name, scope=self.scope, attributes=attributes,
                            flops=math.prod(shape) if flops is None else flops)
        return Operand(name, shape, dtype)

    def write_parts(self, op, inputs, attributes):
        """Writes a node with a result for each tensor that the node of torch.fx returns; operands in its structure."""
        parts = []
        for i, tensor in enumerate(self.outputs):
            dtype = torchstate.dtype_name(tensor.dtype, f"the result of '{self.node.name}'")
            name = self.graph.add_value(f"{self.node.name}_{i}", dtype, tensor.shape)
            parts.append(Operand(name, tuple(tensor.shape), tensor.dtype))
        self.graph.add_node(op, [one.name for one in inputs], [one.name for one in parts], self.node.name,
                            scope=self.scope, attributes=attributes, flops=0)
        return like(self.result, parts)


def scope_of(node):
    """The module that a node lies in, parts separated by /."""
    stack = node.meta.get("nn_module_stack") if node.meta else None
    if stack:
        return str(list(stack)[-1]).replace(".", "/")
    return str(node.target).replace(".", "/") if node.op == "call_module" else ""


def name_of(node, module):
    """What the node calls: the class of a module, the name of a function or method."""
    if module is not None:
        return type(module).__name__
    return node.target if isinstance(node.target, str) else getattr(node.target, "__name__", str(node.target))


def emit(recorder, node, module, arguments, keywords, result, milliseconds):
    """Writes one node of torch.fx; operands in the structure of its result."""
    emitter = Emitter(recorder, node, module, result)
    form = FORMS.get(out_of_place(node, name_of(node, module))) if not changes_in_place(node) else None
    form = Form(lookup, False) if spikylut.is_lut_layer(module) else form
    values, nodes = set(recorder.writer.values), len(recorder.writer.nodes)
    try:
        if form is None or (module is None) != form.is_function:
            raise NotStandard
        operand = form.write(emitter, *arguments, **keywords)
    except (NotStandard, TypeError):
        drop_since(recorder, values, nodes)
        operand = opaque(emitter, arguments, keywords)
    states_time(recorder.writer.nodes[nodes:], milliseconds)
    return operand


def lookup(emitter, x):
    """A LUT layer of spiky as the operator LUT."""
    name = str(emitter.node.target)
    layer = spikylut.layer_of(emitter.module, f"'{name}'")
    result = emitter.outputs[0]
    value = emitter.graph.add_value(emitter.node.name, torchstate.dtype_name(result.dtype, f"'{name}'"), result.shape)
    spikylut.add(emitter.graph, layer, x.name, value, name, emitter.scope)
    return Operand(value, tuple(result.shape), result.dtype)


def changes_in_place(node):
    """Whether a method changes its operand and is not written as a value of its own (torchinplace.py): no operator of
    the standard does that."""
    is_method = node.op == "call_method" and str(node.target).endswith("_") and not str(node.target).endswith("__")
    return is_method and torchinplace.CHANGED not in node.meta


def out_of_place(node, name):
    """The name of the form that leaves its operand as it is."""
    return name[:-1] if torchinplace.CHANGED in node.meta and name.endswith("_") else name


def drop_since(recorder, values, nodes):
    """Takes back what a form wrote before it found that it does not fit."""
    graph = recorder.writer
    graph.values = {name: value for name, value in graph.values.items() if name in values}
    graph._node_names -= {node["name"] for node in graph.nodes[nodes:]}
    del graph.nodes[nodes:]
    recorder.constants = {key: one for key, one in recorder.constants.items() if one[0].name in values}


def states_time(nodes, milliseconds):
    """The time of the node of torch.fx, at the last of the nodes that it became."""
    if milliseconds is not None:
        for node in nodes:
            node["milliseconds"] = 0.0
        if nodes:
            nodes[-1]["milliseconds"] = milliseconds


def opaque(emitter, arguments, keywords):
    """One node of the domain torch with every tensor as operand, parameters of a module included."""
    graph, node, module = emitter.graph, emitter.node, emitter.module
    inputs = operands_of(arguments) + operands_of(keywords)
    if module is not None:
        inputs += [emitter.recorder.constant(f"{node.target}.{name}", tensor)
                   for name, tensor in [*module.named_parameters(), *module.named_buffers()]]
    outputs = []
    for i, tensor in enumerate(emitter.outputs):
        name = node.name if len(emitter.outputs) == 1 else f"{node.name}_{i}"
        dtype = torchstate.dtype_name(tensor.dtype, f"the result of '{node.name}'")
        outputs.append(Operand(graph.add_value(name, dtype, tensor.shape), tuple(tensor.shape), tensor.dtype))
    kind = name_of(node, module)
    stochastic = draws(emitter, kind)
    graph.add_node(kind, [one.name for one in inputs], [one.name for one in outputs], node.name, "torch",
                   emitter.scope, flops=sum(tensor.numel() for tensor in emitter.outputs),
                   metadata={"source": str(node.format_node())}, stochastic=stochastic or None,
                   effectful=changes_in_place(node) or keeps_statistics(module) or None)
    return like(emitter.result, outputs)


def draws(emitter, kind):
    """Whether the node draws random numbers in this mode."""
    is_training = emitter.module.training if emitter.module is not None else True
    return is_training and any(word in kind.lower() for word in ("dropout", "bernoulli", "rand", "rrelu"))


def keeps_statistics(module):
    """Whether running the module changes buffers of it."""
    return module is not None and module.training and any(
        getattr(one, "track_running_stats", False) for one in module.modules())
