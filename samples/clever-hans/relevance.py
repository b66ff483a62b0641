# SPDX-License-Identifier: Apache-2.0
"""Layer-wise relevance propagation over an ONNX file, in plain torch: the yardstick of the sample's figures.

It reads the file node by node, so it measures what is shipped and not the network object that was trained.
BatchNormalization is merged into the convolution before it. Two composites:

  epsilon_plus  convolutions z-plus (alpha 1, beta 0; b+ in the denominator), dense layers epsilon
  epsilon       epsilon in convolutions and dense layers

In both: stabiliser 1e-6 times the sign of the denominator (sign of 0 is +1), Add and GlobalAveragePool share
relevance in proportion to what each input contributed (stabilised likewise), MaxPool gives it to the winner,
activations pass it on.
"""
import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch.nn import functional as F
from torch.nn.grad import conv2d_input

EPSILON = 1e-6
COMPOSITES = ("epsilon_plus", "epsilon")


class Node:
    """One operator: its kind, name, inputs that carry data, output, attributes, weight and bias."""

    def __init__(self, proto, weights):
        self.kind, self.name = proto.op_type, proto.name
        self.inputs = [name for name in proto.input if name not in weights]
        self.output = proto.output[0]
        self.attributes = {a.name: onnx.helper.get_attribute_value(a) for a in proto.attribute}
        self.parameters = [weights[name] for name in proto.input if name in weights]

    @property
    def bias(self):
        return self.parameters[1] if len(self.parameters) > 1 else None

    def geometry(self):
        """Stride and padding of a convolution as torch wants them."""
        return self.attributes["strides"], self.attributes["pads"][:2]


class Model:
    """An ONNX graph with BatchNormalization merged into the convolution before it."""

    def __init__(self, path, dtype=torch.float32):
        proto = onnx.load(str(path))
        weights = {w.name: torch.from_numpy(np.array(numpy_helper.to_array(w))).to(dtype)
                   for w in proto.graph.initializer}
        self.kinds = [node.op_type for node in proto.graph.node]
        self.nodes = merge_batch_norm([Node(node, weights) for node in proto.graph.node])
        self.input, self.output = proto.graph.input[0].name, proto.graph.output[0].name

    def forward(self, images):
        """Every value of the graph by name."""
        values = {self.input: images}
        for node in self.nodes:
            values[node.output] = run_node(node, [values[name] for name in node.inputs])
        return values

    def logits(self, images):
        return self.forward(images)[self.output]

    def relevance(self, images, target, composite, epsilon=EPSILON, observe=None):
        """Relevance of every input value for the logit of class `target`; start = that logit.

        observe(node, inputs, arrived, shares) is called at every node on the way back.
        """
        with torch.no_grad():
            values = self.forward(images)
            start = torch.zeros_like(values[self.output])
            start[:, target] = values[self.output][:, target]
            arrived = {self.output: start}
            for node in reversed(self.nodes):
                inputs = [values[name] for name in node.inputs]
                here = arrived.pop(node.output)
                shares = RULES[node.kind](node, inputs, values[node.output], here, composite, epsilon)
                if observe:
                    observe(node, inputs, here, shares)
                for name, share in zip(node.inputs, shares):
                    arrived[name] = arrived[name] + share if name in arrived else share
            return arrived[self.input]


def merge_batch_norm(nodes):
    """w' = w g / sqrt(v + e), b' = (b - m) g / sqrt(v + e) + beta for each convolution with a norm behind it."""
    norms = {node.inputs[0]: node for node in nodes if node.kind == "BatchNormalization"}
    merged = []
    for node in nodes:
        if node.kind == "Conv" and node.output in norms:
            norm = norms[node.output]
            gain, beta, mean, variance = norm.parameters
            factor = gain / torch.sqrt(variance + norm.attributes["epsilon"])
            bias = torch.zeros_like(mean) if node.bias is None else node.bias
            node.parameters = [node.parameters[0] * factor[:, None, None, None], (bias - mean) * factor + beta]
            node.output = norm.output
        if node.kind != "BatchNormalization":
            merged.append(node)
    return merged


def run_node(node, inputs):
    """The forward value of one node."""
    if node.kind == "Conv":
        stride, padding = node.geometry()
        return F.conv2d(inputs[0], node.parameters[0], node.bias, stride, padding)
    if node.kind == "Gemm":
        return F.linear(inputs[0], node.parameters[0], node.bias)
    if node.kind == "MaxPool":
        return F.max_pool2d(inputs[0], node.attributes["kernel_shape"], node.attributes["strides"])
    plain = {"Relu": torch.relu, "Add": torch.add, "Flatten": lambda x: x.flatten(1),
             "GlobalAveragePool": lambda x: x.mean((2, 3), keepdim=True)}
    return plain[node.kind](*inputs)


