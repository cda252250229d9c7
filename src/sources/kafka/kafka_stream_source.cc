#include "sources/kafka/kafka_stream_source.h"

#include <cmath>

#include "sources/kafka/initial_offset_log.h"
#include "sources/kafka/kafka_source.h"
#include "sources/kafka/partition_offsets.h"

namespace thalweg {
namespace {

constexpr std::string_view kCheckpoint = "The Kafka offset in the checkpoint";
// Partitions with fewer records than this in all are one task, and so one file of a sink, unless the user asked for more.
constexpr int64_t kRecordsOfOneTask = 4096;

}  // namespace

KafkaStreamSource::KafkaStreamSource(KafkaSourceOptions options, StreamSourceContext context)
    : options_(std::move(options)), context_(std::move(context)), offsets_(options_, context_.cancellation) {
  read_.schema = kafkaSchemaOf(options_.includeHeaders);
  read_.pollTimeout = options_.pollTimeout;
  read_.failOnDataLoss = options_.failOnDataLoss;
}

// Spark resolves -1 and -2 before it logs an offset, and fails on negative ones (an assertion, or KAFKA_DATA_LOSS).
void KafkaStreamSource::checkLoggedOffset(const SourceOffset& offset) const {
  requireResolved(parsePartitionOffsets(offset, kCheckpoint), kCheckpoint);
}

std::string KafkaStreamSource::description() const { return "KafkaV2[" + options_.strategy.description() + "]"; }

const PartitionOffsets& KafkaStreamSource::initialOffsets() {
  if (!initial_) initial_ = readInitialOffsets(context_.metadataFolder);
  if (!initial_) initial_ = keepInitialOffsets(context_.metadataFolder, offsets_.resolve(options_.starting));
  return *initial_;
}

std::optional<SourceOffset> KafkaStreamSource::initialOffset() { return formatPartitionOffsets(initialOffsets()); }

PartitionOffsets KafkaStreamSource::startOffsets(const std::optional<SourceOffset>& start) {
  return start ? parsePartitionOffsets(*start, kCheckpoint) : initialOffsets();
}

std::optional<SourceOffset> KafkaStreamSource::latestOffset(const std::optional<SourceOffset>& start, bool ignoreLimits) {
  const PartitionOffsets from = startOffsets(start);
  if (!availableNow_ || !latest_) latest_ = offsets_.latest(&from);
  if (latest_->empty()) return std::nullopt;
  PartitionOffsets end = *latest_;
  if (!ignoreLimits) end = mustWait(from) ? from : limited(from);
  // The same place keeps its text: Spark's own may order topics differently.
  return start && end == from ? *start : formatPartitionOffsets(end);
}

bool KafkaStreamSource::mustWait(const PartitionOffsets& start) {
  if (!options_.minOffsetsPerTrigger) return false;
  const int64_t now = context_.clock->nowMillis();
  if (now - lastBatchMs_ < options_.maxTriggerDelayMs) {
    double backlog = 0;
    for (const auto& [partition, end] : *latest_) {
      const auto from = start.find(partition);
      backlog += static_cast<double>(end - (from == start.end() ? 0 : from->second));
    }
    if (backlog < static_cast<double>(*options_.minOffsetsPerTrigger)) return true;
  }
  lastBatchMs_ = now;
  return false;
}

PartitionOffsets KafkaStreamSource::limited(const PartitionOffsets& start) {
  if (!options_.maxOffsetsPerTrigger) return *latest_;
  PartitionOffsets from = start;
  std::vector<TopicPartition> added;
  for (const auto& [partition, end] : *latest_) {
    if (!start.contains(partition)) added.push_back(partition);
  }
  for (const auto& [partition, offset] : offsets_.earliestOf(added)) from[partition] = offset;
  return shareRateLimit(*options_.maxOffsetsPerTrigger, from, *latest_);
}

std::optional<SourceOffset> KafkaStreamSource::reportLatestOffset() {
  if (!latest_ || latest_->empty()) return std::nullopt;
  return formatPartitionOffsets(*latest_);
}

bool KafkaStreamSource::prepareForAvailableNow() {
  availableNow_ = true;
  latest_.reset();
  return true;
}

std::vector<SplitPtr> KafkaStreamSource::plan(const std::optional<SourceOffset>& start, const SourceOffset& end) {
  const PartitionOffsets from = startOffsets(start);
  const PartitionOffsets until = parsePartitionOffsets(end, kCheckpoint);
  std::vector<TopicPartition> added;
  for (const auto& [partition, offset] : until) {
    if (!from.contains(partition)) added.push_back(partition);
  }
  const auto onLoss = [&](const KafkaDataLoss& loss) { reportDataLoss(loss, options_.failOnDataLoss); };
  std::vector<OffsetRange> ranges = makeOffsetRanges(from, until, offsets_.earliestOf(added), onLoss);
  if (!read_.pool && !ranges.empty()) {
    KafkaFetchBudget budget;
    budget.partitions = static_cast<int>(until.size());
    if (availableNow_) budget.longestWait = kWaitForWhatIsThere;
    read_.pool = KafkaConsumerPool::make(options_.client, budget);
  }
  ranges = splitOffsetRanges(std::move(ranges), options_.minPartitions, options_.maxRecordsPerPartition);
  const bool asked = options_.minPartitions || options_.maxRecordsPerPartition;
  return makeKafkaSplits(read_, groupOffsetRanges(ranges, asked ? 0 : kRecordsOfOneTask));
}

std::map<std::string, std::string> KafkaStreamSource::metrics(const SourceOffset& end) {
  if (!latest_ || latest_->empty()) return {};
  const PartitionOffsets consumed = parsePartitionOffsets(end, kCheckpoint);
  int64_t least = INT64_MAX;
  int64_t most = INT64_MIN;
  double sum = 0;
  for (const auto& [partition, latest] : *latest_) {
    const auto found = consumed.find(partition);
    const int64_t behind = latest - (found == consumed.end() ? 0 : found->second);
    least = std::min(least, behind);
    most = std::max(most, behind);
    sum += static_cast<double>(behind);
  }
  // Spark shows the average with one digit, half up.
  const double average = std::floor(sum / static_cast<double>(latest_->size()) * 10 + 0.5) / 10;
  std::map<std::string, std::string> result = {{"minOffsetsBehindLatest", std::to_string(least)},
                                               {"maxOffsetsBehindLatest", std::to_string(most)},
                                               {"avgOffsetsBehindLatest", fmt::format("{:.1f}", average)}};
  if (const int64_t lost = *read_.lostOffsets; lost > 0) result["lostOffsets"] = std::to_string(lost);
  return result;
}

void validateKafkaOptions(const Options& options, KafkaReadMode mode, const KafkaEnvironment& environment) {
  parseKafkaSourceOptions(options, mode, environment);
}

SchemaPtr kafkaSchema(const Options& options) { return kafkaSchemaOf(options.getBool("includeHeaders", false)); }

std::unique_ptr<StreamSource> openKafkaStream(const Options& options, const StreamSourceContext& context,
                                              const KafkaEnvironment& environment) {
  return std::make_unique<KafkaStreamSource>(parseKafkaSourceOptions(options, KafkaReadMode::Stream, environment), context);
}

}  // namespace thalweg
