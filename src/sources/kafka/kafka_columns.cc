#include "sources/kafka/kafka_columns.h"

#include <algorithm>

#include <arrow/api.h>

#include "common/error.h"
#include "types/arrow_result.h"
#include "types/arrow_types.h"

namespace thalweg {

class KafkaColumns::Column {
 public:
  virtual ~Column() = default;
  virtual void append(std::span<const KafkaMessage> messages, int64_t expectedRows) = 0;
  virtual std::shared_ptr<arrow::Array> finish(int64_t rows) = 0;
};

namespace {

constexpr int64_t kMaxReserveBytes = 16 << 20;

enum Field { kKey, kValue, kTopic, kPartition, kOffset, kTimestamp, kTimestampType, kHeaders };

// Key or value: the bytes lie contiguous in the batch, one copy from librdkafka's buffers. Buffers are sized once, from the
// first messages of the batch, and handed over as they are: growing and shrinking would copy a batch twice more.
template <const uint8_t* KafkaMessage::*Bytes, size_t KafkaMessage::*Size>
class BinaryColumn final : public KafkaColumns::Column {
 public:
  explicit BinaryColumn(arrow::MemoryPool* pool) : offsets_(pool), data_(pool), validity_(pool) {}

  void append(std::span<const KafkaMessage> messages, int64_t expectedRows) override {
    const auto count = static_cast<int64_t>(messages.size());
    int64_t bytes = 0;
    for (const KafkaMessage& message : messages) bytes += static_cast<int64_t>(message.*Size);
    reserve(count, bytes, expectedRows);
    for (const KafkaMessage& message : messages) {
      offsets_.UnsafeAppend(static_cast<int32_t>(data_.length()));
      if (message.*Size > 0) data_.UnsafeAppend(message.*Bytes, static_cast<int64_t>(message.*Size));
    }
    appendValidity(messages);
    rows_ += count;
  }

  std::shared_ptr<arrow::Array> finish(int64_t rows) override {
    throwIfFailed(offsets_.Append(static_cast<int32_t>(data_.length())));
    std::shared_ptr<arrow::Buffer> offsets;
    std::shared_ptr<arrow::Buffer> data;
    std::shared_ptr<arrow::Buffer> validity;
    throwIfFailed(offsets_.Finish(&offsets, /*shrink_to_fit=*/false));
    throwIfFailed(data_.Finish(&data, /*shrink_to_fit=*/false));
    const int64_t nulls = validity_.length() > 0 ? validity_.false_count() : 0;
    if (nulls > 0) throwIfFailed(validity_.Finish(&validity, /*shrink_to_fit=*/false));
    validity_.Reset();
    rows_ = 0;
    return arrow::MakeArray(arrow::ArrayData::Make(arrow::binary(), rows, {std::move(validity), std::move(offsets), std::move(data)}, nulls));
  }

 private:
  void reserve(int64_t count, int64_t bytes, int64_t expectedRows) {
    if (rows_ == 0) {
      const int64_t rows = std::max(expectedRows, count);
      throwIfFailed(offsets_.Reserve(rows + 1));
      // A sixteenth more than the first messages promise.
      const double expected = static_cast<double>(bytes) / static_cast<double>(count) * static_cast<double>(rows) * 17 / 16;
      throwIfFailed(data_.Reserve(std::max(bytes, std::min(static_cast<int64_t>(expected), kMaxReserveBytes))));
    } else {
      throwIfFailed(offsets_.Reserve(count + 1));
      throwIfFailed(data_.Reserve(bytes));
    }
  }

  // Kept only from the first null on.
  void appendValidity(std::span<const KafkaMessage> messages) {
    const bool hasNull = std::any_of(messages.begin(), messages.end(), [](const KafkaMessage& message) { return !(message.*Bytes); });
    if (validity_.length() == 0 && !hasNull) return;
    if (validity_.length() == 0) throwIfFailed(validity_.Append(rows_, true));
    throwIfFailed(validity_.Reserve(static_cast<int64_t>(messages.size())));
    for (const KafkaMessage& message : messages) validity_.UnsafeAppend(message.*Bytes != nullptr);
  }

  arrow::TypedBufferBuilder<int32_t> offsets_;
  arrow::BufferBuilder data_;
  arrow::TypedBufferBuilder<bool> validity_;
  int64_t rows_ = 0;
};

// The same value in every row.
class ConstantColumn final : public KafkaColumns::Column {
 public:
  ConstantColumn(std::shared_ptr<arrow::Scalar> value, arrow::MemoryPool* pool) : value_(std::move(value)), pool_(pool) {}
  void append(std::span<const KafkaMessage>, int64_t) override {}
  std::shared_ptr<arrow::Array> finish(int64_t rows) override { return valueOrThrow(arrow::MakeArrayFromScalar(*value_, rows, pool_)); }

 private:
  const std::shared_ptr<arrow::Scalar> value_;
  arrow::MemoryPool* const pool_;
};

template <typename Builder, auto Get>
class NumberColumn final : public KafkaColumns::Column {
 public:
  NumberColumn(const std::shared_ptr<arrow::DataType>& type, arrow::MemoryPool* pool) : builder_(type, pool) {}
  void append(std::span<const KafkaMessage> messages, int64_t) override {
    throwIfFailed(builder_.Reserve(static_cast<int64_t>(messages.size())));
    for (const KafkaMessage& message : messages) builder_.UnsafeAppend(Get(message));
  }
  std::shared_ptr<arrow::Array> finish(int64_t) override { return valueOrThrow(builder_.Finish()); }

