# SPDX-License-Identifier: Apache-2.0
"""What the scripts of the small samples share: same numbers on every run, figures with limits, cards, README tables.

A sample's script makes a `Sample`, measures its shipped files in `measure()` and calls `run()`, which is the command line:

  make_sample.py           train, export, measure; writes nothing into place unless every promise holds
  make_sample.py --check   measure the shipped files again, compare cards and README.md with it
"""
import argparse
import json
import operator
import pathlib
import shutil
import sys
import tempfile

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from PIL import Image

OPSET = 17
MOST_BYTES_PER_MODEL = 1_000_000
FIGURES_BEGIN, FIGURES_END = "<!-- figures: written by make_sample.py -->", "<!-- end of figures -->"
COMPARE = {">=": operator.ge, "<=": operator.le}
TOLERANCE = 0.002


class SampleError(Exception):
    """Something that the sample promises does not hold."""


def prepare_torch():
    """Same numbers on every run: one thread, deterministic algorithms."""
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)


def figure(value, means, limit=None):
    """A measured number, what it means in words, and the limit that the sample promises: (">=", 0.9)."""
    entry = {"value": round(float(value), 4), "means": means}
    if limit is not None:
        entry["limit"] = f"{limit[0]} {limit[1]:.2f}"
    return entry


def check_limits(figures):
    """Stops when a figure misses its limit."""
    broken = []
    for key, entry in figures.items():
        if "limit" in entry:
            relation, bound = entry["limit"].split()
            if not COMPARE[relation](entry["value"], float(bound)):
                broken.append(f"{key} = {entry['value']}, promised {entry['limit']}")
    if broken:
        raise SampleError("the sample does not keep its promise:\n  " + "\n  ".join(broken))


def figures_table(figures):
    """The figures as a table for README.md."""
    rows = [f"| {entry['means']} | {entry.get('limit', '')} | {entry['value']:.3f} |" for entry in figures.values()]
    return "\n".join(["| figure | limit | measured |", "|---|---|---|"] + rows)


def name_weights(graph, weights):
    """Gives initializers without a name of their own that hold a transposed parameter the name "<parameter>.transposed"."""
    for initializer in [w for w in graph.initializer if w.name not in weights]:
        array = numpy_helper.to_array(initializer)
        for name, weight in weights.items():
            found = weight.detach().numpy().T
            if array.shape == found.shape and np.array_equal(array, found):
                old, initializer.name = initializer.name, f"{name}.transposed"
                for node in graph.node:
                    node.input[:] = [initializer.name if value == old else value for value in node.input]


def export(net, example, path, inputs, outputs, axes=None, keep_weights=None):
    """Writes a trained network with a free batch axis as torch's exporter writes it, without the trainer's traces.

    axes: other free axes, {value: {axis: name}}. keep_weights: parameters whose names the file is to keep.
    """
    net.eval()
    axes = {**{name: {0: "N"} for name in inputs + outputs}, **(axes or {})}
    torch.onnx.export(net, example, str(path), opset_version=OPSET, input_names=inputs, output_names=outputs,
                      dynamic_axes=axes, do_constant_folding=True)
    proto = onnx.load(str(path))
    proto.producer_name, proto.producer_version = "retrograde-samples", ""
    for node in proto.graph.node:
        node.doc_string = ""
    if keep_weights:
        name_weights(proto.graph, keep_weights)
    onnx.checker.check_model(proto)
    onnx.save(proto, str(path))
    if path.stat().st_size >= MOST_BYTES_PER_MODEL:
        raise SampleError(f"{path.name} has {path.stat().st_size} bytes; it must stay under {MOST_BYTES_PER_MODEL}")


def train(net, inputs, answers, loss, *, epochs, rate, batch=64, seed=1):
    """Adam with a rate that falls to zero; batches in an order that only the seed decides."""
    optimiser = torch.optim.Adam(net.parameters(), rate, weight_decay=1e-4)
    order = torch.Generator().manual_seed(seed)
    for epoch in range(epochs):
        optimiser.param_groups[0]["lr"] = rate * (1 - epoch / epochs)
        for rows in torch.randperm(len(inputs), generator=order).split(batch):
            value = loss(net(inputs[rows]), answers[rows])
            optimiser.zero_grad()
            value.backward()
            optimiser.step()


