"""Files of Parquet through the stock client: parquet_test.py THALWEG_PROGRAM

Read, written, kept in tables, streamed from and to. A server that is killed in the middle of a write leaves nothing that a reader
sees; one that is killed in the middle of a stream, at random and at each durable step, leaves each row once.
"""
import glob
import os
import shutil
import sys
import tempfile
import time

import pyarrow.parquet as parquet

from harness import FORK, Server, SparkSession, condition, in_child

PROGRAM = sys.argv[1]
FAULTS = ("dataFile.before", "dataFile.during", "dataFile.after", "sinkLog.before", "sinkLog.after", "commitLog.before")
ROWS_PER_FILE = 100
FILES = 40


def connect(url):
    return SparkSession.builder.remote(url).create()


def rows(frame):
    return sorted(tuple(row) for row in frame.collect())


def batches(url, folder):
    spark = connect(url)
    frame = spark.createDataFrame([(1, "a"), (2, "b"), (3, None)], "id INT, p STRING")
    frame.write.parquet(f"{folder}/t")
    assert rows(spark.read.parquet(f"{folder}/t")) == [(1, "a"), (2, "b"), (3, None)]
    assert rows(spark.sql(f"SELECT count(*), max(id) FROM parquet.`{folder}/t`")) == [(3, 3)]
    assert condition(lambda: frame.write.parquet(f"{folder}/t")) == "PATH_ALREADY_EXISTS"
    assert condition(lambda: spark.read.parquet(f"{folder}/nope").schema) == "PATH_NOT_FOUND"
    frame.write.mode("ignore").parquet(f"{folder}/t")
    frame.write.mode("append").option("compression", "zstd").parquet(f"{folder}/t")
    assert spark.read.parquet(f"{folder}/t").count() == 6
    assert condition(lambda: spark.read.parquet(f"{folder}/t").write.mode("overwrite").parquet(f"{folder}/t")) == "UNSUPPORTED_OVERWRITE.PATH"
    assert parquet.read_table(f"{folder}/t").num_rows == 6

    frame.write.partitionBy("p").parquet(f"{folder}/parts")
    parts = spark.read.parquet(f"{folder}/parts")
    assert parts.schema.simpleString() == "struct<id:int,p:string>"
    assert rows(parts.where("p = 'b'")) == [(2, "b")] and rows(parts.where("p IS NULL").select("id")) == [(3,)]
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    spark.createDataFrame([(9, "a")], "id INT, p STRING").write.mode("overwrite").partitionBy("p").parquet(f"{folder}/parts")
    assert rows(spark.read.parquet(f"{folder}/parts").select("id")) == [(2,), (3,), (9,)]
    spark.range(1).write.parquet(f"{folder}/merge/1")
    spark.range(1).selectExpr("id", "'x' s").write.parquet(f"{folder}/merge/2")
    pair = (f"{folder}/merge/1", f"{folder}/merge/2")
    assert spark.read.parquet(*pair).columns == ["id"]
    assert spark.read.option("mergeSchema", True).parquet(*pair).columns == ["id", "s"]
    spark.conf.set("spark.sql.parquet.mergeSchema", "true")
    assert spark.read.parquet(*pair).columns == ["id", "s"]
    spark.sql("SELECT 1 id, 9 k, 'x' v").write.parquet(f"{folder}/both/k=1")
    both = spark.read.parquet(f"{folder}/both")
    assert both.schema.simpleString() == "struct<id:int,k:int,v:string>" and rows(both) == [(1, 1, "x")]
    assert rows(both.where("k = 1").select("v", "k")) == [("x", 1)] and rows(both.where("k = 9")) == []
    given = spark.read.schema("id INT, k INT, v STRING").parquet(f"{folder}/both")
    assert given.schema.simpleString() == "struct<id:int,v:string,k:int>" and rows(given) == [(1, "x", 1)]
    spark.sql(f"CREATE TABLE both USING parquet LOCATION '{folder}/both'")
    assert rows(spark.table("both")) == [(1, 1, "x")] and spark.table("both").columns == ["id", "k", "v"]
    legacy = os.path.join(os.path.dirname(__file__), "../../src/formats/testdata/legacy_calendar")
    ancient = f"{folder}/ancient.parquet"
    shutil.copy(f"{legacy}/no_version.parquet", ancient)
    assert str(spark.read.parquet(ancient).select("d").first().d) == "0001-01-01"
    assert str(spark.read.option("datetimeRebaseMode", "LEGACY").parquet(ancient).select("d").first().d) == "0001-01-03"
    assert rows(spark.read.option("datetimeRebaseMode", "LEGACY").parquet(ancient).where("d = DATE'1582-10-04'").selectExpr("CAST(d AS STRING)")) == [("1582-10-04",)]
    spark.conf.set("spark.sql.parquet.datetimeRebaseModeInRead", "EXCEPTION")
    assert condition(spark.read.parquet(ancient).collect) == "INCONSISTENT_BEHAVIOR_CROSS_VERSION.READ_ANCIENT_DATETIME"
    spark.conf.unset("spark.sql.parquet.datetimeRebaseModeInRead")
    place = spark.read.parquet(f"{folder}/merge/1").select("_metadata.file_size", "_metadata.row_index").first()
    assert place.file_size > 0 and place.row_index == 0


