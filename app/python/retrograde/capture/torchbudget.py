# SPDX-License-Identifier: Apache-2.0
"""Plans for the activation memory budget of torch.compile, in place of PyTorch's own solvers. Needs a PyTorch with
torch._inductor.custom_graph_pass.CustomKnapsackSolver.

    import torch._functorch.config as functorch
    from retrograde.capture import torchbudget
    functorch.activation_memory_budget = 0.5
    functorch.activation_memory_budget_solver = torchbudget.Solver()
    torch.compile(network)(x).sum().backward()

PyTorch hands over the joint graph of forward and backward pass and the results that it could keep; how much they may
take together is `max_memory`, in the unit of `memory`. The joint graph is written as graph JSON, `retrograde-cli plan`
plans for it, and what the plan keeps over the turn is what is saved, unless the backward pass needs less memory with as
many small results as fit, or with what PyTorch's own solver `dp` saves.
"""
import hashlib
import tempfile

import torch
from torch._functorch._activation_checkpointing.knapsack import dp_knapsack
from torch._inductor.custom_graph_pass import CustomKnapsackSolver

from ..errors import RetrogradeError
from . import client
from .graphjson import GraphWriter

#: Of what uuid() names: a cache of compiled graphs holds as long as it stays.
VERSION = 3
#: Sums of fractions: what is within this of the budget counts as within it.
ROUNDING = 1e-12
#: Budgets of the planner that are tried for one budget of PyTorch.
TRIES = 5
#: Peaks of the backward pass are foretold within some percent; what is better by less than this is not better.
CLEARLY = 1.05
#: Operators whose floating-point operations are counted; others cost one per element of their results.
PRODUCTS = {"mm": 2, "addmm": 2, "bmm": 2, "convolution": 2}


def tensors_of(node):
    """The tensors of a node of the joint graph, as PyTorch knows them without running it."""
    value = node.meta.get("val")
    values = value if isinstance(value, (list, tuple)) else [value]
    return [one for one in values if isinstance(one, torch.Tensor)]


def bytes_of(node):
    return sum(int(one.numel()) * one.element_size() for one in tensors_of(node))


def operations_of(node):
    """Floating-point operations of a matrix product, else one per element that is made; at least 1."""
    made = max(1, sum(int(one.numel()) for one in tensors_of(node)))
    name = getattr(getattr(node.target, "overloadpacket", None), "__name__", "")
    if name not in PRODUCTS or not node.all_input_nodes:
        return made
    operand = tensors_of(node.all_input_nodes[-2 if name == "addmm" and len(node.all_input_nodes) > 2 else 0])
    inner = int(operand[0].shape[-1]) if operand and operand[0].dim() else 1
    return PRODUCTS[name] * made * inner


def is_view(node):
    """Whether the result of a node lies in the memory of its first operand."""
    schema = getattr(node.target, "_schema", None)
    return schema is not None and any(one.alias_info is not None for one in schema.returns)


