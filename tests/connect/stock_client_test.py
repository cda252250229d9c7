"""The stock PySpark client against a server with stub sessions: stock_client_test.py SERVER_PROGRAM"""
import os
import subprocess
import sys
import threading
import time
import unittest

from pyspark.errors import AnalysisException, ArithmeticException, PySparkException, SparkNoSuchElementException
from pyspark.sql.connect.session import SparkSession

SERVER = sys.argv.pop(1)


def start_server(**environment):
    server = subprocess.Popen([SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **environment})
    line = server.stdout.readline().strip()
    return server, line.split()[-1]


class StockClient(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server, cls.url = start_server()
        cls.spark = SparkSession.builder.remote(cls.url).appName("stock").create()

    @classmethod
    def tearDownClass(cls):
        cls.spark.stop()
        cls.server.stdin.close()
        assert cls.server.wait(10) == 0
        cls.server.stdout.close()

    def test_version(self):
        self.assertEqual(self.spark.version, "4.2.0")

    def test_conf(self):
        self.spark.conf.set("spark.sql.shuffle.partitions", "4")
        self.assertEqual(self.spark.conf.get("spark.sql.shuffle.partitions"), "4")
        with self.assertRaises(SparkNoSuchElementException) as raised:
            self.spark.conf.get("spark.unknown")
        self.assertEqual(raised.exception.getCondition(), "SQL_CONF_NOT_FOUND")

    def test_rows(self):
        rows = self.spark.sql("rows 2 3 0").collect()
        self.assertEqual([row.id for row in rows], [0, 1, 2, 3, 4, 5])

    def test_analysis_error(self):
        with self.assertRaises(AnalysisException) as raised:
            self.spark.sql("fail").collect()
        self.assertEqual(raised.exception.getCondition(), "TABLE_OR_VIEW_NOT_FOUND")
        self.assertEqual(raised.exception.getSqlState(), "42P01")
        self.assertEqual(raised.exception.getMessageParameters(), {"relationName": "`fail`"})
        with self.assertRaises(AnalysisException):
            self.spark.sql("fail").schema

    def test_error_with_context(self):
        with self.assertRaises(ArithmeticException) as raised:
            self.spark.sql("fail deeply").collect()
        self.assertEqual(raised.exception.getCondition(), "DIVIDE_BY_ZERO")
        self.assertEqual(raised.exception.getQueryContext()[0].fragment(), "1/0")
        self.assertEqual(raised.exception.getQueryContext()[0].startIndex(), 7)

    def test_long_error_fits_the_headers(self):
        with self.assertRaises(PySparkException) as raised:
            self.spark.sql("fail long").collect()
        self.assertEqual(raised.exception.getCondition(), "INVALID_OPTION")
        self.assertGreater(len(str(raised.exception)), 100_000)

    def interrupted(self, text, interrupt):
        outcome = []

        def run():
            try:
                self.spark.addTag("mine")
                self.spark.sql(text).collect()
            except PySparkException as error:
                outcome.append(error)

        worker = threading.Thread(target=run)
        worker.start()
        ids = []
        deadline = time.time() + 10
        while not ids and time.time() < deadline:
            time.sleep(0.05)
            ids = interrupt()
        worker.join(10)
        self.assertFalse(worker.is_alive())
        self.assertEqual(len(ids), 1)
        self.assertEqual(outcome[0].getCondition(), "OPERATION_CANCELED")

    def test_interrupt_all(self):
        self.interrupted("wait", self.spark.interruptAll)
        self.interrupted("block", self.spark.interruptAll)

    def test_interrupt_tag(self):
        self.assertEqual(self.spark.interruptTag("theirs"), [])
        self.interrupted("block", lambda: self.spark.interruptTag("mine"))

    def test_rotated_streams_lose_nothing(self):
        self.spark.conf.set("spark.connect.execute.reattachable.senderMaxStreamSize", "1")
        self.assertEqual([row.id for row in self.spark.sql("rows 1 20 0").collect()], list(range(20)))
        self.spark.conf.set("spark.connect.execute.reattachable.senderMaxStreamSize", "1g")
        self.spark.conf.set("spark.connect.execute.reattachable.senderMaxStreamDuration", "200ms")
        self.spark.conf.set("spark.connect.progress.reportInterval", "100ms")
        self.assertEqual([row.id for row in self.spark.sql("rows 1 5 400").collect()], list(range(5)))
        self.spark.conf.set("spark.connect.execute.reattachable.senderMaxStreamDuration", "2m")
        self.spark.conf.set("spark.connect.progress.reportInterval", "2s")

    def test_compressed_plan(self):
        text = "rows 1 1 0 " + "x" * 20_000
        client = SparkSession.builder.remote(self.url).create()
        client.conf.set("spark.connect.session.planCompression.threshold", "100")
        self.assertEqual(client.sql(text).collect()[0].id, 0)
        client.stop()

    def test_artifacts(self):
        client = self.spark._client
        blob = os.urandom(100_000)
        digest = client.cache_artifact(blob)
        self.assertEqual(len(digest), 64)
        self.assertEqual(client.cache_artifact(blob), digest)


class Token(unittest.TestCase):
    def test_token(self):
        server, url = start_server(THALWEG_TOKEN="a-token-of-the-test")
        good = SparkSession.builder.remote(url + "/;token=a-token-of-the-test").create()
        self.assertEqual(good.version, "4.2.0")
        with self.assertRaisesRegex(Exception, "no valid token"):
            SparkSession.builder.remote(url + "/;token=another").create().version
        good.stop()
        server.stdin.close()
        self.assertEqual(server.wait(10), 0)
        server.stdout.close()


if __name__ == "__main__":
    unittest.main()
