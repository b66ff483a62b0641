#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the gradient graphs that `retrograde-cli grad --graph-out` writes in onnxruntime, and compares the gradients.

    python tests/bench/gradientgraphs.py [--cli build/release/bin/retrograde-cli] [--torch /usr/bin/python3] [MODEL …]
    python tests/bench/gradientgraphs.py --cases /usr/lib/python3/dist-packages/onnx/backend/test/data/node

Needs an interpreter with onnxruntime (a package index has it, Debian has not): `python3 -m venv V && V/bin/pip install
onnxruntime`. Without it the script says so and leaves with 0. Without MODEL it takes the samples, whose gradients it
compares with PyTorch's (`--torch`: an interpreter with python3-torch and python3-onnx; without these, with those of
`retrograde-cli grad`). MODEL and --cases are compared with `grad`, by inputs drawn by chance; of cases, those of opset 9
to 22 with floating inputs of fixed shapes. Prints a line per model, then how many agree; refusals of a gradient graph
are counted by reason.
"""
import argparse
import collections
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy

ROOT = pathlib.Path(__file__).resolve().parents[2]


def call(options, verb, *arguments):
    """Exit code, answer, what was said."""
    done = subprocess.run([options.cli, verb, *map(str, arguments), "--json", "--quiet"], capture_output=True, text=True,
                          check=False)
    return done.returncode, json.loads(done.stdout) if done.stdout.strip() else None, done.stderr.strip()


def inputs_of(path, options, folder):
    """{name: array} drawn by chance (text of an error instead): floats around 0.5, small integers. Acosh begins at 1."""
    code, about, said = call(options, "info", path)
    if code != 0:
        return said
    random, given = numpy.random.default_rng(1), {}
    low = 1.1 if "Acosh" in about["operators"] else 0.1
    for one in about["inputs"]:
        shape = [extent if isinstance(extent, int) else 1 for extent in one["shape"] or []]
        if one["type"] in ("float32", "float64"):
            given[one["name"]] = random.uniform(low, low + 0.8, shape).astype(one["type"])
        elif one["type"] in ("int32", "int64", "bool"):
            given[one["name"]] = numpy.ones(shape, one["type"])
        else:
            return f"an input of the type {one['type']}"
    for i, array in enumerate(given.values()):
        numpy.save(folder / f"in{i}.npy", array)
    return given


def torch_gradient(path, x, options, folder):
    """(gradient, index of the class) of PyTorch by the only input; None where there is no PyTorch."""
    numpy.save(folder / "x.npy", x)
    child = [options.torch, __file__, "--peer", str(path), str(folder / "x.npy"), str(folder / "peer.npz")]
    done = subprocess.run(child, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return None
    peer = numpy.load(folder / "peer.npz")
    return peer["gradient"], peer["best"]


def run_peer(model, x, out):
    """Child process with PyTorch: the gradient of the highest class of each sample by the input."""
    sys.path.insert(0, str(pathlib.Path(__file__).parent))
    import onnx
    import samplegradients
    import torch

    graph = onnx.load(model)
    constants = {one.name: torch.tensor(onnx.numpy_helper.to_array(one)) for one in graph.graph.initializer}
    entry = next(one.name for one in graph.graph.input if one.name not in constants)
    x = torch.tensor(numpy.load(x)).requires_grad_()
    scores = samplegradients.run(graph, {**constants, entry: x}).flatten(1)
    best = scores.argmax(1)
    scores.gather(1, best[:, None]).sum().backward()
    numpy.savez(out, gradient=x.grad.numpy(), best=best.numpy())


def session(path):
    import onnxruntime

    quiet = onnxruntime.SessionOptions()
    quiet.log_severity_level = 4
    return onnxruntime.InferenceSession(str(path), quiet, providers=["CPUExecutionProvider"])


def difference(found, wanted):
    # What cancels altogether is rounding: inputs and seeds are about 1.
    scale = max(numpy.abs(wanted).max(initial=0), 1e-3)
    return float(numpy.abs(found - wanted).max(initial=0) / scale)


def compare(path, options, folder, source=None):
    """(status, text) of a model: "agrees", "differs", "refused", "not run" or "skipped"."""
    given = inputs_of(path, options, folder)
    if isinstance(given, str):
        return "skipped", given
    if source is not None:
        given = {name: source.astype(one.dtype) for name, one in given.items()}
        numpy.save(folder / "in0.npy", source)
    files = [part for i, name in enumerate(given) for part in ("--input", f"{name}={folder}/in{i}.npy")]
    joint = folder / "joint.onnx"
    code, about, said = call(options, "info", path)
    target = about["outputs"][0]["name"]
    code, answer, said = call(options, "grad", path, *files, "--target", target, "--graph-out", joint, "--joint")
    if code != 0:
        return "skipped" if "does not depend on a floating input" in said else "refused", said
    try:
        runtime = session(joint)
        names = {one.name for one in runtime.get_inputs()}
        forward = session(path).run([target], {name: array for name, array in given.items() if name in {
            one.name for one in session(path).get_inputs()}})[0]
    except Exception as error:  # onnxruntime has a class per reason
        return "not run", str(error).splitlines()[0]
    return judge(runtime, names, forward, (path, given, files, target, answer), options, folder)


def judge(runtime, names, forward, asked, options, folder):
    path, given, files, target, answer = asked
    # One element, where there are several: the sum of a softmax has no gradient.
    seed, wanted = numpy.zeros_like(forward), None
    seed.reshape(-1)[:1] = 1
    element = f"{target}:{','.join('0' for _ in forward.shape)}" if forward.shape else target
    peer = torch_gradient(path, next(iter(given.values())), options, folder) if options.uses_torch else None
    if peer is not None:
        seed = numpy.zeros_like(forward)
        numpy.put_along_axis(seed.reshape(len(forward), -1), peer[1][:, None], 1, 1)
        wanted = {next(iter(given)): peer[0]}
    try:
        outputs = dict(zip([one.name for one in runtime.get_outputs()], runtime.run(
            None, {name: array for name, array in {**given, answer["seed"]: seed}.items() if name in names})))
    except Exception as error:
        return "not run", str(error).splitlines()[0]
    if wanted is None:
        code, grads, said = call(options, "grad", path, *files, "--target", element, "--no-rewrite", "all",
                                 "--output-dir", folder / "grad")
        if code != 0:
            return "skipped", said
        wanted = {one["input"]: numpy.load(one["file"]) for one in grads["gradients"]}
    found = {name: outputs[next(one for one in answer["gradients"] if one.rstrip("~") == name + "_gradient")]
             for name in wanted if any(one.rstrip("~") == name + "_gradient" for one in answer["gradients"])}
    worst = max((difference(array, wanted[name]) for name, array in found.items()), default=0.0)
    by = "PyTorch" if peer is not None else "grad"
    text = f"{len(found)} gradients, largest difference from {by} {worst:.1e} of the largest element"
    return ("agrees" if worst <= options.tolerance else "differs"), text


def reason_of(text):
    """A refusal without the node's name: operator and what it cannot."""
    text = re.sub(r"^retrograde-cli: ", "", text)
    return re.sub(r"node '[^']*' ", "", text).split(";")[0]


