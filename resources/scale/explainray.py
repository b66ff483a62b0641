#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Explains a folder of inputs with a relevance graph on Ray Data; the results are one Parquet data set.

explainray.py GRAPH.onnx INPUTS OUT [--workers 2] [--batch 8] [--shard 64]

GRAPH.onnx comes from `retrograde-cli explain MODEL --graph-out GRAPH.onnx`. INPUTS is a folder of .npy files, each of
one sample: the shape of the model's input without its batch axis, or with a batch axis of one. OUT is a folder.

Rows: id (file name), target (flat index of the explained score), score, relevance (flat list of float32), shape,
started and reached (sums of the relevance of the sample at the scores and at the input).

The inputs are shared out in parts of --shard files. Each part is written as OUT/part-NNNNN.parquet, under another name
first. A call that is started again skips the parts that are there; Ray runs a part again when its worker is lost.
Packages: ray[data], onnxruntime, numpy, pyarrow.
"""
import argparse
import hashlib
import os
import pathlib
import sys

import numpy as np


class Explain:
    """One session for each worker: it is made once, not for each batch."""

    def __init__(self, graph, out, batch):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1  # as many workers as cores; more threads would take turns
        self.session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
        names = [value.name for value in self.session.get_inputs()]
        self.input = next(name for name in names if name != "target")
        self.has_target = "target" in names
        self.scores = self.session.get_outputs()[0].name
        self.relevance = "relevance/" + self.input
        self.out = pathlib.Path(out)
        self.batch = batch

    def rows_of(self, files):
        inputs = [np.load(file) for file in files]
        rank = len(self.session.get_inputs()[0].shape)
        inputs = np.stack([one[0] if one.ndim == rank else one for one in inputs]).astype(np.float32)
        feed = {self.input: inputs}
        if self.has_target:
            feed["target"] = np.full(len(files), -1, np.int64)
        scores, relevance = self.session.run([self.scores, self.relevance], feed)
        flat = scores.reshape(len(files), -1)
        targets = flat.argmax(axis=1)
        for i, file in enumerate(files):
            yield {"id": pathlib.Path(file).stem, "target": int(targets[i]), "score": float(flat[i, targets[i]]),
                   "relevance": relevance[i].ravel(), "shape": list(relevance.shape[1:]),
                   "started": float(flat[i, targets[i]]), "reached": float(relevance[i].sum())}

    def __call__(self, part):
        import pyarrow
        import pyarrow.parquet

        done = []
        for name, files in zip(part["name"], part["files"]):
            target = self.out / str(name)
            if not target.exists():
                files = [str(file) for file in files]
                rows = []
                for start in range(0, len(files), self.batch):
                    rows.extend(self.rows_of(files[start:start + self.batch]))
                table = pyarrow.Table.from_pylist([{**row, "relevance": row["relevance"].tolist()} for row in rows])
                unfinished = target.with_name(f".{target.name}.{os.getpid()}")
                pyarrow.parquet.write_table(table, unfinished)
                os.replace(unfinished, target)  # whole or not at all
            done.append(str(name))
        return {"name": done}


def parts_of(folder, size):
    files = sorted(str(file) for file in pathlib.Path(folder).glob("*.npy"))
    for start in range(0, len(files), size):
        yield {"name": f"part-{start // size:05}.parquet", "files": files[start:start + size]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph")
    parser.add_argument("inputs")
    parser.add_argument("out")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--shard", type=int, default=64)
    arguments = parser.parse_args()
    graph = os.path.abspath(arguments.graph)
    out = pathlib.Path(arguments.out).absolute()
    out.mkdir(parents=True, exist_ok=True)
    mark = out / "graph.sha256"
    digest = hashlib.sha256(pathlib.Path(graph).read_bytes()).hexdigest()
    if mark.exists() and mark.read_text() != digest:
        sys.exit(f"{out} holds results of another graph; name another folder")
    mark.write_text(digest)
    parts = [part for part in parts_of(arguments.inputs, arguments.shard) if not (out / part["name"]).exists()]
    if not parts:
        print(f"nothing left to do in {out}")
        return
    import ray

    # One processor more than workers: if they held all, the tasks that read would wait for ever.
    ray.init(num_cpus=arguments.workers + 1, include_dashboard=False, log_to_driver=False)
    data = ray.data.from_items(parts, override_num_blocks=len(parts))
    done = data.map_batches(Explain, fn_constructor_args=[graph, str(out), arguments.batch], batch_size=1,
                            concurrency=arguments.workers, num_cpus=1, max_restarts=-1, max_task_retries=-1)
    count = 0
    for row in done.iter_rows():
        count += 1
        print(f"{count} of {len(parts)} parts, {row['name']}", flush=True)
    ray.shutdown()


if __name__ == "__main__":
    main()
