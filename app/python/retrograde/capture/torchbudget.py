# SPDX-License-Identifier: Apache-2.0
"""Plans for the activation memory budget of torch.compile, in place of PyTorch's own solvers. Needs a PyTorch with
torch._inductor.custom_graph_pass.CustomKnapsackSolver.

    import torch._functorch.config as functorch
    from retrograde.capture import torchbudget
    functorch.activation_memory_budget = 0.5
    functorch.activation_memory_budget_solver = torchbudget.Solver()
    torch.compile(network)(x).sum().backward()

PyTorch hands over the joint graph of forward and backward pass and the results that it could keep; how much they may
take together is `max_memory`, in the unit of `memory`. The joint graph is written as graph JSON and `retrograde-cli
plan` plans for it. What the plan keeps over the turn, as many small results as fit, and what PyTorch's own solver `dp`
saves are compared by the memory that the step takes with them, in the order in which PyTorch computes; the best one is
changed result by result for as long as that helps.
"""
import functools
import hashlib
import tempfile

import torch
from torch._functorch._activation_checkpointing.knapsack import dp_knapsack
from torch._inductor.custom_graph_pass import CustomKnapsackSolver
from torch.fx import map_arg
from torch.utils.flop_counter import flop_registry

from ..errors import RetrogradeError
from . import client
from .graphjson import GraphWriter

#: Of what uuid() names: a cache of compiled graphs holds as long as it stays.
VERSION = 4
#: Sums of fractions: what is within this of the budget counts as within it.
ROUNDING = 1e-12
#: Budgets of the planner that are tried for one budget of PyTorch.
TRIES = 5
#: What needs no more than this times the least memory is as good.
CLOSE = 1.01
#: Shares of a budget of which small results are filled in.
SHARES = 8
#: Nodes that are looked at while one answer is changed result by result: as many changes are tried as that allows.
LOOKS = 1_000_000


def tensors_of(node):
    """The tensors of a node of the joint graph, as PyTorch knows them without running it."""
    value = node.meta.get("val")
    values = value if isinstance(value, (list, tuple)) else [value]
    return [one for one in values if isinstance(one, torch.Tensor)]


def bytes_of(node):
    return sum(int(one.numel()) * one.element_size() for one in tensors_of(node))


def products_of(node):
    """Floating-point operations of matrix products and convolutions, as PyTorch's FlopCounterMode counts them."""
    count = flop_registry.get(getattr(node.target, "overloadpacket", None))
    if count is None:
        return 0
    args, kwargs = map_arg((node.args, node.kwargs), lambda one: one.meta.get("val"))
    return int(count(*args, **kwargs, out_val=node.meta.get("val")))


