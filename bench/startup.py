"""From the server's process start to the first committed batch, asked for by a client that has its imports behind it."""
import os
import subprocess
import time

from harness import JOB, Server, memory_mb

ROUNDS = 7


def measure(peers):
    peers.fill_topic("bench-one", 1)
    rounds = []
    for i in range(ROUNDS):
        table = os.path.join(peers.scratch, f"startup-{i}")
        job = peers.program(JOB, "bench-one", table, "availableNow", client=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        job.stdout.readline()
        with Server(peers) as server:
            idle = memory_mb(server.pid, "VmRSS")
            job.stdin.write(server.remote + "\n")
            job.stdin.flush()
            commit = os.path.join(table, "_delta_log", f"{0:020}.json")
            while not os.path.exists(commit):
                if job.poll() not in (None, 0) or time.time() > server.started + 30:
                    raise SystemExit("the first batch did not come")
                time.sleep(0.001)
            rounds.append(((time.time() - server.started) * 1e3, (server.listening - server.started) * 1e3, idle))
            job.wait()
    rounds.sort()
    total, listening, idle = rounds[len(rounds) // 2]
    print(f"start to first commit: median {total:.0f} ms ({listening:.0f} ms of it to listening), best {rounds[0][0]:.0f}, "
          f"worst {rounds[-1][0]:.0f} of {ROUNDS}; idle memory {idle:.0f} MB; load {os.getloadavg()[0]:.1f}")
