"""What the writers' calls say, through the stock client: writer_calls_test.py THALWEG_PROGRAM

Answers are those of Spark 4.2 with Delta 4.4, asked for each rule here, but for clusterBy(), which they refuse for Delta tables
(docs/compatibility.md).
"""
import glob
import json
import os
import sys
import tempfile

from harness import Server, condition, failed_checks, in_child
import pyarrow.parquet
from pyspark.sql import functions as F

PROGRAM = sys.argv[1]


def last_commit(path):
    with open(sorted(glob.glob(path + "/_delta_log/*.json"))[-1]) as lines:
        return next(json.loads(line)["commitInfo"] for line in lines if "commitInfo" in json.loads(line))


class Tables:
    """Tables id INT, p STRING with (1, a), (2, b), (3, c)."""

    def __init__(self, spark, folder):
        self.spark, self.folder = spark, folder

    def make(self, name, more="PARTITIONED BY (p)"):
        self.spark.sql(f"CREATE TABLE {name} (id INT, p STRING) USING delta {more} LOCATION '{self.folder}/{name}'")
        self.spark.sql(f"INSERT INTO {name} VALUES (1, 'a'), (2, 'b'), (3, 'c')")
        return f"{self.folder}/{name}"

    def rows(self, name):
        return sorted(tuple(row) for row in self.spark.table(name).collect())


def joins_of_padded_columns(spark, folder):
    sql = spark.sql
    sql("CREATE TABLE ca (k CHAR(3), a INT) USING delta")
    sql("INSERT INTO ca VALUES ('x', 1), ('y', 2)")
    sql("CREATE TABLE cb (k CHAR(5), b INT) USING delta")
    sql("INSERT INTO cb VALUES ('x', 10), ('z', 30)")
    expected = {"inner": [("x  ", 1, 10)], "left": [("x  ", 1, 10), ("y  ", 2, None)],
                "right": [("x    ", 1, 10), ("z    ", None, 30)],
                "full": [("x  ", 1, 10), ("y  ", 2, None), ("z    ", None, 30)],
                "left semi": [("x  ", 1)], "left anti": [("y  ", 2)]}
    rows = lambda frame: sorted(tuple(row) for row in frame.collect())  # noqa: E731
    for join, answer in expected.items():
        assert rows(sql(f"SELECT * FROM ca {join} JOIN cb USING (k)")) == answer, join
        assert rows(spark.table("ca").join(spark.table("cb"), "k", join.replace(" ", "_"))) == answer, join
        if join in ("inner", "left", "right", "full"):
            assert rows(sql(f"SELECT * FROM ca NATURAL {join} JOIN cb")) == answer, join
    sql("CREATE TABLE cv (k STRING, c INT) USING delta")
    sql("INSERT INTO cv VALUES ('x', 10), ('x  ', 30)")
    assert rows(sql("SELECT * FROM ca JOIN cv USING (k)")) == [("x  ", 1, 30)], "a text is not padded"


