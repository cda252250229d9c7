#include "sources/delta/schema_log.h"

#include <algorithm>

#include "common/error.h"
#include "common/fault_points.h"
#include "storage/resolved_put.h"
#include "types/text/number_text.h"

namespace thalweg {
namespace {

std::string folderName(const Location& location, const std::string& tableId,
                       const std::optional<std::string>& trackingId) {
  std::string name = "_schema_log_" + tableId;
  if (trackingId) name += "_" + *trackingId;
  if (name.find('/') == std::string::npos) return name;
  throw Error("DELTA_STREAMING_SCHEMA_LOCATION_NOT_UNDER_CHECKPOINT",
              "The schema log of a Delta stream cannot be named '" + name +
                  "': the table's id and streamingSourceTrackingId are part of a folder's name.",
              {{"schemaTrackingLocation", name}, {"checkpointLocation", location.uri()}});
}

}  // namespace

SchemaLog::SchemaLog(const Location& location, const std::string& tableId,
                     const std::optional<std::string>& trackingId)
    : folder_(location.child(folderName(location, tableId, trackingId))) {
  for (const FileInfo& file : folder_.fileSystem->list(folder_.path)) {
    // Names as written: other files ("1.tmp", ".1.crc", "01") are none of the log's.
    const auto number = parseIntegral(file.name(), 0, INT64_MAX - 1, /*allowDecimal=*/false);
    if (file.isDirectory || !number || std::to_string(*number) != file.name()) continue;
    number_ = std::max(number_, *number);
  }
  current_ = read(number_);
  if (current_ && current_->tableId != tableId) {
    throw Error("DELTA_STREAMING_SCHEMA_LOG_INCOMPATIBLE_DELTA_TABLE_ID",
                "The schema log " + folder_.uri() + " is of the Delta table with id " + current_->tableId +
                    ", but the one that is read has id " + tableId + ": set another schemaTrackingLocation.",
                {{"persistedId", current_->tableId}, {"tableId", tableId}});
  }
}

std::optional<SchemaLogEntry> SchemaLog::read(int64_t number) const {
  if (number < 0) return std::nullopt;
  const Location file = folder_.child(std::to_string(number));
  if (!file.fileSystem->stat(file.path)) return std::nullopt;
  return SchemaLogEntry::parse(file.fileSystem->readAll(file.path), file.uri());
}

int64_t SchemaLog::previousNumber() const {
  return current_ && current_->previousEntry ? *current_->previousEntry : number_ - 1;
}

std::optional<SchemaLogEntry> SchemaLog::previous() const {
  return read(previousNumber());
}

void SchemaLog::add(SchemaLogEntry entry, const std::string& table, bool replacing) {
  if (replacing && current_) entry.previousEntry = previousNumber();
  if (current_ == entry) return;
  const int64_t number = number_ + 1;
  const Location file = folder_.child(std::to_string(number));
  passFaultPoint(FaultPoint::SourceLogBefore);
  const PutOutcome outcome = putIfAbsentResolved(*file.fileSystem, file.path, entry.toText());
  passFaultPoint(FaultPoint::SourceLogAfter);
  if (outcome != PutOutcome::Done) {
    auto other = read(number);
    const bool same = other && other->tableId == entry.tableId && other->sourceFolder == entry.sourceFolder &&
                      other->commitVersion >= entry.commitVersion;
    if (!same) {
      throw Error("DELTA_STREAMING_SCHEMA_LOCATION_CONFLICT",
                  "Another source wrote the schema log " + folder_.uri() + " while the Delta table " + table +
                      " was streamed with it. Give each source a schemaTrackingLocation or "
                      "streamingSourceTrackingId of its own.",
                  {{"loc", folder_.uri()}, {"table", table}});
    }
    entry = std::move(*other);
  }
  number_ = number;
  current_ = std::move(entry);
}

}  // namespace thalweg
