# SPDX-License-Identifier: Apache-2.0
"""torchcheckpoint.py: training by a plan gives the gradients of plain autograd, bit for bit, in less memory, and leaves
everything else as it was."""
import copy
import gc
import json
import warnings
from collections import Counter

import capturing

numpy, torch = capturing.need("numpy", "torch")
from retrograde.capture import client as retrograde
from retrograde.capture import torchsegments
from retrograde.capture import torchstate
from retrograde.capture.graphjson import CaptureError
from torch import nn
from torch.nn import functional
from retrograde.capture.torchcheckpoint import checkpointed


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first, self.second = nn.Conv2d(width, width, 3, padding=1), nn.Conv2d(width, width, 3, padding=1)
        self.norm, self.drop = nn.BatchNorm2d(width), nn.Dropout(0.2)

    def forward(self, x):
        return torch.relu(x + self.second(self.drop(torch.relu(self.norm(self.first(x))))))


class Pictures(nn.Module):
    def __init__(self, blocks=5):
        super().__init__()
        self.stem, self.head = nn.Conv2d(3, 8, 3, padding=1), nn.Linear(8, 4)
        self.blocks = nn.Sequential(*[Residual(8) for _ in range(blocks)])

    def forward(self, x):
        return self.head(self.blocks(torch.relu(self.stem(x))).mean((2, 3)))


class Words(nn.Module):
    """Views, transposes, a tuple of parts, an embedding, a layer whose inside is unknown, functional dropout."""

    def __init__(self):
        super().__init__()
        self.words, self.norm = nn.Embedding(30, 16), nn.LayerNorm(16)
        self.together, self.out = nn.Linear(16, 48), nn.Linear(16, 16)
        self.memory, self.inner = nn.GRU(16, 16, batch_first=True), nn.MultiheadAttention(16, 2, batch_first=True)
        self.gain = nn.Parameter(torch.ones(16))

    def forward(self, tokens, scale=1.0):
        h = self.words(tokens)
        q, k, v = self.together(self.norm(h)).chunk(3, -1)
        b, t, d = q.shape
        q, k, v = (one.view(b, t, 2, 8).transpose(1, 2) for one in (q, k, v))
        weights = functional.dropout(torch.softmax(q @ k.transpose(-1, -2), -1), 0.1, self.training)
        h = h + self.out((weights @ v).transpose(1, 2).reshape(b, t, d)) * self.gain * scale
        h = self.memory(h)[0] + functional.gelu(h)
        return {"first": self.inner(h, h, h)[0][:, 0], "all": torch.tanh(h).flatten(1)}


class Fork(nn.Module):
    """Long skips, as in a U-Net."""

    def __init__(self):
        super().__init__()
        self.down = nn.ModuleList(nn.Conv2d(4, 4, 3, padding=1) for _ in range(3))
        self.up = nn.ModuleList(nn.Conv2d(8, 4, 3, padding=1) for _ in range(3))

    def forward(self, x):
        skips = []
        for layer in self.down:
            x = torch.sigmoid(layer(x))
            skips.append(x)
            x = functional.max_pool2d(x, 2)
        for layer, skip in zip(self.up, reversed(skips)):
            x = torch.exp(-layer(torch.cat([functional.interpolate(x, scale_factor=2), skip], 1)) ** 2)
        return x


