#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares gradient passes (forward and back, with respect to the input) with PyTorch: paired runs, each side in a
process of its own, same shapes and threads.

    tests/bench/gradient.py [--cli build/release/bin/retrograde-cli] [--threads 2] [--runs 9] [--rounds 3] [NAME …]

Prints as forward.py does; what is said there about BLAS holds here, too. PyTorch's parameters require no gradient, as
`retrograde-cli grad` computes none without --parameters.
"""
import argparse
import json
import statistics
import sys
import time

import forward

NAMES = ("resnet50", "gpt2")


def run_peer(name, threads, runs):
    """Child process: prints the seconds of each run."""
    import torch

    torch.set_num_threads(threads)
    model, shape = getattr(forward, name)(torch)
    model.eval().requires_grad_(False)
    x = torch.randn(shape, requires_grad=True)
    seconds = []
    for i in range(runs + 1):
        start = time.perf_counter()
        x.grad = None
        model(x).sum().backward()
        if i > 0:
            seconds.append(time.perf_counter() - start)
    print(json.dumps({"seconds": seconds}))


def compare(name, options):
    ours, peers, our_peak, peer_peak = [], [], 0, 0
    for _ in range(options.rounds):
        figures, peak = forward.measured([options.cli, "bench", f"gradient/{name}", "--runs", str(options.runs),
                                          "--threads", str(options.threads), "--json"], options.threads)
        figure = figures["seconds"][f"gradient/{name}"]
        ours.append((figure["median"], figure["min"]))
        our_peak = max(our_peak, peak)
        peer, peak = forward.measured([sys.executable, __file__, "--peer", name, "--threads", str(options.threads),
                                       "--runs", str(options.runs)], options.threads)
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
