"""What writes do through the stock client: writes_test.py THALWEG_PROGRAM

Answers are those of Spark 4.2 with Delta 4.4, asked for each rule here (docs/compatibility.md says where ours differ).
"""
import glob
import json
import os
import sys
import tempfile

from harness import Server, condition, failed_checks, in_child
from pyspark.sql import functions as F

PROGRAM = sys.argv[1]


def last_commit(path, action):
    with open(sorted(glob.glob(path + "/_delta_log/*.json"))[-1]) as lines:
        return [json.loads(line)[action] for line in lines if action in json.loads(line)]


def file_rows(path):
    return sorted(json.loads(add["stats"])["numRecords"] for add in last_commit(path, "add"))


def char_and_varchar(spark, folder):
    path = f"{folder}/chars"
    rows = lambda text: sorted(tuple(row) for row in spark.sql(text).collect())  # noqa: E731
    sql = spark.sql
    sql(f"CREATE TABLE v (id INT, a VARCHAR(3), b CHAR(5), s STRUCT<x: VARCHAR(2), y: CHAR(2)>, l ARRAY<VARCHAR(2)>, "
        f"m MAP<CHAR(2), VARCHAR(3)>) USING delta LOCATION '{path}'")
    declared = {f["name"]: f["metadata"] for f in json.loads(last_commit(path, "metaData")[0]["schemaString"])["fields"]}
    key = "__CHAR_VARCHAR_TYPE_STRING"
    assert declared == {"id": {}, "a": {key: "varchar(3)"}, "b": {key: "char(5)"}, "s": {key: "struct<x:varchar(2),y:char(2)>"},
                        "l": {key: "array<varchar(2)>"}, "m": {key: "map<char(2),varchar(3)>"}}, declared
    assert [row[1] for row in sql("DESCRIBE v").collect()] == [
        "int", "string", "string", "struct<x:string,y:string>", "array<string>", "map<string,string>"]
    assert spark.table("v").schema["a"].metadata == {key: "varchar(3)"}
    sql("INSERT INTO v (id, a, b) VALUES (1, 'abc', 'xy')")
    sql("INSERT INTO v (id, s) VALUES (4, named_struct('x', 'ab', 'y', 'a'))")
    sql("INSERT INTO v (id, m) VALUES (6, map('a', 'abc'))")
    limit = "DELTA_EXCEED_CHAR_VARCHAR_LIMIT"
    for values in ("(id, a, b) VALUES (2, 'abc   ', 'xy')", "(id, a) VALUES (3, 'abcd')", "(id, b) VALUES (3, 'xyzxyz')",
                   "(id, s) VALUES (4, named_struct('x', 'abc', 'y', 'a'))", "(id, l) VALUES (5, array('a', 'abc'))",
                   "(id, m) VALUES (6, map('a', 'abcd'))", "(id, m) VALUES (7, map('abc', 'abc'))"):
        assert condition(lambda: sql("INSERT INTO v " + values)) == limit, values
    assert rows("SELECT id, concat('[', b, ']'), length(b) FROM v WHERE id = 1") == [(1, "[xy   ]", 5)]
    assert rows("SELECT s.y, length(s.y) FROM v WHERE id = 4") == [("a ", 2)]
    assert [row.m for row in sql("SELECT m FROM v WHERE id = 6").collect()] == [{"a ": "abc"}]
    for where, found in (("b = 'xy'", 1), ("b = 'xy      '", 1), ("'xy' = b", 1), ("b <=> 'xy'", 1), ("b IN ('xy', 'q')", 1),
                         ("b > 'xy'", 0), ("b LIKE 'xy'", 0), ("s.y = 'a'", 0)):
        assert len(rows(f"SELECT id FROM v WHERE {where}")) == found, where
    for statement in ("SET a = 'abcde' WHERE id = 1", "SET a = 'abc  ' WHERE id = 1", "SET s.x = 'abc' WHERE id = 4"):
        assert condition(lambda: sql("UPDATE v " + statement)) == limit, statement
    long = spark.createDataFrame([(10, "abcd")], "id INT, a STRING")
    assert condition(lambda: long.write.format("delta").mode("append").save(path)) == limit
    assert condition(lambda: long.writeTo("v").append()) == limit
    assert condition(lambda: long.write.format("delta").mode("overwrite").save(path)) == limit
    assert rows("SELECT CAST('abcdef' AS VARCHAR(3)), CAST('ab' AS CHAR(5))") == [("abcdef", "ab")], "casts to them are casts to STRING"
    assert condition(lambda: sql("SELECT CAST('a' AS CHAR)")) == "DATATYPE_MISSING_SIZE"
    assert condition(lambda: sql("""SELECT from_json('{"a":"b"}', 'a VARCHAR(3)')""").collect()) == "UNSUPPORTED_CHAR_OR_VARCHAR_AS_STRING"
    sql("ALTER TABLE v ADD COLUMN c VARCHAR(4) COMMENT 'x'")
    sql("ALTER TABLE v ADD COLUMN s.z CHAR(4)")
    sql("ALTER TABLE v CHANGE COLUMN a a VARCHAR(5)")
    sql("ALTER TABLE v ALTER COLUMN b TYPE VARCHAR(7)")
    # Padded or not by its scan, a CHAR column equals the same text: also of a stream, of a constraint, beside nulls and constants.
    sql("CREATE TABLE padded (c CHAR(5), i INT) USING delta")
    sql("INSERT INTO padded VALUES ('ab', 1), ('abc', 2), (null, 3)")
    for where in ("c = 'ab'", "c IN ('ab', NULL)", "c = lower('AB')", "c = CAST('ab' AS STRING)", "c BETWEEN 'ab' AND 'ab'"):
        assert [row.i for row in sql(f"SELECT i FROM padded WHERE {where}").collect()] == [1], where
    sql("ALTER TABLE padded ADD CONSTRAINT small CHECK (i <> 1 OR c = 'ab')")
    spark.conf.set("spark.sql.readSideCharPadding", "false")
    assert [row.i for row in sql("SELECT i FROM padded WHERE c = 'ab'").collect()] == [1]
    spark.conf.unset("spark.sql.readSideCharPadding")
    stream = spark.readStream.table("padded").where("c = 'ab'").writeStream.format("memory").queryName("streamed")
    stream.trigger(availableNow=True).start().awaitTermination()
    assert [row.i for row in sql("SELECT i FROM streamed").collect()] == [1]
    for change in ("a TYPE VARCHAR(2)", "b TYPE CHAR(7)", "b TYPE INT"):
        assert condition(lambda: sql("ALTER TABLE v ALTER COLUMN " + change)) == "NOT_SUPPORTED_CHANGE_COLUMN", change
    assert condition(lambda: sql("ALTER TABLE v ALTER COLUMN id TYPE STRING")) == "DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP"
    declared = {f["name"]: f["metadata"].get(key) for f in json.loads(last_commit(path, "metaData")[0]["schemaString"])["fields"]}
    assert declared["a"] == "varchar(5)" and declared["b"] == "varchar(7)" and declared["c"] == "varchar(4)", declared
    assert declared["s"] == "struct<x:varchar(2),y:char(2),z:char(4)>", "Spark forgets the lengths of x and y here; we do not"
    sql("CREATE TABLE copied USING delta AS SELECT id, a FROM v")
    assert spark.table("copied").schema["a"].metadata == {key: "varchar(5)"}
    sql("CREATE VIEW shown AS SELECT a, b FROM v")
    assert [row[1] for row in sql("DESCRIBE shown").collect()] == ["varchar(5)", "varchar(7)"]
    assert condition(lambda: sql("CREATE TABLE d (a VARCHAR(3) DEFAULT 'abcdef') USING delta TBLPROPERTIES "
                                 "('delta.feature.allowColumnDefaults'='supported')")) == "EXCEED_LIMIT_LENGTH"
    sql("CREATE TABLE pv (id INT, p CHAR(3)) USING delta PARTITIONED BY (p)")
    sql("INSERT INTO pv VALUES (1, 'a')")
    sql("INSERT INTO pv PARTITION (p = 'b') VALUES (2)")
    assert rows("SELECT id, length(p) FROM pv WHERE p = 'a'") == [(1, 3)]
    sql("INSERT OVERWRITE pv PARTITION (p = 'b') VALUES (3)")
    sql("INSERT INTO pv REPLACE WHERE p = 'b' VALUES (4, 'b')")
    assert rows("SELECT id FROM pv") == [(1,), (4,)]
    assert rows("DELETE FROM pv WHERE p = 'a'") == [(1,)]
    spark.conf.set("spark.sql.readSideCharPadding", "false")
    assert rows("SELECT length(p) FROM pv") == [(1,)]
    spark.conf.unset("spark.sql.readSideCharPadding")


