// The statistics of one large Parquet file of a checkpoint, left there until somebody asks for them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "delta/log/text_arena.h"
#include "storage/file_system.h"

namespace thalweg::delta {

// Made by the reader of the checkpoint, which tells it what it read; from then on of any thread. The first
// ask reads the file's statistics all at once, and they stay (a text and 12 bytes per file of the table).
// They count as lost for good where the file is gone, cannot be read, or names other files than it did (log
// clean-up, or a writer that put another checkpoint under this name): what they would say could be of others.
class CheckpointStatistics : public std::enable_shared_from_this<CheckpointStatistics> {
 public:
  CheckpointStatistics(std::shared_ptr<FileSystem> fileSystem, std::string path);
  ~CheckpointStatistics();

  // Row `row` of the file (from 0, rising from call to call) adds the data file of this path, spelled as in
  // the log.
  void expect(uint32_t row, std::string_view addedPath) { expected_.pass(row, addedPath); }

  // Reads them where that was not done. False: they are lost, which the log says once.
  bool load() const;
  bool isLost() const { return lost_.load(std::memory_order_acquire); }
  // The JSON text of a row that was expected, valid as long as this; nullopt where it has none, or where they
  // are lost. Loads.
  std::optional<std::string_view> at(uint32_t row) const;

  const std::string& path() const { return path_; }

 private:
  // Which rows added which files, in 64 bits.
  class Digest {
   public:
    void pass(uint32_t row, std::string_view addedPath);
    bool operator==(const Digest&) const = default;

   private:
    uint64_t value_ = 0;
  };

  void read() const;

  std::shared_ptr<FileSystem> fileSystem_;
  std::string path_;
  Digest expected_;
  mutable std::once_flag once_;
  mutable std::atomic<bool> lost_ = false;
  mutable TextArena texts_;
  mutable std::vector<const char*> rows_;  // to a length of four bytes and the text; null: none
};

}  // namespace thalweg::delta
