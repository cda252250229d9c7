"""Small files of a query without a trigger: small_files_test.py THALWEG_PROGRAM"""
import json
import sys
import tempfile
import time

import harness

EVENTS = 4_000
RECORDS_PER_BATCH = 40
BATCHES = EVENTS // RECORDS_PER_BATCH


def operations(table):
    found = []
    for version in harness.committed_versions(table):
        with open(f"{table}/_delta_log/{version:020}.json") as log:
            found.append(json.loads(log.readline())["commitInfo"]["operation"])
    return found


def wait_for(condition, what):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, f"no {what} after 60 s"
        time.sleep(0.05)


def run(url, broker, folder, settings, patience=0):
    """The table's operations, and how long after the last batch the first merge came. `patience` is the time to wait for none."""
    spark = harness.SparkSession.builder.remote(url).create()
    for key, value in settings.items():
        spark.conf.set(key, value)
    table = f"{folder}/table"
    query = (harness.clicks_from(spark, broker.facts["bootstrap_servers"], RECORDS_PER_BATCH).writeStream.format("delta")
             .option("checkpointLocation", f"{folder}/checkpoint").start(table))
    wait_for(lambda: operations(table).count("STREAMING UPDATE") == BATCHES, f"{BATCHES} batches")
    begin = time.monotonic()
    if patience:
        time.sleep(patience)
    else:
        wait_for(lambda: "OPTIMIZE" in operations(table), "merge")
    needed = time.monotonic() - begin
    query.stop()
    spark.stop()
    harness.assert_each_event_once(table, broker.facts)
    return operations(table), needed


def main(program):
    broker = harness.Broker(program, EVENTS, 1)
    server = harness.Server(program)
    with tempfile.TemporaryDirectory(prefix="thalweg-e2e-") as folder:
        merging, needed = run(server.url, broker, folder, {})
        print(f"merges: {merging.count('OPTIMIZE')}")
    with tempfile.TemporaryDirectory(prefix="thalweg-e2e-") as folder:
        # A merge that came against the user's word would come as late as the one above.
        forbidding, _ = run(server.url, broker, folder, {"spark.databricks.delta.autoCompact.enabled": "false"}, patience=needed + 1)
        merged = forbidding.count("OPTIMIZE")
        assert merged == 0, f"{merged} merges that the user forbade"
    server.end()
    broker.end()


main(sys.argv[1])
