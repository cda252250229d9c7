// Which data files may hold rows that satisfy a predicate, judged by partition values and statistics.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "columnar/column_predicate.h"
#include "delta/actions/actions.h"
#include "delta/scan/table_layout.h"
#include "types/data_type.h"
#include "types/time_zone.h"

namespace thalweg::delta {

// Judges files for predicates of which all must hold. Immutable; any thread.
class FileFilter {
 public:
  // `physical` has the shape of `schema`; statistics and partition values are by its names. `zone` as of
  // TableLayout.
  FileFilter(const Schema& schema, const Schema& physical, const std::vector<std::string>& partitionColumns,
             std::vector<ColumnPredicate> predicates, TimeZone zone = TimeZone());

  // Of a table with this layout.
  FileFilter(const TableLayout& layout, std::vector<ColumnPredicate> predicates);

  // False only where no row can match. Missing or odd statistics mean that the file may match.
  bool mayMatch(const AddFile& file) const;
  bool empty() const { return predicates_.empty(); }

 private:
  // A predicate with what it needs of its column.
  struct Bound {
    ColumnPredicate predicate;
    std::string physicalName = {};
    DataTypePtr type = {};
    bool isPartition = false;
    std::vector<std::vector<Bound>> alternatives = {};
  };
  class Judge;  // of one file
  struct Columns;
  static std::vector<Bound> bindAll(std::vector<ColumnPredicate> predicates, const Columns& columns);
  std::vector<Bound> predicates_;
  TimeZone zone_;
};

}  // namespace thalweg::delta
