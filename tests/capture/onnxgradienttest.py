#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""onnxgradient.py: modules that PyTorch exports, wrapped, give the gradients that PyTorch computes of them itself, also
of their parameters, and along whatever way the input takes through their control flow."""
import inspect
import os

import capturing

numpy, torch = capturing.need("numpy", "torch")
from retrograde.capture import onnxgradient
from torch import nn

CLI = os.environ.get("RETROGRADE_CLI", "retrograde-cli")


class LastStep(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.steps, self.classify = kind(3, 5, batch_first=True), nn.Linear(5, 2)

    def forward(self, x):
        return self.classify(self.steps(x)[0][:, -1])


class AllSteps(nn.Module):
    def __init__(self, kind, **options):
        super().__init__()
        self.steps = kind(3, 4, batch_first=True, **options)

    def forward(self, x):
        return self.steps(x)[0]


class Blend(nn.Module):
    """Two inputs, of which one is an exponent."""

    def forward(self, x, exponent):
        return torch.tanh(x) ** exponent + (x * exponent).softmax(-1)


class Branches(nn.Module):
    """Another layer for inputs with a positive sum; the parameters decide as well."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(3, 2), nn.Linear(3, 2)

    def forward(self, x):
        if bool(self.first(x).sum() > 0):
            y = torch.tanh(self.first(x))
        else:
            y = self.second(x) * x.sum()
        return y


class Rounds(nn.Module):
    """As many rounds as the second input says."""

    def __init__(self):
        super().__init__()
        self.step = nn.Linear(3, 3)

    def forward(self, x, count):
        for _ in range(int(count)):
            x = torch.tanh(self.step(x))
        return x


def options(**wanted):
    """Those of these options of torch.onnx.export that the installed PyTorch has."""
    known = inspect.signature(torch.onnx.export).parameters
    return {name: value for name, value in wanted.items() if name in known}


def network():
    return nn.Sequential(nn.Conv2d(2, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2),
                         nn.LocalResponseNorm(3), nn.Conv2d(4, 6, 3, stride=2), nn.GELU(), nn.Flatten(), nn.Linear(24, 3))


