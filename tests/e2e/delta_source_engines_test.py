"""Queries over Delta tables go from this program to Spark and back: delta_source_engines_test.py THALWEG_PROGRAM

After each change of the source table both engines run the same query, each on a copy of the checkpoint and target of the step before:
their offsets must be the same bytes, and their rows the same. The next step goes on from one of the two, in turn. Where a schema log
follows the table, a step is one run of the query, and both must end it alike and write the same entries: so each engine
goes on in the middle of what the other began. Skipped (77) unless PEERS_DIR has a Spark (../shared/peers)."""
import json
import pathlib
import re
import shutil
import sys
import tempfile

import others

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


# Tables whose schema changes, and a query that follows it. Name, properties, options, and whether the query begins when all is done.
EVOLUTIONS = [("rows that follow the schema", "", {}, False),
              ("changes that follow the schema", "'delta.enableChangeDataFeed'='true'", {"readChangeFeed": "true"}, False),
              ("rows that follow the schema from version 0", "", {"startingVersion": "0", "maxFilesPerTrigger": "1"}, True)]
ALLOWED = {"allowSourceColumnRename": "always", "allowSourceColumnDrop": "always", "allowSourceColumnTypeChange": "always"}
EVOLVED, BLOCKED = "DELTA_STREAMING_METADATA_EVOLUTION", "DELTA_STREAMING_CANNOT_CONTINUE_PROCESSING_POST_SCHEMA_EVOLUTION"
# What happens to the table before a run, options of the run, and what Spark was seen to end it with.
TURNS = [(["INSERT INTO {t} SELECT id, 'a' FROM range(0, 10)"], {}, None),
         (["INSERT INTO {t} SELECT id, 'b' FROM range(10, 14)", "ALTER TABLE {t} RENAME COLUMN v TO w", "INSERT INTO {t} SELECT id, 'c' FROM range(14, 18)"], {}, EVOLVED),
         ([], {}, BLOCKED),
         ([], {"allowSourceColumnDrop": "always"}, BLOCKED),
         ([], {"allowSourceColumnRename": "always"}, None),
         (["ALTER TABLE {t} ADD COLUMN x INT", "ALTER TABLE {t} ALTER COLUMN x COMMENT 'new'", "ALTER TABLE {t} DROP COLUMN w",
           "INSERT INTO {t} SELECT id, 7 FROM range(18, 20)"], {}, BLOCKED),
         ([], ALLOWED, EVOLVED),
         ([], {}, BLOCKED),
         ([], ALLOWED, None),
         (["ALTER TABLE {t} SET TBLPROPERTIES ('mine' = '1')", "ALTER TABLE {t} SET TBLPROPERTIES ('delta.appendOnly' = 'false')"], ALLOWED, EVOLVED),
         ([], ALLOWED, None),
         (["ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableTypeWidening' = 'true')", "ALTER TABLE {t} ALTER COLUMN x TYPE BIGINT",
           "INSERT INTO {t} SELECT id, 8 FROM range(20, 22)"], ALLOWED, "any"),
         ([], {}, "any"),
         ([], ALLOWED, "any"),
         ([], ALLOWED, None)]


def run(spark, task):
    """The query until nothing is new: Delta's condition that it ends with, or none."""
    if "sql" in task:
        spark.sql(task["sql"])
        return None
    try:
        query = (spark.readStream.format("delta").options(**task["options"]).load(task["upstream"]).drop("_commit_timestamp").writeStream.format("delta")
                 .option("mergeSchema", "true").option("checkpointLocation", task["folder"] + "/checkpoint").trigger(availableNow=True)
                 .start(task["folder"] + "/table"))
        query.awaitTermination()
        if query.exception():
            raise query.exception()
    except Exception as problem:
        condition = re.search(r"\[(DELTA_\w+)\]", str(problem))
        if not condition:
            raise
        return condition[1]
    return None


def serve_spark():
    others.serve(run)


def offsets(folder):
    files = [name for name in folder.glob("checkpoint/offsets/*") if name.name.isdigit()]
    return {int(name.name): name.read_text().splitlines()[-1] for name in files}


def rows(ours, folder):
    return sorted(map(str, ours.read.format("delta").load(str(folder / "table")).collect()))


def compare_offsets(step, sides):
    # How many old ones are kept differs.
    logged = {engine: offsets(side) for engine, side in sides.items()}
    newest = {engine: max(found, default=None) for engine, found in logged.items()}
    assert newest["ours"] == newest["spark"], f"step {step}: the newest batches are {newest}"
    for batch in set(logged["ours"]) & set(logged["spark"]):
        assert logged["ours"][batch] == logged["spark"][batch], f"step {step}, batch {batch}: {logged['ours'][batch]} is not {logged['spark'][batch]}"


