"""Stateful queries under kill -9: state_kills_test.py THALWEG_PROGRAM [--kills N] [--shapes A,B] [--seed N] [--folder DIR]

Each shape of query runs over input files that keep coming, and its server is killed at random moments, N times in all. Every few
kills, and at the end of a round of them, what the table holds and what the state holds must be what the input says. With --folder a
campaign goes on where an earlier one stopped: the counts of its finished rounds are in DIR/counts.json.

Rows are at most two minutes out of order and the watermark's delay is five, so that no row is late, whichever batches the kills made;
beside them each file has a row of the day before, which is late always. Every other run has no room for its state in memory; each
round draws one of Spark's two state store providers.
"""
import argparse
import json
import os
import pathlib
import random
import tempfile
import time

import harness
from harness import F

DELAY_MS = 300_000
WINDOW_MS = 60_000
GAP_MS = 20_000
JOIN_MS = 120_000
FIRST_MS = 1_768_471_200_000  # 2026-01-15T10:00Z
DAY_MS = 86_400_000
ROWS_A_FILE = 30
FIRST_FILE_WITH_LATE_ROW = 4
SCHEMA = "side STRING, id LONG, user STRING, product STRING, t TIMESTAMP, cents LONG"


# ---- the input: file i is a function of i and the seed

def rows_of_file(seed, i):
    draw = random.Random(f"{seed}/{i}")
    rows = []
    for n in range(ROWS_A_FILE):
        ms = FIRST_MS + 30_000 * i - draw.randrange(120_000)
        rows.append({"side": draw.choice("ab"), "id": i * 1000 + n, "user": f"u{draw.randrange(5)}", "product": f"p{draw.randrange(3)}",
                     "ms": ms, "cents": draw.randrange(1, 100_000)})
    if i % 3 == 0:  # the same rows once more, for deduplication
        rows += rows[:3]
    if i >= FIRST_FILE_WITH_LATE_ROW:
        rows += [dict(rows[0], user="late", side=side, ms=FIRST_MS - DAY_MS) for side in "ab"]
    return rows


def flush_rows(number):
    return [{"side": side, "id": -number, "user": "flush", "product": "p0", "ms": FIRST_MS + 1000 * DAY_MS * number, "cents": 1}
            for side in "ab"]


def write_file(folder, name, rows, order):
    lines = [json.dumps({**{key: row[key] for key in ("side", "id", "user", "product", "cents")}, "t": iso(row["ms"])}) for row in rows]
    path = folder / "in" / name
    hidden = folder / f"{name}.writing"
    hidden.write_text("\n".join(lines) + "\n")
    os.utime(hidden, (1_700_000_000 + order, 1_700_000_000 + order))
    hidden.rename(path)


