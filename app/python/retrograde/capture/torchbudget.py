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
plans for it, and what the plan keeps over the turn is what is saved.
"""
import hashlib
import tempfile

import torch
from torch._inductor.custom_graph_pass import CustomKnapsackSolver

from ..errors import RetrogradeError
from . import client
from .graphjson import GraphWriter

#: Of what uuid() names: a cache of compiled graphs holds as long as it stays.
VERSION = 1
#: Sums of fractions: what is within this of the budget counts as within it.
ROUNDING = 1e-12
#: Budgets of the planner that are tried for one budget of PyTorch.
TRIES = 5
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


class JointGraph:
    """A joint graph of PyTorch as graph JSON: forward nodes may run again, those of the backward pass run once."""

    def __init__(self, joint_graph, node_info):
        self.writer, self.value_of, self.backward = GraphWriter("joint"), {}, set()
        inputs = {node.name for node in node_info.inputs}
        for node in joint_graph.nodes:
            if node.op == "output":
                read = [self.value_of[one] for one in node.all_input_nodes if one in self.value_of]
                self.writer.set_outputs(list(dict.fromkeys(read)))
            elif node.op == "placeholder":
                # A tangent comes in the backward pass; like weights and inputs it is there for PyTorch to hold.
                self.value_of[node] = self.writer.add_input(node.name, "float32", [0], bytes=0)
                if node.name not in inputs:
                    self.backward.add(node)
            else:
                self._add(node, node_info)

    def _add(self, node, node_info):
        read = [self.value_of[one] for one in node.all_input_nodes if one in self.value_of]
        if not read:
            self.value_of[node] = self.writer.add_input(node.name, "float32", [0], bytes=0)  # a constant
            return
        is_backward = not node_info.is_required_fw(node)
        value = self.writer.add_value(node.name, bytes=bytes_of(node))
        self.writer.add_node(str(node.target), read, [value], name=node.name, domain="torch",
                             flops=operations_of(node), phase="backward" if is_backward else "forward",
                             stochastic=True if "rand" in str(node.target) or "dropout" in str(node.target) else None)
        self.value_of[node] = value
        if is_backward:
            self.backward.add(node)

    def kept_by(self, plan):
        """Names of the values that are in memory when the first node of the backward pass runs."""
        backward, live = {node.name for node in self.backward}, set()
        for kind, name, *_ in plan["steps"]:
            if kind == "c" and name in backward:
                break
            if kind == "c":
                live.add(name)
            elif kind == "f":
                live.discard(name)
        return live


class Solver(CustomKnapsackSolver):
    """strategy, seconds: as of `plan`. What is saved never takes more than PyTorch allows. Asked for a larger budget of
    a graph that it was asked about before, it never saves less than it did for a smaller one."""

    def __init__(self, strategy="fast", seconds=5):
        self.strategy, self.seconds = strategy, seconds
        self._answers = {}

    def uuid(self):
        """Version, strategy and seconds: what the answers depend on."""
        return hashlib.sha256(f"retrograde {VERSION} {self.strategy} {self.seconds}".encode()).hexdigest()

    def __call__(self, memory, joint_graph, max_memory, node_info, all_recomputable_banned_nodes):
        """Positions in `memory` of what is saved, and of what is computed again; Σ memory of the saved is at most
        max_memory. Where no plan fits, nothing is saved."""
        nodes = list(all_recomputable_banned_nodes)
        graph = JointGraph(joint_graph, node_info)
        saved = self._saved(graph, nodes, memory, max_memory)
        saved = self._best(self._key(graph, memory), saved, memory, max_memory)
        return sorted(saved), [i for i in range(len(nodes)) if i not in saved]

    def _saved(self, graph, nodes, memory, max_memory):
        """By the largest of some budgets of the planner whose kept results fit."""
        with tempfile.TemporaryDirectory() as folder:
            path = graph.writer.write(f"{folder}/joint.json")
            about, plan = client.plan(path, strategy="store_all", seconds=self.seconds)
            kept = self._within(graph.kept_by(plan), nodes, memory, max_memory)
            if kept is not None:
                return kept
            low, high, best = about["floor"], about["base_peak"], set()
            for _ in range(TRIES):
                budget = (low + high) // 2
                kept = None
                try:
                    _, plan = client.plan(path, budget=budget, strategy=self.strategy, seconds=self.seconds)
                    kept = self._within(graph.kept_by(plan), nodes, memory, max_memory)
                except RetrogradeError as error:
                    if error.code != 4:  # no plan within the budget is an answer
                        raise
                    low = budget
                    continue
                if kept is None:
                    high = budget
                else:
                    low, best = budget, kept
            return best

    @staticmethod
    def _within(kept, nodes, memory, max_memory):
        """Positions of kept nodes; None where they take too much."""
        saved = {i for i, node in enumerate(nodes) if node.name in kept}
        return saved if sum(memory[i] for i in saved) <= max_memory + ROUNDING else None

    @staticmethod
    def _key(graph, memory):
        return hashlib.sha256(f"{graph.writer.document()['nodes']} {memory}".encode()).hexdigest()

    def _best(self, key, saved, memory, max_memory):
        """The answer, or an earlier one for a smaller budget that saves more."""
        answers = self._answers.setdefault(key, [])
        fitting = [one for budget, one in answers if budget <= max_memory]
        best = max([saved, *fitting], key=lambda one: sum(memory[i] for i in one))
        if sum(memory[i] for i in best) > max_memory:
            best = saved
        answers.append((max_memory, best))
        return best
