// The micro-batch source over Kafka: end offsets of a batch, rate limits, data loss.
#pragma once

#include "connector/stream_source.h"
#include "sources/kafka/kafka_source_options.h"
#include "sources/kafka/kafka_split.h"
#include "sources/kafka/offset_reader.h"

namespace thalweg {

class KafkaStreamSource final : public StreamSource {
 public:
  KafkaStreamSource(KafkaSourceOptions options, StreamSourceContext context);

  const SchemaPtr& schema() const override { return read_.schema; }
  void checkLoggedOffset(const SourceOffset& offset) const override;
  std::string description() const override;
  std::optional<SourceOffset> initialOffset() override;
  std::optional<SourceOffset> latestOffset(const std::optional<SourceOffset>& start, bool ignoreLimits) override;
  std::optional<SourceOffset> reportLatestOffset() override;
  bool prepareForAvailableNow() override;
  std::vector<SplitPtr> plan(const std::optional<SourceOffset>& start, const SourceOffset& end) override;
  // minOffsetsBehindLatest, maxOffsetsBehindLatest, avgOffsetsBehindLatest; lostOffsets where failOnDataLoss=false let
  // records go.
  std::map<std::string, std::string> metrics(const SourceOffset& end) override;

 private:
  PartitionOffsets startOffsets(const std::optional<SourceOffset>& start);
  const PartitionOffsets& initialOffsets();
  bool mustWait(const PartitionOffsets& start);
  PartitionOffsets limited(const PartitionOffsets& start);

  const KafkaSourceOptions options_;
  const StreamSourceContext context_;
  KafkaOffsetReader offsets_;
  KafkaReadContext read_;
  std::optional<PartitionOffsets> initial_;
  std::optional<PartitionOffsets> latest_;  // as of the last latestOffset call
  bool availableNow_ = false;
  int64_t lastBatchMs_ = 0;
};

}  // namespace thalweg
