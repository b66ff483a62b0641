#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""resources/scale/explainray.py on a local cluster of two workers: 200 pictures, a worker killed in the middle, a second
call that finds nothing to do. Ends with 77 (skipped) where a package is missing."""
import importlib.util
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

for package in ("ray", "onnxruntime", "numpy", "pyarrow"):
    if importlib.util.find_spec(package) is None:
        print(f"skipped: no package {package}; RETRO_SCALE_PYTHON names an interpreter that has it")
        sys.exit(77)

import numpy as np
import pyarrow.parquet

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "resources/scale/explainray.py"
MODEL = ROOT / "samples/clever-hans/clever-hans.onnx"
CLI = os.environ["RETROGRADE_CLI"]
COUNT = 200


def workers():
    """Process ids of the actors that explain."""
    found = []
    for folder in pathlib.Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and b"ray::MapWorker" in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        graph = folder / "explainer.onnx"
        subprocess.run([CLI, "explain", MODEL, "--graph-out", graph, "--composite", "epsilon_plus", "--quiet"], check=True)
        import onnxruntime

        session = onnxruntime.InferenceSession(str(graph), providers=["CPUExecutionProvider"])
        shape = [extent if isinstance(extent, int) else 1 for extent in session.get_inputs()[0].shape]
        inputs = folder / "inputs"
        inputs.mkdir()
        generator = np.random.default_rng(3)
        for i in range(COUNT):
            np.save(inputs / f"picture{i:03}.npy", generator.random(shape[1:], dtype=np.float32))
        out = folder / "out"
        command = [sys.executable, SCRIPT, graph, inputs, out, "--workers", "2", "--shard", "10"]
        running = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        killed = False
        for line in running.stdout:
            print(line, end="")
            if not killed and line.startswith("2 of"):
                victims = workers()
                assert victims, "no worker was found"
                os.kill(victims[0], signal.SIGKILL)
                killed = True
        assert running.wait() == 0
        assert killed
        table = pyarrow.parquet.read_table([str(part) for part in sorted(out.glob("part-*.parquet"))])
        rows = {row["id"]: row for row in table.to_pylist()}
        assert table.num_rows == COUNT and len(rows) == COUNT, (table.num_rows, len(rows))
        assert not list(out.glob(".part*")), "an unfinished part is left"
        source = session.get_inputs()[0].name
        for id in ("picture000", "picture117"):
            results = folder / id
            np.save(folder / "one.npy", np.load(inputs / f"{id}.npy")[None])
            subprocess.run([CLI, "explain", MODEL, "--input", f"{source}={folder / 'one.npy'}", "--composite",
                            "epsilon_plus", "--output-dir", results, "--quiet"], check=True)
            expected = np.load(results / "relevance" / f"{source}.npy").ravel()
            found = np.array(rows[id]["relevance"], np.float32)
            difference = np.abs(found - expected).max() / np.abs(expected).max()
            assert difference < 1e-4, difference
        start = time.time()
        again = subprocess.run(command, check=True, capture_output=True, text=True)
        assert "nothing left to do" in again.stdout, again.stdout
        print(f"{COUNT} rows; the second call took {time.time() - start:.1f} s")


if __name__ == "__main__":
    main()
