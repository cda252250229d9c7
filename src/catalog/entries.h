// What the catalog keeps of a schema, a table and a view.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "catalog/names.h"
#include "common/options.h"

namespace thalweg {

using CatalogProperties = std::map<std::string, std::string>;

struct SchemaEntry {
  SchemaName name;
  std::string location;  // address of the folder that managed tables lie in
  std::optional<std::string> comment = {};
  CatalogProperties properties = {};
};

enum class TableKind {
  Managed,   // its folder is the catalog's: DROP removes it
  External,  // its files are someone else's: DROP leaves them
  View,
};

// A stored view's query, and what was in force when it was made: it means the same whoever reads it.
struct ViewDefinition {
  std::string text;
  NameScope scope;
  CatalogProperties settings;  // of the session
  // The view's columns by name, type and comment, and the names of the query's columns behind them, as schema
  // JSON.
  std::string columns;
  std::string queryColumns;
};

// Providers ignore case.
inline bool isDeltaProvider(std::string_view provider) { return equalsIgnoreCase(provider, "delta"); }

struct TableEntry {
  TableName name;
  TableKind kind = TableKind::Managed;
  std::string provider = {};  // "delta"; empty for a view
  std::string location = {};  // address of the table; empty for a view
  // Comment, properties and columns are a Delta table's own, in its log; here they are those of views and of
  // other providers.
  std::optional<std::string> comment = {};
  CatalogProperties properties = {};
  std::optional<std::string> columns = {};  // schema JSON; absent: the provider knows
  std::optional<ViewDefinition> view = {};
  int64_t createdMs = 0;

  bool isView() const { return kind == TableKind::View; }
  bool isDelta() const { return isDeltaProvider(provider); }
};

// "MANAGED", "EXTERNAL", "VIEW": Spark's words, and what the catalog stores.
std::string_view tableKindName(TableKind kind);

}  // namespace thalweg
