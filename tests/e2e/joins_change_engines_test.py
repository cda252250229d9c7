"""Joins of two streams go from this program to Spark and back after every step: joins_change_engines_test.py THALWEG_PROGRAM

Both engines run the same queries on the same checkpoint, one step each in turn, into one Delta table; at the end it must hold what a
nested loop over all rows gives. Skipped (77) unless PEERS_DIR has a Spark (../shared/peers)."""
import json
import pathlib
import random
import sys
import tempfile

import others

PROVIDER = "org.apache.spark.sql.execution.streaming.state.{}StateStoreProvider"
# Kind, type of join, state's provider, and who begins.
RUNS = [(kind, how, provider, first)
        for kind, how in (("times", "inner"), ("times", "full_outer"), ("times", "left_semi"), ("keys", "left_outer"), ("nulls", "right_outer"))
        for provider, first in (("HDFSBacked", "ours"), ("RocksDB", "spark"))]
STEPS = 6
LEFT, RIGHT = "ts TIMESTAMP, k STRING, v BIGINT", "bt TIMESTAMP, bk STRING, bv BIGINT"
CONDITIONS = {"times": "k = bk AND bt >= ts AND bt <= ts + interval 10 seconds AND (v + bv) % 3 <> 0", "keys": "k = bk AND ts = bt",
              "nulls": "k <=> bk AND bt >= ts AND bt <= ts + interval 10 seconds"}


def run(spark, task):
    from pyspark.sql import functions as F
    folder, kind, how = pathlib.Path(task["folder"]), task["kind"], task["how"]
    spark.conf.set("spark.sql.shuffle.partitions", "3")
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", PROVIDER.format(task["provider"]))
    left = spark.readStream.schema(LEFT).json(str(folder / "left")).withWatermark("ts", "10 seconds")
    right = spark.readStream.schema(RIGHT).json(str(folder / "right")).withWatermark("bt", "10 seconds")
    joined = left.join(right, F.expr(CONDITIONS[kind]), how)
    columns = ["k", "v"] if how == "left_semi" else ["k", "bk", "v", "bv"]
    query = (joined.select(*columns).writeStream.format("delta").outputMode("append").option("checkpointLocation", str(folder / "checkpoint"))
             .trigger(availableNow=True).start(str(folder / "table")))
    query.awaitTermination()
    if query.exception():
        raise query.exception()


def serve_spark():
    others.serve(run)


def second(number):
    return f"2026-01-15T10:{number // 60:02}:{number % 60:02}Z"


def make_step(numbers, step, newest):
    """Rows of both sides, none of them late; the last step's end all others."""
    if step == STEPS - 1:
        return [(3000, "end", 1)], [(3300, "end", 2)]
    sides = []
    for side in range(2):
        rows = [(newest[side] - 9 + numbers.randrange(15), numbers.choice(["a", "b", "c", None]), numbers.randrange(100)) for _ in range(12)]
        newest[side] = max([newest[side]] + [row[0] for row in rows])
        sides.append(rows)
    return sides


def write(folder, names, rows, step):
    folder.mkdir(parents=True, exist_ok=True)
    time, key, value = names
    records = [{name: one for name, one in ((time, second(row[0])), (key, row[1]), (value, row[2])) if one is not None} for row in rows]
    (folder / f"{step}.json").write_text("".join(json.dumps(record) + "\n" for record in records))


def matches(kind, left, right):
    same = left[1] == right[1] and (left[1] is not None or kind == "nulls")
    if kind == "keys":
        return same and left[0] == right[0]
    return same and left[0] <= right[0] <= left[0] + 10 and (kind == "nulls" or (left[2] + right[2]) % 3 != 0)


def model(kind, how, left, right):
    pairs = [(one, other) for one in left for other in right if matches(kind, one, other)]
    if how == "left_semi":
        return [(one[1], one[2]) for one in left if any(matches(kind, one, other) for other in right)]
    rows = [(one[1], other[1], one[2], other[2]) for one, other in pairs]
    if how in ("left_outer", "full_outer"):
        rows += [(one[1], None, one[2], None) for one in left if not any(matches(kind, one, other) for other in right)]
    if how in ("right_outer", "full_outer"):
        rows += [(None, other[1], None, other[2]) for other in right if not any(matches(kind, one, other) for one in left)]
    return rows


def change_engines(ours, spark, folder, kind, how, provider, first):
    numbers = random.Random(f"{kind} {how} {provider}")
    newest, all_rows = [100, 100], [[], []]
    task = {"folder": str(folder), "kind": kind, "how": how, "provider": provider}
    for step in range(STEPS):
        sides = make_step(numbers, step, newest)
        # Full outer: Spark joins null with null, which no equality does.
        if how == "full_outer":
            sides = [[row for row in rows if row[1] is not None] for rows in sides]
        for side, (name, names) in enumerate((("left", ("ts", "k", "v")), ("right", ("bt", "bk", "bv")))):
            write(folder / name, names, sides[side], step)
            if step < STEPS - 1:
                all_rows[side] += sides[side]
        if (step % 2 == 0) == (first == "ours"):
            run(ours, task)
        else:
            spark.run(task)
    found = [tuple(row) for row in ours.read.format("delta").load(str(folder / "table")).collect()]
    text = lambda rows: sorted(map(str, rows))
    expected = model(kind, how, *all_rows)
    assert text(found) == text(expected), (f"{len(found)} rows instead of {len(expected)}; too many: "
                                           f"{sorted(set(text(found)) - set(text(expected)))[:5]}, missing: {sorted(set(text(expected)) - set(text(found)))[:5]}")
    return len(found)


def main(program):
    if not others.are_here("Spark"):
        return others.SKIPPED
    import harness
    server = harness.Server(program)
    ours = harness.SparkSession.builder.remote(server.url).create()
    spark = others.Spark(__file__)
    failed = False
    with tempfile.TemporaryDirectory(prefix="thalweg-e2e-") as root:
        for number, what in enumerate(RUNS):
            try:
                print(" ".join(what) + f": {change_engines(ours, spark, pathlib.Path(root) / str(number), *what)} rows", flush=True)
            except Exception as problem:
                failed = True
                print(" ".join(what) + f": FAILED: {str(problem)[:1500]}", flush=True)
    spark.end()
    ours.stop()
    server.end()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(others.inside(globals()) if others.is_inside() else main(sys.argv[1]))
