// Files → splits → batches.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "connector/read.h"
#include "sources/files/file_columns.h"
#include "storage/file_system.h"

namespace thalweg {

// What all files of a read share; immutable.
struct FileScan {
  FileColumns columns;
  std::shared_ptr<const RecordFormat> format;
  std::vector<ColumnPredicate> predicates = {};  // rows that fail one may be left out
  bool ignoreMissingFiles = false;
  bool ignoreCorruptFiles = false;
};

struct ScannedFile {
  Location location;
  int64_t sizeBytes = 0;
  int64_t modificationTimeMs = 0;
  std::vector<std::shared_ptr<arrow::Scalar>> partitionValues;  // as many as partition columns
};

// Whole files, in order, small ones together: as many splits as there are cores where there are bytes for it
// (Spark's sizes: at most 128 MB and at least 4 MB a split, a file counting 4 MB more than it has).
std::vector<SplitPtr> splitFiles(std::shared_ptr<const FileScan> scan, std::vector<ScannedFile> files);

}  // namespace thalweg
