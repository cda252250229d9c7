#include "delta/files/dependent_rules.h"

#include <algorithm>

#include "common/error.h"
#include "common/options.h"
#include "delta/files/row_rules.h"
#include "delta/snapshot/type_widening.h"
#include "types/column_metadata.h"

namespace thalweg::delta {

std::optional<DependentRule> ruleNaming(const Metadata& metadata, const SchemaPtr& schema,
                                        const std::string& column, const ExpressionEvaluator& evaluator) {
  const int index = schema->fieldIndex(column, /*caseSensitive=*/false);
  const auto names = [&](const std::string& sql) {
    const auto used = evaluator.compile(sql, schema, nullptr)->columns();
    return std::find(used.begin(), used.end(), index) != used.end();
  };
  for (const StructField& field : schema->fields()) {
    const auto sql = metadataText(field.metadata, kGenerationExpression);
    if (sql && !equalsIgnoreCase(field.name, column) && names(*sql))
      return DependentRule{false, field.name, *sql};
  }
  for (const auto& [key, sql] : metadata.configuration) {
    if (key.starts_with(kConstraintPrefix) && names(sql))
      return DependentRule{true, key.substr(kConstraintPrefix.size()), sql};
  }
  return std::nullopt;
}

void checkWidenedColumns(const Metadata& metadata, const Schema& after,
                         const ExpressionEvaluator& evaluator) {
  const SchemaPtr before = metadata.schema();
  for (const StructField& field : before->fields()) {
    const int index = after.fieldIndex(field.name, /*caseSensitive=*/false);
    if (index < 0) continue;
    const DataType& type = *after.fields()[static_cast<size_t>(index)].type;
    if (!changesTypes(*field.type, type)) continue;
    const auto rule = ruleNaming(metadata, before, field.name, evaluator);
    if (!rule) continue;
    throw Error(rule->isConstraint ? "DELTA_CONSTRAINT_DATA_TYPE_MISMATCH"
                                   : "DELTA_GENERATED_COLUMNS_DATA_TYPE_MISMATCH",
                "The rows to be written have " + type.sqlString() + " in column " + field.name +
                    ", whose type " + field.type->sqlString() + " cannot be widened: the " +
                    (rule->isConstraint ? "constraint " : "generated column ") + rule->name + " (" +
                    rule->sql + ") names it. Cast the column before writing.",
                {{"columnName", field.name},
                 {"columnType", field.type->sqlString()},
                 {"dataType", type.sqlString()},
                 {rule->isConstraint ? "constraints" : "generatedColumns", rule->name + " -> " + rule->sql}});
  }
}

}  // namespace thalweg::delta
