# SPDX-License-Identifier: Apache-2.0
"""Captures that newer PyTorch and JAX made (tests/data/captures, by record.py) are read, run with the results that they
had there, and planned for."""
import base64
import json

import capturing

numpy = capturing.need("numpy")
from retrograde.capture import client as retrograde

FOLDER = capturing.ROOT / "tests/data/captures"


def array_of(field):
    return numpy.frombuffer(base64.b64decode(field["data"]), field["dtype"]).reshape(field["shape"])


class Recorded(capturing.Case):
    def test_they_run_and_are_planned_for(self):
        files = sorted(FOLDER.glob("*.json"))
        self.assertGreaterEqual(len(files), 4)
        for file in files:
            document = json.loads(file.read_text(encoding="utf-8"))
            with self.subTest(file=file.name, made_by=document["made_by"]):
                path = self.folder / file.name
                path.write_text(json.dumps(document["graph"]))
                self.assertIn(retrograde.plan(path)[0]["status"], ("optimal", "feasible"))
                if document["outputs"]:
                    self.assert_equal_run(path, document)

    def assert_equal_run(self, path, document):
        given = []
        for name, field in document["inputs"].items():
            numpy.save(self.folder / f"{name}.npy", array_of(field))
            given += ["--input", f"{name}={self.folder / name}.npy"]
        answer = retrograde.call("run", path, *given, "--output-dir", self.folder / path.stem)
        self.assertEqual(len(answer["outputs"]), len(document["outputs"]))
        for found, wanted in zip(answer["outputs"], document["outputs"]):
            numpy.testing.assert_allclose(numpy.load(found["file"]), array_of(wanted), atol=2e-6, rtol=1e-4)

    def test_a_training_step_has_both_phases(self):
        document = json.loads((FOLDER / "jax-step.json").read_text(encoding="utf-8"))
        self.assertEqual({node["phase"] for node in document["graph"]["nodes"]}, {"forward", "backward"})
        path = self.folder / "step.json"
        path.write_text(json.dumps(document["graph"]))
        answer = retrograde.analyze(path)
        self.assertGreater(answer["operators"], 50)


if __name__ == "__main__":
    capturing.run()
