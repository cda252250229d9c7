#include "state/change_records.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

#include "common/error.h"

namespace thalweg {
namespace {

// No honest row is larger; a length beyond it is not believed.
constexpr int32_t kMaxBytes = 1 << 30;

int32_t bigEndian(const char* bytes) {
  uint32_t number;
  std::memcpy(&number, bytes, 4);
  return static_cast<int32_t>(__builtin_bswap32(number));
}

[[noreturn]] void throwCorrupt(const std::string& reason) {
  throw Error("STATE_STORE_CHECKPOINT_CORRUPT", reason);
}

// A decompressed file as numbers and byte strings. A key's view holds until the next key, a value's until the
// next call.
class RecordInput {
 public:
  explicit RecordInput(StateDecompressor& input) : input_(input) {}

  // Bytes that are ahead, at most n, without taking them. Only before anything else.
  std::string_view peek(size_t n) {
    std::string_view piece;
    while (head_.size() < n && !(piece = input_.next()).empty()) head_.append(piece);
    rest_ = head_;
    return rest_.substr(0, std::min(n, rest_.size()));
  }

  int32_t number() {
    if (rest_.size() >= 4) {
      const int32_t value = bigEndian(rest_.data());
      rest_.remove_prefix(4);
      return value;
    }
    char bytes[4];
    copy(bytes, 4);
    return bigEndian(bytes);
  }

  uint8_t byte() {
    char value;
    copy(&value, 1);
    return static_cast<uint8_t>(value);
  }

  // Of a key, kept when its value lies in the next piece.
  std::string_view key(size_t n) {
    key_ = {};
    return key_ = bytes(n, &keyCopy_);
  }
  std::string_view value(size_t n) { return bytes(n, &valueCopy_); }
  std::string_view currentKey() const { return key_; }

  // Java's DataOutput.writeUTF: two bytes of length, then (here always) ASCII.
  std::string utf() {
    char length[2];
    copy(length, 2);
    std::string text(
        static_cast<size_t>(static_cast<uint8_t>(length[0]) << 8 | static_cast<uint8_t>(length[1])), '\0');
    copy(text.data(), text.size());
    return text;
  }

  // Has everything been read? Decompresses what follows, so that its checksum is looked at too.
  bool atEnd() { return rest_.empty() && (rest_ = input_.next()).empty(); }

 private:
  // The next piece. A key that points into the current one is moved first.
  bool refill() {
    if (!key_.empty() && key_.data() != keyCopy_.data()) {
      keyCopy_.assign(key_);
      key_ = keyCopy_;
    }
    rest_ = input_.next();
    return !rest_.empty();
  }

  void copy(char* to, size_t n) {
    while (n > 0) {
      if (rest_.empty() && !refill()) throwCorrupt("it ends in the middle of a record");
      const size_t taken = std::min(n, rest_.size());
      std::memcpy(to, rest_.data(), taken);
      rest_.remove_prefix(taken);
      to += taken;
      n -= taken;
    }
  }

  std::string_view bytes(size_t n, std::string* copyOf) {
    if (rest_.size() >= n) {
      const std::string_view taken = rest_.substr(0, n);
      rest_.remove_prefix(n);
      return taken;
    }
    // Grown by what is there, not by what is promised.
    copyOf->clear();
    while (copyOf->size() < n) {
      if (rest_.empty() && !refill()) throwCorrupt("it ends in the middle of a record");
      const size_t taken = std::min(n - copyOf->size(), rest_.size());
      copyOf->append(rest_.substr(0, taken));
      rest_.remove_prefix(taken);
    }
    return *copyOf;
  }

