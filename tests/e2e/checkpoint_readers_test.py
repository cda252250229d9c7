"""Checkpoints in every form, and tables from which features were dropped, as others read them: checkpoint_readers_test.py THALWEG_PROGRAM

V2 checkpoints with top levels of both kinds, parts of the old form, statistics as text, as columns, as both: the commits before each
checkpoint are taken away, so that Spark, deltalake and DuckDB must read it; what they must find is worked out here by hand. Then
Spark writes on, with checkpoints of its own, and we read them. Then ALTER TABLE DROP FEATURE: Spark must see the protocol that its own
statement leaves, and read and write the table. Skipped (77) unless PEERS_DIR has the three (../shared/peers)."""
import json
import os
import pathlib
import shutil
import sys
import tempfile

import changes_readers_test as readers
import others
from changes_readers_test import COLUMNS, ask, delete, expect, insert, update

STEPS = [insert(first, first + 10) for first in range(0, 90, 10)] + [
    delete("id % 7 = 3", lambda i, v, p: i % 7 == 3),
    update("v = upper(v)", "id BETWEEN 10 AND 19", lambda i, v, p: 10 <= i <= 19, lambda i, v, p: (v.upper(), p)),
    insert(100, 110),
]

VECTORS = {"delta.enableDeletionVectors": "true"}
TABLES = {
    "v2json": ({**VECTORS, "delta.checkpointPolicy": "v2"}, {"checkpoint.partSize": "4"}),
    "v2parquet": ({"delta.checkpointPolicy": "v2"}, {"checkpoint.partSize": "4", "checkpointV2.topLevelFileFormat": "parquet"}),
    "v2default": ({"delta.checkpointPolicy": "v2", "delta.checkpoint.writeStatsAsJson": "false"}, {}),
    "parts": (VECTORS, {"checkpoint.partSize": "5"}),
    "texts": ({"delta.checkpoint.writeStatsAsStruct": "false"}, {}),
    "columns": ({**VECTORS, "delta.checkpoint.writeStatsAsJson": "false"}, {}),
    "mapped": ({**VECTORS, "delta.columnMapping.mode": "name", "delta.checkpointPolicy": "v2"}, {"checkpoint.partSize": "6"}),
}
# Feature → properties that switch it on, and the protocol (reader, writer, features) that Spark's own DROP FEATURE leaves.
PROTECTED = [1, 7, ["appendOnly", "checkpointProtection", "invariants"]]
LOWEST = [1, 2, ["appendOnly", "invariants"]]
DROPS = {
    "deletionVectors": (VECTORS, PROTECTED),
    "v2Checkpoint": ({"delta.checkpointPolicy": "v2"}, PROTECTED),
    "vacuumProtocolCheck": ({"delta.feature.vacuumProtocolCheck": "supported"}, PROTECTED),
    "inCommitTimestamp": ({"delta.enableInCommitTimestamps": "true"}, LOWEST),
    "domainMetadata": ({"delta.feature.domainMetadata": "supported"}, LOWEST),
    "checkConstraints": ({"delta.feature.checkConstraints": "supported"}, LOWEST),
    "columnMapping": ({"delta.columnMapping.mode": "name"}, PROTECTED),
    "rowTracking": ({"delta.enableRowTracking": "true"}, [1, 7, ["appendOnly", "domainMetadata", "invariants"]]),
}


def create(spark, table, properties, clause="PARTITIONED BY (p)"):
    said = ", ".join(f"'{key}' = '{value}'" for key, value in properties.items())
    spark.sql(f"CREATE TABLE {table} (id INT, v STRING, p STRING) USING delta {clause} TBLPROPERTIES ({said})")


def read(spark, folder, name):
    return sorted(([row.id, row.v, row.p] for row in spark.read.format("delta").load(f"{folder}/{name}").collect()), key=repr)


def checkpoints(folder, name):
    return sorted(file for file in (pathlib.Path(folder) / name / "_delta_log").iterdir() if ".checkpoint." in file.name)


def only_from_checkpoint(folder, name):
    """What a clean-up leaves: the newest checkpoint, its commit and all after it."""
    newest = int(checkpoints(folder, name)[-1].name[:20])
    for file in (pathlib.Path(folder) / name / "_delta_log").iterdir():
        if file.name[:20].isdigit() and int(file.name[:20]) < newest:
            file.unlink()
    return newest


