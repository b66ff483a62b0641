# SPDX-License-Identifier: Apache-2.0
"""Rows of a data set from a relevance graph: what the scripts for Ray and Spark share. One session for each worker.

Rows: target (flat index of the explained score; -1: all of them), score, relevance (flat list of float32), shape,
started and reached (sums of the relevance of the sample at the scores and at the input).
"""
import numpy as np


class RelevanceRows:
    def __init__(self, graph):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1  # as many workers as cores; more threads would take turns
        self.session = onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])
        names = [value.name for value in self.session.get_inputs()]
        says = self.session.get_modelmeta().custom_metadata_map
        self.start = says.get("retrograde.start", "logit")
        if self.start == "input" or len(names) - ("target" in names) != 1:
            raise ValueError("this script explains graphs of one input that choose the start themselves")
        self.input = next(name for name in names if name != "target")
        self.rank = len(next(value for value in self.session.get_inputs() if value.name == self.input).shape)
        self.has_target = "target" in names
        self.scores, _, self.chosen = says["retrograde.target"].partition(":")
        if not self.has_target and "," in self.chosen:
            raise ValueError("several targets start as one sum, and a row has one target; write a graph for each")
        if self.scores not in [value.name for value in self.session.get_outputs()]:
            raise ValueError(f"the explained value {self.scores} is no output of the graph")
        self.relevance = "relevance/" + self.input

    def targets_of(self, flat):
        if self.start == "all":
            return np.full(len(flat), -1)
        if self.has_target or self.chosen in ("", "argmax"):
            return flat.argmax(axis=1)
        return np.full(len(flat), int(self.chosen))

    def started_of(self, flat, scores):
        if self.start == "all":
            return flat.sum(axis=1)
        if self.start == "one":
            return np.ones(len(flat))
        return np.full(len(flat), 1 / flat.shape[1]) if self.start == "contrastive" else scores

    def rows_of(self, inputs):
        """Of arrays of one sample each, with or without a batch axis of one."""
        batch = np.stack([one[0] if one.ndim == self.rank else one for one in inputs]).astype(np.float32)
        feed = {self.input: batch}
        if self.has_target:
            feed["target"] = np.full(len(batch), -1, np.int64)
        scores, relevance = self.session.run([self.scores, self.relevance], feed)
        flat = scores.reshape(len(batch), -1).astype(np.float64)
        targets = self.targets_of(flat)
        chosen = np.where(targets < 0, flat.sum(axis=1), flat[np.arange(len(flat)), targets])
        started = self.started_of(flat, chosen)
        for i in range(len(batch)):
            yield {"target": int(targets[i]), "score": float(chosen[i]), "relevance": relevance[i].ravel(),
                   "shape": list(relevance.shape[1:]), "started": float(started[i]),
                   "reached": float(relevance[i].sum(dtype=np.float64))}
