#include "commands/file_tables.h"

#include <algorithm>

#include "common/error.h"
#include "storage/file_uri.h"

namespace thalweg {
namespace {

void take(const SettingLookup& setting, std::initializer_list<const char*> keys, Options* options) {
  for (const char* key : keys) {
    if (const auto value = setting(key)) options->set(key, *value);
  }
}

}  // namespace

void takeFileReadSettings(const SettingLookup& setting, Options* options) {
  take(setting,
       {"spark.sql.parquet.mergeSchema", "spark.sql.parquet.datetimeRebaseModeInRead",
        "spark.sql.parquet.int96RebaseModeInRead", "spark.sql.files.ignoreCorruptFiles",
        "spark.sql.files.ignoreMissingFiles", "spark.sql.caseSensitive",
        "spark.sql.sources.partitionColumnTypeInference.enabled", "spark.sql.legacy.parquet.nanosAsLong",
        "spark.sql.parquet.inferTimestampNTZ.enabled"},
       options);
}

void takeFileWriteSettings(const SettingLookup& setting, Options* options) {
  take(setting, {"spark.sql.parquet.compression.codec", "spark.sql.files.maxRecordsPerFile"}, options);
}

bool readsFilesBelow(const LogicalNode& rows, const Location& folder) {
  if (rows.kind() == LogicalKind::TableScan) {
    for (const std::string& uri : static_cast<const LogicalTableScan&>(rows).table()->inputFiles()) {
      const auto path = pathOfUri(*folder.fileSystem, uri);
      if (path && (*path == folder.path || path->starts_with(folder.path + "/"))) return true;
    }
  }
  const auto& children = rows.children();
  return std::any_of(children.begin(), children.end(),
                     [&](const LogicalPtr& child) { return readsFilesBelow(*child, folder); });
}

void checkFileTarget(const TableTarget& target, const LogicalNode& rows, bool overwrite,
                     CommandSession& session) {
  const Location folder = session.formats().fileSystems().resolve(target.address);
  for (const FileInfo& entry : folder.fileSystem->list(folder.path)) {
    if (entry.isDirectory && entry.name().find('=') != std::string_view::npos)
      throw unsupported("Writing into " + target.shownName() + ", whose files lie in partition folders");
  }
  if (!overwrite || !readsFilesBelow(rows, folder)) return;
  throw Error("UNSUPPORTED_OVERWRITE.TABLE",
              "The table " + target.shownName() + " cannot be overwritten by rows that are read from it.",
              {{"table", target.shownName()}});
}

}  // namespace thalweg
