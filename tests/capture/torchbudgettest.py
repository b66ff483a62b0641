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


class TorchBudget(capturing.Case):
    def setUp(self):
        super().setUp()
        torch.manual_seed(0)
        self.network = torch.nn.Sequential(*[Layer() for _ in range(LAYERS)])
        self.x = torch.randn(64, 32)

    def saved(self, solver, budget):
        """Bytes that autograd holds beside parameters and input, and the gradient of the first weight."""
        torch._dynamo.reset()
        held = {}

        def pack(tensor):
            held[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
            return tensor

        with functorch.patch(activation_memory_budget=budget, activation_memory_budget_solver=solver,
                             activation_memory_budget_runtime_estimator="flops"):
            compiled = torch.compile(self.network, backend="aot_eager_decomp_partition")
            with torch.autograd.graph.saved_tensors_hooks(pack, lambda one: one):
                result = compiled(self.x)
            self.network.zero_grad()
            result.sum().backward()
        own = {one.untyped_storage().data_ptr() for one in (*self.network.parameters(), self.x)}
        gradient = next(self.network.parameters()).grad.clone()
        return sum(size for place, size in held.items() if place not in own), gradient

    def test_budgets_are_kept(self):
        self.network(self.x).sum().backward()
        wanted = self.network[0].linear.weight.grad.clone()
        solver, last = torchbudget.Solver(seconds=1), 0
        for budget in (0.1, 0.3, 0.9):
            own, gradient = self.saved(solver, budget)
            theirs, _ = self.saved("dp", budget)
            self.assertGreaterEqual(own, last)  # a larger budget never saves less
            self.assertLessEqual(own, theirs)
            self.assertGreater(own, 0.7 * theirs)  # and makes use of the budget
            self.assertLess((gradient - wanted).abs().max().item(), 1e-5)
            last = own

    def test_the_peak_of_the_backward_pass_is_known(self):
        """Of 16 layers that add to what they read, the fewest bytes are needed with the small results saved: with
        nothing saved all are computed again at once, and with everything saved all are there."""

        class Adding(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.wide, self.narrow = torch.nn.Linear(32, 128), torch.nn.Linear(128, 32)

            def forward(self, x):
                return x + self.narrow(torch.relu(self.wide(x)))

        peaks = {}

        class Asked(torchbudget.Solver):
            def __call__(self, memory, joint_graph, max_memory, node_info, banned):
                graph = torchbudget.JointGraph(joint_graph, node_info, list(banned))
                small = min(memory)
                for name, chosen in (("none", set()), ("all", set(range(len(memory)))),
                                     ("small", {i for i, size in enumerate(memory) if size < 1.5 * small})):
                    peaks[name] = graph.backward_peak(chosen)
                answer = super().__call__(memory, joint_graph, max_memory, node_info, banned)
                peaks["answer"] = graph.backward_peak(set(answer[0]))
                return answer

        self.network = torch.nn.Sequential(*[Adding() for _ in range(16)])
        self.saved(Asked(seconds=1), 0.2)
        self.assertLess(peaks["small"], peaks["none"])
        self.assertLess(peaks["small"], peaks["all"])
        self.assertLess(peaks["answer"], peaks["none"])

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
