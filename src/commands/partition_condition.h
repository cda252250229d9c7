// A condition of OPTIMIZE or REORG, which chooses partitions.
#pragma once

#include <memory>
#include <string>

#include "commands/command_session.h"
#include "commands/table_condition.h"
#include "delta/snapshot/snapshot.h"
#include "sql/statements.h"

namespace thalweg {

// Used by one thread.
class PartitionCondition {
 public:
  // Throws Error DELTA_NON_PARTITION_COLUMN_REFERENCE for a column that the table is not partitioned by, and
  // those of a condition (plan/analyze/row_changes.h).
  PartitionCondition(const delta::Snapshot& snapshot, const sql::Name& table,
                     const spark::connect::Expression& condition, CommandSession& session);

  bool matches(const delta::AddFile& file) { return condition_->mayMatch(file); }
  // As Delta's history has it, columns with a quote before them: "('p = 1)".
  const std::string& text() const { return text_; }

 private:
  std::unique_ptr<TableCondition> condition_;
  std::string text_;
};

}  // namespace thalweg
