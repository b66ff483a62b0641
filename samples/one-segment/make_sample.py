#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the one-segment sample: a network in the shape of a U-Net that finds objects, and one segment of it explained.

  make_sample.py           draw, train, export, measure; writes nothing into place unless every promise holds
  make_sample.py --check   measure the shipped files again, compare card and README.md with it

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
                         train, z_plus)

SIZE, LABELS = 40, ["ground", "sun", "house", "tree"]
TRAIN_SEED, HELD_OUT_SEED, NET_SEED = 1, 2, 3
TRAIN_SCENES, HELD_OUT_SCENES, EPOCHS = 600, 100, 16
MODEL, SCENES = "one-segment.onnx", ["scene-1.png", "scene-2.png", "scene-3.png"]
EXPLAINED = LABELS.index("house")


def shape_of(label, dx, dy, radius):
    """Where an object of this kind and size lies, seen from its middle."""
    if label == 1:
        return np.hypot(dx, dy) < radius
    if label == 2:
        return np.maximum(abs(dx), abs(dy)) < radius * 0.85
    return (dy < radius * 0.9) & (dy > 2 * abs(dx) - radius * 0.9)


def draw(rng):
    """One scene: picture [SIZE, SIZE, 3] in 0..1 and the class of every pixel [SIZE, SIZE]; no two objects overlap."""
    y, x = np.mgrid[0:SIZE, 0:SIZE].astype(np.float32)
    picture = rng.uniform(0.02, 0.2, 3) + rng.normal(0, 0.02, (SIZE, SIZE, 3))
    classes = np.zeros((SIZE, SIZE), np.int64)
    corners = rng.permutation(4)  # objects lie in quarters of their own
    for label in range(1, len(LABELS)):
        quarter = corners[label]
        radius = rng.uniform(6, 8.5)
        middle = np.array([quarter % 2, quarter // 2]) * SIZE / 2 + SIZE / 4 + rng.uniform(-1.5, 1.5, 2)
        shape = shape_of(label, x - middle[0], y - middle[1], radius)
        picture[shape] = rng.uniform(0.35, 1, 3) + rng.normal(0, 0.03, (int(shape.sum()), 3))
        classes[shape] = label
        if label == EXPLAINED:  # a door, which belongs to the house
            door = shape & (abs(x - middle[0]) < 2) & (y > middle[1])
            picture[door] = rng.uniform(0.02, 0.2, 3)
    return np.round(np.clip(picture, 0, 1) * 255).astype(np.float32) / 255, classes


def draw_all(seed, count):
    """Pictures [count, 3, SIZE, SIZE] and classes [count, SIZE, SIZE]."""
    rng = np.random.default_rng(seed)
    scenes = [draw(rng) for _ in range(count)]
    pictures = torch.from_numpy(np.stack([picture for picture, _ in scenes])).permute(0, 3, 1, 2).contiguous()
    return pictures, torch.from_numpy(np.stack([classes for _, classes in scenes]))


class Net(nn.Module):
    """Two levels down, two up, with the features of the way down set beside those of the way up."""

    def __init__(self):
        super().__init__()
        self.down1, self.down2, self.middle = self.conv(3, 12), self.conv(12, 16), self.conv(16, 24)
        self.rise2, self.up2 = nn.ConvTranspose2d(24, 16, 2, 2), self.conv(32, 16)
        self.rise1, self.up1 = nn.ConvTranspose2d(16, 12, 2, 2), self.conv(24, 12)
        self.head = nn.Conv2d(12, len(LABELS), 1)
        self.pool = nn.MaxPool2d(2)

    @staticmethod
    def conv(inputs, outputs):
        return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1), nn.ReLU())

    def scores(self, image):
        first = self.down1(image)
        second = self.down2(self.pool(first))
        lowest = self.middle(self.pool(second))
        second = self.up2(torch.cat([second, self.rise2(lowest)], 1))
        return self.head(self.up1(torch.cat([first, self.rise1(second)], 1)))

    def forward(self, image):
        """Per class the sum of its scores over the pixels where it wins, and all scores."""
        scores = self.scores(image)
        wins = scores.argmax(1, keepdim=True) == torch.arange(len(LABELS)).reshape(1, -1, 1, 1)
        return (scores * wins.float()).sum((2, 3)), scores


class ForTraining(nn.Module):
    """The scores alone."""

    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, image):
        return self.net.scores(image)


