"""DeltaTable of the stock delta-spark client, whose calls travel in messages of Delta's own: delta_table_api_test.py THALWEG_PROGRAM

Every call answers as the SQL statement that says the same, and what is not built is refused by its name."""
import os
import sys
import tempfile

import harness

os.environ["SPARK_REMOTE"] = "sc://localhost"  # without one, Delta's package looks for a whole Spark as it is imported
try:
    from delta.tables import DeltaTable, IdentityGenerator
except ImportError as missing:
    print(f"skipped: Delta's client is not installed ({missing}); tools/deps installs it")
    raise SystemExit(harness.SKIPPED)
del os.environ["SPARK_REMOTE"]

F = harness.F


def rows_of(frame):
    return sorted(tuple(row) for row in frame.collect())


def refused(call, words):
    try:
        call()
    except Exception as error:
        assert words in str(error), f"{words} is not in {error}"
        return
    raise AssertionError(f"nothing was refused with {words}")


def check_making(spark, folder):
    table = (DeltaTable.createIfNotExists(spark).tableName("made").addColumn("id", "INT", nullable=False)
             .addColumn("v", "STRING", comment="a word").addColumn("next", "INT", generatedAlwaysAs="id + 1")
             .partitionedBy("v").property("delta.appendOnly", "false").comment("made by a builder").execute())
    assert table.toDF().schema.simpleString() == "struct<id:int,v:string,next:int>"
    spark.sql("INSERT INTO made (id, v) VALUES (1, 'a')")
    DeltaTable.createIfNotExists(spark).tableName("made").addColumn("other", "INT").execute()
    assert rows_of(DeltaTable.forName(spark, "made").toDF()) == [(1, "a", 2)]
    refused(lambda: DeltaTable.create(spark).tableName("made").addColumn("id", "INT").execute(), "TABLE_OR_VIEW_ALREADY_EXISTS")
    detail = table.detail().select("partitionColumns", "description", "properties").first()
    assert (detail[0], detail[1], detail[2]) == (["v"], "made by a builder", {"delta.appendOnly": "false"}), detail

    DeltaTable.replace(spark).tableName("made").addColumn("z", "DOUBLE").execute()
    assert table.toDF().schema.simpleString() == "struct<z:double>" and table.toDF().count() == 0
    refused(lambda: DeltaTable.replace(spark).tableName("missing").addColumn("z", "DOUBLE").execute(), "NOT_FOUND")

    refused(lambda: spark.sql("CREATE TABLE bad (id INT) USING delta TBLPROPERTIES ('delta.checkpointInterval' = '0')"), "UNSUPPORTED_TABLE_CHANGE")
    refused(lambda: spark.sql("CREATE TABLE bad (id INT) USING delta TBLPROPERTIES ('delta.nonsense' = '0')"), "DELTA_UNKNOWN_CONFIGURATION")
    both = DeltaTable.create(spark).location(f"{folder}/both").addColumn("a", "INT").addColumn("p", "INT").partitionedBy("p").clusterBy("a")
    refused(both.execute, "DELTA_CLUSTER_BY_WITH_PARTITIONED_BY")
    path = f"{folder}/by_path"
    (DeltaTable.createOrReplace(spark).location(path).addColumn("id", "BIGINT", generatedByDefaultAs=IdentityGenerator(start=7, step=2))
     .addColumn("v", "STRING").clusterBy("v").execute())
    spark.sql(f"INSERT INTO delta.`{path}` (v) VALUES ('x'), ('y')")
    assert [row[0] for row in rows_of(spark.read.format("delta").load(path))] == [7, 9]
    assert DeltaTable.forPath(spark, path).detail().first()["clusteringColumns"] == ["v"]
    refused(lambda: DeltaTable.create(spark).location(path).addColumn("id", "INT").execute(), "TABLE_OR_VIEW_ALREADY_EXISTS")
    DeltaTable.replace(spark).location(path).addColumn("k", "INT").execute()
    assert spark.read.format("delta").load(path).schema.simpleString() == "struct<k:int>"


