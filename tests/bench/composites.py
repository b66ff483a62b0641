#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares every composite that zennit has by a name of its own with ours: one small network with BatchNorm, a residual
sum, max and average pooling, both sides in float64.

    tests/bench/composites.py [--cli build/release/bin/retrograde-cli] [--tolerance 1e-9] [--write tests/data/peers/zennit]

Prints the largest deviation of the input's relevance per composite, relative to its largest element, and fails beyond the
tolerance. Needs zennit 0.5.1 over PyTorch and python3-onnx; see relevance.py for how to get them. Where zennit is missing
it says "peer missing" and fails nothing. --write keeps network, input and the peer's relevance of the input in a folder,
where peercompositestest finds them.
"""
import argparse
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import relevance  # noqa: E402  how zennit is imported


def network(torch, zennit):
    nn = torch.nn

    def layer(inside, outside, stride=1):
        # Without an epsilon, which zennit 0.5.1 applies twice when it merges.
        return nn.Sequential(nn.Conv2d(inside, outside, 3, stride, 1), nn.BatchNorm2d(outside, eps=0))

    class Block(nn.Module):
        """A residual block; its sum is a module for zennit, and a plain sum in the exported file."""

        def __init__(self, width):
            super().__init__()
            self.way = nn.Sequential(layer(width, width), nn.ReLU(), layer(width, width))
            self.sum, self.is_exported = zennit.layer.Sum(), False

        def forward(self, x):
            return self.way(x) + x if self.is_exported else self.sum(torch.stack([self.way(x), x], dim=-1))

    model = nn.Sequential(layer(3, 8), nn.ReLU(), Block(8), nn.ReLU(), nn.MaxPool2d(2), layer(8, 12, 2), nn.ReLU(),
                          nn.AvgPool2d(2), nn.Flatten(), nn.Linear(48, 16), nn.ReLU(), nn.Linear(16, 5))
    relevance.enliven(torch, model)
    return model.double().eval()


def composites(zennit, torch):
    """Our name → a function that makes zennit's composite with the given canonizers."""
    named = zennit.composites
    everything = [(zennit.types.Activation, zennit.rules.Pass()), (zennit.layer.Sum, zennit.rules.Norm()),
                  (zennit.types.AvgPool, zennit.rules.Norm()), (zennit.types.BatchNorm, zennit.rules.Pass()),
                  (zennit.types.Linear, zennit.rules.Epsilon(epsilon=1e-6))]
    return {
        "epsilon": lambda c: named.LayerMapComposite(everything, canonizers=c),
        "epsilon_plus": lambda c: named.EpsilonPlus(canonizers=c),
        "epsilon_plus_flat": lambda c: named.EpsilonPlusFlat(canonizers=c),
        "epsilon_alpha2_beta1": lambda c: named.EpsilonAlpha2Beta1(canonizers=c),
        "epsilon_alpha2_beta1_flat": lambda c: named.EpsilonAlpha2Beta1Flat(canonizers=c),
        "epsilon_gamma_box:low=-4,high=4": lambda c: named.EpsilonGammaBox(low=-4.0, high=4.0, canonizers=c),
        "excitation_backprop": lambda c: named.ExcitationBackprop(canonizers=c),
        "guided_backprop": lambda c: named.GuidedBackprop(canonizers=c),
        "deconvnet": lambda c: named.DeconvNet(canonizers=c),
        "beta_smooth": lambda c: named.BetaSmooth(canonizers=c),
        "gradient": lambda c: named.LayerMapComposite([], canonizers=c),
    }


def of_peer(torch, zennit, model, make, x):
    data = x.clone().requires_grad_()
    with make([zennit.canonizers.SequentialMergeBatchNorm()]).context(model) as modified:
        output = modified(data)
        start = torch.zeros_like(output)
        start[:, 2] = output.detach()[:, 2]
        return torch.autograd.grad(output, data, grad_outputs=start)[0].numpy()


def of_ours(options, numpy, folder, temporary, composite):
    out = os.path.join(temporary, "out")
    subprocess.run([options.cli, "explain", os.path.join(folder, "net.onnx"), "--input", os.path.join(folder, "x.npy"),
                    "--target", "2", "--start", "logit", "--composite", composite, "--precision", "double", "--output-dir", out],
                   check=True, stdout=subprocess.DEVNULL)
    return numpy.load(os.path.join(out, "relevance", "x.npy"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cli", default="build/release/bin/retrograde-cli")
    parser.add_argument("--tolerance", type=float, default=1e-9)
    parser.add_argument("--write", metavar="FOLDER")
    options = parser.parse_args()
    try:
        import numpy
        import torch
    except ImportError:
        print("peer missing")
        return 0
    zennit = relevance.import_zennit()
    if zennit is None:
        print("peer missing")
        return 0
    import zennit.rules
    import zennit.types
    torch.manual_seed(1)
    model = network(torch, zennit)
    x = torch.randn(2, 3, 16, 16, dtype=torch.float64).clamp(-4, 4)
    wrong = 0
    peers = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.write or temporary
        numpy.save(os.path.join(folder, "x.npy"), x.numpy())
        model[2].is_exported = True
        torch.onnx.export(model, x, os.path.join(folder, "net.onnx"), opset_version=13, input_names=["x"])
        model[2].is_exported = False
        for name, make in composites(zennit, torch).items():
            peer = peers[name] = of_peer(torch, zennit, model, make, x)
            deviation = abs(peer - of_ours(options, numpy, folder, temporary, name)).max() / abs(peer).max()
            wrong += not deviation <= options.tolerance
            print(f"{name:34} {deviation:9.2e}{'' if deviation <= options.tolerance else '  WRONG'}", flush=True)
    if options.write and not wrong:
        numpy.savez(os.path.join(options.write, "relevance.npz"), **peers)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
