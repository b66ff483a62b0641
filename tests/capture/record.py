# SPDX-License-Identifier: Apache-2.0
"""Records captures with an interpreter that has newer packages than the distribution, for recordedtest.py.

    python tests/capture/record.py jax|torch FOLDER         # tests/data/captures

Each file is one capture as it came out, with inputs and the results that the framework itself gave: {"made_by", "graph",
"inputs": {name: tensor}, "outputs": [tensor, …]}, tensors as graph JSON writes them. Nothing in it is written by hand.
"""
import json
import pathlib
import sys

import capturing

numpy = capturing.need("numpy")
from retrograde.capture.graphjson import tensor_field


def write(path, made_by, graph, inputs, outputs):
    document = {"made_by": made_by, "graph": graph.document(),
                "inputs": {name: tensor_field(numpy.asarray(one)) for name, one in zip(graph.inputs, inputs)},
                "outputs": [tensor_field(numpy.asarray(one)) for one in outputs]}
    path.write_text(json.dumps(document) + "\n", encoding="utf-8")


def record_jax(folder):
    jax = capturing.need("jax")
    from retrograde.capture import jaxcapture
    import jaxcapturetest as models

    made_by, x = f"jax {jax.__version__}", models.normal(3, 1, 8, 8, 3)
    weights = {**models.WEIGHTS, "hidden": models.WEIGHTS["hidden"][:, :4], "bias": models.WEIGHTS["bias"][:4],
               "head": models.WEIGHTS["head"][:4]}
    graph = jaxcapture.capture(models.pictures, weights, x, parameters=(0,), measure=2)
    write(folder / "jax-pictures.json", made_by, graph, [x], [models.pictures(weights, x)])
    rows, w = models.normal(8, 4, 4), models.normal(7, 4, 4)
    graph = jaxcapture.capture(models.recurrent, w, rows, parameters=(0,))
    write(folder / "jax-recurrent.json", made_by, graph, [rows], models.recurrent(w, rows))
    graph = jaxcapture.capture(lambda w, x: (models.pictures(w, x) ** 2).sum(), weights, x, step=True, weights=False)
    write(folder / "jax-step.json", made_by, graph, [], [])


def record_torch(folder):
    torch = capturing.need("torch")
    from retrograde.capture import torchcapture
    import torchcapturetest as models

    torch.manual_seed(0)
    made_by, network, tokens = f"torch {torch.__version__}", models.Attention().eval(), torch.randint(0, 20, (1, 6))
    graph = torchcapture.capture(network, tokens, measure=2)
    write(folder / "torch-attention.json", made_by, graph, [tokens], [network(tokens).detach()])


if __name__ == "__main__":
    target = pathlib.Path(sys.argv[2])
    target.mkdir(parents=True, exist_ok=True)
    {"jax": record_jax, "torch": record_torch}[sys.argv[1]](target)
