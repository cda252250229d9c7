"""OPTIMIZE, ZORDER BY, REORG, RESTORE and VACUUM while others write and while servers die: maintenance_test.py THALWEG_PROGRAM

A server that dies at any durable step of a statement leaves every row as it was, and the statement can be run again. Writers that
append and delete while another server optimizes lose nothing and bring nothing back."""
import sys
import tempfile
import threading
import time

import harness

DIED_AT_FAULT_POINT = 137
RETRIED = ("DELTA_CONCURRENT_", "DELTA_METADATA_CHANGED")


def connect(url):
    return harness.SparkSession.builder.remote(url).create()


def in_child(function, *arguments, timeout=120):
    process = harness.FORK.Process(target=function, args=arguments, daemon=True)
    process.start()
    process.join(timeout)
    assert process.exitcode == 0, f"{function.__name__} ended with {process.exitcode}"


def rows_of(spark, table):
    return sorted(tuple(row) for row in spark.sql(f"SELECT * FROM {table}").collect())


# ---- servers that die

STATEMENTS = {
    "OPTIMIZE {t}": ("dataFile.before", "dataFile.after:2", "deltaCommit.before", "deltaCommit.temp", "deltaCommit.after"),
    "OPTIMIZE {t} ZORDER BY (id, v)": ("dataFile.during", "dataFile.after:2", "deltaCommit.before", "deltaCommit.after"),
    "REORG TABLE {t} APPLY (PURGE)": ("dataFile.after", "deltaCommit.before", "deltaCommit.after"),
    "VACUUM {t}": ("deltaCommit.before", "deltaCommit.before:2", "deltaCommit.after"),
}


def make_table(url, table):
    spark = connect(url)
    spark.sql(f"CREATE TABLE {table} (id INT, v STRING, p INT) USING delta PARTITIONED BY (p) "
              "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    for part in range(4):
        spark.sql(f"INSERT INTO {table} SELECT CAST(id AS INT), CAST(id % 7 AS STRING), CAST(id % 2 AS INT) FROM range({part * 20}, {part * 20 + 20})")
    spark.sql(f"DELETE FROM {table} WHERE id % 5 = 0")
    spark.stop()


def run_statement(url, statement):
    connect(url).sql(statement).collect()


def check_rows(url, table, expected):
    assert rows_of(connect(url), table) == expected


def check_again(url, table, statement, expected):
    spark = connect(url)
    assert rows_of(spark, table) == expected, "after the death"
    spark.sql(statement)
    assert rows_of(spark, table) == expected, "after the statement was run again"
    files = spark.sql(f"DESCRIBE DETAIL {table}").collect()[0].numFiles
    assert "OPTIMIZE" not in statement or files == 2, f"{files} files"


def die_and_run_again(program):
    expected = sorted((i, str(i % 7), i % 2) for i in range(80) if i % 5 != 0)
    for statement, points in STATEMENTS.items():
        for point in points:
            with tempfile.TemporaryDirectory(prefix="thalweg-e2e-") as folder:
                table = f"delta.`{folder}/t`"
                server = harness.Server(program)
                in_child(make_table, server.url, table)
                server.end()
                fault = point if ":" in point else f"{point}:1"
                server = harness.Server(program, fault=f"{fault}=exit")
                client = harness.FORK.Process(target=run_statement, args=(server.url, statement.format(t=table)), daemon=True)
                client.start()
                status = server.process.wait(30)
                client.kill()
                client.join()
                assert status == DIED_AT_FAULT_POINT, f"{statement} at {point}: {status}"
                server = harness.Server(program)
                in_child(check_again, server.url, table, statement.format(t=table), expected)
                server.end()
            print(f"{statement} dies at {point}: every row is as it was", flush=True)


# ---- two writers and two that optimize

def retried(spark, statement):
    for _ in range(200):
        try:
            return spark.sql(statement).collect()
        except Exception as error:  # noqa: BLE001 - which of them is looked at
            if not any(name in str(error) for name in RETRIED):
                raise
            time.sleep(0.02)
    raise AssertionError(f"no luck with {statement}")


def write_and_optimize(url, other_url, table):
    make = connect(url)
    make.sql(f"CREATE TABLE {table} (id INT, v STRING) USING delta TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    make.sql(f"INSERT INTO {table} SELECT CAST(id AS INT), 'first' FROM range(300)")
    stop, failures = threading.Event(), []

    def guarded(work):
        def run():
            try:
                work()
            except BaseException as failure:  # noqa: BLE001 - told by the main thread
                failures.append(failure)
        return threading.Thread(target=run)

    def append():
        spark = connect(url)
        for i in range(1000, 1040):
            spark.sql(f"INSERT INTO {table} VALUES ({i}, 'appended')")

    def delete():
        spark = connect(url)
        for i in range(0, 60):
            retried(spark, f"DELETE FROM {table} WHERE id = {i}")

    def optimize():
        spark, rounds = connect(other_url), 0
        while not stop.is_set():
            retried(spark, f"OPTIMIZE {table}" + (" ZORDER BY (id)" if rounds % 4 == 3 else ""))
            rounds += 1

    writers, optimizer = [guarded(append), guarded(delete)], guarded(optimize)
    for thread in (*writers, optimizer):
        thread.start()
    for thread in writers:
        thread.join()
    stop.set()
    optimizer.join()
    assert not failures, failures
    expected = sorted([(i, "first") for i in range(60, 300)] + [(i, "appended") for i in range(1000, 1040)])
    found = rows_of(make, table)
    assert found == expected, f"{len(found)} rows instead of {len(expected)}"
    made = [row.operation for row in make.sql(f"DESCRIBE HISTORY {table}").collect()].count("OPTIMIZE")
    assert made > 3, f"{made} times optimized"
    print(f"nothing lost over {made} OPTIMIZE", flush=True)


def main(program):
    die_and_run_again(program)
    with tempfile.TemporaryDirectory(prefix="thalweg-e2e-") as folder:
        server, other = harness.Server(program), harness.Server(program)
        in_child(write_and_optimize, server.url, other.url, f"delta.`{folder}/t`", timeout=240)
        server.end()
        other.end()


if __name__ == "__main__":
    main(sys.argv[1])
