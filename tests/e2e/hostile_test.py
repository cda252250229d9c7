"""What an unkind client asks of the server: each gets Spark's answer or an error with a condition, and the server stays.

  hostile_test.py THALWEG
"""
import os
import shutil
import sys
import tempfile
import time
import uuid

from harness import F, Server, SparkSession

import grpc
from pyspark.errors import PySparkException
from pyspark.sql.connect.proto import base_pb2

EXECUTE = "/spark.connect.SparkConnectService/ExecutePlan"


def condition_of(action):
    """The error condition with which the action fails, or its result."""
    try:
        return action()
    except PySparkException as error:
        return error.getCondition()


def test_negative_limits_are_refused(spark):
    refused = "INVALID_LIMIT_LIKE_EXPRESSION.IS_NEGATIVE"
    rows = spark.range(5)
    assert condition_of(lambda: rows.limit(-1).collect()) == refused
    assert condition_of(lambda: rows.offset(-1).collect()) == refused
    assert condition_of(lambda: rows.tail(-1)) == refused
    assert rows.limit(0).collect() == []


def test_any_number_of_range_partitions_is_served(server):
    """The client says how many partitions a range has: a number, not yet memory or work."""
    request = base_pb2.ExecutePlanRequest(session_id=str(uuid.uuid4()))
    request.user_context.user_id = "unkind"
    range_ = request.plan.root.limit.input.range
    request.plan.root.limit.limit = 3
    range_.end, range_.step, range_.num_partitions = 10, 1, 2**31 - 1
    with grpc.insecure_channel(server.url.removeprefix("sc://").split("/")[0]) as channel:
        execute = channel.unary_stream(EXECUTE, base_pb2.ExecutePlanRequest.SerializeToString,
                                       base_pb2.ExecutePlanResponse.FromString)
        responses = list(execute(request, timeout=20))
    assert sum(response.arrow_batch.row_count for response in responses) == 3


def test_links_and_key_stores_stay_inside_the_allowed_root(spark, root, outside):
    os.symlink(outside, f"{root}/link")
    with open(f"{outside}/secret.json", "w") as secret:
        secret.write('{"word": "secret"}\n')
    for path in (f"{root}/*/secret.json", f"{root}/{{link,other}}/secret.json", f"{root}/link/*", f"{root}/../outside"):
        assert condition_of(lambda: spark.read.schema("word STRING").json(path).collect()) == "PATH_NOT_ALLOWED", path
    for option in ("kafka.ssl.truststore.location", "kafka.ssl.keystore.location"):
        for path in (f"{outside}/secret.json", f"{outside}/missing", f"{root}/link/secret.json", f"file:{outside}/secret.json"):
            reader = (spark.read.format("kafka").option("kafka.bootstrap.servers", "127.0.0.1:1").option("subscribe", "t")
                      .option("kafka.security.protocol", "SSL").option(option, path))
            assert condition_of(lambda: reader.load().collect()) == "PATH_NOT_ALLOWED", (option, path)


def test_bad_bootstrap_servers_are_refused_at_once(spark, root):
    for servers in ("\0", "", ",", "no port", "host:notaport", "host:99999999", "a:1,,b"):
        reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", servers).option("subscribe", "t")
        started = time.monotonic()
        assert condition_of(lambda: reader.load().schema) == "INVALID_OPTION", servers
        assert time.monotonic() - started < 5


def test_many_sessions_and_many_queries_at_once(server, spark):
    from concurrent.futures import ThreadPoolExecutor
    with ThreadPoolExecutor(200) as pool:
        counts = list(pool.map(lambda i: spark.range(100).filter(F.col("id") < i % 50).count(), range(200)))
    assert counts == [i % 50 for i in range(200)]
    request = base_pb2.ConfigRequest()
    request.user_context.user_id = "unkind"
    request.operation.get_option.keys.append("spark.sql.session.timeZone")
    with grpc.insecure_channel(server.url.removeprefix("sc://").split("/")[0]) as channel:
        config = channel.unary_unary("/spark.connect.SparkConnectService/Config", base_pb2.ConfigRequest.SerializeToString,
                                     base_pb2.ConfigResponse.FromString)
        for _ in range(1000):
            request.session_id = str(uuid.uuid4())
            config(request, timeout=20)


def test_a_checkpoint_that_lost_files_loses_no_rows(spark, root):
    """A batch planned anew under the number of one that the table has would be skipped, records and all."""
    clicks, corrupt, behind = f"{root}/clicks", "STREAMING_CHECKPOINT_LOG_CORRUPT", "STREAMING_CHECKPOINT_BEHIND_SINK"
    os.mkdir(clicks)

    def add(name):
        with open(f"{clicks}/{name}.json", "w") as file:
            file.write(f'{{"id": "{name}"}}\n')

    def run(folder):
        query = (spark.readStream.schema("id STRING").option("maxFilesPerTrigger", 1).json(clicks).writeStream.format("delta")
                 .option("checkpointLocation", f"{folder}/checkpoint").trigger(availableNow=True).start(f"{folder}/table"))
        try:
            query.awaitTermination()
        except PySparkException as error:
            return next((name for name in (corrupt, behind) if f"[{name}]" in str(error)), str(error))
        return sorted(row.id for row in spark.read.format("delta").load(f"{folder}/table").collect())

    for name in "abc":
        add(name)
    assert run(f"{root}/whole") == ["a", "b", "c"]
    add("d")
    losses = {"last offsets": (["offsets/2"], corrupt), "all offsets": (["offsets"], corrupt),
              "both logs": (["offsets", "commits"], behind), "two batches": (["offsets/1", "commits/1", "offsets/2", "commits/2"], behind),
              "last batch": (["offsets/2", "commits/2"], behind),
              "last commit": (["commits/2"], ["a", "b", "c", "d"]), "nothing": ([], ["a", "b", "c", "d"])}
    for name, (lost, expected) in losses.items():
        shutil.copytree(f"{root}/whole", f"{root}/{name}")
        for path in lost:
            path = f"{root}/{name}/checkpoint/{path}"
            shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)
        for attempt in range(2):
            answer = run(f"{root}/{name}")
            assert answer == expected, (name, attempt, answer)


def main():
    with tempfile.TemporaryDirectory() as folder:
        root, outside = f"{folder}/root", f"{folder}/outside"
        os.mkdir(root)
        os.mkdir(outside)
        # Relative: to where the server starts.
        server = Server(sys.argv[1], arguments=["--allowed-root", os.path.relpath(root)])
        spark = SparkSession.builder.remote(server.url).create()
        given = {"spark": spark, "server": server, "root": root, "outside": outside}
        failed = []
        for name, test in list(globals().items()):
            if not name.startswith("test_"):
                continue
            try:
                test(*(given[argument] for argument in test.__code__.co_varnames[: test.__code__.co_argcount]))
                print(f"{name}: ok", flush=True)
            except (AssertionError, grpc.RpcError, PySparkException) as error:
                failed.append(name)
                print(f"{name}: FAILED {type(error).__name__} {str(error)[:300]}", flush=True)
        spark.stop()
        server.end()
        assert not failed, failed


if __name__ == "__main__":
    main()
