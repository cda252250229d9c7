"""Files of Parquet through the stock client: parquet_test.py THALWEG_PROGRAM

Read, written, kept in tables, streamed from and to. A server that is killed while a batch is written leaves nothing of it that a reader
sees; between the moves of its commit, the files that were moved; in the middle of a stream, at random and at each durable step, each row
once. What readers would never see is refused.
"""
import glob
import os
import shutil
import sys
import tempfile
import time

import pyarrow
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
    parquet.write_table(pyarrow.table({"A": [1], "a": [2]}), f"{folder}/case.parquet")
    cased = lambda: spark.read.parquet(f"{folder}/case.parquet")  # noqa: E731
    assert condition(lambda: cased().collect()) == "COLUMN_ALREADY_EXISTS"
    assert condition(spark.read.schema("a LONG").parquet(f"{folder}/case.parquet").collect) == "FAILED_READ_FILE.NO_HINT"
    spark.conf.set("spark.sql.caseSensitive", "true")
    assert rows(cased()) == [(1, 2)] and rows(cased().select("a")) == [(2,)]
    spark.conf.unset("spark.sql.caseSensitive")
    stamps = pyarrow.table({"t": pyarrow.array([1500], pyarrow.timestamp("ns")), "u": pyarrow.array([1500], pyarrow.timestamp("us"))})
    parquet.write_table(stamps, f"{folder}/stamps.parquet")
    assert condition(lambda: spark.read.parquet(f"{folder}/stamps.parquet").schema) == "PARQUET_TYPE_ILLEGAL"
    settings = {"spark.sql.legacy.parquet.nanosAsLong": "true", "spark.sql.parquet.inferTimestampNTZ.enabled": "false"}
    for name, value in settings.items():
        spark.conf.set(name, value)
    assert spark.read.parquet(f"{folder}/stamps.parquet").schema.simpleString() == "struct<t:bigint,u:timestamp>"
    assert rows(spark.read.parquet(f"{folder}/stamps.parquet").select("t")) == [(1500,)]
    for name in settings:
        spark.conf.unset(name)
    spark.sql("SELECT 1 id, '1e5' v UNION ALL SELECT 2, '2'").write.partitionBy("v").parquet(f"{folder}/numbers")
    assert spark.read.parquet(f"{folder}/numbers").schema.simpleString() == "struct<id:int,v:decimal(10,0)>"
    spark.conf.set("spark.sql.sources.partitionColumnTypeInference.enabled", "false")
    assert rows(spark.read.parquet(f"{folder}/numbers")) == [(1, "1e5"), (2, "2")]
    spark.conf.unset("spark.sql.sources.partitionColumnTypeInference.enabled")
    for kind in ("parquet", "delta"):
        spark.sql("SELECT 1 id, X'FF41' b").write.format(kind).partitionBy("b").save(f"{folder}/bytes-{kind}")
        assert "b=\ufffdA" in os.listdir(f"{folder}/bytes-{kind}"), kind
        assert spark.read.format(kind).load(f"{folder}/bytes-{kind}").selectExpr("CAST(b AS STRING)").first().b == "\ufffdA", kind
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


ROWS_PER_WRITE, FILES_PER_WRITE = 40_000, 4
# Where the third write dies, and how many of its files are seen then. Each write has four files: a pass of dataFile.after and of
# fileMove.before for each. Between the moves of a commit there is no way back for a process that is gone, in Spark neither.
DEATHS = {"dataFile.after:9=exit": 0, "dataFile.after:12=exit": 0, "fileMove.before:9=exit": 0, "fileMove.before:11=exit": 2,
          "fileMove.after:3=exit": 4}


def write_forever(url, folder):
    spark = connect(url)
    while True:
        spark.range(ROWS_PER_WRITE).repartition(FILES_PER_WRITE).write.mode("append").parquet(f"{folder}/killed")


def visible(folder):
    return [name for name in glob.glob(f"{folder}/**/*.parquet", recursive=True) if "/_" not in name[len(folder):]]


def killed_write(folder):
    """Killed in the third write: the two before it are whole, and of itself there is what its commit had moved."""
    for number, (fault, moved) in enumerate(DEATHS.items()):
        target = f"{folder}/{number}"
        server = Server(PROGRAM, fault=fault)
        client = FORK.Process(target=write_forever, args=(server.url, target), daemon=True)
        client.start()
        assert server.process.wait(60) == 137, fault
        client.kill()
        client.join()
        seen = visible(f"{target}/killed")
        assert len(seen) == 2 * FILES_PER_WRITE + moved, f"{fault}: {len(seen)} files are seen"
        rows_seen = sum(parquet.read_metadata(name).num_rows for name in seen)
        assert rows_seen == (2 * FILES_PER_WRITE + moved) * ROWS_PER_WRITE // FILES_PER_WRITE, f"{fault}: {rows_seen} rows are seen"


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


