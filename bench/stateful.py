"""Stateful queries beside Spark: throughput of a shape of query over a topic, both tables compared before a figure counts."""
import json
import os
import subprocess
import time

from harness import Server, cpu_seconds, memory_mb

STATEFUL_JOB = os.path.join(os.path.dirname(os.path.abspath(__file__)), "stateful_job.py")
WARM_TOPIC = "bench-warm"
# Of each column something that the order of rows and of additions does not change.
FINGERPRINT = """
import sys, os, deltalake, pyarrow as pa, pyarrow.compute as c
t = deltalake.DeltaTable(sys.argv[1]).to_pyarrow_table()
while any(pa.types.is_struct(f.type) for f in t.schema): t = t.flatten()
def of(column):
    if pa.types.is_floating(column.type): return c.sum(c.cast(c.round(c.multiply(column, 100)), 'int64')).as_py()
    if pa.types.is_timestamp(column.type): return c.sum(c.cast(c.divide(c.cast(column, 'int64'), 1000), 'int64')).as_py()
    if pa.types.is_integer(column.type): return c.sum(column).as_py()
    return c.count_distinct(column).as_py()
print(t.num_rows, [of(t[name]) for name in t.column_names], flush=True); os._exit(0)
"""


class Shapes:
    def __init__(self, peers, shapes, lanes, topic, max_offsets):
        self.peers, self.shapes, self.lanes, self.topic = peers, shapes, lanes, topic
        self.flags = ["--max-offsets", max_offsets] if max_offsets else []

    def job(self, remote, shape, out, client, extra=()):
        program = self.peers.program(STATEFUL_JOB, remote, shape, "--topic", self.topic, "--warm-topic", WARM_TOPIC, "--out", out,
                                     *self.flags, *extra, client=client, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        output, errors = program.communicate()
        line = next((l for l in output.splitlines() if l.startswith("measured ")), None)
        if line is None:
            raise SystemExit(f"{shape} failed on {remote}:\n{output[-2000:]}{errors[-3000:]}")
        return json.loads(line.removeprefix("measured "))

    def thalweg(self, shape, out):
        with Server(self.peers) as server:
            os.environ["BENCH_PID"] = str(server.pid)
            try:
                result = self.job(server.remote, shape, out, client=True)
            finally:
                del os.environ["BENCH_PID"]
            result["memory"] = memory_mb(server.pid)
            return result

    def spark(self, shape, out):
        return self.job("local", shape, out, client=False)

    def spark_in_memory(self, shape, out):
        return self.job("local", shape, out, client=False, extra=("--provider", "memory"))

    def measure(self):
        self.peers.fill_topic(WARM_TOPIC, 50_000)
        for shape in self.shapes:
            results, contents = {}, {}
            for lane in self.lanes:
                out = os.path.join(self.peers.scratch, f"{shape}-{lane}")
                results[lane] = getattr(self, lane)(shape, out)
                contents[lane] = self.peers.python(FINGERPRINT, out)
                time.sleep(1)
            self.report(shape, results, contents)

    def report(self, shape, results, contents):
        if len(set(contents.values())) > 1:
            raise SystemExit(f"{shape}: the tables differ, no figure counts: {contents}")
        print(f"{shape} over {self.topic}: tables equal: {next(iter(contents.values()))}")
        rates = {lane: result["rows"] / result["seconds"] for lane, result in results.items()}
        for lane, result in results.items():
            keys = result["state_rows"]
            text = (f"  {lane:16}{rates[lane]:12,.0f} rows/s {result['rows'] / max(result['cpu'], 0.01):12,.0f} a CPU second, "
                    f"{result['batches']} batches, {keys:,} keys of {result['state_bytes'] / max(1, keys):.0f} bytes")
            if "memory" in result:
                text += f", peak {result['memory']:.0f} MB"
            if lane == "thalweg" and "spark" in rates:
                text += f", {rates[lane] / rates['spark']:.1f} times Spark"
            print(text, flush=True)
