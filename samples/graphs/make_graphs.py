#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the benchmark graphs of this folder as graph JSON without weights: what planners of activation memory are
compared on. Sizes and costs follow from the layers' shapes; README.md states the convention.

    python3 make_graphs.py [FOLDER] [--large]     --large also writes the graph of 10,000 joint operators
"""
import json
import math
import pathlib
import random
import sys


class Graph:
    """Collects nodes; a value is (name, shape)."""

    def __init__(self, name, scope=""):
        self.name = name
        self.values = []
        self.nodes = []
        self.inputs = []
        self.counts = {}

    def input(self, name, shape, dtype="float32"):
        self.inputs.append(name)
        self.values.append({"name": name, "dtype": dtype, "shape": list(shape)})
        return name, tuple(shape)

    def node(self, op, operands, shape, flops, saves_inputs=(), saves_output=False, label=None, bytes_=None):
        count = self.counts[op] = self.counts.get(op, 0) + 1
        name = label or f"{op.lower()}_{count}"
        value = {"name": f"{name}_out"}
        if bytes_ is None:
            value["shape"] = list(shape)
        else:
            value["bytes"] = bytes_
        self.values.append(value)
        node = {"name": name, "op": op, "domain": "planning", "inputs": [operand[0] for operand in operands], "outputs": [f"{name}_out"],
                "flops": flops, "saves_inputs": list(saves_inputs)}
        if saves_output:
            node["saves_outputs"] = [0]
        self.nodes.append(node)
        return f"{name}_out", tuple(shape)

    # --- layers

    def conv(self, x, out, kernel, stride=1, groups=1, padding=None, transposed=False):
        n, c, h, w = x[1]
        kh, kw = kernel if isinstance(kernel, tuple) else (kernel, kernel)
        if transposed:
            ho, wo = h * stride, w * stride
            macs = n * c * h * w * out * kh * kw // groups
        else:
            ph, pw = (kh // 2, kw // 2) if padding is None else (padding, padding)
            ho, wo = (h + 2 * ph - kh) // stride + 1, (w + 2 * pw - kw) // stride + 1
            macs = n * out * ho * wo * (c // groups) * kh * kw
        return self.node("ConvTranspose" if transposed else "Conv", [x], (n, out, ho, wo), 2 * macs, [0])

    def norm(self, x, op="BatchNormalization"):
        return self.node(op, [x], x[1], 5 * math.prod(x[1]), [0])

    def relu(self, x):
        return self.node("Relu", [x], x[1], math.prod(x[1]), saves_output=True)

    def gelu(self, x):
        return self.node("Gelu", [x], x[1], 8 * math.prod(x[1]), [0])

    def gate(self, x, op):
        return self.node(op, [x], x[1], 4 * math.prod(x[1]), saves_output=True)

    def add(self, a, b):
        return self.node("Add", [a, b], a[1], math.prod(a[1]))

    def mul(self, a, b):
        return self.node("Mul", [a, b], a[1], math.prod(a[1]), [0, 1])

    def concat(self, parts, axis=1):
        shape = list(parts[0][1])
        shape[axis] = sum(part[1][axis] for part in parts)
        return self.node("Concat", parts, shape, 0)

    def pool(self, x, kernel, stride, op="MaxPool", padding=0):
        n, c, h, w = x[1]
        ho, wo = (h + 2 * padding - kernel) // stride + 1, (w + 2 * padding - kernel) // stride + 1
        shape = (n, c, ho, wo)
        return self.node(op, [x], shape, kernel * kernel * math.prod(shape), [0] if op == "MaxPool" else [])

    def mean(self, x):
        return self.node("GlobalAveragePool", [x], x[1][:2], math.prod(x[1]))

    def linear(self, x, out):
        return self.node("Linear", [x], x[1][:-1] + (out,), 2 * math.prod(x[1]) * out, [0])

    def cbr(self, x, out, kernel, stride=1, groups=1, padding=None):
        return self.relu(self.norm(self.conv(x, out, kernel, stride, groups, padding)))

    def text(self, output):
        head = {"format": "retrograde-graph/1", "name": self.name, "inputs": self.inputs, "outputs": [output[0]]}
        lines = [json.dumps(head)[:-1] + ',', ' "values": [']
        lines.append(",\n".join("  " + json.dumps(value) for value in self.values))
        lines += [" ],", ' "nodes": [']
        lines.append(",\n".join("  " + json.dumps(node) for node in self.nodes))
        return "\n".join(lines + [" ]", "}", ""])


def chain(length=48):
    graph = Graph(f"chain-{length}")
    x = ("x", (1,))
    graph.inputs.append("x")
    graph.values.append({"name": "x", "bytes": 1})
    for _ in range(length):
        x = graph.node("Layer", [x], (1,), 1, [0], bytes_=1)
    return graph.text(x)


def vgg16(batch=16):
    graph = Graph("vgg16")
    x = graph.input("image", (batch, 3, 224, 224))
    for width, count in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
        for _ in range(count):
            x = graph.relu(graph.conv(x, width, 3))
        x = graph.pool(x, 2, 2)
    x = graph.node("Flatten", [x], (batch, 25088), 0)
    for width in (4096, 4096):
        x = graph.relu(graph.linear(x, width))
    return graph.text(graph.linear(x, 1000))


def resnet50(batch=16):
    graph = Graph("resnet50")
    x = graph.cbr(graph.input("image", (batch, 3, 224, 224)), 64, 7, 2)
    x = graph.pool(x, 3, 2, padding=1)
    for width, count, first in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for block in range(count):
            stride = first if block == 0 else 1
            y = graph.cbr(x, width, 1)
            y = graph.cbr(y, width, 3, stride)
            y = graph.norm(graph.conv(y, 4 * width, 1))
            skip = graph.norm(graph.conv(x, 4 * width, 1, stride)) if block == 0 else x
            x = graph.relu(graph.add(y, skip))
    return graph.text(graph.linear(graph.mean(x), 1000))


def mobilenet(batch=16):
    graph = Graph("mobilenet")
    x = graph.cbr(graph.input("image", (batch, 3, 224, 224)), 32, 3, 2)
    for width, stride in ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), (512, 1), (512, 1), (512, 1),
                          (512, 1), (512, 1), (1024, 2), (1024, 1)):
        x = graph.cbr(x, x[1][1], 3, stride, groups=x[1][1])
        x = graph.cbr(x, width, 1)
    return graph.text(graph.linear(graph.mean(x), 1000))


def densenet121(batch=8):
    graph = Graph("densenet121")
    x = graph.pool(graph.cbr(graph.input("image", (batch, 3, 224, 224)), 64, 7, 2), 3, 2, padding=1)
    for count, is_last in ((6, False), (12, False), (24, False), (16, True)):
        features = [x]
        for _ in range(count):
            y = graph.concat(features) if len(features) > 1 else features[0]
            y = graph.conv(graph.relu(graph.norm(y)), 128, 1)
            features.append(graph.conv(graph.relu(graph.norm(y)), 32, 3))
        x = graph.relu(graph.norm(graph.concat(features)))
        if not is_last:
            x = graph.pool(graph.conv(x, x[1][1] // 2, 1), 2, 2, "AveragePool")
    return graph.text(graph.linear(graph.mean(x), 1000))


def unet(batch=4):
    graph = Graph("unet")
    x = graph.input("image", (batch, 3, 416, 608))
    skips = []
    for width in (64, 128, 256, 512):
        x = graph.relu(graph.conv(graph.relu(graph.conv(x, width, 3)), width, 3))
        skips.append(x)
        x = graph.pool(x, 2, 2)
    x = graph.relu(graph.conv(graph.relu(graph.conv(x, 1024, 3)), 1024, 3))
    for width, skip in zip((512, 256, 128, 64), reversed(skips)):
        x = graph.concat([graph.conv(x, width, 2, 2, transposed=True), skip])
        x = graph.relu(graph.conv(graph.relu(graph.conv(x, width, 3)), width, 3))
    return graph.text(graph.conv(x, 2, 1))


def inception(batch=16):
    """The shape of Inception-v3: its branches and widths, without the auxiliary output."""
    graph = Graph("inception")
    x = graph.input("image", (batch, 3, 299, 299))
    for width, kernel, stride, padding in ((32, 3, 2, 0), (32, 3, 1, 0), (64, 3, 1, 1)):
        x = graph.cbr(x, width, kernel, stride, padding=padding)
    x = graph.pool(x, 3, 2)
    x = graph.pool(graph.cbr(graph.cbr(x, 80, 1), 192, 3, padding=0), 3, 2)
    for pooled in (32, 64, 64):
        x = graph.concat([graph.cbr(x, 64, 1), graph.cbr(graph.cbr(x, 48, 1), 64, 5),
                          graph.cbr(graph.cbr(graph.cbr(x, 64, 1), 96, 3), 96, 3),
                          graph.cbr(graph.pool(x, 3, 1, "AveragePool", 1), pooled, 1)])
    x = graph.concat([graph.cbr(x, 384, 3, 2, padding=0),
                      graph.cbr(graph.cbr(graph.cbr(x, 64, 1), 96, 3), 96, 3, 2, padding=0), graph.pool(x, 3, 2)])
    for width in (128, 160, 160, 192):
        left = graph.cbr(graph.cbr(graph.cbr(x, width, 1), width, (1, 7)), 192, (7, 1))
        right = graph.cbr(x, width, 1)
        for kernel in ((7, 1), (1, 7), (7, 1)):
            right = graph.cbr(right, width, kernel)
        right = graph.cbr(right, 192, (1, 7))
        x = graph.concat([graph.cbr(x, 192, 1), left, right,
                          graph.cbr(graph.pool(x, 3, 1, "AveragePool", 1), 192, 1)])
    y = graph.cbr(graph.cbr(graph.cbr(graph.cbr(x, 192, 1), 192, (1, 7)), 192, (7, 1)), 192, 3, 2, padding=0)
    x = graph.concat([graph.cbr(graph.cbr(x, 192, 1), 320, 3, 2, padding=0), y, graph.pool(x, 3, 2)])
    for _ in range(2):
        middle = graph.cbr(x, 384, 1)
        outer = graph.cbr(graph.cbr(x, 448, 1), 384, 3)
        x = graph.concat([graph.cbr(x, 320, 1), graph.cbr(middle, 384, (1, 3)), graph.cbr(middle, 384, (3, 1)),
                          graph.cbr(outer, 384, (1, 3)), graph.cbr(outer, 384, (3, 1)),
                          graph.cbr(graph.pool(x, 3, 1, "AveragePool", 1), 192, 1)])
    return graph.text(graph.linear(graph.mean(x), 1000))


def transformer(name, tokens, prefix, classes, width=768, heads=12, layers=12):
    """Twelve nodes a block, as large language models are built: norm, qkv, scores, softmax, context, projection, add,
    norm, fc1, GELU, fc2, add."""
    graph = Graph(name)
    x = prefix(graph)
    rows = (1, tokens)
    for _ in range(layers):
        qkv = graph.linear(graph.norm(x, "LayerNormalization"), 3 * width)
        scores = graph.node("MatMul", [qkv, qkv], (1, heads, tokens, tokens), 2 * tokens * tokens * width, [0, 1])
        weights = graph.node("Softmax", [scores], scores[1], 5 * math.prod(scores[1]), saves_output=True)
        context = graph.node("MatMul", [weights, qkv], rows + (width,), 2 * tokens * tokens * width, [0, 1])
        x = graph.add(graph.linear(context, width), x)
        y = graph.linear(graph.gelu(graph.linear(graph.norm(x, "LayerNormalization"), 4 * width)), width)
        x = graph.add(y, x)
    return graph.text(graph.linear(graph.norm(x, "LayerNormalization"), classes))


def embedded(tokens, width=768):
    def prefix(graph):
        ids = graph.input("tokens", (1, tokens), "int64")
        return graph.node("Embedding", [ids], (1, tokens, width), 0, [0])
    return prefix


def patches(graph):
    x = graph.conv(graph.input("image", (1, 3, 224, 224)), 768, 16, 16, padding=0)
    return graph.node("Flatten", [x], (1, 197, 768), 0)


def lstm(steps=128, batch=64, width=1024):
    graph = Graph("lstm")
    state = graph.input("h0", (batch, width))
    cell = graph.input("c0", (batch, width))
    for step in range(steps):
        x = graph.input(f"x{step}", (batch, width))
        joined = graph.node("Concat", [x, state], (batch, 2 * width), 0)
        gates = graph.linear(joined, 4 * width)
        active = graph.gate(gates, "LstmGates")
        cell = graph.node("LstmCell", [active, cell], (batch, width), 3 * batch * width, [0, 1])
        squashed = graph.gate(cell, "Tanh")
        state = graph.node("LstmOutput", [active, squashed], (batch, width), batch * width, [0, 1])
    return graph.text(graph.linear(state, 10))


def layered(count=1000, seed=7):
    """Random layers: an operator reads one to three values of the last two layers; sizes 1 … 100 MB, costs 1 … 100."""
    draw = random.Random(seed)
    graph = Graph(f"random-layered-{count}")
    graph.inputs.append("x")
    graph.values.append({"name": "x", "bytes": 1000000})
    layers = [[("x", ())]]
    made = 0
    while made < count:
        width = min(draw.randint(4, 12), count - made)
        near = layers[-1] + (layers[-2] if len(layers) > 1 else [])
        layer = []
        for _ in range(width):
            operands = draw.sample(near, min(len(near), draw.randint(1, 3)))
            saves = list(range(len(operands))) if draw.random() < 0.6 else []
            layer.append(graph.node("Op", operands, (), draw.randint(1, 100) * 1000000, saves, not saves,
                                    bytes_=draw.randint(1, 100) * 1000000))
        layers.append(layer)
        made += width
    last = graph.node("Join", layers[-1], (), 1000000, [], True, bytes_=1000000)
    return graph.text(last)


def residual(blocks):
    graph = Graph(f"residual-{3 * blocks}")
    graph.inputs.append("x")
    graph.values.append({"name": "x", "bytes": 1})
    x = ("x", ())
    for _ in range(blocks):
        y = graph.node("Conv", [x], (), 4, [0], bytes_=2)
        y = graph.node("Relu", [y], (), 1, saves_output=True, bytes_=2)
        x = graph.node("Add", [y, x], (), 1, bytes_=1)
    return graph.text(x)


GRAPHS = {
    "chain-48": chain,
    "vgg16": vgg16,
    "resnet50": resnet50,
    "mobilenet": mobilenet,
    "densenet121": densenet121,
    "unet": unet,
    "inception": inception,
    "gpt2": lambda: transformer("gpt2", 1024, embedded(1024), 50257),
    "bert-base": lambda: transformer("bert-base", 512, embedded(512), 2),
    "vit-b": lambda: transformer("vit-b", 197, patches, 1000),
    "lstm": lstm,
    "random-layered-1000": layered,
    "residual-48": lambda: residual(16),
}
LARGE = {"residual-10k": lambda: residual(1667)}


def main():
    arguments = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    folder = pathlib.Path(arguments[0]) if arguments else pathlib.Path(__file__).resolve().parent
    folder.mkdir(parents=True, exist_ok=True)
    chosen = {**GRAPHS, **(LARGE if "--large" in sys.argv else {})}
    for name, make in chosen.items():
        (folder / f"{name}.json").write_text(make(), encoding="utf-8")


if __name__ == "__main__":
    main()
