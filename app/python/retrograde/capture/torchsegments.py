# SPDX-License-Identifier: Apache-2.0
"""A plan in the words of torch.utils.checkpoint, for training code that has no Retrograde at hand.

    network.write_segments("segments.json"); network.write_policy("policy.json")       # of torchcheckpoint.checkpointed
    module = with_segments(module, "segments.json")                                     # any PyTorch from 1.13 on
    y = torch.utils.checkpoint.checkpoint(module, x, use_reentrant=False, context_fn=policy("policy.json"))     # 2.4 on

Both are coarser than the plan: torch.utils.checkpoint computes again all that it needs of a segment at once, and a
selective policy keeps or gives up the results of operators without an order of its own.
"""
import json
import pathlib

import torch
import torch.fx
import torch.utils.checkpoint

from . import torchcapture
from .graphjson import CaptureError


def read(document, kind):
    """The dictionary of a file (or itself), of this format and version 1."""
    if not isinstance(document, dict):
        document = json.loads(pathlib.Path(document).read_text(encoding="utf-8"))
    wanted = f"retrograde-checkpoint-{kind}/1"
    if document.get("format") != wanted:
        raise CaptureError(f"this is of the format {document.get('format')!r}, wanted is {wanted}: write it with "
                           f".write_{kind}(FILE) of a checkpointed module")
    return document


class Segment(torch.nn.Module):
    """Nodes of a traced module that are computed again together: tensors in, tensors out."""

    def __init__(self, traced, nodes):
        super().__init__()
        self.interpreter = torch.fx.Interpreter(traced, garbage_collect_values=False)
        self.nodes, inside = nodes, set(nodes)
        self.inputs = list(dict.fromkeys(one for node in nodes for one in node.all_input_nodes if one not in inside))
        self.outputs = [node for node in nodes if any(user not in inside for user in node.users)]

    def forward(self, *given):
        self.interpreter.env = dict(zip(self.inputs, given))
        for node in self.nodes:
            self.interpreter.env[node] = self.interpreter.run_node(node)
        results = tuple(self.interpreter.env[node] for node in self.outputs)
        self.interpreter.env = {}
        return results


class Segmented(torch.nn.Module):
    """A traced module whose segments run through torch.utils.checkpoint."""

    def __init__(self, module, segments, leaves):
        super().__init__()
        self.module = module
        self.traced = torchcapture.traced(module, leaves)
        nodes = [node for node in self.traced.graph.nodes if node.op not in ("placeholder", "output")]
        place = {node.name: i for i, node in enumerate(nodes)}
        self._parts, start = [], 0
        for first, last in segments:
            if first not in place or last not in place or not start <= place[first] <= place[last]:
                raise CaptureError(f"segment {first} … {last} does not fit {type(module).__name__}: nodes are those of "
                                   "torch.fx, in order; write the segments for this module and these leaves again")
            self._parts += [(node, None) for node in nodes[start:place[first]]]
            start = place[last] + 1
            self._parts.append((None, Segment(self.traced, nodes[place[first]:start])))
        self._parts += [(node, None) for node in nodes[start:]]

    def forward(self, *inputs, **keywords):
        runner = torch.fx.Interpreter(self.traced, garbage_collect_values=False)
        given = iter(torchcapture.named_inputs(self.traced, inputs, keywords))
        for node in self.traced.graph.nodes:
            if node.op == "placeholder":
                runner.env[node] = next(given)
        for node, segment in self._parts:
            if segment is None:
                runner.env[node] = runner.run_node(node)
            else:
                results = torch.utils.checkpoint.checkpoint(segment, *(runner.env[one] for one in segment.inputs),
                                                            use_reentrant=False)
                runner.env.update(zip(segment.outputs, results))
        last = next(node for node in self.traced.graph.nodes if node.op == "output")
        return torch.fx.node.map_arg(last.args[0], runner.env.__getitem__)


def with_segments(module, document, leaves=()):
    """The module with the segments of a file (or dictionary) under torch.utils.checkpoint. Leaves as they were then."""
    return Segmented(module, read(document, "segments")["segments"], tuple(leaves))


def policy(document):
    """The `context_fn` of torch.utils.checkpoint.checkpoint for the policy of a file (or dictionary). PyTorch 2.4 on."""
    calls = read(document, "policy")["calls"]
    if not hasattr(torch.utils.checkpoint, "create_selective_checkpoint_contexts"):
        raise CaptureError(f"PyTorch {torch.__version__} has no selective checkpointing (2.4 has); use with_segments or "
                           "torchcheckpoint.checkpointed")
    chosen = {"save": torch.utils.checkpoint.CheckpointPolicy.MUST_SAVE,
              "recompute": torch.utils.checkpoint.CheckpointPolicy.PREFER_RECOMPUTE}

    def contexts():
        counts = {False: 0, True: 0}

        def decide(context, function, *_, **__):
            i = counts[context.is_recompute]
            counts[context.is_recompute] += 1
            if i >= len(calls) or calls[i][0] != str(function):
                wanted = calls[i][0] if i < len(calls) else "the end"
                raise CaptureError(f"operator {i} of the forward pass is {function}, the policy has {wanted}: it was "
                                   "written for other shapes, another mode or another PyTorch; write it again here")
            return chosen[calls[i][1]]

        return torch.utils.checkpoint.create_selective_checkpoint_contexts(decide)

    return contexts


