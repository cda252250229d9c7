// Batches of rows on disk for a while, in groups: what an operator holds that does not fit into its memory.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <arrow/type_fwd.h>

namespace thalweg {

// One file in the folder for temporary files (TMPDIR), without a name from the start, so that nothing of it
// outlives the process. Used by one thread at a time; read() by any number once all is written. Failures
// throw Error STORAGE_FAILURE.
class SpillFile {
 public:
  explicit SpillFile(std::shared_ptr<arrow::Schema> schema, int numGroups);
  ~SpillFile();
  SpillFile(const SpillFile&) = delete;
  SpillFile& operator=(const SpillFile&) = delete;

  void write(int group, const arrow::RecordBatch& rows);
  int numBatches(int group) const;
  // A group's batches, in the order in which they were written.
  std::shared_ptr<arrow::RecordBatch> read(int group, int batch) const;

 private:
  struct Place {
    int64_t offset = 0;
    int64_t bytes = 0;
  };
  std::shared_ptr<arrow::Schema> schema_;
  std::vector<std::vector<Place>> groups_;
  int descriptor_ = -1;
  int64_t end_ = 0;
};

}  // namespace thalweg
