#include "sources/kafka/kafka_split.h"

#include <arrow/api.h>

#include "common/error.h"
#include "common/logging.h"
#include "sources/kafka/kafka_columns.h"

namespace thalweg {
namespace {

constexpr int64_t kMessagesAtOnce = 4096;
// A batch passes from the parser to the writer while the processor's caches still hold most of it.
constexpr int64_t kMaxBatchRows = 16384;

class KafkaReader final : public BatchReader {
 public:
  KafkaReader(const KafkaReadContext& context, const OffsetRange& range, const ReadRequest& request)
      : request_(bounded(request)), until_(range.until), columns_(*context.schema, request, range.partition), reader_(context.pool->open(rangeOf(context, range, request))) {}

  std::shared_ptr<arrow::RecordBatch> next() override {
    int64_t bytes = 0;
    while (columns_.rows() < request_.maxBatchRows) {
      if (held_.empty()) held_ = reader_->next(static_cast<size_t>(std::min(request_.maxBatchRows - columns_.rows(), kMessagesAtOnce)));
      if (held_.empty()) break;
      const size_t fitting = countFitting(bytes);
      columns_.append(held_.first(fitting), expectedRows(held_.front().offset));
      held_ = held_.subspan(fitting);
      if (!held_.empty() || bytes >= request_.maxBatchBytes) break;
    }
    return columns_.rows() > 0 ? columns_.finish() : nullptr;
  }

 private:
  // Arrow's binary columns count their bytes in 32 bits.
  static ReadRequest bounded(ReadRequest request) {
    request.maxBatchBytes = std::min<int64_t>(request.maxBatchBytes, 1 << 30);
    request.maxBatchRows = std::min(request.maxBatchRows, kMaxBatchRows);
    return request;
  }

  int64_t expectedRows(int64_t offset) const { return columns_.rows() + std::min(until_ - offset, request_.maxBatchRows - columns_.rows()); }

  static KafkaRange rangeOf(const KafkaReadContext& context, const OffsetRange& range, const ReadRequest& request) {
    KafkaRange result{.partition = range.partition, .from = range.from, .until = range.until, .pollTimeout = context.pollTimeout,
                      .cancellation = request.cancellation};
    result.onLoss = [lost = context.lostOffsets, fail = context.failOnDataLoss](const KafkaOffsetLoss& loss) { tell(loss, fail, *lost); };
    return result;
  }

  static void tell(const KafkaOffsetLoss& loss, bool fail, std::atomic<int64_t>& lost) {
    const int64_t resumesAt = loss.wanted < loss.earliest ? std::min(loss.earliest, loss.until) : loss.until;
    reportDataLoss({"KAFKA_DATA_LOSS.COULD_NOT_READ_OFFSET_RANGE",
                    "The offsets " + std::to_string(loss.wanted) + " to " + std::to_string(loss.until) + " of the Kafka partition " +
                        loss.partition.text() + " are planned, but the brokers have " + std::to_string(loss.earliest) + " to " +
                        std::to_string(loss.latest) + "."},
                   fail);
    lost += resumesAt - loss.wanted;
  }

  // How many held messages go into the batch: at least one, then as many as the limits of bytes and rows allow.
  size_t countFitting(int64_t& bytes) const {
    const size_t limit = std::min(held_.size(), static_cast<size_t>(request_.maxBatchRows - columns_.rows()));
    size_t count = 0;
    while (count < limit) {
      const int64_t size = columns_.sizeOf(held_[count]);
      if (bytes > 0 && bytes + size > request_.maxBatchBytes) break;
      bytes += size;
      ++count;
    }
    return count;
  }

  const ReadRequest request_;
  const int64_t until_;
  KafkaColumns columns_;
  std::unique_ptr<KafkaRangeReader> reader_;
  std::span<const KafkaMessage> held_;  // fetched, not yet in a batch
};

// The ranges of a split, one after another.
class KafkaGroupReader final : public BatchReader {
 public:
  KafkaGroupReader(const KafkaReadContext& context, const std::vector<OffsetRange>& ranges, const ReadRequest& request)
      : context_(context), ranges_(ranges), request_(request) {}

  std::shared_ptr<arrow::RecordBatch> next() override {
    for (; next_ < ranges_.size(); ++next_) {
      if (!reader_) reader_ = std::make_unique<KafkaReader>(context_, ranges_[next_], request_);
      if (auto batch = reader_->next()) return batch;
      reader_.reset();
    }
    return nullptr;
  }

 private:
  const KafkaReadContext context_;
  const std::vector<OffsetRange> ranges_;
  const ReadRequest request_;
  size_t next_ = 0;
  std::unique_ptr<KafkaReader> reader_;
};

class KafkaSplit final : public Split {
 public:
  KafkaSplit(KafkaReadContext context, std::vector<OffsetRange> ranges) : context_(std::move(context)), ranges_(std::move(ranges)) {}
  std::unique_ptr<BatchReader> open(const ReadRequest& request) const override {
    return std::make_unique<KafkaGroupReader>(context_, ranges_, request);
  }

 private:
  const KafkaReadContext context_;
  const std::vector<OffsetRange> ranges_;
};

}  // namespace

std::vector<SplitPtr> makeKafkaSplits(const KafkaReadContext& context, const std::vector<std::vector<OffsetRange>>& groups) {
  std::vector<SplitPtr> splits;
  for (const auto& ranges : groups) splits.push_back(std::make_shared<KafkaSplit>(context, ranges));
  return splits;
}

void reportDataLoss(const KafkaDataLoss& loss, bool failOnDataLoss) {
  if (!failOnDataLoss) {
    logWarn("{} Some data may have been lost; the query goes on, for failOnDataLoss is false.", loss.text);
    return;
  }
  throw Error(loss.condition, loss.text +
                                  " Some data may have been lost, because it was deleted before the query read it. Set the option "
                                  "failOnDataLoss to false to go on without it.");
}

}  // namespace thalweg