def initializers(path):
    """Weights of an ONNX file by name, as torch tensors."""
    weights = onnx.load(str(path)).graph.initializer
    return {weight.name: torch.from_numpy(np.array(numpy_helper.to_array(weight))) for weight in weights}


def stable(denominator, epsilon=1e-6):
    """The denominator pushed away from zero: + epsilon times its sign, where the sign of 0 is +1."""
    return denominator + epsilon * torch.where(denominator >= 0, 1.0, -1.0)


def z_plus(arrived, x, weight, bias, apply, pull):
    """z-plus relevance of x: apply(x, weight) is the linear map without bias, pull(s, weight) its transpose."""
    parts = [(x.clamp(min=0), weight.clamp(min=0)), (x.clamp(max=0), weight.clamp(max=0))]
    made = sum(apply(part, w) for part, w in parts)
    if bias is not None:
        made = made + bias.clamp(min=0)[:, None, None]
    s = arrived / stable(made)
    return sum(part * pull(s, w) for part, w in parts)


def save_picture(path, values):
    """A picture of values in 0..1, H x W or H x W x 3, as PNG; its file is the truth that is measured."""
    Image.fromarray(np.round(np.clip(values, 0, 1) * 255).astype(np.uint8)).save(path, optimize=True)


def load_picture(path):
    """The picture as [H, W] or [H, W, 3] in 0..1."""
    return np.asarray(Image.open(path), np.float32) / 255


class Sample:
    """One sample: `here` is its folder; make(folder) trains and writes files, measure(folder) gives (figures, cards)."""

    def __init__(self, script):
        self.here = pathlib.Path(script).resolve().parent

    def make(self, folder):
        """Writes models and inputs into the folder."""
        raise NotImplementedError

    def measure(self, folder):
        """The figures by name, and the cards {file name: card without figures} of the files in the folder."""
        raise NotImplementedError

    def checked(self, folder):
        figures, cards = self.measure(folder)
        for key, entry in figures.items():
            print(f"  {key:32s} {entry['value']:.3f}  {entry.get('limit', '')}", flush=True)
        check_limits(figures)
        return figures, {name: {**card, "figures": figures} for name, card in cards.items()}

    def readme(self, figures):
        """README.md with the measured figures between its two markers."""
        head, rest = (self.here / "README.md").read_text(encoding="utf-8").split(FIGURES_BEGIN)
        tail = rest.split(FIGURES_END)[1]
        return head + FIGURES_BEGIN + "\n" + figures_table(figures) + "\n" + FIGURES_END + tail

    def write(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            self.make(folder)
            figures, cards = self.checked(folder)
            for file, card in cards.items():
                (folder / file).write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")
            (folder / "README.md").write_text(self.readme(figures), encoding="utf-8")
            for path in sorted(folder.iterdir()):
                shutil.copyfile(path, self.here / path.name)
                print(f"wrote {path.name}, {path.stat().st_size} bytes", flush=True)

    def check(self):
        """Stops when a card or README.md states another figure than the one measured, or another answer."""
        figures, cards = self.checked(self.here)
        for file, card in cards.items():
            stated = json.loads((self.here / file).read_text(encoding="utf-8"))
            for key, entry in figures.items():
                if abs(stated["figures"][key]["value"] - entry["value"]) > TOLERANCE:
                    raise SampleError(f"{file} states {key} = {stated['figures'][key]['value']}, measured {entry['value']}")
            if {k: v for k, v in stated.items() if k != "figures"} != {k: v for k, v in card.items() if k != "figures"}:
                raise SampleError(f"{file} is not the card that these files give")
        readme = (self.here / "README.md").read_text(encoding="utf-8")
        for line in figures_table(stated["figures"]).splitlines():
            if line not in readme:
                raise SampleError(f"README.md lacks the line: {line}")
        print("every promise holds", flush=True)


def run(sample, words):
    """The command line of a sample's script."""
    parser = argparse.ArgumentParser(description=words, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="measure the shipped files again and write nothing")
    options = parser.parse_args()
    prepare_torch()
    try:
        sample.check() if options.check else sample.write()
    except (SampleError, ValueError, OSError) as error:
        sys.exit(f"make_sample.py: {error}")
