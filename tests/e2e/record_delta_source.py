"""Makes src/sources/testdata/delta anew: tables and checkpoints of queries over them, by Spark.
../shared/peers/spark_env.sh python tests/e2e/record_delta_source.py OUTPUT_FOLDER

`copied`: a query that took a file a batch while its table grew between the runs. `evolution`: one with a schema log, in the middle of a
change; done.json says what Spark went on to. `tables`: small tables with their rows, in the form of ../shared/testdata/delta."""
import json
import pathlib
import re
import shutil
import sys

SHARED = pathlib.Path(__file__).resolve().parents[3] / "shared"
# The checkpoints name it.
LAKE = pathlib.Path("/tmp/lake")
sys.path.insert(0, str(SHARED / "peers"))


def copy(source, target):
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("*.crc"))


def run(spark, folder, options, source="table", target="target"):
    """One run until nothing is new: what it ends with, or None."""
    rows = spark.readStream.format("delta").options(**options).load(f"{folder}/{source}")
    query = (rows.writeStream.format("delta").option("mergeSchema", "true").option("checkpointLocation", f"{folder}/checkpoint")
             .trigger(availableNow=True).start(f"{folder}/{target}"))
    try:
        query.awaitTermination()
    except Exception as problem:
        return str(problem)
    return None


def lines(folder, log="offsets"):
    files = sorted((int(file.name) for file in (folder / "checkpoint" / log).iterdir() if file.name.isdigit()))
    return [(folder / "checkpoint" / log / str(number)).read_text().splitlines()[-1] for number in files]


def checkpoint(folder, output):
    for part in ("offsets", "commits", "metadata", "schemas"):
        found = folder / "checkpoint" / part
        if found.is_dir():
            copy(found, output / "checkpoint" / part)
        elif found.exists():
            shutil.copy(found, output / "checkpoint" / part)


def record_copied(spark, output):
    folder = LAKE / "copied"
    table = f"delta.`{folder}/table`"
    spark.sql(f"CREATE TABLE {table} (id BIGINT, v STRING) USING delta")
    statements = [f"INSERT INTO {table} SELECT /*+ REPARTITION(2) */ id, 'a' FROM range(0, 10)", f"INSERT INTO {table} SELECT id, 'b' FROM range(10, 14)",
                  f"OPTIMIZE {table}", f"INSERT INTO {table} SELECT /*+ REPARTITION(3) */ id, 'c' FROM range(14, 30)"]
    versions = []
    for statement in statements:
        spark.sql(statement)
        assert run(spark, folder, {"maxFilesPerTrigger": "1"}) is None
        versions.append(spark.sql(f"DESCRIBE HISTORY {table} LIMIT 1").collect()[0].version)
    copy(folder / "table", output / "table")
    checkpoint(folder, output)
    progress = []
    for version in range(len(lines(folder))):
        added = [json.loads(line) for line in (folder / "target/_delta_log" / f"{version:020}.json").read_text().splitlines()]
        progress.append(sum(json.loads(one["add"]["stats"])["numRecords"] for one in added if "add" in one))
    (output / "run.json").write_text(json.dumps({"versions": versions, "rows": progress}))


