"""Spark finds in state files that we wrote what it found in its own, and goes on from them:
spark_reads_state_test.py STATE_TEST_PROGRAM RECORDS_FOLDER

STATE_TEST_PROGRAM rewrites checkpoints of Spark so that their state files are ours (THALWEG_STATE_REWRITE); RECORDS_FOLDER is
src/state/testdata, where record_state.py put what Spark's state reader found in its own. Skipped (77) unless PEERS_DIR has a Spark
(../shared/peers)."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import others

FIXTURES = ("windowed-hdfs", "windowed-rocksdb-changelog", "dedup-rocksdb", "session-window-rocksdb", "join-left-outer-rocksdb")
LAYOUTS = ("changes", "snapshots", "mixed")
# The record of the fixture with the same input and query.
RECORD_OF = {"windowed-rocksdb-changelog": "windowed-hdfs", "dedup-rocksdb": "dedup-hdfs"}
PROVIDER = "org.apache.spark.sql.execution.streaming.state.{}StateStoreProvider"


def rewrite(program, folder, checkpoints):
    """checkpoints: (source, target, layout)"""
    tasks = pathlib.Path(folder) / "rewrite.txt"
    tasks.write_text("".join(f"{source}\t{target}\t{layout}\n" for source, target, layout in checkpoints))
    subprocess.run([program, "--gtest_filter=ForSpark.*", "--gtest_brief=1"], check=True,
                   env=dict(os.environ, THALWEG_STATE_REWRITE=str(tasks)))


def bytes_of(java_bytes):
    return bytes(byte & 0xFF for byte in java_bytes).hex()


def read_store(spark, checkpoint, store, batch):
    """[(partition, key's bytes, value's bytes)] as the reader has them, sorted."""
    frame = (spark.read.format("statestore").option("batchId", batch).option("storeName", store).load(checkpoint)
             .select("key", "value", "partition_id"))
    widths = [len(frame.schema[name].dataType.fields) for name in ("key", "value")]
    rows = frame._jdf.queryExecution().executedPlan().executeCollect()
    return sorted((row.getInt(2), bytes_of(row.getStruct(0, widths[0]).getBytes()), bytes_of(row.getStruct(1, widths[1]).getBytes()))
                  for row in rows)


def compare_with_records(spark, program, folder, records):
    rewrite(program, folder, [(others.SHARED / "testdata" / "spark-checkpoints" / fixture / "checkpoint", f"{folder}/{layout}/{fixture}", layout)
                              for fixture in FIXTURES for layout in LAYOUTS])
    wrong, compared = [], 0
    for fixture in FIXTURES:
        record = json.loads((pathlib.Path(records) / f"{RECORD_OF.get(fixture, fixture)}.json").read_text())
        for layout in LAYOUTS:
            for name, store in record["stores"].items():
                # The first, one whose mixed form is a snapshot, one behind it, the last.
                for version in sorted({"1", "3", "4", max(store["versions"], key=int)}):
                    expected = sorted(tuple(store["rows"][index][:3]) for index in store["versions"][version])
                    try:
                        found = read_store(spark, f"{folder}/{layout}/{fixture}", name.split("/", 1)[1], int(version) - 1)
                    except Exception as error:
                        found = str(error)[:300]
                    compared += 1
                    if found != expected:
                        wrong.append(f"{layout}/{fixture} {name} version {version}: {str(found)[:300]}")
    print(f"{compared} versions compared, {len(wrong)} differ")
    return wrong if compared else ["nothing was compared"]


def write_file(folder, number):
    rows = [{"k": f"key{i % 7}", "v": i + number} for i in range(20)]
    (folder / f"{number}.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return rows


def go_on(spark, program, folder, provider, layout):
    """Two batches by Spark, their state rewritten by us, two more by Spark: the sums of all rows."""
    root = pathlib.Path(folder) / f"resume-{provider}-{layout}"
    (root / "in").mkdir(parents=True)
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", PROVIDER.format(provider))
    stream = spark.readStream.schema("k STRING, v BIGINT").option("maxFilesPerTrigger", 1).json(str(root / "in")).groupBy("k").sum("v")

    def run(checkpoint):
        query = (stream.writeStream.format("noop").outputMode("update").option("checkpointLocation", str(checkpoint))
                 .trigger(availableNow=True).start())
        query.awaitTermination()

    rows = write_file(root / "in", 0) + write_file(root / "in", 1)
    run(root / "spark")
    rewrite(program, folder, [(root / "spark", root / "ours", layout)])
    rows += write_file(root / "in", 2) + write_file(root / "in", 3)
    run(root / "ours")
    expected = {}
    for row in rows:
        expected[row["k"]] = expected.get(row["k"], 0) + row["v"]
    state = spark.read.format("statestore").load(str(root / "ours"))
    found = {row["key"][0]: row["value"][0] for row in state.collect()}
    return [] if found == expected else [f"{provider} {layout}: Spark went on to {found} instead of {expected}"]


def compare_all(program, folder, records):
    spark = others.spark_session({"spark.sql.shuffle.partitions": "2"})
    spark.streams.active  # the reader needs what the first use of streams starts
    wrong = compare_with_records(spark, program, folder, records)
    for provider in ("HDFSBacked", "RocksDB"):
        for layout in LAYOUTS:
            wrong += go_on(spark, program, folder, provider, layout)
    return wrong


def main(program, records):
    if not others.are_here("Spark"):
        return others.SKIPPED
    with tempfile.TemporaryDirectory(prefix="thalweg-state-") as folder:
        wrong = others.ask("Spark", __file__, "compare_all", pathlib.Path(program).resolve(), folder, pathlib.Path(records).resolve())
    print("\n".join(wrong) or "Spark goes on from our state as from its own")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(others.inside(globals()) if others.is_inside() else main(*sys.argv[1:3]))
