// What tests of the Delta source share: rows as texts, streams run to their end, tables written line by line.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <arrow/api.h>

#include "common/error.h"
#include "connector/stream_source.h"
#include "delta/log/log_files.h"
#include "delta/snapshot/delta_log.h"
#include "sources/delta/delta_stream_source.h"

namespace thalweg {

using RowTexts = std::multiset<std::string>;

inline void addRowTexts(const arrow::RecordBatch& batch, RowTexts* rows) {
  for (int64_t row = 0; row < batch.num_rows(); ++row) {
    std::string text;
    for (const auto& column : batch.columns()) {
      const auto scalar = column->GetScalar(row).ValueOrDie();
      text += (scalar->is_valid ? scalar->ToString() : "null") + "|";
    }
    rows->insert(text);
  }
}

// The rows of the first `columns` columns.
inline void readSplits(const std::vector<SplitPtr>& splits, int columns, RowTexts* rows) {
  ReadRequest request;
  for (int i = 0; i < columns; ++i) request.columns.push_back(i);
  for (const SplitPtr& split : splits) {
    const auto reader = split->open(request);
    while (const auto batch = reader->next()) addRowTexts(*batch, rows);
  }
}

// A query's calls on one source, without the query. Batches are planned again as after a restart.
class SourceRun {
 public:
  SourceRun(std::shared_ptr<delta::DeltaLog> log, const Options& options, const Location& checkpoint) {
    read_.options = options;
    read_.paths = {log->table().path};
    StreamSourceContext context;
    context.metadataFolder = checkpoint.child("sources").child("0");
    source_ = openDeltaStream(std::move(log), read_, context, {});
  }

  StreamSource& source() { return *source_; }
  // The next batch's end; nothing where there is none.
  std::optional<SourceOffset> next(bool ignoreLimits = false) {
    const auto start = committed_ ? committed_ : source_->initialOffset();
    auto end = source_->latestOffset(start, ignoreLimits);
    if (!end || end == start) return std::nullopt;
    splits_ = source_->plan(start, *end);
    source_->commit(*end);
    committed_ = end;
    return end;
  }
  const std::vector<SplitPtr>& splits() const { return splits_; }
  void goOnFrom(const SourceOffset& offset) { committed_ = offset; }
  // All batches until nothing is new: their ends.
  std::vector<SourceOffset> drain() {
    std::vector<SourceOffset> ends;
    while (auto end = next()) ends.push_back(*end);
    return ends;
  }
  // The rows of all batches until nothing is new.
  RowTexts drainRows(int columns) {
    RowTexts rows;
    while (next()) readSplits(splits_, columns, &rows);
    return rows;
  }

 private:
  ReadDefinition read_;
  std::unique_ptr<StreamSource> source_;
  std::optional<SourceOffset> committed_;
  std::vector<SplitPtr> splits_;
};

inline std::string conditionOf(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.condition();
  }
  return "";
}

}  // namespace thalweg
