#include "delta/snapshot/table_features.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <limits>

#include "common/error.h"
#include "common/options.h"

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

enum class Write {
  Yes,          // fully obeyed
  WhileUnused,  // only while nothing in the metadata uses it
  No,
};

using InUse = bool (*)(const Metadata&);

struct Feature {
  std::string_view name;
  bool isReaderFeature;
  int legacyReader;  // the first reader version that implies it, 0 for none
  int legacyWriter;
  bool canRead;
  Write write;
  InUse inUse;  // for WhileUnused
};

// The features of the protocol's table; those of drafts that we neither read nor write are absent and refused
// alike.
constexpr Feature kFeatures[] = {
    {"appendOnly", false, 0, 2, true, Write::Yes, nullptr},
    {"invariants", false, 0, 2, true, Write::WhileUnused,
     [](const Metadata& m) { return schemaMentions(m, "delta.invariants"); }},
    {"checkConstraints", false, 0, 3, true, Write::WhileUnused,
     [](const Metadata& m) { return anyProperty(m, "delta.constraints."); }},
    {"changeDataFeed", false, 0, 4, true, Write::Yes, nullptr},
    {"generatedColumns", false, 0, 4, true, Write::WhileUnused,
     [](const Metadata& m) { return schemaMentions(m, "delta.generationExpression"); }},
    {"columnMapping", true, 2, 5, true, Write::WhileUnused, columnMappingOn},
    {"identityColumns", false, 0, 6, true, Write::WhileUnused,
     [](const Metadata& m) { return schemaMentions(m, "delta.identity."); }},
    {"deletionVectors", true, 0, 0, true, Write::Yes, nullptr},
    {"timestampNtz", true, 0, 0, true, Write::Yes, nullptr},
    {"v2Checkpoint", true, 0, 0, true, Write::WhileUnused,
     [](const Metadata& m) {
       const auto policy = tableProperty(m, "delta.checkpointPolicy");
       return policy && equalsIgnoreCase(*policy, "v2");
     }},
    {"vacuumProtocolCheck", true, 0, 0, true, Write::Yes, nullptr},
    {"typeWidening", true, 0, 0, true, Write::No, nullptr},
    {"typeWidening-preview", true, 0, 0, true, Write::No, nullptr},
    {"variantType", true, 0, 0, true, Write::No, nullptr},
    {"variantType-preview", true, 0, 0, true, Write::No, nullptr},
    {"variantShredding", true, 0, 0, true, Write::No, nullptr},
    {"variantShredding-preview", true, 0, 0, true, Write::No, nullptr},
    {"domainMetadata", false, 0, 0, true, Write::Yes, nullptr},
    {"inCommitTimestamp", false, 0, 0, true, Write::WhileUnused,
     [](const Metadata& m) { return tableFlag(m, kEnableInCommitTimestamps); }},
    {"allowColumnDefaults", false, 0, 0, true, Write::WhileUnused,
     [](const Metadata& m) { return schemaMentions(m, "CURRENT_DEFAULT"); }},
};

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

bool canWrite(const std::string& name, const Metadata& metadata) {
  const Feature* feature = findFeature(name);
  if (!feature || feature->write == Write::No) return false;
  return feature->write == Write::Yes || !feature->inUse(metadata);
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

int64_t deletedFileRetentionMs(const Metadata& metadata) {
  const auto text = tableProperty(metadata, "delta.deletedFileRetentionDuration");
  const auto parsed = text ? parseRetentionMs(*text) : std::nullopt;
  return parsed && *parsed >= 0 ? *parsed : kWeekMs;
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

void checkWritable(const Protocol& protocol, const Metadata& metadata, std::string_view table) {
  checkReadable(protocol, table);
  std::vector<std::string> missing;
  for (const std::string& name : writerFeatures(protocol)) {
    if (!canWrite(name, metadata)) missing.push_back(name);
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

bool containsType(const DataType& type, TypeId id) {
  if (type.id() == id) return true;
  if (type.id() == TypeId::Array) return containsType(*type.element(), id);
  if (type.id() == TypeId::Map) return containsType(*type.key(), id) || containsType(*type.value(), id);
  if (type.id() != TypeId::Struct) return false;
  return std::any_of(type.fields().begin(), type.fields().end(),
                     [&](const StructField& field) { return containsType(*field.type, id); });
}

}  // namespace

Protocol protocolForNewTable(const Metadata& metadata, std::string_view table) {
  std::vector<std::string> readers;
  std::vector<std::string> writers;
  const SchemaPtr schema = metadata.schema();
  if (containsType(*schema, TypeId::Variant)) {
    throw Error("DELTA_UNSUPPORTED_FEATURES_FOR_WRITE",
                "The Delta table " + std::string(table) +
                    " would need the writer feature variantType, which is not supported.",
                {{"tableNameOrPath", std::string(table)}, {"unsupported", "variantType"}});
  }
  if (containsType(*schema, TypeId::TimestampNtz)) readers.push_back("timestampNtz");
  if (tableFlag(metadata, kEnableDeletionVectors)) readers.push_back("deletionVectors");
  writers = readers;
  if (tableFlag(metadata, kEnableChangeDataFeed)) writers.push_back("changeDataFeed");
  Protocol protocol;
  if (!writers.empty()) {
    writers.push_back("invariants");
    writers.push_back("appendOnly");
    protocol.minReaderVersion = readers.empty() ? 1 : 3;
    protocol.minWriterVersion = 7;
    if (!readers.empty()) protocol.readerFeatures = std::move(readers);
    protocol.writerFeatures = std::move(writers);
  }
  // What a property would switch on without its feature (row tracking, …) is refused rather than left without
  // effect.
  static constexpr std::pair<std::string_view, std::string_view> kSwitches[] = {
      {"delta.enableRowTracking", "rowTracking"},
      {"delta.enableTypeWidening", "typeWidening"},
      {"delta.enableVariantShredding", "variantShredding"},
      {"delta.enableIcebergCompatV1", "icebergCompatV1"},
      {"delta.enableIcebergCompatV2", "icebergCompatV2"},
      {"delta.enableIcebergCompatV3", "icebergCompatV3"},
  };
  Protocol wanted = protocol;
  if (!wanted.writerFeatures) wanted.writerFeatures = writerFeatures(protocol);
  for (const auto& [property, feature] : kSwitches) {
    if (tableFlag(metadata, property)) wanted.writerFeatures->emplace_back(feature);
  }
  for (const char* feature : {"checkConstraints", "generatedColumns", "columnMapping", "identityColumns",
                              "v2Checkpoint", "inCommitTimestamp", "allowColumnDefaults"}) {
    if (findFeature(feature)->inUse(metadata)) wanted.writerFeatures->emplace_back(feature);
  }
  wanted.minWriterVersion = 7;
  checkWritable(wanted, metadata, table);
  return protocol;
}

}  // namespace thalweg::delta
