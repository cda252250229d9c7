"""Queries with state that Spark began go on here, to Spark's own rows: spark_checkpoints_test.py THALWEG_PROGRAM

A fixture of ../shared/testdata/spark-checkpoints is cut after one of Spark's runs; the runs after it are made here, over the same
input files, and the table, the state's size and the late rows must become what Spark's own continuation made them."""
import json
import os
import pathlib
import re
import shutil
import sys
import tempfile

import harness
from harness import F

FIXTURES = pathlib.Path(__file__).resolve().parents[3] / "shared" / "testdata" / "spark-checkpoints"
FIRST_FILE_TIME = 1768471200  # 2026-01-15T10:00Z; each file is a minute younger than the one before it
DEDUP_KEYS = ["user_id", "product_id", "timestamp"]
WINDOWED = ("windowed-hdfs", "windowed-rocksdb", "windowed-rocksdb-changelog")


def windowed(events):
    return (events.withWatermark("timestamp", "10 minutes").groupBy(F.window("timestamp", "1 minute"), "product_id", "action")
            .agg(F.count("*").alias("events"), F.sum("price").alias("revenue")))


def complete(events):
    return events.groupBy("product_id", "action").agg(F.count("*").alias("n"), F.avg("price").alias("avg_price"),
                                                      F.max("timestamp").alias("last"))


def deduplicated(events):
    return events.withWatermark("timestamp", "10 minutes").dropDuplicates(DEDUP_KEYS)


def deduplicated_within(events):
    return events.withWatermark("timestamp", "10 minutes").dropDuplicatesWithinWatermark(DEDUP_KEYS)


def sessions(events):
    return (events.withWatermark("timestamp", "10 minutes").groupBy(F.session_window("timestamp", "5 minutes"), "user_id")
            .agg(F.count("*").alias("n"), F.sum("price").alias("total")))


QUERIES = {"complete-mode-hdfs": complete, "dedup-hdfs": deduplicated, "dedup-rocksdb": deduplicated,
           "dedup-within-watermark-rocksdb": deduplicated_within, "session-window-rocksdb": sessions,
           **dict.fromkeys(WINDOWED, windowed)}
# After which of Spark's runs a fixture is taken over.
AFTER = {"session-window-rocksdb": (1, 2, 3), **dict.fromkeys(WINDOWED, (1, 2, 4))}


def remove_above(folder, last, pattern=r"(\d+)(\.\w+)?"):
    for path in folder.iterdir():
        number = re.fullmatch(pattern, path.name)
        if number and int(number[1]) > last:
            path.unlink()


def cut(fixture, target, runs, batches):
    """The fixture as it was after `runs` runs with `batches` batches in all, below `target`."""
    shutil.copytree(FIXTURES / fixture, target, ignore=shutil.ignore_patterns(".*"))
    checkpoint = target / "checkpoint"
    remove_above(checkpoint / "offsets", batches - 1)
    remove_above(checkpoint / "commits", batches - 1)
    remove_above(checkpoint / "sources" / "0", runs - 1)
    remove_above(target / "table" / "_delta_log", batches - 1)
    for partition in (checkpoint / "state" / "0").iterdir():
        if partition.name.isdigit():
            remove_above(partition, batches)
    for log in (checkpoint / "sources" / "0").iterdir():
        log.write_text(log.read_text().replace(f"file:///data/spark-fixtures/{fixture}/", f"file://{target}/"))
    (target / "in").rename(target / "later")
    (target / "in").mkdir()
    # The times that the files had for Spark: they are in the source's log, and a copy has not kept them.
    for path in (target / "later").iterdir():
        time = FIRST_FILE_TIME + 60 * (int(path.stem[1:]) + 1)
        os.utime(path, (time, time))
    for i in range(runs):
        shutil.move(target / "later" / f"f{i}.json", target / "in" / f"f{i}.json")


def rounded(value):
    """Sums of doubles depend on their order."""
    if isinstance(value, float):
        return round(value, 6)
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    return value


def rows_of(lines):
    return sorted(json.dumps(rounded(json.loads(line)), sort_keys=True) for line in lines)


def state_of(progress):
    """What a run's reports say of the state: rows at its end, late rows, the last watermark."""
    operators = [report["stateOperators"][0] for report in progress]
    return (operators[-1]["numRowsTotal"], sum(one["numRowsDroppedByWatermark"] for one in operators),
            progress[-1].get("eventTime", {}).get("watermark"))


def go_on(spark, folder, fixture, runs):
    query_of, mode = QUERIES[fixture], "complete" if fixture == "complete-mode-hdfs" else "append"
    recorded = json.loads((FIXTURES / fixture / "progress.json").read_text())
    target = pathlib.Path(folder) / f"{fixture}-{runs}"
    cut(fixture, target, runs, sum(len(run) for run in recorded[:runs]))
    for i in range(runs, len(recorded)):
        shutil.move(target / "later" / f"f{i}.json", target / "in" / f"f{i}.json")
        events = spark.readStream.schema(harness.CLICK).json(str(target / "in"))
        query = (query_of(events).writeStream.format("delta").outputMode(mode).option("checkpointLocation", str(target / "checkpoint"))
                 .trigger(availableNow=True).start(str(target / "table")))
        query.awaitTermination()
        progress = [json.loads(report.json) if hasattr(report, "json") else report for report in query.recentProgress]
        assert state_of(progress) == state_of(recorded[i]), f"run {i}: {state_of(progress)}, Spark: {state_of(recorded[i])}"
    table = spark.read.format("delta").load(str(target / "table"))
    found = rows_of(row["json"] for row in table.select(F.to_json(F.struct(*table.columns)).alias("json")).collect())
    expected = rows_of((FIXTURES / fixture / "expected.jsonl").read_text().splitlines())
    assert found == expected, f"{len(found)} rows, Spark: {len(expected)}; first difference: " + str(
        next((pair for pair in zip(found, expected) if pair[0] != pair[1]), None))


def main(program):
    if not FIXTURES.exists():
        print("skipped: the fixtures are not there")
        raise SystemExit(harness.SKIPPED)
    server = harness.Server(program)
    spark = harness.SparkSession.builder.remote(server.url).create()
    failed = False
    with tempfile.TemporaryDirectory(prefix="thalweg-e2e-") as folder:
        for fixture, after in [(name, runs) for name in QUERIES for runs in AFTER.get(name, (1, 2))]:
            try:
                go_on(spark, folder, fixture, after)
                print(f"{fixture}, taken over after run {after}: Spark's rows", flush=True)
            except Exception as problem:
                failed = True
                print(f"{fixture}, taken over after run {after}: FAILED: {str(problem)[:1500]}", flush=True)
    spark.stop()
    server.end()
    sys.exit(1 if failed else 0)


main(sys.argv[1])
