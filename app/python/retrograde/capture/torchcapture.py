# SPDX-License-Identifier: Apache-2.0
"""Captures a PyTorch module by symbolic tracing (torch.fx) as graph JSON that Retrograde opens, explains and plans for.

    from retrograde.capture import torchcapture
    torchcapture.capture(module, x, path="model.json")              # operators, weights, shapes of this x
    torchcapture.capture(module, x, path="model.json", measure=5)   # and milliseconds, the fastest of five

Operators that the ONNX standard knows become operators of the standard and can be run and explained; others keep
PyTorch's name in the domain `torch`: such a graph can be drawn, analysed and planned for, and running it is refused by
that name. runnable() takes torch.onnx.export for such a module. Modules in training mode are captured as they train.
The module is left as it was: mode, buffers and random generators. docs/capture.md says what tracing cannot see.
"""
import dis
import inspect
import operator
import pathlib
import sys
import warnings

import torch
import torch.fx

from . import spikylut
from . import torchinplace
from . import torchoperators
from . import torchstate
from .graphjson import CaptureError, GraphWriter
from .torchoperators import Operand


class Recorder(torchinplace.Interpreter):
    """Runs a traced module once (or `measure` times) and writes every node as it runs."""

    def __init__(self, traced, graph, weights, measure, has_cuda):
        super().__init__(traced)
        self.writer, self.weights, self.measure = graph, weights, measure
        self.watch = torchstate.Stopwatch(has_cuda)
        self.operands, self.constants = {}, {}

    def constant(self, name, tensor):
        """Value of a parameter, buffer or constant tensor; one that is read twice is written once."""
        if id(tensor) not in self.constants:
            torchstate.dtype_name(tensor.dtype, f"'{name}'")
            plain = tensor.detach().cpu()
            if plain.dtype == torch.bfloat16:
                raise CaptureError(f"'{name}' is bfloat16, which numpy cannot hold; capture module.float() instead")
            value = self.writer.add_constant(name, plain.numpy(), self.weights)
            self.constants[id(tensor)] = (Operand(value, tuple(tensor.shape), tensor.dtype, constant=tensor), tensor)
        return self.constants[id(tensor)][0]

    def placeholder(self, target, args, kwargs):
        result = super().placeholder(target, args, kwargs)
        tensors = torchstate.tensors_of(result)
        if len(tensors) == 1 and tensors[0] is result:
            dtype = torchstate.dtype_name(result.dtype, f"input '{target}'")
            name = self.writer.add_input(str(target), dtype, result.shape, requires_grad=result.requires_grad or None)
            self.operands[self.node] = Operand(name, tuple(result.shape), result.dtype)
        elif tensors:
            raise CaptureError(f"input '{target}' is a {type(result).__name__} of tensors; pass tensors one by one")
        else:
            self.operands[self.node] = result
        return result

    def run_node(self, node):
        self.node = node
        if node.op in ("placeholder", "output"):
            return super().run_node(node)
        if node.op == "get_attr":
            result = super().run_node(node)
            if isinstance(result, torch.Tensor):
                self.operands[node] = self.constant(node.target, result)
            return result
        result, milliseconds = self.timed(node)
        self.record(node, result, milliseconds)
        return result

    def timed(self, node):
        result, best = self.watch(lambda: super(Recorder, self).run_node(node))
        for _ in range((self.measure or 1) - 1):
            _, again = self.watch(lambda: super(Recorder, self).run_node(node))
            best = min(best, again)
        return result, best if self.measure else None

    def record(self, node, result, milliseconds):
        if not torchstate.tensors_of(result):
            self.operands[node] = result
            return
        arguments = torch.fx.node.map_arg(node.args, self.operands.__getitem__)
        keywords = torch.fx.node.map_arg(node.kwargs, self.operands.__getitem__)
        if node.target is operator.getitem and isinstance(arguments[0], (tuple, list)):
            self.operands[node] = arguments[0][arguments[1]]
            return
        module = self.module.get_submodule(node.target) if node.op == "call_module" else None
        self.operands[node] = torchoperators.emit(self, node, module, arguments, keywords, result, milliseconds)


