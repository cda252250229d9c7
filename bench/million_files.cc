// A table of very many files: what it costs to open, list, refresh, commit to and checkpoint.
//
//   million_files generate FOLDER FILES [PARTITIONS [classic|parts|v2|v2parquet]]
//   million_files open|partition|refresh|checkpoint|commit FOLDER
//
// The first makes the log of such a table (no data files), with its checkpoint in that form. Each of the
// others is one measurement, so that memory is its own: a line of JSON with CPU seconds, wall seconds and
// peak memory.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include <arrow/scalar.h>
#include <fmt/format.h>

#include "delta/checkpoint/checkpoint_writer.h"
#include "delta/commit/transaction.h"
#include "delta/log/log_files.h"
#include "delta/scan/file_listing.h"
#include "delta/snapshot/delta_log.h"
#include "delta/snapshot/snapshot.h"
#include "storage/file_system.h"

namespace {

using namespace thalweg;
using namespace thalweg::delta;

double cpuSeconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) { return time.tv_sec + time.tv_usec / 1e6; };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Peak memory since the last reset, in MB.
double peakMegabytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::strtod(line.c_str() + 6, nullptr) / 1024;
  }
  return 0;
}
double residentMegabytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return std::strtod(line.c_str() + 6, nullptr) / 1024;
  }
  return 0;
}
void resetPeak() {
  std::ofstream("/proc/self/clear_refs") << "5";
}

struct Measured {
  double cpu = 0;
  double wall = 0;
};

Measured measure(const std::function<void()>& work) {
  const double cpu = cpuSeconds();
  const auto wall = std::chrono::steady_clock::now();
  work();
  return {cpuSeconds() - cpu, std::chrono::duration<double>(std::chrono::steady_clock::now() - wall).count()};
}

void report(const std::string& what, const Measured& measured, const std::string& more = "") {
  std::printf("{\"what\":\"%s\",\"cpu_s\":%.4f,\"wall_s\":%.4f,\"peak_mb\":%.1f%s}\n", what.c_str(),
              measured.cpu, measured.wall, peakMegabytes(), more.c_str());
}

constexpr const char* kSchema =
    R"({"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":{}},)"
    R"({"name":"ts","type":"timestamp","nullable":true,"metadata":{}},)"
    R"({"name":"price","type":"double","nullable":true,"metadata":{}},)"
    R"({"name":"name","type":"string","nullable":true,"metadata":{}},)"
    R"({"name":"p","type":"integer","nullable":true,"metadata":{}}]})";

// Named and described as Spark does it.
AddFile fileOf(int64_t i, int64_t partition) {
  AddFile add;
  add.path =
      fmt::format("p={}/part-{:05}-{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}-c000.snappy.parquet", partition,
                  i % 100000, static_cast<uint32_t>(i * 2654435761u), i & 0xffff, (i >> 4) & 0xfff,
                  (i >> 8) & 0xfff, static_cast<uint64_t>(i) * 11400714819323198485ull >> 16);
  add.partitionValues = {{"p", std::to_string(partition)}};
  add.size = 1'000'000 + i % 1000;
  add.modificationTime = 1'700'000'000'000 + i;
  add.stats = fmt::format(
      R"({{"numRecords":1000,"minValues":{{"id":{0},"ts":"2024-01-01T00:{1:02}:{2:02}.000Z","price":{3}.25,"name":"name-{0:010}"}},)"
      R"("maxValues":{{"id":{4},"ts":"2024-01-01T01:{1:02}:{2:02}.000Z","price":{5}.75,"name":"name-{4:010}"}},)"
      R"("nullCount":{{"id":0,"ts":0,"price":0,"name":0}}}})",
      i * 1000, i % 60, i / 60 % 60, i % 1000, i * 1000 + 999, i % 1000 + 1000);
  return add;
}

Location locationOf(const std::string& folder) {
  return FileSystemRegistry().resolve(folder);
}

