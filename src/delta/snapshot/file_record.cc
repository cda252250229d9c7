#include "delta/snapshot/file_record.h"

#include <cstring>

#include "common/error.h"
#include "delta/log/checkpoint_statistics.h"

namespace thalweg::delta {
namespace {

// Which optional parts follow the fixed header, in this order.
enum Flag : uint32_t {
  kIsAdd = 1,
  kHasDeletionVector = 1 << 1,
  kHasOffset = 1 << 2,
  kHasMaxRowIndex = 1 << 3,
  kHasPartitionValues = 1 << 4,
  kHasSize = 1 << 5,
  kHasStats = 1 << 6,
  kHasTags = 1 << 7,
  kHasBaseRowId = 1 << 8,
  kHasRowCommitVersion = 1 << 9,
  kHasClusteringProvider = 1 << 10,
  kHasExtendedMetadata = 1 << 11,
  kExtendedMetadata = 1 << 12,
  kHasTime = 1 << 13,
  kStatsLater = 1 << 14,
};

struct Header {
  uint32_t totalBytes;  // header included
  uint32_t flags;
  int64_t size;
  int64_t time;  // modificationTime, or deletionTimestamp
};

class Packer {
 public:
  explicit Packer(std::string& out) : out_(out), start_(out.size()) { out_.append(sizeof(Header), '\0'); }

  void text(std::string_view value) {
    number(static_cast<uint32_t>(value.size()));
    out_.append(value);
  }
  template <typename Number>
  void number(Number value) {
    out_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  template <typename Value>
  bool flagged(const std::optional<Value>& value, uint32_t flag) {
    if (value) header.flags |= flag;
    return value.has_value();
  }
  void deletionVector(const std::optional<DeletionVector>& vector) {
    if (!flagged(vector, kHasDeletionVector)) return;
    text(vector->storageType);
    text(vector->pathOrInlineDv);
    number(vector->sizeInBytes);
    number(vector->cardinality);
    if (flagged(vector->offset, kHasOffset)) number(*vector->offset);
    if (flagged(vector->maxRowIndex, kHasMaxRowIndex)) number(*vector->maxRowIndex);
  }
  template <typename Values>
  void partitionValues(const Values& values) {
    header.flags |= kHasPartitionValues;
    number(static_cast<uint32_t>(values.size()));
    for (const auto& [column, value] : values) {
      text(column);
      number(static_cast<uint8_t>(value.has_value()));
      if (value) text(*value);
    }
  }
  template <typename Tags>
  void tags(const Tags& tags) {
    header.flags |= kHasTags;
    number(static_cast<uint32_t>(tags.size()));
    for (const auto& [key, value] : tags) {
      text(key);
      text(value);
    }
  }
  void finish() {
    const size_t total = out_.size() - start_;
    if (total > UINT32_MAX) {
      throw Error("DELTA_STATE_RECOVER_ERROR", "An add or remove of the Delta log is larger than 4 GiB.");
    }
    header.totalBytes = static_cast<uint32_t>(total);
    std::memcpy(out_.data() + start_, &header, sizeof(header));
  }

  Header header{};

 private:
  std::string& out_;
  size_t start_;
};

class Unpacker {
 public:
  explicit Unpacker(const char* bytes) : next_(bytes + sizeof(Header)) {
    std::memcpy(&header, bytes, sizeof(header));
  }

  bool has(uint32_t flag) const { return (header.flags & flag) != 0; }
  template <typename Number>
  Number number() {
    Number value;
    std::memcpy(&value, next_, sizeof(value));
    next_ += sizeof(value);
    return value;
  }
  std::string_view text() {
    const auto length = number<uint32_t>();
    const std::string_view value(next_, length);
    next_ += length;
    return value;
  }
  StatisticsPlace place() {
    StatisticsPlace place;
    place.source = number<const CheckpointStatistics*>();
    place.row = number<uint32_t>();
    return place;
  }
  std::optional<DeletionVector> deletionVector() {
    if (!has(kHasDeletionVector)) return std::nullopt;
    DeletionVector vector;
    vector.storageType = text();
    vector.pathOrInlineDv = text();
    vector.sizeInBytes = number<int32_t>();
    vector.cardinality = number<int64_t>();
    if (has(kHasOffset)) vector.offset = number<int32_t>();
    if (has(kHasMaxRowIndex)) vector.maxRowIndex = number<int64_t>();
    return vector;
  }
  template <typename Values>
  void partitionValues(Values& values) {
    const auto count = number<uint32_t>();
    for (uint32_t i = 0; i < count; ++i) {
      const std::string_view column = text();
      std::optional<std::string_view> value;
      if (number<uint8_t>() != 0) value = text();
      values.emplace_back(column, value);
    }
  }
  // From the beginning to behind them; what they are packed as, empty where there are none.
  std::string_view skipPartitionValues() {
    text();
    deletionVector();
    if (!has(kHasPartitionValues)) return {};
    const char* begin = next_;
    for (auto count = number<uint32_t>(); count > 0; --count) {
      text();
      if (number<uint8_t>() != 0) text();
    }
    return {begin, static_cast<size_t>(next_ - begin)};
  }
  template <typename Tags>
  void tags(Tags& tags) {
    const auto count = number<uint32_t>();
    for (uint32_t i = 0; i < count; ++i) {
      const std::string_view key = text();
      tags.emplace_back(key, text());
    }
  }

