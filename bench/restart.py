"""kill -9 of a server whose query has many keys, and how long its successor takes to the query's next commit."""
import os
import subprocess
import time

from harness import Server

LIVE_KEYS_JOB = os.path.join(os.path.dirname(os.path.abspath(__file__)), "live_keys_job.py")


def job(peers, folder, keys, phase):
    process = peers.program(LIVE_KEYS_JOB, "-", "--keys", keys, "--folder", folder, "--phase", phase, client=True,
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout.readline().strip() == "ready"
    return process


def tell(process, server):
    process.stdin.write(server.remote + "\n")
    process.stdin.flush()


def measure(peers, keys):
    folder = os.path.join(peers.scratch, "restart")
    process = job(peers, folder, keys, "load")
    with Server(peers) as server:
        tell(process, server)
        while process.stdout.readline().strip() != "loaded":
            if process.poll() is not None:
                raise SystemExit("the keys could not be loaded")
        server.process.kill()
    process.kill()  # it would look for its server for minutes
    process.wait()
    process = job(peers, folder, keys, "resume")
    commits = os.path.join(folder, "cp", "commits")
    before = len(os.listdir(commits))
    with Server(peers) as server:
        tell(process, server)
        while len(os.listdir(commits)) == before:
            if process.poll() is not None or time.time() > server.started + 60:
                raise SystemExit("the batch after the restart did not come")
            time.sleep(0.001)
        milliseconds = (time.time() - server.started) * 1e3
        process.kill()
    print(f"kill -9 with {keys:,} keys: {milliseconds:.0f} ms from the new process's start to the query's next commit, "
          f"load {os.getloadavg()[0]:.1f}")
