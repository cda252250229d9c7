// RESTORE TABLE: a Delta table becomes what it was at an earlier version.
#include <charconv>
#include <string>
#include <utility>

#include <arrow/buffer.h>
#include <arrow/scalar.h>

#include "commands/rows.h"
#include "commands/statements.h"
#include "commands/table_target.h"
#include "common/error.h"
#include "common/options.h"
#include "delta/maintain/restore.h"
#include "expr/cast/cast.h"
#include "expr/nodes.h"
#include "plan/analyze/row_changes.h"

namespace thalweg {
namespace {

int64_t versionNumber(const std::string& text) {
  int64_t version = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), version);
  if (status == std::errc() && end == text.data() + text.size()) return version;
  throw Error("DELTA_TIME_TRAVEL_INVALID_BEGIN_VALUE", "'" + text + "' is no version number.",
              {{"timeTravelKey", "versionAsOf"}});
}

struct RestoreTime {
  int64_t ms = 0;    // since the epoch
  std::string text;  // in the session's zone, as Java writes a timestamp: with a fraction always
};

RestoreTime timeOf(const sql::TimeTravel& travel, CommandSession& session) {
  const ExpressionPtr value =
      travel.timestamp ? Literal::of(*travel.timestamp)
                       : analyzeExpression(*travel.timestampExpression, {}, session.analyzerContext());
  const BatchContext batch = session.batchContext();
  const ExpressionPtr time =
      castTo(value, timestampType(), travel.timestamp ? CastMode::Try : CastMode::Ansi);
  const auto scalar = evaluateConstant(*time, EvaluationContext{&batch});
  if (!scalar->is_valid) {
    const std::string text = travel.timestamp.value_or(travel.timestampExpression.value_or(""));
    throw Error(
        "DELTA_TIMESTAMP_INVALID",
        "'" + text + "' is no time to restore: give one like 2026-01-15 10:00:00 or 2026-01-15T10:00:00Z.",
        {{"expr", "'" + text + "'"}});
  }
  const int64_t micros = static_cast<const arrow::TimestampScalar&>(*scalar).value;
  const auto shown = evaluateConstant(*castTo(time, stringType(), CastMode::Ansi), EvaluationContext{&batch});
  std::string text = static_cast<const arrow::StringScalar&>(*shown).value->ToString();
  if (text.find('.') == std::string::npos) text += ".0";
  return {micros >= 0 ? micros / 1000 : (micros - 999) / 1000, std::move(text)};
}

}  // namespace

CommandResult run(const sql::Restore& statement, CommandSession& session) {
  const TableTarget target = requireTable(statement.table, session, "RESTORE");
  const auto log = requireDelta(target, session, "RESTORE");
  delta::RestoreRequest request;
  if (statement.to.version) {
    request.version = versionNumber(*statement.to.version);
  } else {
    RestoreTime time = timeOf(statement.to, session);
    request.timestampMs = time.ms;
    request.timestampText = std::move(time.text);
  }
  request.ignoreMissingFiles =
      equalsIgnoreCase(session.lookUp("spark.sql.files.ignoreMissingFiles").value_or("false"), "true");
  TaskPool& pool = session.pool();
  const auto runTasks = [&](int count, const std::function<void(int)>& task) { pool.runAll(count, task); };
  const delta::RestoreReport report = delta::restoreTable(log, request, runTasks, &session.cancellation());
  const SchemaPtr schema = DataType::structOf({{"table_size_after_restore", longType()},
                                               {"num_of_files_after_restore", longType()},
                                               {"num_removed_files", longType()},
                                               {"num_restored_files", longType()},
                                               {"removed_files_size", longType()},
                                               {"restored_files_size", longType()}});
  RowBuilder rows(schema);
  for (const int64_t value :
       {report.tableSizeAfterRestore, report.numOfFilesAfterRestore, report.numRemovedFiles,
        report.numRestoredFiles, report.removedFilesSize, report.restoredFilesSize})
    rows.addLong(value);
  return {schema, {rows.finish()}};
}

}  // namespace thalweg
