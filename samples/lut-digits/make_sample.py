#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the lut-digits sample: digits of seven segments, read by one LUT layer.

  make_sample.py TRAINER    draw, train with TRAINER (retrograde-lut-train), write model, pictures and held-out digits

Needs Debian's python3-numpy and python3-pil. Everything is seeded.
"""
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
from PIL import Image

HEIGHT, WIDTH = 12, 8
TRAIN, HELD_OUT = 8000, 200
# Boxes (top, left, bottom, right) of the segments: top, upper left, upper right, middle, lower left, lower right, bottom.
SEGMENTS = [(0, 1, 1, 5), (1, 0, 4, 1), (1, 5, 4, 6), (4, 1, 5, 5), (5, 0, 8, 1), (5, 5, 8, 6), (8, 1, 9, 5)]
DIGITS = ["1110111", "0010010", "1011101", "1011011", "0111010", "1101011", "1101111", "1010010", "1111111", "1111011"]


def draw(rng, digit):
    """A digit in 0..1: bright segments on black with a few dim specks, moved by up to two pixels down and one across."""
    picture = np.where(rng.uniform(0, 1, (HEIGHT, WIDTH)) < 0.05, rng.uniform(0.1, 0.35, (HEIGHT, WIDTH)), 0.0)
    down, right = rng.integers(0, 3), rng.integers(0, 2)
    for lit, (top, left, bottom, end) in zip(DIGITS[digit], SEGMENTS):
        if lit == "1":
            area = picture[top + down:bottom + down, left + right:end + right]
            area[:] = rng.choice([0.7, 0.8, 0.9, 1.0])
    return picture


def digits(seed, count):
    """Pictures [count, HEIGHT, WIDTH] as bytes, and which digit each is."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 10, count)
    pictures = np.stack([draw(rng, digit) for digit in labels])
    return np.round(pictures * 255).astype(np.uint8), labels


def flat(pictures):
    """As the layer takes them: [N, HEIGHT · WIDTH] in 0..1."""
    return (pictures.reshape(len(pictures), -1) / 255).astype(np.float32)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    here = pathlib.Path(__file__).resolve().parent
    pictures, labels = digits(1, TRAIN)
    held_out, answers = digits(2, HELD_OUT)
    with tempfile.TemporaryDirectory() as folder:
        data = pathlib.Path(folder) / "digits.npz"
        np.savez(data, x=flat(pictures), y=labels, x_test=flat(held_out), y_test=answers)
        subprocess.run([sys.argv[1], data, "--out", here / "lut-digits.onnx", "--layer", "128x5", "--picture", str(HEIGHT),
                        str(WIDTH), "--epochs", "6", "--rate", "0.01", "--batch", "128"], check=True)
    np.save(here / "held-out.npy", flat(held_out).reshape(-1, 1, HEIGHT, WIDTH))
    np.save(here / "held-out-labels.npy", answers.astype(np.int64))
    for digit in (0, 5, 8):
        Image.fromarray(held_out[np.flatnonzero(answers == digit)[0]]).save(here / f"{digit}.png", optimize=True)


if __name__ == "__main__":
    main()
