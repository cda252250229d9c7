"""A job from Kafka to Delta whose server is killed again and again: kafka_to_delta_test.py THALWEG_PROGRAM [SEED]"""
import random
import sys
import tempfile
import time

import harness

# What the broker keeps in four partitions.
EVENTS = 100_000
# Enough batches that eight kills, each a few batches after the last, all come before the job's end.
RECORDS_PER_BATCH = 250
KILLS = 8


def wait_for_versions(table, count):
    deadline = time.monotonic() + 30
    while len(harness.committed_versions(table)) < count:
        assert time.monotonic() < deadline, f"no {count} versions after 30 s"
        time.sleep(0.005)


def main(program, seed):
    print(f"seed {seed}")
    moments = random.Random(seed)
    broker = harness.Broker(program, EVENTS, 4)
    with tempfile.TemporaryDirectory(prefix="thalweg-e2e-") as folder:
        arguments = (broker.facts["bootstrap_servers"], folder, RECORDS_PER_BATCH)
        batches_seen = []
        for _ in range(KILLS):
            server = harness.Server(program)
            client = harness.Client(server.url, *arguments)
            # From before the first step of the job to well within it, at any step of a batch.
            wait_for_versions(f"{folder}/table", sum(batches_seen[-1:]) + moments.randrange(0, 12))
            time.sleep(moments.uniform(0, 0.1))
            server.kill()
            client.kill()
            batches_seen.append(len(harness.committed_versions(f"{folder}/table")))
        server = harness.Server(program)
        harness.Client(server.url, *arguments).finish(60)
        server.end()
        harness.assert_each_event_once(f"{folder}/table", broker.facts)
        print(f"versions after each kill: {batches_seen}, at the end: {len(harness.committed_versions(f'{folder}/table'))}")
        assert 0 < batches_seen[-1] < EVENTS // RECORDS_PER_BATCH, "no kill came in the middle of the job"
    broker.end()


main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else time.time_ns())
