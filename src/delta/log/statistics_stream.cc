#include "delta/log/statistics_stream.h"

#include <utility>

#include <arrow/array.h>
#include <arrow/record_batch.h>

#include "common/error.h"
#include "delta/log/arrow_struct.h"
#include "delta/log/parsed_stats.h"

namespace thalweg::delta {
namespace {

// Rows are told by their numbers, which are another's in another file.
[[noreturn]] void throwReplaced(const std::string& path) {
  throw Error("DELTA_STATE_RECOVER_ERROR", "The checkpoint " + path + " was replaced while it was read.",
              {{"operation", "statistics"}, {"path", path}});
}

}  // namespace

struct ParsedStatistics::Batch {
  Batch(const std::shared_ptr<arrow::RecordBatch>& rows, int64_t first)
      : adds(rows->GetColumnByName("add"), "add"),
        paths(adds.text("path")),
        stats(adds.member("stats_parsed")),
        firstRow(first),
        numRows(rows->num_rows()) {}

  StructColumn adds;
  TextColumn paths;
  std::shared_ptr<arrow::Array> stats;  // null: the file has none
  int64_t firstRow;
  int64_t numRows;
};

ParsedStatistics::ParsedStatistics(FileSystem& fileSystem, const std::string& path)
    : path_(path), stream_(fileSystem, path, {"add.path", "add.stats_parsed"}) {}
ParsedStatistics::~ParsedStatistics() = default;

std::optional<std::string> ParsedStatistics::at(int64_t row, std::string_view addedPath) {
  while (!batch_ || row - batch_->firstRow >= batch_->numRows) {
    // A file that lacks the struct lacks it in every batch.
    if (batch_ && !batch_->stats) return std::nullopt;
    const auto rows = stream_.next();
    if (!rows) throwReplaced(path_);
    batch_ = std::make_unique<Batch>(rows, stream_.firstRowIndex());
  }
  const int64_t index = row - batch_->firstRow;
  if (index < 0 || batch_->paths.viewAt(index) != addedPath) throwReplaced(path_);
  return batch_->stats ? parsedStatsToJson(*batch_->stats, index) : std::nullopt;
}

struct StatisticsStream::Batch {
  Batch(std::shared_ptr<arrow::RecordBatch> rows, int64_t first)
      : adds(rows->GetColumnByName("add"), "add"),
        paths(adds.text("path")),
        texts(adds.text("stats")),
        firstRow(first),
        numRows(rows->num_rows()) {}

  bool next() {
    while (++index < numRows) {
      if (!adds.isNull(index) && paths.viewAt(index)) return true;
    }
    return false;
  }

  StructColumn adds;
  TextColumn paths;
  TextColumn texts;
  int64_t firstRow;
  int64_t numRows;
  int64_t index = -1;
};

StatisticsStream::StatisticsStream(FileSystem& fileSystem, std::string path)
    : fileSystem_(fileSystem),
      path_(std::move(path)),
      stream_(fileSystem, path_, {"add.path", "add.stats"}) {}
StatisticsStream::~StatisticsStream() = default;

bool StatisticsStream::next() {
  while (!batch_ || !batch_->next()) {
    auto rows = stream_.next();
    if (!rows) return false;
    batch_ = std::make_unique<Batch>(std::move(rows), stream_.firstRowIndex());
  }
  return true;
}

int64_t StatisticsStream::row() const {
  return batch_->firstRow + batch_->index;
}
std::string_view StatisticsStream::addedPath() const {
  return *batch_->paths.viewAt(batch_->index);
}

std::optional<std::string_view> StatisticsStream::statistics() {
  const auto text = batch_->texts.viewAt(batch_->index);
  if (text) return text;
  if (!parsed_) parsed_.emplace(fileSystem_, path_);
  parsedText_ = parsed_->at(row(), addedPath());
  return parsedText_ ? std::optional<std::string_view>(*parsedText_) : std::nullopt;
}

}  // namespace thalweg::delta
