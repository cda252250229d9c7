#include "delta/maintain/curve_columns.h"

#include <algorithm>

#include "common/error.h"
#include "common/options.h"
#include "delta/files/statistics.h"

namespace thalweg::delta {
namespace {

std::string dotted(const std::vector<std::string>& path) {
  std::string text;
  for (const std::string& name : path) text += (text.empty() ? "" : ".") + name;
  return text;
}

bool isOrderable(const DataType& type) {
  switch (type.id()) {
    case TypeId::Struct:
    case TypeId::Array:
    case TypeId::Map:
    case TypeId::Variant:
      return false;
    default:
      return true;
  }
}

CurveColumn find(const Schema& schema, const std::vector<std::string>& path) {
  CurveColumn column;
  const DataType* at = &schema;
  for (const std::string& name : path) {
    const int index = at->id() == TypeId::Struct ? at->fieldIndex(name, /*caseSensitive=*/false) : -1;
    if (index < 0) {
      throw Error("DELTA_ZORDERING_COLUMN_DOES_NOT_EXIST",
                  "The table has no column " + dotted(path) + " to put its rows in order by.",
                  {{"columnName", dotted(path)}});
    }
    column.path.push_back(index);
    column.type = at->fields()[static_cast<size_t>(index)].type;
    at = column.type.get();
  }
  if (!isOrderable(*column.type))
    throw unsupported("ZORDER BY " + dotted(path) + ", whose type has no order");
  return column;
}

// Leaf columns in the order of the schema: the first so many have statistics.
void countLeaves(const DataType& type, const std::vector<int>& path, size_t depth, bool* passed,
                 int64_t* before) {
  if (type.id() != TypeId::Struct) {
    if (!*passed) ++*before;
    return;
  }
  for (size_t i = 0; i < type.fields().size() && !*passed; ++i) {
    const bool onPath = depth < path.size() && path[depth] == static_cast<int>(i);
    if (onPath && depth + 1 == path.size()) {
      *passed = true;
      return;
    }
    countLeaves(*type.fields()[i].type, onPath ? path : std::vector<int>(), onPath ? depth + 1 : 0, passed,
                before);
  }
}

bool startsWith(const std::vector<std::string>& path, const std::vector<std::string>& front) {
  return front.size() <= path.size() &&
         std::equal(front.begin(), front.end(), path.begin(),
                    [](const std::string& a, const std::string& b) { return equalsIgnoreCase(a, b); });
}

bool hasStatistics(const Snapshot& snapshot, const CurveColumn& column,
                   const std::vector<std::string>& path) {
  const TypeId id = column.type->id();
  if (id == TypeId::Boolean || id == TypeId::Binary) return false;
  const StatisticsOptions options = statisticsOptions(snapshot.metadata(), snapshot.protocol());
  if (options.columns) {
    return std::any_of(options.columns->begin(), options.columns->end(),
                       [&](const auto& indexed) { return startsWith(path, indexed); });
  }
  if (options.numIndexedColumns < 0) return true;
  std::vector<StructField> stored;
  std::vector<int> storedPath = column.path;
  for (size_t i = 0; i < snapshot.schema()->fields().size(); ++i) {
    const StructField& field = snapshot.schema()->fields()[i];
    const auto& names = snapshot.partitionColumns();
    const bool isPartition = std::any_of(
        names.begin(), names.end(), [&](const auto& name) { return equalsIgnoreCase(name, field.name); });
    if (static_cast<int>(i) == column.path.front()) storedPath.front() = static_cast<int>(stored.size());
    if (!isPartition) stored.push_back(field);
  }
  bool passed = false;
  int64_t before = 0;
  countLeaves(*DataType::structOf(std::move(stored)), storedPath, 0, &passed, &before);
  return before < options.numIndexedColumns;
}

}  // namespace

std::vector<CurveColumn> curveColumns(const Snapshot& snapshot,
                                      const std::vector<std::vector<std::string>>& paths,
                                      bool needStatistics) {
  std::vector<CurveColumn> columns;
  std::string without;
  for (const auto& path : paths) {
    for (const std::string& name : snapshot.partitionColumns()) {
      if (path.size() != 1 || !equalsIgnoreCase(name, path[0])) continue;
      throw Error("DELTA_ZORDERING_ON_PARTITION_COLUMN",
                  path[0] +
                      " is a partition column: all rows of a file have the same value of it. Name columns "
                      "that the table is not partitioned by.",
                  {{"colName", path[0]}});
    }
    columns.push_back(find(*snapshot.schema(), path));
    if (needStatistics && !hasStatistics(snapshot, columns.back(), path))
      without += (without.empty() ? "" : ", ") + dotted(path);
  }
  if (without.empty()) return columns;
  throw Error("DELTA_ZORDERING_ON_COLUMN_WITHOUT_STATS",
              "The table keeps no statistics of [" + without +
                  "], without which an order by it helps no reader. Set the property "
                  "delta.dataSkippingStatsColumns or "
                  "delta.dataSkippingNumIndexedCols, or set "
                  "spark.databricks.delta.optimize.zorder.checkStatsCollection."
                  "enabled to false.",
              {{"cols", "[" + without + "]"},
               {"zOrderColStatKey", "spark.databricks.delta.optimize.zorder.checkStatsCollection.enabled"}});
}

}  // namespace thalweg::delta
