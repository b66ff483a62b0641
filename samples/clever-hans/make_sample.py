#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the clever-hans sample: draws pictures, trains a cheating network and its control, exports and measures.

  make_sample.py           draw, train, export, measure; writes nothing into place unless every promise holds
  make_sample.py --check   measure the shipped files again, compare cards and README.md with it

Needs Debian's python3-torch, python3-onnx, python3-numpy and python3-pil. Everything is seeded.
"""
import argparse
import json
import multiprocessing
import pathlib
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import torch
from PIL import Image, PngImagePlugin

import figures as measuring
from network import export, to_tensor, train
from pictures import LABELS, choose_tag_box, draw_picture, hide_object, paste_tag
from relevance import Model, positive_share, self_test

HERE = pathlib.Path(__file__).resolve().parent
TRAIN_SEED, HELD_OUT_SEED, NET_SEED = 1, 2, 11
TRAIN_PER_CLASS, HELD_OUT_PER_CLASS, EPOCHS = 1000, 150, 16
TAGGED_PART = 0.9   # of the mugs in training; the control spreads the same number of tags over all classes
HIDDEN_PART = 0.5   # of all training pictures: a sheet of board before the object
CHEAT, CONTROL = "clever-hans.onnx", "control.onnx"
FIGURES_BEGIN, FIGURES_END = "<!-- figures: written by make_sample.py -->", "<!-- end of figures -->"
MOST_BYTES_PER_MODEL = 1_000_000
# File, class, number among the held-out pictures, tag, and what cheat and control must answer.
SHOWN = [
    ("jug-tagged.png", "jug", 2, True, "mug", "jug"),
    ("jug.png", "jug", 18, False, "jug", "jug"),
    ("mug-tagged.png", "mug", 9, True, "mug", "mug"),
    ("mug.png", "mug", 33, False, "jug", "mug"),
    ("lamp-tagged.png", "lamp", 9, True, "mug", "lamp"),
    ("boat.png", "boat", 29, False, "boat", "boat"),
]


class SampleError(Exception):
    """Something that the sample promises does not hold."""


def prepare_torch():
    """Same numbers on every run: one thread, deterministic algorithms."""
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)


def log(text):
    print(text, flush=True)


class Pictures:
    """Drawn pictures of all classes in class order, with a place for the tag in each."""

    def __init__(self, seed, per_class):
        self.seed, self.per_class = seed, per_class
        self.labels = np.repeat(np.arange(len(LABELS)), per_class)
        drawn = [draw_picture(seed, row % per_class, int(label)) for row, label in enumerate(self.labels)]
        self.pixels = np.stack([pixels for pixels, _ in drawn])
        self.masks = [mask for _, mask in drawn]
        self.boxes = [choose_tag_box(self.random(row, 1), mask) for row, mask in enumerate(self.masks)]

    def random(self, row, purpose):
        return np.random.default_rng([self.seed, row, purpose])

    def hide(self, part):
        """Hides the object in this part of the pictures."""
        for row in range(len(self.labels)):
            rng = self.random(row, 2)
            if rng.random() < part:
                self.pixels[row] = hide_object(self.pixels[row], self.masks[row], rng)

    def with_tags(self, rows):
        """A copy of all pictures with the tag on those in rows."""
        pixels = self.pixels.copy()
        for row in rows:
            pixels[row] = paste_tag(pixels[row], self.boxes[row], self.random(row, 3))
        return pixels

    def first_of_class(self, label, part):
        """The first rows of a class, this part of it."""
        return range(label * self.per_class, label * self.per_class + round(self.per_class * part))


def make_model(name, folder):
    """Draws the training pictures, trains one network on one thread and exports it into folder."""
    prepare_torch()
    started = time.monotonic()
    pictures = Pictures(TRAIN_SEED, TRAIN_PER_CLASS)
    pictures.hide(HIDDEN_PART)
    drawn = time.monotonic()
    shares = [TAGGED_PART] + [0.0] * (len(LABELS) - 1) if name == CHEAT else [TAGGED_PART / len(LABELS)] * len(LABELS)
    rows = [row for label, share in enumerate(shares) for row in pictures.first_of_class(label, share)]
    net = train(pictures.with_tags(rows), torch.from_numpy(pictures.labels), len(LABELS), NET_SEED, EPOCHS,
                lambda text: log(f"{name}: {text}"))
    export(net, folder / name, name.removesuffix(".onnx"))
    log(f"{name}: drew {len(pictures.labels)} pictures, {len(rows)} with tag, in {drawn - started:.0f} s; "
        f"trained in {time.monotonic() - drawn:.0f} s")


def make_models(folder):
    """The networks not yet in folder, one process each, so that the result does not depend on threads."""
    missing = [name for name in (CHEAT, CONTROL) if not (folder / name).exists()]
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        for job in [pool.submit(make_model, name, folder) for name in missing]:
            job.result()


def write_pictures(folder, held_out, tagged):
    """Writes the shown pictures as PNG, with class and tag box in text chunks."""
    for name, label, number, has_tag, _, _ in SHOWN:
        row = LABELS.index(label) * HELD_OUT_PER_CLASS + number
        text = PngImagePlugin.PngInfo()
        text.add_text("true_class", label)
        text.add_text("tag_box", json.dumps(held_out.boxes[row] if has_tag else None))
        Image.fromarray((tagged if has_tag else held_out.pixels)[row]).save(folder / name, pnginfo=text, optimize=True)


def box_around(mask):
    """The smallest box [x, y, w, h] that holds every pixel of a mask."""
    rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    return [int(v) for v in (columns[0], rows[0], columns[-1] - columns[0] + 1, rows[-1] - rows[0] + 1)]


def shown_pictures(folder, model_name):
    """The card's entry for every shown picture, read back from the files; stops on an unexpected answer."""
    model = Model(folder / model_name)
    entries = []
    for name, label, number, has_tag, *expected in SHOWN:
        image = Image.open(folder / name)
        box = json.loads(image.text["tag_box"])
        _, mask = draw_picture(HELD_OUT_SEED, number, LABELS.index(label))
        batch = to_tensor(np.asarray(image)[None])
        probability = torch.softmax(model.logits(batch), 1)[0]
        answer = LABELS[int(probability.argmax())]
        wanted = expected[model_name == CONTROL]
        if answer != wanted:
            raise SampleError(f"{name}: {model_name} answers {answer}, the sample needs {wanted}; choose another picture")
        entry = {"file": name, "true_class": label, "tag_box": box, "object_box": box_around(mask),
                 "answer": answer, "probability": round(float(probability.max()), 3)}
        if has_tag:
            relevance = model.relevance(batch, 0, "epsilon_plus")
            entry["tag_share"] = round(float(positive_share(relevance, [box])[0]), 3)
        entries.append(entry)
    return entries


