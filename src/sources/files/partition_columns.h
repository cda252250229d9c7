// Partition columns from folders "k=v": their names, types and values.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/type_fwd.h>

#include "types/data_type.h"
#include "types/time_zone.h"

namespace thalweg {

// One folder's name and value, Hive's %XX decoded; no value for __HIVE_DEFAULT_PARTITION__.
struct PartitionValue {
  std::string name;
  std::optional<std::string> text;
};
// Throws Error INVALID_PARTITION_VALUE for a folder without a value ("k=").
PartitionValue parsePartitionFolder(std::string_view folder);

// Gathers the folders of many files and settles the columns' types as Spark does: int, long, decimal, double,
// timestamp, date, else string; a wider one where files differ; a type of the user's wins.
class PartitionInference {
 public:
  PartitionInference(SchemaPtr userSchema, TimeZone zone)
      : userSchema_(std::move(userSchema)), zone_(std::move(zone)) {}

  // The folders of one file (FileRoot::partitionFolders); none are no error: such a file has no values.
  // Throws Error CONFLICTING_PARTITION_COLUMN_NAMES where they differ from another file's.
  void add(const std::vector<std::string>& folders);
  std::vector<StructField> columns() const;

 private:
  SchemaPtr userSchema_;
  TimeZone zone_;
  std::vector<std::string> lastFolders_;
  std::vector<std::string> names_;
  std::vector<DataTypePtr> types_;  // null: no value yet
};

// The value of a folder's text in its column's type; a null scalar where there is no text. Throws Error
// INVALID_PARTITION_VALUE where it does not fit.
std::shared_ptr<arrow::Scalar> partitionScalar(const PartitionValue& value, const DataType& type,
                                               const TimeZone& zone);

}  // namespace thalweg
