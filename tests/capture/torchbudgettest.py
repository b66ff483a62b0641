# SPDX-License-Identifier: Apache-2.0
"""retrograde.capture.torchbudget: what torch.compile saves within its activation memory budget, by a plan."""
import capturing

torch = capturing.need("torch")
capturing.need("torch._inductor.custom_graph_pass")
import torch._inductor.custom_graph_pass as passes

if not hasattr(passes, "CustomKnapsackSolver"):
    print(f"skipped: PyTorch {torch.__version__} has no CustomKnapsackSolver (2.9 has)")
    raise SystemExit(capturing.SKIPPED)
import torch._functorch.config as functorch
from retrograde.capture import torchbudget

LAYERS = 32


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(32, 32)

    def forward(self, x):
        return torch.sin(torch.relu(self.linear(x))).cos()


class Adding(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.wide, self.narrow = torch.nn.Linear(32, 128), torch.nn.Linear(128, 32)

    def forward(self, x):
        return x + self.narrow(torch.relu(self.wide(x)))


class Asked(passes.CustomKnapsackSolver):
    """Asks a solver, and keeps the budgets, what it took, and what the step needs by its own account."""

    def __init__(self, solver):
        self.solver, self.budgets, self.taken, self.need = solver, [], 0, (0, 0)

    def uuid(self):
        return "asked " + self.solver.uuid()

    def __call__(self, memory, joint_graph, max_memory, node_info, banned):
        answer = self.solver(memory, joint_graph, max_memory, node_info, banned)
        self.budgets.append(max_memory)
        self.taken = sum(memory[i] for i in answer[0])
        self.need = torchbudget.JointGraph(joint_graph, node_info, list(banned)).need(answer[0])
        return answer


class TorchBudget(capturing.Case):
    def setUp(self):
        super().setUp()
        torch.manual_seed(0)
        self.network = torch.nn.Sequential(*[Layer() for _ in range(LAYERS)])
        self.x = torch.randn(64, 32)

    def step(self, solver, budget):
        """The most bytes in memory at once in a training step, and the gradient of the first weight."""
        torch._dynamo.reset()
        with functorch.patch(activation_memory_budget=budget, activation_memory_budget_solver=solver,
                             activation_memory_budget_runtime_estimator="flops"):
            compiled = torch.compile(self.network, backend="aot_eager_decomp_partition")
            compiled(self.x).sum().backward()
        self.network.zero_grad()
        peak = capturing.most_allocated(lambda: compiled(self.x).sum().backward())
        return peak, next(self.network.parameters()).grad.clone()

    def compare(self, budgets, own=1024):
        """Within each budget no more memory than with `dp`, and no more than with a smaller budget; as was foretold,
        but for what operators allocate for themselves, and the loss."""
        self.network(self.x).sum().backward()
        wanted = next(self.network.parameters()).grad.clone()
        solver, last = Asked(torchbudget.Solver(seconds=1)), float("inf")
        for budget in budgets:
            with self.subTest(budget):
                peak, gradient = self.step(solver, budget)
                theirs, _ = self.step("dp", budget)
                self.assertEqual(solver.budgets[-1], budget)
                self.assertLessEqual(solver.taken, budget + torchbudget.ROUNDING)
                self.assertLess(abs(peak - solver.need[0]), own)
                self.assertLessEqual(peak, theirs)
                self.assertLessEqual(peak, last)
                self.assertLess((gradient - wanted).abs().max().item(), 1e-5 * wanted.abs().max().item() + 1e-6)
                last = peak

    def test_a_chain(self):
        self.compare((0.05, 0.3))

    def test_residual_layers(self):
        self.network, self.x = torch.nn.Sequential(*[Adding() for _ in range(16)]), torch.randn(64, 32)
        self.compare((0.05, 0.4))

    def test_a_transformer(self):
        layer = torch.nn.TransformerEncoderLayer(16, 2, 32, dropout=0, batch_first=True)
        self.network = torch.nn.TransformerEncoder(layer, 4, enable_nested_tensor=False)
        self.x = torch.randn(4, 8, 16)
        self.compare((0.1, 0.3), own=10_000)  # attention

    def test_the_memory_of_a_step_is_known(self):
        """Of 16 layers that add to what they read, the fewest bytes are needed with the small results saved: with
        nothing saved all are computed again at once, and with everything saved all are there."""
        peaks = {}

        class Choices(torchbudget.Solver):
            def __call__(self, memory, joint_graph, max_memory, node_info, banned):
                graph = torchbudget.JointGraph(joint_graph, node_info, list(banned))
                small = min(memory)
                for name, chosen in (("none", set()), ("all", set(range(len(memory)))),
                                     ("small", {i for i, size in enumerate(memory) if size < 1.5 * small})):
                    peaks[name] = graph.need(chosen)
                answer = super().__call__(memory, joint_graph, max_memory, node_info, banned)
                peaks["answer"] = graph.need(answer[0])
                return answer

        self.network = torch.nn.Sequential(*[Adding() for _ in range(16)])
        self.step(Choices(seconds=1), 0.2)
        self.assertLess(peaks["small"][0], peaks["none"][0])
        self.assertLess(peaks["small"][0], peaks["all"][0])
        self.assertLessEqual(peaks["answer"][0], peaks["small"][0])
        self.assertLess(peaks["all"][1], peaks["small"][1])  # operations that run again
        self.assertLess(peaks["small"][1], peaks["none"][1])

    def test_a_choice_is_changed_for_as_long_as_that_helps(self):
        wanted = {1, 4}
        distance = lambda chosen: len(chosen ^ wanted)
        better = lambda one, other: distance(one) < distance(other)
        few = lambda chosen: len(chosen) <= 2
        self.assertEqual(torchbudget.changed({2, 3}, better, range(6), few, 100), wanted)
        self.assertEqual(torchbudget.changed({2, 3}, better, range(6), few, 0), {2, 3})

    def test_what_is_saved_is_spread_over_the_layers(self):
        """Where no plan keeps so little, what one keeps is thinned out evenly."""
        self.assertEqual(torchbudget.spread(range(32), [1 / 32] * 32, 0.1), {0, 10, 21})
        self.assertEqual(torchbudget.spread(range(4), [1] * 4, 0.5), set())

    def test_small_results_are_filled_in_from_the_front(self):
        self.assertEqual(torchbudget.filled([0.2, 0.1, 0.1, 0.1], 0.25), {1, 2})
        self.assertEqual(torchbudget.filled([0.2, 0.1], 0.05), set())

    def test_the_answer_depends_on_what_its_name_says(self):
        self.assertEqual(torchbudget.Solver().uuid(), torchbudget.Solver().uuid())
        self.assertNotEqual(torchbudget.Solver().uuid(), torchbudget.Solver(strategy="rotor").uuid())
        self.assertNotEqual(torchbudget.Solver().uuid(), torchbudget.Solver(seconds=1).uuid())


if __name__ == "__main__":
    capturing.run()
