#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the lut-skips sample: convolutions and LUT layers with skips around them tell where an arrow points.

  make_sample.py           draw, train, export, measure; writes nothing into place unless every promise holds
  make_sample.py --check   measure the shipped files again, compare the card and README.md with it

Needs Debian's python3-torch, python3-onnx, python3-numpy and python3-pil. Everything is seeded.
"""
import pathlib
import sys

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import nn
from torch.nn import functional as F

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from sampletools import (OPSET, Sample, SampleError, figure, initializers, load_picture, run,  # noqa: E402
                         save_picture, train)

SIZE, BOX, LABELS = 32, 13, ["up", "right", "down", "left"]
TRAIN_SEED, HELD_OUT_SEED, NET_SEED = 1, 2, 3
TRAIN_PICTURES, HELD_OUT_PICTURES, EPOCHS = 4000, 200, 6
# Inputs, outputs and stride of the convolutions; tables and comparisons of the LUT layers, the last behind the mean.
CONVS = [(1, 4, 1), (4, 16, 2), (16, 16, 1), (16, 16, 1), (16, 16, 1), (16, 16, 2)]
LUTS = [(16, 6), (16, 6), (32, 5)]
FEATURES = CONVS[-1][1]


def draw(rng, label):
    """A grey picture [SIZE, SIZE] in 0..1 with an arrow and a bar, and the arrow's top left corner."""
    picture = rng.normal(0.12, 0.05, (SIZE, SIZE))
    arrow = np.zeros((BOX, BOX), bool)
    arrow[4:, 5:8] = True  # the shaft
    bar = arrow.copy()
    for row in range(6):  # the head
        arrow[row, 6 - row:7 + row] = True
    while True:
        places = rng.integers(0, SIZE - BOX + 1, (2, 2))
        if abs(places[0] - places[1]).max() >= BOX:
            break
    for shape, (top, left), turns in [(arrow, places[0], label), (bar, places[1], rng.integers(4))]:
        at = np.rot90(shape, -turns)
        area = picture[top:top + BOX, left:left + BOX]
        area[at] = rng.uniform(0.6, 1) + rng.normal(0, 0.05, int(at.sum()))
    return np.round(np.clip(picture, 0, 1) * 255).astype(np.float32) / 255, places[0]


def draw_all(seed, count):
    """Pictures [count, 1, SIZE, SIZE], where their arrows point, and the corners of those."""
    rng = np.random.default_rng(seed)
    labels = np.arange(count) % len(LABELS)
    pictures, places = zip(*[draw(rng, label) for label in labels])
    return torch.from_numpy(np.stack(pictures)[:, None]), torch.from_numpy(labels), np.array(places)


class Lut(nn.Module):
    """A LUT layer (docs/lut.md) with a skip around it; its gradient is exact for rows and a surrogate for inputs."""

    def __init__(self, tables, comparisons):
        super().__init__()
        pairs = torch.stack([torch.randperm(FEATURES * (FEATURES - 1))[:comparisons] for _ in range(tables)])
        first, second = pairs // (FEATURES - 1), pairs % (FEATURES - 1)
        self.register_buffer("anchors", torch.stack([first, second + (second >= first)], -1))
        self.rows = nn.Parameter(torch.randn(tables, 2 ** comparisons, FEATURES) * 0.02)

    def forward(self, x):
        flat = x.flatten(0, -2)
        tables = torch.arange(len(self.rows))
        u = flat[:, self.anchors[..., 0]] - flat[:, self.anchors[..., 1]]
        chosen = ((u > 0) << torch.arange(u.shape[-1])).sum(-1)
        weakest = u.abs().argmin(-1, keepdim=True)
        main, other = self.rows[tables, chosen], self.rows[tables, chosen ^ (1 << weakest[..., 0])]
        doubt = 0.5 / (1 + u.gather(-1, weakest).abs())
        return x + (main + (doubt - doubt.detach()) * (other - main).detach()).sum(1).reshape(x.shape)


class Net(nn.Module):
    """Six convolutions, two LUT layers at every place of the picture, the mean, one more LUT layer, a dense head."""

    def __init__(self):
        super().__init__()
        self.convs = nn.ModuleList(nn.Conv2d(a, b, 3, stride, 1) for a, b, stride in CONVS)
        self.luts = nn.ModuleList(Lut(*lut) for lut in LUTS)
        self.head = nn.Linear(FEATURES, len(LABELS))
        for conv in self.convs:
            nn.init.kaiming_normal_(conv.weight, nonlinearity="relu")
            nn.init.zeros_(conv.bias)

    def forward(self, x):
        for conv in self.convs:
            x = conv(x).relu()
        x = x.permute(0, 2, 3, 1)
        for lut in self.luts[:-1]:
            x = lut(x)
        return self.head(self.luts[-1](x.mean((1, 2))))


