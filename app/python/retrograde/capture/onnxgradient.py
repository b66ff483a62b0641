#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Wraps an ONNX model and its gradient graph as a torch.autograd.Function, so that a model without PyTorch code takes
part in a backward pass and can be trained.

    from retrograde.capture.onnxgradient import OnnxModule
    module = OnnxModule("model.onnx", example)          # a tensor, or {input name: tensor} for several inputs
    module(x).sum().backward()                          # x.grad comes from the gradient graph
    torch.optim.SGD(module.parameters(), 0.1).step()    # the floating initializers, with gradients of their own

The gradient graph is what `retrograde-cli grad MODEL --graph-out FILE.onnx --joint` writes. It is written for the shapes
of an input, with If, Loop and Scan as they run for it: for an input of other shapes, and in a model with control flow
for every input that takes another branch or another number of rounds, it is written again. What the graph computes on
its way forward is compared with what the model computes; a graph that is another function raises an error.

Parameters are the floating initializers that have an axis, but for the statistics of BatchNormalization and for what
LSTM, GRU and RNN read, whose weights have no gradient graph: a warning names those. `parameters=` takes the names of
others, or an empty list. They are called as in the model, in named_parameters() and state_dict() as well.

There is one gradient graph for each set of shapes and of decisions of control flow; the example may be left out, then
the first backward pass writes the first one. `options=` are further options of `grad --graph-out`, such as
("--budget", "50%"): what the plan computes again then stands in the graph, and onnxruntime runs it without its graph
optimisation, which would take it out.

Both graphs are standard ONNX; they run in onnxruntime where that is installed, else in `retrograde-cli run`.
The first output is the one that is differentiated. Run as a program, the script checks itself on a model: the gradients
of the sum of the first output with respect to the input and every parameter against `retrograde-cli grad`.

    onnxgradient.py MODEL INPUT.npy [--cli build/release/bin/retrograde-cli]
