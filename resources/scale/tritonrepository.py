#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a model repository of Triton for a relevance graph.

tritonrepository.py GRAPH.onnx REPOSITORY [--name explainer] [--batch 8] [--instances 2] [--gpu]

Makes REPOSITORY/NAME/config.pbtxt and REPOSITORY/NAME/1/model.onnx. A graph with a free batch axis gets dynamic
batches of up to --batch; `target` then is one number per request. The sums over a whole batch (rg.started, rg.reached)
have no batch axis and are left out there. Packages: onnx.
"""
import argparse
import pathlib
import shutil

import onnx

TYPES = {onnx.TensorProto.FLOAT: "TYPE_FP32", onnx.TensorProto.DOUBLE: "TYPE_FP64",
         onnx.TensorProto.FLOAT16: "TYPE_FP16", onnx.TensorProto.BFLOAT16: "TYPE_BF16",
         onnx.TensorProto.INT64: "TYPE_INT64", onnx.TensorProto.INT32: "TYPE_INT32",
         onnx.TensorProto.BOOL: "TYPE_BOOL"}


def extents_of(value):
    """Extents of a tensor; -1 where one is free."""
    return [one.dim_value if one.HasField("dim_value") else -1 for one in value.type.tensor_type.shape.dim]


def block_of(value, has_batches):
    extents = extents_of(value)[1 if has_batches else 0:]
    lines = [f'    name: "{value.name}"', f"    data_type: {TYPES[value.type.tensor_type.elem_type]}"]
    if extents:
        lines.append(f"    dims: [ {', '.join(map(str, extents))} ]")
    else:  # Triton knows no tensors of rank 0: one number, which the graph gets or gives as it is
        lines += ["    dims: [ 1 ]", "    reshape { shape: [ ] }"]
    return "  {\n" + "\n".join(lines) + "\n  }"


def config_of(graph, name, batch, instances, on_gpu):
    inputs = list(graph.input)
    has_batches = all(extents_of(value)[:1] == [-1] for value in inputs)
    outputs = [value for value in graph.output if not has_batches or extents_of(value)[:1] == [-1]]
    text = [f'name: "{name}"', 'backend: "onnxruntime"', f"max_batch_size: {batch if has_batches else 0}"]
    if has_batches:
        text.append("dynamic_batching { max_queue_delay_microseconds: 2000 }")
    text.append(f"instance_group [ {{ kind: {'KIND_GPU' if on_gpu else 'KIND_CPU'} count: {instances} }} ]")
    for word, values in (("input", inputs), ("output", outputs)):
        text.append(f"{word} [\n" + ",\n".join(block_of(value, has_batches) for value in values) + "\n]")
    return "\n".join(text) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph", type=pathlib.Path)
    parser.add_argument("repository", type=pathlib.Path)
    parser.add_argument("--name", default="explainer")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--instances", type=int, default=2)
    parser.add_argument("--gpu", action="store_true")
    arguments = parser.parse_args()
    graph = onnx.load(arguments.graph, load_external_data=False).graph
    config = config_of(graph, arguments.name, arguments.batch, arguments.instances, arguments.gpu)
    folder = arguments.repository / arguments.name
    (folder / "1").mkdir(parents=True, exist_ok=True)
    (folder / "config.pbtxt").write_text(config, encoding="utf-8")
    shutil.copyfile(arguments.graph, folder / "1" / "model.onnx")
    print(folder / "config.pbtxt")


if __name__ == "__main__":
    main()
