#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares forward passes with PyTorch and onnxruntime: paired runs, each side in a process of its own, same shapes and
threads.

    tests/bench/forward.py [--bench build/release/bin/retrograde-bench] [--threads 2] [--runs 9] [--rounds 3]
        [--onnxruntime PYTHON] [NAME | FILE.onnx …]

A file is run by both programs as it is, bound and warmed before, with random numbers in [0, 1) for its inputs (free
axes have one element; `--shape NAME=2x3x48x192` gives another extent), and needs --onnxruntime; there is no PyTorch
column then. Rounds take turns, so that a slow minute of the machine falls on both sides.

Prints per network: median and least seconds of both sides, the ratio of the medians, and the peak resident set of both
processes in MiB. PyTorch is Debian's python3-torch. `--onnxruntime PYTHON` names an interpreter that has onnxruntime
(Debian has none; `pip install onnxruntime` into a virtual environment does); it then runs PyTorch's export of the same
network, and a second ratio is printed.

PyTorch's matrix products are those of the libblas.so.3 that it finds. The reference BLAS takes minutes for gpt2, which
says nothing: install libopenblas0-pthread, or name its folder in LD_LIBRARY_PATH. OpenBLAS 0.3.21 takes processors that
are newer than it for the oldest; OPENBLAS_CORETYPE=SkylakeX tells it of AVX-512.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

NAMES = ("resnet50", "vgg16", "gpt2")
WARMING = 3  # passes before the first that counts
ELEMENTS = {"tensor(float)": "float32", "tensor(double)": "float64", "tensor(float16)": "float16",
            "tensor(int64)": "int64", "tensor(int32)": "int32", "tensor(uint8)": "uint8", "tensor(bool)": "bool"}


def vgg16(torch):
    layers, channels = [], 3
    for width in (64, 64, 0, 128, 128, 0, 256, 256, 256, 0, 512, 512, 512, 0, 512, 512, 512, 0):
        if width == 0:
            layers.append(torch.nn.MaxPool2d(2, 2))
        else:
            layers += [torch.nn.Conv2d(channels, width, 3, padding=1), torch.nn.ReLU()]
            channels = width
    layers += [torch.nn.Flatten(), torch.nn.Linear(25088, 4096), torch.nn.ReLU(), torch.nn.Linear(4096, 4096),
               torch.nn.ReLU(), torch.nn.Linear(4096, 1000)]
    return torch.nn.Sequential(*layers), (1, 3, 224, 224)


def resnet50(torch):
    nn = torch.nn

    def layer(inside, outside, kernel, stride=1):
        conv = nn.Conv2d(inside, outside, kernel, stride, kernel // 2, bias=False)
        return nn.Sequential(conv, nn.BatchNorm2d(outside))

    class Bottleneck(nn.Module):
        def __init__(self, inside, width, stride):
            super().__init__()
            self.a, self.b = layer(inside, width, 1), layer(width, width, 3, stride)
            self.c = layer(width, 4 * width, 1)
            same = inside == 4 * width and stride == 1
            self.shortcut = nn.Identity() if same else layer(inside, 4 * width, 1, stride)

        def forward(self, x):
            y = self.c(torch.relu(self.b(torch.relu(self.a(x)))))
            return torch.relu(y + self.shortcut(x))

    parts, channels, width = [layer(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)], 64, 64
    for blocks in (3, 4, 6, 3):
        for i in range(blocks):
            parts.append(Bottleneck(channels, width, 2 if i == 0 and width > 64 else 1))
            channels = 4 * width
        width *= 2
    parts += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 1000)]
    return nn.Sequential(*parts), (1, 3, 224, 224)


