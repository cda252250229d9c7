// What a table's name in a query means: a temporary view, a format and a path, or the catalog's table or
// view.
#include <spark/connect/relations.pb.h>

#include "commands/file_tables.h"
#include "commands/table_target.h"
#include "common/error.h"
#include "expr/cast/cast.h"
#include "session/session.h"
#include "sql/parser.h"
#include "types/schema_json.h"

namespace thalweg {
namespace {

// As Spark's spark.sql.view.maxNestedViewDepth.
constexpr size_t kMaxViewDepth = 100;

// A view shows its tables as they are now.
LogicalPtr withLatestTables(const LogicalPtr& plan) {
  return transformUp(plan, [](const LogicalPtr& node) -> LogicalPtr {
    if (node->kind() != LogicalKind::TableScan) return node;
    const auto& scan = static_cast<const LogicalTableScan&>(*node);
    const std::shared_ptr<Table> latest = scan.table()->latest();
    if (!latest || !equals(*latest->schema(), *scan.table()->schema())) return node;
    return std::make_shared<LogicalTableScan>(latest, scan.columns(), scan.output(), scan.conditions());
  });
}

LogicalPtr temporaryView(const std::vector<std::string>& name, const TemporaryViews& own,
                         const TemporaryViews& global) {
  const auto temporary = temporaryName(name);
  if (!temporary) return nullptr;
  return (temporary->where == TempViews::Global ? global : own).find(temporary->view);
}

void refuseTimeTravel(const TableName& view, const Options& options) {
  if (!options.has("versionAsOf") && !options.has("timestampAsOf")) return;
  throw Error("UNSUPPORTED_FEATURE.TIME_TRAVEL",
              view.quoted() + " is a view, and has no versions to travel to.",
              {{"relationId", view.quoted()}});
}

void checkNesting(const TableName& view, const std::vector<TableName>& outer) {
  const auto same = std::find(outer.begin(), outer.end(), view);
  if (same != outer.end()) {
    throw Error("RECURSIVE_VIEW", "The view " + view.quoted() + " reads itself.",
                {{"viewIdent", view.quoted()}, {"newPath", view.quoted()}});
  }
  if (outer.size() < kMaxViewDepth) return;
  throw Error("VIEW_EXCEED_MAX_NESTED_DEPTH",
              "Views are nested more than " + std::to_string(kMaxViewDepth) + " deep.",
              {{"viewName", view.quoted()}, {"maxNestedDepth", std::to_string(kMaxViewDepth)}});
}

// The view's columns as they were declared, over its query's as they are now: found by name, cast where a
// type has changed.
LogicalPtr declaredColumns(const TableEntry& view, const LogicalPtr& plan) {
  const SchemaPtr declared = parseSchemaJson(view.view->columns);
  const SchemaPtr queried = parseSchemaJson(view.view->queryColumns);
  const std::vector<AttributePtr> output = visibleOutput(*plan);
  std::vector<ExpressionPtr> columns;
  for (size_t i = 0; i < declared->fields().size(); ++i) {
    const std::string& name = queried->fields().at(i).name;
    const auto column = std::find_if(output.begin(), output.end(), [&](const AttributePtr& one) {
      return equalsIgnoreCase(one->name(), name);
    });
    if (column == output.end()) {
      throw Error("INCOMPATIBLE_VIEW_SCHEMA_CHANGE",
                  "The query of the view " + view.name.quoted() + " no longer gives the column " +
                      quotedName({name}) + ": make the view anew.",
                  {{"viewName", view.name.quoted()},
                   {"colName", quotedName({name})},
                   {"expectedNum", "1"},
                   {"actualCols", ""},
                   {"suggestion", ""}});
    }
    const StructField& field = declared->fields()[i];
    columns.push_back(std::make_shared<Alias>(castTo(*column, field.type, CastMode::Ansi), field.name));
  }
  return std::make_shared<LogicalProject>(std::move(columns), plan);
}

}  // namespace

NameScope Session::names() const {
  std::lock_guard lock(mutex_);
  return names_;
}

LogicalPtr Session::findRelation(const std::vector<std::string>& name, const Options& options, bool streaming,
                                 const ResolutionScope& scope, const CancellationToken& cancellation) {
  if (const LogicalPtr view = temporaryView(name, views_, server_->globalViews)) {
    if (!scope.ofStoredView) return withLatestTables(view);
    if (scope.inSession) {
      const std::string outer = scope.views.back().quoted();
      throw Error(
          "INVALID_TEMP_OBJ_REFERENCE",
          "The stored view " + outer + " cannot read the temporary view " + quotedName(name) + ".",
          {{"obj", "VIEW"}, {"objName", outer}, {"tempObj", "VIEW"}, {"tempObjName", quotedName(name)}});
    }
  }
  // delta.`/path`: a format and a path.
  if (name.size() == 2 && name[1].find('/') != std::string::npos)
    return tableRelation(name[0], name[1], nullptr, options, streaming);
  const TableName whole = qualifyTable(name, scope.names);
  const auto entry = server_->catalog.find(whole);
  if (!entry) return nullptr;
  if (!entry->isView()) return tableRelation(entry->provider, entry->location, &*entry, options, streaming);
  refuseTimeTravel(whole, options);
  return viewRelation(*entry, scope, cancellation);
}

LogicalPtr Session::tableRelation(const std::string& providerName, const std::string& address,
                                  const TableEntry* entry, const Options& options, bool streaming) {
  const FormatProvider& provider = server_->formats.find(providerName);
  ReadDefinition definition;
  // What CREATE TABLE … OPTIONS said; a Delta table has its own properties in its log.
  if (entry && provider.name != "delta") {
    for (const auto& [key, value] : entry->properties) definition.options.set(key, value);
    if (entry->columns) definition.userSchema = parseSchemaJson(*entry->columns);
  }
  for (const auto& [key, option] : options.entries()) definition.options.set(option.name, option.value);
  takeFileReadSettings([&](const std::string& key) { return lookUp(key); }, &definition.options);
  definition.paths = {address};
  definition.timeZone = setting("spark.sql.session.timeZone");
  definition.corruptRecordColumn = setting("spark.sql.columnNameOfCorruptRecord");
  if (streaming) return streamScan(provider, definition, server_->formats.fileSystems());
  if (!provider.openTable) throw unsupported("Reading the format '" + provider.name + "' as a batch");
  return tableScan(provider.openTable(definition, server_->formats.fileSystems()),
                   flag("spark.sql.readSideCharPadding"));
}

LogicalPtr Session::viewRelation(const TableEntry& view, const ResolutionScope& outer,
                                 const CancellationToken& cancellation) {
  checkNesting(view.name, outer.views);
  ResolutionScope scope{view.view->scope, view.view->settings, outer.views, /*ofStoredView=*/true,
                        /*inSession=*/false};
  scope.views.push_back(view.name);
  spark::connect::Relation query;
  sql::ParseOptions options;
  const auto zone = scope.settings.find("spark.sql.session.timeZone");
  if (zone != scope.settings.end()) options.timeZone = TimeZone::parse(zone->second);
  sql::parseQuery(view.view->text, &query, options);
  return declaredColumns(view, analyzeRelation(query, analyzerContext(cancellation, scope)));
}

}  // namespace thalweg
