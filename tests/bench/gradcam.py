#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares `evaluate --method gradcam` and `gradcam++` with pytorch-grad-cam, on models of torchvision with random weights.

    tests/bench/gradcam.py [--cli build/release/bin/retrograde-cli] [--tolerance 1e-5] [--write tests/data/peers/gradcam]

Prints the largest deviation of the map (0 … 1, of the input's size) and of the raw map, relative to its largest element, and
fails beyond the tolerance. Needs torch, torchvision, onnx and grad-cam 1.5; where one is missing it says "peer missing" and
fails nothing. Both compute in float64, as float32 rounds by up to 9e-5 of a map. --write keeps a small network, an input and
the peer's maps in a folder, where gradcamtest finds them.
"""
import argparse
import os
import subprocess
import sys
import tempfile

TARGET = 3


def small(torch):
    nn = torch.nn
    return nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 12, 3, 2, 1), nn.ReLU(),
                         nn.MaxPool2d(2), nn.Conv2d(12, 10, 3, 1, 1), nn.Tanh(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Linear(10, 5))


def networks(torch):
    """Name → (model, layer, side of the picture)."""
    from torchvision import models
    resnet, vgg = models.resnet18(weights=None), models.vgg11_bn(weights=None)
    mobile, efficient = models.mobilenet_v3_small(weights=None), models.efficientnet_b0(weights=None)
    dense, convnext = models.densenet121(weights=None), models.convnext_tiny(weights=None)
    return {"resnet18": (resnet, resnet.layer4[-1], 224), "vgg11_bn": (vgg, vgg.features[-1], 224),
            "mobilenet_v3": (mobile, mobile.features[-1], 160), "efficientnet_b0": (efficient, efficient.features[-1], 160),
            "convnext_tiny": (convnext, convnext.features[-1], 160), "densenet121": (dense, None, 128)}


def enliven(torch, model):
    """Statistics and biases that are not those of a fresh network."""
    torch.manual_seed(5)
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.running_mean.uniform_(-0.2, 0.2)
            module.running_var.uniform_(0.5, 1.5)
            module.bias.data.uniform_(-0.2, 0.2)
    return model.eval()


def peer_maps(torch, model, layer, x):
    """Method → (map, raw map)."""
    import pytorch_grad_cam as peer
    found = {}
    for name, kind in (("gradcam", peer.GradCAM), ("gradcam++", peer.GradCAMPlusPlus)):
        raw = []

        class Watched(kind):
            def get_cam_image(self, *given, **named):
                raw.append(super().get_cam_image(*given, **named))
                return raw[-1]

        target = peer.utils.model_targets.ClassifierOutputTarget(TARGET)
        with Watched(model=model, target_layers=[layer]) as cam:
            found[name] = (cam(input_tensor=x, targets=[target])[0], raw[0][0])
    return found


def compare(numpy, cli, path, input_path, peer, folder):
    call = [cli, "evaluate", path, "--input", input_path, "--method", "gradcam", "--method", "gradcam++", "--target",
            str(TARGET), "--steps", "1", "--random-orders", "1", "--output-dir", folder + "/out",
            "--quiet"]
    subprocess.run(call, check=True)
    for name, (wanted, raw) in peer.items():
        own = numpy.load(f"{folder}/out/attributions/{name}.map.npy")
        own_raw = numpy.load(f"{folder}/out/attributions/{name}.raw.npy")
        yield name, numpy.abs(own - wanted).max(), numpy.abs(own_raw - raw).max() / numpy.abs(raw).max()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cli", default="build/release/bin/retrograde-cli")
    parser.add_argument("--tolerance", type=float, default=1e-5)
    parser.add_argument("--write")
    options = parser.parse_args()
    try:
        import numpy
        import onnx  # noqa: F401  torch.onnx needs it
        import pytorch_grad_cam  # noqa: F401
        import torch
    except ImportError as error:
        print("peer missing:", error)
        return 0
    torch.manual_seed(11)
    net = small(torch)
    made = {"net": (net, net[7], 32)} | ({} if options.write else networks(torch))
    worst = 0
    with tempfile.TemporaryDirectory() as scratch:
        for name, (model, layer, side) in made.items():
            enliven(torch, model)
            x = torch.randn(1, 3, side, side + (8 if name == "net" else 0))
            folder = options.write or scratch
            path = os.path.join(folder, name + ".onnx")
            torch.onnx.export(model, x, path, input_names=["input"], output_names=["scores"])
            numpy.save(os.path.join(folder, "x.npy"), x.numpy())
            if layer is None:  # what its last ReLU, a function, makes
                layer = torch.nn.ReLU()
                model = torch.nn.Sequential(model.features, layer, torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(),
                                            model.classifier)
            if not options.write:  # in float32 rounding is all that is seen
                model, x = model.double(), x.double()
            peer = peer_maps(torch, model, layer, x)
            if options.write:
                numpy.savez_compressed(os.path.join(folder, "maps.npz"),
                                       **{f"{key}.{part}": array for key, pair in peer.items()
                                          for part, array in zip(("map", "raw"), pair)})
                continue
            for method, apart, apart_raw in compare(numpy, options.cli, path, folder + "/x.npy", peer, scratch):
                worst = max(worst, apart, apart_raw)
                print(f"{name:<16} {method:<10} map {apart:.1e}  raw {apart_raw:.1e}")
    return 0 if worst <= options.tolerance else 1


if __name__ == "__main__":
    sys.exit(main())
