// Any texts as the commits of a table's log: the table is read (files, history, pruning) or refused with an
// Error; an append to it commits or is refused, and a table that took one can be read again.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include <arrow/scalar.h>

#include "common/error.h"
#include "common/logging.h"
#include "delta/commit/transaction.h"
#include "delta/log/log_files.h"
#include "delta/scan/file_skipping.h"
#include "delta/scan/table_layout.h"
#include "delta/snapshot/delta_log.h"
#include "delta/snapshot/history.h"

using namespace thalweg;
using namespace thalweg::delta;

namespace {

const Location& tableOf(std::string_view input) {
  static Location table;
  table = {makeMemoryFileSystem(), "/t"};
  // Commits are cut at zero bytes.
  for (int64_t version = 0; version < 8; ++version) {
    const size_t end = input.find('\0');
    table.fileSystem->writeAtomically("/t/_delta_log/" + commitFileName(version), input.substr(0, end));
    if (end == std::string_view::npos) break;
    input.remove_prefix(end + 1);
  }
  return table;
}

void tryTo(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error&) {
  }
}

// Every column against a number and a text, and for nulls.
std::vector<ColumnPredicate> predicatesOf(const Schema& schema) {
  std::vector<ColumnPredicate> predicates;
  for (const StructField& field : schema.fields()) {
    predicates.push_back(
        {field.name, ColumnPredicate::Op::GreaterOrEqual, std::make_shared<arrow::Int64Scalar>(0)});
    predicates.push_back({field.name, ColumnPredicate::Op::Less, std::make_shared<arrow::StringScalar>("m")});
    predicates.push_back({field.name, ColumnPredicate::Op::IsNotNull, nullptr});
  }
  predicates.push_back({.op = ColumnPredicate::Op::AnyOf, .alternatives = {predicates, predicates}});
  return predicates;
}

void scan(const Snapshot& snapshot) {
  const TableLayoutPtr layout = makeTableLayout(snapshot);
  const FileFilter filter(*layout, predicatesOf(*layout->schema));
  for (const AddFile& file : snapshot.liveFiles()) {
    tryTo([&] { filter.mayMatch(file); });
    tryTo([&] {
      if (!locateFile(*layout, file.path).path.starts_with("/t/")) std::abort();
    });
  }
}

void append(const std::shared_ptr<DeltaLog>& log, const SnapshotPtr& snapshot) {
  Transaction transaction(log, snapshot);
  AddFile file;
  file.path = "added by the target";
  for (const std::string& column : snapshot->partitionColumns()) file.partitionValues[column] = "1";
  transaction.add(file);
  transaction.setLimits({.maxAttempts = 3, .maxBackoffMs = 0});
  if (!std::holds_alternative<Committed>(transaction.commit())) return;
  const SnapshotPtr after = loadSnapshot(log->table());
  if (!after->files().findLive(file.path, "")) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // A damaged log is told of at length.
  static const bool quiet = [] {
    setLogLevel(LogLevel::Error);
    return true;
  }();
  static_cast<void>(quiet);
  const Location& table = tableOf({reinterpret_cast<const char*>(data), size});
  const auto log = std::make_shared<DeltaLog>(table);
  SnapshotPtr snapshot;
  tryTo([&] { snapshot = log->update(); });
  tryTo([&] { log->history(); });
  if (!snapshot) return 0;
  tryTo([&] { describeDetail(*snapshot); });
  tryTo([&] { log->snapshotAtTimestamp(snapshot->timestampMs()); });
  tryTo([&] { scan(*snapshot); });
  tryTo([&] { append(log, snapshot); });
  return 0;
}
