#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Explains a folder of inputs with a relevance graph on Ray Data; the results are one Parquet data set.

explainray.py GRAPH.onnx INPUTS OUT [--card MODEL.card.json] [--workers 2] [--batch 8] [--shard 64]

GRAPH.onnx comes from `retrograde-cli explain MODEL --graph-out GRAPH.onnx`. INPUTS is a folder of pictures (.png, .jpg)
and .npy files, each of one sample. OUT is a folder.

Rows: id (file name), and what relevancerows.py says, which also reads the inputs.

The inputs are shared out in parts of --shard files. Each part is written as OUT/part-NNNNN.parquet, under another name
first. A call that is started again skips the parts that are there; Ray runs a part again when its worker is lost.
Names of what lies beside the parts begin with _ or a dot, so that pandas.read_parquet(OUT) reads the parts alone.
Packages: ray[data], onnxruntime, numpy, pyarrow; Pillow for pictures.
"""
import argparse
import hashlib
import os
import pathlib
import sys

import pyarrow
import pyarrow.parquet
from relevancerows import SUFFIXES, RelevanceRows, check_ids

SCHEMA = pyarrow.schema([("id", pyarrow.string()), ("target", pyarrow.int64()), ("score", pyarrow.float64()),
                         ("relevance", pyarrow.list_(pyarrow.float32())), ("shape", pyarrow.list_(pyarrow.int64())),
                         ("started", pyarrow.float64()), ("reached", pyarrow.float64())])


class Explain:
    """One session for each worker: it is made once, not for each batch."""

    def __init__(self, graph, card, out, batch):
        self.rows = RelevanceRows(graph, card)
        self.out = pathlib.Path(out)
        self.batch = batch

    def rows_of(self, files):
        made = self.rows.rows_of([self.rows.sample_of(file, pathlib.Path(file).read_bytes()) for file in files])
        return [{"id": pathlib.Path(file).stem, **row, "relevance": row["relevance"].tolist()}
                for file, row in zip(files, made)]

    def __call__(self, part):
        done = []
        for name, files in zip(part["name"], part["files"]):
            target = self.out / str(name)
            if not target.exists():
                files = [str(file) for file in files]
                rows = []
                for start in range(0, len(files), self.batch):
                    rows.extend(self.rows_of(files[start:start + self.batch]))
                table = pyarrow.Table.from_pylist(rows, schema=SCHEMA)
                unfinished = target.with_name(f".{target.name}.{os.getpid()}")
                pyarrow.parquet.write_table(table, unfinished)
                os.replace(unfinished, target)  # whole or not at all
            done.append(str(name))
        return {"name": done}


def parts_of(folder, size):
    files = sorted(str(file) for file in pathlib.Path(folder).iterdir() if file.suffix.lower() in SUFFIXES)
    check_ids(files)
    for start in range(0, len(files), size):
        yield {"name": f"part-{start // size:05}.parquet", "files": files[start:start + size]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph")
    parser.add_argument("inputs")
    parser.add_argument("out")
    parser.add_argument("--card", help="how a picture becomes the input")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--shard", type=int, default=64)
    arguments = parser.parse_args()
    graph = os.path.abspath(arguments.graph)
    card = arguments.card and os.path.abspath(arguments.card)
    out = pathlib.Path(arguments.out).absolute()
    out.mkdir(parents=True, exist_ok=True)
    mark = out / "_graph.sha256"
    digest = hashlib.sha256(pathlib.Path(graph).read_bytes())
    if card:
        digest.update(pathlib.Path(card).read_bytes())
    digest = digest.hexdigest()
    if mark.exists() and mark.read_text() != digest:
        sys.exit(f"{out} holds results of another graph or card; name another folder")
    mark.write_text(digest)
    parts = [part for part in parts_of(arguments.inputs, arguments.shard) if not (out / part["name"]).exists()]
    if not parts:
        print(f"nothing left to do in {out}")
        return
    import ray

    # One processor more than workers: if they held all, the tasks that read would wait for ever.
    ray.init(num_cpus=arguments.workers + 1, include_dashboard=False, log_to_driver=False)
    data = ray.data.from_items(parts, override_num_blocks=len(parts))
    done = data.map_batches(Explain, fn_constructor_args=[graph, card, str(out), arguments.batch], batch_size=1,
                            concurrency=arguments.workers, num_cpus=1, max_restarts=-1, max_task_retries=-1)
    count = 0
    for row in done.iter_rows():
        count += 1
        print(f"{count} of {len(parts)} parts, {row['name']}", flush=True)
    ray.shutdown()


if __name__ == "__main__":
    main()
