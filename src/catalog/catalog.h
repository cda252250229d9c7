// The catalog: which schemas, tables and views there are. The table formats' own metadata is not its
// business.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "catalog/entries.h"
#include "common/clock.h"
#include "common/error.h"

namespace thalweg {

class SqliteConnection;

// The errors of a name that is taken, or that nothing has.
Error tableAlreadyExists(const TableName& name);
Error tableNotFound(const TableName& name);

// Where a server keeps its catalog.
struct CatalogPlaces {
  std::string file;       // the SQLite file, on local disk
  std::string warehouse;  // address of the folder of managed tables; the schema default lies in it, others in
                          // <schema>.db
};

// All methods may be called from any thread, and any number of processes may use one file at once: each
// method is one transaction. The file is made by the first method that has something to keep; before that
// there is the schema default and nothing in it. Throws Error CATALOG_FAILURE where the file cannot be used,
// and what is said below.
class Catalog {
 public:
  explicit Catalog(CatalogPlaces places, const Clock& clock = systemClock());
  ~Catalog();

  const CatalogPlaces& places() const { return places_; }

  // "spark_catalog" alone so far; sorted.
  std::vector<std::string> catalogs();
  bool hasCatalog(std::string_view name);

  // Sorted by name.
  std::vector<SchemaEntry> schemas(const std::string& catalog);
  std::optional<SchemaEntry> findSchema(const SchemaName& name);
  SchemaEntry requireSchema(const SchemaName& name);  // throws SCHEMA_NOT_FOUND
  // Where a schema lies unless it is told: <warehouse>/<name>.db.
  std::string defaultLocation(const SchemaName& name) const;
  void createSchema(const SchemaEntry& schema);  // throws SCHEMA_ALREADY_EXISTS
  void updateSchema(const SchemaEntry& schema);  // throws SCHEMA_NOT_FOUND
  // Throws SCHEMA_NOT_FOUND, and SCHEMA_NOT_EMPTY where it has tables.
  void dropSchema(const SchemaName& name);

  // Tables and views share their names. Sorted by name; throws SCHEMA_NOT_FOUND.
  std::vector<TableEntry> tables(const SchemaName& schema);
  std::optional<TableEntry> find(const TableName& name);
  // Its place is unfinished no longer, in the same transaction. Throws TABLE_OR_VIEW_ALREADY_EXISTS,
  // SCHEMA_NOT_FOUND.
  void create(const TableEntry& entry);
  // In the place of an entry of the same name. Throws TABLE_OR_VIEW_NOT_FOUND.
  void replace(const TableEntry& entry);
  // Throws TABLE_OR_VIEW_NOT_FOUND. A managed table's folder becomes unfinished in the same transaction
  // (table_folder.h).
  void drop(const TableName& name);
  // Throws TABLE_OR_VIEW_NOT_FOUND, TABLE_OR_VIEW_ALREADY_EXISTS, SCHEMA_NOT_FOUND.
  void rename(const TableName& from, const TableName& to);

  // For table_folder.h: folders whose table is being made or was dropped, so that nothing in them is wanted.
  void addUnfinished(const std::string& location);
  void removeUnfinished(const std::string& location);
  bool isUnfinished(const std::string& location);
  // Whether a table of any kind and schema lies at this place or below it.
  bool isNamed(const std::string& location);

 private:
  // Null while there is no file and `write` does not ask for one. mutex_ is held.
  SqliteConnection* open(bool write);
  void makeTables();
  SchemaEntry defaultSchema() const;

  CatalogPlaces places_;
  const Clock* clock_;
  std::mutex mutex_;
  std::unique_ptr<SqliteConnection> connection_;
};

}  // namespace thalweg
