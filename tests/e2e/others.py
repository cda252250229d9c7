"""The other engines beside which end-to-end tests stand: Spark, deltalake and DuckDB, each in a Python of its own (PEERS_DIR).

A test program calls itself inside of those: `ask` runs one of its functions there, and `Spark` keeps one Spark that it tells what to
run, task by task. The program ends with `sys.exit(others.inside(globals()) if others.is_inside() else main(...))`."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SHARED = pathlib.Path(__file__).resolve().parents[3] / "shared"
SKIPPED = 77  # ctest's SKIP_RETURN_CODE
INSIDE = "INSIDE"
VENVS = {"Spark": "v-spark42", "deltalake": "v-py", "DuckDB": "v-duckdb"}


def are_here(*engines):
    """Whether PEERS_DIR has them; says what the test lacks."""
    peers = os.environ.get("PEERS_DIR")
    lacking = [name for name in engines if not peers or not pathlib.Path(peers, VENVS[name]).exists()]
    if "Spark" in engines and not shutil.which("java"):
        lacking.append("Java")
    if lacking:
        print(f"skipped: no {', '.join(lacking)} in PEERS_DIR")
    return not lacking


def python_of(engine):
    if engine == "Spark":
        return [str(SHARED / "peers" / "spark_env.sh"), "python"]
    return [str(pathlib.Path(os.environ["PEERS_DIR"], VENVS[engine], "bin", "python"))]


def environment():
    """Ours without what the client leaves in it: a Spark below it would be a client too."""
    return {key: value for key, value in os.environ.items() if not key.startswith(("SPARK_", "PYSPARK_"))}


def ask(engine, script, function, *arguments):
    """What the script's function answers inside of the engine's Python."""
    with tempfile.TemporaryDirectory(prefix="thalweg-ask-") as folder:
        out = pathlib.Path(folder, "answer.json")
        subprocess.run([*python_of(engine), script, INSIDE, function, out, *map(str, arguments)], check=True, env=environment())
        return json.loads(out.read_text())


def is_inside():
    return len(sys.argv) > 1 and sys.argv[1] == INSIDE


def inside(functions):
    """Runs what `ask` or `Spark` asked for; the end of a script that is_inside()."""
    function, out, *arguments = sys.argv[2:]
    answer = functions[function](*arguments)
    if out != "-":
        pathlib.Path(out).write_text(json.dumps(answer))
    return 0


class Spark:
    """A Spark of its own, in which the script's `function()` calls `serve`."""

    def __init__(self, script, function="serve_spark"):
        self.process = subprocess.Popen([*python_of("Spark"), script, INSIDE, function, "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True, env=environment())
        self.line("ready")

    def line(self, start):
        for line in self.process.stdout:
            if line.startswith(start):
                return line
        raise AssertionError("Spark ended")

    def run(self, task):
        """The answer to the task; what went wrong there goes wrong here."""
        self.process.stdin.write(json.dumps(task) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.line("{"))
        assert "problem" not in answer, "Spark: " + answer["problem"]
        return answer["answer"]

    def end(self):
        self.process.stdin.close()
        self.process.wait(60)


def serve(run, conf=None):
    """Inside of Spark: run(spark, task) answers each task that comes."""
    spark = spark_session(conf)
    print("ready", flush=True)
    for line in sys.stdin:
        try:
            print(json.dumps({"answer": run(spark, json.loads(line))}), flush=True)
        except Exception as problem:
            print(json.dumps({"problem": str(problem)[:3000]}), flush=True)


# ---- inside of each engine's Python

def spark_session(conf=None):
    sys.path.insert(0, str(SHARED / "peers"))
    from spark_env import session
    return session("local[2]", conf=conf)


def sorted_rows(rows):
    return sorted(([*row] for row in rows), key=repr)


def spark_rows(spark, table, columns, **options):
    """The rows of a Delta table as lists, sorted; options as of a read (versionAsOf, readChangeFeed)."""
    return sorted_rows(spark.read.format("delta").options(**options).load(str(table)).select(*columns).collect())


def deltalake_rows(table, columns, version=None):
    import deltalake
    opened = deltalake.DeltaTable(str(table), version=version)
    found = deltalake.QueryBuilder().register("t", opened).execute(f"SELECT {', '.join(columns)} FROM t").read_all()
    return sorted_rows(zip(*(found.column(name).to_pylist() for name in columns)))


def duckdb_rows(table, columns):
    import duckdb
    import duckdb_ext
    connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    extension = next(pathlib.Path(duckdb_ext.__file__).parent.glob("extensions/*/*/delta.duckdb_extension"))
    connection.execute(f"LOAD '{extension}'")
    return sorted_rows(connection.execute(f"SELECT {', '.join(columns)} FROM delta_scan('{table}')").fetchall())
