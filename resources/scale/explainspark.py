#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Explains a folder of inputs with a relevance graph on Spark; the results are one Parquet data set.

spark-submit explainspark.py GRAPH.onnx INPUTS OUT [--card MODEL.card.json] [--partitions 8] [--batch 8] [--shard 512]

INPUTS and OUT may be any folder that Spark reads and writes. INPUTS holds pictures (.png, .jpg) and .npy files, each of
one sample. Graph and card go to the executors with addFile; each partition makes one session. Set PYSPARK_PYTHON to an
interpreter that has onnxruntime, numpy, pandas and pyarrow, and Pillow for pictures. Rows: id (file name), and what
relevancerows.py says, which also reads the inputs.

--shard inputs are added to OUT at a time, whole or not at all. A call that is started again skips the inputs whose rows
are there. Spark starts a worker that was killed again where the master allows more than one failure of a task: a
cluster does, and local[2,4] on one machine (two cores, four tries); local[2] does not.
"""
import argparse
import hashlib
import pathlib
import sys

PATTERN = "*.{npy,png,jpg,jpeg,NPY,PNG,JPG,JPEG}"
COLUMNS = ("id string, target long, score double, relevance array<float>, shape array<long>, started double, "
           "reached double")


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


def digest_of(files):
    """Of the content of files that were added."""
    from pyspark import SparkFiles

    digest = hashlib.sha256()
    for file in filter(None, files):
        digest.update(pathlib.Path(SparkFiles.get(name_of(file))).read_bytes())
    return digest.hexdigest()


def claim(spark, out, digest):
    """Says in OUT of which graph and card its rows are; ends where they are of others. Whether OUT was there."""
    path = spark._jvm.org.apache.hadoop.fs.Path(out, "_graph.sha256")
    system = path.getFileSystem(spark._jsc.hadoopConfiguration())
    if system.exists(path):
        stream = system.open(path)
        found = bytes(stream.readAllBytes()).decode()
        stream.close()
        if found != digest:
            sys.exit(f"{out} holds results of another graph or card; name another folder")
        return bool(system.globStatus(spark._jvm.org.apache.hadoop.fs.Path(out, "part-*")))
    stream = system.create(path)
    stream.write(bytearray(digest.encode()))
    stream.close()
    return False


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph")
    parser.add_argument("inputs")
    parser.add_argument("out")
    parser.add_argument("--card", help="how a picture becomes the input")
    parser.add_argument("--partitions", type=int, default=8)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--shard", type=int, default=512)
    arguments = parser.parse_args()
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.appName("relevance").config(
        "spark.sql.execution.arrow.maxRecordsPerBatch", arguments.batch).getOrCreate()
    spark.sparkContext.addFile(arguments.graph)
    if arguments.card:
        spark.sparkContext.addFile(arguments.card)
    spark.sparkContext.addPyFile(str(pathlib.Path(__file__).with_name("relevancerows.py")))
    from relevancerows import check_ids

    has_rows = claim(spark, arguments.out, digest_of((arguments.graph, arguments.card)))
    done = {row["id"] for row in spark.read.parquet(arguments.out).select("id").collect()} if has_rows else set()
    files = spark.read.format("binaryFile").option("pathGlobFilter", PATTERN)
    paths = sorted(row["path"] for row in files.load(arguments.inputs).select("path").collect())
    check_ids(paths)
    left = [path for path in paths if pathlib.PurePath(path).stem not in done]
    print(f"{len(left)} of {len(paths)} inputs are left", flush=True)
    explain = explain_partition(name_of(arguments.graph), name_of(arguments.card), arguments.batch)
    for start in range(0, len(left), arguments.shard):
        shard = left[start:start + arguments.shard]
        rows = files.load(shard).select("path", "content").repartition(arguments.partitions)
        rows.mapInPandas(explain, COLUMNS).write.mode("append").parquet(arguments.out)
        print(f"{start + len(shard)} of {len(left)} inputs are done", flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