def overwrites_by_condition(spark, folder):
    tables = Tables(spark, folder)
    path = tables.make("o1")
    row = spark.createDataFrame([(9, "b")], "id INT, p STRING")
    said = lambda: last_commit(path)["operationParameters"]  # noqa: E731
    row.writeTo("o1").overwrite(F.col("p") == "b")
    assert tables.rows("o1") == [(1, "a"), (3, "c"), (9, "b")]
    assert said() == {"mode": "Overwrite", "partitionBy": "[]", "predicate": "(p = 'b')"}, said()
    for when, text in (((F.col("p") == F.lit("b")) & (F.col("id") > F.lit(2)), "((p = 'b') AND (id > 2))"),
                       ((F.col("p") == "b") | F.col("p").isNull() | ~(F.col("id") <= 8), "(((p = 'b') OR (p IS NULL)) OR (id > 8))")):
        row.writeTo("o1").overwrite(when)
        assert said()["predicate"] == text, said()
        assert tables.rows("o1") == [(1, "a"), (3, "c"), (9, "b")], text
    refusals = ((F.col("p") == "a", "DELTA_REPLACE_WHERE_MISMATCH"), (F.col("nope") == "a", "UNRESOLVED_COLUMN.WITH_SUGGESTION"),
                (F.upper("p") == "B", "_LEGACY_ERROR_TEMP_2245"), (F.col("id"), "_LEGACY_ERROR_TEMP_1109"),
                (F.rand() > 0.5, "INVALID_NON_DETERMINISTIC_EXPRESSIONS"))
    for when, expected in refusals:
        assert condition(lambda: row.writeTo("o1").overwrite(when)) == expected, expected
    assert condition(lambda: row.writeTo("o1").option("replaceWhere", "p = 'b'").overwrite(F.col("p") == "c")) == "DELTA_REPLACE_WHERE_IN_OVERWRITE"
    row.writeTo("o1").option("replaceWhere", "p='b'").overwrite(F.lit(True))
    assert said()["predicate"] == "p='b'" and tables.rows("o1") == [(1, "a"), (3, "c"), (9, "b")]
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    row.writeTo("o1").overwrite(F.col("p") == "b")
    row.writeTo("o1").overwrite(F.lit(True))
    assert tables.rows("o1") == [(1, "a"), (3, "c"), (9, "b")], "of the partitions that rows come for"
    spark.conf.unset("spark.sql.sources.partitionOverwriteMode")
    row.writeTo("o1").overwrite(F.lit(True))
    assert tables.rows("o1") == [(9, "b")] and "predicate" not in said()
    row.writeTo("o1").overwrite(F.lit(False))
    assert tables.rows("o1") == [(9, "b"), (9, "b")]
    path = tables.make("o3", more="")
    spark.createDataFrame([(2, "z")], "id BIGINT, p STRING").writeTo("o3").overwrite(F.col("id") == 2)
    assert tables.rows("o3") == [(1, "a"), (2, "z"), (3, "c")] and said()["predicate"] == "(id = 2)"


def rows_of_a_table_that_is_replaced(spark, folder):
    tables = Tables(spark, folder)
    tables.make("rr")
    row = spark.createDataFrame([(9, "b")], "id INT, p STRING")
    named = lambda text: row.writeTo("rr").using("delta").partitionedBy("p").option("replaceWhere", text)  # noqa: E731
    named("p='b'").createOrReplace()
    assert tables.rows("rr") == [(1, "a"), (3, "c"), (9, "b")], "other rows stay"
    assert condition(named("p='a'").createOrReplace) == "DELTA_REPLACE_WHERE_MISMATCH"
    named("p='b'").replace()
    assert tables.rows("rr") == [(1, "a"), (3, "c"), (9, "b")]
    row.writeTo("rr2").using("delta").option("replaceWhere", "p='b'").create()
    row.writeTo("rr").using("delta").partitionedBy("p").option("partitionOverwriteMode", "dynamic").createOrReplace()
    assert tables.rows("rr") == [(9, "b")]
    spark.sql("CREATE OR REPLACE TABLE rr USING delta TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true') AS SELECT 1 AS id")
    spark.sql("CREATE OR REPLACE TABLE rr USING delta TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true') AS SELECT 2 AS id")
    changes = spark.sql("SELECT id, _change_type FROM table_changes('rr', 6) ORDER BY 1").collect()
    assert [tuple(change) for change in changes] == [(1, "delete"), (2, "insert")], changes


def overwrites_of_partitions(spark, folder):
    tables = Tables(spark, folder)
    path = tables.make("op")
    row = spark.createDataFrame([(9, "b")], "id INT, p STRING")
    row.writeTo("op").overwritePartitions()
    assert tables.rows("op") == [(1, "a"), (3, "c"), (9, "b")]
    assert last_commit(path)["operationParameters"] == {"mode": "Overwrite", "partitionBy": "[]", "isDynamicPartitionOverwrite": True}
    spark.createDataFrame([(8, "b")], "id INT, p STRING").writeTo(f"delta.`{path}`").overwritePartitions()
    assert tables.rows("op") == [(1, "a"), (3, "c"), (8, "b")]
    both = row.writeTo("op").option("replaceWhere", "p='b'")
    assert condition(both.overwritePartitions) == "DELTA_REPLACE_WHERE_WITH_DYNAMIC_PARTITION_OVERWRITE"
    tables.make("whole", more="")
    row.writeTo("whole").overwritePartitions()
    assert tables.rows("whole") == [(9, "b")], "a table without partitions is one"
    spark.sql("CREATE VIEW seen AS SELECT 1 id, 'a' p")
    row.createOrReplaceTempView("passing")
    for call in ("append", "overwritePartitions"):
        assert condition(getattr(row.writeTo("nowhere"), call)) == "TABLE_OR_VIEW_NOT_FOUND"
        for view in ("seen", "passing"):
            assert condition(getattr(row.writeTo(view), call)) == "VIEW_WRITE_NOT_ALLOWED", (view, call)


