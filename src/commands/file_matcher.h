// Which files of a Delta table a condition of DELETE, UPDATE or REPLACE WHERE is about.
#pragma once

#include <map>
#include <vector>

#include "delta/scan/file_skipping.h"
#include "delta/snapshot/snapshot.h"
#include "expr/nodes.h"

namespace thalweg {

// Parts of the condition over partition columns alone are evaluated on the partitions' values, others are held against
// statistics. Used by one thread.
class FileMatcher {
 public:
  // `columns` are the table's, as the condition names them; `batch` outlives this.
  FileMatcher(const delta::Snapshot& snapshot, const std::vector<AttributePtr>& columns, const ExpressionPtr& condition,
              const BatchContext& batch);

  // False only where no row of the file matches.
  bool mayMatch(const delta::AddFile& file);
  // True where the condition names partition columns alone: a file matches whole or not at all.
  bool partitionsOnly() const { return partitionsOnly_; }

 private:
  bool partitionMatches(const delta::PartitionValues& values);

  struct PartitionColumn {
    std::string physicalName;
    StructField field;
  };
  std::vector<PartitionColumn> partitionColumns_;
  ExpressionPtr partitionCondition_;  // bound to partitionColumns_; null: none
  bool partitionsOnly_ = true;
  std::unique_ptr<delta::FileFilter> filter_;
  EvaluationContext evaluation_;
  std::map<delta::PartitionValues, bool> known_;
};

}  // namespace thalweg
