#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Relevance graphs beside zennit: same network, weights, input and composite, equal relevance, paired times.

explainerpeer.py [--device cpu|cuda] [--graphs FOLDER] [--prepare] [--composites C …] [--batches N …] [--threads N]
                 [--rounds N] [--runs N] [--cli PROGRAM] [NAME …]

NAME is resnet18, resnet50 or vgg16 of torchvision, with random weights from a seed. `explain --graph-out` of CLI
writes FOLDER/NAME-COMPOSITE.onnx where it is missing. Its large weights lie beside it in NAME.weights, which is made
again from the seed where it is missing. So --prepare writes small graphs and ends, and they can go to a machine that
has a GPU and no program of ours, without their weights.

Both sides hold their input on the device and leave their results there; the clock stops when the device is done. Rounds
alternate between the two. On a GPU both are timed with and without TF32. Zennit's composite is registered anew for each
pass, as relevance.py does it ("zennit"), and also once for all passes ("zennit_kept"). Prints a line of JSON for each:
medians in milliseconds, the ratio as the median of the rounds, its least and largest, the difference of the two
relevances (as norms, and the largest over the largest value), and the nodes that onnxruntime left to the CPU. Ends with
1 where the norm of the difference is above 1e-2 of the norm without TF32, and with 0 and the reason where there is no
GPU, or something is not installed.
Needs torch, torchvision, zennit, onnxruntime (onnxruntime-gpu); to write: onnx and CLI.
"""
import argparse
import collections
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

NAMES = ("resnet18", "resnet50", "vgg16")
COMPOSITES = {"epsilon_plus": "EpsilonPlus", "epsilon_plus_flat": "EpsilonPlusFlat",
              "epsilon_gamma_box": "EpsilonGammaBox"}
OURS = {"epsilon_gamma_box": "epsilon_gamma_box:low=-3,high=3"}
DIFFERENCE = 1e-2  # a near tie of a MaxPool may go either way in float32
LARGE = 1 << 14  # elements of a weight that is not kept in the graph


def network(name):
    """A network of torchvision with the same weights wherever this is called."""
    import torch
    import torchvision

    generator = np.random.default_rng(7)
    model = torchvision.models.get_model(name, weights=None).eval()

    def fill(tensor, size):
        levels = generator.integers(-7, 8, tuple(tensor.shape))
        tensor.copy_(torch.from_numpy((levels * (size / 8)).astype(np.float32)))

    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, (torch.nn.Conv2d, torch.nn.Linear)):
                # A power of two near the size that keeps the variance: products and merged weights stay few values.
                fill(module.weight, 2.0 ** np.round(np.log2((6 / module.weight[0].numel()) ** 0.5)))
                if module.bias is not None:
                    fill(module.bias, 0.125)
            elif isinstance(module, torch.nn.BatchNorm2d):
                module.weight.copy_(torch.from_numpy(generator.choice([0.5, 1], len(module.weight))))
                module.running_var.fill_(1 - module.eps)
                fill(module.bias, 0.125)
                fill(module.running_mean, 0.125)
    return model


def merged_weights(model):
    """The weights of its layers as the graph has them: each times the scale of a BatchNorm behind it."""
    import torch

    leaves = [module for module in model.modules() if not list(module.children())]
    for module, following in zip(leaves, leaves[1:] + [None]):
        if isinstance(module, (torch.nn.Conv2d, torch.nn.Linear)):
            weight = module.weight.detach().numpy()
            is_normalised = isinstance(following, torch.nn.BatchNorm2d)
            yield weight * following.weight.detach().numpy()[:, None, None, None] if is_normalised else weight


def images(batch):
    return np.random.default_rng(8).standard_normal((batch, 3, 224, 224)).astype(np.float32)


def move_weights(source, file, name):
    """Writes the graph of `source` without the weights that are those of the network, which it then reads beside it."""
    import onnx
    from onnx import numpy_helper

    places, offset = {}, 0
    for weight in merged_weights(network(name)):
        places[weight.tobytes()] = offset
        offset += weight.nbytes
    model = onnx.load(source)
    for tensor in model.graph.initializer:
        if np.prod(tensor.dims) < LARGE:
            continue
        data = numpy_helper.to_array(tensor).tobytes()
        if data not in places:
            sys.exit(f"{name}: {tensor.name} of shape {list(tensor.dims)} is no weight of the network")
        point_to(tensor, f"{name}.weights", places[data], len(data))
    onnx.save(model, str(file))


def point_to(tensor, location, offset, length):
    """Points a tensor to bytes in a file."""
    import onnx

    tensor.ClearField("raw_data")
    tensor.ClearField("float_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    for key, value in (("location", location), ("offset", offset), ("length", length)):
        tensor.external_data.add(key=key, value=str(value))


def graph_of(name, composite, arguments):
    """The file of the graph; it and its weights are written where they are missing."""
    file = arguments.graphs / f"{name}-{composite}.onnx"
    if not file.exists():
        import torch

        with tempfile.TemporaryDirectory() as folder:
            source, graph = pathlib.Path(folder) / "model.onnx", pathlib.Path(folder) / "graph.onnx"
            torch.onnx.export(network(name), (torch.zeros(2, 3, 224, 224),), str(source), opset_version=17,
                              input_names=["image"], output_names=["scores"], dynamo=False,
                              dynamic_axes={"image": {0: "N"}, "scores": {0: "N"}})
            subprocess.run([arguments.cli, "explain", str(source), "--graph-out", str(graph), "--composite",
                            OURS.get(composite, composite)], check=True, stdout=subprocess.DEVNULL)
            move_weights(graph, file, name)
    weights = arguments.graphs / f"{name}.weights"
    if not arguments.prepare and not weights.exists():
        with open(weights, "wb") as out:
            for weight in merged_weights(network(name)):
                out.write(weight.tobytes())
    return file


class Graph:
    """The relevance graph in onnxruntime."""

    def __init__(self, file, x, arguments, is_tf32):
        import onnxruntime

        self.runtime, self.device, self.file = onnxruntime, arguments.device, str(file)
        self.providers = ["CPUExecutionProvider"]
        if self.device == "cuda":
            self.providers.insert(0, ("CUDAExecutionProvider", {"use_tf32": str(int(is_tf32))}))
        self.threads = arguments.threads
        self.session = self.make()
        self.binding = self.session.io_binding()
        target = np.full(len(x), -1, np.int64)
        for name, value in (("image", x), ("target", target)):
            self.binding.bind_ortvalue_input(name, onnxruntime.OrtValue.ortvalue_from_numpy(value, self.device, 0))
        for name in ("scores", "relevance/image"):
            self.binding.bind_output(name, self.device, 0)

    def make(self, **settings):
        options = self.runtime.SessionOptions()
        options.intra_op_num_threads = self.threads
        options.log_severity_level = 3
        for name, value in settings.items():
            setattr(options, name, value)
        return self.runtime.InferenceSession(self.file, options, providers=self.providers)

    def __call__(self):
        self.session.run_with_iobinding(self.binding)
        self.binding.synchronize_outputs()

    def relevance(self):
        self()
        return self.binding.copy_outputs_to_cpu()[1]

    def left_to_cpu(self, x):
        """Kinds of nodes that ran on the CPU beside a GPU, with their count."""
        if self.device == "cpu":
            return {}
        with tempfile.TemporaryDirectory() as folder:
            session = self.make(enable_profiling=True, profile_file_prefix=folder + "/profile")
            session.run(None, {"image": x, "target": np.full(len(x), -1, np.int64)})
            events = json.loads(pathlib.Path(session.end_profiling()).read_text())
        kinds = collections.Counter(event["args"]["op_name"] for event in events if event.get("cat") == "Node" and
                                    event["args"].get("provider") == "CPUExecutionProvider" and
                                    event["name"].endswith("_kernel_time"))
        return dict(kinds)


class Peer:
    """Zennit over the same network."""

    def __init__(self, name, composite, x, arguments, is_tf32):
        import torch
        import zennit.composites
        import zennit.torchvision

        self.torch, self.is_cuda = torch, arguments.device == "cuda"
        torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = is_tf32
        torch.backends.cudnn.benchmark = True  # as onnxruntime, which tries the kernels of cuDNN too
        self.model = network(name).to(arguments.device)
        for parameter in self.model.parameters():
            parameter.requires_grad_(False)
        self.x = torch.from_numpy(x).to(arguments.device)
        canonizers = [zennit.torchvision.ResNetCanonizer()] if name.startswith("resnet") else []
        box = {"low": -3.0, "high": 3.0} if composite == "epsilon_gamma_box" else {}
        self.composite = lambda: getattr(zennit.composites, COMPOSITES[composite])(canonizers=canonizers, **box)

    def wait(self):
        if self.is_cuda:
            self.torch.cuda.synchronize()

    def explain(self, model):
        torch, data = self.torch, self.x.clone().requires_grad_()
        scores = model(data)
        found = scores.detach()
        best = found.argmax(1, keepdim=True)
        start = torch.zeros_like(found).scatter_(1, best, found.gather(1, best))
        relevance, = torch.autograd.grad(scores, data, grad_outputs=start)
        self.wait()
        return relevance

    def __call__(self):
        with self.composite().context(self.model) as modified:
            return self.explain(modified)

    def kept_ms(self, runs):
        with self.composite().context(self.model) as modified:
            return median_ms(lambda: self.explain(modified), runs)


def median_ms(run, runs):
    run()
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        run()
        times.append(1000 * (time.perf_counter() - start))
    return statistics.median(times)


def compare(name, composite, batch, is_tf32, arguments):
    file = graph_of(name, composite, arguments)
    x = images(batch)
    graph, peer = Graph(file, x, arguments, is_tf32), Peer(name, composite, x, arguments, is_tf32)
    ours, theirs = graph.relevance(), peer().cpu().numpy()
    rounds = [(median_ms(graph, arguments.runs), median_ms(peer, arguments.runs), peer.kept_ms(arguments.runs))
              for _ in range(arguments.rounds)]
    ratios = sorted(each[1] / each[0] for each in rounds)
    return {"network": name, "composite": composite, "batch": batch, "device": arguments.device, "tf32": is_tf32,
            "difference": float(np.linalg.norm(ours - theirs) / np.linalg.norm(theirs)),
            "largest_difference": float(np.abs(ours - theirs).max() / np.abs(theirs).max()),
            "graph_ms": statistics.median(each[0] for each in rounds),
            "zennit_ms": statistics.median(each[1] for each in rounds),
            "zennit_kept_ms": statistics.median(each[2] for each in rounds),
            "ratio": statistics.median(ratios), "least": ratios[0], "largest": ratios[-1],
            "ratio_kept": statistics.median(each[2] / each[0] for each in rounds),
            "left_to_cpu": graph.left_to_cpu(x)}


def reason_to_skip(arguments):
    """Why nothing can be compared here, or nothing."""
    try:
        import torch
        import torchvision  # noqa: F401
        import onnxruntime
        import zennit  # noqa: F401
    except ImportError as error:
        return str(error)
    if arguments.device == "cuda":
        if not torch.cuda.is_available():
            return "no CUDA device"
        # torch is loaded: its cuDNN and cuBLAS are found by the provider.
        if "CUDAExecutionProvider" not in onnxruntime.get_available_providers():
            return "this onnxruntime has no CUDA execution provider (onnxruntime-gpu has)"
        if hasattr(onnxruntime, "preload_dlls"):
            onnxruntime.preload_dlls()
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", default=NAMES)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--graphs", type=pathlib.Path)
    parser.add_argument("--prepare", action="store_true")
    parser.add_argument("--composites", nargs="+", choices=COMPOSITES, default=["epsilon_plus"])
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 8])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--cli", default="build/release/bin/retrograde-cli")
    arguments = parser.parse_args()
    wrong = [name for name in arguments.names if name not in NAMES]
    if wrong:
        parser.error(f"there is no network {wrong[0]}; there are {', '.join(NAMES)}")
    if arguments.prepare and arguments.graphs is None:
        parser.error("--prepare needs --graphs")
    reason = None if arguments.prepare else reason_to_skip(arguments)
    if reason:
        print("skipped:", reason)
        return
    with tempfile.TemporaryDirectory() as folder:
        arguments.graphs = arguments.graphs or pathlib.Path(folder)
        arguments.graphs.mkdir(parents=True, exist_ok=True)
        sys.exit(0 if compare_all(arguments) else 1)


def compare_all(arguments):
    """Whether all relevances agree."""
    if not arguments.prepare:
        import torch

        torch.set_num_threads(arguments.threads)
    agree = True
    for name in arguments.names:
        for composite in arguments.composites:
            if arguments.prepare:
                graph_of(name, composite, arguments)
                continue
            for batch in arguments.batches:
                for is_tf32 in (False, True) if arguments.device == "cuda" else (False,):
                    row = compare(name, composite, batch, is_tf32, arguments)
                    agree = agree and (is_tf32 or row["difference"] <= DIFFERENCE)
                    print(json.dumps({key: float(f"{value:.3g}") if isinstance(value, float) else value
                                      for key, value in row.items()}), flush=True)
    return agree


if __name__ == "__main__":
    main()
