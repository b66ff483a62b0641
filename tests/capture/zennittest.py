# SPDX-License-Identifier: Apache-2.0
"""retrograde.Composite.from_zennit: the relevance of zennit from its own composite objects, and refusals by name."""
import sys
import types

import capturing

numpy, torch = capturing.need("numpy", "torch")
try:
    import torchvision  # noqa: F401
except ImportError:  # zennit imports two of its classes, for models that are not used here
    resnet = types.ModuleType("torchvision.models.resnet")
    resnet.Bottleneck = resnet.BasicBlock = type("Missing", (), {})
    models = types.ModuleType("torchvision.models")
    models.resnet = resnet
    stub = types.ModuleType("torchvision")
    stub.models = models
    sys.modules.update({"torchvision": stub, "torchvision.models": models, "torchvision.models.resnet": resnet})
capturing.need("zennit")
from retrograde.capture import client as retrograde
import zennit.canonizers
import zennit.composites
import zennit.core
import zennit.layer
import zennit.rules
import zennit.types
from torch import nn
from retrograde.capture.zennitcomposite import ZennitError


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 6, 3, padding=1), nn.BatchNorm2d(6), nn.ReLU(),
                                      nn.Conv2d(6, 6, 3, padding=1), nn.BatchNorm2d(6), nn.ReLU(), nn.MaxPool2d(2))
        self.skip, self.sum = nn.Conv2d(6, 6, 1), zennit.layer.Sum()
        self.pool, self.head = nn.AdaptiveAvgPool2d(1), nn.Sequential(nn.Flatten(), nn.Linear(6, 8), nn.ReLU(),
                                                                      nn.Linear(8, 4))

    def forward(self, x):
        h = self.features(x)
        return self.head(self.pool(self.sum(torch.stack([h, self.skip(h)], -1))))


class Ours(Network):
    """The same without zennit's class, whose sum over a stack is no operator of its own."""

    def forward(self, x):
        h = self.features(x)
        return self.head(self.pool(h + self.skip(h)))


def network():
    torch.manual_seed(0)
    one = Network().eval()
    for module in one.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.normal_(0, 0.3)
            module.running_var.uniform_(0.5, 1.5)
    return one.double()


class Zennit(capturing.Case):
    def assert_same_relevance(self, composite):
        module, x = network(), torch.randn(1, 3, 8, 8, dtype=torch.float64, requires_grad=True)
        ours = Ours().eval().double()
        ours.load_state_dict(module.state_dict())
        found = retrograde.explain(ours, x, retrograde.Composite.from_zennit(composite), target=2, start="one",
                                   precision="double")["x"]
        with composite.context(module) as modified:
            # zennit 0.5.1 leaves its merged BatchNorm as x / sqrt(1 + eps).
            for one in module.modules():
                if isinstance(one, nn.BatchNorm2d) and composite.canonizers:
                    one.eps = 0.0
            output = modified(x)
            wanted, = torch.autograd.grad(output, x, torch.eye(4, dtype=torch.float64)[[2]])
        numpy.testing.assert_allclose(found, wanted.numpy(), rtol=1e-6, atol=1e-9 * wanted.abs().max().item())

    def test_built_in_composites(self):
        merge = [zennit.canonizers.SequentialMergeBatchNorm()]
        low, high = torch.full((1, 3, 1, 1), -2.5), torch.tensor([2.0, 2.5, 3.0]).reshape(1, 3, 1, 1)
        for composite in (zennit.composites.EpsilonPlus(canonizers=merge), zennit.composites.EpsilonPlus(),
                          zennit.composites.EpsilonPlusFlat(canonizers=merge, epsilon=0.1),
                          zennit.composites.EpsilonAlpha2Beta1(canonizers=merge, zero_params=["bias"]),
                          zennit.composites.EpsilonAlpha2Beta1Flat(canonizers=merge),
                          zennit.composites.EpsilonGammaBox(low=low, high=high, canonizers=merge, gamma=0.3),
                          zennit.composites.ExcitationBackprop(canonizers=merge), zennit.composites.GuidedBackprop(),
                          zennit.composites.DeconvNet(), zennit.composites.BetaSmooth(beta_smooth=5.0)):
            with self.subTest(composite=type(composite).__name__):
                self.assert_same_relevance(composite)

    def test_own_maps_names_and_stabilisers(self):
        rules, merge = zennit.rules, [zennit.canonizers.SequentialMergeBatchNorm()]
        base = [(zennit.types.Activation, rules.Pass()), (zennit.layer.Sum, rules.Norm()),
                (zennit.types.AvgPool, rules.Norm()), (zennit.types.Linear, rules.Epsilon(0.01))]
        names = [(("features.3", "head.3"), rules.Gamma(0.1)), (("skip",), rules.WSquare())]
        clip = rules.Epsilon(zennit.core.Stabilizer(0.05, clip=True))
        for composite in (zennit.composites.NameLayerMapComposite(names, base, merge),
                          zennit.composites.LayerMapComposite([(nn.Linear, clip), *base], merge),
                          zennit.composites.LayerMapComposite(
                              [(nn.Conv2d, rules.ZPlus(zennit.core.Stabilizer(0.1, norm_scale=True))), *base], merge)):
            self.assert_same_relevance(composite)

    def test_refusals_by_name(self):
        from_zennit, rules = retrograde.Composite.from_zennit, zennit.rules

        class Own(rules.Epsilon):
            pass

        def one(kind, rule, canonizers=()):
            return zennit.composites.LayerMapComposite([(kind, rule)], list(canonizers))

        with self.refused(ZennitError, "Own", "Composite.add"):
            from_zennit(one(nn.Linear, Own()))
        with self.refused(ZennitError, "LSTM", "by hand"):
            from_zennit(one(nn.LSTM, rules.Pass()))
        with self.refused(ZennitError, "function of its own"):
            from_zennit(one(nn.Linear, rules.Epsilon(lambda z: z)))
        with self.refused(ZennitError, "weight", "bias only"):
            from_zennit(one(nn.Linear, rules.Epsilon(zero_params=["weight"])))
        with self.refused(ZennitError, "pixel to pixel"):
            from_zennit(one(nn.Conv2d, rules.ZBox(torch.rand(1, 3, 4, 4), 1.0)))
        with self.refused(ZennitError, "AttributeCanonizer"):
            from_zennit(one(nn.Linear, rules.Pass(), [zennit.canonizers.AttributeCanonizer(lambda *_: None)]))
        with self.refused(ZennitError, "function of its own", "LayerMapComposite"):
            from_zennit(zennit.core.Composite(lambda *_: None))


if __name__ == "__main__":
    capturing.run()