class JointGraph:
    """A joint graph of PyTorch as graph JSON: what needs a tangent is of the backward pass and runs once, the rest may
    run again. candidates: nodes whose results PyTorch asks about."""

    def __init__(self, joint_graph, node_info, candidates):
        self.writer, self.value_of, self.backward = GraphWriter("joint"), {}, set()
        self.candidates = {node: i for i, node in enumerate(candidates)}
        self.origins = {}  # name of a forward node → candidates that it is computed from without another one between
        self.storages, self.roots, self.order, self.results = {}, {}, [], set()
        inputs = {node.name for node in node_info.inputs}
        for node in joint_graph.nodes:
            if node.op == "output":
                read = [self.value_of[one] for one in node.all_input_nodes if one in self.value_of]
                self.writer.set_outputs(list(dict.fromkeys(read)))
                self.results.update(one for one in node.all_input_nodes if one in self.backward)
            elif node.op == "placeholder":
                # A tangent comes in the backward pass; like weights and inputs it is there for PyTorch to hold.
                self.value_of[node] = self.writer.add_input(node.name, "float32", [0], bytes=0)
                if node.name not in inputs:
                    self.backward.add(node)
            else:
                self._add(node)

    def _add(self, node):
        read = [self.value_of[one] for one in node.all_input_nodes if one in self.value_of]
        if not read:
            self.value_of[node] = self.writer.add_input(node.name, "float32", [0], bytes=0)  # a constant
            return
        is_backward = any(one in self.backward for one in node.all_input_nodes)
        self._find_origins(node)
        value = self.writer.add_value(node.name, bytes=bytes_of(node), **self._storage_of(node))
        self.writer.add_node(str(node.target), read, [value], name=node.name, domain="torch",
                             flops=operations_of(node), phase="backward" if is_backward else "forward",
                             stochastic=True if "rand" in str(node.target) or "dropout" in str(node.target) else None)
        self.value_of[node] = value
        self.roots[node] = self.roots.get(node.all_input_nodes[0]) if is_view(node) else node  # None: an input's
        self.order.append(node)
        if is_backward:
            self.backward.add(node)

    def _find_origins(self, node):
        if node in self.candidates:
            self.origins[node.name] = {self.candidates[node]}
        else:
            self.origins[node.name] = set().union(*(self.origins.get(one.name, ()) for one in node.all_input_nodes))

    def _storage_of(self, node):
        """A view counts with what it looks at; one of a weight or an input takes nothing."""
        base = node.all_input_nodes[0]
        if not is_view(node):
            return {}
        if base not in self.storages:
            self.storages[base] = len(self.storages)
            self.writer.values[self.value_of[base]]["storage"] = self.storages[base]
        self.storages[node] = self.storages[base]
        return {"storage": self.storages[base]}

    def backward_order(self, kept):
        """What the backward pass runs, with these nodes of the forward pass saved: its own in order, and before each
        what it is the first to read of what is computed again."""
        sequence, there = [], {node for node in self.value_of if node not in self.roots} | set(kept)
        place = {node: i for i, node in enumerate(self.order)}
        for node in self.order:
            if node not in self.backward:
                continue
            again, open_nodes = set(), [one for one in node.all_input_nodes if one not in there]
            while open_nodes:
                one = open_nodes.pop()
                if one in place and one not in there and one not in again and one not in self.backward:
                    again.add(one)
                    open_nodes.extend(one.all_input_nodes)
            sequence += sorted(again, key=place.get)
            sequence.append(node)
            there |= again | {node}
        return sequence

    def backward_peak(self, positions):
        """The most bytes in memory at once in the backward pass, with these candidates saved."""
        kept = [node for node, i in self.candidates.items() if i in positions]
        sequence, last = self.backward_order(kept), {}
        for i, node in enumerate(sequence):
            for one in (node, *node.all_input_nodes):
                last[self.roots.get(one)] = i
        last.update((self.roots[one], len(sequence)) for one in self.results)
        held = {self.roots[one] for one in kept}
        now = peak = sum(bytes_of(one) for one in held if one)
        for i, node in enumerate(sequence):
            root = self.roots[node]
            if root and root not in held:
                held.add(root)
                now += bytes_of(root)
            peak = max(peak, now)
            for one in {self.roots.get(read) for read in (node, *node.all_input_nodes)}:
                if one in held and last[one] == i:
                    held.discard(one)
                    now -= bytes_of(one)
        return peak

    def kept_by(self, plan):
        """Positions of the candidates that a plan keeps over the turn: those in memory when the first node of the
        backward pass runs, and those that what is in memory then was computed from; PyTorch computes that again."""
        backward, live = {node.name for node in self.backward}, set()
        for kind, name, *_ in plan["steps"]:
            if kind == "c" and name in backward:
                break
            if kind == "c":
                live.add(name)
            elif kind == "f":
                live.discard(name)
        return set().union(*(self.origins.get(name, ()) for name in live))


def taken(positions, memory):
    return sum(memory[i] for i in positions)


