#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares `retrograde-cli grad` on the samples with PyTorch, input and initializers.

    tests/bench/samplegradients.py [--cli build/release/bin/retrograde-cli] [--tolerance 1e-4]

Reads each sample's ONNX file with Debian's python3-onnx, runs its operators one by one in python3-torch, and lets
autograd differentiate the class with the highest score. Prints per sample how many gradients were compared and the
largest difference, as a share of the largest element of its gradient; fails beyond the tolerance. A gradient that is
nothing but rounding (a bias of attention keys, which softmax cancels) is measured by the largest of all.
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


def padding(attributes):
    pads = attributes.get("pads", [0, 0, 0, 0])
    return pads[1], pads[3], pads[0], pads[2]


def symmetric(attributes):
    pads = attributes.get("pads", [0, 0, 0, 0])
    if list(pads[:2]) != list(pads[2:]):
        raise SystemExit(f"pads {pads} differ at the two ends")
    return tuple(pads[:2])


def conv(x, a):
    return functional.conv2d(functional.pad(x[0], padding(a)), x[1], x[2] if len(x) > 2 else None,
                             a.get("strides", 1), 0, a.get("dilations", 1), a.get("group", 1))


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
    """One direction, gates in the order i, o, f, c; all steps and the last hidden and cell state."""
    steps, weight, recurrent = x[0], x[1][0], x[2][0]
    size = a["hidden_size"]
    bias = x[3][0][: 4 * size] + x[3][0][4 * size:] if len(x) > 3 and x[3] is not None else 0
    hidden = x[5][0] if len(x) > 5 and x[5] is not None else torch.zeros(steps.shape[1], size)
    cell = x[6][0] if len(x) > 6 and x[6] is not None else torch.zeros(steps.shape[1], size)
    all_hidden = []
    for step in steps:
        gates = step @ weight.t() + hidden @ recurrent.t() + bias
        i, o, f, c = gates.split(size, 1)
        cell = torch.sigmoid(f) * cell + torch.sigmoid(i) * torch.tanh(c)
        hidden = torch.sigmoid(o) * torch.tanh(cell)
        all_hidden.append(hidden)
    return torch.stack(all_hidden)[:, None], hidden[None], cell[None]


def cut(x, _a):
    axes = x[3].tolist() if len(x) > 3 else range(len(x[1]))
    steps = x[4].tolist() if len(x) > 4 else [1] * len(x[1])
    ranges = [slice(None)] * x[0].dim()
    for axis, start, end, step in zip(axes, x[1].tolist(), x[2].tolist(), steps):
        ranges[axis] = slice(start, end, step)
    return x[0][tuple(ranges)]


def reshape(x, _a):
    shape = [x[0].shape[i] if extent == 0 else extent for i, extent in enumerate(x[1].tolist())]
    return x[0].reshape(shape)


