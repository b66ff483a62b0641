#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Relevance graphs against the engine: how far apart, how large, and how long.

explainer.py [--cli PROGRAM] [--composite C] [--batches 1 8] [--threads N] [--runs N] [--seed N] [--draws N] [--times]
             [--inputs N] [--only-times] [--double] [--graphs FOLDER] [--peer] [--cuda] FILE …

For each file: writes `explain FILE --graph-out`, passes it to onnx's checker (full), and for each batch runs it in
onnxruntime and `explain` over the same random input in float32 and in float64. Prints a line of JSON with the largest
differences as max|a − b| / max|b| over the relevance of the inputs, and whether the graph's is within
max(1e-5, 4 × the engine's own float32), which must itself be below 0.05; what onnxruntime warned of; the size as a
multiple of the model's.

Relevance is not continuous where a decision flips: the winner of a MaxPool, the sign of a denominator, the largest
score. Where the bound fails, the decisions of onnxruntime are compared with those of float64 (the same graph, run by
the engine), and the graph runs once more with the decisions of float64 held. Where that is within the bound, the input
lies at a kink, which is said: "kink" has the number of decisions that flipped, by operator, and what is left with them
held. It is neither a pass nor a failure.

Of one input the difference is a matter of luck where a sum lies near 0. With --inputs N each sample of N random inputs
counts on its own, and median and largest of the graph are held against 4 × those of the engine's own float32.

With --double the graph is written in float64 as well and run by the engine on the same input (bound 1e-9). With --times
also medians in milliseconds: forward pass and relevance graph in onnxruntime, forward pass and relevance of the engine;
--only-times leaves the differences out. --graphs keeps the graphs in a folder and takes those that are there. With
--peer those of zennit (relevance.py) for the networks that it knows, with --cuda that of the graph on a CUDA device, or
why there is none. A file of a fixed batch is run at that one. networks.py makes well-known networks. Ends with 1 where
something does not hold. Needs onnxruntime, onnx, numpy.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
import onnxruntime

MOST_SIZE = 2.2
MOST_DOUBLE = 1e-9
# Above it float32 itself says nothing of this network, and a graph that is as far off would say nothing either.
MOST_OWN = 0.05
TYPES = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(float16)": np.float16,
         "tensor(int64)": np.int64, "tensor(int32)": np.int32}