def spread(kept, memory, limit):
    """As many of these positions as fit, evenly chosen: what lies between two of them is computed again at once."""
    kept = sorted(kept)
    for count in range(len(kept), 0, -1):
        chosen = {kept[i * len(kept) // count] for i in range(count)}
        if taken(chosen, memory) <= limit + ROUNDING:
            return chosen
    return set()


def filled(memory, limit):
    """As many positions as fit, small ones first, then from the front: on the way of a residual network every one of
    them counts, and what lies behind the last is computed again at once."""
    chosen = set()
    for i in sorted(range(len(memory)), key=lambda one: (memory[one], one)):
        if taken(chosen | {i}, memory) <= limit + ROUNDING:
            chosen.add(i)
    return chosen


class Solver(CustomKnapsackSolver):
    """strategy, seconds: as of `plan`. What is saved never takes more than PyTorch allows. Asked for a larger budget of
    a graph that it was asked about before, it never saves less than it did for a smaller one."""

    def __init__(self, strategy="fast", seconds=5):
        self.strategy, self.seconds = strategy, seconds
        self._answers, self._plans = {}, {}

    def uuid(self):
        """Version, strategy and seconds: what the answers depend on."""
        return hashlib.sha256(f"retrograde {VERSION} {self.strategy} {self.seconds}".encode()).hexdigest()

    def __call__(self, memory, joint_graph, max_memory, node_info, all_recomputable_banned_nodes):
        """Positions in `memory` of what is saved, and of what is computed again; Σ memory of the saved is at most
        max_memory."""
        nodes = list(all_recomputable_banned_nodes)
        graph = JointGraph(joint_graph, node_info, nodes)
        key = hashlib.sha256(f"{graph.writer.document()['nodes']} {memory}".encode()).hexdigest()
        theirs = dp_knapsack(memory, [operations_of(node) for node in nodes], max_memory)[1]
        own = min((self._saved(graph, key, memory, max_memory), filled(memory, max_memory)), key=graph.backward_peak)
        fits = taken(theirs, memory) <= max_memory + ROUNDING
        if fits and graph.backward_peak(set(theirs)) <= CLEARLY * graph.backward_peak(own):
            own = set(theirs)
        saved = self._best(key, own, memory, max_memory)
        return sorted(saved), [i for i in range(len(nodes)) if i not in saved]

    def _saved(self, graph, key, memory, max_memory):
        """What a plan keeps: of some budgets of the planner, the largest that keeps no more than fits. Where every plan
        keeps more, some of what the smallest of them keeps."""
        with tempfile.TemporaryDirectory() as folder:
            path = graph.writer.write(f"{folder}/joint.json")

            def planned(budget, strategy=self.strategy):
                if (key, budget) not in self._plans:
                    self._plans[key, budget] = self._plan(graph, path, budget, strategy)
                return self._plans[key, budget]

            kept, about = planned(None, "store_all")
            if taken(kept, memory) <= max_memory + ROUNDING:
                return kept
            low, high, best, least = about["floor"], about["base_peak"], set(), kept
            for _ in range(TRIES):
                budget = (low + high) // 2
                kept, _ = planned(budget)
                if kept is None:
                    low = budget
                elif taken(kept, memory) <= max_memory + ROUNDING:
                    low, best = budget, kept
                else:
                    high, least = budget, min(least, kept, key=lambda one: taken(one, memory))
            return max(best, spread(least, memory, max_memory), key=lambda one: taken(one, memory))

    def _plan(self, graph, path, budget, strategy):
        """Positions that the plan keeps, and what `plan` says of it; None and None where no plan fits."""
        try:
            about, plan = client.plan(path, budget=budget, strategy=strategy, seconds=self.seconds)
        except RetrogradeError as error:
            if error.code != 4:  # no plan within the budget is an answer
                raise
            return None, None
        return graph.kept_by(plan), about

    def _best(self, key, saved, memory, max_memory):
        """The answer, or an earlier one for a smaller budget that saves more."""
        answers = self._answers.setdefault(key, [])
        fitting = [one for budget, one in answers if budget <= max_memory]
        best = max([saved, *fitting], key=lambda one: taken(one, memory))
        answers.append((max_memory, best))
        return best
