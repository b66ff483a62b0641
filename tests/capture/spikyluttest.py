# SPDX-License-Identifier: Apache-2.0
"""spikylut.py: layers with the parts of spiky's, filled from the recorded cases, give the recorded outputs."""
import json

import capturing

numpy, torch = capturing.need("numpy", "torch")
from retrograde.capture import client as retrograde
from retrograde.capture import spikylut
from retrograde.capture import torchcapture
from retrograde.capture.graphjson import CaptureError
from torch import nn

CASES = sorted((capturing.ROOT / "tests/data/golden/lut").glob("*.json"))


class SpikyLayer(nn.Module):
    """The parts of spiky's LUTLayer that are read, laid out as spiky lays them out, holding a recorded case. spiky
    itself cannot be installed here; its numbers are those of the case."""

    def __init__(self, case):
        super().__init__()
        self.case, self._lut_dm, self._is_fully_connected = case, None, case["mode"].startswith("fc")
        self._forward_group_size, self._backward_group_size = 3, 2
        self._detector_anchors = torch.tensor(case["anchors"], dtype=torch.int64).to(torch.int32).flatten()
        self._weights = nn.Parameter(torch.tensor(case["weights"], dtype=torch.float32).flatten())
        codes = torch.tensor(case["pe"], dtype=torch.float32).flatten() if case["S"] > 1 else None
        self._positional_embeddings = nn.Parameter(codes) if case["S"] > 1 else None

    def n_inputs(self):
        return self.case["I"]

    def n_outputs(self):
        return self.case["O"]

    def n_detectors(self):
        return self.case["T"]

    def n_anchors_per_detector(self):
        return self.case["C"]

    def sequence_length(self):
        return self.case["S"]

    def get_lookup_neuron_ids(self):
        return torch.arange(self.case["T"] * self.case["rows_per_table"], dtype=torch.int32)

    def get_output_neuron_ids(self):
        return torch.arange(self.case["O"], dtype=torch.int32) + self.case["T"] * self.case["rows_per_table"]

    def _count_synapses(self, ids):
        return len(self.case["col"])

    def _export_synapses(self, ids, source_ids, weights, target_ids, synapse_metas=None):
        starts = self.case["row_ptr"]
        rows = [row for row in range(len(starts) - 1) for _ in range(starts[row], starts[row + 1])]
        order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(0))  # spiky promises no order
        source_ids[:] = torch.tensor(rows, dtype=torch.int32)[order]
        target_ids[:] = (torch.tensor(self.case["col"]) + len(starts) - 1).to(torch.int32)[order]
        weights[:] = self._weights.detach()[order]

    def forward(self, x):
        """The recorded output: what a run of spiky would give."""
        shape = (self.case["B"], self.case["S"], self.case["O"])
        return torch.tensor(self.case["forward"]["output"], dtype=torch.float32).reshape(shape)


def knows_the_operator():
    return any((one["domain"], one["operator"]) == ("ai.retrograde", "LUT") for one in retrograde.call("ops"))


class Layers(capturing.Case):
    def cases(self):
        self.assertEqual(len(CASES), 8)
        for path in CASES:
            case = json.loads(path.read_text())
            x = numpy.asarray(case["x"], numpy.float32).reshape(case["B"], case["S"], case["I"])
            yield path.stem, case, x

    def test_cases_written_from_layers_give_the_recorded_outputs(self):
        for name, case, x in self.cases():
            with self.subTest(case=name):
                path = self.folder / f"{name}.json"
                written = spikylut.write_case(SpikyLayer(case), x, path, case["forward"]["output"])
                self.assertEqual(written["mode"], case["mode"])
                self.assertTrue(retrograde.call("lut", path))
                written["forward"]["output"][-1] += 1
                path.write_text(json.dumps(written))
                with self.refused(retrograde.RetrogradeError, "lut"):
                    retrograde.call("lut", path)

    def test_the_operator_gives_the_recorded_outputs(self):
        if not knows_the_operator():
            self.skipTest("this retrograde-cli has no operator LUT yet")
        for name, case, x in self.cases():
            with self.subTest(case=name):
                wanted = numpy.asarray(case["forward"]["output"]).reshape(case["B"], case["S"], case["O"])
                numpy.save(self.folder / "x.npy", x)
                path = self.folder / f"{name}.json"
                spikylut.write(SpikyLayer(case), path)
                self.assert_outputs(path, wanted)
                torchcapture.capture(nn.Sequential(SpikyLayer(case), nn.ReLU()), torch.from_numpy(x), path=path)
                self.assert_outputs(path, numpy.maximum(wanted, 0))

    def assert_outputs(self, path, wanted):
        answer = retrograde.call("run", path, "--input", self.folder / "x.npy", "--output-dir", self.folder / "out")
        found = numpy.load(answer["outputs"][0]["file"])
        numpy.testing.assert_allclose(found, wanted, atol=1e-5, rtol=1e-5)

    def test_a_network_with_a_layer_is_captured(self):
        case = json.loads(CASES[0].read_text())
        x = torch.tensor(case["x"], dtype=torch.float32).reshape(case["B"], 1, case["I"])
        graph = torchcapture.capture(nn.Sequential(nn.Identity(), SpikyLayer(case), nn.ReLU()), x)
        node = next(one for one in graph.nodes if one["op"] == "LUT")
        self.assertEqual((node["domain"], node["scope"], graph.opsets["ai.retrograde"]), ("ai.retrograde", "1", 1))
        self.assertEqual(node["attributes"]["forward_group"], {"int": 3})
        self.assertIn(retrograde.analyze(graph)["operators"], (3, 4))

    def test_shared_codes_are_repeated(self):
        case = next(case for _, case, _ in self.cases() if case["mode"] == "fc_seq" and case["T"] > 1)
        layer = SpikyLayer(case)
        layer._unified_positional_embeddings, layer._positional_dim = True, case["P"]
        layer._positional_embeddings = nn.Parameter(torch.rand((case["S"] - 1) * case["P"]))
        codes = spikylut.layer_of(layer).codes
        self.assertEqual(codes.shape, (case["S"] - 1, case["T"], case["P"]))
        numpy.testing.assert_array_equal(codes[:, 0], codes[:, -1])

    def test_refusals_by_name(self):
        case = next(case for _, case, _ in self.cases() if case["mode"] == "fc_seq")

        def refused(*words, **parts):
            layer = SpikyLayer(case)
            for name, value in parts.items():
                setattr(layer, name, value)
            with self.refused(CaptureError, *words):
                spikylut.layer_of(layer)

        refused("compile_lut()", _weights=None)
        refused("anchors", "initialize_detectors", _detector_anchors=torch.zeros(1))
        refused("sinusoidal", _use_sinusoidal_pe=True)
        refused("threshold", _cmp_eps=1e-4)
        refused("integers", _summation_dtype="torch.int32")
        product = case["T"] * 2 ** case["C"] * case["O"]
        refused("product of positions", _weights=nn.Parameter(torch.zeros(product)))
        refused("December 2025", _positional_embeddings=nn.Parameter(torch.zeros(case["T"] * (case["S"] - 1) * case["P"] + 1)))


if __name__ == "__main__":
    capturing.run()
