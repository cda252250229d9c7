"""Queries with state that Spark began go on here, to Spark's own rows: spark_checkpoints_test.py THALWEG_PROGRAM

A fixture of ../shared/testdata/spark-checkpoints is cut after one of Spark's runs; the runs after it are made here, over the same
input files, and the table, the state's size and the late rows must become what Spark's own continuation made them. Some are cut
inside of a batch: Spark has written its state, a snapshot or a change file, and not committed it; we repeat the batch."""
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
JOINS = {"join-inner-hdfs": "inner", "join-left-outer-rocksdb": "left_outer"}


def windowed(events):
    return (events.withWatermark("timestamp", "10 minutes").groupBy(F.window("timestamp", "1 minute"), "product_id", "action")
            .agg(F.count("*").alias("events"), F.sum("price").alias("revenue")))


def complete(events):
    return events.groupBy("product_id", "action").agg(F.count("*").alias("n"), F.avg("price").alias("avg_price"),
                                                      F.max("timestamp").alias("last"))


def joined(spark, folder, how):
    def stream(name, delay, columns):
        events = spark.readStream.schema(harness.CLICK).json(str(folder / name))
        return events.withWatermark("timestamp", delay).selectExpr(*columns)
    clicks = stream("clicks", "10 minutes", ["user_id", "product_id as clicked", "timestamp as click_time"]).alias("c")
    purchases = stream("purchases", "20 minutes", ["user_id", "product_id as bought", "timestamp as buy_time", "price"]).alias("p")
    condition = "c.user_id = p.user_id and buy_time >= click_time and buy_time <= click_time + interval 5 minutes"
    return clicks.join(purchases, F.expr(condition), how).selectExpr("c.user_id", "clicked", "click_time", "bought", "buy_time", "price")


def base(fixture):
    """The query's name: fixtures of other Sparks lie in a folder of their own."""
    return fixture.rsplit("/", 1)[-1]


def files_of(fixture, run):
    """What a run reads, in the order of the files' times."""
    names = ("clicks/c{}.json", "purchases/p{}.json") if base(fixture) in JOINS else ("f{}.json",)
    return [name.format(run) for name in names]


def arrive(target, fixture, run):
    for name in files_of(fixture, run):
        shutil.move(target / "later" / name, target / "in" / name)


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
IN_A_BATCH = ("windowed-hdfs", "windowed-rocksdb", "windowed-rocksdb-changelog", "dedup-rocksdb", "session-window-rocksdb",
              "join-left-outer-rocksdb", "spark-4.1/windowed-hdfs", "spark-4.1/windowed-rocksdb", "spark-4.1/join-left-outer-rocksdb")
AFTER = {**dict.fromkeys(["session-window-rocksdb", *JOINS], (1, 2, 3)), **dict.fromkeys(WINDOWED, (1, 2, 4))}


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
    remove_above(target / "table" / "_delta_log", batches - 1)
    # Stores with names have folders of their own below the partition's.
    for folder in (checkpoint / "state" / "0").glob("[0-9]*/**/"):
        remove_above(folder, batches)
    for source in (checkpoint / "sources").iterdir():
        remove_above(source, runs - 1)
        for log in source.iterdir():
            log.write_text(re.sub(rf"file:///data/spark-fixtures[^/]*/{base(fixture)}/", f"file://{target}/", log.read_text()))
    shutil.copytree(target / "in", target / "later")
    for path in (target / "in").rglob("*.json"):
        path.unlink()
    # The times that the files had for Spark: they are in the sources' logs, and a copy has not kept them.
    time = FIRST_FILE_TIME
    for run in range(len(list((target / "later").rglob("*.json"))) // len(files_of(fixture, 0))):
        for name in files_of(fixture, run):
            time += 60
            os.utime(target / "later" / name, (time, time))
    for run in range(runs):
        arrive(target, fixture, run)


def leave_last_batch_open(target, batches):
    """As if Spark had died in its last batch, after the state of it and before the table's commit."""
    (target / "checkpoint" / "commits" / str(batches - 1)).unlink()
    remove_above(target / "table" / "_delta_log", batches - 2)


def assert_checksums_match(state):
    """Spark 4.1 keeps a checksum beside each file and refuses one that does not match: those that stay must."""
    for path in state.rglob("[0-9]*.crc"):
        file = path.with_suffix("")
        assert file.exists(), f"{path} has lost its file"
        size = json.loads(path.read_text())["mainFileSize"]
        assert size == file.stat().st_size, f"{path} is of another file: {size} bytes, not {file.stat().st_size}"


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


def go_on(spark, folder, fixture, runs, in_a_batch=False):
    mode = "complete" if fixture == "complete-mode-hdfs" else "append"
    recorded = json.loads((FIXTURES / fixture / "progress.json").read_text())
    target = pathlib.Path(folder) / f"{fixture.replace('/', '-')}-{runs}{'-open' if in_a_batch else ''}"
    batches = sum(len(run) for run in recorded[:runs])
    cut(fixture, target, runs, batches)
    if in_a_batch:
        leave_last_batch_open(target, batches)
    for i in range(runs, len(recorded)):
        arrive(target, fixture, i)
        if base(fixture) in JOINS:
            rows = joined(spark, target / "in", JOINS[base(fixture)])
        else:
            events = spark.readStream.schema(harness.CLICK).json(str(target / "in"))
            rows = QUERIES[base(fixture)](events)
        query = (rows.writeStream.format("delta").outputMode(mode).option("checkpointLocation", str(target / "checkpoint"))
                 .trigger(availableNow=True).start(str(target / "table")))
        query.awaitTermination()
        progress = [json.loads(report.json) if hasattr(report, "json") else report for report in query.recentProgress]
        if in_a_batch and i == runs:
            progress = progress[1:]  # the repeated batch was one of Spark's run before
        assert state_of(progress) == state_of(recorded[i]), f"run {i}: {state_of(progress)}, Spark: {state_of(recorded[i])}"
    assert_checksums_match(target / "checkpoint" / "state")
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
        cuts = [(name, runs, False) for name in (*QUERIES, *JOINS) for runs in AFTER.get(name, (1, 2))]
        cuts += [(name, 2, True) for name in IN_A_BATCH]
        for fixture, after, in_a_batch in cuts:
            where = f"{fixture}, taken over {'in the last batch of' if in_a_batch else 'after'} run {after}"
            try:
                go_on(spark, folder, fixture, after, in_a_batch)
                print(f"{where}: Spark's rows", flush=True)
            except Exception as problem:
                failed = True
                print(f"{where}: FAILED: {str(problem)[:1500]}", flush=True)
    spark.stop()
    server.end()
    sys.exit(1 if failed else 0)


main(sys.argv[1])
