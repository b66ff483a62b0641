#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Relevance graphs against the engine: how far apart, and how long.

explainer.py [--cli PROGRAM] [--composite C] [--batch N] [--threads N] [--runs N] FILE …

Writes `explain FILE --graph-out`, runs it in onnxruntime and `retrograde-cli explain` over the same random input in
float32 and in float64. Prints, per file, the largest differences as max|a − b| / max|b| over the relevance of the
inputs, and medians of the times of the forward pass alone and of the relevance graph. Needs onnxruntime and numpy.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile
import time

import numpy as np
import onnxruntime


def session_of(path, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 2
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def random_input(value, batch, generator):
    shape = [extent if isinstance(extent, int) else batch for extent in value.shape]
    if "int" in value.type:
        return generator.integers(0, 50, shape).astype(np.int64)
    return generator.standard_normal(shape).astype(np.float32)


def median_ms(session, feed, runs):
    session.run(None, feed)
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        session.run(None, feed)
        times.append(1000 * (time.perf_counter() - start))
    return statistics.median(times)


def engine_relevance(cli, path, composite, inputs, names, folder, precision):
    command = [cli, "explain", str(path), "--composite", composite, "--precision", precision, "--inputs-only",
               "--output-dir", str(folder / precision), "--quiet"]
    for name, value in inputs.items():
        file = folder / "input.npy" if len(inputs) == 1 else folder / f"input-{len(command)}.npy"
        np.save(file, value)
        command += ["--input", f"{name}={file}"]
    subprocess.run(command, check=True)
    return {name: np.load(folder / precision / "relevance" / f"{name}.npy") for name in names}


def difference(a, b):
    return max(float(np.abs(a[name] - b[name]).max() / max(np.abs(b[name]).max(), 1e-300)) for name in b)


def measure(path, arguments):
    generator = np.random.default_rng(7)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        graph = folder / "explainer.onnx"
        subprocess.run([arguments.cli, "explain", str(path), "--graph-out", str(graph), "--composite",
                        arguments.composite, "--quiet"], check=True)
        forward = session_of(path, arguments.threads)
        explainer = session_of(graph, arguments.threads)
        inputs = {value.name: random_input(value, arguments.batch, generator) for value in forward.get_inputs()}
        feed = dict(inputs)
        samples = next(iter(inputs.values())).shape[0]
        feed["target"] = np.full(samples, -1, np.int64)
        outputs = [value.name for value in explainer.get_outputs()]
        found = dict(zip(outputs, explainer.run(None, feed)))
        names = [output.removeprefix("relevance/") for output in outputs if output.startswith("relevance/")]
        graph_relevance = {name: found["relevance/" + name] for name in names}
        single = engine_relevance(arguments.cli, path, arguments.composite, inputs, names, folder, "float")
        double = engine_relevance(arguments.cli, path, arguments.composite, inputs, names, folder, "double")
        return {"file": path.name, "batch": samples, "composite": arguments.composite,
                "graph_to_double": difference(graph_relevance, double),
                "engine_to_double": difference(single, double),
                "forward_ms": median_ms(forward, inputs, arguments.runs),
                "graph_ms": median_ms(explainer, feed, arguments.runs),
                "bytes": graph.stat().st_size, "model_bytes": path.stat().st_size}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cli", default="build/release/bin/retrograde-cli")
    parser.add_argument("--composite", default="auto")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    for path in arguments.files:
        row = measure(path, arguments)
        allowed = max(1e-5, 4 * row["engine_to_double"])
        row["within"] = row["graph_to_double"] <= allowed
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
