#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants faults by chance in small networks that it trains, and prints which share of them `diagnose` names.

    tests/bench/faults.py FOLDER [--cli build/release/bin/retrograde-cli] [--count 300] [--healthy 60] [--seed 1]
                          [--networks 2] [--only FAULT]

Trains networks of pictures (plain, residual, transformer, quantised), texts, series, sound and tables, draws for each case a
network, a fault that it can have, the place and the size of that fault, and asks about one input, or about a folder
with labels where one input cannot tell. A fault is named when a finding speaks of its place and of its cause. Prints a
line per case, then a table: per fault how often it was named first, and among the first three. Healthy networks are
asked with other inputs; a finding above a note is a false alarm there.

FOLDER keeps what was asked (model, inputs, command.txt), so that a case can be looked at. Needs PyTorch, onnx,
onnxruntime, numpy and Pillow.
"""
import argparse
import collections
import copy
import json
import pathlib
import random
import re
import shlex
import subprocess
import warnings

import numpy as np
import onnx
import torch
from torch import nn

OPSET = 17
MEAN, STD = (0.35, 0.33, 0.36), (0.22, 0.21, 0.23)
SHAPES = ["disc", "square", "triangle", "cross", "ring"]
COLOURS = {"red": (1.3, 0.5, 0.5), "green": (0.5, 1.3, 0.5), "blue": (0.5, 0.5, 1.3), "yellow": (1.2, 1.2, 0.4),
           "cyan": (0.4, 1.2, 1.2)}
WORDS = ["[PAD]", "[CLS]", "[UNK]"] + ("the a film movie plot actor scene music ending story was is very quite really it "
                                       "and but with of this that dull good great superb awful bad fine lovely boring "
                                       "dreary brilliant poor weak strong").split()
GOOD, BAD = {"good", "great", "superb", "fine", "lovely", "brilliant", "strong"}, {"dull", "awful", "bad", "boring",
                                                                                   "dreary", "poor", "weak"}
TOKENS = 16
COLUMNS = ["age", "income", "debt", "tenure", "visits", "clicks", "balance", "rate", "limit", "late", "calls", "region"]
SCALES = np.array([40, 3000, 2000, 8, 5, 120, 900, 4, 1200, 1, 3, 6], np.float32)


# Data.

def picture(rng, kind, size=32):
    """A shape of one colour on a ground of another: uint8, size × size × 3."""
    ground, colour = rng.integers(20, 120, 3), rng.integers(120, 250, 3)
    y, x = np.mgrid[0:size, 0:size]
    cy, cx, r = *rng.uniform(11, 21, 2), rng.uniform(6, 10)
    dy, dx = y - cy, x - cx
    far = np.hypot(dy, dx)
    inside = {"disc": far < r, "ring": (far < r) & (far > 0.55 * r), "square": np.maximum(abs(dy), abs(dx)) < 0.85 * r,
              "triangle": (dy < 0.7 * r) & (abs(dx) < 0.5 * (dy + r)),
              "cross": (np.minimum(abs(dy), abs(dx)) < 0.25 * r) & (np.maximum(abs(dy), abs(dx)) < r)}[kind]
    drawn = np.where(inside[..., None], colour, ground) + rng.normal(0, 6, (size, size, 3))
    return drawn.clip(0, 255).astype(np.uint8)


def normalised(pictures):
    return ((pictures / 255 - np.array(MEAN)) / np.array(STD)).astype(np.float32).transpose(0, 3, 1, 2)


def pictures(rng, count):
    labels = rng.integers(0, len(SHAPES), count)
    return np.stack([picture(rng, SHAPES[label]) for label in labels]), labels


def colours(rng, count):
    """Shapes whose class is their colour."""
    labels = rng.integers(0, len(COLOURS), count)
    drawn = []
    for label in labels:
        shape = picture(rng, rng.choice(SHAPES)).astype(np.float32)
        bright = shape.mean(2, keepdims=True)
        tint = np.array(list(COLOURS.values())[label])
        drawn.append(np.where(bright > 115, bright * tint, shape).clip(0, 255).astype(np.uint8))
    return np.stack(drawn), labels


def texts(rng, count):
    ids, labels = np.zeros((count, TOKENS), np.int64), rng.integers(0, 2, count)
    for row, label in enumerate(labels):
        length = rng.integers(6, TOKENS - 2)
        words = list(rng.choice([w for w in WORDS[3:] if w not in GOOD | BAD], length))
        words[rng.integers(length)] = rng.choice(sorted(GOOD if label else BAD))
        ids[row, :length + 1] = [1] + [WORDS.index(word) for word in words]
    return ids, labels


def series(rng, count):
    labels = rng.integers(0, 3, count)
    t = np.arange(40)
    waves = [np.sin(2 * np.pi * t / period) for period in (5, 9, 17)]
    rows = np.stack([waves[label] * rng.uniform(0.7, 1.3) + rng.normal(0, 0.2, 40) for label in labels])
    return rows.astype(np.float32)[..., None], labels


def sounds(rng, count):
    """A tone that rises, falls, or beats; 8,000 numbers a second, −1 … 1."""
    labels = rng.integers(0, 3, count)
    t = np.arange(2000) / 8000
    rows = []
    for label in labels:
        low, high, loud = rng.uniform(300, 500), rng.uniform(1200, 1800), rng.uniform(0.2, 0.9)
        sweep = low + (high - low) * t / t[-1] if label == 0 else high - (high - low) * t / t[-1] if label == 1 else low
        wave = np.sin(2 * np.pi * np.cumsum(sweep * np.ones(2000)) / 8000)
        wave *= (np.sin(2 * np.pi * 20 * t) > 0) if label == 2 else 1
        rows.append(loud * wave + rng.normal(0, 0.01, 2000))
    return np.stack(rows).astype(np.float32)[:, None], labels


def table(rng, count):
    rows = rng.normal(size=(count, len(COLUMNS))).astype(np.float32)
    return rows, np.digitize(rows[:, 0] + rows[:, 3] - rows[:, 8] * rows[:, 1], [-0.7, 0.7])


# Networks.

class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        layers = []
        for a, b in ((3, 12), (12, 24), (24, 36)):
            layers += [nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b), nn.LeakyReLU(0.05), nn.MaxPool2d(2)]
        self.features, self.head = nn.Sequential(*layers), nn.Linear(36, len(SHAPES))

    def forward(self, image):
        return self.head(self.features(image).mean((2, 3)))


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.c1, self.b1 = nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width)
        self.c2, self.b2 = nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width)
        self.skip, self.cut = 1.0, None

    def forward(self, x):
        hidden = torch.relu(self.b1(self.c1(x)))
        hidden = hidden if self.cut is None else hidden.clamp(0, self.cut)
        return torch.relu(self.b2(self.c2(hidden)) + (x if self.skip == 1 else x * self.skip))


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1), nn.BatchNorm2d(16), nn.ReLU())
        self.layers, self.head = nn.Sequential(*(Block(16) for _ in range(4))), nn.Linear(16, len(SHAPES))

    def forward(self, image):
        return self.head(self.layers(self.stem(image)).mean((2, 3)))


class Attention(nn.Module):
    softmax_axis = -1

    def __init__(self, width, heads=4):
        super().__init__()
        self.heads, self.scale, self.masked = heads, (width // heads) ** 0.5, 1
        self.q, self.k, self.v, self.o = (nn.Linear(width, width) for _ in range(4))

    def forward(self, x, mask=None):
        n, t, d = x.shape
        q, k, v = (f(x).view(n, t, self.heads, -1).transpose(1, 2) for f in (self.q, self.k, self.v))
        scores = q @ k.transpose(-1, -2) / self.scale
        if mask is not None and self.masked != 0:
            hidden = (1 - mask) if self.masked > 0 else mask
            scores = scores + hidden[:, None, None, :] * -1e4
        return self.o((torch.softmax(scores, self.softmax_axis) @ v).transpose(1, 2).reshape(n, t, d))


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.n1, self.attn, self.n2 = nn.LayerNorm(width), Attention(width), nn.LayerNorm(width)
        self.f1, self.f2 = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x, mask=None):
        x = x + self.attn(self.n1(x), mask)
        return x + self.f2(torch.nn.functional.gelu(self.f1(self.n2(x))))


class Patches(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.patch, self.pos = nn.Conv2d(3, width, 4, 4), nn.Parameter(0.02 * torch.randn(1, 64, width))
        self.layers = nn.ModuleList(Layer(width) for _ in range(4))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, len(SHAPES))

    def forward(self, image):
        x = self.patch(image).flatten(2).transpose(1, 2) + self.pos
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x).mean(1))


class Reader(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.tok, self.pos = nn.Embedding(len(WORDS), width), nn.Embedding(TOKENS, width)
        self.layers = nn.ModuleList(Layer(width) for _ in range(4))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 2)

    def forward(self, ids, mask):
        x = self.tok(ids) + self.pos(torch.arange(ids.shape[1]))
        for layer in self.layers:
            x = layer(x, mask.float())
        return self.head(self.norm(x)[:, 0])


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn, self.head = nn.LSTM(1, 24, batch_first=True), nn.Linear(24, 3)

    def forward(self, x):
        return self.head(self.rnn(x)[0][:, -1])


class Listener(nn.Module):
    def __init__(self):
        super().__init__()
        layers = []
        for a, b, wide, step in ((1, 16, 64, 16), (16, 24, 9, 2), (24, 32, 9, 2)):
            layers += [nn.Conv1d(a, b, wide, step, wide // 2), nn.BatchNorm1d(b), nn.ReLU()]
        self.features, self.rnn, self.head = nn.Sequential(*layers), nn.GRU(32, 24, batch_first=True), nn.Linear(24, 3)

    def forward(self, x):
        return self.head(self.rnn(self.features(x).transpose(1, 2))[0][:, -1])


class Experts(nn.Module):
    """Columns by six experts, whose answers a gate weighs."""
    def __init__(self, experts=6, width=24):
        super().__init__()
        self.gate, self.head = nn.Linear(len(COLUMNS), experts), nn.Linear(width, 3)
        self.up = nn.Parameter(torch.randn(experts, len(COLUMNS), width) / len(COLUMNS) ** 0.5)
        self.down = nn.Parameter(torch.randn(experts, width, width) / width ** 0.5)

    def forward(self, x):
        each = torch.relu(torch.matmul(x[:, None, None], self.up)).matmul(self.down)[:, :, 0]
        return self.head(torch.relu((torch.softmax(self.gate(x), -1)[..., None] * each).sum(1)))


class Columns(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(len(COLUMNS), 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 3))

    def forward(self, x):
        return self.net(x)


def inputs_of(kind, drawn):
    """The tensors of a network, of what its data are drawn as."""
    if kind == "text":
        return torch.tensor(drawn), torch.tensor((drawn != 0).astype(np.int64))
    return (torch.tensor(normalised(drawn) if kind in PICTURES else drawn),)


PICTURES = ("plain", "residual", "patches", "quantised", "colours")
KINDS = {"plain": (Plain, pictures), "residual": (Residual, pictures), "patches": (Patches, pictures),
         "quantised": (Plain, pictures), "colours": (Plain, colours), "text": (Reader, texts), "series": (Recurrent, series),
         "table": (Columns, table), "experts": (Experts, table), "sound": (Listener, sounds)}


def trained(kind, seed, folder):
    """A network and the share of new data that it gets right; trained once, then read from the folder."""
    kept = folder / f"{kind}-{seed}.pt"
    if kept.exists():
        return torch.load(kept, weights_only=False)
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    make, draw = KINDS[kind]
    net = make().train()
    rate = {"plain": 3e-3, "residual": 3e-3, "series": 1e-2, "table": 3e-3, "experts": 3e-3, "sound": 5e-3}.get(kind, 1.5e-3)
    steps = {"patches": 500, "series": 250, "text": 250, "table": 500, "experts": 500}.get(kind, 200)
    turn = torch.optim.Adam(net.parameters(), rate)
    for _ in range(steps):
        drawn, labels = draw(rng, 64)
        turn.zero_grad()
        nn.functional.cross_entropy(net(*inputs_of(kind, drawn)), torch.tensor(labels)).backward()
        turn.step()
    net.eval()
    drawn, labels = draw(rng, 400)
    with torch.no_grad():
        right = (net(*inputs_of(kind, drawn)).argmax(1).numpy() == labels).mean()
    torch.save((net, right), kept)
    return net, right


# A case: what is asked, and where the fault is.

class Case:
    def __init__(self, kind, net, rng, folder):
        self.kind, self.net, self.rng, self.folder = kind, copy.deepcopy(net), rng, folder
        self.good = net
        self.drawn, self.labels = KINDS[kind][1](rng, 24)
        self.sample, self.mask = self.drawn[:1], "mask"
        self.ask, self.with_folder, self.against = "", False, False
        self.node, self.key = ".", "."
        self.keeps_norm = rng.random() < 0.5  # BatchNorm stays a node of its own
        self.tail, self.training = None, False
        self.edit = None  # of the ONNX file
        self.given = None  # an array in place of the picture
        self.files = None  # inputs of a folder that are no pictures: by name what is written
        self.card = {"format": "retrograde-card/1", "model": "model.onnx", "labels": self.names()}
        if kind in PICTURES:
            self.card["input"] = {"name": "image", "kind": "image", "layout": "NCHW", "channels": "RGB",
                                  "scale": [0, 1], "mean": list(MEAN), "std": list(STD), "size": [32, 32]}
        elif kind == "text":
            self.card["input"] = {"name": "ids", "kind": "array", "vocabulary": list(WORDS), "unknown": "[UNK]"}
        elif kind in ("table", "experts"):
            self.card["input"] = {"name": "x", "kind": "array", "features": COLUMNS}
        else:
            self.card["input"] = {"name": "x", "kind": "array"}

    def names(self):
        return {"text": ["bad", "good"], "series": ["fast", "middle", "slow"], "table": ["a", "b", "c"],
                "experts": ["a", "b", "c"], "sound": ["rising", "falling", "beating"], "colours": list(COLOURS)}.get(
            self.kind, list(SHAPES))

    def layers(self, *kinds):
        """Modules of these kinds, with their names."""
        return [(name, module) for name, module in self.net.named_modules() if isinstance(module, kinds)]

    def one(self, *kinds, first=0):
        """One of them, not among the first ones."""
        return self.layers(*kinds)[first:][self.rng.integers(len(self.layers(*kinds)) - first)]

    def at(self, name, key):
        """The fault is in the module of that name, and is called so."""
        self.node = re.escape(name).replace(r"\.", "[./]+(?:[a-z]+\\.)?")
        self.key = key

    def export(self, net, path):
        net = nn.Sequential(net, self.tail).eval() if self.tail is not None and self.kind != "text" else net
        inputs = inputs_of(self.kind, self.sample)
        names = ["ids", self.mask] if self.kind == "text" else ["image"] if self.kind in PICTURES else ["x"]
        mode = torch.onnx.TrainingMode.PRESERVE if self.keeps_norm or self.training else torch.onnx.TrainingMode.EVAL
        torch.onnx.export(net, inputs, str(path), input_names=names, output_names=["scores"], opset_version=OPSET,
                          training=mode, do_constant_folding=mode == torch.onnx.TrainingMode.EVAL, dynamo=False)
        if self.kind == "quantised":
            quantise(path, normalised(pictures(self.rng, 32)[0]))

    def write(self):
        from PIL import Image

        self.folder.mkdir(parents=True, exist_ok=True)
        self.export(self.net, self.folder / "model.onnx")
        if self.edit:
            model = onnx.load(self.folder / "model.onnx")
            self.edit(model)
            onnx.save(model, self.folder / "model.onnx")
        if self.against:
            self.export(self.good, self.folder / "good.onnx")
        (self.folder / "model.card.json").write_text(json.dumps(self.card))
        inputs = {}
        if self.files is not None:
            pass
        elif self.given is not None:
            inputs["image"] = self.given
        elif self.kind == "text":
            inputs = {"ids": self.drawn[:1], "mask": (self.drawn[:1] != 0).astype(np.int64)}
        elif self.kind not in PICTURES:
            inputs["x"] = self.drawn[:1]
        for name, array in inputs.items():
            np.save(self.folder / f"{name}.npy", array)
        command = "".join(f" --input {name}={name}.npy" for name in inputs)
        if self.files is not None:
            (self.folder / "inputs").mkdir(exist_ok=True)
            for i, one in enumerate(self.files):
                if isinstance(one, str):
                    (self.folder / "inputs" / f"{i:02}.txt").write_text(one)
                else:
                    np.save(self.folder / "inputs" / f"{i:02}.npy", one)
            rows = "".join(f"{i:02}.x,{self.names()[label]}\n" for i, label in enumerate(self.labels))
            ending = "txt" if isinstance(self.files[0], str) else "npy"
            (self.folder / "labels.csv").write_text("file,label\n" + rows.replace(".x,", f".{ending},"))
            command = " --input inputs --labels labels.csv"
        elif not inputs:
            (self.folder / "pictures").mkdir(exist_ok=True)
            for i, drawn in enumerate(self.drawn):
                Image.fromarray(drawn).save(self.folder / "pictures" / f"{i:02}.png")
            rows = "".join(f"{i:02}.png,{self.names()[label]}\n" for i, label in enumerate(self.labels))
            (self.folder / "labels.csv").write_text("file,label\n" + rows)
            command = " --input pictures --labels labels.csv" if self.with_folder else " --input pictures/00.png"
        command = f"diagnose model.onnx{command}{self.ask}" + (" --against good.onnx" if self.against else "")
        (self.folder / "command.txt").write_text(command + "\n")
        return command


def quantise(path, data):
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

    class Rows(CalibrationDataReader):
        def __init__(self):
            self.rows = iter(data)

        def get_next(self):
            row = next(self.rows, None)
            return None if row is None else {"image": row[None]}

    quantize_static(str(path), str(path), Rows(), quant_format=QuantFormat.QDQ, per_channel=True,
                    activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)


# Faults: each changes a case and says where and what it is. `kinds`: the networks that can have it.

FAULTS = {}


def fault(*kinds):
    def add(plant):
        FAULTS[plant.__name__.replace("_", " ")] = (kinds, plant)
        return plant
    return add


def size(case, low, high):
    return float(np.exp(case.rng.uniform(np.log(low), np.log(high))))


@fault("plain", "residual", "patches", "text", "table")
def channel_too_large(case):
    name, layer = case.one(nn.Conv2d, nn.Linear)
    with torch.no_grad():
        layer.weight[case.rng.integers(len(layer.weight))] *= size(case, 200, 2000)
    case.at(name, "channel|weights|times")


@fault("plain", "residual")
def variance_of_a_channel_lost(case):
    case.keeps_norm = True
    name, norm = case.one(nn.BatchNorm2d)
    norm.running_var[case.rng.integers(len(norm.running_var))] = size(case, 1e-9, 1e-7)
    case.at(name, "varian|channel|times")


@fault("plain", "residual")
def statistics_never_loaded(case):
    case.keeps_norm = True
    name, norm = case.one(nn.BatchNorm2d)
    norm.running_mean.zero_()
    norm.running_var.fill_(1)
    case.at(name, "statist|mean 0|varian")


@fault("plain", "residual")
def batch_norm_in_training(case):
    case.keeps_norm = case.training = True
    name, norm = case.one(nn.BatchNorm2d)
    norm.train()
    case.at(name, "train")


@fault("plain", "residual", "patches", "text", "table")
def half_of_the_weights_zero(case):
    name, layer = case.one(nn.Conv2d, nn.Linear, first=1)
    with torch.no_grad():
        layer.weight[:, :layer.weight.shape[1] // 2] = 0
    case.at(name, "0|zero")


@fault("plain", "residual", "patches", "text", "series", "table")
def weight_is_no_number(case):
    name, layer = case.one(nn.Conv2d, nn.Linear)
    with torch.no_grad():
        layer.weight.view(-1)[case.rng.integers(layer.weight.numel())] = float("nan")
    case.at(name, "NaN|not finite|no number")


@fault("residual", "patches", "text")
def layer_copied(case):
    layers = case.net.layers
    a, b = case.rng.choice(len(layers), 2, replace=False)
    layers[int(b)].load_state_dict(layers[int(a)].state_dict())
    case.keeps_norm = False
    case.node, case.key = rf"layers[./](?:layers\.)?[{a}{b}]", "same|identical|equal|cop"


@fault("residual")
def shortcut_scaled(case):
    at = int(case.rng.integers(len(case.net.layers)))
    case.net.layers[at].skip = size(case, 0.02, 0.2)
    case.node, case.key = rf"layers[./](?:layers\.)?{at}", "scal|factor|shortcut|skip"


@fault("plain")
def slope_of_one_layer(case):
    name, act = case.one(nn.LeakyReLU)
    act.negative_slope = float(case.rng.uniform(0.2, 0.9))
    case.at(name, "slope|alpha")


@fault("residual")
def activation_cut_off(case):
    at = int(case.rng.integers(len(case.net.layers)))
    case.net.layers[at].cut = size(case, 0.02, 0.1)
    case.node, case.key = rf"layers[./](?:layers\.)?{at}", "clip|cut|bound|saturat"


@fault("patches", "text")
def scores_of_attention_not_scaled(case):
    at = int(case.rng.integers(len(case.net.layers)))
    case.net.layers[at].attn.scale = size(case, 0.01, 0.3)
    case.node, case.key = rf"layers\.{at}/attn", "scale|saturat|operand|Div|times|sharp"


@fault("text")
def mask_of_one_layer(case):
    at = int(case.rng.integers(len(case.net.layers)))
    case.net.layers[at].attn.masked = int(case.rng.choice([0, -1]))
    case.node, case.key = rf"layers\.{at}/attn", "mask|hide|padding"


@fault("plain", "residual", "patches", "table", "series")
def softmax_at_the_end(case):
    case.tail = nn.LogSoftmax(-1) if case.rng.random() < 0.5 else nn.Softmax(-1)
    case.node, case.key = "[Ss]oftmax|scores", "softmax|log"


@fault("series")
def forget_gate_closed(case):
    hidden = case.net.rnn.hidden_size
    with torch.no_grad():
        case.net.rnn.bias_ih_l0[hidden:2 * hidden] -= size(case, 6, 20)
    case.node, case.key = "rnn|LSTM", "forget|gate|closed|saturat"


@fault("plain", "residual", "patches")
def kernel_transposed(case):
    case.against = True
    name, layer = case.one(nn.Conv2d)
    with torch.no_grad():
        layer.weight.copy_(layer.weight.transpose(2, 3).clone())
    case.at(name, "transpos|differ|weight")


@fault("plain", "residual", "patches", "text", "table")
def sign_of_one_row(case):
    case.against = True
    name, layer = case.one(nn.Linear)
    with torch.no_grad():
        layer.weight[case.rng.integers(len(layer.weight))] *= -1
    case.at(name, "differ|sign|row|weight")


@fault("colours")
def channels_in_other_order(case):
    case.with_folder = True
    case.card["input"]["channels"] = "BGR"
    case.card["input"]["mean"], case.card["input"]["std"] = list(MEAN), list(STD)
    case.node, case.key = "image", "R and B|channels|BGR"


@fault("plain", "residual", "patches")
def mean_and_std_missing(case):
    case.with_folder = True
    case.card["input"]["mean"], case.card["input"]["std"] = [], []
    case.node, case.key = "image|scores", "mean|std|numbers|class"


@fault("plain", "residual", "patches")
def pixels_not_scaled(case):
    case.given = case.drawn[:1].astype(np.float32).transpose(0, 3, 1, 2)
    case.node, case.key = "image", "card|range|scale|pixels|mean"


@fault("plain", "residual", "patches")
def axes_in_other_order(case):
    case.given = normalised(case.drawn[:1]).transpose(0, 2, 3, 1)
    case.node, case.key = "image", "NHWC|transpose|order|axes|shape"


@fault("plain", "residual", "patches")
def labels_moved(case):
    case.with_folder = True
    by = int(case.rng.integers(1, len(SHAPES)))
    case.card["labels"] = SHAPES[by:] + SHAPES[:by]
    case.node, case.key = "label|class|scores", "label|order|moved"


@fault("plain", "residual", "patches", "table", "series")
def one_label_more(case):
    case.card["labels"] = ["background"] + case.card["labels"]
    case.node, case.key = "label|card|scores", "labels"


@fault("table")
def columns_not_standardised(case):
    case.drawn = (np.abs(case.drawn) * SCALES).astype(np.float32)
    case.node, case.key = r"\bx\b", "scale|standard|column|range|domin"


@fault("text")
def vocabulary_of_another_tokenizer(case):
    case.card["input"]["vocabulary"] = WORDS[3:]
    del case.card["input"]["unknown"]
    case.node, case.key = "ids|tok|Gather", "vocabular|words|rows"


@fault("table", "plain", "residual")
def epsilon_too_large(case):
    case.ask = f" --composite epsilon:epsilon={size(case, 20, 200):.3g}"
    case.node, case.key = ".", "stabilis|epsilon"


@fault("plain", "residual", "table")
def class_that_is_not_there(case):
    case.ask = f" --target {len(case.names()) + int(case.rng.integers(0, 3))}"
    case.node, case.key = "scores|head|target", "classes|class"


@fault("quantised")
def scale_of_a_value_wrong(case):
    def edit(model):
        scales = {n.input[1] for n in model.graph.node if n.op_type == "QuantizeLinear"}
        nodes = [n for n in model.graph.node if n.op_type == "QuantizeLinear" and n.name]
        chosen = nodes[int(case.rng.integers(1, len(nodes)))]
        factor = 1 / size(case, 30, 300) if case.rng.random() < 0.5 else size(case, 60, 300)
        for constant in model.graph.initializer:
            if constant.name == chosen.input[1] and constant.name in scales:
                constant.CopyFrom(onnx.numpy_helper.from_array(
                    (onnx.numpy_helper.to_array(constant) * factor).astype(np.float32), constant.name))
        readers = [n.name for n in nodes if n.input[1] == chosen.input[1]]  # what only moves a value has its scale
        case.node = "|".join(re.escape(name.removesuffix("_QuantizeLinear")) for name in readers)
    case.edit = edit
    case.node, case.key = ".", "quant|satur|clip|coarse|level|scale"


@fault("patches", "text")
def head_too_large(case):
    name, attention = case.one(Attention)
    part = attention.q.weight.shape[0] // attention.heads
    head = int(case.rng.integers(attention.heads)) * part
    layer = ("q", "k", "v")[case.rng.integers(3)]
    with torch.no_grad():
        getattr(attention, layer).weight[head:head + part] *= size(case, 20, 200)
    case.at(f"{name}.{layer}", "head|channel|weights|times")


@fault("patches", "text")
def head_copied(case):
    name, attention = case.one(Attention)
    part = attention.q.weight.shape[0] // attention.heads
    a, b = (int(head) * part for head in case.rng.choice(attention.heads, 2, replace=False))
    with torch.no_grad():
        for layer in (attention.q, attention.k, attention.v):
            layer.weight[b:b + part], layer.bias[b:b + part] = layer.weight[a:a + part], layer.bias[a:a + part]
    case.at(name, "head|same|like|cop")


@fault("experts")
def expert_too_large(case):
    stacked = (case.net.up, case.net.down)[case.rng.integers(2)]
    with torch.no_grad():
        stacked[case.rng.integers(len(stacked))] *= size(case, 20, 200)
    case.node, case.key = "MatMul", "expert|weights|times"


@fault("experts")
def expert_copied(case):
    a, b = (int(one) for one in case.rng.choice(len(case.net.up), 2, replace=False))
    with torch.no_grad():
        case.net.up[b], case.net.down[b] = case.net.up[a], case.net.down[a]
    case.node, case.key = "MatMul", "expert|same|cop"


@fault("sound")
def sound_of_16_bits(case):
    case.files = [(one[None] * 32768).astype(np.float32) for one in case.drawn]
    case.node, case.key = "x", "32768|range|scale"


@fault("sound")
def sound_at_another_rate(case):
    case.files = [one[None, :, 2 * np.arange(2000) % 2000] for one in case.drawn]  # half of the numbers a second
    case.node, case.key = "x", "step between"


@fault("text")
def tokenizer_of_another_model(case):
    import tokenizers

    def write(words, path):
        made = tokenizers.Tokenizer(tokenizers.models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="[UNK]"))
        made.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
        made.post_processor = tokenizers.processors.TemplateProcessing(single="[CLS] $A", special_tokens=[("[CLS]", 1)])
        made.enable_padding(length=TOKENS, pad_id=0, pad_token="[PAD]")
        path.parent.mkdir(parents=True, exist_ok=True)
        made.save(str(path))

    write(WORDS[:3] + list(case.rng.permutation(WORDS[3:])), case.folder / "tokenizer.json")
    write(WORDS, case.folder / "base" / "tokenizer.json")
    del case.card["input"]
    case.mask = "attention_mask"  # which is filled in
    case.files = [" ".join(WORDS[i] for i in one if i > 2) for one in case.drawn]
    case.node, case.key = "ids", "tokenizer"


@fault("plain", "residual")
def pictures_of_other_sides(case):
    from PIL import Image

    case.with_folder = True
    wide = [Image.fromarray(one).resize((64, 64), Image.BILINEAR) for one in case.drawn]
    sides = []
    for one in wide:
        around = Image.new("RGB", (160, 64), tuple(int(x) for x in case.rng.integers(60, 200, 3)))
        around.paste(one, (48, 0))
        sides.append(np.asarray(around))
    case.drawn = sides
    case.node, case.key = "image", "middle"


def felt(case, plant):
    """Plants until answers are others, and asks about a folder: of what nobody feels nobody asks."""
    good = case.net
    for _ in range(40):
        case.net = copy.deepcopy(good)
        plant()
        with torch.no_grad():
            found = case.net(*inputs_of(case.kind, case.drawn)).argmax(1).numpy()
        if (found == case.labels).mean() < 0.75:
            break
    case.with_folder, case.keeps_norm = True, case.kind in ("plain", "residual")
    if case.kind not in PICTURES:
        case.files = [one[None] for one in case.drawn]


@fault("patches", "residual")
def weights_turned(case):
    def plant():
        square = [one for one in case.layers(nn.Conv2d, nn.Linear) if one[1].weight.shape[0] == one[1].weight.shape[1]]
        name, layer = square[case.rng.integers(len(square))]
        with torch.no_grad():
            layer.weight.copy_(layer.weight.transpose(0, 1).clone())
        case.at(name, "exchanged")
    felt(case, plant)


@fault("patches")
def softmax_over_another_axis(case):
    class Turned(Attention):
        softmax_axis = -2

    def plant():
        at = int(case.rng.integers(len(case.net.layers)))
        case.net.layers[at].attn.__class__ = Turned
        case.node, case.key = rf"layers\.{at}/attn", "axis|attributes"
    felt(case, plant)


@fault("patches")
def scale_and_bias_exchanged(case):
    def plant():
        name, norm = case.one(nn.LayerNorm)
        with torch.no_grad():
            kept = norm.weight.clone()
            norm.weight.copy_(norm.bias)
            norm.bias.copy_(kept)
        case.at(name, "exchanged")
    felt(case, plant)


@fault("plain", "residual")
def sign_of_a_scale(case):
    def plant():
        name, norm = case.one(nn.BatchNorm2d)
        with torch.no_grad():
            norm.weight *= -1
        case.at(name, "sign of its scale")
    felt(case, plant)


@fault("series")
def gates_in_another_order(case):
    def plant():
        order = case.rng.permutation(4)
        with torch.no_grad():
            for one in case.net.rnn.parameters():
                one.copy_(torch.cat([one.clone().chunk(4)[i] for i in order]))
        case.node, case.key = "rnn|LSTM", "gates read"
    felt(case, plant)


@fault("plain", "residual", "patches")
def black_and_white_exchanged(case):
    case.drawn = [255 - np.asarray(one) for one in case.drawn]
    case.with_folder = True
    case.node, case.key = "image", "black and white"


def findings_of(cli, command, folder):
    asked = subprocess.run([cli, *shlex.split(command), "--threads", "1", "--json"], cwd=folder, capture_output=True,
                           text=True, errors="replace")
    try:
        return json.loads(asked.stdout).get("findings", []), asked.stderr
    except json.JSONDecodeError:
        return [], asked.stderr


def place_of(case, found):
    """From 1: the first finding that speaks of the fault; 0 where none does."""
    node, key = re.compile(case.node, re.I), re.compile(case.key, re.I)
    for i, one in enumerate(found):
        said = " ".join(str(one.get(k) or "") for k in ("node", "value", "text", "meaning", "id"))
        said += " " + json.dumps(one.get("also"))
        if node.search(said) and key.search(said):
            return i + 1
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--cli", default="build/release/bin/retrograde-cli")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--healthy", type=int, default=60)
    parser.add_argument("--networks", type=int, default=2, help="trained of each kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", help="faults whose name holds this")
    options = parser.parse_args()
    cli = str(pathlib.Path(options.cli).resolve())
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    options.folder.mkdir(parents=True, exist_ok=True)
    nets = {}
    for kind in KINDS:
        nets[kind] = nets["plain"] if kind == "quantised" else [
            trained(kind, options.seed * 100 + i, options.folder) for i in range(options.networks)]
        print(f"trained {kind}: {', '.join(f'{right:.0%}' for _, right in nets[kind])} right", flush=True)
    draw = random.Random(options.seed)
    names = [name for name in FAULTS if not options.only or options.only in name]
    tally = collections.defaultdict(collections.Counter)
    for i in range(options.count):
        name = names[i % len(names)]
        kinds, plant = FAULTS[name]
        kind = draw.choice(kinds)
        case = Case(kind, draw.choice(nets[kind])[0], np.random.default_rng(options.seed * 10000 + i),
                    options.folder / f"{i:03}-{name.replace(' ', '-')}-{kind}")
        plant(case)
        found, err = findings_of(cli, case.write(), case.folder)
        place = place_of(case, found) or (1 if not found and re.search(case.key, err, re.I) else 0)
        tally[name].update(cases=1, first=place == 1, three=0 < place <= 3)
        shown = f"{found[0].get('node')} {found[0].get('text')}" if found else err.strip()
        print(f"{i:4} {name:34} {kind:10} {place or '-':>3}  {shown[:110]}", flush=True)
    alarms = collections.Counter()
    for i in range(options.healthy):
        kind = list(KINDS)[i % len(KINDS)]
        case = Case(kind, nets[kind][i // len(KINDS) % options.networks][0], np.random.default_rng(options.seed * 20000 + i),
                    options.folder / f"healthy-{i:03}-{kind}")
        case.with_folder = kind in PICTURES and i % 2 == 0
        found, _ = findings_of(cli, case.write(), case.folder)
        loud = [one for one in found if one["level"] in ("warning", "error")]
        alarms.update(cases=1, loud=bool(loud))
        if loud:
            print(f"alarm {kind} {i}: {loud[0].get('node')} {loud[0].get('text')}"[:160], flush=True)
    print("\n| fault | cases | named first | among three |\n|---|---|---|---|")
    total = collections.Counter()
    for name in names:
        total.update(tally[name])
        print(f"| {name} | {tally[name]['cases']} | {tally[name]['first']} | {tally[name]['three']} |")
    print(f"| all | {total['cases']} | {total['first']} | {total['three']} |")
    print(f"\nhealthy: {alarms['loud']} of {alarms['cases']} alarmed")


if __name__ == "__main__":
    main()