def models_of(options):
    """(label, path, input or None)."""
    if options.cases:
        for folder in sorted(pathlib.Path(options.cases).iterdir()):
            if (folder / "model.onnx").exists() and re.search(options.only, folder.name):
                yield folder.name, folder / "model.onnx", None
        return
    for path in options.models:
        yield path, pathlib.Path(path), None
    if not options.models:
        random = numpy.random.default_rng(1)
        for name, shape in (("clever-hans/clever-hans", (1, 3, 96, 96)), ("clever-hans/control", (1, 3, 96, 96)),
                            ("marked-step/marked-step", "early.npy"), ("one-segment/one-segment", (1, 3, 40, 40)),
                            ("silent-groups/silent-groups", (1, 1, 32, 32)), ("silent-groups/one-group", (1, 1, 32, 32))):
            path = ROOT / "samples" / (name + ".onnx")
            x = numpy.load(path.parent / shape) if isinstance(shape, str) else random.random(shape)
            yield name, path, x.astype(numpy.float32)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL")
    parser.add_argument("--cli", default=str(ROOT / "build/release/bin/retrograde-cli"))
    parser.add_argument("--torch", default="/usr/bin/python3")
    parser.add_argument("--cases", help="folder of ONNX test cases")
    parser.add_argument("--only", default="", help="of the cases, those whose name matches")
    parser.add_argument("--tolerance", type=float, default=1e-4)
    parser.add_argument("--peer", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peer:
        run_peer(*options.peer)
        return
    try:
        import onnxruntime
    except ImportError:
        print(f"skipped: {sys.executable} has no onnxruntime")
        return
    options.uses_torch = not options.models and not options.cases
    counts, reasons = collections.Counter(), collections.Counter()
    for label, path, x in models_of(options):
        with tempfile.TemporaryDirectory() as folder:
            status, text = compare(path, options, pathlib.Path(folder), x)
        counts[status] += 1
        if status == "refused":
            reasons[reason_of(text)] += 1
        if not options.cases or status in ("differs", "not run"):
            print(f"{label:32} {status:8} {text}", flush=True)
    print(f"onnxruntime {onnxruntime.__version__}: " + ", ".join(f"{n} {status}" for status, n in counts.most_common()))
    for reason, count in reasons.most_common(40):
        print(f"  {count:4} refused: {reason}")
    sys.exit(1 if counts["differs"] or counts["not run"] or not counts["agrees"] else 0)


if __name__ == "__main__":
    main()
