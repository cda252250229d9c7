"""The stateful queries that are measured, one program for both engines.

  stateful_job.py REMOTE SHAPE --topic T [--topic2 T2] --out DIR [--max-offsets N] [--warm-topic T]

Prints one line of JSON: rows, seconds of the batches, state rows and bytes, the batches' milliseconds.
"""
import argparse
import json
import time

import spark_env
from pyspark.sql import functions as F

SCHEMA = "user_id string, product_id string, action string, timestamp timestamp, price double"
# What the performance guides of Spark give for large state.
CONF = {"spark.sql.streaming.stateStore.providerClass": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
        "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows": "false"}


def stream(spark, topic, args):
    reader = (spark.readStream.format("kafka").option("kafka.bootstrap.servers", args.bootstrap).option("subscribe", topic)
              .option("startingOffsets", "earliest"))
    if args.max_offsets:
        reader = reader.option("maxOffsetsPerTrigger", args.max_offsets)
    return reader.load().select(F.from_json(F.col("value").cast("string"), SCHEMA).alias("data")).select("data.*")


def windowed(events, keys, *window):
    return (events.withWatermark("timestamp", "10 minutes").groupBy(F.window("timestamp", *window), *keys)
            .agg(F.count("*").alias("events"), F.sum("price").alias("revenue")))


def joined(spark, topic, args, kind):
    views = (stream(spark, topic, args).where("action = 'view'").withWatermark("timestamp", "10 minutes")
             .select(F.col("user_id").alias("viewer"), F.col("product_id").alias("viewed"), F.col("timestamp").alias("seen")))
    others = (stream(spark, topic, args).where("action <> 'view'").withWatermark("timestamp", "10 minutes")
              .select("user_id", "product_id", "action", "timestamp", "price"))
    return views.join(others, F.expr("viewer = user_id AND viewed = product_id AND timestamp >= seen AND timestamp <= seen + INTERVAL 1 HOUR"), kind)


def query(spark, topic, args):
    shape = args.shape
    if shape.startswith("join-"):
        return joined(spark, topic, args, shape.removeprefix("join-").replace("-", "_"))
    events = stream(spark, topic, args)
    if shape == "tumbling":
        return windowed(events, ["product_id", "action"], "1 minute")
    if shape == "keys":  # as many groups as users
        return windowed(events, ["user_id"], "1 hour")
    if shape == "minutes":
        return windowed(events, ["action"], "1 minute")
    if shape == "sliding":  # each event is in sixty windows
        return windowed(events, ["action"], "1 minute", "1 second")
    if shape == "dedup":
        return events.withWatermark("timestamp", "10 minutes").dropDuplicates(["user_id", "timestamp"])
    if shape == "sessions":
        return (events.withWatermark("timestamp", "10 minutes").groupBy(F.session_window("timestamp", "5 minutes"), "user_id")
                .agg(F.count("*").alias("events"), F.sum("price").alias("revenue")))
    raise SystemExit(f"there is no shape {shape}")


def run(spark, topic, out, args):
    writer = query(spark, topic, args).writeStream.format("delta").outputMode("append").option("checkpointLocation", out + ".cp").option("path", out)
    return spark_env.run_query(writer, "availableNow")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("remote")
    parser.add_argument("shape")
    parser.add_argument("--bootstrap", default="127.0.0.1:19092")
    parser.add_argument("--topic", required=True)
    parser.add_argument("--warm-topic")
    parser.add_argument("--out", required=True)
    parser.add_argument("--max-offsets")
    parser.add_argument("--provider", choices=["rocksdb", "memory"], default="rocksdb")
    args = parser.parse_args()
    spark = spark_env.session(args.remote, "stateful", CONF if args.provider == "rocksdb" else {})
    if args.warm_topic:
        run(spark, args.warm_topic, args.out + "-warm", args)
    cpu, started = spark_env.cpu_seconds(), time.time()
    progress = run(spark, args.topic, args.out, args)
    seconds = time.time() - started
    cpu = spark_env.cpu_seconds() - cpu
    operators = [one["stateOperators"][0] for one in progress if one.get("stateOperators")]
    print("measured " + json.dumps({
        "rows": sum(map(spark_env.n_rows, progress)), "seconds": round(seconds, 3), "cpu": round(cpu, 3), "batches": len(progress),
        "state_rows": max(one["numRowsTotal"] for one in operators),
        "state_bytes": max(one["memoryUsedBytes"] for one in operators)}), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
