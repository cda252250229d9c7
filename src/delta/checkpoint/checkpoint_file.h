// One Parquet file of a checkpoint while it is written: actions become rows.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "delta/actions/action_reader.h"
#include "delta/actions/file_fields.h"
#include "delta/checkpoint/checkpoint_columns.h"
#include "storage/file_system.h"

namespace thalweg::delta {

// A row an action, its struct set and all others null. Used by one thread. Memory: one row group, and with
// AtClose the compressed file. Failures throw Error STORAGE_FAILURE naming the path.
class CheckpointFile {
 public:
  enum class Publication {
    AtClose,  // readers see the whole file or none
    AsGrows,  // for names that nobody looks for yet
  };
  // `expectedRows` sizes the memory of AtClose; a guess.
  CheckpointFile(FileSystem& fileSystem, std::string path, const CheckpointColumns& columns,
                 CheckpointContent content, Publication publication, int64_t expectedRows = 0);
  ~CheckpointFile();

  void write(const FileFields& file);
  // All actions but adds and removes.
  void write(const Action& action);
  void write(const CheckpointMetadata& metadata);
  void write(const Sidecar& sidecar);

  int64_t numRows() const;
  // Durable on return. Returns the file's size in bytes.
  int64_t close();

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace thalweg::delta