def export(net, path):
    """Writes the network as ONNX, layer by layer."""
    nodes, weights, last = [], [], "image"

    def add(op, name, inputs, **attributes):
        nonlocal last
        nodes.append(helper.make_node(op, [last, *inputs], [f"{name}.out"], name, **attributes))
        last = f"{name}.out"

    def weight(name, tensor):
        weights.append(numpy_helper.from_array(np.ascontiguousarray(tensor.detach().numpy()), name))
        return name

    def add_lut(i, lut):
        skipped = last
        add("LUT", f"lut{i}", [weight(f"lut{i}.anchors", lut.anchors), weight(f"lut{i}.rows", lut.rows)],
            domain="ai.retrograde")
        add("Add", f"skip{i}", [skipped])

    for i, conv in enumerate(net.convs, 1):
        add("Conv", f"conv{i}", [weight(f"conv{i}.weight", conv.weight), weight(f"conv{i}.bias", conv.bias)],
            kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=list(conv.stride))
        add("Relu", f"relu{i}", [])
    add("Transpose", "places", [], perm=[0, 2, 3, 1])
    for i, lut in enumerate(net.luts[:-1], 1):
        add_lut(i, lut)
    add("ReduceMean", "mean", [], axes=[1, 2], keepdims=0)
    add_lut(len(net.luts), net.luts[-1])
    add("Gemm", "head", [weight("head.weight", net.head.weight), weight("head.bias", net.head.bias)], transB=1)
    nodes[-1].output[0] = "logits"
    graph = helper.make_graph(
        nodes, "lut-skips", [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["N", 1, SIZE, SIZE])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["N", len(LABELS)])], weights)
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.retrograde", 1)]
    onnx.save(helper.make_model(graph, producer_name="retrograde-samples", ir_version=8, opset_imports=opsets), path)


def load(path):
    """The network with the weights of a file."""
    net, weights = Net().eval(), initializers(path)
    for i, conv in enumerate(net.convs, 1):
        conv.weight.data, conv.bias.data = weights[f"conv{i}.weight"], weights[f"conv{i}.bias"]
    for i, lut in enumerate(net.luts, 1):
        lut.anchors, lut.rows.data = weights[f"lut{i}.anchors"], weights[f"lut{i}.rows"]
    net.head.weight.data, net.head.bias.data = weights["head.weight"], weights["head.bias"]
    return net


class LutSkips(Sample):
    """See README.md."""

    def make(self, folder):
        torch.manual_seed(NET_SEED)
        net = Net()
        pictures, labels, _ = draw_all(TRAIN_SEED, TRAIN_PICTURES)
        train(net, pictures, labels, F.cross_entropy, epochs=EPOCHS, rate=3e-3)
        export(net, folder / "lut-skips.onnx")
        pictures, labels, places = draw_all(HELD_OUT_SEED, HELD_OUT_PICTURES)
        np.save(folder / "held-out.npy", (pictures.numpy() * 255).round().astype(np.uint8))
        np.save(folder / "held-out-labels.npy", labels.numpy())
        np.save(folder / "held-out-places.npy", places)
        for label, picture in zip(LABELS, pictures):
            save_picture(folder / f"{label}.png", picture[0].numpy())

    def measure(self, folder):
        net = load(folder / "lut-skips.onnx")
        pictures, labels, _ = draw_all(HELD_OUT_SEED, HELD_OUT_PICTURES)
        with torch.no_grad():
            right = float((net(pictures).argmax(1) == labels).float().mean())
            for lut in net.luts:
                lut.rows.zero_()
            bare = float((net(pictures).argmax(1) == labels).float().mean())
        figures = {
            "right": figure(right, "part of the held-out arrows whose direction is named rightly", (">=", 0.97)),
            "without_tables": figure(bare, "the same with all rows of the tables 0: the skips alone", ("<=", 0.80))}
        return figures, {"lut-skips.card.json": self.card(folder)}

    def card(self, folder):
        net, entries = load(folder / "lut-skips.onnx"), []
        for label in LABELS:
            with torch.no_grad():
                scores = net(torch.from_numpy(load_picture(folder / f"{label}.png"))[None, None])
            probability = torch.softmax(scores, 1)[0]
            answer = LABELS[int(probability.argmax())]
            if answer != label:
                raise SampleError(f"{label}.png: the network answers {answer}")
            entries.append({"file": f"{label}.png", "true_class": label, "answer": answer,
                            "probability": round(float(probability.max()), 3)})
        return {
            "format": "retrograde-card/1", "model": "lut-skips.onnx",
            "title": "LUT skips: convolutions, then tables with skips around them, tell where an arrow points",
            "input": {"name": "image", "kind": "image", "layout": "NCHW", "channels": "GRAY", "scale": [0, 1],
                      "size": [SIZE, SIZE]},
            "labels": LABELS, "composite": "epsilon_plus", "target": "argmax", "pictures": entries}


if __name__ == "__main__":
    run(LutSkips(__file__), __doc__)
