"""What a session's programs see of names and sinks through the stock client: session_test.py THALWEG_PROGRAM

Answers are those of Spark 4.2.
"""
import os
import sys
import tempfile

from harness import Server, condition, failed_checks, in_child
from pyspark.sql import functions as F

PROGRAM = sys.argv[1]


def column_names(spark, folder):
    """Of a name in the DataFrame API only dots and backticks mean something."""
    sums = spark.createDataFrame([("b", 1), ("a", 2), ("b", 3)], "k STRING, v INT").groupBy("k").agg(F.sum("v"), F.count(F.lit(1)))
    assert [tuple(row) for row in sums.orderBy("sum(v)", "k").collect()] == [("a", 2, 1), ("b", 4, 2)]
    assert [row[0] for row in sums.orderBy(*sums.columns).select("count(1)").collect()] == [1, 2]
    assert sums.where(F.col("sum(v)") > 2).select(sums["count(1)"]).collect()[0][0] == 2
    odd = ["a b", "1", "a-b", "a:b", "a/b", "a$", "a@b", "x,y", "a+b", "%", "'q'", "select"]
    row = spark.range(1).select(*[F.lit(i).alias(name) for i, name in enumerate(odd)])
    for i, name in enumerate(odd):
        assert row.select(name).collect()[0][0] == i, name
        assert row.groupBy(name).count().collect()[0][0] == i, name
    dotted = spark.range(1).select(F.lit(7).alias("a.b"))
    assert dotted.select("`a.b`").collect()[0][0] == 7
    assert condition(lambda: dotted.select("a.b").collect()) == "UNRESOLVED_COLUMN.WITH_SUGGESTION"
    for name in ("a.", "a..b", "`a", "a`b`"):
        assert condition(lambda: row.select(name).collect()) == "INVALID_ATTRIBUTE_NAME_SYNTAX", name


def memory_sink_again(spark, folder):
    """Its rows are those of one run: only complete mode brings all of them again."""
    os.mkdir(f"{folder}/in")
    with open(f"{folder}/in/1.json", "w") as file:
        file.write('{"v": 1}\n{"v": 2}\n')
    rows = spark.readStream.schema("v INT").json(f"{folder}/in")

    def run(frame, mode, checkpoint):
        writer = frame.writeStream.format("memory").queryName(f"shown_{mode}").outputMode(mode)
        query = writer.option("checkpointLocation", f"{folder}/{checkpoint}").trigger(availableNow=True).start()
        query.awaitTermination()

    run(rows, "append", "appended")
    assert spark.table("shown_append").count() == 2
    assert condition(lambda: run(rows, "append", "appended")) == "_LEGACY_ERROR_TEMP_1299"
    counts = rows.groupBy("v").count()
    run(counts, "update", "updated")
    assert condition(lambda: run(counts, "update", "updated")) == "_LEGACY_ERROR_TEMP_1299"
    run(counts, "complete", "completed")
    with open(f"{folder}/in/2.json", "w") as file:
        file.write('{"v": 3}\n')
    run(counts, "complete", "completed")
    assert spark.table("shown_complete").count() == 3


def paths_for_names(spark, folder):
    """Statements about a table take its path, in quotes or after the format's name."""
    path = f"{folder}/table"
    spark.range(3).write.format("delta").option("delta.appendOnly", "false").save(path)
    for place in (f"'{path}'", f"delta.`{path}`"):
        assert spark.sql(f"DESCRIBE HISTORY {place}").count() == 1, place
        assert spark.sql(f"DESCRIBE DETAIL {place}").collect()[0].numFiles >= 1, place
    assert ("delta.appendOnly", "false") in [tuple(row) for row in spark.sql(f"SHOW TBLPROPERTIES delta.`{path}`").collect()]