  StateDecompressor& input_;
  std::string head_;  // what peek read
  std::string_view rest_;
  std::string_view key_;
  std::string keyCopy_, valueCopy_;
};

std::string_view keyOf(RecordInput& input, int32_t size, RecordFault* fault) {
  if (size < 0 || size > kMaxBytes) {
    if (fault != nullptr) *fault = RecordFault::KeySize;
    throwCorrupt("a key cannot have " + std::to_string(size) + " bytes");
  }
  return input.key(static_cast<size_t>(size));
}

std::string_view valueOf(RecordInput& input, int32_t size, RecordFault* fault) {
  if (size < 0 || size > kMaxBytes) {
    if (fault != nullptr) *fault = RecordFault::ValueSize;
    throwCorrupt("a value cannot have " + std::to_string(size) + " bytes");
  }
  return input.value(static_cast<size_t>(size));
}

void readPlain(RecordInput& input, const std::function<void(const StateChange&)>& record,
               RecordFault* fault) {
  while (true) {
    const int32_t keySize = input.number();
    if (keySize == -1) break;
    keyOf(input, keySize, fault);
    const int32_t valueSize = input.number();
    if (valueSize == -1) {
      record({StateChange::Kind::Remove, input.currentKey(), {}});
    } else {
      const std::string_view value = valueOf(input, valueSize, fault);
      record({StateChange::Kind::Put, input.currentKey(), value});
    }
  }
  if (!input.atEnd()) throwCorrupt("bytes follow its end");
}

void readTyped(RecordInput& input, const std::function<void(const StateChange&)>& record) {
  constexpr uint8_t kEnd = 0x00, kPut = 0x01, kRemove = 0x10, kMerge = 0x11, kRemoveRange = 0x20;
  while (true) {
    const uint8_t type = input.byte();
    if (type == kEnd) break;
    if (type == kMerge || type == kRemoveRange)
      throw unsupported("State stores with column families (merged values)");
    if (type != kPut && type != kRemove)
      throwCorrupt("a record has the unknown type " + std::to_string(type));
    keyOf(input, input.number(), nullptr);
    const int32_t valueSize = input.number();
    if (type == kRemove) {
      if (valueSize != -1) throwCorrupt("a removal has a value");
      record({StateChange::Kind::Remove, input.currentKey(), {}});
    } else {
      const std::string_view value = valueOf(input, valueSize, nullptr);
      record({StateChange::Kind::Put, input.currentKey(), value});
    }
  }
  if (!input.atEnd()) throwCorrupt("bytes follow its end");
}

// The version that a file begins with: "v<number>" as Java writes it. Files of version 1 have none, and
// whatever else they begin with (a key's length) does not read as one.
std::optional<int> versionMark(std::string_view head) {
  if (head.size() < 4 || head[0] != 0 || head[2] != 'v') return std::nullopt;
  const size_t length = static_cast<uint8_t>(head[1]);
  if (length < 2 || head.size() < 2 + length) return std::nullopt;
  int version = 0;
  const auto [end, error] = std::from_chars(head.data() + 3, head.data() + 2 + length, version);
  if (error != std::errc() || end != head.data() + 2 + length) return std::nullopt;
  return version;
}

}  // namespace

void ChangeRecordWriter::appendInt(int32_t number) {
  const uint32_t big = __builtin_bswap32(static_cast<uint32_t>(number));
  out_.append({reinterpret_cast<const char*>(&big), 4});
}

void ChangeRecordWriter::put(std::string_view keyPrefix, std::string_view key, std::string_view valuePrefix,
                             std::string_view value) {
  appendInt(static_cast<int32_t>(keyPrefix.size() + key.size()));
  out_.append(keyPrefix);
  out_.append(key);
  appendInt(static_cast<int32_t>(valuePrefix.size() + value.size()));
  out_.append(valuePrefix);
  out_.append(value);
}

void ChangeRecordWriter::remove(std::string_view keyPrefix, std::string_view key) {
  appendInt(static_cast<int32_t>(keyPrefix.size() + key.size()));
  out_.append(keyPrefix);
  out_.append(key);
  appendInt(-1);
}

std::string ChangeRecordWriter::finish() {
  appendInt(-1);
  return out_.finish();
}

void readPlainRecords(StateDecompressor& input, const std::function<void(const StateChange&)>& record,
                      RecordFault* fault) {
  RecordInput records(input);
  readPlain(records, record, fault);
}

void readChangelog(StateDecompressor& input, const std::function<void(const StateChange&)>& record) {
  RecordInput records(input);
  const std::optional<int> version = versionMark(records.peek(8));
  if (!version) return readPlain(records, record, nullptr);
  if (*version < 2 || *version > 4) {
    throw Error("CANNOT_LOAD_STATE_STORE.INVALID_CHANGE_LOG_READER_VERSION",
                "The change log has version " + std::to_string(*version) +
                    "; versions 1 to 4 can be read. A newer Spark wrote it.",
                {{"version", std::to_string(*version)}});
  }
  records.utf();
  if (*version >= 3) records.utf();  // the lineage
  if (*version == 3)
    readPlain(records, record, nullptr);
  else
    readTyped(records, record);
}

}  // namespace thalweg