def spread_rows(spark, folder):
    base = spark.range(0, 100, 1, 4).selectExpr("id", "id % 3 AS p")
    base.createOrReplaceTempView("b")
    number = iter(range(100))

    def files(frame, **options):
        path = f"{folder}/spread{next(number)}"
        writer = frame.write.format("delta")
        if "partitionBy" in options:
            writer = writer.partitionBy(options.pop("partitionBy"))
        writer.options(**options).save(path)
        return file_rows(path)

    assert files(base) == [25, 25, 25, 25]
    assert files(base.coalesce(1)) == [100]
    assert files(base.coalesce(3)) == [25, 25, 50]
    assert files(base.coalesce(9)) == [25, 25, 25, 25]
    assert files(base.repartition(5)) == [20] * 5
    assert files(spark.range(0, 3, 1, 1).repartition(8)) == [1, 1, 1]
    assert files(base.repartition("p")) == [100]
    assert files(base.repartition(7, "p")) == [34, 66], "where rows lie is what Spark's hash says"
    assert files(base.repartition(7, "id")) == sorted([10, 19, 12, 17, 15, 12, 15])
    assert files(base.repartitionByRange(3, "id")) == [33, 33, 34]
    assert files(base.repartitionByRange(3, F.desc("id"))) == [33, 33, 34]
    assert files(base.repartitionByRange(5, "p")) == [33, 33, 34]
    assert files(base.coalesce(1), partitionBy="p") == [33, 33, 34]
    assert len(files(base.repartition(2), partitionBy="p")) == 6
    for hint, expected in (("COALESCE(2)", [50, 50]), ("REPARTITION(3)", [33, 33, 34]), ("REPARTITION(3, p)", [34, 66]),
                           ("REPARTITION(p)", [100]), ("REPARTITION", [100]), ("REPARTITION_BY_RANGE(3, id)", [33, 33, 34]),
                           ("REBALANCE", [100]), ("REBALANCE(3, p)", [100]), ("NOSUCH(1)", [25] * 4),
                           ("COALESCE(1), REPARTITION(3)", [100])):
        assert files(spark.sql(f"SELECT /*+ {hint} */ * FROM b")) == expected, hint
    for hint in ("COALESCE", "COALESCE(x)"):
        assert condition(lambda: spark.sql(f"SELECT /*+ {hint} */ * FROM b").collect()) is not None, hint
    assert condition(lambda: spark.range(1).repartition(0).count()) is not None
    ordered = spark.range(0, 1000, 1, 4).orderBy(F.desc("id")).coalesce(1)
    assert [row.id for row in ordered.collect()] == list(range(999, -1, -1)), "coalesce(1) keeps the order of rows"
    assert base.repartition(3).where("id > 97").count() == 2
    assert files(base, optimizeWrite="true") == [100]
    assert files(base, optimizeWrite="true", partitionBy="p") == [33, 33, 34]
    spark.conf.set("spark.databricks.delta.optimizeWrite.enabled", "true")
    assert files(base) == [100]
    assert files(base, optimizeWrite="false") == [25, 25, 25, 25]
    spark.conf.unset("spark.databricks.delta.optimizeWrite.enabled")


