#include "sources/kafka/kafka_columns.h"

#include <arrow/api.h>

#include "common/error.h"
#include "types/arrow_types.h"

namespace thalweg {

class KafkaColumns::Column {
 public:
  virtual ~Column() = default;
  virtual void append(std::span<const KafkaMessage> messages) = 0;
  virtual std::shared_ptr<arrow::Array> finish(int64_t rows) = 0;
};

namespace {

enum Field { kKey, kValue, kTopic, kPartition, kOffset, kTimestamp, kTimestampType, kHeaders };

void check(const arrow::Status& status) {
  if (status.ok()) return;
  throw status.IsOutOfMemory() ? Error("OUT_OF_MEMORY", "There is no memory left for a batch of Kafka records: " + status.message())
                               : internalError(status.ToString());
}

template <typename T>
T checked(arrow::Result<T> result) {
  check(result.status());
  return std::move(result).ValueUnsafe();
}

// Key or value: the bytes lie contiguous in the batch, one copy from librdkafka's buffers.
template <const uint8_t* KafkaMessage::*Bytes, size_t KafkaMessage::*Size>
class BinaryColumn final : public KafkaColumns::Column {
 public:
  explicit BinaryColumn(arrow::MemoryPool* pool) : builder_(pool) {}

  void append(std::span<const KafkaMessage> messages) override {
    size_t bytes = 0;
    for (const KafkaMessage& message : messages) bytes += message.*Size;
    check(builder_.Reserve(static_cast<int64_t>(messages.size())));
    check(builder_.ReserveData(static_cast<int64_t>(bytes)));
    for (const KafkaMessage& message : messages) {
      if (message.*Bytes) {
        builder_.UnsafeAppend(message.*Bytes, static_cast<int32_t>(message.*Size));
      } else {
        builder_.UnsafeAppendNull();
      }
    }
  }
  std::shared_ptr<arrow::Array> finish(int64_t) override { return checked(builder_.Finish()); }

 private:
  arrow::BinaryBuilder builder_;
};

// The same value in every row.
class ConstantColumn final : public KafkaColumns::Column {
 public:
  ConstantColumn(std::shared_ptr<arrow::Scalar> value, arrow::MemoryPool* pool) : value_(std::move(value)), pool_(pool) {}
  void append(std::span<const KafkaMessage>) override {}
  std::shared_ptr<arrow::Array> finish(int64_t rows) override { return checked(arrow::MakeArrayFromScalar(*value_, rows, pool_)); }

 private:
  const std::shared_ptr<arrow::Scalar> value_;
  arrow::MemoryPool* const pool_;
};

template <typename Builder, auto Get>
class NumberColumn final : public KafkaColumns::Column {
 public:
  NumberColumn(const std::shared_ptr<arrow::DataType>& type, arrow::MemoryPool* pool) : builder_(type, pool) {}
  void append(std::span<const KafkaMessage> messages) override {
    check(builder_.Reserve(static_cast<int64_t>(messages.size())));
    for (const KafkaMessage& message : messages) builder_.UnsafeAppend(Get(message));
  }
  std::shared_ptr<arrow::Array> finish(int64_t) override { return checked(builder_.Finish()); }

 private:
  Builder builder_;
};

int64_t offsetOf(const KafkaMessage& message) { return message.offset; }
int64_t microsOf(const KafkaMessage& message) { return timestampOf(message).milliseconds * 1000; }
int32_t timestampTypeOf(const KafkaMessage& message) { return timestampOf(message).type; }

class HeadersColumn final : public KafkaColumns::Column {
 public:
  HeadersColumn(const std::shared_ptr<arrow::DataType>& type, arrow::MemoryPool* pool)
      : builder_(checked(arrow::MakeBuilder(type, pool))),
        list_(static_cast<arrow::ListBuilder*>(builder_.get())),
        entry_(static_cast<arrow::StructBuilder*>(list_->value_builder())),
        key_(static_cast<arrow::StringBuilder*>(entry_->field_builder(0))),
        value_(static_cast<arrow::BinaryBuilder*>(entry_->field_builder(1))) {}

  void append(std::span<const KafkaMessage> messages) override {
    for (const KafkaMessage& message : messages) {
      readHeaders(message, headers_);
      check(headers_.empty() ? list_->AppendNull() : list_->Append());
      for (const KafkaHeader& header : headers_) {
        check(entry_->Append());
        check(key_->Append(header.key));
        check(header.value ? value_->Append(header.value, static_cast<int32_t>(header.valueSize)) : value_->AppendNull());
      }
    }
  }
  std::shared_ptr<arrow::Array> finish(int64_t) override { return checked(builder_->Finish()); }

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

void KafkaColumns::append(std::span<const KafkaMessage> messages) {
  for (const auto& column : columns_) column->append(messages);
  rows_ += static_cast<int64_t>(messages.size());
}

std::shared_ptr<arrow::RecordBatch> KafkaColumns::finish() {
  std::vector<std::shared_ptr<arrow::Array>> arrays;
  for (const auto& column : columns_) arrays.push_back(column->finish(rows_));
  return arrow::RecordBatch::Make(arrowSchema_, std::exchange(rows_, 0), std::move(arrays));
}

}  // namespace thalweg
