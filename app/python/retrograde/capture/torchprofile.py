# SPDX-License-Identifier: Apache-2.0
"""What a module does in one forward pass, node by node of torch.fx: bytes, milliseconds, which tensors autograd saves,
which nodes draw random numbers. It is what a plan is made for (torchcheckpoint.py)."""
import operator

import torch
import torch.fx

from . import torchinplace
from . import torchoperators
from . import torchstate
from .graphjson import CaptureError, GraphWriter


class Name(str):
    """Stands for the tensor of a value in the structure of a result."""


def names_in(thing):
    """All names in nested tuples, lists and dictionaries, in order."""
    if isinstance(thing, Name):
        return [thing]
    if isinstance(thing, dict):
        thing = list(thing.values())
    if isinstance(thing, (tuple, list)):
        return [one for part in thing for one in names_in(part)]
    return []


def with_names(result, name):
    """The structure of a result with a name for each tensor: `name`, or `name_0`, `name_1`, … of several."""
    count = len(torchstate.tensors_of(result))
    return torchoperators.like(result, [Name(name if count == 1 else f"{name}_{i}") for i in range(count)])


class Unit:
    """A node that makes tensors."""

    def __init__(self, node, module):
        self.node, self.module, self.name = node, module, node.name
        self.inputs, self.outputs = [], []           # names of values, each once
        self.interior = 0                            # tensors that autograd saves and nobody else knows
        self.saved = set()                           # names of inputs and outputs that autograd saves
        self.draws = False
        self.wants_gradient = set()                  # names of inputs that require a gradient
        self.interior_name = Name(f"{node.name}.saved")

    def pinned(self, pinned):
        """Storages that stay in any case, with the buffers of the module as they lie now: they may be borrowed."""
        buffers = self.module.buffers() if self.module is not None else ()
        return pinned | {torchstate.storage_of(buffer) for buffer in buffers}


class Save:
    """A tensor that autograd saves: a view of a value, one that stays in any case, or one of the unit's own."""
    __slots__ = ("unit", "value", "view", "index", "tensor", "version")

    def __init__(self, tensor):
        self.tensor, self.version = tensor, tensor._version
        self.unit = self.value = self.view = self.index = None

    def settle(self, unit, known, pinned):
        """Finds out whose memory it is. known: storage → (name, tensor) of the unit's operands and results."""
        self.unit, self.tensor = unit, self.tensor.detach()
        place = torchstate.storage_of(self.tensor)
        if self.tensor.numel() == 0 or place in pinned:
            return
        name, whole = known.get(place, (None, None))
        if name is not None and whole.dtype == self.tensor.dtype:
            offset = self.tensor.storage_offset() - whole.storage_offset()
            if offset >= 0:
                self.value = name
                self.view = (tuple(self.tensor.shape), self.tensor.stride(), offset)
                return
        self.index = unit.interior
        unit.interior += 1


def viewed(tensor, view):
    """The part of a value that autograd saved."""
    shape, strides, offset = view
    if tuple(tensor.shape) == shape and tensor.stride() == strides and offset == 0:
        return tensor
    return tensor.as_strided(shape, strides, tensor.storage_offset() + offset)


