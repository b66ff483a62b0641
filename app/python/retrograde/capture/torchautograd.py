# SPDX-License-Identifier: Apache-2.0
"""Captures one run of a PyTorch module or function, operator by operator of ATen, with what autograd saves of each.

    from retrograde.capture import torchautograd
    torchautograd.capture(network, x, path="run.json")                          # operators, bytes, saved tensors
    torchautograd.capture(network, x, step=True, measure=3, path="step.json")   # the gradients' operators, too; times

It follows what runs: control flow, in-place operators and views included, other values may take another way. Which
tensors an operator saves for its gradient is read from its `grad_fn` (the attributes `_saved_…`), so that a plan knows
the true price of keeping it. With step=True the backward pass of the sum of the first result is recorded after the
forward pass. The graph can be drawn, analysed and planned for; operators keep ATen's names in the domain `torch`. The
module is left as it was: mode, buffers, gradients, random generators. All tensors are held while it runs.
"""
import math

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from . import torchstate
from .graphjson import CaptureError, GraphWriter

PRODUCTS = {"mm", "bmm", "addmm", "baddbmm", "matmul", "convolution", "convolution_backward"}
DRAWS = {"bernoulli", "bernoulli_", "native_dropout", "rand", "randn", "rand_like", "randn_like", "normal_", "uniform_",
         "rrelu_with_noise", "multinomial", "randperm", "exponential_"}
SKIPPED = {"detach"}


def cost_of(kind, operands, results):
    """Floating-point operations: two per multiply-add of products and convolutions, else one per element."""
    elements = sum(one.numel() for one in results)
    if kind in ("mm", "bmm"):
        return 2 * elements * operands[0].shape[-1]
    if kind in ("addmm", "baddbmm"):
        return 2 * elements * operands[1].shape[-1]
    if kind == "convolution":
        return 2 * elements * math.prod(operands[1].shape[1:])
    if kind == "convolution_backward":
        return 4 * operands[0].numel() * math.prod(operands[2].shape[1:])
    return elements


class Recorder(TorchDispatchMode):
    """Writes every operator as it runs. Tensors are told apart by identity, which is why all are held."""

    def __init__(self, graph, has_cuda):
        super().__init__()
        self.graph, self.watch = graph, torchstate.Stopwatch(has_cuda)
        self.names, self.held, self.storages, self.written = {}, [], {}, []
        self.phase, self.scopes = "forward", []

    def hold(self, tensor, name):
        self.held.append(tensor)
        self.names[id(tensor)] = name

    def storage(self, tensor):
        """A number per memory; None for tensors of no elements."""
        place = torchstate.storage_of(tensor)
        return self.storages.setdefault(place, len(self.storages)) if tensor.numel() else None

    def name_of(self, tensor):
        """Value of an operand; one that nobody made so far is a constant of the code."""
        if id(tensor) not in self.names:
            name = self.graph.add_value("constant", torchstate.dtype_name(tensor.dtype, "a constant"), tensor.shape)
            self.graph.values[name]["constant"] = {"dtype": self.graph.values[name]["dtype"],
                                                   "shape": list(tensor.shape)}
            self.hold(tensor, name)
        return self.names[id(tensor)]

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        operands = torchstate.tensors_of([args, kwargs])
        result, milliseconds = self.watch(lambda: function(*args, **kwargs))
        kind = str(function).split(".")[1] if "." in str(function) else str(function)
        results = torchstate.tensors_of(result)
        if kind in SKIPPED:
            self.hold(results[0], self.name_of(operands[0]))
        elif results:
            self.write(kind, str(function), operands, results, milliseconds)
        return result

    def write(self, kind, full, operands, results, milliseconds):
        inputs = [self.name_of(one) for one in operands]
        in_place = [one for one in results if any(one is operand for operand in operands)]
        outputs = []
        for i, one in enumerate(results):
            dtype = torchstate.dtype_name(one.dtype, f"the result of {full}")
            name = self.graph.add_value(kind if len(results) == 1 else f"{kind}_{i}", dtype, one.shape,
                                        bytes=torchstate.bytes_of(one), storage=self.storage(one))
            outputs.append(name)
            self.hold(one, name)
        scope = "/".join(self.scopes[-1].split(".")) if self.scopes and self.phase == "forward" else ""
        self.graph.add_node(kind, inputs, outputs, kind, "torch", scope, flops=cost_of(kind, operands, results),
                            milliseconds=milliseconds, phase=self.phase, metadata={"operator": full},
                            stochastic=True if kind in DRAWS else None, recomputable=False if in_place else None)
        self.written.append((self.graph.nodes[-1], operands, results))


