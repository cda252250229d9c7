#include "commands/catalog_queries.h"

#include <algorithm>
#include <functional>

#include <arrow/api.h>

#include "commands/name_columns.h"
#include "commands/rows.h"
#include "commands/show.h"
#include "commands/table_target.h"
#include "common/error.h"
#include "sql/parser.h"
#include "types/arrow_result.h"

namespace thalweg {
namespace {

CommandResult single(const StructField& field, const std::function<void(RowBuilder&)>& fill) {
  const SchemaPtr schema = DataType::structOf({field});
  RowBuilder rows(schema);
  fill(rows);
  return {schema, {rows.finish()}};
}

// Rows about names: of tables, and of functions, which have a className in place of the type.
class NameRows {
 public:
  explicit NameRows(const char* kindColumn)
      : schema_(DataType::structOf({{"name", stringType(), false},
                                    {"catalog", stringType()},
                                    {"namespace", DataType::array(stringType())},
                                    {"description", stringType()},
                                    {kindColumn, stringType(), false},
                                    {"isTemporary", booleanType(), false}})),
        rows_(schema_) {}
  void add(const std::string& name, const std::optional<std::string>& catalog,
           const std::optional<std::vector<std::string>>& space,
           const std::optional<std::string>& description, const std::string& kind, bool temporary) {
    rows_.addText(name);
    rows_.addText(catalog);
    if (space)
      rows_.addTexts(*space);
    else
      rows_.addNull();
    rows_.addText(description);
    rows_.addText(kind);
    rows_.addBool(temporary);
  }
  void addListed(const ListedName& one, CommandSession& session) {
    if (!one.entry) {
      const std::vector<std::string> space =
          one.schema.empty() ? std::vector<std::string>() : std::vector{one.schema};
      add(one.name, std::nullopt, space, std::nullopt, "TEMPORARY", true);
      return;
    }
    add(one.name, one.entry->name.catalog, std::vector{one.schema}, commentOf(*one.entry, session),
        std::string(tableKindName(one.entry->kind)), false);
  }
  // A table that cannot be read is listed all the same.
  static std::optional<std::string> commentOf(const TableEntry& entry, CommandSession& session) {
    try {
      return tableComment(entry, session);
    } catch (const Error&) {
      return std::nullopt;
    }
  }
  CommandResult finish() { return {schema_, {rows_.finish()}}; }

 private:
  SchemaPtr schema_;
  RowBuilder rows_;
};

class SchemaRows {
 public:
  SchemaRows()
      : schema_(DataType::structOf({{"name", stringType(), false},
                                    {"catalog", stringType()},
                                    {"description", stringType()},
                                    {"locationUri", stringType()}})),
        rows_(schema_) {}
  void add(const SchemaEntry& schema, CommandSession& session) {
    rows_.addText(schema.name.schema);
    rows_.addText(schema.name.catalog);
    rows_.addText(schema.comment);
    rows_.addText(session.formats().fileSystems().resolve(schema.location).uri());
  }
  CommandResult finish() { return {schema_, {rows_.finish()}}; }

