#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""resources/scale/explainspark.py on two local cores: 40 inputs, one row for each, equal to the engine's. Ends with 77
(skipped) where a package or Java is missing."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import needs

needs.need("pyspark", "onnxruntime", "numpy", "pandas", "pyarrow", "PIL")
if shutil.which("java") is None:
    needs.skip("no java")

import pyarrow.parquet

COUNT = 40


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        graph = needs.written_graph(folder)
        source = needs.write_inputs(folder / "inputs", graph, COUNT)
        (folder / "inputs/picture039.npy").unlink()
        (folder / "inputs/jug.png").write_bytes(needs.MODEL.with_name("jug.png").read_bytes())
        out = folder / "out"
        environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable,
                       "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_MASTER": "local[2]",
                       "PYSPARK_SUBMIT_ARGS": "--master local[2] --driver-memory 1g pyspark-shell"}
        subprocess.run([sys.executable, needs.SCALE / "explainspark.py", graph, folder / "inputs", out, "--card",
                        needs.CARD, "--partitions", "4", "--batch", "8"], check=True, env=environment)
        table = pyarrow.parquet.read_table(out)
        rows = {row["id"]: row for row in table.to_pylist()}
        assert table.num_rows == COUNT and len(rows) == COUNT, (table.num_rows, len(rows))
        assert set(table.column_names) == {"id", "target", "score", "relevance", "shape", "started", "reached"}
        for file in ("picture000.npy", "jug.png"):
            expected = needs.explained(folder, folder / "inputs" / file, source)
            assert needs.difference(rows[file.split(".")[0]]["relevance"], expected) < 1e-4
        print(f"{COUNT} rows")


if __name__ == "__main__":
    main()
