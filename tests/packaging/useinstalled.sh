#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# useinstalled.sh BIN SAMPLES OUT: uses what is installed as people do: commands, a picture of the window, and, where
# BIN has a Python (a wheel is installed there), the module.
set -euo pipefail
bin=$1 samples=$2 out=$3
mkdir -p "$out"
model="$samples/clever-hans/clever-hans.onnx" picture="$samples/clever-hans/jug-tagged.png"

version=$("$bin/retrograde-cli" --version)
[ "$("$bin/retrograde" --version)" = "retrograde ${version#* }" ]
"$bin/retrograde-cli" explain "$model" --input "$picture" --composite epsilon_plus --output-dir "$out/cli" \
    --run "$out/run.retro" --image "$out/heatmap.png" >/dev/null
QT_QPA_PLATFORM=offscreen "$bin/retrograde" "$out/run.retro" --screenshot "$out/window.png"
[ "$(wc -c <"$out/window.png")" -gt 20000 ]
set +e
env -u DISPLAY -u WAYLAND_DISPLAY -u QT_QPA_PLATFORM "$bin/retrograde" 2>"$out/refused"
code=$?
set -e
[ $code -eq 5 ] && grep -q 'there is no display' "$out/refused"

if [ ! -x "$bin/python" ]; then
    echo "programs: all checks hold"
    exit
fi
[ "$("$bin/python" -m retrograde --version)" = "retrograde ${version#* }" ]
[ "$("$bin/python" -c 'import retrograde; print(retrograde.__version__)')" = "${version#* }" ]
"$bin/python" - "$model" "$picture" "$out" <<'PYTHON'
import sys

import numpy

import retrograde as rg

model, picture, out = sys.argv[1:]
run = rg.load(model).explain(picture, composite="epsilon_plus")
written = numpy.load(f"{out}/cli/relevance/image.npy")
assert written.tobytes() == numpy.ascontiguousarray(run["image"]).tobytes(), "other bits than the command line's"
assert "libQt" not in open("/proc/self/maps").read(), "Qt came along"
run.show(screenshot=f"{out}/shown.png")
try:
    rg.load("nowhere.onnx")
    raise SystemExit("nothing was refused")
except rg.InputError as error:
    assert error.code == 3
PYTHON
"$bin/python" - "$samples" <<'PYTHON'
import importlib
import pathlib
import sys

import numpy

import retrograde as rg
from retrograde.capture import graphjson

samples = pathlib.Path(sys.argv[1])
answer, plan = rg.plan(samples / "graphs/chain-48.json", "60%")
assert answer["status"] in ("optimal", "feasible") and plan["steps"], answer
graph = graphjson.GraphWriter("dense")
graph.add_input("x", "float32", (1, 3))
graph.add_constant("w", numpy.array([[1], [2], [-1]], numpy.float32))
graph.add_value("y", "float32", (1, 1))
graph.add_node("MatMul", ["x", "w"], ["y"])
graph.set_outputs(["y"])
rules = rg.Composite().add("epsilon", op="MatMul")
found = rg.explain(graph, numpy.array([[1, 2, 3]], numpy.float32), composite=rules, start="all")["x"]
numpy.testing.assert_allclose(found, [[1, 4, -3]], rtol=1e-5)
folder = pathlib.Path(rg.capture.__file__).parent
for path in sorted(folder.glob("*.py")):
    try:
        importlib.import_module(f"retrograde.capture.{path.stem}")
    except ImportError as error:  # of what a capture is about
        assert error.name in ("torch", "jax", "onnx", "zennit", "flatbuffers"), f"{path.name}: {error}"
PYTHON
layout=$("$bin/python" -c 'import retrograde_programs as p; print(p.path("retrograde-layout"))')
printf 'digraph { a -> b }' | "$layout" | grep -q '^edge - '
echo "installed: all checks hold"
