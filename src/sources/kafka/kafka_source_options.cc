#include "sources/kafka/kafka_source_options.h"

#include <algorithm>
#include <charconv>
#include <regex>

#include "common/error.h"
#include "common/logging.h"
#include "sources/kafka/partition_offsets.h"

namespace thalweg {
namespace {

constexpr std::string_view kStrategies[] = {"subscribe", "subscribepattern", "assign"};
constexpr size_t kMaxPatternBytes = 4096;

[[noreturn]] void refuse(const std::string& text) { throw Error(ErrorKind::IllegalArgument, "INVALID_OPTION", text); }

std::string_view trimmed(std::string_view text) {
  const size_t start = text.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos) return {};
  return text.substr(start, text.find_last_not_of(" \t\r\n") - start + 1);
}

std::vector<std::string> splitTopics(std::string_view list) {
  std::vector<std::string> topics;
  while (!list.empty()) {
    const size_t comma = std::min(list.find(','), list.size());
    const std::string_view topic = trimmed(list.substr(0, comma));
    if (!topic.empty()) topics.emplace_back(topic);
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return topics;
}

KafkaStrategy parseStrategy(const Options& options) {
  const auto given = std::count_if(std::begin(kStrategies), std::end(kStrategies), [&](auto name) { return options.has(name); });
  if (given != 1) {
    refuse(std::string(given == 0 ? "One" : "Only one") +
           " of the following options must be specified for Kafka source: subscribe, subscribePattern, assign.");
  }
  KafkaStrategy strategy;
  if (const auto assign = options.get("assign")) {
    if (!trimmed(*assign).starts_with("{")) refuse("No topicpartitions to assign as specified value for option 'assign' is '" + *assign + "'");
    strategy.kind = KafkaStrategy::Kind::Assign;
    strategy.partitions = parsePartitions(*assign, "The option 'assign'");
  } else if (const auto subscribe = options.get("subscribe")) {
    strategy.topics = splitTopics(*subscribe);
    if (strategy.topics.empty()) refuse("No topics to subscribe to as specified value for option 'subscribe' is '" + *subscribe + "'");
  } else {
    strategy.kind = KafkaStrategy::Kind::SubscribePattern;
    strategy.pattern = trimmed(*options.get("subscribePattern"));
    if (strategy.pattern.empty()) refuse("Pattern to subscribe is empty as specified value for option 'subscribePattern'");
    if (strategy.pattern.size() > kMaxPatternBytes) refuse("The option 'subscribePattern' is longer than 4096 bytes.");
    try {
      std::regex check(strategy.pattern);
    } catch (const std::regex_error&) {
      refuse("The option 'subscribePattern' is not a regular expression: '" + strategy.pattern + "'");
    }
  }
  return strategy;
}

std::optional<KafkaPosition> parseTimePosition(const Options& options, const std::string& timeName, const std::string& timesName) {
  if (const auto time = options.getLong(timeName)) {
    if (*time < 0) refuse("The option '" + timeName + "' takes milliseconds since 1970, not a negative number.");
    return KafkaPosition{.kind = KafkaPosition::Kind::Time, .values = {}, .timeMs = *time};
  }
  if (const auto times = options.get(timesName)) {
    KafkaPosition position{.kind = KafkaPosition::Kind::Times, .values = parsePartitionOffsets(*times, "The option '" + timesName + "'")};
    for (const auto& [partition, time] : position.values) {
      if (time < 0) refuse("The option '" + timesName + "' has a negative time for " + partition.text() + ".");
    }
    return position;
  }
  return std::nullopt;
}

// Spark's order: one time for all, times by partition, offsets.
KafkaPosition parsePosition(const Options& options, const std::string& prefix, KafkaPosition::Kind fallback) {
  if (auto position = parseTimePosition(options, prefix + "Timestamp", prefix + "OffsetsByTimestamp")) return *position;
  const std::string name = prefix + "Offsets";
  const std::string text = std::string(trimmed(options.getOr(name, "")));
  if (text.empty() && !options.has(name)) return {.kind = fallback, .values = {}};
  if (equalsIgnoreCase(text, "earliest")) return {.kind = KafkaPosition::Kind::Earliest, .values = {}};
  if (equalsIgnoreCase(text, "latest")) return {.kind = KafkaPosition::Kind::Latest, .values = {}};
  KafkaPosition position{.kind = KafkaPosition::Kind::Offsets, .values = parsePartitionOffsets(text, "The option '" + name + "'")};
  for (const auto& [partition, offset] : position.values) {
    if (offset < kEarliestOffset) refuse("The option '" + name + "' has the offset " + std::to_string(offset) + " for " + partition.text() + ".");
  }
  return position;
}

bool parseMatchStrategy(const Options& options) {
  const std::string text = toLowerAscii(options.getOr("startingOffsetsByTimestampStrategy", "error"));
  if (text != "error" && text != "latest") refuse("The option 'startingOffsetsByTimestampStrategy' takes error or latest, not '" + text + "'.");
  return text == "latest";
}

// "15m", "200ms", "1000": Spark's duration text, milliseconds without a unit.
int64_t parseDelayMs(const std::string& text) {
  static constexpr std::pair<std::string_view, int64_t> kUnits[] = {
      {"", 1}, {"ms", 1}, {"s", 1000}, {"m", 60'000}, {"min", 60'000}, {"h", 3'600'000}, {"d", 86'400'000}};
  const std::string lower = toLowerAscii(trimmed(text));
  int64_t count = 0;
  const char* end = lower.data() + lower.size();
  const auto [stop, status] = std::from_chars(lower.data(), end, count);
  const std::string_view unit = trimmed({stop, static_cast<size_t>(end - stop)});
  if (status == std::errc() && count >= 0) {
    if (unit == "us") return count / 1000;
    for (const auto& [name, milliseconds] : kUnits) {
      if (unit == name && count <= INT64_MAX / milliseconds) return count * milliseconds;
    }
  }
  refuse("The option 'maxTriggerDelay' takes a duration such as 15m, 30s or 500ms, not '" + text + "'.");
}

std::optional<int64_t> positive(const Options& options, const std::string& name) {
  const auto value = options.getLong(name);
  if (value && *value <= 0) refuse(name + " must be positive");
  return value;
}

void checkStreamOptions(const Options& options, const KafkaSourceOptions& parsed) {
  for (const char* name : {"endingOffsets", "endingOffsetsByTimestamp", "endingTimestamp"}) {
    if (options.has(name)) refuse(std::string("ending offset not valid in streaming queries (option '") + name + "')");
  }
  if (parsed.minOffsetsPerTrigger && parsed.maxOffsetsPerTrigger && *parsed.minOffsetsPerTrigger > *parsed.maxOffsetsPerTrigger) {
    refuse("The value of minOffsetsPerTrigger(" + std::to_string(*parsed.minOffsetsPerTrigger) +
           ") is higher than the maxOffsetsPerTrigger(" + std::to_string(*parsed.maxOffsetsPerTrigger) + ").");
  }
}

void checkBatchOptions(const Options& options, const KafkaSourceOptions& parsed) {
  if (parsed.starting.kind == KafkaPosition::Kind::Latest) refuse("starting offset can't be latest for batch queries on Kafka");
  if (parsed.ending.kind == KafkaPosition::Kind::Earliest) refuse("ending offset can't be earliest for batch queries on Kafka");
  const bool bothOffsets = parsed.starting.kind == KafkaPosition::Kind::Offsets && parsed.ending.kind == KafkaPosition::Kind::Offsets;
  if (parsed.starting.kind == KafkaPosition::Kind::Offsets) {
    for (const auto& [partition, offset] : parsed.starting.values) {
      if (offset == kLatestOffset) refuse("startingOffsets for " + partition.text() + " can't be latest for batch queries on Kafka");
    }
  }
  if (parsed.ending.kind == KafkaPosition::Kind::Offsets) {
    for (const auto& [partition, offset] : parsed.ending.values) {
      if (offset == kEarliestOffset) refuse("ending offset for " + partition.text() + " can't be earliest for batch queries on Kafka");
      const auto start = parsed.starting.values.find(partition);
      if (bothOffsets && start != parsed.starting.values.end() && offset >= 0 && start->second > offset) {
        refuse("startingOffsets is greater than endingOffsets for " + partition.text() + ".");
      }
    }
  }
  for (const char* name : {"maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay"}) {
    if (options.has(name)) logWarn("the Kafka option {} has no effect in a batch query", name);
  }
}

}  // namespace

std::string KafkaStrategy::description() const {
  std::string inner;
  const auto add = [&](const std::string& part) { inner += (inner.empty() ? "" : ", ") + part; };
  switch (kind) {
    case Kind::Assign:
      for (const TopicPartition& partition : partitions) add(partition.text());
      return "Assign[" + inner + "]";
    case Kind::Subscribe:
      for (const std::string& topic : topics) add(topic);
      return "Subscribe[" + inner + "]";
    case Kind::SubscribePattern: break;
  }
  return "SubscribePattern[" + pattern + "]";
}

KafkaSourceOptions parseKafkaSourceOptions(const Options& options, KafkaReadMode mode, const KafkaEnvironment& environment) {
  KafkaSourceOptions parsed;
  parsed.strategy = parseStrategy(options);
  parsed.minPartitions = positive(options, "minPartitions");
  parsed.maxRecordsPerPartition = positive(options, "maxRecordsPerPartition");
  parsed.client = translateKafkaOptions(options, KafkaRole::Consumer, environment);
  parsed.failOnDataLoss = options.getBool("failOnDataLoss", true);
  parsed.includeHeaders = options.getBool("includeHeaders", false);
  parsed.maxOffsetsPerTrigger = positive(options, "maxOffsetsPerTrigger");
  parsed.minOffsetsPerTrigger = options.getLong("minOffsetsPerTrigger");
  if (const auto delay = options.get("maxTriggerDelay")) parsed.maxTriggerDelayMs = parseDelayMs(*delay);
  if (const auto timeout = positive(options, "kafkaConsumer.pollTimeoutMs")) parsed.pollTimeout = std::chrono::milliseconds(*timeout);
  if (const auto retries = options.getLong("fetchOffset.numRetries")) parsed.fetchRetries = std::max<int64_t>(*retries, 1);
  if (const auto interval = options.getLong("fetchOffset.retryIntervalMs")) {
    parsed.fetchRetryInterval = std::chrono::milliseconds(std::max<int64_t>(*interval, 0));
  }
  const bool stream = mode == KafkaReadMode::Stream;
  parsed.starting = parsePosition(options, "starting", stream ? KafkaPosition::Kind::Latest : KafkaPosition::Kind::Earliest);
  parsed.starting.latestWithoutMatch = parseMatchStrategy(options);
  if (stream) {
    checkStreamOptions(options, parsed);
  } else {
    parsed.ending = parsePosition(options, "ending", KafkaPosition::Kind::Latest);
    parsed.ending.latestWithoutMatch = true;
    checkBatchOptions(options, parsed);
  }
  return parsed;
}

SchemaPtr kafkaSchemaOf(bool includeHeaders) {
  std::vector<StructField> fields = {{"key", binaryType()},     {"value", binaryType()},          {"topic", stringType()},
                                     {"partition", intType()},  {"offset", longType()},           {"timestamp", timestampType()},
                                     {"timestampType", intType()}};
  if (includeHeaders) {
    fields.push_back({"headers", DataType::array(DataType::structOf({{"key", stringType()}, {"value", binaryType()}}))});
  }
  return DataType::structOf(std::move(fields));
}

}  // namespace thalweg
