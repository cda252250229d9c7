"""Tables that are maintained by every statement, as others read them: maintenance_readers_test.py THALWEG_PROGRAM

After OPTIMIZE, ZORDER BY, REORG, clustering, RESTORE and VACUUM, on tables without and with deletion vectors, partitions, column
mapping and a change feed, Spark, deltalake and DuckDB read each version; what they must find is worked out here by hand. Then
Spark maintains the tables, and we read on. Skipped (77) unless PEERS_DIR has the three (../shared/peers)."""
import json
import pathlib
import shutil
import sys
import tempfile

import others
from changes_readers_test import COLUMNS, ask, delete, expect, insert, same, update

STEPS = [
    insert(0, 30),
    insert(30, 60),
    insert(60, 90),
    same("OPTIMIZE {t}"),
    delete("id % 7 = 3", lambda i, v, p: i % 7 == 3),
    insert(90, 100),
    same("REORG TABLE {t} APPLY (PURGE)"),
    same("OPTIMIZE {t} ZORDER BY (id, v)"),
    update("v = upper(v)", "id BETWEEN 10 AND 19", lambda i, v, p: 10 <= i <= 19, lambda i, v, p: (v.upper(), p)),
    same("OPTIMIZE {t} ZORDER BY (v)"),
    same("VACUUM {t}"),
    delete("id > 50", lambda i, v, p: i > 50),
    same("OPTIMIZE {t}"),
]

TABLES = {
    "plain": ("", {}),
    "vectors": ("", {"delta.enableDeletionVectors": "true"}),
    "partitions": ("PARTITIONED BY (p)", {"delta.enableDeletionVectors": "true"}),
    "feed": ("PARTITIONED BY (p)", {"delta.enableChangeDataFeed": "true"}),
    "mapped": ("PARTITIONED BY (p)", {"delta.columnMapping.mode": "name", "delta.enableDeletionVectors": "true",
                                      "delta.enableInCommitTimestamps": "true"}),
    "clustered": ("CLUSTER BY (id, v)", {"delta.enableDeletionVectors": "true"}),
}


def sorted_rows(rows):
    return sorted(([i, *row] for i, row in rows.items()), key=repr)


def read(spark, folder, name):
    return sorted(([row.id, row.v, row.p] for row in spark.read.format("delta").load(f"{folder}/{name}").collect()), key=repr)


def run_statements(url, folder, out):
    import harness
    spark = harness.SparkSession.builder.remote(url).create()
    expected = {}
    for name, (clause, properties) in TABLES.items():
        table = f"delta.`{folder}/{name}`"
        said = ", ".join(f"'{key}' = '{value}'" for key, value in properties.items())
        spark.sql(f"CREATE TABLE {table} (id INT, v STRING, p STRING) USING delta {clause}" + (f" TBLPROPERTIES ({said})" if said else ""))
        rows, version, known = {}, 0, {}
        for statement, change in STEPS:
            if name == "clustered":
                statement = statement.split(" ZORDER")[0]
            spark.sql(statement.format(t=table))
            rows = change(rows)
            assert read(spark, folder, name) == sorted_rows(rows), f"we read {name} wrongly after {statement}"
            newest = spark.sql(f"DESCRIBE HISTORY {table} LIMIT 1").collect()[0].version
            for made in range(version + 1, newest + 1):
                known[made] = sorted_rows(rows)
            version = newest
        for back in (2, version - 1, 3):
            spark.sql(f"RESTORE TABLE {table} TO VERSION AS OF {back}")
            version += 1
            known[version] = known[back]
            assert read(spark, folder, name) == known[back], f"we read {name} wrongly, restored to {back}"
        operations = {row.operation for row in spark.sql(f"DESCRIBE HISTORY {table}").collect()}
        assert {"OPTIMIZE", "VACUUM START", "VACUUM END", "RESTORE"} <= operations, operations
        assert ("REORG" in operations) == ("delta.enableDeletionVectors" in properties), operations
        expected.update((f"{name}@{made}", found) for made, found in known.items())
    json.dump(expected, open(out, "w"))
    spark.stop()


def vacuum_all(url, folder, out):
    """Only the newest versions are left."""
    import harness
    spark = harness.SparkSession.builder.remote(url).create()
    spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    newest = {}
    for name in TABLES:
        table = f"delta.`{folder}/{name}`"
        before = read(spark, folder, name)
        spark.sql(f"VACUUM {table} RETAIN 0 HOURS")
        assert read(spark, folder, name) == before, name
        end = spark.sql(f"DESCRIBE HISTORY {table} LIMIT 1").collect()[0]
        assert end.operation == "VACUUM END" and int(end.operationMetrics["numDeletedFiles"]) > 0, end
        newest[f"{name}@{end.version}"] = before
    json.dump(newest, open(out, "w"))
    spark.stop()


def read_all(url, folder, out):
    import harness
    spark = harness.SparkSession.builder.remote(url).create()
    json.dump({name: read(spark, folder, name) for name in TABLES}, open(out, "w"))
    spark.stop()


def spark_maintains(folder):
    spark = others.spark_session({"spark.databricks.delta.retentionDurationCheck.enabled": "false"})
    found = {}
    for name, (clause, _) in TABLES.items():
        table = f"delta.`{folder}/{name}`"
        spark.sql(f"INSERT INTO {table} VALUES (400, 'spark', 'p0')")
        spark.sql(f"OPTIMIZE {table}")
        spark.sql(f"DELETE FROM {table} WHERE id < 20")
        spark.sql(f"OPTIMIZE {table}" + ("" if "CLUSTER" in clause else " ZORDER BY (id)"))
        spark.sql(f"VACUUM {table} RETAIN 0 HOURS")
        found[name] = others.spark_rows(spark, f"{folder}/{name}", COLUMNS)
    return found


def all_read(folder, expected):
    (folder / "expected.json").write_text(json.dumps(expected))
    shutil.rmtree(folder / "as_of", ignore_errors=True)
    expect("deltalake", ask("deltalake", "deltalake_reads", folder), expected)
    # Its reader finds no partition values under column mapping, in Spark's tables neither.
    unmapped = {key: rows for key, rows in expected.items() if not key.startswith("mapped@")}
    expect("DuckDB", ask("DuckDB", "duckdb_reads", folder), unmapped)
    expect("Spark", ask("Spark", "spark_reads", folder), expected)


def main(program):
    if not others.are_here("Spark", "deltalake", "DuckDB"):
        return others.SKIPPED
    import harness
    with tempfile.TemporaryDirectory(prefix="thalweg-maintenance-") as scratch:
        folder = pathlib.Path(scratch)
        server = harness.Server(program)

        def client(work, out):
            process = harness.FORK.Process(target=work, args=(server.url, folder, folder / out), daemon=True)
            process.start()
            process.join(240)
            assert process.exitcode == 0, f"the client ended with {process.exitcode}"
            return json.loads((folder / out).read_text())

        all_read(folder, client(run_statements, "ran.json"))
        all_read(folder, client(vacuum_all, "vacuumed.json"))
        theirs = others.ask("Spark", __file__, "spark_maintains", folder)
        expect("Thalweg after Spark", client(read_all, "ours.json"), theirs)
        server.end()
    return 0


if __name__ == "__main__":
    sys.exit(others.inside(globals()) if others.is_inside() else main(sys.argv[1]))
