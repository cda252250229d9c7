// The log of the schemas by which a stream over a Delta table reads, one after the other:
// <schemaTrackingLocation>/_schema_log_<table id>[_<tracking id>]/N, in Delta's form.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sources/delta/schema_log_entry.h"
#include "storage/file_system.h"

namespace thalweg {

// Used by one thread; other processes may write the same log, and then one of them gets an Error.
class SchemaLog {
 public:
  // The log below `location` as it is now. Throws Error DELTA_STREAMING_SCHEMA_LOCATION_NOT_UNDER_CHECKPOINT
  // where the table's or the stream's id is no name of a folder,
  // DELTA_STREAMING_SCHEMA_LOG_INCOMPATIBLE_DELTA_TABLE_ID where the newest entry is another table's, and as
  // SchemaLogEntry::parse.
  SchemaLog(const Location& location, const std::string& tableId,
            const std::optional<std::string>& trackingId);

  const Location& folder() const { return folder_; }
  // The newest entry when the log was opened, or the one that was added since.
  const std::optional<SchemaLogEntry>& current() const { return current_; }
  // The entry that current() follows; none where it is the first.
  std::optional<SchemaLogEntry> previous() const;

  // Makes it current, durable on return; `replacing`: in the place of the current one. One that is current
  // already, or that another run of the same source added, is not added again. Throws Error
  // DELTA_STREAMING_SCHEMA_LOCATION_CONFLICT where another source wrote meanwhile; `table` names this one's
  // table there.
  void add(SchemaLogEntry entry, const std::string& table, bool replacing = false);

 private:
  int64_t previousNumber() const;
  std::optional<SchemaLogEntry> read(int64_t number) const;

  Location folder_;
  int64_t number_ = -1;  // current's
  std::optional<SchemaLogEntry> current_;
};

}  // namespace thalweg
