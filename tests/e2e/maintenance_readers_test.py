"""Tables that are maintained by every statement, as others read them: maintenance_readers_test.py THALWEG_PROGRAM

After OPTIMIZE, ZORDER BY, REORG, clustering, RESTORE and VACUUM, on tables without and with deletion vectors, partitions, column
mapping and a change feed, Spark, deltalake and DuckDB read each version; what they must find is worked out here by hand. Then
Spark maintains the tables, and we read on. Rows of tables that track them keep their ids through all of it, on both sides, and
columns whose types were widened their values. Skipped (77) unless PEERS_DIR has the three (../shared/peers)."""
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


# ---- rows that keep their ids, columns whose types are widened

TRACKED = {
    "tracked": ("", {}),
    "tracked_vectors": ("", {"delta.enableDeletionVectors": "true"}),
    "tracked_mapped": ("PARTITIONED BY (p)", {"delta.columnMapping.mode": "name", "delta.enableChangeDataFeed": "true"}),
    "tracked_clustered": ("CLUSTER BY (id)", {"delta.enableDeletionVectors": "true"}),
    "tracked_later": ("", {}),
}
# Statements, and which rows' versions they change.
MOVES = [
    (*update("v = upper(v)", "id % 5 = 0", lambda i, v, p: i % 5 == 0, lambda i, v, p: (v.upper(), p)), lambda i: i % 5 == 0),
    (*delete("id % 7 = 3", lambda i, v, p: i % 7 == 3), lambda i: False),
    (*same("OPTIMIZE {t}"), lambda i: False),
    (*update("p = 'p9'", "id BETWEEN 40 AND 47", lambda i, v, p: 40 <= i <= 47, lambda i, v, p: (v, "p9")), lambda i: 40 <= i <= 47),
    (*delete("id IN (1, 41)", lambda i, v, p: i in (1, 41)), lambda i: False),
    (*same("OPTIMIZE {t} ZORDER BY (v)"), lambda i: False),
]


def ids_of(spark, folder, name):
    rows = spark.read.format("delta").load(f"{folder}/{name}").selectExpr("id", "_metadata.row_id AS row", "_metadata.row_commit_version AS version")
    return {str(row.id): [row.row, row.version] for row in rows.collect()}


def newest(spark, table):
    return spark.sql(f"DESCRIBE HISTORY {table} LIMIT 1").collect()[0].version


def track(url, folder, out):
    import harness
    spark = harness.SparkSession.builder.remote(url).create()
    expected, known = {}, {}
    for name, (clause, properties) in TRACKED.items():
        table = f"delta.`{folder}/{name}`"
        if name != "tracked_later":
            properties = {**properties, "delta.enableRowTracking": "true"}
        said = ", ".join(f"'{key}' = '{value}'" for key, value in properties.items())
        spark.sql(f"CREATE TABLE {table} (id INT, v STRING, p STRING) USING delta {clause}" + (f" TBLPROPERTIES ({said})" if said else ""))
        rows = {}
        for first, last in ((0, 30), (30, 60)):
            statement, change = insert(first, last)
            spark.sql(statement.format(t=table))
            rows = change(rows)
        if name == "tracked_later":
            spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('delta.enableRowTracking' = 'true')")
        ids = ids_of(spark, folder, name)
        assert sorted(row for row, _ in ids.values()) == list(range(60)), ids
        assert {version for _, version in ids.values()} == ({4} if name == "tracked_later" else {1, 2}), ids
        for statement, change, touches in MOVES:
            if name == "tracked_clustered":
                statement = statement.split(" ZORDER")[0]
            before = newest(spark, table)
            spark.sql(statement.format(t=table))
            version = newest(spark, table)
            assert version == before + 1 or statement.startswith("OPTIMIZE"), statement
            rows = change(rows)
            ids = {i: [row, version if touches(int(i)) else at] for i, (row, at) in ids.items() if int(i) in rows}
            assert ids_of(spark, folder, name) == ids, f"{name} after {statement}"
            assert read(spark, folder, name) == sorted_rows(rows), f"we read {name} wrongly after {statement}"
        known[name] = ids
        expected[f"{name}@{version}"] = sorted_rows(rows)
    json.dump([expected, known], open(out, "w"))
    spark.stop()


def read_ids(url, folder, out):
    import harness
    spark = harness.SparkSession.builder.remote(url).create()
    json.dump({name: ids_of(spark, folder, name) for name in TRACKED}, open(out, "w"))
    spark.stop()