def failure(start):
    """What a query that is started so fails with; nothing where it does not."""
    try:
        start().awaitTermination()
    except Exception as error:  # noqa: BLE001 - the class is the client's business
        return str(error)
    return ""


def copy_stream(spark, folder, checkpoint, target, kind="parquet"):
    source = spark.readStream.schema("id LONG").parquet(f"{folder}/numbers")
    writer = source.writeStream.format(kind).option("checkpointLocation", f"{folder}/{checkpoint}")
    return writer.trigger(availableNow=True).start(f"{folder}/{target}")


def new_checkpoint(url, folder):
    """Spark loses the rows in silence: at the first start, and where an orchestrator starts the job again."""
    spark = connect(url)
    source = spark.readStream.schema("id LONG, p LONG").parquet(f"{folder}/in")
    again = lambda: (source.writeStream.format("parquet").option("checkpointLocation", f"{folder}/other")  # noqa: E731
                     .trigger(availableNow=True).start(f"{folder}/out"))
    for attempt in range(2):
        assert "STREAMING_CHECKPOINT_BEHIND_SINK" in failure(again), f"start {attempt}: the rows of the new checkpoint were skipped"

    # The output has one batch, which the new checkpoint's first would pass for.
    spark.range(5).write.parquet(f"{folder}/numbers")
    assert failure(lambda: copy_stream(spark, folder, "one", "copy")) == ""
    spark.range(5, 9).write.mode("append").parquet(f"{folder}/numbers")
    for attempt in range(3):
        assert "STREAMING_CHECKPOINT_BEHIND_SINK" in failure(lambda: copy_stream(spark, folder, "two", "copy")), f"start {attempt}"
    assert failure(lambda: copy_stream(spark, folder, "one", "copy")) == ""
    assert sorted(row.id for row in spark.read.parquet(f"{folder}/copy").collect()) == list(range(9))


def old_checkpoint(url, folder):
    """A copy of the checkpoint from before the newest batch: that batch's number stands for other records now."""
    spark = connect(url)
    for kind in ("parquet", "delta"):
        shutil.rmtree(f"{folder}/numbers", ignore_errors=True)
        spark.range(5).write.parquet(f"{folder}/numbers")
        run = lambda: copy_stream(spark, folder, f"{kind}-now", f"{kind}-out", kind)  # noqa: E731
        assert failure(run) == ""
        shutil.copytree(f"{folder}/{kind}-now", f"{folder}/{kind}-old")
        spark.range(5, 9).write.mode("append").parquet(f"{folder}/numbers")
        assert failure(run) == ""
        shutil.rmtree(f"{folder}/{kind}-now")
        shutil.copytree(f"{folder}/{kind}-old", f"{folder}/{kind}-now")
        spark.range(9, 11).write.mode("append").parquet(f"{folder}/numbers")
        for attempt in range(3):
            assert "STREAMING_CHECKPOINT_BEHIND_SINK" in failure(run), f"{kind}, start {attempt}: records were skipped"
        assert spark.read.format(kind).load(f"{folder}/{kind}-out").count() == 9


def other_owners(url, folder):
    """Rows that nobody would see, and files that are a table's: Spark writes both without a word."""
    spark = connect(url)
    spark.range(5).write.parquet(f"{folder}/numbers")
    assert failure(lambda: copy_stream(spark, folder, "c1", "streamed")) == ""
    append = lambda: spark.range(5, 9).write.mode("append").parquet(f"{folder}/streamed")  # noqa: E731
    assert condition(append) == "STREAMING_OUTPUT_FOLDER.BATCH_WRITE"
    spark.sql(f"CREATE TABLE streamed (id LONG) USING parquet LOCATION '{folder}/streamed'")
    assert condition(lambda: spark.sql("INSERT INTO streamed VALUES (7)")) == "STREAMING_OUTPUT_FOLDER.BATCH_WRITE"
    assert rows(spark.read.parquet(f"{folder}/streamed")) == [(i,) for i in range(5)]
    spark.range(5, 9).write.mode("overwrite").parquet(f"{folder}/streamed")
    append()
    assert rows(spark.read.parquet(f"{folder}/streamed")) == [(i,) for i in (5, 5, 6, 6, 7, 7, 8, 8)]
    for attempt in range(2):
        assert "STREAMING_OUTPUT_FOLDER.UNLOGGED_FILES" in failure(lambda: copy_stream(spark, folder, "c2", "streamed")), attempt
    assert spark.read.parquet(f"{folder}/streamed").count() == 8

    table = f"{folder}/table"
    spark.range(5).write.format("delta").save(table)
    spark.sql(f"DELETE FROM delta.`{table}` WHERE id = 1")
    for mode in ("append", "overwrite", "error"):
        assert condition(lambda: spark.range(2).write.mode(mode).parquet(table)) == "DELTA_INVALID_FORMAT", mode
    assert condition(lambda: copy_stream(spark, folder, "c3", "table")) == "DELTA_INVALID_FORMAT"
    stream = spark.readStream.schema("id LONG").parquet(table).writeStream.format("noop").option("checkpointLocation", f"{folder}/c4")
    assert condition(stream.start) == "DELTA_INVALID_FORMAT"
    assert rows(spark.read.format("delta").load(table)) == [(0,), (2,), (3,), (4,)]
    assert (1,) in rows(spark.read.parquet(table)), "files can be looked at, as in Spark"


