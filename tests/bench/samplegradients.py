#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares `retrograde-cli grad` on the samples, or on given models, with PyTorch, inputs and initializers.

    tests/bench/samplegradients.py [--cli build/release/bin/retrograde-cli] [--tolerance 1e-4]
    tests/bench/samplegradients.py --models FOLDER

Reads each ONNX file with the package onnx, runs its operators one by one in PyTorch, and lets autograd differentiate
the class with the highest score; of a model in FOLDER (MODEL/*.onnx, MODEL/case*/input_*.npy with names.json) the
largest element of its first output. Prints per model how many gradients were compared and the largest difference, as a
share of the largest element of its gradient; fails beyond the tolerance. A gradient that is nothing but rounding (a
bias of attention keys, which softmax cancels) is measured by the largest of all. A gradient that differs by more than
the tolerance is measured in double as well: where PyTorch's own float is beyond the tolerance from its double, the line
says how far both are from it, and the gradient counts as agreeing where `grad` is no further than PyTorch's float. With
--precision double both sides compute in double: what remains of a difference then is no rounding. Models that PyTorch cannot run (half
precision on a CPU) are named.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy
import onnx
import torch
from onnx import numpy_helper

functional = torch.nn.functional
SAMPLES = {"clever-hans/clever-hans": (1, 3, 96, 96), "clever-hans/control": (1, 3, 96, 96),
           "marked-step/marked-step": "early.npy", "one-segment/one-segment": (1, 3, 40, 40),
           "planted-word/planted-word": "bad.npy", "planted-word/control": "bad.npy",
           "silent-groups/silent-groups": (1, 1, 32, 32), "silent-groups/one-group": (1, 1, 32, 32)}


def tensor_of(array):
    """Floating numbers in the precision asked for."""
    made = torch.tensor(array)
    return made.to(torch.get_default_dtype()) if made.is_floating_point() else made


