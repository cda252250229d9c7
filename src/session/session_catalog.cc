// spark.catalog: Spark Connect's catalog relations, carried out by commands/.
#include <spark/connect/base.pb.h>
#include <spark/connect/catalog.pb.h>

#include "commands/cache.h"
#include "commands/catalog_queries.h"
#include "commands/commands.h"
#include "commands/drop_table.h"
#include "commands/new_table.h"
#include "commands/schemas.h"
#include "commands/show.h"
#include "commands/table_target.h"
#include "common/error.h"
#include "plan/analyze/proto_types.h"
#include "session/session.h"
#include "session/statement_session.h"
#include "sql/parser.h"

namespace thalweg {
namespace {

namespace proto = spark::connect;
using Kind = proto::Catalog;

template <typename Message>
std::optional<std::string> schemaOfMessage(const Message& message) {
  return message.has_db_name() ? std::optional(message.db_name()) : std::nullopt;
}
template <typename Message>
std::optional<std::string> patternOf(const Message& message) {
  return message.has_pattern() ? std::optional(message.pattern()) : std::nullopt;
}

CommandResult run(const sql::Statement& statement, const char* text, StatementSession& session) {
  runStatement(statement, text, session);
  return noValue();
}

// createTable and createExternalTable answer with the table.
template <typename Message>
NewTable newTable(const Message& message, CommandSession& session) {
  NewTable table;
  table.name = sql::parseTableName(message.table_name());
  table.provider = message.has_source() ? message.source()
                                        : session.lookUp("spark.sql.sources.default").value_or("parquet");
  for (const auto& [key, value] : message.options()) table.options.set(key, value);
  table.location = message.has_path() ? std::optional(message.path()) : table.options.get("path");
  table.options.erase("path");
  if (message.has_schema()) table.columns = fromProtoType(message.schema());
  return table;
}

CommandResult aboutTables(const proto::Catalog& query, StatementSession& session) {
  switch (query.cat_type_case()) {
    case Kind::kListTables:
      return tableRows(schemaOfMessage(query.list_tables()), patternOf(query.list_tables()), false, session);
    case Kind::kListViews:
      return tableRows(schemaOfMessage(query.list_views()), patternOf(query.list_views()), true, session);
    case Kind::kGetTable:
      return tableRow(query.get_table().table_name(), schemaOfMessage(query.get_table()), session);
    case Kind::kTableExists:
      return oneTruth(
          tableExists(query.table_exists().table_name(), schemaOfMessage(query.table_exists()), session));
    case Kind::kListColumns:
      return columnRows(query.list_columns().table_name(), schemaOfMessage(query.list_columns()), session);
    case Kind::kGetTableProperties:
      return propertyRows(query.get_table_properties().table_name(), session);
    case Kind::kGetCreateTableString:
      return oneText(
          createStatement(sql::parseTableName(query.get_create_table_string().table_name()), session));
    case Kind::kListPartitions:
      return partitionRows(query.list_partitions().table_name(), session);
    case Kind::kDropTable: {
      const auto& drop = query.drop_table();
      return run(
          sql::DropTable{sql::parseTableName(drop.table_name()), false, drop.if_exists(), drop.purge()},
          "DROP TABLE", session);
    }
    case Kind::kDropView:
      return run(sql::DropTable{sql::parseTableName(query.drop_view().view_name()), true,
                                query.drop_view().if_exists()},
                 "DROP VIEW", session);
    case Kind::kTruncateTable:
      return run(sql::Truncate{sql::parseTableName(query.truncate_table().table_name())}, "TRUNCATE TABLE",
                 session);
    case Kind::kDropTempView:
      return oneTruth(session.dropTempView(TempViews::Session, query.drop_temp_view().view_name()));
    case Kind::kDropGlobalTempView:
      return oneTruth(session.dropTempView(TempViews::Global, query.drop_global_temp_view().view_name()));
    case Kind::kIsCached:
      return oneTruth(
          session.isCached(requireName(sql::parseTableName(query.is_cached().table_name()), session)));
    case Kind::kCacheTable:
      return run(sql::Cache{sql::parseTableName(query.cache_table().table_name())}, "CACHE TABLE", session);
    case Kind::kUncacheTable:
      return run(sql::Uncache{sql::parseTableName(query.uncache_table().table_name())}, "UNCACHE TABLE",
                 session);
    case Kind::kClearCache:
      return run(sql::Uncache{}, "CLEAR CACHE", session);
    case Kind::kRefreshTable:
      return run(sql::Refresh{sql::parseTableName(query.refresh_table().table_name()), {}}, "REFRESH TABLE",
                 session);
    case Kind::kRefreshByPath:
      return noValue();
    case Kind::kRecoverPartitions:
    case Kind::kAnalyzeTable:
      throw Error(
          "NOT_SUPPORTED_COMMAND_FOR_V2_TABLE",
          "A Delta table's log knows its partitions and statistics: there is nothing to recover or analyze.",
          {{"cmd", query.has_analyze_table() ? "ANALYZE TABLE" : "ALTER TABLE ... RECOVER PARTITIONS"}});
    default:
      throw unsupported("This call of spark.catalog");
  }
}

CommandResult aboutSchemas(const proto::Catalog& query, StatementSession& session) {
  switch (query.cat_type_case()) {
    case Kind::kCurrentDatabase:
      return oneText(session.names().schema);
    case Kind::kSetCurrentDatabase:
      useSchema({sql::parseTableName(query.set_current_database().db_name())}, session);
      return noValue();
    case Kind::kListDatabases:
      return schemaRows(patternOf(query.list_databases()), session);
    case Kind::kGetDatabase:
      return schemaRow(query.get_database().db_name(), session);
    case Kind::kDatabaseExists:
      return oneTruth(schemaExists(query.database_exists().db_name(), session));
    case Kind::kCreateDatabase: {
      const auto& create = query.create_database();
      sql::CreateSchema statement{sql::parseTableName(create.db_name()), create.if_not_exists()};
      for (const auto& [key, value] : create.properties()) {
        if (key == "comment")
          statement.comment = value;
        else if (key == "location")
          statement.location = value;
        else
          statement.properties.emplace_back(key, value);
      }
      createSchema(statement, session);
      return noValue();
    }
    case Kind::kDropDatabase: {
      const auto& drop = query.drop_database();
      dropSchema({sql::parseTableName(drop.db_name()), drop.if_exists(), drop.cascade()}, session);
      return noValue();
    }
    case Kind::kCurrentCatalog:
      return oneText(session.names().catalog);
    case Kind::kSetCurrentCatalog:
      useSchema({{query.set_current_catalog().catalog_name()}, /*isCatalog=*/true}, session);
      return noValue();
    case Kind::kListCatalogs:
      return catalogRows(patternOf(query.list_catalogs()), session);
    case Kind::kListFunctions:
      return functionRows(patternOf(query.list_functions()));
    case Kind::kGetFunction:
      return functionRow(query.get_function().function_name());
    case Kind::kFunctionExists:
      return oneTruth(functionExists(query.function_exists().function_name()));
    default:
      return aboutTables(query, session);
  }
}

}  // namespace

LogicalPtr Session::catalogQuery(const proto::Catalog& query, CancellationToken cancellation) {
  StatementSession session(*this, cancellation);
  const bool creates = query.has_create_table() || query.has_create_external_table();
  if (creates) {
    NewTable table = query.has_create_table() ? newTable(query.create_table(), session)
                                              : newTable(query.create_external_table(), session);
    if (query.has_create_table() && query.create_table().has_description())
      table.comment = query.create_table().description();
    createTable(table, session);
    return findRelation(table.name, {}, false, {names()}, cancellation);
  }
  const CommandResult result = aboutSchemas(query, session);
  return std::make_shared<LogicalLocalRelation>(attributesOf(*result.schema), result.batches);
}

}  // namespace thalweg
