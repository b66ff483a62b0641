# SPDX-License-Identifier: Apache-2.0
"""Captures a JAX function as graph JSON that Retrograde opens, explains and plans for.

    from retrograde.capture import jaxcapture
    jaxcapture.capture(apply, weights, x, parameters=(0,), path="net.json")     # weights become constants
    jaxcapture.capture(loss, weights, x, step=True, path="step.json")           # with its gradients, to plan for
    jaxcapture.capture(apply, weights, x, measure=5, path="net.json")           # and milliseconds, the fastest of five

It follows the jaxpr of the function for the shapes of these arguments. Calls inside (jit, custom_jvp, custom_vjp,
checkpoint) are opened, scans are written out up to `unroll` steps. Primitives that the ONNX standard knows become its
operators and can be run and explained; others keep JAX's name in the domain `jax`: such a graph can be drawn, analysed
and planned for, and running it is refused by that name. docs/capture.md says what jit and pmap mean for a capture.
"""
import time

import jax
import jax.extend.core
import numpy

from . import jaxoperators
from .graphjson import DTYPES, CaptureError, GraphWriter

CALLS = {"jit": "jaxpr", "pjit": "jaxpr", "closed_call": "call_jaxpr", "core_call": "call_jaxpr",
         "checkpoint": "jaxpr", "remat": "jaxpr", "remat2": "jaxpr"}
CUSTOM = {"custom_jvp_call": "call_jaxpr", "custom_vjp_call": "call_jaxpr", "custom_vjp_call_jaxpr": "fun_jaxpr"}
MAPPED = ("pmap", "xla_pmap", "shard_map", "xmap")


def opened(jaxpr):
    """(equations' owner, constants) of a jaxpr with or without constants of its own."""
    return (jaxpr.jaxpr, jaxpr.consts) if hasattr(jaxpr, "consts") else (jaxpr, ())


class Walker:
    """Goes over all equations of a jaxpr, those of calls and short scans included, in order. `visit(equation, inputs,
    names)` gets what stands for the operands and gives what stands for the results; literals go through `literal`."""

    def __init__(self, visit, literal, opens_custom=True, unroll=64):
        self.visit, self.literal, self.unroll = visit, literal, unroll
        self.calls = {**CALLS, **(CUSTOM if opens_custom else {})}

    def run(self, jaxpr, constants, inputs, scope=""):
        """Results of a jaxpr whose inputs stand for these things."""
        known = dict(zip(jaxpr.constvars, constants))
        known.update(zip(jaxpr.invars, inputs))

        def read(one):
            return self.literal(one.val, one.aval) if isinstance(one, jax.extend.core.Literal) else known[one]

        for equation in jaxpr.eqns:
            results = self.equation(equation, [read(one) for one in equation.invars], scope)
            known.update(zip(equation.outvars, results))
        return [read(one) for one in jaxpr.outvars]

    def equation(self, equation, inputs, scope):
        name = equation.primitive.name
        if name in MAPPED:
            raise CaptureError(f"{name} runs a function on several devices, each with a part of the arguments; capture "
                               "the function inside it, for the part that one device gets")
        if name in self.calls:
            inner, constants = opened(equation.params[self.calls[name]])
            label = equation.params.get("name", "")
            return self.run(inner, self.constants(constants), inputs, f"{scope}/{label}".strip("/") if label else scope)
        if name == "scan" and equation.params["length"] <= self.unroll:
            return self.scan(equation, inputs, scope)
        return self.visit(equation, inputs, scope)

    def constants(self, constants):
        return [self.literal(one, jax.typeof(one) if hasattr(jax, "typeof") else jax.core.get_aval(one))
                for one in constants]

    def scan(self, equation, inputs, scope):
        """The steps of a scan one after the other."""
        inner, constants = opened(equation.params["jaxpr"])
        count, carried = equation.params["num_consts"], equation.params["num_carry"]
        fixed, carry, rows = inputs[:count], inputs[count:count + carried], inputs[count + carried:]
        places = range(equation.params["length"])
        collected = []
        for i in reversed(places) if equation.params["reverse"] else places:
            parts = [self.part(equation, row, aval, i, scope)
                     for row, aval in zip(rows, (one.aval for one in inner.invars[count + carried:]))]
            results = self.run(inner, self.constants(constants), [*fixed, *carry, *parts], f"{scope}/step{i}".strip("/"))
            carry = results[:carried]
            collected.append(results[carried:])
        if equation.params["reverse"]:
            collected.reverse()
        stacked = [self.stacked(equation, parts, one.aval, scope)
                   for parts, one in zip(zip(*collected), equation.outvars[carried:])]
        return [*carry, *stacked]

    def part(self, equation, row, aval, i, scope):
        raise NotImplementedError

    def stacked(self, equation, parts, aval, scope):
        raise NotImplementedError


