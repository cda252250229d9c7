// What tests of the Delta source share: rows as texts, streams run to their end, tables written line by line.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <arrow/api.h>
#include <nlohmann/json.hpp>

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
  SourceRun(std::shared_ptr<delta::DeltaLog> log, const Options& options, const Location& checkpoint,
            std::map<std::string, std::string> settings = {}, const std::string& number = "0") {
    read_.options = options;
    read_.paths = {log->table().path};
    StreamSourceContext context;
    context.metadataFolder = checkpoint.child("sources").child(number);
    context.settings = std::move(settings);
    const auto resolve = [files = checkpoint.fileSystem](std::string_view path) {
      return Location{files, std::string(path)};
    };
    source_ = openDeltaStream(std::move(log), read_, context, resolve);
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

inline constexpr const char* kSchema =
    R"({"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":{}}]})";
inline constexpr const char* kWiderSchema =
    R"({"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":{}},{"name":"x","type":"string","nullable":true,"metadata":{}}]})";

// A table in memory, written commit by commit; its data files do not exist.
class TestTable {
 public:
  TestTable() { commit({protocol(), metadata()}); }
  explicit TestTable(const std::vector<std::string>& first) { commit(first); }

  static std::string protocol() { return R"({"protocol":{"minReaderVersion":1,"minWriterVersion":2}})"; }
  static std::string metadata(const std::string& schema = kSchema, const std::string& id = "table-id",
                              const nlohmann::json& configuration = nlohmann::json::object()) {
    return nlohmann::json{{"metaData",
                           {{"id", id},
                            {"format", {{"provider", "parquet"}, {"options", nlohmann::json::object()}}},
                            {"schemaString", schema},
                            {"partitionColumns", nlohmann::json::array()},
                            {"configuration", configuration}}}}
        .dump();
  }
  static std::string add(const std::string& path, int64_t time = 0, bool dataChange = true,
                         int64_t size = 100) {
    return nlohmann::json{{"add",
                           {{"path", path},
                            {"partitionValues", nlohmann::json::object()},
                            {"size", size},
                            {"modificationTime", time},
                            {"dataChange", dataChange}}}}
        .dump();
  }
  static std::string remove(const std::string& path, bool dataChange = true) {
    return nlohmann::json{{"remove", {{"path", path}, {"deletionTimestamp", 0}, {"dataChange", dataChange}}}}
        .dump();
  }
  static std::string change(const std::string& path) {
    return nlohmann::json{{"cdc",
                           {{"path", path},
                            {"partitionValues", nlohmann::json::object()},
                            {"size", 100},
                            {"dataChange", false}}}}
        .dump();
  }

  void commit(const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    files_->writeAtomically("/t/_delta_log/" + delta::commitFileName(next_++), text);
  }
  int64_t version() const { return next_ - 1; }
  void removeCommit(int64_t version) { files_->remove("/t/_delta_log/" + delta::commitFileName(version)); }
  void dropAndStartAnew() {
    files_->removeTree("/t");
    next_ = 0;
  }

  std::shared_ptr<delta::DeltaLog> log() const {
    return std::make_shared<delta::DeltaLog>(Location{files_, "/t"});
  }
  Location checkpoint() const { return {files_, "/checkpoint"}; }
  SourceRun run(const Options& options = {}, std::map<std::string, std::string> settings = {}) const {
    return SourceRun(log(), options, checkpoint(), std::move(settings));
  }

 private:
  std::shared_ptr<FileSystem> files_ = makeMemoryFileSystem();
  int64_t next_ = 0;
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