def tables(url, folder):
    spark = connect(url)
    sql = spark.sql
    sql("CREATE TABLE f (id INT, s STRING) USING parquet")
    sql("INSERT INTO f VALUES (1, 'a'), (2, NULL)")
    sql("INSERT INTO f (s) VALUES ('only')")
    assert rows(sql("SELECT coalesce(id, 0), s FROM f")) == [(0, "only"), (1, "a"), (2, None)]
    for change in ("UPDATE f SET s = 'x'", "DELETE FROM f"):
        assert condition(lambda: sql(change)) == "UNSUPPORTED_FEATURE.TABLE_OPERATION", change
    assert condition(lambda: sql("DESCRIBE HISTORY f")) == "DELTA_ONLY_OPERATION"
    assert condition(lambda: sql("INSERT OVERWRITE f SELECT * FROM f")) == "UNSUPPORTED_OVERWRITE.TABLE"
    sql("INSERT OVERWRITE f VALUES (7, 'new')")
    assert rows(spark.table("f")) == [(7, "new")]
    spark.range(3).write.saveAsTable("made")
    assert spark.table("made").count() == 3, "parquet is the default of tables, as in Spark"
    spark.range(2).write.mode("append").saveAsTable("made")
    assert spark.table("made").count() == 5
    sql(f"CREATE TABLE outside (id INT, s STRING) USING parquet LOCATION '{folder}/outside'")
    sql("INSERT INTO outside VALUES (1, 'x')")
    sql("DROP TABLE outside")
    assert rows(spark.read.parquet(f"{folder}/outside")) == [(1, "x")]
    sql("DROP TABLE f")
    os.makedirs(f"{folder}/empty")
    for place in ("", f" LOCATION '{folder}/empty'", f" LOCATION '{folder}/nothing'"):
        for columns, rest in (("id INT, p INT", "PARTITIONED BY (p)"), ("id INT, c CHAR(3)", ""), ("id INT DEFAULT 7", ""), ("id INT", "CLUSTER BY (id)")):
            statement = f"CREATE TABLE refused ({columns}) USING parquet {rest}{place}"
            assert condition(lambda: sql(statement)) == "UNSUPPORTED_FEATURE.THALWEG", statement
            assert not spark.catalog.tableExists("refused"), statement
    sql(f"CREATE TABLE plain (id INT, p INT) USING parquet LOCATION '{folder}/empty'")
    assert spark.table("plain").count() == 0


def write_forever(url, folder):
    spark = connect(url)
    while True:
        spark.range(200_000).repartition(4).write.mode("append").parquet(f"{folder}/killed")


def visible(folder):
    return [name for name in glob.glob(f"{folder}/**/*.parquet", recursive=True) if "/_" not in name[len(folder):]]


