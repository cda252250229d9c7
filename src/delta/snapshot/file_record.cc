#include "delta/snapshot/file_record.h"

#include <cstring>

#include "common/error.h"

namespace thalweg::delta {
namespace {

constexpr size_t kChunkBytes = 1 << 20;

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
  kHasDeletionTimestamp = 1 << 13,
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
  void partitionValues(const PartitionValues& values) {
    header.flags |= kHasPartitionValues;
    number(static_cast<uint32_t>(values.size()));
    for (const auto& [column, value] : values) {
      text(column);
      number(static_cast<uint8_t>(value.has_value()));
      if (value) text(*value);
    }
  }
  template <typename File>
  void rowTracking(const File& file) {
    if (flagged(file.baseRowId, kHasBaseRowId)) number(*file.baseRowId);
    if (flagged(file.defaultRowCommitVersion, kHasRowCommitVersion)) number(*file.defaultRowCommitVersion);
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
  PartitionValues partitionValues() {
    PartitionValues values;
    const auto count = number<uint32_t>();
    for (uint32_t i = 0; i < count; ++i) {
      std::string column(text());
      std::optional<std::string> value;
      if (number<uint8_t>() != 0) value = text();
      values.emplace_hint(values.end(), std::move(column), std::move(value));
    }
    return values;
  }
  template <typename File>
  void rowTracking(File& file) {
    if (has(kHasBaseRowId)) file.baseRowId = number<int64_t>();
    if (has(kHasRowCommitVersion)) file.defaultRowCommitVersion = number<int64_t>();
  }

  Header header;

 private:
  const char* next_;
};

}  // namespace

const char* RecordArena::store(std::string_view bytes) {
  // A chunk is never grown past its capacity: addresses into it must hold.
  if (chunks_.empty() || chunks_.back().size() + bytes.size() > chunks_.back().capacity()) {
    // Doubling from small keeps the layer of a small commit small.
    const size_t wanted =
        chunks_.empty() ? bytes.size() : std::min(kChunkBytes, 2 * chunks_.back().capacity());
    chunks_.emplace_back();
    chunks_.back().reserve(std::max(wanted, bytes.size()));
  }
  std::string& chunk = chunks_.back();
  const size_t at = chunk.size();
  chunk.append(bytes);
  sizeBytes_ += bytes.size();
  return chunk.data() + at;
}

void packFile(const AddFile& add, std::string& out) {
  Packer packer(out);
  packer.header.flags = kIsAdd | kHasSize;
  packer.header.size = add.size;
  packer.header.time = add.modificationTime;
  packer.text(add.path);
  packer.deletionVector(add.deletionVector);
  packer.partitionValues(add.partitionValues);
  packer.rowTracking(add);
  if (packer.flagged(add.stats, kHasStats)) packer.text(*add.stats);
  if (!add.tags.empty()) {
    packer.header.flags |= kHasTags;
    packer.number(static_cast<uint32_t>(add.tags.size()));
    for (const auto& [key, value] : add.tags) {
      packer.text(key);
      packer.text(value);
    }
  }
  if (packer.flagged(add.clusteringProvider, kHasClusteringProvider)) packer.text(*add.clusteringProvider);
  packer.finish();
}

void packFile(const RemoveFile& remove, std::string& out) {
  Packer packer(out);
  packer.flagged(remove.size, kHasSize);
  packer.flagged(remove.deletionTimestamp, kHasDeletionTimestamp);
  packer.header.size = remove.size.value_or(0);
  packer.header.time = remove.deletionTimestamp.value_or(0);
  if (packer.flagged(remove.extendedFileMetadata, kHasExtendedMetadata) && *remove.extendedFileMetadata) {
    packer.header.flags |= kExtendedMetadata;
  }
  packer.text(remove.path);
  packer.deletionVector(remove.deletionVector);
  if (remove.partitionValues) packer.partitionValues(*remove.partitionValues);
  packer.rowTracking(remove);
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

AddFile FileRecord::toAdd() const {
  Unpacker unpacker(bytes_);
  AddFile add;
  add.dataChange = false;
  add.size = unpacker.header.size;
  add.modificationTime = unpacker.header.time;
  add.path = unpacker.text();
  add.deletionVector = unpacker.deletionVector();
  add.partitionValues = unpacker.partitionValues();
  unpacker.rowTracking(add);
  if (unpacker.has(kHasStats)) add.stats = unpacker.text();
  if (unpacker.has(kHasTags)) {
    const auto count = unpacker.number<uint32_t>();
    for (uint32_t i = 0; i < count; ++i) {
      std::string key(unpacker.text());
      add.tags.emplace_hint(add.tags.end(), std::move(key), unpacker.text());
    }
  }
  if (unpacker.has(kHasClusteringProvider)) add.clusteringProvider = unpacker.text();
  return add;
}

RemoveFile FileRecord::toRemove() const {
  Unpacker unpacker(bytes_);
  RemoveFile remove;
  remove.dataChange = false;
  if (unpacker.has(kHasSize)) remove.size = unpacker.header.size;
  if (unpacker.has(kHasDeletionTimestamp)) remove.deletionTimestamp = unpacker.header.time;
  if (unpacker.has(kHasExtendedMetadata)) remove.extendedFileMetadata = unpacker.has(kExtendedMetadata);
  remove.path = unpacker.text();
  remove.deletionVector = unpacker.deletionVector();
  if (unpacker.has(kHasPartitionValues)) remove.partitionValues = unpacker.partitionValues();
  unpacker.rowTracking(remove);
  return remove;
}

}  // namespace thalweg::delta
