#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Explains a folder of inputs with a relevance graph on Spark; the results are one Parquet data set.

spark-submit explainspark.py GRAPH.onnx INPUTS OUT [--partitions 8] [--batch 8]

INPUTS and OUT may be any folder that Spark reads and writes. INPUTS holds .npy files, each of one sample. The graph
goes to the executors with addFile; each partition makes one session. Set PYSPARK_PYTHON to an interpreter that has
onnxruntime, numpy, pandas and pyarrow. Rows as in explainray.py, without the shape of the parts.
"""
import argparse
import io


def explain_partition(graph_name, batch):
    def run(frames):
        import numpy as np
        import onnxruntime
        import pandas
        from pyspark import SparkFiles

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        session = onnxruntime.InferenceSession(SparkFiles.get(graph_name), options,
                                               providers=["CPUExecutionProvider"])
        names = [value.name for value in session.get_inputs()]
        source = next(name for name in names if name != "target")
        scores_name = session.get_outputs()[0].name
        rank = len(session.get_inputs()[0].shape)
        for frame in frames:
            for start in range(0, len(frame), batch):
                part = frame.iloc[start:start + batch]
                inputs = [np.load(io.BytesIO(content)) for content in part["content"]]
                inputs = np.stack([one[0] if one.ndim == rank else one for one in inputs]).astype(np.float32)
                feed = {source: inputs}
                if "target" in names:
                    feed["target"] = np.full(len(part), -1, np.int64)
                scores, relevance = session.run([scores_name, "relevance/" + source], feed)
                flat = scores.reshape(len(part), -1)
                targets = flat.argmax(axis=1)
                yield pandas.DataFrame({
                    "id": [path.rsplit("/", 1)[-1].removesuffix(".npy") for path in part["path"]],
                    "target": targets, "score": flat[np.arange(len(part)), targets].astype(float),
                    "relevance": [row.ravel().tolist() for row in relevance],
                    "reached": relevance.reshape(len(part), -1).sum(axis=1).astype(float)})
    return run


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph")
    parser.add_argument("inputs")
    parser.add_argument("out")
    parser.add_argument("--partitions", type=int, default=8)
    parser.add_argument("--batch", type=int, default=8)
    arguments = parser.parse_args()
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.appName("relevance").config(
        "spark.sql.execution.arrow.maxRecordsPerBatch", arguments.batch).getOrCreate()
    spark.sparkContext.addFile(arguments.graph)
    files = spark.read.format("binaryFile").option("pathGlobFilter", "*.npy").load(arguments.inputs)
    rows = files.select("path", "content").repartition(arguments.partitions).mapInPandas(
        explain_partition(arguments.graph.rsplit("/", 1)[-1], arguments.batch),
        "id string, target long, score double, relevance array<float>, reached double")
    rows.write.parquet(arguments.out)
    spark.stop()


if __name__ == "__main__":
    main()
