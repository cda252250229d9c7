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

// How a read takes what folders say.
struct FolderRules {
  TimeZone zone;
  bool caseSensitive = false;  // p=1 and P=2 are two columns
  bool inferTypes = true;      // false: what the user gives no type is a string
};

// One folder's name, Hive's %XX decoded, and its value as it stands there, since Spark decodes only texts and
// timestamps: %31 is no number. No value for __HIVE_DEFAULT_PARTITION__.
struct PartitionValue {
  std::string name;
  std::optional<std::string> written;
};
// Throws Error EMPTY_PARTITION_COLUMN_NAME ("=1") or EMPTY_PARTITION_COLUMN_VALUE ("k=").
PartitionValue parsePartitionFolder(std::string_view folder);

// Gathers the folders of many files and settles the columns' types as Spark does, by Java's grammars of
// numbers: int, long, decimal without a fraction ("1e5"), double (" 1", "1f"), timestamp, date, else string;
// a wider one where files differ; a type of the user's wins.
class PartitionInference {
 public:
  PartitionInference(SchemaPtr userSchema, FolderRules rules)
      : userSchema_(std::move(userSchema)), rules_(std::move(rules)) {}

  // The folders of one file (FileRoot::partitionFolders); none are no error: such a file has no values.
  // Throws Error CONFLICTING_PARTITION_COLUMN_NAMES where they differ from another file's; the first file's
  // spelling counts.
  void add(const std::vector<std::string>& folders);
  std::vector<StructField> columns() const;

 private:
  SchemaPtr userSchema_;
  FolderRules rules_;
  std::vector<std::string> lastFolders_;
  std::vector<std::string> names_;
  std::vector<DataTypePtr> types_;  // null: no value yet
};

// The value of a folder's text in its column's type; a null scalar where there is no text. Throws Error
// INVALID_PARTITION_VALUE where it does not fit.
std::shared_ptr<arrow::Scalar> partitionScalar(const PartitionValue& value, const DataType& type,
                                               const TimeZone& zone);

}  // namespace thalweg
