"""Tables that are changed by every kind of statement among others: changes_readers_test.py THALWEG_PROGRAM

DELETE, UPDATE, INSERT in its forms and ALTER TABLE, on tables without and with deletion vectors, partitions, column mapping, a
change feed, constraints, generated and identity columns. Spark, deltalake and DuckDB read each version; what they must find is
worked out here by hand. Then Spark changes the tables, and we read on. Skipped (77) unless PEERS_DIR has the three (../shared/peers)."""
import json
import pathlib
import shutil
import sys
import tempfile

import others


# ---- statements, and what each makes of the rows {id: (v, p)}

def insert(first, last):
    values = ", ".join(f"({i}, 'v{i}', 'p{i % 3}')" for i in range(first, last))
    return f"INSERT INTO {{t}} (id, v, p) VALUES {values}", lambda rows: {**rows, **{i: (f"v{i}", f"p{i % 3}") for i in range(first, last)}}


def delete(condition, goes):
    return f"DELETE FROM {{t}} WHERE {condition}", lambda rows: {i: row for i, row in rows.items() if not goes(i, *row)}


def update(assignments, condition, changes, to):
    return (f"UPDATE {{t}} SET {assignments} WHERE {condition}",
            lambda rows: {i: to(i, *row) if changes(i, *row) else row for i, row in rows.items()})


def same(statement):
    return statement, lambda rows: rows


STEPS = [
    insert(0, 60),
    insert(60, 80),
    delete("id % 7 = 3", lambda i, v, p: i % 7 == 3),
    delete("id IN (1, 2) OR v = 'v65'", lambda i, v, p: i in (1, 2) or v == "v65"),
    update("v = upper(v)", "id BETWEEN 10 AND 19", lambda i, v, p: 10 <= i <= 19, lambda i, v, p: (v.upper(), p)),
    update("p = 'p9', v = concat(v, '!')", "id >= 75", lambda i, v, p: i >= 75, lambda i, v, p: (v + "!", "p9")),
    delete("p = 'p1'", lambda i, v, p: p == "p1"),
    insert(100, 110),
    ("INSERT INTO {t} (id, v, p) REPLACE WHERE p = 'p9' VALUES (200, 'new', 'p9')",
     lambda rows: {**{i: row for i, row in rows.items() if row[1] != "p9"}, 200: ("new", "p9")}),
    ("INSERT INTO {t} (id, v, p) REPLACE WHERE id > 105 VALUES (300, 'x', 'p0'), (301, null, 'p2')",
     lambda rows: {**{i: row for i, row in rows.items() if i <= 105}, 300: ("x", "p0"), 301: (None, "p2")}),
    update("v = 'none'", "v IS NULL", lambda i, v, p: v is None, lambda i, v, p: ("none", p)),
    delete("id > 10000", lambda i, v, p: False),
]

TABLES = {
    "plain": ("id INT, v STRING, p STRING", "", {}),
    "vectors": ("id INT, v STRING, p STRING", "", {"delta.enableDeletionVectors": "true"}),
    "partitions": ("id INT, v STRING, p STRING", "PARTITIONED BY (p)", {"delta.enableDeletionVectors": "true"}),
    "feed": ("id INT, v STRING, p STRING", "PARTITIONED BY (p)", {"delta.enableChangeDataFeed": "true"}),
    "mapped": ("id INT, v STRING, p STRING", "PARTITIONED BY (p)",
               {"delta.columnMapping.mode": "name", "delta.enableDeletionVectors": "true", "delta.enableInCommitTimestamps": "true"}),
    "rules": ("id INT NOT NULL, v STRING, p STRING DEFAULT 'p5', g INT GENERATED ALWAYS AS (id * 2), "
              "n BIGINT GENERATED ALWAYS AS IDENTITY (START WITH 5 INCREMENT BY 5)", "CLUSTER BY (id)",
              {"delta.feature.allowColumnDefaults": "supported"}),
}