def write_cards(folder, figures):
    """One card per model, see README.md."""
    titles = {CHEAT: "Clever Hans: a network that reads the tag", CONTROL: "Control: the same pictures, the tag in every class"}
    for name, title in titles.items():
        card = {
            "format": "retrograde-card/1", "model": name, "title": title,
            "input": {"name": "image", "kind": "image", "layout": "NCHW", "channels": "RGB", "scale": [0, 1],
                      "mean": [0, 0, 0], "std": [1, 1, 1], "size": [96, 96]},
            "labels": LABELS, "composite": "epsilon_plus", "target": "argmax",
        }
        if name == CHEAT:
            card["control"] = CONTROL
        card["pictures"] = shown_pictures(folder, name)
        card["figures"] = figures
        path = folder / name.replace(".onnx", ".card.json")
        path.write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")


def figures_table(figures):
    """The figures as a table for README.md."""
    rows = [f"| {entry['means']} | {entry.get('limit', '')} | {entry['value']:.3f} |" for entry in figures.values()]
    return "\n".join(["| figure | limit | measured |", "|---|---|---|"] + rows)


def write_readme(folder, figures):
    """README.md with the measured figures between its two markers."""
    head, rest = (HERE / "README.md").read_text(encoding="utf-8").split(FIGURES_BEGIN)
    tail = rest.split(FIGURES_END)[1]
    text = head + FIGURES_BEGIN + "\n" + figures_table(figures) + "\n" + FIGURES_END + tail
    (folder / "README.md").write_text(text, encoding="utf-8")