def saved_by(grad_fn):
    """The tensors that a node of autograd saved."""
    found = []
    for attribute in dir(grad_fn):
        if attribute.startswith("_saved_"):
            found += torchstate.tensors_of(getattr(grad_fn, attribute))
    return found + torchstate.tensors_of(getattr(grad_fn, "saved_tensors", ()))


def state_saves(written):
    """Writes which operands and results each operator of the forward pass saved, as its grad_fn says."""
    for node, operands, results in written:
        grad_fn = next((one.grad_fn for one in results if one.grad_fn is not None), None)
        if grad_fn is None:
            node["saves_inputs"], node["saves_outputs"] = [], []
            continue
        places = {torchstate.storage_of(one) for one in saved_by(grad_fn) if one.numel()}
        node["metadata"]["gradient"] = type(grad_fn).__name__
        node["saves_inputs"] = [i for i, one in enumerate(operands) if torchstate.storage_of(one) in places]
        node["saves_outputs"] = [i for i, one in enumerate(results) if torchstate.storage_of(one) in places]


class Scopes:
    """Follows which module runs, for the scopes of the operators."""

    def __init__(self, module, recorder):
        self.module, self.recorder, self.handles = module, recorder, []

    def __enter__(self):
        for name, one in self.module.named_modules() if isinstance(self.module, torch.nn.Module) else ():
            self.handles.append(one.register_forward_pre_hook(lambda *_, n=name: self.recorder.scopes.append(n)))
            self.handles.append(one.register_forward_hook(lambda *_: (self.recorder.scopes.pop(), None)[1]))

    def __exit__(self, *_):
        for handle in self.handles:
            handle.remove()


def record(function, inputs, keywords, name, step, has_cuda):
    """One run; the GraphWriter."""
    graph = GraphWriter(name)
    recorder = Recorder(graph, has_cuda)
    own = [*function.named_parameters(), *function.named_buffers()] if isinstance(function, torch.nn.Module) else []
    for label, tensor in own:
        value = graph.add_value(label, torchstate.dtype_name(tensor.dtype, f"'{label}'"), tensor.shape,
                                storage=recorder.storage(tensor))
        graph.values[value]["constant"] = {"dtype": graph.values[value]["dtype"], "shape": list(tensor.shape)}
        recorder.hold(tensor, value)
    given = torchstate.tensors_of([list(inputs), keywords])
    for i, tensor in enumerate(given):
        recorder.hold(tensor, graph.add_input(f"input{i}", torchstate.dtype_name(tensor.dtype, f"input {i}"),
                                              tensor.shape, storage=recorder.storage(tensor)))
    trained = [one for _, one in own if one.requires_grad] + [one for one in given if one.requires_grad]
    with torch.enable_grad(), recorder, Scopes(function, recorder):
        result = function(*inputs, **keywords)
    results = [one for one in torchstate.tensors_of(result) if id(one) in recorder.names]
    state_saves(recorder.written)
    recorder.phase, gradients = "backward", []
    if step:
        with recorder:
            gradients = backward(results, trained)
    graph.set_outputs(dict.fromkeys(recorder.names[id(one)] for one in [*results, *gradients]
                                    if id(one) in recorder.names))
    if not step:
        for node in graph.nodes:
            node.pop("phase")
    return graph


def backward(results, trained):
    if not results or not results[0].requires_grad:
        raise CaptureError("step=True needs a first result that depends on a parameter or input with requires_grad")
    found = torch.autograd.grad(results[0].sum(), trained, allow_unused=True)
    return [one for one in found if one is not None]


def capture(function, *inputs, path=None, name=None, step=False, measure=0, **keywords):
    """Captures a run of a module or function on these inputs; the GraphWriter, and the file at `path`.

    step=True also records the backward pass of the sum of the first result, by all parameters and inputs that require
    gradients. measure=N runs it N times and states the fastest of each operator, in milliseconds."""
    if not callable(function):
        raise CaptureError(f"{type(function).__name__} cannot be called; pass a module or a function")
    label = name or getattr(function, "__name__", type(function).__name__)
    module = function if isinstance(function, torch.nn.Module) else torch.nn.Module()
    has_cuda = torchstate.uses_cuda(module, inputs)
    graphs = []
    for _ in range(max(1, measure)):
        with torchstate.untouched(module, has_cuda):
            graphs.append(record(function, inputs, keywords, label, step, has_cuda))
    graph = graphs[0]
    if any([one["op"] for one in other.nodes] != [one["op"] for one in graph.nodes] for other in graphs):
        raise CaptureError(f"{label} does not do the same on every call, so that it cannot be measured more than once; "
                           "use measure=1")
    for i, node in enumerate(graph.nodes):
        times = [other.nodes[i].pop("milliseconds") for other in graphs]
        if measure:
            node["milliseconds"] = min(times)
    if path:
        graph.write(path)
    return graph