def auto_compaction(spark, folder):
    path = f"{folder}/small"
    spark.sql(f"CREATE TABLE delta.`{path}` (id BIGINT) USING delta")
    spark.conf.set("spark.databricks.delta.autoCompact.enabled", "true")
    spark.conf.set("spark.databricks.delta.autoCompact.minNumFiles", "4")
    for files in (3, 2, 3):
        spark.range(0, 100).repartition(files).write.format("delta").mode("append").save(path)
    history = [(row.version, row.operation) for row in spark.sql(f"DESCRIBE HISTORY delta.`{path}`").collect()]
    assert history == [(5, "OPTIMIZE"), (4, "WRITE"), (3, "WRITE"), (2, "OPTIMIZE"), (1, "WRITE"), (0, "CREATE TABLE")], history
    last = spark.sql(f"DESCRIBE HISTORY delta.`{path}` LIMIT 1").first()
    assert last.operationParameters == {"predicate": "[]", "auto": "true", "zOrderBy": "[]", "clusterBy": "[]"}
    assert (last.operationMetrics["numRemovedFiles"], last.operationMetrics["numAddedFiles"]) == ("6", "1")
    assert spark.read.format("delta").load(path).count() == 300
    spark.conf.unset("spark.databricks.delta.autoCompact.enabled")
    spark.conf.unset("spark.databricks.delta.autoCompact.minNumFiles")


