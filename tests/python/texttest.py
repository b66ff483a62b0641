# SPDX-License-Identifier: Apache-2.0
"""Texts in the process: the numbers of the command line, contrasts, steps, pages, and what is refused. The model has
one causal attention over a table of seven words; its tokenizer has one word for each."""
import csv
import importlib.util
import json
import unittest

from module import Case, numpy, rg
from retrograde.capture.graphjson import GraphWriter

WIDTH = 6
BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": True}
TOKENIZER = {"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "c": 2, "Ġa": 3, "Ġ": 4, "<": 5, "ab": 6},
                       "merges": ["Ġ a", "a b"]}, "pre_tokenizer": BYTES, "decoder": BYTES}


def speaking():
    """input_ids and attention_mask (1 × tokens) → logits (1 × tokens × words)."""
    draw = numpy.random.default_rng(1)
    graph = GraphWriter("speaking", {"ai.onnx": 17})
    for name in ("input_ids", "attention_mask"):
        graph.add_input(name, "int64", (1, "tokens"))

    def constant(name, array, dtype=numpy.float32):
        return graph.add_constant(name, numpy.asarray(array, dtype))

    def node(op, name, inputs, **attributes):
        graph.add_node(op, inputs, [graph.add_value(name)], attributes=attributes)
        return name
    x = node("Gather", "embedded", [constant("table", draw.normal(size=(7, WIDTH))), "input_ids"])
    q = node("MatMul", "q", [x, constant("wq", draw.normal(size=(WIDTH, WIDTH)))])
    heads = constant("heads", [1], numpy.int64)  # one of them has an axis, as where there are many
    queries, keys = (node("Unsqueeze", f"{name} by head", [name, heads]) for name in (q, x))
    scores = node("MatMul", "scores", [queries, node("Transpose", "turned", [keys], perm=[0, 1, 3, 2])])
    plain = node("Cast", "ones", ["attention_mask"], to=1)
    column = node("Unsqueeze", "column", [plain, constant("second", [2], numpy.int64)])
    row = node("Unsqueeze", "row", [plain, constant("first", [1], numpy.int64)])
    lower = node("Trilu", "lower", [node("Mul", "square", [column, row])], upper=0)
    missing = node("Sub", "missing", [constant("one", [1.0]), lower])
    masked = node("Add", "masked", [scores, node("Mul", "mask", [missing, constant("far", [-1e9])])])
    by_head = node("MatMul", "mixed by head", [node("Softmax", "weights", [masked], axis=-1), keys])
    mixed = node("Squeeze", "mixed", [by_head, heads])
    node("MatMul", "logits", [node("Add", "stream", [x, mixed]), constant("head", draw.normal(size=(WIDTH, 7)))])
    graph.set_outputs(["logits"])
    return graph


