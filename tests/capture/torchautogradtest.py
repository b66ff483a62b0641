# SPDX-License-Identifier: Apache-2.0
"""torchautograd.py: one run operator by operator, with the tensors that autograd saves."""
import capturing

numpy, torch = capturing.need("numpy", "torch")
from retrograde.capture import client as retrograde
from retrograde.capture import torchautograd
from retrograde.capture import torchstate
from retrograde.capture.graphjson import CaptureError
from torch import nn
from torchcheckpointtest import Pictures


def saved_bytes(module, x):
    """What autograd holds, without parameters and inputs, as its hooks see it."""
    own = {torchstate.storage_of(one) for one in [*module.parameters(), *module.buffers(), x]}
    found = {}

    def pack(tensor):
        if torchstate.storage_of(tensor) not in own:
            found[torchstate.storage_of(tensor)] = tensor
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda one: one):
        result = module(x)
    total = sum(torchstate.bytes_of(one) for one in found.values())
    del result
    return total


def stated_bytes(graph):
    """The same, as the capture states it: memory that several values share counts once."""
    given = {value["storage"] for name, value in graph.values.items() if "constant" in value or name in graph.inputs}
    kept = {}
    for node in graph.nodes:
        for places, names in ((node["saves_inputs"], node["inputs"]), (node["saves_outputs"], node["outputs"])):
            for value in (graph.values[names[i]] for i in places):
                if value["storage"] not in given:
                    kept[value["storage"]] = max(kept.get(value["storage"], 0), value["bytes"])
    return sum(kept.values())


class Autograd(capturing.Case):
    def test_saved_tensors_are_those_that_autograd_holds(self):
        torch.manual_seed(0)
        for network, x in ((Pictures(2), torch.randn(2, 3, 12, 12)),
                           (nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.LayerNorm(8), nn.GELU(), nn.Linear(8, 2)),
                            torch.randn(5, 4)),
                           (nn.Sequential(nn.Conv1d(2, 4, 3), nn.Sigmoid(), nn.MaxPool1d(2), nn.Softmax(1)),
                            torch.randn(2, 2, 12))):
            graph = torchautograd.capture(network, x)
            self.assertEqual(stated_bytes(graph), saved_bytes(network, x))
            self.assertEqual(len(graph.outputs), 1)
            self.assertIn(retrograde.plan(graph, parameters=True)[0]["status"], ("optimal", "feasible"))

    def test_operators_scopes_and_the_names_of_gradients(self):
        graph = torchautograd.capture(nn.Sequential(nn.Linear(4, 8), nn.ReLU()), torch.randn(5, 4))
        self.assertEqual([node["op"] for node in graph.nodes if node["op"] != "t"], ["addmm", "relu"])
        product = next(node for node in graph.nodes if node["op"] == "addmm")
        self.assertEqual((product["scope"], product["metadata"]["gradient"]), ("0", "AddmmBackward0"))
        self.assertEqual(product["flops"], 2 * 5 * 8 * 4)
        relu = graph.nodes[-1]
        self.assertEqual((relu["saves_inputs"], relu["saves_outputs"]), ([], [0]))

    def test_a_training_step_with_times_leaves_no_trace(self):
        torch.manual_seed(1)
        network, x = Pictures(2), torch.randn(2, 3, 12, 12)
        state = ({name: one.clone() for name, one in network.state_dict().items()}, torch.get_rng_state())
        graph = torchautograd.capture(network, x, step=True, measure=2, path=self.folder / "step.json")
        for name, one in network.state_dict().items():
            self.assertTrue(torch.equal(one, state[0][name]), name)
        self.assertTrue(torch.equal(torch.get_rng_state(), state[1]))
        self.assertTrue(all(one.grad is None for one in network.parameters()))
        self.assertFalse(any(one._forward_hooks or one._forward_pre_hooks for one in network.modules()))
        self.assertEqual({node["phase"] for node in graph.nodes}, {"forward", "backward"})
        self.assertEqual(len(graph.outputs), 1 + len(list(network.parameters())))
        self.assertIn("convolution_backward", [node["op"] for node in graph.nodes])
        answer = retrograde.analyze(self.folder / "step.json")
        self.assertEqual(answer["cost_unit"], "ms")
        self.assertIn(retrograde.plan(self.folder / "step.json")[0]["status"], ("optimal", "feasible"))

    def test_control_flow_functions_and_operators_in_place(self):
        def function(x):
            for _ in range(int(x.sum().item()) % 3 + 1):
                x = x * 2
            return x.add_(1)

        graph = torchautograd.capture(function, torch.ones(4))
        self.assertEqual([node["op"] for node in graph.nodes if node["op"] in ("mul", "add_")], ["mul", "mul", "add_"])
        self.assertFalse(graph.nodes[-1]["recomputable"])
        values = [graph.values[one]["storage"] for one in (graph.nodes[-1]["inputs"][0], graph.nodes[-1]["outputs"][0])]
        self.assertEqual(values[0], values[1])
        path = self.folder / "f.json"
        graph.write(path)
        with self.refused(retrograde.RetrogradeError, "torch"):
            retrograde.explain(path, numpy.ones(4, numpy.float32))

    def test_refusals(self):
        with self.refused(CaptureError, "requires_grad"):
            torchautograd.capture(lambda x: x * 2, torch.ones(2), step=True)
        with self.refused(CaptureError, "int cannot be called"):
            torchautograd.capture(3)
        calls = []
        with self.refused(CaptureError, "measure=1"):
            torchautograd.capture(lambda x: calls.append(1) or (x * 2 if len(calls) % 2 else -x), torch.ones(2), measure=2)


if __name__ == "__main__":
    capturing.run()
