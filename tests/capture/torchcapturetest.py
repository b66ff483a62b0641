# SPDX-License-Identifier: Apache-2.0
"""torchcapture.py: modules traced by torch.fx give PyTorch's numbers in Retrograde, and are left as they were."""
import capturing

numpy, torch = capturing.need("numpy", "torch")
from retrograde.capture import client as retrograde
from retrograde.capture import torchcapture
from retrograde.capture.graphjson import CaptureError
from torch import nn
from torch.nn import functional


class Convolutional(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.second = nn.Conv2d(8, 8, 3, stride=2, padding=1, groups=2, bias=False)
        self.short, self.pool = nn.Conv2d(8, 8, 1, stride=2), nn.MaxPool2d(2)
        self.hidden, self.scale, self.head = nn.Linear(8, 16), nn.LayerNorm(16), nn.Linear(16, 5)
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        h = torch.relu(self.norm(self.first(x)))
        h = self.pool(functional.silu(self.second(h) + self.short(h)))
        h = functional.adaptive_avg_pool2d(h, 1).flatten(1)
        return self.head(self.drop(functional.gelu(self.scale(self.hidden(h)))))


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.norm = nn.Embedding(20, 16), nn.LayerNorm(16)
        self.together, self.out = nn.Linear(16, 48), nn.Linear(16, 16, bias=False)
        self.register_buffer("mask", torch.ones(9, 9, dtype=torch.bool).triu(1))

    def forward(self, tokens):
        h = self.words(tokens)
        q, k, v = self.together(self.norm(h)).chunk(3, -1)
        b, t, d = q.shape
        q, k, v = (one.view(b, t, 2, 8).transpose(1, 2) for one in (q, k, v))
        weights = (q @ k.transpose(-1, -2) / 8 ** 0.5).masked_fill(self.mask[:t, :t], -1e9)
        weights = torch.softmax(weights, -1)
        return (h + self.out((weights @ v).transpose(1, 2).reshape(b, t, d)))[:, -1]


class InPlace(nn.Module):
    """Operands that are changed in place and read again."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 6), nn.Linear(6, 3)

    def forward(self, x):
        h = self.first(x)
        functional.relu_(h)
        h += 1
        h.mul_(h)
        return self.second(h) - h[:, :3]


class Elements(nn.Module):
    """Forms of the table that the others have not."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv1d(2, 4, 3), nn.LeakyReLU(0.2), nn.AvgPool1d(2), nn.ELU(), nn.Flatten())
        self.up = nn.ConvTranspose2d(1, 2, 3, stride=2, output_padding=1)

    def forward(self, x):
        h = self.layers(x)
        picture = self.up(torch.tanh(h).reshape(x.shape[0], 1, 2, -1))
        mean = picture.mean((2, 3), keepdim=True) - 2 * picture.sum(1, keepdim=True) ** 2
        return torch.cat([functional.softmax(mean.flatten(1), dim=1), torch.exp(-h).abs().sqrt(), h[:, 1:3]], 1)


def state_of(module):
    """Everything that a capture must not change."""
    return ({name: tensor.clone() for name, tensor in module.state_dict().items()},
            [one.training for one in module.modules()], torch.get_rng_state())


class Capture(capturing.Case):
    def assert_equal_run(self, module, x, tolerance=2e-6):
        path = torchcapture.capture(module, x, path=self.folder / "m.json").nodes and self.folder / "m.json"
        numpy.save(self.folder / "x.npy", x.numpy())
        answer = retrograde.call("run", path, "--input", self.folder / "x.npy", "--output-dir", self.folder / "out")
        with torch.no_grad():
            wanted = module(x).numpy()
        numpy.testing.assert_allclose(numpy.load(answer["outputs"][0]["file"]), wanted, atol=tolerance, rtol=1e-4)

    def assert_untouched(self, before, module):
        after = state_of(module)
        for name, tensor in before[0].items():
            self.assertTrue(torch.equal(tensor, after[0][name]), name)
        self.assertEqual(before[1], after[1])
        self.assertTrue(torch.equal(before[2], after[2]))

    def test_forward_passes_agree(self):
        torch.manual_seed(1)
        network = Convolutional().eval()
        network.norm.running_mean.normal_()
        self.assert_equal_run(network, torch.randn(2, 3, 16, 16))
        self.assert_equal_run(Attention(), torch.randint(0, 20, (2, 6)))
        self.assert_equal_run(Elements(), torch.randn(3, 2, 10))
        self.assert_equal_run(InPlace(), torch.randn(3, 4))

    def test_a_module_is_explained_and_its_relevance_conserved(self):
        torch.manual_seed(2)
        network, x = Convolutional().eval(), torch.randn(1, 3, 16, 16)
        answer = retrograde.explain(network, x, "epsilon_plus:bias=zero", target=3)
        self.assertEqual(answer.inputs, ["x"])
        self.assertEqual(answer["x"].shape, (1, 3, 16, 16))
        self.assertEqual(answer.summary["target"][0]["index"], 3)
        self.assertAlmostEqual(answer.summary["target"][0]["logit"], network(x)[0, 3].item(), places=4)

    def test_gradients_agree(self):
        torch.manual_seed(3)
        network, x = Convolutional().eval(), torch.randn(1, 3, 16, 16, requires_grad=True)
        network(x)[0, 1].backward()
        answer = retrograde.explain(network, x, "gradient", target=1, start="one")
        numpy.testing.assert_allclose(answer["x"], x.grad.numpy(), atol=1e-6 * x.grad.abs().max().item(), rtol=1e-3)

    def test_the_module_is_left_as_it_was(self):
        network = Convolutional().train()
        network.head.eval()
        before = state_of(network)
        graph = torchcapture.capture(network, torch.zeros(2, 3, 8, 8), measure=2)
        self.assert_untouched(before, network)
        facts = {node["name"]: node for node in graph.nodes}
        self.assertEqual((facts["norm"]["domain"], facts["norm"]["effectful"]), ("torch", True))
        self.assertEqual((facts["drop"]["domain"], facts["drop"]["stochastic"]), ("torch", True))
        self.assertTrue(all(node["milliseconds"] >= 0 for node in graph.nodes))
        self.assertGreater(sum(node["milliseconds"] for node in graph.nodes), 0)

    def test_what_is_no_operator_of_the_standard_is_planned_for_and_refused_by_name(self):
        class Own(nn.Module):
            def forward(self, x):
                return torch.relu(torch.cdist(x, x))

        path = self.folder / "own.json"
        graph = torchcapture.capture(Own(), torch.randn(4, 3), path=path)
        self.assertEqual([(node["op"], node.get("domain")) for node in graph.nodes], [("cdist", "torch"), ("Relu", None)])
        self.assertIn(retrograde.plan(path)[0]["status"], ("optimal", "feasible"))
        self.assertEqual(retrograde.analyze(graph)["operators"], 3)
        with self.refused(retrograde.RetrogradeError, "cdist", "torch"):
            retrograde.explain(path, numpy.zeros((4, 3), numpy.float32))

    def test_what_a_capture_cannot_run_goes_through_the_exporter(self):
        class Rolled(nn.Module):
            """An operator that captures have no form for, and a way that depends on the numbers."""

            def __init__(self, branches):
                super().__init__()
                self.branches, self.last = branches, nn.Linear(4, 3)

            def forward(self, x):
                h = self.last(torch.logcumsumexp(x, 1) if self.branches and x.sum() > 99 else torch.cumsum(x, 1))
                return h.roll(1, 1)

        torch.manual_seed(4)
        x = torch.rand(2, 4, requires_grad=True)
        for branches, reason in ((False, "cumsum"), (True, "cannot be traced")):
            network = Rolled(branches).eval()
            before = state_of(network)
            with self.assertWarnsRegex(UserWarning, f"torch.onnx.export.*{reason}"):
                answer = retrograde.explain(network, x.detach(), "gradient", target=1, start="one")
            self.assert_untouched(before, network)
            x.grad = None
            network(x)[:, 1].sum().backward()
            numpy.testing.assert_allclose(answer["x"], x.grad.numpy(), atol=1e-6)
        with self.refused(retrograde.RetrogradeError, "cumsum", "torch.onnx.export"):
            retrograde.explain(torchcapture.capture(Rolled(False), x.detach()), x.detach())

    def test_scopes_and_shared_weights(self):
        class Tied(nn.Module):
            def __init__(self):
                super().__init__()
                self.block = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4))
                self.block[2].weight = self.block[0].weight

            def forward(self, x):
                return self.block(x)

        graph = torchcapture.capture(Tied(), torch.randn(1, 4))
        self.assertEqual(graph.nodes[0]["scope"], "block/0")
        self.assertEqual(graph.nodes[0]["inputs"][1], graph.nodes[2]["inputs"][1])

    def test_refusals_say_what_to_do(self):
        class Branch(nn.Module):
            def forward(self, x):
                return x if x.sum() > 0 else -x

        with self.refused(CaptureError, "Branch cannot be traced", "torchautograd.capture"):
            torchcapture.capture(Branch(), torch.ones(2))
        self.assertEqual(len(torchcapture.capture(nn.Sequential(Branch()), torch.ones(2), leaves=[Branch]).nodes), 1)
        with self.refused(CaptureError, "function is no torch.nn.Module"):
            torchcapture.capture(lambda x: x, torch.ones(2))
        with self.refused(CaptureError, "no input 'z'", "inputs are input"):
            torchcapture.capture(nn.ReLU(), z=1)
        with self.refused(CaptureError, "complex64", "float32"):
            torchcapture.capture(nn.ReLU(), torch.ones(2, dtype=torch.complex64))


if __name__ == "__main__":
    capturing.run()
