#include "delta/snapshot/table_features.h"

#include <algorithm>

#include "common/error.h"
#include "common/options.h"
#include "delta/snapshot/feature_table.h"

namespace thalweg::delta {
namespace {

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

// Readers of what these properties promise would not see our commits, and could not know.
void checkServedProperties(const Metadata& metadata, std::string_view table) {
  const auto refuse = [&](const char* name, const char* what) {
    throw unsupported(std::string("writing ") + what + " after each commit, which the property " + name +
                      " of the Delta table " + std::string(table) +
                      " asks for (unset it to write the table)");
  };
  constexpr const char* kManifests = "delta.compatibility.symlinkFormatManifest.enabled";
  constexpr const char* kFormats = "delta.universalFormat.enabledFormats";
  if (tableFlag(metadata, kManifests)) refuse(kManifests, "manifests of symbolic links");
  if (!tableProperty(metadata, kFormats).value_or("").empty()) refuse(kFormats, "metadata of other formats");
}

}  // namespace

int64_t checkpointProtectionVersion(const Protocol& protocol, const Metadata& metadata) {
  if (!supportsFeature(protocol, "checkpointProtection")) return 0;
  const auto text = tableProperty(metadata, kCheckpointProtection);
  return text ? parsePropertyNumber(*text).value_or(0) : 0;
}

std::vector<std::string> readerFeatures(const Protocol& protocol) {
  if (protocol.minReaderVersion >= 3) return protocol.readerFeatures.value_or(std::vector<std::string>());
  std::vector<std::string> names;
  for (const Feature& feature : allFeatures()) {
    if (feature.legacyReader > 0 && feature.legacyReader <= protocol.minReaderVersion)
      names.emplace_back(feature.name);
  }
  return names;
}

std::vector<std::string> writerFeatures(const Protocol& protocol) {
  if (protocol.minWriterVersion >= 7) return protocol.writerFeatures.value_or(std::vector<std::string>());
  std::vector<std::string> names;
  for (const Feature& feature : allFeatures()) {
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
  checkServedProperties(metadata, table);
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

bool isKnownFeature(std::string_view name) {
  return std::any_of(allFeatures().begin(), allFeatures().end(),
                     [&](const Feature& feature) { return equalsIgnoreCase(feature.name, name); });
}

}  // namespace thalweg::delta
