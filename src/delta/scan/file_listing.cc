#include "delta/scan/file_listing.h"

#include <arrow/scalar.h>

#include "common/options.h"
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

// False only where no value within the bounds can satisfy the predicate. Nulls satisfy no comparison.
bool mayHold(const ColumnPredicate& predicate, const ParquetColumnBounds& bounds) {
  using Op = ColumnPredicate::Op;
  const OrderedValue literal = valueOf(predicate.literal);
  const OrderedValue min = valueOf(bounds.min);
  const OrderedValue max = valueOf(bounds.max);
  switch (predicate.op) {
    case Op::Equal:
      return !isLess(literal, min) && !isLess(max, literal);
    case Op::Less:
      return !isSet(literal) || !isSet(min) || isLess(min, literal);
    case Op::LessOrEqual:
      return !isLess(literal, min);
    case Op::Greater:
      return !isSet(literal) || !isSet(max) || isLess(literal, max);
    case Op::GreaterOrEqual:
      return !isLess(max, literal);
    default:
      return true;
  }
}

// Judges a row group by the bounds of its partition values.
class PartitionBounds {
 public:
  PartitionBounds(const Snapshot& snapshot, const Schema& physical,
                  const std::vector<ColumnPredicate>& predicates) {
    for (const ColumnPredicate& predicate : predicates) {
      const int index = snapshot.schema()->fieldIndex(predicate.column, /*caseSensitive=*/false);
      if (index < 0) continue;
      // Of wall clocks without a zone, they are instants of whoever wrote the checkpoint.
      if (snapshot.schema()->fields()[static_cast<size_t>(index)].type->id() == TypeId::Timestamp) continue;
      const std::string& logical = snapshot.schema()->fields()[static_cast<size_t>(index)].name;
      for (const std::string& column : snapshot.partitionColumns()) {
        if (!equalsIgnoreCase(column, logical)) continue;
        const std::string& name = physical.fields()[static_cast<size_t>(index)].name;
        predicates_.emplace_back("add.partitionValues_parsed." + name, predicate);
      }
    }
  }

  bool mayHold(const ParquetRowGroup& group) const {
    for (const auto& [leaf, predicate] : predicates_) {
      const auto bounds = group.columns.find(leaf);
      if (bounds != group.columns.end() && !delta::mayHold(predicate, bounds->second)) return false;
    }
    return true;
  }

 private:
  std::vector<std::pair<std::string, ColumnPredicate>> predicates_;
};

}  // namespace

std::optional<FileListing> listFiles(const Location& table, const std::vector<ColumnPredicate>& predicates,
                                     const std::function<void(AddFile&&)>& visit, const Clock& clock) {
  const std::string logPath = table.path + "/" + std::string(kLogFolder);
  const auto segment = listLogSegment(*table.fileSystem, logPath);
  if (!segment) return std::nullopt;
  const SnapshotPtr tail = readTail(table, *segment, clock);
  const SchemaPtr physical = physicalSchema(tail->schema(), columnMappingMode(tail->metadata()));
  const FileFilter filter(*tail->schema(), *physical, tail->partitionColumns(), predicates);
  FileListing listing{tail->version(), tail->protocol(), tail->metadata()};
  const auto offer = [&](AddFile&& file) {
    if (!filter.mayMatch(file)) return;
    ++listing.numFiles;
    visit(std::move(file));
  };
  tail->files().forEachLive([&](const FileRecord& record) { offer(record.toAdd()); });
  if (!segment->checkpoint) return listing;
  const PartitionBounds bounds(*tail, *physical, predicates);
  readCheckpointAdds(
      *table.fileSystem, logPath, *segment->checkpoint,
      [&](const FileFields& fields) {
        const std::string vector = fields.deletionVector ? fields.deletionVector->uniqueId() : std::string();
        if (!tail->files().knows(fields.path, vector)) offer(addOf(fields));
      },
      [&](const ParquetRowGroup& group) { return bounds.mayHold(group); });
  return listing;
}

}  // namespace thalweg::delta
