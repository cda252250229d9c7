"""What a batch costs beside many live keys, one program for both engines: live_keys_job.py REMOTE --keys N --folder DIR

Keys are counted by windows of an hour: a hundred in the first, the others in the second. Then single rows move the watermark on, first
within the second window (nothing ends), at last past the first one. Prints one line of JSON: milliseconds of the batches.
With --phase load or resume (restart.py) the remote is "-": it is read from standard input, so that imports come first.
"""
import argparse
import json
import os
import statistics
import sys
import time

import spark_env
from pyspark.sql import functions as F

from stateful_job import CONF

ROWS_A_FILE = 1_000_000
FIRST_WINDOW_KEYS = 100
HOUR = 3_600
BEGIN = 1_768_471_200  # 2026-01-15T10:00Z


def write(folder, name, lines):
    hidden = os.path.join(folder, name + ".writing")
    with open(hidden, "w") as file:
        file.writelines(lines)
    os.rename(hidden, os.path.join(folder, "in", name))


def instant(second):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(second))


def write_keys(folder, keys):
    first, second = instant(BEGIN + 1), instant(BEGIN + HOUR + 1)
    write(folder, "f000.json", ['{"k":%d,"t":"%s"}\n' % (k, first) for k in range(FIRST_WINDOW_KEYS)])
    for number, at in enumerate(range(0, keys, ROWS_A_FILE), 1):
        write(folder, f"f{number:03}.json", ['{"k":%d,"t":"%s"}\n' % (k, second) for k in range(at, min(keys, at + ROWS_A_FILE))])


def step(query, folder, name, second):
    """One row more, and what its batches and those without data took."""
    seen = query.lastProgress["batchId"]
    write(folder, name, ['{"k":-1,"t":"%s"}\n' % instant(second)])
    query.processAllAvailable()
    time.sleep(0.3)  # for a batch without data
    reports = [one for one in query.recentProgress if one["batchId"] > seen]
    milliseconds = {True: [], False: []}
    for report in {one["batchId"]: one for one in reports}.values():
        milliseconds[spark_env.n_rows(report) > 0].append(report["durationMs"]["triggerExecution"])
    return milliseconds[True], milliseconds[False]


def start(spark, folder):
    counts = (spark.readStream.schema("k LONG, t TIMESTAMP").option("maxFilesPerTrigger", 1).json(os.path.join(folder, "in"))
              .withWatermark("t", "1 minute").groupBy(F.window("t", "1 hour"), "k").count())
    return counts.writeStream.format("noop").outputMode("update").option("checkpointLocation", os.path.join(folder, "cp")).start()


def measure(spark, args):
    query = start(spark, args.folder)
    started = time.time()
    query.processAllAvailable()
    seconds = time.time() - started
    rows, idle = [], []
    for i in range(args.steps):  # within the first hour's last minute: nothing ends
        of_rows, of_idle = step(query, args.folder, f"g{i:03}.json", BEGIN + HOUR + 2 + i)
        rows += of_rows
        idle += of_idle
    operator = query.lastProgress["stateOperators"][0]
    _, eviction = step(query, args.folder, "h.json", BEGIN + HOUR + 600)
    after = query.lastProgress["stateOperators"][0]
    query.stop()
    print("measured " + json.dumps({
        "keys": operator["numRowsTotal"], "load_rows_per_s": round(args.keys / seconds), "state_bytes": operator["memoryUsedBytes"],
        "one_row_ms": statistics.median(rows), "no_data_ms": statistics.median(idle) if idle else None, "eviction_ms": eviction,
        "evicted": operator["numRowsTotal"] + 1 - after["numRowsTotal"]}), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("remote")
    parser.add_argument("--keys", type=int, default=10_000_000)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--phase", choices=["load", "resume"])
    args = parser.parse_args()
    os.makedirs(os.path.join(args.folder, "in"), exist_ok=True)
    if args.phase == "resume":
        write(args.folder, "r.json", ['{"k":-1,"t":"%s"}\n' % instant(BEGIN + HOUR + 2)])
    else:
        write_keys(args.folder, args.keys)
    if args.remote == "-":
        from pyspark.sql.connect.session import SparkSession  # noqa: F401  what the client would else load at its first call
        print("ready", flush=True)
        args.remote = sys.stdin.readline().strip()
    spark = spark_env.session(args.remote, "live keys", CONF)
    if args.phase is None:
        measure(spark, args)
    else:
        query = start(spark, args.folder)
        query.processAllAvailable()
        print("loaded", flush=True)
        query.awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main()
