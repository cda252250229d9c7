// The wanted columns of one file's rows, those among them that the file does not store: what a change did,
// and _metadata.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <arrow/type_fwd.h>

#include "connector/read.h"
#include "delta/changes/change_feed.h"
#include "delta/scan/data_file_reader.h"
#include "sources/delta/delta_scan.h"

namespace thalweg {

// Used by one thread; `scan` must outlive it, and so must the request's token.
class DeltaFileReader {
 public:
  DeltaFileReader(DeltaScanPtr scan, const delta::ChangedFile& file, const ReadRequest& request);

  // Null at the end. Throws as delta::DataFileReader.
  std::shared_ptr<arrow::RecordBatch> next();

 private:
  // Where a wanted column comes from.
  struct Column {
    int stored = -1;                          // the reader's column, or
    std::shared_ptr<arrow::Scalar> constant;  // a value, or neither: _metadata
  };
  int storedColumn(int layoutColumn);

  DeltaScanPtr scan_;
  delta::AddFile file_;
  std::vector<int> layoutColumns_;  // what is read of the file
  std::vector<Column> columns_;     // a request's column each
  std::shared_ptr<arrow::Schema> schema_;
  std::optional<delta::DataFileReader> reader_;  // none where no row counts
};

}  // namespace thalweg
