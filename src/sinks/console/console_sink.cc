#include "sinks/console/console_sink.h"

#include <cstdio>

#include "sinks/collecting_write.h"

namespace thalweg {
namespace {

constexpr int kDefaultRows = 20;
constexpr int kDefaultTruncate = 20;

}  // namespace

ConsoleSink::ConsoleSink(const Options& options, Draw draw)
    : numRows_(static_cast<int>(options.getLong("numRows").value_or(kDefaultRows))), truncate_(kDefaultTruncate), draw_(std::move(draw)) {
  const std::string truncate = options.getOr("truncate", "true");
  if (equalsIgnoreCase(truncate, "false")) truncate_ = 0;
  else if (!equalsIgnoreCase(truncate, "true")) truncate_ = static_cast<int>(*options.getLong("truncate"));
}

std::string ConsoleSink::description() const { return "org.apache.spark.sql.execution.streaming.ConsoleTable$"; }

std::unique_ptr<BatchWrite> ConsoleSink::beginBatch(const StreamBatch& batch) {
  return std::make_unique<CollectingWrite>([this, id = batch.batchId, schema = batch.schema](CollectingWrite::Batches rows) {
    const std::string line = "-------------------------------------------\n";
    const std::string text = line + "Batch: " + std::to_string(id) + "\n" + line + draw_(*schema, rows, numRows_, truncate_) + "\n";
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  });
}

}  // namespace thalweg