def clustered(spark, folder):
    row = spark.createDataFrame([(9, "b", (1, 2))], "id INT, p STRING, s STRUCT<x: INT, y: INT>")
    columns = lambda table: spark.sql(f"DESCRIBE DETAIL {table}").first().clusteringColumns  # noqa: E731
    row.writeTo("k1").using("delta").clusterBy("p", "id").create()
    assert columns("k1") == ["p", "id"]
    row.writeTo("k1").using("delta").clusterBy("s.x").createOrReplace()
    assert columns("k1") == ["s.x"]
    row.writeTo("k1").using("delta").clusterBy("id").replace()
    assert columns("k1") == ["id"]
    row.writeTo("k1").clusterBy("ID").append()
    assert condition(row.writeTo("k1").clusterBy("p").append) == "DELTA_CLUSTERING_COLUMNS_MISMATCH"
    row.write.format("delta").clusterBy("id").saveAsTable("k2")
    assert columns("k2") == ["id"]
    row.write.format("delta").clusterBy("id").mode("append").saveAsTable("k2")
    assert condition(lambda: row.write.format("delta").clusterBy("p").mode("append").saveAsTable("k2")) == "DELTA_CLUSTERING_COLUMNS_MISMATCH"
    row.write.format("delta").clusterBy("p").option("overwriteSchema", "true").mode("overwrite").saveAsTable("k2")
    assert columns("k2") == ["p"]
    row.write.format("delta").clusterBy("p").save(f"{folder}/k3")
    assert columns(f"delta.`{folder}/k3`") == ["p"]
    both = row.writeTo("k4").using("delta").partitionedBy("p").clusterBy("id")
    assert condition(both.create) == "SPECIFY_CLUSTER_BY_WITH_PARTITIONED_BY_IS_NOT_ALLOWED"
    twice = lambda writer: writer.partitionBy("p").clusterBy("id")  # noqa: E731
    changes = spark.readStream.format("delta").load(f"{folder}/k3")
    for write in (lambda: twice(row.write.format("delta")).save(f"{folder}/k6"),
                  lambda: twice(row.write.format("parquet")).save(f"{folder}/k6"),
                  lambda: twice(row.write.format("delta")).saveAsTable("k6"),
                  lambda: twice(changes.writeStream.format("delta")).option("checkpointLocation", f"{folder}/k6-checkpoint").start(f"{folder}/k6"),
                  lambda: twice(changes.writeStream.format("delta")).option("checkpointLocation", f"{folder}/k6-checkpoint").toTable("k6"),
                  lambda: twice(changes.writeStream.format("parquet")).option("checkpointLocation", f"{folder}/k6-checkpoint").start(f"{folder}/k6")):
        assert condition(write) == "SPECIFY_CLUSTER_BY_WITH_PARTITIONED_BY_IS_NOT_ALLOWED"
    assert not os.path.exists(f"{folder}/k6") and not spark.catalog.tableExists("k6")
    stream = spark.readStream.format("delta").load(f"{folder}/k3").writeStream.format("delta").clusterBy("p")
    stream.option("checkpointLocation", f"{folder}/k5-checkpoint").trigger(availableNow=True).start(f"{folder}/k5").awaitTermination()
    assert columns(f"delta.`{folder}/k5`") == ["p"]


