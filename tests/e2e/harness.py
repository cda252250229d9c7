"""Processes and checks that the end-to-end tests share."""
import atexit
import glob
import json
import multiprocessing
import os
import re
import subprocess
import traceback
import urllib.parse

import pyarrow.parquet as parquet

from others import SKIPPED

try:
    import grpc  # noqa: F401
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as F
except ImportError as missing:
    print(f"skipped: the stock client is not installed ({missing}); tools/deps installs it")
    raise SystemExit(SKIPPED)

STATE_PROVIDERS = [f"org.apache.spark.sql.execution.streaming.state.{name}StateStoreProvider" for name in ("HDFSBacked", "RocksDB")]
CLICK = "user_id STRING, product_id STRING, action STRING, timestamp TIMESTAMP, price DOUBLE"


def ends_with_us(process):
    """A test that fails must not leave processes behind: they would hold its output open."""
    atexit.register(lambda: process.poll() is None and process.kill())
    return process


# Clients are forked before this process makes a channel; gRPC allows that, and no client pays for its imports.
FORK = multiprocessing.get_context("fork")


def in_child(function, *arguments):
    """What the function returns in a process of its own: gRPC and fork go together only where the parent has no channel."""
    pool = FORK.Pool(1)
    try:
        return pool.apply(function, arguments)
    finally:
        pool.terminate()


def condition(call):
    """The condition of the error that a call ends with; none where it does not."""
    try:
        call()
    except Exception as error:  # noqa: BLE001 - the class is the client's business
        return error.getCondition() if hasattr(error, "getCondition") else repr(error)
    return None


def failed_checks(url, folder, checks):
    """Runs checks (functions of a session and a folder) in turn; what failed, in a line each."""
    spark = SparkSession.builder.remote(url).create()
    failed = []
    for check in checks:
        try:
            check(spark, folder)
            print(f"{check.__name__}: as Spark", flush=True)
        except Exception as error:  # noqa: BLE001 - the others are still of interest
            traceback.print_exc()
            failed.append(f"{check.__name__}: {error}")
    return failed


class Broker:
    """`thalweg demo-broker`; `facts` is what it says of its events."""

    def __init__(self, program, events, partitions):
        self.process = ends_with_us(subprocess.Popen([program, "demo-broker", "--events", str(events), "--partitions", str(partitions)],
                                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        self.facts = json.loads(self.process.stdout.readline())

    def end(self):
        self.process.stdin.close()
        assert self.process.wait(20) == 0


class Server:
    """`thalweg serve` on a free port, perhaps with an armed fault point and more arguments."""

    def __init__(self, program, fault=None, arguments=()):
        environment = {key: value for key, value in os.environ.items() if key != "THALWEG_FAULT"}
        if fault:
            environment["THALWEG_FAULT"] = fault
        self.process = ends_with_us(subprocess.Popen([program, "serve", "--port", "0", "--log-level", "warn", "--conf",
                                                      "spark.sql.streaming.minBatchesToRetain=5", *arguments],
                                                     stdout=subprocess.PIPE, text=True, env=environment))
        announcement = self.process.stdout.readline().split()
        assert announcement, "the server did not start"
        self.url = announcement[-1]

    def kill(self):
        self.process.kill()
        self.process.wait(20)

    def end(self):
        self.process.terminate()
        assert self.process.wait(20) == 0, "the server did not stop cleanly"


def clicks_from(spark, bootstrap_servers, records_per_batch):
    records = (spark.readStream.format("kafka").option("kafka.bootstrap.servers", bootstrap_servers).option("subscribe", "clicks")
               .option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", records_per_batch).load())
    return (records.select(F.from_json(F.col("value").cast("string"), CLICK).alias("click"), "partition", "offset")
            .select("click.*", "partition", "offset").withColumn("ingested_at", F.current_timestamp()))


def run_job(url, bootstrap_servers, folder, records_per_batch, state_provider=None):
    """The job: what Kafka has now, into folder/table. Returns when it is done; raises the query's error. With a state store
    provider, the job remembers each record that it has seen."""
    spark = SparkSession.builder.remote(url).create()
    clicks = clicks_from(spark, bootstrap_servers, records_per_batch)
    if state_provider:
        spark.conf.set("spark.sql.streaming.stateStore.providerClass", state_provider)
        clicks = clicks.dropDuplicates(["partition", "offset"])
    query = (clicks.writeStream.format("delta").option("checkpointLocation", f"{folder}/checkpoint")
             .trigger(availableNow=True).start(f"{folder}/table"))
    query.awaitTermination()
    spark.stop()


class Client:
    """run_job in a process of its own, which ends with the server it talks to."""

    def __init__(self, *arguments):
        self.process = FORK.Process(target=run_job, args=arguments, daemon=True)
        self.process.start()

    def kill(self):
        self.process.kill()
        self.process.join()

    def finish(self, timeout):
        self.process.join(timeout)
        assert self.process.exitcode == 0, f"the job ended with {self.process.exitcode}"


def committed_versions(table):
    names = sorted(os.path.basename(name) for name in glob.glob(f"{table}/_delta_log/*.json"))
    return [int(name[:20]) for name in names if re.fullmatch(r"\d{20}\.json", name)]


def live_rows(table):
    """Reads the table by the protocol: replays the JSON log, then reads the live files. Returns (partition, offset, cents)."""
    files, batches = {}, []
    versions = committed_versions(table)
    assert versions == list(range(len(versions))), f"versions have gaps: {versions}"
    for version in versions:
        with open(f"{table}/_delta_log/{version:020}.json") as log:
            for action in map(json.loads, log):
                if "add" in action:
                    files[action["add"]["path"]] = action["add"]
                elif "remove" in action:
                    files.pop(action["remove"]["path"], None)
                elif "txn" in action:
                    batches.append(action["txn"]["version"])
    assert batches == list(range(len(batches))), f"batches are not committed once and in order: {batches}"
    rows = []
    for path, add in files.items():
        assert "deletionVector" not in add
        columns = parquet.ParquetFile(f"{table}/{urllib.parse.unquote(path)}").read(["partition", "offset", "price"]).to_pydict()
        assert len(columns["offset"]) == json.loads(add["stats"])["numRecords"], f"{path}: statistics count other rows"
        rows += zip(columns["partition"], columns["offset"], (round(price * 100) for price in columns["price"]))
    return rows


def assert_each_event_once(table, facts):
    rows = live_rows(table)
    places = {(partition, offset) for partition, offset, _ in rows}
    assert len(places) == facts["events"], f"{facts['events'] - len(places)} of {facts['events']} events are missing"
    assert len(rows) == facts["events"], f"{len(rows) - facts['events']} events are doubled"
    cents = sum(row[2] for row in rows)
    assert cents == facts["price_cents"], f"the prices sum up to {cents}, not {facts['price_cents']}"
