// from_json's throughput on one thread: flat records of about 113 bytes into five columns, a batch of 64 k
// rows at a time. Prints records per CPU second. Usage: json_parse_bench [seconds]
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

#include <arrow/api.h>

#include "formats/json/json_parser.h"
#include "types/ddl.h"

namespace {

double cpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

std::shared_ptr<arrow::Array> makeRecords(int count) {
  arrow::BinaryBuilder builder;
  static constexpr const char* kActions[] = {"view", "add_to_cart", "purchase"};
  for (int i = 0; i < count; ++i) {
    char record[256];
    const int size = std::snprintf(
        record, sizeof record,
        R"({"user_id":"u%d","product_id":"p%d","action":"%s","timestamp":"2026-01-15T%02d:%02d:%02d.%03dZ","price":%d.%d})",
        i % 5000, i % 40, kActions[i % 3], i / 3600 % 24, i / 60 % 60, i % 60, i % 1000, i % 97, i % 10);
    if (!builder.Append(record, size).ok()) std::abort();
  }
  return builder.Finish().ValueOrDie();
}

}  // namespace

int main(int argc, char** argv) {
  const double budget = argc > 1 ? std::atof(argv[1]) : 3.0;
  constexpr int kRows = 65'536;
  const auto texts = makeRecords(kRows);
  const thalweg::JsonParser parser(
      thalweg::parseSchemaDdl(
          "user_id string, product_id string, action string, timestamp timestamp, price double"),
      thalweg::JsonOptions::parse({}));
  auto run = [&](const char* name, bool fast) {
    auto worker = parser.newWorker();
    if (!fast) worker->disableFastParser();
    worker->parse(*texts);
    int64_t rows = 0;
    const double start = cpuSeconds();
    double used = 0;
    while (used < budget) {
      rows += worker->parse(*texts)->length();
      used = cpuSeconds() - start;
    }
    std::printf("%-6s %.2f M records per CPU second, %.0f ns a record\n", name,
                static_cast<double>(rows) / used / 1e6, used / static_cast<double>(rows) * 1e9);
  };
  run("fast", true);
  run("exact", false);
  return 0;
}
