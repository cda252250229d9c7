"""What the measurements share: the server under test, the broker with its topics, PySpark programs, a process's figures."""
import atexit
import glob
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROGRAM = os.path.join(ROOT, "build", "release", "thalweg")
JOB = os.path.join(ROOT, "bench", "job.py")
TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid):
    """CPU seconds of a process tree, its ended and waited-for children included."""
    total = 0
    for stat in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(stat) as f:
                fields = f.read().rsplit(")", 1)[1].split()
        except OSError:
            continue
        process = int(stat.split("/")[2])
        if process == pid or int(fields[1]) == pid:
            total += sum(map(int, fields[11:15]))
    return total / TICKS


def memory_mb(pid, field="VmHWM"):
    with open(f"/proc/{pid}/status") as f:
        for line in f:
            if line.startswith(field):
                return int(line.split()[1]) / 1024
    return 0.0


class Peers:
    """The real parts: a folder of scripts, with PEERS_DIR set up before."""

    def __init__(self, scripts):
        self.scripts = scripts
        self.home = os.environ["PEERS_DIR"]
        self.scratch = tempfile.mkdtemp(prefix="bench-", dir=self.home)
        atexit.register(shutil.rmtree, self.scratch, ignore_errors=True)

    def start_broker(self):
        subprocess.run(["bash", "kafka.sh", "start"], cwd=self.scripts, check=True, capture_output=True)

    def generator(self, *flags):
        python = os.path.join(self.home, "v-kafka", "bin", "python")
        return subprocess.Popen([python, "gen_clickstream.py", *map(str, flags)], cwd=self.scripts, stdout=subprocess.DEVNULL)

    def fill_topic(self, topic, count):
        """Once for all runs: the topic stays with the broker."""
        marker = os.path.join(self.home, f"{topic}.generated")
        if os.path.exists(marker):
            return
        if self.generator("--count", count, "--topic", topic).wait() != 0:
            sys.exit(f"the topic {topic} could not be filled")
        open(marker, "w").close()

    def program(self, *command, client, **streams):
        env = dict(os.environ, **({"CLIENT": "1"} if client else {}))
        return subprocess.Popen(["bash", "spark_env.sh", "python", *map(str, command)], cwd=self.scripts, env=env, text=True,
                                **streams)

    def python(self, code, *args):
        """A little program with deltalake and pyarrow; its output."""
        python = os.path.join(self.home, "v-py", "bin", "python")
        return subprocess.run([python, "-c", code, *args], text=True, capture_output=True, check=True).stdout.strip()


class Server:
    """`thalweg serve` on a free port, for one `with` block."""

    def __init__(self, peers):
        self.log = open(os.path.join(peers.scratch, "serve.log"), "a")

    def __enter__(self):
        self.started = time.time()
        self.process = subprocess.Popen([PROGRAM, "serve", "--port", "0"], stdout=subprocess.PIPE, stderr=self.log, text=True)
        self.remote = self.process.stdout.readline().split()[-1]
        self.listening = time.time()
        self.pid = self.process.pid
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(30)
        self.log.close()