 private:
  SchemaPtr schema_;
  RowBuilder rows_;
};

sql::Name partsOf(const std::string& name, const std::optional<std::string>& schema) {
  sql::Name parts = sql::parseTableName(name);
  if (schema && parts.size() == 1) {
    sql::Name whole = sql::parseTableName(*schema);
    whole.push_back(parts[0]);
    return whole;
  }
  return parts;
}

std::optional<ListedName> findListed(const sql::Name& name, CommandSession& session) {
  if (const auto temporary = temporaryName(name)) {
    const bool global = temporary->where == TempViews::Global;
    if (session.findTempView(temporary->where, temporary->view))
      return ListedName{global ? std::string(kGlobalTempSchema) : "", toLowerAscii(temporary->view), true};
    if (global) return std::nullopt;
  }
  auto entry = findEntry(name, session);
  if (!entry) return std::nullopt;
  ListedName listed{entry->name.schema, entry->name.table, false, {}};
  listed.entry = std::move(entry);
  return listed;
}

}  // namespace

CommandResult oneText(const std::string& value) {
  return single({"value", stringType(), false}, [&](RowBuilder& rows) { rows.addText(value); });
}

CommandResult oneTruth(bool value) {
  return single({"value", booleanType(), false}, [&](RowBuilder& rows) { rows.addBool(value); });
}

CommandResult noValue() {
  return single({"value", stringType()}, [](RowBuilder&) {});
}

CommandResult catalogRows(const std::optional<std::string>& pattern, CommandSession& session) {
  const SchemaPtr schema = DataType::structOf({{"name", stringType(), false}, {"description", stringType()}});
  RowBuilder rows(schema);
  for (const std::string& name : session.catalog().catalogs()) {
    if (pattern && !matchesPattern(*pattern, name)) continue;
    rows.addText(name);
    rows.addNull();
  }
  return {schema, {rows.finish()}};
}

CommandResult schemaRows(const std::optional<std::string>& pattern, CommandSession& session) {
  SchemaRows rows;
  for (const SchemaEntry& schema : session.catalog().schemas(session.names().catalog)) {
    if (!pattern || matchesPattern(*pattern, schema.name.schema)) rows.add(schema, session);
  }
  return rows.finish();
}

CommandResult schemaRow(const std::string& name, CommandSession& session) {
  SchemaRows rows;
  rows.add(session.catalog().requireSchema(qualifySchema(sql::parseTableName(name), session.names())),
           session);
  return rows.finish();
}

bool schemaExists(const std::string& name, CommandSession& session) {
  const sql::Name parts = sql::parseTableName(name);
  if (parts.size() > 2 || (parts.size() == 2 && !session.catalog().hasCatalog(toLowerAscii(parts[0]))))
    return false;
  return session.catalog().findSchema(qualifySchema(parts, session.names())).has_value();
}

CommandResult tableRows(const std::optional<std::string>& schema, const std::optional<std::string>& pattern,
                        bool viewsOnly, CommandSession& session) {
  NameRows rows("tableType");
  for (const ListedName& one :
       listNames(schema ? sql::parseTableName(*schema) : sql::Name(), pattern, viewsOnly, session))
    rows.addListed(one, session);
  return rows.finish();
}

CommandResult tableRow(const std::string& name, const std::optional<std::string>& schema,
                       CommandSession& session) {
  const sql::Name parts = partsOf(name, schema);
  const auto listed = findListed(parts, session);
  if (!listed) throw nameNotFound(parts);
  NameRows rows("tableType");
  rows.addListed(*listed, session);
  return rows.finish();
}

bool tableExists(const std::string& name, const std::optional<std::string>& schema, CommandSession& session) {
  const sql::Name parts = partsOf(name, schema);
  if (isPathName(parts))
    return session.deltaLog(session.formats().fileSystems().resolve(parts[1]))->update() != nullptr;
  return findListed(parts, session).has_value();
}

CommandResult columnRows(const std::string& name, const std::optional<std::string>& schema,
                         CommandSession& session) {
  const NameColumns columns = columnsOfName(partsOf(name, schema), session);
  const SchemaPtr rowSchema = DataType::structOf({{"name", stringType(), false},
                                                  {"description", stringType()},
                                                  {"dataType", stringType(), false},
                                                  {"nullable", booleanType(), false},
                                                  {"isPartition", booleanType(), false},
                                                  {"isBucket", booleanType(), false},
                                                  {"isCluster", booleanType(), false}});
  RowBuilder rows(rowSchema);
  for (const StructField& field : columns.schema->fields()) {
    rows.addText(field.name);
    rows.addText(columnComment(field));
    rows.addText(field.type->simpleString());
    rows.addBool(field.nullable);
    rows.addBool(columns.isPartition(field.name));
    rows.addBool(false);
    rows.addBool(false);
  }
  return {rowSchema, {rows.finish()}};
}

CommandResult functionRows(const std::optional<std::string>& pattern) {
  NameRows rows("className");
  for (const std::string& name : functionNames(pattern))
    rows.add(name, std::nullopt, std::nullopt, std::nullopt, "thalweg." + name, true);
  return rows.finish();
}

bool functionExists(const std::string& name) {
  const sql::Name parts = sql::parseMultipartIdentifier(name);
  const std::vector<std::string> names = functionNames(std::nullopt);
  return std::binary_search(names.begin(), names.end(), toLowerAscii(parts.back()));
}

void requireFunction(const std::string& name) {
  if (functionExists(name)) return;
  const std::string quoted = quotedName(sql::parseMultipartIdentifier(name));
  throw Error("UNRESOLVED_ROUTINE", "There is no function " + quoted + ".",
              {{"routineName", quoted}, {"searchPath", ""}});
}

CommandResult functionRow(const std::string& name) {
  requireFunction(name);
  const sql::Name parts = sql::parseMultipartIdentifier(name);
  NameRows rows("className");
  const std::string found = toLowerAscii(parts.back());
  rows.add(found, std::nullopt, std::nullopt, std::nullopt, "thalweg." + found, true);
  return rows.finish();
}

CommandResult propertyRows(const std::string& name, CommandSession& session) {
  const sql::Name parts = sql::parseTableName(name);
  const auto entry = findEntry(parts, session);
  if (!entry) throw nameNotFound(parts);
  const SchemaPtr schema = DataType::structOf({{"key", stringType(), false}, {"value", stringType(), false}});
  RowBuilder rows(schema);
  for (const auto& [key, value] : tableProperties(*entry, session)) {
    rows.addText(key);
    rows.addText(value);
  }
  return {schema, {rows.finish()}};
}

CommandResult partitionRows(const std::string& name, CommandSession& session) {
  const CommandResult partitions = listPartitions(sql::parseTableName(name), session);
  const SchemaPtr schema = DataType::structOf({{"partition", stringType(), false}});
  RowBuilder rows(schema);
  for (const auto& batch : partitions.batches) {
    for (int64_t row = 0; row < batch->num_rows(); ++row) {
      std::string text;
      for (int i = 0; i < batch->num_columns(); ++i) {
        const auto value = valueOrThrow(batch->column(i)->GetScalar(row));
        text += (i == 0 ? "" : "/") + partitions.schema->fields()[static_cast<size_t>(i)].name + "=" +
                (value->is_valid ? value->ToString() : "null");
      }
      rows.addText(text);
    }
  }
  return {schema, {rows.finish()}};
}

}  // namespace thalweg
