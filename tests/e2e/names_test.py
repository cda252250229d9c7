"""Tables by name through the stock client: names_test.py THALWEG_PROGRAM

Answers are Spark's (conditions, SQLSTATEs, rows). A server that dies in CREATE TABLE leaves no half table, two servers share a
catalog, and no name or location leads out of the folders that the server may use.
"""
import os
import sys
import tempfile
import time

from harness import FORK, Server, SparkSession, condition, in_child

PROGRAM = sys.argv[1]


def connect(url):
    return SparkSession.builder.remote(url).create()


def rows_of(spark, text):
    return sorted(tuple(row) for row in spark.sql(text).collect())


def statements(url, folder):
    spark = connect(url)
    sql = spark.sql
    sql("CREATE SCHEMA web COMMENT 'pages'")
    sql("USE web")
    sql("CREATE TABLE Clicks (id INT NOT NULL COMMENT 'key', p STRING) USING delta PARTITIONED BY (p) COMMENT 'about' TBLPROPERTIES ('k'='v')")
    sql("INSERT INTO clicks VALUES (1, 'a'), (2, NULL)")
    sql("INSERT INTO web.clicks (p, id) VALUES ('c', 3)")
    spark.range(4, 5).selectExpr("cast(id AS INT) id", "'d' p").write.format("delta").mode("append").saveAsTable("clicks")
    assert rows_of(spark, "SELECT id FROM spark_catalog.web.CLICKS") == [(1,), (2,), (3,), (4,)]
    assert rows_of(spark, "SELECT count(*) FROM clicks VERSION AS OF 1") == [(2,)]
    assert spark.read.option("versionAsOf", 1).table("clicks").count() == 2
    assert os.path.isdir(f"{folder}/wh/web.db/clicks/_delta_log")
    sql("CREATE VIEW late AS SELECT id FROM clicks WHERE id > 2")
    sql("USE default")
    assert rows_of(spark, "SELECT * FROM web.late") == [(3,), (4,)], "a view keeps the schema that it was made under"
    assert rows_of(spark, "SHOW TABLES IN web") == [("web", "clicks", False), ("web", "late", False)]
    assert rows_of(spark, "SHOW TBLPROPERTIES web.clicks") == [("delta.minReaderVersion", "1"), ("delta.minWriterVersion", "2"), ("k", "v")]
    assert [(c.name, c.description, c.nullable, c.isPartition) for c in spark.catalog.listColumns("web.clicks")] == [
        ("id", "key", False, False), ("p", None, True, True)]
    assert condition(lambda: sql("INSERT INTO web.clicks VALUES (NULL, 'x')")) == "DELTA_NOT_NULL_CONSTRAINT_VIOLATED"
    assert condition(lambda: sql("INSERT INTO web.clicks VALUES (1)")) == "DELTA_INSERT_COLUMN_ARITY_MISMATCH"
    assert condition(lambda: sql("INSERT INTO web.clicks VALUES (3000000000, 'x')")) == "CAST_OVERFLOW_IN_TABLE_INSERT"
    assert condition(lambda: sql("CREATE TABLE web.late (id INT) USING delta")) == "TABLE_OR_VIEW_ALREADY_EXISTS"
    assert condition(lambda: sql("CREATE TABLE nosuch.t (id INT) USING delta")) == "SCHEMA_NOT_FOUND"
    assert condition(lambda: sql("CREATE TABLE a.b.t (id INT) USING delta")) == "REQUIRES_SINGLE_PART_NAMESPACE"
    assert rows_of(spark, "SHOW SCHEMAS") == [("default",), ("web",)], "a missing schema is not made on the way"
    assert condition(lambda: sql("DROP VIEW web.clicks")) == "WRONG_COMMAND_FOR_OBJECT_TYPE"
    assert condition(lambda: sql("DROP SCHEMA web")) == "SCHEMA_NOT_EMPTY"
    sql("DROP SCHEMA web CASCADE")
    assert not os.path.exists(f"{folder}/wh/web.db"), "a managed table's files go with its name"
    spark.range(3).write.format("delta").option("path", f"{folder}/outside/t").saveAsTable("ext")
    sql("DROP TABLE ext")
    assert spark.read.format("delta").load(f"{folder}/outside/t").count() == 3, "an external table's files stay"
    sql("CREATE TABLE again USING delta AS SELECT 1 one")
    sql("CREATE OR REPLACE TABLE again USING delta AS SELECT 'x' two, 3 three")
    assert rows_of(spark, "SELECT * FROM again") == [("x", 3)]
    sql("DROP TABLE again")


