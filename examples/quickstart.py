"""Clicks from Kafka into a Delta table, each exactly once: plain PySpark, for Thalweg and for a Spark cluster alike.

  SPARK_REMOTE=sc://localhost python quickstart.py BOOTSTRAP_SERVERS TABLE_FOLDER CHECKPOINT_FOLDER
"""
import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

CLICK = "user_id STRING, product_id STRING, action STRING, timestamp TIMESTAMP, price DOUBLE"


def start(spark, bootstrap_servers, table, checkpoint):
    """Starts the query that reads what Kafka has now, and returns its handle."""
    records = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", bootstrap_servers)
        .option("subscribe", "clicks")
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", 50_000)
        .load()
    )
    clicks = (
        records.select(F.from_json(F.col("value").cast("string"), CLICK).alias("click"), "partition", "offset")
        .select("click.*", "partition", "offset")
        .withColumn("ingested_at", F.current_timestamp())
        .withColumn("date", F.to_date("timestamp"))
    )
    return (
        clicks.writeStream.format("delta")
        .partitionBy("date")
        .option("checkpointLocation", checkpoint)
        .trigger(availableNow=True)
        .start(table)
    )


if __name__ == "__main__":
    session = SparkSession.builder.getOrCreate()
    start(session, *sys.argv[1:4]).awaitTermination()
