"""Makes src/state/testdata anew: what Spark's state reader finds in each stateful fixture, batch by batch.
../shared/peers/spark_env.sh python tests/e2e/record_state.py OUTPUT_FOLDER FIXTURE..."""
import json
import pathlib
import shutil
import sys
import tempfile

SHARED = pathlib.Path(__file__).resolve().parents[3] / "shared"
sys.path.insert(0, str(SHARED / "peers"))


def bytes_of(java_bytes):
    return bytes(byte & 0xFF for byte in java_bytes).hex()


def record_store(spark, functions, checkpoint, operator, store):
    distinct, rows, versions, schemas = {}, [], {}, {}
    last = max(int(path.name) for path in (checkpoint / "commits").iterdir() if path.name.isdigit())
    for batch in range(last + 1):
        frame = (spark.read.format("statestore").option("batchId", batch).option("operatorId", operator)
                 .option("storeName", store).load(str(checkpoint)))
        schemas = {name: json.loads(frame.schema[name].dataType.json()) for name in ("key", "value")}
        text = functions.to_json(functions.struct("key", "value"), {"ignoreNullFields": "false"})
        found = []
        for row in frame.select("key", "value", "partition_id", text)._jdf.queryExecution().executedPlan().executeCollect():
            parts = [row.getStruct(i, len(schemas[name]["fields"])).getBytes() for i, name in enumerate(("key", "value"))]
            identity = (row.getInt(2), bytes_of(parts[0]), bytes_of(parts[1]))
            if identity not in distinct:
                distinct[identity] = len(rows)
                values = json.loads(str(row.getUTF8String(3)))
                rows.append([*identity, values.get("key"), values.get("value")])
            found.append(distinct[identity])
        versions[str(batch + 1)] = sorted(found)
    return {"keySchema": schemas["key"], "valueSchema": schemas["value"], "rows": rows, "versions": versions}


def record(spark, functions, fixture):
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = pathlib.Path(folder) / "checkpoint"
        shutil.copytree(SHARED / "testdata" / "spark-checkpoints" / fixture / "checkpoint", checkpoint)
        stores = {}
        for operator in sorted(path.name for path in (checkpoint / "state").iterdir() if path.name.isdigit()):
            metadata = (checkpoint / "state" / operator / "_metadata" / "metadata").read_text().split("\n", 1)[1]
            for store in json.loads(metadata)["stateStoreInfo"]:
                name = store["storeName"]
                stores[f"{operator}/{name}"] = record_store(spark, functions, checkpoint, operator, name)
        operators = [row.asDict() for row in spark.read.format("state-metadata").load(str(checkpoint)).collect()]
        return {"metadata": operators, "stores": stores}


def main(output, *fixtures):
    from pyspark.sql import functions
    from spark_env import session
    spark = session("local[2]", conf={"spark.sql.shuffle.partitions": "2"})
    spark.streams.active  # the reader needs what the first use of streams starts
    for fixture in fixtures:
        text = json.dumps(record(spark, functions, fixture), separators=(",", ":"))
        (pathlib.Path(output) / f"{fixture.replace('/', '_')}.json").write_text(text)


main(*sys.argv[1:])
