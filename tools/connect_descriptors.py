"""Writes the protocols of Spark Connect and of Delta's extension, as the stock clients carry them: connect_descriptors.py OUT"""
import importlib
import os
import pkgutil
import sys

os.environ["SPARK_REMOTE"] = "sc://localhost"  # without one, Delta's package looks for a whole Spark as it is imported

from google.protobuf import descriptor_pb2
import delta.connect.proto as delta_proto
import pyspark.sql.connect.proto as spark_proto


def add_with_dependencies(file, written, out):
    if file.name in written:
        return
    written.add(file.name)
    for dependency in file.dependencies:
        add_with_dependencies(dependency, written, out)
    file.CopyToProto(out.file.add())


def main():
    modules = [f"{proto.__name__}.{m.name}" for proto in (spark_proto, delta_proto)
               for m in pkgutil.iter_modules(proto.__path__) if m.name.endswith("_pb2")]
    modules += ["google.rpc.status_pb2", "google.rpc.error_details_pb2"]
    out, written = descriptor_pb2.FileDescriptorSet(), set()
    for name in sorted(modules):
        add_with_dependencies(importlib.import_module(name).DESCRIPTOR, written, out)
    with open(sys.argv[1], "wb") as f:
        f.write(out.SerializeToString())


main()
