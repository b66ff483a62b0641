#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""resources/scale/tritonrepository.py: its configuration is one of Triton's messages and fits the graph. The server
itself does not run here. Ends with 77 (skipped) where a package is missing."""
import pathlib
import subprocess
import sys
import tempfile

import needs

needs.need("onnx", "onnxruntime", "tritonclient", "grpc")

import onnx
from google.protobuf import text_format
from tritonclient.grpc import model_config_pb2


def check(folder, graph, has_batches):
    repository = folder / f"repository-{has_batches}"
    subprocess.run([sys.executable, needs.SCALE / "tritonrepository.py", graph, repository], check=True)
    config = model_config_pb2.ModelConfig()
    text_format.Parse((repository / "explainer/config.pbtxt").read_text(), config)  # fails on what is no field of it
    assert (repository / "explainer/1/model.onnx").read_bytes() == graph.read_bytes()
    assert config.name == "explainer" and config.backend == "onnxruntime"
    assert config.max_batch_size == (8 if has_batches else 0)
    assert config.HasField("dynamic_batching") == has_batches
    model = onnx.load(graph).graph
    values = {value.name: value for value in [*model.input, *model.output]}
    assert {one.name for one in config.input} == {value.name for value in model.input}
    names = {one.name for one in config.output}
    assert any(name.startswith("relevance/") for name in names), names
    assert has_batches != ("rg.started" in names)
    for one in [*config.input, *config.output]:
        shape = [dim.dim_value or -1 for dim in values[one.name].type.tensor_type.shape.dim]
        own = list(one.reshape.shape) if one.HasField("reshape") else list(one.dims)
        assert list(one.dims) and ([-1] if has_batches else []) + own == shape, (one, shape)
        triton = {"TYPE_FP32": onnx.TensorProto.FLOAT, "TYPE_INT64": onnx.TensorProto.INT64}
        kind = model_config_pb2.DataType.Name(one.data_type)
        assert triton[kind] == values[one.name].type.tensor_type.elem_type


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        graph = needs.written_graph(folder)
        check(folder, graph, needs.has_free_batch(graph))
        fixed = folder / "fixed.onnx"
        value = needs.first_input(graph)
        shape = "x".join(str(extent) if isinstance(extent, int) else "1" for extent in value.shape)
        needs.retrograde("explain", needs.MODEL, "--graph-out", fixed, "--composite", "epsilon_plus", "--shape",
                         f"{value.name}={shape}")
        check(folder, fixed, False)


if __name__ == "__main__":
    main()
