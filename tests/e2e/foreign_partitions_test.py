"""Tables whose logs other writers left, through the stock client: foreign_partitions_test.py THALWEG_PROGRAM

Timestamps of partitions that say no zone (Delta before 2024 wrote such): the answers are those of Spark 4.2 with Delta 4.4 over the
same log, in sessions of Europe/Berlin. And a shallow clone as Spark leaves it, in whose log files of another table have whole addresses.
"""
import glob
import json
import os
import sys
import tempfile

from harness import Server, SparkSession, condition, in_child

PROGRAM = sys.argv[1]
TIMES = ["2024-01-01 10:00:00", "2024-01-01T09:00:00.000000Z", "2024-01-01T10:00:00.000000Z", "2024-07-01 10:00:00.5",
         "2024-01-01 10:00:00+03:00", "2024-03-31 02:30:00", "2024-10-27 02:30:00"]
NINE = "timestamp'2024-01-01T09:00:00Z'"
NINE_MICROS = 1704099600000000


def actions(path, version, action):
    with open(f"{path}/_delta_log/{version:020}.json") as lines:
        return [json.loads(line)[action] for line in lines if action in json.loads(line)]


def make_table(spark, path, files):
    """A log by hand over one file of one row; files: (path or None for a file of its own, partition values)."""
    spark.range(1).selectExpr("id x").coalesce(1).write.format("delta").save(path + ".source")
    source = glob.glob(path + ".source/*.parquet")[0]
    os.makedirs(path + "/_delta_log")
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in (("x", "long"), ("p", "timestamp"))]
    lines = [{"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
             {"metaData": {"id": "m", "format": {"provider": "parquet", "options": {}}, "partitionColumns": ["p"], "configuration": {},
                           "schemaString": json.dumps({"type": "struct", "fields": fields}), "createdTime": 1}}]
    for number, (address, time) in enumerate(files):
        if address is None:
            address = f"f{number}"
            with open(source, "rb") as rows, open(f"{path}/{address}", "wb") as copy:
                copy.write(rows.read())
        lines.append({"add": {"path": address.replace("{source}", source), "partitionValues": {"p": time}, "size": os.path.getsize(source),
                              "modificationTime": 1, "dataChange": True, "stats": '{"numRecords":1}'}})
    with open(f"{path}/_delta_log/{0:020}.json", "w") as log:
        log.writelines(json.dumps(line) + "\n" for line in lines)
    return source


def zones(spark, folder):
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    numbers = lambda text: sorted(row[0] for row in spark.sql(text).collect())  # noqa: E731
    removed = lambda path: sorted(remove["path"] for remove in actions(path, 1, "remove"))  # noqa: E731
    path = f"{folder}/read"
    make_table(spark, path, [(None, time) for time in TIMES])
    table = f"delta.`{path}`"
    assert numbers(f"SELECT unix_micros(p) FROM {table}") == [
        1704092400000000, NINE_MICROS, NINE_MICROS, 1704103200000000, 1711848600000000, 1719820800500000, 1729989000000000]
    for where in (f"p = {NINE}", f"p <=> {NINE}", "p = timestamp'2024-01-01 10:00:00'"):
        assert numbers(f"SELECT unix_micros(p) FROM {table} WHERE {where}") == [NINE_MICROS] * 2, where
    assert numbers(f"SELECT unix_micros(p) FROM {table} WHERE p < {NINE}") == [1704092400000000]
    assert spark.sql(f"DELETE FROM {table} WHERE p = {NINE}").collect()[0][0] == 2
    assert removed(path) == ["f0", "f1"]

    path = f"{folder}/update"
    make_table(spark, path, [(None, time) for time in TIMES])
    assert spark.sql(f"UPDATE delta.`{path}` SET x = 7 WHERE p = {NINE}").collect()[0][0] == 2
    assert removed(path) == ["f0", "f1"]
    assert {add["partitionValues"]["p"] for add in actions(path, 1, "add")} == {"2024-01-01T09:00:00.000000Z"}

    path = f"{folder}/overwrite"
    make_table(spark, path, [(None, time) for time in TIMES])
    rows = spark.sql(f"SELECT 5L x, {NINE} p")
    rows.write.format("delta").mode("overwrite").option("partitionOverwriteMode", "dynamic").save(path)
    assert removed(path) == ["f0", "f1"]
    path = f"{folder}/replace"
    make_table(spark, path, [(None, time) for time in TIMES])
    rows.write.format("delta").mode("overwrite").option("replaceWhere", f"p = {NINE}").save(path)
    assert removed(path) == ["f0", "f1"]
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert numbers(f"SELECT unix_micros(p) FROM delta.`{folder}/read` WHERE p = timestamp'2024-03-31T02:30:00Z'") == [1711852200000000]


def clones(spark, folder):
    path = f"{folder}/clone"
    source = make_table(spark, path, [("file://{source}", TIMES[1]), (None, TIMES[2])])
    count = lambda: spark.read.format("delta").load(path).count()  # noqa: E731
    assert count() == 2
    table = f"delta.`{path}`"
    assert spark.sql(f"UPDATE {table} SET x = 7 WHERE x = 0 AND p = {NINE}").collect()[0][0] == 1
    spark.sql(f"DELETE FROM {table} WHERE x = 7 AND p = {NINE}")
    assert count() == 1
    spark.sql(f"RESTORE {table} TO VERSION AS OF 0")
    assert count() == 2
    spark.sql(f"OPTIMIZE {table}")
    spark.sql(f"ALTER TABLE {table} ADD CONSTRAINT positive CHECK (x >= 0)")
    spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    spark.sql(f"VACUUM {table} RETAIN 0 HOURS")
    assert count() == 2 and os.path.exists(source), "another table's file stays"
    outside = f"{folder}/outside"
    make_table(spark, outside, [("file:///etc/passwd", TIMES[1])])
    for statement in (f"SELECT x FROM delta.`{outside}`", f"UPDATE delta.`{outside}` SET x = 1"):
        assert condition(lambda: spark.sql(statement).collect()) == "PATH_NOT_ALLOWED", statement


def all_of_them(url, folder):
    spark = SparkSession.builder.remote(url).create()
    zones(spark, folder)
    clones(spark, folder)


with tempfile.TemporaryDirectory(prefix="thalweg-foreign-") as directory:
    server = Server(PROGRAM, arguments=["--warehouse", f"{directory}/wh", "--allowed-root", directory])
    in_child(all_of_them, server.url, directory)
    server.end()