class Recorder(Walker):
    """Writes every equation as it comes; with `measure`, it also runs it on the numbers."""

    def __init__(self, graph, weights, measure, unroll):
        super().__init__(self.write, self.constant, True, unroll)
        self.graph, self.weights, self.measure, self.count = graph, weights, measure, 0

    def constant(self, value, aval):
        """Operand of a literal or a constant of the function."""
        array = numpy.asarray(value)
        if str(array.dtype) not in DTYPES or array.dtype.name == "bfloat16":
            raise CaptureError(f"a constant of the function has the type {array.dtype}; convert it to float32 first")
        self.count += 1
        name = self.graph.add_constant(f"constant_{self.count}", array.astype(aval.dtype, copy=False), self.weights)
        return jaxoperators.Operand(name, tuple(aval.shape), str(aval.dtype), array if self.measure else None, array)

    def write(self, equation, inputs, scope):
        found, milliseconds = self.measured(equation, inputs)
        results = jaxoperators.emit(self.graph, equation.primitive.name, equation.params, inputs,
                                    [one.aval for one in equation.outvars], scope, milliseconds)
        for result, array in zip(results, found):
            result.array = array
        return results

    def measured(self, equation, inputs):
        if not self.measure:
            return [None] * len(equation.outvars), None
        best = None
        for _ in range(self.measure + 1):
            start = time.perf_counter()
            found = jax.block_until_ready(run_equation(equation, [one.array for one in inputs]))
            seconds = time.perf_counter() - start
            best = seconds if best is None else min(best, seconds)
        return found, best * 1000

    def part(self, equation, row, aval, i, scope):
        parameters = {"start_indices": (i, *(0 for _ in aval.shape)), "limit_indices": (i + 1, *aval.shape),
                      "strides": None}
        wide = jax.ShapeDtypeStruct((1, *aval.shape), aval.dtype)
        sliced, = jaxoperators.emit(self.graph, "slice", parameters, [row], [wide], scope, 0.0 if self.measure else None)
        found, = jaxoperators.emit(self.graph, "squeeze", {}, [sliced], [aval], scope, 0.0 if self.measure else None)
        found.array = row.array[i] if self.measure else None
        return found

    def stacked(self, equation, parts, aval, scope):
        time_of = 0.0 if self.measure else None
        wide = [jax.ShapeDtypeStruct((1, *aval.shape[1:]), aval.dtype)] * len(parts)
        rows = [jaxoperators.emit(self.graph, "reshape", {}, [part], [one], scope, time_of)[0]
                for part, one in zip(parts, wide)]
        found, = jaxoperators.emit(self.graph, "concatenate", {"dimension": 0}, rows, [aval], scope, time_of)
        found.array = jax.numpy.stack([part.array for part in parts]) if self.measure else None
        return found


def run_equation(equation, arrays):
    """Results of one equation on arrays or tracers, as a list."""
    given = [variable.val if isinstance(variable, jax.extend.core.Literal) else array
             for variable, array in zip(equation.invars, arrays)]
    parameters = equation.primitive.get_bind_params(equation.params)
    functions, parameters = parameters if isinstance(parameters, tuple) else ((), parameters)  # before JAX 0.10
    found = equation.primitive.bind(*functions, *given, **parameters)
    return list(found) if equation.primitive.multiple_results else [found]


def path_name(path):
    """A name for a leaf of the arguments: 0['a'][1] becomes arg0.a.1."""
    parts = [str(getattr(key, "key", getattr(key, "idx", getattr(key, "name", key)))) for key in path]
    return ".".join(["arg" + parts[0], *parts[1:]])


def step_of(function):
    """The function with its gradients, for every argument of floats."""

    def step(*arguments):
        leaves, tree = jax.tree_util.tree_flatten(arguments)
        places = [i for i, leaf in enumerate(leaves) if jax.numpy.issubdtype(leaf.dtype, jax.numpy.floating)]

        def of_floats(*floats):
            full = list(leaves)
            for i, one in zip(places, floats):
                full[i] = one
            result = function(*jax.tree_util.tree_unflatten(tree, full))
            if getattr(result, "shape", None) != ():
                raise CaptureError("step=True needs a function that returns one number, the loss")
            return result

        return jax.value_and_grad(of_floats, argnums=tuple(range(len(places))))(*(leaves[i] for i in places))

    return step


def mark_phases(graph):
    """Operators that the first output, the loss, does not need are those of the gradients."""
    producer = {name: node for node in graph.nodes for name in node["outputs"]}
    needed, stack = set(), [graph.outputs[0]]
    while stack:
        node = producer.get(stack.pop())
        if node is not None and node["name"] not in needed:
            needed.add(node["name"])
            stack.extend(name for name in node["inputs"] if name)
    for node in graph.nodes:
        node["phase"] = "forward" if node["name"] in needed else "backward"


def capture(function, *arguments, path=None, name=None, parameters=(), weights=True, measure=0, step=False, unroll=64):
    """Captures a function for the shapes of these arguments; the GraphWriter, and the file at `path`.

    parameters: positions of arguments that become constants. weights=False leaves the numbers of constants out.
    measure=N runs every operator N times on its own and states the fastest, in milliseconds. step=True captures the
    function with its gradients (jax.value_and_grad by all floats), operators marked as of the forward or backward
    phase. unroll: how many steps of a scan are written out; longer ones stay one operator."""
    graph = GraphWriter(name or getattr(function, "__name__", type(function).__name__))
    closed = jax.make_jaxpr(step_of(function) if step else function)(*arguments)
    recorder = Recorder(graph, weights, measure, unroll)
    inputs = []
    for leaf_path, leaf in jax.tree_util.tree_flatten_with_path(arguments)[0]:
        aval = jax.ShapeDtypeStruct(numpy.shape(leaf), jax.numpy.result_type(leaf))
        jaxoperators.dtype_name(aval.dtype, f"argument {path_name(leaf_path)}")
        if leaf_path[0].idx in parameters:
            array = numpy.asarray(leaf)
            one = jaxoperators.Operand(graph.add_constant(path_name(leaf_path), array, weights), array.shape,
                                       str(array.dtype), None, array)
        else:
            one = jaxoperators.Operand(graph.add_input(path_name(leaf_path), str(aval.dtype), aval.shape), aval.shape,
                                       str(aval.dtype))
        one.array = jax.numpy.asarray(leaf) if measure else None
        inputs.append(one)
    results = recorder.run(closed.jaxpr, recorder.constants(closed.consts), inputs)
    graph.set_outputs(jaxoperators.distinct(graph, results))
    if step:
        mark_phases(graph)
    if path:
        graph.write(path)
    return graph
