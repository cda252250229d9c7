#include "commands/partition_condition.h"

#include <algorithm>

#include "common/error.h"
#include "common/options.h"
#include "plan/analyze/row_changes.h"

namespace thalweg {
namespace {

Error notPartitioned(const std::string& column, const std::vector<std::string>& partitionColumns) {
  std::string names;
  for (const std::string& name : partitionColumns) names += (names.empty() ? "" : ", ") + name;
  return Error(
      "DELTA_NON_PARTITION_COLUMN_REFERENCE",
      "The condition names '" + column + "', but it chooses partitions: it may name [" + names + "].",
      {{"columnName", column}, {"columnList", names}});
}

// "`nope`", "`t`.`nope`" → "nope", "t.nope".
std::string unquoted(std::string name) {
  std::erase(name, '`');
  return name;
}

ExpressionPtr analyzed(const spark::connect::Expression& condition, const std::vector<AttributePtr>& columns,
                       const std::vector<std::string>& partitionColumns, CommandSession& session) {
  try {
    return analyzeCondition(condition, columns, session.analyzerContext());
  } catch (const Error& error) {
    const auto name = error.parameters().find("objectName");
    if (!error.condition().starts_with("UNRESOLVED_COLUMN") || name == error.parameters().end()) throw;
    throw notPartitioned(unquoted(name->second), partitionColumns);
  }
}

}  // namespace

PartitionCondition::PartitionCondition(const delta::Snapshot& snapshot, const sql::Name& table,
                                       const spark::connect::Expression& condition, CommandSession& session) {
  const std::vector<AttributePtr> columns = tableColumns(*snapshot.schema(), table);
  const std::vector<std::string>& partitionColumns = snapshot.partitionColumns();
  const ExpressionPtr resolved = analyzed(condition, columns, partitionColumns, session);
  for (const int used : columnsIn(*resolved, columns)) {
    const std::string& name = columns[static_cast<size_t>(used)]->name();
    const bool isPartition = std::any_of(partitionColumns.begin(), partitionColumns.end(),
                                         [&](const auto& one) { return equalsIgnoreCase(one, name); });
    if (!isPartition) throw notPartitioned(name, partitionColumns);
  }
  text_ = transformUp(resolved, [](const ExpressionPtr& part) -> ExpressionPtr {
            if (part->kind() != ExpressionKind::Attribute) return part;
            const auto& column = static_cast<const Attribute&>(*part);
            return std::make_shared<Attribute>("'" + column.name(), column.type(), column.nullable(),
                                               column.id());
          })->toString();
  condition_ = std::make_unique<TableCondition>(snapshot, columns, resolved, session.batchContext());
}

}  // namespace thalweg
