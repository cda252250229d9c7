#include "sources/kafka/offset_reader.h"

#include <algorithm>
#include <regex>
#include <thread>

#include "common/error.h"
#include "common/logging.h"

namespace thalweg {
namespace {

constexpr std::chrono::seconds kMetadataAge{1};

bool mayRecover(const Error& error) {
  return error.condition() == "KAFKA_CLIENT_FAILURE" || error.condition() == "UNKNOWN_TOPIC_OR_PARTITION";
}

}  // namespace

KafkaOffsetReader::KafkaOffsetReader(const KafkaSourceOptions& options, const CancellationToken* cancellation)
    : options_(options), cancellation_(cancellation), client_(options.client) {}

template <typename Call>
auto KafkaOffsetReader::withRetries(const Call& call) {
  for (int64_t attempt = 1;; ++attempt) {
    try {
      return call();
    } catch (const Error& error) {
      partitionsReadAt_.reset();
      if (!mayRecover(error) || attempt >= options_.fetchRetries) throw;
      logWarn("Kafka offsets could not be read (attempt {} of {}): {}", attempt, options_.fetchRetries, error.text());
    }
    if (!cancellation_) {
      std::this_thread::sleep_for(options_.fetchRetryInterval);
    } else if (cancellation_->waitFor(options_.fetchRetryInterval)) {
      cancellation_->throwIfCancelled();
    }
  }
}

const std::vector<TopicPartition>& KafkaOffsetReader::partitions() {
  const auto now = std::chrono::steady_clock::now();
  if (partitionsReadAt_ && now - *partitionsReadAt_ < kMetadataAge) return partitions_;
  const KafkaStrategy& strategy = options_.strategy;
  switch (strategy.kind) {
    case KafkaStrategy::Kind::Assign: partitions_ = strategy.partitions; break;
    case KafkaStrategy::Kind::Subscribe: partitions_ = client_.partitionsOf(strategy.topics, cancellation_); break;
    case KafkaStrategy::Kind::SubscribePattern: {
      const std::regex pattern(strategy.pattern);
      std::vector<std::string> topics = client_.topicNames(cancellation_);
      std::erase_if(topics, [&](const std::string& topic) { return !std::regex_match(topic, pattern); });
      partitions_ = client_.partitionsOf(topics, cancellation_);
      break;
    }
  }
  partitionsReadAt_ = now;
  return partitions_;
}

PartitionOffsets KafkaOffsetReader::list(const std::vector<TopicPartition>& partitions, int64_t position) {
  PartitionOffsets wanted;
  for (const TopicPartition& partition : partitions) wanted[partition] = position;
  return client_.listOffsets(wanted, cancellation_);
}

PartitionOffsets KafkaOffsetReader::earliest() {
  return withRetries([&] { return list(partitions(), kEarliestOffset); });
}

PartitionOffsets KafkaOffsetReader::latest(const PartitionOffsets* known) {
  return withRetries([&] {
    for (int64_t attempt = 1;; ++attempt) {
      PartitionOffsets offsets = list(partitions(), kLatestOffset);
      const bool wentBack = known && std::any_of(offsets.begin(), offsets.end(), [&](const auto& entry) {
        const auto before = known->find(entry.first);
        return before != known->end() && before->second > entry.second;
      });
      if (!wentBack || attempt >= options_.fetchRetries) return offsets;
      logWarn("Kafka's latest offsets lie behind those of the last batch; they are asked again");
      if (cancellation_ && cancellation_->waitFor(options_.fetchRetryInterval)) cancellation_->throwIfCancelled();
    }
  });
}

PartitionOffsets KafkaOffsetReader::earliestOf(const std::vector<TopicPartition>& wanted) {
  if (wanted.empty()) return {};
  return withRetries([&] {
    std::vector<TopicPartition> present;
    for (const TopicPartition& partition : wanted) {
      if (std::binary_search(partitions().begin(), partitions().end(), partition)) present.push_back(partition);
    }
    return list(present, kEarliestOffset);
  });
}

void KafkaOffsetReader::checkCovers(const PartitionOffsets& given, const std::vector<TopicPartition>& partitions,
                                    const char* option) const {
  const bool same = given.size() == partitions.size() &&
                    std::all_of(partitions.begin(), partitions.end(), [&](const auto& partition) { return given.contains(partition); });
  if (same) return;
  std::string specified;
  std::string assigned;
  for (const auto& [partition, offset] : given) specified += (specified.empty() ? "" : ", ") + partition.text();
  for (const TopicPartition& partition : partitions) assigned += (assigned.empty() ? "" : ", ") + partition.text();
  throw Error(ErrorKind::IllegalArgument, "INVALID_OPTION",
              std::string("If ") + option + " contains specific offsets, you must specify all partitions (−1 for latest, −2 for "
              "earliest). Specified: " + specified + ". Assigned: " + assigned + ".");
}

PartitionOffsets KafkaOffsetReader::resolveTimes(const KafkaPosition& position, const PartitionOffsets& times) {
  PartitionOffsets offsets = client_.listOffsets(times, cancellation_);
  PartitionOffsets unmatched;
  for (const auto& [partition, offset] : offsets) {
    if (offset >= 0) continue;
    if (!position.latestWithoutMatch) {
      throw Error(ErrorKind::IllegalArgument, "INVALID_OPTION",
                  "No offset matched from request of topic-partition " + partition.text() + " and timestamp " +
                      std::to_string(times.at(partition)) + "; startingOffsetsByTimestampStrategy=latest would start at its end.");
    }
    unmatched[partition] = kLatestOffset;
  }
  for (const auto& [partition, offset] : client_.listOffsets(unmatched, cancellation_)) offsets[partition] = offset;
  return offsets;
}

PartitionOffsets KafkaOffsetReader::resolve(const KafkaPosition& position) {
  switch (position.kind) {
    case KafkaPosition::Kind::Earliest: return earliest();
    case KafkaPosition::Kind::Latest: return latest(nullptr);
    default: break;
  }
  return withRetries([&]() -> PartitionOffsets {
    const std::vector<TopicPartition>& all = partitions();
    if (position.kind == KafkaPosition::Kind::Time) {
      PartitionOffsets times;
      for (const TopicPartition& partition : all) times[partition] = position.timeMs;
      return resolveTimes(position, times);
    }
    checkCovers(position.values, all, "startingOffsets or endingOffsets");
    if (position.kind == KafkaPosition::Kind::Times) return resolveTimes(position, position.values);
    PartitionOffsets offsets = position.values;
    PartitionOffsets symbolic;
    for (const auto& [partition, offset] : offsets) {
      if (offset < 0) symbolic[partition] = offset;
    }
    for (const auto& [partition, offset] : client_.listOffsets(symbolic, cancellation_)) offsets[partition] = offset;
    return offsets;
  });
}

}  // namespace thalweg
