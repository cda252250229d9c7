"""A table in update mode among others: upsert_readers_test.py THALWEG_PROGRAM

A query keeps a row a group in a Delta table. Spark, deltalake and DuckDB read it, deletion vectors in the log and in files; Spark
deletes rows, adds rows of a group, optimizes and vacuums, and the query goes on. Skipped (77) unless PEERS_DIR has the three
(../shared/peers)."""
import json
import os
import pathlib
import sys
import tempfile

import others

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

COLUMNS = ("k", "n", "total")


def spark_reads(table):
    return others.spark_rows(others.spark_session(), table, COLUMNS)


def spark_reads_changes(table):
    return others.spark_rows(others.spark_session(), table, ("_change_type", *COLUMNS), readChangeFeed="true", startingVersion=0)


def spark_changes(table):
    spark = others.spark_session({"spark.databricks.delta.retentionDurationCheck.enabled": "false"})
    before = others.spark_rows(spark, table, COLUMNS)
    spark.sql(f"DELETE FROM delta.`{table}` WHERE k IN ('g1', 'g2')")
    spark.sql(f"INSERT INTO delta.`{table}` VALUES ('g3', -1, -1), ('gone', -1, -1), ('theirs', -1, -1)")
    spark.sql(f"OPTIMIZE delta.`{table}`")
    spark.sql(f"UPDATE delta.`{table}` SET total = -2 WHERE k = 'g4'")
    spark.sql(f"VACUUM delta.`{table}` RETAIN 0 HOURS")
    return before


def deltalake_reads(table):
    return others.deltalake_rows(table, COLUMNS)


def duckdb_reads(table):
    return others.duckdb_rows(table, COLUMNS)


def ask(engine, function, folder):
    return others.ask(engine, __file__, function, folder / "table")


def expect(who, found, expected):
    wrong = [row for row in found if row not in expected][:5], [row for row in expected if row not in found][:5]
    assert found == expected, f"{who} reads {len(found)} rows instead of {len(expected)}; too many {wrong[0]}, missing {wrong[1]}"
    print(f"{who} reads the {len(found)} rows", flush=True)


def main(program):
    if not others.are_here("Spark", "deltalake", "DuckDB"):
        return others.SKIPPED
    import harness
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
        assert '"storageType":"u"' in log, "the batches make no vectors"
        expected = sums(before)
        expect("deltalake", ask("deltalake", "deltalake_reads", folder), expected)
        expect("DuckDB", ask("DuckDB", "duckdb_reads", folder), expected)
        expect("Spark", ask("Spark", "spark_changes", folder), expected)

        client(after, len(before))
        expected = {row[0]: row for row in sums(before + after)}
        # Spark deleted two groups that changed again, and changed rows of the table: the next change of a group makes it right.
        expected["theirs"] = ["theirs", -1, -1]
        expected = sorted(expected.values(), key=repr)
        expect("DuckDB after Spark's changes", ask("DuckDB", "duckdb_reads", folder), expected)
        expect("deltalake after Spark's changes", ask("deltalake", "deltalake_reads", folder), expected)
        expect("Spark after its changes", ask("Spark", "spark_reads", folder), expected)

        feed = folder / "feed"
        feed.mkdir()
        client(before, 0, feed, change_feed=True)
        expect("Spark of the change feed", ask("Spark", "spark_reads_changes", feed), changes(before))
        server.end()
    return 0


if __name__ == "__main__":
    sys.exit(others.inside(globals()) if others.is_inside() else main(sys.argv[1]))
