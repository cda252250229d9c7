#include "delta/files/schema_enforcement.h"

#include <set>

#include "common/error.h"
#include "common/options.h"
#include "delta/files/column_mapping.h"
#include "delta/files/row_rules.h"
#include "delta/snapshot/type_widening.h"
#include "types/nested_fields.h"
#include "types/schema_json.h"

namespace thalweg::delta {
namespace {

bool isAtomic(const DataType& type) {
  return !type.isNested() && type.id() != TypeId::Variant;
}
bool isDatetime(const DataType& type) {
  return type.id() == TypeId::Date || type.id() == TypeId::Timestamp || type.id() == TypeId::TimestampNtz;
}

// Spark's ANSI store assignment between types that are not nested.
bool isStoreAssignable(const DataType& from, const DataType& to) {
  if (equals(from, to) || from.id() == TypeId::Void) return true;
  if (from.isNumeric() && to.isNumeric()) return true;
  if (isDatetime(from) && isDatetime(to)) return true;
  return isAtomic(from) && to.id() == TypeId::String;
}

Error mergeError(const std::string& column, const DataType& table, const DataType& data) {
  return Error("DELTA_FAILED_TO_MERGE_FIELDS",
               fmt::format("Column {} is {} in the table and {} in the rows to be written, and the one "
                           "cannot be stored as the "
                           "other. Cast it before writing.",
                           column, table.sqlString(), data.sqlString()),
               {{"currentField", column}, {"updateField", column}});
}

void checkDuplicates(const std::vector<StructField>& fields) {
  std::set<std::string> names;
  for (const StructField& field : fields) {
    if (names.insert(toLowerAscii(field.name)).second) continue;
    throw Error("DELTA_DUPLICATE_COLUMNS_FOUND",
                "The rows to be written have several columns named " + field.name +
                    " (names ignore case). Rename one.",
                {{"coltype", "in the data to save"}, {"duplicateCols", field.name}});
  }
}

}  // namespace

void checkNamesDiffer(const DataType& type) {
  std::set<std::string> names;
  switch (type.id()) {
    case TypeId::Array:
      return checkNamesDiffer(*type.element());
    case TypeId::Map:
      checkNamesDiffer(*type.key());
      return checkNamesDiffer(*type.value());
    case TypeId::Struct:
      for (const StructField& field : type.fields()) {
        checkNamesDiffer(*field.type);
        if (names.insert(toLowerAscii(field.name)).second) continue;
        throw Error("DELTA_DUPLICATE_COLUMNS_FOUND",
                    "The table would have several columns named " + field.name +
                        " (names ignore case). Choose another name.",
                    {{"coltype", "in the table"}, {"duplicateCols", field.name}});
      }
      return;
    default:
      return;
  }
}

std::optional<std::string> nameThatNeedsMapping(const DataType& type) {
  switch (type.id()) {
    case TypeId::Array:
      return nameThatNeedsMapping(*type.element());
    case TypeId::Map: {
      auto name = nameThatNeedsMapping(*type.key());
      return name ? name : nameThatNeedsMapping(*type.value());
    }
    case TypeId::Struct:
      break;
    default:
      return std::nullopt;
  }
  for (const StructField& field : type.fields()) {
    if (field.name.find_first_of(" ,;{}()\n\t=") != std::string::npos) return field.name;
    if (auto name = nameThatNeedsMapping(*field.type)) return name;
  }
  return std::nullopt;
}

void checkColumnNames(const DataType& type) {
  const auto name = nameThatNeedsMapping(type);
  if (!name) return;
  throw Error("DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES",
              "The column name '" + *name +
                  "' holds one of \" ,;{}()\\n\\t=\". Rename it, or turn on column mapping.",
              {{"invalidColumnNames", *name}});
}

namespace {

class SchemaMerger {
 public:
  explicit SchemaMerger(const WriteSchemaOptions& options) : options_(options) {}

  // The table's fields after a write of `data`; `sources` gets the data's index of each.
  std::vector<StructField> mergeFields(const std::vector<StructField>& table,
                                       const std::vector<StructField>& data, const std::string& prefix,
                                       std::vector<int>* sources) {
    checkDuplicates(data);
    const DataTypePtr dataStruct = DataType::structOf(data);
    const DataTypePtr tableStruct = DataType::structOf(table);
    std::vector<StructField> merged = table;
    for (StructField& field : merged) {
      const int source = dataStruct->fieldIndex(field.name, /*caseSensitive=*/false);
      const bool isVoid = source >= 0 && data[static_cast<size_t>(source)].type->id() == TypeId::Void;
      if (sources) sources->push_back(isVoid ? -1 : source);
      if (source >= 0 && !isVoid) {
        field.type = mergeTypes(field.type, data[static_cast<size_t>(source)].type, prefix + field.name);
      } else if (!field.nullable && !(prefix.empty() && isFilledIn(field))) {
        throw Error(
            "DELTA_NOT_NULL_CONSTRAINT_VIOLATED",
            "The rows to be written have no column " + prefix + field.name + ", which must not be null.",
            {{"columnName", prefix + field.name}});
      }
    }
    for (size_t i = 0; i < data.size(); ++i) {
      if (data[i].type->id() == TypeId::Void ||
          tableStruct->fieldIndex(data[i].name, /*caseSensitive=*/false) >= 0)
        continue;
      addColumn(data[i], prefix, merged);
      if (sources) sources->push_back(static_cast<int>(i));
    }
    return merged;
  }

