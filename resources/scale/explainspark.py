#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Explains a folder of inputs with a relevance graph on Spark; the results are one Parquet data set.

spark-submit explainspark.py GRAPH.onnx INPUTS OUT [--partitions 8] [--batch 8]

INPUTS and OUT may be any folder that Spark reads and writes. INPUTS holds .npy files, each of one sample. The graph
goes to the executors with addFile; each partition makes one session. Set PYSPARK_PYTHON to an interpreter that has
onnxruntime, numpy, pandas and pyarrow. Rows: id
(file name), and what relevancerows.py says.
"""
import argparse
import io
import pathlib


def explain_partition(graph_name, batch):
    def run(frames):
        import numpy as np
        import pandas
        from pyspark import SparkFiles
        from relevancerows import RelevanceRows

        rows = RelevanceRows(SparkFiles.get(graph_name))
        for frame in frames:
            for start in range(0, len(frame), batch):
                part = frame.iloc[start:start + batch]
                made = rows.rows_of([np.load(io.BytesIO(content)) for content in part["content"]])
                names = [path.rsplit("/", 1)[-1].removesuffix(".npy") for path in part["path"]]
                yield pandas.DataFrame([{"id": name, **row} for name, row in zip(names, made)])
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
    spark.sparkContext.addPyFile(str(pathlib.Path(__file__).with_name("relevancerows.py")))
    files = spark.read.format("binaryFile").option("pathGlobFilter", "*.npy").load(arguments.inputs)
    rows = files.select("path", "content").repartition(arguments.partitions).mapInPandas(
        explain_partition(arguments.graph.rsplit("/", 1)[-1], arguments.batch),
        "id string, target long, score double, relevance array<float>, shape array<long>, started double, "
        "reached double")
    rows.write.parquet(arguments.out)
    spark.stop()


if __name__ == "__main__":
    main()
