# SPDX-License-Identifier: Apache-2.0
"""Differentiates a JAX function within a memory budget by a plan of Retrograde.

    from retrograde.capture.jaxcheckpoint import checkpointed
    loss = checkpointed(loss, budget="50%")             # or budget in bytes, planner="rotor", plan=FILE, parameters=(0,)
    jax.grad(loss)(weights, x)                          # also inside jax.jit: planned once per trace
    loss.last_plan, loss.last_profile

What the plan keeps at the turn from forward to gradients is named (jax.ad_checkpoint.checkpoint_name) and saved by
jax.checkpoint with the policy save_only_these_names; the rest JAX computes again. What cannot be done is said in one
warning, and the function runs as it is.
"""
import math
import pathlib
import tempfile
import warnings

import jax
import jax.ad_checkpoint

from . import checkpointplan
from . import jaxcapture
from . import jaxoperators
from . import client as retrograde
from .graphjson import DTYPES, CaptureError, GraphWriter

SAVES_NOTHING = {"add", "add_any", "sub", "neg", "reshape", "broadcast_in_dim", "transpose", "convert_element_type",
                 "reduce_sum", "slice", "concatenate", "squeeze", "expand_dims", "copy", "copy_p", "stop_gradient",
                 "pad", "rev", "iota", "cumsum", "sign", "floor", "ceil", "eq", "ne", "gt", "lt", "ge", "le"}
SAVES_RESULT = {"exp", "tanh", "logistic", "sqrt", "rsqrt"}
SAVES_OPERANDS = {"mul", "dot_general", "conv_general_dilated", "div", "log", "sin", "cos", "pow", "integer_pow",
                  "square", "max", "min", "gather", "custom_jvp_call", "custom_vjp_call", "erf", "abs", "clamp"}


def cost_of(equation):
    """Floating-point operations: two per multiply-add of products and convolutions, else one per element."""
    elements = sum(math.prod(one.aval.shape) for one in equation.outvars)
    shapes = [one.aval.shape for one in equation.invars]
    if equation.primitive.name == "dot_general":
        return 2 * elements * math.prod(shapes[0][i] for i in equation.params["dimension_numbers"][0][0])
    if equation.primitive.name == "conv_general_dilated":
        channels = shapes[1][equation.params["dimension_numbers"].rhs_spec[0]]
        return 2 * elements * math.prod(shapes[1]) // channels
    return elements * equation.params.get("length", 1)


class Planner(jaxcapture.Walker):
    """Writes the forward pass as a graph to plan for: what each equation saves for its gradient, and its cost."""

    def __init__(self, graph):
        super().__init__(self.write, self.constant, False, 0)
        self.graph = graph

    def constant(self, value, aval):
        return None

    def write(self, equation, inputs, scope):
        name = equation.primitive.name
        operands = [one for one in inputs if one is not None]
        results = []
        for one in equation.outvars:
            dtype = str(one.aval.dtype)
            size = math.prod(one.aval.shape) * DTYPES.get(dtype, 4)
            results.append(self.graph.add_value(name, dtype if dtype in DTYPES else "uint32", one.aval.shape, bytes=size))
        saves_all = name not in SAVES_NOTHING | SAVES_RESULT | SAVES_OPERANDS
        saves_operands = saves_all or name in SAVES_OPERANDS
        places = range(min(1, len(operands))) if name == "select_n" else range(len(operands))
        self.graph.add_node(name, operands, results, name, "jax", scope, flops=cost_of(equation),
                            saves_inputs=list(places) if saves_operands else [],
                            saves_outputs=list(range(len(results))) if saves_all or name in SAVES_RESULT else [],
                            effectful=True if equation.effects else None)
        return results


class Runner(jaxcapture.Walker):
    """Evaluates the same equations in the same order, and names what the plan keeps."""

    def __init__(self, nodes, kept):
        super().__init__(self.compute, lambda value, aval: value, False, 0)
        self.nodes, self.kept = iter(nodes), kept

    def compute(self, equation, inputs, scope):
        node = next(self.nodes)
        return [jax.ad_checkpoint.checkpoint_name(array, name) if name in self.kept else array
                for array, name in zip(jaxcapture.run_equation(equation, inputs), node["outputs"])]


def given(graph, i, aval, is_parameter):
    """The value of an argument: an input, or a parameter, which is a constant without numbers. Its name."""
    dtype = jaxoperators.dtype_name(aval.dtype, f"argument {i}")
    if not is_parameter:
        return graph.add_input(f"input{i}", dtype, aval.shape)
    name = graph.add_value(f"parameter{i}", dtype, aval.shape)
    graph.values[name]["constant"] = {"dtype": dtype, "shape": list(aval.shape)}
    return name


class Strategy:
    """A function of leaves for some shapes, with its graph and its plan."""

    def __init__(self, function, leaves, is_parameter, make_plan):
        closed, self.shape = jax.make_jaxpr(function, return_shape=True)(*leaves)
        self.graph = GraphWriter(getattr(function, "__name__", "function"))
        planner = Planner(self.graph)
        names = [given(self.graph, i, one.aval, parameter)
                 for i, (one, parameter) in enumerate(zip(closed.jaxpr.invars, is_parameter))]
        results = planner.run(closed.jaxpr, planner.constants(closed.consts), names)
        self.graph.set_outputs(dict.fromkeys(one for one in results if one is not None))
        self.answer, document = make_plan(self.graph)
        self.plan = checkpointplan.PlanView(document, self.graph.nodes)
        again = {name for one in self.plan.again for name in self.plan.inputs[one]}
        saved = {name for node in self.graph.nodes for places, ends in
                 ((node["saves_inputs"], node["inputs"]), (node["saves_outputs"], node["outputs"]))
                 for name in (ends[i] for i in places)}
        self.kept = sorted(self.plan.live & (saved | again))

        def run(*arguments):
            runner = Runner(self.graph.nodes, set(self.kept))
            return runner.run(closed.jaxpr, closed.consts, arguments)

        policy = jax.checkpoint_policies.save_only_these_names(*self.kept)
        self.run = jax.checkpoint(run, policy=policy)
        self.tree = jax.tree_util.tree_structure(self.shape)