def evolution_widens(spark, folder):
    sql = spark.sql
    schema = lambda table: spark.table(table).schema.simpleString()  # noqa: E731
    make = lambda table, columns: sql(f"CREATE TABLE {table} ({columns}) USING delta TBLPROPERTIES ('delta.enableTypeWidening' = 'true')")  # noqa: E731
    make("w1", "id INT, s STRING")
    sql("INSERT WITH SCHEMA EVOLUTION INTO w1 SELECT 5000000000L id, 'b' s")
    assert schema("w1") == "struct<id:bigint,s:string>"
    make("w6", "id INT, s STRING")
    sql("INSERT WITH SCHEMA EVOLUTION INTO w6 BY NAME SELECT 5000000000L id, 'b' s, 1.5D x")
    assert schema("w6") == "struct<id:bigint,s:string,x:double>"
    sql("INSERT WITH SCHEMA EVOLUTION INTO w6 SELECT 5000000000L id, 'b' s, 1.5D x, 7 AS y")
    assert schema("w6") == "struct<id:bigint,s:string,x:double,y:int>"
    sql("INSERT WITH SCHEMA EVOLUTION INTO w6 (s, id) SELECT 'b', 3")
    assert condition(lambda: sql("INSERT WITH SCHEMA EVOLUTION INTO w6 (s, id, zz) SELECT 'b', 3, 4")) == "UNRESOLVED_COLUMN.WITH_SUGGESTION"
    make("w2", "id INT, s STRING")
    wide = sql("SELECT 5000000000L id, 'b' s")
    assert condition(wide.writeTo("w2").append) == "CAST_OVERFLOW_IN_TABLE_INSERT"
    assert condition(lambda: wide.write.option("mergeSchema", "true").insertInto("w2")) == "CAST_OVERFLOW_IN_TABLE_INSERT"
    wide.writeTo("w2").option("mergeSchema", "true").append()
    assert schema("w2") == "struct<id:bigint,s:string>"
    make("w3", "id INT, st STRUCT<x: INT>, a ARRAY<INT>, d DECIMAL(5,2), f FLOAT, sh SMALLINT, dt DATE")
    sql("INSERT WITH SCHEMA EVOLUTION INTO w3 SELECT 1 id, named_struct('x', 5000000000L) st, array(5000000000L) a, "
        "CAST(1 AS DECIMAL(20,4)) d, 1D f, 1 sh, DATE'2020-01-01' dt")
    assert schema("w3") == "struct<id:int,st:struct<x:bigint>,a:array<bigint>,d:decimal(20,4),f:double,sh:int,dt:date>"
    sql("CREATE TABLE w4 (id INT, s STRING) USING delta")
    sql("INSERT WITH SCHEMA EVOLUTION INTO w4 SELECT 5L id, 'b' s")
    assert schema("w4") == "struct<id:int,s:string>", "without type widening"
    assert condition(lambda: sql("INSERT WITH SCHEMA EVOLUTION INTO w4 SELECT 5000000000L id, 'b' s")) == "CAST_OVERFLOW_IN_TABLE_INSERT"
    make("w5", "id INT, s STRING")
    spark.conf.set("spark.databricks.delta.schema.autoMerge.enabled", "true")
    sql("INSERT INTO w5 SELECT 5000000000L id, 'b' s")
    spark.conf.unset("spark.databricks.delta.schema.autoMerge.enabled")
    assert schema("w5") == "struct<id:bigint,s:string>"


def a_condition_that_is_false_replaces_nothing(spark, folder):
    tables = Tables(spark, folder)
    tables.make("rf")
    row = spark.createDataFrame([(9, "b")], "id INT, p STRING")
    row.write.format("delta").mode("overwrite").option("replaceWhere", "false").saveAsTable("rf")
    spark.sql("INSERT INTO rf REPLACE WHERE false VALUES (10, 'b')")
    row.writeTo("rf").overwrite(F.lit(False))
    assert [id for id, _ in tables.rows("rf")] == [1, 2, 3, 9, 9, 10], tables.rows("rf")
    spark.sql("INSERT INTO rf REPLACE WHERE true VALUES (11, 'b')")
    assert tables.rows("rf") == [(11, "b")]