def careful_statements(url, folder):
    spark = connect(url)
    sql = spark.sql
    assert condition(lambda: sql("CREATE VIEW v (x, y) AS SELECT 1 AS a, 2 AS a")) == "COLUMN_ALREADY_EXISTS"
    assert condition(lambda: spark.sql("CREATE VIEW v AS SELECT :p AS a", args={"p": 1})) == "UNSUPPORTED_FEATURE.PARAMETER_MARKER_IN_UNEXPECTED_STATEMENT"
    sql("CREATE TABLE k (id INT) USING delta TBLPROPERTIES ('fs.azure.account.key.x'='c2VjcmV0LWtleQ==', 'plain' 'shown')")
    shown = str(sql("SHOW TBLPROPERTIES k").collect() + sql("DESCRIBE EXTENDED k").collect() + sql("DESCRIBE DETAIL k").collect())
    assert "c2VjcmV0" not in shown and "shown" in shown, shown
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    parted = spark.createDataFrame([(1, "a"), (2, "b")], "id INT, p STRING")
    one = spark.createDataFrame([(3, "a")], "id INT, p STRING")
    rows = lambda frame: sorted(tuple(row) for row in frame.collect())
    parted.write.format("delta").partitionBy("p").save(f"{folder}/parted")
    one.write.format("delta").mode("overwrite").save(f"{folder}/parted")
    assert rows(spark.read.format("delta").load(f"{folder}/parted")) == [(2, "b"), (3, "a")]
    for write in (lambda: one.write.format("delta").mode("overwrite").saveAsTable("parted"),
                  lambda: one.write.format("delta").mode("overwrite").insertInto("parted"),
                  lambda: sql("INSERT OVERWRITE parted VALUES (3, 'a')")):
        sql("DROP TABLE IF EXISTS parted")
        parted.write.format("delta").partitionBy("p").saveAsTable("parted")
        write()
        assert rows(spark.table("parted")) == [(2, "b"), (3, "a")], "only the partitions that rows come for are replaced, as in Spark"
    spark.range(2).write.format("delta").saveAsTable("whole")
    spark.range(5).write.format("delta").mode("overwrite").saveAsTable("whole")
    assert spark.table("whole").count() == 5, "without partitions the mode changes nothing"


def drop_under_a_stream(url, folder):
    spark = connect(url)
    rate = spark.readStream.format("rate").option("rowsPerSecond", 20).load()
    query = (rate.writeStream.format("delta").option("checkpointLocation", f"{folder}/ck-dropped")
             .trigger(processingTime="200 milliseconds").toTable("short"))
    deadline = time.monotonic() + 60
    while spark.table("short").count() == 0:
        assert time.monotonic() < deadline, "no rows after 60 s"
        time.sleep(0.1)
    spark.sql("DROP TABLE short")
    while query.isActive:
        assert time.monotonic() < deadline, "the query goes on without its table"
        time.sleep(0.1)
    assert "is gone" in str(query.exception()), query.exception()


def refusals(url, folder):
    spark = connect(url)
    for name in ("`..`", "`a/b`", "`a.b`", "`é`"):
        assert condition(lambda: spark.sql(f"CREATE TABLE {name} (id INT) USING delta")) == "INVALID_SCHEMA_OR_RELATION_NAME", name
    outside = f"{folder}/elsewhere/t"
    assert condition(lambda: spark.sql(f"CREATE TABLE t (id INT) USING delta LOCATION '{outside}'")) == "PATH_NOT_ALLOWED"
    assert condition(lambda: spark.sql(f"CREATE TABLE t (id INT) USING delta LOCATION '{folder}/wh/../elsewhere'")) == "PATH_NOT_ALLOWED"
    assert condition(lambda: spark.sql(f"CREATE SCHEMA s LOCATION '{outside}'")) == "PATH_NOT_ALLOWED"
    assert condition(lambda: spark.range(1).write.format("delta").option("path", outside).saveAsTable("t")) == "PATH_NOT_ALLOWED"
    assert not os.path.exists(f"{folder}/elsewhere")
    spark.sql("CREATE TABLE t (id INT) USING delta")
    assert os.path.isdir(f"{folder}/wh/t/_delta_log")


def run_sql(url, text):
    connect(url).sql(text)


def dies_in(server, text):
    """The client would try again for minutes: it is ended when its server is."""
    pool = FORK.Pool(1)
    try:
        pool.apply_async(run_sql, (server.url, text))
        assert server.process.wait(60) == 137, "the fault point was not passed"
    finally:
        pool.terminate()


def after_death(url):
    spark = connect(url)
    assert spark.catalog.listTables() == [], "half a table is seen"
    assert condition(lambda: spark.table("t").schema) == "TABLE_OR_VIEW_NOT_FOUND"
    spark.sql("CREATE TABLE t USING delta AS SELECT 7 id")
    assert rows_of(spark, "SELECT * FROM t") == [(7,)]
    assert spark.sql("DESCRIBE HISTORY t").count() == 1


