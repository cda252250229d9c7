#include "delta/files/partitioned_writer.h"

#include <algorithm>

#include <arrow/array.h>
#include <arrow/record_batch.h>

#include "common/error.h"
#include "common/options.h"
#include "delta/files/partition_values.h"
#include "storage/uri_path.h"
#include "types/arrow_result.h"

namespace thalweg::delta {
PartitionedWriter::PartitionedWriter(const DataFileLayout& layout, int taskId)
    : layout_(layout), taskId_(taskId) {
  for (const std::string& name : layout.partitionColumns) {
    partitionIndexes_.push_back(layout.schema->fieldIndex(name, /*caseSensitive=*/false));
    THALWEG_ASSERT(partitionIndexes_.back() >= 0);
  }
  for (int i = 0; i < static_cast<int>(layout.schema->fields().size()); ++i) {
    if (std::find(partitionIndexes_.begin(), partitionIndexes_.end(), i) == partitionIndexes_.end())
      dataIndexes_.push_back(i);
  }
}

PartitionedWriter::~PartitionedWriter() = default;

void PartitionedWriter::write(const std::shared_ptr<arrow::RecordBatch>& rows,
                              const PlacedRowsVisitor& placed) {
  if (rows->num_rows() == 0) return;
  const auto stored = valueOrThrow(rows->SelectColumns(dataIndexes_));
  for (const ValueGroup& group : groupByValues(*rows, partitionIndexes_))
    writeInto(keyOf(*rows, group.firstRow), group, *rowsOfGroup(stored, group), placed);
}

PartitionedWriter::Key PartitionedWriter::keyOf(const arrow::RecordBatch& rows, int64_t row) const {
  Key key;
  for (const int index : partitionIndexes_) {
    const DataType& type = *layout_.schema->fields()[static_cast<size_t>(index)].type;
    key.push_back(partitionValueText(*rows.column(index), row, type));
  }
  return key;
}

void PartitionedWriter::writeInto(const Key& key, const ValueGroup& group, const arrow::RecordBatch& rows,
                                  const PlacedRowsVisitor& placed) {
  for (int64_t start = 0; start < rows.num_rows();) {
    auto& writer = open_[key];
    if (!writer) {
      PartitionValues values;
      for (size_t i = 0; i < key.size(); ++i) {
        values[layout_.physicalSchema->fields()[static_cast<size_t>(partitionIndexes_[i])].name] = key[i];
      }
      writer = std::make_unique<DataFileWriter>(layout_, std::move(values), taskId_);
    }
    int64_t count = rows.num_rows() - start;
    if (layout_.maxRecordsPerFile > 0) count = std::min(count, layout_.maxRecordsPerFile - writer->numRows());
    writer->write(*rows.Slice(start, count));
    if (placed) placed({writer->logPath(), group.rows.empty() ? nullptr : &group.rows, start, count});
    start += count;
    if (layout_.maxRecordsPerFile > 0 && writer->numRows() >= layout_.maxRecordsPerFile) closeWriter(key);
  }
  keepBounds();
}

void PartitionedWriter::closeWriter(const Key& key) {
  const auto it = open_.find(key);
  if (auto file = it->second->close()) finished_.push_back(*std::move(file));
  open_.erase(it);
}

void PartitionedWriter::keepBounds() {
  while (open_.size() > 1) {
    int64_t total = 0;
    auto largest = open_.begin();
    for (auto it = open_.begin(); it != open_.end(); ++it) {
      total += it->second->bufferedBytes();
      if (it->second->bufferedBytes() > largest->second->bufferedBytes()) largest = it;
    }
    if (total <= layout_.maxBufferedBytes && static_cast<int>(open_.size()) <= layout_.maxOpenFiles) return;
    closeWriter(Key(largest->first));
  }
}

std::vector<AddFile> PartitionedWriter::close() {
  while (!open_.empty()) closeWriter(Key(open_.begin()->first));
  return std::move(finished_);
}

void PartitionedWriter::abort() noexcept {
  open_.clear();
  removeUncommitted(layout_.table, finished_);
  finished_.clear();
}

}  // namespace thalweg::delta
