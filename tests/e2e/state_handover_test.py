"""Queries with state go from Spark to here and back, batch by batch: state_handover_test.py THALWEG_PROGRAM

Each query runs four steps of input twice: by Spark alone, and over one checkpoint by Spark, twice by us, and by Spark again. Rows, the state's size
and the late rows of each step must be the same. Some run a second time as if each engine had died before it handed over, with the state of its
last batch written and the batch not committed. Spark keeps its own checksums of state files and checks them. Skipped (77) unless PEERS_DIR has a
Spark (../shared/peers)."""
import json
import pathlib
import shutil
import sys
import tempfile

import others

PROVIDER = "org.apache.spark.sql.execution.streaming.state.{}StateStoreProvider"
STEPS, OURS = 4, (1, 2)
CLICK = "user_id STRING, product_id STRING, action STRING, timestamp TIMESTAMP, price DOUBLE"


def watermarked(clicks):
    return clicks.withWatermark("timestamp", "10 minutes")


def sessions(F, clicks, *keys):
    return (watermarked(clicks).groupBy(keys[0], F.session_window("timestamp", "3 minutes").alias("s"), *keys[1:])
            .agg(F.count("*").alias("n"), F.avg("price").alias("mean"), F.max("action").alias("last")))


# name → (the query over clicks, output mode)
QUERIES = {
    "dedup": (lambda F, clicks: clicks.dropDuplicates(["product_id", "user_id"]), "append"),
    "dedup-event-time": (lambda F, clicks: watermarked(clicks).dropDuplicates(["user_id", "timestamp", "price"]), "append"),
    "dedup-within": (lambda F, clicks: watermarked(clicks).dropDuplicatesWithinWatermark(["user_id", "action"]), "append"),
    "distinct": (lambda F, clicks: clicks.select("product_id", "action", "price").distinct(), "append"),
    "sessions": (lambda F, clicks: sessions(F, clicks, "user_id"), "append"),
    "sessions-of-two": (lambda F, clicks: sessions(F, clicks, "user_id", "product_id"), "append"),
    "sessions-complete": (lambda F, clicks: sessions(F, clicks, "user_id"), "complete"),
    "limit": (lambda F, clicks: clicks.select("user_id", "price").limit(55), "append"),
}


DIE = ("dedup", "dedup-within", "sessions", "limit")


def run(F, spark, folder, name, provider):
    """One step over what is in folder/in: what its reports say of the state."""
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", PROVIDER.format(provider))
    query_of, mode = QUERIES[name]
    clicks = spark.readStream.schema(CLICK).json(f"{folder}/in")
    query = (query_of(F, clicks).writeStream.format("delta").outputMode(mode).option("checkpointLocation", f"{folder}/checkpoint")
             .trigger(availableNow=True).start(f"{folder}/table"))
    query.awaitTermination()
    reports = [json.loads(report.json) if hasattr(report, "json") else report for report in query.recentProgress]
    state = [report["stateOperators"][0] for report in reports]
    table = spark.read.format("delta").load(f"{folder}/table")
    rows = [row["json"] for row in table.select(F.to_json(F.struct(*table.columns)).alias("json")).collect()]
    return {"kept": state[-1]["numRowsTotal"], "late": sum(one["numRowsDroppedByWatermark"] for one in state),
            "updated": sum(one["numRowsUpdated"] for one in state), "removed": sum(one["numRowsRemoved"] for one in state),
            "rows": sorted(json.dumps(rounded(json.loads(row)), sort_keys=True) for row in rows)}


def rounded(row):
    return {key: round(value, 6) if isinstance(value, float) else value for key, value in row.items()}


def serve_spark():
    from pyspark.sql import functions as F

    def answer(spark, task):
        spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()  # a table may have lost a version
        return run(F, spark, *task)
    others.serve(answer, conf={"spark.sql.shuffle.partitions": "3", "spark.sql.streaming.checkpoint.fileChecksum.enabled": "true"})


