# SPDX-License-Identifier: Apache-2.0
"""Modules of PyTorch in the process: gradients of autograd, tensors by DLPack, composites of zennit."""
import os
import subprocess
import sys
import unittest
import warnings

from module import SAMPLE, SKIPPED, Case, numpy, rg

try:
    import torch
except ImportError as error:
    print(f"skipped: {sys.executable} has no torch ({error})")
    sys.exit(SKIPPED)


def network():
    """A small classifier of pictures."""
    torch.manual_seed(3)
    return torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
                               torch.nn.Flatten(), torch.nn.Linear(8 * 8 * 8, 5)).double().eval()


def with_batchnorm():
    """A classifier in blocks, with BatchNorm that is no identity."""
    torch.manual_seed(4)
    block = torch.nn.Sequential(torch.nn.Conv2d(3, 6, 3, padding=1), torch.nn.BatchNorm2d(6), torch.nn.ReLU())
    layers = [torch.nn.Sequential(block), torch.nn.Flatten(), torch.nn.Linear(6 * 64, 4)]
    module = torch.nn.Sequential(*layers).double().eval()
    with torch.no_grad():
        for one in (block[1].running_mean, block[1].bias):
            one.uniform_(-0.5, 0.5)
        block[1].running_var.uniform_(0.5, 2)
    return module, torch.rand(3, 3, 8, 8, dtype=torch.float64)


class Traps(Case):
    def test_batchnorm_is_merged_here_and_not_by_the_exporter(self):
        module, x = with_batchnorm()
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            kept = rg.load(module, x, no_merge_batchnorm=True)
        merged = rg.load(module, x)
        self.assertIn("BatchNormalization", merged._native.operators)
        name = next(iter(merged.inputs))
        maps = [one.explain(x, target=0, composite="epsilon_plus", precision="double")[name] for one in (merged, kept)]
        self.assertGreater(abs(maps[0] - maps[1]).max(), 1e-3)

    def test_a_tensor_of_targets_is_a_class_per_sample(self):
        module, x = with_batchnorm()
        run = rg.explain(module, x, target=torch.tensor([1, 3, 2]), composite="gradient_x_input", precision="double")
        self.assertEqual(run.target[1], [1, 3, 2])
        self.assertIn("Sequential was exported to ONNX", run.warnings[0])
        x.requires_grad_(True)
        module(x).gather(1, torch.tensor([[1], [3], [2]])).sum().backward()
        numpy.testing.assert_allclose(run[next(iter(run.model.inputs))], (x * x.grad).detach().numpy(), atol=1e-12)

    def test_threads_of_torch_do_not_spin_beside_a_pass(self):
        script = f"""
import torch, os, pathlib
import retrograde as rg
rg.set_threads(len(os.sched_getaffinity(0)))
names = set()
def look(*_):
    names.update(one.read_text().strip() for one in pathlib.Path("/proc/self/task").glob("*/comm"))
rg.load({str(SAMPLE)!r}).explain("zeros", progress=look)
print("retro-holder" in names)
"""
        for policy, expected in (({}, "True"), ({"OMP_WAIT_POLICY": "passive"}, "False")):
            own = {name: value for name, value in os.environ.items() if name not in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")}
            done = subprocess.run([sys.executable, "-c", script], env={**own, **policy}, capture_output=True, text=True,
                                  check=False)
            self.assertEqual(done.stdout.strip(), expected, done.stderr)

    def test_a_data_loader_gives_its_batches(self):
        module, x = with_batchnorm()
        data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, torch.zeros(3)), batch_size=1)
        model = rg.load(module, x[:1])
        runs = list(model.each(data, composite="epsilon", precision="double"))
        self.assertEqual(len(rg.table(runs)), 3)
        numpy.testing.assert_array_equal(runs[2].inputs[next(iter(model.inputs))], x[2:].numpy())

    def test_modules_name_values(self):
        module, x = with_batchnorm()
        run = rg.explain(module, x, target=0, composite="epsilon", precision="double")
        self.assertEqual(run["0.0"].shape, (3, 6, 8, 8))
        self.assertEqual(run["2"].shape, (3, 4))

    def test_zennit_without_canonizers_is_said_and_is_zennit(self):
        try:
            import zennit.attribution
            import zennit.canonizers
            import zennit.composites
        except ImportError:
            self.skipTest("there is no zennit")
        module, x = with_batchnorm()
        model = rg.load(module, x)

        def theirs(composite):
            with zennit.attribution.Gradient(model=module, composite=composite) as attributor:
                return attributor(x, torch.eye(4, dtype=torch.float64)[[0, 0, 0]])[1].detach().numpy()
        for canonizers in ([], [zennit.canonizers.SequentialMergeBatchNorm()]):
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                run = model.explain(x, target=0, start="one", precision="double",
                                    composite=zennit.composites.EpsilonPlus(canonizers=canonizers))
            told = any("has no canonizer" in str(one.message) for one in said)
            self.assertEqual(told, not canonizers)
            expected = theirs(zennit.composites.EpsilonPlus(canonizers=canonizers))
            found = run[next(iter(model.inputs))]
            self.assertLess(abs(found - expected).max(), 1e-4 * abs(expected).max())


