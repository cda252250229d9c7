// A condition of DELETE, UPDATE or REPLACE WHERE over the rows of a Delta table.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "delta/modify/row_condition.h"
#include "delta/scan/file_skipping.h"
#include "delta/snapshot/snapshot.h"
#include "expr/nodes.h"

namespace thalweg {

// Parts of the condition over partition columns alone are evaluated on the partitions' values, others are
// held against statistics before rows are read.
class TableCondition final : public delta::RowCondition {
 public:
  // `columns` are the table's, as the condition names them.
  TableCondition(const delta::Snapshot& snapshot, const std::vector<AttributePtr>& columns,
                 const ExpressionPtr& condition, BatchContext batch);

  bool mayMatch(const delta::AddFile& file) override;
  bool partitionsOnly() const override { return partitionsOnly_; }
  const std::vector<int>& columns() const override { return columns_; }
  std::vector<int64_t> match(const delta::FileRows& part) const override;

 private:
  bool partitionMatches(const delta::PartitionValues& values);

  struct PartitionColumn {
    std::string physicalName;
    StructField field;
  };
  BatchContext batch_;
  std::vector<PartitionColumn> partitionColumns_;
  ExpressionPtr partitionCondition_;  // bound to partitionColumns_; null: none
  bool partitionsOnly_ = true;
  std::unique_ptr<delta::FileFilter> filter_;
  std::map<delta::PartitionValues, bool> known_;
  std::vector<int> columns_;
  ExpressionPtr condition_;  // bound to columns_
};

// The columns that an expression names, as indexes into `columns`, ascending.
std::vector<int> columnsIn(const Expression& expression, const std::vector<AttributePtr>& columns);

}  // namespace thalweg
