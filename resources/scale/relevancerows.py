# SPDX-License-Identifier: Apache-2.0
"""Rows of a data set from a relevance graph: what the scripts for Ray and Spark share. One session for each worker.

Inputs: .npy files of one sample each, with or without a batch axis of one, and pictures. A picture is brought to the
height and width of the graph's input; how pixels become numbers is said by a model card (docs/formats/card.md), else
they are RGB from 0 to 1.

Rows: target (flat index of the explained score; -1: all of them), score, relevance (flat list of float32), shape,
started and reached (sums of the relevance of the sample at the scores and at the input).
"""
import io
import json
import pathlib

import numpy as np

PICTURES = (".png", ".jpg", ".jpeg")
SUFFIXES = (".npy", *PICTURES)


def card_input(file):
    """What a card says of the input; nothing without a card."""
    if not file:
        return {}
    card = json.loads(pathlib.Path(file).read_text(encoding="utf-8"))
    if card.get("format") != "retrograde-card/1":
        raise ValueError(f"{file} is no card of the form retrograde-card/1")
    return card.get("input", {})


def area_weights(old, new):
    """[new, old]: the share of each old pixel in each new one, whose sums are 1."""
    step, pixel = old / new, np.arange(old)
    low = np.arange(new)[:, None] * step
    return np.clip(np.minimum(low + step, pixel + 1) - np.maximum(low, pixel), 0, None) / step


def picture_array(content, shape, card):
    """The input of a model from the bytes of a picture: [C, H, W], or [H, W, C] with layout NHWC."""
    from PIL import Image

    layout = card.get("layout", "NCHW")
    if layout not in ("NCHW", "NHWC") or len(shape) != 4:
        raise ValueError("a picture needs an input [N, C, H, W], or [N, H, W, C] with a card that says so")
    extent = {axis: one for axis, one in zip(layout, shape) if isinstance(one, int)}
    with Image.open(io.BytesIO(content)) as file:
        pixels = np.asarray(file.convert("RGB"), np.float64)
    height, width = extent.get("H", pixels.shape[0]), extent.get("W", pixels.shape[1])
    if (height, width) != pixels.shape[:2]:
        pixels = np.einsum("yi,ijc,xj->yxc", area_weights(pixels.shape[0], height), pixels,
                           area_weights(pixels.shape[1], width), optimize=True).round()
    if extent.get("C", 3) == 1:
        pixels = pixels @ np.array([[0.299], [0.587], [0.114]])
    elif card.get("channels") == "BGR":
        pixels = pixels[:, :, ::-1]
    low, high = card.get("scale", (0, 1))
    value = (low + pixels / 255 * (high - low) - np.asarray(card.get("mean", 0))) / np.asarray(card.get("std", 1))
    return (value if layout == "NHWC" else value.transpose(2, 0, 1)).astype(np.float32)


def check_ids(names):
    """The id of a row is the name of its file without the suffix: refuses two inputs of one id."""
    seen = {}
    for name in names:
        other = seen.setdefault(pathlib.PurePath(name).stem, name)
        if other != name:
            raise ValueError(f"{other} and {name} would have the same id; rename one of them")


class RelevanceRows:
    """A relevance graph in onnxruntime; `card` is the file of a model card, or None."""

    def __init__(self, graph, card=None):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1  # as many workers as cores; more threads would take turns
        self.session = onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])
        names = [value.name for value in self.session.get_inputs()]
        says = self.session.get_modelmeta().custom_metadata_map
        self.start = says.get("retrograde.start", "logit")
        if self.start == "input" or len(names) - ("target" in names) != 1:
            raise ValueError("this script explains graphs of one input that choose the start themselves")
        self.input = next(name for name in names if name != "target")
        self.shape = next(value for value in self.session.get_inputs() if value.name == self.input).shape
        self.card = card_input(card)
        self.has_target = "target" in names
        self.scores, _, self.chosen = says["retrograde.target"].partition(":")
        if not self.has_target and "," in self.chosen:
            raise ValueError("several targets start as one sum, and a row has one target; write a graph for each")
        if self.scores not in [value.name for value in self.session.get_outputs()]:
            raise ValueError(f"the explained value {self.scores} is no output of the graph")
        self.relevance = "relevance/" + self.input

    def targets_of(self, flat):
        if self.start == "all":
            return np.full(len(flat), -1)
        if self.has_target or self.chosen in ("", "argmax"):
            return flat.argmax(axis=1)
        return np.full(len(flat), int(self.chosen))

    def started_of(self, flat, scores):
        if self.start == "all":
            return flat.sum(axis=1)
        if self.start == "one":
            return np.ones(len(flat))
        return np.full(len(flat), 1 / flat.shape[1]) if self.start == "contrastive" else scores

    def sample_of(self, name, content):
        """The array of one input from its file's name and bytes, without a batch axis."""
        if pathlib.PurePath(name).suffix.lower() in PICTURES:
            return picture_array(content, self.shape, self.card)
        array = np.load(io.BytesIO(content))
        return array[0] if array.ndim == len(self.shape) else array

    def rows_of(self, inputs):
        """Of arrays of one sample each, without a batch axis."""
        if len({one.shape for one in inputs}) > 1:
            raise ValueError("inputs of one batch have different shapes; give them one size, or --batch 1")
        batch = np.stack(inputs).astype(np.float32)
        feed = {self.input: batch}
        if self.has_target:
            feed["target"] = np.full(len(batch), -1, np.int64)
        scores, relevance = self.session.run([self.scores, self.relevance], feed)
        flat = scores.reshape(len(batch), -1).astype(np.float64)
        targets = self.targets_of(flat)
        chosen = np.where(targets < 0, flat.sum(axis=1), flat[np.arange(len(flat)), targets])
        started = self.started_of(flat, chosen)
        for i in range(len(batch)):
            yield {"target": int(targets[i]), "score": float(chosen[i]), "relevance": relevance[i].ravel(),
                   "shape": list(relevance.shape[1:]), "started": float(started[i]),
                   "reached": float(relevance[i].sum(dtype=np.float64))}