def killed_write(folder):
    """Killed with rows in hand: what was committed is whole, and the next server goes on."""
    for fault in ("dataFile.during:3=exit", "dataFile.after:5=exit", "fileMove.before=exit"):
        target = f"{folder}/{fault.split(':')[0]}"
        server = Server(PROGRAM, fault=fault)
        client = FORK.Process(target=write_forever, args=(server.url, target), daemon=True)
        client.start()
        assert server.process.wait(60) == 137, fault
        client.kill()
        client.join()
        committed = sum(parquet.read_metadata(name).num_rows for name in visible(f"{target}/killed"))
        assert committed % 200_000 == 0, f"{fault}: {committed} rows are seen"


def feed(url, folder):
    spark = connect(url)
    for number in range(FILES):
        first = number * ROWS_PER_FILE
        spark.range(first, first + ROWS_PER_FILE, 1, 1).selectExpr("id", "id % 3 p").write.mode("append").parquet(f"{folder}/in")


def stream(url, folder):
    spark = connect(url)
    source = spark.readStream.schema("id LONG, p LONG").option("maxFilesPerTrigger", 3).parquet(f"{folder}/in")
    query = (source.writeStream.format("parquet").partitionBy("p").option("checkpointLocation", f"{folder}/checkpoint")
             .trigger(availableNow=True).start(f"{folder}/out"))
    query.awaitTermination()


def ids(url, folder):
    frame = connect(url).read.parquet(f"{folder}/out")
    return frame.columns, sorted(row.id for row in frame.select("id").collect())


def killed_stream(folder):
    server = Server(PROGRAM)
    in_child(feed, server.url, folder)
    server.end()
    faults = [f"{fault}:{3 if fault.startswith('dataFile') else 2}=exit" for fault in FAULTS] + [None] * 3
    for number, fault in enumerate(faults):
        server = Server(PROGRAM, fault=fault)
        client = FORK.Process(target=stream, args=(server.url, folder), daemon=True)
        client.start()
        if fault:
            assert server.process.wait(60) == 137, fault
        else:
            time.sleep(0.2 + 0.15 * number)
            server.kill()
        client.kill()
        client.join()
    server = Server(PROGRAM)
    in_child(stream, server.url, folder)
    columns, found = in_child(ids, server.url, folder)
    assert columns == ["id", "p"]
    assert found == list(range(FILES * ROWS_PER_FILE)), f"{len(found)} rows of {FILES * ROWS_PER_FILE}"
    assert os.path.exists(f"{folder}/out/_spark_metadata/9.compact")
    server.end()


def new_checkpoint(url, folder):
    """Spark loses the rows in silence."""
    spark = connect(url)
    source = spark.readStream.schema("id LONG, p LONG").parquet(f"{folder}/in")
    query = (source.writeStream.format("parquet").option("checkpointLocation", f"{folder}/other")
             .trigger(availableNow=True).start(f"{folder}/out"))
    try:
        query.awaitTermination()
    except Exception as error:  # noqa: BLE001 - the class is the client's business
        assert "STREAMING_CHECKPOINT_BEHIND_SINK" in str(error), error
    else:
        raise AssertionError("the rows of the new checkpoint were skipped")


def main():
    with tempfile.TemporaryDirectory(prefix="thalweg-e2e-") as folder:
        server = Server(PROGRAM, arguments=("--warehouse", f"{folder}/wh"))
        in_child(batches, server.url, folder)
        in_child(tables, server.url, folder)
        server.end()
        print("batches and tables: as Spark", flush=True)
    with tempfile.TemporaryDirectory(prefix="thalweg-e2e-") as folder:
        killed_write(folder)
        print("killed writes: nothing half seen", flush=True)
    with tempfile.TemporaryDirectory(prefix="thalweg-e2e-") as folder:
        killed_stream(folder)
        print("killed streams: each row once", flush=True)
        server = Server(PROGRAM)
        in_child(new_checkpoint, server.url, folder)
        server.end()
        print("a new checkpoint over an old folder: refused", flush=True)


main()
