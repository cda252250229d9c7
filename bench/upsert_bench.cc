// What a batch of changed groups costs in update mode into Delta, by the table's size:
// upsert_bench FOLDER ROWS... [--files N] [--groups N] [--batches N]
// Each table has N files of equal rows, and each batch changes N groups spread evenly over all of them, so
// that batches of tables of any size touch as many files. Prints a line a table; the first batch, which reads
// the files' keys, is given apart from the later ones.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <arrow/api.h>

#include "sinks/delta/delta_stream_sink.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"
#include "types/ddl.h"

namespace {

using namespace thalweg;

struct Settings {
  std::string folder;
  std::vector<int64_t> sizes;
  int64_t files = 10;
  int64_t groups = 1000;
  int64_t batches = 20;
};

SchemaPtr schemaOfGroups() {
  return parseSchemaDdl("g BIGINT, name STRING, n BIGINT, total DOUBLE");
}

// Group g of version v.
std::shared_ptr<arrow::RecordBatch> rowsOf(const std::vector<int64_t>& groups, int64_t version) {
  arrow::Int64Builder keys;
  arrow::StringBuilder names;
  arrow::Int64Builder counts;
  arrow::DoubleBuilder totals;
  for (const int64_t group : groups) {
    throwIfFailed(keys.Append(group));
    throwIfFailed(names.Append("group-" + std::to_string(group)));
    throwIfFailed(counts.Append(version));
    throwIfFailed(totals.Append(static_cast<double>(group) / 3));
  }
  return arrow::RecordBatch::Make(toArrowSchema(*schemaOfGroups()), static_cast<int64_t>(groups.size()),
                                  {valueOrThrow(keys.Finish()), valueOrThrow(names.Finish()),
                                   valueOrThrow(counts.Finish()), valueOrThrow(totals.Finish())});
}

class Query {
 public:
  Query(std::string path, int64_t maxRecordsPerFile)
      : path_(std::move(path)), maxRecordsPerFile_(maxRecordsPerFile) {
    start();
  }

  // Forgets where rows lie, as a new run does.
  void start() {
    DeltaWriteOptions options;
    options.keyColumns = std::vector<int>{0};
    options.maxRecordsPerFile = maxRecordsPerFile_;
    log_ = std::make_shared<delta::DeltaLog>(FileSystemRegistry().resolve(path_));
    sink_ = std::make_unique<DeltaStreamSink>(log_, options);
  }

  template <typename NextRows>
  void runBatch(const NextRows& nextRows) {
    const auto write =
        sink_->beginBatch({batch_, "upsert-bench", "run", OutputMode::Update, schemaOfGroups()});
    const auto task = write->openTask(0);
    while (const auto rows = nextRows()) task->write(rows);
    task->close();
    write->commit();
    ++batch_;
  }

 private:
  std::string path_;
  int64_t maxRecordsPerFile_;
  std::shared_ptr<delta::DeltaLog> log_;
  std::unique_ptr<DeltaStreamSink> sink_;
  int64_t batch_ = 0;
};

int64_t residentMb() {
  std::ifstream status("/proc/self/statm");
  int64_t pages = 0;
  status >> pages >> pages;
  return pages * 4096 / (1 << 20);
}

// Of the whole process, user and system.
double cpuMilliseconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto of = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_usec) / 1e3;
  };
  return of(usage.ru_utime) + of(usage.ru_stime);
}

template <typename Work>
double millisecondsOf(const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

void measure(const Settings& settings, int64_t size) {
  const std::string path = settings.folder + "/" + std::to_string(size);
  std::filesystem::remove_all(path);
  Query query(path, (size + settings.files - 1) / settings.files);
  int64_t next = 0;
  query.runBatch([&]() -> std::shared_ptr<arrow::RecordBatch> {
    constexpr int64_t kRows = 1 << 16;
    std::vector<int64_t> groups;
    while (next < size && static_cast<int64_t>(groups.size()) < kRows) groups.push_back(next++);
    return groups.empty() ? nullptr : rowsOf(groups, 0);
  });
  query.start();
  const int64_t before = residentMb();
  std::vector<double> times;
  double cpuMs = 0;
  for (int64_t batch = 1; batch <= settings.batches; ++batch) {
    std::vector<int64_t> groups;
    for (int64_t i = 0; i < settings.groups; ++i)
      groups.push_back((i * (size / settings.groups) + batch) % size);
    auto rows = rowsOf(groups, batch);
    const double cpuBefore = cpuMilliseconds();
    times.push_back(millisecondsOf([&] { query.runBatch([&] { return std::exchange(rows, nullptr); }); }));
    if (batch > 1) cpuMs += cpuMilliseconds() - cpuBefore;
  }
  const double first = times.front();
  times.erase(times.begin());
  std::sort(times.begin(), times.end());
  const auto number = [](int64_t value) { return static_cast<long long>(value); };
  std::printf(
      "%lld rows in %lld files: first batch %.1f ms, then best %.1f ms, median %.1f ms, worst %.1f ms, CPU "
      "%.1f ms each; ",
      number(size), number(settings.files), first, times.front(), times[times.size() / 2], times.back(),
      cpuMs / static_cast<double>(times.size()));
  std::printf("memory +%lld MB\n", number(residentMb() - before));
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  std::vector<std::string> arguments(argv + 1, argv + argc);
  for (size_t i = 0; i < arguments.size(); ++i) {
    const auto number = [&] { return std::strtoll(arguments.at(++i).c_str(), nullptr, 10); };
    if (arguments[i] == "--files")
      settings.files = number();
    else if (arguments[i] == "--groups")
      settings.groups = number();
    else if (arguments[i] == "--batches")
      settings.batches = number();
    else if (settings.folder.empty())
      settings.folder = arguments[i];
    else
      settings.sizes.push_back(std::strtoll(arguments[i].c_str(), nullptr, 10));
  }
  if (settings.sizes.empty()) {
    std::fprintf(stderr, "upsert_bench FOLDER ROWS... [--files N] [--groups N] [--batches N]\n");
    return 2;
  }
  for (const int64_t size : settings.sizes) measure(settings, size);
  return 0;
}