class Tracer(torch.fx.Tracer):
    """torch.fx with modules that stay one node, and with `a, b = f(x)`, which PyTorch 1.13 cannot see in the bytecode
    of Python 3.11. Buffers are followed, too, so that they may be cut to sizes that the input says."""

    proxy_buffer_attributes = True

    def __init__(self, leaves):
        super().__init__()
        self.leaves = tuple(leaves)

    def is_leaf_module(self, m, module_qualified_name):
        return isinstance(m, self.leaves) or spikylut.is_lut_layer(m) or super().is_leaf_module(m, module_qualified_name)

    def iter(self, obj):
        frame = sys._getframe(2)
        for instruction in dis.get_instructions(frame.f_code):
            if instruction.offset == frame.f_lasti and instruction.opname == "UNPACK_SEQUENCE":
                return (obj[i] for i in range(instruction.argval))
        return super().iter(obj)


def traced(module, leaves=()):
    """The module as torch.fx sees it. What it cannot trace is a CaptureError with its reason."""
    return traced_by(Tracer(leaves), module)


def traced_by(tracer, module):
    """The module as this tracer sees it. What it cannot trace is a CaptureError with its reason."""
    try:
        return torch.fx.GraphModule(module, tracer.trace(module))
    except Exception as error:  # whatever the user's code raises when it meets a proxy in place of a tensor
        raise CaptureError(f"{type(module).__name__} cannot be traced: {error}. Control flow that depends on tensors "
                           "must go, or be hidden in a module named in leaves=; torchautograd.capture follows the "
                           "operators of one run instead, and torch.onnx.export writes them as a model that runs"
                           ) from error


def named_inputs(traced_module, inputs, keywords):
    """Arguments in the order of the placeholders, with the defaults of those that are not given."""
    placeholders = [node for node in traced_module.graph.nodes if node.op == "placeholder"]
    names = [node.target for node in placeholders]
    unknown = set(keywords) - set(names)
    if unknown:
        raise CaptureError(f"there is no input '{sorted(unknown)[0]}'; inputs are {', '.join(names)}")
    given = dict(zip(names, inputs))
    given.update(keywords)
    return [given[node.target] if node.target in given else node.args[0] for node in placeholders
            if node.target in given or node.args]


def capture(module, *inputs, path=None, name=None, weights=True, measure=0, leaves=(), **keywords):
    """Captures a module for the shapes of these inputs; the GraphWriter, and the file at `path`.

    weights=False leaves the numbers of parameters out (then the graph can be planned for only). measure=N runs each
    node N times and states the fastest, in milliseconds. leaves: classes of modules that are one node each."""
    if not isinstance(module, torch.nn.Module):
        raise CaptureError(f"{type(module).__name__} is no torch.nn.Module; wrap a function in one, or use "
                           "torchautograd.capture")
    graph = GraphWriter(name or type(module).__name__)
    plain = traced(module, leaves)
    has_cuda = torchstate.uses_cuda(module, inputs)
    arguments = named_inputs(plain, inputs, keywords)
    torchinplace.without_changes(plain, arguments, has_cuda, refuses_state=False)
    recorder = Recorder(plain, graph, weights, measure, has_cuda)
    with torch.no_grad(), torchstate.untouched(module, has_cuda):
        recorder.run(*arguments)
    last = next(node for node in plain.graph.nodes if node.op == "output")
    outputs = torch.fx.node.map_arg(last.args[0], recorder.operands.__getitem__)
    graph.set_outputs(dict.fromkeys(one.name for one in torchoperators.operands_of(outputs)))
    if path:
        graph.write(path)
    return graph


def runnable(module, inputs, folder):
    """The file of a model that runs, for the shapes of these inputs (a list, or a dictionary by name): the capture, or,
    where it would hold what the ONNX standard does not know, what torch.onnx.export makes of the module. Says so in a
    warning. A module in training mode is captured in any case: the exporter knows evaluation alone."""
    named = inputs if isinstance(inputs, dict) else {}
    given = [] if named else list(inputs)
    path = pathlib.Path(folder) / "model.json"
    try:
        graph = capture(module, *given, path=path, **named)
        own = sorted({node["op"] for node in graph.nodes if node.get("domain") == "torch"})
        reason = f"a capture would hold {', '.join(own)} of PyTorch, which no ONNX operator stands for" if own else None
    except CaptureError as error:
        if module.training:
            raise
        reason = str(error).partition(". ")[0]  # without what else could be done
    if reason is None or module.training:
        return str(path)
    from ..model import exported
    names = list(named) or list(inspect.signature(module.forward).parameters)[:len(given)]
    path = path.with_suffix(".onnx")
    path.write_bytes(exported(module, tuple(named.values()) or tuple(given), names))
    warnings.warn(f"{type(module).__name__} goes through torch.onnx.export, for these inputs: {reason}", stacklevel=3)
    return str(path)
