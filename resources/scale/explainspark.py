#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Explains a folder of inputs with a relevance graph on Spark; the results are one Parquet data set.

spark-submit explainspark.py GRAPH.onnx INPUTS OUT [--card MODEL.card.json] [--partitions 8] [--batch 8]

INPUTS and OUT may be any folder that Spark reads and writes. INPUTS holds pictures (.png, .jpg) and .npy files, each of
one sample. Graph and card go to the executors with addFile; each partition makes one session. Set PYSPARK_PYTHON to an
interpreter that has onnxruntime, numpy, pandas and pyarrow, and Pillow for pictures. Rows: id (file name), and what
relevancerows.py says, which also reads the inputs.
"""
import argparse
import pathlib


def explain_partition(graph_name, card_name, batch):
    def run(frames):
        import pandas
        from pyspark import SparkFiles
        from relevancerows import RelevanceRows

        rows = RelevanceRows(SparkFiles.get(graph_name), card_name and SparkFiles.get(card_name))
        for frame in frames:
            for start in range(0, len(frame), batch):
                part = frame.iloc[start:start + batch]
                made = rows.rows_of([rows.sample_of(*one) for one in zip(part["path"], part["content"])])
                names = [pathlib.PurePath(path).stem for path in part["path"]]
                yield pandas.DataFrame([{"id": name, **row} for name, row in zip(names, made)])
    return run


def name_of(file):
    return file and file.rsplit("/", 1)[-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph")
    parser.add_argument("inputs")
    parser.add_argument("out")
    parser.add_argument("--card", help="how a picture becomes the input")
    parser.add_argument("--partitions", type=int, default=8)
    parser.add_argument("--batch", type=int, default=8)
    arguments = parser.parse_args()
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.appName("relevance").config(
        "spark.sql.execution.arrow.maxRecordsPerBatch", arguments.batch).getOrCreate()
    spark.sparkContext.addFile(arguments.graph)
    if arguments.card:
        spark.sparkContext.addFile(arguments.card)
    spark.sparkContext.addPyFile(str(pathlib.Path(__file__).with_name("relevancerows.py")))
    files = spark.read.format("binaryFile").option("pathGlobFilter", "*.{npy,png,jpg,jpeg,NPY,PNG,JPG,JPEG}").load(arguments.inputs)
    rows = files.select("path", "content").repartition(arguments.partitions).mapInPandas(
        explain_partition(name_of(arguments.graph), name_of(arguments.card), arguments.batch),
        "id string, target long, score double, relevance array<float>, shape array<long>, started double, "
        "reached double")
    rows.write.parquet(arguments.out)
    spark.stop()


if __name__ == "__main__":
    main()