def adopts_nothing_unfinished(url, folder):
    spark = connect(url)
    spark.sql(f"CREATE TABLE mine (id INT) USING delta LOCATION '{folder}/wh/t'")
    assert spark.table("mine").count() == 0, "a dead statement's rows became a table"
    spark.sql("INSERT INTO mine VALUES (5)")
    assert condition(lambda: spark.sql("CREATE TABLE t (id INT) USING delta")) == "DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION"
    assert rows_of(spark, "SELECT * FROM mine") == [(5,)], "another name's CREATE TABLE removed rows"


def dropped_whole(url, folder):
    spark = connect(url)
    assert spark.catalog.listTables() == [] and os.path.exists(f"{folder}/wh/t"), "the death fell elsewhere"
    spark.sql("CREATE TABLE t (id INT) USING delta")
    assert spark.table("t").count() == 0, "a dropped table's rows came back"


def make_names(arguments):
    url, marker = arguments
    spark = connect(url)
    made = 0
    for i in range(8):
        if condition(lambda: spark.sql(f"CREATE TABLE r{i} USING delta AS SELECT {marker} AS maker")) is None:
            made += 1
    return made


def race(urls):
    pool = FORK.Pool(len(urls))
    try:
        return sum(pool.map(make_names, [(url, i) for i, url in enumerate(urls)]))
    finally:
        pool.terminate()


def all_whole(url):
    spark = connect(url)
    assert len(spark.catalog.listTables()) == 8
    for i in range(8):
        assert spark.table(f"r{i}").count() == 1, "one maker's rows, once"


def stream_by_name(url, folder):
    spark = connect(url)
    rate = spark.readStream.format("rate").option("rowsPerSecond", 5).load()
    query = rate.writeStream.format("delta").option("checkpointLocation", f"{folder}/ck").trigger(availableNow=True).toTable("ticks")
    query.awaitTermination(60)
    assert spark.table("ticks").schema.simpleString() == "struct<timestamp:timestamp,value:bigint>"
    assert spark.catalog.getTable("ticks").tableType == "MANAGED"


def main():
    with tempfile.TemporaryDirectory(prefix="thalweg-names-") as folder:
        server = Server(PROGRAM, arguments=["--warehouse", f"{folder}/wh"])
        in_child(statements, server.url, folder)
        in_child(careful_statements, server.url, folder)
        in_child(stream_by_name, server.url, folder)
        in_child(drop_under_a_stream, server.url, folder)
        server.end()
    with tempfile.TemporaryDirectory(prefix="thalweg-names-") as folder:
        server = Server(PROGRAM, arguments=["--warehouse", f"{folder}/wh", "--allowed-root", f"{folder}/data"])
        in_child(refusals, server.url, folder)
        server.end()
    for fault in ("dataFile.after:1=exit", "deltaCommit.before:1=exit", "deltaCommit.after:1=exit"):
        with tempfile.TemporaryDirectory(prefix="thalweg-names-") as folder:
            server = Server(PROGRAM, fault=fault, arguments=["--warehouse", f"{folder}/wh"])
            dies_in(server, "CREATE TABLE t USING delta AS SELECT 1 id")
            server = Server(PROGRAM, arguments=["--warehouse", f"{folder}/wh"])
            in_child(after_death, server.url)
            server.end()
    with tempfile.TemporaryDirectory(prefix="thalweg-names-") as folder:
        server = Server(PROGRAM, fault="deltaCommit.after:1=exit", arguments=["--warehouse", f"{folder}/wh"])
        dies_in(server, "CREATE TABLE t USING delta AS SELECT 1 id")
        server = Server(PROGRAM, arguments=["--warehouse", f"{folder}/wh"])
        in_child(adopts_nothing_unfinished, server.url, folder)
        server.end()
    with tempfile.TemporaryDirectory(prefix="thalweg-names-") as folder:
        server = Server(PROGRAM, fault="catalogDrop.after:1=exit", arguments=["--warehouse", f"{folder}/wh"])
        in_child(run_sql, server.url, "CREATE TABLE t USING delta AS SELECT 1 id")
        dies_in(server, "DROP TABLE t")
        server = Server(PROGRAM, arguments=["--warehouse", f"{folder}/wh"])
        in_child(dropped_whole, server.url, folder)
        server.end()
    with tempfile.TemporaryDirectory(prefix="thalweg-names-") as folder:
        servers = [Server(PROGRAM, arguments=["--warehouse", f"{folder}/wh"]) for _ in range(2)]
        made = race([servers[0].url, servers[1].url, servers[0].url, servers[1].url])
        assert made == 8, f"8 names were made {made} times"
        in_child(all_whole, servers[1].url)
        for server in servers:
            server.end()
    print("names: passed")


if __name__ == "__main__":
    main()
