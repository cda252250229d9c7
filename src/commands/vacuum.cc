// VACUUM: files that no retained version of a Delta table needs go.
#include <cmath>

#include "commands/rows.h"
#include "commands/statements.h"
#include "commands/table_target.h"
#include "common/error.h"
#include "common/options.h"
#include "delta/maintain/vacuum.h"

namespace thalweg {
namespace {

bool isOn(const std::string& key, CommandSession& session) {
  return !equalsIgnoreCase(session.lookUp(key).value_or("true"), "false");
}

int64_t millisOf(double hours) {
  constexpr double kMaxHours = 1e9;  // far beyond any table's age
  if (hours > kMaxHours) {
    throw Error("DELTA_ILLEGAL_OPTION", "VACUUM … RETAIN takes at most 1000000000 hours.",
                {{"name", "RETAIN"}, {"input", std::to_string(hours)}, {"explain", "it is too large"}});
  }
  return static_cast<int64_t>(std::llround(hours * 3'600'000));
}

}  // namespace

CommandResult run(const sql::Vacuum& statement, CommandSession& session) {
  const TableTarget target = requireTable(statement.table, session, "VACUUM");
  const auto log = requireDelta(target, session, "VACUUM");
  if (!log->update()) {
    throw Error("DELTA_MISSING_DELTA_TABLE", target.shownName() + " is no Delta table.",
                {{"tableName", target.shownName()}});
  }
  delta::VacuumRequest request;
  if (statement.retainHours) request.retentionMs = millisOf(*statement.retainHours);
  request.checkRetention = isOn("spark.databricks.delta.retentionDurationCheck.enabled", session);
  request.logged = isOn("spark.databricks.delta.vacuum.logging.enabled", session);
  request.dryRun = statement.dryRun;
  request.lite = statement.lite;
  const delta::VacuumReport report = delta::vacuumTable(log, request, &session.cancellation());
  const SchemaPtr schema = DataType::structOf({{"path", stringType()}});
  RowBuilder rows(schema);
  for (const std::string& path : report.paths) rows.addText(path);
  if (!statement.dryRun) rows.addText(log->table().uri());
  return {schema, {rows.finish()}};
}

}  // namespace thalweg
