#include "delta/snapshot/metadata_rules.h"

#include <vector>

#include <fmt/format.h>

#include "common/error.h"
#include "delta/snapshot/feed_columns.h"
#include "delta/snapshot/table_features.h"
#include "types/data_type.h"

namespace thalweg::delta {
namespace {

std::vector<std::string> feedColumnsIn(const Schema& schema) {
  std::vector<std::string> names;
  for (const std::string_view name : {kChangeTypeColumn, kCommitVersionColumn, kCommitTimestampColumn}) {
    if (schema.fieldIndex(name, /*caseSensitive=*/true) >= 0) names.emplace_back(name);
  }
  return names;
}

void checkFeedColumns(const Metadata* before, const Metadata& after, const Schema& schema) {
  if (!tableFlag(after, kEnableChangeDataFeed)) return;
  const std::vector<std::string> names = feedColumnsIn(schema);
  if (names.empty()) return;
  const std::string list = fmt::format("[{}]", fmt::join(names, ", "));
  if (before && tableFlag(*before, kEnableChangeDataFeed)) {
    throw Error("RESERVED_CDC_COLUMNS_ON_WRITE",
                "The names " + list +
                    " are those of the change data feed's own columns: rename them, or set " +
                    std::string(kEnableChangeDataFeed) + " to false.",
                {{"columnList", list}, {"config", std::string(kEnableChangeDataFeed)}});
  }
  throw Error("DELTA_TABLE_ALREADY_CONTAINS_CDC_COLUMNS",
              "The change data feed cannot be on in a table with columns " + list +
                  ", which are named as its own: rename or drop them first.",
              {{"columnList", list}});
}

void collectIntervals(const DataType& type, const std::string& path, std::vector<std::string>* found) {
  switch (type.id()) {
    case TypeId::DayTimeInterval:
    case TypeId::YearMonthInterval:
    case TypeId::CalendarInterval:
      found->push_back(path + ": " + type.sqlString());
      return;
    case TypeId::Array:
      return collectIntervals(*type.element(), path + ".element", found);
    case TypeId::Map:
      collectIntervals(*type.key(), path + ".key", found);
      return collectIntervals(*type.value(), path + ".value", found);
    case TypeId::Struct:
      for (const StructField& field : type.fields())
        collectIntervals(*field.type, path.empty() ? field.name : path + "." + field.name, found);
      return;
    default:
      return;
  }
}

void checkTypes(const Schema& schema) {
  std::vector<std::string> found;
  collectIntervals(schema, "", &found);
  if (found.empty()) return;
  const std::string list = fmt::format("[{}]", fmt::join(found, ", "));
  throw Error("DELTA_UNSUPPORTED_DATA_TYPES",
              "A Delta table cannot hold columns of these types: " + list + ". Cast them.",
              {{"dataTypeList", list}, {"config", "spark.databricks.delta.schema.typeCheck.enabled"}});
}

}  // namespace

void checkNewMetadata(const Metadata* before, const Metadata& after) {
  const SchemaPtr schema = after.schema();
  checkTypes(*schema);
  checkFeedColumns(before, after, *schema);
}

}  // namespace thalweg::delta
