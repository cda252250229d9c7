#include "sources/delta/delta_table.h"

#include "common/error.h"
#include "delta/scan/file_skipping.h"
#include "delta/scan/row_count.h"

namespace thalweg {
namespace {

// As Spark's reader says it: a missing folder is a missing path, a folder without a log a missing table.
[[noreturn]] void throwNoTable(const Location& table) {
  if (!table.fileSystem->stat(table.path)) {
    throw Error("PATH_NOT_FOUND", "Path does not exist: " + table.uri() + ".", {{"path", table.uri()}});
  }
  throw Error("DELTA_TABLE_NOT_FOUND",
              "There is no Delta table at " + table.uri() + ": the folder has no _delta_log.",
              {{"tableName", table.uri()}});
}

}  // namespace

DeltaTable::DeltaTable(delta::SnapshotPtr snapshot, TimeZone zone, std::shared_ptr<delta::DeltaLog> log)
    : log_(std::move(log)),
      zone_(std::move(zone)),
      snapshot_(std::move(snapshot)),
      layout_(delta::makeTableLayout(*snapshot_, zone_)),
      scan_(DeltaScan::make(layout_, snapshot_->metadata(), DeltaScan::Columns::TableAndMetadata)) {}

std::shared_ptr<Table> DeltaTable::latest() const {
  if (!log_) return nullptr;
  delta::SnapshotPtr newest = log_->update();
  if (!newest || newest->version() == snapshot_->version()) return nullptr;
  return std::make_shared<DeltaTable>(std::move(newest), zone_, log_);
}

std::vector<SplitPtr> DeltaTable::planScan(const std::vector<ColumnPredicate>& predicates) const {
  const delta::FileFilter filter(*layout_, predicates);
  std::vector<delta::ChangedFile> files;
  snapshot_->files().forEachLive([&](const delta::FileRecord& record) {
    // Without statistics first: partition values often decide.
    delta::AddFile file = record.toAdd(delta::Statistics::LeftOut);
    if (!filter.mayMatch(file)) return;
    if (filter.asksStatistics() && !filter.mayMatch(record.toAdd(delta::Statistics::IfKnown))) return;
    files.push_back({std::move(file)});
  });
  return splitDeltaFiles(scan_, std::move(files));
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

std::optional<Table::Version> DeltaTable::version() const {
  if (!log_) return std::nullopt;
  return Version{snapshot_->table().uri(), snapshot_->version()};
}

std::optional<int64_t> DeltaTable::rowCount() const {
  return delta::rowCount(*snapshot_);
}

delta::SnapshotPtr requireDeltaTable(delta::DeltaLog& log) {
  delta::SnapshotPtr snapshot = log.update();
  if (!snapshot) throwNoTable(log.table());
  return snapshot;
}

std::shared_ptr<DeltaTable> openDeltaTable(const std::shared_ptr<delta::DeltaLog>& log,
                                           const DeltaAddress& address, const Options& options,
                                           const std::string& timeZone) {
  delta::SnapshotPtr newest = requireDeltaTable(*log);
  delta::SnapshotPtr older = travelTo(*log, address, options, timeZone);
  // A version that was asked for stays that version.
  TimeZone zone = TimeZone::parse(timeZone);
  if (older) return std::make_shared<DeltaTable>(std::move(older), std::move(zone));
  return std::make_shared<DeltaTable>(std::move(newest), std::move(zone), log);
}

}  // namespace thalweg
