# SPDX-License-Identifier: Apache-2.0
"""client.py and graphjson.py: the command line driven from Python, with numpy alone."""
import json

import capturing

numpy = capturing.need("numpy")
from retrograde.capture import client as retrograde
from retrograde.capture.graphjson import CaptureError, GraphWriter

SAMPLE = capturing.ROOT / "samples/clever-hans/clever-hans.onnx"
PICTURE = capturing.ROOT / "samples/clever-hans/jug-tagged.png"


def small_graph():
    """y = relu(x · w)."""
    graph = GraphWriter("small")
    graph.add_input("x", "float32", (1, 3))
    w = graph.add_constant("w", numpy.array([[1, -1], [2, 0.5], [0, 1]], numpy.float32))
    graph.add_value("h", "float32", (1, 2))
    graph.add_value("y", "float32", (1, 2))
    graph.add_node("MatMul", ["x", w], ["h"], "product")
    graph.add_node("Relu", ["h"], ["y"], "relu")
    graph.set_outputs(["y"])
    return graph


class Explain(capturing.Case):
    def test_the_sample_as_the_command_line_explains_it(self):
        answer = retrograde.explain(SAMPLE, PICTURE, "epsilon_plus")
        self.assertEqual(answer.inputs, ["image"])
        self.assertEqual(answer["image"].shape, (1, 3, 96, 96))
        self.assertAlmostEqual(float(answer["image"].sum()), answer.summary["relevance_inputs"], places=4)
        self.assertEqual(answer.summary["engine"], "promise")
        run = retrograde.pathlib.Path(answer.run)
        self.assertTrue(run.exists())
        oracle = retrograde.explain(SAMPLE, PICTURE, "epsilon_plus", engine="oracle")
        numpy.testing.assert_array_equal(oracle["image"], answer["image"])
        self.assertIsNone(oracle.run)
        del answer
        self.assertFalse(run.exists(), "files of an explanation that is gone stay")

    def test_a_captured_graph_and_an_array(self):
        answer = retrograde.explain(small_graph(), numpy.array([[1, 2, 3]], numpy.float32), "epsilon:epsilon=1e-9",
                                    target=0)
        numpy.testing.assert_allclose(answer["x"], [[1, 4, 0]], rtol=1e-6)

    def test_own_rules(self):
        rules = retrograde.Composite("mine").add("flat", op="MatMul").add("pass")
        answer = retrograde.explain(small_graph(), numpy.array([[1, 2, 3]], numpy.float32), rules, target=0)
        numpy.testing.assert_allclose(answer["x"], numpy.full((1, 3), 5 / 3), rtol=1e-5)
        self.assertEqual(answer.summary["composite"], "mine")

    def test_what_may_be_wrong(self):
        answer = retrograde.explain(small_graph(), numpy.array([[1, 2, 3]], numpy.float32), "epsilon", target=1)
        findings = answer.diagnose()
        self.assertIn("target.rank", [one["id"] for one in findings])
        self.assertTrue(all(one["level"] in ("note", "warning", "error") and one["text"] for one in findings))
        other = retrograde.explain(small_graph(), numpy.array([[3, 2, 1]], numpy.float32), "epsilon", target=1)
        self.assertTrue(any(one["id"].startswith("diff.") for one in answer.diagnose(against=other)))
        with self.refused(retrograde.RetrogradeError, "no check", "flow.nothing"):
            answer.diagnose(check="flow.nothing")

    def test_refusals_are_those_of_the_program(self):
        with self.refused(retrograde.RetrogradeError, "nowhere.onnx", "no such file"):
            retrograde.explain("nowhere.onnx", numpy.zeros(3))
        with self.refused(retrograde.RetrogradeError, "no_such_rule"):
            retrograde.explain(small_graph(), numpy.zeros((1, 3)), retrograde.Composite().add("no_such_rule"))
        with self.refused(KeyError, "no relevance reached 'nothing'", "x"):
            retrograde.explain(small_graph(), numpy.ones((1, 3), numpy.float32))["nothing"]


class Plan(capturing.Case):
    GRAPH = capturing.ROOT / "samples/graphs/vgg16.json"

    def test_a_plan_and_its_file(self):
        answer, plan = retrograde.plan(self.GRAPH, "90%", out=self.folder / "plan.json")
        self.assertLessEqual(answer["peak"], answer["budget"])
        self.assertEqual(plan, json.loads((self.folder / "plan.json").read_text()))
        self.assertEqual(plan["format"], "retrograde-plan/1")

    def test_no_plan_is_an_error_with_the_answer(self):
        with self.assertRaises(retrograde.RetrogradeError) as caught:
            retrograde.plan(self.GRAPH, "1%")
        self.assertEqual(caught.exception.code, 4)
        self.assertEqual(caught.exception.answer["status"], "infeasible")


class Graph(capturing.Case):
    def test_names_that_are_taken(self):
        graph = small_graph()
        self.assertEqual(graph.add_value("h"), "h~2")
        self.assertEqual(graph.add_node("Relu", ["h"], ["h~2"], "relu"), "relu~2")

    def test_what_the_format_cannot_hold(self):
        with self.refused(CaptureError, "complex64", "convert"):
            small_graph().add_constant("c", numpy.zeros(2, numpy.complex64))
        with self.refused(CaptureError, "'z'", "float128"):
            small_graph().add_value("z", "float128", (1,))
        with self.refused(CaptureError, "no outputs"):
            GraphWriter("empty").document()

    def test_every_type_of_constant_is_read(self):
        graph = small_graph()
        types = ["float32", "float64", "float16", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64",
                 "uint64", "bool"]
        for name in types:
            graph.add_constant("c_" + name, numpy.ones(3, name))
        graph.add_constant("shape_only", numpy.ones((2, 3), numpy.float32), weights=False)
        self.assertEqual(retrograde.call("info", graph.write(self.folder / "graph.json"))["nodes"], 2)


if __name__ == "__main__":
    capturing.run()
