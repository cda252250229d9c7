#include "delta/scan/file_listing.h"

#include <map>

#include <arrow/scalar.h>

#include "delta/actions/action_reader.h"
#include "delta/files/column_mapping.h"
#include "delta/log/checkpoint_reader.h"
#include "delta/log/log_files.h"
#include "delta/log/log_segment.h"
#include "delta/scan/value_bounds.h"
#include "delta/snapshot/snapshot.h"
#include "formats/parquet/parquet_file.h"

namespace thalweg::delta {
namespace {

// All of the newest version but the checkpoint's files: what the commits after it say of files hides what it
// says.
SnapshotPtr readTail(const Location& table, const LogSegment& segment, const Clock& clock) {
  const std::string logPath = table.path + "/" + std::string(kLogFolder);
  SnapshotBuilder builder(table);
  const ActionSink apply = [&](Action&& action) { builder.apply(action); };
  if (segment.checkpoint) {
    readCheckpointState(*table.fileSystem, *segment.checkpoint, apply);
    builder.endVersion(segment.checkpoint->version, std::nullopt);
  }
  for (const FileInfo& commit : segment.commits) {
    readActions(table.fileSystem->readAll(commit.path), commit.path, apply);
    builder.endVersion(parseLogFileName(commit.name())->version, std::nullopt);
  }
  return std::move(builder).finish(clock.nowMillis());
}

OrderedValue valueOf(const std::shared_ptr<arrow::Scalar>& scalar) {
  return scalar && scalar->is_valid ? orderedValue(*scalar) : OrderedValue();
}

// What row groups of a checkpoint say of partition columns.
class PartitionBounds {
 public:
  PartitionBounds(const Snapshot& snapshot, const Schema& physical) {
    for (const std::string& column : snapshot.partitionColumns()) {
      const int index = snapshot.schema()->fieldIndex(column, /*caseSensitive=*/false);
      if (index < 0) continue;
      const StructField& field = physical.fields()[static_cast<size_t>(index)];
      // Instants are wall clocks of whoever wrote the checkpoint, where the log has no zone; footers drop
      // NaN.
      const TypeId type = field.type->id();
      if (type == TypeId::Timestamp || type == TypeId::Float || type == TypeId::Double) continue;
      leaves_.emplace(field.name, "add.partitionValues_parsed." + field.name);
    }
  }

  // Rows that add nothing are null there too: nulls say nothing.
  ValueBounds of(const std::string& column, const ParquetRowGroup& group) const {
    const auto leaf = leaves_.find(column);
    const auto found = leaf == leaves_.end() ? group.columns.end() : group.columns.find(leaf->second);
    if (found == group.columns.end()) return {};
    return {valueOf(found->second.min), valueOf(found->second.max), std::nullopt, std::nullopt};
  }

 private:
  std::map<std::string, std::string> leaves_;  // by physical name
};

}  // namespace

std::optional<FileListing> listFiles(const Location& table, const PredicatesOf& predicatesOf,
                                     const std::function<void(AddFile&&)>& visit, const Clock& clock) {
  const std::string logPath = table.path + "/" + std::string(kLogFolder);
  const auto segment = listLogSegment(*table.fileSystem, logPath);
  if (!segment) return std::nullopt;
  const SnapshotPtr tail = readTail(table, *segment, clock);
  const SchemaPtr physical = physicalSchema(tail->schema(), columnMappingMode(tail->metadata()));
  const FileFilter filter(*tail->schema(), *physical, tail->partitionColumns(),
                          predicatesOf(tail->metadata()), TimeZone());
  FileListing listing{tail->version(), tail->protocol(), tail->metadata()};
  const auto offer = [&](AddFile&& file) {
    if (!filter.mayMatch(file)) return;
    ++listing.numFiles;
    visit(std::move(file));
  };
  tail->files().forEachLive([&](const FileRecord& record) { offer(record.toAdd()); });
  if (!segment->checkpoint) return listing;
  const PartitionBounds bounds(*tail, *physical);
  readCheckpointAdds(
      *table.fileSystem, logPath, *segment->checkpoint,
      [&](const FileFields& fields) {
        const std::string vector = fields.deletionVector ? fields.deletionVector->uniqueId() : std::string();
        if (!tail->files().knows(fields.path, vector)) offer(addOf(fields));
      },
      [&](const ParquetRowGroup& group) {
        return filter.mayMatch([&](const std::string& column) { return bounds.of(column, group); });
      });
  return listing;
}

}  // namespace thalweg::delta
