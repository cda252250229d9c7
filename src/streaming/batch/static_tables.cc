#include "streaming/batch/static_tables.h"

#include <algorithm>

#include "common/error.h"

namespace thalweg {
namespace {

// Columns are read by their position in the schema.
bool startsWith(const Schema& schema, const Schema& planned) {
  if (schema.fields().size() < planned.fields().size()) return false;
  for (size_t i = 0; i < planned.fields().size(); ++i) {
    const StructField& before = planned.fields()[i];
    const StructField& now = schema.fields()[i];
    if (before.name != now.name || !equals(*before.type, *now.type) || (now.nullable && !before.nullable))
      return false;
  }
  return true;
}

}  // namespace

StaticTables::StaticTables(const LogicalNode& plan) {
  collect(plan);
}

void StaticTables::collect(const LogicalNode& node) {
  if (node.kind() == LogicalKind::TableScan) {
    const std::shared_ptr<Table>& table = static_cast<const LogicalTableScan&>(node).table();
    const bool known = std::any_of(tables_.begin(), tables_.end(),
                                   [&](const StaticTable& one) { return one.planned == table; });
    if (!known) tables_.push_back({table, table});
  }
  for (const LogicalPtr& child : node.children()) collect(*child);
}

void StaticTables::bind(Execution* execution) {
  for (StaticTable& table : tables_) {
    if (auto newer = table.current->latest()) {
      if (!startsWith(*newer->schema(), *table.planned->schema())) {
        throw Error("DELTA_SCHEMA_CHANGE_SINCE_ANALYSIS",
                    "The columns of " + newer->description() +
                        " have changed since the query started: " + table.planned->schema()->simpleString() +
                        " became " + newer->schema()->simpleString() + ". Start the query again.",
                    {{"schemaDiff", newer->schema()->simpleString()}, {"legacyFlagMessage", ""}});
      }
      table.current = std::move(newer);
    }
    if (table.current != table.planned) execution->newerTables[table.planned.get()] = table.current;
  }
}

}  // namespace thalweg