"""
import argparse
import base64
import hashlib
import json
import pathlib
import subprocess
import tempfile

import numpy
import torch

#: Largest difference, over the largest value, between the model and the way forward through its gradient graph.
MOST_APART = 1e-3
#: Operands of BatchNormalization that are measured and not trained.
STATISTICS = (3, 4)


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

    def __init__(self, path, cli, is_optimised=True):
        self.path, self.cli, self.is_optimised = path, cli, is_optimised
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

    def __init__(self, path, _cli, is_optimised=True):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        if not is_optimised:
            options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        self.session = onnxruntime.InferenceSession(path, options)
        self.inputs = [value.name for value in self.session.get_inputs()]
        self.outputs = [value.name for value in self.session.get_outputs()]

    def run(self, arrays):
        return dict(zip(self.outputs, self.session.run(None, arrays)))


def runtime(path, cli, is_optimised=True):
    try:
        return OnnxRuntime(path, cli, is_optimised)
    except ImportError:
        return CliRuntime(path, cli, is_optimised)


def varint(data, at):
    """A number of a protobuf message, and where the next thing stands."""
    value, shift = 0, 0
    while True:
        byte = data[at]
        value, shift, at = value | (byte & 0x7F) << shift, shift + 7, at + 1
        if byte < 0x80:
            return value, at


def fields(data, wanted):
    """Contents of the fields of one number, of a protobuf message."""
    at, found = 0, []
    while at < len(data):
        key, at = varint(data, at)
        number, wire = key >> 3, key & 7
        if wire == 0:
            _, at = varint(data, at)
            continue
        if wire == 2:
            size, at = varint(data, at)
        else:
            size = {1: 8, 5: 4}[wire]
        if number == wanted and wire == 2:
            found.append(data[at:at + size])
        at += size
    return found


def initializers_of(path):
    """Names of the initializers of an ONNX file; of another file nothing is known."""
    if pathlib.Path(path).suffix != ".onnx":
        return None
    graphs = fields(memoryview(pathlib.Path(path).read_bytes()), 7)  # ModelProto.graph
    tensors = [tensor for graph in graphs for tensor in fields(graph, 5)]  # GraphProto.initializer
    return {bytes(name).decode() for tensor in tensors for name in fields(tensor, 8)}  # TensorProto.name


def fix_statistics(graph):
    """Gives the statistics of BatchNormalization constants of their own: exporters let equal initializers share one.
    Their names."""
    made = set()
    values = {value["name"]: value for value in graph["values"]}
    sources = {node["outputs"][0]: node["inputs"][0] for node in graph["nodes"] if node["op"] == "Identity"}
    for node in graph["nodes"]:
        for slot in STATISTICS if node["op"] == "BatchNormalization" else ():
            source = node["inputs"][slot]
            while source in sources:
                source = sources[source]
            if "constant" in values.get(source, {}):
                own = f"{node['outputs'][0]}/statistics/{slot}"
                graph["values"].append({**values[source], "name": own})
                node["inputs"][slot] = own
                made.add(own)
    return made


def trained_by_default(graph, initializers, statistics):
    """Names of the constants of a graph JSON that are taken for parameters; `initializers` are those of the file, or
    None; `statistics` those of fix_statistics()."""
    read = {name for node in graph["nodes"] for name in node["inputs"]}
    return [value["name"] for value in graph["values"]
            if "constant" in value and value["constant"]["dtype"] in ("float16", "float32", "float64")
            and value["constant"]["shape"] and value["name"] in read - statistics
            and (initializers is None or value["name"] in initializers)]


def with_inputs(graph, names):
    """Makes inputs of constants of a graph JSON; their data by name."""
    values, data = {value["name"]: value for value in graph["values"]}, {}
    for name in names:
        if "constant" not in values.get(name, {}):
            raise ValueError(f"the model has no initializer {name!r} that could be a parameter")
        constant = values[name].pop("constant")
        array = numpy.frombuffer(base64.b64decode(constant["data"]), constant["dtype"]).reshape(constant["shape"])
        values[name].update(dtype=constant["dtype"], shape=constant["shape"])
        graph["inputs"].append(name)
        data[name] = torch.from_numpy(array.copy())
    return data


class GradientGraph:
    """A joint graph as it was written for one input."""

    def __init__(self, path, about, cli, is_optimised):
        self.runs = runtime(path, cli, is_optimised)
        self.seed, self.gradients = about["seed"], about["gradients"]

    def gradient_of(self, name):
        """Name of the output that holds the gradient of an input; None for inputs that get none."""
        return next((one for one in self.gradients if one.rstrip("~") == name + "_gradient"), None)


class OnnxModule(torch.nn.Module):
    """An ONNX model whose weights are parameters that train, with its gradient graph as the backward pass.

    model: path of an ONNX file. example: an input, or {name: tensor}; makes the gradient graph for its shapes at once.
    cli: the command line that makes it. parameters: names of the initializers that train (default: all floating ones).
    options: further ones of `retrograde-cli grad`. Raises ValueError for a name that is no initializer, RuntimeError
    where there is no gradient, CalledProcessError where the command line refuses (it says why on standard error).
    """

    def __init__(self, model, example=None, cli="retrograde-cli", parameters=None, options=()):
        super().__init__()
        self.cli, self.folder, self.options = cli, tempfile.TemporaryDirectory(), [str(one) for one in options]
        self.model_file = str(model)
        data = self.open(parameters)
        self.forward_graph = runtime(self.model_file, cli)
        self.target = self.forward_graph.outputs[0]
        self.names = self.forward_graph.inputs[:len(self.forward_graph.inputs) - len(data)]
        self.initializers = list(data)
        self.trained = [self.register(name, tensor) for name, tensor in data.items()]
        self.written, self.last = {}, (None, None)
        self.function = self.make_function()
        if example is not None:
            example = example if isinstance(example, dict) else {self.names[0]: example}
            self.graph_for({name: example[name].detach().numpy() for name in self.names} | self.arrays_of_parameters())

    def register(self, name, tensor):
        """Takes a parameter under its name in the model, in which every "." stands before a part of a module: the
        module that holds it, and its name there."""
        *path, last = name.split(".")
        holder = self
        for part in path:
            known = getattr(holder, part, None)
            if part and known is None:
                holder.add_module(part, torch.nn.Module())
            elif not isinstance(known, torch.nn.Module):
                holder, last = self, name.replace(".", "_")
                break
            holder = getattr(holder, part)
        while not last or hasattr(holder, last):
            last += "_"
        holder.register_parameter(last, torch.nn.Parameter(tensor))
        return holder, last

    def parameter(self, name):
        """The parameter that an initializer of the model became."""
        holder, own = self.trained[self.initializers.index(name)]
        return getattr(holder, own)

    def open(self, names):
        """Writes the model with its parameters as inputs; their data by name."""
        read = f"{self.folder.name}/read.json"
        subprocess.check_call([self.cli, "info", self.model_file, "--graph-out", read, "--quiet"],
                              stdout=subprocess.DEVNULL)
        graph = json.loads(pathlib.Path(read).read_text(encoding="utf-8"))
        statistics = fix_statistics(graph)
        if names is None:
            names = trained_by_default(graph, initializers_of(self.model_file), statistics)
        data = with_inputs(graph, names)
        if data:
            opened = f"{self.folder.name}/opened.json"
            pathlib.Path(opened).write_text(json.dumps(graph), encoding="utf-8")
            self.model_file = f"{self.folder.name}/opened.onnx"
            subprocess.check_call([self.cli, "info", opened, "--graph-out", self.model_file, "--quiet"],
                                  stdout=subprocess.DEVNULL)
        return data

    def arrays_of_parameters(self):
        return {name: getattr(holder, own).detach().numpy()
                for name, (holder, own) in zip(self.initializers, self.trained)}

    def write(self, arrays):
        """Writes the joint graph for these inputs: its path, and what the command line says of it."""
        path = f"{self.folder.name}/joint.onnx"
        with tempfile.TemporaryDirectory() as folder:
            told = subprocess.check_output([self.cli, "grad", self.model_file, *inputs_of(arrays, folder), "--target",
                                            self.target, "--graph-out", path, "--joint", *self.options, "--json"])
        return path, json.loads(told)

    def graph_for(self, arrays):
        """The gradient graph that is the model's for these inputs: written for their shapes, and where the model has
        control flow for the branches that they take and the rounds that they run."""
        shapes = tuple((name, array.shape, str(array.dtype)) for name, array in arrays.items())
        known = self.written.get(shapes)
        if known:
            return known
        content = hashlib.sha256()
        for array in arrays.values():
            content.update(numpy.ascontiguousarray(array).tobytes())
        asked = (shapes, content.digest())
        if self.last[0] == asked:
            return self.last[1]
        path, about = self.write(arrays)
        has_control_flow = any(one["name"] == "write-out" for one in about["passes"])
        if has_control_flow and not about["decisions"]:
            raise RuntimeError("the model has control flow, and how it went cannot be told; there is no gradient")
        key = (shapes, json.dumps(about["decisions"], sort_keys=True)) if has_control_flow else shapes
        if key not in self.written:
            self.written[key] = GradientGraph(path, about, self.cli, not self.options)
        self.last = asked, self.written[key]
        return self.written[key]

    def check(self, forward, expected):
        """Raises where the graph's way forward is another than the model's."""
        scale = max(numpy.abs(expected).max(initial=0), 1e-30)
        if forward.shape != expected.shape or not numpy.abs(forward - expected).max(initial=0) <= MOST_APART * scale:
            raise RuntimeError("the gradient graph computes another result than the model for this input; it depends on "
                               "more than the shapes of the inputs, so there is no gradient")

    def make_function(module):
        class Function(torch.autograd.Function):
            @staticmethod
            def forward(context, *tensors):
                arrays = {name: tensor.numpy() for name, tensor in zip(module.forward_graph.inputs, tensors)}
                result = torch.from_numpy(module.forward_graph.run(arrays)[module.target])
                context.save_for_backward(result, *tensors)
                return result

            @staticmethod
            def backward(context, upstream):
                result, *tensors = context.saved_tensors
                arrays = {name: tensor.detach().numpy() for name, tensor in zip(module.forward_graph.inputs, tensors)}
                graph = module.graph_for(arrays)
                outputs = graph.runs.run(arrays | {graph.seed: upstream.contiguous().numpy()})
                module.check(outputs[module.target], result.detach().numpy())
                names = [graph.gradient_of(name) for name in module.forward_graph.inputs]
                return tuple(torch.from_numpy(outputs[name]).to(tensor.dtype) if name else None
                             for name, tensor in zip(names, tensors))

        return Function

    def forward(self, *tensors):
        """The first output of the model for its inputs, in their order; shapes as the model declares them."""
        return self.function.apply(*tensors, *(getattr(holder, own) for holder, own in self.trained))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("input", help="data of the model's one input, .npy")
    parser.add_argument("--cli", default="retrograde-cli")
    options = parser.parse_args()
    x = torch.from_numpy(numpy.load(options.input)).requires_grad_()
    module = OnnxModule(options.model, x, options.cli)
    module(x).sum().backward()
    found = {module.names[0]: x.grad} | {name: module.parameter(name).grad for name in module.initializers}
    with tempfile.TemporaryDirectory() as folder:
        subprocess.check_call([options.cli, "grad", options.model, "--input", options.input, "--target", module.target,
                               "--parameters", "--no-rewrite", "all", "--output-dir", folder, "--quiet"])
        wanted = {name: torch.from_numpy(numpy.load(f"{folder}/{file_name(name)}.npy")) for name in found}
    # A parameter that the result does not depend on has no gradient here, and zeros there.
    errors = {name: ((own - wanted[name]).abs().max() / wanted[name].abs().max().clamp_min(1e-30)).item()
              for name, own in found.items() if own is not None}
    worst = max(errors, key=errors.get)
    print(f"largest difference from `grad`: {errors[worst]:.2e} of the largest gradient, at {worst}; "
          f"{len(errors) - 1} parameters")
    raise SystemExit(errors[worst] > 1e-4)


if __name__ == "__main__":
    main()