def run_statements(url, folder, out):
    """Our answers and the expected rows of each version, per table."""
    import harness
    spark = harness.SparkSession.builder.remote(url).create()
    expected = {}
    for name, (columns, clause, properties) in TABLES.items():
        table = f"delta.`{folder}/{name}`"
        said = ", ".join(f"'{key}' = '{value}'" for key, value in properties.items())
        spark.sql(f"CREATE TABLE {table} ({columns}) USING delta {clause}" + (f" TBLPROPERTIES ({said})" if said else ""))
        if name == "rules":
            spark.sql(f"ALTER TABLE {table} ADD CONSTRAINT small CHECK (id < 1000)")
        rows = {}
        version = spark.sql(f"DESCRIBE HISTORY {table} LIMIT 1").collect()[0].version
        for statement, change in STEPS:
            spark.sql(statement.format(t=table))
            rows = change(rows)
            ours = sorted(([row.id, row.v, row.p] for row in spark.read.format("delta").load(f"{folder}/{name}").collect()), key=repr)
            wanted = sorted(([i, *row] for i, row in rows.items()), key=repr)
            assert ours == wanted, f"we read {name} wrongly after {statement}: {[r for r in ours if r not in wanted][:3]} {[r for r in wanted if r not in ours][:3]}"
            newest = spark.sql(f"DESCRIBE HISTORY {table} LIMIT 1").collect()[0].version
            assert newest == version + ("10000" not in statement), f"{statement} made version {newest} after {version}"
            version = newest
            expected[f"{name}@{version}"] = wanted
    json.dump(expected, open(out, "w"))
    rules = spark.sql(f"SELECT id, g, n FROM delta.`{folder}/rules`").collect()
    assert all(row.g == 2 * row.id for row in rules)
    assert len({row.n for row in rules}) == len(rules) and all(row.n % 5 == 0 for row in rules)
    for statement, condition in (
            ("INSERT INTO {t} (id) VALUES (1000)", "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES"),
            ("UPDATE {t} SET id = 5000 WHERE id = 300", "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES"),
            ("UPDATE {t} SET id = NULL", "DELTA_NOT_NULL_CONSTRAINT_VIOLATED"),
            ("INSERT INTO {t} (id, n) VALUES (1, 1)", "DELTA_IDENTITY_COLUMNS_EXPLICIT_INSERT_NOT_SUPPORTED"),
            ("INSERT INTO {t} (id, g) VALUES (1, 3)", "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES")):
        try:
            spark.sql(statement.format(t=f"delta.`{folder}/rules`"))
            raise SystemExit(f"{statement} was not refused")
        except Exception as error:
            assert condition in str(error), error
    spark.stop()


def read_after_spark(url, folder, out):
    import harness
    spark = harness.SparkSession.builder.remote(url).create()
    json.dump({name: sorted(([row.id, row.v, row.p] for row in spark.read.format("delta").load(f"{folder}/{name}").collect()), key=repr)
               for name in TABLES}, open(out, "w"))
    spark.stop()


# ---- the others

COLUMNS = ("id", "v", "p")


def versions_of(folder):
    """(key, table, version) of each version that is to be read."""
    for key in json.loads(pathlib.Path(folder, "expected.json").read_text()):
        name, version = key.split("@")
        yield key, name, int(version)


def spark_reads(folder):
    spark = others.spark_session()
    return {key: others.spark_rows(spark, f"{folder}/{name}", COLUMNS, versionAsOf=version) for key, name, version in versions_of(folder)}


def spark_reads_changes(folder):
    return others.spark_rows(others.spark_session(), f"{folder}/feed", ("_commit_version", "_change_type", *COLUMNS),
                             readChangeFeed="true", startingVersion=0)


