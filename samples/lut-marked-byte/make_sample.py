#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the lut-marked-byte sample: strings of bytes, one of which is the answer, read by one LUT layer with positions.

  make_sample.py TRAINER    draw, train with TRAINER (retrograde-lut-train), write model, strings and card

Needs Debian's python3-numpy. Everything is seeded.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

LENGTH, TRAIN, HELD_OUT = 24, 6000, 300
ANSWERS = "ABC"
NOISE = "abcdefghijklmnopqrstuvwxyz"
QUESTION = "?"
VOCABULARY = 128


def strings(seed, count):
    """Bytes [count, LENGTH] that end with a question mark, where the answer stands, and which it is."""
    rng = np.random.default_rng(seed)
    bytes_ = np.array([ord(c) for c in NOISE])[rng.integers(0, len(NOISE), (count, LENGTH))]
    bytes_[:, -1] = ord(QUESTION)
    where = rng.integers(0, LENGTH - 1, count)
    which = rng.integers(0, len(ANSWERS), count)
    bytes_[np.arange(count), where] = [ord(ANSWERS[i]) for i in which]
    return bytes_, where, which


def words():
    """The vocabulary of the card: printable bytes as themselves, others by their number."""
    return [chr(b) if 33 <= b < 127 else f"\\x{b:02x}" for b in range(VOCABULARY)]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    here = pathlib.Path(__file__).resolve().parent
    x, _, y = strings(1, TRAIN)
    x[0, 0] = VOCABULARY - 1  # the trainer learns from the data how many bytes there are
    held_out, where, which = strings(2, HELD_OUT)
    with tempfile.TemporaryDirectory() as folder:
        data = pathlib.Path(folder) / "bytes.npz"
        np.savez(data, x=x, y=y, x_test=held_out, y_test=which)
        subprocess.run([sys.argv[1], data, "--out", here / "lut-marked-byte.onnx", "--layer", "seq:16x4x1", "--embedding",
                        "16", "--epochs", "8", "--rate", "0.05"], check=True)
    np.save(here / "held-out.npy", held_out.astype(np.int64))
    np.save(here / "held-out-labels.npy", which.astype(np.int64))
    np.save(here / "held-out-places.npy", where.astype(np.int64))
    entries = []
    for i, answer in enumerate(ANSWERS):
        row = int(np.flatnonzero(which == i)[0])
        name = f"{answer.lower()}.npy"
        np.save(here / name, held_out[row:row + 1].astype(np.int64))
        entries.append({"file": name, "text": "".join(map(chr, held_out[row])), "true_class": answer,
                        "deciding_position": int(where[row])})
    card = {"format": "retrograde-card/1", "model": "lut-marked-byte.onnx",
            "title": "Marked byte: a LUT layer that looks for one byte",
            "input": {"name": "tokens", "kind": "array", "layout": "NT", "vocabulary": words()}, "labels": list(ANSWERS),
            "composite": "epsilon", "target": "argmax", "pictures": entries}
    (here / "lut-marked-byte.card.json").write_text(json.dumps(card, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