def change_engines(ours, spark, root, properties, options):
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
            ended = run(ours, task) if engine == "ours" else spark.run(task)
            assert ended is None, f"step {step}: {engine} ended with {ended}"
        compare_offsets(step, sides)
        assert rows(ours, sides["ours"]) == rows(ours, sides["spark"]), f"step {step}: {rows(ours, sides['ours'])} are not {rows(ours, sides['spark'])}"
        going_on = sides["ours" if step % 2 == 0 else "spark"]
    return max(offsets(going_on)) + 1, len(rows(ours, going_on))


def entries(folder):
    """The schema log: what each entry says, without the order of properties and features."""
    found = {}
    for file in folder.glob("checkpoint/schemas/*/*"):
        if not file.name.isdigit():
            continue
        version, text = file.read_text().split("\n")
        entry = json.loads(text)
        protocol = json.loads(entry.pop("protocolJson"))["protocol"]
        entry["protocol"] = {key: sorted(value) if isinstance(value, list) else value for key, value in protocol.items()}
        found[int(file.name)] = (version, entry)
    return found


def committed(folder):
    return sorted(int(file.name) for file in folder.glob("checkpoint/commits/*") if file.name.isdigit())


def evolve(ours, spark, root, properties, options, begins_late):
    upstream, current = str(root / "upstream"), root / "current"
    table = f"delta.`{upstream}`"
    said = ", ".join(filter(None, ["'delta.columnMapping.mode'='name'", properties]))
    spark.run({"sql": f"CREATE TABLE {table} (id BIGINT, v STRING) USING delta TBLPROPERTIES ({said})"})
    turns = TURNS
    if begins_late:
        for statements, _, _ in TURNS:
            for statement in statements:
                spark.run({"sql": statement.format(t=table)})
        turns = [([], turn_options, "any") for turn_options in ({}, ALLOWED, {}, ALLOWED, ALLOWED, ALLOWED, ALLOWED, ALLOWED, ALLOWED)]
    going_on, ends = None, []
    for step, (statements, turn_options, expected) in enumerate(turns):
        for statement in statements:
            spark.run({"sql": statement.format(t=table)})
        sides, ended = {}, {}
        for engine in ("ours", "spark"):
            # A schema log says where its checkpoint lies: both run in the same place.
            # What Spark does behind a commit may make the folder anew, once it has been moved away.
            shutil.copytree(going_on, current, dirs_exist_ok=True) if going_on else current.mkdir()
            task = {"upstream": upstream, "folder": str(current),
                    "options": {**options, **turn_options, "schemaTrackingLocation": str(current / "checkpoint/schemas")}}
            ended[engine] = run(ours, task) if engine == "ours" else spark.run(task)
            sides[engine] = current.rename(root / f"{step}-{engine}")
        assert ended["ours"] == ended["spark"], f"step {step}: the runs end with {ended}"
        assert expected in ("any", ended["spark"]), f"step {step}: Spark ends with {ended['spark']}"
        compare_offsets(step, sides)
        # How many old ones are kept differs.
        assert committed(sides["ours"])[-3:] == committed(sides["spark"])[-3:], f"step {step}: {committed(sides['ours'])} is not {committed(sides['spark'])}"
        assert entries(sides["ours"]) == entries(sides["spark"]), f"step {step}: {entries(sides['ours'])} is not {entries(sides['spark'])}"
        if (sides["ours"] / "table").exists() or (sides["spark"] / "table").exists():
            assert rows(ours, sides["ours"]) == rows(ours, sides["spark"]), f"step {step}: {rows(ours, sides['ours'])} are not {rows(ours, sides['spark'])}"
        going_on = sides["ours" if step % 2 == 0 else "spark"]
        ends.append(ended["spark"])
    assert ends[-1] is None, ends
    return len(entries(going_on)), len(rows(ours, going_on))


def main(program):
    if not others.are_here("Spark"):
        return others.SKIPPED
    import harness
    server = harness.Server(program)
    ours = harness.SparkSession.builder.remote(server.url).create()
    spark = others.Spark(__file__)
    failed = False
    runs = [(name, lambda root, *what: "{} batches, {} rows".format(*change_engines(ours, spark, root, *what)), what) for name, *what in RUNS]
    runs += [(name, lambda root, *what: "{} entries, {} rows".format(*evolve(ours, spark, root, *what)), what) for name, *what in EVOLUTIONS]
    with tempfile.TemporaryDirectory(prefix="thalweg-e2e-") as scratch:
        for number, (name, go, what) in enumerate(runs):
            root = pathlib.Path(scratch) / str(number)
            root.mkdir()
            try:
                print(f"{name}: {go(root, *what)}", flush=True)
            except Exception as problem:
                failed = True
                print(f"{name}: FAILED: {str(problem)[:3000]}", flush=True)
    spark.end()
    ours.stop()
    server.end()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(others.inside(globals()) if others.is_inside() else main(sys.argv[1]))