def session_of(path, threads, provider="CPUExecutionProvider"):
    """A session, and what onnxruntime says on the way."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 2
    kept = os.dup(2)
    with tempfile.TemporaryFile() as said:
        os.dup2(said.fileno(), 2)
        try:
            session = onnxruntime.InferenceSession(str(path), options, providers=[provider])
        finally:
            os.dup2(kept, 2)
            os.close(kept)
        said.seek(0)
        return session, said.read().decode(errors="replace").strip()


def batch_of(session):
    """The batch that a model has; 0 where it is free."""
    first = session.get_inputs()[0].shape
    return first[0] if first and isinstance(first[0], int) else 0


def random_input(value, batch, generator):
    shape = [extent if isinstance(extent, int) else batch if axis == 0 else 32
             for axis, extent in enumerate(value.shape)]
    if "int" in value.type:
        return generator.integers(0, 30, shape).astype(TYPES[value.type])
    return generator.standard_normal(shape).astype(TYPES[value.type])


def moved_by_an_ulp(inputs, generator):
    """Floating inputs with each element at one of its neighbours."""
    moved = {}
    for name, value in inputs.items():
        towards = np.where(generator.random(value.shape) < 0.5, -np.inf, np.inf)
        moved[name] = np.nextafter(value, towards.astype(value.dtype)) if value.dtype.kind == "f" else value
    return moved


def median_ms(session, feed, runs):
    session.run(None, feed)
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        session.run(None, feed)
        times.append(1000 * (time.perf_counter() - start))
    return statistics.median(times)


def engine(arguments, path, inputs, folder, precision, composite):
    """Relevance of the inputs, and milliseconds of forward pass and relevance."""
    out = folder / precision
    command = [arguments.cli, "explain", str(path), "--composite", composite, "--precision", precision, "--inputs-only",
               "--threads", str(arguments.threads), "--output-dir", str(out), "--quiet"]
    for number, (name, value) in enumerate(inputs.items()):
        file = folder / f"input-{number}.npy"
        np.save(file, value)
        command += ["--input", f"{name}={file}"]
    subprocess.run(command, check=True)
    summary = json.loads((out / "summary.json").read_text())
    relevance = {}
    for name in inputs:
        file = out / "relevance" / (name.replace("/", "_").replace(":", "_") + ".npy")
        relevance[name] = np.load(file) if file.exists() else np.zeros(1)
    return relevance, 1000 * (summary["seconds"]["forward"] + summary["seconds"]["relevance"])


def engine_ms(arguments, path, inputs, folder, composite):
    """Of the last of several inputs in one process, as a batch of files is explained."""
    if len(inputs) != 1:
        return None
    (name, value), = inputs.items()
    files = folder / f"many-{len(value)}"
    files.mkdir(exist_ok=True)
    for i in range(arguments.runs + 1):
        np.save(files / f"{i}.npy", value)
    out = folder / f"times-{len(value)}"
    subprocess.run([arguments.cli, "explain", str(path), "--composite", composite, "--inputs-only", "--threads",
                    str(arguments.threads), "--output-dir", str(out), "--quiet", "--input", f"{name}={files}"],
                   check=True)
    seconds = [json.loads((out / str(i) / "summary.json").read_text())["seconds"]
               for i in range(1, arguments.runs + 1)]
    return 1000 * statistics.median(one["forward"] + one["relevance"] for one in seconds)


def peer_ms(arguments, name, batch):
    script = pathlib.Path(__file__).with_name("relevance.py")
    for composite in ("epsilon_plus_flat", "auto"):
        done = subprocess.run([sys.executable, str(script), "--peer", f"{name}/{composite}/{batch}", "--threads",
                               str(arguments.threads), "--runs", str(arguments.runs)], capture_output=True, text=True)
        if done.returncode == 0:
            return 1000 * statistics.median(json.loads(done.stdout.splitlines()[-1])["seconds"])
    return None


def cuda_ms(arguments, graph, feed):
    """On a CUDA device; a reason where it cannot run there."""
    provider = "CUDAExecutionProvider"
    if provider not in onnxruntime.get_available_providers():
        return "skipped: this onnxruntime has no " + provider
    session, _ = session_of(graph, arguments.threads, provider)
    if provider not in session.get_providers():
        return "skipped: no CUDA device"
    return median_ms(session, feed, arguments.runs)


def difference(a, b):
    largest = 0
    for name, value in b.items():
        size = np.abs(value).max()
        if size > 0:
            largest = max(largest, float(np.abs(a[name].astype(np.float64) - value).max() / size))
    return largest


# Decisions that operators of a relevance graph make, by the result that holds them.
DECISIONS = {"MaxPool": 1, "ArgMax": 0, "GreaterOrEqual": 0, "Greater": 0, "Less": 0, "Equal": 0}


def decisions_of(model):
    """What decides by numbers that are computed: result → operator."""
    graph = onnx.shape_inference.infer_shapes(model).graph
    types = {one.name: one.type.tensor_type.elem_type for one in [*graph.input, *graph.value_info, *graph.output]}
    floats = (onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16, onnx.TensorProto.DOUBLE)
    return {node.output[DECISIONS[node.op_type]]: node.op_type for node in graph.node
            if DECISIONS.get(node.op_type, len(node.output)) < len(node.output) and types[node.input[0]] in floats}


def type_of_decision(op):
    return onnx.TensorProto.INT64 if op in ("MaxPool", "ArgMax") else onnx.TensorProto.BOOL


def with_decisions_out(model, decisions):
    """The graph; its decisions are outputs as well, named by number."""
    shown = onnx.ModelProto()
    shown.CopyFrom(model)
    for number, (name, op) in enumerate(decisions.items()):
        shown.graph.node.append(onnx.helper.make_node("Identity", [name], [f"decision{number}"]))
        shown.graph.output.append(onnx.helper.make_tensor_value_info(f"decision{number}", type_of_decision(op), None))
    return shown


def with_decisions_held(model, decisions):
    """The graph; its decisions are inputs."""
    held = onnx.ModelProto()
    held.CopyFrom(model)
    names = {name: f"decision{number}" for number, name in enumerate(decisions)}
    for node in held.graph.node:
        node.input[:] = [names.get(name, name) for name in node.input]
    for name, op in decisions.items():
        held.graph.input.append(onnx.helper.make_tensor_value_info(names[name], type_of_decision(op), None))
    return held


def saved(model, file):
    onnx.save(model, str(file))
    return file


def kink(arguments, graph, feed, folder, double):
    """Which decisions float32 makes otherwise, and how far the graph is from float64 with those of float64 held."""
    model = onnx.load(graph)
    decisions = decisions_of(model)
    shown = saved(with_decisions_out(model, decisions), folder / "shown.onnx")
    command = [arguments.cli, "run", str(shown), "--precision", "double", "--no-rewrite", "all", "--output-dir",
               str(folder / "shown"), "--threads", str(arguments.threads), "--quiet"]
    for number, (name, value) in enumerate(feed.items()):
        np.save(folder / f"feed-{number}.npy", value)
        command += ["--input", f"{name}={folder / f'feed-{number}.npy'}"]
    subprocess.run(command, check=True, capture_output=True, text=True)
    names = [f"decision{number}" for number in range(len(decisions))]
    made = session_of(shown, arguments.threads)[0].run(names, feed)
    flipped, held = {}, {}
    for name, op, one in zip(names, decisions.values(), made):
        held[name] = np.load(folder / "shown" / f"{name}.npy").astype(one.dtype)
        count = int((held[name] != one).sum())
        if count:
            flipped[op] = flipped.get(op, 0) + count
    session, _ = session_of(saved(with_decisions_held(model, decisions), folder / "held.onnx"), arguments.threads)
    wanted = {value.name for value in session.get_inputs()}
    outputs = ["relevance/" + one for one in double]
    found = session.run(outputs, {name: value for name, value in {**feed, **held}.items() if name in wanted})
    return {"flipped": flipped, "held": difference(dict(zip(double, found)), double)}


def double_difference(arguments, path, inputs, folder, composite):
    """Of a graph that computes in float64 to the engine in float64, both run by the engine."""
    command = [arguments.cli, "explain", str(path), "--graph-out", str(folder / "double.onnx"),
               "--composite", composite, "--precision", "double", "--check", "--json",
               "--threads", str(arguments.threads)]
    for number, name in enumerate(inputs):
        command += ["--input", f"{name}={folder / f'input-{number}.npy'}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode > 1:
        raise subprocess.CalledProcessError(done.returncode, command, stderr=done.stderr)
    return max(json.loads(done.stdout)["difference"].values())


def written_graph(arguments, path, folder):
    """The relevance graph, and the composite that it has."""
    name = path.stem if path.stem != "model" else path.parent.name
    graph = (arguments.graphs or folder) / f"{name}-{arguments.composite.partition(':')[0]}.onnx"
    if not graph.exists():
        graph.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run([arguments.cli, "explain", str(path), "--graph-out", str(graph), "--composite",
                        arguments.composite], check=True, capture_output=True, text=True)
        onnx.checker.check_model(str(graph), full_check=True)
    said = {one.key: one.value for one in onnx.load(graph, load_external_data=False).metadata_props}
    return graph, said["retrograde.composite"]


def differences(arguments, path, graph, feed, inputs, folder, composite, found):
    """Of graph and engine to the engine in float64, and whether the graph keeps its bound."""
    relevance = {one: found["relevance/" + one] for one in inputs if "relevance/" + one in found}
    single, _ = engine(arguments, path, inputs, folder, "float", composite)
    double, _ = engine(arguments, path, inputs, folder, "double", composite)
    double = {one: double[one] for one in relevance}
    generator = np.random.default_rng(9)
    moved = [engine(arguments, path, moved_by_an_ulp(inputs, generator), folder, "float", composite)[0]
             for _ in range(arguments.draws)]
    row = {"graph": difference(relevance, double), "engine": difference(single, double)}
    row["within"] = row["graph"] <= max(1e-5, 4 * row["engine"])
    if moved:  # how far rounding moves the engine: one run of an ill-conditioned pass is a matter of luck
        row["moved"] = max(row["engine"], *(difference(one, double) for one in moved))
        row["within"] = row["graph"] <= max(1e-5, 4 * row["moved"])
    if not row["within"]:
        row["kink"] = kink(arguments, graph, feed, folder, double)
        row["kink"]["holds"] = bool(row["kink"]["flipped"]) and row["kink"]["held"] <= max(1e-5, 4 * row["engine"])
    if row.get("moved", row["engine"]) > MOST_OWN:
        row["within"] = False
        row["why"] = "float32 itself is too far from float64 in this network"
    if arguments.double:
        row["double"] = double_difference(arguments, path, inputs, folder, composite)
    return row


def by_sample(a, b):
    """max|a − b| / max|b| of each sample, over the inputs that have relevance."""
    worst = 0
    for name, value in b.items():
        rows = np.abs(value).reshape(len(value), -1).max(1)
        apart = np.abs(a[name].astype(np.float64) - value).reshape(len(value), -1).max(1)
        worst = np.maximum(worst, apart / np.where(rows > 0, rows, 1))
    return worst


def spread(arguments, path, explainer, forward, batch, generator, folder, composite):
    """Differences to float64 of every sample of several inputs: of the graph and of the engine's own float32."""
    of_graph, of_engine = [], []
    outputs = [value.name for value in explainer.get_outputs()]
    for _ in range(arguments.inputs):
        inputs = {value.name: random_input(value, batch, generator) for value in forward.get_inputs()}
        feed = dict(inputs)
        if "target" in [value.name for value in explainer.get_inputs()]:
            feed["target"] = np.full(batch, -1, np.int64)
        found = dict(zip(outputs, explainer.run(None, feed)))
        double, _ = engine(arguments, path, inputs, folder, "double", composite)
        double = {one: value for one, value in double.items() if "relevance/" + one in found}
        single, _ = engine(arguments, path, inputs, folder, "float", composite)
        of_graph.extend(by_sample({one: found["relevance/" + one] for one in double}, double))
        of_engine.extend(by_sample(single, double))
    row = {"samples": len(of_graph)}
    row["within"] = True
    for name, taken in (("median", statistics.median), ("largest", max)):
        row[name] = {"graph": float(taken(of_graph)), "engine": float(taken(of_engine))}
        row["within"] &= row[name]["graph"] <= max(1e-5, 4 * row[name]["engine"])
    return row


