// The Parquet encoder's throughput on one thread, and the library's for the same rows: eight columns as the main job has
// them, a batch of 16 k rows at a time, into memory. Usage: parquet_write_bench [seconds]
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>

#include <arrow/api.h>
#include <arrow/io/memory.h>
#include <parquet/arrow/writer.h>

#include "formats/parquet/parquet_file.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"
#include "types/ddl.h"

namespace {

constexpr int64_t kBatchRows = 16'384;
constexpr int kBatches = 32;

double cpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

const thalweg::SchemaPtr& schema() {
  static const auto schema = thalweg::parseSchemaDdl(
      "user_id STRING, product_id STRING, action STRING, timestamp TIMESTAMP, price DOUBLE, processing_time TIMESTAMP, date DATE, n BIGINT");
  return schema;
}

std::shared_ptr<arrow::RecordBatch> makeBatch(std::mt19937_64& random, int64_t firstRow) {
  using thalweg::throwIfFailed;
  static constexpr const char* kActions[] = {"view", "add_to_cart", "remove_from_cart", "wishlist", "purchase"};
  arrow::StringBuilder users;
  arrow::StringBuilder products;
  arrow::StringBuilder actions;
  const auto time = arrow::timestamp(arrow::TimeUnit::MICRO, "UTC");
  arrow::TimestampBuilder times(time, arrow::default_memory_pool());
  arrow::TimestampBuilder processed(time, arrow::default_memory_pool());
  arrow::DoubleBuilder prices;
  arrow::Date32Builder dates;
  arrow::Int64Builder numbers;
  for (int64_t row = firstRow; row < firstRow + kBatchRows; ++row) {
    throwIfFailed(users.Append("u" + std::to_string(100'000 + random() % 50'000)));
    throwIfFailed(products.Append("p" + std::to_string(10'000 + random() % 1'000)));
    throwIfFailed(actions.Append(kActions[random() % 5]));
    throwIfFailed(times.Append(1'768'000'000'000'000 + row * 1'000 - static_cast<int64_t>(random() % 2'000) * 1'000));
    throwIfFailed(prices.Append(static_cast<double>(random() % 40'000) / 100));
    throwIfFailed(processed.Append(1'768'000'000'000'000));
    throwIfFailed(dates.Append(20'468));
    throwIfFailed(numbers.Append(row));
  }
  return arrow::RecordBatch::Make(thalweg::toArrowSchema(*schema()), kBatchRows,
                                  {*users.Finish(), *products.Finish(), *actions.Finish(), *times.Finish(), *prices.Finish(),
                                   *processed.Finish(), *dates.Finish(), *numbers.Finish()});
}

int64_t writeOurs(const arrow::RecordBatchVector& batches) {
  const auto out = thalweg::valueOrThrow(arrow::io::BufferOutputStream::Create());
  thalweg::ParquetFileWriter writer(out, "bench", schema());
  for (const auto& batch : batches) writer.write(*batch);
  return writer.close();
}

int64_t writeTheirs(const arrow::RecordBatchVector& batches) {
  const auto out = thalweg::valueOrThrow(arrow::io::BufferOutputStream::Create());
  const auto properties = parquet::WriterProperties::Builder().compression(arrow::Compression::SNAPPY)->build();
  const auto writer = thalweg::valueOrThrow(
      parquet::arrow::FileWriter::Open(*batches[0]->schema(), arrow::default_memory_pool(), out, properties));
  for (const auto& batch : batches) thalweg::throwIfFailed(writer->WriteRecordBatch(*batch));
  thalweg::throwIfFailed(writer->Close());
  return thalweg::valueOrThrow(out->Tell());
}

}  // namespace

int main(int argc, char** argv) {
  const double budget = argc > 1 ? std::atof(argv[1]) : 3.0;
  std::mt19937_64 random(1);
  arrow::RecordBatchVector batches;
  for (int i = 0; i < kBatches; ++i) batches.push_back(makeBatch(random, i * kBatchRows));
  const auto run = [&](const char* name, int64_t (*write)(const arrow::RecordBatchVector&)) {
    int64_t bytes = write(batches);
    int64_t rows = 0;
    const double start = cpuSeconds();
    double used = 0;
    while (used < budget) {
      bytes = write(batches);
      rows += kBatches * kBatchRows;
      used = cpuSeconds() - start;
    }
    std::printf("%-8s %.0f ns a row, %.1f bytes a row\n", name, used / static_cast<double>(rows) * 1e9,
                static_cast<double>(bytes) / static_cast<double>(kBatches * kBatchRows));
  };
  run("ours", writeOurs);
  run("library", writeTheirs);
  return 0;
}