def gpt2(torch):
    nn, width, heads, tokens = torch.nn, 768, 12, 128

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.before, self.after = nn.LayerNorm(width), nn.LayerNorm(width)
            self.q, self.k, self.v, self.o = (nn.Linear(width, width) for _ in range(4))
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
            self.register_buffer("mask", torch.full((tokens, tokens), -1e9).triu(1))

        def attend(self, x):
            q, k, v = (f(x).view(-1, tokens, heads, width // heads).transpose(1, 2) for f in (self.q, self.k, self.v))
            scores = q @ k.transpose(2, 3) * 0.125 + self.mask
            return self.o((scores.softmax(-1) @ v).transpose(1, 2).reshape(-1, tokens, width))

        def forward(self, x):
            x = x + self.attend(self.before(x))
            return x + self.down(nn.functional.gelu(self.up(self.after(x)), approximate="tanh"))

    return nn.Sequential(*(Block() for _ in range(12)), nn.LayerNorm(width)), (1, tokens, width)


def run_peer(name, threads, runs):
    """Child process: prints the seconds of each run."""
    import torch

    torch.set_num_threads(threads)
    model, shape = globals()[name](torch)
    model.eval()
    x = torch.randn(shape)
    seconds = []
    with torch.no_grad():
        model(x)
        for _ in range(runs):
            start = time.perf_counter()
            model(x)
            seconds.append(time.perf_counter() - start)
    print(json.dumps({"seconds": seconds}))


def export(name, path):
    """Child process: writes the network as ONNX."""
    import torch

    model, shape = globals()[name](torch)
    torch.onnx.export(model.eval(), torch.randn(shape), path, opset_version=17, input_names=["x"])


def run_onnxruntime(path, threads, runs, shapes):
    """Child process, on an interpreter of its own: prints the seconds of each run of an ONNX file."""
    import numpy
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    random = numpy.random.default_rng(1)
    given = {}
    for text in shapes:
        name, _, extents = text.rpartition("=")
        given[name or session.get_inputs()[0].name] = [int(extent) for extent in extents.split("x")]
    feed = {}
    for one in session.get_inputs():
        shape = given.get(one.name, [extent if isinstance(extent, int) else 1 for extent in one.shape])
        kind = numpy.dtype(ELEMENTS[one.type])
        feed[one.name] = random.random(shape, dtype=numpy.float32).astype(kind)
    seconds = []
    for _ in range(WARMING):
        session.run(None, feed)
    for _ in range(runs):
        start = time.perf_counter()
        session.run(None, feed)
        seconds.append(time.perf_counter() - start)
    print(json.dumps({"seconds": seconds}))


def measured(command, threads):
    """Runs a child; its last line of output and its peak resident set in MiB."""
    environment = dict(os.environ, OMP_NUM_THREADS=str(threads), OPENBLAS_NUM_THREADS=str(threads))
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    text = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    if status != 0:
        sys.exit(f"{' '.join(command)} failed")
    return json.loads(text), usage.ru_maxrss / 1024


class Side:
    """Seconds (median, least) of every round of one side, and its peak memory."""

    def __init__(self):
        self.rounds, self.peak = [], 0

    def add(self, median, least, peak):
        self.rounds.append((median, least))
        self.peak = max(self.peak, peak)

    def least(self):
        return min(least for _, least in self.rounds)


def ratio_text(ours, peer):
    ratios = sorted(a[0] / b[0] for a, b in zip(ours.rounds, peer.rounds))
    return f"paired ratio {statistics.median(ratios):5.2f} ({ratios[0]:.2f}–{ratios[-1]:.2f})"


def add_round(side, command, options, seconds_of):
    """One child of a side; `seconds_of` takes (median, least) out of what it printed."""
    printed, peak = measured([*command, "--threads", str(options.threads), "--runs", str(options.runs)],
                             options.threads)
    side.add(*seconds_of(printed), peak)


def of_peer(printed):
    return statistics.median(printed["seconds"]), min(printed["seconds"])


def take_round(group, script, name, options, ours, peer):
    """One round of `retrograde-bench group/name` against `script --peer name`, one after the other."""

    def of_ours(printed):
        figure = printed["seconds"][f"{group}/{name}"]
        return figure["median"], figure["min"]

    add_round(ours, [options.bench, f"{group}/{name}", "--json"], options, of_ours)
    add_round(peer, [sys.executable, script, "--peer", name], options, of_peer)


def line_of(name, ours, peer):
    return (f"{name:10} retrograde {ours.least() * 1e3:8.1f} ms  PyTorch {peer.least() * 1e3:8.1f} ms  "
            f"{ratio_text(ours, peer)}  peak {ours.peak:6.0f} / {peer.peak:6.0f} MiB = {ours.peak / peer.peak:4.2f}")


def parser_of(text, names):
    """The options that every comparison with PyTorch has."""
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(names)} (default: all)")
    parser.add_argument("--bench", default="build/release/bin/retrograde-bench")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peer", choices=names, help=argparse.SUPPRESS)
    return parser


def chosen(parser, options, names, takes_files=False):
    for name in options.names:
        if name not in names and not (takes_files and os.path.isfile(name)):
            parser.error(f"there is no network {name}; there are {', '.join(names)}")
    return options.names or names


def compare_file(path, options):
    """A model file in our program against onnxruntime."""
    ours, runtime = Side(), Side()
    shapes = [argument for text in options.shape for argument in ("--shape", text)]

    def of_ours(printed):
        figure = printed["seconds"]["forward"]
        return figure["median"], figure["min"]

    for _ in range(options.rounds):
        add_round(ours, [options.bench, "--model", path, "--json", *shapes], options, of_ours)
        add_round(runtime, [options.onnxruntime, __file__, "--peer-file", path, *shapes], options, of_peer)
    name = os.path.splitext(os.path.basename(path))[0]
    print(f"{name:18} retrograde {ours.least() * 1e3:8.2f} ms  onnxruntime {runtime.least() * 1e3:8.2f} ms  "
          f"{ratio_text(ours, runtime)}  peak {ours.peak:6.0f} / {runtime.peak:6.0f} MiB", flush=True)


def compare(name, options):
    ours, peer, runtime = Side(), Side(), Side()
    with tempfile.TemporaryDirectory() as folder:
        model_file = os.path.join(folder, "model.onnx")
        if options.onnxruntime:
            subprocess.run([sys.executable, __file__, "--export", name, model_file], check=True,
                           stdout=subprocess.DEVNULL)
        for _ in range(options.rounds):
            take_round("forward", __file__, name, options, ours, peer)
            if options.onnxruntime:
                add_round(runtime, [options.onnxruntime, __file__, "--peer-file", model_file], options, of_peer)
    line = line_of(name, ours, peer)
    if options.onnxruntime:
        line += f"  onnxruntime {runtime.least() * 1e3:8.1f} ms  {ratio_text(ours, runtime)}"
    print(line, flush=True)


def main():
    parser = parser_of(__doc__, NAMES)
    parser.add_argument("--onnxruntime", metavar="PYTHON", help="interpreter that has onnxruntime; a second column")
    parser.add_argument("--shape", action="append", default=[], metavar="NAME=AxBxC", help="of an input of a file")
    parser.add_argument("--peer-file", help=argparse.SUPPRESS)
    parser.add_argument("--export", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peer:
        run_peer(options.peer, options.threads, options.runs)
    elif options.peer_file:
        run_onnxruntime(options.peer_file, options.threads, options.runs, options.shape)
    elif options.export:
        export(*options.export)
    else:
        for name in chosen(parser, options, NAMES, takes_files=True):
            if name in NAMES:
                compare(name, options)
            elif options.onnxruntime:
                compare_file(name, options)
            else:
                parser.error("a file is compared with onnxruntime: name its interpreter (--onnxruntime)")


if __name__ == "__main__":
    main()
