#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the silent-groups sample: two convolutional networks that differ in one grouped convolution.

  make_sample.py           draw, train, export, measure; writes nothing into place unless every promise holds
  make_sample.py --check   measure the shipped files again, compare cards and README.md with it

Needs Debian's python3-torch, python3-onnx, python3-numpy and python3-pil. Everything is seeded.
"""
import pathlib
import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from sampletools import (Sample, SampleError, export, figure, initializers, load_picture, run, save_picture,  # noqa: E402
                         stable, train, z_plus)

SIZE, LABELS = 32, ["disc", "ring", "stripes", "cross"]
TRAIN_SEED, HELD_OUT_SEED, NET_SEED = 1, 2, 3
TRAIN_PICTURES, HELD_OUT_PICTURES, EPOCHS = 1200, 400, 14
CHANNELS, SLOPE = 24, 0.4
MODELS = {"silent-groups.onnx": CHANNELS, "one-group.onnx": 1}  # groups of the convolution "leaky/conv"
# The steps of both networks in order: scope, inputs, outputs, kernel, stride, groups (None = what the network is about).
STEPS = [("stem", 1, 12, 3, 1, 1), ("reduce", 12, 12, 3, 2, 12), ("mix", 12, CHANNELS, 1, 1, 1),
         ("leaky", CHANNELS, CHANNELS, 3, 1, None), ("join", CHANNELS, 32, 1, 1, 1), ("last", 32, 32, 3, 2, 32)]


def draw(rng, label):
    """One grey picture [SIZE, SIZE] in 0..1: a bright shape on a dim, grainy ground."""
    y, x = np.mgrid[0:SIZE, 0:SIZE].astype(np.float32)
    (cx, cy), radius = rng.uniform(12, 20, 2), rng.uniform(7, 11)
    dx, dy = x - cx, y - cy
    distance = np.hypot(dx, dy)
    shape = [distance < radius, (distance < radius) & (distance > radius - 3),
             (dy % 4 < 2) & (distance < radius),
             ((abs(dx) < 2) | (abs(dy) < 2)) & (np.maximum(abs(dx), abs(dy)) < radius)][label]
    picture = rng.normal(0.12, 0.05, (SIZE, SIZE))
    picture[shape] = rng.uniform(0.6, 1) + rng.normal(0, 0.05, int(shape.sum()))
    return np.round(np.clip(picture, 0, 1) * 255).astype(np.float32) / 255


def draw_all(seed, count):
    """Pictures [count, 1, SIZE, SIZE] and their classes, taking turns."""
    rng = np.random.default_rng(seed)
    labels = np.arange(count) % len(LABELS)
    return torch.from_numpy(np.stack([draw(rng, label) for label in labels])[:, None]), torch.from_numpy(labels)


class Step(nn.Module):
    """A convolution without bias and its activation."""

    def __init__(self, inputs, outputs, kernel, stride, groups, activation):
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, kernel, stride, padding=kernel // 2, groups=groups, bias=False)
        self.activation = activation

    def forward(self, x):
        return self.activation(self.conv(x))


class Net(nn.Module):
    """Six convolutions, mean, one score per class; no bias anywhere, so that nothing is lost to one."""

    def __init__(self, groups):
        super().__init__()
        self.names = [step[0] for step in STEPS]
        for name, inputs, outputs, kernel, stride, own in STEPS:
            activation = nn.ReLU() if own else nn.LeakyReLU(SLOPE)
            self.add_module(name, Step(inputs, outputs, kernel, stride, own or groups, activation))
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.flatten = nn.Flatten()
        self.classify = nn.Linear(32, len(LABELS), bias=False)

    def forward(self, image):
        for name in self.names:
            image = getattr(self, name)(image)
        return self.classify(self.flatten(self.pool(image)))


class Yardstick:
    """Forward pass and z-plus relevance of a shipped file in plain torch, on the file's weights."""

    def __init__(self, path, groups):
        # A Linear without bias is exported as MatMul with the transposed weight.
        self.weights = list(initializers(path).values())
        self.groups = [own or groups for *_, own in STEPS]
        self.convs = [w for w in self.weights if w.dim() == 4]
        self.dense = [w for w in self.weights if w.dim() == 2][0]
        if self.dense.shape[0] != 32:
            self.dense = self.dense.T
        if len(self.convs) != len(STEPS):
            raise SampleError(f"{path.name} has {len(self.convs)} convolutions, expected {len(STEPS)}")

    def forward(self, x):
        """Scores, and the input of every convolution with the last features at the end."""
        values = [x]
        for weight, groups, (_, _, _, kernel, stride, own) in zip(self.convs, self.groups, STEPS):
            x = F.conv2d(x, weight, None, stride, kernel // 2, 1, groups)
            x = F.relu(x) if own else F.leaky_relu(x, SLOPE)
            values.append(x)
        return x.mean((2, 3)) @ self.dense, values

    def relevance(self, x):
        """Sum of the relevance of each value for the class named, divided by the start, the input first."""
        scores, values = self.forward(x)
        rows = torch.arange(len(x))
        chosen = scores.argmax(1)
        mean = values[-1].mean((2, 3))
        at_mean = mean * (scores[rows, chosen] / stable(scores[rows, chosen]))[:, None] * self.dense.T[chosen]
        area = values[-1].shape[2] * values[-1].shape[3]
        arrived = values[-1] * (at_mean / stable(mean))[:, :, None, None] / area
        sums = [arrived.sum()]
        for i in reversed(range(len(STEPS))):
            arrived = self.z_plus(i, values[i], arrived)
            sums.insert(0, arrived.sum())
        return [float(s / scores[rows, chosen].sum()) for s in sums]

    def z_plus(self, i, x, arrived):
        _, _, _, kernel, stride, _ = STEPS[i]
        return z_plus(arrived, x, self.convs[i], None,
                      lambda part, w: F.conv2d(part, w, None, stride, kernel // 2, 1, self.groups[i]),
                      lambda s, w: F.conv_transpose2d(s, w, None, stride, kernel // 2, stride - 1, self.groups[i]))


class SilentGroups(Sample):
    """See README.md."""

    def make(self, folder):
        pictures, labels = draw_all(TRAIN_SEED, TRAIN_PICTURES)
        for name, groups in MODELS.items():
            torch.manual_seed(NET_SEED)
            net = Net(groups)
            train(net, pictures, labels, F.cross_entropy, epochs=EPOCHS, rate=1e-2)
            export(net, pictures[:1], folder / name, ["image"], ["logits"])
        held_out, _ = draw_all(HELD_OUT_SEED, len(LABELS))
        for label, picture in zip(LABELS, held_out):
            save_picture(folder / f"{label}.png", picture[0].numpy())

    def measure(self, folder):
        pictures, labels = draw_all(HELD_OUT_SEED, HELD_OUT_PICTURES)
        figures, cards = {}, {}
        words = {"silent-groups.onnx": "24 groups", "one-group.onnx": "one group"}
        for name, groups in MODELS.items():
            net, key, who = Yardstick(folder / name, groups), name.split(".")[0].replace("-", "_"), words[name]
            sums = net.relevance(pictures)
            figures[key + "_right"] = figure((net.forward(pictures)[0].argmax(1) == labels).float().mean(),
                                             f"{who}: part of the held-out pictures named rightly", (">=", 0.95))
            lost = [sums[i + 1] - sums[i] for i in range(len(STEPS))]
            at = [name for name, *_ in STEPS].index("leaky")
            bound = (">=", 0.20) if groups > 1 else ("<=", 0.05)
            figures[key + "_lost"] = figure(lost[at], f"{who}: part of the relevance that vanishes at `leaky/conv`", bound)
            figures[key + "_lost_elsewhere"] = figure(
                max(abs(v) for i, v in enumerate(lost) if i != at),
                f"{who}: the largest part that any other convolution loses", ("<=", 0.01))
            figures[key + "_arrives"] = figure(sums[0], f"{who}: part of the relevance that reaches the picture")
            cards[name.replace(".onnx", ".card.json")] = self.card(folder, name, net)
        return figures, cards

    def card(self, folder, name, net):
        entries = []
        for label in LABELS:
            pixels = torch.from_numpy(load_picture(folder / f"{label}.png"))[None, None]
            probability = torch.softmax(net.forward(pixels)[0], 1)[0]
            answer = LABELS[int(probability.argmax())]
            if answer != label:
                raise SampleError(f"{label}.png: {name} answers {answer}")
            sums = net.relevance(pixels)
            entries.append({"file": f"{label}.png", "true_class": label, "answer": answer,
                            "probability": round(float(probability.max()), 3), "arrives": round(sums[0], 3)})
        card = {
            "format": "retrograde-card/1", "model": name,
            "title": "Silent groups: evidence that vanishes at one grouped convolution" if name == "silent-groups.onnx"
                     else "One group: the same network, each filter sees every channel",
            "input": {"name": "image", "kind": "image", "layout": "NCHW", "channels": "GRAY", "scale": [0, 1],
                      "size": [SIZE, SIZE]},
            "labels": LABELS, "composite": "epsilon_plus", "target": "argmax"}
        if name == "silent-groups.onnx":
            card["control"] = "one-group.onnx"
        return {**card, "pictures": sorted(entries, key=lambda entry: entry["arrives"])}  # the worst first


if __name__ == "__main__":
    run(SilentGroups(__file__), __doc__)
