"""The server dies at each durable step of a micro-batch, and the next run makes up for it:
fault_points_test.py THALWEG_PROGRAM FAULT_POINTS_HEADER"""
import pathlib
import re
import sys
import tempfile

import harness

EVENTS = 13_000
RECORDS_PER_BATCH = 1_000
# Steps that come rarely die at their first pass, the others in the third batch: in the middle of a job. A checkpoint of the
# log comes at version 10, a purge of the checkpoint's folders with the tenth batch.
FIRST_PASS = {"sourceLog.before", "sourceLog.after", "deltaCheckpoint.before", "deltaCheckpoint.after", "lastCheckpoint.before",
              "purge.before"}
DIED_AT_FAULT_POINT = 137
# The job replaces no rows, drops no table and writes no files outside Delta: those points are fired by
# src/sinks/delta/delta_upsert_test.cc, names_test.py and parquet_test.py.
OF_OTHERS = ("deletionVector.", "catalogDrop.", "sinkLog.", "fileMove.")
# At these the job is one that keeps state, once with each provider. Each partition's file passes them; snapshots come with the
# tenth batch.
OF_STATE = ("stateChanges.", "stateSnapshot.")


def fault_points(header):
    points = re.findall(r'X\(\w+, "([\w.]+)"\)', pathlib.Path(header).read_text())
    assert points, "the list of fault points is not where it was"
    return [point for point in points if not point.startswith(OF_OTHERS)]


def die_and_recover(program, broker, point, state_provider=None):
    with tempfile.TemporaryDirectory(prefix="thalweg-e2e-") as folder:
        arguments = (broker.facts["bootstrap_servers"], folder, RECORDS_PER_BATCH, state_provider)
        passes = 20 if point.startswith("stateChanges.") else 1 if point in FIRST_PASS else 3
        server = harness.Server(program, fault=f"{point}:{passes}=exit")
        client = harness.Client(server.url, *arguments)
        try:
            status = server.process.wait(60)
        except harness.subprocess.TimeoutExpired:
            server.kill()
            status = "never: the job does not pass it"
        client.kill()
        assert status == DIED_AT_FAULT_POINT, f"died at the point with {status}"
        server = harness.Server(program)
        harness.Client(server.url, *arguments).finish(120)
        server.end()
        harness.assert_each_event_once(f"{folder}/table", broker.facts)


def main(program, header):
    broker = harness.Broker(program, EVENTS, 4)
    failed = []
    jobs = [(point, provider) for point in fault_points(header)
            for provider in (harness.STATE_PROVIDERS if point.startswith(OF_STATE) else [None])]
    for point, provider in jobs:
        try:
            die_and_recover(program, broker, point, provider)
            print(f"{point}: each event once", flush=True)
        except AssertionError as problem:
            failed.append(point)
            print(f"{point}: FAILED: {problem}", flush=True)
    broker.end()
    sys.exit(1 if failed else 0)


main(*sys.argv[1:3])
