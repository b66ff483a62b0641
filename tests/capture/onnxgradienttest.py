#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""onnxgradient.py: modules that PyTorch exports, wrapped, give the gradients that PyTorch computes of them itself."""
import os

import capturing

numpy, torch = capturing.need("numpy", "torch")
import onnxgradient
from torch import nn

CLI = os.environ.get("RETROGRADE_CLI", "retrograde-cli")


class LastStep(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.steps, self.classify = kind(3, 5, batch_first=True), nn.Linear(5, 2)

    def forward(self, x):
        return self.classify(self.steps(x)[0][:, -1])


class Blend(nn.Module):
    """Two inputs, of which one is an exponent."""

    def forward(self, x, exponent):
        return torch.tanh(x) ** exponent + (x * exponent).softmax(-1)


def network():
    return nn.Sequential(nn.Conv2d(2, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2),
                         nn.LocalResponseNorm(3), nn.Conv2d(4, 6, 3, stride=2), nn.GELU(), nn.Flatten(), nn.Linear(24, 3))


class OnnxGradient(capturing.Case):
    def wrapped(self, module, *inputs):
        path = str(self.folder / "model.onnx")
        names = [f"x{i}" for i in range(len(inputs))]
        torch.onnx.export(module.eval(), inputs, path, opset_version=16, input_names=names)
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

    def test_a_transformer_layer(self):
        torch.manual_seed(2)
        layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, activation="gelu")
        self.compare(layer, torch.rand(2, 5, 8))

    def test_two_inputs(self):
        torch.manual_seed(3)
        self.compare(Blend(), torch.rand(3, 4) + 0.1, torch.rand(3, 4) + 0.5)


if __name__ == "__main__":
    capturing.run()
