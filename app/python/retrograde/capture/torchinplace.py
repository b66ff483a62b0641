# SPDX-License-Identifier: Apache-2.0
"""Operators that change their operand in place, in a module that torch.fx has traced. Each gets a copy of what it
changes, and what reads the operand afterwards reads the result: the same numbers, and nothing that was computed is
lost. What cannot be written that way (an input of the module, a parameter, a view of something that is read later) is
a CaptureError."""
import torch
import torch.fx

from . import torchstate
from .graphjson import CaptureError

#: In the `meta` of a node: the operand that it changes.
CHANGED = "retrograde changed operand"


def load(node, env):
    """Arguments and keywords of a node from an environment, with a copy in place of the operand that it changes."""
    changed = node.meta.get(CHANGED)
    copies = {} if changed is None else {changed: env(changed).clone()}

    def read(one):
        return copies[one] if one in copies else env(one)

    return torch.fx.node.map_arg(node.args, read), torch.fx.node.map_arg(node.kwargs, read)


class Interpreter(torch.fx.Interpreter):
    """torch.fx.Interpreter that leaves the operands of such nodes as they are."""

    def fetch_args_kwargs_from_env(self, n):
        return load(n, self.env.__getitem__)


def places(tensor):
    """Where the elements of a tensor lie in its storage, as a tensor of numbers."""
    extent = 1 + sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride()))
    whole = torch.arange(tensor.storage_offset(), tensor.storage_offset() + extent)
    return whole.as_strided(tensor.shape, tensor.stride()).flatten()


def overlap(a, b):
    """Whether two tensors of one storage share an element."""
    if a.numel() == 0 or b.numel() == 0:
        return False
    if a.element_size() != b.element_size():
        return True  # views as another type are counted in other units
    return bool(torch.isin(places(a), places(b)).any())


def is_same(a, b):
    """Whether two tensors are the same elements in the same order."""
    return (torchstate.storage_of(a) == torchstate.storage_of(b) and a.dtype == b.dtype and a.shape == b.shape
            and a.stride() == b.stride() and a.storage_offset() == b.storage_offset())


class Finder(torch.fx.Interpreter):
    """Runs a traced module once and marks its nodes that change an operand. Values are let go of when nobody reads them
    any more, also where readers have moved to another value."""

    def __init__(self, traced, refuses_state):
        super().__init__(traced, garbage_collect_values=False)
        self.refuses_state = refuses_state
        self.place = {node: i for i, node in enumerate(traced.graph.nodes)}
        self.found = False
        self.fixed = {}  # storage → whose memory it is
        self.held = []  # so that no other tensor gets one of these storages
        for name, one in [*traced.named_parameters(), *traced.named_buffers()]:
            self.fix(one, f"'{name}'")

    def fix(self, thing, owner):
        for tensor in torchstate.tensors_of(thing):
            self.fixed[torchstate.storage_of(tensor)] = owner
            self.held.append(tensor)
        return thing

    def placeholder(self, target, args, kwargs):
        given = super().placeholder(target, args, kwargs)
        for tensor in torchstate.tensors_of(given):
            torchstate.dtype_name(tensor.dtype, f"input '{target}'")
        return self.fix(copied(given), f"input '{target}'")

    def get_attr(self, target, args, kwargs):
        return self.fix(copied(super().get_attr(target, args, kwargs)), f"'{target}'")

    def run_node(self, n):
        operands = {one: torchstate.tensors_of(self.env[one]) for one in n.all_input_nodes}
        versions = {one: [tensor._version for tensor in tensors] for one, tensors in operands.items()}
        result = super().run_node(n)
        changed = [one for one, tensors in operands.items()
                   if [tensor._version for tensor in tensors] != versions[one]]
        if changed and n.op not in ("placeholder", "output"):
            self.rewrite(n, changed, result)
        for one in (*operands, n):
            if one in self.env and all(self.place[user] <= self.place[n] for user in one.users):
                del self.env[one]
        return result

    def rewrite(self, node, candidates, result):
        """Marks the node; readers behind it read its result."""
        if not isinstance(result, torch.Tensor):
            self.refuse(node, "in place and gives something else")
        same = [one for one in candidates if isinstance(self.env[one], torch.Tensor) and is_same(self.env[one], result)]
        if len(same) != 1:
            self.refuse(node, "in place and gives something else")
        operand = same[0]
        if self.refuses_state and torchstate.storage_of(result) in self.fixed:
            self.refuse(node, f"in place, which is memory of {self.fixed[torchstate.storage_of(result)]}")
        for other, value in self.env.items():
            if other is operand or not self.is_read_after(other, node):
                continue
            for tensor in torchstate.tensors_of(value):
                if torchstate.storage_of(tensor) == torchstate.storage_of(result) and overlap(tensor, result):
                    self.refuse(node, f"in place, of which '{other.name}' is a view that is read later")
        node.meta[CHANGED] = operand
        for user in [one for one in operand.users if self.place[one] > self.place[node]]:
            user.replace_input_with(operand, node)
        self.found = True

    def is_read_after(self, value, node):
        return any(self.place[user] > self.place[node] for user in value.users)

    @staticmethod
    def refuse(node, what):
        raise CaptureError(f"node '{node.name}' changes its operand {what}; use the form without inplace (and += on "
                           "tensors)")


def copied(thing):
    """Nested tuples, lists and dictionaries with copies of their tensors, so that nobody else sees them changed."""
    return torch.fx.node.map_aggregate(thing, lambda one: one.detach().clone() if isinstance(one, torch.Tensor) else one)


def without_changes(traced, arguments, has_cuda, refuses_state=True):
    """Marks the nodes of a traced module that change an operand; whether there are any. The module runs once, without
    gradients and on copies of these arguments; generators and buffers are left as they were. refuses_state: a change of
    an input, a parameter or a buffer, which others would miss, is refused. CaptureError: a change that cannot be written
    as a value of its own."""
    with torch.no_grad(), torchstate.untouched(traced, has_cuda):
        finder = Finder(traced, refuses_state)
        finder.run(*arguments)
    return finder.found