def residual_bytes(function, leaves):
    """Bytes that JAX holds between forward and backward pass; None where this JAX does not say."""
    try:
        from jax._src.ad_checkpoint import saved_residuals
        found = saved_residuals(function, *leaves)
    except Exception:  # a private function of JAX: anything may have changed
        return None
    return sum(math.prod(aval.shape) * aval.dtype.itemsize for aval, source in found
               if "argument" not in source and "constant" not in source)


class Checkpointed:
    """A function that is differentiated by a plan. `.last_plan` what `plan` says of the last one, with the plan under
    "plan"; `.last_profile` what is kept; `.reason` why it runs without a plan, None where it does not."""

    def __init__(self, function, budget, planner, plan, parameters):
        self.function, self.parameters = function, parameters
        self.options = {"budget": budget, "planner": planner, "plan": plan}
        self.last_plan = self.reason = self._last = None
        self._strategies, self._has_warned = {}, False
        self.__name__ = getattr(function, "__name__", "function")

    def __call__(self, *arguments, **keywords):
        leaves, tree = jax.tree_util.tree_flatten((arguments, keywords))
        try:
            strategy = self._strategy(leaves, tree)
        except (CaptureError, checkpointplan.PlanError, retrograde.RetrogradeError) as error:
            self._warn(str(error))
            return self.function(*arguments, **keywords)
        self.reason, self.last_plan = None, {**strategy.answer, "plan": strategy.plan.document}
        self._last = (strategy, leaves, tree)
        return jax.tree_util.tree_unflatten(strategy.tree, strategy.run(*leaves))

    @property
    def last_profile(self):
        """Values that the plan keeps and their bytes; bytes that JAX holds for the gradient with the plan and without
        it, in the shapes of the last call (None where this JAX does not say); the plan's own figures."""
        if self._last is None:
            return None
        strategy, leaves, tree = self._last
        values = strategy.graph.values
        shapes = [jax.ShapeDtypeStruct(jax.numpy.shape(leaf), jax.numpy.result_type(leaf)) for leaf in leaves]
        return {"kept": strategy.kept, "kept_bytes": sum(values[name]["bytes"] for name in strategy.kept),
                "residual_bytes": residual_bytes(strategy.run, shapes),
                "residual_bytes_without": residual_bytes(self._flat(tree), shapes),
                "planned_peak": strategy.answer["peak"], "store_all_peak": strategy.answer["base_peak"]}

    def write_graph(self, path):
        """Writes the graph that the plan was made for, as graph JSON."""
        if self._last is None:
            raise RuntimeError("there is no plan yet: call the function once")
        return self._last[0].graph.write(path)

    def _flat(self, tree):
        def flat(*leaves):
            arguments, keywords = jax.tree_util.tree_unflatten(tree, leaves)
            return self.function(*arguments, **keywords)

        flat.__name__ = self.__name__
        return flat

    def _strategy(self, leaves, tree):
        key = (tree, tuple((jax.numpy.shape(leaf), str(jax.numpy.result_type(leaf))) for leaf in leaves))
        if key not in self._strategies:
            try:
                self._strategies[key] = Strategy(self._flat(tree), leaves, self._which(leaves, tree), self._plan)
            except (CaptureError, checkpointplan.PlanError, retrograde.RetrogradeError) as error:
                self._strategies[key] = error
        if isinstance(self._strategies[key], Exception):
            raise self._strategies[key]
        return self._strategies[key]

    def _which(self, leaves, tree):
        """Per leaf, whether it belongs to an argument of parameters."""
        arguments, _ = jax.tree_util.tree_unflatten(tree, range(len(leaves)))
        chosen = self.parameters if len(arguments) > 1 else ()
        own = {i for position in chosen for i in jax.tree_util.tree_leaves(arguments[position])}
        return [i in own for i in range(len(leaves))]

    def _plan(self, graph):
        extra = {"parameters": any("constant" in value for value in graph.values.values())}
        with tempfile.TemporaryDirectory() as folder:
            path = graph.write(pathlib.Path(folder) / "graph.json")
            if self.options["plan"] is None:
                return retrograde.plan(path, self.options["budget"], self.options["planner"], **extra)
            return retrograde.judged(path, self.options["plan"], folder, **extra)

    def _warn(self, reason):
        self.reason, self._last, self.last_plan = reason, None, None
        if not self._has_warned:
            self._has_warned = True
            warnings.warn(f"checkpointed: {self.__name__} runs as it is, because {reason}", stacklevel=3)


def checkpointed(function, budget=None, planner="fast", plan=None, parameters=(0,)):
    """A function of arrays that is differentiated by a plan of Retrograde: see the head of this file.

    budget: bytes, or "50%" of what storing everything takes; None: that peak. planner: a strategy of `retrograde-cli
    plan --strategy list`. plan: a plan file for the graph that `.write_graph(FILE)` writes. parameters: positions of the
    arguments that hold weights, whose gradients are made layer by layer; of a function of one argument, none."""
    return Checkpointed(function, budget, planner, plan, tuple(parameters))