class Yardstick:
    """Forward pass and z-plus relevance of the shipped file in plain torch, on the file's weights."""

    def __init__(self, path):
        weights = {name.removesuffix(".weight"): w for name, w in initializers(path).items() if name.endswith("weight")}
        biases = {name.removesuffix(".bias"): b for name, b in initializers(path).items() if name.endswith("bias")}
        self.layers = {name.split(".")[0]: (weights[name], biases[name]) for name in weights}

    def conv(self, name, x):
        weight, bias = self.layers[name]
        return F.relu(F.conv2d(x, weight, bias, 1, weight.shape[2] // 2))

    def rise(self, name, x):
        return F.conv_transpose2d(x, *self.layers[name], 2)

    def forward(self, image):
        """Every value by the name of the layer that makes it."""
        v = {"image": image, "down1": self.conv("down1", image)}
        v["pool1"] = F.max_pool2d(v["down1"], 2)
        v["down2"] = self.conv("down2", v["pool1"])
        v["pool2"] = F.max_pool2d(v["down2"], 2)
        v["middle"] = self.conv("middle", v["pool2"])
        v["cat2"] = torch.cat([v["down2"], self.rise("rise2", v["middle"])], 1)
        v["up2"] = self.conv("up2", v["cat2"])
        v["cat1"] = torch.cat([v["down1"], self.rise("rise1", v["up2"])], 1)
        v["up1"] = self.conv("up1", v["cat1"])
        v["scores"] = F.conv2d(v["up1"], *self.layers["head"])
        return v

    def share(self, name, x, arrived):
        weight, bias = self.layers[name]
        edge = weight.shape[2] // 2
        return z_plus(arrived, x, weight, bias, lambda part, w: F.conv2d(part, w, None, 1, edge),
                      lambda s, w: F.conv_transpose2d(s, w, None, 1, edge))

    def share_of_rise(self, name, x, arrived):
        return z_plus(arrived, x, *self.layers[name], lambda part, w: F.conv_transpose2d(part, w, None, 2),
                      lambda s, w: F.conv2d(s, w, None, 2))

    @staticmethod
    def share_of_pool(x, arrived):
        winners = F.max_pool2d(x, 2, return_indices=True)[1]
        return torch.zeros_like(x).flatten(2).scatter_add_(2, winners.flatten(2), arrived.flatten(2)).reshape(x.shape)

    def relevance(self, image, label):
        """Relevance of the picture [N, 3, SIZE, SIZE] for the segment of one class."""
        v = self.forward(image)
        wins = v["scores"].argmax(1) == label
        at_scores = torch.zeros_like(v["scores"])
        at_scores[:, label] = v["scores"][:, label] * wins
        at_cat1 = self.share("up1", v["cat1"], self.share("head", v["up1"], at_scores))
        first, rise1 = at_cat1.split([12, 12], 1)
        at_cat2 = self.share("up2", v["cat2"], self.share_of_rise("rise1", v["up2"], rise1))
        second, rise2 = at_cat2.split([16, 16], 1)
        at_pool2 = self.share("middle", v["pool2"], self.share_of_rise("rise2", v["middle"], rise2))
        second = second + self.share_of_pool(v["down2"], at_pool2)
        first = first + self.share_of_pool(v["down1"], self.share("down2", v["pool1"], second))
        return self.share("down1", image, first)


def box_around(mask):
    """The smallest box [x, y, w, h] that holds every pixel of a mask."""
    rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    return [int(v) for v in (columns[0], rows[0], columns[-1] - columns[0] + 1, rows[-1] - rows[0] + 1)]


def shares(relevance, classes, label):
    """Per scene, the part of the positive relevance that lies on the object; channels are added up first."""
    positive = relevance.sum(1).clamp(min=0)
    return (positive * (classes == label)).sum((1, 2)) / positive.sum((1, 2))


class OneSegment(Sample):
    """See README.md."""

    def make(self, folder):
        pictures, classes = draw_all(TRAIN_SEED, TRAIN_SCENES)
        torch.manual_seed(NET_SEED)
        net = Net()
        train(ForTraining(net), pictures, classes, F.cross_entropy, epochs=EPOCHS, rate=5e-3, batch=16)
        export(net, pictures[:1], folder / MODEL, ["image"], ["segments", "scores"])
        held_out, _ = draw_all(HELD_OUT_SEED, len(SCENES))
        for name, picture in zip(SCENES, held_out):
            save_picture(folder / name, picture.permute(1, 2, 0).numpy())

    def measure(self, folder):
        net = Yardstick(folder / MODEL)
        pictures, classes = draw_all(HELD_OUT_SEED, HELD_OUT_SCENES)
        answers = net.forward(pictures)["scores"].argmax(1)
        figures = {"pixels_right": figure((answers == classes).float().mean(),
                                          "part of the held-out pixels named rightly", (">=", 0.95))}
        for label in range(1, len(LABELS)):
            name = LABELS[label]
            figures[f"{name}_share"] = figure(
                shares(net.relevance(pictures, label), classes, label).mean(),
                f"segment {name}: mean part of the positive relevance that lies on the {name}", (">=", 0.60))
            figures[f"{name}_area"] = figure((classes == label).float().mean(), f"mean part of the picture that the {name} covers")
        return figures, {"one-segment.card.json": self.card(folder, net)}

    def card(self, folder, net):
        _, classes = draw_all(HELD_OUT_SEED, len(SCENES))
        entries = []
        for name, truth in zip(SCENES, classes):
            picture = torch.from_numpy(load_picture(folder / name)).permute(2, 0, 1)[None]
            share = float(shares(net.relevance(picture, EXPLAINED), truth[None], EXPLAINED))
            entries.append({"file": name, "object_box": box_around((truth == EXPLAINED).numpy()),
                            "share_on_object": round(share, 3)})
            if share < 0.5:
                raise SampleError(f"{name}: only {share:.2f} of the relevance lies on the {LABELS[EXPLAINED]}")
        return {
            "format": "retrograde-card/1", "model": MODEL, "title": "One segment: why are these pixels a house?",
            "input": {"name": "image", "kind": "image", "layout": "NCHW", "channels": "RGB", "scale": [0, 1],
                      "size": [SIZE, SIZE]},
            "labels": LABELS, "scores": "numbers",  # sums over segments, no class scores
            "composite": "epsilon_plus", "target": LABELS[EXPLAINED], "pictures": entries}


if __name__ == "__main__":
    run(OneSegment(__file__), __doc__)