def check_asking(spark, folder):
    path = f"{folder}/asked"
    spark.range(3).withColumn("p", F.lit(1)).write.format("delta").partitionBy("p").save(path)
    assert DeltaTable.isDeltaTable(spark, path) and DeltaTable.isDeltaTable(spark, f"{path}/p=1")
    assert not DeltaTable.isDeltaTable(spark, folder) and not DeltaTable.isDeltaTable(spark, f"{folder}/nothing")
    table = DeltaTable.forPath(spark, path)
    assert rows_of(table.toDF().where("id > 0").select("id")) == [(1,), (2,)]
    assert rows_of(table.alias("t").toDF().select("t.id")) == [(0,), (1,), (2,)]
    spark.range(3, 5).withColumn("p", F.lit(2)).write.format("delta").mode("append").save(path)
    assert [row.version for row in table.history().select("version").collect()] == [1, 0]
    assert [row.operation for row in table.history(1).collect()] == ["WRITE"]
    refused(lambda: DeltaTable.forName(spark, "nosuchtable").toDF().collect(), "DELTA_MISSING_DELTA_TABLE")
    refused(lambda: DeltaTable.forPath(spark, f"{folder}/nothing").toDF().collect(), "DELTA_")


def check_changing(spark, folder):
    path = f"{folder}/changed"
    spark.sql("SELECT CAST(id AS INT) AS id, CAST(id % 3 AS STRING) AS v FROM range(9)").write.format("delta").save(path)
    table = DeltaTable.forPath(spark, path)
    assert table.delete("id >= 6").first()["num_affected_rows"] == 3
    assert table.update(F.col("v") == "0", {"v": F.lit("none"), "id": "id + 100"}).first()["num_affected_rows"] == 2
    assert table.alias("t").update("t.v = '1'", {"v": "concat(t.v, '!')"}).first()["num_affected_rows"] == 2
    assert rows_of(table.toDF()) == [(1, "1!"), (2, "2"), (4, "1!"), (5, "2"), (100, "none"), (103, "none")]
    assert [row.operation for row in table.history(3).collect()] == ["UPDATE", "UPDATE", "DELETE"]

    assert table.restoreToVersion(1).first()["num_of_files_after_restore"] >= 1
    assert table.toDF().count() == 6 and rows_of(table.toDF().where("v = 'none'")) == []
    table.delete()
    assert table.toDF().count() == 0
    table.restoreToVersion(0)
    assert table.toDF().count() == 9


def check_keeping(spark, folder):
    path = f"{folder}/kept"
    for part in range(4):
        (spark.range(part * 10, part * 10 + 10, 1, 1).withColumn("p", F.lit(part % 2))
         .write.format("delta").mode("append").partitionBy("p").save(path))
    table = DeltaTable.forPath(spark, path)
    optimized = table.optimize().where("p = 1").executeCompaction().first()["metrics"]
    assert (optimized["numFilesAdded"], optimized["numFilesRemoved"]) == (1, 2), optimized
    ordered = table.optimize().executeZOrderBy("id").first()["metrics"]
    assert ordered["zOrderStats"]["strategyName"] == "all", ordered
    refused(lambda: table.vacuum(1), "DELTA_VACUUM_RETENTION_PERIOD_TOO_SHORT")
    spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    table.vacuum(0)
    assert len([name for p in "01" for name in os.listdir(f"{path}/p={p}") if name.endswith(".parquet")]) == 2
    assert rows_of(table.toDF().select("id")) == [(i,) for i in range(40)]

    table.upgradeTableProtocol(1, 4)
    assert table.detail().first()["minWriterVersion"] == 4
    table.addFeatureSupport("deletionVectors")
    assert "deletionVectors" in table.detail().first()["tableFeatures"]


def check_refusals(spark, folder):
    table = DeltaTable.forName(spark, "made")
    refused(lambda: table.alias("t").merge(spark.range(1).alias("s"), "t.z = s.id").whenMatchedDelete().execute(), "DeltaTable.merge")
    refused(lambda: table.clone(f"{folder}/clone"), "DeltaTable.clone")
    refused(lambda: table.generate("symlink_format_manifest"), "DeltaTable.generate")
    refused(lambda: DeltaTable.convertToDelta(spark, f"parquet.`{folder}/x`"), "DeltaTable.convertToDelta")
    refused(lambda: table.delete("nosuchcolumn = 1"), "UNRESOLVED_COLUMN")
    refused(lambda: table.optimize().where("z >").executeCompaction(), "PARSE_SYNTAX_ERROR")


def main(program):
    with tempfile.TemporaryDirectory() as folder:
        server = harness.Server(program, arguments=("--warehouse", f"{folder}/warehouse"))
        spark = harness.SparkSession.builder.remote(server.url).create()
        for check in (check_making, check_asking, check_changing, check_keeping, check_refusals):
            check(spark, folder)
            print(f"{check.__name__}: passed", flush=True)
        spark.stop()
        server.end()


main(sys.argv[1])
