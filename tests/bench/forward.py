#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares forward passes with PyTorch: paired runs, each side in a process of its own, same shapes and threads.

    tests/bench/forward.py [--cli build/release/bin/retrograde-cli] [--threads 2] [--runs 9] [--rounds 3] [NAME …]

Prints per network: median and least seconds of both sides, the ratio of the medians, and the peak resident set of both
processes in MiB. PyTorch is Debian's python3-torch; onnxruntime is not used.

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
import time

NAMES = ("resnet50", "vgg16", "gpt2")


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
            q, k, v = (f(x).view(1, tokens, heads, -1).transpose(1, 2) for f in (self.q, self.k, self.v))
            scores = q @ k.transpose(2, 3) * 0.125 + self.mask
            return self.o((scores.softmax(-1) @ v).transpose(1, 2).reshape(1, tokens, width))

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


def measured(command, threads):
    """Runs a child; its last line of output and its peak resident set in MiB."""
    environment = dict(os.environ, OMP_NUM_THREADS=str(threads), OPENBLAS_NUM_THREADS=str(threads))
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    text = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    if status != 0:
        sys.exit(f"{' '.join(command)} failed")
    return json.loads(text), usage.ru_maxrss / 1024


def our_seconds(figures, name):
    figure = figures["seconds"][f"forward/{name}"]
    return figure["median"], figure["min"]


def compare(name, options):
    ours, peers, our_peak, peer_peak = [], [], 0, 0
    for _ in range(options.rounds):
        figures, peak = measured([options.cli, "bench", f"forward/{name}", "--runs", str(options.runs), "--threads",
                                  str(options.threads), "--json"], options.threads)
        ours.append(our_seconds(figures, name))
        our_peak = max(our_peak, peak)
        peer, peak = measured([sys.executable, __file__, "--peer", name, "--threads", str(options.threads), "--runs",
                               str(options.runs)], options.threads)
        peers.append((statistics.median(peer["seconds"]), min(peer["seconds"])))
        peer_peak = max(peer_peak, peak)
    ratios = sorted(a[0] / b[0] for a, b in zip(ours, peers))
    print(f"{name:10} retrograde {min(a[1] for a in ours) * 1e3:8.1f} ms  PyTorch {min(b[1] for b in peers) * 1e3:8.1f} ms  "
          f"paired ratio {statistics.median(ratios):5.2f} ({ratios[0]:.2f}–{ratios[-1]:.2f})  "
          f"peak {our_peak:6.0f} / {peer_peak:6.0f} MiB = {our_peak / peer_peak:4.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)} (default: all)")
    parser.add_argument("--cli", default="build/release/bin/retrograde-cli")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peer", choices=NAMES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peer:
        run_peer(options.peer, options.threads, options.runs)
        return
    for name in options.names or NAMES:
        if name not in NAMES:
            parser.error(f"there is no network {name}; there are {', '.join(NAMES)}")
        compare(name, options)


if __name__ == "__main__":
    main()
