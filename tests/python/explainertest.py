# SPDX-License-Identifier: Apache-2.0
"""The explanation as a model, from the command line: what --check says, and the graph in onnxruntime."""
import json
import os
import subprocess
import sys
import unittest

from module import PICTURE, SAMPLE, Case, numpy

try:
    import onnxruntime
except ImportError:
    onnxruntime = None


class Explainer(Case):
    def written(self, *options):
        """The graph of the sample, and what is said of it."""
        import retrograde_programs
        path = self.folder / "explainer.onnx"
        command = [retrograde_programs.path("retrograde-cli"), "explain", SAMPLE, "--graph-out", path, "--composite",
                   "epsilon_plus", *options, "--json"]
        done = subprocess.run([str(one) for one in command], capture_output=True, text=True, check=False,
                              env={**os.environ, "RETROGRADE_PYTHON": sys.executable})
        return path, done

    def test_a_check_has_bounds_and_names_the_other_runtime(self):
        _, done = self.written("--check", "--input", PICTURE)
        self.assertEqual(done.returncode, 0 if onnxruntime else 1, done.stderr)
        self.assertEqual("install onnxruntime" in done.stderr, onnxruntime is None)
        said = json.loads(done.stdout)
        self.assertTrue(said["holds"])
        self.assertLessEqual(said["difference"]["relevance/image"], said["bound"]["relevance/image"])
        self.assertEqual("onnxruntime" in said, onnxruntime is not None)
        _, done = self.written("--check", "--precision", "double")
        said = json.loads(done.stdout)
        self.assertEqual(said["bound"]["relevance/image"], 1e-9)
        self.assertNotIn("onnxruntime", said)

    def test_every_sample_is_checked_without_an_input(self):
        import retrograde_programs
        graph = self.folder / "sample.onnx"
        for model in sorted(SAMPLE.parents[1].glob("*/*.onnx")):
            graph.unlink(missing_ok=True)
            # The sentences have up to 16 words, so more than one length would do.
            shape = ("--shape", "tokens=?x16") if model.parent.name == "planted-word" else ()
            done = subprocess.run([str(one) for one in (retrograde_programs.path("retrograde-cli"), "explain", model,
                                                        "--graph-out", graph, "--check", "--json", *shape)],
                                  capture_output=True, text=True, check=False,
                                  env={**os.environ, "RETROGRADE_PYTHON": sys.executable})
            if model.stem.startswith("lut"):  # a table is no operator of the standard
                self.assertEqual((done.returncode, graph.exists()), (3, False), model)
                self.assertIn("node 'lut1' (LUT)", done.stderr)
                continue
            self.assertEqual(done.returncode, 0 if onnxruntime else 1, f"{model}: {done.stdout} {done.stderr}")
            self.assertTrue(json.loads(done.stdout)["holds"], model)

    def test_such_a_file_says_what_it_is(self):
        path, _ = self.written("--target", "2", "--target", "argmax")
        said = json.loads(self.command("info", path, "--json"))["explanation"]
        self.assertIn("under epsilon_plus from", said)
        self.assertIn(":2,argmax", said)
        self.assertNotIn("explanation", json.loads(self.command("info", SAMPLE, "--json")))

    @unittest.skipIf(onnxruntime is None, "no onnxruntime")
    def test_indices_are_chosen_when_it_runs(self):
        path, _ = self.written()
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        x = numpy.concatenate([self.picture()] * 3)
        given = {"image": x, "target": numpy.array([1, -1, 99])}
        found, started = session.run(["relevance/image", "rg.started"], given)
        self.assertTrue(numpy.isnan(found[2]).all())
        self.assertTrue(numpy.isnan(started))
        for sample, target in ((0, 1), (1, "argmax")):
            ours = self.model.explain(x[:1], target=target, composite="epsilon_plus")["image"]
            numpy.testing.assert_allclose(found[sample], ours[0], atol=2e-5 * abs(ours).max())


if __name__ == "__main__":
    unittest.main(verbosity=1)
