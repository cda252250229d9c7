#include "commands/table_condition.h"

#include <arrow/array.h>
#include <arrow/array/util.h>
#include <arrow/record_batch.h>
#include <arrow/scalar.h>

#include "delta/files/column_mapping.h"
#include "delta/files/partition_values.h"
#include "exec/planner/binder.h"
#include "expr/constant_folding.h"
#include "plan/optimize/optimizer.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"

namespace thalweg {
namespace {

bool isOver(const Expression& expression, const std::vector<AttributePtr>& columns) {
  return !anyOf(expression, [&](const Expression& part) {
    return part.kind() == ExpressionKind::Attribute &&
           std::none_of(columns.begin(), columns.end(), [&](const AttributePtr& column) {
             return column->id() == static_cast<const Attribute&>(part).id();
           });
  });
}

// The live rows.
Selection selectionOf(const delta::FileRows& part) {
  const int64_t numRows = part.rows->num_rows();
  if (!part.live) return Selection::all(numRows);
  return Selection::of(numRows, {part.live->raw_values(), part.live->raw_values() + part.live->length()});
}

}  // namespace

std::vector<int> columnsIn(const Expression& expression, const std::vector<AttributePtr>& columns) {
  std::vector<int> used;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (anyOf(expression, [&](const Expression& part) {
          return part.kind() == ExpressionKind::Attribute &&
                 static_cast<const Attribute&>(part).id() == columns[i]->id();
        })) {
      used.push_back(static_cast<int>(i));
    }
  }
  return used;
}

TableCondition::TableCondition(const delta::Snapshot& snapshot, const std::vector<AttributePtr>& columns,
                               const ExpressionPtr& condition, BatchContext batch)
    : batch_(std::move(batch)), columns_(columnsIn(*condition, columns)) {
  std::vector<AttributePtr> input;
  for (const int column : columns_) input.push_back(columns[static_cast<size_t>(column)]);
  condition_ = Binder(input, batch_).bind(condition);
  const SchemaPtr physical =
      delta::physicalSchema(snapshot.schema(), delta::columnMappingMode(snapshot.metadata()));
  std::vector<AttributePtr> partitions;
  for (const std::string& name : snapshot.partitionColumns()) {
    const auto i = static_cast<size_t>(snapshot.schema()->fieldIndex(name, /*caseSensitive=*/false));
    partitionColumns_.push_back({physical->fields()[i].name, snapshot.schema()->fields()[i]});
    partitions.push_back(columns[i]);
  }
  const ExpressionPtr folded =
      foldConstants(condition, EvaluationContext{&batch_}, Foldability::OncePerBatch);
  for (const ExpressionPtr& part : splitConjuncts(folded)) {
    if (!isOver(*part, partitions)) {
      partitionsOnly_ = false;
      continue;
    }
    const ExpressionPtr bound = Binder(partitions, batch_).bind(part);
    partitionCondition_ = partitionCondition_
                              ? std::make_shared<Conjunction>(ExpressionKind::And, partitionCondition_, bound)
                              : bound;
  }
  filter_ = std::make_unique<delta::FileFilter>(*snapshot.schema(), *physical, snapshot.partitionColumns(),
                                                columnPredicates(folded), batch_.timeZone);
}

bool TableCondition::mayMatch(const delta::AddFile& file) {
  return partitionMatches(file.partitionValues) && (filter_->empty() || filter_->mayMatch(file));
}

std::vector<int64_t> TableCondition::match(const delta::FileRows& part) const {
  std::vector<int64_t> rows;
  selectTrue(*condition_, *part.rows, selectionOf(part), EvaluationContext{&batch_})
      .forEach([&](int64_t row) { rows.push_back(row); });
  return rows;
}

bool TableCondition::partitionMatches(const delta::PartitionValues& values) {
  if (!partitionCondition_) return true;
  const auto known = known_.find(values);
  if (known != known_.end()) return known->second;
  std::vector<StructField> fields;
  arrow::ArrayVector row;
  for (const PartitionColumn& column : partitionColumns_) {
    const auto value = values.find(column.physicalName);
    const auto scalar = delta::parsePartitionValue(value == values.end() ? std::nullopt : value->second,
                                                   *column.field.type, column.field.name, batch_.timeZone);
    row.push_back(valueOrThrow(arrow::MakeArrayFromScalar(*scalar, 1)));
    fields.push_back(column.field);
  }
  const auto batch =
      arrow::RecordBatch::Make(toArrowSchema(*DataType::structOf(std::move(fields))), 1, std::move(row));
  const bool matches =
      !selectTrue(*partitionCondition_, *batch, Selection::all(1), EvaluationContext{&batch_}).isEmpty();
  known_.emplace(values, matches);
  return matches;
}

}  // namespace thalweg
