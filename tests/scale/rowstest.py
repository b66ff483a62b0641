#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""explain --out FILE.parquet and FILE.h5, read by pyarrow and h5py: a row per input with what the folder form says,
appended call by call, also by two processes. Ends with 77 (skipped) where a package is missing."""
import json
import pathlib
import subprocess
import tempfile

import needs

needs.need("numpy", "onnxruntime", "pyarrow", "h5py")

import h5py
import numpy as np
import pyarrow.parquet

COUNT = 12


def explain(out, inputs, source, *options, succeeds=True):
    command = [needs.CLI, "explain", needs.MODEL, "--input", f"{source}={inputs}", "--composite", "epsilon_plus",
               "--out", out, *options]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    assert (done.returncode == 0) == succeeds, done.stdout + done.stderr
    return done.stdout + done.stderr


def check(rows, folder, source):
    assert sorted(row["id"] for row in rows) == [f"picture{i:03}" for i in range(COUNT)]
    for row in rows:
        summary = json.loads((folder / row["id"] / "summary.json").read_text())
        expected = np.load(folder / row["id"] / "relevance" / f"{source}.npy")
        assert list(row["shape"]) == list(expected.shape[1:])
        assert np.array_equal(np.asarray(row["relevance"], np.float32), expected.ravel())
        assert row["target"] == summary["target"][0]["index"] and row["score"] == summary["target"][0]["logit"]
        assert abs(row["started"] - summary["relevance_start"]) <= 1e-6 * abs(summary["relevance_start"])
        assert abs(row["reached"] - summary["relevance_inputs"]) <= 1e-6 * abs(summary["relevance_inputs"])
        assert row["bytes"] > 0 and row["modified"] > 0 and row["sample"] == 0


def rows_of_hdf5(path):
    with h5py.File(path) as file:
        relevance = file["attribution"][:]
        assert relevance.dtype == np.float32 and file["prediction"].shape[0] == len(relevance)
        assert np.array_equal(file["label"][:], file["prediction"][:].argmax(axis=1))
        names = ("score", "started", "reached", "bytes", "modified", "sample")
        columns = {name: file[name][:].tolist() for name in names}
        columns["target"] = file["label"][:].tolist()
        columns["id"] = [one.decode() for one in file["id"][:]]
        assert file.attrs["retrograde.composite"] in (b"epsilon_plus", "epsilon_plus")
        return [{"relevance": relevance[i].ravel(), "shape": relevance.shape[1:],
                 **{name: values[i] for name, values in columns.items()}} for i in range(len(relevance))]


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        inputs = folder / "inputs"
        source = needs.write_inputs(inputs, needs.written_graph(folder), COUNT)
        half = folder / "half.txt"
        half.write_text("\n".join(str(inputs / f"picture{i:03}.npy") for i in range(5)))
        needs.retrograde("explain", needs.MODEL, "--input", f"{source}={inputs}", "--composite", "epsilon_plus",
                         "--output-dir", folder / "results")
        for out, read in ((folder / "all.parquet", lambda path: pyarrow.parquet.read_table(path).to_pylist()),
                          (folder / "all.h5", rows_of_hdf5)):
            said = explain(out, f"@{half}", source)
            assert "5 explained now" in said, said
            assert len(read(out)) == 5
            said = explain(out, inputs, source, "--jobs", "2")
            assert "7 explained now, 5 were there already" in said, said
            check(read(out), folder / "results", source)
            before = out.read_bytes()
            said = explain(out, inputs, source)
            assert "0 explained now, 12 were there already" in said, said
            assert out.read_bytes() == before
            said = explain(out, inputs, source, "--start", "one", succeeds=False)
            assert "another question" in said, said
            explain(out, inputs / "picture003.npy", source)  # one input: its row is there
            assert out.read_bytes() == before
            assert not list(folder.glob(".all*")), list(folder.glob(".all*"))
        one = folder / "one.parquet"
        explain(one, inputs / "picture003.npy", source)
        assert pyarrow.parquet.read_table(one).num_rows == 1
        both = explain(folder / "both.parquet", inputs, source, "--output-dir", folder / "results")
        assert "12 explained now" in both, both  # the folder was complete, the rows were not
        # The file as a call that was killed leaves it: its end is gone, and beside it.
        whole = (folder / "all.parquet").read_bytes()
        length = int.from_bytes(whole[-8:-4], "little") + 8
        begin = len(whole) - length
        (folder / ".all.parquet.footer").write_bytes(begin.to_bytes(8, "little") + whole[begin:])
        (folder / "all.parquet").write_bytes(whole[:begin] + b"half a row")
        said = explain(folder / "all.parquet", inputs, source)
        assert "12 were there already" in said, said
        assert (folder / "all.parquet").read_bytes() == whole
        said = explain(folder / "all.txt", inputs, source, succeeds=False)
        assert ".parquet or .h5" in said, said
        (folder / "broken.parquet").write_bytes(b"PAR1 no such file PAR1")
        said = explain(folder / "broken.parquet", inputs, source, succeeds=False)
        assert "no Parquet file" in said, said
        print("rows are those of the folders")


if __name__ == "__main__":
    main()