def record_evolution(spark, output):
    folder = LAKE / "evolution"
    table = f"delta.`{folder}/table`"
    tracked = {"schemaTrackingLocation": f"{folder}/checkpoint/schemas"}
    spark.sql(f"CREATE TABLE {table} (id INT, v STRING) USING delta "
              "TBLPROPERTIES ('delta.columnMapping.mode' = 'name', 'delta.enableTypeWidening' = 'true')")
    spark.sql(f"INSERT INTO {table} VALUES (1, 'a'), (2, 'b')")
    assert run(spark, folder, tracked) is None
    spark.sql(f"INSERT INTO {table} VALUES (3, 'c')")
    spark.sql(f"ALTER TABLE {table} RENAME COLUMN v TO w")
    spark.sql(f"INSERT INTO {table} VALUES (4, 'd')")
    spark.sql(f"ALTER TABLE {table} ALTER COLUMN id TYPE BIGINT")
    spark.sql(f"ALTER TABLE {table} DROP COLUMN w")
    spark.sql(f"INSERT INTO {table} VALUES (5)")
    assert "METADATA_EVOLUTION" in run(spark, folder, tracked)
    copy(folder / "table", output / "table")
    checkpoint(folder, output)
    allowed = dict(tracked, allowSourceColumnRename="always", allowSourceColumnDrop="always", allowSourceColumnTypeChange="always")
    refused = run(spark, folder, tracked)
    done = {"refusal": re.search(r"\[(DELTA_\w+)\]", refused)[1], "checkpointHash": int(re.search(r"\.ckpt_(-?\d+)", refused)[1])}
    assert "METADATA_EVOLUTION" in run(spark, folder, allowed)
    assert run(spark, folder, allowed) is None
    log = next((folder / "checkpoint/schemas").iterdir())
    done["log"] = [(log / str(number)).read_text() for number in range(sum(name.name.isdigit() for name in log.iterdir()))]
    done["offsets"] = lines(folder)
    (output / "done.json").write_text(json.dumps(done, indent=1))


def expected(rows, folder):
    rows.coalesce(1).write.parquet(str(folder))
    for file in folder.iterdir():
        if file.suffix != ".parquet":
            file.unlink()


def record_tables(spark, output):
    tables = {"changes": ("id BIGINT, v STRING", "'delta.enableChangeDataFeed'='true','delta.enableDeletionVectors'='true'",
                          ["INSERT INTO {t} SELECT id, 'a' FROM range(8)", "UPDATE {t} SET v = 'b' WHERE id < 2", "DELETE FROM {t} WHERE id = 5"]),
              "row-tracking": ("id BIGINT, v STRING", "'delta.enableRowTracking'='true'",
                               ["INSERT INTO {t} SELECT id, 'a' FROM range(6)", "UPDATE {t} SET v = 'b' WHERE id < 2", "OPTIMIZE {t}"])}
    manifest = []
    for name, (columns, properties, statements) in tables.items():
        folder = LAKE / "tables" / name
        table = f"delta.`{folder}`"
        spark.sql(f"CREATE TABLE {table} ({columns}) USING delta TBLPROPERTIES ({properties})")
        for statement in statements:
            spark.sql(statement.format(t=table))
        copy(folder, output / name / "delta")
        read = spark.read.format("delta")
        also = ["v2", "v3"]
        for version in (2, 3):
            expected(read.option("versionAsOf", version).load(str(folder)), output / name / "expected" / f"v{version}")
        if name == "changes":
            feed = spark.read.format("delta").option("readChangeFeed", "true").option("startingVersion", 1).load(str(folder))
            expected(feed, output / name / "expected" / "cdf")
            also.append("cdf")
        else:
            expected(spark.sql(f"SELECT id, _metadata.row_id, _metadata.row_commit_version FROM {table}"), output / name / "expected" / "rowids")
        manifest.append({"path": name, "answer": {"kind": "parquet", "also": also}, "tracksRows": name == "row-tracking"})
    (output / "MANIFEST.json").write_text(json.dumps({"by": "Spark 4.2.0 + Delta 4.4.0", "tables": manifest}, indent=1))


def main(output):
    from spark_env import session
    spark = session("local[2]", conf={"spark.sql.shuffle.partitions": "2"})
    shutil.rmtree(LAKE, ignore_errors=True)
    for name, record in (("copied", record_copied), ("evolution", record_evolution), ("tables", record_tables)):
        target = pathlib.Path(output) / name
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        (target / "checkpoint").mkdir() if name != "tables" else None
        record(spark, target)
    shutil.rmtree(LAKE)


main(sys.argv[1])
