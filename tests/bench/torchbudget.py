#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares what torch.compile needs within its activation memory budget: by plans (retrograde.capture.torchbudget) and
by PyTorch's own solver `dp`, on a network of equal layers.

    tests/bench/torchbudget.py [--layers 32] [--width 64] [--batch 128] [--seconds 2] [--budgets 0.1 0.2 …]

Prints a line per budget: the most bytes that PyTorch has allocated at once in a training step, beside weights and what
was there before, by each solver; the same as the solver foretold it; operations that the backward pass runs again, by
each; and what was allowed and taken of it, in the unit of PyTorch. Ends with 1 where a larger budget needs more memory
than a smaller one, more than with `dp`, more is taken than is allowed, or gradients differ by more than 1e-5. Where
PyTorch asks no solver, since what it would save of itself fits, the line says so.
"""
import argparse
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "app/python"), str(ROOT / "tests/capture")]

import torch
import torch._functorch.config as functorch
from torch._inductor.custom_graph_pass import CustomKnapsackSolver

import capturing
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
    """Asks a solver, and keeps what it was allowed, what it took, and what the step needs by its own account."""

    def __init__(self, solver):
        self.solver, self.is_asked, self.allowed, self.taken, self.need, self.seconds = solver, False, 0, 0, (0, 0), 0

    def uuid(self):
        return "told " + self.solver.uuid()

    def __call__(self, memory, joint_graph, max_memory, node_info, banned):
        start = time.perf_counter()
        saved, again = self.solver(memory, joint_graph, max_memory, node_info, banned)
        self.seconds = time.perf_counter() - start
        self.is_asked, self.allowed, self.taken = True, max_memory, sum(memory[i] for i in saved)
        self.need = torchbudget.JointGraph(joint_graph, node_info, list(banned)).need(saved)
        return saved, again


class Theirs(CustomKnapsackSolver):
    """PyTorch's own solver `dp`, told what it counts itself with the estimator "flops"."""

    def uuid(self):
        return "dp"

    def __call__(self, memory, joint_graph, max_memory, node_info, banned):
        operations = [max(1, torchbudget.products_of(node)) for node in banned]
        return torchbudget.dp_knapsack(memory, operations, max_memory)[1:]


def step(network, x, solver, budget):
    """The most bytes allocated at once in a training step, and the gradient of the first weight."""
    torch._dynamo.reset()
    solver.is_asked = False
    with functorch.patch(activation_memory_budget=budget, activation_memory_budget_solver=solver,
                         activation_memory_budget_runtime_estimator="flops"):
        compiled = torch.compile(network, backend="aot_eager_decomp_partition")
        compiled(x).sum().backward()
    network.zero_grad()
    peak = capturing.most_allocated(lambda: compiled(x).sum().backward())
    return peak, network[0].wide.weight.grad.clone()


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
    solver, dp, last, faults = Told(torchbudget.Solver(seconds=options.seconds)), Told(Theirs()), float("inf"), []
    print(f"{'budget':>6} {'peak':>12} {'dp peak':>12} {'foretold':>12} {'again':>14} {'dp again':>14} {'allowed':>9} "
          f"{'taken':>9} {'seconds':>7}")
    for budget in sorted(options.budgets):
        peak, gradient = step(network, x, solver, budget)
        if not solver.is_asked:
            print(f"{budget:6.2f} {peak:12,} PyTorch asks no solver", flush=True)
            continue
        theirs, _ = step(network, x, dp, budget)
        print(f"{budget:6.2f} {peak:12,} {theirs:12,} {solver.need[0]:12,} {solver.need[1]:14,} {dp.need[1]:14,} "
              f"{solver.allowed:9.4f} {solver.taken:9.4f} {solver.seconds:7.1f}", flush=True)
        if solver.taken > solver.allowed + torchbudget.ROUNDING:
            faults.append(f"budget {budget}: more is taken than allowed")
        if peak > last:
            faults.append(f"budget {budget}: more memory is needed than for a smaller one")
        if peak > theirs:
            faults.append(f"budget {budget}: more memory is needed than with dp")
        if (gradient - wanted).abs().max().item() > 1e-5 * max(1.0, wanted.abs().max().item()):
            faults.append(f"budget {budget}: the gradient differs")
        last = peak
    print("\n".join(faults) if faults else "every budget is kept")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
