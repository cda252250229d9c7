#include "delta/files/partitioned_writer.h"

#include <unordered_map>

#include <arrow/array.h>
#include <arrow/compute/api_vector.h>
#include <arrow/compute/initialize.h>
#include <arrow/record_batch.h>

#include "common/error.h"
#include "common/options.h"
#include "delta/files/partition_values.h"
#include "storage/uri_path.h"
#include "types/arrow_result.h"

namespace thalweg::delta {
namespace {

void initializeCompute() {
  static const arrow::Status status = arrow::compute::Initialize();
  throwIfFailed(status);
}

// Numbers rows by the value of one column; equal values, nulls included, get one number.
std::shared_ptr<arrow::Int32Array> codesOf(const std::shared_ptr<arrow::Array>& column) {
  initializeCompute();
  const arrow::compute::DictionaryEncodeOptions options(arrow::compute::DictionaryEncodeOptions::ENCODE);
  const arrow::Datum encoded = valueOrThrow(arrow::compute::DictionaryEncode(column, options));
  const auto dictionary = std::static_pointer_cast<arrow::DictionaryArray>(encoded.make_array());
  return std::static_pointer_cast<arrow::Int32Array>(dictionary->indices());
}

// Refines groups of rows by one more column's codes; group numbers stay dense, in order of first appearance.
void refine(std::vector<int32_t>& groups, const arrow::Int32Array& codes, std::vector<int64_t>& firstRows) {
  std::unordered_map<uint64_t, int32_t> numbers;
  firstRows.clear();
  uint64_t lastKey = ~uint64_t{0};
  int32_t lastNumber = 0;
  for (size_t row = 0; row < groups.size(); ++row) {
    const uint64_t key = uint64_t{static_cast<uint32_t>(groups[row])} << 32 |
                         static_cast<uint32_t>(codes.Value(static_cast<int64_t>(row)));
    if (key != lastKey) {
      const auto [it, inserted] = numbers.try_emplace(key, static_cast<int32_t>(numbers.size()));
      if (inserted) firstRows.push_back(static_cast<int64_t>(row));
      lastKey = key;
      lastNumber = it->second;
    }
    groups[row] = lastNumber;
  }
}

}  // namespace

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
  for (const Group& group : groupsOf(*rows)) writeGroup(group, stored, placed);
}

std::vector<PartitionedWriter::Group> PartitionedWriter::groupsOf(const arrow::RecordBatch& rows) const {
  std::vector<int32_t> groups(partitionIndexes_.empty() ? 0 : static_cast<size_t>(rows.num_rows()), 0);
  std::vector<int64_t> firstRows = {0};
  for (const int index : partitionIndexes_) refine(groups, *codesOf(rows.column(index)), firstRows);

  std::vector<Group> result(firstRows.size());
  for (size_t group = 0; group < firstRows.size(); ++group) {
    for (const int index : partitionIndexes_) {
      const DataType& type = *layout_.schema->fields()[static_cast<size_t>(index)].type;
      result[group].key.push_back(partitionValueText(*rows.column(index), firstRows[group], type));
    }
  }
  if (result.size() > 1) {
    for (size_t row = 0; row < groups.size(); ++row)
      result[static_cast<size_t>(groups[row])].rows.push_back(static_cast<int64_t>(row));
  }
  return result;
}

void PartitionedWriter::writeGroup(const Group& group, const std::shared_ptr<arrow::RecordBatch>& rows,
                                   const PlacedRowsVisitor& placed) {
  if (group.rows.empty()) {
    writeInto(group, *rows, placed);
    return;
  }
  const arrow::Int64Array indexes(static_cast<int64_t>(group.rows.size()), arrow::Buffer::Wrap(group.rows));
  const arrow::Datum taken =
      valueOrThrow(arrow::compute::Take(rows, indexes.data(), arrow::compute::TakeOptions::NoBoundsCheck()));
  writeInto(group, *taken.record_batch(), placed);
}

void PartitionedWriter::writeInto(const Group& group, const arrow::RecordBatch& rows,
                                  const PlacedRowsVisitor& placed) {
  const Key& key = group.key;
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
