#include "delta/snapshot/protocol_choice.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "common/error.h"
#include "common/options.h"
#include "delta/snapshot/feature_table.h"
#include "delta/snapshot/table_features.h"

namespace thalweg::delta {
namespace {

using Features = std::set<std::string>;

void addWithNeeds(const std::string& name, Features* features) {
  features->insert(name);
  if (name == "rowTracking" || name == "clustering") features->insert("domainMetadata");
}

Features impliedBy(int writerVersion) {
  Features names;
  for (const Feature& feature : allFeatures()) {
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

// `there`: those that the table has or was asked to get. Who knows only the preview of a feature must still
// read a table that has it.
Features neededBy(const Metadata& metadata, const Features& there) {
  Features names;
  for (const Feature& feature : allFeatures()) {
    if (!feature.inUse || there.contains(std::string(feature.name) + "-preview")) continue;
    if (feature.inUse(metadata)) addWithNeeds(std::string(feature.name), &names);
  }
  return names;
}

// Features of the data's types shut readers out for good: a table does not get them on the way.
void refuseByNameOnly(const Features& needed, const Features& there) {
  std::string names;
  for (const std::string& name : needed) {
    const Feature* feature = findFeature(name);
    if (feature && feature->byNameOnly && !there.contains(name)) names += (names.empty() ? "" : ", ") + name;
  }
  if (names.empty()) return;
  std::string supported;
  for (const std::string& name : there) supported += (supported.empty() ? "" : ", ") + name;
  throw Error("DELTA_FEATURES_REQUIRE_MANUAL_ENABLEMENT",
              "The table needs the features " + names +
                  ", which older readers may not know, so they are added on request only: ALTER TABLE … SET "
                  "TBLPROPERTIES ('delta.feature.<name>' = 'supported') for each.",
              {{"unsupportedFeatures", names}, {"supportedFeatures", supported}});
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
    const auto known = std::find_if(allFeatures().begin(), allFeatures().end(),
                                    [&](const Feature& one) { return equalsIgnoreCase(one.name, name); });
    const bool asks = equalsIgnoreCase(it->second, "supported") || equalsIgnoreCase(it->second, "enabled");
    if (known != allFeatures().end() && !asks) {
      throw Error("DELTA_UNSUPPORTED_FEATURE_STATUS",
                  "The property " + it->first + " takes the value supported, not '" + it->second + "'.",
                  {{"feature", name}, {"status", it->second}});
    }
    if (known == allFeatures().end())
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
  features.insert(wanted.begin(), wanted.end());
  features.merge(neededBy(metadata, features));
  const Protocol protocol = protocolOf(features);
  checkWritable(protocol, metadata, table);
  return protocol;
}

Protocol upgradedProtocol(const Protocol& current, const Metadata& metadata, std::string_view table,
                          const std::set<std::string>& wanted) {
  Features there;
  for (std::string& name : writerFeatures(current)) there.insert(std::move(name));
  for (std::string& name : readerFeatures(current)) there.insert(std::move(name));
  Features all = there;
  all.insert(wanted.begin(), wanted.end());
  Features needed = neededBy(metadata, all);
  refuseByNameOnly(needed, all);
  all.merge(needed);
  Protocol protocol = all == there ? current : protocolOf(all);
  checkWritable(protocol, metadata, table);
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

}  // namespace thalweg::delta
