"""The quickstart after the build: starts a broker and a server, runs examples/quickstart.py, and checks what it made.

The broker forgets its records at its end, so each run refills the old ones first (they are a function of a seed) and adds
new ones; the job goes on from its checkpoint.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "examples"))

import quickstart  # noqa: E402
import top_products  # noqa: E402
from pyspark.sql import SparkSession  # noqa: E402
from pyspark.sql import functions as F  # noqa: E402

BAR_WIDTH = 30


class Children:
    """The processes of this run; they end with it."""

    def __init__(self, program, log):
        self.program, self.log, self.started, self.ending = program, log, [], False

    def start(self, *arguments):
        child = subprocess.Popen([self.program, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True,
                                 start_new_session=True)
        self.started.append(child)
        line = child.stdout.readline()
        if not line:
            sys.exit(f"quickstart: '{arguments[0]}' did not start; see {self.log.name}")
        threading.Thread(target=self.watch, args=(child, arguments[0]), daemon=True).start()
        return line

    def watch(self, child, name):
        """A client would try for minutes to reach a server that died: say so and end instead."""
        status = child.wait()
        if not self.ending:
            print(f"\nquickstart: 'thalweg {name}' ended by itself with status {status}; see {self.log.name}.\n"
                  "Run ./quickstart again: it goes on from the checkpoint.", flush=True)
            for other in self.started:
                if other.poll() is None:
                    other.terminate()
            os._exit(1)

    def end(self):
        self.ending = True
        for child in reversed(self.started):
            child.terminate()
        for child in self.started:
            child.wait(20)


class Bar:
    """One line that is written over in a terminal; a line a second elsewhere."""

    def __init__(self, total):
        self.total, self.live, self.last = total, sys.stdout.isatty(), 0.0

    def show(self, rows, rate, batches, batch_ms, final=False):
        now = time.monotonic()
        if not self.live and not final and now - self.last < 1:
            return
        self.last = now
        share = min(1.0, rows / self.total) if self.total else 1.0
        bar = "=" * int(share * BAR_WIDTH)
        line = (f"  [{bar:<{BAR_WIDTH}}] {share:4.0%}  {rows:>9,} rows  {rate:>9,.0f} rows/s  lag {self.total - rows:>9,}"
                f"  batch {batches} in {batch_ms} ms")
        if self.live:
            print(f"\r{line}\x1b[K", end="\n" if final else "", flush=True)
        else:
            print(line, flush=True)


def follow(query, total):
    """Shows the query's own progress reports until it ends; returns rows, batches, seconds and batch times."""
    bar, durations, rows, first = Bar(total), {}, {}, time.monotonic()
    while True:
        active = query.isActive
        for report in query.recentProgress:
            if report["numInputRows"]:
                durations[report["batchId"]], rows[report["batchId"]] = report["batchDuration"], report["numInputRows"]
        seconds = time.monotonic() - first
        done = sum(rows.values())
        if durations:
            bar.show(done, done / seconds, len(durations), durations[max(durations)], final=not active)
        if not active:
            query.awaitTermination()  # raises the query's error, if it has one
            return done, len(rows), seconds, sorted(durations.values())
        time.sleep(0.1)


def show_history(spark, table, count=5):
    versions = spark.sql(f"DESCRIBE HISTORY delta.`{table}` LIMIT {count}").collect()
    print(f"  {'version':>7}  {'timestamp':<19}  {'operation':<16}  {'rows':>9}  {'files':>5}")
    for version in versions:
        metrics = version.operationMetrics or {}
        print(f"  {version.version:>7}  {version.timestamp:%Y-%m-%d %H:%M:%S}  {version.operation:<16}"
              f"  {int(metrics.get('numOutputRows', 0)):>9,}  {metrics.get('numAddedFiles', '-'):>5}")


