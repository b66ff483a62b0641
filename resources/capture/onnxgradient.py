#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Wraps an ONNX model and its gradient graph as a torch.autograd.Function, so that a model without PyTorch code takes
part in a backward pass.

    from onnxgradient import OnnxModule
    module = OnnxModule("model.onnx", example)          # a tensor, or {input name: tensor} for several inputs
    module(x).sum().backward()                          # x.grad comes from the gradient graph

The gradient graph is what `retrograde-cli grad MODEL --graph-out FILE.onnx --joint` writes, for the shapes of the
example. Both graphs are standard ONNX; they run in onnxruntime where that is installed, else in `retrograde-cli run`.
The first output is the one that is differentiated. Run as a program, the script checks itself on a model: the gradient
of the sum of the first output with respect to every floating input against `retrograde-cli grad`.

    onnxgradient.py MODEL INPUT.npy [--cli build/release/bin/retrograde-cli]
"""
import argparse
import json
import pathlib
import subprocess
import tempfile

import numpy
import torch


def file_name(value):
    return value.replace("/", "_").replace(":", "_")


def inputs_of(arrays, folder):
    """Writes arrays as files; the options that name them."""
    options = []
    for i, (name, array) in enumerate(arrays.items()):
        path = pathlib.Path(folder) / f"input{i}.npy"
        numpy.save(path, array)
        options += ["--input", f"{name}={path}"]
    return options


class CliRuntime:
    """Runs a graph through retrograde-cli."""

    def __init__(self, path, cli):
        self.path, self.cli = path, cli
        about = json.loads(subprocess.check_output([cli, "info", path, "--json", "--quiet"]))
        self.inputs = [value["name"] for value in about["inputs"]]
        self.outputs = [value["name"] for value in about["outputs"]]

    def run(self, arrays):
        with tempfile.TemporaryDirectory() as folder:
            answer = subprocess.check_output([self.cli, "run", self.path, *inputs_of(arrays, folder), "--output-dir",
                                              folder + "/out", "--json"])
            return {one["output"]: numpy.load(one["file"]) for one in json.loads(answer)["outputs"]}


class OnnxRuntime:
    """Runs a graph through onnxruntime."""

    def __init__(self, path, _cli):
        import onnxruntime

        self.session = onnxruntime.InferenceSession(path)
        self.inputs = [value.name for value in self.session.get_inputs()]
        self.outputs = [value.name for value in self.session.get_outputs()]

    def run(self, arrays):
        return dict(zip(self.outputs, self.session.run(None, arrays)))


def runtime(path, cli):
    try:
        return OnnxRuntime(path, cli)
    except ImportError:
        return CliRuntime(path, cli)


class OnnxModule(torch.nn.Module):
    def __init__(self, model, example, cli="retrograde-cli"):
        super().__init__()
        self.forward_graph = runtime(model, cli)
        names = self.forward_graph.inputs
        example = example if isinstance(example, dict) else {names[0]: example}
        self.folder = tempfile.TemporaryDirectory()
        path = self.folder.name + "/joint.onnx"
        arrays = {name: tensor.detach().numpy() for name, tensor in example.items()}
        target = self.forward_graph.outputs[0]
        about = json.loads(subprocess.check_output([cli, "grad", model, *inputs_of(arrays, self.folder.name), "--target",
                                                    target, "--graph-out", path, "--joint", "--json"]))
        self.seed, self.gradients = about["seed"], about["gradients"]
        self.joint_graph = runtime(path, cli)
        self.function = self.make_function()

    def gradient_of(self, name):
        """Name of the output that holds the gradient of an input; None for inputs that get none."""
        return next((one for one in self.gradients if one.rstrip("~") == name + "_gradient"), None)

    def make_function(module):
        class Function(torch.autograd.Function):
            @staticmethod
            def forward(context, *tensors):
                context.save_for_backward(*tensors)
                arrays = {name: tensor.numpy() for name, tensor in zip(module.forward_graph.inputs, tensors)}
                return torch.from_numpy(module.forward_graph.run(arrays)[module.forward_graph.outputs[0]])

            @staticmethod
            def backward(context, upstream):
                arrays = {name: tensor.numpy()
                          for name, tensor in zip(module.forward_graph.inputs, context.saved_tensors)}
                arrays[module.seed] = upstream.contiguous().numpy()
                outputs = module.joint_graph.run(arrays)
                names = [module.gradient_of(name) for name in module.forward_graph.inputs]
                return tuple(torch.from_numpy(outputs[name]) if name else None for name in names)

        return Function

    def forward(self, *tensors):
        return self.function.apply(*tensors)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("input", help="data of the model's one input, .npy")
    parser.add_argument("--cli", default="retrograde-cli")
    options = parser.parse_args()
    x = torch.from_numpy(numpy.load(options.input)).requires_grad_()
    module = OnnxModule(options.model, x, options.cli)
    module(x).sum().backward()
    with tempfile.TemporaryDirectory() as folder:
        name = module.forward_graph.inputs[0]
        subprocess.check_call([options.cli, "grad", options.model, "--input", options.input, "--target",
                               module.forward_graph.outputs[0], "--no-rewrite", "all", "--output-dir", folder, "--quiet"])
        wanted = torch.from_numpy(numpy.load(f"{folder}/{file_name(name)}.npy"))
    error = ((x.grad - wanted).abs().max() / wanted.abs().max()).item()
    print(f"largest difference from `grad`: {error:.2e} of the largest gradient")
    raise SystemExit(error > 1e-4)


if __name__ == "__main__":
    main()
