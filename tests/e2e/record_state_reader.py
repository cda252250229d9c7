"""Asks Spark's state reader anew all that src/sources/testdata/state/spark_state_reader.json asks, and writes its answers there.
../shared/peers/spark_env.sh python tests/e2e/record_state_reader.py [make FOLDER]

A question is a checkpoint (below src/sources/testdata/state or the shared fixtures) and options; an answer the schema and rows, or
the condition. `make` writes checkpoints as the three of testdata were written, of which join-v2 was cut to one partition of a side."""
import json
import pathlib
import re
import shutil
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared"
TESTDATA = ROOT / "src" / "sources" / "testdata" / "state"
PARAMETERS = ("optionName", "options", "snapshotPartitionId", "operatorId")
sys.path.insert(0, str(SHARED / "peers"))


def named_fields(frame, functions):
    """The rows by the fields of the schema: those of a join's side have one more, which to_json of a whole struct falls over."""
    columns = []
    for column in frame.schema.fields:
        fields = getattr(column.dataType, "fields", None)
        whole = functions.col(column.name)
        if fields and column.name == "value":
            struct = functions.struct(*[functions.col(f"value.`{field.name}`") for field in fields])
            whole = functions.when(functions.col("value").isNotNull(), struct)
        columns.append(whole.alias(column.name))
    return functions.to_json(functions.struct(*columns), {"ignoreNullFields": "false"})


def condition_of(java_error):
    try:
        return java_error.getCondition()
    except Exception:  # not one of Spark's
        return None


def error_of(error):
    """Of an error that Python has no class for, the condition of its innermost cause that has one."""
    if hasattr(error, "getCondition"):
        known = error.getMessageParameters() or {}
        parameters = {name: known[name] for name in PARAMETERS if name in known}
        return {"condition": error.getCondition(), **({"parameters": parameters} if parameters else {})}
    conditions = re.findall(r"\[(CANNOT_LOAD_STATE_STORE[A-Z_.]*)\]", str(error))[:1]
    cause = error.java_exception.getCause()
    while cause is not None:
        conditions += [condition_of(cause)] if condition_of(cause) else []
        cause = cause.getCause()
    return {"condition": conditions[-1]}


def ask(spark, functions, folder, question):
    checkpoint = folder / question["checkpoint"]
    if not checkpoint.exists():
        own = TESTDATA / question["checkpoint"]
        shutil.copytree(own if own.exists() else SHARED / "testdata" / "spark-checkpoints" / question["checkpoint"] / "checkpoint", checkpoint)
    answer = {name: question[name] for name in ("checkpoint", "of", "options")}
    try:
        frame = spark.read.format("statestore").options(**question["options"]).load(str(checkpoint))
        rows = [json.loads(row[0]) for row in frame.select(named_fields(frame, functions)).collect()]
        return {**answer, "schema": frame.schema.simpleString(), "rows": rows}
    except Exception as error:
        return {**answer, **error_of(error)}


def make(spark, functions, folder):
    inputs = folder / "in"
    inputs.mkdir(parents=True)
    for batch in range(9):
        rows = [{"t": f"2026-01-01T00:{batch:02}:{i:02}Z", "k": k, "v": batch * 10 + i} for i, k in enumerate(("a", "b", f"c{batch % 3}"))]
        (inputs / f"{batch:02}.json").write_text("".join(json.dumps(row) + "\n" for row in rows))

    def stream():
        rows = spark.readStream.schema("t timestamp, k string, v long").option("maxFilesPerTrigger", 1).json(str(inputs))
        return rows.withWatermark("t", "2 minutes")

    sums = stream().groupBy(functions.window("t", "1 minute"), "k").agg(functions.sum("v").alias("s"))
    right = stream().selectExpr("k AS kb", "t AS tb", "v AS vb")
    joined = stream().selectExpr("k", "t AS ta", "v AS va").join(
        right, functions.expr("k = kb AND va = vb AND tb BETWEEN ta AND ta + INTERVAL 1 MINUTE"))
    for name, query, provider in (("agg-hdfs", sums, "HDFSBacked"), ("agg-rocksdb", sums, "RocksDB"), ("join-v2", joined, "RocksDB")):
        spark.conf.set("spark.sql.streaming.stateStore.providerClass",
                       f"org.apache.spark.sql.execution.streaming.state.{provider}StateStoreProvider")
        (query.writeStream.format("noop").option("checkpointLocation", str(folder / name)).trigger(availableNow=True).start()
         .awaitTermination())


def main(*arguments):
    from pyspark.sql import functions
    from spark_env import session
    streaming = "spark.sql.streaming."
    spark = session("local[2]", conf={
        "spark.sql.shuffle.partitions": "2", streaming + "noDataMicroBatches.enabled": "false",
        streaming + "stateStore.maintenanceInterval": "100ms", streaming + "stateStore.minDeltasForSnapshot": "3",
        streaming + "stateStore.rocksdb.changelogCheckpointing.enabled": "true"})
    spark.streams.active  # the reader needs what the first use of streams starts
    if arguments:
        return make(spark, functions, pathlib.Path(arguments[1]))
    record = TESTDATA / "spark_state_reader.json"
    with tempfile.TemporaryDirectory() as folder:
        answers = [ask(spark, functions, pathlib.Path(folder), question) for question in json.loads(record.read_text())]
    record.write_text("[\n" + ",\n".join(json.dumps(answer, separators=(",", ":")) for answer in answers) + "\n]\n")


main(*sys.argv[1:])
