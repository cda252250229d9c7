#include "formats/parquet/column_values.h"

#include <array>
#include <bit>
#include <cstring>

#include <arrow/array/data.h>
#include <arrow/buffer.h>
#include <arrow/type.h>
#include <arrow/util/bit_util.h>
#include <parquet/encoding.h>
#include <parquet/schema.h>

#include "common/error.h"
#include "formats/parquet/column_bounds.h"
#include "formats/parquet/hybrid_runs.h"
#include "formats/parquet/value_dictionary.h"

namespace thalweg {
namespace {

constexpr int64_t kDictionaryBytes = 1 << 20;
// A page of codes may stand for values that would fill so many pages plain.
constexpr int64_t kMostPlainPages = 16;

void appendBytes(const void* bytes, size_t count, std::vector<uint8_t>& out) {
  const auto* first = static_cast<const uint8_t*>(bytes);
  out.insert(out.end(), first, first + count);
}

// Both return where the next value goes.
template <typename Value>
uint8_t* writePlain(const Value& value, uint8_t* out) {
  std::memcpy(out, &value, sizeof value);
  return out + sizeof value;
}
uint8_t* writePlain(std::string_view value, uint8_t* out) {
  out = writePlain(static_cast<uint32_t>(value.size()), out);
  if (!value.empty()) std::memcpy(out, value.data(), value.size());
  return out + value.size();
}

int64_t plainBytes(std::string_view value) {
  return 4 + static_cast<int64_t>(value.size());
}
template <typename Value>
int64_t plainBytes(Value) {
  return sizeof(Value);
}

// What numbers and texts have in common. Traits say how a value is read and what the dictionary knows it by.
template <typename Traits>
class DictionaryColumn final : public ColumnValues {
 public:
  using Value = typename Traits::Value;

  void append(const arrow::ArrayData& array, std::span<const ValueRun> runs) override {
    const typename Traits::Reader reader(array);
    for (const ValueRun& run : runs) {
      const int64_t end = run.start + run.count;
      const int64_t next =
          encoding_ == Encoding::Dictionary ? appendCodes(reader, run.start, end) : run.start;
      appendPlainRun(reader, next, end);
    }
  }

  int64_t pageBytes() const override {
    if (encoding_ == Encoding::Plain) return static_cast<int64_t>(plain_.size());
    // Should the dictionary overflow, the page in hand is written out plain: that is bounded too.
    return std::max(codesBytes(), codedBytes_ / kMostPlainPages);
  }

  int64_t heldBytes() const override {
    return static_cast<int64_t>(plain_.capacity() + codes_.capacity() * 4) + dictionary_.heldBytes();
  }

  parquet::Encoding::type finishPage(std::vector<uint8_t>& out) override {
    if (encoding_ == Encoding::Dictionary && !anyPage_ && !codes_.empty()) {
      // Pages of nulls alone say nothing.
      if (!pays()) goPlain();
      anyPage_ = true;
    }
    if (encoding_ == Encoding::Plain) {
      appendBytes(plain_.data(), plain_.size(), out);
      plain_.clear();
      return parquet::Encoding::PLAIN;
    }
    dictionaryUsed_ = true;
    out.push_back(static_cast<uint8_t>(codeBits()));
    appendHybridRuns(codes_.data(), static_cast<int64_t>(codes_.size()), codeBits(), out);
    codes_.clear();
    codedBytes_ = 0;
    return parquet::Encoding::RLE_DICTIONARY;
  }

  std::optional<Dictionary> finishChunk() override {
    std::optional<Dictionary> result;
    if (dictionaryUsed_) result = {dictionary_.page(), static_cast<int64_t>(dictionary_.size())};
    dictionary_.clear();
    bounds_ = {};
    encoding_ = Encoding::Dictionary;
    dictionaryUsed_ = anyPage_ = false;
    plain_ = std::vector<uint8_t>();
    codes_ = std::vector<uint32_t>();
    return result;
  }