def run_statements(url, folder, out):
    import harness
    spark = harness.SparkSession.builder.remote(url).create()
    expected = {}
    for name, (properties, settings) in TABLES.items():
        for key, value in settings.items():
            spark.conf.set(f"spark.databricks.delta.{key}", value)
        table = f"delta.`{folder}/{name}`"
        create(spark, table, {**properties, "delta.checkpointInterval": "5"})
        rows = {}
        for statement, change in STEPS:
            spark.sql(f"DESCRIBE DETAIL {table}").collect()  # so that the table knows the session's settings
            spark.sql(statement.format(t=table))
            rows = change(rows)
        wanted = sorted(([i, *row] for i, row in rows.items()), key=repr)
        assert read(spark, folder, name) == wanted, name
        expected[f"{name}@{len(STEPS)}"] = wanted
        for key in settings:
            spark.conf.unset(f"spark.databricks.delta.{key}")
    json.dump(expected, open(out, "w"))
    spark.stop()


def read_all(url, folder, out):
    import harness
    spark = harness.SparkSession.builder.remote(url).create()
    json.dump({name: read(spark, folder, name) for name in TABLES}, open(out, "w"))
    spark.stop()


def spark_goes_on(folder):
    spark = others.spark_session({"spark.databricks.delta.checkpoint.partSize": "3"})
    found = {}
    for name in TABLES:
        table = f"delta.`{folder}/{name}`"
        for i in range(400, 406):
            spark.sql(f"INSERT INTO {table} VALUES ({i}, 'spark', 'p0')")
        spark.sql(f"DELETE FROM {table} WHERE id < 20")
        found[name] = others.spark_rows(spark, f"{folder}/{name}", COLUMNS)
    return found


def drop_features(url, folder, out):
    import harness
    spark = harness.SparkSession.builder.remote(url).create()
    expected = {}
    for name, (properties, _) in DROPS.items():
        table = f"delta.`{folder}/{name}`"
        create(spark, table, properties, "")
        spark.sql(f"INSERT INTO {table} SELECT id, 'x', 'p' FROM range(20)")
        rows = [[i, "x", "p"] for i in range(20)]
        if name == "deletionVectors":
            spark.sql(f"DELETE FROM {table} WHERE id < 5")
            rows = rows[5:]
        if name == "columnMapping":
            spark.sql(f"ALTER TABLE {table} RENAME COLUMN v TO w")
            spark.sql(f"ALTER TABLE {table} RENAME COLUMN id TO v")
            spark.sql(f"ALTER TABLE {table} RENAME COLUMN v TO id")
            spark.sql(f"ALTER TABLE {table} RENAME COLUMN w TO v")
        spark.sql(f"ALTER TABLE {table} DROP FEATURE {name}")
        assert read(spark, folder, name) == sorted(rows, key=repr), name
        expected[name] = sorted(rows, key=repr)
    table = f"delta.`{folder}/deletionVectors`"
    for feature, more, condition in (
            ("deletionVectors", "", "DELTA_FEATURE_DROP_FEATURE_NOT_PRESENT"),
            ("DELETIONVECTORS", "", "DELTA_FEATURE_DROP_FEATURE_NOT_PRESENT"),
            ("appendOnly", "", "DELTA_FEATURE_DROP_NONREMOVABLE_FEATURE"),
            ("nonsense", "", "DELTA_FEATURE_DROP_UNSUPPORTED_CLIENT_FEATURE"),
            ("checkpointProtection", "", "DELTA_FEATURE_CAN_ONLY_DROP_CHECKPOINT_PROTECTION_WITH_HISTORY_TRUNCATION"),
            ("checkpointProtection", "TRUNCATE HISTORY", "DELTA_FEATURE_DROP_CHECKPOINT_PROTECTION_WAIT_FOR_RETENTION_PERIOD")):
        refused(spark, f"ALTER TABLE {table} DROP FEATURE {feature} {more}", condition)
    truncated = f"delta.`{folder}/truncated`"
    create(spark, truncated, {**VECTORS, "delta.enableInCommitTimestamps": "true"}, "")
    spark.sql(f"INSERT INTO {truncated} VALUES (1, 'a', 'p'), (2, 'b', 'p')")
    spark.sql(f"DELETE FROM {truncated} WHERE id = 1")
    spark.sql(f"ALTER TABLE {truncated} ADD CONSTRAINT small CHECK (id < 10)")
    refused(spark, f"ALTER TABLE {truncated} DROP FEATURE checkConstraints", "DELTA_CANNOT_DROP_CHECK_CONSTRAINT_FEATURE")
    refused(spark, f"ALTER TABLE {truncated} DROP FEATURE inCommitTimestamp TRUNCATE HISTORY", "DELTA_FEATURE_DROP_HISTORY_TRUNCATION_NOT_ALLOWED")
    for condition in ("DELTA_FEATURE_DROP_WAIT_FOR_RETENTION_PERIOD", "DELTA_FEATURE_DROP_HISTORICAL_VERSIONS_EXIST"):
        refused(spark, f"ALTER TABLE {truncated} DROP FEATURE deletionVectors TRUNCATE HISTORY", condition)
    clustered = f"delta.`{folder}/clustered`"
    create(spark, clustered, {"k": "v"}, "CLUSTER BY (id)")
    refused(spark, f"ALTER TABLE {clustered} DROP FEATURE domainMetadata", "DELTA_FEATURE_DROP_DEPENDENT_FEATURE")
    # Once history is older than the retention, the feature goes without a trace.
    log = pathlib.Path(folder) / "truncated" / "_delta_log"
    for file in log.iterdir():
        os.utime(file, (1_700_000_000 + int(file.name[:20]) if file.name[:20].isdigit() else 1_700_000_000,) * 2)
    spark.sql(f"ALTER TABLE {truncated} DROP FEATURE deletionVectors TRUNCATE HISTORY")
    detail = spark.sql(f"DESCRIBE DETAIL {truncated}").collect()[0]
    assert "deletionVectors" not in detail.tableFeatures and "checkpointProtection" not in detail.tableFeatures, detail
    assert read(spark, folder, "truncated") == [[2, "b", "p"]]
    json.dump(expected, open(out, "w"))
    spark.stop()