  Header header;

 private:
  const char* next_;
};

std::optional<std::string_view> statisticsAt(const StatisticsPlace& place, Statistics wanted) {
  if (wanted == Statistics::LeftOut) return std::nullopt;
  if (wanted == Statistics::Required && !place.source->load()) throw lostStatistics(*place.source);
  return place.source->at(place.row);
}

}  // namespace

void packFile(const FileFields& fields, std::string& out) {
  Packer packer(out);
  if (fields.isAdd) packer.header.flags |= kIsAdd;
  if (packer.flagged(fields.size, kHasSize)) packer.header.size = *fields.size;
  if (packer.flagged(fields.time, kHasTime)) packer.header.time = *fields.time;
  if (packer.flagged(fields.extendedFileMetadata, kHasExtendedMetadata) && *fields.extendedFileMetadata)
    packer.header.flags |= kExtendedMetadata;
  packer.text(fields.path);
  packer.deletionVector(fields.deletionVector);
  if (fields.hasPartitionValues) packer.partitionValues(fields.partitionValues);
  if (packer.flagged(fields.baseRowId, kHasBaseRowId)) packer.number(*fields.baseRowId);
  if (packer.flagged(fields.defaultRowCommitVersion, kHasRowCommitVersion))
    packer.number(*fields.defaultRowCommitVersion);
  if (packer.flagged(fields.stats, kHasStats)) packer.text(*fields.stats);
  if (packer.flagged(fields.laterStats, kStatsLater)) {
    packer.number(fields.laterStats->source);
    packer.number(fields.laterStats->row);
  }
  if (!fields.tags.empty()) packer.tags(fields.tags);
  if (packer.flagged(fields.clusteringProvider, kHasClusteringProvider))
    packer.text(*fields.clusteringProvider);
  packer.finish();
}

bool FileRecord::isAdd() const {
  return Unpacker(bytes_).has(kIsAdd);
}
bool FileRecord::hasDeletionVector() const {
  return Unpacker(bytes_).has(kHasDeletionVector);
}
int64_t FileRecord::sizeBytes() const {
  return Unpacker(bytes_).header.size;
}
int64_t FileRecord::modificationTime() const {
  return Unpacker(bytes_).header.time;
}
int64_t FileRecord::deletionTimestamp() const {
  return Unpacker(bytes_).header.time;
}
std::string_view FileRecord::logPath() const {
  return Unpacker(bytes_).text();
}
std::string_view FileRecord::packed() const {
  return {bytes_, Unpacker(bytes_).header.totalBytes};
}

std::string FileRecord::dvUniqueId() const {
  Unpacker unpacker(bytes_);
  unpacker.text();
  const auto vector = unpacker.deletionVector();
  return vector ? vector->uniqueId() : std::string();
}

void FileRecord::read(FileFields& fields, Statistics statistics) const {
  fields.clear();
  Unpacker unpacker(bytes_);
  const auto has = [&](uint32_t flag) { return unpacker.has(flag); };
  fields.isAdd = has(kIsAdd);
  if (has(kHasSize)) fields.size = unpacker.header.size;
  if (has(kHasTime)) fields.time = unpacker.header.time;
  if (has(kHasExtendedMetadata)) fields.extendedFileMetadata = has(kExtendedMetadata);
  fields.path = unpacker.text();
  fields.deletionVector = unpacker.deletionVector();
  fields.hasPartitionValues = has(kHasPartitionValues);
  if (fields.hasPartitionValues) unpacker.partitionValues(fields.partitionValues);
  if (has(kHasBaseRowId)) fields.baseRowId = unpacker.number<int64_t>();
  if (has(kHasRowCommitVersion)) fields.defaultRowCommitVersion = unpacker.number<int64_t>();
  if (has(kHasStats)) fields.stats = unpacker.text();
  if (statistics == Statistics::LeftOut) fields.stats.reset();
  if (has(kStatsLater)) {
    const StatisticsPlace place = unpacker.place();
    if (statistics == Statistics::InRecord)
      fields.laterStats = place;
    else
      fields.stats = statisticsAt(place, statistics);
  }
  if (has(kHasTags)) unpacker.tags(fields.tags);
  if (has(kHasClusteringProvider)) fields.clusteringProvider = unpacker.text();
}

std::string_view FileRecord::partitionKey() const {
  Unpacker unpacker(bytes_);
  return unpacker.skipPartitionValues();
}

const CheckpointStatistics* FileRecord::laterStatistics() const {
  Unpacker unpacker(bytes_);
  if (!unpacker.has(kStatsLater)) return nullptr;
  unpacker.skipPartitionValues();
  if (unpacker.has(kHasBaseRowId)) unpacker.number<int64_t>();
  if (unpacker.has(kHasRowCommitVersion)) unpacker.number<int64_t>();
  return unpacker.place().source;
}

AddFile FileRecord::toAdd(Statistics statistics) const {
  FileFields fields;
  read(fields, statistics);
  return addOf(fields);
}

RemoveFile FileRecord::toRemove() const {
  FileFields fields;
  read(fields, Statistics::LeftOut);
  return removeOf(fields);
}

}  // namespace thalweg::delta
