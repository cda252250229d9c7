"""Three engines write one table at once: three_engines_test.py THALWEG_PROGRAM [--seconds 30] [--keep FOLDER] [--deltalake-optimizes]

Thalweg's server, Spark with Delta, and deltalake append, delete and optimize on one local path. Each row says who wrote it and as
what number; each engine notes what was acknowledged. At the end every acknowledged row that no delete took is in the table once,
every version that was read reads the same again, and all three read the same last version. Skipped (77) without PEERS_DIR.

On local disk deltalake and Thalweg put a commit by a hard link, which only one of two can make. Spark looks whether the name is
there and then renames over it: two steps, between which another's commit can be lost. The log's folder is watched for that, and
what Spark overwrote is counted, and told from rows that are lost otherwise.

deltalake 1.6.6 does not see that another's OPTIMIZE took the files that its own takes, and doubles their rows: it optimizes only
where it is told to. The log is replayed: a commit that takes away what is not there is its writer's fault, and must not be ours.

Inside of the others' Pythons this program calls itself with INSIDE before its arguments."""
import argparse
import collections
import ctypes
import hashlib
import json
import os
import pathlib
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import time

SHARED = pathlib.Path(__file__).resolve().parents[3] / "shared"
SKIPPED = 77
CONFLICT = re.compile(r"DELTA_CONCURRENT_|DELTA_METADATA_CHANGED|Concurrent|conflict|Failed to commit transaction|Transaction failed", re.I)
ROWS_PER_APPEND = 20
OPTIMIZES = "deltalake-optimizes"
# Between deeds: Spark needs about a second for one, and loses every race against who makes ten commits meanwhile.
REST_SECONDS = {"spark": 0.0, "thalweg": 0.3, "deltalake": 0.3}


def content_hash(rows):
    """Of a version's rows, whatever their order."""
    digest = hashlib.sha256()
    for writer, number in sorted(rows):
        digest.update(f"{writer}:{number};".encode())
    return digest.hexdigest()


# ---- the engines: append(numbers), delete(first, last), optimize(), newest() and rows(version)

class SparkEngine:
    """Thalweg's server by its Connect client, or Spark itself."""

    def __init__(self, name, spark, path):
        self.name, self.spark, self.path = name, spark, path

    def append(self, numbers):
        values = ", ".join(f"('{self.name}', {number})" for number in numbers)
        self.spark.sql(f"INSERT INTO delta.`{self.path}` VALUES {values}").collect()

    def delete(self, first, last):
        self.spark.sql(f"DELETE FROM delta.`{self.path}` WHERE writer = '{self.name}' AND n BETWEEN {first} AND {last}").collect()

    def optimize(self):
        self.spark.sql(f"OPTIMIZE delta.`{self.path}`").collect()

    def newest(self):
        return self.spark.sql(f"DESCRIBE HISTORY delta.`{self.path}` LIMIT 1").collect()[0].version

    def rows(self, version):
        table = self.spark.read.format("delta").option("versionAsOf", version).load(self.path)
        return [(row.writer, row.n) for row in table.collect()]


class DeltalakeEngine:
    name = "deltalake"

    def __init__(self, path):
        import deltalake
        import pyarrow
        self.deltalake, self.pyarrow, self.path = deltalake, pyarrow, path

    def append(self, numbers):
        table = self.pyarrow.table({"writer": [self.name] * len(numbers), "n": self.pyarrow.array(numbers, self.pyarrow.int64())})
        self.deltalake.write_deltalake(self.path, table, mode="append")

    def delete(self, first, last):
        self.deltalake.DeltaTable(self.path).delete(f"writer = '{self.name}' AND n >= {first} AND n <= {last}")

    def optimize(self):
        self.deltalake.DeltaTable(self.path).optimize.compact()

    def newest(self):
        return self.deltalake.DeltaTable(self.path).version()

    def rows(self, version):
        table = self.deltalake.DeltaTable(self.path, version=version)
        read = self.deltalake.QueryBuilder().register("t", table).execute("SELECT writer, n FROM t").read_all()
        return list(zip(read.column("writer").to_pylist(), read.column("n").to_pylist()))