class InPlace(nn.Module):
    """A residual block as torchvision writes it, statements in place, and a change of one of two views."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(4, 4, 3, padding=1)
        self.norm, self.relu = nn.BatchNorm2d(4), nn.ReLU(inplace=True)
        self.head = nn.Linear(4, 6)

    def forward(self, x):
        x = self.relu(self.first(x))
        h = self.norm(self.second(x))
        h += x
        h = self.head(self.relu(h).mean((2, 3)))
        h.mul_(2)
        functional.relu_(h)
        h = h * 1.5
        left, right = h[:, :3], h[:, 3:]
        left.add_(right)
        return torch.cat([left, right], 1)


class Sequences(nn.Module):
    """LSTM layers, cells with a loop over steps, and an encoder of transformers."""

    def __init__(self):
        super().__init__()
        self.first = nn.LSTM(8, 8, 2, batch_first=True, dropout=0.2)
        self.both = nn.LSTM(8, 4, batch_first=True, bidirectional=True)
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 3)
        self.cell, self.out = nn.LSTMCell(8, 8), nn.Linear(8, 3)

    def forward(self, x):
        x = self.encoder(self.both(torch.tanh(self.first(x)[0]))[0])
        h = c = torch.zeros(x.size(0), 8)
        for t in range(x.size(1)):
            h, c = self.cell(x[:, t], (h, c))
        return self.out(h)


def loss_of(result):
    parts = result.values() if isinstance(result, dict) else [result]
    return sum((part * torch.linspace(-1, 1, part.numel()).reshape(part.shape)).sum() for part in parts)


class Checkpoint(capturing.Case):
    def step(self, module, inputs, seed):
        torch.manual_seed(seed)
        module.zero_grad()
        for one in inputs:
            one.grad = None
        result = module(*inputs)
        loss_of(result).backward()
        return result, torch.get_rng_state()

    def assert_same_training(self, network, inputs, steps=2, **options):
        """Result, gradients of parameters and inputs, buffers and generators of several steps."""
        plain, theirs = copy.deepcopy(network), [one.clone().detach().requires_grad_(one.requires_grad) for one in inputs]
        wrapped = checkpointed(network, **options)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for seed in range(steps):
                result, random = self.step(wrapped, inputs, seed)
                wanted, theirs_random = self.step(plain, theirs, seed)
                for a, b in zip(tensors_of(result), tensors_of(wanted)):
                    self.assertTrue(torch.equal(a, b))
                self.assertTrue(torch.equal(random, theirs_random), "generators")
                for (name, a), b in zip(network.named_parameters(), plain.parameters()):
                    self.assertTrue(torch.equal(a.grad, b.grad), f"gradient of {name}")
                for (name, a), b in zip(network.named_buffers(), plain.buffers()):
                    self.assertTrue(torch.equal(a, b), f"buffer {name}")
                for a, b in zip(inputs, theirs):
                    self.assertEqual(a.grad is None, b.grad is None)
                    self.assertTrue(a.grad is None or torch.equal(a.grad, b.grad))
        self.assertIsNone(wrapped.reason)
        return wrapped

    def test_gradients_are_those_of_plain_autograd_by_every_kind_of_plan(self):
        torch.manual_seed(0)
        x = torch.randn(2, 3, 12, 12, requires_grad=True)
        for options in ({"budget": "60%"}, {"budget": "45%", "planner": "rotor"}, {"block_size": 6},
                        {"budget": "50%", "planner": "revolve"}, {"planner": "recompute_all"}, {"planner": "store_all"}):
            with self.subTest(**options):
                wrapped = self.assert_same_training(Pictures(3), [x], **options)
                profile = wrapped.last_profile
                runs = Counter(name for kind, name in wrapped.last_plan["plan"]["steps"] if kind == "c")
                for name, count in profile["recomputed"].items():
                    self.assertLessEqual(count, runs[name] - 1, f"{name} ran more often than the plan says")
                # Less, where a plan makes what nobody reads any more.
                self.assertGreaterEqual(sum(profile["recomputed"].values()), 0.9 * (runs.total() - len(runs)))
                self.assertEqual(profile["unplanned"], 0)
                self.assertLessEqual(profile["peak_saved_bytes"], wrapped.last_plan["peak"])

    def test_bytes_are_given_up(self):
        wrapped = self.assert_same_training(Pictures(), [torch.randn(2, 3, 12, 12)], budget="40%")
        profile = wrapped.last_profile
        self.assertLess(profile["bytes_at_turn"], 0.45 * profile["store_all_bytes"])
        self.assertGreater(sum(profile["recomputed"].values()), 0)
        plain = self.assert_same_training(Pictures(), [torch.randn(2, 3, 12, 12)], planner="store_all")
        self.assertEqual(plain.last_profile["recomputed"], {})
        self.assertEqual(plain.last_profile["bytes_at_turn"], plain.last_profile["store_all_bytes"])

    def test_nothing_else_is_held_between_forward_and_backward(self):
        network, x = Pictures(), torch.randn(2, 3, 12, 12)
        wrapped = checkpointed(network, budget="40%")
        before = {id(one) for one in gc.get_objects() if isinstance(one, torch.Tensor)}
        result = wrapped(x)
        held = {torchstate.storage_of(one): torchstate.bytes_of(one) for one in gc.get_objects()
                if isinstance(one, torch.Tensor) and one.is_floating_point() and one.numel() > 100
                and id(one) not in before}
        for one in (*network.parameters(), x):
            held.pop(torchstate.storage_of(one), None)
        self.assertLessEqual(sum(held.values()), wrapped.last_profile["bytes_at_turn"])
        loss_of(result).backward()

    def test_views_parts_recurrent_layers_and_attention(self):
        torch.manual_seed(1)
        for options in ({"budget": "80%"}, {"planner": "recompute_all"}, {"block_size": 4}):
            with self.subTest(**options):
                self.assert_same_training(Words(), [torch.randint(0, 30, (2, 5))], **options)

    def test_operators_in_place(self):
        torch.manual_seed(12)
        for options in ({"budget": "90%"}, {"planner": "recompute_all"}, {"block_size": 3}):
            with self.subTest(**options):
                wrapped = self.assert_same_training(InPlace(), [torch.randn(2, 3, 6, 6, requires_grad=True)], **options)
                self.assertEqual(wrapped.last_profile["unplanned"], 0)
        profile = self.assert_same_training(InPlace(), [torch.randn(2, 3, 6, 6)], planner="recompute_all").last_profile
        self.assertLess(profile["bytes_at_turn"], 0.2 * profile["store_all_bytes"])

    def test_lstm_layers_cells_and_encoders(self):
        torch.manual_seed(13)
        for options in ({"budget": "70%"}, {"planner": "recompute_all"}, {"block_size": 6}):
            for training in (True, False):
                with self.subTest(training=training, **options):
                    wrapped = self.assert_same_training(Sequences().train(training), [torch.randn(2, 5, 8)], **options)
                    # The layers of the encoder are planned one by one, and so are the steps of the cell.
                    units = [name for _, name, *_ in wrapped.last_plan["plan"]["steps"] if "encoder_layers_1_" in name]
                    self.assertIn("encoder_layers_1_linear1", units)
                    self.assertLess(wrapped.last_profile["bytes_at_turn"], wrapped.last_profile["store_all_bytes"])

    def test_an_encoder_in_one_line_with_masks(self):
        torch.manual_seed(14)
        layer = nn.TransformerEncoderLayer(8, 2, 16, activation="gelu", norm_first=True)
        network = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        padding = torch.zeros(2, 5, dtype=torch.bool)
        padding[0, 3:] = True
        plain, wrapped = copy.deepcopy(network), checkpointed(network, planner="recompute_all")
        for module in (wrapped, plain):
            torch.manual_seed(15)
            loss_of(module(self.words(), src_key_padding_mask=padding)).backward()
        self.assertIsNone(wrapped.reason)
        for (name, a), b in zip(network.named_parameters(), plain.parameters()):
            self.assertTrue(torch.equal(a.grad, b.grad), name)

    @staticmethod
    def words():
        torch.manual_seed(16)
        return torch.randn(5, 2, 8)

    def test_a_buffer_that_a_gradient_reads(self):
        class Places(nn.Linear):
            def __init__(self):
                super().__init__(6, 6)
                self.register_buffer("places", torch.randn(6))

            def forward(self, x):
                return super().forward(x) * self.places

        self.assert_same_training(nn.Sequential(Places(), nn.Tanh(), Places()), [torch.randn(2, 6)], planner="chen_sqrt")

    def test_long_skips_and_gradients_of_the_input(self):
        torch.manual_seed(2)
        for options in ({"planner": "shave", "budget": "75%"}, {"planner": "recompute_all"}, {"planner": "chen_sqrt"}):
            with self.subTest(**options):
                x = torch.randn(1, 4, 16, 16, requires_grad=True)
                self.assert_same_training(Fork(), [x], **options)

    def test_eval_mode_frozen_parameters_and_new_shapes(self):
        torch.manual_seed(3)
        network = Pictures().eval()
        network.stem.requires_grad_(False)
        plain, wrapped = copy.deepcopy(network), checkpointed(network, planner="chen_sqrt")
        for shape in ((2, 3, 12, 12), (1, 3, 8, 8), (2, 3, 12, 12)):
            x = torch.randn(shape)
            self.step(wrapped, [x], 1)
            self.step(plain, [x], 1)
            self.assertIsNone(network.stem.weight.grad)
            for a, b in zip(network.parameters(), plain.parameters()):
                self.assertTrue(a.grad is None and b.grad is None or torch.equal(a.grad, b.grad))
        self.assertFalse(any(one.training for one in network.modules()))
        self.assertEqual(len(wrapped._strategies), 2)

    def test_two_forward_passes_before_the_backward_and_a_graph_that_is_kept(self):
        torch.manual_seed(4)
        network = Pictures()
        plain, wrapped = copy.deepcopy(network), checkpointed(network, "40%")
        x, y = torch.randn(2, 3, 12, 12), torch.randn(2, 3, 12, 12)
        for module in (wrapped, plain):
            torch.manual_seed(5)
            loss = loss_of(module(x)) + loss_of(module(y)) * 2
            loss.backward(retain_graph=True)
            loss.backward()
        for a, b in zip(network.parameters(), plain.parameters()):
            self.assertTrue(torch.equal(a.grad, b.grad))

    def test_second_derivatives(self):
        torch.manual_seed(6)
        network = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 6), nn.Sigmoid(), nn.Linear(6, 1))
        x, found = torch.randn(3, 4, requires_grad=True), []
        for module in (checkpointed(copy.deepcopy(network), planner="recompute_all"), network):
            first, = torch.autograd.grad(module(x).sum(), x, create_graph=True)
            found.append(torch.autograd.grad((first ** 2).sum(), x)[0])
        self.assertTrue(torch.equal(*found))

    def test_a_plan_from_a_file(self):
        torch.manual_seed(7)
        x, network = torch.randn(2, 3, 12, 12), Pictures(2)
        first = self.assert_same_training(copy.deepcopy(network), [x], budget="60%")
        graph, path = self.folder / "graph.json", self.folder / "plan.json"
        first.write_graph(graph)
        answer, _ = retrograde.plan(graph, "70%", "rotor", out=path, parameters=True)
        other = self.assert_same_training(network, [x], plan=path)
        self.assertEqual(other.last_plan["peak"], answer["peak"])
        self.assertEqual(other.last_plan["plan"]["annotations"]["planner"], "rotor")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            checkpointed(Pictures(3), plan=path)(x)
            checkpointed(Pictures(1), plan=path)(x)
        self.assertEqual(len(caught), 2)
        self.assertIn("mean needs", str(caught[0].message))
        self.assertIn("blocks_1", str(caught[1].message))

    def test_without_gradients_nothing_is_planned(self):
        wrapped = checkpointed(Pictures(), "50%")
        with torch.no_grad():
            wrapped(torch.randn(1, 3, 8, 8))
        self.assertIsNone(wrapped.last_plan)
        with self.refused(RuntimeError, "no plan yet"):
            wrapped.write_policy(self.folder / "p.json")


class Fallback(capturing.Case):
    """What cannot be planned runs as it always did, after one warning that says why."""

    def reason_of(self, module, x, **options):
        wrapped, plain = checkpointed(module, **options), copy.deepcopy(module)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for _ in range(2):
                torch.manual_seed(0)
                wrapped(x).sum().backward()
        self.assertEqual(len(caught), 1)
        for _ in range(2):
            torch.manual_seed(0)
            plain(x).sum().backward()
        for a, b in zip(module.parameters(), plain.parameters()):
            self.assertTrue(torch.equal(a.grad, b.grad))
        self.assertIsNone(wrapped.last_plan)
        self.assertIn(wrapped.reason, str(caught[0].message))
        return wrapped.reason

    def test_reasons(self):
        class Branch(nn.Linear):
            def forward(self, x):
                return super().forward(x) if x.sum() > 0 else super().forward(-x)

        class View(nn.Linear):
            def forward(self, x):
                h = super().forward(x) * 2
                h[:, :2].add_(1)
                return h

        class Noise(nn.Linear):
            def forward(self, x):
                return super().forward(x + torch.randn(x.shape[0], 4)) if x.dim() == 2 else x

        class State(nn.Linear):
            def __init__(self, *sizes):
                super().__init__(*sizes)
                self.register_buffer("seen", torch.zeros(4))

            def forward(self, x):
                self.seen.add_(1)
                return super().forward(x) * self.seen

        x = torch.randn(2, 4)
        self.assertIn("cannot be traced", self.reason_of(Branch(4, 4), x))
        self.assertIn("of which 'mul' is a view that is read later", self.reason_of(View(4, 4), x))
        self.assertIn("memory of 'seen'", self.reason_of(State(4, 4), x))
        self.assertIn("cannot be traced", self.reason_of(Noise(4, 4), x))
        self.assertIn("memory of input", self.reason_of(nn.Sequential(nn.Hardtanh(0, 1, inplace=True), nn.Linear(4, 4)), x))
        tight = self.reason_of(nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4)), x, budget=1)
        self.assertIn("bytes at once", tight)
        self.assertIn("no_such_planner", self.reason_of(nn.Sequential(nn.Linear(4, 4)), x, planner="no_such_planner"))

    def test_an_input_is_changed_as_often_as_without(self):
        class Adds(nn.Linear):
            def forward(self, x):
                return super().forward(x.add_(1))

        x, wrapped = torch.zeros(2, 4), checkpointed(Adds(4, 4))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            wrapped(x)
        self.assertTrue(torch.equal(x, torch.ones(2, 4)))

    def test_a_step_of_the_optimiser_between_forward_and_backward_is_refused(self):
        network = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4), nn.Tanh())
        loss = checkpointed(network, planner="recompute_all")(torch.randn(2, 4)).sum()
        with torch.no_grad():
            network[0].weight.add_(1)
        with self.refused(RuntimeError, "0.weight", "before the optimiser's step"):
            loss.backward()


class Written(capturing.Case):
    """The plan in the words of torch.utils.checkpoint."""

    def planned(self, network, x):
        wrapped = checkpointed(copy.deepcopy(network), "60%", planner="chen_sqrt")
        wrapped(x)
        return wrapped

    def gradients(self, module, run, x):
        torch.manual_seed(3)
        module.zero_grad()
        loss_of(run(x)).backward()
        return [one.grad.clone() for one in module.parameters()]

    def test_segments(self):
        network, x = Pictures(), torch.randn(2, 3, 12, 12)
        written = self.planned(network, x).write_segments(self.folder / "segments.json")
        self.assertGreaterEqual(len(written["segments"]), 2)
        plain, module = copy.deepcopy(network), torchsegments.with_segments(network, self.folder / "segments.json")
        wanted, sizes = self.gradients(plain, plain, x), {}
        for name, run in (("segments", module), ("plain", plain)):
            kept = sizes.setdefault(name, [])
            with torch.autograd.graph.saved_tensors_hooks(lambda t, k=kept: k.append(t.numel()) or t, lambda t: t):
                run(x)
        for a, b in zip(self.gradients(network, module, x), wanted):
            self.assertTrue(torch.equal(a, b))
        with self.refused(CaptureError, "does not fit Linear"):
            torchsegments.with_segments(nn.Linear(3, 3), written)
        with self.refused(CaptureError, "retrograde-checkpoint-segments/1"):
            torchsegments.with_segments(network, {"format": "other"})

    def test_policy(self):
        network, x = Pictures(), torch.randn(2, 3, 12, 12)
        written = self.planned(network, x).write_policy(self.folder / "policy.json")
        self.assertEqual({decision for _, decision in written["calls"]}, {"save", "recompute"})
        if not hasattr(torch.utils.checkpoint, "create_selective_checkpoint_contexts"):
            with self.refused(CaptureError, "selective", "2.4"):
                torchsegments.policy(written)
            return
        contexts, plain = torchsegments.policy(self.folder / "policy.json"), copy.deepcopy(network)
        checkpoint = torch.utils.checkpoint.checkpoint
        found = self.gradients(network, lambda x: checkpoint(network, x, use_reentrant=False, context_fn=contexts), x)
        for a, b in zip(found, self.gradients(plain, plain, x)):
            self.assertTrue(torch.equal(a, b))
        with self.refused(CaptureError, "the policy has", "again"):
            checkpoint(nn.Linear(12, 2), x, use_reentrant=False, context_fn=contexts)


def tensors_of(result):
    return list(result.values()) if isinstance(result, dict) else [result]


if __name__ == "__main__":
    capturing.run()