def names_that_readers_need_stay(spark, folder):
    sql = spark.sql
    sql("CREATE TABLE ids (a INT, b INT) USING delta TBLPROPERTIES ('delta.enableRowTracking' = 'true')")
    sql("INSERT INTO ids VALUES (1, 2), (3, 4)")
    sql("UPDATE ids SET b = 5 WHERE a = 1")
    ids = lambda: sorted(tuple(row) for row in sql("SELECT a, _metadata.row_id FROM ids").collect())  # noqa: E731
    before = ids()
    names = "'delta.rowTracking.materializedRowIdColumnName', 'delta.rowTracking.materializedRowCommitVersionColumnName'"
    sql(f"ALTER TABLE ids UNSET TBLPROPERTIES ({names})")
    assert ids() == before
    sql("UPDATE ids SET b = 6 WHERE a = 3")
    assert ids() == before
    times = lambda: [row.value for row in sql("SHOW TBLPROPERTIES times").collect() if "Enablement" in row.key]  # noqa: E731
    sql("CREATE TABLE times (a INT) USING delta")
    sql("ALTER TABLE times SET TBLPROPERTIES ('delta.enableInCommitTimestamps' = 'true')")
    since = times()
    sql("ALTER TABLE times UNSET TBLPROPERTIES ('delta.inCommitTimestampEnablementVersion', 'delta.inCommitTimestampEnablementTimestamp')")
    assert times() == since and len(since) == 2, since
    sql("ALTER TABLE times SET TBLPROPERTIES ('delta.columnMapping.mode' = 'NAME')")
    sql("INSERT INTO times VALUES (1)")
    assert [row.a for row in spark.table("times").collect()] == [1]
    for key, value in (("delta.universalFormat.enabledFormats", "hudi"), ("delta.compatibility.symlinkFormatManifest.enabled", "true")):
        assert condition(lambda: sql(f"ALTER TABLE times SET TBLPROPERTIES ('{key}' = '{value}')")) == "UNSUPPORTED_FEATURE.THALWEG", key


def properties(spark, folder):
    sql = spark.sql
    sql("CREATE TABLE pr (id INT, s STRING, b BINARY, p INT) USING delta PARTITIONED BY (p)")
    for key, value, expected in (
            ("delta.isolationLevel", "WriteSerializable", "UNSUPPORTED_TABLE_CHANGE"), ("delta.isolationLevel", "x", "DELTA_INVALID_ISOLATION_LEVEL"),
            ("delta.dataSkippingStatsColumns", "nope", "DELTA_COLUMN_NOT_FOUND_IN_SCHEMA"),
            ("delta.dataSkippingStatsColumns", "b", "DELTA_COLUMN_DATA_SKIPPING_NOT_SUPPORTED_TYPE"),
            ("delta.dataSkippingStatsColumns", "id,id", "DELTA_DUPLICATE_DATA_SKIPPING_COLUMNS"),
            ("delta.columnMapping.maxColumnId", "5", "DELTA_CANNOT_MODIFY_TABLE_PROPERTY"),
            ("delta.targetFileSize", "100mb", "DELTA_UNKNOWN_CONFIGURATION"), ("delta.logRetentionDuration", "1 month", "UNSUPPORTED_TABLE_CHANGE"),
            ("delta.logRetentionDuration", "1 day", "UNSUPPORTED_TABLE_CHANGE"), ("owner", "me", "UNSUPPORTED_FEATURE.SET_TABLE_PROPERTY")):
        assert condition(lambda: sql(f"ALTER TABLE pr SET TBLPROPERTIES ('{key}' = '{value}')")) == expected, (key, value)
        assert condition(lambda: sql(f"CREATE TABLE pr2 (id INT, b BINARY) USING delta TBLPROPERTIES ('{key}' = '{value}')")) == expected, (key, value)
    sql("ALTER TABLE pr SET TBLPROPERTIES ('delta.logRetentionDuration' = '1 day', 'delta.deletedFileRetentionDuration' = '1 hour')")
    sql("ALTER TABLE pr SET TBLPROPERTIES ('delta.dataSkippingStatsColumns' = 's,id')")
    sql("CREATE TABLE mapped (id INT) USING delta TBLPROPERTIES ('delta.columnMapping.mode' = 'name', 'delta.enableRowTracking' = 'true')")
    sql("CREATE TABLE alike LIKE mapped USING delta")
    assert sql("SHOW TBLPROPERTIES alike ('delta.columnMapping.mode')").first().value == "name"
    for statement in ("ALTER TABLE pr ADD COLUMNS (t TIMESTAMP_NTZ)", "ALTER TABLE pr ADD COLUMNS (st STRUCT<t: TIMESTAMP_NTZ>)",
                      "CREATE OR REPLACE TABLE pr (id INT, t TIMESTAMP_NTZ) USING delta"):
        assert condition(lambda: sql(statement)) == "DELTA_FEATURES_REQUIRE_MANUAL_ENABLEMENT", statement
    sql("ALTER TABLE pr SET TBLPROPERTIES ('delta.feature.timestampNtz' = 'supported')")
    sql("ALTER TABLE pr ADD COLUMNS (t TIMESTAMP_NTZ)")
    assert condition(lambda: sql("ALTER TABLE pr ALTER COLUMN id TYPE VARCHAR(3)")) == "NOT_SUPPORTED_CHANGE_COLUMN"


