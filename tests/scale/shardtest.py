#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""resources/scale/explainarray.sh and explainparallel.sh: parts of one folder of inputs give what one call gives.

Under Slurm where a cluster answers (sbatch, sinfo); else the script runs with the variables that Slurm sets for the
tasks of an array. GNU parallel runs for real, and a part that is killed runs again; without it that half is left
out. Ends with 77 (skipped) where a package is missing."""
import csv
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

import needs

needs.need("numpy", "onnxruntime", "PIL")

import numpy as np

COUNT = 12
PARTS = 3


def arguments_of(folder, source, out):
    return [needs.MODEL, "--input", f"{source}={folder / 'inputs'}", "--composite", "epsilon_plus", "--run",
            "run.retro", "--output-dir", out]


def check(out, single):
    """Every input has the relevance of one call, a run that `audit` can read, and a row of the index."""
    with open(out / "index.csv") as file:
        rows = list(csv.DictReader(file))
    assert sorted(row["name"] for row in rows) == [f"picture{i:03}" for i in range(COUNT)], rows
    assert all(row["status"] == "complete" for row in rows), rows
    for row in rows:
        for file in (single / row["name"] / "relevance").glob("*.npy"):
            assert np.array_equal(np.load(file), np.load(out / row["name"] / "relevance" / file.name)), row["name"]
    needs.retrograde("audit", out / "picture007" / "run.retro")


def has_slurm():
    if shutil.which("sbatch") is None:
        return False
    done = subprocess.run(["sinfo", "--noheader", "--format=%t"], capture_output=True, text=True)
    return done.returncode == 0 and any(state in done.stdout for state in ("idle", "mix"))


def by_slurm(script, arguments, folder):
    subprocess.run(["sbatch", "--wait", f"--array=1-{PARTS}", f"--output={folder}/slurm-%a.txt", "--cpus-per-task=1",
                    script, *map(str, arguments)], check=True, stdout=subprocess.DEVNULL)
    return "Slurm"


def by_variables(script, arguments, folder):
    """The tasks of an array, one after the other."""
    for part in range(1, PARTS + 1):
        variables = {"SLURM_ARRAY_TASK_ID": part, "SLURM_ARRAY_TASK_COUNT": PARTS, "SLURM_ARRAY_TASK_MAX": PARTS,
                     "SLURM_CPUS_PER_TASK": 1}
        subprocess.run([script, *map(str, arguments)], check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, **{name: str(value) for name, value in variables.items()}})
    return "the variables of Slurm"


def refuses_half_an_array(script, arguments):
    """Task 3 of an array of it alone would be the third of three parts."""
    variables = {"SLURM_ARRAY_TASK_ID": "3", "SLURM_ARRAY_TASK_COUNT": "1", "SLURM_ARRAY_TASK_MAX": "3"}
    done = subprocess.run([script, *map(str, arguments)], capture_output=True, text=True,
                          env={**os.environ, **variables})
    assert done.returncode == 2 and "PARTS" in done.stderr, done.stderr


def programs_of(out):
    """Process ids of the parts that fill this folder."""
    found = []
    for folder in pathlib.Path("/proc").iterdir():
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0") if folder.name.isdigit() else []
        except OSError:
            continue
        if words and words[0] == needs.CLI.encode() and str(out).encode() in words:
            found.append(int(folder.name))
    return found


def by_parallel(script, arguments, out):
    running = subprocess.Popen([script, str(PARTS), *map(str, arguments)], stdout=subprocess.PIPE,
                               env={**os.environ, "PARALLEL": "--jobs 2 --will-cite"})
    killed = False
    while running.poll() is None and not killed:
        for victim in programs_of(out)[:1] if list(out.glob("*/summary.json")) else []:
            os.kill(victim, signal.SIGKILL)
            killed = True
        time.sleep(0.01)
    said = running.communicate()[0].decode()
    assert running.returncode == 0, said
    assert "part 1" in said, said
    return "a part killed" if killed else "all was done before a part could be killed"


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        os.environ["RETROGRADE_CLI"] = needs.CLI
        graph = needs.written_graph(folder)
        source = needs.write_inputs(folder / "inputs", graph, COUNT)
        needs.retrograde("explain", *arguments_of(folder, source, folder / "single"), "--threads", "1")
        script = needs.SCALE / "explainarray.sh"
        run = by_slurm if has_slurm() else by_variables
        said = run(script, arguments_of(folder, source, folder / "array"), folder)
        check(folder / "array", folder / "single")
        refuses_half_an_array(script, arguments_of(folder, source, folder / "array"))
        if shutil.which("parallel"):
            out = folder / "parallel"
            how = by_parallel(needs.SCALE / "explainparallel.sh", arguments_of(folder, source, out), out)
            check(out, folder / "single")
            said += f"; GNU parallel, {how}"
        else:
            said += "; no GNU parallel"
        print(f"{COUNT} inputs in {PARTS} parts: {said}")


if __name__ == "__main__":
    main()
