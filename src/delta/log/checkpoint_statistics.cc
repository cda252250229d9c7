#include "delta/log/checkpoint_statistics.h"

#include <cstring>
#include <functional>
#include <utility>

#include "common/error.h"
#include "common/logging.h"
#include "delta/log/statistics_stream.h"

namespace thalweg::delta {

CheckpointStatistics::CheckpointStatistics(std::shared_ptr<FileSystem> fileSystem, std::string path)
    : fileSystem_(std::move(fileSystem)), path_(std::move(path)) {}
CheckpointStatistics::~CheckpointStatistics() = default;

void CheckpointStatistics::Digest::pass(size_t row, std::string_view addedPath) {
  constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;
  const uint64_t file = std::hash<std::string_view>()(addedPath) ^ (row * kOdd);
  value_ = (value_ ^ file) * kOdd;
  value_ ^= value_ >> 32;
}

void CheckpointStatistics::read() const {
  Digest found;
  std::string packed;
  StatisticsStream stream(*fileSystem_, path_);
  rows_.assign(numRows_, nullptr);
  while (stream.next()) {
    const auto row = static_cast<size_t>(stream.row());
    found.pass(row, stream.addedPath());
    const auto text = stream.statistics();
    if (!text || row >= rows_.size()) continue;
    const auto length = static_cast<uint32_t>(text->size());
    packed.assign(reinterpret_cast<const char*>(&length), sizeof length);
    packed += *text;
    rows_[row] = texts_.store(packed);
  }
  if (found == expected_) return;
  throw Error("DELTA_STATE_RECOVER_ERROR",
              "The checkpoint " + path_ + " was replaced since its files were listed.");
}

bool CheckpointStatistics::load() const {
  std::call_once(once_, [this] {
    try {
      read();
      state_.store(State::Loaded, std::memory_order_release);
    } catch (const Error& error) {
      logWarn("The statistics of files that were listed by the checkpoint {} are lost: {}", path_,
              error.message());
      rows_ = {};
      texts_ = {};
      failure_ = error;
      state_.store(State::Lost, std::memory_order_release);
    }
  });
  return isLoaded();
}

std::unique_ptr<StatisticsStream> CheckpointStatistics::open() const {
  return std::make_unique<StatisticsStream>(*fileSystem_, path_);
}

std::optional<std::string_view> CheckpointStatistics::at(uint32_t row) const {
  if (!load() || row >= rows_.size() || !rows_[row]) return std::nullopt;
  uint32_t length = 0;
  std::memcpy(&length, rows_[row], sizeof length);
  return std::string_view(rows_[row] + sizeof length, length);
}

StatisticsCursor::StatisticsCursor() = default;
StatisticsCursor::~StatisticsCursor() = default;

std::optional<std::string_view> StatisticsCursor::at(const StatisticsPlace& place,
                                                     std::string_view addedPath) {
  const CheckpointStatistics& source = *place.source;
  std::optional<std::string_view> found;
  if (!source.isLoaded() && !source.isLost() && find(place, addedPath, &found)) return found;
  if (!source.load()) throw lostStatistics(source);
  return source.at(place.row);
}

// The row is asked for by what it adds, too: who puts another file under the name is noticed.
bool StatisticsCursor::find(const StatisticsPlace& place, std::string_view addedPath,
                            std::optional<std::string_view>* statistics) {
  try {
    if (place.source != source_) {
      if (!opened_.insert(place.source).second) return false;
      stream_.reset();
      source_ = place.source;
      stream_ = place.source->open();
      atAdd_ = stream_->next();
    }
    while (stream_ && atAdd_ && stream_->row() < place.row) atAdd_ = stream_->next();
    if (!stream_ || !atAdd_ || stream_->row() != place.row || stream_->addedPath() != addedPath) return false;
    *statistics = stream_->statistics();
    return true;
  } catch (const Error&) {
    // Reading all of them says what is wrong.
    stream_.reset();
    return false;
  }
}

Error lostStatistics(const CheckpointStatistics& source) {
  return Error(
      "DELTA_STATE_RECOVER_ERROR",
      "The statistics of the table's files were in the checkpoint " + source.path() +
          ", which cannot be read as it was when the table was. Run the operation again: it reads the "
          "table's log anew. The reason: " +
          source.failure()->text(),
      {{"operation", "statistics"}});
}

}  // namespace thalweg::delta
