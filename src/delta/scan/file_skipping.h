// Which data files may hold rows that satisfy a predicate, judged by partition values and statistics.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "delta/actions/actions.h"
#include "types/data_type.h"

namespace thalweg::delta {

// column <op> literal, by logical name (any case) of a top-level column.
struct ColumnPredicate {
  enum class Op { Equal, Less, LessOrEqual, Greater, GreaterOrEqual, IsNull, IsNotNull };
  std::string column;
  Op op = Op::Equal;
  std::shared_ptr<arrow::Scalar> literal;  // null for IsNull, IsNotNull
};

// Judges files for predicates of which all must hold. Immutable; any thread.
class FileFilter {
 public:
  // `physical` has the shape of `schema`; statistics and partition values are by its names.
  FileFilter(const Schema& schema, const Schema& physical, const std::vector<std::string>& partitionColumns,
             std::vector<ColumnPredicate> predicates);

  // False only where no row can match. Missing or odd statistics mean that the file may match.
  bool mayMatch(const AddFile& file) const;
  bool empty() const { return predicates_.empty(); }

 private:
  struct Bound {
    ColumnPredicate predicate;
    std::string physicalName;
    DataTypePtr type;
    bool isPartition = false;
  };
  std::vector<Bound> predicates_;
};

}  // namespace thalweg::delta
