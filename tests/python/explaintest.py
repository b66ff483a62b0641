# SPDX-License-Identifier: Apache-2.0
"""Explaining in the process: the bits of the command line, arrays, memory, errors, Ctrl+C."""
import gc
import json
import os
import signal
import subprocess
import sys
import threading
import time
import unittest
import unittest.mock

from module import PICTURE, SAMPLE, Case, numpy, rg


def resident():
    """Bytes of this process in memory."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Numbers(Case):
    def test_every_value_has_the_bits_of_the_command_line(self):
        for composite, engine in (("epsilon_plus", "promise"), ("gradient_x_input", "promise"), ("epsilon", "oracle"),
                                  ("epsilon_gamma_box:low=-2,high=2", "compiled")):
            with self.subTest(composite=composite, engine=engine):
                out = self.folder / composite.split(":")[0]
                self.command("explain", SAMPLE, "--input", PICTURE, "--composite", composite, "--engine", engine,
                             "--output-dir", out)
                run = self.model.explain(PICTURE, composite=composite, engine=engine)
                files = {path.stem: path for path in (out / "relevance").glob("*.npy")}
                self.assertEqual(len(files), len(run.relevance))
                for name in run.relevance:
                    written = numpy.load(files[name.replace("/", "_").replace(":", "_")])
                    self.assertEqual(written.tobytes(), numpy.ascontiguousarray(run[name]).tobytes(), name)

    def test_hidden_values_are_those_of_the_command_line(self):
        out = self.folder / "values"
        self.command("run", SAMPLE, "--input", PICTURE, "--output-dir", out, "--values", "stem.*")
        found = self.model.run(PICTURE, values=["stem.relu", "stem.*"])
        files = {path.stem: path for path in (out / "values").glob("*.npy")}
        self.assertEqual(len(files), 4)
        for name in found:
            written = files.get(name.replace("/", "_"))
            if written is not None:
                self.assertEqual(numpy.load(written).tobytes(), numpy.ascontiguousarray(found[name]).tobytes(), name)
        self.assertIn("/stem/relu/Relu_output_0", found)
        self.assertEqual(list(self.model.run(PICTURE)), self.model.outputs)
        with self.assertRaisesRegex(rg.UsageError, "stem.relu"):
            self.model.run(PICTURE, values="stem.rellu")

    def test_nothing_is_saved_over_the_model_or_its_input(self):
        model, picture = self.folder / "m.onnx", self.folder / "p.png"
        model.write_bytes(SAMPLE.read_bytes())
        picture.write_bytes(PICTURE.read_bytes())
        run = rg.load(model).explain(str(picture))
        for path in (model, picture):
            with self.assertRaisesRegex(rg.UsageError, "would be written over"):
                run.save(path)
        self.assertEqual(model.read_bytes(), SAMPLE.read_bytes())
        self.assertEqual(picture.read_bytes(), PICTURE.read_bytes())

    def test_a_second_call_and_double_have_them_too(self):
        x = self.picture()
        first, second = (self.model.explain(x, composite="epsilon_plus") for _ in range(2))
        numpy.testing.assert_array_equal(first["image"], second["image"])
        double = self.model.explain(x, composite="epsilon_plus", precision="double")
        self.assertEqual(double["image"].dtype, numpy.float64)
        numpy.testing.assert_allclose(double["image"], first["image"], atol=1e-6)

    def test_a_batch_is_its_samples(self):
        x = self.picture()
        both = self.model.explain(numpy.concatenate([x, x[:, :, ::-1].copy()]), composite="epsilon_plus")
        self.assertEqual(both["image"].shape, (2, 3, 96, 96))
        self.assertEqual(len(both.target[1]), 2)
        alone = self.model.explain(x, composite="epsilon_plus")["image"]
        numpy.testing.assert_allclose(both["image"][:1], alone, atol=1e-6)

    def test_bytes_and_a_card_are_the_file(self):
        same = rg.load(SAMPLE.read_bytes(), card=SAMPLE.parent / "clever-hans.card.json"
                       if (SAMPLE.parent / "clever-hans.card.json").exists() else None)
        x = self.picture()
        numpy.testing.assert_array_equal(same.explain(x, composite="epsilon", target=1)["image"],
                                         self.model.explain(x, composite="epsilon", target=1)["image"])

    def test_options_are_those_of_the_command_line(self):
        x = self.picture()
        run = self.model.explain(x, composite="epsilon", rule=["op:Conv=gamma:gamma=0.1"], parameters=True,
                                 checkpoint="/block1/Add_output_0", target=[0, 2], start="one")
        self.assertIn("/block1/Add_output_0", run.checkpoints)
        self.assertTrue(run.parameters)
        self.assertIn("rule", rg.options())
        self.assertIn("shape", rg.options(of_model=True))
        mine = rg.Composite("mine").add("gamma", gamma=0.1, op="Conv").add("epsilon", structure="linear map")
        mine.add("gradient")
        self.assertEqual(self.model.explain(x, composite=mine).composite, "mine")

    def test_a_start_as_an_array(self):
        x = self.picture()
        one = self.model.explain(x, composite="gradient", target=2, start="one")
        given = numpy.zeros((1, 6), numpy.float32)
        given[0, 2] = 1
        numpy.testing.assert_array_equal(self.model.explain(x, composite="gradient", target=2, start=given)["image"],
                                         one["image"])


class Arrays(Case):
    def test_results_are_read_only_views_that_outlive_everything(self):
        run = self.model.explain(PICTURE, composite="epsilon_plus")
        view, again = run["image"], run["image"]
        self.assertTrue(numpy.shares_memory(view, again))
        self.assertFalse(view.flags.writeable)
        before = view.copy()
        del run, again
        self.model = None
        gc.collect()
        numpy.testing.assert_array_equal(view, before)

    def test_inputs_are_copied_unless_asked_not_to(self):
        x = self.picture()
        kept = self.model.explain(x, composite="epsilon")
        lent = self.model.explain(x, composite="epsilon", copy=False)
        self.assertFalse(numpy.shares_memory(kept.inputs["image"], x))
        self.assertTrue(numpy.shares_memory(lent.inputs["image"], x))
        before = x.copy()
        x[:] = 0
        numpy.testing.assert_array_equal(kept.inputs["image"], before)
        self.assertEqual(float(numpy.abs(lent.inputs["image"]).max()), 0)

    def test_any_strides_and_types_are_read(self):
        x = self.picture()
        expected = self.model.explain(x, composite="epsilon")["image"]
        last = numpy.ascontiguousarray(x.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)
        backwards = x[:, :, ::-1, ::-1].copy()[:, :, ::-1, ::-1]
        for one in (last, backwards, numpy.asfortranarray(x), x.astype(">f4"), x.astype(numpy.float64), [x]):
            for copy in (True, False):
                found = self.model.explain(one, composite="epsilon", copy=copy)["image"]
                numpy.testing.assert_allclose(found, expected, atol=1e-6)

    def test_tensors_of_another_library_come_by_dlpack(self):
        class Tensor:
            """Knows DLPack and nothing else."""

            def __init__(self, array):
                self.array = array

            def __dlpack__(self, **options):
                return self.array.__dlpack__(**options)

            def __dlpack_device__(self):
                return self.array.__dlpack_device__()
        x = self.picture()
        numpy.testing.assert_array_equal(self.model.explain(Tensor(x), composite="epsilon")["image"],
                                         self.model.explain(x, composite="epsilon")["image"])

    def test_ten_thousand_calls_take_no_memory(self):
        from retrograde.capture.graphjson import GraphWriter
        graph = GraphWriter("small")
        graph.add_input("x", "float32", (1, 300))
        graph.add_constant("w", numpy.ones((300, 300), numpy.float32))
        graph.add_value("y", "float32", (1, 300))
        graph.add_node("MatMul", ["x", "w"], ["y"])
        graph.set_outputs(["y"])
        model, x = rg.load(graph), numpy.ones((1, 300), numpy.float32)
        for _ in range(1000):
            model.explain(x, composite="epsilon", target=1)["x"]
        before = resident()
        for _ in range(10_000):
            model.explain(x, composite="epsilon", target=1)["x"]
        # 1 200 bytes of the input alone, kept by each call, would be 12 MB; arrays by them several times that.
        self.assertLess(resident() - before, 6e6)


class Records(Case):
    def test_the_ledger_is_that_of_the_command_line(self):
        run = self.model.explain(PICTURE, composite="epsilon_plus")
        path = run.save(self.folder / "run.retro")
        said = json.loads(self.command("audit", path, "--json"))
        for key, value in run.audit().items():
            self.assertEqual(said[key], value, key)
        self.assertAlmostEqual(run.audit()["start"], run.target[2][0], places=5)

    def test_what_may_be_wrong_is_what_the_command_line_finds(self):
        said = json.loads(self.command("diagnose", SAMPLE, "--input", PICTURE, "--json"))
        found = self.model.explain(PICTURE).diagnose()
        self.assertEqual([one["id"] for one in said["findings"]], [one["id"] for one in found["findings"]])

    def test_two_runs_part_where_they_do(self):
        a, b = (self.model.explain(PICTURE, composite=name) for name in ("epsilon_plus", "epsilon"))
        self.assertTrue(a.compare(a)["agree"])
        self.assertFalse(a.compare(b)["agree"])
        file = b.save(self.folder / "b.retro")
        self.assertEqual(a.compare(b)["parting"]["value"], a.compare(file)["parting"]["value"])

    def test_without_a_record_there_is_none(self):
        run = self.model.explain(PICTURE, record=False)
        for ask in (run.audit, lambda: run.save(self.folder / "x.retro"), lambda: run.compare(run)):
            with self.refused(rg.UsageError, 2, "record=True"):
                ask()

    def test_pictures_for_a_notebook(self):
        run = self.model.explain(PICTURE, composite="epsilon_plus")
        self.assertEqual(run._repr_png_()[:8], b"\x89PNG\r\n\x1a\n")
        self.assertIn("data:image/png;base64,", run._repr_html_())
        self.assertIn("reached the inputs", run._repr_html_())
        page = run.view(size=480, overlay=False)._repr_html_()
        self.assertEqual(page.count("width:480px"), 2)
        largest = numpy.abs(run["image"].sum(axis=1)).max()
        self.assertIn(f"<span>{largest:+.2g}</span>", page)  # of the colour bar
        self.assertNotEqual(page, run.view(size=480)._repr_html_())
        with self.refused(rg.UsageError, 2, "16 to 4096"):
            run.view(size=0)
        from retrograde import drawing
        pixels = drawing.photo_of(run.inputs["image"][0], run._native.preparation())
        self.assertEqual(pixels.shape, (96, 96, 3))
        numpy.testing.assert_allclose(pixels / 255, numpy.moveaxis(run.inputs["image"][0], 0, -1), atol=0.002)
        colours = drawing.colours(numpy.array([-1.0, 0.0, 1.0]))
        self.assertGreater(int(colours[0, 2]), int(colours[0, 0]))  # blue below zero
        self.assertGreater(int(colours[2, 0]), int(colours[2, 2]))  # red above
        self.assertGreater(int(colours[1].min()), 235)

    def test_targets_have_their_labels(self):
        x = self.picture()
        run = self.model.explain(x, target=["/block1/relu/Relu_output_0", 2, 1], composite="epsilon")
        shown = r"target /block1/relu/Relu_output_0 \(\S+\), logits lamp \(-\d\S+\), jug \(-\d\S+\)>$"
        self.assertRegex(repr(run), shown)
        batch = self.model.explain(numpy.concatenate([x] * 5), record=False)
        self.assertIn("logits mug (2.373), mug (2.373), mug (2.373), mug (2.373), …", batch._repr_html_())

    def test_the_window_shows_it(self):
        made = self.model.explain(PICTURE).show(screenshot=self.folder / "window.png", size="800x600")
        self.assertGreater(os.path.getsize(made), 1000)


class Refusals(Case):
    def test_errors_are_of_one_family_with_the_codes_of_the_command_line(self):
        x = self.picture()
        with self.refused(rg.InputError, 3, "nowhere.onnx"):
            rg.load("nowhere.onnx")
        with self.refused(rg.InputError, 3):
            rg.load(b"no model")
        with self.refused(rg.UsageError, 2, "torch.nn.Module", "float"):
            rg.load(3.5)
        with self.refused(rg.UsageError, 2, "known are", "go_on"):
            self.model.explain(x, frobnicate=1)
        with self.refused(rg.UsageError, 2, "promise, compiled, oracle"):
            self.model.explain(x, engine="none")
        with self.refused(rg.UsageError, 2, "nope"):
            self.model.explain(x, composite="nope")
        with self.refused(rg.UsageError, 2):
            self.model.explain(x, target=99)
        with self.refused(rg.InputError, 3):
            self.model.explain(x[:, :2])
        with self.refused(rg.UsageError, 2, "its inputs are image"):
            self.model.explain({"other": x})
        with self.refused(rg.EngineError, 4):
            self.model.explain(numpy.full_like(x, numpy.nan))
        with self.refused(rg.OutputError, 5):
            self.model.explain(x).save(self.folder / "no" / "such" / "folder.retro")
        with self.refused(rg.InputError, 3):
            self.model.explain(x.astype(numpy.complex64))
        with self.assertRaises(KeyError):
            self.model.explain(x)["nothing"]
        self.assertTrue(issubclass(rg.InputError, ValueError) and issubclass(rg.OutputError, OSError))


    def test_what_an_option_does_not_take_is_refused(self):
        x = self.picture()
        for name, given, words in (("precision", "half", "auto, float, double"), ("inputs_only", "no", "True or False"),
                                   ("engine", ["promise", "oracle"], "one value"), ("record", "no", "True or False"),
                                   ("copy", 2, "True or False"), ("progress", "no", "function"),
                                   ("target", [], "empty"), ("target", True, "target"),
                                   ("start", "two", "contrastive")):
            with self.subTest(option=name, given=given), self.refused(rg.UsageError, 2, words):
                self.model.explain(x, **{name: given})
        run = self.model.explain(x)
        for ask in (lambda: run.history("image", (0, 0, 0, 0), most=0), lambda: run.compare(3),
                    lambda: run.compare(run, tolerance=float("nan")), lambda: run.diagnose(run.audit()),
                    lambda: rg.set_threads(0), lambda: rg.set_threads(10**9), lambda: rg.load(SAMPLE, card="{}")):
            with self.refused(rg.UsageError, 2):
                ask()
        for ask in (lambda: rg.load(SAMPLE.read_bytes(), card="nowhere.json"),
                    lambda: self.model.picture(numpy.zeros((0, 5, 3), numpy.uint8))):
            with self.refused(rg.InputError, 3):
                ask()

    def test_without_a_display_the_window_is_not_started(self):
        run = self.model.explain(PICTURE)
        without = {name: value for name, value in os.environ.items()
                   if name not in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")}
        with unittest.mock.patch.dict(os.environ, without, clear=True), self.refused(rg.OutputError, 5, "no display"):
            run.show()

    def test_a_composite_may_have_any_name(self):
        x = self.picture()
        for name in ("../a/b", "名 前"):
            rules = rg.Composite(name).add("epsilon", structure="linear map").add("norm", structure="sum of operands")
            rules.add("norm", structure="average pool").add("winner-take-all", structure="max pool").add("pass")
            self.assertTrue(self.model.explain(x, composite=rules)["image"].any(), name)

    def test_classes_are_numbers_of_any_library(self):
        x = self.picture()
        expected = self.model.explain(x, target=3)["image"].tobytes()
        for target in (numpy.int64(3), numpy.array([3]), numpy.array(3), (3,), 3.0):
            self.assertEqual(self.model.explain(x, target=target)["image"].tobytes(), expected)

    def test_each_sample_may_have_a_class_of_its_own(self):
        x = self.picture()
        both = self.model.explain(numpy.concatenate([x, x]), target=["sample=0,class=1", "sample=1,class=2"])["image"]
        for i in range(2):
            alone = self.model.explain(x, target=i + 1)["image"]
            self.assertEqual(both[i].tobytes(), alone[0].tobytes())


class Running(Case):
    def test_progress_is_told_and_what_it_raises_comes_back(self):
        x, told = self.picture(), []
        self.model.explain(x, progress=lambda *one: told.append(one))
        self.assertTrue({stage for stage, *_ in told} & {"bind", "forward", "relevance"})

        class Enough(Exception):
            pass

        def stop(*_):
            raise Enough
        with self.assertRaises(Enough):
            self.model.explain(x, composite="epsilon", progress=stop)
        self.model.explain(x)  # and afterwards all is well

    def test_other_threads_run_meanwhile_and_explain_in_turn(self):
        x, done, failures = self.picture(), [], []

        def explain():
            try:
                for _ in range(5):
                    done.append(self.model.explain(x, composite="epsilon")["image"].tobytes())
            except BaseException as error:  # noqa: BLE001
                failures.append(error)
        threads = [threading.Thread(target=explain) for _ in range(3)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        self.assertEqual(failures, [])
        self.assertEqual((len(done), len(set(done))), (15, 1))

    def test_ctrl_c_ends_a_long_pass(self):
        x = numpy.concatenate([self.picture()] * 400)
        timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with self.assertRaises(KeyboardInterrupt):
            while True:  # until the signal comes
                self.model.explain(x, precision="double", record=False)
                time.sleep(0)
        timer.join()
        self.model.explain(x[:1])


class Imports(unittest.TestCase):
    def test_no_qt_and_no_torch_comes_with_it(self):
        code = ("import sys, retrograde as rg; rg.load; maps = open('/proc/self/maps').read(); "
                "assert 'libQt' not in maps and '_native' in maps; assert 'torch' not in sys.modules; "
                "import os; assert 'OMP_WAIT_POLICY' not in os.environ")
        environment = {key: value for key, value in os.environ.items() if key != "OMP_WAIT_POLICY"}
        subprocess.run([sys.executable, "-c", code.replace("rg.load;", "rg.__version__;")], check=True, env=environment)

    def test_everything_that_is_offered_says_its_types(self):
        import inspect
        for name in rg.__all__:
            found = getattr(rg, name)
            functions = [found] if inspect.isfunction(found) else [
                one.fget if isinstance(one, property) else one for key, one in vars(found).items()
                if inspect.isclass(found) and (not key.startswith("_") or key == "__init__")
                and (inspect.isfunction(one) or isinstance(one, property))]
            for function in functions:
                where = f"{name}.{function.__name__}"
                hints = inspect.signature(function)
                self.assertIsNot(hints.return_annotation, inspect.Signature.empty, where)
                for parameter in hints.parameters.values():
                    if parameter.name not in ("self", "_"):
                        said = f"{where}: {parameter.name}"
                        self.assertIsNot(parameter.annotation, inspect.Parameter.empty, said)

    def test_everything_that_is_offered_has_its_words(self):
        import inspect
        for name in rg.__all__:
            found = getattr(rg, name)
            self.assertTrue(found.__doc__, name)
            for key, one in vars(found).items() if inspect.isclass(found) else ():
                if not key.startswith("_") and (inspect.isfunction(one) or isinstance(one, (property, classmethod))):
                    self.assertTrue(one.__doc__, f"{name}.{key}")

    def test_whoever_takes_a_start_says_what_a_plain_gradient_has(self):
        from retrograde.capture import client
        for function in (rg.explain, rg.Model.explain, rg.explain_text, client.explain):
            words = " ".join(function.__doc__.split())
            self.assertRegex(words, r'(start="one"|"one" \()[^.]*what a plain gradient has', function.__qualname__)


if __name__ == "__main__":
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    unittest.main(verbosity=1)
