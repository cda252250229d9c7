#include "commands/rows.h"

#include <arrow/api.h>

#include "types/arrow_result.h"
#include "types/arrow_types.h"

namespace thalweg {

RowBuilder::RowBuilder(SchemaPtr schema) : schema_(std::move(schema)) {
  for (const StructField& field : schema_->fields()) {
    std::unique_ptr<arrow::ArrayBuilder> builder;
    throwIfFailed(arrow::MakeBuilder(arrow::default_memory_pool(), toArrowType(*field.type), &builder));
    builders_.push_back(std::move(builder));
  }
}

RowBuilder::~RowBuilder() = default;

arrow::ArrayBuilder* RowBuilder::next() {
  arrow::ArrayBuilder* builder = builders_[column_].get();
  if (++column_ == builders_.size()) {
    column_ = 0;
    ++numRows_;
  }
  return builder;
}

void RowBuilder::addNull() {
  throwIfFailed(next()->AppendNull());
}

void RowBuilder::addBool(std::optional<bool> value) {
  auto* builder = static_cast<arrow::BooleanBuilder*>(next());
  throwIfFailed(value ? builder->Append(*value) : builder->AppendNull());
}

void RowBuilder::addInt(std::optional<int32_t> value) {
  auto* builder = static_cast<arrow::Int32Builder*>(next());
  throwIfFailed(value ? builder->Append(*value) : builder->AppendNull());
}

void RowBuilder::addLong(std::optional<int64_t> value) {
  arrow::ArrayBuilder* builder = next();
  if (!value)
    throwIfFailed(builder->AppendNull());
  else if (builder->type()->id() == arrow::Type::TIMESTAMP)
    throwIfFailed(static_cast<arrow::TimestampBuilder*>(builder)->Append(*value));
  else
    throwIfFailed(static_cast<arrow::Int64Builder*>(builder)->Append(*value));
}

void RowBuilder::addText(const std::optional<std::string>& value) {
  auto* builder = static_cast<arrow::StringBuilder*>(next());
  throwIfFailed(value ? builder->Append(*value) : builder->AppendNull());
}

void RowBuilder::addTexts(const std::vector<std::string>& values) {
  auto* builder = static_cast<arrow::ListBuilder*>(next());
  throwIfFailed(builder->Append());
  for (const std::string& value : values)
    throwIfFailed(static_cast<arrow::StringBuilder*>(builder->value_builder())->Append(value));
}

void RowBuilder::addMap(const std::map<std::string, std::string>& values) {
  auto* builder = static_cast<arrow::MapBuilder*>(next());
  throwIfFailed(builder->Append());
  for (const auto& [key, value] : values) {
    throwIfFailed(static_cast<arrow::StringBuilder*>(builder->key_builder())->Append(key));
    throwIfFailed(static_cast<arrow::StringBuilder*>(builder->item_builder())->Append(value));
  }
}

void RowBuilder::addMap(const std::map<std::string, std::optional<std::string>>& values) {
  auto* builder = static_cast<arrow::MapBuilder*>(next());
  throwIfFailed(builder->Append());
  for (const auto& [key, value] : values) {
    throwIfFailed(static_cast<arrow::StringBuilder*>(builder->key_builder())->Append(key));
    auto* items = static_cast<arrow::StringBuilder*>(builder->item_builder());
    throwIfFailed(value ? items->Append(*value) : items->AppendNull());
  }
}

std::shared_ptr<arrow::RecordBatch> RowBuilder::finish() {
  THALWEG_ASSERT(column_ == 0);
  arrow::ArrayVector columns;
  for (auto& builder : builders_) columns.push_back(valueOrThrow(builder->Finish()));
  return arrow::RecordBatch::Make(toArrowSchema(*schema_), numRows_, std::move(columns));
}

}  // namespace thalweg
