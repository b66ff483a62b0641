# SPDX-License-Identifier: Apache-2.0
"""Trains a PyTorch module within a memory budget by a plan of Retrograde.

    from retrograde.capture.torchcheckpoint import checkpointed
    network = checkpointed(network, budget="50%")       # or budget in bytes, planner="rotor", block_size=8, plan=FILE
    loss(network(x)).backward()                         # gradients equal, bit for bit where PyTorch is deterministic
    network.last_plan, network.last_profile

The first call with new shapes runs the module once to see what autograd saves, lets `retrograde-cli plan` decide, and
runs by that plan from then on: what it keeps stays, what it gives up is computed again when the backward pass asks for
it, with the same random numbers and without touching running statistics. Train and eval mode are the user's. Operators
in place work on copies. What cannot be done (control flow that asks for numbers, inputs that are changed, autocast, a
budget without plan) is said in one warning, and the module runs as it always did.
"""
import pathlib
import tempfile
import warnings

import torch

from . import checkpointplan
from . import client as retrograde
from . import torchcapture
from . import torchinplace
from . import torchprofile
from . import torchreplay
from . import torchshapes
from . import torchstate
from .graphjson import CaptureError


class Strategy:
    """A traced module with its profile and its plan."""

    def __init__(self, traced, profile, plan, answer):
        self.traced, self.profile, self.plan, self.answer = traced, profile, plan, answer
        self.units, self.producer, self.root_of = profile.units, profile.producer, profile.root_of
        self.inputs = set(profile.writer.inputs)
        self.is_view = {name: self.root_of(unit.outputs[0]) != unit.outputs[0] for name, unit in self.units.items()}
        self.kept = self.needed()
        values = profile.writer.values
        self.store_all_bytes = sum(values[name]["bytes"] for name in {
            self.root_of(name) for unit in self.units.values() for name in unit.saved} - self.inputs)
        self.store_all_bytes += sum(values[unit.interior_name]["bytes"] for unit in self.units.values()
                                    if unit.interior)
        self._runs = {}
        for i, (kind, name, *_) in enumerate(plan.replay):
            if kind == "c" and name in self.units:
                self._runs.setdefault(name, []).append(i)

    def profile_pinned(self):
        """Storages that stay in memory whatever happens: parameters and buffers as they lie now."""
        return {torchstate.storage_of(tensor) for tensor in [*self.traced.parameters(), *self.traced.buffers()]}

    def needed(self):
        """Values that the plan keeps at the turn and that autograd or a later computation reads."""
        read = {self.root_of(name) for unit in self.units.values() for name in unit.saved}
        read |= {unit.interior_name for unit in self.units.values() if unit.interior}
        read |= {self.root_of(name) for again in self.plan.again for name in self.units[again].inputs}
        return {name for name in self.plan.live if name in read}

    def next_run(self, name, position):
        """Position of the next run of a node in the replay, from a position on; None without one."""
        return next((i for i in self._runs.get(name, ()) if i >= position), None)

    def position_of(self, unit):
        """Position behind the gradients of a node's results: where its own gradient may begin."""
        return max((self.plan.gradient_position(self.root_of(name)) for name in unit.outputs), default=0)

    def missing_for(self, name, is_there):
        """Nodes to run, in order, so that a value is there."""
        wanted, found, stack = {}, [], [name]
        while stack:
            one = stack.pop()
            if is_there(one) or one not in self.producer or self.producer[one] in wanted:
                continue
            wanted[self.producer[one]] = True
            stack.extend(self.units[self.producer[one]].inputs)
        for unit in self.units:
            if unit in wanted:
                found.append(unit)
        return found


class Refused(Exception):
    """Why a module runs without a plan."""