class Texts(Case):
    def setUp(self):
        super().setUp()
        self.path = self.folder / "speaking.json"
        speaking().write(self.path)
        self.tokenizer = self.folder / "tokenizer.json"
        self.tokenizer.write_text(json.dumps(TOKENIZER), encoding="utf-8")
        self.speaker = rg.load(self.path)

    def test_the_numbers_are_those_of_the_command_line(self):
        out = self.folder / "out"
        self.command("explain", self.path, "--text", "ab ca", "--target", " a", "--contrast", "b", "--generate", 3,
                     "--composite", "attnlrp", "--output-dir", out)
        found = rg.explain_text(self.speaker, "ab ca", target=" a", contrast="b", generate=3, composite="attnlrp")
        with open(out / "tokens.csv", encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([row["text"] for row in rows], found.tokens)
        self.assertEqual([int(row["id"]) for row in rows], found.ids)
        self.assertEqual([float(row["relevance"]) for row in rows], found.relevance.tolist())
        self.assertEqual([(int(row["start"]), int(row["end"])) for row in rows], [tuple(one) for one in found.places])
        steps = numpy.load(out / "generation.npy")
        self.assertEqual(steps.shape, (3, len(found.ids) + 2))
        for step, row in zip(found.generated, steps):
            numpy.testing.assert_array_equal(step["relevance"], row[:len(step["relevance"])])
            self.assertTrue(numpy.isnan(row[len(step["relevance"]):]).all())
        self.assertFalse(numpy.isnan(steps[-1]).any())

    def test_links_of_attentions_are_those_of_the_command_line(self):
        out = self.folder / "out"
        self.command("explain", self.path, "--text", "ab ca", "--composite", "attnlrp", "--attention", "all",
                     "--output-dir", out)
        found = rg.explain_text(self.speaker, "ab ca", composite="attnlrp", attention="all")
        self.assertEqual([*found.attention], [0])
        numpy.testing.assert_array_equal(found.attention[0], numpy.load(out / "attention" / "0.npy"))
        self.assertTrue(found.links)
        for layer, head, query, key, relevance in found.links:
            self.assertEqual(found.attention[layer][head, query, key], relevance)
        one = rg.explain_text(self.speaker, "ab ca", composite="attnlrp", attention=[0])
        self.assertEqual(one.links, found.links)

    def test_a_contrast_is_the_difference_of_two_answers(self):
        def of(target, contrast=None):
            return rg.explain_text(self.speaker, "ab ca", target=target, contrast=contrast, precision="double",
                                   composite="attnlrp")
        one, two, both = of(" a"), of("b"), of(" a", "b")
        numpy.testing.assert_allclose(both.relevance, one.relevance - two.relevance, atol=1e-9)
        self.assertAlmostEqual(both.score, one.score - two.score, places=9)
        self.assertEqual(both.question["target"]["id"], 3)

    def test_numbers_in_place_of_a_text(self):
        text = rg.explain_text(self.speaker, "ab ca", composite="attnlrp")
        ids = rg.explain_text(self.speaker, text.ids, composite="attnlrp")
        numpy.testing.assert_array_equal(ids.relevance, text.relevance)
        self.assertEqual(ids.places, [None] * len(text.ids))

    @unittest.skipUnless(importlib.util.find_spec("tokenizers"), "tokenizers is not installed")
    def test_a_tokenizer_of_another_library_makes_the_numbers(self):
        import tokenizers
        other = tokenizers.Tokenizer.from_file(str(self.tokenizer))
        text = rg.explain_text(self.speaker, "ab ca", composite="attnlrp")
        self.assertEqual(rg.explain_text(self.speaker, "ab ca", tokenizer=other, composite="attnlrp").ids, text.ids)

    def test_a_position_and_what_lies_behind_it(self):
        found = rg.explain_text(self.speaker, "ab ca", position=1, composite="attnlrp")
        self.assertEqual(found.question["position"], 1)
        self.assertTrue(found.relevance[:2].any())
        self.assertFalse(found.relevance[2:].any())

    def test_positions_are_answers_of_their_own(self):
        out = self.folder / "out"
        self.command("explain", self.path, "--text", "ab ca", "--positions", "1,-1", "--composite", "attnlrp",
                     "--output-dir", out)
        found = rg.explain_text(self.speaker, "ab ca", positions=[1, -1], composite="attnlrp")
        rows = numpy.load(out / "positions.npy")
        self.assertEqual([one["position"] for one in found.positions], [1, len(found.ids) - 1])
        for row, one in zip(rows, found.positions):
            numpy.testing.assert_array_equal(row, one["relevance"])
            alone = rg.explain_text(self.speaker, "ab ca", position=one["position"], composite="attnlrp")
            numpy.testing.assert_array_equal(row, alone.relevance)
        with self.assertRaises(rg.UsageError):
            rg.explain_text(self.speaker, "ab ca", positions=[1, 1], composite="attnlrp")

    def test_further_questions_go_on_from_the_pass_before(self):
        questions = ({"target": " a"}, {"target": "b"}, {"target": "b", "position": 1}, {"target": " a"})
        for question in questions:  # of a model that has answered others, and of one that has not
            asked = {**question, "inputs_only": True, "record": False, "composite": "attnlrp"}
            found = rg.explain_text(self.speaker, "ab ca", **asked)
            fresh = rg.explain_text(rg.load(self.path), "ab ca", **asked)
            numpy.testing.assert_array_equal(found.relevance, fresh.relevance)
            self.assertEqual(found.score, fresh.score)

    def test_it_shows_itself(self):
        found = rg.explain_text(self.speaker, "ab ca", composite="attnlrp")
        self.assertIn("<!DOCTYPE html>", found.html()[:40])
        self.assertNotIn("http://", found.html().replace("http://www.w3.org", ""))
        self.assertTrue(found._repr_html_().startswith("<iframe srcdoc="))
        self.assertIn(f"{len(found.tokens)} tokens", repr(found))
        if importlib.util.find_spec("pandas"):
            frame = found.frame()
            self.assertEqual(list(frame["text"]), found.tokens)
            self.assertAlmostEqual(float(frame["share"].abs().sum()), 1)
        self.assertEqual(found.run.outputs["logits"].shape, (1, len(found.ids), 7))

    def test_what_cannot_be_asked_is_refused(self):
        for words, options in (("2 tokens", {"target": "ca"}), ("no token of this number", {"target": 9}),
                               ("no position 9", {"position": 9})):
            with self.refused(rg.UsageError, 2, words):
                rg.explain_text(self.speaker, "ab ca", **options)
        with self.refused(rg.UsageError, 2, "the text is empty"):
            rg.explain_text(self.speaker, "")
        self.tokenizer.unlink()
        with self.refused(rg.UsageError, 2, "tokenizer.json"):
            rg.explain_text(rg.load(self.path), "ab ca")


if __name__ == "__main__":
    unittest.main(verbosity=1)