def refused_options(url, folder):
    """Conditions that Spark 4.2 answered."""
    spark = connect(url)
    frame = spark.createDataFrame([(1, "a"), (2, "b")], "id INT, p STRING")
    target = f"{folder}/refused"
    assert condition(lambda: frame.write.partitionBy("p", "p").parquet(target)) == "COLUMN_ALREADY_EXISTS"
    assert condition(lambda: frame.write.partitionBy("p", "P").parquet(target)) == "COLUMN_ALREADY_EXISTS"
    for kind in ("parquet", "delta"):
        write = frame.write.format(kind)
        assert condition(lambda: write.sortBy("p").save(target)) == "SORT_BY_WITHOUT_BUCKETING", kind
        assert condition(lambda: frame.write.format(kind).bucketBy(2, "id").save(target)) == "_LEGACY_ERROR_TEMP_1312", kind
        assert condition(lambda: frame.write.format(kind).bucketBy(2, "id").sortBy("p").save(target)) == "_LEGACY_ERROR_TEMP_1313", kind
    spark.sql("CREATE TABLE inserted (id INT, p STRING) USING parquet")
    assert condition(lambda: frame.write.bucketBy(2, "id").insertInto("inserted")) == "_LEGACY_ERROR_TEMP_1312"
    assert condition(lambda: frame.write.sortBy("id").insertInto("inserted")) == "SORT_BY_WITHOUT_BUCKETING"
    assert condition(lambda: frame.write.sortBy("id").saveAsTable("sorted")) == "SORT_BY_WITHOUT_BUCKETING"
    assert not os.path.exists(target)
    spark.conf.set("spark.sql.files.maxRecordsPerFile", "2")
    for kind in ("parquet", "delta"):
        spark.range(0, 10, 1, 1).write.format(kind).save(f"{folder}/bound-{kind}")
        assert len(glob.glob(f"{folder}/bound-{kind}/*.parquet")) == 5, kind
        spark.range(0, 10, 1, 1).write.format(kind).option("maxRecordsPerFile", 5).save(f"{folder}/own-{kind}")
        assert len(glob.glob(f"{folder}/own-{kind}/*.parquet")) == 2, kind


def main():
    with tempfile.TemporaryDirectory(prefix="thalweg-e2e-") as folder:
        server = Server(PROGRAM, arguments=("--warehouse", f"{folder}/wh", "--allowed-root", folder))
        in_child(batches, server.url, folder)
        in_child(tables, server.url, folder)
        in_child(refused_options, server.url, folder)
        server.end()
        print("batches and tables: as Spark", flush=True)
    for owners in (other_owners, old_checkpoint):
        with tempfile.TemporaryDirectory(prefix="thalweg-e2e-") as folder:
            server = Server(PROGRAM, arguments=("--warehouse", f"{folder}/wh", "--allowed-root", folder))
            in_child(owners, server.url, folder)
            server.end()
    print("other owners of a folder, old checkpoints: refused", flush=True)
    with tempfile.TemporaryDirectory(prefix="thalweg-e2e-") as folder:
        killed_write(folder)
        print("killed writes: what was committed is whole", flush=True)
    with tempfile.TemporaryDirectory(prefix="thalweg-e2e-") as folder:
        killed_stream(folder)
        print("killed streams: each row once", flush=True)
        server = Server(PROGRAM)
        in_child(new_checkpoint, server.url, folder)
        server.end()
        print("a new checkpoint over an old folder: refused", flush=True)


main()
