"""A table in update mode among others: upsert_readers_test.py THALWEG_PROGRAM

A query keeps a row a group in a Delta table. Spark, deltalake and DuckDB read it, deletion vectors in the log and in files; Spark
deletes rows, adds rows of a group, optimizes and vacuums, and the query goes on. Skipped (77) unless PEERS_DIR has the three
(../shared/peers). Inside of the others' Pythons this program calls itself with INSIDE before its arguments."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SHARED = pathlib.Path(__file__).resolve().parents[3] / "shared"
SKIPPED = 77
GROUPS = 4000


# ---- the input: (group, value) rows a batch

def batches_before():
    yield [(f"g{i}", 1) for i in range(GROUPS)]
    yield [(f"g{i}", 10) for i in range(0, GROUPS, 3)]  # spread: a vector too large for the log
    yield [(f"g{i}", 100) for i in (0, 3, 6, 3999)]
    yield [(None, 7), ("", 8)]
    yield [(None, 70), ("new", 1)]


def batches_after():
    yield [(f"g{i}", 1000) for i in range(100)] + [("gone", 5)]
    yield [(f"g{i}", 2000) for i in (0, 50, 99, 3000)] + [(None, 700)]


def sums(batches):
    groups = {}
    for batch in batches:
        for group, value in batch:
            n, total = groups.get(group, (0, 0))
            groups[group] = (n + 1, total + value)
    return sorted(([group, *counts] for group, counts in groups.items()), key=repr)


def changes(batches):
    """What the change feed of a table says: (kind, group, n, total)."""
    found = []
    for i in range(len(batches)):
        before = {row[0]: row for row in sums(batches[:i])}
        now = {row[0]: row for row in sums(batches[:i + 1])}
        for group in {group for group, _ in batches[i]}:
            if group in before:
                found += [["update_preimage", *before[group]], ["update_postimage", *now[group]]]
            else:
                found.append(["insert", *now[group]])
    return sorted(found, key=repr)


def run_batches(url, folder, batches, first, change_feed=False):
    import harness
    F = harness.F
    spark = harness.SparkSession.builder.remote(url).create()
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    if change_feed:
        spark.sql(f"CREATE TABLE delta.`{folder}/table` (k STRING, n BIGINT, total BIGINT) USING delta TBLPROPERTIES "
                  "('delta.enableChangeDataFeed' = 'true', 'delta.enableDeletionVectors' = 'true')")
    for i, batch in enumerate(batches, first):
        hidden = folder / f"{i}.writing"
        hidden.write_text("".join(json.dumps({"k": group, "v": value}) + "\n" for group, value in batch))
        os.utime(hidden, (1_700_000_000 + i, 1_700_000_000 + i))
        (folder / "in").mkdir(exist_ok=True)
        hidden.rename(folder / "in" / f"{i}.json")
    events = spark.readStream.schema("k STRING, v LONG").option("maxFilesPerTrigger", 1).json(str(folder / "in"))
    query = (events.groupBy("k").agg(F.count("*").alias("n"), F.sum("v").alias("total")).writeStream.format("delta").outputMode("update")
             .option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True).start(str(folder / "table")))
    query.awaitTermination()
    spark.stop()


# ---- the others

def spark_session():
    sys.path.insert(0, str(SHARED / "peers"))
    from spark_env import session
    return session("local[2]", conf={"spark.databricks.delta.retentionDurationCheck.enabled": "false"})


def rows_of_spark(spark, table):
    return [[row.k, row.n, row.total] for row in spark.read.format("delta").load(table).collect()]


def spark_reads(table, out):
    json.dump(rows_of_spark(spark_session(), table), open(out, "w"))


def spark_reads_changes(table, out):
    feed = spark_session().read.format("delta").option("readChangeFeed", "true").option("startingVersion", 0).load(table)
    json.dump([[row._change_type, row.k, row.n, row.total] for row in feed.collect()], open(out, "w"))


def spark_changes(table, out):
    spark = spark_session()
    before = rows_of_spark(spark, table)
    spark.sql(f"DELETE FROM delta.`{table}` WHERE k IN ('g1', 'g2')")
    spark.sql(f"INSERT INTO delta.`{table}` VALUES ('g3', -1, -1), ('gone', -1, -1), ('theirs', -1, -1)")
    spark.sql(f"OPTIMIZE delta.`{table}`")
    spark.sql(f"UPDATE delta.`{table}` SET total = -2 WHERE k = 'g4'")
    spark.sql(f"VACUUM delta.`{table}` RETAIN 0 HOURS")
    json.dump(before, open(out, "w"))


def deltalake_reads(table, out):
    import deltalake
    columns = deltalake.QueryBuilder().register("t", deltalake.DeltaTable(table)).execute("SELECT k, n, total FROM t").read_all()
    rows = [list(row) for row in zip(*(columns.column(name).to_pylist() for name in ("k", "n", "total")))]
    json.dump(rows, open(out, "w"))


def duckdb_reads(table, out):
    import duckdb
    import duckdb_ext
    connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    extension = next(pathlib.Path(duckdb_ext.__file__).parent.glob("extensions/*/*/delta.duckdb_extension"))
    connection.execute(f"LOAD '{extension}'")
    rows = connection.execute(f"SELECT k, n, total FROM delta_scan('{table}')").fetchall()
    json.dump([list(row) for row in rows], open(out, "w"))


def ask(folder, what, *python):
    out = folder / f"{what}.json"
    subprocess.run([*python, __file__, "INSIDE", what, str(folder / "table"), str(out)], check=True)
    return sorted(json.loads(out.read_text()), key=repr)


def expect(who, found, expected):
    wrong = [row for row in found if row not in expected][:5], [row for row in expected if row not in found][:5]
    assert found == expected, f"{who} reads {len(found)} rows instead of {len(expected)}; too many {wrong[0]}, missing {wrong[1]}"
    print(f"{who} reads the {len(found)} rows", flush=True)


def main(program):
    peers = os.environ.get("PEERS_DIR")
    if not peers or not shutil.which("java") or not all(pathlib.Path(peers, venv).exists() for venv in ("v-spark42", "v-py", "v-duckdb")):
        print("skipped: no Spark, deltalake and DuckDB in PEERS_DIR, or no Java")
        return SKIPPED
    import harness
    spark = (SHARED / "peers" / "spark_env.sh", "python")
    with tempfile.TemporaryDirectory(prefix="thalweg-upsert-") as scratch:
        folder = pathlib.Path(scratch)
        server = harness.Server(program)
        before, after = list(batches_before()), list(batches_after())

        def client(batches, first, folder=folder, change_feed=False):
            process = harness.FORK.Process(target=run_batches, args=(server.url, folder, batches, first, change_feed), daemon=True)
            process.start()
            process.join(120)
            assert process.exitcode == 0, f"the query ended with {process.exitcode}"

        client(before, 0)
        log = "".join(path.read_text() for path in sorted((folder / "table" / "_delta_log").glob("*.json")))
        assert '"storageType":"i"' in log and '"storageType":"u"' in log, "the batches do not make both kinds of vectors"
        expected = sums(before)
        expect("deltalake", ask(folder, "deltalake_reads", f"{peers}/v-py/bin/python"), expected)
        expect("DuckDB", ask(folder, "duckdb_reads", f"{peers}/v-duckdb/bin/python"), expected)
        expect("Spark", ask(folder, "spark_changes", *spark), expected)

        client(after, len(before))
        expected = {row[0]: row for row in sums(before + after)}
        # Spark deleted two groups that changed again, and changed rows of the table: the next change of a group makes it right.
        expected["theirs"] = ["theirs", -1, -1]
        expected = sorted(expected.values(), key=repr)
        expect("DuckDB after Spark's changes", ask(folder, "duckdb_reads", f"{peers}/v-duckdb/bin/python"), expected)
        expect("deltalake after Spark's changes", ask(folder, "deltalake_reads", f"{peers}/v-py/bin/python"), expected)
        expect("Spark after its changes", ask(folder, "spark_reads", *spark), expected)

        feed = folder / "feed"
        feed.mkdir()
        client(before, 0, feed, change_feed=True)
        expect("Spark of the change feed", ask(feed, "spark_reads_changes", *spark), changes(before))
        server.end()
    return 0


if __name__ == "__main__":
    if sys.argv[1] == "INSIDE":
        globals()[sys.argv[2]](*sys.argv[3:5])
        sys.exit(0)
    sys.exit(main(sys.argv[1]))
