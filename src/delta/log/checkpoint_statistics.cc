#include "delta/log/checkpoint_statistics.h"

#include <cstring>
#include <functional>
#include <utility>

#include "common/error.h"
#include "common/logging.h"
#include "delta/log/checkpoint_reader.h"

namespace thalweg::delta {

CheckpointStatistics::CheckpointStatistics(std::shared_ptr<FileSystem> fileSystem, std::string path)
    : fileSystem_(std::move(fileSystem)), path_(std::move(path)) {}
CheckpointStatistics::~CheckpointStatistics() = default;

void CheckpointStatistics::Digest::pass(uint32_t row, std::string_view addedPath) {
  constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;
  const uint64_t file = std::hash<std::string_view>()(addedPath) ^ (row * kOdd);
  value_ = (value_ ^ file) * kOdd;
  value_ ^= value_ >> 32;
}

void CheckpointStatistics::read() const {
  Digest found;
  std::string packed;
  readCheckpointStatistics(
      *fileSystem_, path_,
      [&](uint32_t row, std::string_view addedPath, std::optional<std::string_view> statistics) {
        found.pass(row, addedPath);
        if (row >= rows_.size()) rows_.resize(row + size_t{1});
        if (!statistics) return;
        const auto length = static_cast<uint32_t>(statistics->size());
        packed.assign(reinterpret_cast<const char*>(&length), sizeof length);
        packed += *statistics;
        rows_[row] = texts_.store(packed);
      });
  if (found == expected_) return;
  throw Error("DELTA_STATE_RECOVER_ERROR",
              "The checkpoint " + path_ + " was replaced since its files were listed.");
}

bool CheckpointStatistics::load() const {
  std::call_once(once_, [this] {
    try {
      read();
    } catch (const Error& error) {
      logWarn("The statistics of files that were listed by the checkpoint {} are lost: {}", path_,
              error.message());
      rows_ = {};
      texts_ = {};
      lost_.store(true, std::memory_order_release);
    }
  });
  return !isLost();
}

std::optional<std::string_view> CheckpointStatistics::at(uint32_t row) const {
  if (!load() || row >= rows_.size() || !rows_[row]) return std::nullopt;
  uint32_t length = 0;
  std::memcpy(&length, rows_[row], sizeof length);
  return std::string_view(rows_[row] + sizeof length, length);
}

}  // namespace thalweg::delta