def spark_tracks(folder):
    """The ids as they are, and after what Spark does then."""
    spark = others.spark_session()
    found, after = {}, {}
    for name in TRACKED:
        table = f"delta.`{folder}/{name}`"
        found[name] = ids_of(spark, folder, name)
        spark.sql(f"INSERT INTO {table} VALUES (400, 'spark', 'p0')")
        spark.sql(f"UPDATE {table} SET v = 'theirs' WHERE id < 10")
        spark.sql(f"DELETE FROM {table} WHERE id BETWEEN 20 AND 25")
        spark.sql(f"OPTIMIZE {table}")
        after[name] = ids_of(spark, folder, name)
    return [found, after]


WIDENED = ("id INT, v STRING, p STRING, s SMALLINT, f FLOAT, d DATE, c DECIMAL(5,2), st STRUCT<x: INT>, a ARRAY<INT>, m MAP<INT, SMALLINT>, "
           "aa ARRAY<STRUCT<y: TINYINT>>, k INT")
NARROW = "(1, 'one', 'p0', 2, CAST(0.1 AS FLOAT), DATE'2020-01-02', 1.25, named_struct('x', 5), array(6), map(7, 8S), array(named_struct('y', 9Y)), 10)"
WIDE = ("(3000000000, 'two', 'p1', 0.5, 0.1D, TIMESTAMP_NTZ'2020-01-02 03:04:05', 123456.1234, named_struct('x', 3000000000), "
        "array(3000000000), map(3000000001, 70000), array(named_struct('y', 300)), 12345678901.5)")
CHANGES = ["id TYPE BIGINT", "s TYPE INT", "s TYPE DOUBLE", "f TYPE DOUBLE", "d TYPE TIMESTAMP_NTZ", "c TYPE DECIMAL(10,4)", "st.x TYPE BIGINT",
           "a.element TYPE BIGINT", "m.key TYPE BIGINT", "m.value TYPE INT", "aa.element.y TYPE INT", "k TYPE DECIMAL(14,1)"]


def wide_rows(spark, table):
    return sorted(repr(row.asDict(recursive=True)) for row in spark.sql(f"SELECT * FROM {table}").collect())


def widen(url, folder, out):
    import harness
    spark = harness.SparkSession.builder.remote(url).create()
    shown = {}
    for name, clause, properties in (("widened", "", ""), ("widened_parts", "PARTITIONED BY (s)", ", 'delta.columnMapping.mode' = 'name'")):
        table = f"delta.`{folder}/{name}`"
        spark.sql(f"CREATE TABLE {table} ({WIDENED}) USING delta {clause} TBLPROPERTIES ('delta.feature.timestampNtz' = 'supported'{properties})")
        spark.sql(f"INSERT INTO {table} VALUES {NARROW}")
        for refused, condition in (("id TYPE BIGINT", "DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP"), ("v TYPE INT", "NOT_SUPPORTED_CHANGE_COLUMN")):
            try:
                spark.sql(f"ALTER TABLE {table} ALTER COLUMN {refused}")
                raise SystemExit(f"{refused} was not refused")
            except Exception as error:
                assert condition in str(error), error
        spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('delta.enableTypeWidening' = 'true')")
        for change in CHANGES:
            spark.sql(f"ALTER TABLE {table} ALTER COLUMN {change}")
        # 0.1 as the float that it was stored as: its statistics, read as those of doubles, must not hide it.
        assert spark.sql(f"SELECT * FROM {table} WHERE f > 0.1D").count() == 1
        assert spark.sql(f"SELECT * FROM {table} WHERE s = 2.0D AND d = TIMESTAMP_NTZ'2020-01-02 00:00:00'").count() == 1
        spark.sql(f"INSERT INTO {table} VALUES {WIDE}")
        found = spark.sql(f"SELECT id, s, st.x, a[0], map_keys(m)[0], map_values(m)[0], aa[0].y FROM {table} ORDER BY id").collect()
        assert [list(row) for row in found] == [[1, 2.0, 5, 6, 7, 8, 9], [3000000000, 0.5, 3000000000, 3000000000, 3000000001, 70000, 300]], found
        rows = wide_rows(spark, table)
        spark.sql(f"OPTIMIZE {table}")
        assert wide_rows(spark, table) == rows
        spark.sql(f"UPDATE {table} SET k = k + 0.5 WHERE id = 1")
        spark.sql(f"DELETE FROM {table} WHERE id = 77")
        shown[name] = wide_rows(spark, table)
    # Writes widen by themselves, within a family of types.
    spark.sql(f"CREATE TABLE delta.`{folder}/merged` (id INT, s SMALLINT) USING delta TBLPROPERTIES ('delta.enableTypeWidening' = 'true')")
    spark.sql(f"INSERT INTO delta.`{folder}/merged` VALUES (1, 1)")
    spark.sql("SELECT 3000000000 AS id, 2S AS s").write.format("delta").mode("append").option("mergeSchema", "true").save(f"{folder}/merged")
    merged = spark.read.format("delta").load(f"{folder}/merged")
    assert merged.schema.simpleString() == "struct<id:bigint,s:smallint>", merged.schema
    ruled = f"delta.`{folder}/ruled`"
    spark.sql(f"CREATE TABLE {ruled} (id INT, g INT GENERATED ALWAYS AS (id + 1), k INT) USING delta TBLPROPERTIES ('delta.enableTypeWidening' = 'true')")
    spark.sql(f"ALTER TABLE {ruled} ADD CONSTRAINT positive CHECK (k > 0)")
    for column, by_hand, by_write in (("id", "DELTA_GENERATED_COLUMNS_DEPENDENT_COLUMN_CHANGE", "DELTA_GENERATED_COLUMNS_DATA_TYPE_MISMATCH"),
                                      ("k", "DELTA_CONSTRAINT_DEPENDENT_COLUMN_CHANGE", "DELTA_CONSTRAINT_DATA_TYPE_MISMATCH")):
        for act, condition in ((lambda: spark.sql(f"ALTER TABLE {ruled} ALTER COLUMN {column} TYPE BIGINT"), by_hand),
                               (lambda: spark.sql(f"SELECT 3000000000 AS {column}").write.format("delta").mode("append")
                                .option("mergeSchema", "true").save(f"{folder}/ruled"), by_write)):
            try:
                act()
                raise SystemExit(f"{condition} did not come")
            except Exception as error:
                assert condition in str(error), error
    shown["merged"] = wide_rows(spark, f"delta.`{folder}/merged`")
    json.dump(shown, open(out, "w"))
    spark.stop()


