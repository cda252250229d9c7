"""What keeping a Delta table costs, one program for each engine: maintenance_job.py ENGINE REMOTE STEP TABLE [--rows N] [--files N]

ENGINE is thalweg or spark (REMOTE as spark_env has it), deltalake or duckdb (no remote). STEP is
  make      rows spread over files: a and b random, c a double, d a text, e a time (deltalake alone: nobody's own layout)
  zorder    OPTIMIZE … ZORDER BY (a, b)
  compact   OPTIMIZE
  point     rows of one (a, b), twenty times, warm
Prints one line of JSON: seconds, CPU seconds of this process (clients: of little meaning), peak memory, what the step found.
"""
import argparse
import json
import os
import resource
import statistics
import time

RANDOM = 1_000_000
FILE_BYTES = "BENCH_FILE_BYTES"  # the size of files that OPTIMIZE aims at, where it is not Delta's
POINTS = 20


def usage():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def make(path, rows, files):
    import numpy
    import pyarrow
    import deltalake
    random = numpy.random.default_rng(7)
    part = rows // files
    for number in range(files):
        a, b = random.integers(0, RANDOM, part), random.integers(0, RANDOM, part)
        first = number * part
        table = pyarrow.table({
            "a": a, "b": b, "c": random.random(part), "d": [f"a text of row {first + i}, {a[i] % 1000}" for i in range(part)],
            "e": pyarrow.array(1_768_471_200_000_000 + (first + numpy.arange(part)) * 1000, pyarrow.timestamp("us", tz="UTC"))})
        deltalake.write_deltalake(path, table, mode="append")
    return {"files": files, "rows": part * files}


def bounds(path):
    """Of each file, the least and greatest a and b by its statistics."""
    import deltalake
    import pyarrow
    actions = pyarrow.table(deltalake.DeltaTable(path).get_add_actions(flatten=True))
    return list(zip(*(actions[name].to_pylist() for name in ("min.a", "max.a", "min.b", "max.b"))))


class Deltalake:
    def __init__(self, path, _):
        import deltalake
        self.table = deltalake.DeltaTable(path)

    def zorder(self):
        return self.table.optimize.z_order(["a", "b"])

    def compact(self):
        return self.table.optimize.compact()

    def point(self, a, b):
        import pyarrow.dataset as dataset
        wanted = (dataset.field("a") == a) & (dataset.field("b") == b)
        return self.table.to_pyarrow_dataset().to_table(filter=wanted).num_rows


class Duckdb:
    def __init__(self, path, _):
        import duckdb
        self.connection = duckdb.connect(config={"allow_unsigned_extensions": True, "threads": 2})
        for name in glob_extensions():
            self.connection.load_extension(name)
        self.path = path

    def point(self, a, b):
        return self.connection.execute(f"SELECT count(*) FROM delta_scan('{self.path}') WHERE a = {a} AND b = {b}").fetchone()[0]


def glob_extensions():
    import glob
    import duckdb
    site = os.path.dirname(os.path.dirname(duckdb.__file__))
    return glob.glob(os.path.join(site, "duckdb_ext*", "**", "*delta*.duckdb_extension"), recursive=True)


class Sql:
    def __init__(self, path, remote):
        import spark_env
        self.spark = spark_env.session(remote, "maintenance")
        if FILE_BYTES in os.environ:
            for name in ("minFileSize", "maxFileSize"):
                self.spark.conf.set(f"spark.databricks.delta.optimize.{name}", os.environ[FILE_BYTES])
        self.table = f"delta.`{path}`"

    def zorder(self):
        return self.spark.sql(f"OPTIMIZE {self.table} ZORDER BY (a, b)").collect()

    def compact(self):
        return self.spark.sql(f"OPTIMIZE {self.table}").collect()

    def point(self, a, b):
        return self.spark.sql(f"SELECT count(*) FROM {self.table} WHERE a = {a} AND b = {b}").first()[0]


ENGINES = {"thalweg": Sql, "spark": Sql, "deltalake": Deltalake, "duckdb": Duckdb}


def wanted_points(path):
    """(a, b) of twenty rows, the same for every engine."""
    import numpy
    random = numpy.random.default_rng(7)
    a, b = random.integers(0, RANDOM, 4000), random.integers(0, RANDOM, 4000)
    return list(zip(a.tolist(), b.tolist()))[:POINTS]


def points(engine, path):
    found, times = 0, []
    wanted = wanted_points(path)
    engine.point(*wanted[0])
    for a, b in wanted:
        started = time.perf_counter()
        found += engine.point(a, b)
        times.append(time.perf_counter() - started)
    return {"found": found, "median_ms": round(statistics.median(times) * 1e3, 2)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("engine", choices=[*ENGINES, "none"])
    parser.add_argument("remote")
    parser.add_argument("step", choices=["make", "zorder", "compact", "point", "bounds"])
    parser.add_argument("table")
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--files", type=int, default=40)
    args = parser.parse_args()
    if args.step == "make":
        result = make(args.table, args.rows, args.files)
    elif args.step == "bounds":
        files = bounds(args.table)
        touched = [sum(f[0] <= a <= f[1] and f[2] <= b <= f[3] for f in files) for a, b in wanted_points(args.table)]
        result = {"files": len(files), "touched": statistics.mean(touched)}
    else:
        engine = ENGINES[args.engine](args.table, args.remote)
        cpu, _ = usage()
        started = time.perf_counter()
        result = points(engine, args.table) if args.step == "point" else (getattr(engine, args.step)(), {})[1]
        result["seconds"] = round(time.perf_counter() - started, 2)
        result["cpu"] = round(usage()[0] - cpu, 2)
        result["peak_mb"] = round(usage()[1])
    print("measured " + json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
