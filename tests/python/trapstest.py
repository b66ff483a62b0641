# SPDX-License-Identifier: Apache-2.0
"""What people expect who come from captum and zennit: targets of a batch, names of modules, many inputs, files."""
import os
import pickle
import unittest
import unittest.mock
import warnings

from module import PICTURE, ROOT, SAMPLE, Case, numpy, rg


class Targets(Case):
    def test_an_array_is_a_class_for_each_sample(self):
        x = numpy.repeat(self.picture(), 3, axis=0)
        run = self.model.explain(x, target=numpy.array([2, 0, 1]), composite="epsilon")
        self.assertEqual(run.target[1], [2, 0, 1])
        for sample, target in enumerate((2, 0, 1)):
            alone = self.model.explain(x[:1], target=target, composite="epsilon")["image"]
            numpy.testing.assert_allclose(run["image"][sample], alone[0], atol=1e-6)
        many = self.model.explain(x[:1], target=[2, 0], composite="epsilon")
        self.assertEqual([one["index"] for one in many.summary["target"]], [2, 0])

    def test_as_many_as_samples(self):
        with self.refused(rg.UsageError, 2, "3 were given for 1", "a list of numbers"):
            self.model.explain(self.picture(), target=numpy.array([2, 0, 1]))
        self.assertEqual(self.model.explain(self.picture(), target=numpy.array(1)).target[1], [1])

    def test_a_condition_keeps_the_class(self):
        name = self.model.value("stem.relu")
        run = self.model.explain(PICTURE, target=1, composite="epsilon", condition=f"{name}:axis=1:3")
        self.assertEqual((run.target[0], run.target[1]), (self.model.outputs[0], [1]))


class Names(Case):
    def test_modules_name_values(self):
        run = self.model.explain(PICTURE, composite="epsilon", checkpoint="stem.relu")
        name = "/stem/relu/Relu_output_0"
        self.assertEqual(self.model.value("stem.relu"), name)
        numpy.testing.assert_array_equal(run["stem.relu"], run[name])
        self.assertEqual(list(run.checkpoints), [name])
        self.assertEqual(run.history("stem.relu", (0, 0, 0, 0))["rows"], run.history(name, (0, 0, 0, 0))["rows"])
        with self.assertRaisesRegex(KeyError, "stem.relu"):
            run["stem.rellu"]
        self.assertNotIn("stem.relu", run.relevance)

    def test_scopes_with_a_slash_and_with_dots(self):
        def under(scope):
            return self.model.explain(PICTURE, composite="epsilon", rule=[f"scope:{scope}&op:Conv=z-plus"])["image"]
        plain = self.model.explain(PICTURE, composite="epsilon")["image"]
        for scope, as_module in (("block1", "/block1"), ("block1/first", "block1.first")):
            self.assertFalse(numpy.array_equal(under(scope), plain), scope)
            numpy.testing.assert_array_equal(under(scope), under(as_module))


class BatchNorm(Case):
    def test_no_merge_without_effect_is_said(self):
        without = ROOT / "samples/planted-word/planted-word.onnx"
        for options in ({"no_merge_batchnorm": True}, {"no_rewrite": "merge-batchnorm"}):
            with self.assertWarnsRegex(UserWarning, "no BatchNorm"):
                rg.load(without, **options)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                rg.load(SAMPLE, **options)


class Files(Case):
    def test_pictures_of_every_kind_are_read(self):
        folder = ROOT / "tests/data/pictures"
        expected = self.model.explain(str(folder / "solid.png"), inputs_only=True).inputs["image"]
        jpeg = self.model.explain(str(folder / "print.jpg"), inputs_only=True).inputs["image"]
        self.assertLess(abs(jpeg - expected).max(), 0.1)
        try:
            found = self.model.explain(str(folder / "solid.webp"), inputs_only=True).inputs["image"]
        except rg.InputError as error:
            self.assertIn("Leptonica", str(error))
        else:
            numpy.testing.assert_array_equal(found, expected)

    def test_an_archive_gives_the_array_of_the_input(self):
        x = self.picture()
        numpy.savez(self.folder / "two.npz", image=x, other=x[:, :1])
        numpy.testing.assert_array_equal(self.model.explain(self.folder / "two.npz", inputs_only=True).inputs["image"], x)
        numpy.savez(self.folder / "wrong.npz", a=x, b=x)
        with self.refused(rg.InputError, 3, "a, b", "'image'"):
            self.model.explain(self.folder / "wrong.npz")

    def test_a_saved_run_is_opened(self):
        run = self.model.explain(PICTURE, composite="epsilon_plus", target="lamp")
        opened = rg.open(run.save(self.folder / "a.retro"))
        for name in run.relevance:
            numpy.testing.assert_array_equal(opened[name], run[name], name)
        numpy.testing.assert_array_equal(opened.inputs["image"], run.inputs["image"])
        self.assertEqual((opened.target, opened.composite, opened.labels), (run.target, run.composite, run.labels))
        self.assertEqual(opened.audit(), run.audit())
        self.assertEqual(opened.visits(), run.visits())
        self.assertTrue(run.compare(opened)["agree"])
        self.assertEqual(repr(opened), repr(run))
        self.assertIn("<img", opened._repr_html_())
        self.assertEqual(rg.open(self.folder / "a.retro", self.model)["stem.relu"].shape, run["stem.relu"].shape)
        with self.refused(rg.UsageError, 2, "retrograde-cli diagnose"):
            opened.diagnose()
        with self.refused(rg.InputError, 3, "jug-tagged.png"):
            rg.open(PICTURE)

    def test_the_heatmap_is_that_of_the_command_line(self):
        run = self.model.explain(PICTURE, composite="epsilon_plus")
        file = run.save(self.folder / "a.retro")
        self.command("export", file, "heatmap", "--out", self.folder / "theirs.png", "--overlay")
        run.heatmap(self.folder / "ours.png", overlay=True)
        self.assertEqual((self.folder / "ours.png").read_bytes(), (self.folder / "theirs.png").read_bytes())
        run.heatmap(self.folder / "ours.svg")
        with self.refused(rg.UsageError, 2, "record"):
            self.model.explain(PICTURE, record=False).heatmap(self.folder / "none.png")

    def test_models_and_runs_are_pickled(self):
        model = pickle.loads(pickle.dumps(self.model))
        self.assertEqual((repr(model), model.labels), (repr(self.model), self.model.labels))
        for record in (True, False):
            run = self.model.explain(PICTURE, composite="epsilon_plus", record=record)
            numpy.testing.assert_array_equal(model.explain(PICTURE, composite="epsilon_plus")["image"], run["image"])
            sent = pickle.loads(pickle.dumps(run))
            numpy.testing.assert_array_equal(sent["image"], run["image"])
            self.assertEqual((sent.target, sent.summary, sent.is_recorded, repr(sent)),
                             (run.target, run.summary, record, repr(run)))
            if record:
                self.assertEqual(sent.audit(), run.audit())


