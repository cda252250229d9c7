// Arrow columns of Kafka messages, filled message by message: only those that are asked for.
#pragma once

#include <memory>
#include <vector>

#include <arrow/type_fwd.h>

#include "connector/read.h"
#include "kafka/consumer_pool.h"
#include "kafka/topic_partition.h"
#include "types/data_type.h"

namespace thalweg {

// Collects the rows of one batch. Used by one thread.
class KafkaColumns {
 public:
  // `columns` index kafkaSchemaOf's fields.
  KafkaColumns(const Schema& schema, const ReadRequest& request, const TopicPartition& partition);
  ~KafkaColumns();

  // Bytes that the message would add to the batch.
  int64_t sizeOf(const KafkaMessage& message) const;
  void append(std::span<const KafkaMessage> messages);
  int64_t rows() const { return rows_; }
  // The collected rows; the next batch begins empty.
  std::shared_ptr<arrow::RecordBatch> finish();

  class Column;

 private:
  std::shared_ptr<arrow::Schema> arrowSchema_;
  std::vector<std::unique_ptr<Column>> columns_;
  bool hasKey_ = false;
  bool hasValue_ = false;
  int64_t rows_ = 0;
};

}  // namespace thalweg
