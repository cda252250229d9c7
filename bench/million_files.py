"""Opening, listing and checkpointing a table of very many files, beside deltalake, DuckDB and Spark:
million_files.py PROGRAM [--files N] [--lanes thalweg,deltalake,duckdb,spark] [--keep FOLDER]

PROGRAM is the built target million_files, which also makes the table (no data files: nobody here reads them). Each measurement is a
process of its own; CPU seconds are its user and system time, less an empty start of the same interpreter for the others."""
import argparse
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import time

PEERS = pathlib.Path(os.environ.get("PEERS_DIR", "/nonexistent"))
SHARED = pathlib.Path(__file__).resolve().parents[2] / "shared"

DELTALAKE = {
    "start": "import deltalake",
    "open and list all": "import deltalake; print(len(deltalake.DeltaTable(T).file_uris()))",
    "list one partition": "import deltalake; print(len(deltalake.DeltaTable(T).file_uris([('p', '=', '437')])))",
    "checkpoint": "import deltalake; deltalake.DeltaTable(T).create_checkpoint()",
}
DUCKDB_START = """
import duckdb, duckdb_ext, pathlib
c = duckdb.connect(config={"allow_unsigned_extensions": "true"})
c.execute(f"LOAD '{next(pathlib.Path(duckdb_ext.__file__).parent.glob('extensions/*/*/delta.duckdb_extension'))}'")
"""
DUCKDB = {
    "start": DUCKDB_START,
    "list one partition": DUCKDB_START + "print(c.execute(f\"EXPLAIN SELECT id FROM delta_scan('{T}') WHERE p = 437\").fetchall()[0][1][-400:])",
}
SPARK_START = """
import sys; sys.path.insert(0, SHARED + "/peers")
from spark_env import session
spark = session("local[2]")
"""
SPARK = {
    "start": SPARK_START + "spark.range(1).count()",
    "list one partition": SPARK_START + "print(len(spark.read.format('delta').load(T).where('p = 437').inputFiles()))",
}


def run(command, table):
    """A process's CPU seconds with its children's, wall seconds, and peak memory in MB of the largest of them."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    peak = 0
    while process.poll() is None:
        peak = max(peak, tree_peak(process.pid))
        time.sleep(0.02)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if process.returncode:
        raise SystemExit(f"{command[:2]} failed")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"cpu_s": cpu, "wall_s": time.monotonic() - start, "peak_mb": peak / 1024, "said": process.stdout.read().strip()[-200:]}


def tree_peak(pid):
    """The greatest peak (in kB) of a process and what it started."""
    peak = 0
    try:
        for line in open(f"/proc/{pid}/status"):
            if line.startswith("VmHWM:"):
                peak = int(line.split()[1])
        for child in open(f"/proc/{pid}/task/{pid}/children").read().split():
            peak = max(peak, tree_peak(int(child)))
    except (FileNotFoundError, ProcessLookupError):
        pass
    return peak


def lane(name, python, programs, table):
    empty = None
    for what, program in programs.items():
        code = f"T = {str(table)!r}\nSHARED = {str(SHARED)!r}\n{program}"
        measured = run([*python, "-c", code], table)
        if what == "start":
            empty = measured
            continue
        show(name, what, {**measured, "cpu_s": measured["cpu_s"] - empty["cpu_s"], "start_mb": empty["peak_mb"]})


def show(name, what, measured):
    print(f"{name:10} {what:24} CPU {measured['cpu_s']:8.4f} s  wall {measured['wall_s']:8.3f} s  peak {measured['peak_mb']:7.0f} MB"
          + "".join(f"  {key} {measured[key]}" for key in ("more_mb", "file_mb", "files", "start_mb") if key in measured), flush=True)


def thalweg(program, table):
    for what in ("open", "partition", "refresh", "checkpoint", "commit"):
        copy = table
        if what in ("refresh", "commit", "checkpoint"):  # they write
            copy = table.with_name(table.name + "-" + what)
            shutil.copytree(table, copy)
        measured = json.loads(subprocess.run([program, what, str(copy)], check=True, capture_output=True, text=True).stdout)
        show("thalweg", measured["what"], measured)
        if copy != table:
            shutil.rmtree(copy)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("program")
    arguments.add_argument("--files", type=int, default=1_000_000)
    arguments.add_argument("--lanes", default="thalweg,deltalake,duckdb,spark")
    arguments.add_argument("--keep", help="an existing table of an earlier run, or where to leave it")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory(prefix="thalweg-million-") as scratch:
        table = pathlib.Path(given.keep or f"{scratch}/table")
        if not (table / "_delta_log").exists():
            subprocess.run([given.program, "generate", str(table), str(given.files)], check=True)
        small = pathlib.Path(scratch) / "thousand"
        subprocess.run([given.program, "generate", str(small), "1000", "10"], check=True)
        lanes = given.lanes.split(",")
        if "thalweg" in lanes:
            thalweg(given.program, table)
            show("thalweg", "the same, 1,000 files", json.loads(subprocess.run(
                [given.program, "commit", str(small)], check=True, capture_output=True, text=True).stdout))
        if "deltalake" in lanes:
            copy = pathlib.Path(scratch) / "deltalake"
            shutil.copytree(table, copy)
            lane("deltalake", [f"{PEERS}/v-py/bin/python"], DELTALAKE, copy)
            shutil.rmtree(copy)
        if "duckdb" in lanes:
            lane("duckdb", [f"{PEERS}/v-duckdb/bin/python"], DUCKDB, table)
        if "spark" in lanes:
            lane("spark", [str(SHARED / "peers" / "spark_env.sh"), "python"], SPARK, table)


if __name__ == "__main__":
    main()