def features_and_lengths(spark, folder):
    sql = spark.sql
    features = lambda table: {row.key for row in sql(f"SHOW TBLPROPERTIES {table}").collect() if row.key.startswith("delta.feature.")}  # noqa: E731
    sql("CREATE TABLE preview (id INT) USING delta TBLPROPERTIES ('delta.feature.typeWidening-preview' = 'supported', 'delta.enableTypeWidening' = 'true')")
    assert features("preview") & {"delta.feature.typeWidening", "delta.feature.typeWidening-preview"} == {"delta.feature.typeWidening-preview"}
    sql("INSERT INTO preview VALUES (1)")
    sql("ALTER TABLE preview ALTER COLUMN id TYPE BIGINT")
    sql("ALTER TABLE preview DROP FEATURE `typeWidening-preview`")
    assert "delta.feature.typeWidening-preview" not in features("preview") and spark.table("preview").schema.simpleString() == "struct<id:bigint>"
    sql("CREATE TABLE named (id INT, m MAP<STRING, STRUCT<`a b`: INT>>) USING delta TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    assert condition(lambda: sql("ALTER TABLE named DROP FEATURE columnMapping")) == "DELTA_INVALID_COLUMN_NAMES_WHEN_REMOVING_COLUMN_MAPPING"
    sql("CREATE TABLE lengths (a CHAR(3), b VARCHAR(5), c INT) USING delta TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    for columns in ("a CHAR(3), b VARCHAR(5)", "a CHAR(4), b VARCHAR(9)", "a CHAR(2), b STRING"):
        assert condition(lambda: sql(f"ALTER TABLE lengths REPLACE COLUMNS ({columns})")) == "DELTA_UNSUPPORTED_ALTER_TABLE_REPLACE_COL_OP", columns
    sql("ALTER TABLE lengths REPLACE COLUMNS (a STRING, b STRING)")
    assert spark.table("lengths").schema["a"].metadata.get("__CHAR_VARCHAR_TYPE_STRING") == "char(3)", "the length stays"


def rows_over_files(spark, folder):
    files = lambda path: len(glob.glob(path + "/*.parquet"))  # noqa: E731
    spark.range(100).repartition(4).sortWithinPartitions(F.desc("id")).write.format("delta").save(f"{folder}/sorted")
    assert files(f"{folder}/sorted") == 4
    for file in glob.glob(f"{folder}/sorted/*.parquet"):
        ids = pyarrow.parquet.read_table(file)["id"].to_pylist()
        assert 20 < len(ids) < 30 and ids == sorted(ids, reverse=True), ids
    assert [row.id for row in spark.range(9, numPartitions=3).sortWithinPartitions(F.desc("id")).collect()] == [2, 1, 0, 5, 4, 3, 8, 7, 6]
    spark.range(100).repartition(4).write.format("delta").save(f"{folder}/source")
    for path, expected in ((f"{folder}/spread", 4), (f"{folder}/gathered", 1)):
        stream = spark.readStream.format("delta").load(f"{folder}/source").repartition(4).writeStream.format("delta")
        stream = stream.option("optimizeWrite", str(expected == 1).lower()).option("checkpointLocation", path + "-checkpoint")
        stream.trigger(availableNow=True).start(path).awaitTermination()
        assert files(path) == expected, path
        assert spark.read.format("delta").load(path).count() == 100


CHECKS = (joins_of_padded_columns, overwrites_by_condition, rows_of_a_table_that_is_replaced, overwrites_of_partitions, clustered, evolution_widens, a_condition_that_is_false_replaces_nothing,
          names_that_readers_need_stay, properties,
          features_and_lengths, rows_over_files)

with tempfile.TemporaryDirectory(prefix="thalweg-writer-calls-") as directory:
    server = Server(PROGRAM, arguments=["--warehouse", f"{directory}/wh", "--allowed-root", directory])
    problems = in_child(failed_checks, server.url, directory, CHECKS)
    server.end()
    assert not problems, problems
