#include "connector/table.h"
#include "sources/kafka/kafka_source.h"
#include "sources/kafka/kafka_split.h"
#include "sources/kafka/offset_reader.h"

namespace thalweg {
namespace {

class KafkaTable final : public Table {
 public:
  explicit KafkaTable(KafkaSourceOptions options) : options_(std::move(options)), schema_(kafkaSchemaOf(options_.includeHeaders)) {}

  const SchemaPtr& schema() const override { return schema_; }
  std::string description() const override { return "kafka " + options_.strategy.description(); }

  std::vector<SplitPtr> planScan(const std::vector<ColumnPredicate>&) const override {
    KafkaOffsetReader reader(options_, nullptr);
    const PartitionOffsets from = reader.resolve(options_.starting);
    const PartitionOffsets until = reader.resolve(options_.ending);
    const auto onLoss = [&](const KafkaDataLoss& loss) { reportDataLoss(loss, options_.failOnDataLoss); };
    auto ranges = makeOffsetRanges(from, until, {}, onLoss);
    KafkaFetchBudget budget;
    budget.partitions = std::max(static_cast<int>(ranges.size()), 1);
    budget.longestWait = kWaitForWhatIsThere;
    const KafkaReadContext context{.pool = KafkaConsumerPool::make(options_.client, budget),
                                   .schema = schema_,
                                   .pollTimeout = options_.pollTimeout,
                                   .failOnDataLoss = options_.failOnDataLoss};
    ranges = splitOffsetRanges(std::move(ranges), options_.minPartitions, options_.maxRecordsPerPartition);
    return makeKafkaSplits(context, groupOffsetRanges(ranges, /*maxRecords=*/0));
  }

 private:
  const KafkaSourceOptions options_;
  const SchemaPtr schema_;
};

}  // namespace

std::shared_ptr<Table> openKafkaTable(const Options& options, const KafkaEnvironment& environment) {
  return std::make_shared<KafkaTable>(parseKafkaSourceOptions(options, KafkaReadMode::Batch, environment));
}

}  // namespace thalweg
