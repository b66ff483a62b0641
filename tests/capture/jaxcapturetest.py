# SPDX-License-Identifier: Apache-2.0
"""jaxcapture.py and jaxcheckpoint.py: functions of JAX give JAX's numbers in Retrograde, and their gradients by a plan."""
import warnings

import capturing

numpy, jax = capturing.need("numpy", "jax")
import jax.numpy as jnp
from retrograde.capture import jaxcapture
from retrograde.capture import client as retrograde
from retrograde.capture.graphjson import CaptureError
from jax import lax
from retrograde.capture.jaxcheckpoint import checkpointed


def normal(seed, *shape):
    return jax.random.normal(jax.random.PRNGKey(seed), shape)


WEIGHTS = {"taps": normal(0, 3, 3, 3, 8) * 0.3, "hidden": normal(1, 8 * 4 * 4, 16) * 0.1, "bias": jnp.ones(16) * 0.1,
           "head": normal(2, 16, 5)}


def pictures(w, x):
    h = lax.conv_general_dilated(x, w["taps"], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    h = lax.reduce_window(jax.nn.relu(h), -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    h = jax.nn.silu(h.reshape(x.shape[0], -1) @ w["hidden"] + w["bias"])
    h = (h - h.mean(-1, keepdims=True)) * lax.rsqrt(h.var(-1, keepdims=True) + 1e-5)
    return h @ w["head"]


def attention(w, x):
    q, k, v = jnp.split(x @ w, 3, -1)
    scores = jnp.einsum("bqd,bkd->bqk", q, k) / jnp.sqrt(4.0)
    scores = jnp.where(jnp.tril(jnp.ones(scores.shape[1:], bool)), scores, -1e9)
    return jnp.einsum("bqk,bkd->bqd", jax.nn.softmax(scores), v)


def recurrent(w, rows):
    def cell(h, row):
        h = jnp.tanh(h @ w + row)
        return h, h * 2

    return lax.scan(cell, jnp.zeros(4), rows)


def layers(weights, x):
    for w in weights:
        x = x + jnp.tanh(jax.nn.relu(x @ w) @ w.T)
    return (x ** 2).sum()


class Capture(capturing.Case):
    def assert_equal_run(self, function, *arguments, **options):
        path = self.folder / "f.json"
        graph = jaxcapture.capture(function, *arguments, parameters=(0,), path=path, **options)
        given = []
        for name, array in zip(graph.inputs, jax.tree_util.tree_leaves(arguments[1:])):
            numpy.save(self.folder / f"{name}.npy", numpy.asarray(array))
            given += ["--input", f"{name}={self.folder / name}.npy"]
        answer = retrograde.call("run", path, *given, "--output-dir", self.folder / "out")
        for output, wanted in zip(answer["outputs"], jax.tree_util.tree_leaves(function(*arguments))):
            numpy.testing.assert_allclose(numpy.load(output["file"]), wanted, atol=2e-6, rtol=1e-4)
        return graph

    def test_forward_passes_agree(self):
        graph = self.assert_equal_run(pictures, WEIGHTS, normal(3, 2, 8, 8, 3))
        self.assertFalse(any("domain" in node for node in graph.nodes))
        self.assertIn("Relu", [node["op"] for node in graph.nodes])
        self.assert_equal_run(attention, normal(4, 4, 12), normal(5, 2, 6, 4))
        self.assert_equal_run(jax.jit(lambda table, i: table[i] * 2), normal(6, 10, 4), jnp.array([1, 2, 7]))

    def test_a_scan_is_written_out_or_stays_one_operator(self):
        graph = self.assert_equal_run(recurrent, normal(7, 4, 4), normal(8, 6, 4))
        self.assertEqual([node["op"] for node in graph.nodes].count("Tanh"), 6)
        self.assertIn("step5", {node.get("scope") for node in graph.nodes})
        self.assert_equal_run(lambda w, rows: lax.scan(lambda h, row: (h @ w + row, h), jnp.zeros(4), rows, reverse=True),
                              normal(7, 4, 4), normal(8, 3, 4))
        short = jaxcapture.capture(recurrent, normal(7, 4, 4), normal(8, 6, 4), unroll=5)
        self.assertEqual([(node["op"], node["domain"]) for node in short.nodes if "domain" in node], [("scan", "jax")])
        self.assertIn(retrograde.plan(short)[0]["status"], ("optimal", "feasible"))

    def test_measured_times(self):
        graph = self.assert_equal_run(recurrent, normal(7, 4, 4), normal(8, 3, 4), measure=2)
        times = [node["milliseconds"] for node in graph.nodes]
        self.assertTrue(all(one >= 0 for one in times) and sum(times) > 0)
        self.assertEqual(retrograde.analyze(graph)["cost_unit"], "ms")

    def test_relevance(self):
        path = self.folder / "f.json"
        graph = jaxcapture.capture(pictures, WEIGHTS, normal(3, 1, 8, 8, 3), parameters=(0,), path=path)
        x = numpy.asarray(normal(3, 1, 8, 8, 3))
        answer = retrograde.explain(path, x, "gradient", target=2, start="one")
        wanted = jax.grad(lambda x: pictures(WEIGHTS, x)[0, 2])(x)
        numpy.testing.assert_allclose(answer[graph.inputs[0]], wanted, atol=1e-6, rtol=1e-3)

    def test_a_training_step_is_planned_for(self):
        graph = jaxcapture.capture(lambda w, x: (pictures(w, x) ** 2).sum(), WEIGHTS, normal(3, 2, 8, 8, 3), step=True)
        phases = {node["phase"] for node in graph.nodes}
        self.assertEqual(phases, {"forward", "backward"})
        self.assertEqual(len(graph.outputs), 1 + 5)
        answer, _ = retrograde.plan(graph)
        self.assertIn(answer["status"], ("optimal", "feasible"))
        with self.refused(CaptureError, "one number"):
            jaxcapture.capture(pictures, WEIGHTS, normal(3, 2, 8, 8, 3), step=True)

    def test_what_cannot_be_captured(self):
        with self.refused(CaptureError, "several devices", "inside"):
            jaxcapture.capture(jax.pmap(lambda x: x * 2), jnp.ones((1, 3)))
        with self.refused(CaptureError, "argument arg0", "complex64"):
            jaxcapture.capture(lambda x: x, jnp.ones(2, jnp.complex64))
        path = self.folder / "loop.json"
        jaxcapture.capture(lambda x: lax.while_loop(lambda c: c.sum() < 9, lambda c: c + 1, x), jnp.ones(2), path=path)
        with self.refused(retrograde.RetrogradeError, "while", "jax"):
            retrograde.explain(path, numpy.ones(2, numpy.float32))


class Checkpoint(capturing.Case):
    WEIGHTS = [normal(i, 16, 16) * 0.2 for i in range(8)]

    def test_gradients_are_those_of_the_function_in_less_memory(self):
        x = normal(20, 32, 16)
        eager, compiled = jax.grad(layers)(self.WEIGHTS, x), jax.jit(jax.grad(layers))(self.WEIGHTS, x)
        for options in ({"budget": "60%"}, {"planner": "chen_sqrt"}, {"planner": "recompute_all"}):
            with self.subTest(**options), warnings.catch_warnings():
                warnings.simplefilter("error", UserWarning)
                function = checkpointed(layers, **options)
                for a, b in zip(jax.grad(function)(self.WEIGHTS, x), eager):
                    numpy.testing.assert_array_equal(a, b)
                # The compiler fuses the two differently.
                for a, b in zip(jax.jit(jax.grad(function))(self.WEIGHTS, x), compiled):
                    numpy.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5 * abs(b).max())
                profile = function.last_profile
                self.assertEqual(function.reason, None)
                if profile["residual_bytes"] is not None:
                    self.assertLess(profile["residual_bytes"], 0.7 * profile["residual_bytes_without"])

    def test_a_scan_is_planned_inside(self):
        """A recurrent layer of few steps, one of many, and one that goes backwards and gives what it carries last."""

        def recurrent(reverse):
            def function(weights, rows):
                def step(h, row):
                    h = jnp.tanh(h @ weights[0] + row @ weights[1])
                    return h, jnp.sin(h * 2) * row

                h, made = lax.scan(step, jnp.zeros(rows.shape[1:]), rows, reverse=reverse)
                return (made ** 2).sum() + h.sum()

            return function

        weights = [normal(1, 6, 6) * 0.3, normal(2, 6, 6) * 0.3]
        for steps, reverse, inside in ((6, False, "step3"), (17, True, "block3")):
            plain, rows = recurrent(reverse), normal(3, steps, 4, 6)
            wanted, last = jax.grad(plain, (0, 1))(weights, rows), None
            for budget in ("100%", "70%", None):
                with self.subTest(steps=steps, budget=budget), warnings.catch_warnings():
                    warnings.simplefilter("error", UserWarning)
                    function = checkpointed(plain, budget, "fast" if budget else "recompute_all", unroll=8)
                    found = jax.jit(jax.grad(function, (0, 1)))(weights, rows)
                    for a, b in zip(jax.tree_util.tree_leaves(found), jax.tree_util.tree_leaves(wanted)):
                        numpy.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5 * abs(b).max())
                    scopes = {node["scope"].split("/")[-1] for node in function._last[0].graph.nodes if "scope" in node}
                    self.assertIn(inside, scopes)
                    profile = function.last_profile
                    if profile["residual_bytes"] is not None:
                        self.assertLess(profile["residual_bytes"], last if last else float("inf"))
                        last = profile["residual_bytes"]

    def test_a_plan_from_a_file_and_keywords(self):
        x = normal(20, 32, 16)
        first = checkpointed(lambda w, x, power=1: layers(w, x) ** power, "70%")
        first(self.WEIGHTS, x, power=2)
        graph, path = self.folder / "graph.json", self.folder / "plan.json"
        first.write_graph(graph)
        retrograde.plan(graph, None, "chen_sqrt", out=path, parameters=True)
        second = checkpointed(lambda w, x, power=1: layers(w, x) ** power, plan=path)
        numpy.testing.assert_allclose(second(self.WEIGHTS, x, power=2), first(self.WEIGHTS, x, power=2), rtol=1e-6)
        self.assertEqual(second.last_plan["plan"]["annotations"]["planner"], "chen_sqrt")

    def test_what_cannot_be_planned_runs_as_it_is(self):
        x, function = normal(20, 32, 16), checkpointed(layers, budget=1)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = [function(self.WEIGHTS, x) for _ in range(2)]
        self.assertEqual(len(caught), 1)
        self.assertIn("bytes at once", str(caught[0].message))
        numpy.testing.assert_array_equal(found[0], layers(self.WEIGHTS, x))
        self.assertIsNone(function.last_profile)


if __name__ == "__main__":
    capturing.run()
