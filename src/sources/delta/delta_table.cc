#include "sources/delta/delta_table.h"

#include <charconv>

#include <arrow/record_batch.h>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "delta/files/value_text.h"
#include "delta/scan/data_file_reader.h"
#include "delta/scan/file_skipping.h"
#include "types/time_zone.h"

namespace thalweg {
namespace {

// Spark's spark.sql.files.maxPartitionBytes and openCostInBytes: what small files are put together by.
constexpr int64_t kSplitBytes = 128 << 20;
constexpr int64_t kOpenCostBytes = 4 << 20;

class DeltaReader : public BatchReader {
 public:
  DeltaReader(delta::TableLayoutPtr layout, std::vector<delta::AddFile> files, const ReadRequest& request)
      : layout_(std::move(layout)), files_(std::move(files)) {
    options_.columns = request.columns;
    options_.batchRows = request.maxBatchRows;
    options_.memoryPool = request.memoryPool;
    options_.cancellation = request.cancellation;
  }

  std::shared_ptr<arrow::RecordBatch> next() override {
    while (true) {
      if (!reader_) {
        if (nextFile_ == files_.size()) return nullptr;
        reader_.emplace(layout_, files_[nextFile_++], options_);
      }
      if (auto batch = reader_->next()) return batch;
      reader_.reset();
    }
  }

 private:
  delta::TableLayoutPtr layout_;
  std::vector<delta::AddFile> files_;
  delta::DataFileReadOptions options_;
  size_t nextFile_ = 0;
  std::optional<delta::DataFileReader> reader_;
};

class DeltaSplit : public Split {
 public:
  DeltaSplit(delta::TableLayoutPtr layout, std::vector<delta::AddFile> files)
      : layout_(std::move(layout)), files_(std::move(files)) {}

  std::unique_ptr<BatchReader> open(const ReadRequest& request) const override {
    return std::make_unique<DeltaReader>(layout_, files_, request);
  }

