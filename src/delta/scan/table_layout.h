// How a table's rows are stored: what a reader of its files must know of a snapshot.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "delta/actions/actions.h"
#include "delta/files/column_mapping.h"
#include "delta/files/row_tracking.h"
#include "delta/scan/deletion_vector.h"
#include "storage/file_system.h"
#include "types/data_type.h"
#include "types/time_zone.h"

namespace thalweg::delta {

class Snapshot;

// Immutable, shared by all readers of one version.
struct TableLayout {
  Location table;
  SchemaPtr schema;
  SchemaPtr physicalSchema;  // same shape
  std::vector<std::string> partitionColumns;
  ColumnMappingMode mapping = ColumnMappingMode::None;
  std::optional<RowIdColumns> rowIds;  // where files keep ids of moved rows
  // For absolute addresses outside the table (shallow clones): what its store may reach (AddressAccess);
  // empty: they are refused.
  AddressResolver resolve;
  TimeZone timeZone;  // of timestamps of partitions that say none

  bool isPartitionColumn(int index) const;
};
using TableLayoutPtr = std::shared_ptr<const TableLayout>;

// `zone`: the reading session's. Who reads no partition column need not say it.
TableLayoutPtr makeTableLayout(const Snapshot& snapshot, const TimeZone& zone = TimeZone());
// Of metadata that no version has yet, or that a reader of changes chooses.
TableLayoutPtr makeTableLayout(Location table, const Metadata& metadata, SchemaPtr schema,
                               const TimeZone& zone = TimeZone());

// The layout with more columns at the end that files may have under these very names: they are no columns of
// the table.
TableLayoutPtr withStoredColumns(const TableLayout& layout, const std::vector<StructField>& columns);

// Where a data file lies: the log's path decoded, relative ones below the table (never outside: Error
// DELTA_STATE_RECOVER_ERROR), absolute ones through the resolver.
Location locateFile(const TableLayout& layout, const std::string& logPath);

}  // namespace thalweg::delta
