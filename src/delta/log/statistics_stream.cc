#include "delta/log/statistics_stream.h"

#include <utility>

#include <arrow/array.h>
#include <arrow/record_batch.h>

#include "delta/log/arrow_struct.h"
#include "delta/log/parsed_stats.h"

namespace thalweg::delta {

ParsedStatistics::ParsedStatistics(FileSystem& fileSystem, const std::string& path)
    : stream_(fileSystem, path, {"add.stats_parsed"}) {}
ParsedStatistics::~ParsedStatistics() = default;

std::optional<std::string> ParsedStatistics::at(int64_t row) {
  while (!stats_ || row - firstRow_ >= numRows_) {
    firstRow_ += numRows_;
    const auto batch = stream_.next();
    if (!batch) return std::nullopt;
    numRows_ = batch->num_rows();
    stats_ = StructColumn(batch->GetColumnByName("add"), "add").member("stats_parsed");
    if (!stats_) return std::nullopt;
  }
  return parsedStatsToJson(*stats_, row - firstRow_);
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
  parsedText_ = parsed_->at(row());
  return parsedText_ ? std::optional<std::string_view>(*parsedText_) : std::nullopt;
}

}  // namespace thalweg::delta