def operations_of(node):
    """Floating-point operations of a product, else one per element that is made; at least 1."""
    return products_of(node) or max(1, sum(int(one.numel()) for one in tensors_of(node)))


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
        self.tangents, self.outputs, self.bytes, self.operations = set(), set(), {}, {}
        inputs = {node.name for node in node_info.inputs}
        for node in joint_graph.nodes:
            if node.op == "output":
                read = [self.value_of[one] for one in node.all_input_nodes if one in self.value_of]
                self.writer.set_outputs(list(dict.fromkeys(read)))
                for one in node.all_input_nodes:
                    (self.results if one in self.backward else self.outputs).add(one)
            elif node.op == "placeholder":
                # A tangent comes in the backward pass; like weights and inputs it is there for PyTorch to hold.
                self.value_of[node] = self.writer.add_input(node.name, "float32", [0], bytes=0)
                if node.name not in inputs:
                    self.backward.add(node)
                    self.tangents.add(node)
                    self.roots[node] = node
                    self.bytes[node] = bytes_of(node)
            else:
                self._add(node)
        self._number()

    def _add(self, node):
        read = [self.value_of[one] for one in node.all_input_nodes if one in self.value_of]
        if not read:
            self.value_of[node] = self.writer.add_input(node.name, "float32", [0], bytes=0)  # a constant
            return
        is_backward = any(one in self.backward for one in node.all_input_nodes)
        self._find_origins(node)
        self.bytes[node], self.operations[node] = bytes_of(node), operations_of(node)
        value = self.writer.add_value(node.name, bytes=self.bytes[node], **self._storage_of(node))
        self.writer.add_node(str(node.target), read, [value], name=node.name, domain="torch",
                             flops=self.operations[node], phase="backward" if is_backward else "forward",
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

    def _number(self):
        """Numbers for nodes, since what need() looks at is looked at many times."""
        numbers = {node: i for i, node in enumerate((*self.order, *self.tangents))}
        self.reads = [[numbers[one] for one in node.all_input_nodes if one in numbers] for node in self.order]
        self.root = [numbers.get(self.roots[node]) for node in numbers]
        self.touched = [{self.root[one] for one in (i, *reads)} - {None} for i, reads in enumerate(self.reads)]
        self.sizes = [self.bytes[node] for node in numbers]
        self.is_backward = [node in self.backward for node in numbers]
        self.place = {i: numbers[node] for node, i in self.candidates.items() if node in numbers}
        self.given = {numbers[node] for node in self.tangents}
        self.outputs = {numbers[node] for node in self.outputs if node in numbers}
        self.results = {numbers[node] for node in self.results}

    def backward_order(self, kept):
        """What the backward pass runs, with these nodes of the forward pass saved: its own in order, and before each
        what it is the first to read of what is computed again."""
        sequence, there = [], {*self.given, *kept}
        for node, reads in enumerate(self.reads):
            if not self.is_backward[node]:
                continue
            again, open_nodes = set(), [one for one in reads if one not in there]
            while open_nodes:
                one = open_nodes.pop()
                if one not in again:
                    again.add(one)
                    open_nodes += [read for read in self.reads[one] if read not in there]
            sequence += sorted(again)
            sequence.append(node)
            there |= again
            there.add(node)
        return sequence

    def _peak(self, sequence, held, stays):
        """The most bytes in memory at once while these nodes run, with these held before them; `stays`: what is in
        memory to the end."""
        last = {self.root[one]: len(sequence) for one in stays}
        for i in reversed(range(len(sequence))):
            for one in self.touched[sequence[i]]:
                last.setdefault(one, i)
        held = {self.root[one] for one in held} - {None}
        now = peak = sum(self.sizes[one] for one in held)
        for i, node in enumerate(sequence):
            root = self.root[node]
            if root is not None and root not in held:
                held.add(root)
                now += self.sizes[root]
                peak = max(peak, now)
            for one in self.touched[node]:
                if last[one] == i and one in held:
                    held.discard(one)
                    now -= self.sizes[one]
        return peak

    def need(self, positions):
        """The most bytes in memory at once in a step, beside weights and inputs, with these candidates saved; and the
        operations that run again."""
        kept = {self.place[i] for i in positions if i in self.place}
        backward, wanted = self.backward_order(kept), {*kept, *self.outputs}
        again = sum(self.operations[self.order[node]] for node in backward if not self.is_backward[node])
        for node in reversed(range(len(self.reads))):
            if node in wanted:
                wanted.update(self.reads[node])
        forward = [node for node in sorted(wanted) if node < len(self.reads)]
        return max(self._peak(forward, (), {*kept, *self.outputs}),
                   self._peak(backward, {*kept, *self.given}, self.results)), again

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


def changed(start, better, order, fits, tries):
    """This choice, changed for as long as that is better: a position is put in or left out, or put in instead of the
    one before or behind it in `order`. At most so many changes are tried."""
    best, helped = frozenset(start), True
    while helped:
        helped = False
        for i, one in enumerate(order):
            near = [other for other in (*order[max(0, i - 1) : i], *order[i + 1 : i + 2]) if other in best]
            for other in (best ^ {one}, *((best | {one}) - {other} for other in near if one not in best)):
                if not fits(other):
                    continue
                if tries == 0:
                    return best
                tries -= 1
                if better(other, best):
                    best, helped = other, True
                    break
    return best


class Solver(CustomKnapsackSolver):
    """strategy, seconds: as of `plan`. What is saved never takes more than PyTorch allows, and the step never needs
    more memory than with what PyTorch's own solver `dp` saves. Asked for a larger budget of a graph that it was asked
    about before, it never needs more memory than it did for a smaller one. Of what needs 1 % more than the least within
    that, what computes least again is taken.

    The memory of a step is foretold in the order of operators that PyTorch's partitioner writes; a compiler that fuses
    them has an order of its own."""

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
        fits = lambda chosen: taken(chosen, memory) <= max_memory + ROUNDING
        need = functools.cache(lambda chosen: graph.need(chosen))
        order = sorted(range(len(nodes)), key=lambda i: graph.place.get(i, 0))

        def improved(answers, rank):
            better = lambda one, other: rank(one) < rank(other)
            return changed(min(answers, key=rank), better, order, fits, LOOKS // (1 + len(graph.order)))

        bounds = self._answers.setdefault(key, [])
        theirs = dp_knapsack(memory, [max(1, products_of(node)) for node in nodes], max_memory)[1]
        bounds = [one for one in (frozenset(theirs), *bounds) if fits(one)]
        answers = [*bounds, self._saved(graph, key, memory, max_memory),
                   *(filled(memory, max_memory * i / SHARES) for i in range(SHARES + 1))]
        least = improved(map(frozenset, answers), need)
        allowed = min([int(CLOSE * need(least)[0]), *(need(one)[0] for one in bounds)])
        saved = improved([least, *bounds], lambda one: (max(0, need(one)[0] - allowed), need(one)[1], need(one)[0]))
        self._answers[key].append(saved)
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