def blocks(profile, size):
    """Values that are kept when the forward pass is cut into blocks of `size` nodes: what crosses a boundary."""
    units = list(profile.units.values())
    block = {name: i // size for i, unit in enumerate(units) for name in unit.outputs}
    crossing = [name for i, unit in enumerate(units) for name in unit.inputs if block.get(name, i // size) != i // size]
    return list(dict.fromkeys(profile.root_of(name) for name in crossing if name in profile.producer))


class Checkpointed(torch.nn.Module):
    """A module that runs by plans. `.module` is the module itself; `.last_plan` what `plan` says of the last one, with
    the plan under "plan"; `.last_profile` what the last forward and backward held and did, in bytes and milliseconds;
    `.reason` why the module runs without a plan, None where it does not."""

    def __init__(self, module, budget, planner, block_size, plan, leaves):
        super().__init__()
        self.module = module
        self.options = {"budget": budget, "planner": planner, "block_size": block_size, "plan": plan, "leaves": leaves}
        self.last_plan = self.reason = self._run = None
        self._strategies, self._reasons, self._has_warned = {}, {}, False

    def forward(self, *inputs, **keywords):
        if not torch.is_grad_enabled():
            return self.module(*inputs, **keywords)
        key = self._key(inputs, keywords)
        try:
            strategy, arguments, has_cuda = self._strategy(key, inputs, keywords)
        except Refused as refusal:
            self._warn(str(refusal))
            return self.module(*inputs, **keywords)
        self.reason, self.last_plan = None, {**strategy.answer, "plan": strategy.plan.document}
        self._run = torchreplay.Run(strategy, has_cuda)
        return self._run.forward(arguments)

    @property
    def last_profile(self):
        """Of the last forward pass and the backward passes since: bytes held at the turn and at most, nodes computed
        again with how often, milliseconds of that, computations out of the plan's turn, and the plan's own figures."""
        if self._run is None:
            return None
        answer = self.last_plan
        return {**self._run.profile(), "planned_peak": answer["peak"], "store_all_peak": answer["base_peak"],
                "store_all_bytes": self._run.strategy.store_all_bytes}

    def write_segments(self, path):
        """Writes the plan as segments for torch.utils.checkpoint (docs/capture.md); what was written."""
        strategy = self._planned()
        return checkpointplan.write_segments(path, strategy.plan, list(strategy.units))

    def write_policy(self, path):
        """Writes the plan as a policy for selective checkpointing (docs/capture.md); what was written."""
        strategy = self._planned()
        return checkpointplan.write_policy(path, strategy.plan, strategy.profile.calls)

    def write_graph(self, path):
        """Writes the measured graph that the plan was made for, as graph JSON."""
        return self._planned().profile.writer.write(path)

    def _planned(self):
        if self._run is None:
            raise RuntimeError("there is no plan yet: call the module once, with gradients enabled"
                               + (f" (it runs without a plan, because {self.reason})" if self.reason else ""))
        return self._run.strategy

    def _warn(self, reason):
        self.reason, self._run, self.last_plan = reason, None, None
        if not self._has_warned:
            self._has_warned = True
            warnings.warn(f"checkpointed: {type(self.module).__name__} runs with plain autograd, because {reason}",
                          stacklevel=3)

    def _key(self, inputs, keywords):
        def signature(one):
            if isinstance(one, torch.Tensor):
                return (tuple(one.shape), one.dtype, str(one.device), one.requires_grad)
            return repr(one)

        given = [signature(one) for one in inputs] + [(name, signature(one)) for name, one in sorted(keywords.items())]
        modes = [one.training for one in self.module.modules()]
        return (tuple(given), tuple(modes), tuple(one.requires_grad for one in self.module.parameters()))

    def _strategy(self, key, inputs, keywords):
        if key in self._reasons:
            raise Refused(self._reasons[key])
        if torchstate.has_autocast():
            raise Refused("autocast is on, under which saved tensors are copies of another type; call it outside of "
                          "autocast, or convert the module")
        has_cuda = torchstate.uses_cuda(self.module, inputs)
        try:
            if key not in self._strategies:
                self._strategies[key] = self._make(inputs, keywords, has_cuda)
            strategy = self._strategies[key]
            return strategy, torchcapture.named_inputs(strategy.traced, inputs, keywords), has_cuda
        except (CaptureError, checkpointplan.PlanError, retrograde.RetrogradeError) as error:
            self._reasons[key] = str(error)
            raise Refused(str(error)) from error

    def _make(self, inputs, keywords, has_cuda):
        plain = torchshapes.followed(self.module, inputs, keywords, self.options["leaves"])
        arguments = torchcapture.named_inputs(plain, inputs, keywords)
        torchinplace.without_changes(plain, arguments, has_cuda)
        profile = torchprofile.profile(plain, arguments, type(self.module).__name__, has_cuda)
        answer, plan = self._plan(profile)
        return Strategy(plain, profile, checkpointplan.PlanView(plan, profile.writer.nodes), answer)

    def _plan(self, profile):
        options = self.options
        extra = {"parameters": any(one.requires_grad for one in self.module.parameters())}
        with tempfile.TemporaryDirectory() as folder:
            graph = profile.writer.write(pathlib.Path(folder) / "graph.json")
            if options["plan"] is not None:
                return retrograde.judged(graph, options["plan"], folder, **extra)
            planner = options["planner"]
            if options["block_size"]:
                planner, extra["keep"] = "user", blocks(profile, int(options["block_size"]))
            return retrograde.plan(graph, options["budget"], planner, **extra)


def checkpointed(module, budget=None, planner="fast", block_size=None, plan=None, leaves=()):
    """A module that trains by a plan of Retrograde: see the head of this file.

    budget: bytes, or "50%" of what storing everything takes; None: that peak. planner: a strategy of `retrograde-cli
    plan --strategy list`. block_size: keep what crosses blocks of so many nodes, give up the rest. plan: a plan file
    for the graph that `.write_graph(FILE)` writes. leaves: classes of modules that are computed again as a whole."""
    return Checkpointed(module, budget, planner, block_size, plan, tuple(leaves))