def holds(row):
    """What the row says is so, as far as it can be asked: at a kink no bound can."""
    at_kink = row.get("kink", {}).get("holds", False) and "why" not in row
    # A small model is mostly text: the bound of its size counts weights.
    is_small_enough = not row["is_large"] or row["size"] <= MOST_SIZE
    return ((row.get("within", True) or at_kink) and row.get("double", 0) <= MOST_DOUBLE and not row["warnings"] and
            is_small_enough)


def rounded(row):
    return {key: rounded(value) if isinstance(value, dict) else float(f"{value:.3g}") if isinstance(value, float)
            else value for key, value in row.items()}


def measure(path, arguments):
    generator = np.random.default_rng(arguments.seed)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        graph, composite = written_graph(arguments, path, folder)
        forward, _ = session_of(path, arguments.threads)
        explainer, warnings = session_of(graph, arguments.threads)
        outputs = [value.name for value in explainer.get_outputs()]
        own = batch_of(forward)
        for batch in [own] if own else arguments.batches:
            inputs = {value.name: random_input(value, batch, generator) for value in forward.get_inputs()}
            feed = dict(inputs)
            if "target" in [value.name for value in explainer.get_inputs()]:
                feed["target"] = np.full(next(iter(inputs.values())).shape[0], -1, np.int64)
            row = {"model": path.stem if path.stem != "model" else path.parent.name, "batch": batch,
                   "composite": composite, "size": graph.stat().st_size / path.stat().st_size,
                   "nodes": len(onnx.load(graph, load_external_data=False).graph.node), "warnings": warnings,
                   "is_large": path.stat().st_size > 1 << 20}
            if arguments.inputs:
                row.update(spread(arguments, path, explainer, forward, batch, generator, folder, composite))
            elif not arguments.only_times:
                found = dict(zip(outputs, explainer.run(None, feed)))
                row.update(differences(arguments, path, graph, feed, inputs, folder, composite, found))
            if arguments.times or arguments.only_times:
                row["forward_ms"] = median_ms(forward, inputs, arguments.runs)
                row["graph_ms"] = median_ms(explainer, feed, arguments.runs)
                row["engine_ms"] = engine_ms(arguments, path, inputs, folder, composite)
            if arguments.cuda:
                row["cuda_ms"] = cuda_ms(arguments, graph, feed)
            if arguments.peer:
                row["peer_ms"] = peer_ms(arguments, path.stem, batch)
            yield row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cli", default="build/release/bin/retrograde-cli")
    parser.add_argument("--composite", default="auto")
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 8])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seed", type=int, default=7, help="of the random input")
    parser.add_argument("--double", action="store_true")
    parser.add_argument("--draws", type=int, default=0,
                        help="also take the engine's own float32 on so many inputs that are moved by one ulp")
    parser.add_argument("--inputs", type=int, default=0, help="how many random inputs, each sample on its own")
    parser.add_argument("--times", action="store_true")
    parser.add_argument("--only-times", action="store_true")
    parser.add_argument("--graphs", type=pathlib.Path)
    parser.add_argument("--peer", action="store_true")
    parser.add_argument("--cuda", action="store_true")
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    all_hold = True
    for path in arguments.files:
        try:
            for row in measure(path, arguments):
                all_hold = holds(row) and all_hold
                print(json.dumps(rounded(row)), flush=True)
        except subprocess.CalledProcessError as error:
            all_hold = False
            print(json.dumps({"model": str(path), "failed": (error.stderr or str(error)).strip()}), flush=True)
    sys.exit(0 if all_hold else 1)


if __name__ == "__main__":
    main()