def refused(spark, statement, condition):
    try:
        spark.sql(statement)
    except Exception as error:
        assert f"[{condition}]" in str(error), f"{statement}: {error}"
        return
    raise SystemExit(f"{statement} was not refused")


def spark_sees_drops(folder):
    spark = others.spark_session()
    found = {}
    for name, (_, protocol) in DROPS.items():
        table = f"delta.`{folder}/{name}`"
        detail = spark.sql(f"DESCRIBE DETAIL {table}").collect()[0]
        assert [detail.minReaderVersion, detail.minWriterVersion, sorted(detail.tableFeatures)] == protocol, (name, detail)
        found[name] = others.spark_rows(spark, f"{folder}/{name}", COLUMNS)
        spark.sql(f"INSERT INTO {table} VALUES (100, 'y', 'p')")
        assert spark.sql(f"SELECT * FROM {table}").count() == len(found[name]) + 1
    spark.sql(f"VACUUM delta.`{folder}/deletionVectors`")
    return found


def sidecars_too(folder, name, version):
    copy = readers.plain_as_of(folder, name, version)
    sidecars = pathlib.Path(folder, name, "_delta_log", "_sidecars")
    if sidecars.exists():
        shutil.copytree(sidecars, copy / "_delta_log" / "_sidecars")
    shutil.copy(pathlib.Path(folder, name, "_delta_log", "_last_checkpoint"), copy / "_delta_log")
    return copy


def duckdb_reads(folder):
    readers.plain_as_of, readers.as_of = readers.as_of, sidecars_too
    return readers.duckdb_reads(folder)


def main(program):
    if not others.are_here("Spark", "deltalake", "DuckDB"):
        return others.SKIPPED
    import harness
    with tempfile.TemporaryDirectory(prefix="thalweg-checkpoints-") as scratch:
        folder = pathlib.Path(scratch)
        server = harness.Server(program)

        def client(work, out):
            process = harness.FORK.Process(target=work, args=(server.url, folder, folder / out), daemon=True)
            process.start()
            process.join(300)
            assert process.exitcode == 0, f"the client ended with {process.exitcode}"
            return json.loads((folder / out).read_text())

        expected = client(run_statements, "expected.json")
        for name in TABLES:
            only_from_checkpoint(folder, name)
        names = {name: [file.name for file in checkpoints(folder, name)] for name in TABLES}
        assert names["v2json"][-1].endswith(".json") and len(list((folder / "v2json/_delta_log/_sidecars").iterdir())) > 4, names
        assert names["v2parquet"][-1].count(".") == 3 and names["v2parquet"][-1].endswith(".parquet"), names
        assert names["parts"][-1].count(".") == 4, names
        expect("deltalake", ask("deltalake", "deltalake_reads", folder), expected)
        # Its reader finds no partition values under column mapping, in Spark's tables neither.
        unmapped = {key: rows for key, rows in expected.items() if not key.startswith("mapped@")}
        expect("DuckDB", others.ask("DuckDB", __file__, "duckdb_reads", folder), unmapped)
        expect("Spark", ask("Spark", "spark_reads", folder), expected)
        theirs = others.ask("Spark", __file__, "spark_goes_on", folder)
        for name in TABLES:
            only_from_checkpoint(folder, name)
        expect("Thalweg after Spark", client(read_all, "ours.json"), theirs)
        dropped = client(drop_features, "dropped.json")
        expect("Spark after DROP FEATURE", others.ask("Spark", __file__, "spark_sees_drops", folder), dropped)
        server.end()
    return 0


if __name__ == "__main__":
    sys.exit(others.inside(globals()) if others.is_inside() else main(sys.argv[1]))