 private:
  delta::TableLayoutPtr layout_;
  std::vector<delta::AddFile> files_;
};

delta::ColumnPredicate toDelta(const ScanPredicate& predicate) {
  const auto op = [&] {
    switch (predicate.op) {
      case ScanPredicate::Op::Equal:
        return delta::ColumnPredicate::Op::Equal;
      case ScanPredicate::Op::Less:
        return delta::ColumnPredicate::Op::Less;
      case ScanPredicate::Op::LessOrEqual:
        return delta::ColumnPredicate::Op::LessOrEqual;
      case ScanPredicate::Op::Greater:
        return delta::ColumnPredicate::Op::Greater;
      case ScanPredicate::Op::GreaterOrEqual:
        return delta::ColumnPredicate::Op::GreaterOrEqual;
      case ScanPredicate::Op::IsNull:
        return delta::ColumnPredicate::Op::IsNull;
      case ScanPredicate::Op::IsNotNull:
        return delta::ColumnPredicate::Op::IsNotNull;
    }
    throw internalError("unknown predicate");
  }();
  return {predicate.column, op, predicate.literal};
}

std::optional<int64_t> parseLong(std::string_view text) {
  int64_t value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || failure != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Error badOption(const std::string& name, const std::string& text, const std::string& form) {
  return Error(ErrorKind::IllegalArgument, "INVALID_OPTION",
               fmt::format("The option {} is '{}', which is not {}.", name, text, form), {{"option", name}});
}

// Milliseconds since the epoch of a timestampAsOf text.
int64_t timestampOption(const std::string& text, const std::string& timeZone) {
  const auto micros = delta::parseTimestampText(text);
  if (!micros)
    throw badOption("timestampAsOf", text, "a time like 2026-01-15 10:00:00 or 2026-01-15T10:00:00Z");
  const size_t time = text.find_first_of(" T");
  const bool hasOffset = time != std::string::npos && text.find_first_of("Z+-", time) != std::string::npos;
  return (hasOffset ? *micros : TimeZone::parse(timeZone).toUtcMicros(*micros)) / 1000;
}

// "yyyyMMddHHmmssSSS" of a path.
std::optional<int64_t> timestampInPath(std::string_view digits) {
  if (digits.size() != 17 || !parseLong(digits)) return std::nullopt;
  const auto part = [&](size_t from, size_t count) { return digits.substr(from, count); };
  const auto micros =
      delta::parseTimestampText(fmt::format("{}-{}-{} {}:{}:{}.{}", part(0, 4), part(4, 2), part(6, 2),
                                            part(8, 2), part(10, 2), part(12, 2), part(14, 3)));
  if (!micros) return std::nullopt;
  return *micros / 1000;
}

// As Spark's reader says it: a missing folder is a missing path, a folder without a log a missing table.
[[noreturn]] void throwNoTable(const Location& table) {
  if (!table.fileSystem->stat(table.path)) {
    throw Error("PATH_NOT_FOUND", "Path does not exist: " + table.uri() + ".", {{"path", table.uri()}});
  }
  throw Error("DELTA_TABLE_NOT_FOUND", "There is no Delta table at " + table.uri() + ": the folder has no _delta_log.",
              {{"tableName", table.uri()}});
}

}  // namespace

DeltaTable::DeltaTable(delta::SnapshotPtr snapshot, delta::AddressResolver resolve, std::shared_ptr<delta::DeltaLog> log)
    : log_(std::move(log)),
      resolve_(resolve),
      snapshot_(std::move(snapshot)),
      layout_(delta::makeTableLayout(snapshot_->table(), snapshot_->metadata(), snapshot_->schema(),
                                     std::move(resolve))) {}

std::shared_ptr<Table> DeltaTable::latest() const {
  if (!log_) return nullptr;
  delta::SnapshotPtr newest = log_->update();
  if (!newest || newest->version() == snapshot_->version()) return nullptr;
  return std::make_shared<DeltaTable>(std::move(newest), resolve_, log_);
}

std::vector<SplitPtr> DeltaTable::planScan(const std::vector<ScanPredicate>& predicates) const {
  std::vector<delta::ColumnPredicate> converted;
  for (const ScanPredicate& predicate : predicates) converted.push_back(toDelta(predicate));
  const delta::FileFilter filter(*layout_->schema, *layout_->physicalSchema, layout_->partitionColumns,
                                 std::move(converted));

  std::vector<SplitPtr> splits;
  std::vector<delta::AddFile> group;
  int64_t groupBytes = 0;
  const auto flush = [&] {
    if (!group.empty()) splits.push_back(std::make_shared<DeltaSplit>(layout_, std::move(group)));
    group.clear();
    groupBytes = 0;
  };
  snapshot_->files().forEachLive([&](const delta::FileRecord& record) {
    delta::AddFile file = record.toAdd();
    if (!filter.empty() && !filter.mayMatch(file)) return;
    const int64_t cost = file.size + kOpenCostBytes;
    if (groupBytes + cost > kSplitBytes) flush();
    groupBytes += cost;
    group.push_back(std::move(file));
  });
  flush();
  return splits;
}

std::string DeltaTable::description() const {
  return fmt::format("delta {} version {}", snapshot_->table().uri(), snapshot_->version());
}

std::vector<std::string> DeltaTable::inputFiles() const {
  std::vector<std::string> uris;
  snapshot_->files().forEachLive([&](const delta::FileRecord& record) {
    uris.push_back(delta::locateFile(*layout_, std::string(record.logPath())).uri());
  });
  return uris;
}

std::optional<int64_t> DeltaTable::rowCount() const {
  std::optional<int64_t> rows = 0;
  snapshot_->files().forEachLive([&](const delta::FileRecord& record) {
    if (!rows) return;
    const delta::AddFile file = record.toAdd();
    const auto statistics =
        nlohmann::json::parse(file.stats.value_or(""), nullptr, /*allow_exceptions=*/false);
    const auto it = statistics.is_object() ? statistics.find("numRecords") : statistics.end();
    if (!statistics.is_object() || it == statistics.end() || !it->is_number_integer()) {
      rows.reset();
      return;
    }
    *rows += it->get<int64_t>() - (file.deletionVector ? file.deletionVector->cardinality : 0);
  });
  return rows;
}

DeltaAddress parseDeltaAddress(std::string_view address) {
  const size_t at = address.rfind('@');
  if (at != std::string_view::npos && at > 0) {
    const std::string_view suffix = address.substr(at + 1);
    const std::string path(address.substr(0, at));
    if (suffix.starts_with('v')) {
      if (const auto version = parseLong(suffix.substr(1)); version && *version >= 0)
        return {path, version, std::nullopt};
    } else if (const auto timestamp = timestampInPath(suffix)) {
      return {path, std::nullopt, timestamp};
    }
  }
  return {std::string(address), std::nullopt, std::nullopt};
}

std::shared_ptr<DeltaTable> openDeltaTable(const std::shared_ptr<delta::DeltaLog>& log, const DeltaAddress& address,
                                           const Options& options, const std::string& timeZone,
                                           delta::AddressResolver resolve) {
  std::optional<int64_t> version = address.version;
  std::optional<int64_t> timestampMs = address.timestampMs;
  if (const auto text = options.get("versionAsOf")) {
    const auto parsed = parseLong(*text);
    if (!parsed || *parsed < 0) throw badOption("versionAsOf", *text, "a version number");
    version = parsed;
  }
  if (const auto text = options.get("timestampAsOf")) timestampMs = timestampOption(*text, timeZone);
  if (version && timestampMs) {
    throw Error(ErrorKind::IllegalArgument, "INVALID_OPTION",
                "Give either a version or a timestamp to read as of, not both.");
  }
  if (!log->update()) throwNoTable(log->table());
  delta::SnapshotPtr snapshot = version       ? log->snapshotAt(*version)
                                : timestampMs ? log->snapshotAtTimestamp(*timestampMs)
                                              : log->require();
  // A version that was asked for stays that version.
  return std::make_shared<DeltaTable>(std::move(snapshot), std::move(resolve), version || timestampMs ? nullptr : log);
}

}  // namespace thalweg
