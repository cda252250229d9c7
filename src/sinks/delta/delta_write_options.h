// The options of a write into a Delta table.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/options.h"

namespace thalweg {

// What a user says of a write.
struct DeltaWriteOptions {
  // Of a new table; must be the table's own where it exists.
  std::vector<std::string> partitionBy;
  std::vector<std::vector<std::string>> clusterBy = {};  // columns, or fields in them
  bool mergeSchema = false;
  bool overwriteSchema = false;   // batch overwrite only
  bool dynamicOverwrite = false;  // batch overwrite only: of the partitions that rows come for
  int64_t maxRecordsPerFile =
      0;  // 0: no bound; where no option says, the setting spark.sql.files.maxRecordsPerFile
  std::optional<std::string> userMetadata;
  std::map<std::string, std::string>
      properties;                           // options named "delta.…": of a table that a batch write makes
  std::optional<std::string> replaceWhere;  // batch overwrite only: of the rows that satisfy this SQL
  std::optional<std::string> txnAppId;      // batch only: an idempotent write
  std::optional<int64_t> txnVersion;
  bool compactBehind = false;                  // small files are merged in the background
  std::optional<std::vector<int>> keyColumns;  // streams in update mode only: see WriteDefinition
  std::optional<int64_t> readVersion;          // of the table itself, where the rows come from it
  std::optional<bool> optimizeWrite;           // absent: as the table's property says
  // Batch only, what the session says of auto compaction: settings of delta/maintain/auto_compaction.h.
  std::map<std::string, std::string> autoCompaction = {};

  // mergeSchema, overwriteSchema, partitionOverwriteMode, replaceWhere, maxRecordsPerFile, userMetadata,
  // txnAppId, txnVersion, optimizeWrite, and table properties. Throws checkTableProperty's errors, and
  // unsupported() for options that would change what is written and are not built (replaceOn …).
  static DeltaWriteOptions parse(const Options& options, std::vector<std::string> partitionBy);
};

}  // namespace thalweg