def read_wide(url, folder, out):
    import harness
    spark = harness.SparkSession.builder.remote(url).create()
    json.dump({name: wide_rows(spark, f"delta.`{folder}/{name}`") for name in ("widened", "widened_parts", "merged")}, open(out, "w"))
    spark.stop()


def spark_widens(folder):
    spark = others.spark_session()
    found, after = {}, {}
    for name in ("widened", "widened_parts", "merged"):
        table = f"delta.`{folder}/{name}`"
        found[name] = wide_rows(spark, table)
        spark.sql(f"ALTER TABLE {table} ALTER COLUMN id TYPE DECIMAL(22,1)")
        spark.sql(f"INSERT INTO {table} (id) VALUES (12345678901234567890.5)")
        spark.sql(f"OPTIMIZE {table}")
        after[name] = wide_rows(spark, table)
    return [found, after]


def all_read(folder, expected):
    (folder / "expected.json").write_text(json.dumps(expected))
    shutil.rmtree(folder / "as_of", ignore_errors=True)
    expect("deltalake", ask("deltalake", "deltalake_reads", folder), expected)
    expect("Spark", ask("Spark", "spark_reads", folder), expected)
    # Its reader finds no partition values under column mapping, in Spark's tables neither, and takes no mapping beside writer features.
    unmapped = {key: rows for key, rows in expected.items() if "mapped@" not in key}
    (folder / "expected.json").write_text(json.dumps(unmapped))
    expect("DuckDB", ask("DuckDB", "duckdb_reads", folder), unmapped)


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

        rows, ids = client(track, "tracked.json")
        all_read(folder, rows)
        found, after = others.ask("Spark", __file__, "spark_tracks", folder)
        expect("Spark, of row ids", found, ids)
        expect("Thalweg, of row ids after Spark", client(read_ids, "ids.json"), after)
        shown = client(widen, "widened.json")
        found, after = others.ask("Spark", __file__, "spark_widens", folder)
        expect("Spark, of widened columns", found, shown)
        expect("Thalweg, of widened columns after Spark", client(read_wide, "wide.json"), after)
        server.end()
    return 0


if __name__ == "__main__":
    sys.exit(others.inside(globals()) if others.is_inside() else main(sys.argv[1]))