def spark_changes(folder):
    spark = others.spark_session()
    for name in TABLES:
        table = f"delta.`{folder}/{name}`"
        spark.sql(f"INSERT INTO {table} (id, v, p) VALUES (400, 'spark', 'p0')")
        spark.sql(f"DELETE FROM {table} WHERE id < 20")
        spark.sql(f"UPDATE {table} SET v = 'theirs' WHERE id = 300")
    return {name: others.spark_rows(spark, f"{folder}/{name}", COLUMNS) for name in TABLES}


def deltalake_reads(folder):
    return {key: others.deltalake_rows(f"{folder}/{name}", COLUMNS, version) for key, name, version in versions_of(folder)}


def as_of(folder, name, version):
    """The table as if the later versions were never committed: DuckDB does not travel in time."""
    table, copy = pathlib.Path(folder, name), pathlib.Path(folder, "as_of", f"{name}-{version}")
    (copy / "_delta_log").mkdir(parents=True)
    for entry in table.iterdir():
        if entry.name != "_delta_log":
            (copy / entry.name).symlink_to(entry)
    for file in (table / "_delta_log").iterdir():
        if file.name[:20].isdigit() and int(file.name[:20]) <= version:
            shutil.copy(file, copy / "_delta_log")
    return copy


def duckdb_reads(folder):
    return {key: others.duckdb_rows(as_of(folder, name, version), COLUMNS) for key, name, version in versions_of(folder)}


def ask(engine, function, folder):
    return others.ask(engine, __file__, function, folder)


def expect(who, found, expected):
    for key in expected:
        got, wanted = found[key], expected[key]
        wrong = [row for row in got if row not in wanted][:3], [row for row in wanted if row not in got][:3]
        assert got == wanted, f"{who} reads {len(got)} rows of {key} instead of {len(wanted)}; too many {wrong[0]}, missing {wrong[1]}"
    print(f"{who} reads {len(expected)} versions", flush=True)


def check_feed(found, expected):
    """The changes of each version make its rows of those of the version before."""
    rows = {}
    for key in sorted((key for key in expected if key.startswith("feed@")), key=lambda key: int(key.split("@")[1])):
        version = int(key.split("@")[1])
        for _, kind, i, v, p in sorted((row for row in found if row[0] == version), key=lambda row: row[1]):
            if kind in ("delete", "update_preimage"):
                assert rows.pop(i) == [i, v, p], (version, kind, i)
        for _, kind, i, v, p in (row for row in found if row[0] == version):
            if kind in ("insert", "update_postimage"):
                assert i not in rows, (version, kind, i)
                rows[i] = [i, v, p]
        assert sorted(rows.values(), key=repr) == expected[key], key
    print("Spark reads the change feed", flush=True)


def main(program):
    if not others.are_here("Spark", "deltalake", "DuckDB"):
        return others.SKIPPED
    import harness
    with tempfile.TemporaryDirectory(prefix="thalweg-changes-") as scratch:
        folder = pathlib.Path(scratch)
        server = harness.Server(program)

        def client(work, out):
            process = harness.FORK.Process(target=work, args=(server.url, folder, folder / out), daemon=True)
            process.start()
            process.join(240)
            assert process.exitcode == 0, f"the client ended with {process.exitcode}"
            return json.loads((folder / out).read_text())

        expected = client(run_statements, "expected.json")
        expect("deltalake", ask("deltalake", "deltalake_reads", folder), expected)
        # Its reader finds no partition values under column mapping, in Spark's tables neither.
        unmapped = {key: rows for key, rows in expected.items() if not key.startswith("mapped@")}
        expect("DuckDB", ask("DuckDB", "duckdb_reads", folder), unmapped)
        expect("Spark", ask("Spark", "spark_reads", folder), expected)
        check_feed(ask("Spark", "spark_reads_changes", folder), expected)
        theirs = ask("Spark", "spark_changes", folder)
        expect("Thalweg after Spark's changes", client(read_after_spark, "ours.json"), theirs)
        server.end()
    return 0


if __name__ == "__main__":
    sys.exit(others.inside(globals()) if others.is_inside() else main(sys.argv[1]))
