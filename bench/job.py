"""The job whose latency and start are measured: Kafka JSON -> from_json -> Delta, with each record's Kafka timestamp as `sent`.

  job.py TOPIC OUT TRIGGER [SECONDS]     the server's address is read from standard input, so that imports come first
"""
import sys

# What the client would else load at its first call.
import pyspark.sql.connect.functions  # noqa: F401
import pyspark.sql.connect.session  # noqa: F401
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

topic, out, trigger = sys.argv[1:4]
seconds = float(sys.argv[4]) if len(sys.argv) > 4 else None
print("ready", flush=True)
spark = SparkSession.builder.remote(sys.stdin.readline().strip()).getOrCreate()
schema = "user_id STRING, product_id STRING, action STRING, timestamp TIMESTAMP, price DOUBLE"
events = (spark.readStream.format("kafka").option("kafka.bootstrap.servers", "127.0.0.1:19092").option("subscribe", topic)
          .option("startingOffsets", "earliest" if trigger == "availableNow" else "latest").load()
          .select(F.col("timestamp").alias("sent"), F.from_json(F.col("value").cast("string"), schema).alias("data"))
          .select("sent", "data.*"))
writer = events.writeStream.format("delta").option("checkpointLocation", out + ".cp")
if trigger == "availableNow":
    writer = writer.trigger(availableNow=True)
query = writer.start(out)
print("started", flush=True)
query.awaitTermination(seconds) if seconds else query.awaitTermination()
query.stop()
