#include "delta/log/arrow_struct.h"

#include <algorithm>

#include <arrow/array.h>

#include "common/error.h"

namespace thalweg::delta {
namespace {

[[noreturn]] void throwType(const arrow::Array& array, std::string_view name) {
  throw Error("DELTA_STATE_RECOVER_ERROR", "The checkpoint's column " + std::string(name) +
                                               " has the unexpected type " + array.type()->ToString() + ".");
}

void require(bool holds, const std::shared_ptr<arrow::Array>& array, std::string_view name) {
  if (!holds) throwType(*array, name);
}

bool isType(const std::shared_ptr<arrow::Array>& array, arrow::Type::type type) {
  return array->type_id() == type;
}

// A column of nulls has no type of its own; it is the same as no column.
std::shared_ptr<arrow::Array> unlessVoid(std::shared_ptr<arrow::Array> array) {
  if (array && array->type_id() == arrow::Type::NA) return nullptr;
  return array;
}

}  // namespace

TextColumn::TextColumn(std::shared_ptr<arrow::Array> array, std::string_view name)
    : array_(unlessVoid(std::move(array))) {
  if (!array_) return;
  require(isType(array_, arrow::Type::STRING) || isType(array_, arrow::Type::BINARY), array_, name);
}

std::optional<std::string_view> TextColumn::viewAt(int64_t row) const {
  if (!array_ || array_->IsNull(row)) return std::nullopt;
  return static_cast<const arrow::BinaryArray&>(*array_).GetView(row);
}

std::optional<std::string> TextColumn::at(int64_t row) const {
  const auto view = viewAt(row);
  return view ? std::optional<std::string>(*view) : std::nullopt;
}

LongColumn::LongColumn(std::shared_ptr<arrow::Array> array, std::string_view name)
    : array_(unlessVoid(std::move(array))) {
  if (!array_) return;
  require(isType(array_, arrow::Type::INT32) || isType(array_, arrow::Type::INT64), array_, name);
}

std::optional<int64_t> LongColumn::at(int64_t row) const {
  if (!array_ || array_->IsNull(row)) return std::nullopt;
  if (array_->type_id() == arrow::Type::INT32)
    return static_cast<const arrow::Int32Array&>(*array_).Value(row);
  return static_cast<const arrow::Int64Array&>(*array_).Value(row);
}

BoolColumn::BoolColumn(std::shared_ptr<arrow::Array> array, std::string_view name)
    : array_(unlessVoid(std::move(array))) {
  if (array_) require(isType(array_, arrow::Type::BOOL), array_, name);
}

std::optional<bool> BoolColumn::at(int64_t row) const {
  if (!array_ || array_->IsNull(row)) return std::nullopt;
  return static_cast<const arrow::BooleanArray&>(*array_).Value(row);
}

TextMapColumn::TextMapColumn(std::shared_ptr<arrow::Array> array, std::string_view name)
    : array_(unlessVoid(std::move(array))) {
  if (!array_) return;
  require(isType(array_, arrow::Type::MAP), array_, name);
  const auto& map = static_cast<const arrow::MapArray&>(*array_);
  keys_.emplace(map.keys(), name);
  values_.emplace(map.items(), name);
}

bool TextMapColumn::isNull(int64_t row) const {
  return !array_ || array_->IsNull(row);
}

std::map<std::string, std::optional<std::string>> TextMapColumn::at(int64_t row) const {
  std::map<std::string, std::optional<std::string>> result;
  if (isNull(row)) return result;
  const auto& map = static_cast<const arrow::MapArray&>(*array_);
  for (int64_t i = map.value_offset(row); i < map.value_offset(row + 1); ++i) {
    if (auto key = keys_->at(i)) result.insert_or_assign(std::move(*key), values_->at(i));
  }
  return result;
}

void TextMapColumn::viewAt(
    int64_t row, std::vector<std::pair<std::string_view, std::optional<std::string_view>>>& entries) const {
  if (isNull(row)) return;
  const auto& map = static_cast<const arrow::MapArray&>(*array_);
  bool rising = true;
  for (int64_t i = map.value_offset(row); i < map.value_offset(row + 1); ++i) {
    const auto key = keys_->viewAt(i);
    if (!key) continue;
    rising &= entries.empty() || entries.back().first < *key;
    entries.emplace_back(*key, values_->viewAt(i));
  }
  if (rising) return;
  // Of a key that is there twice the last one counts.
  std::reverse(entries.begin(), entries.end());
  std::stable_sort(entries.begin(), entries.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  const auto end = std::unique(entries.begin(), entries.end(),
                               [](const auto& a, const auto& b) { return a.first == b.first; });
  entries.erase(end, entries.end());
}

TextListColumn::TextListColumn(std::shared_ptr<arrow::Array> array, std::string_view name)
    : array_(unlessVoid(std::move(array))) {
  if (!array_) return;
  require(isType(array_, arrow::Type::LIST), array_, name);
  values_.emplace(static_cast<const arrow::ListArray&>(*array_).values(), name);
}

std::optional<std::vector<std::string>> TextListColumn::at(int64_t row) const {
  if (!array_ || array_->IsNull(row)) return std::nullopt;
  const auto& list = static_cast<const arrow::ListArray&>(*array_);
  std::vector<std::string> result;
  for (int64_t i = list.value_offset(row); i < list.value_offset(row + 1); ++i) {
    if (auto value = values_->at(i)) result.push_back(std::move(*value));
  }
  return result;
}

StructColumn::StructColumn(std::shared_ptr<arrow::Array> array, std::string name)
    : array_(unlessVoid(std::move(array))) {
  if (array_) require(isType(array_, arrow::Type::STRUCT), array_, name);
}

bool StructColumn::isNull(int64_t row) const {
  return !array_ || array_->IsNull(row);
}

std::shared_ptr<arrow::Array> StructColumn::member(std::string_view name) const {
  if (!array_) return nullptr;
  return static_cast<const arrow::StructArray&>(*array_).GetFieldByName(std::string(name));
}

}  // namespace thalweg::delta
