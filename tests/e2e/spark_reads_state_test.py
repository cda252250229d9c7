"""Spark's own state reader finds in state files that we wrote what it found in its own:
spark_reads_state_test.py STATE_TEST_PROGRAM RECORDS_FOLDER

STATE_TEST_PROGRAM rewrites Spark's fixtures (THALWEG_STATE_FOR_SPARK); RECORDS_FOLDER is src/state/testdata. Skipped (77) unless
PEERS_DIR has a Spark (../shared/peers).
COMPARE FOLDER RECORDS_FOLDER is the part inside Spark. record_state.py makes the records."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SHARED = pathlib.Path(__file__).resolve().parents[3] / "shared"
# The record of the fixture with the same input and query.
RECORD_OF = {"windowed-rocksdb": "windowed-hdfs", "windowed-rocksdb-changelog": "windowed-hdfs", "dedup-rocksdb": "dedup-hdfs"}
SKIPPED = 77


def bytes_of(java_bytes):
    return bytes(byte & 0xFF for byte in java_bytes).hex()


def read_store(spark, checkpoint, store, batch):
    """[(partition, key's bytes, value's bytes)] as the reader has them, sorted."""
    frame = (spark.read.format("statestore").option("batchId", batch).option("storeName", store).load(checkpoint)
             .select("key", "value", "partition_id"))
    widths = [len(frame.schema[name].dataType.fields) for name in ("key", "value")]
    rows = frame._jdf.queryExecution().executedPlan().executeCollect()
    return sorted((row.getInt(2), bytes_of(row.getStruct(0, widths[0]).getBytes()), bytes_of(row.getStruct(1, widths[1]).getBytes()))
                  for row in rows)


def compare(root, records):
    sys.path.insert(0, str(SHARED / "peers"))
    from spark_env import session
    spark = session("local[2]", conf={"spark.sql.shuffle.partitions": "2"})
    spark.streams.active  # the reader needs what the first use of streams starts
    wrong, compared = [], 0
    for checkpoint in sorted(pathlib.Path(root).glob("*/*")):
        record = json.loads((pathlib.Path(records) / f"{RECORD_OF.get(checkpoint.name, checkpoint.name)}.json").read_text())
        for name, store in record["stores"].items():
            for version, indices in store["versions"].items():
                expected = sorted(tuple(store["rows"][index][:3]) for index in indices)
                try:
                    found = read_store(spark, str(checkpoint), name.split("/", 1)[1], int(version) - 1)
                except Exception as error:
                    found = str(error)[:300]
                compared += 1
                if found != expected:
                    wrong.append(f"{checkpoint.parent.name}/{checkpoint.name} {name} version {version}: {str(found)[:300]}")
    print("\n".join(wrong))
    print(f"{compared} versions compared, {len(wrong)} differ")
    return 1 if wrong or not compared else 0


def main(program, records):
    peers = os.environ.get("PEERS_DIR")
    if not peers or not pathlib.Path(peers, "v-spark42").exists() or not shutil.which("java"):
        print("skipped: no Spark in PEERS_DIR, or no Java")
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="thalweg-state-") as folder:
        subprocess.run([program, "--gtest_filter=ForSpark.*", "--gtest_brief=1"], check=True,
                       env=dict(os.environ, THALWEG_STATE_FOR_SPARK=folder))
        return subprocess.run([SHARED / "peers" / "spark_env.sh", "python", __file__, "COMPARE", folder,
                               str(pathlib.Path(records).resolve())]).returncode


if __name__ == "__main__":
    if sys.argv[1] == "COMPARE":
        sys.exit(compare(*sys.argv[2:4]))
    sys.exit(main(*sys.argv[1:3]))
