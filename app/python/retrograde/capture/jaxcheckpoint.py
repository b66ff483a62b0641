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
from . import jaxscan
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


class Planner(jaxscan.Walker):
    """Writes the forward pass as a graph to plan for: what each equation saves for its gradient, and its cost."""

    def __init__(self, graph, unroll):
        super().__init__(self.write, self.constant, False, unroll)
        self.graph = graph

    def constant(self, value, aval):
        return None

    def write(self, equation, inputs, scope):
        name = equation.primitive.name
        saves_all = name not in SAVES_NOTHING | SAVES_RESULT | SAVES_OPERANDS
        places = range(min(1, len(inputs))) if name == "select_n" else range(len(inputs))
        return self.node(name, inputs, [one.aval for one in equation.outvars], scope, cost_of(equation),
                         places if saves_all or name in SAVES_OPERANDS else (), saves_all or name in SAVES_RESULT,
                         bool(equation.effects))

    def node(self, name, inputs, avals, scope, flops, saves_inputs=(), saves_results=False, has_effects=False,
             interior=0):
        """Adds a node; names of its results. interior: bytes that it saves and nobody else knows."""
        operands = [one for one in inputs if one is not None]
        results = []
        for aval in avals:
            dtype = str(aval.dtype)
            results.append(self.graph.add_value(name, dtype if dtype in DTYPES else "uint32", aval.shape,
                                                bytes=bytes_of(aval)))
        saved = list(range(len(results))) if saves_results else []
        outputs = list(results)
        if interior:
            saved.append(len(outputs))
            outputs.append(self.graph.add_value(f"{name}.saved", "float32", None, bytes=interior))
        self.graph.add_node(name, operands, outputs, name, "jax", scope, flops=flops,
                            saves_inputs=[i for i in saves_inputs if i < len(operands)], saves_outputs=saved,
                            effectful=True if has_effects else None)
        return results

    def part(self, equation, row, aval, i, scope):
        return self.node("slice", [row], [aval], scope, math.prod(aval.shape))[0]

    def stacked(self, equation, parts, aval, scope):
        return self.node("stack", list(dict.fromkeys(parts)), [aval], scope, math.prod(aval.shape))[0]

    def rows(self, row, aval, start, count, scope):
        return self.node("slice", [row], [jaxscan.of_length(aval, count)], scope, count * math.prod(aval.shape[1:]))[0]

    def joined(self, parts, aval, scope):
        return self.node("concatenate", list(dict.fromkeys(parts)), [aval], scope, math.prod(aval.shape))[0]

    def block(self, equation, inputs, avals, count, scope):
        """A part of a scan as one node; what its steps save is a value of its own."""
        inner, constants = jaxcapture.opened(equation.params["jaxpr"])
        step = GraphWriter("step")
        names = [step.add_value("given", "float32", None, bytes=bytes_of(one.aval)) for one in inner.invars]
        Planner(step, 0).run(inner, [None] * len(constants), names)
        fixed = set(names[:equation.params["num_consts"]])
        saved = {name for name in saved_by(step) if name not in fixed}
        flops = sum(node["flops"] for node in step.nodes)
        return self.node("scan", inputs, avals, scope, max(1, flops * count),
                         range(equation.params["num_consts"]), interior=count * sum(
                             step.values[name]["bytes"] for name in saved))


def bytes_of(aval):
    return math.prod(aval.shape) * DTYPES.get(str(aval.dtype), 4)


def saved_by(graph):
    """Names of the values that some node of a graph saves for its gradient."""
    return {name for node in graph.nodes for places, ends in
            ((node["saves_inputs"], node["inputs"]), (node["saves_outputs"], node["outputs"]))
            for name in (ends[i] for i in places)}


class Runner(jaxscan.Walker):
    """Evaluates the same equations in the same order, and names what the plan keeps."""

    def __init__(self, nodes, kept, unroll):
        super().__init__(self.compute, lambda value, aval: value, False, unroll)
        self.nodes, self.kept = iter(nodes), kept

    def named(self, arrays):
        """Results of the next node, under the names that the plan keeps."""
        node = next(self.nodes)
        return [jax.ad_checkpoint.checkpoint_name(array, name) if name in self.kept else array
                for array, name in zip(arrays, node["outputs"])]

    def compute(self, equation, inputs, scope):
        return self.named(jaxcapture.run_equation(equation, inputs))

    def part(self, equation, row, aval, i, scope):
        return self.named([row[i]])[0]

    def stacked(self, equation, parts, aval, scope):
        return self.named([jax.numpy.stack(parts)])[0]

    def rows(self, row, aval, start, count, scope):
        return self.named([jax.lax.slice_in_dim(row, start, start + count)])[0]

    def joined(self, parts, aval, scope):
        return self.named([jax.numpy.concatenate(parts)])[0]

    def block(self, equation, inputs, avals, count, scope):
        node = next(self.nodes)
        interior = node["outputs"][len(avals)] if len(node["outputs"]) > len(avals) else None
        found = jaxscan.run_block(equation, inputs, count, interior if interior in self.kept else None)
        return [jax.ad_checkpoint.checkpoint_name(array, name) if name in self.kept else array
                for array, name in zip(found, node["outputs"])]


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

    def __init__(self, function, leaves, is_parameter, make_plan, unroll):
        closed, self.shape = jax.make_jaxpr(function, return_shape=True)(*leaves)
        self.graph = GraphWriter(getattr(function, "__name__", "function"))
        planner = Planner(self.graph, unroll)
        names = [given(self.graph, i, one.aval, parameter)
                 for i, (one, parameter) in enumerate(zip(closed.jaxpr.invars, is_parameter))]
        results = planner.run(closed.jaxpr, planner.constants(closed.consts), names)
        self.graph.set_outputs(dict.fromkeys(one for one in results if one is not None))
        self.answer, document = make_plan(self.graph)
        self.plan = checkpointplan.PlanView(document, self.graph.nodes)
        again = {name for one in self.plan.again for name in self.plan.inputs[one]}
        self.kept = sorted(self.plan.live & (saved_by(self.graph) | again))

        def run(*arguments):
            runner = Runner(self.graph.nodes, set(self.kept), unroll)
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

    def __init__(self, function, budget, planner, plan, parameters, unroll):
        self.function, self.parameters, self.unroll = function, parameters, unroll
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
                self._strategies[key] = Strategy(self._flat(tree), leaves, self._which(leaves, tree), self._plan,
                                                 self.unroll)
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


def checkpointed(function, budget=None, planner="fast", plan=None, parameters=(0,), unroll=64):
    """A function of arrays that is differentiated by a plan of Retrograde: see the head of this file.

    budget: bytes, or "50%" of what storing everything takes; None: that peak. planner: a strategy of `retrograde-cli
    plan --strategy list`. plan: a plan file for the graph that `.write_graph(FILE)` writes. parameters: positions of the
    arguments that hold weights, whose gradients are made layer by layer; of a function of one argument, none. unroll: a
    scan of at most so many steps is planned step by step, a longer one in blocks of steps; 0: as one operator."""
    return Checkpointed(function, budget, planner, plan, tuple(parameters), unroll)
