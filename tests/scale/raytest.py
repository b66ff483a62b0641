#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""resources/scale/explainray.py on a local cluster of two workers: 200 pictures, a worker killed in the middle, a second
call that finds nothing to do. Ends with 77 (skipped) where a package is missing."""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

import needs

needs.need("ray", "onnxruntime", "numpy", "pyarrow", "PIL")

import pyarrow.parquet

SCRIPT = needs.SCALE / "explainray.py"
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
        graph = needs.written_graph(folder)
        source = needs.write_pictures(folder / "inputs", graph, COUNT)
        out = folder / "out"
        command = [sys.executable, SCRIPT, graph, folder / "inputs", out, "--card", needs.CARD, "--workers", "2",
                   "--shard", "10"]
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
        table = pyarrow.parquet.read_table(out)  # the folder as a whole, as pandas.read_parquet does
        rows = {row["id"]: row for row in table.to_pylist()}
        assert table.num_rows == COUNT and len(rows) == COUNT, (table.num_rows, len(rows))
        assert not list(out.glob(".part*")), "an unfinished part is left"
        for file in ("picture000.png", "picture117.png", "picture002.jpg"):
            expected = needs.explained(folder, folder / "inputs" / file, source)
            assert needs.difference(rows[file.split(".")[0]]["relevance"], expected) < 1e-4
        start = time.time()
        again = subprocess.run(command, check=True, capture_output=True, text=True)
        assert "nothing left to do" in again.stdout, again.stdout
        print(f"{COUNT} rows; the second call took {time.time() - start:.1f} s")


if __name__ == "__main__":
    main()