class Modules(Case):
    def test_gradient_times_input_is_that_of_autograd(self):
        module, x = network(), torch.rand(1, 3, 16, 16, dtype=torch.float64, requires_grad=True)
        module(x)[0, 3].backward()
        run = rg.explain(module, x, target=3, composite="gradient_x_input", start="one", precision="double")
        numpy.testing.assert_allclose(run[next(iter(run.model.inputs))], (x * x.grad).detach().numpy(), atol=1e-12)
        self.assertTrue(torch.allclose(torch.tensor(run.outputs[run.model.outputs[0]]), module(x)))

    def test_the_module_is_left_as_it_was(self):
        module = network().train()
        rg.load(module, torch.rand(1, 3, 16, 16, dtype=torch.float64))
        self.assertTrue(module.training)

    def test_a_tensor_is_lent_without_a_copy(self):
        model, x = rg.load(network().float(), torch.rand(1, 3, 16, 16)), torch.rand(1, 3, 16, 16)
        run = model.explain(x, copy=False)
        self.assertTrue(numpy.shares_memory(next(iter(run.inputs.values())), x.numpy()))

    def test_relevance_is_lent_without_a_copy(self):
        if not hasattr(numpy, "from_dlpack") or numpy.lib.NumpyVersion(numpy.__version__) < "2.1.0":
            self.skipTest("numpy lends no array that is read only")
        run = self.model.explain(self.picture(), composite="epsilon")
        lent = torch.from_dlpack(run["image"])
        self.assertEqual(lent.data_ptr(), run["image"].ctypes.data)
        expected = numpy.array(run["image"])
        del run
        numpy.testing.assert_array_equal(lent.numpy(), expected)

    def test_a_module_that_does_not_run_is_refused(self):
        with self.refused(rg.InputError, 3, "Linear", "1x4"):
            rg.load(torch.nn.Linear(3, 3), torch.zeros(1, 4))
        with self.refused(rg.UsageError, 2, "tensor"):
            rg.load(torch.nn.Linear(3, 3), "a")
        with self.refused(rg.UsageError, 2, "meta"):
            self.model.explain(torch.empty(1, 3, 96, 96, device="meta"))

    def test_a_captured_graph_is_the_module(self):
        from retrograde.capture import torchcapture
        module, x = network().float(), torch.rand(1, 3, 16, 16)
        a = rg.load(module, x).explain(x, composite="epsilon", target=2)
        b = rg.load(torchcapture.capture(module, x)).explain(x, composite="epsilon", target=2)
        first = [next(iter(run.relevance.values())) for run in (a, b)]
        numpy.testing.assert_allclose(*first, atol=1e-6)

    def test_a_composite_of_zennit_is_taken(self):
        try:
            import zennit.attribution
            import zennit.composites
        except ImportError as error:
            self.skipTest(f"no zennit ({error})")
        module, x = network(), torch.rand(1, 3, 16, 16, dtype=torch.float64)
        composite = zennit.composites.EpsilonPlus(epsilon=1e-6)
        with zennit.attribution.Gradient(model=module, composite=composite) as attributor:
            _, theirs = attributor(x.clone().requires_grad_(), torch.eye(5, dtype=torch.float64)[[3]])
        run = rg.explain(module, x, composite=composite, target=3, start="one", precision="double")
        ours = run[next(iter(run.model.inputs))]
        numpy.testing.assert_allclose(ours, theirs.detach().numpy(), atol=1e-6)

    def test_calls_of_captum_have_equals(self):
        try:
            import captum.attr
        except ImportError as error:
            self.skipTest(f"no captum ({error})")
        x, target = torch.rand(1, 3, 16, 16, dtype=torch.float64), 3

        def ours(**options):
            run = rg.explain(network(), x, target=target, precision="double", record=False, **options)
            return run[next(iter(run.model.inputs))]
        saliency = captum.attr.Saliency(network()).attribute(x.clone().requires_grad_(), target)
        numpy.testing.assert_allclose(abs(ours(composite="gradient", start="one")), saliency.detach(), atol=1e-12)
        for name, method in (("gradient_x_input", captum.attr.InputXGradient),
                             ("guided_backprop", captum.attr.GuidedBackprop),
                             ("deconvnet", captum.attr.Deconvolution)):
            theirs = method(network()).attribute(x.clone().requires_grad_(), target).detach()
            numpy.testing.assert_allclose(ours(composite=name, start="one"), theirs, atol=1e-12, err_msg=name)

        class Flat(torch.nn.Module):
            """The network without a layer that flattens, for which captum has no rule."""

            def __init__(self):
                super().__init__()
                self.conv, self.relu, self.pool, _, self.dense = network()

            def forward(self, given):
                return self.dense(self.pool(self.relu(self.conv(given))).flatten(1))
        theirs = captum.attr.LRP(Flat()).attribute(x, target).detach()
        numpy.testing.assert_allclose(ours(composite="epsilon:epsilon=1e-9"), theirs, atol=1e-6)

    def test_plans_of_a_module_and_a_step_by_one(self):
        module, x = network().float(), torch.rand(1, 3, 16, 16)
        answer, plan = rg.plan(module, "100%", example=(x,))
        self.assertIn(answer["status"], ("optimal", "feasible"))
        self.assertTrue(plan["steps"])
        with self.refused(rg.EngineError, 4):
            rg.plan(module, "1%", example=(x,))
        module.train()
        module(x).sum().backward()
        expected = [one.grad.clone() for one in module.parameters()]
        module.zero_grad()
        rg.checkpoint(module, "100%")(x).sum().backward()
        for one, gradient in zip(module.parameters(), expected):
            torch.testing.assert_close(one.grad, gradient)

    def test_a_plan_of_a_model_that_came_from_memory(self):
        plans = [rg.plan(model, "100%")[1] for model in (rg.load(SAMPLE), rg.load(SAMPLE.read_bytes()))]
        self.assertEqual(plans[0]["steps"], plans[1]["steps"])
        x = torch.rand(1, 3, 16, 16)
        for answer, _ in (rg.plan(rg.load(network().float(), x), "100%"),
                          rg.plan(network().float(), "100%", example=x)):
            self.assertIn(answer["status"], ("optimal", "feasible"))

    def test_a_module_without_an_example_is_refused(self):
        with self.refused(rg.UsageError, 2, "example"):
            rg.load(network())


if __name__ == "__main__":
    unittest.main(verbosity=1)