// Version 0 has the schema, version 1 all files (in its checkpoint alone), version 2 one more.
void generate(const std::string& folder, int64_t files, int64_t partitions, const std::string& form) {
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const auto log = std::make_shared<DeltaLog>(locationOf(folder));
  Transaction create(log, nullptr);
  Metadata metadata;
  metadata.schemaString = kSchema;
  metadata.partitionColumns = {"p"};
  metadata.configuration["delta.checkpointInterval"] = "1000000";
  if (form.starts_with("v2")) metadata.configuration["delta.checkpointPolicy"] = "v2";
  create.setMetadata(metadata);
  create.setOperation({"CREATE TABLE", {}, {}, {}, {}});
  create.commit();

  SnapshotBuilder builder(*log->require());
  for (int64_t i = 0; i < files; ++i)
    builder.apply(fieldsOf(fileOf(i, i / std::max<int64_t>(files / partitions, 1))));
  builder.endVersion(1, std::nullopt);
  const SnapshotPtr whole = std::move(builder).finish(systemClock().nowMillis());
  log->table().fileSystem->putIfAbsent(
      log->logPath() + "/" + commitFileName(1),
      "{\"commitInfo\":{\"timestamp\":1700000000000,\"operation\":\"WRITE\",\"operationParameters\":{}}}\n");
  CheckpointSettings settings;
  if (form == "parts") settings.partSize = std::max<int64_t>(files / 10, 1);
  settings.parquetTopLevel = form == "v2parquet";
  writeCheckpoint(*whole, systemClock(), settings);
  const auto reopened = std::make_shared<DeltaLog>(locationOf(folder));
  Transaction more(reopened, reopened->require());
  more.add(fileOf(files, partitions));
  more.setOperation({"WRITE", {}, {}, {}, {}});
  more.commit();
}

void open(const std::string& folder) {
  size_t numFiles = 0;
  const Measured measured = measure([&] {
    const SnapshotPtr snapshot = loadSnapshot(locationOf(folder));
    std::vector<std::string> paths;
    paths.reserve(static_cast<size_t>(snapshot->numFiles()));
    snapshot->files().forEachLive([&](const FileRecord& file) { paths.emplace_back(file.logPath()); });
    numFiles = paths.size();
  });
  report("open and list all", measured, fmt::format(",\"files\":{}", numFiles));
}

void partition(const std::string& folder) {
  std::vector<std::string> paths;
  std::optional<FileListing> listing;
  const Measured measured = measure([&] {
    const ColumnPredicate predicate{"p", ColumnPredicate::Op::Equal, arrow::MakeScalar(int32_t{437})};
    listing = listFiles(
        locationOf(folder), [&](const Metadata&) { return std::vector{predicate}; },
        [&](AddFile&& file) { paths.push_back(std::move(file.path)); });
  });
  report("list one partition", measured, fmt::format(",\"files\":{}", paths.size()));
}

void refresh(const std::string& folder) {
  const auto log = std::make_shared<DeltaLog>(locationOf(folder));
  log->update();
  constexpr int kCommits = 50;
  Measured sum;
  for (int i = 0; i < kCommits; ++i) {
    const auto other = std::make_shared<DeltaLog>(locationOf(folder));
    other->offer(log->cached());
    Transaction more(other, other->cached());
    more.add(fileOf(3'000'000'000 + log->cached()->version() * 10, 1));
    more.setOperation({"WRITE", {}, {}, {}, {}});
    more.commit();
    const Measured one = measure([&] { log->update(); });
    sum.cpu += one.cpu / kCommits;
    sum.wall += one.wall / kCommits;
  }
  report("refresh by one commit", sum);
}

void checkpoint(const std::string& folder) {
  const SnapshotPtr snapshot = loadSnapshot(locationOf(folder));
  resetPeak();
  const double before = residentMegabytes();
  CheckpointReport written;
  const Measured measured = measure([&] { written = writeCheckpoint(*snapshot); });
  report("checkpoint", measured,
         fmt::format(",\"more_mb\":{:.1f},\"file_mb\":{:.1f}", peakMegabytes() - before,
                     written.sizeInBytes / 1e6));
}

void commit(const std::string& folder) {
  const auto log = std::make_shared<DeltaLog>(locationOf(folder));
  log->update();
  constexpr int kCommits = 200;
  Measured measured = measure([&] {
    for (int i = 0; i < kCommits; ++i) {
      Transaction more(log, log->cached());
      more.add(fileOf(2'000'000'000 + log->cached()->version() * 10, 1));
      more.setOperation({"WRITE", {}, {}, {}, {}});
      more.commit();
    }
  });
  measured.cpu /= kCommits;
  measured.wall /= kCommits;
  report("commit of one file", measured);
}

int usage() {
  std::fprintf(
      stderr,
      "million_files generate FOLDER FILES [PARTITIONS] | open|partition|refresh|checkpoint|commit FOLDER\n");
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return usage();
  const std::string what = argv[1];
  const std::string folder = argv[2];
  if (what == "generate" && argc >= 4) {
    generate(folder, std::atoll(argv[3]), argc > 4 ? std::atoll(argv[4]) : 1000,
             argc > 5 ? argv[5] : "classic");
  } else if (what == "open") {
    open(folder);
  } else if (what == "partition") {
    partition(folder);
  } else if (what == "refresh") {
    refresh(folder);
  } else if (what == "checkpoint") {
    checkpoint(folder);
  } else if (what == "commit") {
    commit(folder);
  } else {
    return usage();
  }
  return 0;
}