class OnnxGradient(capturing.Case):
    def wrapped(self, module, *inputs, **exporter):
        path = str(self.folder / "model.onnx")
        names = [f"x{i}" for i in range(len(inputs))]
        torch.onnx.export(module.eval(), inputs, path, opset_version=16, input_names=names, **exporter)
        return onnxgradient.OnnxModule(path, dict(zip(names, inputs)), CLI)

    def compare(self, module, *inputs):
        """Between other operators of PyTorch, and from a seed of other numbers than ones."""
        function, found = self.wrapped(module, *inputs), []
        for one in (module, function):
            leaves = [x.clone().requires_grad_() for x in inputs]
            result = one(*[leaf * 1.5 for leaf in leaves])
            seed = torch.linspace(0.5, 2, result.numel()).reshape(result.shape)
            (torch.sin(result) * seed).sum().backward()
            found.append([result.detach(), *(leaf.grad for leaf in leaves)])
        for wanted, own in zip(*found):
            self.assertGreater(wanted.abs().max().item(), 0)
            self.assertLess(((own - wanted).abs().max() / wanted.abs().max()).item(), 1e-4)

    def test_a_convolutional_network(self):
        torch.manual_seed(0)
        self.compare(network(), torch.rand(2, 2, 12, 12))

    def test_recurrent_networks(self):
        for kind in (nn.LSTM, nn.GRU, nn.RNN):
            with self.subTest(kind.__name__):
                torch.manual_seed(1)
                self.compare(LastStep(kind), torch.rand(2, 6, 3))

    def test_recurrent_weights_train(self):
        """What the exporter of TorchScript makes of them are their rows in another order: descent is the same."""
        for kind in (nn.LSTM, nn.GRU, nn.RNN):
            for more in ({}, {"bidirectional": True}, {"bias": False}):
                with self.subTest(f"{kind.__name__} {more}"):
                    torch.manual_seed(1)
                    module, x = AllSteps(kind, **more), torch.rand(2, 5, 3)
                    function = self.wrapped(module, x, **options(dynamo=False))
                    self.assertEqual(len(dict(function.named_parameters())), 2 if "bias" in more else 3)
                    self.descend(module, function, x, 1 - x[:, :, :1], 8)

    def test_a_transformer_layer(self):
        torch.manual_seed(2)
        layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, activation="gelu")
        self.compare(layer, torch.rand(2, 5, 8))

    def scripted(self, module, *inputs):
        """Of a module whose control flow is exported as such: by the exporter of TorchScript."""
        path = str(self.folder / "scripted.onnx")
        script = torch.jit.script(module.eval())
        names = [f"x{i}" for i in range(len(inputs))]
        torch.onnx.export(script, inputs, path, opset_version=16, input_names=names, **options(dynamo=False))
        return onnxgradient.OnnxModule(path, dict(zip(names, inputs)), CLI)

    def compare_one(self, module, function, *inputs):
        """Gradients of the first input and of the parameters, which keep their names."""
        found = []
        for one in (module, function):
            one.zero_grad()
            leaf = inputs[0].clone().requires_grad_()
            result = one(leaf, *inputs[1:])
            (torch.sin(result) * torch.linspace(0.5, 2, result.numel()).reshape(result.shape)).sum().backward()
            named = {name.replace(".", "_"): p.grad for name, p in one.named_parameters()}
            found.append([result.detach(), leaf.grad, named])
        for wanted, own in zip(found[0][:2], found[1][:2]):
            self.assertLess((own - wanted).abs().max().item(), 1e-4 * wanted.abs().max().item())
        self.assertEqual(set(found[0][2]), set(found[1][2]))
        for name, wanted in found[0][2].items():
            own = found[1][2][name]
            if wanted is None or own is None:  # of a branch that was not taken
                self.assertTrue(all(one is None or not one.any() for one in (wanted, own)), name)
            else:
                self.assertLess((own - wanted).abs().max().item(), 1e-4 * wanted.abs().max().item() + 1e-12, name)

    def test_another_branch(self):
        torch.manual_seed(4)
        module = Branches()
        inputs = [torch.randn(4, 3) * 3 for _ in range(6)]
        taken = {bool(module.first(x).sum() > 0) for x in inputs}
        self.assertEqual(taken, {True, False})
        function = self.scripted(module, inputs[0])
        for x in inputs:
            self.compare_one(module, function, x)
        self.assertEqual(len(function.written), 2)  # one graph for each branch

    def test_another_number_of_rounds(self):
        torch.manual_seed(5)
        module, x = Rounds(), torch.randn(2, 3)
        function = self.scripted(module, x, torch.tensor(2))
        for count in (2, 5, 1, 2):
            self.compare_one(module, function, x, torch.tensor(count))

    def test_other_shapes(self):
        torch.manual_seed(6)
        path = str(self.folder / "free.onnx")
        module = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).eval()
        torch.onnx.export(module, torch.randn(2, 3), path, opset_version=16, input_names=["x"],
                          dynamic_axes={"x": {0: "N"}})
        function = onnxgradient.OnnxModule(path, torch.randn(2, 3), CLI)
        for rows in (2, 5, 1):
            x = torch.randn(rows, 3)
            grads = []
            for one in (module, function):
                leaf = x.clone().requires_grad_()
                one(leaf).square().sum().backward()
                grads.append(leaf.grad)
            self.assertLess((grads[1] - grads[0]).abs().max().item(), 1e-5)

    def test_parameters_train(self):
        torch.manual_seed(7)
        module = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Linear(8, 1)).eval()
        function = self.wrapped(module, torch.randn(16, 3), **options(optimize=False))  # else the layers are merged
        names = {name.replace(".", "_") for name, _ in module.named_parameters()}
        self.assertTrue({"0_weight", "0_bias", "3_weight", "3_bias"} <= names)
        self.assertEqual({name for name, _ in function.named_parameters()} & {"1_running_mean", "1_running_var"}, set())
        x = torch.randn(16, 3)
        self.descend(module, function, x, (x[:, :1] * 2 - x[:, 1:2]).sin(), 15)

    def descend(self, module, function, x, wanted, steps):
        """The losses of descent are the same for the module and for what wraps it."""
        losses = []
        for one in (module, function):
            descent = torch.optim.SGD(one.parameters(), 0.2)
            course = []
            for _ in range(steps):
                descent.zero_grad()
                loss = (one(x) - wanted).square().mean()
                loss.backward()
                descent.step()
                course.append(loss.item())
            losses.append(course)
        self.assertLess(losses[1][-1], 0.98 * losses[1][0])
        for own, right in zip(losses[1], losses[0]):
            self.assertAlmostEqual(own, right, delta=1e-5 * max(right, 1))

    def test_a_graph_of_another_function_is_refused(self):
        torch.manual_seed(8)
        function = self.wrapped(nn.Sequential(nn.Linear(3, 2)), torch.randn(2, 3))
        graph = function.graph_for({"x0": numpy.zeros((2, 3), numpy.float32)} | function.arrays_of_parameters())
        plain = graph.runs.run
        graph.runs.run = lambda arrays: {name: one + 1 for name, one in plain(arrays).items()}
        x = torch.randn(2, 3, requires_grad=True)
        with self.refused(RuntimeError, "another result"):
            function(x).sum().backward()

    def test_two_inputs(self):
        torch.manual_seed(3)
        self.compare(Blend(), torch.rand(3, 4) + 0.1, torch.rand(3, 4) + 0.5)


if __name__ == "__main__":
    capturing.run()
