// The statistics of one large Parquet file of a checkpoint, left there until somebody asks for them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/error.h"
#include "delta/actions/file_fields.h"
#include "delta/log/text_arena.h"
#include "storage/file_system.h"

namespace thalweg::delta {

class StatisticsStream;

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
  void expect(uint32_t row, std::string_view addedPath) {
    expected_.pass(row, addedPath);
    numRows_ = row + size_t{1};
  }

  // Reads them where that was not done. False: they are lost, which the log says once.
  bool load() const;
  bool isLoaded() const { return state_.load(std::memory_order_acquire) == State::Loaded; }
  bool isLost() const { return state_.load(std::memory_order_acquire) == State::Lost; }
  // Why they are lost; null where they are not.
  const Error* failure() const { return isLost() ? &*failure_ : nullptr; }
  // The JSON text of a row that was expected, valid as long as this; nullopt where it has none, or where they
  // are lost. Loads.
  std::optional<std::string_view> at(uint32_t row) const;

  // The file as it is now, from its beginning. Throws Error where it cannot be read.
  std::unique_ptr<StatisticsStream> open() const;

  const std::string& path() const { return path_; }

 private:
  // Which rows added which files, in 64 bits.
  class Digest {
   public:
    void pass(size_t row, std::string_view addedPath);
    bool operator==(const Digest&) const = default;

   private:
    uint64_t value_ = 0;
  };

  enum class State { Unread, Loaded, Lost };

  void read() const;

  std::shared_ptr<FileSystem> fileSystem_;
  std::string path_;
  Digest expected_;
  size_t numRows_ = 0;  // up to the last that was expected
  mutable std::once_flag once_;
  mutable std::atomic<State> state_ = State::Unread;
  mutable std::optional<Error> failure_;  // written before state_ says Lost
  mutable TextArena texts_;
  mutable std::vector<const char*> rows_;  // to a length of four bytes and the text; null: none
};

// Reads statistics for one who needs those of all files once and keeps none: a checkpoint's writer. Rows that
// are asked for in the order of their files' checkpoints cost a batch of memory; a step back loads that
// checkpoint's. Used by one thread, no longer than the sources live.
class StatisticsCursor {
 public:
  StatisticsCursor();
  ~StatisticsCursor();

  // The statistics of the file of this path in the log; nullopt where it has none; valid until the next call.
  // Throws lostStatistics().
  std::optional<std::string_view> at(const StatisticsPlace& place, std::string_view addedPath);

 private:
  // False where the stream cannot say: the place is behind it, or the file is another by now.
  bool find(const StatisticsPlace& place, std::string_view addedPath,
            std::optional<std::string_view>* statistics);

  const CheckpointStatistics* source_ = nullptr;  // of stream_
  std::unique_ptr<StatisticsStream> stream_;
  bool atAdd_ = false;
  std::set<const CheckpointStatistics*> opened_;
};

// DELTA_STATE_RECOVER_ERROR with the reason, for who cannot do without statistics that are lost.
Error lostStatistics(const CheckpointStatistics& source);

}  // namespace thalweg::delta