def work(engine, folder, seconds):
    """Notes one JSON line a deed: its rows, and whether it was acknowledged (true), refused (false) or unknown (null)."""
    generator = random.Random(engine.name)
    optimizes = engine.name != "deltalake" or (folder / OPTIMIZES).exists()
    number, mine = 0, []  # mine: acknowledged (first, last), not deleted
    (folder / f"{engine.name}.ready").touch()
    while not (folder / "go").exists():
        time.sleep(0.02)
    end = time.monotonic() + seconds
    with open(folder / f"{engine.name}.notes", "w", buffering=1) as notes:
        def deed(kind, run, first=None, last=None):
            answer, fault = True, None
            try:
                run()
            except Exception as error:  # noqa: BLE001 - any engine's
                fault = f"{type(error).__name__}: {error}"[:300]
                answer = False if CONFLICT.search(fault) else None
            notes.write(json.dumps({"kind": kind, "first": first, "last": last, "answer": answer, "fault": fault, "at": time.time()}) + "\n")
            return answer

        while time.monotonic() < end:
            choice = generator.random()
            if choice < 0.55 or not mine:
                first, last = number, number + ROWS_PER_APPEND - 1
                number += ROWS_PER_APPEND
                if deed("append", lambda: engine.append(list(range(first, last + 1))), first, last):
                    mine.append((first, last))
            elif choice < 0.75:
                first, last = mine.pop(generator.randrange(len(mine)))
                middle = (first + last) // 2 if generator.random() < 0.3 else last
                if deed("delete", lambda: engine.delete(first, middle), first, middle) is False or middle < last:
                    mine.append((middle + 1, last) if middle < last else (first, last))
            elif choice < 0.85 and optimizes:
                deed("optimize", engine.optimize)
            else:
                def look():
                    newest = engine.newest()
                    version = generator.randrange(newest + 1) if generator.random() < 0.5 else newest
                    notes.write(json.dumps({"kind": "seen", "version": version, "hash": content_hash(engine.rows(version))}) + "\n")
                deed("read", look)
            time.sleep(REST_SECONDS[engine.name])


def answer_questions(engine, folder):
    """The rows of versions: {version: hash}, and the last one's rows."""
    versions = json.loads((folder / "versions.json").read_text())
    hashes, rows = {}, []
    for version in versions:
        rows = engine.rows(version)
        hashes[version] = content_hash(rows)
    (folder / f"{engine.name}.answers").write_text(json.dumps({"newest": engine.newest(), "hashes": hashes, "rows": rows}))


def inside(name, role, folder, seconds):
    if name == "spark":
        sys.path.insert(0, str(SHARED / "peers"))
        from spark_env import session
        engine = SparkEngine("spark", session("local[2]"), f"{folder}/t")
        engine.newest()  # its classes are loaded before the race begins
    else:
        engine = DeltalakeEngine(f"{folder}/t")
    act(engine, role, pathlib.Path(folder), float(seconds))


def act(engine, role, folder, seconds):
    work(engine, folder, seconds) if role == "work" else answer_questions(engine, folder)


def thalweg(url, role, folder, seconds):
    import harness
    act(SparkEngine("thalweg", harness.SparkSession.builder.remote(url).create(), f"{folder}/t"), role, folder, seconds)


# ---- who put which version, as the kernel saw it

class LogWatch(threading.Thread):
    """Names of commits that came to be, and how: a link makes one, a rename moves one in."""
    CREATE, MOVED_TO = 0x100, 0x80

    def __init__(self, log):
        super().__init__(daemon=True)
        self.events = collections.defaultdict(list)  # version → ["link" | "rename", …]
        libc = ctypes.CDLL(None, use_errno=True)
        self.descriptor = libc.inotify_init()
        assert libc.inotify_add_watch(self.descriptor, str(log).encode(), self.CREATE | self.MOVED_TO) >= 0
        self.start()

    def run(self):
        while True:
            data = os.read(self.descriptor, 1 << 16)
            while data:
                _, mask, _, length = struct.unpack_from("iIII", data)
                name = data[16:16 + length].rstrip(b"\0").decode()
                data = data[16 + length:]
                if re.fullmatch(r"\d{20}\.json", name):
                    self.events[int(name[:20])].append("rename" if mask & self.MOVED_TO else "link")

    def overwritten(self):
        return {version: how for version, how in self.events.items() if len(how) > 1}