def is_exact(spark, table, expected):
    """True where the table holds each event once: as many rows as events, as many places in Kafka, the same sum of prices."""
    clicks = spark.read.format("delta").load(table)
    rows, cents = clicks.agg(F.count("*"), F.sum((F.col("price") * 100 + 0.5).cast("bigint"))).first()
    places = clicks.select("partition", "offset").distinct().count()
    print(f"  {'':<18}{'generated':>16}{'in the table':>16}")
    print(f"  {'events':<18}{expected['events']:>16,}{rows:>16,}")
    print(f"  {'distinct offsets':<18}{expected['events']:>16,}{places:>16,}")
    print(f"  {'sum of prices':<18}{expected['price_cents'] / 100:>16,.2f}{(cents or 0) / 100:>16,.2f}")
    return rows == places == expected["events"] and cents == expected["price_cents"]


def heading(text):
    print(f"\n{text}", flush=True)


def run(arguments, folder, children):
    state = folder / "state.json"
    before = json.loads(state.read_text())["events"] if state.exists() else 0
    events = before + (arguments.more if before else arguments.events)
    table, checkpoint = str(folder / "clicks"), str(folder / "checkpoint")

    print(f"Kafka      filling an embedded broker with {events:,} clicks in 40 partitions ...", flush=True)
    broker = json.loads(children.start("demo-broker", "--events", str(events), "--partitions", "40", "--seed", "42"))
    url = children.start("serve", "--port", "0", "--allowed-root", str(folder), "--log-level", "warn").split()[-1]
    print(f"Server     {url} (Spark Connect)")
    print("Program    examples/quickstart.py, plain PySpark")
    print(f"Table      {table}")
    heading("Going on from the checkpoint: only what is new is read." if before else "Reading every click once.")

    spark = SparkSession.builder.remote(url).getOrCreate()
    query = quickstart.start(spark, broker["bootstrap_servers"], table, checkpoint)
    rows, batches, seconds, durations = follow(query, events - before)
    print(f"  {rows:,} rows in {batches} batches, each one Delta commit, in {seconds:.1f} s"
          + (f"; a batch took {durations[len(durations) // 2]} ms (median)" if durations else ""))

    heading("The ten products that are clicked most")
    top_products.top_products(spark, table).show(truncate=False)
    heading(f"DESCRIBE HISTORY delta.`{table}`, the newest versions")
    show_history(spark, table)
    heading("Exactly once? The table against the generator")
    exact = is_exact(spark, table, broker)
    spark.stop()
    if not exact:
        print("\nNo: the table is not what the generator sent. This is a fault in Thalweg; please report it with quickstart-data/log.")
        return 1
    print("  Nothing is lost and nothing doubled." + (" The checkpoint held across runs." if before else ""))
    state.write_text(json.dumps({"events": events}))
    heading("To try next")
    shown = os.path.relpath(folder, ROOT)
    print(f"  ./quickstart                            {arguments.more:,} clicks more, from the checkpoint")
    print("  build/release/thalweg serve             a server for your own programs, on sc://localhost")
    print(f"  SPARK_REMOTE=sc://localhost .deps/venv/bin/python examples/top_products.py {shown}/clicks")
    return 0


def main():
    parser = argparse.ArgumentParser(prog="quickstart", description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=1_000_000, help="clicks of the first run (default %(default)s)")
    parser.add_argument("--more", type=int, default=200_000, help="clicks that each further run adds (default %(default)s)")
    parser.add_argument("--data", type=pathlib.Path, default=ROOT / "quickstart-data", help="where table and checkpoint lie")
    parser.add_argument("--program", default=str(ROOT / "build/release/thalweg"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    folder = arguments.data.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "log", "a") as log:
        children = Children(arguments.program, log)
        try:
            return run(arguments, folder, children)
        except KeyboardInterrupt:
            print("\nStopped. Run ./quickstart again: it goes on from the checkpoint.")
            return 130
        finally:
            children.end()


if __name__ == "__main__":
    sys.exit(main())