def unsqueeze(x, _a):
    for axis in sorted(x[1].tolist()):
        x = [x[0].unsqueeze(axis)]
    return x[0]


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
    "Cast": lambda x, a: x[0].float() if a["to"] == onnx.TensorProto.FLOAT else x[0].long(),
    "Concat": lambda x, a: torch.cat(x, a["axis"]),
    "Constant": lambda x, a: torch.tensor(numpy_helper.to_array(a["value"])),
    "ConstantOfShape": lambda x, a: torch.full(x[0].tolist(), float(numpy_helper.to_array(a["value"])[0])),
    "Conv": conv,
    "ConvTranspose": conv_transpose,
    "Div": lambda x, a: x[0] / x[1],
    "Equal": lambda x, a: x[0] == x[1],
    "Erf": lambda x, a: torch.erf(x[0]),
    "Flatten": lambda x, a: x[0].flatten(a.get("axis", 1)),
    "Gather": gather,
    "Gemm": gemm,
    "GlobalAveragePool": lambda x, a: x[0].mean((2, 3), keepdim=True),
    "Identity": lambda x, a: x[0],
    "LSTM": lstm,
    "LayerNormalization": lambda x, a: functional.layer_norm(x[0], x[1].shape, x[1], x[2], a.get("epsilon", 1e-5)),
    "LeakyRelu": lambda x, a: functional.leaky_relu(x[0], a.get("alpha", 0.01)),
    "MatMul": lambda x, a: x[0] @ x[1],
    "MaxPool": lambda x, a: functional.max_pool2d(x[0], a["kernel_shape"], a.get("strides"), symmetric(a)),
    "Mul": lambda x, a: x[0] * x[1],
    "ReduceMean": reduce_mean,
    "ReduceSum": lambda x, a: x[0].sum(tuple(x[1].tolist()), keepdim=bool(a.get("keepdims", 1))),
    "Relu": lambda x, a: torch.relu(x[0]),
    "Reshape": reshape,
    "Shape": lambda x, a: torch.tensor(x[0].shape),
    "Slice": cut,
    "Softmax": lambda x, a: x[0].softmax(a.get("axis", -1)),
    "Squeeze": lambda x, a: x[0].squeeze(*x[1].tolist()),
    "Transpose": lambda x, a: x[0].permute(a["perm"]),
    "Unsqueeze": unsqueeze,
}


def run(model, values):
    """First output of an ONNX graph; `values` has inputs and initializers."""
    for node in model.graph.node:
        attributes = {one.name: onnx.helper.get_attribute_value(one) for one in node.attribute}
        operands = [values[name] if name else None for name in node.input]
        if node.op_type not in OPERATORS:
            raise SystemExit(f"{node.op_type} is not translated here")
        results = OPERATORS[node.op_type](operands, attributes)
        results = results if isinstance(results, tuple) else (results,)
        values.update({name: result for name, result in zip(node.output, results) if name})
    return values[model.graph.output[0].name]


def compare(name, source, options):
    path = pathlib.Path(__file__).parents[2] / "samples" / (name + ".onnx")
    model = onnx.load(str(path))
    constants = {one.name: torch.tensor(numpy_helper.to_array(one)) for one in model.graph.initializer}
    parameters = {key: value.requires_grad_() for key, value in constants.items() if value.is_floating_point()}
    entry = next(one.name for one in model.graph.input if one.name not in constants)
    torch.manual_seed(1)
    x = torch.rand(source) if isinstance(source, tuple) else torch.tensor(numpy.load(path.parent / source))
    x = x.float().requires_grad_() if x.is_floating_point() else x
    scores = run(model, {**constants, entry: x}).flatten(1)
    best = scores.argmax(1)
    scores.gather(1, best[:, None]).sum().backward()
    gradients = {key: value.grad for key, value in parameters.items()}
    gradients[entry] = x.grad
    largest = max(value.abs().max() for value in gradients.values() if value is not None)
    worst, count = 0.0, 0
    with tempfile.TemporaryDirectory() as folder:
        numpy.save(folder + "/x.npy", x.detach().numpy())
        answer = subprocess.check_output([options.cli, "grad", str(path), "--input", folder + "/x.npy", "--target",
                                          str(best[0].item()), "--parameters", "--output-dir", folder, "--json",
                                          "--quiet"])
        for one in json.loads(answer)["gradients"]:
            wanted = gradients.get(one["input"])
            if wanted is None or wanted.abs().max() == 0:
                continue
            scale = max(wanted.abs().max(), 1e-4 * largest)
            difference = (torch.tensor(numpy.load(one["file"])) - wanted).abs().max() / scale
            worst, count = max(worst, difference.item()), count + 1
    print(f"{name:28} {count:3} gradients, largest difference {worst:.1e}")
    return count > 0 and worst <= options.tolerance


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cli", default="build/release/bin/retrograde-cli")
    parser.add_argument("--tolerance", type=float, default=1e-4)
    options = parser.parse_args()
    results = [compare(name, source, options) for name, source in SAMPLES.items()]
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