  ParquetBounds bounds() const override { return bounds_.get(); }

 private:
  enum class Encoding { Dictionary, Plain };

  // Written in place: a vector's own append costs more than the value.
  template <typename Reader>
  void appendPlainRun(const Reader& reader, int64_t start, int64_t end) {
    const size_t size = plain_.size();
    plain_.resize(size + reader.plainBytes(start, end));
    uint8_t* next = plain_.data() + size;
    for (int64_t i = start; i < end; ++i) {
      const Value value = reader.at(i);
      bounds_.add(value);
      next = writePlain(value, next);
    }
  }

  // Ends at the first value that the dictionary has no room for.
  template <typename Reader>
  int64_t appendCodes(const Reader& reader, int64_t start, int64_t end) {
    size_t known = dictionary_.size();
    for (int64_t i = start; i < end; ++i) {
      const Value value = reader.at(i);
      const uint32_t code = dictionary_.codeOf(Traits::key(value));
      if (code == kNoCode) {
        goPlain();
        return i;
      }
      if (code == known) {
        ++known;
        bounds_.add(value);
      }
      codedBytes_ += plainBytes(value);
      codes_.push_back(code);
    }
    return end;
  }

  int codeBits() const {
    return std::max(bitWidthOf(static_cast<uint32_t>(std::max<size_t>(dictionary_.size(), 1) - 1)), 1);
  }
  int64_t codesBytes() const { return static_cast<int64_t>(codes_.size()) * codeBits() / 8; }
  bool pays() const { return codesBytes() + dictionary_.bytes() < codedBytes_; }

  // The page in hand is written over; earlier ones keep their codes, and so the dictionary.
  void goPlain() {
    plain_.resize(static_cast<size_t>(codedBytes_));
    uint8_t* next = plain_.data();
    for (const uint32_t code : codes_) next = writePlain(Traits::valueOf(dictionary_.value(code)), next);
    codes_ = std::vector<uint32_t>();
    codedBytes_ = 0;
    encoding_ = Encoding::Plain;
    if (!dictionaryUsed_) dictionary_.clear();
  }

  typename Traits::Dictionary dictionary_{kDictionaryBytes};
  typename Traits::Bounds bounds_;
  Encoding encoding_ = Encoding::Dictionary;
  bool dictionaryUsed_ = false;  // by a finished page
  bool anyPage_ = false;
  std::vector<uint32_t> codes_;  // of the page in hand
  int64_t codedBytes_ = 0;       // what they would take plain
  std::vector<uint8_t> plain_;   // of the page in hand
};

// `Source` is the Arrow array's, `Stored` the file's.
template <typename Source, typename Stored, typename Given>
struct NumberTraits {
  using Value = Stored;
  using Bits = std::conditional_t<sizeof(Stored) == 4, uint32_t, uint64_t>;
  using Dictionary = NumberDictionary<Bits>;
  using Bounds = NumberBounds<Stored, Given>;

  struct Reader {
    explicit Reader(const arrow::ArrayData& array) : values(array.GetValues<Source>(1)) {}
    Stored at(int64_t i) const { return static_cast<Stored>(values[i]); }
    static size_t plainBytes(int64_t start, int64_t end) {
      return static_cast<size_t>(end - start) * sizeof(Stored);
    }
    const Source* values;
  };
  static Bits key(Stored value) { return std::bit_cast<Bits>(value); }
  static Stored valueOf(Bits bits) { return std::bit_cast<Stored>(bits); }
};

struct BinaryTraits {
  using Value = std::string_view;
  using Dictionary = BinaryDictionary;
  using Bounds = BinaryBounds;

