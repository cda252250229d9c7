// Appends a row to a struct column, its members from the first to the last.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/array/builder_binary.h>
#include <arrow/array/builder_nested.h>
#include <arrow/array/builder_primitive.h>

#include "delta/actions/actions.h"
#include "types/arrow_result.h"

namespace thalweg::delta {

// Each member is written once, in the struct's order; absent values are nulls.
class StructWriter {
 public:
  explicit StructWriter(arrow::StructBuilder& builder) : builder_(builder) {
    throwIfFailed(builder_.Append());
  }

  void text(std::string_view value) { throwIfFailed(next<arrow::StringBuilder>().Append(value)); }
  template <typename Text>
  void text(const std::optional<Text>& value) {
    value ? text(std::string_view(*value)) : null();
  }
  void number(int64_t value) { throwIfFailed(next<arrow::Int64Builder>().Append(value)); }
  void number(const std::optional<int64_t>& value) { value ? number(*value) : null(); }
  void integer(int32_t value) { throwIfFailed(next<arrow::Int32Builder>().Append(value)); }
  void integer(const std::optional<int32_t>& value) { value ? integer(*value) : null(); }
  void flag(bool value) { throwIfFailed(next<arrow::BooleanBuilder>().Append(value)); }
  void flag(const std::optional<bool>& value) { value ? flag(*value) : null(); }
  void null() { throwIfFailed(builder_.field_builder(member_++)->AppendNull()); }
  StructWriter structure() { return StructWriter(next<arrow::StructBuilder>()); }

  // Pairs of keys and values, which may be optional.
  template <typename Map>
  void textMap(const Map& map) {
    auto& builder = next<arrow::MapBuilder>();
    throwIfFailed(builder.Append());
    auto& keys = static_cast<arrow::StringBuilder&>(*builder.key_builder());
    auto& items = static_cast<arrow::StringBuilder&>(*builder.item_builder());
    for (const auto& [key, value] : map) {
      throwIfFailed(keys.Append(key));
      appendItem(items, value);
    }
  }
  void textList(const std::vector<std::string>& values) {
    auto& builder = next<arrow::ListBuilder>();
    throwIfFailed(builder.Append());
    auto& items = static_cast<arrow::StringBuilder&>(*builder.value_builder());
    for (const std::string& value : values) throwIfFailed(items.Append(value));
  }
  void textList(const std::optional<std::vector<std::string>>& values) {
    values ? textList(*values) : null();
  }
  void deletionVector(const std::optional<DeletionVector>& vector) {
    if (!vector) return null();
    StructWriter members = structure();
    members.text(std::string_view(vector->storageType));
    members.text(std::string_view(vector->pathOrInlineDv));
    members.integer(vector->offset);
    members.integer(vector->sizeInBytes);
    members.number(vector->cardinality);
    members.number(vector->maxRowIndex);
  }

 private:
  template <typename Builder>
  Builder& next() {
    return static_cast<Builder&>(*builder_.field_builder(member_++));
  }
  template <typename Text>
  static void appendItem(arrow::StringBuilder& items, const Text& value) {
    throwIfFailed(items.Append(value));
  }
  template <typename Text>
  static void appendItem(arrow::StringBuilder& items, const std::optional<Text>& value) {
    value ? throwIfFailed(items.Append(*value)) : throwIfFailed(items.AppendNull());
  }

  arrow::StructBuilder& builder_;
  int member_ = 0;
};

}  // namespace thalweg::delta