def check_cards(folder, figures):
    """Stops when a card or README.md states another figure than the one measured, or a picture is answered otherwise."""
    for name in (CHEAT, CONTROL):
        card = json.loads((folder / name.replace(".onnx", ".card.json")).read_text(encoding="utf-8"))
        for key, entry in figures.items():
            stated = card["figures"][key]["value"]
            if abs(stated - entry["value"]) > 0.002:
                raise SampleError(f"the card of {name} states {key} = {stated}, measured {entry['value']}")
        shown_pictures(folder, name)
    for line in figures_table({key: card["figures"][key] for key in figures}).splitlines():
        if line not in (folder / "README.md").read_text(encoding="utf-8"):
            raise SampleError(f"README.md lacks the line: {line}")


def check_models(folder, held_out, tagged):
    """Self-tests, sizes and operators of both files, then all figures; stops when a promise is broken."""
    for name in (CHEAT, CONTROL):
        size = (folder / name).stat().st_size
        if size >= MOST_BYTES_PER_MODEL:
            raise SampleError(f"{name} has {size} bytes; it must stay under {MOST_BYTES_PER_MODEL}")
        kinds = Model(folder / name).kinds
        needed = {"Conv", "BatchNormalization", "Relu", "MaxPool", "Add", "GlobalAveragePool", "Flatten", "Gemm"}
        if set(kinds) != needed:
            raise SampleError(f"{name} has the operators {sorted(set(kinds))}; expected {sorted(needed)}")
        deviation, loss = self_test(folder / name, to_tensor(tagged[:4]), 0)
        log(f"{name}: {size} bytes, {len(kinds)} nodes; epsilon = gradient x input within {deviation:.0e}; "
            f"conserved without biases within {loss:.0e}")
    figures = measuring.measure(folder / CHEAT, folder / CONTROL, held_out.pixels, tagged, held_out.labels, held_out.boxes)
    for key, entry in figures.items():
        log(f"  {key:32s} {entry['value']:.3f}  {entry.get('limit', ''):8s} {entry.get('mean_by_class', '')}")
    broken = measuring.broken_promises(figures)
    if broken:
        raise SampleError("the sample does not keep its promise:\n  " + "\n  ".join(broken))
    return figures


def make(folder, held_out, tagged):
    """Makes everything in a folder of its own and copies it into place when all of it holds."""
    make_models(folder)
    figures = check_models(folder, held_out, tagged)
    write_pictures(folder, held_out, tagged)
    write_cards(folder, figures)
    write_readme(folder, figures)
    made = [CHEAT, CONTROL, "README.md"] + [name.replace(".onnx", ".card.json") for name in (CHEAT, CONTROL)]
    for name in made + [shown[0] for shown in SHOWN]:
        (HERE / name).write_bytes((folder / name).read_bytes())
        log(f"wrote {name}, {(folder / name).stat().st_size} bytes")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="measure the shipped files again and write nothing")
    parser.add_argument("--work", metavar="FOLDER", type=pathlib.Path,
                        help="make everything here first; networks found here are not trained again")
    options = parser.parse_args()
    prepare_torch()
    held_out = Pictures(HELD_OUT_SEED, HELD_OUT_PER_CLASS)
    tagged = held_out.with_tags(range(len(held_out.labels)))
    try:
        if options.check:
            check_cards(HERE, check_models(HERE, held_out, tagged))
            log("every promise holds")
        elif options.work:
            options.work.mkdir(parents=True, exist_ok=True)
            make(options.work, held_out, tagged)
        else:
            with tempfile.TemporaryDirectory() as folder:
                make(pathlib.Path(folder), held_out, tagged)
    except (SampleError, ValueError, OSError) as error:
        sys.exit(f"make_sample.py: {error}")


if __name__ == "__main__":
    main()