# ---- what must be true

def notes_of(folder, name):
    return [json.loads(line) for line in (folder / f"{name}.notes").read_text().splitlines()]


def expectation(folder, names):
    """Rows that must be there, and rows that may be: their append or delete was not answered."""
    must, may = set(), set()
    for name in names:
        for note in notes_of(folder, name):
            rows = {(name, n) for n in range(note["first"], note["last"] + 1)} if note.get("first") is not None else set()
            if note["kind"] == "append":
                (must if note["answer"] else may).update(rows if note["answer"] is not False else ())
            elif note["kind"] == "delete" and note["answer"] is not False:
                may |= rows & must if note["answer"] is None else set()
                must -= rows
    return must, may


def all_rows_ever(folder):
    """Rows of every data file that any commit names: what was put into the log once, and stayed."""
    import urllib.parse
    import pyarrow.parquet as parquet
    rows = set()
    for commit in sorted((folder / "t/_delta_log").glob("*.json")):
        for action in map(json.loads, commit.read_text().splitlines()):
            if action.get("add", {}).get("dataChange"):
                table = parquet.ParquetFile(folder / "t" / urllib.parse.unquote(action["add"]["path"])).read(["writer", "n"])
                rows.update(zip(table.column("writer").to_pylist(), table.column("n").to_pylist()))
    return rows


def faulty_commits(folder):
    """Versions, and their writers, that remove a file which is not there or add one which is."""
    live, faults = set(), []
    for commit in sorted((folder / "t/_delta_log").glob("*.json")):
        actions = [json.loads(line) for line in commit.read_text().splitlines()]
        removed = {action["remove"]["path"] for action in actions if "remove" in action}
        added = {action["add"]["path"] for action in actions if "add" in action}
        if removed - live or added & live:
            faults.append((int(commit.stem), next(action["commitInfo"].get("engineInfo") for action in actions if "commitInfo" in action)))
        live = (live - removed) | added
    return faults


def check_rows(folder, names, rows, overwritten):
    must, may = expectation(folder, names)
    counted = collections.Counter(map(tuple, rows))
    doubled = [row for row, times in counted.items() if times > 1]
    assert not doubled, f"{len(doubled)} rows are there twice: {doubled[:5]}"
    lost, risen = must - counted.keys(), counted.keys() - must - may
    if lost or risen:
        never = lost - all_rows_ever(folder)
        by_spark = [version for version, how in overwritten.items() if how[-1] == "rename"]
        print(f"{len(lost)} rows lost, of which no commit names {len(never)}; {len(risen)} deleted ones came back; Spark renamed over {by_spark}")
        assert len(by_spark) * ROWS_PER_APPEND >= len(lost) + len(risen), f"lost {sorted(lost)[:5]}, risen {sorted(risen)[:5]}"
    print(f"{len(must)} acknowledged rows, {len(rows)} in the table, {len(must & counted.keys())} of them as they must be", flush=True)


def check_versions(folder, names, answers):
    seen = collections.defaultdict(set)
    for name in names:
        for note in notes_of(folder, name):
            if note["kind"] == "seen":
                seen[note["version"]].add((note["hash"], name))
        for version, found in answers[name]["hashes"].items():
            seen[int(version)].add((found, name))
    changed = {version: found for version, found in seen.items() if len({one for one, _ in found}) > 1}
    assert not changed, f"versions that read differently: {dict(list(changed.items())[:3])}"
    print(f"{len(seen)} versions were read, some by all three, and each read the same every time", flush=True)


def report(folder, name):
    deeds = collections.Counter()
    for note in notes_of(folder, name):
        if note["kind"] != "seen":
            deeds[note["kind"], {True: "done", False: "conflicts", None: "unknown"}[note["answer"]]] += 1
    print(f"{name}: " + ", ".join(f"{kind} {count} {answer}" for (kind, answer), count in sorted(deeds.items())), flush=True)
    for note in [note for note in notes_of(folder, name) if note.get("fault") and note["answer"] is None][:5]:
        print(f"  {name} {note['kind']}: {note['fault']}", flush=True)


