#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""resources/scale/explainspark.py on two local cores: 40 inputs, a worker killed in the middle, one row for each, equal
to the engine's; a call that was ended is gone on with. Ends with 77 (skipped) where a package or Java is missing."""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import needs

needs.need("pyspark", "onnxruntime", "numpy", "pandas", "pyarrow", "PIL")
if shutil.which("java") is None:
    needs.skip("no java")

import pandas

COUNT = 40


def workers(process):
    """Process ids of the interpreters below this process that hold a session."""
    found = []
    for folder in pathlib.Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and b"pyspark.daemon" in (folder / "cmdline").read_bytes():
                parent = int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1])
                with_parent = b"pyspark.daemon" in pathlib.Path(f"/proc/{parent}/cmdline").read_bytes()
                if with_parent and os.getsid(int(folder.name)) == os.getsid(process):
                    found.append(int(folder.name))
        except (OSError, ValueError):
            continue
    return found


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        graph = needs.written_graph(folder)
        source = needs.write_inputs(folder / "inputs", graph, COUNT)
        (folder / "inputs/picture039.npy").unlink()
        (folder / "inputs/jug.png").write_bytes(needs.MODEL.with_name("jug.png").read_bytes())
        out = folder / "out"
        environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable,
                       "SPARK_LOCAL_IP": "127.0.0.1",
                       "PYSPARK_SUBMIT_ARGS": "--master local[2,4] --driver-memory 1g pyspark-shell"}
        command = [sys.executable, needs.SCALE / "explainspark.py", graph, folder / "inputs", out, "--card", needs.CARD,
                   "--partitions", "4", "--batch", "2", "--shard", "20"]
        running = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True, start_new_session=True)
        killed = []
        while running.poll() is None and not killed:  # workers are there once the first shard is under way
            killed = workers(running.pid)[:1]
            time.sleep(0.05)
        assert killed, "no worker was found"
        os.kill(killed[0], signal.SIGKILL)
        for line in running.stdout:
            print(line, end="", flush=True)
            if line.startswith("20 of"):
                os.killpg(running.pid, signal.SIGKILL)  # the whole call, driver and all
        running.wait()
        again = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout
        print(again, end="")
        assert f"20 of {COUNT} inputs are left" in again
        table = pandas.read_parquet(out)
        rows = {row["id"]: row for row in table.to_dict("records")}
        assert len(table) == COUNT and len(rows) == COUNT, (len(table), len(rows))
        assert set(table.columns) == {"id", "target", "score", "relevance", "shape", "started", "reached"}
        for file in ("picture000.npy", "jug.png"):
            expected = needs.explained(folder, folder / "inputs" / file, source)
            assert needs.difference(rows[file.split(".")[0]]["relevance"], expected) < 1e-4
        last = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout
        assert f"0 of {COUNT} inputs are left" in last
        graph.write_bytes(graph.read_bytes() + b"\0\0")
        other = subprocess.run(command, env=environment, check=False, stderr=subprocess.PIPE, text=True)
        assert other.returncode != 0 and "another graph or card" in other.stderr
        print(f"{COUNT} rows")


if __name__ == "__main__":
    main()