class Profile(torchinplace.Interpreter):
    """Runs a traced module once under autograd without holding what autograd saves. `graph` is the graph to plan for,
    `units` the nodes in order, by name."""

    def __init__(self, traced, name, has_cuda, runs=2):
        super().__init__(traced)
        self.writer, self.has_cuda, self.runs = GraphWriter(name), has_cuda, runs
        self.watch = torchstate.Stopwatch(has_cuda)
        self.units, self.structure, self.storages, self.numbers = {}, {}, {}, {}
        self.producer = {}  # name of a value → name of its unit
        self.calls = []  # (operator of ATen, name of the unit) in order
        self.pinned = {torchstate.storage_of(tensor) for tensor in [*traced.parameters(), *traced.buffers()]}

    def placeholder(self, target, args, kwargs):
        result = super().placeholder(target, args, kwargs)
        self.structure[self.node] = with_names(result, self.node.name)
        for name, tensor in zip(names_in(self.structure[self.node]), torchstate.tensors_of(result)):
            self.pinned.add(torchstate.storage_of(tensor))
            self.writer.add_input(name, torchstate.dtype_name(tensor.dtype, f"input '{name}'"), tensor.shape,
                                  bytes=torchstate.bytes_of(tensor), requires_grad=tensor.requires_grad or None)
        return result

    def run_node(self, node):
        self.node = node
        if node.op in ("placeholder", "output"):
            return super().run_node(node)
        if node.op == "get_attr":
            result = super().run_node(node)
            self.structure[node] = result
            self.pinned |= {torchstate.storage_of(one) for one in torchstate.tensors_of(result)}  # a buffer is borrowed
            return result
        arguments = [tensor for one in node.all_input_nodes for tensor in torchstate.tensors_of(self.env[one])]
        if node.target is operator.getitem and isinstance(self.env[node.args[0]], (tuple, list, dict)):
            result = super().run_node(node)
            self.structure[node] = self.structure[node.args[0]][node.args[1]]
            return result
        return self.measured(node, arguments)

    def measured(self, node, arguments):
        """Runs a node, for its time as often as wanted, and writes it down."""
        versions = [tensor._version for tensor in arguments]
        before = torchstate.RandomState(self.has_cuda)
        unit = Unit(node, self.module.get_submodule(node.target) if node.op == "call_module" else None)
        saves = []

        def pack(tensor):
            saves.append(Save(tensor))

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda _: None), Calls(self.calls, node.name):
            result, milliseconds = self.watch(lambda: super(Profile, self).run_node(node))
        if [tensor._version for tensor in arguments] != versions:
            raise CaptureError(f"node '{node.name}' changes its operand in place only when gradients are enabled, so that "
                               "it cannot be computed again; use the form without inplace")
        if not torchstate.tensors_of(result):
            self.structure[node] = result
            return result
        unit.draws = torchstate.RandomState(self.has_cuda) != before
        for _ in range(self.runs - 1):
            with torch.no_grad():
                milliseconds = min(milliseconds, self.watch(lambda: super(Profile, self).run_node(node))[1])
        self.write(unit, result, saves, milliseconds)
        saves.clear()  # autograd holds the hook, and with it this list, as long as the graph of the run lives
        return result

    def write(self, unit, result, saves, milliseconds):
        node, tensors = unit.node, torchstate.tensors_of(result)
        self.structure[node] = with_names(result, node.name)
        given = torch.fx.node.map_arg((node.args, node.kwargs), self.structure.__getitem__)
        unit.inputs = list(dict.fromkeys(names_in(given)))
        unit.outputs = names_in(self.structure[node])
        operands = list(zip(names_in(given), arguments_of(node, self.structure, self.env)))
        unit.wants_gradient = {name for name, tensor in operands if tensor.requires_grad}
        known = known_storages(operands)
        for name, tensor in zip(unit.outputs, tensors):
            self.add_value(name, tensor, known)
        known.update(known_storages(zip(unit.outputs, tensors), known))
        interior = 0
        pinned = unit.pinned(self.pinned)
        for save in saves:
            save.settle(unit, known, pinned)
            unit.saved |= {save.value} - {None}
            interior += torchstate.bytes_of(save.tensor) if save.index is not None else 0
        self.add_node(unit, interior, milliseconds)
        self.units[unit.name] = unit
        self.producer.update((name, unit.name) for name in unit.outputs)

    def add_value(self, name, tensor, known):
        """A value; one that looks into the memory of another has that one's number, one of a parameter takes none."""
        place = torchstate.storage_of(tensor)
        base = known.get(place, (name, None))[0]
        number = self.numbers.setdefault(base, len(self.numbers))
        self.numbers[name] = number
        taken = 0 if place in self.pinned else torchstate.bytes_of(tensor)
        if base in self.writer.values:
            self.writer.values[base].setdefault("storage", number)
        self.writer.add_value(name, torchstate.dtype_name(tensor.dtype, f"the result of '{name}'"), tensor.shape,
                              bytes=taken, storage=number)

    def add_node(self, unit, interior, milliseconds):
        inputs, outputs = list(unit.inputs), list(unit.outputs)
        if unit.interior:
            self.writer.add_value(unit.interior_name, "float32", None, bytes=interior)
            outputs.append(unit.interior_name)
        saves_inputs = [i for i, name in enumerate(inputs) if name in unit.saved]
        saves_outputs = [i for i, name in enumerate(outputs) if name in unit.saved or name == unit.interior_name]
        if unit.module is not None:
            inputs += [self.parameter(f"{unit.node.target}.{name}", one)
                       for name, one in unit.module.named_parameters() if one.requires_grad]
        self.writer.add_node(torchoperators.name_of(unit.node, unit.module), inputs, outputs, unit.name, "torch",
                             torchoperators.scope_of(unit.node), milliseconds=milliseconds, saves_inputs=saves_inputs,
                             saves_outputs=saves_outputs)

    def root_of(self, name):
        """The value whose memory a value looks at; itself where it is no view."""
        while name in self.producer:
            values = self.writer.values
            number = values[name].get("storage")
            base = [one for one in self.units[self.producer[name]].inputs if values[one].get("storage") == number]
            if number is None or not base:
                return name
            name = base[0]
        return name

    def parameter(self, name, tensor):
        """A constant without its numbers; one that several modules share is written once."""
        if id(tensor) not in self.storages:
            dtype = torchstate.dtype_name(tensor.dtype, f"'{name}'")
            value = self.writer.add_value(name, dtype, tensor.shape)
            self.writer.values[value]["constant"] = {"dtype": dtype, "shape": list(tensor.shape)}
            self.storages[id(tensor)] = value
        return self.storages[id(tensor)]


