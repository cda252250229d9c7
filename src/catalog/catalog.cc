#include "catalog/catalog.h"

#include <filesystem>

#include <nlohmann/json.hpp>

#include "catalog/sqlite.h"
#include "common/error.h"

namespace thalweg {
namespace {

// The form of the file; a file of a newer form is refused.
constexpr int64_t kFormat = 1;

constexpr const char* kMakeTables = R"(
CREATE TABLE catalogs (name TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE schemas (
  catalog TEXT NOT NULL REFERENCES catalogs, name TEXT NOT NULL, location TEXT NOT NULL, comment TEXT, properties TEXT NOT NULL,
  PRIMARY KEY (catalog, name)) WITHOUT ROWID;
CREATE TABLE tables (
  catalog TEXT NOT NULL, schema TEXT NOT NULL, name TEXT NOT NULL, kind TEXT NOT NULL, provider TEXT NOT NULL, location TEXT NOT NULL,
  comment TEXT, properties TEXT NOT NULL, columns TEXT, view TEXT, created_ms INTEGER NOT NULL,
  PRIMARY KEY (catalog, schema, name), FOREIGN KEY (catalog, schema) REFERENCES schemas) WITHOUT ROWID;
CREATE TABLE unfinished (location TEXT PRIMARY KEY) WITHOUT ROWID;
PRAGMA user_version = 1;
)";

constexpr std::string_view kTableColumns =
    "SELECT catalog, schema, name, kind, provider, location, comment, properties, columns, view, created_ms "
    "FROM tables ";
constexpr std::string_view kSchemaColumns =
    "SELECT catalog, name, location, comment, properties FROM schemas ";

std::string toText(const CatalogProperties& properties) {
  return nlohmann::json(properties).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Error damaged() {
  return Error("CATALOG_FAILURE", "The catalog file holds an entry that cannot be read.", {});
}

CatalogProperties propertiesOf(const nlohmann::json& json) {
  if (!json.is_object()) throw damaged();
  CatalogProperties properties;
  for (const auto& [key, value] : json.items()) {
    if (!value.is_string()) throw damaged();
    properties[key] = value.get<std::string>();
  }
  return properties;
}

nlohmann::json parsed(const std::string& text) {
  nlohmann::json json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) throw damaged();
  return json;
}

std::optional<std::string> viewText(const std::optional<ViewDefinition>& view) {
  if (!view) return std::nullopt;
  const nlohmann::json json = {{"text", view->text},           {"catalog", view->scope.catalog},
                               {"schema", view->scope.schema}, {"settings", view->settings},
                               {"columns", view->columns},     {"queryColumns", view->queryColumns}};
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

ViewDefinition viewOf(const std::string& text) {
  const nlohmann::json json = parsed(text);
  const auto field = [&](const char* name) {
    const auto it = json.is_object() ? json.find(name) : json.end();
    if (!json.is_object() || it == json.end() || !it->is_string()) throw damaged();
    return it->get<std::string>();
  };
  ViewDefinition view{
      field("text"), {field("catalog"), field("schema")}, {}, field("columns"), field("queryColumns")};
  view.settings = propertiesOf(json.value("settings", nlohmann::json::object()));
  return view;
}

TableKind kindOf(const std::string& name) {
  for (const TableKind kind : {TableKind::Managed, TableKind::External, TableKind::View}) {
    if (tableKindName(kind) == name) return kind;
  }
  throw damaged();
}

TableEntry tableOf(const SqliteStatement& row) {
  TableEntry entry;
  entry.name = {row.text(0), row.text(1), row.text(2)};
  entry.kind = kindOf(row.text(3));
  entry.provider = row.text(4);
  entry.location = row.text(5);
  entry.comment = row.optionalText(6);
  entry.properties = propertiesOf(parsed(row.text(7)));
  entry.columns = row.optionalText(8);
  if (const auto view = row.optionalText(9)) entry.view = viewOf(*view);
  entry.createdMs = row.number(10);
  return entry;
}

SchemaEntry schemaOfRow(const SqliteStatement& row) {
  return {{row.text(0), row.text(1)}, row.text(2), row.optionalText(3), propertiesOf(parsed(row.text(4)))};
}

void insertSchema(SqliteConnection& connection, const SchemaEntry& schema) {
  auto insert = connection.prepare("INSERT INTO schemas VALUES (?, ?, ?, ?, ?)");
  insert.bind(schema.name.catalog)
      .bind(schema.name.schema)
      .bind(schema.location)
      .bindOptional(schema.comment)
      .bind(toText(schema.properties))
      .run();
}

std::optional<SchemaEntry> selectSchema(SqliteConnection& connection, const SchemaName& name) {
  auto select = connection.prepare(std::string(kSchemaColumns) + "WHERE catalog = ? AND name = ?");
  select.bind(name.catalog).bind(name.schema);
  if (!select.step()) return std::nullopt;
  return schemaOfRow(select);
}

std::optional<TableEntry> selectTable(SqliteConnection& connection, const TableName& name) {
  auto select =
      connection.prepare(std::string(kTableColumns) + "WHERE catalog = ? AND schema = ? AND name = ?");
  select.bind(name.catalog).bind(name.schema).bind(name.table);
  if (!select.step()) return std::nullopt;
  return tableOf(select);
}

void insertTable(SqliteConnection& connection, const TableEntry& entry) {
  auto insert = connection.prepare("INSERT OR REPLACE INTO tables VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  insert.bind(entry.name.catalog)
      .bind(entry.name.schema)
      .bind(entry.name.table)
      .bind(tableKindName(entry.kind));
  insert.bind(entry.provider).bind(entry.location).bindOptional(entry.comment).bind(toText(entry.properties));
  insert.bindOptional(entry.columns).bindOptional(viewText(entry.view)).bind(entry.createdMs).run();
}

void deleteTable(SqliteConnection& connection, const TableName& name) {
  auto remove = connection.prepare("DELETE FROM tables WHERE catalog = ? AND schema = ? AND name = ?");
  remove.bind(name.catalog).bind(name.schema).bind(name.table).run();
}

void deleteUnfinished(SqliteConnection& connection, const std::string& location) {
  connection.prepare("DELETE FROM unfinished WHERE location = ?").bind(location).run();
}

void insertUnfinished(SqliteConnection& connection, const std::string& location) {
  connection.prepare("INSERT OR IGNORE INTO unfinished VALUES (?)").bind(location).run();
}

Error schemaNotFound(const SchemaName& name) {
  return Error("SCHEMA_NOT_FOUND", "There is no schema " + name.quoted() + "; create it, or check its name.",
               {{"schemaName", name.quoted()}});
}

}  // namespace

Error tableAlreadyExists(const TableName& name) {
  return Error("TABLE_OR_VIEW_ALREADY_EXISTS",
               "There is a table or view " + name.quoted() +
                   " already: choose another name, drop it, or use IF NOT EXISTS or OR REPLACE.",
               {{"relationName", name.quoted()}});
}

Error tableNotFound(const TableName& name) {
  return Error("TABLE_OR_VIEW_NOT_FOUND",
               "There is no table or view " + name.quoted() + "; check its name and the current schema.",
               {{"relationName", name.quoted()}});
}

std::string_view tableKindName(TableKind kind) {
  switch (kind) {
    case TableKind::Managed:
      return "MANAGED";
    case TableKind::External:
      return "EXTERNAL";
    case TableKind::View:
      return "VIEW";
  }
  return "MANAGED";
}

Catalog::Catalog(CatalogPlaces places, const Clock& clock) : places_(std::move(places)), clock_(&clock) {}

Catalog::~Catalog() = default;

SqliteConnection* Catalog::open(bool write) {
  if (connection_) return connection_.get();
  std::error_code ignored;
  if (!write && !std::filesystem::exists(places_.file, ignored)) return nullptr;
  std::filesystem::create_directories(std::filesystem::path(places_.file).parent_path(), ignored);
  connection_ = std::make_unique<SqliteConnection>(places_.file);
  try {
    makeTables();
  } catch (...) {
    connection_.reset();
    throw;
  }
  return connection_.get();
}

void Catalog::makeTables() {
  const auto format = [this] {
    auto version = connection_->prepare("PRAGMA user_version");
    version.step();
    return version.number(0);
  };
  if (format() == 0) {
    SqliteTransaction transaction(*connection_);
    if (format() == 0) {
      connection_->execute(kMakeTables);
      connection_->prepare("INSERT INTO catalogs VALUES (?)").bind(kSessionCatalog).run();
      insertSchema(*connection_, defaultSchema());
    }
    transaction.commit();
  }
  if (format() == kFormat) return;
  throw Error("CATALOG_FAILURE",
              "The catalog file " + places_.file + " was made by a newer version of this program.",
              {{"path", places_.file}});
}

SchemaEntry Catalog::defaultSchema() const {
  return {
      {std::string(kSessionCatalog), std::string(kDefaultSchema)}, places_.warehouse, "default database", {}};
}

std::string Catalog::defaultLocation(const SchemaName& name) const {
  return places_.warehouse + "/" + name.schema + ".db";
}

std::vector<std::string> Catalog::catalogs() {
  return {std::string(kSessionCatalog)};
}

bool Catalog::hasCatalog(std::string_view name) {
  return name == kSessionCatalog;
}

std::vector<SchemaEntry> Catalog::schemas(const std::string& catalog) {
  std::lock_guard lock(mutex_);
  SqliteConnection* connection = open(false);
  if (!connection) return {defaultSchema()};
  std::vector<SchemaEntry> found;
  auto select = connection->prepare(std::string(kSchemaColumns) + "WHERE catalog = ? ORDER BY name");
  select.bind(catalog);
  while (select.step()) found.push_back(schemaOfRow(select));
  return found;
}

std::optional<SchemaEntry> Catalog::findSchema(const SchemaName& name) {
  std::lock_guard lock(mutex_);
  SqliteConnection* connection = open(false);
  if (connection) return selectSchema(*connection, name);
  if (name == defaultSchema().name) return defaultSchema();
  return std::nullopt;
}

SchemaEntry Catalog::requireSchema(const SchemaName& name) {
  if (auto found = findSchema(name)) return *std::move(found);
  throw schemaNotFound(name);
}

void Catalog::createSchema(const SchemaEntry& schema) {
  std::lock_guard lock(mutex_);
  SqliteConnection& connection = *open(true);
  SqliteTransaction transaction(connection);
  if (selectSchema(connection, schema.name)) {
    throw Error("SCHEMA_ALREADY_EXISTS",
                "There is a schema " + quotedName({schema.name.schema}) +
                    " already: use IF NOT EXISTS, or another name.",
                {{"schemaName", quotedName({schema.name.schema})}});
  }
  insertSchema(connection, schema);
  transaction.commit();
}

void Catalog::updateSchema(const SchemaEntry& schema) {
  std::lock_guard lock(mutex_);
  SqliteConnection& connection = *open(true);
  SqliteTransaction transaction(connection);
  if (!selectSchema(connection, schema.name)) throw schemaNotFound(schema.name);
  auto update = connection.prepare(
      "UPDATE schemas SET location = ?, comment = ?, properties = ? WHERE catalog = ? AND name = ?");
  update.bind(schema.location)
      .bindOptional(schema.comment)
      .bind(toText(schema.properties))
      .bind(schema.name.catalog)
      .bind(schema.name.schema)
      .run();
  transaction.commit();
}

void Catalog::dropSchema(const SchemaName& name) {
  std::lock_guard lock(mutex_);
  SqliteConnection* connection = open(false);
  if (!connection) throw schemaNotFound(name);
  SqliteTransaction transaction(*connection);
  if (!selectSchema(*connection, name)) throw schemaNotFound(name);
  auto tables = connection->prepare("SELECT count(*) FROM tables WHERE catalog = ? AND schema = ?");
  tables.bind(name.catalog).bind(name.schema).step();
  if (tables.number(0) > 0) {
    throw Error(
        "SCHEMA_NOT_EMPTY",
        "The schema " + quotedName({name.schema}) + " has tables or views: drop them first, or use CASCADE.",
        {{"schemaName", quotedName({name.schema})}});
  }
  connection->prepare("DELETE FROM schemas WHERE catalog = ? AND name = ?")
      .bind(name.catalog)
      .bind(name.schema)
      .run();
  transaction.commit();
}

std::vector<TableEntry> Catalog::tables(const SchemaName& schema) {
  requireSchema(schema);
  std::lock_guard lock(mutex_);
  SqliteConnection* connection = open(false);
  if (!connection) return {};
  std::vector<TableEntry> found;
  auto select =
      connection->prepare(std::string(kTableColumns) + "WHERE catalog = ? AND schema = ? ORDER BY name");
  select.bind(schema.catalog).bind(schema.schema);
  while (select.step()) found.push_back(tableOf(select));
  return found;
}

std::optional<TableEntry> Catalog::find(const TableName& name) {
  std::lock_guard lock(mutex_);
  SqliteConnection* connection = open(false);
  return connection ? selectTable(*connection, name) : std::nullopt;
}

void Catalog::create(const TableEntry& entry) {
  std::lock_guard lock(mutex_);
  SqliteConnection& connection = *open(true);
  SqliteTransaction transaction(connection);
  if (!selectSchema(connection, entry.name.schemaName())) throw schemaNotFound(entry.name.schemaName());
  if (selectTable(connection, entry.name)) throw tableAlreadyExists(entry.name);
  TableEntry created = entry;
  created.createdMs = clock_->nowMillis();
  insertTable(connection, created);
  deleteUnfinished(connection, entry.location);
  transaction.commit();
}

void Catalog::replace(const TableEntry& entry) {
  std::lock_guard lock(mutex_);
  SqliteConnection& connection = *open(true);
  SqliteTransaction transaction(connection);
  const auto old = selectTable(connection, entry.name);
  if (!old) throw tableNotFound(entry.name);
  TableEntry replaced = entry;
  replaced.createdMs = old->createdMs;
  insertTable(connection, replaced);
  transaction.commit();
}

void Catalog::drop(const TableName& name) {
  std::lock_guard lock(mutex_);
  SqliteConnection* connection = open(false);
  if (!connection) throw tableNotFound(name);
  SqliteTransaction transaction(*connection);
  const auto entry = selectTable(*connection, name);
  if (!entry) throw tableNotFound(name);
  deleteTable(*connection, name);
  if (entry->kind == TableKind::Managed) insertUnfinished(*connection, entry->location);
  transaction.commit();
}

void Catalog::rename(const TableName& from, const TableName& to) {
  std::lock_guard lock(mutex_);
  SqliteConnection* connection = open(false);
  if (!connection) throw tableNotFound(from);
  SqliteTransaction transaction(*connection);
  auto entry = selectTable(*connection, from);
  if (!entry) throw tableNotFound(from);
  if (!selectSchema(*connection, to.schemaName())) throw schemaNotFound(to.schemaName());
  if (selectTable(*connection, to)) throw tableAlreadyExists(to);
  deleteTable(*connection, from);
  entry->name = to;
  insertTable(*connection, *entry);
  transaction.commit();
}

void Catalog::addUnfinished(const std::string& location) {
  std::lock_guard lock(mutex_);
  insertUnfinished(*open(true), location);
}

void Catalog::removeUnfinished(const std::string& location) {
  std::lock_guard lock(mutex_);
  deleteUnfinished(*open(true), location);
}

bool Catalog::isUnfinished(const std::string& location) {
  std::lock_guard lock(mutex_);
  SqliteConnection* connection = open(false);
  if (!connection) return false;
  return connection->prepare("SELECT 1 FROM unfinished WHERE location = ?").bind(location).step();
}

bool Catalog::isNamed(const std::string& location) {
  std::lock_guard lock(mutex_);
  SqliteConnection* connection = open(false);
  if (!connection) return false;
  auto select = connection->prepare(
      "SELECT 1 FROM tables WHERE location = ? OR substr(location, 1, length(?) + 1) = ? || '/'");
  return select.bind(location).bind(location).bind(location).step();
}

}  // namespace thalweg
