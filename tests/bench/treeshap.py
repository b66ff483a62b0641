#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares `evaluate --method treeshap` with shap's interventional TreeExplainer on small models of scikit-learn, LightGBM
and XGBoost, as their converters write them to ONNX.

    tests/bench/treeshap.py [--cli build/release/bin/retrograde-cli] [--tolerance 1e-5] [--write tests/data/peers/treeshap]

Prints the largest deviation per model, relative to the largest value, and fails beyond the tolerance. Needs shap 0.46 or
later, scikit-learn, lightgbm, xgboost, skl2onnx, onnxmltools; where one is missing it says "peer missing" and fails
nothing. --write keeps models, inputs, background and the peer's values in a folder, where treeshaptest finds them.
Thresholds and inputs are quarters, so that float32 takes the branch that float64 takes.
"""
import argparse
import os
import subprocess
import sys
import tempfile

ROWS, FEATURES, SHOWN = 240, 5, 3


def data(numpy):
    draws = numpy.random.default_rng(7)
    x = draws.integers(-8, 9, (ROWS, FEATURES)) / 4
    score = 2 * x[:, 0] - x[:, 1] * x[:, 2] + numpy.abs(x[:, 3])
    return x.astype(numpy.float32), score.round(2), (score > 0).astype(int), numpy.digitize(score, [-1, 1])


def models(numpy):
    """Name → (model, whether it is a classifier, converter, training inputs)."""
    from lightgbm import LGBMClassifier
    from onnxmltools import convert_lightgbm, convert_xgboost
    from onnxmltools.convert.common.data_types import FloatTensorType
    from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier, RandomForestRegressor
    from skl2onnx import to_onnx
    from xgboost import XGBClassifier, XGBRegressor

    x, score, two, three = data(numpy)
    missing = x.copy()
    missing[::7, 1] = numpy.nan
    kinds = [("input", FloatTensorType([None, FEATURES]))]

    def sklearn(model):
        return to_onnx(model, x[:1], options={"zipmap": False} if hasattr(model, "classes_") else None)

    def lightgbm(model):
        return convert_lightgbm(model, initial_types=kinds, zipmap=False)

    def xgboost(model):
        return convert_xgboost(model, initial_types=kinds)

    few = {"n_estimators": 3, "max_depth": 3, "random_state": 1}
    return {
        "forest": (RandomForestRegressor(**few).fit(x, score), sklearn, x),
        "forest_of_two": (RandomForestClassifier(**few).fit(x, two), sklearn, x),
        "forest_of_three": (RandomForestClassifier(**few).fit(x, three), sklearn, x),
        "boosted_of_two": (GradientBoostingClassifier(**few).fit(x, two), sklearn, x),
        "lightgbm_of_two": (LGBMClassifier(verbose=-1, **few).fit(missing, two), lightgbm, missing),
        "lightgbm_of_three": (LGBMClassifier(verbose=-1, **few).fit(missing, three), lightgbm, missing),
        "xgboost": (XGBRegressor(**few).fit(missing, score), xgboost, missing),
        "xgboost_of_three": (XGBClassifier(**few).fit(missing, three), xgboost, missing),
    }


def peer_values(shap, numpy, model, background, x):
    """samples × features × scores, of the raw score."""
    explainer = shap.TreeExplainer(model, data=background, feature_perturbation="interventional")
    values = numpy.asarray(explainer.shap_values(x, check_additivity=False))
    return values[..., None] if values.ndim == 2 else values


def joined(onnx, numpy, model):
    """A TreeEnsembleRegressor as the TreeEnsemble of ai.onnx.ml 5, of LEQ tests alone."""
    node = model.graph.node[0]
    given = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    leaves = [mode == b"LEAF" for mode in given["nodes_modes"]]
    keys = list(zip(given["nodes_treeids"], given["nodes_nodeids"]))
    weight = {k: w for k, w in zip(zip(given["target_treeids"], given["target_nodeids"]), given["target_weights"])}
    inner = {key: i for i, key in enumerate(k for k, leaf in zip(keys, leaves) if not leaf)}
    leaf = {key: i for i, key in enumerate(k for k, is_leaf in zip(keys, leaves) if is_leaf)}
    attributes = {"nodes_featureids": [], "nodes_splits": [], "nodes_modes": [], "tree_roots": []}
    for side in ("true", "false"):
        attributes[f"nodes_{side}nodeids"], attributes[f"nodes_{side}leafs"] = [], []
    seen = set()
    for i, key in enumerate(keys):
        if key[0] not in seen:
            seen.add(key[0])
            attributes["tree_roots"].append(inner[key])
        if leaves[i]:
            continue
        attributes["nodes_featureids"].append(given["nodes_featureids"][i])
        attributes["nodes_splits"].append(given["nodes_values"][i])
        attributes["nodes_modes"].append(0)
        for side in ("true", "false"):
            child = (key[0], given[f"nodes_{side}nodeids"][i])
            attributes[f"nodes_{side}nodeids"].append(leaf[child] if child in leaf else inner[child])
            attributes[f"nodes_{side}leafs"].append(int(child in leaf))
    attributes["nodes_splits"] = onnx.numpy_helper.from_array(numpy.float32(attributes["nodes_splits"]))
    attributes["nodes_modes"] = onnx.numpy_helper.from_array(numpy.uint8(attributes["nodes_modes"]))
    attributes["leaf_weights"] = onnx.numpy_helper.from_array(numpy.float32([weight[k] for k in leaf]))
    helper = onnx.helper
    new = helper.make_node("TreeEnsemble", ["X"], ["y"], domain="ai.onnx.ml", n_targets=1, aggregate_function=1,
                           leaf_targetids=[0] * len(leaf), **attributes)
    value = helper.make_tensor_value_info
    graph = helper.make_graph([new], "joined", [value("X", 1, [None, FEATURES])], [value("y", 1, [None, 1])])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("ai.onnx.ml", 5)],
                             ir_version=9)


def ours(numpy, cli, path, x, background, column, folder):
    numpy.save(f"{folder}/x.npy", x)
    numpy.save(f"{folder}/background.npy", background)
    import onnx
    outputs = onnx.load(path).graph.output
    call = [cli, "evaluate", path, "--input", f"{folder}/x.npy", "--method", "treeshap", "--steps", "1",
            "--background", f"{folder}/background.npy", "--output-dir", f"{folder}/out", "--target",
            f"{outputs[-1].name}:0,{column}", "--quiet"]
    subprocess.run(call, check=True)
    return numpy.load(f"{folder}/out/attributions/treeshap.npy")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cli", default="build/release/bin/retrograde-cli")
    parser.add_argument("--tolerance", type=float, default=1e-5)
    parser.add_argument("--write")
    options = parser.parse_args()
    try:
        import numpy
        import onnx
        import shap
        made = models(numpy)
    except ImportError as error:
        print("peer missing:", error)
        return 0
    kept, worst = {}, 0
    with tempfile.TemporaryDirectory() as folder:
        files = {}
        for name, (model, convert, training) in made.items():
            background, x = training[10:30], training[1:1 + SHOWN]
            files[name] = (convert(model), background, x, peer_values(shap, numpy, model, background, x))
        files["forest_joined"] = (joined(onnx, numpy, files["forest"][0]), *files["forest"][1:])
        for name, (model, background, x, values) in files.items():
            path = os.path.join(options.write or folder, name + ".onnx")
            onnx.save(model, path)
            kept |= {f"{name}.x": x, f"{name}.background": background, f"{name}.values": values.astype(numpy.float64)}
            if options.write:
                continue
            apart = 0
            columns = values.shape[2]
            for row in range(SHOWN):
                for column in range(columns):
                    own = ours(numpy, options.cli, path, x[row:row + 1], background,
                               1 if columns == 1 and name.endswith("two") else column, folder)
                    apart = max(apart, numpy.abs(own[0] - values[row, :, column]).max())
            apart /= numpy.abs(values).max()
            worst = max(worst, apart)
            print(f"{name:<20} {apart:.2e}")
    if options.write:
        numpy.savez_compressed(os.path.join(options.write, "values.npz"), **kept)
    return 0 if worst <= options.tolerance else 1


if __name__ == "__main__":
    sys.exit(main())
