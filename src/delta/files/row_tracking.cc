#include "delta/files/row_tracking.h"

#include <numeric>

#include <arrow/array/util.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "common/error.h"
#include "common/options.h"
#include "common/uuid.h"
#include "delta/files/column_mapping.h"
#include "delta/snapshot/table_features.h"
#include "types/arrow_result.h"

namespace thalweg::delta {
namespace {

constexpr std::string_view kRowIdColumn = "delta.rowTracking.materializedRowIdColumnName";
constexpr std::string_view kRowCommitVersionColumn =
    "delta.rowTracking.materializedRowCommitVersionColumnName";

std::optional<RowIdColumns> namedColumns(const Metadata& metadata) {
  auto rowId = tableProperty(metadata, kRowIdColumn);
  auto version = tableProperty(metadata, kRowCommitVersionColumn);
  if (!rowId || !version || rowId->empty() || version->empty()) return std::nullopt;
  return RowIdColumns{*std::move(rowId), *std::move(version)};
}

// The column of the table that is stored under one of the names.
std::optional<std::string> columnInPlaceOf(const RowIdColumns& names, const Metadata& metadata) {
  const SchemaPtr stored = physicalSchema(metadata.schema(), columnMappingMode(metadata));
  for (const std::string& name : {names.rowId, names.rowCommitVersion}) {
    if (stored->fieldIndex(name, /*caseSensitive=*/false) >= 0) return name;
  }
  if (equalsIgnoreCase(names.rowId, names.rowCommitVersion)) return names.rowId;
  return std::nullopt;
}

void addColumns(const RowIdColumns& names, SchemaPtr* schema) {
  std::vector<StructField> fields = (*schema)->fields();
  fields.push_back({names.rowId, longType(), true});
  fields.push_back({names.rowCommitVersion, longType(), true});
  *schema = DataType::structOf(std::move(fields));
}

}  // namespace

std::optional<RowIdColumns> rowIdColumns(const Metadata& metadata) {
  if (!tableFlag(metadata, kRowTracking)) return std::nullopt;
  auto names = namedColumns(metadata);
  if (names && columnInPlaceOf(*names, metadata)) return std::nullopt;
  return names;
}

void nameRowIdColumns(Metadata* metadata) {
  if (!tableFlag(*metadata, kRowTracking)) return;
  auto& properties = metadata->configuration;
  properties.emplace(kRowIdColumn, "_row-id-col-" + randomUuid());
  properties.emplace(kRowCommitVersionColumn, "_row-commit-version-col-" + randomUuid());
}

void checkRowIdColumns(const Metadata& metadata, std::string_view table) {
  const auto names = namedColumns(metadata);
  const auto column = names ? columnInPlaceOf(*names, metadata) : std::nullopt;
  if (!column) return;
  throw Error("DELTA_ADDING_COLUMN_WITH_INTERNAL_NAME_FAILED",
              "The files of the Delta table " + std::string(table) + " keep ids of rows under the name " +
                  *column + ": no column of the table can have it. Choose another name.",
              {{"colName", *column}});
}

DataFileLayout movedRowsLayout(Location table, const Metadata& metadata, const Protocol& protocol) {
  DataFileLayout layout = makeDataFileLayout(std::move(table), metadata, protocol);
  if (!tableFlag(metadata, kRowTracking)) return layout;
  const std::string uri = layout.table.uri();
  const auto names = namedColumns(metadata);
  if (!names) {
    throw Error("DELTA_MATERIALIZED_ROW_TRACKING_COLUMN_NAME_MISSING",
                "The Delta table " + uri + " tracks rows (delta.enableRowTracking), but its properties " +
                    std::string(kRowIdColumn) + " and " + std::string(kRowCommitVersionColumn) +
                    " name no columns for the ids of rows that move to other files. Set both to names that "
                    "no column of the table has.",
                {{"rowTrackingColumn", "Row ID"}, {"tableName", uri}});
  }
  checkRowIdColumns(metadata, uri);
  addColumns(*names, &layout.schema);
  addColumns(*names, &layout.physicalSchema);
  layout.hasRowIds = true;
  return layout;
}

std::vector<std::pair<std::string, std::string>> keptRowIdTags(const Metadata& metadata) {
  if (!tableFlag(metadata, kRowTracking)) return {};
  return {{"delta.rowTracking.preserved", "true"}};
}

std::shared_ptr<arrow::RecordBatch> withoutRowIds(const arrow::RecordBatch& rows) {
  std::vector<int> columns(static_cast<size_t>(rows.num_columns() - 2));
  std::iota(columns.begin(), columns.end(), 0);
  return valueOrThrow(rows.SelectColumns(columns));
}

std::shared_ptr<arrow::RecordBatch> withRowIdsOf(const arrow::RecordBatch& original,
                                                 const arrow::RecordBatch& changed) {
  THALWEG_ASSERT(original.num_rows() == changed.num_rows());
  arrow::ArrayVector columns = changed.columns();
  columns.push_back(original.column(original.num_columns() - 2));
  columns.push_back(valueOrThrow(arrow::MakeArrayOfNull(arrow::int64(), changed.num_rows())));
  return arrow::RecordBatch::Make(original.schema(), changed.num_rows(), std::move(columns));
}

}  // namespace thalweg::delta
