#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the marked-step sample: an LSTM whose answer is decided by one step, and by which is known.

  make_sample.py           train, export, measure; writes nothing into place unless every promise holds
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
from sampletools import Sample, SampleError, export, figure, initializers, run, train  # noqa: E402

STEPS, HIDDEN, LABELS = 24, 16, ["below", "above"]
VALUE, MARK = 0, 1  # the two channels of a step
TRAIN_SEED, HELD_OUT_SEED, NET_SEED = 1, 2, 3
TRAIN_SERIES, HELD_OUT_SERIES, EPOCHS = 4000, 200, 30
MODEL, HELD_OUT = "marked-step.onnx", "held-out.npy"
SHOWN = {"early.npy": 3, "middle.npy": 11, "late.npy": 20}  # file, and the step that is marked (from 0)


def draw(seed, count):
    """Series [count, STEPS, 2]: a value of either sign at each step, one step marked."""
    rng = np.random.default_rng(seed)
    values = rng.uniform(0.2, 1, (count, STEPS)) * rng.choice([-1, 1], (count, STEPS))
    marked = rng.integers(0, STEPS, count)
    return torch.from_numpy(np.stack([values, np.eye(STEPS)[marked]], 2).astype(np.float32))


class Net(nn.Module):
    """LSTM over the steps, one score per class from its last state."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(2, HIDDEN, batch_first=True)
        self.classify = nn.Linear(HIDDEN, len(LABELS))

    def forward(self, series):
        states, _ = self.lstm(series)
        return self.classify(states[:, -1])


class Yardstick:
    """The shipped file in plain torch: the LSTM of the ONNX standard step by step, on the file's weights."""

    def __init__(self, path):
        weights = initializers(path)
        shaped = {tuple(weight.shape): weight for weight in weights.values()}
        self.inputs = shaped[1, 4 * HIDDEN, 2][0]
        self.states = shaped[1, 4 * HIDDEN, HIDDEN][0]
        self.bias = sum(shaped[1, 8 * HIDDEN][0].split(4 * HIDDEN))
        self.dense, self.dense_bias = shaped[len(LABELS), HIDDEN], shaped[len(LABELS),]

    def forward(self, series):
        h = c = torch.zeros(len(series), HIDDEN)
        for x in series.unbind(1):
            i, o, f, g = (x @ self.inputs.T + h @ self.states.T + self.bias).split(HIDDEN, 1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
        return F.linear(h, self.dense, self.dense_bias)

    def relevance(self, series):
        """Gradient times input of the score of the class named, summed over the channels: [N, STEPS]."""
        series = series.clone().requires_grad_(True)
        scores = self.forward(series)
        gradient, = torch.autograd.grad(scores.max(1).values.sum(), series)
        return (gradient * series).detach().sum(2)


class MarkedStep(Sample):
    """See README.md."""

    def make(self, folder):
        series = draw(TRAIN_SEED, TRAIN_SERIES)
        torch.manual_seed(NET_SEED)
        net = Net()
        # The score of a class is to be the value at the marked step: a score that grows without end goes blind to its input.
        values = series[torch.arange(len(series)), series[:, :, MARK].argmax(1), VALUE]
        train(net, series, torch.stack([-values, values], 1), F.mse_loss, epochs=EPOCHS, rate=1e-2)
        export(net, series[:1], folder / MODEL, ["series"], ["logits"])
        held_out = draw(HELD_OUT_SEED, HELD_OUT_SERIES)
        np.save(folder / HELD_OUT, held_out.numpy())
        for name, step in SHOWN.items():
            row = int(held_out[:, step, MARK].argmax())
            np.save(folder / name, held_out[row:row + 1].numpy())

    def measure(self, folder):
        net = Yardstick(folder / MODEL)
        series = torch.from_numpy(np.load(folder / HELD_OUT))
        marked = series[:, :, MARK].argmax(1)
        rows = torch.arange(len(series))
        labels = (series[rows, marked, VALUE] > 0).long()
        relevance = net.relevance(series).abs()
        figures = {
            "right": figure((net.forward(series).argmax(1) == labels).float().mean(),
                            "part of the held-out series named rightly", (">=", 0.98)),
            "marked_is_largest": figure((relevance.argmax(1) == marked).float().mean(),
                                        "part of them whose marked step has the largest relevance, by amount", (">=", 0.95)),
            "share_of_marked": figure((relevance[rows, marked] / relevance.sum(1)).mean(),
                                      "mean share of the marked step in the relevance, by amount", (">=", 0.50)),
        }
        return figures, {"marked-step.card.json": self.card(folder, net)}

    def card(self, folder, net):
        entries = []
        for name, step in SHOWN.items():
            series = torch.from_numpy(np.load(folder / name))
            answer = LABELS[int(net.forward(series).argmax())]
            if answer != LABELS[int(series[0, step, VALUE] > 0)] or int(net.relevance(series).abs().argmax()) != step:
                raise SampleError(f"{name}: {answer}, relevance {net.relevance(series)[0].tolist()}")
            entries.append({"file": name, "true_class": answer, "answer": answer, "deciding_step": step})
        return {
            "format": "retrograde-card/1", "model": MODEL, "title": "Marked step: an LSTM that listens to one step",
            "input": {"name": "series", "kind": "array", "layout": "NTC"}, "labels": LABELS, "composite": "gradient_x_input",
            "target": "argmax", "pictures": entries}


if __name__ == "__main__":
    run(MarkedStep(__file__), __doc__)
