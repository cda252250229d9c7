"""The ten products that are clicked most, from the quickstart's table.

  SPARK_REMOTE=sc://localhost python top_products.py TABLE_FOLDER
"""
import os
import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F


def top_products(spark, table):
    clicks = spark.read.format("delta").load(table)
    return (
        clicks.groupBy("product_id")
        .agg(F.count("*").alias("clicks"), F.min("timestamp").alias("first"), F.max("timestamp").alias("last"),
             F.avg("price").cast("decimal(10,2)").alias("average_price"))
        .orderBy(F.desc("clicks"), "product_id")
        .limit(10)
    )


if __name__ == "__main__":
    session = SparkSession.builder.getOrCreate()
    top_products(session, os.path.abspath(sys.argv[1])).show(truncate=False)
