// What a write may do to a table's schema, and how its rows become the table's rows.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "delta/actions/actions.h"
#include "types/data_type.h"

namespace thalweg::delta {

// Casts one column of values between two types by Spark's store assignment rules (an overflow is an error).
using CastFunction = std::function<std::shared_ptr<arrow::Array>(const arrow::Array&, const DataType& from,
                                                                 const DataType& to)>;

struct WriteSchemaOptions {
  bool mergeSchema = false;
  bool streaming = false;      // a void column is an error instead of being dropped
  bool columnMapping = false;  // any character may be in a column's name
  bool canCast = false;        // a cast function is at hand
  // With mergeSchema: columns get the data's types where these are wider (widensByItself).
  bool widenTypes = false;
};

// How the table's columns come from the data's.
struct WriteSchemaPlan {
  SchemaPtr tableSchema;  // after the write
  bool schemaChanged = false;
  std::vector<int> dataColumns;  // per column of tableSchema: the data's column, −1: null
};

// Delta's rules for writing rows of schema `data` into a table (names ignore case, the table's case is kept;
// missing columns are null; with mergeSchema new columns, nested ones too, are added at the end, nullable).
// Throws Error DELTA_METADATA_MISMATCH for columns the table lacks, DELTA_FAILED_TO_MERGE_FIELDS for types
// that cannot be stored, DELTA_NOT_NULL_CONSTRAINT_VIOLATED for a missing NOT NULL column,
// DELTA_DUPLICATE_COLUMNS_FOUND, DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES,
// DELTA_NULL_SCHEMA_IN_STREAMING_WRITE, DELTA_CANNOT_WRITE_EMPTY_SCHEMA.STRUCT_NO_FIELDS.
WriteSchemaPlan planWriteSchema(const Schema& table, const Schema& data, const WriteSchemaOptions& options);

// The schema of a new table made from rows: every column nullable, names checked. Same errors.
SchemaPtr newTableSchema(const Schema& data, const std::vector<std::string>& partitionColumns,
                         const WriteSchemaOptions& options);

// A name, at any level, that holds a character which only column mapping allows; nullopt where there is none.
std::optional<std::string> nameThatNeedsMapping(const DataType& type);
// Throws Error DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES for a name, at any level, that only column mapping
// allows.
void checkColumnNames(const DataType& type);

// Throws Error DELTA_DUPLICATE_COLUMNS_FOUND for a name, at any level, that stands twice in one place (names
// ignore case).
void checkNamesDiffer(const DataType& type);

// Rows under the table's schema, by a plan. `cast` may be empty where no type differs. Throws Error
// DELTA_NOT_NULL_CONSTRAINT_VIOLATED where a null meets a NOT NULL column. Stateless, any thread.
std::shared_ptr<arrow::RecordBatch> adaptRows(const arrow::RecordBatch& rows, const Schema& data,
                                              const WriteSchemaPlan& plan, const CastFunction& cast);

}  // namespace thalweg::delta
