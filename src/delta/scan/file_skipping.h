// Which data files may hold rows that satisfy a predicate, judged by partition values and statistics.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "columnar/column_predicate.h"
#include "delta/actions/actions.h"
#include "delta/scan/table_layout.h"
#include "delta/scan/value_bounds.h"
#include "types/data_type.h"
#include "types/time_zone.h"

namespace thalweg::delta {

// What is known of rows that all have one value.
ValueBounds boundsOfOne(const arrow::Scalar& value);

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
  // The same of other rows than a table's file (a row group, a folder's): `boundsOf` says what is known of a
  // column, partition columns among them, by the physical schema's names.
  using BoundsLookup = std::function<ValueBounds(const std::string& column)>;
  bool mayMatch(const BoundsLookup& boundsOf) const;
  bool empty() const { return predicates_.empty(); }
  // Whether there is a predicate on another column than partition columns.
  bool asksStatistics() const { return asksStatistics(predicates_); }

 private:
  // A predicate with what it needs of its column.
  struct Bound {
    ColumnPredicate predicate;
    std::string physicalName = {};
    DataTypePtr type = {};
    bool isPartition = false;
    std::vector<std::vector<Bound>> alternatives = {};
  };
  class Judge;
  class FileJudge;
  class LookupJudge;
  struct Columns;
  static std::vector<Bound> bindAll(std::vector<ColumnPredicate> predicates, const Columns& columns);
  static bool asksStatistics(const std::vector<Bound>& all);
  std::vector<Bound> predicates_;
  TimeZone zone_;
};

}  // namespace thalweg::delta