def padding(attributes, extents=(), kernel=()):
    """Pads in PyTorch's order: begin and end of the last axis first."""
    rank = max(len(kernel), len(attributes.get("pads", [])) // 2)
    pads = list(attributes.get("pads", [0] * 2 * rank))
    auto = attributes.get("auto_pad", b"NOTSET")
    if auto in (b"SAME_UPPER", b"SAME_LOWER"):
        strides, dilations = attributes.get("strides", [1] * rank), attributes.get("dilations", [1] * rank)
        for i in range(rank):
            whole = (-(-extents[i] // strides[i]) - 1) * strides[i] + (kernel[i] - 1) * dilations[i] + 1 - extents[i]
            low = max(whole, 0) // 2
            high = max(whole, 0) - low
            pads[i], pads[rank + i] = (low, high) if auto == b"SAME_UPPER" else (high, low)
    return [pads[end + i] for i in reversed(range(rank)) for end in (0, rank)]


def symmetric(attributes):
    pads = attributes.get("pads", [0, 0, 0, 0])
    if list(pads[:2]) != list(pads[2:]):
        raise SystemExit(f"pads {pads} differ at the two ends")
    return tuple(pads[:2])


def conv(x, a):
    kernel = x[1].shape[2:]
    function = functional.conv1d if len(kernel) == 1 else functional.conv2d
    return function(functional.pad(x[0], padding(a, x[0].shape[2:], kernel)), x[1], x[2] if len(x) > 2 else None,
                    a.get("strides", 1), 0, a.get("dilations", 1), a.get("group", 1))


def max_pool(x, a):
    """Pads never win."""
    kernel = a["kernel_shape"]
    padded = functional.pad(x[0], padding(a, x[0].shape[2:], kernel), value=-float("inf"))
    return functional.max_pool2d(padded, kernel, a.get("strides", [1] * len(kernel)),
                                 ceil_mode=bool(a.get("ceil_mode", 0)))


def conv_transpose(x, a):
    return functional.conv_transpose2d(x[0], x[1], x[2] if len(x) > 2 else None, a.get("strides", 1), symmetric(a),
                                       tuple(a.get("output_padding", [0, 0])), a.get("group", 1),
                                       a.get("dilations", 1))


def batch_norm(x, a):
    def channels(t):
        return t.reshape(1, -1, 1, 1)

    unit = (x[0] - channels(x[3])) / torch.sqrt(channels(x[4]) + a.get("epsilon", 1e-5))
    return unit * channels(x[1]) + channels(x[2])


def gemm(x, a):
    left = x[0].t() if a.get("transA", 0) else x[0]
    right = x[1].t() if a.get("transB", 0) else x[1]
    return a.get("alpha", 1.0) * (left @ right) + (a.get("beta", 1.0) * x[2] if len(x) > 2 else 0)


def lstm(x, a):
    """Both or one direction, gates in the order i, o, f, c; all steps and the last hidden and cell state."""
    ways = {b"forward": [False], b"reverse": [True], b"bidirectional": [False, True]}[a.get("direction", b"forward")]
    found = [lstm_one_way(x, a["hidden_size"], k, is_back) for k, is_back in enumerate(ways)]
    return tuple(torch.stack(part, 1 if i == 0 else 0) for i, part in enumerate(zip(*found)))


def lstm_one_way(x, size, k, is_back):
    def given(i):
        return x[i][k] if len(x) > i and x[i] is not None else None

    steps = x[0].flip(0) if is_back else x[0]
    bias = given(3)[: 4 * size] + given(3)[4 * size:] if given(3) is not None else 0
    hidden, cell = (torch.zeros(steps.shape[1], size) if given(i) is None else given(i) for i in (5, 6))
    all_hidden = []
    for step in steps:
        i, o, f, c = (step @ given(1).t() + hidden @ given(2).t() + bias).split(size, 1)
        cell = torch.sigmoid(f) * cell + torch.sigmoid(i) * torch.tanh(c)
        hidden = torch.sigmoid(o) * torch.tanh(cell)
        all_hidden.append(hidden)
    return torch.stack(all_hidden[::-1] if is_back else all_hidden), hidden, cell


def cut(x, a):
    starts, ends = (x[1].tolist(), x[2].tolist()) if len(x) > 2 else (a["starts"], a["ends"])
    axes = x[3].tolist() if len(x) > 3 else a.get("axes", range(len(starts)))
    steps = x[4].tolist() if len(x) > 4 else [1] * len(starts)
    ranges = [slice(None)] * x[0].dim()
    for axis, start, end, step in zip(axes, starts, ends, steps):
        if step < 0:  # PyTorch has none
            kept = range(x[0].shape[axis])[slice(start, None if end < -x[0].shape[axis] else end, step)]
            x = [x[0].index_select(axis, torch.tensor(list(kept)))]
        else:
            ranges[axis] = slice(start, end, step)
    return x[0][tuple(ranges)]


def pad(x, a):
    """The axes from the first padded one on."""
    pads = x[1].tolist()
    rank = len(pads) // 2
    padded = [axis for axis in range(rank) if pads[axis] or pads[rank + axis]]
    ends = [pads[end + axis] for axis in reversed(range(min(padded, default=rank), rank)) for end in (0, rank)]
    value = x[2].item() if len(x) > 2 and x[2] is not None else 0
    mode = a.get("mode", b"constant").decode()
    if mode == "constant":
        return functional.pad(x[0], ends, value=value)
    return functional.pad(x[0][None], ends, mode)[0]


def softmax(x, a):
    if a["opset"] >= 13:
        return x[0].softmax(a.get("axis", -1))
    axis = a.get("axis", 1) % x[0].dim()
    return x[0].flatten(axis).softmax(-1).reshape(x[0].shape)


def reshape(x, _a):
    shape = [x[0].shape[i] if extent == 0 else extent for i, extent in enumerate(x[1].tolist())]
    return x[0].reshape(shape)


def unsqueeze(x, a):
    axes = x[1].tolist() if len(x) > 1 else a["axes"]
    for axis in sorted(axes):
        x = [x[0].unsqueeze(axis)]
    return x[0]


def squeeze(x, a):
    axes = x[1].tolist() if len(x) > 1 else a["axes"]
    for axis in sorted((axis % x[0].dim() for axis in axes), reverse=True):
        x = [x[0].squeeze(axis)]
    return x[0]


def constant_of_shape(x, a):
    value = tensor_of(numpy_helper.to_array(a["value"])) if "value" in a else torch.zeros(1)
    return value.expand(x[0].tolist()).clone()


def cast(x, a):
    to = {onnx.TensorProto.FLOAT: torch.get_default_dtype(), onnx.TensorProto.DOUBLE: torch.float64,
          onnx.TensorProto.BOOL: torch.bool}
    return x[0].to(to.get(a["to"], torch.int64))


def reduce_mean(x, a):
    return x[0].mean(tuple(a["axes"]), keepdim=bool(a.get("keepdims", 1)))


def gather(x, a):
    axis = a.get("axis", 0) % x[0].dim()
    index = x[1].reshape(-1)
    flat = x[0].index_select(axis, torch.where(index < 0, index + x[0].shape[axis], index))
    return flat.reshape(x[0].shape[:axis] + x[1].shape + x[0].shape[axis + 1:])


OPERATORS = {
    "Add": lambda x, a: x[0] + x[1],
    "ArgMax": lambda x, a: x[0].argmax(a.get("axis", 0), keepdim=bool(a.get("keepdims", 1))),
    "BatchNormalization": batch_norm,
    "Cast": cast,
    "Concat": lambda x, a: torch.cat(x, a["axis"]),
    "Constant": lambda x, a: tensor_of(numpy_helper.to_array(a["value"])),
    "ConstantOfShape": constant_of_shape,
    "Conv": conv,
    "ConvTranspose": conv_transpose,
    "Div": lambda x, a: x[0] / x[1],
    "Dropout": lambda x, a: x[0],
    "Equal": lambda x, a: x[0] == x[1],
    "Erf": lambda x, a: torch.erf(x[0]),
    "Exp": lambda x, a: torch.exp(x[0]),
    "Flatten": lambda x, a: x[0].flatten(a.get("axis", 1)),
    "Gather": gather,
    "Gemm": gemm,
    "GlobalAveragePool": lambda x, a: x[0].mean((2, 3), keepdim=True),
    "Identity": lambda x, a: x[0],
    "LSTM": lstm,
    "LayerNormalization": lambda x, a: functional.layer_norm(x[0], x[1].shape, x[1], x[2], a.get("epsilon", 1e-5)),
    "LeakyRelu": lambda x, a: functional.leaky_relu(x[0], a.get("alpha", 0.01)),
    "MatMul": lambda x, a: x[0] @ x[1],
    "MaxPool": max_pool,
    "Mul": lambda x, a: x[0] * x[1],
    "Not": lambda x, a: ~x[0],
    "Pad": pad,
    "Pow": lambda x, a: x[0] ** x[1],
    "ReduceMean": reduce_mean,
    "ReduceSum": lambda x, a: x[0].sum(tuple(x[1].tolist()), keepdim=bool(a.get("keepdims", 1))),
    "Relu": lambda x, a: torch.relu(x[0]),
    "Reshape": reshape,
    "Shape": lambda x, a: torch.tensor(x[0].shape),
    "Sigmoid": lambda x, a: torch.sigmoid(x[0]),
    "Size": lambda x, a: torch.tensor(x[0].numel()),
    "Slice": cut,
    "Softmax": softmax,
    "Sqrt": lambda x, a: torch.sqrt(x[0]),
    "Squeeze": squeeze,
    "Sub": lambda x, a: x[0] - x[1],
    "Transpose": lambda x, a: x[0].permute(a["perm"]),
    "Unsqueeze": unsqueeze,
}


def run(model, values):
    """First output of an ONNX graph; `values` has inputs and initializers."""
    opset = next(one.version for one in model.opset_import if one.domain in ("", "ai.onnx"))
    return run_graph(model.graph, values, opset)[0]


def run_graph(graph, values, opset):
    """All outputs; `values` gets what the nodes make."""
    for node in graph.node:
        attributes = {one.name: onnx.helper.get_attribute_value(one) for one in node.attribute}
        operands = [values[name] if name else None for name in node.input]
        if node.op_type == "If":
            branch = attributes["then_branch" if operands[0].item() else "else_branch"]
            inner = {one.name: tensor_of(numpy_helper.to_array(one)) for one in branch.initializer}
            results = tuple(run_graph(branch, {**values, **inner}, opset))
        elif node.op_type in OPERATORS:
            results = OPERATORS[node.op_type](operands, {**attributes, "opset": opset})
        else:
            raise SystemExit(f"{node.op_type} is not translated here")
        results = results if isinstance(results, tuple) else (results,)
        values.update({name: result for name, result in zip(node.output, results) if name})
    return [values[one.name] for one in graph.output]


def sample(name):
    """(model file, model, {input: array}) of a sample."""
    path = pathlib.Path(__file__).parents[2] / "samples" / (name + ".onnx")
    model = onnx.load(str(path))
    constants = {one.name for one in model.graph.initializer}
    entry = next(one.name for one in model.graph.input if one.name not in constants)
    source = SAMPLES[name]
    torch.manual_seed(1)
    x = torch.rand(source).numpy() if isinstance(source, tuple) else numpy.load(path.parent / source)
    return path, model, {entry: x.astype(numpy.float32) if x.dtype.kind == "f" else x}


def cases(folder):
    """(label, model file, model, {input: array}) of a folder of models with recorded inputs."""
    for path in sorted(pathlib.Path(folder).glob("*/*.onnx")):
        model = onnx.load(str(path))
        for case in sorted(path.parent.glob("case*")):
            names = json.loads((case / "names.json").read_text())["inputs"]
            given = {name: numpy.load(case / f"input_{i}.npy") for i, name in enumerate(names)}
            yield f"{path.parent.name}/{path.stem} {case.name}", path, model, given


def torch_gradients(model, given):
    """({name: gradient}, first output, position of its largest element)."""
    constants = {one.name: tensor_of(numpy_helper.to_array(one)) for one in model.graph.initializer}
    inputs = {name: tensor_of(array) for name, array in given.items()}
    leaves = {name: one.requires_grad_() for name, one in {**constants, **inputs}.items() if one.is_floating_point()}
    scores = run(model, {**constants, **inputs})
    best = scores.argmax().item()
    scores.flatten()[best].backward()
    return {name: leaf.grad for name, leaf in leaves.items()}, scores.detach(), best


def in_double(model, given):
    """Gradients of PyTorch's double, of the same model and inputs."""
    usual = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        return torch_gradients(model, given)[0]
    finally:
        torch.set_default_dtype(usual)


def own_gradients(path, model, given, position, options):
    """{name: gradient} of `grad`."""
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for i, (name, array) in enumerate(given.items()):
            numpy.save(f"{folder}/in{i}.npy", array)
            files += ["--input", f"{name}={folder}/in{i}.npy"]
        target = f"{model.graph.output[0].name}:{position}" if position else model.graph.output[0].name
        answer = subprocess.check_output([options.cli, "grad", str(path), *files, "--target", target, "--parameters",
                                          "--precision", options.precision, "--output-dir", folder, "--json", "--quiet"])
        return {one["input"]: torch.tensor(numpy.load(one["file"])) for one in json.loads(answer)["gradients"]}


def judge_rounding(name, own, wanted, exact, scale, tolerance):
    """(agrees, text) of a gradient beyond the tolerance, by PyTorch's double."""
    ours, theirs = ((one.double() - exact).abs().max().item() / scale for one in (own, wanted))
    text = f"  {name}: from PyTorch's double `grad` is {ours:.1e}, PyTorch's float {theirs:.1e}"
    return theirs > tolerance and ours <= theirs, text


def compare(label, path, model, given, options):
    if any(one.data_type == onnx.TensorProto.FLOAT16 for one in model.graph.initializer):
        print(f"{label:48} not run: PyTorch has no convolution in half precision on a CPU", flush=True)
        return True
    gradients, scores, best = torch_gradients(model, given)
    position = ",".join(str(int(i)) for i in numpy.unravel_index(best, tuple(scores.shape)))
    largest = max((value.abs().max().item() for value in gradients.values() if value is not None), default=0)
    worst, count, agrees, notes, exact = 0.0, 0, True, [], None
    for name, own in own_gradients(path, model, given, position, options).items():
        wanted = gradients.get(name)
        if wanted is None or wanted.abs().max() == 0:
            continue
        scale = max(wanted.abs().max().item(), 1e-4 * largest)
        difference = (own - wanted).abs().max().item() / scale
        worst, count = max(worst, difference), count + 1
        if difference <= options.tolerance:
            continue
        if options.precision == "double":
            agrees = False
            continue
        exact = exact or in_double(model, given)
        is_rounding, text = judge_rounding(name, own, wanted, exact[name], scale, options.tolerance)
        agrees = agrees and is_rounding
        notes.append(text)
    print("\n".join([f"{label:48} {count:3} gradients, largest difference {worst:.1e}", *notes]), flush=True)
    return count > 0 and agrees


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cli", default="build/release/bin/retrograde-cli")
    parser.add_argument("--tolerance", type=float, default=1e-4)
    parser.add_argument("--models", metavar="FOLDER", help="models with recorded inputs, instead of the samples")
    parser.add_argument("--precision", choices=("float", "double"), default="float")
    options = parser.parse_args()
    torch.set_default_dtype(torch.float64 if options.precision == "double" else torch.float32)
    if options.models:
        results = [compare(*case, options) for case in cases(options.models)]
    else:
        results = [compare(name, *sample(name), options) for name in SAMPLES]
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
