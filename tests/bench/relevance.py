#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares explanations with zennit (and, for gpt2, with a gradient pass of PyTorch): paired runs, each side in a process
of its own, same shapes and threads, forward pass and relevance together.

    tests/bench/relevance.py [--bench build/release/bin/retrograde-bench] [--threads 1] [--runs 3] [--rounds 3] [NAME …]

NAME is NETWORK/COMPOSITE/BATCH as `retrograde-bench relevance` has it, or the start of one. mobilenet_v2/auto/1,
efficientnet_b0/auto/1, convnext_tiny/auto/1 and densenet121/auto/1 are networks of torchvision, which --python has to
have then: with random weights, exported to ONNX for our side (`bench --model`); the peer's composite is EpsilonPlus. Prints median and least
seconds of both sides, how many times faster we are (median of the paired ratios, with their spread), and the peak
resident set of both processes in MiB.

The peer is zennit 0.5.1 over Debian's python3-torch; --python names an interpreter that has both:

    python3 -m venv --system-site-packages peer && peer/bin/pip install --no-deps zennit==0.5.1

zennit also imports two classes of torchvision, for models that are not timed here; where torchvision is missing they are
left empty. Without zennit the script says "peer missing" and prints our figures alone. A pass of zennit registers its
composite and merges BatchNorm each time, as its users do. See forward.py about the BLAS that PyTorch finds.