def iso(ms):
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(ms // 1000)) + f".{ms % 1000:03}Z"


# ---- the shapes: a query, the rows of its table by hand, the keys in its state by hand

def on_time(rows):
    return [row for row in rows if row["user"] != "late"]


class Windows:
    mode = "append"

    def query(self, events):
        return (events.withWatermark("t", "5 minutes").groupBy(F.window("t", "1 minute"), "user", "product")
                .agg(F.count("*").alias("n"), F.sum("cents").alias("cents"))
                .select(F.col("window"), "user", "product", "n", "cents"))

    columns = ["unix_millis(window.start)", "user", "product", "n", "cents"]

    def groups(self, rows):
        groups = {}
        for row in on_time(rows):
            key = (row["ms"] // WINDOW_MS * WINDOW_MS, row["user"], row["product"])
            n, cents = groups.get(key, (0, 0))
            groups[key] = (n + 1, cents + row["cents"])
        return groups

    def table(self, rows, watermark):
        return sorted((*key, *value) for key, value in self.groups(rows).items() if key[0] + WINDOW_MS <= watermark)

    state_columns = ["unix_millis(key.window.start)", "key.user", "key.product", "value.count", "value.sum"]

    def state(self, rows, watermark):
        return sorted((*key, *value) for key, value in self.groups(rows).items() if key[0] + WINDOW_MS > watermark)


class WindowsKept(Windows):
    """Update mode: the table is current at every commit, open windows included."""
    mode = "update"

    def table(self, rows, watermark):
        return sorted((*key, *value) for key, value in self.groups(rows).items())


class Sessions:
    mode = "append"

    def query(self, events):
        return (events.withWatermark("t", "5 minutes").groupBy(F.session_window("t", "20 seconds"), "user")
                .agg(F.count("*").alias("n"), F.sum("cents").alias("cents")))

    columns = ["unix_millis(session_window.start)", "unix_millis(session_window.end)", "user", "n", "cents"]

    def sessions(self, rows):
        found = []
        for user in sorted({row["user"] for row in on_time(rows)}):
            open_one = None
            for row in sorted((row for row in on_time(rows) if row["user"] == user), key=lambda row: row["ms"]):
                if open_one is not None and row["ms"] <= open_one[1]:
                    open_one[1] = max(open_one[1], row["ms"] + GAP_MS)
                else:
                    open_one = [row["ms"], row["ms"] + GAP_MS, user, 0, 0]
                    found.append(open_one)
                open_one[3] += 1
                open_one[4] += row["cents"]
        return sorted(map(tuple, found))

    def table(self, rows, watermark):
        return [session for session in self.sessions(rows) if session[1] <= watermark]

    state_columns = ["unix_millis(value.session_window.start)", "unix_millis(value.session_window.end)", "key.user", "value.count", "value.sum"]

    def state(self, rows, watermark):
        return [session for session in self.sessions(rows) if session[1] > watermark]


class Deduplication:
    mode = "append"

    def query(self, events):
        return events.select("id", "user", "t").withWatermark("t", "5 minutes").dropDuplicates(["id", "t"])

    columns = ["id", "unix_millis(t)", "user"]

    def table(self, rows, watermark):
        return sorted({(row["id"], row["ms"], row["user"]) for row in on_time(rows)})

    state_columns = ["key.id", "unix_millis(key.t)"]

    def state(self, rows, watermark):
        return sorted({(row["id"], row["ms"]) for row in on_time(rows) if row["ms"] > watermark})


class DeduplicationWithin(Deduplication):
    def query(self, events):
        return events.select("id", "user", "t").withWatermark("t", "5 minutes").dropDuplicatesWithinWatermark(["id"])

    state_columns = ["key.id", "value.expiresAtMicros"]

    def state(self, rows, watermark):
        return sorted({(row["id"], 1000 * (row["ms"] + DELAY_MS)) for row in on_time(rows) if row["ms"] + DELAY_MS > watermark})


class Complete:
    """All groups at every batch. Without a watermark no row is late."""
    mode = "complete"

    def query(self, events):
        return events.groupBy("user", "product").agg(F.count("*").alias("n"), F.sum("cents").alias("cents"), F.max("id").alias("newest"))

    columns = ["user", "product", "n", "cents", "newest"]

    def table(self, rows, watermark):
        groups = {}
        for row in rows:
            n, cents, newest = groups.get((row["user"], row["product"]), (0, 0, 0))
            groups[row["user"], row["product"]] = (n + 1, cents + row["cents"], max(newest, row["id"]))
        return sorted((*key, *value) for key, value in groups.items())

    state_columns = ["key.user", "key.product", "value.count", "value.sum", "value.max"]

    def state(self, rows, watermark):
        return self.table(rows, watermark)


class Limit:
    """The first rows of the files in their order, however many batches they came in."""
    mode = "append"
    ROWS = 1000

    def query(self, events):
        return events.select("id", "user").limit(self.ROWS)

    columns = ["id", "user"]

    def table(self, rows, watermark):
        return sorted((row["id"], row["user"]) for row in rows[:self.ROWS])

    state_columns = None


class InnerJoin:
    """Rows of side a with those of side b of one user within two minutes after them."""
    mode = "append"
    kind = "inner"

    def query(self, events):
        events = events.withWatermark("t", "5 minutes")
        left = events.where("side = 'a'").select(F.col("user").alias("user_a"), F.col("id").alias("a"), F.col("t").alias("ta"))
        right = events.where("side = 'b'").select(F.col("user").alias("user_b"), F.col("id").alias("b"), F.col("t").alias("tb"))
        return left.join(right, F.expr("user_a = user_b AND tb >= ta AND tb <= ta + INTERVAL 2 MINUTES"), self.kind).select("a", "b", "user_a")

    columns = ["a", "b", "user_a"]

    def pairs(self, rows):
        rows = on_time(rows)
        right = {}
        for row in rows:
            if row["side"] == "b":
                right.setdefault(row["user"], []).append(row)
        for one in rows:
            if one["side"] == "a":
                yield one, [two for two in right.get(one["user"], []) if one["ms"] <= two["ms"] <= one["ms"] + JOIN_MS]

    def table(self, rows, watermark):
        return sorted((one["id"], two["id"], one["user"]) for one, matches in self.pairs(rows) for two in matches)

    state_columns = None


class LeftJoin(InnerJoin):
    kind = "left_outer"

    def table(self, rows, watermark):
        found = []
        for one, matches in self.pairs(rows):
            found += [(one["id"], two["id"], one["user"]) for two in matches]
            if not matches and one["ms"] + JOIN_MS < watermark:
                found.append((one["id"], None, one["user"]))
        return sorted(found, key=repr)


class OuterJoin(InnerJoin):
    """Right and full outer joins: a row of b may have partners until the watermark has passed its own time."""

    def __init__(self, kind, keeps_left):
        self.kind, self.keeps_left = kind, keeps_left

    def query(self, events):
        events = events.withWatermark("t", "5 minutes")
        left = events.where("side = 'a'").select(F.col("user").alias("user_a"), F.col("id").alias("a"), F.col("t").alias("ta"))
        right = events.where("side = 'b'").select(F.col("user").alias("user_b"), F.col("id").alias("b"), F.col("t").alias("tb"))
        joined = left.join(right, F.expr("user_a = user_b AND tb >= ta AND tb <= ta + INTERVAL 2 MINUTES"), self.kind)
        return joined.select("a", "b", F.coalesce("user_a", "user_b").alias("user"))

    columns = ["a", "b", "user"]

    def table(self, rows, watermark):
        found, paired = [], set()
        for one, matches in self.pairs(rows):
            found += [(one["id"], two["id"], one["user"]) for two in matches]
            paired.update((two["id"], two["ms"]) for two in matches)
            if self.keeps_left and not matches and one["ms"] + JOIN_MS < watermark:
                found.append((one["id"], None, one["user"]))
        found += [(None, two["id"], two["user"]) for two in on_time(rows)
                  if two["side"] == "b" and (two["id"], two["ms"]) not in paired and two["ms"] < watermark]
        return sorted(found, key=repr)


SHAPES = {"windows": Windows(), "update": WindowsKept(), "sessions": Sessions(), "dedup": Deduplication(), "join": InnerJoin(),
          "left_join": LeftJoin(), "right_join": OuterJoin("right_outer", False), "full_join": OuterJoin("full_outer", True),
          "dedup_within": DeduplicationWithin(), "complete": Complete(), "limit": Limit()}


# ---- running and killing

def run_query(url, shape, folder, trigger, bounded, provider, started):
    spark = harness.SparkSession.builder.remote(url).create()
    spark.conf.set("spark.sql.shuffle.partitions", "4")
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", provider)
    spark.conf.set("spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled", "true")
    if bounded:
        spark.conf.set("spark.sql.streaming.stateStore.rocksdb.boundedMemoryUsage", "true")
        spark.conf.set("spark.sql.streaming.stateStore.rocksdb.maxMemoryUsageMB", "0")
    events = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(f"{folder}/in")
    writer = (shape.query(events).writeStream.format("delta").outputMode(shape.mode)
              .option("checkpointLocation", f"{folder}/checkpoint"))
    if trigger:
        writer = writer.trigger(**trigger)
    query = writer.start(f"{folder}/table")
    started.set()
    query.awaitTermination()
    spark.stop()


def read_table(url, shape, folder, results):
    """The table's rows and the state's, without those of the flushing rows."""
    spark = harness.SparkSession.builder.remote(url).create()
    table = spark.read.format("delta").load(f"{folder}/table")
    rows = [tuple(row) for row in table.selectExpr(*shape.columns).collect()]
    state = None
    if shape.state_columns:
        frame = spark.read.format("statestore").load(f"{folder}/checkpoint")
        state = [tuple(row) for row in frame.selectExpr(*shape.state_columns).collect()]
    results.put((rows, state))
    spark.stop()


class Round:
    """One checkpoint and one table from their first batch to the one that closes all windows, and the kills between."""

    def __init__(self, program, name, folder, seed):
        self.program, self.name, self.shape, self.folder, self.seed = program, name, SHAPES[name], folder, seed
        (folder / "in").mkdir(parents=True)
        self.random = random.Random(f"kills of {seed}")
        self.provider = self.random.choice(harness.STATE_PROVIDERS)
        self.kills = self.files = self.checks = 0

    def processed(self):
        """How many files the committed batches have, and the watermark under which the last of them ran."""
        commits = [int(path.name) for path in (self.folder / "checkpoint" / "commits").glob("*") if path.name.isdigit()]
        if not commits:
            return 0, 0
        lines = (self.folder / "checkpoint" / "offsets" / str(max(commits))).read_text().splitlines()
        return json.loads(lines[2])["logOffset"] + 1, json.loads(lines[1])["batchWatermarkMs"]

    def feed(self, count):
        done, _ = self.processed()
        while self.files < done + count:
            write_file(self.folder, f"f{self.files:06}.json", rows_of_file(self.seed, self.files), self.files)
            self.files += 1

    def start(self, server, trigger):
        started = harness.FORK.Event()
        bounded = self.random.random() < 0.5
        client = harness.FORK.Process(target=run_query, daemon=True,
                                      args=(server.url, self.shape, self.folder, trigger, bounded, self.provider, started))
        client.start()
        assert started.wait(120), "the query did not start"
        return client

    def kill_once(self):
        self.feed(12)
        server = harness.Server(self.program)
        client = self.start(server, None)
        time.sleep(self.random.uniform(0, 0.4))
        assert client.is_alive(), "the query ended by itself"
        server.kill()
        client.kill()
        client.join()
        self.kills += 1

    def run_to_end(self):
        server = harness.Server(self.program)
        client = self.start(server, {"availableNow": True})
        client.join(120)
        assert client.exitcode == 0, f"the query ended with {client.exitcode}"
        server.end()

    def check(self):
        files, watermark = self.processed()
        rows = [row for i in range(min(files, self.files)) for row in rows_of_file(self.seed, i)]
        server = harness.Server(self.program)
        results = harness.FORK.Queue()
        client = harness.FORK.Process(target=read_table, args=(server.url, self.shape, self.folder, results), daemon=True)
        client.start()
        table, state = results.get(timeout=60)
        client.join()
        server.end()
        self.compare("table", table, self.shape.table(rows, watermark))
        if state is not None:
            self.compare("state", state, self.shape.state(rows, watermark))
        self.checks += 1

    def compare(self, what, found, expected):
        # Ids of the flushing rows are negative, and their users' name is no other's.
        found = sorted((row for row in found if "flush" not in row and not any(isinstance(value, int) and value < 0 for value in row)), key=repr)
        expected = sorted(expected, key=repr)
        missing, more = [row for row in expected if row not in set(found)], [row for row in found if row not in set(expected)]
        assert found == expected, (f"{self.name}: the {what} after {self.kills} kills (seed {self.seed}, {self.provider}) has {len(found)} rows, by the "
                                   f"input {len(expected)}; missing {missing[:3]}, too many {more[:3]}, doubled {len(found) - len(set(found))}")

    def run(self, kills, check_every):
        while self.kills < kills:
            self.kill_once()
            if self.kills % check_every == 0:
                self.run_to_end()
                self.check()
        self.run_to_end()
        for number in (1, 2):
            write_file(self.folder, f"z{number}.json", flush_rows(number), self.files + number)
            self.run_to_end()
        self.check()


def campaign(program, name, folder, args, kills):
    counts_path = folder / "counts.json"
    counts = json.loads(counts_path.read_text()) if counts_path.exists() else {}
    mine = counts.setdefault(name, {"kills": 0, "hdfs_kills": 0, "rounds": 0, "files": 0, "comparisons": 0})
    while kills > 0:
        with tempfile.TemporaryDirectory(prefix="thalweg-kills-", dir=args.folder) as scratch:
            one = Round(program, name, pathlib.Path(scratch) / "round", f"{args.seed}/{name}/{mine['rounds']}")
            one.run(min(kills, args.kills_a_round), args.check_every)
        kills -= one.kills
        hdfs_kills = one.kills if one.provider == harness.STATE_PROVIDERS[0] else 0
        for what, count in (("kills", one.kills), ("hdfs_kills", hdfs_kills), ("rounds", 1), ("files", one.files), ("comparisons", one.checks)):
            mine[what] += count
        counts_path.write_text(json.dumps(counts))
    print(f"{name}: {mine['kills']} kills ({mine['hdfs_kills']} over the HDFS-backed provider) in {mine['rounds']} rounds over {mine['files']} files, {mine['comparisons']} comparisons: equal", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--kills", type=int, default=12, help="in all, shared by the shapes")
    parser.add_argument("--shapes", default=",".join(SHAPES))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--check-every", type=int, default=10)
    parser.add_argument("--kills-a-round", type=int, default=25)
    parser.add_argument("--folder")
    args = parser.parse_args()
    names = args.shapes.split(",")
    with tempfile.TemporaryDirectory(prefix="thalweg-kills-") as scratch:
        folder = pathlib.Path(args.folder or scratch)
        folder.mkdir(exist_ok=True)
        for name in names:
            campaign(args.program, name, folder, args, -(-args.kills // len(names)))


main()