def over(relevance, denominator, epsilon):
    """relevance / (denominator + epsilon * sign), sign(0) = +1."""
    sign = torch.where(denominator >= 0, 1.0, -1.0).to(denominator.dtype)
    return relevance / (denominator + epsilon * sign)


def z_plus_terms(x, weight):
    """The pairs of input part and weight part whose products are positive."""
    return [(x.clamp(min=0), weight.clamp(min=0)), (x.clamp(max=0), weight.clamp(max=0))]


def z_plus_denominator(node, x):
    stride, padding = node.geometry()
    products = sum(F.conv2d(part, w, None, stride, padding) for part, w in z_plus_terms(x, node.parameters[0]))
    return products + node.bias.clamp(min=0)[:, None, None]


def conv_rule(node, inputs, output, relevance, composite, epsilon):
    x, weight = inputs[0], node.parameters[0]
    stride, padding = node.geometry()
    if composite == "epsilon":
        s = over(relevance, output, epsilon)
        return [x * conv2d_input(x.shape, weight, s, stride, padding)]
    s = over(relevance, z_plus_denominator(node, x), epsilon)
    return [sum(part * conv2d_input(x.shape, w, s, stride, padding) for part, w in z_plus_terms(x, weight))]


def gemm_rule(node, inputs, output, relevance, _, epsilon):
    return [inputs[0] * (over(relevance, output, epsilon) @ node.parameters[0])]


def add_rule(_, inputs, output, relevance, __, epsilon):
    s = over(relevance, output, epsilon)
    return [x * s for x in inputs]


def mean_rule(_, inputs, output, relevance, __, epsilon):
    x = inputs[0]
    return [x * over(relevance, output, epsilon) / (x.shape[2] * x.shape[3])]


def max_pool_rule(node, inputs, _, relevance, __, ___):
    kernel, stride = node.attributes["kernel_shape"], node.attributes["strides"]
    winners = F.max_pool2d(inputs[0], kernel, stride, return_indices=True)[1]
    routed = torch.zeros_like(inputs[0]).flatten(2)
    return [routed.scatter_add_(2, winners.flatten(2), relevance.flatten(2)).reshape(inputs[0].shape)]


def pass_rule(_, inputs, __, relevance, ___, ____):
    return [relevance.reshape(inputs[0].shape)]


RULES = {"Conv": conv_rule, "Gemm": gemm_rule, "Add": add_rule, "GlobalAveragePool": mean_rule,
         "MaxPool": max_pool_rule, "Relu": pass_rule, "Flatten": pass_rule}


def positive_share(relevance, boxes):
    """Per picture, the part of all positive relevance that lies in the box [x,y,w,h]; channels are summed first."""
    positive = relevance.sum(1).clamp(min=0)
    inside = torch.stack([p[y:y + h, x:x + w].sum() for p, (x, y, w, h) in zip(positive, boxes)])
    return inside / positive.sum((1, 2)).clamp(min=1e-30)


def conservation_error(model, images, target, composite):
    """Largest relative difference, over nodes and pictures, of what arrives and what is passed on.

    For a model without biases. Relevance at a place whose denominator is 0 has nowhere to go and does not count.
    """
    errors = []

    def observe(node, inputs, arrived, shares):
        if node.kind == "Conv" and composite == "epsilon_plus":
            arrived = arrived * (z_plus_denominator(node, inputs[0]) != 0)
        sent = sum(share.flatten(1).sum(1) for share in shares)
        size = arrived.flatten(1).abs().sum(1).clamp(min=1e-300)
        errors.append(float(((arrived.flatten(1).sum(1) - sent).abs() / size).max()))

    model.relevance(images, target, composite, 1e-14, observe)
    return max(errors)


def self_test(path, images, target):
    """Two exact properties in double precision; raises ValueError when one does not hold.

    Without biases every node passes on what it gets. With biases, epsilon with a vanishing stabiliser equals
    gradient times input, because the network is piecewise linear. Returns the two largest relative errors.
    """
    images = images.double()
    model = Model(path, torch.float64)
    watched = images.clone().requires_grad_(True)
    model.logits(watched)[:, target].sum().backward()
    expected = watched.grad * images
    found = model.relevance(images, target, "epsilon", 1e-14)
    deviation = float((found - expected).abs().max() / expected.abs().max())
    if not deviation < 1e-6:
        raise ValueError(f"{path}: epsilon differs from gradient times input by {deviation:.1e} (relative)")
    for node in model.nodes:
        if node.bias is not None:
            node.parameters[1] = torch.zeros_like(node.bias)
    loss = max(conservation_error(model, images, target, composite) for composite in COMPOSITES)
    if not loss < 1e-6:
        raise ValueError(f"{path}: without biases a node loses {loss:.1e} of its relevance")
    return deviation, loss