class Engines:
    def __init__(self, program, folder, peers):
        import harness
        self.harness, self.folder = harness, folder
        self.server = harness.Server(program)
        self.pythons = {"spark": (str(SHARED / "peers" / "spark_env.sh"), "python"), "deltalake": (f"{peers}/v-py/bin/python",)}
        self.names = ("thalweg", "spark", "deltalake")

    def run(self, role, seconds, when_ready=None):
        ours = self.harness.FORK.Process(target=thalweg, args=(self.server.url, role, self.folder, seconds), daemon=True)
        ours.start()
        theirs = [self.harness.ends_with_us(subprocess.Popen([*python, __file__, "INSIDE", name, role, str(self.folder), str(seconds)]))
                  for name, python in self.pythons.items()]
        if when_ready:
            when_ready()
        for process in theirs:
            assert process.wait(seconds + 600) == 0, "an engine's process failed"
        ours.join(seconds + 600)
        assert ours.exitcode == 0, f"our client ended with {ours.exitcode}"


def make_table(url, folder):
    import harness
    spark = harness.SparkSession.builder.remote(url).create()
    spark.sql(f"CREATE TABLE delta.`{folder}/t` (writer STRING, n BIGINT) USING delta").collect()
    spark.stop()


def race(program, folder, peers, seconds, deltalake_optimizes):
    if deltalake_optimizes:
        (folder / OPTIMIZES).touch()
    engines = Engines(program, folder, peers)
    process = engines.harness.FORK.Process(target=make_table, args=(engines.server.url, folder), daemon=True)
    process.start()
    process.join(60)
    watch = LogWatch(folder / "t/_delta_log")

    def go():
        while not all((folder / f"{name}.ready").exists() for name in engines.names):
            time.sleep(0.1)
        (folder / "go").touch()

    engines.run("work", seconds, go)
    for name in engines.names:
        report(folder, name)
    newest = engines.harness.committed_versions(folder / "t")[-1]
    sample = random.Random(1).sample(range(newest), min(newest, 4 if seconds < 100 else 60))
    (folder / "versions.json").write_text(json.dumps([*sorted(sample), newest]))
    engines.run("ask", 0)
    engines.server.end()
    overwritten = watch.overwritten()
    print(f"{newest + 1} versions; commits that were put twice: {overwritten or 'none'}", flush=True)
    answers = {name: json.loads((folder / f"{name}.answers").read_text()) for name in engines.names}
    assert {answer["newest"] for answer in answers.values()} == {newest}
    check_versions(folder, engines.names, answers)
    faults = faulty_commits(folder)
    assert not any(writer.startswith("Thalweg") for _, writer in faults), faults
    if faults:
        return print(f"commits of others that took what was gone: {faults}; what rows there are is theirs")
    check_rows(folder, engines.names, answers["thalweg"]["rows"], overwritten)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--keep", type=pathlib.Path, help="leave the table and the notes here")
    parser.add_argument("--deltalake-optimizes", action="store_true")
    options = parser.parse_args()
    peers = os.environ.get("PEERS_DIR")
    if not peers or not shutil.which("java") or not all(pathlib.Path(peers, venv).exists() for venv in ("v-spark42", "v-py")):
        print("skipped: no Spark and deltalake in PEERS_DIR, or no Java")
        return SKIPPED
    if options.keep:
        options.keep.mkdir(parents=True)
        race(options.program, options.keep, peers, options.seconds, options.deltalake_optimizes)
        return 0
    with tempfile.TemporaryDirectory(prefix="thalweg-engines-") as folder:
        race(options.program, pathlib.Path(folder), peers, options.seconds, options.deltalake_optimizes)
    return 0


if __name__ == "__main__":
    if sys.argv[1] == "INSIDE":
        inside(*sys.argv[2:6])
        sys.exit(0)
    sys.exit(main())
