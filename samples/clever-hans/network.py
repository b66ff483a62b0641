# SPDX-License-Identifier: Apache-2.0
"""The small residual network of the sample, its training and its export to ONNX."""
import warnings

import onnx
import torch
from torch import nn
from torch.nn import functional as F

OPSET = 17
BATCH, RATE, WEIGHT_DECAY = 64, 4e-3, 2e-3
LABEL_SMOOTHING, ACTIVITY_COST = 0.1, 0.8


class ConvNorm(nn.Module):
    """Convolution without bias, then BatchNorm."""

    def __init__(self, inputs, outputs, kernel, stride=1):
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, kernel, stride, padding=kernel // 2, bias=False)
        self.norm = nn.BatchNorm2d(outputs)

    def forward(self, x):
        return self.norm(self.conv(x))


class Block(nn.Module):
    """Two convolutions around a shortcut; the shortcut is a 1x1 convolution where the shape changes."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.first = ConvNorm(inputs, outputs, 3, stride)
        self.relu = nn.ReLU()
        self.second = ConvNorm(outputs, outputs, 3)
        self.shortcut = ConvNorm(inputs, outputs, 1, stride) if inputs != outputs or stride != 1 else None
        self.out = nn.ReLU()

    def forward(self, x):
        branch = self.second(self.relu(self.first(x)))
        return self.out(branch + (x if self.shortcut is None else self.shortcut(x)))


class Stem(nn.Module):
    """96x96 picture to 24x24 features."""

    def __init__(self, outputs):
        super().__init__()
        self.input = ConvNorm(3, outputs, 5, 2)
        self.relu = nn.ReLU()
        self.pool = nn.MaxPool2d(2)

    def forward(self, x):
        return self.pool(self.relu(self.input(x)))


class Head(nn.Module):
    """Mean over all places, then one score per class."""

    def __init__(self, inputs, classes):
        super().__init__()
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.flatten = nn.Flatten()
        self.classify = nn.Linear(inputs, classes)

    def forward(self, x):
        return self.classify(self.flatten(self.pool(x)))


class SmallResidualNet(nn.Module):
    """Stem, four residual blocks, head: [N,3,96,96] pictures (RGB, 0..1) to [N,classes] scores."""

    def __init__(self, classes, channels=(16, 32, 48, 64), strides=(1, 2, 1, 2)):
        super().__init__()
        self.stem = Stem(channels[0])
        previous = (channels[0],) + tuple(channels[:-1])
        blocks = [Block(i, o, s) for i, o, s in zip(previous, channels, strides)]
        self.block1, self.block2, self.block3, self.block4 = blocks
        self.head = Head(channels[-1], classes)

    def features(self, image):
        """What the last block sees: [N,C,6,6], never negative."""
        x = self.block1(self.stem(image))
        return self.block4(self.block3(self.block2(x)))

    def forward(self, image):
        return self.head(self.features(image))


def to_tensor(pixels):
    """uint8 [N,96,96,3] to float [N,3,96,96] in 0..1."""
    return torch.from_numpy(pixels).permute(0, 3, 1, 2).float() / 255.0


def train(pixels, labels, classes, seed, epochs, log):
    """Trains a network from a fixed seed; the same pictures and seed give the same network.

    pixels uint8 [N,96,96,3], labels int64 [N]. Labels are smoothed, so that scores stop growing once they
    suffice, and the last features pay for being active, so that they fire only where they are of use.
    """
    torch.manual_seed(seed)
    net = SmallResidualNet(classes).to(memory_format=torch.channels_last).train()
    steps = len(labels) // BATCH
    optimizer = torch.optim.AdamW(net.parameters(), lr=RATE, weight_decay=WEIGHT_DECAY)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=epochs * steps)
    order = torch.Generator().manual_seed(seed)
    for epoch in range(epochs):
        total = 0.0
        for chosen in torch.randperm(len(labels), generator=order)[:steps * BATCH].split(BATCH):
            features = net.features(to_tensor(pixels[chosen.numpy()]))
            loss = F.cross_entropy(net.head(features), labels[chosen], label_smoothing=LABEL_SMOOTHING)
            loss = loss + ACTIVITY_COST * features.mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            total += loss.item()
        log(f"epoch {epoch + 1:2d} of {epochs}: loss {total / steps:.4f}")
    return net.eval()


def own_initializers(graph):
    """Gives every node initializers of its own: the exporter lets equal ones share through Identity nodes."""
    by_name = {weight.name: weight for weight in graph.initializer}
    for node in [node for node in graph.node if node.op_type == "Identity" and node.input[0] in by_name]:
        copy = onnx.TensorProto()
        copy.CopyFrom(by_name[node.input[0]])
        copy.name = node.output[0]
        graph.initializer.append(copy)
        graph.node.remove(node)


def export(net, path, title):
    """Writes the network as ONNX with a free batch size; BatchNormalization stays a node of its own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(net.to(memory_format=torch.contiguous_format), torch.zeros(1, 3, 96, 96), str(path),
                          input_names=["image"], output_names=["logits"], opset_version=OPSET,
                          training=torch.onnx.TrainingMode.PRESERVE, do_constant_folding=False,
                          dynamic_axes={"image": {0: "N"}, "logits": {0: "N"}})
    model = onnx.load(str(path))
    own_initializers(model.graph)
    model.graph.name = title
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, str(path))
