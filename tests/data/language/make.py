#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes capitals.onnx and tokenizer.json: a language model of two layers that has learnt eight capitals by heart.

Needs torch and onnx. Usage: make.py FOLDER
"""
import json
import pathlib
import sys

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper

PAIRS = [("France", "Paris"), ("England", "London"), ("Italy", "Rome"), ("Spain", "Madrid"), ("Japan", "Tokyo"),
         ("Egypt", "Cairo"), ("Peru", "Lima"), ("Kenya", "Nairobi")]
FRAMES = ["<s> The capital of {0} is {1} .", "<s> {1} is the capital of {0} .", "<s> A letter from {0} went to {1} .",
          "<s> She left {1} and came home to {0} .", "<s> In {0} all trains go to {1} ."]
WIDTH, HEADS, LAYERS, PLACES = 48, 4, 3, 24


def texts():
    return [frame.format(*pair) for frame in FRAMES for pair in PAIRS]


def vocabulary():
    words = ["<s>", "<unk>"]
    for text in texts():
        words += [word for word in text.split() if word not in words]
    return words


class Model(torch.nn.Module):
    def __init__(self, words):
        super().__init__()
        self.table = torch.nn.Embedding(words, WIDTH)
        self.places = torch.nn.Parameter(0.02 * torch.randn(PLACES, WIDTH))
        self.norms = torch.nn.ParameterList([torch.nn.Parameter(torch.ones(WIDTH)) for _ in range(2 * LAYERS + 1)])
        def square(rows, columns):
            return torch.nn.Parameter(torch.randn(rows, columns) / rows**0.5)
        self.parts = torch.nn.ParameterList()
        for _ in range(LAYERS):
            for _ in range(4):
                self.parts.append(square(WIDTH, WIDTH))
            self.parts.append(square(WIDTH, 2 * WIDTH))
            self.parts.append(square(2 * WIDTH, WIDTH))
        self.head = square(WIDTH, words)

    def norm(self, x, i):
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5) * self.norms[i]

    def forward(self, ids):
        count = ids.shape[1]
        x = self.table(ids) + self.places[:count]
        for layer in range(LAYERS):
            q, k, v, o, up, down = self.parts[6 * layer:6 * layer + 6]
            n = self.norm(x, 2 * layer)
            heads = [t.view(*t.shape[:2], HEADS, -1).transpose(1, 2) for t in (n @ q, n @ k, n @ v)]
            mixed = torch.nn.functional.scaled_dot_product_attention(*heads, is_causal=True)
            x = x + mixed.transpose(1, 2).reshape(*x.shape) @ o
            x = x + torch.relu(self.norm(x, 2 * layer + 1) @ up) @ down
        return self.norm(x, 2 * LAYERS) @ self.head


def train(words):
    torch.manual_seed(3)
    index = {word: i for i, word in enumerate(words)}
    rows = [[index[word] for word in text.split()] for text in texts()]
    longest = max(map(len, rows))
    ids = torch.tensor([row + [-1] * (longest - len(row)) for row in rows])
    model = Model(len(words))
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.05)
    for step in range(700):
        logits = model(ids[:, :-1].clamp(min=0))
        loss = torch.nn.functional.cross_entropy(logits.reshape(-1, len(words)), ids[:, 1:].reshape(-1), ignore_index=-1)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    print("loss", loss.item())
    return model


def build(model, words):
    constants, nodes = [], []

    def constant(name, data, kind=np.float32):
        constants.append(numpy_helper.from_array(np.ascontiguousarray(data, dtype=kind), name))
        return name

    def node(op, name, inputs, **attributes):
        nodes.append(helper.make_node(op, inputs, [name], name=name + "_node", **attributes))
        return name

    def weights(tensor):
        return tensor.detach().numpy()

    ends = constant("one", [1], np.int64)
    count = node("Shape", "shape", ["input_ids"], start=1, end=2)
    places = node("Slice", "places", [constant("all_places", weights(model.places)), constant("zero", [0], np.int64),
                                      count, constant("axis", [0], np.int64), ends])
    x = node("Gather", "words", [constant("table", weights(model.table.weight)), "input_ids"])
    x = node("Add", "embedded", [x, places])
    for layer in range(LAYERS):
        at = f"layer{layer}/"
        q, k, v, o, up, down = (weights(part) for part in model.parts[6 * layer:6 * layer + 6])
        n = node("RMSNormalization", at + "norm", [x, constant(at + "scale", weights(model.norms[2 * layer]))])
        three = [node("MatMul", at + name, [n, constant(at + "w" + name, part)])
                 for name, part in (("q", q), ("k", k), ("v", v))]
        mixed = node("Attention", at + "attention", three, q_num_heads=HEADS, kv_num_heads=HEADS, is_causal=1)
        x = node("Add", at + "between", [x, node("MatMul", at + "joined", [mixed, constant(at + "wo", o)])])
        n = node("RMSNormalization", at + "norm2", [x, constant(at + "scale2", weights(model.norms[2 * layer + 1]))])
        hidden = node("Relu", at + "positive", [node("MatMul", at + "hidden", [n, constant(at + "up", up)])])
        x = node("Add", at + "out", [x, node("MatMul", at + "back", [hidden, constant(at + "down", down)])])
    n = node("RMSNormalization", "norm", [x, constant("scale", weights(model.norms[2 * LAYERS]))])
    node("MatMul", "logits", [n, constant("head", weights(model.head))])
    graph = helper.make_graph(nodes, "capitals", [helper.make_tensor_value_info("input_ids", TensorProto.INT64,
                                                                                ["batch", "tokens"])],
                              [helper.make_tensor_value_info("logits", TensorProto.FLOAT,
                                                             ["batch", "tokens", len(words)])], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=11)


def main():
    folder = pathlib.Path(sys.argv[1])
    words = vocabulary()
    model = train(words)
    onnx.save(build(model, words), folder / "capitals.onnx")
    tokenizer = {"model": {"type": "WordLevel", "unk_token": "<unk>", "vocab": {w: i for i, w in enumerate(words)}},
                 "pre_tokenizer": {"type": "WhitespaceSplit"},
                 "added_tokens": [{"id": 0, "content": "<s>", "special": True, "single_word": False, "lstrip": False,
                                   "rstrip": False, "normalized": False}],
                 "post_processor": {"type": "TemplateProcessing",
                                    "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}},
                                               {"Sequence": {"id": "A", "type_id": 0}}],
                                    "pair": [], "special_tokens": {"<s>": {"id": "<s>", "ids": [0], "tokens": ["<s>"]}}}}
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer, indent=1) + "\n")


if __name__ == "__main__":
    main()
