#include "delta/snapshot/table_features.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <limits>
#include <set>

#include "common/error.h"
#include "common/options.h"
#include "delta/snapshot/type_widening.h"

namespace thalweg::delta {
namespace {

constexpr int64_t kWeekMs = 7LL * 24 * 3600 * 1000;

bool anyProperty(const Metadata& metadata, std::string_view prefix) {
  const auto it = metadata.configuration.lower_bound(std::string(prefix));
  return it != metadata.configuration.end() && it->first.starts_with(prefix);
}

// Field metadata keys stand in the schema's text between quotes; a text search over-reports at worst (a
// column so named).
bool schemaMentions(const Metadata& metadata, std::string_view key) {
  return metadata.schemaString.find("\"" + std::string(key)) != std::string::npos;
}

bool columnMappingOn(const Metadata& metadata) {
  const auto mode = tableProperty(metadata, "delta.columnMapping.mode");
  return mode && !equalsIgnoreCase(*mode, "none");
}

using InUse = bool (*)(const Metadata&);

struct Feature {
  std::string_view name;
  bool isReaderFeature;
  int legacyReader;  // the first reader version that implies it, 0 for none
  int legacyWriter;
  bool canRead;
  bool canWrite;
  InUse inUse;  // whether the metadata switches it on; null where nothing in it does
};

// The texts are the names of properties; arrays, for they are template arguments.
constexpr char kEnableRowTracking[] = "delta.enableRowTracking";
constexpr char kEnableVariantShredding[] = "delta.enableVariantShredding";
constexpr char kEnableIcebergCompatV1[] = "delta.enableIcebergCompatV1";
constexpr char kEnableIcebergCompatV2[] = "delta.enableIcebergCompatV2";
constexpr char kEnableIcebergCompatV3[] = "delta.enableIcebergCompatV3";
template <const char* property>
bool switchedOn(const Metadata& metadata) {
  return tableFlag(metadata, property);
}

bool containsType(const DataType& type, TypeId id) {
  if (type.id() == id) return true;
  if (type.id() == TypeId::Array) return containsType(*type.element(), id);
  if (type.id() == TypeId::Map) return containsType(*type.key(), id) || containsType(*type.value(), id);
  if (type.id() != TypeId::Struct) return false;
  return std::any_of(type.fields().begin(), type.fields().end(),
                     [&](const StructField& field) { return containsType(*field.type, id); });
}

// The features of the protocol's table; those of drafts that we neither read nor write are absent and refused
// alike.
constexpr Feature kFeatures[] = {
    {"appendOnly", false, 0, 2, true, true, nullptr},
    {"invariants", false, 0, 2, true, true, nullptr},
    {"checkConstraints", false, 0, 3, true, true,
     [](const Metadata& m) { return anyProperty(m, "delta.constraints."); }},
    {"changeDataFeed", false, 0, 4, true, true,
     [](const Metadata& m) { return tableFlag(m, kEnableChangeDataFeed); }},
    {"generatedColumns", false, 0, 4, true, true,
     [](const Metadata& m) { return schemaMentions(m, "delta.generationExpression"); }},
    {"columnMapping", true, 2, 5, true, true, columnMappingOn},
    {"identityColumns", false, 0, 6, true, true,
     [](const Metadata& m) { return schemaMentions(m, "delta.identity."); }},
    {"deletionVectors", true, 0, 0, true, true,
     [](const Metadata& m) { return tableFlag(m, kEnableDeletionVectors); }},
    {"timestampNtz", true, 0, 0, true, true,
     [](const Metadata& m) { return containsType(*m.schema(), TypeId::TimestampNtz); }},
    {"variantType", true, 0, 0, true, false,
     [](const Metadata& m) { return containsType(*m.schema(), TypeId::Variant); }},
    {"v2Checkpoint", true, 0, 0, true, true,
     [](const Metadata& m) {
       const auto policy = tableProperty(m, kCheckpointPolicy);
       return policy && equalsIgnoreCase(*policy, "v2");
     }},
    {"vacuumProtocolCheck", true, 0, 0, true, true, nullptr},
    {"typeWidening", true, 0, 0, true, true,
     [](const Metadata& m) {
       return tableFlag(m, kEnableTypeWidening) || schemaMentions(m, "delta.typeChanges");
     }},
    {"typeWidening-preview", true, 0, 0, true, false, nullptr},
    {"variantType-preview", true, 0, 0, true, false, nullptr},
    {"variantShredding", true, 0, 0, true, false, switchedOn<kEnableVariantShredding>},
    {"variantShredding-preview", true, 0, 0, true, false, nullptr},
    {"domainMetadata", false, 0, 0, true, true, nullptr},
    {"inCommitTimestamp", false, 0, 0, true, true,
     [](const Metadata& m) { return tableFlag(m, kEnableInCommitTimestamps); }},
    {"checkpointProtection", false, 0, 0, true, true, nullptr},
    {"allowColumnDefaults", false, 0, 0, true, true, nullptr},
    {"clustering", false, 0, 0, true, true, nullptr},
    {"rowTracking", false, 0, 0, true, true, switchedOn<kEnableRowTracking>},
    {"icebergCompatV1", false, 0, 0, true, false, switchedOn<kEnableIcebergCompatV1>},
    {"icebergCompatV2", false, 0, 0, true, false, switchedOn<kEnableIcebergCompatV2>},
    {"icebergCompatV3", false, 0, 0, true, false, switchedOn<kEnableIcebergCompatV3>},
};

// A name that stood there twice would be looked up as the first.
constexpr bool isEachThereOnce() {
  for (size_t i = 0; i < std::size(kFeatures); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (kFeatures[i].name == kFeatures[j].name) return false;
    }
  }
  return true;
}
static_assert(isEachThereOnce());

const Feature* findFeature(std::string_view name) {
  for (const Feature& feature : kFeatures) {
    if (feature.name == name) return &feature;
  }
  return nullptr;
}

bool canRead(const std::string& name) {
  const Feature* feature = findFeature(name);
  return feature && feature->isReaderFeature && feature->canRead;
}

bool canWrite(const std::string& name) {
  const Feature* feature = findFeature(name);
  return feature && feature->canWrite;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

void checkVersions(const Protocol& protocol, std::string_view table) {
  const bool known = protocol.minReaderVersion >= 0 && protocol.minReaderVersion <= 3 &&
                     protocol.minWriterVersion >= 0 && protocol.minWriterVersion <= 7;
  const bool legal = protocol.minReaderVersion < 3 || protocol.minWriterVersion == 7;
  if (known && legal) return;
  const std::string pair = "(" + std::to_string(protocol.minReaderVersion) + ", " +
                           std::to_string(protocol.minWriterVersion) + ")";
  throw Error("DELTA_INVALID_PROTOCOL_VERSION",
              "The Delta table " + std::string(table) + " has protocol versions " + pair +
                  " (reader, writer); versions up to (3, 7) are understood, and reader 3 needs writer 7.",
              {{"tableNameOrPath", std::string(table)},
               {"readerRequired", std::to_string(protocol.minReaderVersion)},
               {"writerRequired", std::to_string(protocol.minWriterVersion)},
               {"supportedReaders", "1, 2, 3"},
               {"supportedWriters", "1, 2, 3, 4, 5, 6, 7"}});
}

}  // namespace

std::optional<std::string> tableProperty(const Metadata& metadata, std::string_view name) {
  for (const auto& [key, value] : metadata.configuration) {
    if (equalsIgnoreCase(key, name)) return value;
  }
  return std::nullopt;
}

bool tableFlag(const Metadata& metadata, std::string_view name, bool fallback) {
  const auto value = tableProperty(metadata, name);
  return value ? equalsIgnoreCase(*value, "true") : fallback;
}

int64_t checkpointInterval(const Metadata& metadata) {
  constexpr int64_t kDefault = 10;
  const auto text = tableProperty(metadata, "delta.checkpointInterval");
  if (!text) return kDefault;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  return error == std::errc() && end == text->data() + text->size() && value > 0 ? value : kDefault;
}

std::optional<int64_t> parseRetentionMs(std::string_view text) {
  const std::string lower = toLowerAscii(text);
  std::vector<std::string> words;
  for (size_t begin = lower.find_first_not_of(' '); begin != std::string::npos;) {
    const size_t end = std::min(lower.find(' ', begin), lower.size());
    words.push_back(lower.substr(begin, end - begin));
    begin = lower.find_first_not_of(' ', end);
  }
  if (!words.empty() && words[0] == "interval") words.erase(words.begin());
  if (words.empty() || words.size() % 2 != 0) return std::nullopt;
  int64_t total = 0;
  for (size_t i = 0; i < words.size(); i += 2) {
    int64_t number = 0;
    const auto [end, error] = std::from_chars(words[i].data(), words[i].data() + words[i].size(), number);
    if (error != std::errc() || end != words[i].data() + words[i].size()) return std::nullopt;
    std::string unit = words[i + 1];
    if (unit.ends_with('s')) unit.pop_back();
    int64_t unitMs = 0;
    if (unit == "week") unitMs = kWeekMs;
    if (unit == "day") unitMs = kWeekMs / 7;
    if (unit == "hour") unitMs = 3600 * 1000;
    if (unit == "minute") unitMs = 60 * 1000;
    if (unit == "second") unitMs = 1000;
    if (unit == "millisecond") unitMs = 1;
    int64_t part = 0;
    if (unitMs == 0 || __builtin_mul_overflow(number, unitMs, &part) ||
        __builtin_add_overflow(total, part, &total)) {
      return std::nullopt;
    }
  }
  return total;
}

namespace {

int64_t retentionProperty(const Metadata& metadata, std::string_view name, int64_t fallbackMs) {
  const auto text = tableProperty(metadata, name);
  const auto parsed = text ? parseRetentionMs(*text) : std::nullopt;
  return parsed && *parsed >= 0 ? *parsed : fallbackMs;
}

}  // namespace

int64_t deletedFileRetentionMs(const Metadata& metadata) {
  return retentionProperty(metadata, "delta.deletedFileRetentionDuration", kWeekMs);
}

int64_t logRetentionMs(const Metadata& metadata) {
  return retentionProperty(metadata, kLogRetention, 30 * kWeekMs / 7);
}

int64_t truncateHistoryRetentionMs(const Metadata& metadata) {
  return retentionProperty(metadata, "delta.dropFeatureTruncateHistory.retentionDuration", kWeekMs / 7);
}

int64_t checkpointProtectionVersion(const Protocol& protocol, const Metadata& metadata) {
  if (!supportsFeature(protocol, "checkpointProtection")) return 0;
  const auto text = tableProperty(metadata, kCheckpointProtection);
  int64_t version = 0;
  if (text) std::from_chars(text->data(), text->data() + text->size(), version);
  return version;
}

std::vector<std::string> readerFeatures(const Protocol& protocol) {
  if (protocol.minReaderVersion >= 3) return protocol.readerFeatures.value_or(std::vector<std::string>());
  std::vector<std::string> names;
  for (const Feature& feature : kFeatures) {
    if (feature.legacyReader > 0 && feature.legacyReader <= protocol.minReaderVersion)
      names.emplace_back(feature.name);
  }
  return names;
}

std::vector<std::string> writerFeatures(const Protocol& protocol) {
  if (protocol.minWriterVersion >= 7) return protocol.writerFeatures.value_or(std::vector<std::string>());
  std::vector<std::string> names;
  for (const Feature& feature : kFeatures) {
    if (feature.legacyWriter > 0 && feature.legacyWriter <= protocol.minWriterVersion)
      names.emplace_back(feature.name);
  }
  return names;
}

bool supportsFeature(const Protocol& protocol, std::string_view feature) {
  const auto writers = writerFeatures(protocol);
  const auto readers = readerFeatures(protocol);
  return std::find(writers.begin(), writers.end(), feature) != writers.end() ||
         std::find(readers.begin(), readers.end(), feature) != readers.end();
}

void checkReadable(const Protocol& protocol, std::string_view table) {
  checkVersions(protocol, table);
  std::vector<std::string> missing;
  for (const std::string& name : readerFeatures(protocol)) {
    if (!canRead(name)) missing.push_back(name);
  }
  if (missing.empty()) return;
  throw Error("DELTA_UNSUPPORTED_FEATURES_FOR_READ",
              "The Delta table " + std::string(table) + " needs reader features that are not supported: " +
                  joined(missing) + ". Drop them from the table, or read it with an engine that has them.",
              {{"tableNameOrPath", std::string(table)}, {"unsupported", joined(missing)}});
}

void checkWritable(const Protocol& protocol, std::string_view table) {
  checkReadable(protocol, table);
  std::vector<std::string> missing;
  for (const std::string& name : writerFeatures(protocol)) {
    if (!canWrite(name)) missing.push_back(name);
  }
  if (missing.empty()) return;
  throw Error("DELTA_UNSUPPORTED_FEATURES_FOR_WRITE",
              "The Delta table " + std::string(table) + " uses writer features that are not supported: " +
                  joined(missing) + ". Drop them from the table, or write it with an engine that has them.",
              {{"tableNameOrPath", std::string(table)}, {"unsupported", joined(missing)}});
}

void checkRemovesRows(const Metadata& metadata, std::string_view table) {
  if (!tableFlag(metadata, kAppendOnly)) return;
  throw Error(
      "DELTA_CANNOT_MODIFY_APPEND_ONLY",
      "The Delta table " + std::string(table) +
          " takes appends only: its property delta.appendOnly is true. Unset it to change or delete rows.",
      {{"table_name", std::string(table)}, {"config", std::string(kAppendOnly)}});
}

namespace {

using Features = std::set<std::string>;

void addWithNeeds(const std::string& name, Features* features) {
  features->insert(name);
  if (name == "rowTracking" || name == "clustering") features->insert("domainMetadata");
}

Features impliedBy(int writerVersion) {
  Features names;
  for (const Feature& feature : kFeatures) {
    if (feature.legacyWriter > 0 && feature.legacyWriter <= writerVersion) names.emplace(feature.name);
  }
  return names;
}

// The lowest versions that mean exactly these features: legacy ones where there are such, else lists.
Protocol protocolOf(const Features& features) {
  std::vector<std::string> readers;
  for (const std::string& name : features) {
    const Feature* feature = findFeature(name);
    if (feature && feature->isReaderFeature) readers.push_back(name);
  }
  Protocol protocol;
  const bool mappingOnly = readers == std::vector<std::string>{"columnMapping"};
  protocol.minReaderVersion = readers.empty() ? 1 : mappingOnly ? 2 : 3;
  for (int version = 2; version <= 6; ++version) {
    if (protocol.minReaderVersion == 3 || impliedBy(version) != features) continue;
    protocol.minWriterVersion = version;
    return protocol;
  }
  protocol.minWriterVersion = 7;
  protocol.writerFeatures.emplace(features.begin(), features.end());
  if (protocol.minReaderVersion == 3) protocol.readerFeatures = std::move(readers);
  return protocol;
}

Features neededBy(const Metadata& metadata) {
  Features names;
  for (const Feature& feature : kFeatures) {
    if (feature.inUse && feature.inUse(metadata)) addWithNeeds(std::string(feature.name), &names);
  }
  return names;
}

// A version that a property asks for; its features come with it.
std::optional<int> versionProperty(const Metadata& metadata, std::string_view key) {
  const auto text = tableProperty(metadata, key);
  if (!text) return std::nullopt;
  if (text->size() == 1 && (*text)[0] >= '1' && (*text)[0] <= '7') return (*text)[0] - '0';
  throw Error(
      "DELTA_INVALID_PROTOCOL_VERSION",
      "The property " + std::string(key) + " is '" + *text + "', which is no protocol version (1 to 7).", {});
}

}  // namespace

std::set<std::string> takeFeatureRequests(Metadata* metadata, std::string_view table) {
  Features wanted;
  std::string unknown;
  auto& properties = metadata->configuration;
  for (auto it = properties.begin(); it != properties.end();) {
    if (!it->first.starts_with(kFeaturePrefix)) {
      ++it;
      continue;
    }
    const std::string name = it->first.substr(kFeaturePrefix.size());
    const auto known = std::find_if(std::begin(kFeatures), std::end(kFeatures),
                                    [&](const Feature& one) { return equalsIgnoreCase(one.name, name); });
    const bool asks = equalsIgnoreCase(it->second, "supported") || equalsIgnoreCase(it->second, "enabled");
    if (known != std::end(kFeatures) && !asks) {
      throw Error("DELTA_UNSUPPORTED_FEATURE_STATUS",
                  "The property " + it->first + " takes the value supported, not '" + it->second + "'.",
                  {{"feature", name}, {"status", it->second}});
    }
    if (known == std::end(kFeatures))
      unknown += (unknown.empty() ? "" : ", ") + it->first + "=" + it->second;
    else
      addWithNeeds(std::string(known->name), &wanted);
    it = properties.erase(it);
  }
  if (!unknown.empty()) {
    throw Error("DELTA_UNSUPPORTED_FEATURES_IN_CONFIG",
                "The Delta table " + std::string(table) + " cannot get the table features " + unknown + ".",
                {{"configs", unknown}});
  }
  if (const auto writer = versionProperty(*metadata, kMinWriterVersion); writer && *writer < 7)
    wanted.merge(impliedBy(*writer));
  if (const auto reader = versionProperty(*metadata, kMinReaderVersion); reader == 2)
    wanted.emplace("columnMapping");
  properties.erase(std::string(kMinWriterVersion));
  properties.erase(std::string(kMinReaderVersion));
  return wanted;
}

Protocol protocolForNewTable(const Metadata& metadata, std::string_view table,
                             const std::set<std::string>& wanted) {
  Features features = impliedBy(2);
  features.merge(neededBy(metadata));
  features.insert(wanted.begin(), wanted.end());
  const Protocol protocol = protocolOf(features);
  checkWritable(protocol, table);
  return protocol;
}

Protocol upgradedProtocol(const Protocol& current, const Metadata& metadata, std::string_view table,
                          const std::set<std::string>& wanted) {
  Features there;
  for (std::string& name : writerFeatures(current)) there.insert(std::move(name));
  for (std::string& name : readerFeatures(current)) there.insert(std::move(name));
  Features all = there;
  all.merge(neededBy(metadata));
  all.insert(wanted.begin(), wanted.end());
  Protocol protocol = all == there ? current : protocolOf(all);
  checkWritable(protocol, table);
  return protocol;
}

Protocol protocolWithout(const Protocol& current, std::string_view feature,
                         const std::set<std::string>& added) {
  Features left = added;
  for (std::string& name : writerFeatures(current)) left.insert(std::move(name));
  for (std::string& name : readerFeatures(current)) left.insert(std::move(name));
  left.erase(std::string(feature));
  if (left.empty()) return Protocol{1, 1, std::nullopt, std::nullopt};
  return protocolOf(left);
}

bool isKnownFeature(std::string_view name) {
  return std::any_of(std::begin(kFeatures), std::end(kFeatures),
                     [&](const Feature& feature) { return equalsIgnoreCase(feature.name, name); });
}

}  // namespace thalweg::delta
