"""How long a record takes from its Kafka timestamp to a commit that shows it, with the default trigger.

A commit counts from its file's last change of status, which is its publication. The producer sends at a steady rate, and the
timestamp is the producer's, so waiting in the producer counts too.
"""
import glob
import json
import os
import subprocess
import time

from harness import JOB, Server, cpu_seconds, memory_mb

SETTLE_SECONDS = 3  # the query starts, and its first batches, before the producer does
PRODUCER_STARTS = 1  # a producer's first records wait in it for its first answers from the broker: seconds left out

# Arguments: the table. Prints, a line a version: the commit's time in seconds, its rows' latencies in ms.
READ_LATENCIES = """
import glob, json, os, sys
import pyarrow.parquet as parquet
table = sys.argv[1]
for path in sorted(glob.glob(table + "/_delta_log/*.json")):
    committed = os.stat(path).st_ctime_ns / 1e9
    latencies = []
    for line in open(path):
        action = json.loads(line)
        # Merged files hold rows that were committed before.
        if not action.get("add", {}).get("dataChange"): continue
        sent = parquet.read_table(os.path.join(table, action["add"]["path"]), columns=["sent"], partitioning=None)["sent"]
        latencies += [round(committed * 1e3 - micros / 1e3, 1) for micros in sent.cast("int64").to_pylist()]
    if latencies: print(json.dumps([committed, latencies]))
sys.stdout.flush()
os._exit(0)
"""


def percentiles(latencies):
    ordered = sorted(latencies)
    at = lambda share: ordered[min(len(ordered) - 1, int(len(ordered) * share))]
    return {"rows": len(ordered), "p50": at(0.5), "p90": at(0.9), "p99": at(0.99), "p99.9": at(0.999), "max": ordered[-1]}


def text(figures):
    return f"{figures['rows']:,} rows: " + ", ".join(f"{name} {figures[name]:.0f} ms" for name in figures if name != "rows")


def measure(peers, rate, seconds):
    topic = f"latency-{rate}-{int(time.time())}"
    table = os.path.join(peers.scratch, topic)
    if peers.generator("--count", 1, "--topic", topic).wait() != 0:
        raise SystemExit("the broker takes no records")
    with Server(peers) as server:
        job = peers.program(JOB, topic, table, "default", seconds + 2 * SETTLE_SECONDS, client=True, stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE)
        job.stdin.write(server.remote + "\n")
        job.stdin.flush()
        for _ in range(2):
            job.stdout.readline()
        time.sleep(SETTLE_SECONDS)
        cpu = cpu_seconds(server.pid)
        producer = peers.generator("--count", int(rate * seconds), "--rate", rate, "--now", "--jitter", 0, "--topic", topic)
        memory = []
        while producer.poll() is None:
            memory.append(memory_mb(server.pid, "VmRSS"))
            time.sleep(1)
        cpu = cpu_seconds(server.pid) - cpu
        job.wait()
        peak = memory_mb(server.pid)
    report(peers, table, rate, seconds, cpu, memory, peak)


def report(peers, table, rate, seconds, cpu, memory, peak):
    versions = [json.loads(line) for line in peers.python(READ_LATENCIES, table).splitlines()]
    if not versions:
        raise SystemExit(f"nothing was committed into {table}")
    committed = sum(len(latencies) for _, latencies in versions)
    versions = [version for version in versions if version[0] >= versions[0][0] + PRODUCER_STARTS]
    first, last = versions[0][0], versions[-1][0]
    within = lambda low, high: [ms for at, latencies in versions if low <= at <= high for ms in latencies]
    gaps = [b[0] - a[0] for a, b in zip(versions, versions[1:])] or [0]
    rows = within(first, last)
    print(f"{rate:,}/s for {seconds:.0f} s, load {os.getloadavg()[0]:.1f}")
    print(f"  all            {text(percentiles(rows))}")
    print(f"  first minute   {text(percentiles(within(first, first + 60)))}")
    print(f"  last minute    {text(percentiles(within(last - 60, last)))}")
    with open(sorted(glob.glob(table + "/_delta_log/*.crc"))[-1]) as checksum:
        live = json.load(checksum)["numFiles"]
    print(f"  {len(versions):,} versions with rows, {len(glob.glob(table + '/_delta_log/*.json')):,} in all, {live:,} live data files")
    print(f"  between commits: most {max(gaps) * 1e3:.0f} ms, over a second {sum(gap > 1 for gap in gaps)} times")
    print(f"  memory {memory[0]:.0f} MB at first, {memory[-1]:.0f} MB at last, {peak:.0f} MB at most; {cpu / seconds * 100:.0f} % of a core")
    expected = int(rate * seconds)
    if committed != expected:
        raise SystemExit(f"{expected:,} records were sent and {committed:,} committed")
