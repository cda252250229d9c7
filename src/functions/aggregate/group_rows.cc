#include "functions/aggregate/group_rows.h"

#include <algorithm>
#include <numeric>

#include <arrow/buffer_builder.h>
#include <arrow/util/byte_size.h>

#include "columnar/binary_row.h"

namespace thalweg {
namespace {

// So many values that nobody needs may stay before they are worth a clean-up, which looks at each group, too.
constexpr int64_t kFewValues = 1024;
// Of a set's value beside what it takes itself: its number, its weight, its key in the table.
constexpr int64_t kSetValueBytes = 64;

}  // namespace

int64_t ValueLog::append(std::shared_ptr<arrow::Array> values) {
  const int64_t start = size_;
  if (values->length() == 0) return start;
  size_ += values->length();
  bytes_ += arrow::util::ReferencedBufferSize(*values).ValueOr(0);
  starts_.push_back(start);
  chunks_.push_back(std::move(values));
  // Neighbours of like size grow together: each value is copied a few times in all, and few arrays are left.
  while (chunks_.size() > 1 && chunks_.back()->length() * 2 > chunks_[chunks_.size() - 2]->length()) {
    const auto last = chunks_.back();
    chunks_.pop_back();
    starts_.pop_back();
    chunks_.back() = valueOrThrow(arrow::Concatenate({chunks_.back(), last}));
  }
  return start;
}

std::shared_ptr<arrow::Array> ValueLog::take(std::span<const int64_t> positions,
                                             arrow::MemoryPool* pool) const {
  std::unique_ptr<arrow::ArrayBuilder> builder;
  throwIfFailed(arrow::MakeBuilder(pool, type_, &builder));
  throwIfFailed(builder->Reserve(static_cast<int64_t>(positions.size())));
  std::vector<arrow::ArraySpan> spans;
  for (const auto& chunk : chunks_) spans.emplace_back(*chunk->data());
  for (const int64_t position : positions) {
    const auto chunk =
        static_cast<size_t>(std::upper_bound(starts_.begin(), starts_.end(), position) - starts_.begin()) - 1;
    throwIfFailed(builder->AppendArraySlice(spans[chunk], position - starts_[chunk], 1));
  }
  return valueOrThrow(builder->Finish());
}

void ValueLog::keepOnly(std::span<const int64_t> positions) {
  const auto kept = take(positions, arrow::default_memory_pool());
  chunks_.clear();
  starts_.clear();
  size_ = 0;
  bytes_ = 0;
  append(kept);
}

std::shared_ptr<arrow::Array> GroupRows::values(GroupsOfRows groups, std::vector<int32_t>* counts,
                                                arrow::MemoryPool* pool) const {
  std::vector<int64_t> positions;
  for (const uint32_t group : groups) {
    positions.insert(positions.end(), positions_[group].begin(), positions_[group].end());
    counts->push_back(static_cast<int32_t>(positions_[group].size()));
  }
  return log_.take(positions, pool);
}

std::shared_ptr<arrow::Array> GroupRows::lists(GroupsOfRows groups, arrow::MemoryPool* pool) const {
  std::vector<int32_t> sizes;
  const auto values = this->values(groups, &sizes, pool);
  return listColumn(type_, sizes, values, pool);
}

void GroupRows::reset(GroupsOfRows groups) {
  for (const uint32_t group : groups) {
    live_ -= static_cast<int64_t>(positions_[group].size());
    positions_[group] = {};
  }
  if (log_.size() <= 2 * live_ + static_cast<int64_t>(positions_.size()) + kFewValues) return;
  // Most values belong to no list any more.
  std::vector<int64_t> kept;
  for (auto& positions : positions_) {
    for (int64_t& position : positions) {
      kept.push_back(position);
      position = static_cast<int64_t>(kept.size()) - 1;
    }
  }
  log_.keepOnly(kept);
}

GroupSets::GroupSets(const DataTypePtr& type) : type_(type), table_(newTable()), values_(type) {}

std::unique_ptr<GroupTable> GroupSets::newTable() const {
  return std::make_unique<GroupTable>(std::vector<DataTypePtr>{longType(), type_},
                                      arrow::default_memory_pool(), false);
}

void GroupSets::resize(int64_t numGroups) {
  numbers_.resize(static_cast<size_t>(numGroups));
  while (owners_.size() < numbers_.size()) owners_.push_back(nextOwner_++);
}

void GroupSets::add(GroupsOfRows groups, const std::shared_ptr<arrow::Array>& values,
                    const std::vector<int32_t>& rows, std::span<const int64_t> weights) {
  arrow::Int64Builder owners;
  throwIfFailed(owners.Reserve(values->length()));
  for (int64_t row = 0; row < values->length(); ++row)
    owners.UnsafeAppend(owners_[groups[static_cast<size_t>(row)]]);
  std::vector<uint32_t> assigned;
  table_->assign({valueOrThrow(owners.Finish()), values}, rows, &assigned);
  ValueLog batch(type_);
  batch.append(values);
  std::vector<int64_t> fresh;
  for (size_t i = 0; i < rows.size(); ++i) {
    const size_t number = assigned[i];
    if (number == weights_.size()) {
      weights_.push_back(0);
      numbers_[groups[static_cast<size_t>(rows[i])]].push_back(static_cast<int64_t>(number));
      fresh.push_back(rows[i]);
    }
    weights_[number] += weights.empty() ? 1 : weights[i];
  }
  live_ += static_cast<int64_t>(fresh.size());
  if (!fresh.empty()) values_.append(batch.take(fresh, arrow::default_memory_pool()));
}

void GroupSets::addLists(GroupsOfRows groups, const std::vector<int32_t>& sizes,
                         const std::shared_ptr<arrow::Array>& values, std::span<const int64_t> weights) {
  std::vector<uint32_t> groupOf;
  for (size_t i = 0; i < groups.size(); ++i)
    groupOf.insert(groupOf.end(), static_cast<size_t>(sizes[i]), groups[i]);
  std::vector<int32_t> rows(groupOf.size());
  std::iota(rows.begin(), rows.end(), 0);
  add(groupOf, values, rows, weights);
}

GroupSets::Contents GroupSets::contents(GroupsOfRows groups, arrow::MemoryPool* pool) const {
  Contents contents;
  std::vector<int64_t> positions;
  for (const uint32_t group : groups) {
    positions.insert(positions.end(), numbers_[group].begin(), numbers_[group].end());
    contents.sizes.push_back(static_cast<int32_t>(numbers_[group].size()));
  }
  contents.values = values_.take(positions, pool);
  for (const int64_t number : positions) contents.weights.push_back(weights_[static_cast<size_t>(number)]);
  return contents;
}

void GroupSets::reset(GroupsOfRows groups) {
  for (const uint32_t group : groups) {
    live_ -= static_cast<int64_t>(numbers_[group].size());
    numbers_[group] = {};
    owners_[group] = nextOwner_++;
  }
  if (values_.size() > 2 * live_ + static_cast<int64_t>(numbers_.size()) + kFewValues) rebuild();
}

Aggregator::Bytes GroupSets::bytes() const {
  return {sizeof(std::vector<int64_t>) + sizeof(int64_t),
          2 * values_.bytesOf(live_) + live_ * kSetValueBytes};
}

void GroupSets::rebuild() {
  std::vector<uint32_t> all(numbers_.size());
  std::iota(all.begin(), all.end(), 0U);
  const Contents kept = contents(all, arrow::default_memory_pool());
  table_ = newTable();
  values_ = ValueLog(type_);
  weights_.clear();
  live_ = 0;
  for (auto& numbers : numbers_) numbers.clear();
  addLists(all, kept.sizes, kept.values, kept.weights);
}

std::shared_ptr<arrow::Array> listColumn(const DataTypePtr& element, const std::vector<int32_t>& sizes,
                                         const std::shared_ptr<arrow::Array>& values,
                                         arrow::MemoryPool* pool) {
  arrow::TypedBufferBuilder<int32_t> offsets(pool);
  int32_t end = 0;
  throwIfFailed(offsets.Append(end));
  for (const int32_t size : sizes) throwIfFailed(offsets.Append(end += size));
  return std::make_shared<arrow::ListArray>(toArrowType(*DataType::array(element, false)),
                                            static_cast<int64_t>(sizes.size()),
                                            valueOrThrow(offsets.Finish()), values);
}

std::shared_ptr<arrow::Array> encodeLists(const DataTypePtr& type, const std::shared_ptr<arrow::Array>& lists,
                                          arrow::MemoryPool* pool) {
  BinaryRows rows;
  BinaryRowEncoder({type}).encode({lists}, 0, lists->length(), &rows);
  arrow::BinaryBuilder builder(pool);
  for (size_t row = 0; row < rows.size(); ++row) throwIfFailed(builder.Append(rows[row]));
  return valueOrThrow(builder.Finish());
}

std::shared_ptr<arrow::Array> decodeLists(const DataTypePtr& type, const arrow::Array& bytes) {
  const auto& column = static_cast<const arrow::BinaryArray&>(bytes);
  std::vector<std::string_view> rows;
  for (int64_t row = 0; row < column.length(); ++row) rows.push_back(column.GetView(row));
  BinaryRowDecoder decoder({type}, BinaryRowDecoder::Role::Value, arrow::default_memory_pool());
  decoder.append(rows);
  return decoder.finish()[0];
}

}  // namespace thalweg
