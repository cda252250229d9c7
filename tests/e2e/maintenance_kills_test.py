"""Servers that are killed at random while tables are maintained: maintenance_kills_test.py THALWEG_PROGRAM [--kills 12] [--seed N]

A client runs INSERT, DELETE, UPDATE, OPTIMIZE, ZORDER BY, REORG, RESTORE and VACUUM (which retains nothing) one after another and
notes each before and after; the server is killed at a random moment (kill -9) and started anew. Then the table must be what the last
acknowledged statement left, or what the one under way makes of that, and the client goes on."""
import argparse
import collections
import json
import pathlib
import random
import sys
import tempfile
import time

import harness

STATEMENTS = ("insert", "insert", "insert", "delete", "update", "optimize", "zorder", "purge", "restore", "vacuum", "lite")


class Model:
    """The rows {id: v} after each statement, and of versions that RESTORE may go back to."""

    def __init__(self):
        self.rows, self.versions, self.next_id = {}, {}, 0

    def plan(self, generator):
        """A statement and the rows after it; only what was acknowledged changes the model."""
        kind = generator.choice(STATEMENTS)
        rows = dict(self.rows)
        if kind == "insert":
            first, last = self.next_id, self.next_id + 30
            rows.update({i: "new" for i in range(first, last)})
            return kind, f"INSERT INTO {{t}} SELECT CAST(id AS INT), 'new', CAST(id % 2 AS INT) FROM range({first}, {last})", rows
        if kind == "delete":
            rest = generator.randrange(11)
            return kind, f"DELETE FROM {{t}} WHERE id % 11 = {rest}", {i: v for i, v in rows.items() if i % 11 != rest}
        if kind == "update":
            rest = generator.randrange(13)
            return kind, f"UPDATE {{t}} SET v = 'r{rest}' WHERE id % 13 = {rest}", {i: f"r{rest}" if i % 13 == rest else v for i, v in rows.items()}
        if kind == "restore" and self.versions:
            version = generator.choice(sorted(self.versions))
            return kind, f"RESTORE TABLE {{t}} TO VERSION AS OF {version}", dict(self.versions[version])
        return kind, {"zorder": "OPTIMIZE {t} ZORDER BY (id)", "purge": "REORG TABLE {t} APPLY (PURGE)", "vacuum": "VACUUM {t} RETAIN 0 HOURS",
                      "lite": "VACUUM {t} LITE"}.get(kind, "OPTIMIZE {t}"), rows


def as_pairs(rows):
    return sorted([i, v] for i, v in rows.items())


def connect(url):
    spark = harness.SparkSession.builder.remote(url).create()
    spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    return spark


def rows_of(spark, table):
    return sorted([row.id, row.v] for row in spark.sql(f"SELECT id, v FROM {table}").collect())


def make_table(url, folder, vectors):
    connect(url).sql(f"CREATE TABLE delta.`{folder}/t` (id INT, v STRING, p INT) USING delta PARTITIONED BY (p) TBLPROPERTIES "
                     f"('delta.enableDeletionVectors' = '{vectors}', 'delta.checkpointInterval' = '5')")


def check(spark, folder):
    """The table after a death: one of the two states that it may have. Notes which, and what is known from here on."""
    state = json.loads((folder / "state.json").read_text())
    before, under_way, next_id, done, kind = state["rows"], state["rows"], state["next_id"], 0, "nothing"
    for line in (folder / "notes").read_text().splitlines() if (folder / "notes").exists() else []:
        note = json.loads(line)
        if "begun" in note:
            under_way, next_id, kind = note["rows"], note["next_id"], note["begun"]
        else:
            before, done, kind = under_way, done + 1, "nothing"
    found = rows_of(spark, f"delta.`{folder}/t`")
    assert found in (before, under_way), f"{kind} was under way: {len(found)} rows, not {len(before)} or {len(under_way)}"
    (folder / "state.json").write_text(json.dumps({"rows": found, "next_id": next_id}))
    (folder / "killing").write_text(json.dumps({"in": kind, "done": done, "happened": found == under_way and under_way != before}))
    (folder / "notes").unlink(missing_ok=True)
    (folder / "killing").rename(folder / "killed")
    return dict(map(tuple, found)), next_id


def check_and_run(url, folder, seed):
    """What the table is after the last death; then statements until the server dies."""
    generator, model, table = random.Random(seed), Model(), f"delta.`{folder}/t`"
    spark = connect(url)
    model.rows, model.next_id = check(spark, folder)
    with open(folder / "notes", "w", buffering=1) as notes:
        while True:
            kind, statement, rows = model.plan(generator)
            next_id = model.next_id + 30 * (kind == "insert")
            notes.write(json.dumps({"begun": kind, "rows": as_pairs(rows), "next_id": next_id}) + "\n")
            spark.sql(statement.format(t=table)).collect()
            notes.write(json.dumps({"done": kind}) + "\n")
            model.rows, model.next_id = rows, next_id
            if kind == "vacuum":
                model.versions = {}
            version = spark.sql(f"DESCRIBE HISTORY {table} LIMIT 1").collect()[0].version
            model.versions[version] = rows


def wait_for(what, client):
    while not what():
        assert client.is_alive(), f"the client ended with {client.exitcode}"
        time.sleep(0.005)


def campaign(program, folder, vectors, kills, generator):
    """The last server is not killed in a statement, only asked what the table is."""
    server = harness.Server(program)
    maker = harness.FORK.Process(target=make_table, args=(server.url, folder, vectors), daemon=True)
    maker.start()
    maker.join(120)
    (folder / "state.json").write_text(json.dumps({"rows": [], "next_id": 0}))
    tally, done = collections.defaultdict(lambda: [0, 0]), 0
    for _ in range(kills + 1):
        (folder / "killed").unlink(missing_ok=True)
        client = harness.FORK.Process(target=check_and_run, args=(server.url, folder, generator.randrange(1 << 30)), daemon=True)
        client.start()
        wait_for((folder / "killed").exists, client)
        wait_for(lambda: (folder / "notes").exists() and (folder / "notes").read_text(), client)
        found = json.loads((folder / "killed").read_text())
        tally[found["in"]][0] += 1
        tally[found["in"]][1] += found["happened"]
        done += found["done"]
        time.sleep(generator.random() * 2)
        assert client.is_alive(), f"a statement failed by itself: {(folder / 'notes').read_text()[-300:]}"
        server.kill()
        client.kill()
        client.join()
        server = harness.Server(program)
    server.end()
    print(f"{kills} kills, vectors {vectors}, {done} statements done: nothing lost. Killed in (of them it had happened): " +
          ", ".join(f"{kind} {times} ({happened})" for kind, (times, happened) in sorted(tally.items())), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--kills", type=int, default=12)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    print(f"repro: --kills {options.kills} --seed {options.seed}", flush=True)
    generator = random.Random(options.seed)
    for vectors in ("true", "false"):
        with tempfile.TemporaryDirectory(prefix="thalweg-kills-") as folder:
            campaign(options.program, pathlib.Path(folder), vectors, options.kills // 2, generator)


if __name__ == "__main__":
    sys.exit(main())