class Many(Case):
    def test_a_folder_a_generator_and_pairs(self):
        folder = ROOT / "samples/clever-hans"
        runs = list(self.model.each(folder, composite="epsilon_plus", record=False))
        self.assertEqual([run.name for run in runs], sorted(path.name for path in folder.glob("*.png")))
        x = self.picture()
        pairs = list(self.model.each(((one, 3) for one in (x, x)), composite="epsilon_plus"))
        self.assertEqual([run.name for run in pairs], ["0", "1"])
        numpy.testing.assert_array_equal(pairs[0]["image"], self.model.explain(x, composite="epsilon_plus")["image"])
        rows = rg.table(runs)
        self.assertEqual(len(rows), len(runs))
        self.assertEqual(rows[0]["label"], self.model.labels[rows[0]["target"]])
        self.assertAlmostEqual(rows[0]["reached"], float(rows[0]["relevance"].sum(dtype=float)), places=6)
        with self.refused(rg.UsageError, 2, "model.each"):
            self.model.explain(folder)
        with self.refused(rg.InputError, 3, "no inputs"):
            list(self.model.each(self.folder))
        seen = []
        list(self.model.each([x], progress=lambda *what: seen.append(what)))
        self.assertEqual(seen, [("inputs", 1, 1)])

    def test_processes_give_the_same(self):
        x = self.picture()
        alone = list(self.model.each([x, x[..., ::-1].copy(), x], composite="epsilon"))
        shared = list(self.model.each([x, x[..., ::-1].copy(), x], composite="epsilon", jobs=2))
        for one, other in zip(alone, shared):
            numpy.testing.assert_allclose(one["image"], other["image"], atol=1e-7)
        self.assertEqual([run.name for run in shared], ["0", "1", "2"])


class Keywords(Case):
    def test_they_are_those_of_the_table(self):
        import subprocess
        import sys
        done = subprocess.run([sys.executable, ROOT / "resources/writekeywords.py", "--check"], capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_mypy_knows_them(self):
        try:
            from mypy import api
        except ImportError:
            self.skipTest("there is no mypy")
        page = self.folder / "page.py"
        page.write_text('import retrograde as rg\nmodel = rg.load("a.onnx", no_fold=True)\n'
                        'model.explain("a.png", inputs_only=True, rule=["op:Conv=flat"])\n'
                        'model.explain("a.png", inputs_onyl=True)\nmodel.explain("a.png", inputs_only="yes")\n'
                        'rg.open("a.retro").heatmap("a.png", overlay=True)\n')
        with unittest.mock.patch.dict("os.environ", MYPYPATH=os.path.dirname(os.path.dirname(rg.__file__))):
            said = api.run([str(page), "--ignore-missing-imports", "--cache-dir", str(self.folder / "cache")])[0]
        self.assertIn('"inputs_onyl"', said)
        self.assertEqual([line.split(":")[1] for line in said.splitlines() if "error:" in line and "page.py" in line],
                         ["4", "5"], said)


class Programs(Case):
    def test_check_asks_the_python_of_the_module(self):
        import sys

        import retrograde_programs
        self.assertEqual(retrograde_programs.environment({})["RETROGRADE_PYTHON"], sys.executable)
        own = {"RETROGRADE_PYTHON": "another"}
        self.assertEqual(retrograde_programs.environment(own)["RETROGRADE_PYTHON"], "another")


class Words(Case):
    def test_every_object_says_what_it_is(self):
        run = self.model.explain(PICTURE, composite="epsilon_plus")
        composite = rg.Composite("mine").add("flat", op="Conv").add("epsilon")
        self.assertEqual(repr(composite), "<retrograde.Composite mine: flat, epsilon>")
        for one in (self.model, run, run.relevance, composite):
            self.assertRegex(repr(one), r"^<\S+ .*>$")


if __name__ == "__main__":
    unittest.main()
