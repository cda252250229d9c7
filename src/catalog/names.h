// Names of tables and schemas: what a program writes, and what it means under a session's current catalog and
// schema.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace thalweg {

// The one catalog so far, as Spark names its own, and its first schema.
inline constexpr std::string_view kSessionCatalog = "spark_catalog";
inline constexpr std::string_view kDefaultSchema = "default";
// The schema of views that all sessions of a server share; it is in no catalog.
inline constexpr std::string_view kGlobalTempSchema = "global_temp";

// What names without a catalog or a schema are taken to lie in: a session's current ones.
struct NameScope {
  std::string catalog{kSessionCatalog};
  std::string schema{kDefaultSchema};
};

// Whole names, in lower case as the catalog stores them (Spark's rule: names of tables and schemas ignore
// case).
struct SchemaName {
  std::string catalog;
  std::string schema;
  std::string quoted() const;  // `spark_catalog`.`sales`
  bool operator==(const SchemaName&) const = default;
};
struct TableName {
  std::string catalog;
  std::string schema;
  std::string table;
  SchemaName schemaName() const { return {catalog, schema}; }
  std::string quoted() const;       // `spark_catalog`.`sales`.`orders`
  std::string shortQuoted() const;  // `sales`.`orders`
  std::string dotted() const;       // spark_catalog.sales.orders
  bool operator==(const TableName&) const = default;
};

// A name of one to three parts (table; schema.table; catalog.schema.table). A first part that is no catalog
// counts as a part of the session catalog's namespace, which has one level: Error
// REQUIRES_SINGLE_PART_NAMESPACE.
TableName qualifyTable(const std::vector<std::string>& parts, const NameScope& scope);
// A schema's name of one or two parts. Same error; SCHEMA_NOT_FOUND is whoever's looks it up.
SchemaName qualifySchema(const std::vector<std::string>& parts, const NameScope& scope);

// A name that something new may get: letters a–z, digits and '_' (Spark's rule). Since managed folders are
// called after their names, this keeps them below their schema's. Throws Error
// INVALID_SCHEMA_OR_RELATION_NAME.
void checkNewName(std::string_view name);

// Parts in back-ticks, joined by dots: how error messages show a name.
std::string quotedName(const std::vector<std::string>& parts);

// Spark's patterns of SHOW … LIKE and of spark.catalog: '*' stands for any characters, '|' separates
// alternatives, case does not count.
bool matchesPattern(std::string_view pattern, std::string_view name);

}  // namespace thalweg
