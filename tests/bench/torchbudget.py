#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares what torch.compile saves within its activation memory budget: by plans (retrograde.capture.torchbudget) and
by PyTorch's own solver `dp`, on a network of equal layers.

    tests/bench/torchbudget.py [--layers 32] [--width 64] [--batch 128] [--seconds 2] [--budgets 0.1 0.2 …]

Prints a line per budget: bytes that autograd holds beside parameters and input, by each solver; the most bytes that the
backward pass makes and has in memory at once, with what was saved; and what was allowed and taken of it, in the unit of
PyTorch. Ends with 1 where a larger budget saves less than a smaller one, more than is allowed is taken, more is held
than by `dp`, the backward pass needs more than with `dp`, or gradients differ by more than 1e-5.
"""
import argparse
import sys
import time
import weakref
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "app/python"))

import torch
import torch._functorch.config as functorch
from torch._inductor.custom_graph_pass import CustomKnapsackSolver
from torch.utils._python_dispatch import TorchDispatchMode

from retrograde.capture import torchbudget


class Layer(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)
        self.wide = torch.nn.Linear(width, 2 * width)
        self.narrow = torch.nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.narrow(torch.nn.functional.gelu(self.wide(self.norm(x))))


class Told(CustomKnapsackSolver):
    """Asks a solver, and keeps what it was allowed and what it took."""

    def __init__(self, solver):
        self.solver, self.allowed, self.taken = solver, 0.0, 0.0

    def uuid(self):
        return "told " + self.solver.uuid()

    def __call__(self, memory, joint_graph, max_memory, node_info, banned):
        saved, again = self.solver(memory, joint_graph, max_memory, node_info, banned)
        self.allowed, self.taken = max_memory, sum(memory[i] for i in saved)
        return saved, again


class Made(TorchDispatchMode):
    """Counts the bytes of what operators make while they are in memory."""

    def __init__(self):
        super().__init__()
        self.there, self.now, self.peak = {}, 0, 0

    def _gone(self, key):
        self.now -= self.there.pop(key, 0)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        results = func(*args, **(kwargs or {}))
        for one in results if isinstance(results, (list, tuple)) else [results]:
            if isinstance(one, torch.Tensor):
                storage = one.untyped_storage()
                key = storage._cdata
                if key not in self.there:
                    self.there[key] = storage.nbytes()
                    self.now += storage.nbytes()
                    weakref.finalize(storage, self._gone, key)
        self.peak = max(self.peak, self.now)
        return results


def saved_bytes(network, x, solver, budget):
    """Bytes that autograd holds beside parameters and input, the most that the backward pass has in memory with them,
    the gradient of the first weight, and seconds."""
    torch._dynamo.reset()
    held = {}

    def pack(tensor):
        held[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    start = time.perf_counter()
    with functorch.patch(activation_memory_budget=budget, activation_memory_budget_solver=solver,
                         activation_memory_budget_runtime_estimator="flops"):
        compiled = torch.compile(network, backend="aot_eager_decomp_partition")
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda one: one):
            result = compiled(x)
        seconds = time.perf_counter() - start
        network.zero_grad()
        total = result.sum()
        with Made() as made:
            total.backward()
    own = {one.untyped_storage().data_ptr() for one in (*network.parameters(), x)}
    saved = sum(size for place, size in held.items() if place not in own)
    return saved, saved + made.peak, network[0].wide.weight.grad.clone(), seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, default=32)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--budgets", type=float, nargs="+", default=[i / 10 for i in range(1, 11)])
    options = parser.parse_args()
    torch.manual_seed(0)
    network = torch.nn.Sequential(*[Layer(options.width) for _ in range(options.layers)])
    x = torch.randn(options.batch, options.width)
    network(x).sum().backward()
    wanted = network[0].wide.weight.grad.clone()
    solver, last, faults = Told(torchbudget.Solver(seconds=options.seconds)), 0, []
    print(f"{'budget':>6} {'plan':>12} {'dp':>12} {'plan peak':>12} {'dp peak':>12} {'allowed':>9} {'taken':>9} "
          f"{'plan s':>7} {'dp s':>7}")
    for budget in sorted(options.budgets):
        own, peak, gradient, seconds = saved_bytes(network, x, solver, budget)
        theirs, their_peak, _, their_seconds = saved_bytes(network, x, "dp", budget)
        print(f"{budget:6.2f} {own:12,} {theirs:12,} {peak:12,} {their_peak:12,} {solver.allowed:9.4f} "
              f"{solver.taken:9.4f} {seconds:7.1f} {their_seconds:7.1f}", flush=True)
        if own < last:
            faults.append(f"budget {budget}: less is saved than for a smaller one")
        if solver.taken > solver.allowed + torchbudget.ROUNDING:
            faults.append(f"budget {budget}: more is taken than allowed")
        if own > theirs:
            faults.append(f"budget {budget}: more is held than by dp")
        if peak > their_peak:
            faults.append(f"budget {budget}: the backward pass needs more than with dp")
        if (gradient - wanted).abs().max().item() > 1e-5 * max(1.0, wanted.abs().max().item()):
            faults.append(f"budget {budget}: the gradient differs")
        last = own
    print("\n".join(faults) if faults else "every budget is kept")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
