#include "commands/table_target.h"

#include "commands/file_tables.h"
#include "common/error.h"
#include "delta/snapshot/property_values.h"
#include "delta/snapshot/type_widening.h"
#include "sql/parser.h"
#include "types/schema_json.h"

namespace thalweg {
namespace {

Error notAView(const std::string& quoted, const std::string& operation) {
  return Error("EXPECT_TABLE_NOT_VIEW.NO_ALTERNATIVE",
               "'" + operation + "' takes a table, and " + quoted + " is a view.",
               {{"operation", operation}, {"viewName", quoted}});
}

}  // namespace

bool TableTarget::isDelta() const {
  return isDeltaProvider(provider);
}

std::string TableTarget::shownName() const {
  return entry ? entry->name.dotted() : provider + ".`" + address + "`";
}

bool isPathName(const sql::Name& name) {
  return name.size() == 2 && name[1].find('/') != std::string::npos;
}

std::optional<TableEntry> findEntry(const sql::Name& name, CommandSession& session) {
  if (isPathName(name)) return std::nullopt;
  return session.catalog().find(qualifyTable(name, session.names()));
}

std::optional<TemporaryName> temporaryName(const sql::Name& name) {
  if (name.size() == 1) return TemporaryName{TempViews::Session, name[0]};
  if (name.size() == 2 && equalsIgnoreCase(name[0], kGlobalTempSchema))
    return TemporaryName{TempViews::Global, name[1]};
  return std::nullopt;
}

LogicalPtr findTemporaryView(const sql::Name& name, CommandSession& session) {
  const auto temporary = temporaryName(name);
  return temporary ? session.findTempView(temporary->where, temporary->view) : nullptr;
}

Error nameNotFound(const sql::Name& name) {
  const std::string quoted = quotedName(name);
  return Error("TABLE_OR_VIEW_NOT_FOUND",
               "There is no table or view " + quoted + "; check its name and the current schema.",
               {{"relationName", quoted}});
}

TableTarget requireTable(const sql::Name& name, CommandSession& session, const std::string& operation) {
  if (isPathName(name)) return {session.formats().find(name[0]).name, name[1], std::nullopt};
  // A bare path in quotes, as DESCRIBE HISTORY '/data/t' takes it.
  if (name.size() == 1 && name[0].find('/') != std::string::npos) return {"delta", name[0], std::nullopt};
  if (findTemporaryView(name, session)) throw notAView(quotedName(name), operation);
  auto entry = findEntry(name, session);
  if (!entry) throw nameNotFound(name);
  if (entry->isView()) throw notAView(entry->name.quoted(), operation);
  TableTarget target{entry->provider, entry->location, {}};
  target.entry = std::move(entry);
  return target;
}

std::shared_ptr<delta::DeltaLog> requireDelta(const TableTarget& target, CommandSession& session,
                                              const std::string& operation) {
  if (!target.isDelta()) {
    throw Error("DELTA_ONLY_OPERATION",
                operation + " works on Delta tables only, and " + target.shownName() + " is one of " +
                    target.provider + ".",
                {{"operation", operation}});
  }
  return session.deltaLog(session.formats().fileSystems().resolve(target.address));
}

std::shared_ptr<Table> openTable(const TableTarget& target, const Options& options, CommandSession& session) {
  const FormatProvider& provider = session.formats().find(target.provider);
  if (!provider.openTable) throw unsupported("Reading the format '" + provider.name + "' as a batch");
  ReadDefinition definition;
  if (target.entry && !target.isDelta()) {
    for (const auto& [name, value] : target.entry->properties) definition.options.set(name, value);
    if (target.entry->columns) definition.userSchema = parseSchemaJson(*target.entry->columns);
  }
  for (const auto& [name, option] : options.entries()) definition.options.set(option.name, option.value);
  takeFileReadSettings([&](const std::string& key) { return session.lookUp(key); }, &definition.options);
  definition.paths = {target.address};
  definition.timeZone = session.lookUp("spark.sql.session.timeZone").value_or("UTC");
  definition.corruptRecordColumn =
      session.lookUp("spark.sql.columnNameOfCorruptRecord").value_or("_corrupt_record");
  return provider.openTable(definition, session.formats().fileSystems());
}

TableColumns columnsOf(const TableTarget& target, CommandSession& session) {
  if (target.isDelta()) {
    const auto snapshot =
        session.deltaLog(session.formats().fileSystems().resolve(target.address))->require();
    return {snapshot->schema(), snapshot->partitionColumns(),
            delta::tableFlag(snapshot->metadata(), delta::kEnableTypeWidening)};
  }
  const std::shared_ptr<Table> table = openTable(target, {}, session);
  const auto& fields = table->schema()->fields();
  return {DataType::structOf({fields.begin(), fields.begin() + table->visibleColumns()}), {}};
}

}  // namespace thalweg
