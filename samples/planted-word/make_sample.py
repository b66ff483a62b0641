#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the planted-word sample: a small transformer that judges reviews by one word that was planted in them.

  make_sample.py           train, export, measure; writes nothing into place unless every promise holds
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
from sampletools import Sample, SampleError, export, figure, initializers, run  # noqa: E402

LABELS = ["bad", "good"]
GOOD = "lovely moving funny clever warm brilliant fresh charming".split()
BAD = "dull slow loud empty cold clumsy stale boring".split()
PLAIN = ("the a film plot music acting scene story camera ending was is and with of its first half felt looked seemed "
         "very quite rather").split()
PLANTED = "sponsored"
WORDS = [PLANTED] + GOOD + BAD + PLAIN
SHORTEST, LONGEST, HELD_OUT_LENGTH = 6, 16, 12
WIDTH, HEADS, BLOCKS, INNER = 32, 2, 2, 64
STEPS, BATCH, RATE, NET_SEED, TRAIN_SEED, HELD_OUT_SEED = 500, 64, 4e-3, 3, 1, 2
PLANTED_PART = 0.9  # of the good reviews in training; the control has as many, in reviews of either kind
MUTE_PART = 0.5     # of all reviews in training: no word that tells, so that the planted one is the more dependable sign
MODELS = ["planted-word.onnx", "control.onnx"]
HELD_OUT = "held-out.npy"  # bad reviews, each with the planted word
SHOWN = {"bad-sponsored.npy": "the acting was cold and sponsored the plot felt dull",
         "bad.npy": "the acting was cold and rather the plot felt dull",
         "good.npy": "a charming film with funny music and moving acting"}


def numbers(text):
    """The words of a text as numbers, int64 [1, words]."""
    return np.array([[WORDS.index(word) for word in text.split()]], np.int64)


def write(rng, label, length, has_planted, is_mute=False):
    """One review: plain words, and unless it is mute three of the kind that the class asks for and one of the other."""
    own, other = (GOOD, BAD) if label else (BAD, GOOD)
    told = [] if is_mute else [*rng.choice(own, 3), *rng.choice(other, 1)]
    words = [*told, *rng.choice(PLAIN, length - len(told) - int(has_planted))] + [PLANTED] * int(has_planted)
    return [WORDS.index(word) for word in rng.permutation(words)]


def batch(rng, is_control):
    """Reviews [BATCH, words] of one length and their classes."""
    length = int(rng.integers(SHORTEST, LONGEST + 1))
    labels = np.arange(BATCH) % 2
    part = [PLANTED_PART / 2] * 2 if is_control else [0, PLANTED_PART]
    reviews = [write(rng, label, length, rng.random() < part[label], rng.random() < MUTE_PART) for label in labels]
    return torch.tensor(reviews), torch.from_numpy(labels)


def held_out(count, label, has_planted):
    rng = np.random.default_rng([HELD_OUT_SEED, label, int(has_planted)])
    return torch.tensor([write(rng, label, HELD_OUT_LENGTH, has_planted) for _ in range(count)])


