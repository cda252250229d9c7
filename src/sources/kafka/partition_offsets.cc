#include "sources/kafka/partition_offsets.h"

#include <algorithm>
#include <charconv>

#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/json_text.h"

namespace thalweg {
namespace {

using nlohmann::json;

constexpr size_t kMaxTextBytes = 64 << 20;
constexpr int kMaxDepth = 2;
constexpr std::string_view kOffsetsExample = R"({"topicA":{"0":23,"1":-1},"topicB":{"0":-2}})";
constexpr std::string_view kPartitionsExample = R"({"topicA":[0,1],"topicB":[0,1]})";

[[noreturn]] void fail(std::string_view text, std::string_view what, std::string_view example) {
  constexpr size_t kShown = 200;
  std::string shown(text.substr(0, kShown));
  throw Error(ErrorKind::IllegalArgument, "INVALID_OPTION",
              std::string(what) + " takes text such as " + std::string(example) + ", not: " + shown + (text.size() > kShown ? "…" : ""));
}

json parseObject(std::string_view text, std::string_view what, std::string_view example) {
  if (text.size() > kMaxTextBytes) fail(text, what, example);
  json parsed = parseJson(text, kMaxDepth);
  if (!parsed.is_object()) fail(text, what, example);
  return parsed;
}

std::optional<int32_t> parsePartition(const std::string& text) {
  int32_t partition = 0;
  const char* end = text.data() + text.size();
  const auto [stop, status] = std::from_chars(text.data(), end, partition);
  if (status != std::errc() || stop != end || partition < 0) return std::nullopt;
  return partition;
}

std::optional<int64_t> integerOf(const json& value) {
  if (value.is_number_unsigned() && value.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX)) return std::nullopt;
  if (!value.is_number_integer()) return std::nullopt;
  return value.get<int64_t>();
}

}  // namespace

std::string formatPartitionOffsets(const PartitionOffsets& offsets) {
  std::string text = "{";
  const std::string* topic = nullptr;
  for (const auto& [partition, offset] : offsets) {
    if (!topic || *topic != partition.topic) {
      if (topic) text += "},";
      topic = &partition.topic;
      text += quotedJson(*topic) + ":{";
    } else {
      text += ',';
    }
    text += '"' + std::to_string(partition.partition) + "\":" + std::to_string(offset);
  }
  return text + (topic ? "}}" : "}");
}

PartitionOffsets parsePartitionOffsets(std::string_view text, std::string_view what) {
  PartitionOffsets offsets;
  const json parsed = parseObject(text, what, kOffsetsExample);
  for (const auto& [topic, partitions] : parsed.items()) {
    if (!partitions.is_object()) fail(text, what, kOffsetsExample);
    for (const auto& [name, value] : partitions.items()) {
      const auto partition = parsePartition(name);
      const auto offset = integerOf(value);
      if (!partition || !offset) fail(text, what, kOffsetsExample);
      offsets[{topic, *partition}] = *offset;
    }
  }
  return offsets;
}

void requireResolved(const PartitionOffsets& offsets, std::string_view what) {
  for (const auto& [partition, offset] : offsets) {
    if (offset >= 0) continue;
    throw Error("STREAMING_CHECKPOINT_LOG_CORRUPT",
                std::string(what) + " holds the offset " + std::to_string(offset) + " for the partition " + partition.text() +
                    ", which no query writes: it is damaged or was edited. Put a whole number from 0 there.",
                {{"partition", partition.text()}, {"offset", std::to_string(offset)}});
  }
}

std::vector<TopicPartition> parsePartitions(std::string_view text, std::string_view what) {
  std::vector<TopicPartition> result;
  const json parsed = parseObject(text, what, kPartitionsExample);
  for (const auto& [topic, partitions] : parsed.items()) {
    if (!partitions.is_array()) fail(text, what, kPartitionsExample);
    for (const json& value : partitions) {
      const auto partition = integerOf(value);
      if (!partition || *partition < 0 || *partition > INT32_MAX) fail(text, what, kPartitionsExample);
      result.push_back({topic, static_cast<int32_t>(*partition)});
    }
  }
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

}  // namespace thalweg
