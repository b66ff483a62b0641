# SPDX-License-Identifier: Apache-2.0
"""Stepping through a run in a notebook, and what notebooks draw of text and series."""
import json
import sys
import unittest

from module import PICTURE, ROOT, SAMPLE, SKIPPED, Case, numpy, rg

try:
    import anywidget
except ImportError:
    anywidget = None


class Visits(Case):
    def test_visits_are_the_events_of_the_command_line(self):
        run = self.model.explain(PICTURE, composite="epsilon_plus")
        visits = run.visits()
        events = json.loads(self.command("trace", run.save(self.folder / "run.retro"), "--json"))
        self.assertEqual(len(visits), sum(event["kind"] == "visit" for event in events))
        for visit in visits:
            self.assertEqual(visit["text"], [one["text"] for one in events[visit["begin"]:visit["end"]]])
            self.assertEqual(visit["node"], events[visit["begin"]]["node"])
        self.assertIn(["image"], [visit["outputs"] for visit in visits])

    def test_a_history_is_that_of_the_command_line(self):
        run = self.model.explain(PICTURE, composite="epsilon_plus", target=0)
        relevance = run["image"]
        place = [int(i) for i in numpy.unravel_index(numpy.abs(relevance).argmax(), relevance.shape)]
        found = run.history("image", place, most=3)
        self.assertAlmostEqual(found["relevance"], float(relevance[tuple(place)]), places=9)
        self.assertLess(found["apart"], 1e-4)
        written = "image:" + ",".join(map(str, place))
        said = json.loads(self.command("trace", run.save(self.folder / "run.retro"), "--history", written, "--json",
                                       "--most", "3", "--model", str(SAMPLE)))
        for one in (said, found):
            del one["seconds"]
        self.assertEqual(said, found)
        self.assertEqual(run.history(written, most=3)["rows"], found["rows"])
        with self.refused(rg.UsageError, 2):
            run.history("image", (0, 0, 0, 10_000))
        with self.refused(rg.UsageError, 2, "record=True"):
            self.model.explain(PICTURE, record=False).history("image", place)


class Widget(Case):
    def test_without_anywidget_that_is_said(self):
        from unittest import mock
        with mock.patch.dict(sys.modules, {"anywidget": None}):
            with self.refused(rg.UsageError, 2, "pip install anywidget"):
                self.model.explain(PICTURE).widget()

    @unittest.skipIf(anywidget is None, "no anywidget")
    def test_each_step_shows_its_visit(self):
        run = self.model.explain(PICTURE, composite="epsilon_plus")
        widget, visits = run.widget(), run.visits()
        self.assertEqual(widget.count, len(visits))
        for step in (0, len(visits) // 2, len(visits) - 1):
            widget.step = step
            self.assertIn(visits[step]["node"], widget.body)
            self.assertIn("data:image/png;base64,", widget.body)
        widget.step = 10_000
        self.assertEqual(widget.step, len(visits) - 1)
        self.assertIn("export default", widget._esm if isinstance(widget._esm, str) else str(widget._esm))


class Drawings(Case):
    def test_text_is_drawn_as_words_and_a_series_as_curves(self):
        text = rg.load(ROOT / "samples/planted-word/planted-word.onnx")
        ids = numpy.load(ROOT / "samples/planted-word/good.npy")
        words = json.loads((ROOT / "samples/planted-word/planted-word.card.json").read_text())["input"]["vocabulary"]
        drawn = text.explain(ids)._repr_html_()
        self.assertEqual(drawn.count("<span"), ids.size)
        for token in ids.reshape(-1)[:4]:
            self.assertIn(words[int(token)], drawn)
        series = rg.load(ROOT / "samples/marked-step/marked-step.onnx")
        drawn = series.explain(str(ROOT / "samples/marked-step/early.npy"))._repr_html_()
        self.assertIn("<polyline", drawn)
        self.assertIn("<rect", drawn)

    def test_a_batch_draws_its_first_pictures(self):
        x = numpy.concatenate([self.picture()] * 3)
        run = self.model.explain(x, composite="epsilon_plus")
        self.assertEqual(run._repr_html_().count("<img"), 6)  # picture and heatmap
        numpy.testing.assert_array_equal(run["image"][0], run["image"][2])


if __name__ == "__main__":
    result = unittest.main(verbosity=1, exit=False).result
    sys.exit(1 if not result.wasSuccessful() else SKIPPED if anywidget is None and not result.testsRun else 0)