vgg16/epsilon_plus_flat/1@captum and vgg16/epsilon_plus_flat/1@innvestigate are timed where they are named, beside captum 0.9 over PyTorch (alpha 1, beta 0 at convolutions, the first one too, as it has no flat rule) and
iNNvestigate 2.1 over TensorFlow (its preset A, flat). --python names an interpreter that has the one.
"""
import argparse
import inspect
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import types

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import forward  # noqa: E402  the shapes of vgg16 and gpt2, and how a child is measured

NETWORKS = ("vgg16", "resnet18", "resnet50")
NAMES = [f"{network}/{composite}/{batch}" for network in NETWORKS for batch in (1, 8)
         for composite in ("epsilon_plus_flat", "epsilon_gamma_box")] + [f"gpt2/{composite}/{batch}"
         for batch in (1, 8) for composite in ("attnlrp", "attnlrp:form=gradient_x_input")]
VISION = ("mobilenet_v2", "efficientnet_b0", "convnext_tiny", "densenet121")
NAMES += [f"{network}/auto/1" for network in VISION]
OTHERS = ("vgg16/epsilon_plus_flat/1@captum", "vgg16/epsilon_plus_flat/1@innvestigate")
GOALS = {"auto": 1, "epsilon_plus_flat": 2.5, "epsilon_gamma_box": 4, "attnlrp": 1, "attnlrp:form=gradient_x_input": 1}
MISSING = 3


def import_zennit():
    """The peer, or None."""
    try:
        import torchvision  # noqa: F401
    except ImportError:
        resnet = types.ModuleType("torchvision.models.resnet")
        resnet.Bottleneck = resnet.BasicBlock = type("Missing", (), {})
        models = types.ModuleType("torchvision.models")
        models.resnet = resnet
        stub = types.ModuleType("torchvision")
        stub.models = models
        sys.modules.update({"torchvision": stub, "torchvision.models": models, "torchvision.models.resnet": resnet})
    try:
        import zennit.canonizers
        import zennit.composites
        import zennit.layer
    except ImportError:
        return None
    return zennit


def resnet(torch, total, blocks, is_bottleneck):
    """A ResNet whose sums are modules, so that zennit can give them a rule."""
    nn = torch.nn

    def layer(inside, outside, kernel, stride=1):
        return nn.Sequential(nn.Conv2d(inside, outside, kernel, stride, kernel // 2, bias=False),
                             nn.BatchNorm2d(outside))

    class Block(nn.Module):
        def __init__(self, inside, width, stride):
            super().__init__()
            out = 4 * width if is_bottleneck else width
            middle = [layer(inside, width, 1), nn.ReLU(), layer(width, width, 3, stride), nn.ReLU(), layer(width, out, 1)]
            plain = [layer(inside, width, 3, stride), nn.ReLU(), layer(width, width, 3)]
            self.way = nn.Sequential(*(middle if is_bottleneck else plain))
            self.shortcut = nn.Identity() if inside == out and stride == 1 else layer(inside, out, 1, stride)
            self.sum, self.relu = total(), nn.ReLU()

        def forward(self, x):
            return self.relu(self.sum(torch.stack([self.way(x), self.shortcut(x)], dim=-1)))

    parts, channels, width = [layer(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)], 64, 64
    for count in blocks:
        for i in range(count):
            parts.append(Block(channels, width, 2 if i == 0 and width > 64 else 1))
            channels = 4 * width if is_bottleneck else width
        width *= 2
    return nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 1000))


def enliven(torch, model):
    """Weights of the sizes that ours have: those of a fresh model die out, and sums of denormal numbers are slow."""
    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, (torch.nn.Conv2d, torch.nn.Linear)):
                size = (6 / module.weight[0].numel()) ** 0.5
                module.weight.uniform_(-size, size)
                if module.bias is not None:
                    module.bias.uniform_(-0.1, 0.1)
            elif isinstance(module, torch.nn.BatchNorm2d):
                module.weight.uniform_(0.5, 1.5)
                module.running_var.uniform_(0.5, 1.5)
                module.bias.uniform_(-0.1, 0.1)
                module.running_mean.uniform_(-0.1, 0.1)


def vision_model(torch, network):
    """A network of torchvision with random weights, the same each time."""
    import torchvision

    torch.manual_seed(1)
    model = getattr(torchvision.models, network)(weights=None)
    model.eval()
    enliven(torch, model)
    return model


def export(name, path):
    """Child process: writes a network of torchvision as ONNX."""
    import torch

    older = {"dynamo": False} if "dynamo" in inspect.signature(torch.onnx.export).parameters else {}
    torch.onnx.export(vision_model(torch, name.split("/")[0]), torch.full((1, 3, 224, 224), 0.5), path,
                      opset_version=17, input_names=["x"], **older)


def zennit_pass(torch, zennit, network, composite, batch):
    """A function that explains once."""
    if network in VISION:
        model = vision_model(torch, network)
    elif network == "vgg16":
        model, _ = forward.vgg16(torch)
    else:
        is_bottleneck = network == "resnet50"
        model = resnet(torch, zennit.layer.Sum, (3, 4, 6, 3) if is_bottleneck else (2, 2, 2, 2), is_bottleneck)
    if network not in VISION:
        model.eval()
        enliven(torch, model)
    x = torch.full((batch, 3, 224, 224), 0.5)
    # The peer merges a BatchNorm into the layer before it in its list, which in a DenseNet is none of its own.
    canonizers = [] if network == "densenet121" else [zennit.canonizers.SequentialMergeBatchNorm()]

    def explain():
        if composite == "auto":
            chosen = zennit.composites.EpsilonPlus(canonizers=canonizers)
        elif composite == "epsilon_plus_flat":
            chosen = zennit.composites.EpsilonPlusFlat(canonizers=canonizers)
        else:
            chosen = zennit.composites.EpsilonGammaBox(low=-3.0, high=3.0, canonizers=canonizers)
        data = x.clone().requires_grad_()
        with chosen.context(model) as modified:
            output = modified(data)
            best = output.detach().argmax(1)
            start = torch.zeros_like(output).scatter_(1, best[:, None], output.detach().gather(1, best[:, None]))
            torch.autograd.grad(output, data, grad_outputs=start)

    return explain


def gradient_pass(torch, network, batch):
    model, shape = getattr(forward, network)(torch)
    model.eval()
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    x = torch.full((batch, *shape[1:]), 0.5)

    def explain():
        data = x.clone().requires_grad_()
        output = model(data)
        # The largest value of every sample, which is what the other side explains.
        torch.autograd.grad(output.flatten(1).max(dim=1).values.sum(), data)

    return explain


def captum_pass(torch):
    from captum.attr import LRP
    from captum.attr._utils.lrp_rules import Alpha1_Beta0_Rule, EpsilonRule

    model, shape = forward.vgg16(torch)
    model.eval()
    enliven(torch, model)
    x = torch.full(shape, 0.5, requires_grad=True)

    def explain():
        for module in model:  # it takes its rules away after a pass
            module.rule = Alpha1_Beta0_Rule() if isinstance(module, torch.nn.Conv2d) else EpsilonRule()
        LRP(model).attribute(x, target=int(model(x).argmax()))

    return explain


def innvestigate_pass(threads):
    """VGG16 of Keras with weights of the sizes that the other side has."""
    import innvestigate
    import numpy
    import tensorflow

    tensorflow.compat.v1.disable_eager_execution()
    tensorflow.config.threading.set_intra_op_parallelism_threads(threads)
    tensorflow.config.threading.set_inter_op_parallelism_threads(1)
    layers = tensorflow.keras.layers
    model = tensorflow.keras.Sequential([layers.InputLayer((224, 224, 3))])
    for width in (64, 64, 0, 128, 128, 0, 256, 256, 256, 0, 512, 512, 512, 0, 512, 512, 512, 0):
        size = tensorflow.keras.initializers.HeUniform(1)
        model.add(layers.Conv2D(width, 3, padding="same", activation="relu", kernel_initializer=size) if width
                  else layers.MaxPooling2D(2, 2))
    model.add(layers.Flatten())
    for width in (4096, 4096, 1000):
        model.add(layers.Dense(width, activation="relu" if width > 1000 else None, kernel_initializer=size))
    analyzer = innvestigate.create_analyzer("lrp.sequential_preset_a_flat", model)
    x = numpy.full((1, 224, 224, 3), 0.5, "float32")
    return lambda: analyzer.analyze(x)


def run_peer(name, threads, runs):
    """Child process: prints the seconds of each run."""
    name, _, other = name.partition("@")
    network, composite, batch = name.split("/")
    try:
        if other == "innvestigate":
            return time_runs(innvestigate_pass(threads), runs)
        import torch
    except ImportError:
        sys.exit(MISSING)
    torch.set_num_threads(threads)
    torch.set_flush_denormal(True)  # deep relevance may hold denormal numbers, which some processors handle slowly
    if other == "captum":
        try:
            explain = captum_pass(torch)
        except ImportError:
            sys.exit(MISSING)
    elif network == "gpt2":
        explain = gradient_pass(torch, network, int(batch))
    else:
        zennit = import_zennit()
        if zennit is None:
            sys.exit(MISSING)
        explain = zennit_pass(torch, zennit, network, composite, int(batch))
    time_runs(explain, runs)


def time_runs(explain, runs):
    explain()
    seconds = []
    for _ in range(runs):
        start = time.perf_counter()
        explain()
        seconds.append(time.perf_counter() - start)
    print(json.dumps({"seconds": seconds}))


def exported(name, options):
    """The ONNX file of a network of torchvision, written when it is asked for first."""
    path = os.path.join(options.folder, name.split("/")[0] + ".onnx")
    if not os.path.exists(path):
        subprocess.run([options.python, __file__, "--export", name, path], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
    return path


def is_missing(name, options):
    return subprocess.run([options.python, __file__, "--peer", name, "--threads", "1", "--runs", "0"],
                          stdout=subprocess.DEVNULL, check=False).returncode == MISSING


def our_seconds(name, options):
    name = name.partition("@")[0]
    network, composite, _ = name.split("/")
    what = [f"relevance/{name}"]
    if network in VISION:
        what = [f"relevance/{composite}", "--model", exported(name, options)]
    figures, peak = forward.measured([options.bench, *what, "--runs", str(options.runs), "--threads",
                                      str(options.threads), "--json"], options.threads)
    figure = figures["seconds"][what[0]]
    return figure["median"], figure["min"], peak


def peer_seconds(name, options):
    peer, peak = forward.measured([options.python, __file__, "--peer", name, "--threads", str(options.threads), "--runs",
                                   str(options.runs)], options.threads)
    return statistics.median(peer["seconds"]), min(peer["seconds"]), peak


def compare(name, options):
    if is_missing(name, options):
        ours = [our_seconds(name, options) for _ in range(options.rounds)]
        print(f"{name:32} retrograde {min(a[1] for a in ours) * 1e3:8.1f} ms  peak {max(a[2] for a in ours):6.0f} MiB  "
              "peer missing", flush=True)
        return
    pairs = [(our_seconds(name, options), peer_seconds(name, options)) for _ in range(options.rounds)]
    gains = sorted(b[0] / a[0] for a, b in pairs)
    least = [min(side[1] for side in sides) * 1e3 for sides in zip(*pairs)]
    peaks = [max(side[2] for side in sides) for sides in zip(*pairs)]
    print(f"{name:32} retrograde {least[0]:8.1f} ms  peer {least[1]:8.1f} ms  faster {statistics.median(gains):5.2f} × "
          f"({gains[0]:.2f}–{gains[-1]:.2f}; goal {GOALS[name.split('/')[1]]:g})  "
          f"peak {peaks[0]:6.0f} / {peaks[1]:6.0f} MiB = {peaks[0] / peaks[1]:4.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)} (default: all), "
                        f"{', '.join(OTHERS)}")
    parser.add_argument("--bench", default="build/release/bin/retrograde-bench")
    parser.add_argument("--python", default=sys.executable, help="interpreter of the peer")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peer", choices=NAMES + list(OTHERS), help=argparse.SUPPRESS)
    parser.add_argument("--export", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peer:
        run_peer(options.peer, options.threads, options.runs)
        return
    if options.export:
        export(*options.export)
        return
    chosen = [name for name in NAMES if not options.names or any(name.startswith(start) for start in options.names)]
    chosen += [name for name in OTHERS if name in options.names]
    if not chosen:
        parser.error(f"there is no such benchmark; there are {', '.join(NAMES)}")
    with tempfile.TemporaryDirectory() as options.folder:
        for name in chosen:
            compare(name, options)


if __name__ == "__main__":
    main()
