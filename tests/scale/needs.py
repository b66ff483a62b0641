# SPDX-License-Identifier: Apache-2.0
"""What the tests of this folder share: packages that may be missing, and a model with its relevance graph."""
import importlib.util
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCALE = ROOT / "resources/scale"
MODEL = ROOT / "samples/clever-hans/clever-hans.onnx"
CARD = MODEL.with_name("clever-hans.card.json")
CLI = os.environ["RETROGRADE_CLI"]


def skip(reason):
    print("skipped: " + reason)
    sys.exit(77)


def need(*packages):
    for package in packages:
        if importlib.util.find_spec(package) is None:
            skip(f"no package {package}; RETRO_SCALE_PYTHON names an interpreter that has it")


def retrograde(*arguments):
    subprocess.run([CLI, *map(str, arguments), "--quiet"], check=True)


def written_graph(folder, *options):
    """The relevance graph of the sample under epsilon_plus."""
    graph = folder / "explainer.onnx"
    retrograde("explain", MODEL, "--graph-out", graph, "--composite", "epsilon_plus", *options)
    return graph


def first_input(graph):
    import onnxruntime

    return onnxruntime.InferenceSession(str(graph), providers=["CPUExecutionProvider"]).get_inputs()[0]


def has_free_batch(graph):
    return not isinstance(first_input(graph).shape[0], int)


def write_inputs(folder, graph, count):
    """So many .npy files of one sample each; the name of the input."""
    import numpy as np

    value = first_input(graph)
    shape = [extent if isinstance(extent, int) else 1 for extent in value.shape]
    folder.mkdir()
    generator = np.random.default_rng(3)
    for i in range(count):
        np.save(folder / f"picture{i:03}.npy", generator.random(shape, dtype=np.float32))
    return value.name


def write_pictures(folder, graph, count):
    """So many pictures of noise in the size of the model's input, every third a .jpg and the first larger; the name of
    the input."""
    import numpy as np
    from PIL import Image

    value = first_input(graph)
    folder.mkdir()
    generator = np.random.default_rng(4)
    for i in range(count):
        height, width = value.shape[2:] if i else (value.shape[2] + 37, 2 * value.shape[3] + 5)
        pixels = generator.integers(0, 256, (height, width, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / f"picture{i:03}{'.jpg' if i % 3 == 2 else '.png'}")
    return value.name


def explained(folder, file, source):
    """Relevance of one of them by the engine, as a flat list."""
    import numpy as np

    results = folder / f"results-{file.stem}"
    retrograde("explain", MODEL, "--input", f"{source}={file}", "--composite", "epsilon_plus",
               "--output-dir", results)
    return np.load(results / "relevance" / f"{source}.npy").ravel()


def difference(found, expected):
    import numpy as np

    return float(np.abs(np.asarray(found) - expected).max() / np.abs(expected).max())
