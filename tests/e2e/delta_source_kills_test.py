"""A query from one Delta table to another whose server is killed again and again: delta_source_kills_test.py THALWEG_PROGRAM [SEED]

The source table is written meanwhile by this program, by the protocol alone: appends, and now and then a commit that puts files
together and changes no row. In the end every row must be in the target once."""
import json
import os
import pathlib
import random
import sys
import tempfile
import threading
import time
import uuid

import pyarrow as pa

import harness

COMMITS = 400
KILLS = 8
SCHEMA = {"type": "struct", "fields": [{"name": name, "type": "long", "nullable": True, "metadata": {}} for name in ("partition", "offset")]}


class Upstream:
    """A table of (partition, offset): the commit's number, and the row's in it."""

    def __init__(self, folder, numbers):
        self.folder, self.numbers, self.version, self.rows, self.live = pathlib.Path(folder), numbers, 0, [], {}
        (self.folder / "_delta_log").mkdir(parents=True)
        self.commit([{"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
                     {"metaData": {"id": str(uuid.uuid4()), "format": {"provider": "parquet", "options": {}}, "schemaString": json.dumps(SCHEMA),
                                   "partitionColumns": [], "configuration": {}}}])

    def commit(self, actions):
        log = self.folder / "_delta_log"
        temporary = log / f".{uuid.uuid4()}.tmp"
        temporary.write_text("".join(json.dumps(action) + "\n" for action in actions))
        os.link(temporary, log / f"{self.version:020}.json")
        temporary.unlink()
        self.version += 1

    def file(self, rows, changes):
        name = f"part-{uuid.uuid4()}.parquet"
        partitions, offsets = zip(*rows)
        harness.parquet.write_table(pa.table({"partition": partitions, "offset": offsets}), self.folder / name)
        self.live[name] = rows
        return {"add": {"path": name, "partitionValues": {}, "size": (self.folder / name).stat().st_size,
                        "modificationTime": time.time_ns() // 1_000_000, "dataChange": changes}}

    def append(self):
        adds = []
        for number in range(self.numbers.randrange(1, 4)):
            rows = [(self.version, number * 10 + row) for row in range(10)]
            self.rows += rows
            adds.append(self.file(rows, True))
        self.commit(adds)

    def put_together(self):
        names = self.numbers.sample(sorted(self.live), min(5, len(self.live)))
        removes = [{"remove": {"path": name, "deletionTimestamp": time.time_ns() // 1_000_000, "dataChange": False}} for name in names]
        rows = [row for name in names for row in self.live.pop(name)]
        self.commit([self.file(rows, False)] + removes)

    def grow(self, commits, pause):
        for _ in range(commits):
            together = self.numbers.random() < 0.15 and self.live
            (self.put_together if together else self.append)()
            time.sleep(pause)


def copy_table(url, folder, trigger):
    spark = harness.SparkSession.builder.remote(url).create()
    query = (spark.readStream.format("delta").option("maxFilesPerTrigger", 3).load(f"{folder}/upstream").writeStream.format("delta")
             .option("checkpointLocation", f"{folder}/checkpoint").trigger(**trigger).start(f"{folder}/table"))
    query.awaitTermination()
    spark.stop()


class Client(harness.Client):
    def __init__(self, *arguments):
        self.process = harness.FORK.Process(target=copy_table, args=arguments, daemon=True)
        self.process.start()


def copied_rows(folder):
    versions = harness.committed_versions(f"{folder}/table")
    assert versions == list(range(len(versions))), f"versions have gaps: {versions}"
    live, batches = {}, []
    for version in versions:
        for action in map(json.loads, pathlib.Path(f"{folder}/table/_delta_log/{version:020}.json").read_text().splitlines()):
            if "add" in action:
                live[action["add"]["path"]] = True
            elif "remove" in action:
                live.pop(action["remove"]["path"], None)
            elif "txn" in action:
                batches.append(action["txn"]["version"])
    assert batches == sorted(set(batches)), f"batches are not committed once and in order: {batches}"
    rows = []
    for path in live:
        columns = harness.parquet.ParquetFile(f"{folder}/table/{path}").read().to_pydict()
        rows += zip(columns["partition"], columns["offset"])
    return rows


def main(program, seed):
    print(f"seed {seed}")
    numbers = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="thalweg-e2e-") as folder:
        upstream = Upstream(f"{folder}/upstream", random.Random(seed + 1))
        upstream.grow(40, 0)  # the rows that are there when the query starts
        writer = threading.Thread(target=upstream.grow, args=(COMMITS, 0.02), daemon=True)
        batches_seen = []
        for kill in range(KILLS):
            server = harness.Server(program)
            client = Client(server.url, folder, {"processingTime": "0 seconds"})
            if kill == 0:
                writer.start()
            time.sleep(numbers.uniform(0.4, 1.6))
            server.kill()
            client.kill()
            batches_seen.append(len(harness.committed_versions(f"{folder}/table")))
        writer.join(120)
        assert not writer.is_alive(), "the source table was not written in time"
        server = harness.Server(program)
        Client(server.url, folder, {"availableNow": True}).finish(120)
        server.end()
        rows = copied_rows(folder)
        assert len(set(rows)) == len(upstream.rows), f"{len(upstream.rows) - len(set(rows))} of {len(upstream.rows)} rows are missing"
        assert len(rows) == len(upstream.rows), f"{len(rows) - len(upstream.rows)} rows are doubled"
        assert sorted(rows) == sorted(upstream.rows)
        print(f"{len(rows)} rows; versions after each kill: {batches_seen}")
        assert batches_seen[-1] > 0, "no batch was ever committed before a kill"


main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else time.time_ns())