  bool changed() const { return changed_; }

 private:
  void addColumn(const StructField& field, const std::string& prefix, std::vector<StructField>& merged) {
    if (!options_.mergeSchema) {
      throw Error(
          "DELTA_METADATA_MISMATCH",
          fmt::format(
              "The rows to be written have the column {}{}, which the table lacks. Leave it out, or set the "
              "option mergeSchema to true to add it to the table.",
              prefix, field.name),
          {{"column", prefix + field.name}});
    }
    if (!options_.columnMapping) checkColumnNames(*DataType::structOf({field}));
    const DataTypePtr bare = withoutTableMetadata(DataType::structOf({field}))->fields()[0].type;
    merged.push_back({field.name, asNullable(bare), true});
    changed_ = true;
  }

  DataTypePtr mergeTypes(const DataTypePtr& table, const DataTypePtr& data, const std::string& column) {
    if (table->id() != data->id() || !table->isNested()) {
      if (options_.mergeSchema && options_.widenTypes && widensByItself(*table, *data)) {
        changed_ = true;
        return data;
      }
      if (table->isNested() || data->isNested() || !isStoreAssignable(*data, *table))
        throw mergeError(column, *table, *data);
      if (!equals(*table, *data) && data->id() != TypeId::Void && !options_.canCast)
        throw mergeError(column, *table, *data);
      return table;
    }
    switch (table->id()) {
      case TypeId::Array:
        return DataType::array(mergeTypes(table->element(), data->element(), column + ".element"),
                               table->containsNull());
      case TypeId::Map:
        return DataType::map(mergeTypes(table->key(), data->key(), column + ".key"),
                             mergeTypes(table->value(), data->value(), column + ".value"),
                             table->containsNull());
      default:
        return DataType::structOf(mergeFields(table->fields(), data->fields(), column + ".", nullptr));
    }
  }

  const WriteSchemaOptions& options_;
  bool changed_ = false;
};

// Parquet has no structs without fields. A table may have no column yet.
void refuseEmptyStructs(const Schema& schema) {
  const auto column = emptyStructIn(schema);
  if (!column || column->empty()) return;
  throw Error("DELTA_CANNOT_WRITE_EMPTY_SCHEMA.STRUCT_NO_FIELDS",
              "The column " + *column + " is a struct without fields, which no file can hold: leave it out.",
              {{"columnPath", *column}});
}

void refuseVoid(const std::vector<StructField>& fields) {
  for (const StructField& field : fields) {
    if (field.type->id() != TypeId::Void) continue;
    throw Error("DELTA_NULL_SCHEMA_IN_STREAMING_WRITE",
                "Column " + field.name +
                    " has the type VOID, which a stream cannot write. Cast it to the type it shall have.",
                {{"column", field.name}});
  }
}

}  // namespace

WriteSchemaPlan planWriteSchema(const Schema& table, const Schema& data, const WriteSchemaOptions& options) {
  if (options.streaming) refuseVoid(data.fields());
  SchemaMerger merger(options);
  WriteSchemaPlan plan;
  plan.tableSchema =
      DataType::structOf(merger.mergeFields(table.fields(), data.fields(), "", &plan.dataColumns));
  refuseEmptyStructs(*plan.tableSchema);
  plan.schemaChanged = merger.changed();
  if (plan.schemaChanged) plan.tableSchema = withRecordedTypeChanges(table, plan.tableSchema);
  return plan;
}

SchemaPtr newTableSchema(const Schema& data, const std::vector<std::string>& partitionColumns,
                         const WriteSchemaOptions& options) {
  if (options.streaming) refuseVoid(data.fields());
  checkDuplicates(data.fields());
  if (!options.columnMapping) checkColumnNames(data);
  std::vector<StructField> fields;
  const SchemaPtr bare = withoutTableMetadata(DataType::structOf(data.fields()));
  for (const StructField& field : bare->fields()) {
    if (field.type->id() != TypeId::Void)
      fields.push_back({field.name, asNullable(field.type), true, field.metadata});
  }
  const SchemaPtr schema = DataType::structOf(std::move(fields));
  refuseEmptyStructs(*schema);
  std::set<std::string> seen;
  for (const std::string& name : partitionColumns) {
    if (!seen.insert(toLowerAscii(name)).second) {
      throw Error("DELTA_DUPLICATE_COLUMNS_FOUND.PARTITION_COLUMNS",
                  "The column " + name + " stands twice among those to partition by.",
                  {{"duplicateCols", "`" + toLowerAscii(name) + "`"}});
    }
    if (schema->fieldIndex(name, /*caseSensitive=*/false) >= 0) continue;
    throw Error("COLUMN_NOT_FOUND", "There is no column " + name + " to partition by.", {{"colName", name}});
  }
  if (!partitionColumns.empty() && partitionColumns.size() >= schema->fields().size()) {
    throw Error("ALL_PARTITION_COLUMNS_NOT_ALLOWED",
                "A table needs at least one column that it is not partitioned by.");
  }
  return schema;
}

}  // namespace thalweg::delta
