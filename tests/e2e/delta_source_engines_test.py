"""Queries over Delta tables go from this program to Spark and back: delta_source_engines_test.py THALWEG_PROGRAM

After each change of the source table both engines run the same query, each on a copy of the checkpoint and target of the step before:
their offsets must be the same bytes, and their rows the same. The next step goes on from one of the two, in turn. Skipped (77) unless
PEERS_DIR has a Spark (../shared/peers). Inside of Spark this program calls itself with SPARK, and is told by its standard input what
to run."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SHARED = pathlib.Path(__file__).resolve().parents[3] / "shared"
# Name, properties of the source table, options of the reader.
RUNS = [("rows", "", {"maxFilesPerTrigger": "2", "skipChangeCommits": "true"}),
        ("rows from version 1", "", {"startingVersion": "1", "ignoreChanges": "true", "maxBytesPerTrigger": "1k"}),
        ("changes", "'delta.enableChangeDataFeed'='true'", {"readChangeFeed": "true", "maxFilesPerTrigger": "2"}),
        ("changes from version 0, by vectors", "'delta.enableChangeDataFeed'='true','delta.enableDeletionVectors'='true'",
         {"readChangeFeed": "true", "startingVersion": "0", "maxFilesPerTrigger": "1"}),
        ("rows, by vectors and in-commit timestamps", "'delta.enableDeletionVectors'='true','delta.enableInCommitTimestamps'='true'",
         {"ignoreChanges": "true"})]
# What Spark does to the source table, a list a step; the last ones leave nothing new, then something.
STEPS = [["INSERT INTO {t} SELECT /*+ REPARTITION(3) */ id, 'a' FROM range(0, 30)", "INSERT INTO {t} SELECT id, 'b' FROM range(30, 40)"],
         ["UPDATE {t} SET v = 'u' WHERE id = 3", "INSERT INTO {t} SELECT /*+ REPARTITION(4) */ id, 'c' FROM range(40, 60)"],
         ["OPTIMIZE {t}", "DELETE FROM {t} WHERE id IN (5, 41)", "INSERT INTO {t} SELECT id, 'd' FROM range(60, 70)"],
         [],
         ["MERGE INTO {t} USING (SELECT id, 'm' v FROM range(65, 75)) s ON {t}.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
          "DELETE FROM {t} WHERE id >= 0"]]


def run(spark, task):
    if "sql" in task:
        spark.sql(task["sql"])
        return
    query = (spark.readStream.format("delta").options(**task["options"]).load(task["upstream"]).drop("_commit_timestamp").writeStream.format("delta")
             .option("checkpointLocation", task["folder"] + "/checkpoint").trigger(availableNow=True).start(task["folder"] + "/table"))
    query.awaitTermination()
    if query.exception():
        raise query.exception()


def spark_main():
    sys.path.insert(0, str(SHARED / "peers"))
    from spark_env import session
    spark = session("local[2]")
    print("ready", flush=True)
    for line in sys.stdin:
        try:
            run(spark, json.loads(line))
            print("done", flush=True)
        except Exception as problem:
            print("failed: " + str(problem).replace("\n", " ")[:1500], flush=True)


class Spark:
    def __init__(self):
        # Our own client leaves settings in the environment that make a Spark of its own impossible.
        environment = {key: value for key, value in os.environ.items() if not key.startswith("SPARK_")}
        self.process = subprocess.Popen([SHARED / "peers" / "spark_env.sh", "python", __file__, "SPARK"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, env=environment)
        self.expect("ready")

    def expect(self, word):
        for line in self.process.stdout:
            if line.startswith(word):
                return
            if line.startswith("failed"):
                raise AssertionError("Spark " + line.strip())
        raise AssertionError("Spark ended")

    def run(self, task):
        self.process.stdin.write(json.dumps(task) + "\n")
        self.process.stdin.flush()
        self.expect("done")

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def offsets(folder):
    files = [name for name in (folder / "checkpoint/offsets").iterdir() if name.name.isdigit()]
    return {int(name.name): name.read_text().splitlines()[-1] for name in files}


def rows(ours, folder):
    return sorted(map(str, ours.read.format("delta").load(str(folder / "table")).collect()))


def change_engines(ours, spark, root, name, properties, options):
    upstream = str(root / "upstream")
    table = f"delta.`{upstream}`"
    spark.run({"sql": f"CREATE TABLE {table} (id BIGINT, v STRING) USING delta" + (f" TBLPROPERTIES ({properties})" if properties else "")})
    going_on = root / "going-on"
    going_on.mkdir(parents=True)
    for step, statements in enumerate(STEPS):
        for statement in statements:
            spark.run({"sql": statement.format(t=table)})
        sides = {}
        for engine in ("ours", "spark"):
            sides[engine] = root / f"{step}-{engine}"
            shutil.copytree(going_on, sides[engine])
            task = {"upstream": upstream, "options": options, "folder": str(sides[engine])}
            run(ours, task) if engine == "ours" else spark.run(task)
        # How many old ones are kept differs.
        logged = {engine: offsets(side) for engine, side in sides.items()}
        assert max(logged["ours"]) == max(logged["spark"]), f"step {step}: {max(logged['ours'])} and {max(logged['spark'])} batches"
        for batch in set(logged["ours"]) & set(logged["spark"]):
            assert logged["ours"][batch] == logged["spark"][batch], f"step {step}, batch {batch}: {logged['ours'][batch]} is not {logged['spark'][batch]}"
        assert rows(ours, sides["ours"]) == rows(ours, sides["spark"]), f"step {step}: {rows(ours, sides['ours'])} are not {rows(ours, sides['spark'])}"
        going_on = sides["ours" if step % 2 == 0 else "spark"]
    return max(offsets(going_on)) + 1, len(rows(ours, going_on))


def main(program):
    peers = os.environ.get("PEERS_DIR")
    if not peers or not pathlib.Path(peers, "v-spark42").exists() or not shutil.which("java"):
        print("skipped: no Spark in PEERS_DIR, or no Java")
        return 77
    import harness
    server = harness.Server(program)
    ours = harness.SparkSession.builder.remote(server.url).create()
    spark = Spark()
    failed = False
    with tempfile.TemporaryDirectory(prefix="thalweg-e2e-") as root:
        for number, (name, properties, options) in enumerate(RUNS):
            try:
                batches, count = change_engines(ours, spark, pathlib.Path(root) / str(number), name, properties, options)
                print(f"{name}: {batches} batches, {count} rows", flush=True)
            except Exception as problem:
                failed = True
                print(f"{name}: FAILED: {str(problem)[:3000]}", flush=True)
    spark.end()
    ours.stop()
    server.end()
    return 1 if failed else 0


if __name__ == "__main__":
    if sys.argv[1] == "SPARK":
        spark_main()
    else:
        sys.exit(main(sys.argv[1]))