def definitions_refused(spark, folder):
    """Tables that Delta makes none of, by the statement or by a later change."""
    sql = spark.sql
    feed = "TBLPROPERTIES (delta.enableChangeDataFeed = true)"
    for columns, wanted in (
            ("(a INT, b STRING) USING delta PARTITIONED BY (b) CLUSTER BY (a)", "_LEGACY_ERROR_TEMP_0035"),
            ("(a INT, b STRING) USING delta PARTITIONED BY (a, A)", "DELTA_DUPLICATE_COLUMNS_FOUND.PARTITION_COLUMNS"),
            ("(a INT, b STRING) USING delta CLUSTER BY (a, A)", "DELTA_DUPLICATE_COLUMNS_FOUND.CLUSTER_BY"),
            ("(a INT, c ARRAY<INT>) USING delta CLUSTER BY (c)", "DELTA_CLUSTERING_COLUMNS_DATATYPE_NOT_SUPPORTED"),
            ("(a INT, c BOOLEAN) USING delta CLUSTER BY (c)", "DELTA_CLUSTERING_COLUMNS_DATATYPE_NOT_SUPPORTED"),
            ("(a INT, c INTERVAL DAY) USING delta", "DELTA_UNSUPPORTED_DATA_TYPES"),
            ("(a INT, g DATE GENERATED ALWAYS AS (current_date())) USING delta", "DELTA_UNSUPPORTED_EXPRESSION_GENERATED_COLUMN"),
            ("(a INT, g DATE GENERATED ALWAYS AS (CAST(current_timestamp() AS DATE))) USING delta", "DELTA_UNSUPPORTED_EXPRESSION_GENERATED_COLUMN"),
            (f"(a INT, _change_type STRING) USING delta {feed}", "DELTA_TABLE_ALREADY_CONTAINS_CDC_COLUMNS"),
            (f"USING delta {feed} AS SELECT 1 a, 'x' _change_type", "DELTA_TABLE_ALREADY_CONTAINS_CDC_COLUMNS")):
        assert condition(lambda: sql(f"CREATE TABLE refused {columns}")) == wanted, columns
    sql("CREATE TABLE taken (a INT, _change_type STRING, c ARRAY<INT>) USING delta CLUSTER BY (a)")
    sql("INSERT INTO taken VALUES (1, 'x', array(1))")
    assert condition(lambda: sql("ALTER TABLE taken SET TBLPROPERTIES (delta.enableChangeDataFeed = true)")) == "DELTA_TABLE_ALREADY_CONTAINS_CDC_COLUMNS"
    assert condition(lambda: sql("ALTER TABLE taken CLUSTER BY (c)")) == "DELTA_CLUSTERING_COLUMNS_DATATYPE_NOT_SUPPORTED"
    assert condition(lambda: sql("ALTER TABLE taken ADD COLUMN i INTERVAL DAY")) == "DELTA_UNSUPPORTED_DATA_TYPES"
    sql(f"CREATE TABLE fed (a INT) USING delta {feed}")
    assert condition(lambda: sql("ALTER TABLE fed ADD COLUMN _commit_version BIGINT")) == "RESERVED_CDC_COLUMNS_ON_WRITE"
    merged = spark.sql("SELECT 1 a, 'x' _change_type").write.format("delta").mode("append").option("mergeSchema", "true")
    assert condition(lambda: merged.saveAsTable("fed")) == "RESERVED_CDC_COLUMNS_ON_WRITE"
    assert condition(lambda: spark.sql("SELECT 1 a, 2 b").write.format("delta").partitionBy("a", "a").save(f"{folder}/twice")) == (
        "DELTA_DUPLICATE_COLUMNS_FOUND.PARTITION_COLUMNS")


CHECKS = (column_names, memory_sink_again, paths_for_names, definitions_refused)

with tempfile.TemporaryDirectory(prefix="thalweg-session-") as directory:
    server = Server(PROGRAM, arguments=["--warehouse", f"{directory}/wh", "--allowed-root", directory])
    problems = in_child(failed_checks, server.url, directory, CHECKS)
    server.end()
    assert not problems, problems