def clicks_of(step):
    """Thirty clicks over eight minutes, ten of them of the step before, and in the last two steps two that are late."""
    def click(number, minute):
        return {"user_id": f"u{number * 7 % 5}", "product_id": f"p{number * 11 % 7}", "action": ("view", "cart", "buy")[number % 3],
                "timestamp": f"2026-01-15T{10 + minute // 60:02d}:{minute % 60:02d}:{number * 13 % 60:02d}.{number * 37 % 1000:03d}Z",
                "price": number * 31 % 97 + 0.25}
    start = step * 30
    clicks = [click(number, step * 9 + number * 5 % 8) for number in range(start, start + 30)]
    if step:
        clicks += [click(number, (step - 1) * 9 + number * 5 % 8) for number in range(start - 10, start)]
    if step > 1:
        clicks += [click(start + number, number) for number in range(2)]
    return "".join(json.dumps(one) + "\n" for one in clicks)


def leave_last_batch_open(root):
    """As if the engine had died between its state and the table's commit."""
    def newest(folder, pattern):
        return max(folder.glob(pattern), key=lambda path: int(path.stem))
    newest(root / "checkpoint" / "commits", "[0-9]*").unlink()
    version = newest(root / "table" / "_delta_log", "[0-9]*.json")
    version.unlink()
    version.with_suffix(".crc").unlink(missing_ok=True)
    for hidden in version.parent.glob(f".{version.stem}.*"):
        hidden.unlink()


def steps(root, who_runs, name, provider, shared_input, dies=False):
    answers = []
    for step in range(STEPS):
        if dies and step in (OURS[0], OURS[-1] + 1):
            leave_last_batch_open(root)
        (root / "in").mkdir(parents=True, exist_ok=True)
        shutil.copy2(shared_input / f"{step}.json", root / "in" / f"{step}.json")
        answers.append(who_runs(step)(root, name, provider))
    return answers


def compare(spark, ours, folder, name, provider):
    root = pathlib.Path(folder)

    def theirs(folder, *which):
        return spark.run([str(folder), *which])

    def turns(ending, dies):
        return steps(root / f"{name}-{provider}-{ending}", lambda step: ours if step in OURS else theirs, name, provider, root / "input", dies)
    alone = steps(root / f"{name}-{provider}-alone", lambda step: theirs, name, provider, root / "input")
    wrong = differences(name, provider, alone, turns("turns", False), alone[0].keys())
    if name in DIE:  # a repeated batch counts again what it drops and updates
        wrong += differences(name, f"{provider}, each dying", alone, turns("dies", True), ("kept", "rows"))
    return wrong


def differences(name, provider, alone, turns, whats):
    wrong = []
    for step, (expected, found) in enumerate(zip(alone, turns)):
        for what in whats:
            if name == "limit" and what == "rows":  # which rows are first is not said
                same = len(found[what]) == len(expected[what])
            else:
                same = found[what] == expected[what]
            if not same:
                wrong.append(f"{name} {provider} step {step}: {what} {str(found[what])[:300]}, Spark alone {str(expected[what])[:300]}")
    return wrong


def main(program):
    if not others.are_here("Spark"):
        return others.SKIPPED
    import harness
    server = harness.Server(program)
    client = harness.SparkSession.builder.remote(server.url).create()
    client.conf.set("spark.sql.shuffle.partitions", "3")
    spark = others.Spark(__file__)
    wrong = []
    with tempfile.TemporaryDirectory(prefix="thalweg-handover-") as folder:
        (pathlib.Path(folder) / "input").mkdir()
        for step in range(STEPS):
            (pathlib.Path(folder) / "input" / f"{step}.json").write_text(clicks_of(step))
        for name in sys.argv[2:] or QUERIES:
            for provider in ("HDFSBacked", "RocksDB"):
                try:
                    found = compare(spark, lambda *which: run(harness.F, client, *which), folder, name, provider)
                except Exception as problem:
                    found = [f"{name} {provider}: {str(problem)[:1500]}"]
                print(f"{name} {provider}: " + ("as Spark alone" if not found else "DIFFERS"), flush=True)
                wrong += found
    print("\n".join(wrong))
    spark.end()
    client.stop()
    server.end()
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(others.inside(globals()) if others.is_inside() else main(sys.argv[1]))