  struct Reader {
    explicit Reader(const arrow::ArrayData& array)
        : offsets(array.GetValues<int32_t>(1)), bytes(array.GetValues<char>(2, 0)) {}
    std::string_view at(int64_t i) const {
      return {bytes + offsets[i], static_cast<size_t>(offsets[i + 1] - offsets[i])};
    }
    size_t plainBytes(int64_t start, int64_t end) const {
      return static_cast<size_t>(4 * (end - start) + offsets[end] - offsets[start]);
    }
    const int32_t* offsets;
    const char* bytes;
  };
  static std::string_view key(std::string_view value) { return value; }
  static std::string_view valueOf(std::string_view value) { return value; }
};

// Values that have one encoding.
class OneEncodingColumn : public ColumnValues {
 public:
  std::optional<Dictionary> finishChunk() override {
    reset();
    return std::nullopt;
  }

 private:
  // Forgets the bounds, and gives back the memory of pages: what an ended row group holds would end the next one early.
  virtual void reset() = 0;
};

// Times rarely repeat and come nearly in order: differences are smaller than a dictionary, and found without
// hashing.
class TimeColumn final : public OneEncodingColumn {
 public:
  explicit TimeColumn(const parquet::ColumnDescriptor& column)
      : encoder_(parquet::MakeTypedEncoder<parquet::Int64Type>(parquet::Encoding::DELTA_BINARY_PACKED, false,
                                                               &column)) {}

  void append(const arrow::ArrayData& array, std::span<const ValueRun> runs) override {
    const auto* values = array.GetValues<int64_t>(1);
    for (const ValueRun& run : runs) {
      for (int64_t i = run.start; i < run.start + run.count; ++i) bounds_.add(values[i]);
      encoder_->Put(values + run.start, static_cast<int>(run.count));
    }
  }
  int64_t pageBytes() const override { return encoder_->EstimatedDataEncodedSize(); }
  int64_t heldBytes() const override { return encoder_->EstimatedDataEncodedSize(); }
  parquet::Encoding::type finishPage(std::vector<uint8_t>& out) override {
    const auto values = encoder_->FlushValues();
    appendBytes(values->data(), static_cast<size_t>(values->size()), out);
    return parquet::Encoding::DELTA_BINARY_PACKED;
  }
  ParquetBounds bounds() const override { return bounds_.get(); }

 private:
  void reset() override { bounds_ = {}; }

  std::unique_ptr<parquet::Int64Encoder> encoder_;
  NumberBounds<int64_t> bounds_;
};

class BooleanColumn final : public OneEncodingColumn {
 public:
  void append(const arrow::ArrayData& array, std::span<const ValueRun> runs) override {
    for (const ValueRun& run : runs) {
      for (int64_t i = run.start; i < run.start + run.count; ++i) {
        const bool value = arrow::bit_util::GetBit(array.buffers[1]->data(), array.offset + i);
        if (count_ % 8 == 0) bits_.push_back(0);
        bits_.back() |= static_cast<uint8_t>(value << count_ % 8);
        ++count_;
        bounds_.add(value);
      }
    }
  }
  int64_t pageBytes() const override { return static_cast<int64_t>(bits_.size()); }
  int64_t heldBytes() const override { return static_cast<int64_t>(bits_.capacity()); }
  parquet::Encoding::type finishPage(std::vector<uint8_t>& out) override {
    appendBytes(bits_.data(), bits_.size(), out);
    bits_.clear();
    count_ = 0;
    return parquet::Encoding::PLAIN;
  }
  ParquetBounds bounds() const override { return bounds_.get(); }

 private:
  void reset() override {
    bounds_ = {};
    bits_ = std::vector<uint8_t>();
  }

  std::vector<uint8_t> bits_;
  int64_t count_ = 0;
  NumberBounds<int64_t> bounds_;
};

// Decimals of more than 18 digits: as many bytes as their precision needs, highest first.
class WideDecimalColumn final : public OneEncodingColumn {
 public:
  explicit WideDecimalColumn(int bytes) : width_(static_cast<size_t>(bytes)) {}

