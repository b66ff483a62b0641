#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares gradient passes (forward and back, with respect to the input) with PyTorch: paired runs, each side in a
process of its own, same shapes and threads.

    tests/bench/gradient.py [--bench build/release/bin/retrograde-bench] [--threads 2] [--runs 9] [--rounds 3] [NAME …]

Prints as forward.py does; what is said there about BLAS holds here, too. PyTorch's parameters require no gradient, as
`retrograde-cli grad` computes none without --parameters.
"""
import json
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
    ours, peer = forward.Side(), forward.Side()
    for _ in range(options.rounds):
        forward.take_round("gradient", __file__, name, options, ours, peer)
    print(forward.line_of(name, ours, peer), flush=True)


def main():
    parser = forward.parser_of(__doc__, NAMES)
    options = parser.parse_args()
    if options.peer:
        run_peer(options.peer, options.threads, options.runs)
        return
    for name in forward.chosen(parser, options, NAMES):
        compare(name, options)


if __name__ == "__main__":
    main()