 private:
  Builder builder_;
};

int64_t offsetOf(const KafkaMessage& message) { return message.offset; }
int64_t microsOf(const KafkaMessage& message) {
  const int64_t milliseconds = timestampOf(message).milliseconds;
  int64_t micros = 0;
  if (__builtin_mul_overflow(milliseconds, int64_t{1000}, &micros)) {
    throw Error("ARITHMETIC_OVERFLOW",
                "The Kafka record at offset " + std::to_string(message.offset) + " has the timestamp " + std::to_string(milliseconds) +
                    " ms, which is beyond the range of a timestamp. Leave the column 'timestamp' out, or start after the record.",
                {{"message", "long overflow"}, {"alternative", ""}, {"config", ""}});
  }
  return micros;
}
int32_t timestampTypeOf(const KafkaMessage& message) { return timestampOf(message).type; }

class HeadersColumn final : public KafkaColumns::Column {
 public:
  HeadersColumn(const std::shared_ptr<arrow::DataType>& type, arrow::MemoryPool* pool)
      : builder_(valueOrThrow(arrow::MakeBuilder(type, pool))),
        list_(static_cast<arrow::ListBuilder*>(builder_.get())),
        entry_(static_cast<arrow::StructBuilder*>(list_->value_builder())),
        key_(static_cast<arrow::StringBuilder*>(entry_->field_builder(0))),
        value_(static_cast<arrow::BinaryBuilder*>(entry_->field_builder(1))) {}

  void append(std::span<const KafkaMessage> messages, int64_t) override {
    for (const KafkaMessage& message : messages) {
      readHeaders(message, headers_);
      throwIfFailed(headers_.empty() ? list_->AppendNull() : list_->Append());
      for (const KafkaHeader& header : headers_) {
        throwIfFailed(entry_->Append());
        throwIfFailed(key_->Append(header.key));
        throwIfFailed(header.value ? value_->Append(header.value, static_cast<int32_t>(header.valueSize)) : value_->AppendNull());
      }
    }
  }
  std::shared_ptr<arrow::Array> finish(int64_t) override { return valueOrThrow(builder_->Finish()); }

 private:
  std::unique_ptr<arrow::ArrayBuilder> builder_;
  arrow::ListBuilder* list_;
  arrow::StructBuilder* entry_;
  arrow::StringBuilder* key_;
  arrow::BinaryBuilder* value_;
  std::vector<KafkaHeader> headers_;
};

std::unique_ptr<KafkaColumns::Column> makeColumn(int field, const std::shared_ptr<arrow::DataType>& type,
                                                 const TopicPartition& partition, arrow::MemoryPool* pool) {
  switch (field) {
    case kKey: return std::make_unique<BinaryColumn<&KafkaMessage::key, &KafkaMessage::keySize>>(pool);
    case kValue: return std::make_unique<BinaryColumn<&KafkaMessage::value, &KafkaMessage::valueSize>>(pool);
    case kTopic: return std::make_unique<ConstantColumn>(std::make_shared<arrow::StringScalar>(partition.topic), pool);
    case kPartition: return std::make_unique<ConstantColumn>(std::make_shared<arrow::Int32Scalar>(partition.partition), pool);
    case kOffset: return std::make_unique<NumberColumn<arrow::Int64Builder, offsetOf>>(type, pool);
    case kTimestamp: return std::make_unique<NumberColumn<arrow::TimestampBuilder, microsOf>>(type, pool);
    case kTimestampType: return std::make_unique<NumberColumn<arrow::Int32Builder, timestampTypeOf>>(type, pool);
    default: return std::make_unique<HeadersColumn>(type, pool);
  }
}

}  // namespace

KafkaColumns::KafkaColumns(const Schema& schema, const ReadRequest& request, const TopicPartition& partition) {
  arrow::MemoryPool* pool = request.memoryPool ? request.memoryPool : arrow::default_memory_pool();
  std::vector<std::shared_ptr<arrow::Field>> fields;
  for (int column : request.columns) {
    fields.push_back(toArrowField(schema.fields().at(static_cast<size_t>(column))));
    columns_.push_back(makeColumn(column, fields.back()->type(), partition, pool));
    hasKey_ |= column == kKey;
    hasValue_ |= column == kValue;
  }
  arrowSchema_ = arrow::schema(std::move(fields));
}

KafkaColumns::~KafkaColumns() = default;

int64_t KafkaColumns::sizeOf(const KafkaMessage& message) const {
  constexpr int64_t kFixedBytes = 8;
  const size_t bytes = (hasKey_ ? message.keySize : 0) + (hasValue_ ? message.valueSize : 0);
  return static_cast<int64_t>(bytes) + kFixedBytes * static_cast<int64_t>(columns_.size());
}

void KafkaColumns::append(std::span<const KafkaMessage> messages, int64_t expectedRows) {
  if (messages.empty()) return;
  for (const auto& column : columns_) column->append(messages, expectedRows);
  rows_ += static_cast<int64_t>(messages.size());
}

std::shared_ptr<arrow::RecordBatch> KafkaColumns::finish() {
  std::vector<std::shared_ptr<arrow::Array>> arrays;
  for (const auto& column : columns_) arrays.push_back(column->finish(rows_));
  return arrow::RecordBatch::Make(arrowSchema_, std::exchange(rows_, 0), std::move(arrays));
}

}  // namespace thalweg