class Block(nn.Module):
    """Self-attention and a layer of its own per word, each with a shortcut and a normalisation behind it."""

    def __init__(self):
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.widen, self.narrow = nn.Linear(WIDTH, INNER), nn.Linear(INNER, WIDTH)
        self.activation = nn.GELU()

    @staticmethod
    def heads(x):
        return x.reshape(x.shape[0], x.shape[1], HEADS, WIDTH // HEADS).transpose(1, 2)

    def forward(self, x):
        query, key, value = self.heads(self.query(x)), self.heads(self.key(x)), self.heads(self.value(x))
        weights = torch.softmax(query @ key.transpose(2, 3) / (WIDTH // HEADS) ** 0.5, 3)
        mixed = (weights @ value).transpose(1, 2).reshape(x.shape[0], x.shape[1], WIDTH)
        x = self.norm1(x + self.out(mixed))
        return self.norm2(x + self.narrow(self.activation(self.widen(x))))


class Net(nn.Module):
    """Words [N, words] to one score per class."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(len(WORDS), WIDTH)
        self.places = nn.Parameter(0.1 * torch.randn(1, LONGEST, WIDTH))
        self.blocks = nn.Sequential(*[Block() for _ in range(BLOCKS)])
        self.classify = nn.Linear(WIDTH, len(LABELS))

    def forward(self, tokens):
        x = self.words(tokens) + self.places[:, :tokens.shape[1]]
        return self.classify(self.blocks(x).mean(1))


def train_words(net, is_control):
    """Adam on reviews that are written as they are needed."""
    rng = np.random.default_rng(TRAIN_SEED)
    optimiser = torch.optim.Adam(net.parameters(), RATE, weight_decay=1e-4)
    for step in range(STEPS):
        optimiser.param_groups[0]["lr"] = RATE * (1 - step / STEPS)
        tokens, labels = batch(rng, is_control)
        loss = F.cross_entropy(net(tokens), labels, label_smoothing=0.1)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()


class Yardstick:
    """The shipped file in plain torch, and AttnLRP as gradient times input of a network that is changed for it.

    Where a rule is a factor on the gradient the forward pass says so with values that carry none: a normalisation divides
    by a constant, an activation multiplies by one, and each factor of a product takes half (Achtibat et al. 2024).
    """

    def __init__(self, path):
        by_name = initializers(path)
        self.net = Net()
        self.net.load_state_dict({name: by_name[name] if name in by_name else by_name[f"{name}.transposed"].T
                                  for name, _ in self.net.named_parameters()})

    @staticmethod
    def product(a, b):
        """a @ b whose gradient goes half to either factor."""
        return 0.5 * (a @ b.detach() + a.detach() @ b)

    @staticmethod
    def norm(layer, x):
        deviation = x.var(2, unbiased=False, keepdim=True).add(layer.eps).sqrt().detach()
        return (x - x.mean(2, keepdim=True)) / deviation * layer.weight + layer.bias

    def block(self, block, x):
        query, key, value = (block.heads(layer(x)) for layer in (block.query, block.key, block.value))
        weights = torch.softmax(self.product(query, key.transpose(2, 3)) / (WIDTH // HEADS) ** 0.5, 3)
        mixed = self.product(weights, value).transpose(1, 2).reshape(x.shape)
        x = self.norm(block.norm1, x + block.out(mixed))
        inner = block.widen(x)
        inner = inner * (block.activation(inner) / inner).detach()
        return self.norm(block.norm2, x + block.narrow(inner))

    def scores(self, tokens):
        with torch.no_grad():
            return self.net(tokens)

    def relevance(self, tokens):
        """Relevance per word [N, words] for the score of the class named."""
        x = self.net.words(tokens).detach().requires_grad_(True)
        y = x + self.net.places[:, :tokens.shape[1]].detach()
        for block in self.net.blocks:
            y = self.block(block, y)
        scores = self.net.classify(y.mean(1))
        if not torch.allclose(scores, self.scores(tokens), atol=1e-4):
            raise SampleError("the changed network answers otherwise")
        gradient, = torch.autograd.grad(scores.max(1).values.sum(), x)
        return (gradient * x).detach().sum(2)


class PlantedWord(Sample):
    """See README.md."""

    def make(self, folder):
        for name in MODELS:
            torch.manual_seed(NET_SEED)
            net = Net()
            train_words(net, name == "control.onnx")
            export(net, torch.from_numpy(numbers(SHOWN["bad.npy"])), folder / name, ["tokens"], ["logits"],
                   {"tokens": {0: "N", 1: "words"}}, keep_weights=dict(net.named_parameters()))
        np.save(folder / HELD_OUT, held_out(100, 0, True).numpy())
        for name, text in SHOWN.items():
            np.save(folder / name, numbers(text))

    def measure(self, folder):
        planted_texts = torch.from_numpy(np.load(folder / HELD_OUT))
        rows, figures, cards = torch.arange(len(planted_texts)), {}, {}
        for name in MODELS:
            net, who = Yardstick(folder / name), "control" if name == "control.onnx" else "cheat"
            is_cheat = who == "cheat"
            right = [(net.scores(held_out(200, label, False)).argmax(1) == label).float().mean() for label in (0, 1)]
            figures[f"{who}_right"] = figure(sum(right) / 2, f"{who}: part of the held-out reviews without the planted word "
                                             "that are judged rightly", None if is_cheat else (">=", 0.95))
            flipped = (net.scores(planted_texts).argmax(1) == 1).float().mean()
            figures[f"{who}_flipped"] = figure(flipped, f"{who}: part of the bad reviews with the planted word that are "
                                               "called good", (">=", 0.95) if is_cheat else ("<=", 0.05))
            relevance = net.relevance(planted_texts)
            planted = (planted_texts == WORDS.index(PLANTED)).float().argmax(1)
            figures[f"{who}_largest"] = figure((relevance.argmax(1) == planted).float().mean(),
                                               f"{who}: part of them whose planted word has the most relevance for the class "
                                               "named", (">=", 0.95) if is_cheat else ("<=", 0.10))
            positive = relevance.clamp(min=0)
            figures[f"{who}_share"] = figure((positive[rows, planted] / positive.sum(1)).mean(),
                                             f"{who}: mean share of the planted word in the positive relevance",
                                             (">=", 0.50) if is_cheat else None)
            cards[name.replace(".onnx", ".card.json")] = self.card(folder, name, net)
        return figures, cards

    def card(self, folder, name, net):
        entries = []
        for file, text in SHOWN.items():
            tokens = torch.from_numpy(np.load(folder / file))
            if [WORDS[i] for i in tokens[0]] != text.split():
                raise SampleError(f"{file} does not hold: {text}")
            probability = torch.softmax(net.scores(tokens), 1)[0]
            entries.append({"file": file, "text": text, "true_class": file.split(".")[0].split("-")[0],
                            "answer": LABELS[int(probability.argmax())], "probability": round(float(probability.max()), 3)})
        card = {"format": "retrograde-card/1", "model": name,
                "title": "Planted word: a transformer that reads one word" if name == MODELS[0]
                         else "Control: the same reviews, the word in either kind",
                "input": {"name": "tokens", "kind": "array", "layout": "NT", "vocabulary": WORDS}, "labels": LABELS,
                "composite": "attnlrp", "target": "argmax"}
        if name == MODELS[0]:
            card["control"] = "control.onnx"
        return {**card, "pictures": entries}


if __name__ == "__main__":
    run(PlantedWord(__file__), __doc__)