def conditions(spark, folder):
    sql = spark.sql
    path = f"{folder}/r"
    sql(f"CREATE TABLE r (p INT, q INT, s STRING) USING delta PARTITIONED BY (p) LOCATION '{path}'")
    sql("INSERT INTO r VALUES (1, 1, 'a'), (1, 3, 'b'), (2, 5, 'c'), (3, 7, 'd')")
    row = spark.createDataFrame([(1, 3, "x")], "p INT, q INT, s STRING")
    replace = lambda text: row.write.format("delta").mode("overwrite").option("replaceWhere", text).save(path)  # noqa: E731
    predicate = lambda: last_commit(path, "commitInfo")[0]["operationParameters"]["predicate"]  # noqa: E731
    for text in ("p = 1", "p = 1 AND q > 2", "true", "p IN (1,2)", "P = 1 and 1=1"):
        replace(text)
        assert predicate() == text
    for text in ("rand() < 2", "q > rand()"):
        before = len(glob.glob(path + "/**/*.parquet", recursive=True))
        assert condition(lambda: replace(text)) == "INVALID_NON_DETERMINISTIC_EXPRESSIONS"
        assert len(glob.glob(path + "/**/*.parquet", recursive=True)) == before, "no row is written first"
    sql("INSERT OVERWRITE r PARTITION (p = 1) VALUES (4, 'k')")
    assert predicate() == "(p <=> 1)"
    affected = lambda text: sql(text).collect()[0][0]  # noqa: E731
    for text, rows, shown in (("1 = 1", 1, '["true"]'), ("true", 1, '["true"]'), ("p = 1 OR 1 = 1", 1, '["true"]'),
                              ("1 = 1 AND p = 1", 1, '["(p = 1)"]')):
        assert affected("DELETE FROM r WHERE " + text) == rows, text
        assert predicate() == shown, (text, predicate())
        sql("INSERT INTO r VALUES (1, 9, 'z')")
    version = len(glob.glob(path + "/_delta_log/*.json"))
    assert affected("DELETE FROM r WHERE 1 = 2") == 0
    assert len(glob.glob(path + "/_delta_log/*.json")) == version
    assert affected("UPDATE r SET s = 'y' WHERE p = 1 AND 1 = 1") == 1
    assert predicate() == '["(p = 1)"]'
    for statement in ("DELETE FROM r WHERE p IN (SELECT 1)", "UPDATE r SET s = 'v' WHERE p = (SELECT 1)"):
        assert condition(lambda: sql(statement)) == "DELTA_UNSUPPORTED_SUBQUERY", statement
    assert condition(lambda: sql("UPDATE r SET s = (SELECT 'q') WHERE p = 1")) == "UNSUPPORTED_FEATURE.THALWEG"
    sql("ALTER TABLE r ADD CONSTRAINT c1 CHECK (rand() < 2)")
    sql("ALTER TABLE r ADD CONSTRAINT c4 CHECK (current_timestamp() > '2000-01-01')")


