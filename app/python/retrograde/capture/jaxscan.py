# SPDX-License-Identifier: Apache-2.0
"""Scans of JAX for plans: the steps of short ones one by one, longer ones in blocks of steps."""
import math

import jax
import jax.ad_checkpoint

from . import jaxcapture


def of_length(aval, length):
    """The type of so many rows."""
    return jax.ShapeDtypeStruct((length, *aval.shape[1:]), aval.dtype)


class Walker(jaxcapture.Walker):
    """A Walker that cuts scans of more than `unroll` steps into √steps blocks, at most `unroll`. A block gets what is
    fixed, what is carried and its rows."""

    def equation(self, equation, inputs, scope):
        if equation.primitive.name == "scan" and 0 < self.unroll < equation.params["length"]:
            return self.scan_in_blocks(equation, inputs, scope)
        return super().equation(equation, inputs, scope)

    def scan_in_blocks(self, equation, inputs, scope):
        p = equation.params
        fixed = inputs[:p["num_consts"]]
        carry, rows = inputs[len(fixed):len(fixed) + p["num_carry"]], inputs[len(fixed) + p["num_carry"]:]
        row_avals = [one.aval for one in equation.invars[len(fixed) + p["num_carry"]:]]
        results = [one.aval for one in equation.outvars]
        carried, stacked = results[:p["num_carry"]], results[p["num_carry"]:]
        size = -(-p["length"] // min(self.unroll, math.isqrt(p["length"])))
        starts = list(range(0, p["length"], size))
        collected = []
        for i, start in reversed(list(enumerate(starts))) if p["reverse"] else enumerate(starts):
            count = min(size, p["length"] - start)
            inside = f"{scope}/block{i}".strip("/")
            parts = [self.rows(row, aval, start, count, inside) for row, aval in zip(rows, row_avals)]
            avals = [*carried, *(of_length(one, count) for one in stacked)]
            found = self.block(equation, [*fixed, *carry, *parts], avals, count, inside)
            carry = found[:p["num_carry"]]
            collected.append(found[p["num_carry"]:])
        if p["reverse"]:
            collected.reverse()
        return [*carry, *(self.joined(parts, aval, scope) for parts, aval in zip(zip(*collected), stacked))]

    def rows(self, row, aval, start, count, scope):
        """Some rows of what a scan goes over."""
        raise NotImplementedError

    def joined(self, parts, aval, scope):
        """The rows of all blocks, one behind the other."""
        raise NotImplementedError

    def block(self, equation, inputs, avals, count, scope):
        """Some steps of a scan: what is carried, and the rows that they make."""
        raise NotImplementedError


class Namer(jaxcapture.Walker):
    """Evaluates equations and gives every result one name, under which JAX may save it."""

    def __init__(self, name):
        super().__init__(self.compute, lambda value, aval: value, False, 0)
        self.name = name

    def named(self, array):
        return jax.ad_checkpoint.checkpoint_name(array, self.name)

    def compute(self, equation, inputs, scope):
        return [self.named(one) for one in jaxcapture.run_equation(equation, inputs)]


def run_block(equation, inputs, count, name):
    """Runs steps of a scan. name: under which JAX may save what they need for the gradient; None: it may not."""
    p = equation.params
    inner, constants = jaxcapture.opened(p["jaxpr"])
    fixed = inputs[:p["num_consts"]]
    carry, rows = inputs[len(fixed):len(fixed) + p["num_carry"]], inputs[len(fixed) + p["num_carry"]:]

    def step(carried, row):
        if name is None:
            found = jax.core.eval_jaxpr(inner, constants, *fixed, *carried, *row)
        else:
            namer = Namer(name)
            found = namer.run(inner, constants, [*fixed, *map(namer.named, carried), *map(namer.named, row)])
        return tuple(found[:p["num_carry"]]), tuple(found[p["num_carry"]:])

    carry, made = jax.lax.scan(step, tuple(carry), tuple(rows), length=count, reverse=p["reverse"])
    return [*carry, *made]