class Calls(torch.utils._python_dispatch.TorchDispatchMode):
    """Writes down the operators of ATen that run inside one node, as [name, node, whether the result is changed later].
    Without detach, which the saving of tensors calls and which selective checkpointing does not ask about."""

    def __init__(self, calls, node):
        super().__init__()
        self.calls, self.node, self.made = calls, node, []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        changes = function._schema.is_mutable
        if changes:
            given = {torchstate.storage_of(one) for one in torchstate.tensors_of([args, kwargs or {}])}
            for call, tensor in self.made:
                call[2] = call[2] or torchstate.storage_of(tensor) in given
        result = function(*args, **(kwargs or {}))
        if not str(function).startswith("aten.detach"):
            self.calls.append([str(function), self.node, changes])
            self.made += [(self.calls[-1], tensor) for tensor in torchstate.tensors_of(result)]
        return result


def arguments_of(node, structure, env):
    """Tensors of the operands of a node, in the order of the names in their structure."""
    tensors = []

    def visit(one):
        if names_in(structure[one]):
            tensors.extend(torchstate.tensors_of(env[one]))
        return one

    torch.fx.node.map_arg((node.args, node.kwargs), visit)
    return tensors


def known_storages(pairs, before=()):
    """storage → (name, tensor), the first of each storage."""
    known = {}
    for name, tensor in pairs:
        place = torchstate.storage_of(tensor)
        if place not in before:
            known.setdefault(place, (name, tensor))
    return known


def profile(traced, arguments, name, has_cuda):
    """Profile of a traced module for these arguments. Leaves generators and buffers as they were."""
    one = Profile(traced, name, has_cuda)
    with torch.enable_grad(), torchstate.untouched(traced, has_cuda):
        one.run(*arguments)
    one.env = {}
    last = next(node for node in traced.graph.nodes if node.op == "output")
    outputs = names_in(torch.fx.node.map_arg(last.args[0], one.structure.__getitem__))
    one.writer.set_outputs(dict.fromkeys(outputs))
    return one