def change_feed_of_vectors(spark, folder):
    sql = spark.sql
    path = f"{folder}/cd"
    sql(f"CREATE TABLE cd (id INT, v STRING) USING delta LOCATION '{path}' TBLPROPERTIES "
        "('delta.enableDeletionVectors'='true','delta.enableChangeDataFeed'='true')")
    sql("INSERT INTO cd SELECT /*+ COALESCE(1) */ CAST(id AS INT), 'v' FROM range(6)")
    sql("DELETE FROM cd WHERE id = 1")
    assert not last_commit(path, "cdc"), "readers derive it from the vectors"
    sql("UPDATE cd SET v = 'w' WHERE id = 2")
    assert len(last_commit(path, "cdc")) == 1
    sql("DELETE FROM cd WHERE id > 3")
    assert not last_commit(path, "cdc")
    row = spark.createDataFrame([(3, "r")], "id INT, v STRING")
    row.write.format("delta").mode("overwrite").option("replaceWhere", "id = 3").save(path)
    assert not last_commit(path, "cdc")
    changes = sql("SELECT id, v, _change_type, _commit_version FROM table_changes('cd', 1) ORDER BY 4, 1, 3").collect()
    assert [tuple(change) for change in changes] == [(i, "v", "insert", 1) for i in range(6)] + [
        (1, "v", "delete", 2), (2, "w", "update_postimage", 3), (2, "v", "update_preimage", 3), (4, "v", "delete", 4),
        (5, "v", "delete", 4), (3, "v", "delete", 5), (3, "r", "insert", 5)], changes


def reads(spark, folder):
    path = f"{folder}/gone"
    spark.range(3).coalesce(1).write.format("delta").save(path)
    for file in glob.glob(path + "/*.parquet"):
        os.remove(file)
    assert condition(lambda: spark.read.format("delta").load(path).collect()) == "FAILED_READ_FILE.FILE_NOT_EXIST"
    rows = lambda text: [tuple(row) for row in spark.sql(text).collect()]  # noqa: E731
    assert rows("SELECT * FROM VALUES (2, 'b'), (1, 'z'), (1, 'a') t(x, y) ORDER BY ALL") == [(1, "a"), (1, "z"), (2, "b")]
    assert rows("SELECT * FROM VALUES (2, 'b'), (1, 'z'), (NULL, 'n') t(x, y) ORDER BY ALL DESC NULLS LAST") == [
        (2, "b"), (1, "z"), (None, "n")]
    assert rows("SELECT y, count(*) FROM VALUES (2, 'b'), (1, 'b'), (1, 'a') t(x, y) GROUP BY y ORDER BY ALL") == [("a", 1), ("b", 2)]
    assert rows("SELECT 1 UNION SELECT 0 ORDER BY ALL") == [(0,), (1,)]
    assert condition(lambda: rows("SELECT * FROM VALUES (2, 'b') t(x, y) ORDER BY ALL, x")) == "UNRESOLVED_COLUMN.WITH_SUGGESTION"


CHECKS = (char_and_varchar, spread_rows, auto_compaction, conditions, change_feed_of_vectors, reads)

with tempfile.TemporaryDirectory(prefix="thalweg-writes-") as directory:
    server = Server(PROGRAM, arguments=["--warehouse", f"{directory}/wh", "--allowed-root", directory])
    problems = in_child(failed_checks, server.url, directory, CHECKS)
    server.end()
    assert not problems, problems
