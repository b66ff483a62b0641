# SPDX-License-Identifier: Apache-2.0
"""Reads a plan file (docs/formats/plan.md) as somebody who runs it in another framework: what stays in memory at the
turn from forward to gradients, what is computed again afterwards, and in which order. Needs no framework."""
import json
import pathlib

from ..errors import InputError

FORMAT = "retrograde-plan/1"


class PlanError(InputError):
    """What is wrong with a plan, and what to do about it."""


class PlanView:
    """A plan for a graph: `nodes` as graph JSON lists them."""

    def __init__(self, plan, nodes):
        if not isinstance(plan, dict):
            plan = json.loads(pathlib.Path(plan).read_text(encoding="utf-8"))
        if plan.get("format") != FORMAT:
            raise PlanError(f"this plan is of the format {plan.get('format')!r}; known is {FORMAT}: make it again with "
                            "`retrograde-cli plan`")
        self.document = plan
        self.outputs = {node["name"]: node["outputs"] for node in nodes}
        self.inputs = {node["name"]: node["inputs"] for node in nodes}
        if any(kind in "op" for kind, *_ in plan["steps"]):
            raise PlanError("the plan moves values to other storage, which this runner cannot; make it without tiers")
        self.turn = next((i for i, (kind, name, *_) in enumerate(plan["steps"]) if self.is_gradient(kind, name)),
                         len(plan["steps"]))
        self.replay = plan["steps"][self.turn:]
        self.live = self._live_at_turn()
        self.again = [name for kind, name, *_ in self.replay if kind == "c" and name in self.outputs]

    def is_gradient(self, kind, name):
        """Whether a step runs an operator of the second half."""
        return kind == "c" and name not in self.outputs

    def _live_at_turn(self):
        live, known = set(), {value for outputs in self.outputs.values() for value in outputs}
        for kind, name, *_ in self.document["steps"][:self.turn]:
            if kind == "c":
                live.update(self.outputs[name])
            else:
                live.discard(name)
        return live & known

    def gradient_position(self, value):
        """Where in `replay` the gradient of a value has been computed: the index behind that step; 0 without one."""
        return self._gradients().get(value, 0)

    def _gradients(self):
        if not hasattr(self, "_positions"):
            self._positions = {name[2:]: i + 1 for i, (kind, name, *_) in enumerate(self.replay)
                               if kind == "c" and name[:2] in ("d:", "r:") and name not in self.outputs}
        return self._positions

    def planned(self):
        """Names of the nodes that the plan computes; views of other values are not among them."""
        return {name for kind, name, *_ in self.document["steps"] if kind == "c" and name in self.outputs}


def segments(plan, order):
    """The plan as runs of `torch.utils.checkpoint`: [first, last] names of nodes in `order` (the forward order) whose
    results are all given up at the turn and computed again in the backward pass. A segment starts behind a value that
    is kept and ends at the next one; what crosses its end is kept by `torch.utils.checkpoint` itself."""
    found, current = [], []
    again, planned = set(plan.again), plan.planned()
    for name in order:
        if name in again or (current and name not in planned):
            current.append(name)
            continue
        if current:
            found.append([current[0], name])
            current = []
    if current:
        found.append([current[0], current[-1]])
    return found


def write_segments(path, plan, order):
    """Writes the segments as JSON: {"format", "planner", "segments": [[first node, last node], …]}."""
    document = {"format": "retrograde-checkpoint-segments/1", "planner": plan.document["annotations"].get("planner"),
                "segments": segments(plan, order)}
    pathlib.Path(path).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return document


def write_policy(path, plan, calls):
    """Writes a selective-checkpoint policy as JSON. calls: (operator, node, whether its result is changed in place
    later) of every operator that PyTorch runs in the forward pass, in order; "save" where the results of its node are
    kept, else "recompute": what is changed later cannot be kept."""
    again = set(plan.again)
    document = {"format": "retrograde-checkpoint-policy/1", "planner": plan.document["annotations"].get("planner"),
                "calls": [[call, "recompute" if changes or node in again else "save"] for call, node, changes in calls]}
    pathlib.Path(path).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return document
