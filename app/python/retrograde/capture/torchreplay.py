# SPDX-License-Identifier: Apache-2.0
"""Runs a traced module by a plan: a forward pass that keeps what the plan keeps, and a backward pass in which autograd
gets back what it saved, computed again where the plan gave it up. Gradients come from autograd's own formulas."""
import time

import torch
import torch.fx

from . import torchinplace
from . import torchstate
from .torchprofile import Name, Save, known_storages, names_in, viewed, with_names


class Ledger:
    """Bytes of the tensors that a run holds for the backward pass; memory that several look at counts once."""

    def __init__(self):
        self.users, self.now, self.peak = {}, 0, 0

    def add(self, tensor):
        key = torchstate.storage_of(tensor)
        count, size = self.users.get(key, (0, torchstate.bytes_of(tensor)))
        self.users[key] = (count + 1, size)
        if count == 0:
            self.now += size
            self.peak = max(self.peak, self.now)

    def drop(self, tensor):
        key = torchstate.storage_of(tensor)
        count, size = self.users[key]
        if count > 1:
            self.users[key] = (count - 1, size)
        else:
            del self.users[key]
            self.now -= size


class Run(torchinplace.Interpreter):
    """One forward pass of a traced module, and what its backward pass asks for. `strategy`: profile, plan, and what
    follows from them."""

    def __init__(self, strategy, has_cuda):
        super().__init__(strategy.traced)
        self.strategy, self.has_cuda = strategy, has_cuda
        self.store, self.interior, self.structure, self.random = {}, {}, {}, {}
        self.given, self.versions, self.modes = {}, [], {}
        self.position, self.ledger, self.counts = 0, Ledger(), {}
        self.turn_bytes, self.seconds, self.unplanned = None, 0.0, 0

    # Forward ---------------------------------------------------------------------------------------------------------

    def forward(self, arguments):
        """The result of the module; autograd's graph holds this object as long as it needs it."""
        self.pinned = set(self.strategy.profile_pinned())
        result = self.run(*arguments)
        self.versions = [(f"parameter '{name}'", one, one._version) for name, one in self.module.named_parameters()]
        self.versions += [(f"input '{name}'", one, one._version) for name, one in self.given.items()]
        self.turn_bytes = self.ledger.now
        self.env = {}
        return result

    def placeholder(self, target, args, kwargs):
        result = super().placeholder(target, args, kwargs)
        self.structure[self.node] = with_names(result, self.node.name)
        for name, tensor in zip(names_in(self.structure[self.node]), torchstate.tensors_of(result)):
            self.pinned.add(torchstate.storage_of(tensor))
            self.given[name] = tensor.detach()
        return result

    def run_node(self, node):
        self.node = node
        unit = self.strategy.units.get(node.name)
        if unit is None:
            result = super().run_node(node)
            if node.op not in ("placeholder", "output"):
                self.structure[node] = self.renamed(node, result)
            return result
        if unit.draws:
            self.random[unit.name] = torchstate.RandomState(self.has_cuda)
        if unit.module is not None:
            self.modes[unit.name] = [one.training for one in unit.module.modules()]
        saves = []

        def pack(tensor):
            saves.append(Save(tensor))
            return saves[-1]

        given = self.known_operands(node)
        with torch.autograd.graph.saved_tensors_hooks(pack, self.unpack):
            result = super().run_node(node)
        self.structure[node] = with_names(result, node.name)
        self.settle(unit, given, result, saves)
        saves.clear()  # autograd holds the hook, and with it this list
        return result

    def renamed(self, node, result):
        """Structure of a node that makes no tensor of its own: a part of another's result, a constant, a number."""
        if node.op != "get_attr" and torchstate.tensors_of(result):
            return self.structure[node.args[0]][node.args[1]]
        return result

    def known_operands(self, node):
        pairs = []

        def visit(one):
            pairs.extend(zip(names_in(self.structure[one]), torchstate.tensors_of(self.env[one])))
            return one

        torch.fx.node.map_arg((node.args, node.kwargs), lambda one: visit(one) if names_in(self.structure[one]) else one)
        return known_storages(pairs)

    def settle(self, unit, known, result, saves):
        """Keeps of a node's results and saved tensors what the plan keeps, and lets go of the rest."""
        tensors = torchstate.tensors_of(result)
        known.update(known_storages(zip(unit.outputs, tensors), known))
        keeps_interior = unit.interior_name in self.strategy.kept
        unit_interior = unit.interior
        unit.interior = 0
        for save in saves:
            save.settle(unit, known, self.pinned)
            if save.value is not None:
                save.tensor = None
            elif save.index is not None:
                self.keep_interior(unit, save, keeps_interior)
        self.expect_like_profile(unit, unit_interior)
        for name, tensor in zip(unit.outputs, tensors):
            if name in self.strategy.kept:
                self.put(name, tensor.detach())

    def keep_interior(self, unit, save, keeps):
        if keeps:
            self.interior.setdefault(unit.name, {})[save.index] = save.tensor
            self.ledger.add(save.tensor)
        save.tensor = None

    @staticmethod
    def expect_like_profile(unit, wanted):
        found, unit.interior = unit.interior, wanted
        if found != wanted:
            raise RuntimeError(f"node '{unit.name}' saved {found} tensors of its own for the gradient, {wanted} when it "
                               "was planned for: it does not do the same on every call and cannot be checkpointed; name "
                               "a module around it in leaves=, or leave it out")

    def put(self, name, tensor):
        self.store[name] = tensor
        self.ledger.add(tensor)

    def drop(self, name):
        if name in self.store:
            self.ledger.drop(self.store.pop(name))
        elif name.endswith(".saved") and name[:-6] in self.interior:
            for tensor in self.interior.pop(name[:-6]).values():
                self.ledger.drop(tensor)

    # Backward --------------------------------------------------------------------------------------------------------

    def unpack(self, save):
        """What autograd saved, when it asks for it."""
        if save.tensor is not None:
            if save.tensor._version != save.version:
                raise RuntimeError("a tensor that the gradient needs was changed in place after the forward pass: call "
                                   "backward() before the optimiser's step")
            return save.tensor
        self.expect_unchanged()
        self.advance(self.strategy.position_of(save.unit))
        if save.value is not None:
            return viewed(self.value(save.value), save.view)
        return self.interior_of(save.unit)[save.index]

    def expect_unchanged(self):
        for name, tensor, version in self.versions:
            if tensor._version != version:
                raise RuntimeError(f"{name} was changed in place after the forward pass: what is computed again would "
                                   "not be what it was; call backward() before the optimiser's step")

    def advance(self, until):
        """Follows the plan behind the turn up to a position."""
        steps = self.strategy.plan.replay
        while self.position < until or (self.position < len(steps) and steps[self.position][0] == "f"):
            kind, name = steps[self.position][:2]
            self.position += 1
            if kind == "f":
                self.drop(name)
            elif name in self.strategy.units:
                self.compute(name, keeps=True)

    def value(self, name):
        """Tensor of a value: at hand, further on in the plan, or computed out of turn."""
        if name in self.given:
            return self.given[name]
        root = self.strategy.root_of(name)
        if root not in self.given:
            self.advance_until(self.strategy.producer[root], lambda: root in self.store)
        return self.rebuilt(name)

    def advance_until(self, name, is_there):
        """Follows the plan to the next run of a node, and to the one behind it where the plan drops at once what the
        first one made: some planners run a node for nobody."""
        while not is_there():
            ahead = self.strategy.next_run(name, self.position)
            if ahead is None:
                return
            self.advance(ahead + 1)

    def interior_of(self, unit):
        """The tensors of its own that a node saved."""
        self.advance_until(unit.name, lambda: unit.name in self.interior)
        if unit.name not in self.interior:
            self.unplanned += 1
            self.compute(unit.name, keeps=True)
        return self.interior[unit.name]

    def rebuilt(self, name):
        """A value computed from what is at hand, without keeping what lies between."""
        if name in self.store:
            return self.store[name]
        found = {}
        for unit in self.strategy.missing_for(name, lambda one: one in self.store or one in self.given):
            self.unplanned += not self.strategy.is_view[unit]
            self.execute(unit, found, wants_interior=False)
        return found[name]

    def compute(self, name, keeps):
        """Runs a node again as the plan says; results (and tensors of its own) are kept until the plan drops them."""
        unit, found = self.strategy.units[name], {}
        for operand in unit.inputs:
            if operand not in self.store and operand not in self.given:
                found[operand] = self.rebuilt(operand)
        interior = self.execute(name, found, wants_interior=keeps and unit.interior > 0)
        for output in unit.outputs:
            if output not in self.store:
                self.put(output, found[output])
        if interior is not None and name not in self.interior:
            self.interior[name] = interior
            for tensor in interior.values():
                self.ledger.add(tensor)

    def execute(self, name, found, wants_interior):
        """Runs a node on values at hand; results go to `found`. Generators, running statistics and modes are those of
        the forward pass during it and untouched after it."""
        unit = self.strategy.units[name]
        start = time.perf_counter()
        self.counts[name] = self.counts.get(name, 0) + 1

        def tensor_of(value):
            tensor = next(place[value] for place in (found, self.store, self.given) if value in place)
            return tensor.detach().requires_grad_() if wants_interior and value in unit.wants_gradient else tensor

        operands = {node: filled(self.structure[node], tensor_of) for node in unit.node.all_input_nodes}
        saves = []
        modes = [] if unit.module is None else list(zip(unit.module.modules(), self.modes[name]))
        before = [one.training for one, _ in modes]
        try:
            for one, training in modes:
                one.training = training
            with self.as_before(unit), grad_and_hooks(wants_interior, saves):
                arguments, keywords = torchinplace.load(unit.node, operands.__getitem__)
                result = getattr(self, unit.node.op)(unit.node.target, tuple(arguments), keywords)
                pinned = unit.pinned(self.pinned)
        finally:
            for (one, _), training in zip(modes, before):
                one.training = training
        tensors = [tensor.detach() for tensor in torchstate.tensors_of(result)]
        found.update(zip(unit.outputs, tensors))
        self.seconds += time.perf_counter() - start
        return self.own(unit, operands, tensors, saves, pinned) if wants_interior else None

    def as_before(self, unit):
        stack = torchstate.contextlib.ExitStack()
        if unit.draws:
            stack.enter_context(torchstate.same_random_state(self.has_cuda, self.random[unit.name]))
        if unit.module is not None:
            stack.enter_context(torchstate.borrowed_buffers(unit.module))
        return stack

    def own(self, unit, operands, tensors, saves, pinned):
        """index → tensor, of the tensors that only the node knows."""
        known = known_storages((name, tensor) for node, value in operands.items() for name, tensor in
                               zip(names_in(self.structure[node]), torchstate.tensors_of(value)))
        known.update(known_storages(zip(unit.outputs, tensors), known))
        wanted, unit.interior = unit.interior, 0
        for save in saves:
            save.settle(unit, known, pinned)
        self.expect_like_profile(unit, wanted)
        found = {save.index: save.tensor for save in saves if save.index is not None}
        saves.clear()  # autograd may hold the hook, and with it this list
        return found

    def profile(self):
        """What the run held and did, for `.last_profile`."""
        repeated = {name: count for name, count in self.counts.items() if not self.strategy.is_view[name]}
        return {"bytes_at_turn": self.turn_bytes, "peak_saved_bytes": self.ledger.peak, "recomputed": repeated,
                "recompute_milliseconds": self.seconds * 1000, "unplanned": self.unplanned}


def filled(structure, tensor_of):
    """A structure with the tensors in place of their names."""
    if isinstance(structure, Name):
        return tensor_of(structure)
    if isinstance(structure, dict):
        return {key: filled(one, tensor_of) for key, one in structure.items()}
    if isinstance(structure, (tuple, list)):
        return type(structure)(filled(one, tensor_of) for one in structure)
    return structure


def grad_and_hooks(wants_interior, saves):
    """A context without autograd, or one in which it says what it saves."""
    stack = torchstate.contextlib.ExitStack()
    if not wants_interior:
        stack.enter_context(torch.no_grad())
        return stack

    def pack(tensor):
        saves.append(Save(tensor))

    stack.enter_context(torch.enable_grad())
    stack.enter_context(torch.autograd.graph.saved_tensors_hooks(pack, lambda _: None))
    return stack