  void append(const arrow::ArrayData& array, std::span<const ValueRun> runs) override {
    const auto* values = array.GetValues<uint8_t>(1, array.offset * 16);
    for (const ValueRun& run : runs) {
      for (int64_t i = run.start; i < run.start + run.count; ++i) {
        __int128 value;
        std::memcpy(&value, values + i * 16, sizeof value);
        bounds_.add(value);
        const auto swapped = bigEndian(value);
        appendBytes(swapped.data() + (sizeof value - width_), width_, bytes_);
      }
    }
  }
  int64_t pageBytes() const override { return static_cast<int64_t>(bytes_.size()); }
  int64_t heldBytes() const override { return static_cast<int64_t>(bytes_.capacity()); }
  parquet::Encoding::type finishPage(std::vector<uint8_t>& out) override {
    appendBytes(bytes_.data(), bytes_.size(), out);
    bytes_.clear();
    return parquet::Encoding::PLAIN;
  }
  ParquetBounds bounds() const override { return bounds_.get(); }

 private:
  static std::array<uint8_t, 16> bigEndian(__int128 value) {
    const auto bits = static_cast<unsigned __int128>(value);
    const uint64_t words[] = {__builtin_bswap64(static_cast<uint64_t>(bits >> 64)),
                              __builtin_bswap64(static_cast<uint64_t>(bits))};
    std::array<uint8_t, 16> bytes;
    std::memcpy(bytes.data(), words, bytes.size());
    return bytes;
  }
  void reset() override {
    bounds_ = {};
    bytes_ = std::vector<uint8_t>();
  }

  size_t width_;
  std::vector<uint8_t> bytes_;
  NumberBounds<__int128, __int128> bounds_;
};

// A decimal of at most 18 digits in Arrow's 16 bytes, which need not be aligned as an __int128 is.
struct NarrowDecimal {
  int64_t low = 0;
  int64_t high = 0;

  explicit operator int32_t() const { return static_cast<int32_t>(low); }
  explicit operator int64_t() const { return low; }
};

template <typename Source, typename Stored, typename Given = int64_t>
std::unique_ptr<ColumnValues> numbers() {
  return std::make_unique<DictionaryColumn<NumberTraits<Source, Stored, Given>>>();
}

std::unique_ptr<ColumnValues> decimals(const parquet::ColumnDescriptor& column) {
  switch (column.physical_type()) {
    case parquet::Type::INT32:
      return numbers<NarrowDecimal, int32_t, __int128>();
    case parquet::Type::INT64:
      return numbers<NarrowDecimal, int64_t, __int128>();
    default:
      return std::make_unique<WideDecimalColumn>(column.type_length());
  }
}

}  // namespace

std::unique_ptr<ColumnValues> makeColumnValues(const parquet::ColumnDescriptor& column,
                                               const arrow::DataType& type) {
  switch (type.id()) {
    case arrow::Type::BOOL:
      return std::make_unique<BooleanColumn>();
    case arrow::Type::INT8:
      return numbers<int8_t, int32_t>();
    case arrow::Type::INT16:
      return numbers<int16_t, int32_t>();
    case arrow::Type::INT32:
    case arrow::Type::DATE32:
      return numbers<int32_t, int32_t>();
    case arrow::Type::INT64:
      return numbers<int64_t, int64_t>();
    case arrow::Type::TIMESTAMP:
      return std::make_unique<TimeColumn>(column);
    case arrow::Type::FLOAT:
      return numbers<float, float, double>();
    case arrow::Type::DOUBLE:
      return numbers<double, double, double>();
    case arrow::Type::DECIMAL128:
      return decimals(column);
    case arrow::Type::STRING:
    case arrow::Type::BINARY:
      return std::make_unique<DictionaryColumn<BinaryTraits>>();
    default:
      throw unsupported("writing a column of type " + type.ToString() + " to Parquet");
  }
}

}  // namespace thalweg
